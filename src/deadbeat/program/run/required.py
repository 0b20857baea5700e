"""Requirements: what each run showed of them, and what all runs come to."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from attrs import asdict, evolve, frozen
from numpy.typing import NDArray

from deadbeat.base.model.words import Json, count_of, duration, time_text
from deadbeat.base.report.document import Column, Table, detail
from deadbeat.base.report.machines import CaseVerdict, Verdicted
from deadbeat.base.stats import sequential
from deadbeat.base.stats.sequential import Bursts
from deadbeat.machine.targets.marks import Marks, skipped
from deadbeat.program.derive.ages import DataPath
from deadbeat.program.derive.jobs import bursts, single_jobs
from deadbeat.program.derive.tasks import DerivedRun
from deadbeat.program.run.requirement import Requirement, percent
from deadbeat.program.run.traced import TracedProgram, time_column

NONE = Bursts()
#: Without a job for this many of its largest gaps, and for this part of the run, is no pause.
_SILENT = 10


@frozen(kw_only=True)
class CountedRun:
    """What a run showed of a requirement. ``bursts``: of late jobs; as such counts a release
    without a job (``skipped``); ``breaks``: how it is not kept, whatever else is seen; ``proof``:
    which test shows it; ``unproved``: why none does; ``lacks``: why it cannot be said to be
    kept."""

    id: str
    jobs: int = 0
    bursts: Bursts = NONE
    skipped: int = 0
    worst_ns: int | None = None
    seconds: float = 0.0
    breaks: str = ""
    proof: str = ""
    unproved: str = ""
    lacks: str = ""


@frozen(kw_only=True)
class Earlier:
    """What is known before the first run. Of the same program, settings and requirement:
    ``attempts`` and what they showed, runs with it ``broken``, why one was ``unproved``, and runs
    that were ``broken_off``, of which nothing is known; of any version of the program on
    this machine: ``known`` bursts, and ``rate`` jobs a second (0: not known)."""

    attempts: int = 0
    jobs: int = 0
    bursts: Bursts = NONE
    broken: int = 0
    unproved: str = ""
    worst_ns: int | None = None
    broken_off: int = 0
    known: Bursts = NONE
    rate: float = 0.0


@frozen(kw_only=True)
class Required:
    """A requirement that was judged, over all attempts. ``allowed``: share of late jobs (0: none);
    ``weight``: late jobs that count as one, ``assumed``: as nothing says how long bursts are;
    ``at_most``: share that is late (95 %); ``needed_s``: until it is decided, if it goes on so;
    ``half_s``: what a decision takes at half of the allowed late jobs."""

    requirement: Requirement
    verdict: CaseVerdict
    why: str
    attempts: int = 1
    jobs: int = 0
    late: int = 0
    bursts: int = 0
    longest: int = 0
    worst_ns: int | None = None
    allowed: float = 0.0
    weight: float = 0.0
    assumed: bool = False
    at_most: float | None = None
    needed_s: float | None = None
    half_s: float = 0.0

    @property
    def id(self) -> str:
        return self.requirement.id

    @property
    def words(self) -> str:
        return f"{self.requirement.words}: {self.why}"

    @property
    def open(self) -> bool:
        """Whether another run may decide it."""
        return self.needed_s is not None


# -- one run


def counted(
    wanted: Requirement,
    seen: TracedProgram,
    derived: DerivedRun | None,
    marks: Marks,
    seconds: float,
    *,
    ended: str = "",
) -> CountedRun:
    """What a run of ``seconds`` showed of what is ``wanted``. ``ended``: how it failed."""
    lost = seen.lost or seen.dropped or marks.dropped
    lacks = f"{count_of(lost, 'event')} lost: what happened then is not known" if lost else ""
    lacks = f"the program ended {ended}" if ended else lacks
    found = CountedRun(id=wanted.id, seconds=seconds, lacks=lacks)
    if wanted.rules:
        return _rules(wanted, seen, found)
    if wanted.proved:
        late = [task for task in seen.known if task.misses]
        breaks = f"{late[0].name} missed {late[0].misses:,} deadlines" if late else ""
        return _proved(None, seen, evolve(found, breaks=breaks))
    if wanted.age_of:
        found = _aged(wanted, seen, found)
    else:
        names, responses = _responses(wanted, derived, marks)
        if responses is None:
            return evolve(found, lacks=found.lacks or _no_thread(wanted, names, seen))
        release, end = responses
        found = evolve(found, lacks=found.lacks or _silence(wanted, release, end, derived))
        late_ones = end - release > wanted.within
        lone = _skipped(wanted, derived, marks) if wanted.share else 0
        found = evolve(
            found,
            jobs=len(end) + lone,
            bursts=Bursts.of([*bursts(release, end, late_ones), *[1] * lone]),
            skipped=lone,
            worst_ns=int((end - release).max(initial=0)),
        )
    if wanted.share:
        return found
    breaks = f"it took {time_text(found.worst_ns)}" * bool(found.bursts.number)
    return _proved(wanted, seen, evolve(found, breaks=breaks))


def _responses(
    wanted: Requirement, derived: DerivedRun | None, marks: Marks
) -> tuple[list[str], tuple[NDArray[Any], NDArray[Any]] | None]:
    """The threads that there are, and release and end of the jobs of this one."""
    marked = {task.name: task for task in marks.tasks}
    names = [*dict.fromkeys([*marked, *(derived.jobs if derived else ())])]
    if wanted.thread in marked:
        rows = marks.jobs(marked[wanted.thread])
        begin = derived.begin_ns if derived else 0
        release, end = (rows[name].astype(np.int64) - begin for name in ("release", "finish"))
        return names, (release, end)
    if derived is None or wanted.thread not in derived.jobs:
        return names, None
    period = next(each.period_ns for each in derived.tasks if each.name == wanted.thread)
    release, end, _ = single_jobs(derived.jobs[wanted.thread], period or 0)
    return names, (release, end)


def _skipped(wanted: Requirement, derived: DerivedRun | None, marks: Marks) -> int:
    """Releases of its thread without a job."""
    for task in marks.tasks:
        if task.name == wanted.thread:
            releases = marks.jobs(task)["release"].astype(np.int64)
            return int(skipped(releases, task.period_ns).sum())
    tasks = derived.tasks if derived else ()
    return next((each.skipped for each in tasks if each.name == wanted.thread), 0)


def _silence(
    wanted: Requirement, release: NDArray[Any], end: NDArray[Any], derived: DerivedRun | None
) -> str:
    """That it ended no more jobs long before the recording did; "": it did."""
    if derived is None or len(end) < 2:
        return ""
    length = derived.seconds * 1e9
    rest, gap = length - int(end[-1]), int(np.diff(release).max())
    text = f"{wanted.thread} ended no job in the last {time_text(int(rest))}"
    return text * (rest > max(_SILENT * gap, length / _SILENT))


def _paths(wanted: Requirement, seen: TracedProgram) -> list[DataPath]:
    ends = wanted.thread, wanted.age_of
    return [each for each in seen.paths if (each.tasks[-1], each.tasks[0]) == ends]


def _aged(wanted: Requirement, seen: TracedProgram, found: CountedRun) -> CountedRun:
    """With ages along the path that has most old data."""
    mine = _paths(wanted, seen)
    if not mine:
        return evolve(found, lacks=f"no link from {wanted.age_of} to {wanted.thread} was seen")
    path = max(mine, key=lambda each: (each.misses or 0, each.age_max_ns or 0))
    unsure = "data may be older than what was seen" * any(each.at_least for each in mine)
    if path.unknown:
        unsure = f"of {count_of(path.unknown, 'more job')} the age of data is not known"
    if path.deadline_ns != wanted.within:
        given = time_text(path.deadline_ns)
        return evolve(found, lacks=f"--deadline {wanted.of}={given} is another one")
    return evolve(
        found,
        jobs=path.jobs,
        bursts=Bursts.of(path.bursts),
        worst_ns=path.age_max_ns,
        lacks=found.lacks or unsure,
    )


def _proved(wanted: Requirement | None, seen: TracedProgram, found: CountedRun) -> CountedRun:
    """With which test shows it, or why none does."""
    if wanted and wanted.age_of:
        bound = min((each.age_bound_ns or 0 for each in _paths(wanted, seen)), default=0)
        if 0 < bound <= wanted.within:
            proof = f"data are at most {time_text(bound)} old as long as every deadline is met"
            return evolve(found, proof=proof)
        why = f"the bound is {time_text(bound)}" if bound else "no analysis bounds it"
        return evolve(found, unproved=why)
    if not seen.proved:
        why = (*seen.unproved, "no task set is known")[0]
        return evolve(found, unproved=f"no test proves it: {why}")
    task = next((each for each in seen.tasks if wanted and each.name == wanted.thread), None)
    if wanted and (task is None or not 0 < (task.deadline_ns or 0) <= wanted.within):
        given = time_text(task.deadline_ns if task else None)
        return evolve(found, unproved=f"what was analysed is its deadline, {given}")
    return evolve(found, proof=f"{seen.proved[0]}, by the largest C and locks seen")


def _rules(wanted: Requirement, seen: TracedProgram, found: CountedRun) -> CountedRun:
    broken = [
        f"{each.thread} breaks {each.rule} in {count_of(each.jobs, 'job')}"
        for each in seen.rules
        if each.rule in wanted.rules and wanted.thread in ("", each.thread) and not each.accepted
    ]
    missing = [rule for rule in wanted.rules if rule not in seen.rules_judged]
    lacks = found.lacks or f"not seen: whether it breaks {', '.join(missing)}" * bool(missing)
    if wanted.thread and wanted.thread not in [each.name for each in seen.known]:
        lacks = _no_thread(wanted, [each.name for each in seen.known], seen)
    return evolve(found, breaks="; ".join(broken), proof="none was broken", lacks=lacks)


def _no_thread(wanted: Requirement, names: Sequence[str], seen: TracedProgram) -> str:
    if own := next((each for each in seen.tasks if each.name == wanted.thread), None):
        why = f": {own.left_out}" if own.left_out else ""
        return f"no job of thread {wanted.thread} is known{why}"
    if mine := [name for name in names if name.partition("#")[0] == wanted.thread]:
        return f"{len(mine)} threads have this name: write {' or '.join(mine)}"
    return f"there is no thread {wanted.thread} with jobs ({', '.join(names) or 'none'})"


# -- all runs


def judged(
    wanted: Sequence[Requirement],
    runs: Sequence[Sequence[CountedRun]],
    earlier: Mapping[str, Earlier],
    doubt: str = "",
) -> tuple[Required, ...]:
    """Each requirement over all runs, and attempts before them. ``doubt``: why nothing can be said
    to be kept; "": it can."""
    of = {each.id: [one for run in runs for one in run if one.id == each.id] for each in wanted}
    return tuple(
        _judged(each, of[each.id], earlier.get(each.id, Earlier()), doubt) for each in wanted
    )


def _judged(
    wanted: Requirement, runs: Sequence[CountedRun], before: Earlier, doubt: str
) -> Required:
    late = sum((each.bursts for each in runs), before.bursts)
    worst = [before.worst_ns, *(each.worst_ns for each in runs)]
    lacks = next((each.lacks for each in runs if each.lacks), "" if runs else "no run ended")
    found = Required(
        requirement=wanted,
        verdict="undecided",
        why="",
        attempts=before.attempts + 1,
        jobs=before.jobs + sum(each.jobs for each in runs),
        late=late.jobs,
        bursts=late.number,
        longest=late.longest,
        worst_ns=max((each for each in worst if each is not None), default=None),
    )
    if wanted.share:
        weight, assumed = sequential.weight(late, before.known)
        return _share(evolve(found, weight=weight, assumed=assumed), runs, before, lacks or doubt)
    breaks = next((each.breaks for each in runs if each.breaks), "")
    if not breaks and before.broken:
        breaks = f"not kept in {count_of(before.broken, 'run')} of earlier attempts"
    open_ = lacks or doubt or next((each.unproved for each in runs if each.unproved), "")
    if not open_ and before.unproved:
        open_ = f"in an earlier attempt {before.unproved}"
    why = breaks or open_ or next((each.proof for each in runs), "")
    verdict: CaseVerdict = "failed" if breaks else "undecided" if open_ else "passed"
    return evolve(found, verdict=verdict, why=why)


def _share(found: Required, runs: Sequence[CountedRun], before: Earlier, doubt: str) -> Required:
    """With the verdict on a share of jobs."""
    allowed, weight = 1 - found.requirement.share, found.weight
    late, jobs = found.late / weight, found.jobs / weight
    kept = sequential.decided(late, jobs, allowed) if jobs else None
    at_most = sequential.at_most(late, jobs) if jobs else None
    many, one = count_of(found.bursts, "burst"), "run"
    lone = sum(each.skipped for each in runs)
    words = [
        f"{found.late:,} of {count_of(found.jobs, 'job')} late"
        f"{f' ({lone:,} of them releases without a job)' * bool(lone)}"
        f"{f' in {found.attempts} attempts' * (found.attempts > 1)}"
        f"{f', beside {count_of(before.broken_off, one)} broken off' * bool(before.broken_off)}"
        f"{f' in {many}' * bool(found.bursts)}"
        f" (weight {weight:.3g}{', assumed' * found.assumed})"
    ]
    if at_most is not None:
        words.append(f"at most {percent_of(at_most)} are, {percent(round(allowed, 12))} allowed")
    verdict: CaseVerdict = "undecided"
    needed_s, half_s = None, 0.0
    if kept is False:
        verdict = "failed"
    elif doubt:
        words = [doubt, *words * bool(found.jobs)]
    elif kept:
        verdict = "passed"
    else:
        seconds = sum(each.seconds for each in runs)
        rate = sum(each.jobs for each in runs) / seconds if seconds else before.rate
        more = sequential.jobs_until(late, jobs, allowed, late / jobs if jobs else 0.0)
        needed_s = more * weight / rate if rate else math.inf
        half = sequential.jobs_until(0.0, 0.0, allowed, allowed / 2)
        half_s = half * weight / rate if rate else 0.0
        time = (
            "no time decides" if math.isinf(needed_s) else f"{duration(needed_s + 0.5)} more decide"
        )
        words.append(f"{time} it, if it goes on so")
    return evolve(
        found,
        verdict=verdict,
        why="; ".join(words),
        allowed=allowed,
        at_most=at_most,
        needed_s=needed_s,
        half_s=half_s,
    )


def percent_of(share: float) -> str:
    """``0.123 %``: three digits, none of a bound that is rounded down."""
    digits = 2 - math.floor(math.log10(100 * share))
    return f"{math.ceil(100 * share * 10.0**digits) / 10.0**digits:.10g} %"


def ahead(wanted: Requirement, before: Earlier) -> str:
    """How long a decision takes, said before anything runs; "": no run decides it."""
    if not wanted.share:
        return ""
    weight, unsure = sequential.weight(before.bursts, before.known)
    allowed = 1 - wanted.share
    own = (before.bursts.jobs / weight, before.jobs / weight)
    least, half = (
        weight * sequential.jobs_until(*own, allowed, share) for share in (0.0, allowed / 2)
    )

    def time(jobs: float) -> str:
        return duration(jobs / before.rate + 0.5) if before.rate else f"{math.ceil(jobs):,} jobs"

    assumed = ", assumed" * unsure
    if least == 0.0:
        return f"{wanted.id} ({wanted.words}) is decided by earlier attempts"
    return (
        f"{wanted.id} ({wanted.words}) takes {time(least)} if no job is late, {time(half)} at half"
        f" the allowed ones (weight of bursts {weight:.3g}{assumed})"
    )


# -- words


def sentences(found: Sequence[Required]) -> Iterator[str]:
    """What is not kept first, then what is not known; of the others their names."""
    for verdict in ("failed", "undecided"):
        yield from (
            f"{each.id} {verdict}: {each.words}." for each in found if each.verdict == verdict
        )
    if kept := [each.id for each in found if each.verdict == "passed"]:
        yield f"Passed: {', '.join(kept)}."


def cases(found: Sequence[Required]) -> Iterator[Verdicted]:
    for each in found:
        yield Verdicted(
            name=each.id, group="program.requirement", verdict=each.verdict, message=each.words,
            weight=each.late,
        )  # fmt: skip


def _some(key: str, heading: str, **more: Any) -> Column:
    return Column(key=key, heading=heading, value=lambda each: getattr(each, key) or None, **more)


def table(found: Sequence[Required]) -> Table:
    columns = (
        Column(key="id", heading="requirement", words=True),
        detail("requirement", "what", value=lambda each: each.requirement.words, words=True),
        Column(key="verdict", heading="verdict", words=True),
        _some("jobs", "jobs"),
        Column(key="late", heading="late", value=lambda each: each.late if each.jobs else None),
        _some("bursts", "bursts", spare=True),
        _some("longest", "longest burst", spare=True),
        _some("weight", "weight", format="{:.3g}".format, spare=True),
        _some("allowed", "allowed", format=percent),
        Column(key="at_most", heading="at most", format=percent_of),
        time_column("worst_ns", "worst"),
        Column(key="attempts", heading="attempts", spare=True),
        detail("why", "why", words=True, long=True),
    )
    return Table(name="requirements", columns=columns, rows=found, title="Requirements")


def plain(found: Sequence[Required]) -> list[dict[str, Json]]:
    """JSON values."""
    return [
        {
            **asdict(each, filter=lambda a, _: a.name != "requirement"),
            "id": each.id,
            "asked": each.requirement.words,
            "needed_s": None if each.needed_s == math.inf else each.needed_s,
        }
        for each in found
    ]
