"""An interference matrix in words, as a picture, and as files."""

from __future__ import annotations

import math

import attrs

from deadbeat.kinds.channels.results import (
    InterfereStore,
    InterfereSummary,
    Slowdown,
    shares,
)
from deadbeat.kinds.channels.spec import SetWork
from deadbeat.model.platform import Platform
from deadbeat.model.specification import plain_of
from deadbeat.report.charts import FAINT, SHOWN, Chart, Heat, HeatCell, Panel
from deadbeat.report.document import (
    Column,
    Document,
    FactList,
    Figures,
    Findings,
    Section,
    Sentence,
    Table,
    flatten,
    machine_facts,
)
from deadbeat.stats.intervals import Interval
from deadbeat.store.place import REPORT_FILE

_NOTE = (
    "Slowdown: time beside the aggressor over time alone, of the same uses; 1 is none. Slots of 3"
    " ms in random order; every slot counts. The interval is over runs, each with new processes."
)
_MODEL = (
    "A slowdown belongs to these fragments at these sizes, working without a pause on all CPUs"
    " given; tasks that pause slow each other less."
)


def _interval(interval: Interval | None) -> str:
    return f"{interval.low:.2f} to {interval.high:.2f}" if interval else "–"


COLUMNS = (
    Column(key="victim", heading="victim", value=lambda cell: cell.victim.text, words=True),
    Column(
        key="aggressor",
        heading="beside",
        value=lambda cell: cell.aggressor.text if cell.aggressor else "threads that sleep",
        words=True,
    ),
    Column(key="value", heading="slowdown", format=lambda value: f"{value:.2f}"),
    Column(
        key="interval",
        heading="95 % interval",
        value=lambda cell: _interval(cell.interval),
        raw=False,
    ),
    Column(
        key="alone_ns",
        heading="a use alone, µs",
        format=lambda value: f"{value / 1000:.3g}",
        terminal=False,
    ),
    Column(key="slots", heading="slots", terminal=False),
    Column(
        key="late",
        heading="late slots",
        help="not all aggressors had begun when the victim did",
        terminal=False,
    ),
)


def answer(found: InterfereSummary) -> tuple[str, ...]:
    """Who is slowed most and by whom, who by nobody, and what the control says."""
    if not found.cells:
        return ("Nothing is measured yet.",)
    pairs = [cell for cell in found.cells if cell.aggressor]
    shown = sorted((cell for cell in pairs if cell.shows), key=lambda cell: -cell.value)
    simulated = "Simulated: " * ("SIMULATED" in found.labels)
    said = []
    if shown:
        worst = shown[0]
        assert worst.aggressor
        said.append(
            f"{simulated}{worst.victim.text} takes {worst.value:.2f} times as long beside"
            f" {worst.aggressor.text} ({_interval(worst.interval)})."
        )
        other = next((c for c in shown if c.victim != c.aggressor), None)
        if other is not None and other is not worst:
            assert other.aggressor
            said.append(
                f"Of two different ones {other.victim.text} suffers most: {other.value:.2f}"
                f" ({_interval(other.interval)}) beside {other.aggressor.text}."
            )
    hurt = {cell.victim for cell in shown}
    free = [work.text for work in found.order if work not in hurt]
    if free:
        said.append(f"{'' if said else simulated}Nobody slows {', '.join(free)} by 5 % or more.")
    controls = [cell.value for cell in found.cells if cell.aggressor is None]
    if controls:
        said.append(
            f"Beside threads that sleep slowdowns are {min(controls):.3f} to {max(controls):.3f}:"
            " so much is noise."
        )
    return tuple(said)


def _cell(cell: Slowdown | None) -> HeatCell:
    if cell is None:
        return HeatCell()
    beside = cell.aggressor.text if cell.aggressor else "threads that sleep"
    return HeatCell(
        value=math.log2(cell.value),
        state=SHOWN if cell.shows else FAINT,
        text=f"{cell.value:.2f}",
        hover=f"{cell.victim.text} beside {beside}: {cell.value:.3f} ({_interval(cell.interval)}),"
        f" {cell.slots} slots",
    )


def heat(found: InterfereSummary) -> list[Chart]:
    """Victims downwards, aggressors across; alike ones side by side."""
    if not found.cells:
        return []
    across: list[SetWork | None] = [None, *found.order]
    panel = Panel(
        title="Slowdown of the victim (row) beside the aggressor (column)",
        x_label="aggressor, on all other CPUs",
        y_label="victim",
        heat=Heat(
            cells=[[_cell(found.cell(v, a)) for a in across] for v in reversed(found.order)],
            x=[work.text if work else "asleep" for work in across],
            y=[work.text for work in reversed(found.order)],
            low=0.0,
            high=math.log2(max(2.0, *(cell.value for cell in found.cells))),
            unit="slowdown, as a power of 2",
        ),
    )
    caption = f"{found.slots:,} slots in {found.done} runs. Grey: within the noise, or below 5 %."
    return [Chart(name="interference", title="Who slows whom", caption=caption, panels=(panel,))]


def document(found: InterfereSummary, platform: Platform) -> Document:
    """The result for people."""
    said = answer(found)
    worst = sorted((c for c in found.cells if c.aggressor), key=lambda cell: -cell.value)
    picture = Table(name="worst", columns=COLUMNS, rows=worst[:8], terminal=True, hint=_NOTE)
    table = Table(name="matrix", columns=COLUMNS, rows=found.cells, terminal=True, hint=_NOTE)
    resources = [(work.text, shares(found, work)) for work in found.order] if found.cells else []
    refused = FactList([*found.refused.items()])
    charts = heat(found)
    return Document(
        title=found.name,
        kind="interfere",
        product="deadbeat report · interference",
        source="the stored runs",
        labels=found.labels,
        head=machine_facts(attrs.asdict(platform)),
        answer=said,
        picture=picture,
        sections=(
            Section(
                "answer",
                "Who slows whom",
                (Sentence(" ".join(said), answer=True, terminal=True), picture, Figures(charts)),
                "Answer",
            ),
            Section("shares", "What each seems to share", (FactList(resources), Sentence(_MODEL))),
            Section("matrix", "All pairs", (table,)),
            *((Section("refused", "Not run, and why", (refused,)),) if found.refused else ()),
            Section("findings", "What makes this doubtful", (Findings(found.findings),)),
            Section("parameters", "Parameters", (FactList([*flatten(plain_of(found.spec))]),)),
        ),
    )


def rows(found: InterfereSummary) -> list[dict[str, object]]:
    """A mapping for each pair."""
    return [
        {column.key: column.of(cell) for column in COLUMNS if column.raw}
        | {"interval": list(cell.interval) if cell.interval else None, "shows": cell.shows}
        for cell in found.cells
    ]


def summary_dict(found: InterfereSummary, store: InterfereStore) -> dict[str, object]:
    """JSON values."""
    return {
        "name": found.name,
        "path": str(store.path),
        "planned": found.spec.repeats,
        "done": found.done,
        "slots": found.slots,
        "labels": list(found.labels),
        "refused": found.refused,
        "order": [work.text for work in found.order],
        "shares": {work.text: shares(found, work) for work in found.order},
        "rows": rows(found),
        "report": str(store.path / REPORT_FILE),
    }
