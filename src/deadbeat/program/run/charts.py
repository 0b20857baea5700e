"""Figures of a program: responses against deadlines, and when which thread was late."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from operator import attrgetter, itemgetter
from pathlib import Path

import numpy as np
from attrs import evolve

from deadbeat.base.model.grouping import grouped
from deadbeat.base.model.histogram import Histogram, pool
from deadbeat.base.model.traces import WorstMoment
from deadbeat.base.model.words import count_of, time_text
from deadbeat.base.report.building import exceeding, moment_chart
from deadbeat.base.report.charts import BLACK, Chart, Curve, Mark, Panel, Spans
from deadbeat.program.derive.ages import SHARES, DataPath, oldest_moment
from deadbeat.program.run.results import (
    ComparedProgram,
    ProgramStore,
    ProgramSummary,
    ThreadResponses,
)

#: Threads in a picture.
_MOST = 5
#: Stretches of a run in which a thread is late or in time.
_STRETCHES = 200
_IN_TIME, _LATE, _NO_DEADLINE = "all in time", "late", "no known deadline"
#: The kinds of a lane, and their looks.
_KINDS = {_IN_TIME: 0, _LATE: 1, _NO_DEADLINE: 5}

#: What it is of, its response times, and its deadline, 0: not known; ns.
Responses = tuple[str, Histogram, int]


def charts(found: ProgramSummary) -> list[Chart]:
    """What is marked, else the threads that were seen, those with a deadline first."""
    seen = [each for each in found.responses if each.response.total]
    seen.sort(key=lambda each: (not each.deadline_ns, -sum(late for *_, late in each.over_time)))
    rows = [(f"{each.name}, CPU {each.cpu}", each.response, each.deadline_ns)
            for each in found.cells]  # fmt: skip
    rows = rows or [(each.name, each.response, each.deadline_ns) for each in seen]
    worst = _worst(found.traced.moments if found.traced else ())
    if not rows:
        return [*worst]
    more = f" {_MOST} of {len(rows)} threads." if len(rows) > _MOST else ""
    jobs = count_of(sum(response.total for _, response, _ in rows), "job")
    runs = count_of(found.done if found.cells else 1, "run")
    first = Chart(
        name="response",
        title="Response times against deadlines",
        caption=f"{jobs} in {runs}; a curve ends at the longest.{more}",
        panels=(longer(rows[:_MOST]),),
    )
    timed = [] if found.cells else seen
    return [first, *_lanes(timed), *map(_over_time, timed), *worst]


def longer(rows: Sequence[Responses], *, title: str = "") -> Panel:
    """How many jobs took longer than a time, beside the deadlines."""
    most = max(response.max_ns or 0 for _, response, _ in rows)
    size, unit = (1e6, "ms") if most >= 1_000_000 else (1e3, "µs")
    known = [(look, name, limit) for look, (name, _, limit) in enumerate(rows) if limit]
    marks = [(look, f"deadline of {name}, {time_text(at)}", at) for look, name, at in known]
    if len({at for *_, at in known}) == 1:
        of = "" if len(known) == len(rows) else f" of {', '.join(name for _, name, _ in known)},"
        marks = [(BLACK, f"deadline{of} {time_text(known[0][2])}", known[0][2])]
    return Panel(
        title=title,
        x_label=f"response time, {unit}",
        y_label="jobs that took longer, %",
        curves=tuple(
            exceeding(response, f"{name} (n = {response.total:,})", look, size=size)
            for look, (name, response, _) in enumerate(rows)
        ),
        marks=tuple(Mark(axis="x", at=at / size, label=text, look=k) for k, text, at in marks),
        x_log=True,
        y_log=True,
    )  # fmt: skip


def _lanes(seen: Sequence[ThreadResponses]) -> Iterator[Chart]:
    """When threads were late, of the whole run."""
    end = max((at for each in seen for at, *_ in each.over_time), default=0.0) * (1 + 1e-9)
    if not end:
        return
    found: dict[str, list[tuple[int, float, float]]] = {kind: [] for kind in _KINDS}
    for row, each in enumerate(seen):
        late = dict[int, bool]()
        for at, _, was in each.over_time:
            place = int(at / end * _STRETCHES)
            late[place] = late.get(place, False) or was
        # Neighbours of one kind are one.
        ordered = [(place, was, place - k) for k, (place, was) in enumerate(sorted(late.items()))]
        for (was, _), own in groupby(ordered, itemgetter(1, 2)):
            places = [place for place, *_ in own]
            kind = (_LATE if was else _IN_TIME) if each.deadline_ns else _NO_DEADLINE
            begin, after = (at * end / _STRETCHES for at in (places[0], places[-1] + 1))
            found[kind].append((row, begin, after))
    spans = (
        Spans(label=kind, look=_KINDS[kind], rows=rows, begin=begin, end=ends)
        for kind, own in found.items()
        if own
        for rows, begin, ends in [zip(*own, strict=True)]
    )
    panel = Panel(
        title="",
        x_label="release, s since the begin",
        y_label="",
        rows=tuple(each.name for each in seen),
        spans=tuple(spans),
        x_limits=(0.0, end),
    )
    caption = (
        f"In each of {_STRETCHES} stretches of the run: whether a job released in it was late."
    )
    yield Chart(name="lanes", title="Misses over the run", caption=caption, panels=(panel,))


def _over_time(each: ThreadResponses) -> Chart:
    late = each.deadline_ns > 0
    size, unit = (1e6, "ms") if (each.response.max_ns or 0) >= 1_000_000 else (1e3, "µs")
    curves = []
    for look, (label, chosen) in enumerate(
        (("in time" if late else "jobs", False), ("late", True))
    ):
        points = [(at, took / size) for at, took, was in each.over_time if was == chosen]
        if points:
            x, y = zip(*points, strict=True)
            curves.append(Curve(label=label, x=x, y=y, kind="points", look=look))
    text = f"deadline {time_text(each.deadline_ns)}"
    panel = Panel(
        title="",
        x_label="release, s since the begin",
        y_label=f"response time, {unit}",
        curves=tuple(curves),
        marks=(Mark(axis="y", at=each.deadline_ns / size, label=text, look=BLACK),) * late,
        y_log=True,
    )
    return Chart(
        name=f"time-{each.name}",
        title="Response times over the run",
        caption="Of each stretch of time the longest job, and the longest late one.",
        panels=(panel,),
        family="time",
        option=each.name,
    )


def ages(chains: Sequence[DataPath]) -> list[Chart]:
    """How old data are, and where the oldest were; ``chains``: the worst first."""
    if not chains:
        return []
    drawn = chains[:_MOST]
    size, unit = (1e6, "ms") if (drawn[0].age_max_ns or 0) >= 1_000_000 else (1e3, "µs")
    curves = (
        Curve(
            label=f"{' -> '.join(chain.tasks)} (n = {chain.jobs:,})",
            x=tuple(age / size for age in chain.age_quantiles_ns),
            y=tuple(100 * (1 - share) for share in SHARES),
            kind="steps",
            look=look,
        )
        for look, chain in enumerate(drawn)
    )
    limits = ((look, chain.deadline_ns) for look, chain in enumerate(drawn) if chain.deadline_ns)
    panel = Panel(
        title="",
        x_label=f"age of the data at the end of a job, {unit}",
        y_label="jobs with older data, %",
        curves=tuple(curves),
        marks=tuple(
            Mark(axis="x", at=at / size, label=f"allowed: {time_text(at)}", look=look)
            for look, at in limits
        ),
    )
    more = f" {_MOST} of {len(chains)} chains." * (len(chains) > _MOST)
    caption = f"From the release of the job that sent them.{more}"
    return [
        Chart(name="ages", title="How old data are", caption=caption, panels=(panel,)),
        moment_chart(oldest_moment(chains[0]), name="oldest", title="The oldest data over time"),
    ]


def _worst(moments: Sequence[WorstMoment]) -> Iterator[Chart]:
    """The worst job of each of a few tasks, one at a time."""
    for place, moment in enumerate(moments, 1):
        made = moment_chart(moment, name=f"worst-{place}", title="The worst job over time")
        name = moment.what.partition(":")[0].partition(" of ")[2]
        yield evolve(made, family="worst", option=name)


def overlaid(subjects: Sequence[ComparedProgram]) -> list[Chart]:
    """Response times of each task that two at least have, the latest first."""
    tasks: dict[str, list[Responses]] = {}
    for subject in subjects:
        for task, response, deadline in _responses(subject):
            tasks.setdefault(task, []).append((subject.name, response, deadline))
    both = [(task, rows) for task, rows in tasks.items() if len(rows) > 1]

    def worst(item: tuple[str, list[Responses]]) -> tuple[bool, float]:
        _, rows = item
        most = max((response.max_ns or 0) / (limit or 1) for _, response, limit in rows)
        return not any(limit for *_, limit in rows), -most

    return [
        Chart(
            name=f"responses-{place}",
            title="Response times over each other",
            caption="All jobs of all runs that count; a curve ends at the longest. Whether sides"
            " differ is for the verdicts, which compare run by run.",
            panels=(longer(rows),),
            family="responses",
            option=task,
        )
        for place, (task, rows) in enumerate(sorted(both, key=worst), 1)
    ]


def _responses(subject: ComparedProgram) -> Iterator[Responses]:
    """What it marked, else every job that was seen, which is kept of runs without a change."""
    marked = grouped((task for run in subject.runs for task in run.tasks), attrgetter("name"))
    for name, own in marked.items():
        response = pool([each.response for each in own])
        if response.total:
            yield name, response, own[0].deadline_ns
    numbers = [run.key.repeat for run in subject.runs if not run.key.change]
    jobs = ProgramStore.open(Path(subject.path)).every_job() if numbers and not marked else {}
    for name in np.unique(jobs["thread"]) if jobs else ():
        mine = (jobs["thread"] == name) & np.isin(jobs["run"], numbers)
        took, limits = jobs["response_ns"][mine], jobs["deadline_ns"][mine]
        if len(took):
            yield str(name), Histogram.of(np.maximum(took, 0)), max(int(limits[0]), 0)
