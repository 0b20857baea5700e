"""Changes to a program that might help: what each would do, by theory, before it is tried."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import pairwise
from math import ceil
from pathlib import Path

from attrs import evolve, field, frozen

from deadbeat.base.model.comparison import CellComparison
from deadbeat.base.model.errors import UsageError
from deadbeat.base.model.words import count_of, time_text
from deadbeat.machine.host.proc import CPU_FOLDER
from deadbeat.machine.host.values import parse_cpu_list
from deadbeat.machine.settings.profile import all_profiles, turns
from deadbeat.machine.settings.tuning_plan import plan as tuning_plan
from deadbeat.machine.targets.base import Target
from deadbeat.program.derive.placer import Placing
from deadbeat.program.derive.records import REAL_TIME
from deadbeat.program.derive.replica import Replica, without_faults
from deadbeat.program.derive.system import system_of
from deadbeat.program.derive.tasks import DerivedLock, DerivedTask
from deadbeat.program.run.designed import ReadDesign, read_design
from deadbeat.program.run.designs import MOST, TOP, DesignSearch, reservation
from deadbeat.program.run.spec import ALL, BEST
from deadbeat.program.run.traced import TracedProgram, inverts, worst_task
from deadbeat.program.run.whatif import Foreseen, foreseen, from_worst, score_of
from deadbeat.sched.analysis import analyze

_AFFINITY = "pthread_setaffinity_np(pthread_self(), sizeof cpus, &cpus)"
_SCHEDULE = "pthread_setschedparam(pthread_self(), SCHED_FIFO, &param)"
_RESERVE = "sched_setattr(0, &attr, 0)"
_LOCK = "mallopt(M_TRIM_THRESHOLD, -1); mallopt(M_MMAP_MAX, 0); mlockall(MCL_CURRENT | MCL_FUTURE)"
_INHERIT = "pthread_mutexattr_setprotocol(&attr, PTHREAD_PRIO_INHERIT)"
#: Of a lock that must not inherit: the kernel refuses who is not its owner.
FOREIGN = "is unlocked by a thread that did not lock it (a fork handler, or another): it must not"
_RUNS = "a process that runs takes no library before its own"
#: Page faults of a job that take more of its deadline matter.
_FAULTS = 0.01
#: As many events are expected of a turn that shows at least one, with 95 %.
_SHOWN = 3


@frozen(kw_only=True)
class ProgramChange:
    """A change, and what the simulator has of each thread with it. ``name`` "": the original.

    Attributes:
        words: What it does. ``last``: how to make it last, and where.
        inherit, memory, slack_ns, placings, settings, command: What is done: `Shim`, `Placer`,
            words of ``tune apply``, another program.
        needs: Of several at once: each, and how many misses there are without it, by simulation.
    """

    name: str = ""
    words: str = ""
    last: tuple[str, str] = ("", "")
    inherit: bool = False
    memory: str = ""
    slack_ns: int = 0
    placings: tuple[Placing, ...] = ()
    settings: tuple[str, ...] = ()
    command: tuple[str, ...] = ()
    needs: tuple[tuple[str, int], ...] = ()
    expected: dict[str, Foreseen] = field(factory=dict)

    @property
    def root(self) -> bool:
        """Whether it needs root."""
        return bool(self.placings or self.settings)


ORIGINAL = ProgramChange()
BROKE = "it breaks the program"


@frozen(kw_only=True)
class Tried:
    """What became of a change. ``task``: the thread in question; ``better``, ``worse``: others that
    miss fewer or more. ``misses``: the share of its deadlines; ``worst``: its longest response.
    ``verdict``: one of `model.comparison.VERDICTS`, or why it was not tried. ``expected``:
    what the simulator has of it. ``left``: locks that stayed as they were; ``why``: the prediction
    is off. What is done, ``needs``: as `ProgramChange` has them."""

    name: str
    words: str
    turns: int
    task: str
    verdict: str
    misses: CellComparison | None = None
    worst: CellComparison | None = None
    better: tuple[str, ...] = ()
    worse: tuple[str, ...] = ()
    expected: Foreseen | None = None
    left: tuple[str, ...] = ()
    why: str = ""
    placings: tuple[Placing, ...] = ()
    inherit: bool = False
    memory: str = ""
    slack_ns: int = 0
    needs: tuple[tuple[str, int], ...] = ()
    last: tuple[str, str] = ("", "")

    @property
    def design(self) -> ReadDesign | None:
        """What a file says of it; None: it cannot."""
        found = ReadDesign(
            placings=self.placings,
            locks={"*": "inherit"} if self.inherit else {},
            memory=self.memory,
            slack_ns=self.slack_ns,
        )
        return found if found != ReadDesign() else None


@frozen(kw_only=True, eq=False)
class Ground:
    """What changes are chosen by; ``against``: another version."""

    found: TracedProgram
    replica: Replica
    cpus: tuple[int, ...]
    target: Target
    pid: tuple[int, ...] = ()
    against: tuple[str, ...] = ()

    @property
    def urgent(self) -> list[DerivedTask]:
        """Threads with jobs that have a deadline, or run as real-time threads."""
        known = self.found.known
        return [task for task in known if task.deadline_ns or task.policy in REAL_TIME]


def changes_of(
    ground: Ground, names: Sequence[str]
) -> tuple[tuple[ProgramChange, ...], dict[str, str], tuple[str, ...]]:
    """The original and those of ``names`` that apply; of the others why they do not; and why
    nothing is predicted."""
    try:
        _expected(ground, ORIGINAL)
    except UsageError as error:  # such as too many CPUs
        ground = evolve(ground, replica=evolve(ground.replica, lacks=(error.message,)))
    chosen, unfit = [evolve(ORIGINAL, expected=_expected(ground, ORIGINAL))], dict[str, str]()
    comms = {task.name: task.comm for task in ground.found.tasks}
    for name, found in _asked(ground, names):
        if isinstance(found, str):
            unfit[name] = found
            continue
        rules = (evolve(each, comm=comms.get(each.name, "")) for each in found.placings)
        made = evolve(found, name=name, placings=tuple(rules))
        same = [each.name for each in chosen[1:] if _does(each) == _does(made)]
        if same and any(_does(made)):
            unfit[name] = f"it does what {same[0]} does"
        else:
            chosen.append(evolve(made, expected=_expected(ground, made)))
    return tuple(chosen), unfit, ground.replica.lacks


def _asked(ground: Ground, names: Sequence[str]) -> Iterator[tuple[str, ProgramChange | str]]:
    """What each of ``names`` makes; of the best designs several, before the best single change."""
    for name in names:
        head, _, rest = name.partition(":")
        if head != BEST:
            shown = f"{head}:{re.sub('[^A-Za-z0-9-]+', '-', Path(rest).stem)}"
            yield shown if head == "design" else name, CHANGES[head](ground, rest)
            continue
        made = _best(ground, int(rest or MOST))
        if isinstance(made, str):
            yield name, made
            continue
        for place, each in enumerate(made):
            yield f"{head}:{place + 1}" if place else head, each
        yield from _best_single(ground, names)


def _best_single(ground: Ground, names: Sequence[str]) -> Iterator[tuple[str, ProgramChange | str]]:
    """The change by itself that the simulator likes best, but for what is asked for."""
    made = ((name, CHANGES[name](ground, "")) for name in ALL)
    known = [
        (score_of(_expected(ground, change), ground.urgent), name, change)
        for name, change in made
        if not isinstance(change, str)
    ]
    now = score_of(_expected(ground, ORIGINAL), ground.urgent)
    score, name, change = min(known, key=lambda each: each[0], default=(now, "", ORIGINAL))
    if score < now and name not in names:
        yield name, change


def _best(ground: Ground, count: int) -> list[ProgramChange] | str:
    """The best designs by simulation, the best one first."""
    tasks = [task for task in ground.urgent if task.policy != "deadline"]
    if ground.replica.lacks:
        return f"nothing is predicted: {ground.replica.lacks[0]}"
    if not tasks:
        return "no thread with a deadline has a priority"

    names = {task.name for task in tasks}

    found = DesignSearch(
        tasks,
        ground.urgent,
        ground.cpus,
        partial(_simulated, ground),
        locks=isinstance(_inherit(ground, ""), ProgramChange),
        faults=not ground.pid and _faults(ground, tasks),
        ns=ground.replica.end_ns,
        others=(t.task.priority for t in ground.replica.threads if t.task.name not in names),
    )
    searched = found.search(count)
    if not searched.best:
        return f"none of {searched.looked:,} designs is better, by simulation"
    of = f"{'all' if searched.proved else 'best'} of {searched.looked:,} designs looked at"
    designs = []
    for design in searched.best:
        changes = found.changes(design)
        words = "; ".join(words for words, _ in changes)
        moved = found.placings(design)
        code = [_AFFINITY] * any(each.cpus and not each.runtime_ns for each in moved)
        code += [_SCHEDULE] * any(each.priority for each in moved)
        code += [_RESERVE] * any(each.runtime_ns for each in moved)
        code += [_INHERIT] * design.inherit
        code += [_LOCK] * design.memory
        last = "; ".join(code), f"so that: {words}"
        made = ProgramChange(
            words=f"{words} ({of})",
            placings=moved,
            inherit=design.inherit,
            memory="locked" * design.memory,
            last=last,
            needs=tuple((each, found.score(without)[0]) for each, without in changes),
        )
        designs.append(made)
    return designs


def _simulated(
    ground: Ground, placings: tuple[Placing, ...], inherit: bool, memory: bool
) -> dict[str, Foreseen]:
    program = without_faults(ground.replica) if memory else ground.replica
    if not placings:
        return foreseen(program, ground.cpus, inherit=inherit)
    return from_worst(program, ground.cpus, placings, inherit=inherit)[1]


def _faults(ground: Ground, tasks: Iterable[DerivedTask]) -> bool:
    """Whether page faults take so much of a job that a deadline may depend on them."""
    limits = {task.name: task.deadline_ns or task.period_ns for task in tasks}
    jobs = ((limits.get(each.task.name), each.fault_ns) for each in ground.replica.threads)
    return any(
        limit and ns is not None and ns.max(initial=0) > _FAULTS * limit for limit, ns in jobs
    )


def _does(change: ProgramChange) -> tuple[object, ...]:
    return {*change.placings}, change.inherit, change.memory, change.slack_ns


def _expected(ground: Ground, change: ProgramChange) -> dict[str, Foreseen]:
    """What the simulator has of it; {}: it knows nothing of such changes."""
    unknown = change.settings or change.command or change.slack_ns or change.memory == "heap"
    if unknown or ground.replica.lacks:
        return {}
    return _simulated(ground, change.placings, change.inherit, bool(change.memory))


def _inherit(ground: Ground, _: str) -> ProgramChange | str:
    locks = [lock for lock in ground.found.locks if lock.count and lock.protocol == "none"]
    plain = [lock for lock in locks if lock.waited or len(lock.users) > 1]
    if ground.pid:
        return _RUNS
    if not plain:
        return "no threads share a mutex without inheritance"
    if foreign := [lock.name for lock in locks if lock.foreign]:
        return f"{foreign[0]} {FOREIGN}"
    names = [
        lock.name
        for lock in sorted(
            plain, key=lambda each: (not inverts(ground.found, each), not each.waited)
        )
    ]
    where = f"in the code that makes {names[0]}{', ...' * (len(names) > 1)}"
    last = _INHERIT, where
    words = "all mutexes inherit priority"
    rate = max(_inversions(ground, lock) for lock in plain)
    if 0 < rate * ground.replica.end_ns < _SHOWN:
        every, turn = time_text(1 / rate), ceil(_SHOWN / rate / 1e9)
        words += f" (an inversion comes about every {every}: --duration {turn}s shows it)"
    return ProgramChange(words=words, inherit=True, last=last)


def _inversions(ground: Ground, lock: DerivedLock) -> float:
    """How often, a ns, a thread that is to wait for a less urgent holder is kept waiting by one
    between them: that comes in a section, and stays until the most urgent one does."""
    tasks = [task for task in ground.found.tasks if task.policy in ("fifo", "rr")]
    users = sorted((t for t in tasks if t.name in lock.users), key=lambda task: task.priority)
    rate = 0.0
    for holder in users[:-1]:
        held = sum(each.mean_ns * each.count for each in holder.sections if each.lock == lock.name)
        for task in tasks:
            between = holder.priority < task.priority < users[-1].priority
            gap, urgent = (each.period_ns or each.typical_gap_ns for each in (task, users[-1]))
            if between and gap and urgent and not {*task.cpus}.isdisjoint(holder.cpus):
                stays = min((task.charged_mean_ns or 0) / urgent, 1)
                rate += held / ground.replica.end_ns / gap * stays
    return rate


def _by(
    key: Callable[[DerivedTask], int | None], what: str
) -> Callable[[Ground, str], ProgramChange | str]:
    def made(ground: Ground, _: str) -> ProgramChange | str:
        known = [(key(task), task) for task in ground.urgent]
        lacking = [task.name for value, task in known if not value]
        if lacking or len(known) < 2:
            return f"{lacking[0]} has no {what}" if lacking else "one thread has a deadline"
        order = [task for _, task in sorted(known, key=lambda each: each[0] or 0)]
        return _ranked(order, f"priorities by {what}")

    return made


def _ranked(order: Sequence[DerivedTask], words: str) -> ProgramChange | str:
    """Priorities in ``order``, the most urgent first; those that are so already stay."""
    if any(task.policy == "deadline" for task in order):
        return "a thread runs as SCHED_DEADLINE, above all priorities"
    now = [(task.policy in REAL_TIME, task.priority) for task in order]
    if all(one > other for one, other in pairwise(now)):
        return "its priorities are in this order already"
    top = max(TOP, len(order), *(priority for _, priority in now))
    placings = tuple(
        Placing(name=task.name, policy="fifo", priority=max(top - place, 1))
        for place, task in enumerate(order)
    )
    text = "; ".join(f"{each.name} {each.priority}" for each in placings)
    last = _SCHEDULE, f"with {text}"
    return ProgramChange(words=f"{words}: FIFO {text}", placings=placings, last=last)


def _audsley(ground: Ground, _: str) -> ProgramChange | str:
    tasks = {task.name: task for task in ground.urgent}
    whole = system_of(ground.found)
    own = [evolve(each, sections=(), jitter=0, suspension=0, affinity=(), home=None)
           for each in whole.tasks if each.name in tasks]  # fmt: skip
    if len(own) < len(tasks) or len(own) < 2:
        return "it needs the period of two threads or more, and of each"
    if len({task.cpus for task in tasks.values()} | {()}) > 2 or whole.processors > 1:
        return "Audsley's assignment is of threads on one CPU"
    system = evolve(whole, tasks=tuple(own), locks=(), chains=(), processors=1)
    ranks = analyze(system, names=["uni-rta"], priorities="opa").assigned
    if not ranks:
        return "no order of priorities meets every deadline by analysis"
    order = sorted(zip(ranks, system.tasks, strict=True), key=lambda each: -each[0])
    return _ranked([tasks[each.name] for _, each in order], "Audsley's priorities")


def _pin(ground: Ground, _: str) -> ProgramChange | str:
    """The fewest threads on other CPUs that leave as few misses as any placement, by simulation."""
    tasks = [task for task in ground.urgent if task.policy != "deadline"]
    if len(ground.cpus) < 2 or not tasks:
        return "there is one CPU" if tasks else "no thread with a deadline has a fixed priority"
    tasks.sort(key=lambda task: -(task.charged_mean_ns or 0) * task.jobs)
    if ground.replica.lacks:
        # Each thread, the largest first, on the CPU that has least to do.
        load, spread = dict.fromkeys(ground.cpus, 0.0), dict[str, tuple[int, ...]]()
        for task in tasks:
            least = min(load, key=load.__getitem__)
            load[least] += (task.charged_mean_ns or 0) * task.jobs
            spread[task.name] = (least,)
        return _places(spread)
    found = DesignSearch(
        tasks, tasks, ground.cpus, partial(_simulated, ground), ns=ground.replica.end_ns, pins=True
    )
    searched = found.search(1)
    if not searched.best:
        return "no placement is better, by simulation"
    return _places({each.name: each.cpus for each in found.placings(searched.best[0])})


def _places(place: Mapping[str, tuple[int, ...]]) -> ProgramChange:
    placings = _pinned(place)
    text = "; ".join(f"{each.name} on CPU {','.join(map(str, each.cpus))}" for each in placings)
    return ProgramChange(words=text, placings=placings, last=(_AFFINITY, f"with {text}"))


def _pinned(place: Mapping[str, tuple[int, ...]]) -> tuple[Placing, ...]:
    return tuple(Placing(name=name, cpus=cpus) for name, cpus in place.items())


def _deadline(ground: Ground, _: str) -> ProgramChange | str:
    placings = []
    for task in ground.urgent:
        if task.policy == "deadline":
            continue
        if (asked := reservation(task)) is None:
            return f"{task.name} has no period, or takes all of it"
        runtime, deadline, period = asked
        placings.append(
            Placing(
                name=task.name,
                policy="deadline",
                cpus=ground.cpus,
                runtime_ns=runtime,
                deadline_ns=deadline,
                period_ns=period,
            )
        )
    if not placings:
        return "its threads with deadlines run as SCHED_DEADLINE already"
    text = "; ".join(
        f"{each.name} {each.runtime_ns / 1e6:.3g} ms every {each.period_ns / 1e6:.3g}"
        for each in placings
    )
    words = f"SCHED_DEADLINE: {text}"
    last = _RESERVE, f"with {text}"
    return ProgramChange(words=words, placings=tuple(placings), last=last)


def _idle(ground: Ground, _: str) -> ProgramChange | str:
    """The CPU of the thread in question is its own, and so is its core."""
    task = worst_task(ground.found)
    if task is None or len(ground.replica.threads) < 2:
        return "one thread alone has jobs" if task else "no thread has jobs"
    if any(each.policy == "deadline" for each in ground.found.tasks):
        return "a thread runs as SCHED_DEADLINE, which takes all CPUs"
    cpu = task.cpus[0] if len(task.cpus) == 1 else ground.cpus[-1]
    path = f"{CPU_FOLDER}/cpu{cpu}/topology/thread_siblings_list"
    core = {cpu, *parse_cpu_list((ground.target.read_text(path) or str(cpu)).strip())}
    rest = tuple(each for each in ground.cpus if each not in core)
    if not rest:
        return "no CPU is left for the other threads"
    placings = (Placing(name=task.name, cpus=(cpu,)), Placing(name="*", cpus=rest))
    kept = ", ".join(map(str, sorted(core)))
    words = f"{task.name} has CPU {kept} for itself; all others CPU {', '.join(map(str, rest))}"
    return ProgramChange(
        words=words,
        placings=placings,
        last=(_AFFINITY, f"so that {words}"),
    )


def knobs_of(word: str) -> tuple[str, ...]:
    """Words for knobs: of a profile, or one. UsageError: there is neither."""
    profile = all_profiles().get(word or "realtime")
    words = profile.words if profile else (word,)
    turns(words)
    return words


def _tune(ground: Ground, word: str) -> ProgramChange | str:
    words = knobs_of(word)
    planned = tuning_plan(ground.target, turns(words))
    if not planned.settings or planned.refused:
        return "nothing of it applies here" if not planned.refused else "it cannot be put back"
    last = f"deadbeat tune apply {word or 'realtime'}", "until deadbeat tune revert"
    if word and words == (word,):
        last = f"deadbeat tune apply --knob {word}", last[1]
    text = f"{count_of(len(planned.settings), 'setting')} of tune {word or 'realtime'}"
    return ProgramChange(words=text, settings=words, last=last)


def _version(ground: Ground, _: str) -> ProgramChange | str:
    return ProgramChange(words="another version", command=ground.against)


def _memory(ground: Ground, _: str) -> ProgramChange | str:
    if ground.pid:
        return _RUNS
    words = "all memory is locked, and malloc keeps what it has"
    return ProgramChange(words=words, memory="locked", last=(_LOCK, "before its threads are made"))


def _malloc(ground: Ground, _: str) -> ProgramChange | str:
    if ground.pid:
        return _RUNS
    last = "MALLOC_TRIM_THRESHOLD_=-1 MALLOC_MMAP_MAX_=0", "in the program's environment"
    words = "malloc gives no memory back and takes none by mmap"
    return ProgramChange(words=words, memory="heap", last=last)


def _slack(ground: Ground, _: str) -> ProgramChange | str:
    if ground.pid:
        return _RUNS
    if all(task.policy in REAL_TIME for task in ground.found.tasks):
        return "timers of real-time threads have no slack"
    last = "prctl(PR_SET_TIMERSLACK, 1)", "in its first thread"
    return ProgramChange(words="timers of ordinary threads have no slack", slack_ns=1, last=last)


def _design(ground: Ground, file: str) -> ProgramChange | str:
    names = {task.name for task in ground.found.tasks}
    locks = {lock.name for lock in ground.found.locks}
    known = read_design(Path(file), names, locks, ground.cpus)
    if {*known.locks} - {"*"} or "none" in known.locks.values():
        return 'the library gives all mutexes inheritance, or none: "*" = "inherit"'
    if (known.locks or known.memory or known.slack_ns) and ground.pid:
        return _RUNS
    words = f"the design of {Path(file).name}"
    return ProgramChange(
        words=words,
        placings=known.placings,
        inherit=bool(known.locks),
        memory=known.memory,
        slack_ns=known.slack_ns,
        last=(words, "in the program"),
    )


def _nothing(ground: Ground, _: str) -> ProgramChange | str:
    return ProgramChange(words="nothing: shows by how much runs differ by themselves")


#: Name on the command line -> what it makes of what was found, or why it does not apply.
CHANGES: Mapping[str, Callable[[Ground, str], ProgramChange | str]] = {
    "inherit": _inherit,
    "rate-monotonic": _by(lambda task: task.period_ns or task.min_gap_ns, "period"),
    "deadline-monotonic": _by(lambda task: task.deadline_ns, "deadline"),
    "audsley": _audsley,
    "pin": _pin,
    "deadline": _deadline,
    "idle": _idle,
    "tune": _tune,
    "version": _version,
    "memory": _memory,
    "malloc": _malloc,
    "slack": _slack,
    "design": _design,
    "nothing": _nothing,
}
