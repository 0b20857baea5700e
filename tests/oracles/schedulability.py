"""Slow twins of the schedulability tests: the formulas with exact fractions, as plain as possible.

Written from the papers that docs/reference/schedulability-tests.md names, not from the core:
intervals are tried one by one instead of by rules which to skip, and the free parameter of FF-DBF
goes from corner to corner of the lines that bound it. tests/sched/test_sched_soundness.py keeps
the two equal.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from functools import cache
from itertools import pairwise, product

from attrs import frozen

from deadbeat.base.model.systems import TaskSystem, TimedTask
from deadbeat.sched.analysis import TestAnswer
from deadbeat.sched.simulator import Scheduler
from oracles.schedule.partition import place
from oracles.schedule.state import tie_rank


@frozen(kw_only=True)
class Question:
    """A system and the options the tests look at; named as in ``analyze``."""

    system: TaskSystem
    ties: str = "index"
    priorities: str = "rm"
    partition: str = "auto"
    order: str = "utilisation-desc"
    admission: str = "auto"
    blocking: int = 0

    @property
    def m(self) -> int:
        return self.system.processors

    @property
    def tasks(self) -> tuple[TimedTask, ...]:
        return self.system.tasks


@frozen
class Finding:
    """An answer, and bounds per task (None: the test gives none)."""

    answer: TestAnswer
    bounds: tuple[int | None, ...] | None = None


Twin = Callable[[Question], Finding]
TWINS: dict[str, Twin] = {}

_NO = Finding("not accepted")
_YES = Finding("accepted")
_REFUTED = Finding("refuted")


def twin(name: str, deadlines: str = "arbitrary") -> Callable[[Twin], Twin]:
    """Registers a twin, which is not asked where deadlines are outside its class."""

    def register(run: Twin) -> Twin:
        def guarded(question: Question) -> Finding:
            tasks = question.tasks
            if deadlines == "implicit" and any(t.deadline != t.period for t in tasks):
                return Finding("not applicable")
            if deadlines == "constrained" and any(t.deadline > t.period for t in tasks):
                return Finding("not applicable")
            if deadlines != "arbitrary" and any(t.wcet > t.deadline for t in tasks):
                return _NO
            return run(question)

        TWINS[name] = guarded
        return guarded

    return register


def accepts(condition: bool) -> Finding:
    return _YES if condition else _NO


# --- what the formulas are made of ----------------------------------------------------------------


def total(values: Iterator[Fraction] | Sequence[Fraction]) -> Fraction:
    return sum(values, Fraction(0))


def dbf(task: TimedTask, t: int) -> int:
    """Work released and due in an interval of length t, at most."""
    return max(0, (t - task.deadline) // task.period + 1) * task.wcet


def hyperperiod(tasks: Sequence[TimedTask]) -> int:
    return math.lcm(*(task.period for task in tasks))


def horizon(tasks: Sequence[TimedTask]) -> int:
    """From max(0, D - T) on, all demand grows by U H per hyper-period H."""
    return hyperperiod(tasks) + max(0, *(task.deadline - task.period for task in tasks))


def load(tasks: Sequence[TimedTask]) -> Fraction:
    """Supremum of demand per time."""
    return max(
        total([task.utilisation for task in tasks]),
        *(Fraction(sum(dbf(task, t) for task in tasks), t) for t in range(1, horizon(tasks) + 1)),
    )


def by_priority(question: Question) -> list[int]:
    rank = tie_rank(question.system, question.ties)
    keys: dict[str, Callable[[TimedTask], int]] = {
        "rm": lambda task: task.period,
        "dm": lambda task: task.deadline,
        "given": lambda task: -task.priority,
    }
    key = keys[question.priorities]
    return sorted(range(len(question.tasks)), key=lambda i: (key(question.tasks[i]), rank[i]))


def least_fixed_point(start: int, step: Callable[[int], int], limit: int) -> int | None:
    """The least x >= start with x = step(x), for a step that does not fall; None: above limit."""
    x = start
    while x <= limit:
        following = step(x)
        if following == x:
            return x
        x = following
    return None


# --- global EDF -----------------------------------------------------------------------------------


@twin("gfb")
def gfb(question: Question) -> Finding:
    densities = [task.density for task in question.tasks]
    return accepts(total(densities) <= question.m - (question.m - 1) * max(densities))


@twin("bak", "constrained")
def bak(question: Question) -> Finding:
    for k in question.tasks:
        density = Fraction(k.wcet, k.deadline)
        busy = Fraction(0)
        for i in question.tasks:
            beta = i.utilisation * (1 + Fraction(i.period - i.deadline, k.deadline))
            if i.utilisation > density:
                beta += (i.wcet - density * i.period) / k.deadline
            busy += min(Fraction(1), beta)
        if busy > question.m * (1 - density) + density:
            return _NO
    return _YES


@twin("bcl", "constrained")
def bcl(question: Question) -> Finding:
    for k in question.tasks:
        shares = []
        for i in question.tasks:
            if i is not k:
                jobs = max(0, (k.deadline - i.deadline) // i.period + 1)
                late = max(0, k.deadline - jobs * i.period)
                shares.append(Fraction(jobs * i.wcet + min(i.wcet, late), k.deadline))
        rest = 1 - Fraction(k.wcet, k.deadline)
        busy = total([min(share, rest) for share in shares])
        equal = busy == question.m * rest and any(0 < share <= rest for share in shares)
        if not (busy < question.m * rest or equal):
            return _NO
    return _YES


def _aligned(i: TimedTask, window: int, slack: int) -> int:
    jobs = window // i.period
    return jobs * i.wcet + min(i.wcet, max(0, window - jobs * i.period - slack))


def _anywhere(i: TimedTask, length: int, slack: int) -> int:
    span = length + i.deadline - i.wcet - slack
    jobs = span // i.period
    return jobs * i.wcet + min(i.wcet, span - jobs * i.period)


def _iterate_slacks(
    question: Question, slack_of: Callable[[int, Sequence[int]], int | None]
) -> Finding:
    tasks = question.tasks
    slacks = [0] * len(tasks)
    while True:
        found = True
        changed = False
        for k in range(len(tasks)):
            slack = slack_of(k, slacks)
            if slack is None or slack < 0:
                found = False
            elif slack > slacks[k]:
                slacks[k] = slack
                changed = True
        if found:
            bounds = (task.deadline - slack for task, slack in zip(tasks, slacks, strict=True))
            return Finding("accepted", tuple(bounds))
        if not changed:
            return _NO


@twin("bcl-iter", "constrained")
def bcl_iter(question: Question) -> Finding:
    tasks = question.tasks

    def slack_of(k: int, slacks: Sequence[int]) -> int:
        window = tasks[k].deadline
        most = window - tasks[k].wcet + 1
        busy = sum(
            min(_aligned(tasks[i], window, slacks[i]), most) for i in range(len(tasks)) if i != k
        )
        return window - tasks[k].wcet - busy // question.m

    return _iterate_slacks(question, slack_of)


@twin("rta-edf", "constrained")
def rta_edf(question: Question) -> Finding:
    tasks = question.tasks

    def slack_of(k: int, slacks: Sequence[int]) -> int | None:
        own = tasks[k].wcet

        def step(response: int) -> int:
            busy = sum(
                min(
                    _anywhere(tasks[i], response, slacks[i]),
                    _aligned(tasks[i], tasks[k].deadline, slacks[i]),
                    response - own + 1,
                )
                for i in range(len(tasks))
                if i != k
            )
            return own + busy // question.m

        response = least_fixed_point(own, step, tasks[k].deadline)
        return None if response is None else tasks[k].deadline - response

    return _iterate_slacks(question, slack_of)


@twin("bar", "constrained")
def bar(question: Question) -> Finding:
    tasks = question.tasks
    m = question.m
    room = m - total([task.utilisation for task in tasks])
    if room <= 0:
        return _NO
    carried = sum(sorted((task.wcet for task in tasks), reverse=True)[: m - 1])
    late = total([task.utilisation * (task.period - task.deadline) for task in tasks])
    for k in tasks:
        last = (carried + late + m * k.wcet) / room - k.deadline
        if any(_bar_misses(tasks, m, k, a) for a in range(math.floor(last) + 1)):
            return _NO
    return _YES


def _bar_misses(tasks: Sequence[TimedTask], m: int, k: TimedTask, a: int) -> bool:
    t = a + k.deadline
    x = t - k.wcet + 1
    without, gains = [], []
    for i in tasks:
        demand = dbf(i, t)
        carrying = t // i.period * i.wcet + min(i.wcet, t % i.period)
        if i is k:
            one, two = min(demand - k.wcet, a), min(carrying - k.wcet, a)
        else:
            one, two = min(demand, x), min(carrying, x)
        without.append(one)
        gains.append(two - one)
    return sum(without) + sum(sorted(gains, reverse=True)[: m - 1]) >= m * x


def ff_dbf_of(task: TimedTask, t: int, sigma: Fraction) -> Fraction:
    jobs, rest = divmod(t, task.period)
    if rest >= task.deadline:
        return Fraction((jobs + 1) * task.wcet)
    if rest >= task.deadline - task.wcet / sigma:
        return (jobs + 1) * task.wcet - (task.deadline - rest) * sigma
    return Fraction(jobs * task.wcet)


@twin("ff-dbf", "constrained")
def ff_dbf(question: Question) -> Finding:
    """For every t the sigmas that satisfy it are an interval: go from its lower end to the next."""
    tasks = question.tasks
    m = question.m
    used = total([task.utilisation for task in tasks])
    points = sorted(
        {t.deadline + q * t.period for t in tasks for q in range(hyperperiod(tasks) // t.period)}
    )

    def misses(t: int, sigma: Fraction) -> Fraction:
        return total([ff_dbf_of(task, t, sigma) for task in tasks]) - (m - (m - 1) * sigma) * t

    def satisfies(sigma: Fraction) -> bool:
        return m - (m - 1) * sigma >= used and all(misses(t, sigma) <= 0 for t in points)

    sigma = max(Fraction(task.wcet, task.deadline) for task in tasks)
    while not satisfies(sigma):
        if m - (m - 1) * sigma < used:
            return _NO
        t = next(t for t in points if misses(t, sigma) > 0)
        above = _next_root(tasks, sigma, t, misses)
        if above is None:
            return _NO
        sigma = above
    return _YES


def _next_root(
    tasks: Sequence[TimedTask], sigma: Fraction, t: int, misses: Callable[[int, Fraction], Fraction]
) -> Fraction | None:
    """The least value above sigma for which t holds: between two kinks the sides are lines."""
    kinks = {
        Fraction(task.wcet, task.deadline - t % task.period)
        for task in tasks
        if t % task.period < task.deadline
    }
    corners = [sigma, *sorted(kink for kink in kinks if kink > sigma)]
    corners.append(corners[-1] + 1)
    for index, (low, high) in enumerate(pairwise(corners)):
        at_low, at_high = misses(t, low), misses(t, high)
        if at_high < at_low:
            root = low + (high - low) * at_low / (at_low - at_high)
            if root <= high or index == len(corners) - 2:
                return root
    return None


@twin("load")
def load_bound(question: Question) -> Finding:
    m = question.m
    largest = max(task.density for task in question.tasks)
    if largest > 1:
        return _NO
    mu = m - (m - 1) * largest
    up = math.ceil(mu)
    bound = mu - (up - 1) * largest
    if up >= 2:
        bound = max(bound, (up - 1) - (up - 2) * largest)
    return accepts(load(question.tasks) <= bound)


@twin("tardiness", "implicit")
def tardiness(question: Question) -> Finding:
    tasks = question.tasks
    used = total([task.utilisation for task in tasks])
    if used > question.m:
        return _NO
    if gfb(question).answer == "accepted":
        return Finding("accepted", (0,) * len(tasks))
    carried = math.ceil(used) - 1
    costs = sorted((task.wcet for task in tasks), reverse=True)
    shares = sorted((task.utilisation for task in tasks), reverse=True)
    free = question.m - total(shares[: max(0, carried - 1)])
    x = max(Fraction(0), (sum(costs[:carried]) - costs[-1]) / free)
    return Finding("accepted", tuple(math.floor(x + task.wcet) for task in tasks))


# --- heavy tasks first ----------------------------------------------------------------------------


@twin("edf-us-bound", "implicit")
def edf_us_bound(question: Question) -> Finding:
    m = question.m
    return accepts(question.system.utilisation <= Fraction(m * m, 2 * m - 1))


@twin("fpedf-bound", "implicit")
def fpedf_bound(question: Question) -> Finding:
    m = question.m
    largest = max(task.utilisation for task in question.tasks)
    bound = m - (m - 1) * largest
    if m >= 2:
        bound = max(bound, Fraction(m, 2) + largest)
    return accepts(question.system.utilisation <= bound)


@twin("edf-us-light", "constrained")
def edf_us_light(question: Question) -> Finding:
    m = question.m
    threshold = Fraction(m, 2 * m - 1)
    heavy = [i for i, task in enumerate(question.tasks) if task.utilisation > threshold]
    return _NO if len(heavy) > m else _by_light(question, heavy)


@twin("fpedf-light", "constrained")
def fpedf_light(question: Question) -> Finding:
    tasks = question.tasks
    order = sorted(range(len(tasks)), key=lambda i: -tasks[i].utilisation)
    chosen, left = order[: question.m - 1], order[question.m - 1 :]
    heavy = [i for i in chosen if tasks[i].utilisation > Fraction(1, 2)]
    if heavy and left and tasks[heavy[-1]].utilisation == tasks[left[0]].utilisation:
        return _NO
    return _by_light(question, heavy)


def _by_light(question: Question, heavy: Sequence[int]) -> Finding:
    tasks = question.tasks
    light = [i for i in range(len(tasks)) if i not in heavy]
    bounds: list[int | None] = [
        task.wcet if i in heavy else None for i, task in enumerate(question.tasks)
    ]
    if not light:
        return Finding("accepted", tuple(bounds))
    if len(heavy) == question.m:
        return _NO
    rest = Question(
        system=TaskSystem(processors=question.m - len(heavy), tasks=tuple(tasks[i] for i in light))
    )
    found = rta_edf(rest)
    for place_, bound in zip(light, found.bounds or [None] * len(light), strict=True):
        bounds[place_] = bound
    accepted = "accepted" in (found.answer, gfb(rest).answer)
    return Finding("accepted", tuple(bounds)) if accepted else _NO


# --- fixed priorities -----------------------------------------------------------------------------


def _fixed_priority(
    question: Question, response_of: Callable[[int, list[int], dict[int, int]], int | None]
) -> Finding:
    order = by_priority(question)
    responses: dict[int, int] = {}
    for place_, k in enumerate(order):
        response = response_of(k, order[:place_], responses)
        if response is None:
            return _NO
        responses[k] = response
    return Finding("accepted", tuple(responses[i] for i in range(len(order))))


@twin("rta-fp", "constrained")
def rta_fp(question: Question) -> Finding:
    tasks = question.tasks

    def response_of(k: int, above: list[int], responses: dict[int, int]) -> int | None:
        own = tasks[k].wcet

        def step(x: int) -> int:
            slacks = {i: tasks[i].deadline - responses[i] for i in above}
            work = (min(_anywhere(tasks[i], x, slacks[i]), x - own + 1) for i in above)
            return own + sum(work) // question.m

        return least_fixed_point(own, step, tasks[k].deadline)

    return _fixed_priority(question, response_of)


@twin("rta-fp-guan", "constrained")
def rta_fp_guan(question: Question) -> Finding:
    tasks = question.tasks
    m = question.m

    def without(i: int, x: int) -> int:
        return x // tasks[i].period * tasks[i].wcet + min(x % tasks[i].period, tasks[i].wcet)

    def carrying(i: int, x: int, response: int) -> int:
        wcet, period = tasks[i].wcet, tasks[i].period
        y = max(0, x - wcet)
        tail = min(max(0, y % period - (period - response)), wcet - 1)
        return y // period * wcet + wcet + tail

    def response_of(k: int, above: list[int], responses: dict[int, int]) -> int | None:
        own = tasks[k].wcet
        if len(above) < m:
            return own

        def step(x: int) -> int:
            cap = x - own + 1
            base = [min(without(i, x), cap) for i in above]
            more = [min(carrying(i, x, responses[i]), cap) for i in above]
            gains = sorted((b - a for a, b in zip(base, more, strict=True)), reverse=True)
            return own + (sum(base) + sum(gain for gain in gains[: m - 1] if gain > 0)) // m

        return least_fixed_point(own, step, tasks[k].deadline)

    return _fixed_priority(question, response_of)


@twin("uni-rta")
def uni_rta(question: Question) -> Finding:
    if question.m != 1:
        return Finding("not applicable")
    order = by_priority(question)
    ordered = [question.tasks[i] for i in order]
    bounds: list[int | None] = [None] * len(order)
    for level, task in enumerate(ordered):
        blocking = question.blocking if level + 1 < len(ordered) else 0
        response = _busy_response(ordered[:level], task, blocking)
        if response is None:
            answer: TestAnswer = "not accepted" if question.blocking else "refuted"
            return Finding(answer, tuple(bounds))
        bounds[order[level]] = response
    return Finding("accepted", tuple(bounds))


def _busy_response(above: Sequence[TimedTask], task: TimedTask, blocking: int) -> int | None:
    """Looks at every instant for the end of each job of the busy period; None: one is late.

    With all of the processor used and blocking the busy period is endless, but repeats.
    """
    used = total([other.utilisation for other in (*above, task)])
    if used > 1:
        return None
    end = hyperperiod((*above, task)) if used == 1 else math.inf
    worst = job = now = 0
    while True:
        own = blocking + (job + 1) * task.wcet
        while own + sum(-(-now // other.period) * other.wcet for other in above) > now:
            now += 1
            if now > job * task.period + task.deadline:
                return None
        worst = max(worst, now - job * task.period)
        job += 1
        if now <= job * task.period or job * task.period >= end:
            return worst


# --- one processor, partitions, necessary ---------------------------------------------------------


@twin("qpa")
def qpa(question: Question) -> Finding:
    if question.m != 1:
        return Finding("not applicable")
    tasks = question.tasks
    if load(tasks) > 1:
        return _REFUTED
    blocked = range(min(task.deadline for task in tasks), max(task.deadline for task in tasks))
    demand = {t: sum(dbf(task, t) for task in tasks) for t in blocked}
    if question.blocking and any(demand[t] + question.blocking > t for t in blocked):
        return _NO
    return _YES


def _partitioned(question: Question, test: Twin, priority: Sequence[int] | None) -> Finding:
    scheduler = Scheduler(
        partition=question.partition, order=question.order, admission=question.admission
    )
    homes, unplaced = place(
        question.system, scheduler, clusters=question.m, capacity=1, priority=priority
    )

    @cache
    def answer(members: tuple[int, ...], blocking: int) -> TestAnswer:
        tasks = tuple(question.tasks[i] for i in members)
        own = {"ties": question.ties, "priorities": question.priorities, "blocking": blocking}
        return test(Question(system=TaskSystem(processors=1, tasks=tasks), **own)).answer

    def answers(homes: Sequence[int | None], blocking: int) -> set[TestAnswer]:
        groups: dict[int | None, tuple[int, ...]] = {}
        for index, home in enumerate(homes):
            groups[home] = (*groups.get(home, ()), index)
        return {answer(members, blocking) for members in groups.values()}

    found = answers(homes, question.blocking)
    if unplaced is None and "refuted" not in found:
        return accepts(found == {"accepted"})
    # Every placement that keeps the homes.
    own = [range(question.m) if t.home is None else [t.home] for t in question.tasks]
    return _NO if any(answers(each, 0) == {"accepted"} for each in product(*own)) else _REFUTED


@twin("p-edf")
def p_edf(question: Question) -> Finding:
    return _partitioned(question, qpa, None)


@twin("p-fp")
def p_fp(question: Question) -> Finding:
    order = by_priority(question)
    return _partitioned(question, uni_rta, [order.index(i) for i in range(len(order))])


@twin("necessary")
def necessary(question: Question) -> Finding:
    tasks = question.tasks
    hopeless = any(task.wcet > min(task.deadline, task.period) for task in tasks)
    return _REFUTED if hopeless or load(tasks) > question.m else _NO
