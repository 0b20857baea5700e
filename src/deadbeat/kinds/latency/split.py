"""Where latency went: the parts of the path, and the cause of the worst traced wake-up."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from attrs import frozen

from deadbeat.kinds.latency.data import US, engines_of, load_order, load_words
from deadbeat.kinds.latency.summarise import split_total
from deadbeat.model.latency import PATH_PARTS, QUANTILES_PPM, PathSplit
from deadbeat.model.latency_summary import CellSummary
from deadbeat.report import parts
from deadbeat.report.charts import Bars, Chart, Panel
from deadbeat.report.times import time_text

PART_WORDS: Mapping[str, str] = {
    "interrupt": "timer to interrupt",
    "wake_up": "interrupt to waking",
    "switch": "waking to the CPU",
    "exit": "CPU to own clock",
}
_CAPTION = (
    "Of traced wake-ups only: tracing costs time itself. The parts of a bar sum to the latency:"
    " from the timer's moment to the interrupt's handler, to the waking of the thread, to its first"
    " moment on the CPU, to its own reading of the clock."
)


@frozen(kw_only=True)
class Traced:
    """Traced wake-ups of a CPU beside a load."""

    cell: CellSummary
    split: PathSplit

    @property
    def place(self) -> str:
        """``cpu 25 %, CPU 1``."""
        return f"{load_words(self.cell.load)}, CPU {self.split.cpu}"

    @property
    def worst_ns(self) -> int:
        """Latency of the worst; 0 where none is kept."""
        return split_total(self.split.worst)

    @property
    def worst_parts(self) -> dict[str, int]:
        """Parts of the worst; empty where events of it are missing."""
        found = {part: self.split.worst.get(part) for part in PATH_PARTS}
        return {part: int(value) for part, value in found.items() if value is not None}


def traced(cells: Iterable[CellSummary]) -> list[Traced]:
    """CPUs of cells that have traced wake-ups, loads in order."""
    return [
        Traced(cell=cell, split=split)
        for cell in sorted(cells, key=lambda cell: (load_order(cell.load), cell.engine))
        for split in cell.split
        if split.worst or any(histogram.total for histogram in split.parts.values())
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
    means = [
        {part: mean for part in PATH_PARTS if (mean := _mean(item.split, part)) is not None}
        for item in every
    ]
    worst = [item.worst_parts for item in every]
    panels = (_stacked("Mean", names, means), _stacked("The worst traced", names, worst))
    return [
        Chart(name="latency-split", title="Where the latency went", caption=_CAPTION, panels=panels)
    ]


def _mean(split: PathSplit, part: str) -> float | None:
    """Over all split wake-ups, also those without that part: so the means sum to the latency's."""
    wake_ups = max((histogram.total for histogram in split.parts.values()), default=0)
    return split.parts[part].sum_ns / wake_ups if part in split.parts and wake_ups else None


def cost_rows(cells: Iterable[CellSummary]) -> list[tuple[str, ...]]:
    """Of every traced CPU: median and p99 with and without tracing, and what is not split."""
    rows = []
    for item in traced(cells):
        beside = item.split.latency
        counted = [row.raw for row in item.cell.cpus if row.cpu == item.split.cpu]
        if beside is None or not counted:
            continue
        figures = [
            time_text(value)
            for name in ("p50", "p99")
            for value in (counted[0][name].value_ns, beside.quantile(QUANTILES_PPM[name]))
        ]
        left = f"{item.split.left_out:,} of {beside.total:,}"
        rows.append((item.place, item.cell.engine, *figures, left, f"{item.split.lost:,}"))
    return rows


MEAN_COLUMNS = ("beside", "engine", "wake-ups", *(PART_WORDS[part] for part in PATH_PARTS))


def mean_rows(cells: Iterable[CellSummary]) -> list[tuple[str, ...]]:
    """Of every traced CPU how many wake-ups were split, and the mean of each part."""
    return [
        (
            item.place,
            item.cell.engine,
            f"{max((part.total for part in item.split.parts.values()), default=0):,}",
            *(time_text(_mean(item.split, part)) for part in PATH_PARTS),
        )
        for item in traced(cells)
        if item.split.parts
    ]


COST_COLUMNS = (
    *("beside", "engine", "p50, counted", "p50, traced", "p99, counted", "p99, traced"),
    *("not split", "events lost"),
)


def _stacked(title: str, names: Sequence[str], bars: Sequence[Mapping[str, float]]) -> Panel:
    totals = [time_text(sum(bar.values())) if bar else "" for bar in bars]
    return Panel(
        title=title,
        x_label="",
        y_label="part of the latency (µs)",
        categories=tuple(names),
        bars=tuple(
            Bars(
                label=PART_WORDS[part],
                look=look,
                y=tuple(bar[part] / US if part in bar else None for bar in bars),
                texts=tuple(totals) if part == PATH_PARTS[-1] else (),
            )
            for look, part in enumerate(PATH_PARTS)
        ),
    )


def cause_rows(cells: Iterable[CellSummary]) -> list[tuple[str, ...]]:
    """Of every traced CPU the worst wake-up with its parts and its cause, the latest first."""
    found = sorted(traced(cells), key=lambda item: -item.worst_ns)
    return [
        (
            item.place,
            item.cell.engine,
            time_text(item.worst_ns),
            *(time_text(item.worst_parts.get(part)) for part in PATH_PARTS),
            re.sub(r"(\d) us\b", r"\1 µs", str(item.split.worst.get("cause") or "not known")),
        )
        for item in found
        if item.worst_ns
    ]


CAUSE_COLUMNS = (
    *("beside", "engine", "latency"),
    *(PART_WORDS[part] for part in PATH_PARTS),
    "what held it up",
)


def section(cells: Sequence[CellSummary]) -> str:
    """The worst traced wake-ups with their causes, or why there are none, as markup."""
    rows = cause_rows(cells)
    reasons = unavailable(cells)
    made = ""
    if rows:
        table = parts.cell_table(CAUSE_COLUMNS, rows, id="causes-table", kind="said")
        made = parts.scrolled(table, "Causes")
    if costs := cost_rows(cells):
        table = parts.cell_table(COST_COLUMNS, costs, id="tracing-table")
        made += f"<p>What tracing costs:</p>{parts.scrolled(table, 'What tracing costs')}"
    if reasons:
        items = "".join(f"<li>{parts.prose(reason)}</li>" for reason in reasons)
        made += f"<p>Not split everywhere:</p><ul>{items}</ul>"
    if not made:
        made = (
            "<p>No run was traced: where the latency went is not known."
            ' <span class="option">deadbeat latency --trace</span> splits it.</p>'
        )
    return made
