"""Latency matrices of several kernels or machines beside each other, as presets draw them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress

from attrs import evolve, field, frozen

from deadbeat.kinds.latency.charts import loads_panel, quantity_curves
from deadbeat.kinds.latency.cost import rates_panel
from deadbeat.kinds.latency.histograms import Named, by_cpu, edges_of, overlaid, shown_cpus
from deadbeat.kinds.latency.summarise import summarise_latency
from deadbeat.kinds.latency.words import load_order, load_words, loads_of, policy_words, rests_on
from deadbeat.model.errors import UsageError
from deadbeat.model.latency import LatencyRun, LoadPoint
from deadbeat.model.latency_summary import CellSummary, LatencySummary
from deadbeat.model.platform import machine_name
from deadbeat.model.words import Json, count_of, nearest, seconds_text, time_text
from deadbeat.report.charts import Chart, Curve, Panel
from deadbeat.report.document import UNKNOWN

#: Most curves that can be distinguished.
SIDES_MAX = 7
#: Measured so much longer, a maximum is larger for that alone.
_LONGER = 1.1


@frozen(kw_only=True)
class Side:
    """One matrix of a picture.

    Attributes:
        name: Name in the picture.
        platform: Platform as plain values.
        dma_latency: What was asked of /dev/cpu_dma_latency; "": not known.
        inventory: What the system consists of, line by line; empty: not recorded.
        lacking: Runs that were asked for and are not there.
        runs: Every stored run.
    """

    name: str
    summary: LatencySummary
    platform: Mapping[str, Json] = field(factory=dict)
    dma_latency: str = ""
    inventory: Mapping[str, str] = field(factory=dict)
    lacking: int = 0
    runs: Sequence[LatencyRun] = field(factory=tuple, repr=False)

    def cell(self, load: LoadPoint, engine: str) -> CellSummary | None:
        """Its cell where that has a valid run."""
        own = (each for each in self.summary.cells if (each.load, each.engine) == (load, engine))
        return next((each for each in own if each.whole.runs), None)


@frozen(kw_only=True)
class Question:
    """What a preset draws.

    Attributes:
        engine: The one that measured on every side.
        loads: The loads that every side was measured beside, in order.
        load: The one that was asked for; None: the preset's own choice.
    """

    sides: tuple[Side, ...]
    engine: str
    loads: tuple[LoadPoint, ...]
    load: LoadPoint | None = None

    def cells(self, side: Side, loads: Iterable[LoadPoint] = ()) -> list[CellSummary]:
        """Its cells beside these loads; without any beside the common ones."""
        found = (side.cell(load, self.engine) for load in loads or self.loads)
        return [cell for cell in found if cell is not None]


@frozen(kw_only=True)
class SidesTable:
    """Texts in rows under a heading; ``empty`` stands there without any."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    empty: str = "None."


@frozen(kw_only=True)
class DrawnPlot:
    """What a preset made of it: ``sentences`` tell what the picture says, and how sure that is."""

    charts: tuple[Chart, ...]
    sentences: tuple[str, ...] = ()
    tables: tuple[SidesTable, ...] = ()
    caveats: tuple[str, ...] = ()


@frozen(kw_only=True)
class PlotPreset:
    """A picture of latency matrices, after the figure of a ``source``; it takes ``least`` to
    ``most`` of them, in the order that ``takes`` tells."""

    name: str
    title: str
    about: str
    source: str
    takes: str
    draw: Callable[[Question], DrawnPlot]
    least: int = 2
    most: int = SIDES_MAX

    def check(self, runs: Sequence[str]) -> None:
        """UsageError where it takes another number of matrices."""
        if not self.least <= len(runs) <= self.most:
            wanted = " to ".join(map(str, sorted({self.least, self.most})))
            raise UsageError(
                f"plot {self.name} takes {wanted} results, not {len(runs)}",
                f"deadbeat compare --picture {self.name} {self.takes}",
            )


def question(sides: Sequence[Side], *, engine: str = "", load: LoadPoint | None = None) -> Question:
    """What the sides have in common; ``engine`` "": the prober, or whatever all have."""
    _check_alike(sides)
    common = set.intersection(*({c.engine for c in side.summary.cells} for side in sides))
    if not common:
        each = "; ".join(
            f"{side.name}: {', '.join(sorted({c.engine for c in side.summary.cells})) or 'none'}"
            for side in sides
        )
        raise UsageError("no engine measured on every side", f"measure with the same one: {each}")
    if engine and engine not in common:
        raise UsageError(
            f"--engine: {engine} did not measure on every side", nearest(engine, common)
        )
    chosen = engine or ("prober" if "prober" in common else min(common))
    shared = set.intersection(
        *({load for load in loads_of(s.summary.cells) if s.cell(load, chosen)} for s in sides)
    )
    loads = tuple(item for item in loads_of(sides[0].summary.cells) if item in shared)
    if not loads:
        raise UsageError(
            "no load was measured with a valid run on every side", "deadbeat show RUN lists them"
        )
    if load is not None and load not in loads:
        known = ", ".join(load_words(item) for item in loads)
        raise UsageError(
            f"--load: {load_words(load)} was not measured on every side", f"one of {known}"
        )
    return Question(sides=tuple(sides), engine=chosen, loads=loads, load=load)


def _check_alike(sides: Sequence[Side]) -> None:
    """For figures to say anything of kernels or machines."""
    alike: dict[str, Callable[[Side], Iterable[object]]] = {
        "interval": lambda side: map(time_text, side.summary.meta.interval_ns),
        "priority": lambda side: side.summary.meta.priority,
        "policy": lambda side: side.summary.meta.policy,
        "/dev/cpu_dma_latency": lambda side: filter(None, [side.dma_latency]),
    }
    wrong = []
    for name, of in alike.items():
        values = [(side.name, ", ".join(map(str, of(side)))) for side in sides]
        if len({value for _, value in values if value}) > 1:
            wrong.append(f"{name} differs: {'; '.join(map(': '.join, values))}")
    hint = "measure both sides the same way"
    if len(wrong) == 1:
        raise UsageError(wrong[0], hint)
    if wrong:
        raise UsageError(
            f"{len(wrong)} things differ that must not ({hint}):", details=tuple(wrong)
        )


# ---------- what presets have in common ----------


def caveats(asked: Question, loads: Sequence[LoadPoint] = ()) -> tuple[str, ...]:
    """Why a picture of these sides, beside these loads or all, may not say what it seems to."""
    sides = asked.sides
    found = [*_lengths(asked, loads or asked.loads)]
    if few := [s.name for s in sides if any(len(c.whole.runs) < 2 for c in asked.cells(s, loads))]:
        names = " and ".join(filter(None, [", ".join(few[:-1]), few[-1]]))
        found.append(f"{names}: a single run under a load has no interval between runs.")
    if lacking := [f"{s.name} lacks {count_of(s.lacking, 'run')}" for s in sides if s.lacking]:
        found.append(f"Not everything that was asked for was measured: {', '.join(lacking)}.")
    if len({len(side.summary.meta.cpus) for side in sides}) > 1:
        text = ", ".join(f"{s.name} {', '.join(map(str, s.summary.meta.cpus))}" for s in sides)
        found.append(
            f"Measured on different numbers of CPUs ({text}): over more of them a maximum grows."
        )
    if invalid := [f"{s.name}: {s.summary.invalid_runs}" for s in sides if s.summary.invalid_runs]:
        found.append(f"Runs that do not count and are not shown: {', '.join(invalid)}.")
    left = {load for s in sides for load in loads_of(s.summary.cells)} - set(asked.loads)
    if left and not loads:
        names = ", ".join(load_words(load) for load in sorted(left, key=load_order))
        found.append(f"Not measured on every side, and left out: {names}.")
    if len({(machine_name(s.platform), s.platform.get("soc")) for s in sides if s.platform}) > 1:
        found.append("The machines differ: a difference may be theirs and not the kernel's.")
    if any(cell.whole.missed for side in sides for cell in asked.cells(side, loads)):
        found.append("Periods were missed; they are added where the engine reports them.")
    return tuple(found)


def _lengths(asked: Question, loads: Sequence[LoadPoint]) -> list[str]:
    """Lengths at the first load for which sides were measured for different times."""
    for load in loads:
        hours = [c.whole.hours for s in asked.sides for c in asked.cells(s, [load])]
        if min(hours) > 0 and max(hours) / min(hours) > _LONGER:
            each = ", ".join(
                f"{side.name} {seconds_text(value * 3600)}"
                for side, value in zip(asked.sides, hours, strict=True)
            )
            return [
                f"Measured for different times ({each} under load {load_words(load)}): a maximum"
                " grows with the time measured."
            ]
    return []


def sides_panel(asked: Question, name: str, title: str) -> Panel:
    """A quantity against load, a curve for each side, points a little beside each other; ``rate``:
    what the load got done."""
    if name == "rate":
        counted = [
            (side.name, [run for run in side.runs if run.key.engine == asked.engine])
            for side in asked.sides
        ]
        return evolve(rates_panel(counted), title=title)
    step = 0.6 / max(len(asked.sides), 4)
    curves: list[Curve] = []
    for look, side in enumerate(asked.sides):
        aside = (look - (len(asked.sides) - 1) / 2) * step
        cells = asked.cells(side)
        curves += quantity_curves(cells, asked.loads, name, side.name, look=look, aside=aside)
    return loads_panel(title, asked.loads, curves)


def cost_charts(named: Iterable[tuple[str, Sequence[LatencyRun]]]) -> list[Chart]:
    """What a shorter latency costs: maxima beside the work of the loads; none without a rate.
    ``named``: name and runs of each side."""
    sides = [
        Side(name=name, summary=summarise_latency(runs, name=name), runs=runs)
        for name, runs in named
    ]
    with suppress(UsageError):  # nothing in common that could be drawn
        asked = question(sides)
        shown = (("max_of_a_run", "Maximum of one run"), ("rate", "Work of the loads"))
        panels = tuple(sides_panel(asked, *each) for each in shown)
        if not panels[-1].blank:
            chart = Chart(
                name="preemption",
                title="What a shorter latency costs",
                caption=f"{how(asked)}. Geometric means over valid runs; bars: 95 %. What the"
                " processes of a load did a second is read from /proc.",
                panels=panels,
            )
            return [chart]
    return []


def overlay_panel(asked: Question, load: LoadPoint) -> Panel:
    """The histograms of all sides beside a load over each other, as shares."""
    named = [
        Named(label=side.name, histogram=cell.whole.honest.histogram, look=look)
        for look, side in enumerate(asked.sides)
        if (cell := side.cell(load, asked.engine))
    ]
    return overlaid(named, per_million=True)


def cpu_panels(asked: Question, load: LoadPoint) -> tuple[Panel, ...]:
    """The histograms of every CPU beside a load: a panel for each side, all on one scale."""
    shown = [(side, cell) for side in asked.sides if (cell := side.cell(load, asked.engine))]
    cpus = shown_cpus([cell for _, cell in shown])
    edges = edges_of([item.histogram for _, cell in shown for item in by_cpu(cell, cpus)])
    named = len(asked.sides) > 1
    return tuple(
        overlaid(
            by_cpu(cell, cpus),
            title=f"{side.name}: {rests_on(cell.whole)}" if named else rests_on(cell.whole),
            edges=edges,
        )
        for side, cell in shown
    )


def systems_table(asked: Question) -> SidesTable:
    """What was measured, and how much of it."""
    rows = []
    for side in asked.sides:
        cells = asked.cells(side)
        facts = (side.platform.get(key) for key in ("soc", "kernel", "preemption"))
        shortest = min((cell.whole.hours for cell in cells), default=None)
        rows.append(
            (
                side.name,
                *(str(fact or UNKNOWN) for fact in facts),
                f"{sum(cell.whole.cycles for cell in cells):,}",
                "–" if shortest is None else seconds_text(shortest * 3600),
                str(min((len(cell.whole.runs) for cell in cells), default=0)),
            )
        )
    columns = (
        *("system", "processor", "kernel", "preemption", "wake-ups"),
        *("under each load, at least", "runs of each, at least"),
    )
    return SidesTable(title="Systems", columns=columns, rows=tuple(rows))


def how(asked: Question) -> str:
    """``prober, every 1 ms, SCHED_FIFO 90``: what holds of every side."""
    meta = asked.sides[0].summary.meta
    every = f"every {time_text(meta.interval_ns[0])}" if len(meta.interval_ns) == 1 else ""
    return ", ".join(filter(None, (asked.engine, every, policy_words(meta))))
