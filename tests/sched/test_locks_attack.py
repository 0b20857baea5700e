"""Truth: simulation. No response of tasks with locks, jitter, suspension or stretches without
preemption passes the bound of an accepted set: random sets, dense ones, and ones made to refute.

The pinned bound is also written a second time (oracles/pinned.py): equal to the core's, and
without any of its parts refuted by the same attack.
"""

from collections.abc import Callable, Sequence
from itertools import product
from random import Random
from typing import Any

import pytest
from attrs import evolve
from helpers.sched import worst_responses
from oracles import pinned
from oracles.locks import Job, Simulation

from deadbeat import sched
from deadbeat.base.model.systems import CriticalSection, Lock, TaskSystem, TimedTask
from deadbeat.sched.core import core
from deadbeat.sched.locks import protocols, rows

LOCKS = ("a", "b", "c")
Uses = dict[str, tuple[int, int]]
Responses = Sequence[int | None]
Made = Callable[[Random], TaskSystem]


def task(home: int, period: int, wcet: int, uses: Uses, **more: int) -> TimedTask:
    """``uses``: count and length of sections by lock, as many as the wcet holds."""
    sections, rest = [], wcet
    for lock, (count, length) in uses.items():
        if count and length * count <= rest:
            sections.append(CriticalSection(lock=lock, count=count, length=length))
            rest -= count * length
    return TimedTask(
        wcet=wcet, period=period, deadline=period, home=home, sections=tuple(sections), **more
    )


def ranked(tasks: list[TimedTask]) -> TaskSystem:
    """The least urgent first."""
    return TaskSystem(
        processors=max(each.home or 0 for each in tasks) + 1,
        tasks=tuple(evolve(each, priority=place + 1) for place, each in enumerate(tasks)),
        locks=tuple(Lock(name=name) for name in LOCKS),
    )


def uses(rng: Random, names: tuple[str, ...], share: float) -> Uses:
    return {q: (rng.randint(1, 2), rng.randint(1, 4)) for q in names if rng.random() < share}


def random_set(rng: Random, processors: int = 0, share: float = 0.4) -> TaskSystem:
    processors, names = processors or rng.randint(2, 4), LOCKS[: rng.randint(1, 3)]
    tasks = []
    for home in range(processors):
        count, load = rng.randint(2, 4), rng.uniform(0.2, 0.75)
        for _ in range(count):
            period = rng.randint(20, 120)
            wcet = max(1, round(period * load / count))
            tasks.append(task(home, period, wcet, uses(rng, names, share)))
    by_period = rng.random() < 0.5
    return ranked(sorted(tasks, key=lambda t: -t.period if by_period else rng.random()))


def dense_set(rng: Random, processors: int = 0, share: float = 0.5) -> TaskSystem:
    """Jobs are nearly all section, and one of each is in the way."""
    tasks = []
    for home in range(processors or rng.randint(2, 3)):
        for _ in range(rng.randint(1, 3)):
            used = uses(rng, LOCKS, share)
            wcet = sum(count * length for count, length in used.values())
            tasks.append(task(home, 160, wcet + rng.randint(0 if used else 1, 2), used))
    rng.shuffle(tasks)
    return ranked(tasks)


def made_set(rng: Random) -> TaskSystem:
    """A waiter with one request; below it, and below the holder, tasks with sections on a lock of
    the most urgent task; beside them more urgent users, and strangers."""

    def some(home: int, used: Uses, extra: int = 0) -> TimedTask:
        wcet = sum(count * length for count, length in used.values()) + extra
        return task(home, 200, wcet, used)

    few, long = (lambda: rng.randint(1, 2)), (lambda: rng.randint(3, 6))
    low = [some(home, {"b": (rng.randint(0, 3), long())}, 1) for home in (0, 1)]
    middle = [some(1, {"a": (1, long())}), some(0, {"a": (1, few())}, few())]
    above = [some(rng.choice((1, 1, 2)), {"a": (few(), few())}) for _ in range(rng.randint(0, 2))]
    if rng.random() < 0.5:
        above.append(some(1, {}, long()))  # a stranger beside the holder
    if rng.random() < 0.3:
        above.append(some(0, {"a": (1, few())}))
    if rng.random() < 0.5:
        middle.insert(0, some(2, {"a": (1, long())}))
    rng.shuffle(above)
    return ranked([*low, *middle, *above, some(2, {"b": (1, 1)})])


def some_set(rng: Random) -> TaskSystem:
    return rng.choice((random_set, dense_set, made_set))(rng)


def stretch(rng: Random, t: TimedTask) -> int:
    return rng.choice((0, rng.randint(0, t.wcet - sum(s.count * s.length for s in t.sections))))


#: What tasks may have, drawn.
EXTRAS: dict[str, Callable[[Random, TimedTask], dict[str, Any]]] = {
    "jitter": lambda rng, t: {"jitter": rng.randint(0, t.period // 2)},
    "bursts": lambda rng, t: {"jitter": rng.randint(0, 2 * t.period), "deadline": 4 * t.period},
    "suspension": lambda rng, _: {"suspension": max(0, rng.randint(-12, 12))},
    "stretches": lambda rng, t: {"np_max": stretch(rng, t), "np_last": stretch(rng, t)},
    "deadlines": lambda rng, t: {"deadline": rng.randint(t.wcet, t.wcet + 60)},
    "one queue": lambda _, __: {"priority": 1},
    "ties": lambda _, t: {"priority": (t.priority + 1) // 2},
    "anywhere": lambda _, __: {"home": None},
}


def one_set(rng: Random, share: float = 0.4) -> TaskSystem:
    return rng.choice((random_set, dense_set))(rng, 1, share)


def bare_set(rng: Random) -> TaskSystem:
    return one_set(rng, 0)


def drawn(of: Made, *words: str) -> Made:
    """Those sets, with EXTRAS."""

    def made(rng: Random) -> TaskSystem:
        found = of(rng)
        for word in words:
            found = with_each(found, lambda t, word=word: EXTRAS[word](rng, t))
        return found

    return made


def crowd(rng: Random, homes: int = 2) -> TaskSystem:
    """More wait for one lock than there are processors."""
    return ranked([task(k % homes, 160, 5, {"a": (1, rng.randint(2, 5))}) for k in range(6)])


def in_clusters(rng: Random) -> TaskSystem:
    return evolve(rng.choice((random_set, dense_set, crowd))(rng, 2), processors=4)


def with_each(found: TaskSystem, more: Callable[[TimedTask], dict[str, Any]]) -> TaskSystem:
    return evolve(found, tasks=tuple(evolve(t, **more(t)) for t in found.tasks))


def bounds_of(system: TaskSystem, test: str, **more: int) -> Responses | None:
    """None: not accepted. A test without bounds says that no deadline is missed."""
    [result] = sched.analyze(system, names=[test], priorities="given", **more).results
    limits = (task.deadline for task in system.tasks)
    each = (d if bound is None else bound for bound, d in zip(result.bounds, limits, strict=True))
    return tuple(each) if result.answer == "accepted" else None


def passed(system: TaskSystem, bounds: Responses, found: Responses) -> str:
    """What is above its bound, in words."""
    for i, (bound, seen) in enumerate(zip(bounds, found, strict=False)):
        if bound is not None and (seen or 0) > bound:
            return f"task {i}: {seen} above {bound}: {system}"
    return ""


SHARED = (some_set, some_set, some_set, drawn(some_set, "ties"))
STRETCHED = drawn(bare_set, "deadlines", "stretches")
JITTERY, BURSTS = drawn(bare_set, "jitter"), drawn(bare_set, "bursts")
ANYWHERE, CROWD = drawn(some_set, "anywhere"), drawn(crowd, "anywhere")
#: Protocols are simulated under policies, tests bound them, for these sets.
ATTACKS = {
    "pinned-fifo-pi": ("p-fp", "inherit", SHARED),
    "pinned-fifo-pi, stolen": ("p-fp", "inherit-steal", SHARED),
    "mpcp": ("p-fp", "mpcp", SHARED),
    "mpcp-virtual-spin": ("p-fp", "virtual-spin", SHARED),
    "dpcp": ("p-fp", "dpcp", SHARED),
    "fmlp-plus": ("p-fp", "fmlp+", SHARED),
    "msrp": ("p-fp", "msrp", SHARED),
    "msrp-holistic": ("p-fp", "msrp", SHARED),
    "msrp-lp": ("p-fp", "msrp", SHARED),
    "mrsp": ("p-fp", "mrsp", SHARED),
    "fmlp-plus-lp": ("p-fp", "fmlp+", SHARED),
    "dpcp-lp": ("p-fp", "dpcp", SHARED),
    "uni-rta": (
        "p-fp",
        "srp",
        (drawn(one_set, "jitter", "stretches"), one_set, drawn(bare_set, "stretches"), BURSTS),
    ),
    "fp-suspension": ("p-fp", "none", (drawn(bare_set, "suspension"),)),
    "fifo-response": ("p-fp", "none", (drawn(JITTERY, "one queue"), drawn(BURSTS, "one queue"))),
    "fp-in-reservation": ("p-fp", "none", (JITTERY, BURSTS)),
    "fp-arrival-curve": ("p-fp", "none", (JITTERY, BURSTS)),
    "qpa": ("g-edf", "srp", (drawn(one_set, "deadlines"), STRETCHED)),
    "edf-response": ("g-edf", "none", (STRETCHED,)),
    "global-fifo-pi": ("g-fp", "inherit", (ANYWHERE,)),
    "omlp-global": ("g-fp", "omlp", (ANYWHERE, CROWD)),
    "omlp-clustered": ("c-fp", "omlp", (random_set, dense_set, in_clusters)),
}
#: Of fp-in-reservation: the rest of each period is taken by a more urgent task, whenever.
SUPPLY = {"supply_budget": 12, "supply_period": 15}


def settings(case: str) -> dict[str, int]:
    return SUPPLY if case == "fp-in-reservation" else {}


def attack(case: str, sets: int, patterns: int, seed: int) -> None:
    """So many accepted sets."""
    rng = Random(seed)
    while sets:
        system = rng.choice(ATTACKS[case][2])(rng)
        if bounds := bounds_of(system, case.partition(",")[0], **settings(case)):
            sets -= 1
            assert not (wrong := passed(system, bounds, simulated(system, case, patterns, sets))), (
                wrong
            )


def simulated(system: TaskSystem, case: str, patterns: int, seed: int) -> Responses:
    """Few long patterns, or many short ones of dense sets."""
    policy, protocol, _ = ATTACKS[case]
    how: dict[str, Any] = {"policy": policy, "protocol": protocol, "seed": seed}
    if settings(case):
        own, every = SUPPLY.values()
        gone = TimedTask(
            wcet=every - own, period=every, deadline=every, home=0, jitter=own, priority=99
        )
        system = evolve(system, tasks=(*system.tasks, gone))
    if any(task.period < 160 for task in system.tasks):
        few = max(patterns // 50, 4)
        return worst_responses(system, patterns=few, horizon=1200, **how)
    return worst_responses(system, patterns=patterns, horizon=14, window=14, **how)


NIGHTLY = pytest.param(100_000, 100, marks=pytest.mark.statistical)


@pytest.mark.parametrize(("sets", "patterns"), [(100, 400), NIGHTLY])
@pytest.mark.parametrize("case", ATTACKS)
def test_no_response_passes_the_bound(case: str, sets: int, patterns: int) -> None:
    attack(case, sets, patterns, sets)


#: What the bound of ``own`` does not see of another task (or itself), each a part of bounds.
BLIND: dict[str, Callable[[TimedTask, TimedTask], dict[str, Any]]] = {
    "boost": lambda own, t: (
        {"sections": ()} if t.home == own.home and t.priority < own.priority else {}
    ),
    "held": lambda own, t: {"sections": tuple(s for s in t.sections if not same(s, own, t))},
    "raised": lambda own, t: {"sections": tuple(s for s in t.sections if known(s, own, t))},
    "sections": lambda own, t: {} if t is own else {"sections": ()},
    "J = 0": lambda own, t: {} if t is own else {"jitter": 0},
    "S = 0": lambda own, t: {} if t is own else {"suspension": 0},
    "stretches": lambda own, t: {} if t is own else {"np_max": 0, "np_last": 0},
}
_JITTER = ("fp-in-reservation", "fp-arrival-curve")
_SPIN = ("msrp", "msrp-holistic", "msrp-lp", "mrsp", "omlp-clustered")
_LINEAR = ("fmlp-plus-lp", "dpcp-lp")
_BOOSTED = ("mpcp", "mpcp-virtual-spin", "dpcp", "fmlp-plus", *_SPIN, *_LINEAR)
MUTANTS = [
    *((case, "boost") for case in _BOOSTED),
    *((case, "held") for case in (*_BOOSTED, "global-fifo-pi", "omlp-global")),
    *((case, "sections") for case in ("uni-rta", "qpa")),
    *((case, "J = 0") for case in ("uni-rta", "fifo-response", *_JITTER)),
    ("fp-suspension", "S = 0"),
    ("global-fifo-pi", "raised"),
    *((case, "stretches") for case in ("uni-rta", "qpa", "edf-response")),
]


def same(section: CriticalSection, own: TimedTask, other: TimedTask) -> bool:
    """Whether it is on a lock of ``own``, elsewhere."""
    far = own.home is None or other.home != own.home
    return other is not own and far and any(section.lock == s.lock for s in own.sections)


def known(section: CriticalSection, own: TimedTask, other: TimedTask) -> bool:
    """Whether it is of a more urgent task, or on a lock of ``own``."""
    return other.priority >= own.priority or same(section, own, other)


@pytest.mark.parametrize(("case", "part"), MUTANTS)
def test_a_bound_without_any_part_is_refuted(case: str, part: str) -> None:
    rng = Random(3)
    for number in range(3000):
        system = rng.choice(ATTACKS[case][2])(rng)
        bounds: list[int | None] = []
        for own in system.tasks:
            blind = with_each(system, lambda t, own=own: BLIND[part](own, t))
            found = bounds_of(blind, case, **settings(case))
            bounds.append(found and found[len(bounds)])
        if any(bounds) and passed(system, bounds, simulated(system, case, 400, number)):
            return
    pytest.fail("not refuted")


def test_requests_made_before_the_holders_delay_it_under_fmlp_plus() -> None:
    """A bound of the requests for its own lock alone would be 5 for the last task: the third one,
    which waits for c since before, is ahead of the holder of b."""
    system = ranked(
        [
            task(0, 100, 4, {"b": (1, 4)}),
            task(1, 100, 3, {"c": (1, 3)}),
            task(0, 100, 3, {"c": (1, 3)}),
            task(2, 100, 1, {"b": (1, 1)}),
        ]
    )
    bounds = bounds_of(system, "fmlp-plus")
    seen = worst_responses(system, protocol="fmlp+", patterns=2000, horizon=8, window=8)
    assert bounds and (bounds[3], seen[3]) == (8, 8)


def test_the_slow_twin_has_the_same_responses() -> None:
    kinds = (random_set, dense_set, made_set, in_clusters, ANYWHERE, CROWD, *ATTACKS["uni-rta"][2])
    kinds += (*ATTACKS["fp-suspension"][2], *ATTACKS["qpa"][2])
    count = 0
    for seed in range(50):
        rng = Random(seed)
        system = kinds[seed % len(kinds)](rng)
        span = 120, rng.choice((0, 14)), 1, rng.randint(0, 99)
        jobs, parts = core().draw_locks(*rows(system), *span)
        for how in product(core().lock_policies(), protocols()):
            together = rng.random() < 0.5
            try:
                found = core().simulate_locks(*rows(system), *how, jobs, parts, together)
            except ValueError:  # not simulated so
                continue
            listed = [Job(*map(int, row), number, []) for number, row in enumerate(jobs)]
            for job, what, length in parts.tolist():
                listed[job].parts.append((what, length))
            twin = Simulation(system, *how, together=together).run(listed)
            assert found.tolist() == twin, (how, together, system)
            count += 1
    assert count > 500


def test_the_pinned_bound_without_any_part_is_refuted() -> None:
    refuted = dict.fromkeys(("", *pinned.PARTS), 0)
    rng = Random(5)
    for number in range(160):
        system = (random_set, random_set, dense_set, made_set, made_set)[number % 5](rng)
        found = simulated(system, "pinned-fifo-pi", 1500, number)
        for part in refuted:
            bounds = pinned.Bound(system, part).run()
            refuted[part] += bool(bounds and passed(system, bounds, found))
            if not part:
                assert (bounds and tuple(bounds)) == bounds_of(system, "pinned-fifo-pi")
    assert refuted.pop("") == 0
    assert all(refuted.values()), refuted


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"protocol": "srp"}, "one processor"),
        ({"protocol": "mutex"}, "unknown protocol mutex"),
        ({"horizon": 2**61}, "lower it"),
        ({"window": -1}, "0 or more"),
    ],
)
def test_what_is_not_simulated_is_refused(wrong: dict[str, Any], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        worst_responses(made_set(Random(0)), **wrong)
