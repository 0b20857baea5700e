"""How old the data are that jobs use, and how soon data are used: along chains of threads.

The age is the time from the release of the job of the first thread that sent the data, until the
end of the job of the last thread that used them. The reaction to a release of the first thread is
the time until the end of the first job of the last that had those data, or later ones. A thread
keeps what it took last (AUTOSAR timing extensions; Feiertag et al. 2008; research: chains).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import islice, pairwise

import numpy as np
from attrs import define, evolve, frozen
from numpy.typing import NDArray

from deadbeat.base.model.traces import Activity, WorstMoment
from deadbeat.base.model.words import time_text
from deadbeat.program.derive.jobs import bursts, single_jobs
from deadbeat.program.derive.late import Stretches
from deadbeat.program.derive.records import REAL_TIME
from deadbeat.program.derive.switches import Times
from deadbeat.program.derive.tasks import DerivedRun, Flow, Link
from deadbeat.program.derive.tracks import NEVER
from deadbeat.sched import chains

#: Chains that are measured, the first ones; the shortest of a deadline; paths that are looked at.
_CHAINS, _NAMED, _LOOKED_AT = 20, 8, 20_000
#: Shares of ages and reactions that are not longer.
SHARES = (*(n / 100 for n in range(0, 100, 5)), 0.99, 0.999, 1.0)
#: Kinds of tasks that begin chains.
_BY_TIME = ("periodic", "relative", "sporadic", "bursty")


@frozen(kw_only=True)
class DatumStage:
    """Where a datum was for ``ns`` from ``begin_ns`` of the recording on: in a thread or a channel;
    ``usual_ns``: the median of all; ``thread``: which had it, or took it at the end; ``why``: who
    sent nothing newer, or what most of that thread's time went to, if not to its work."""

    where: str
    what: str
    ns: int
    usual_ns: int
    thread: str
    begin_ns: int
    why: str = ""

    @property
    def words(self) -> str:
        """``9.8 ms in pipe 4711 until filter took it (usually 4.9 ms; filter: waited ...)``."""
        usual = f"usually {time_text(self.usual_ns)}"
        why = f"; {self.why}" * bool(self.why)
        return f"{time_text(self.ns)} in {self.where} {self.what} ({usual}{why})"


@frozen(kw_only=True)
class DataPath:
    """Threads that hand on data. Of ``jobs`` of the last one, ``share`` of all, the age of the data
    that they used, and until a sender ended (``sending``); of ``releases`` of the first, the
    reaction to them; times in ns. ``quantiles``: of ages and reactions, at `SHARES`. ``misses``:
    jobs with data older than ``deadline_ns``, in ``bursts`` of these sizes.
    ``worst``: stages of the oldest data; their job ended ``at_ns`` after the recording's begin.
    ``at_least``: they may be older; of ``unknown`` jobs more it is not known. The bounds hold as
    long as every job meets its deadline and sends (sched.chains)."""

    tasks: tuple[str, ...]
    kinds: tuple[str, ...]
    jobs: int
    share: float
    age_mean_ns: float | None = None
    age_max_ns: int | None = None
    age_max_sending_ns: int = 0
    age_quantiles_ns: tuple[int, ...] = ()
    releases: int = 0
    reaction_mean_ns: float | None = None
    reaction_max_ns: int | None = None
    reaction_quantiles_ns: tuple[int, ...] = ()
    deadline_ns: int | None = None
    misses: int | None = None
    bursts: tuple[int, ...] = ()
    worst: tuple[DatumStage, ...] = ()
    at_ns: int = 0
    age_bound_ns: int | None = None
    reaction_bound_ns: int | None = None
    bound_by: str = ""
    at_least: bool = False
    unknown: int = 0

    @property
    def longer(self) -> DatumStage:
        """The stage of the oldest data that was longer than usual by most."""
        return max(self.worst, key=lambda stage: stage.ns - stage.usual_ns)


def chains_of(
    derived: DerivedRun, deadlines: Mapping[tuple[str, str], int]
) -> tuple[DataPath, ...]:
    """The chains of a program, and those that a deadline names. ``deadlines``: last and first
    thread -> how old the data may be, ns."""
    walks = [
        _walk(derived, [derived.flow(*pair) for pair in pairwise(path)])
        for path in _paths(derived, deadlines)
    ]
    for walk in walks:
        _give_way(derived, walk, [other for other in walks if other.ends == walk.ends])
    found = (_measured(derived, walk, deadlines.get(walk.ends)) for walk in walks)
    return tuple(chain for chain in found if chain.jobs)


def links_of(derived: DerivedRun) -> Iterator[Link]:
    """The links of a program, with the greatest age and reaction of each."""
    for flow in derived.flows:
        link = flow.link
        if link.from_ in derived.jobs and link.to in derived.jobs:
            alone = _measured(derived, _walk(derived, [flow]), None)
            link = evolve(link, age_ns=alone.age_max_ns, reaction_ns=alone.reaction_max_ns)
        yield link


def ages_of(deadlines: Mapping[str, int]) -> dict[tuple[str, str], int]:
    """How old data may be, ns, by last and first thread, from deadlines ``LAST<-FIRST``."""
    pairs = ((name.partition("<-"), ns) for name, ns in deadlines.items())
    return {(last, first): ns for (last, arrow, first), ns in pairs if arrow}


def bounded(chain: DataPath, derived: DerivedRun) -> DataPath:
    """With what age and reaction cannot exceed where all deadlines are met, if that is known."""
    tasks, stages = {task.name: task for task in derived.tasks}, list[chains.Stage]()
    for before, name in zip((None, *chain.tasks), chain.tasks, strict=False):
        task, hop = tasks[name], derived.flow(before, name) if before else None
        woken = hop is not None and hop.link.kind == "woken"
        sends = hop is None or (
            hop.link.lost == 0 and len(hop.rows) >= len(_jobs(derived, hop.link.from_)[0])
        )
        known = woken or (task.kind == "periodic" and (hop is None or hop.link.kind == "sampled"))
        known &= task.policy in REAL_TIME  # of ordinary ones no test proves anything
        if not (known and sends and task.deadline_ns and (woken or task.period_ns)):
            return chain
        run = stages[-1] if woken and stages else None
        stages.append(
            chains.Stage(
                period=run.period if run else task.period_ns or 0,
                response=task.deadline_ns + (run.response if run else task.jitter_ns or 0),
                jitter=run.jitter if run else task.jitter_ns or 0,
                triggered=woken,
            )
        )
    found = chains.chain_bounds(stages)
    if found.age < chain.age_max_sending_ns or found.reaction < (chain.reaction_max_ns or 0):
        return chain  # a job sent nothing, or more than one message
    return evolve(
        chain, age_bound_ns=found.age, reaction_bound_ns=found.reaction, bound_by=found.by
    )


def explained(chain: DataPath, seen: Stretches, tids: Mapping[str, int]) -> DataPath:
    """With why each stage of the oldest data took as long."""
    stages = list[DatumStage]()
    for each in chain.worst:
        if not each.why and each.ns > each.usual_ns:
            why = seen.most(tids[each.thread], each.begin_ns, each.begin_ns + each.ns)
            each = evolve(each, why=f"{each.thread}: {why}" * bool(why))  # noqa: PLW2901
        stages.append(each)
    return evolve(chain, worst=tuple(stages))


def oldest_moment(chain: DataPath) -> WorstMoment:
    """Where the oldest data of a chain were, over time."""
    rows, born = [*dict.fromkeys(each.where for each in chain.worst)], chain.worst[0].begin_ns
    age = chain.age_max_ns or 0
    limit = {"deadline": chain.deadline_ns} if chain.deadline_ns else {}
    return WorstMoment(
        what=f"Data of {chain.tasks[0]} as {chain.tasks[-1]} used them, {time_text(age)} old",
        rows=tuple(rows),
        stretches=tuple(
            Activity(
                row=rows.index(each.where),
                kind="in a thread" if each.where == each.thread else "on the way",
                begin_ns=each.begin_ns - born,
                end_ns=each.begin_ns - born + each.ns,
                text=each.words,
            )
            for each in chain.worst
        ),
        marks={"release": 0, "finish": age} | limit,
        source="From the calls that moved them.",
    )


def _paths(derived: DerivedRun, wanted: Collection[tuple[str, str]]) -> list[tuple[str, ...]]:
    """From threads that get no data, or else have a period, to those that hand nothing on."""
    links: dict[str, list[str]] = {}
    for link in derived.chains:
        if link.to not in links.setdefault(link.from_, []):
            links[link.from_].append(link.to)
    later = {to for each in links.values() for to in each}
    firsts = [name for name in links if name not in later]
    reached = {*firsts}
    for _ in links:
        reached |= {to for name in reached for to in links.get(name, ())}
    firsts += [
        task.name
        for task in derived.tasks
        if task.name in links and task.kind in _BY_TIME and task.name not in reached
    ]
    found = dict[tuple[str, ...], None]()
    for last, first in wanted:
        if not {last, first} <= {*derived.jobs}:
            continue
        found |= dict.fromkeys(islice(_shortest(links, first, last), _NAMED))
    found |= dict.fromkeys(
        path
        for first in firsts
        for path in islice(_from(links, (first,)), _CHAINS)
        if path[0] in derived.rows and path[-1] in derived.rows
    )
    return [*found][: max(_CHAINS, _NAMED * len(wanted))]


def _shortest(links: Mapping[str, list[str]], first: str, last: str) -> Iterator[tuple[str, ...]]:
    """Paths from one thread to another, of the first ones that are looked at."""
    paths: list[tuple[str, ...]] = [(first,)]
    for path in paths:
        if path[-1] == last:
            yield path
        elif len(paths) < _LOOKED_AT:
            paths += [(*path, to) for to in links.get(path[-1], ()) if to not in path]


def _from(links: Mapping[str, list[str]], path: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    further = [to for to in links.get(path[-1], ()) if to not in path]
    yield from [] if further or len(path) < 2 else [path]
    for name in further:
        yield from _from(links, (*path, name))


def _jobs(derived: DerivedRun, name: str) -> tuple[Times, Times]:
    """Release and end of each job of a thread, in order."""
    period = next(task.period_ns for task in derived.tasks if task.name == name)
    release, end, _ = single_jobs(derived.jobs[name], period or 0)
    return release, end


@define(eq=False)
class _Walk:
    """From the ``end`` of each job of the last thread back to the release of the job that sent its
    data, which is ``known`` of some. ``instants``: that release, each put and take, and ``end``;
    ``unknown``: jobs of which it is not, after the first of which it is."""

    hops: Sequence[Flow]
    end: Times
    known: NDArray[np.bool_]
    instants: NDArray[np.int64]
    unknown: int

    @property
    def path(self) -> tuple[str, ...]:
        return (self.hops[0].link.from_, *(hop.link.to for hop in self.hops))

    @property
    def ends(self) -> tuple[str, str]:
        return self.path[-1], self.path[0]

    @property
    def ages(self) -> Times:
        return np.asarray(self.end - self.instants[0])


def _walk(derived: DerivedRun, hops: Sequence[Flow]) -> _Walk:
    born, done = _begun(derived, hops[0].link.from_)
    _, end = _jobs(derived, hops[-1].link.to)
    at, known, instants = end, np.ones(len(end), bool), [end]
    for hop in reversed(hops):
        rows = hop.rows[np.lexsort((hop.rows["put"], hop.rows["take"]))]
        last = np.searchsorted(rows["take"], at, "right") - 1
        known &= last >= 0
        at = rows["put"][np.maximum(last, 0)]
        instants += [rows["take"][np.maximum(last, 0)], at]
    first = np.minimum(np.searchsorted(done, at), len(born) - 1)
    known &= (born[first] <= at) & (at <= done[first])
    unknown = int((~known[known.argmax() :]).sum()) if known.any() else 0
    return _Walk(hops, end, known, np.array([born[first], *reversed(instants)]), unknown)


def _begun(derived: DerivedRun, name: str) -> tuple[Times, Times]:
    """Like `_jobs`, with the last one that did not end, which may have sent data."""
    born, done = _jobs(derived, name)
    waits = derived.tracks[next(task.tid for task in derived.tasks if task.name == name)].waits
    after = waits[waits["enter"] >= derived.rows[name]["end"][-1]][:1]
    if not len(after) or after["exit"][0] == NEVER:
        return born, done
    release = next(int(after[of][0]) for of in ("timer", "wake", "exit") if after[of][0])
    return np.append(born, min(release, int(after["exit"][0]))), np.append(done, NEVER)


def _give_way(derived: DerivedRun, walk: _Walk, others: Sequence[_Walk]) -> None:
    """Where a thread in the middle has ended, what another brings takes the place of its data."""
    over = min((derived.ended(name) for name in walk.path[1:-1]), default=NEVER)
    for other in others:
        walk.known &= (walk.end <= over) | ~other.known | (other.ages >= walk.ages)


def _measured(derived: DerivedRun, walk: _Walk, deadline: int | None) -> DataPath:
    ages, ends_at, hops = walk.ages[walk.known], walk.end[walk.known], walk.hops
    reaction = _reactions(derived, hops)
    sending = ends_at <= min(derived.ended(name) for name in walk.path[:-1])
    worst, ends = tuple[DatumStage, ...](), 0
    if len(ages):
        instants = walk.instants[:, walk.known]
        place = int(np.argmax(ages))
        ends = int(instants[-1, place])
        worst = tuple(_stages(walk, np.diff(instants, axis=0), instants[:, place], place))
    (age, oldest, age_shares), (soon, latest, soon_shares) = map(_spread, (ages, reaction))
    return DataPath(
        tasks=walk.path,
        kinds=tuple(hop.link.kind for hop in hops),
        jobs=len(ages),
        share=len(ages) / max(len(walk.end), 1),
        age_mean_ns=age,
        age_max_ns=oldest,
        age_max_sending_ns=int(ages[sending].max(initial=0)),
        age_quantiles_ns=age_shares,
        releases=len(reaction),
        reaction_mean_ns=soon,
        reaction_max_ns=latest,
        reaction_quantiles_ns=soon_shares,
        deadline_ns=deadline,
        misses=None if deadline is None else int((ages > deadline).sum()),
        bursts=bursts(ends_at - ages, ends_at, ages > (NEVER if deadline is None else deadline)),
        worst=worst,
        at_ns=ends,
        at_least=any(hop.link.at_least for hop in hops),
        unknown=walk.unknown,
    )


def _spread(values: Times) -> tuple[float | None, int | None, tuple[int, ...]]:
    """Mean, greatest, and those that `SHARES` do not exceed."""
    if not len(values):
        return None, None, ()
    shares = np.quantile(values, SHARES, method="higher").tolist()
    return float(values.mean()), int(values.max()), tuple(map(int, shares))


def _reactions(derived: DerivedRun, hops: Sequence[Flow]) -> Times:
    """The reaction to each release of the first thread that the recording has, ns."""
    born, done = _jobs(derived, hops[0].link.from_)
    release, end = _jobs(derived, hops[-1].link.to)
    at = np.maximum(born, np.append(0, done[:-1])[: len(born)])  # what it sends as it works
    for hop in hops:
        soonest = np.append(np.minimum.accumulate(hop.rows["take"][::-1])[::-1], NEVER)
        at = soonest[np.searchsorted(hop.rows["put"], at)]
    job = np.minimum(np.searchsorted(end, at), len(end) - 1)
    known = (release[job] <= at) & (at <= end[job])  # else no job is known that took them
    return np.asarray((end[job] - born)[known])


def _stages(walk: _Walk, stage: NDArray[np.int64], at: Times, place: int) -> Iterator[DatumStage]:
    """Where the datum of one job was, beside where those of all were."""
    for number in range(len(stage)):
        hop, name, why = number // 2, walk.path[(number + 1) // 2], ""
        if number % 2:
            where, what = walk.hops[hop].link.channel, f"until {name} took it"
        elif number == 0:
            where, what = name, "from its release until it sent it"
        else:
            ends = number == len(stage) - 1
            where, what = name, "until its job ended" if ends else "until it sent it on"
            came = walk.hops[hop - 1]  # its next message would have taken the place
            puts = came.rows["put"]
            after = puts[np.searchsorted(puts, at[number - 1], "right") :][:1]
            silent = min(int(after[0]) if len(after) else at[-1], at[number + 1]) - at[number - 1]
            if 2 * silent > stage[number, place] > 2 * np.median(stage[number]):
                why = f"{came.link.from_} sent nothing newer for {time_text(int(silent))}"
        yield DatumStage(
            where=where,
            what=what,
            ns=int(stage[number, place]),
            usual_ns=int(np.median(stage[number])),
            thread=name,
            begin_ns=int(at[number]),
            why=why,
        )
