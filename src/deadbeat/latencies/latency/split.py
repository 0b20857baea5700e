"""Where latency went: the parts of the path, and the cause of the worst traced wake-up."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from operator import attrgetter, methodcaller

from attrs import frozen

from deadbeat.base.model.histogram import QUANTILES_PPM
from deadbeat.base.model.lateness import MissCause, counted, word_of
from deadbeat.base.model.traces import Activity, WorstMoment
from deadbeat.base.model.words import time_text
from deadbeat.base.report.building import moment_chart, stacked
from deadbeat.base.report.charts import Chart, Panel
from deadbeat.base.report.document import Column, Lines, Part, Sentence, Subsection, Table, said
from deadbeat.latencies.latency.summary import CellSummary
from deadbeat.latencies.latency.words import US, engines_of, load_words
from deadbeat.machine.trace.paths import PATH_PARTS, PathSplit

PART_WORDS: Mapping[str, str] = {
    "interrupt": "timer to interrupt",
    "wake_up": "interrupt to waking",
    "switch": "waking to the CPU",
    "exit": "CPU to own clock",
}
#: Worst wake-ups that are listed below a matrix; ``why`` and ``--json`` have all.
_SHOWN = 3
_CAPTION = (
    "Of traced wake-ups only: tracing costs time itself. The parts of a bar sum to the latency:"
    " from the timer's moment to the interrupt's handler, to the waking of the thread, to its first"
    " moment on the CPU, to its own reading of the clock."
)


@frozen(kw_only=True)
class TracedWakeUp:
    """Traced wake-ups of a CPU beside a load."""

    cell: CellSummary
    split: PathSplit

    @property
    def place(self) -> str:
        """``cpu 25 %, CPU 1``."""
        return f"{load_words(self.cell.load)}, CPU {self.split.cpu}"

    @property
    def word(self) -> str:
        """What held the worst up, in a word of `deadbeat.base.model.lateness`."""
        return word_of(self.split.worst.cause)

    @property
    def cause(self) -> str:
        """What held the worst up, in the words of its events."""
        return re.sub(r"(\d) us\b", r"\1 µs", self.split.worst.cause or "not known")

    @property
    def worst_ns(self) -> int:
        """Latency of the worst; 0 where none is kept."""
        return self.split.worst.total_ns

    @property
    def wake_ups(self) -> int:
        """How many were split."""
        return max((histogram.total for histogram in self.split.parts.values()), default=0)

    @property
    def means(self) -> dict[str, float]:
        """Mean of each known part over all split wake-ups, also those without it: so they sum
        to the latency's."""
        many, parts = self.wake_ups, self.split.parts
        return {part: parts[part].sum_ns / many for part in PATH_PARTS if many and part in parts}

    def counted(self, name: str) -> float | None:
        """A quantile of the CPU's wake-ups, those that were not traced among them."""
        return next(row.raw[name].value_ns for row in self.cell.cpus if row.cpu == self.split.cpu)

    def traced(self, name: str) -> float | None:
        """The same of those that were."""
        assert self.split.latency is not None
        return self.split.latency.quantile(QUANTILES_PPM[name])


def traced(cells: Iterable[CellSummary]) -> list[TracedWakeUp]:
    """CPUs of cells that have traced wake-ups, loads in order."""
    return [
        TracedWakeUp(cell=cell, split=split)
        for cell in cells
        for split in cell.split
        if split.worst.total_ns or any(histogram.total for histogram in split.parts.values())
    ]


def unavailable(cells: Iterable[CellSummary]) -> tuple[str, ...]:
    """Why paths were not split, each reason once."""
    reasons = (split.unavailable for cell in cells for split in cell.split)
    return tuple(dict.fromkeys(reason for reason in reasons if reason))


def split_charts(cells: Sequence[CellSummary]) -> list[Chart]:
    """Parts of the mean latency, and of the worst wake-up; none where nothing was traced."""
    every = traced(cells)
    if not every:
        return []
    several = len(engines_of(item.cell for item in every)) > 1
    names = [item.place + (f", {item.cell.engine}" if several else "") for item in every]
    panels = (
        _stacked("Mean", names, [item.means for item in every]),
        _stacked("The worst traced", names, [item.split.worst.parts for item in every]),
    )
    return [
        Chart(
            name="latency-split", title="Where the latency went", caption=_CAPTION, panels=panels
        ),
        *(
            moment_chart(each, name="latency-worst", title="The worst traced wake-up over time")
            for each in worst_moments(every, 1)
        ),
    ]


def worst_moments(items: Iterable[TracedWakeUp], count: int) -> list[WorstMoment]:
    """The latest wake-ups over time, of each item one; none where its events are incomplete."""
    latest = sorted(items, key=attrgetter("worst_ns"), reverse=True)[:count]
    found = []
    for each in latest:
        if set(each.split.worst.parts) == set(PATH_PARTS):
            parts = each.split.worst.parts
            stretches, at = [], 0
            for row, part in enumerate(PATH_PARTS):
                words, end = PART_WORDS[part], at + parts[part]
                stretches.append(Activity(row=row, kind=words, begin_ns=at, end_ns=end))
                at = end
            moment = WorstMoment(
                what=cause_line(each),
                rows=tuple(PART_WORDS.values()),
                stretches=tuple(stretches),
                marks={"timer": 0, "awake": at},
                source="Drawn from the kernel's events.",
            )
            found.append(moment)
    return found


_PLACE = (
    said("beside", attrgetter("place"), words=True),
    said("engine", attrgetter("cell.engine"), words=True),
)


def _of_parts(times: Callable[[TracedWakeUp], Mapping[str, float]]) -> Iterator[Column]:
    for part in PATH_PARTS:
        value = partial(lambda part, item: times(item).get(part), part)
        yield said(PART_WORDS[part], value, format=time_text)


def causes_table(cells: Iterable[CellSummary]) -> Table:
    """Worst wake-up of every traced CPU with its parts and its cause, the latest first."""
    return Table(
        name="causes-table",
        title="the worst traced wake-ups and their parts",
        columns=(
            *_PLACE,
            said("latency", attrgetter("worst_ns"), format=time_text),
            *_of_parts(lambda i: i.split.worst.parts),
            said("cause", attrgetter("word"), words=True),
            said("what held it up", attrgetter("cause"), long=True, terminal=False),
        ),
        rows=sorted((i for i in traced(cells) if i.worst_ns), key=lambda i: -i.worst_ns),
        dense=True,
    )


def means_table(cells: Iterable[CellSummary]) -> Table:
    """Number of split wake-ups and mean of each part, by traced CPU."""
    return Table(
        name="means-table",
        title="mean of all traced wake-ups",
        columns=(
            *_PLACE,
            said("wake-ups", attrgetter("wake_ups")),
            *_of_parts(attrgetter("means")),
        ),
        rows=[item for item in traced(cells) if item.split.parts],
        dense=True,
    )


def costs_table(cells: Iterable[CellSummary]) -> Table:
    """Median and p99 with and without tracing, and what is not split, by traced CPU."""
    return Table(
        name="tracing-table",
        title="What tracing costs",
        columns=(
            *_PLACE,
            *(
                said(f"{name}, {side}", methodcaller(side, name), format=time_text)
                for name in ("p50", "p99")
                for side in ("counted", "traced")
            ),
            said("not split", lambda i: f"{i.split.left_out:,} of {i.split.latency.total:,}"),
            said("events lost", attrgetter("split.lost")),
        ),
        rows=[
            item
            for item in traced(cells)
            if item.split.latency is not None
            and any(row.cpu == item.split.cpu for row in item.cell.cpus)
        ],
        dense=True,
    )


def _stacked(title: str, names: Sequence[str], bars: Sequence[Mapping[str, float]]) -> Panel:
    totals = [time_text(sum(bar.values())) if bar else "" for bar in bars]
    return Panel(
        title=title,
        x_label="",
        y_label="part of the latency (µs)",
        categories=tuple(names),
        bars=stacked(
            {
                PART_WORDS[part]: [bar[part] / US if part in bar else None for bar in bars]
                for part in PATH_PARTS
            },
            totals=totals,
        ),
    )


def every_cause(cells: Iterable[CellSummary]) -> list[MissCause]:
    """Why the worst traced wake-ups were late, those of all runs, CPUs and loads."""
    rows = ((x.cause, x.by, x.most_ns, x.misses) for cell in cells for x in cell.causes)
    return list(counted("", rows))


def cause_line(item: TracedWakeUp) -> str:
    """``memory 100 %, CPU 1, prober: 84 µs: the cause: what its events say``."""
    why = f"{item.word}: {item.cause}"
    return f"{item.place}, {item.cell.engine}: {time_text(item.worst_ns)}: {why}"


def cause_lines(cells: Sequence[CellSummary]) -> list[str]:
    """Why the worst traced wake-ups were late, for a terminal; nothing where none was traced."""
    rows = causes_table(cells).rows
    if not rows:
        return [f"not split: {reason}" for reason in unavailable(cells)]
    parts = [f"worst traced wake-up under load {cause_line(item)}" for item in rows[:_SHOWN]]
    return [*parts, "where the time of traced wake-ups went: deadbeat why"]


def paths(cells: Sequence[CellSummary]) -> tuple[Part, ...]:
    """The worst traced wake-ups with their causes, or why there are none."""
    causes, costs, reasons = causes_table(cells), costs_table(cells), unavailable(cells)
    nothing = "No run was traced: where the latency went is not known."
    return (
        *((causes,) if causes.rows else ()),
        *((Subsection("What tracing costs", (costs,)),) if costs.rows else ()),
        *((Subsection("Not split everywhere", (Lines(reasons),)),) if reasons else ()),
    ) or (Sentence(f"{nothing} deadbeat latency --trace splits it."),)
