"""An interference matrix in words, as a picture, and as files."""

from __future__ import annotations

from collections.abc import Iterator
from math import ceil

import attrs
from attrs import evolve

from deadbeat.base.model.platform import Platform
from deadbeat.base.model.specification import plain_of
from deadbeat.base.model.words import UNDECIDED, Json
from deadbeat.base.report.charts import FAINT, SHOWN, Chart, Heat, HeatCell, Panel
from deadbeat.base.report.document import (
    CellMap,
    Column,
    Document,
    FactList,
    Figures,
    Findings,
    Section,
    Sentence,
    Subsection,
    Table,
    detail,
    flatten,
    folded,
    machine_facts,
    said,
)
from deadbeat.base.report.machines import Verdicted
from deadbeat.base.stats.intervals import Interval
from deadbeat.tasksets.interfere.results import InterfereSummary, Slowdown
from deadbeat.tasksets.interfere.sharing import RULES, Shared, levels, nothing, shared, shares
from deadbeat.tasksets.interfere.spec import OTHERS, SIBLING, SetWork, plan
from deadbeat.tasksets.prices.page import price_list, price_parts, price_rows, state_words

_NOTE = (
    "Slowdown: time beside the aggressor over time alone, of the same uses; 1 is none. Slots of 3"
    " ms in random order; every slot counts. The interval is over runs, each with new processes."
)
_MODEL = (
    "A slowdown belongs to these works at these sizes, working without a pause; tasks that pause"
    " slow each other less. What a victim shares follows from who slows it, by these rules;"
    " aggressors that load one resource each tell resources apart (P. Radojković et al., ACM"
    " Transactions on Architecture and Code Optimization 8(4), 2012)."
)
#: Pairs that a line names.
_LISTED = 3
#: Times as many runs from which on none are asked for.
_MOST = 10.0
_VIRTUAL = (
    "This is a virtual machine: other guests may use the same cache and memory; what is found is"
    " what they leave."
)


def _interval(interval: Interval | None) -> str:
    return f"{interval.low:.2f} to {interval.high:.2f}" if interval else "–"


def place_words(place: str) -> str:
    words = {OTHERS: "all other cores", SIBLING: "the victim's core", "1": "1 other core"}
    return words.get(place, f"{place} other cores")


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
    detail("place", "aggressors on", value=lambda cell: place_words(cell.place), words=True),
    detail("alone_ns", "a use alone, µs", format=lambda value: f"{value / 1000:.3g}"),
    detail("slots", "slots"),
    detail("late", "late slots", help="not all aggressors had begun when the victim did"),
)


def answer(found: InterfereSummary) -> tuple[str, ...]:
    """Who is slowed most and by whom, who is not, what is undecided, and what the control says."""
    if not found.cells:
        return ("Nothing is measured yet.",)
    pairs = [cell for cell in found.cells if cell.aggressor]
    hurt = sorted((cell for cell in pairs if cell.shows), key=lambda cell: -cell.value)
    said = []
    if hurt:
        worst = hurt[0]
        said.append(f"{worst.victim.text} takes {_times(found, worst)}.")
        other = next((c for c in hurt if c.victim != c.aggressor), None)
        if other is not None and other is not worst:
            said.append(
                f"Between two different works {other.victim.text} suffers most: it takes"
                f" {_times(found, other)}."
            )
        slowed = dict.fromkeys(cell.victim.text for cell in hurt)
        said.append(f"Slowed in {len(hurt)} of {len(pairs)} pairs: {', '.join(slowed)}.")
    least = max(cell.least for cell in found.cells)
    touched = {cell.victim for cell in pairs if not cell.free}
    free = [work.text for work in found.order if work not in touched]
    if pairs:
        said.append(f"Free (each interval below {least:.2f}): {', '.join(free) or 'none'}.")
    if left := sorted((c for c in pairs if c.undecided), key=lambda cell: -cell.value):
        widest = [f"{c.victim.text} beside {c.aggressor.text}" for c in left if c.aggressor]
        more = f", and {len(left) - _LISTED} more" if len(left) > _LISTED else ""
        said.append(
            f"{len(left)} of {len(pairs)} pairs need more repeats:"
            f" {', '.join(widest[:_LISTED])}{more}."
        )
    if "SIMULATED" in found.labels and said:
        said[0] = f"Simulated: {said[0]}"
    if controls := [cell.value for cell in found.cells if cell.aggressor is None]:
        said.append(
            f"Beside threads that sleep slowdowns are {min(controls):.3f} to {max(controls):.3f}:"
            " that much is noise."
        )
    return tuple(said)


def _times(found: InterfereSummary, cell: Slowdown) -> str:
    assert cell.aggressor is not None
    where = f" on {place_words(cell.place)}" if len(found.places) > 1 else ""
    beside = f"beside {cell.aggressor.text}{where} ({_interval(cell.interval)})"
    return f"{cell.value:.2f} times as long {beside}"


def cases(found: InterfereSummary) -> Iterator[Verdicted]:
    """A case for each pair."""
    for cell in found.cells:
        if cell.aggressor:
            where = f" on {place_words(cell.place)}" if len(found.places) > 1 else ""
            yield Verdicted(
                name=f"{cell.victim.text} beside {cell.aggressor.text}{where}",
                group="interfere.slowed",
                weight=cell.value,
                verdict="failed" if cell.shows else "skipped" if cell.undecided else "passed",
                message=f"{cell.value:.2f} times as long ({_interval(cell.interval)}), allowed:"
                f" {cell.least:.2f}",
            )


def _cell(cell: Slowdown | None) -> HeatCell:
    if cell is None:
        return HeatCell()
    beside = cell.aggressor.text if cell.aggressor else "threads that sleep"
    return HeatCell(
        value=cell.value,
        state=SHOWN if cell.shows else UNDECIDED if cell.undecided else FAINT,
        text=f"{cell.value:.2f}",
        hover=f"{cell.victim.text} beside {beside}: {cell.value:.3f} ({_interval(cell.interval)}),"
        f" {cell.slots} slots",
    )


def _worst(found: InterfereSummary) -> str:
    """``the worse of all other cores and the victim's core``."""
    *others, last = map(place_words, found.places)
    return f"the worse of {', '.join(others)} and {last}" if others else last


def _heat(found: InterfereSummary, words: str, *places: str) -> Chart:
    """Victims downwards, aggressors across; alike ones side by side."""
    across: list[SetWork | None] = [None, *found.order]
    down, several = found.order[::-1], len(found.places) > 1
    panel = Panel(
        title="Slowdown of the victim (row) beside the aggressor (column)",
        x_label=f"aggressor, on {words}",
        y_label="victim",
        heat=Heat(
            cells=[[_cell(_at_worst(found, v, a, *places)) for a in across] for v in down],
            x=[work.text if work else "asleep" for work in across],
            y=[work.text for work in down],
            low=1.0,
            high=max([2.0, *(cell.value for cell in found.cells)]),
            unit="slowdown",
            log=True,
            sortable="alike side by side",
        ),
    )
    return Chart(
        name="-".join(("interference", *(places if several else ()))),
        title="Who slows whom",
        caption=f"{found.slots:,} slots in {found.done} runs. Grey: noise, or too little to"
        " matter. Crossed: the interval is too wide to tell.",
        family="interference" * several,
        option=words * several,
        panels=(panel,),
    )


def _resources(found: InterfereSummary) -> Table:
    """What each victim shares with aggressors at each place."""

    def shown_by(row: tuple[SetWork, str, Shared | None]) -> str:
        cell = row[2] and row[2].cell
        if not cell or cell.aggressor is None:
            return ""
        return f"{cell.value:.2f} beside {cell.aggressor.text} ({_interval(cell.interval)})"

    columns = [
        said("victim", lambda row: row[0].text, words=True),
        said("shares", lambda row: row[2].resource if row[2] else nothing(found, *row[:2]),
             words=True),
        said("shown by", shown_by, words=True),
    ]  # fmt: skip
    if len(found.places) > 1:
        columns.insert(1, said("with aggressors on", lambda row: place_words(row[1]), words=True))
    rows = [
        (work, place, each)
        for work in found.order
        for place in found.places
        for each in (*shared(found, work, place),) or (None,)
    ]
    return Table(name="resources", columns=columns, rows=rows)


def _map(found: InterfereSummary) -> CellMap:
    """Every victim beside every aggressor, at the place that is worst for it."""
    across = (None, *found.order)
    cells = [[_at_worst(found, v, a, *found.places) for a in across] for v in found.order]
    where = f" on {_worst(found)}" if len(found.places) > 1 else ""
    return CellMap(
        title=f"slowdown of a row beside a column{where} (1: free, ?: undecided, -: asleep)",
        columns=["-", *(str(n) for n, _ in enumerate(found.order, 1))],
        rows=[f"{work.text} {n}" for n, work in enumerate(found.order, 1)],
        cells=[[_map_cell(cell) for cell in row] for row in cells],
        strength=[
            [1 + sum(c.value >= at for at in (1.3, 2.0, 4.0)) if c and c.shows else 0 for c in row]
            for row in cells
        ],
        corner="victim \\ beside",
    )


def _at_worst(
    found: InterfereSummary, victim: SetWork, aggressor: SetWork | None, *places: str
) -> Slowdown | None:
    here = [c for p in places if (c := found.cell(victim, aggressor, p)) is not None]
    return max(here, key=lambda cell: (cell.shows, cell.undecided, cell.value), default=None)


def _map_cell(cell: Slowdown | None) -> str:
    if cell is None:
        return "-"
    if not cell.shows:
        return "?" if cell.undecided else "1"
    return f"{cell.value:.1f}" if cell.value < 10 else f"{cell.value:.0f}"


def _capacity(found: InterfereSummary) -> str:
    """What of the shared cache was there, as copies alone show it."""
    size, made = found.machine.shared_bytes, levels(found)
    if not (size and made.lost):
        return "How much of the shared cache is free here was not measured: the works lack copies."
    if not made.held:
        return f"No copy ran faster in the shared cache ({size / 2**20:g} MiB) than in memory."
    return (
        f"Alone, copies through {made.held / 2**20:.3g} MiB run in the shared cache"
        f" ({size / 2**20:g} MiB), through {made.lost / 2**20:.3g} MiB in memory."
    )


def document(found: InterfereSummary, platform: Platform) -> Document:
    lines = answer(found)
    worst = sorted((c for c in found.cells if c.aggressor), key=lambda cell: -cell.value)
    several = len(found.places) > 1
    columns = [evolve(c, terminal=several) if c.key == "place" else c for c in COLUMNS]
    table = Table(name="matrix", columns=columns, rows=found.cells, terminal=True, hint=_NOTE)
    most = evolve(table, name="worst", rows=worst[:8])
    rules = [(rule.resource, rule.when) for rule in RULES]
    doubts = [_MODEL, _capacity(found), *([_VIRTUAL] if found.machine.virtual else [])]
    refused = FactList([*found.refused.items()])
    charts, prices = [_heat(found, place_words(each), each) for each in found.places], found.prices
    if several:  # first what the answer names: each pair at its worst
        charts.insert(0, _heat(found, _worst(found), *found.places))
    priced = (evolve(price_list(prices), page=False), *price_parts(prices)) if prices else ()
    if "SIMULATED" in found.labels:
        steps = [("deadbeat interfere --quick", "measure this machine")]
    else:
        left = [c.runs_needed for c in found.cells if c.aggressor and c.undecided]
        times, steps = max(2.0, min(left, default=_MOST)), []
        if times < _MOST:
            decided = sum(each <= times for each in left)
            why = f"decides {decided} of {len(left)} pairs, if more runs are like these"
            steps = [(f"deadbeat interfere --repeats {ceil(times * found.spec.repeats)}", why)]
    return Document(
        title=found.name,
        kind="interfere",
        source="the stored runs",
        labels=found.labels,
        head=machine_facts(attrs.asdict(platform)),
        answer=lines,
        picture=_map(found),
        steps=steps,
        below=(price_list(prices), *filter(None, [state_words(prices)])) if prices else (),
        sections=(
            Section(
                "answer",
                "Who slows whom",
                (
                    Sentence(" ".join(lines), answer=True, terminal=True),
                    evolve(most, page=False, terminal=False),
                    Figures(charts),
                ),
                "Answer",
            ),
            Section(
                "shares",
                "What each seems to share",
                (
                    _resources(found),
                    Sentence(" ".join(doubts)),
                    Subsection("The rules", (FactList(rules, terms=True),), folded=True),
                ),
            ),
            Section("matrix", "All pairs", (folded(table),)),
            *((Section("prices", "Prices of sharing", priced),) if prices else ()),
            *((Section("refused", "Not run, and why", (refused,)),) if found.refused else ()),
            Section("findings", "What makes this doubtful", (Findings(found.findings),)),
            Section("parameters", "Parameters", (FactList([*flatten(plain_of(found.spec))]),)),
        ),
    )


def rows(found: InterfereSummary) -> list[dict[str, Json]]:
    return [
        {column.key: column.of(cell) for column in COLUMNS if column.raw}
        | {"interval": list(cell.interval) if cell.interval else None, "shows": cell.shows}
        | {"undecided": cell.undecided}
        for cell in found.cells
    ]


def summary_dict(found: InterfereSummary) -> dict[str, Json]:
    return {
        "planned": len(plan(found.spec)),
        "done": found.done,
        "slots": found.slots,
        "labels": list(found.labels),
        "refused": found.refused,
        "order": [work.text for work in found.order],
        "shares": {work.text: shares(found, work) for work in found.order},
        "rows": rows(found),
        "prices": price_rows(found.prices),
    }
