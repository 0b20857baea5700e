"""Latency matrices of several kernels or machines beside each other, as presets draw them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from attrs import field, frozen

from deadbeat.kinds.latency.charts import loads_panel, quantity_curves
from deadbeat.kinds.latency.histograms import Named, by_cpu, edges_of, overlaid, shown_cpus
from deadbeat.kinds.latency.words import load_order, load_words, loads_of, policy_words, rests_on
from deadbeat.model.errors import UsageError
from deadbeat.model.latency import LoadPoint
from deadbeat.model.latency_summary import CellSummary, LatencySummary
from deadbeat.model.words import nearest, seconds_text, time_text
from deadbeat.report.charts import Chart, Curve, Panel
from deadbeat.report.document import UNKNOWN

#: Curves that can be told apart.
SIDES_MAX = 7
#: Measured so much longer, a maximum is larger for that alone.
_LONGER = 1.1


@frozen(kw_only=True)
class Side:
    """One matrix of a picture.

    Attributes:
        name: As it stands in the picture.
        platform: As plain values.
        dma_latency: What was asked of /dev/cpu_dma_latency; "": not known.
        inventory: What the system consists of, line by line; empty: not recorded.
        lacking: Runs that were asked for and are not there.
    """

    name: str
    summary: LatencySummary
    platform: Mapping[str, object] = field(factory=dict)
    dma_latency: str = ""
    inventory: Mapping[str, str] = field(factory=dict)
    lacking: int = 0

    def cell(self, load: LoadPoint, engine: str) -> CellSummary | None:
        """Its cell where that has a valid run."""
        for cell in self.summary.cells:
            if cell.load == load and cell.engine == engine and cell.whole.runs:
                return cell
        return None


@frozen(kw_only=True)
class Question:
    """What a preset draws.

    Attributes:
        engine: The one that measured on every side.
        loads: Those that every side was measured beside, in order.
        load: The one that was asked for; None: the preset's own choice.
    """

    sides: tuple[Side, ...]
    engine: str
    loads: tuple[LoadPoint, ...]
    load: LoadPoint | None = None

    def cells(self, side: Side) -> list[CellSummary]:
        """Its cells beside the common loads."""
        found = (side.cell(load, self.engine) for load in self.loads)
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
    """What a preset made of it.

    Attributes:
        sentences: What the picture says, and how sure that is.
        caveats: Why it may not say that.
    """

    charts: tuple[Chart, ...]
    sentences: tuple[str, ...] = ()
    tables: tuple[SidesTable, ...] = ()
    caveats: tuple[str, ...] = ()


@frozen(kw_only=True)
class PlotPreset:
    """A picture of latency matrices.

    Attributes:
        title: One line.
        about: What it shows, of what, and how to read it.
        source: Whose figure it is after.
        least, most: How many matrices it takes.
        takes: In words, in which order.
        draw: Makes it.
    """

    name: str
    title: str
    about: str
    source: str
    takes: str
    draw: Callable[[Question], DrawnPlot]
    least: int = 2
    most: int = SIDES_MAX

    def check(self, runs: Sequence[str]) -> None:
        """UsageError where so many matrices are not what it takes."""
        if self.least <= len(runs) <= self.most:
            return
        wanted = str(self.least) if self.least == self.most else f"{self.least} to {self.most}"
        raise UsageError(
            f"plot {self.name} takes {wanted} results, {len(runs)} "
            f"{'is' if len(runs) == 1 else 'are'} named",
            f"deadbeat plot {self.name} {self.takes}",
        )


def question(sides: Sequence[Side], *, engine: str = "", load: LoadPoint | None = None) -> Question:
    """What the sides have in common.

    Args:
        engine: The one that was asked for; "": the prober, or whatever all have.

    Raises:
        UsageError: They have no engine or no load in common, or differ in what must be alike.
    """
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
    for name, told in alike.items():
        values = [", ".join(map(str, told(side))) for side in sides]
        if len(set(filter(None, values))) > 1:
            shown = "; ".join(
                f"{side.name}: {value}" for side, value in zip(sides, values, strict=True)
            )
            wrong.append(f"{name} differs: {shown}")
    hint = "measure both sides the same way"
    if len(wrong) == 1:
        raise UsageError(wrong[0], hint)
    if wrong:
        raise UsageError(
            f"{len(wrong)} things differ that must not ({hint}):", details=tuple(wrong)
        )


# ---------- what presets have in common ----------


def caveats(asked: Question, loads: Iterable[LoadPoint] | None = None) -> tuple[str, ...]:
    """Why a picture of these sides may not say what it seems to."""
    shown = tuple(loads or asked.loads)
    found = [*_lengths(asked, shown)]
    few = [s.name for s in asked.sides if any(len(c.whole.runs) < 2 for c in _at(asked, s, shown))]
    if few:
        found.append(f"{_and(few)}: a single run beside a load has no interval between runs.")
    lacking = [
        f"{side.name} lacks {side.lacking} run{'' if side.lacking == 1 else 's'}"
        for side in asked.sides
        if side.lacking
    ]
    if lacking:
        found.append(f"Not everything that was asked for was measured: {', '.join(lacking)}.")
    found += _cpus(asked)
    invalid = [f"{s.name}: {s.summary.invalid_runs}" for s in asked.sides if s.summary.invalid_runs]
    if invalid:
        found.append(f"Runs that do not count and are not shown: {', '.join(invalid)}.")
    left = {load for s in asked.sides for load in loads_of(s.summary.cells)} - set(asked.loads)
    if left and loads is None:
        names = ", ".join(load_words(load) for load in sorted(left, key=load_order))
        found.append(f"Not measured on every side, and left out: {names}.")
    machines = {(s.platform.get("name"), s.platform.get("soc")) for s in asked.sides if s.platform}
    if len(machines) > 1:
        found.append("The machines differ: a difference may be theirs and not the kernel's.")
    if any(cell.whole.missed for side in asked.sides for cell in _at(asked, side, shown)):
        found.append("Periods were missed; they are put in where the engine can tell.")
    return tuple(found)


def _at(asked: Question, side: Side, loads: Iterable[LoadPoint]) -> list[CellSummary]:
    found = (side.cell(load, asked.engine) for load in loads)
    return [cell for cell in found if cell is not None]


def _cpus(asked: Question) -> list[str]:
    """Pooled over more CPUs, a maximum is larger for that alone."""
    each = [side.summary.meta.cpus for side in asked.sides]
    if len(set(map(len, each))) < 2:
        return []
    told = ", ".join(
        f"{side.name} {', '.join(map(str, cpus))}"
        for side, cpus in zip(asked.sides, each, strict=True)
    )
    return [f"Measured on different numbers of CPUs ({told}): over more of them a maximum grows."]


def _lengths(asked: Question, loads: Sequence[LoadPoint]) -> list[str]:
    for load in loads:
        hours = [cell.whole.hours for s in asked.sides for cell in _at(asked, s, [load])]
        if min(hours) > 0 and max(hours) / min(hours) > _LONGER:
            each = ", ".join(
                f"{side.name} {seconds_text(value * 3600)}"
                for side, value in zip(asked.sides, hours, strict=True)
            )
            return [
                f"Measured for different times ({each} beside {load_words(load)}): a maximum grows"
                " with the time measured."
            ]
    return []


def _and(names: Sequence[str]) -> str:
    return " and ".join(filter(None, [", ".join(names[:-1]), *names[-1:]]))


def sides_panel(asked: Question, name: str, title: str) -> Panel:
    """A quantity against load, a curve for each side, points a little beside each other."""
    step = 0.6 / max(len(asked.sides), 4)
    curves: list[Curve] = []
    for look, side in enumerate(asked.sides):
        aside = (look - (len(asked.sides) - 1) / 2) * step
        cells = asked.cells(side)
        curves += quantity_curves(cells, asked.loads, name, side.name, look=look, aside=aside)
    return loads_panel(title, asked.loads, curves)


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
        seconds = [cell.whole.hours * 3600 for cell in cells]
        rows.append(
            (
                side.name,
                *(
                    str(side.platform.get(key) or UNKNOWN)
                    for key in ("soc", "kernel", "preemption")
                ),
                f"{sum(cell.whole.cycles for cell in cells):,}",
                seconds_text(min(seconds)) if seconds else "–",
                str(min((len(cell.whole.runs) for cell in cells), default=0)),
            )
        )
    columns = (
        *("system", "processor", "kernel", "preemption", "wake-ups"),
        *("beside each load, at least", "runs of each, at least"),
    )
    return SidesTable(title="Systems", columns=columns, rows=tuple(rows))


def how(asked: Question) -> str:
    """``prober, every 1 ms, SCHED_FIFO 90``: what holds of every side."""
    meta = asked.sides[0].summary.meta
    every = f"every {time_text(meta.interval_ns[0])}" if len(meta.interval_ns) == 1 else ""
    return ", ".join(filter(None, (asked.engine, every, policy_words(meta))))
