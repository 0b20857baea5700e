"""A search for the breakdown utilisation in words, as curves, as a page, and as files."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from operator import attrgetter

import attrs

from deadbeat.base.model.grouping import grouped
from deadbeat.base.model.words import Json, count_of, origin, time_text
from deadbeat.base.report.building import CurvePoint, curve
from deadbeat.base.report.charts import Chart, Curve, Panel
from deadbeat.base.report.document import (
    Document,
    FactList,
    Figures,
    Lines,
    Section,
    Sentence,
    Table,
    flatten,
    machine_facts,
    said,
)
from deadbeat.base.report.html import terms
from deadbeat.base.report.machines import CaseVerdict, Verdicted
from deadbeat.base.report.paper import Words
from deadbeat.base.store.files import csv_text
from deadbeat.tasksets.breakdown.results import Breakdown, CellResult, SetResult, columns, row
from deadbeat.tasksets.breakdown.spec import SearchCell


def percent(value: float | None) -> str:
    return "–" if value is None else f"{100 * value:.0f} %"


def _estimate(found: CellResult) -> str:
    ends = "at most " * bool(found.at_low) + "at least " * bool(found.at_high)
    mark = ends if found.at_low + found.at_high == found.sets else ""
    return f"{mark}{percent(found.breakdown)} [{100 * found.low:.0f}, {100 * found.high:.0f}]"


def _prediction(found: CellResult) -> str:
    ends = f"[{100 * found.predicted_low:.0f}, {100 * found.predicted_high:.0f}]"
    return f"{percent(found.predicted)} {ends}"


def sentence(found: Breakdown) -> str:
    if not found.cells:
        return "No task set has a result yet."
    worst = min(found.cells, key=lambda each: each.breakdown)
    best = max(found.cells, key=lambda each: each.breakdown)
    source = origin(found.labels)
    start = "" if source == "measured" else f"{source.capitalize()}: "
    each_way = [f"{_full(worst)} ({_variant(worst.cell)})"]
    if best.cell != worst.cell:
        several = f" ({_variant(best.cell)})" * (_variant(best.cell) != _variant(worst.cell))
        each_way.append(f"{_full(best)}{several}")
    words = f"{start}{'. '.join(each_way)}"
    if found.spare:
        counts = Counter(each.spare for each in found.cells).items()
        spared = ", ".join(f"{word} at {count_of(count, 'point')}" for word, count in counts)
        percents = f"{percent(found.spare)} of each core spare"
        words = f"Deadlines ({source}) with {percents}: {spared}. {words}"
    cells, sets = len(found.cells), len(found.sets)
    agree, within = (sum(getattr(c, name) for c in found.cells) for name in ("agrees", "within"))
    overlap = (
        f"Prediction and measurement agree at {agree} of {count_of(cells, 'point')} (intervals"
        f" overlap) and for {within} of {count_of(sets, 'set')} (where 95 of 100 searches end)"
    )
    parted = [_place(found, each.cell) for each in found.cells if each.parted]
    agreement = overlap + (
        f"; set by set the two differ at {'; '.join(parted)}." if parted else "."
    )
    return f"{words}. {agreement}"


def _full(found: CellResult) -> str:
    """``2 cores, everything shared: full at 47 % [36, 59], predicted 66 % [60, 70]``."""
    where = f"{_cores(found.cell)}{_sharing(found.cell)}"
    return f"{where}: full at {_estimate(found)}, predicted {_prediction(found)}"


_CASES: dict[str, CaseVerdict] = {"pass": "passed", "fail": "failed", "undecided": "skipped"}


def spare_cases(found: Breakdown) -> Iterator[Verdicted]:
    """Whether deadlines hold with the stated share of a core spare, point by point."""
    for each in found.cells if found.spare else ():
        yield Verdicted(
            name=_place(found, each.cell),
            group="breakdown.misses",
            verdict=_CASES[each.spare],
            message=f"{_estimate(each)} of a core, needed {percent(1 - found.spare)}",
        )


def criterion(found: Breakdown) -> str:
    """When a run meets its deadlines."""
    return f"a run meets its deadlines: at most {100 * found.miss_share:g} % of its jobs miss"


def _cores(cell: SearchCell) -> str:
    return "1 core" if cell.cores == 1 else f"{cell.cores} cores"


def _sharing(cell: SearchCell) -> str:
    if cell.sync_share == 1 and cell.contended_ratio in (0, 1):
        return f", {'everything' if cell.contended_ratio else 'nothing'} shared"
    return f" at ρ = {cell.sync_share:g}, α = {cell.contended_ratio:g}"


def _variant(cell: SearchCell) -> str:
    tasks = "1 task" if cell.tasks_per_core == 1 else f"{cell.tasks_per_core} tasks"
    return f"{tasks} a core, {cell.priorities}"


def _place(found: Breakdown, cell: SearchCell) -> str:
    text = f"M = {cell.cores}, ρ = {cell.sync_share:g}, α = {cell.contended_ratio:g}"
    variants = {(each.cell.tasks_per_core, each.cell.priorities) for each in found.cells}
    return text + f", {_variant(cell)}" * (len(variants) > 1)


def cells_table(found: Breakdown) -> Table:
    return Table(
        name="breakdown-table",
        title=criterion(found),
        columns=(
            said("where", lambda each: _place(found, each.cell)),
            said("sets", attrgetter("sets")),
            said("breakdown U", _estimate),
            said("predicted U", _prediction),
            said("calm host", attrgetter("predicted_calm"), format=percent),
            said("C alone", attrgetter("proved"), format=percent),
            *([said("spare", attrgetter("spare"))] if found.spare else ()),
            said(
                "misses alone",
                attrgetter("missed_alone_share"),
                format=lambda share: f"{100 * share:.2f} %",
            ),
        ),
        rows=found.cells,
        terminal=True,
        hint="In brackets: 95 % intervals, of what is measured over task sets, whatever they are"
        " like: a few say little of a mean, sets.csv has each; of what is predicted"
        " over searches of these sets; both with the resolution of a set. The same in full:"
        " summary.csv; every task set: sets.csv.",
    )


def doubts(found: Breakdown) -> list[str]:
    texts = []
    if found.done < found.planned:
        texts.append(f"{found.done} of {found.planned} runs are there: what follows may change.")
    if lacking := sum(each.lacking for each in found.cells):
        texts.append(f"Task sets without a result: {lacking}.")
    if not found.priced:
        texts.append("No prices of sharing were measured: predictions hold without contention.")
    if found.cells and not found.pace:
        texts.append(
            "All task sets share objects: the machine's overheads and the pace of its host are not"
            " known, and in no prediction (--contended-ratio 0,1 measures them)."
        )
    if noisy := [each for each in found.cells if each.missed_alone_share > found.miss_share]:
        where = "; ".join(_place(found, each.cell) for each in noisy)
        texts.append(
            f"Tasks that ran alone missed more than {100 * found.miss_share:g} % of their jobs at"
            f" {where}: either this host by itself fails the criterion there, and a larger"
            " --set miss-share asks less of it; or jobs that began beside others took so long that"
            " they lasted into the slots alone."
        )
    for end, name, beyond in (("low", "lowest", "lower"), ("high", "highest", "higher")):
        if sets := sum(getattr(each, f"at_{end}") for each in found.cells):
            texts.append(
                f"{sets} task sets break down at the {name} utilisation tried: theirs may be"
                f" {beyond} (--set breakdown.{end}=U moves the end)."
            )
    return texts


def charts(found: Breakdown) -> list[Chart]:
    """Curves over M with a line for each alpha, and over alpha with a line for each M; a panel for
    each rho, number of tasks per core and priority rule."""
    axes = (("cores", "contended_ratio"), ("contended_ratio", "cores"))
    return [
        _chart(found, axis, other)
        for axis, other in axes
        if axis == "cores" or len({getattr(each.cell, axis) for each in found.cells}) > 1
    ]


_NAMES = {"cores": "M", "contended_ratio": "α"}


def _chart(found: Breakdown, axis: str, other: str) -> Chart:
    groups = grouped(found.cells, lambda each: (each.cell.sync_share, _variant(each.cell)))
    panels = tuple(
        Panel(
            title=f"ρ = {rho:g}, {variant}",
            x_label=f"{axis.replace('_', ' ')} {_NAMES[axis]}",
            y_label="breakdown utilisation of a core, %",
            curves=tuple(_curves(cells, axis, other)),
        )
        for (rho, variant), cells in groups.items()
    )
    return Chart(
        name=f"breakdown-{axis.replace('_', '-')}",
        title=f"Breakdown utilisation over {_NAMES[axis]}",
        caption=(
            f"{criterion(found).capitalize()}. Lines with marks are measured, bands are 95 %"
            " intervals over task sets with the resolution; lines without marks are predicted for"
            " the same sets: by prices of sharing, overheads and the pace of the host, and by"
            " response-time analysis from C alone."
        ),
        panels=panels,
    )


def _curves(cells: Sequence[CellResult], axis: str, other: str) -> Iterator[Curve]:
    values = sorted({getattr(each.cell, other) for each in cells})
    for look, value in enumerate(values):
        same = [each for each in cells if getattr(each.cell, other) == value]
        own = [(float(getattr(each.cell, axis)), each) for each in same]
        name = f"{_NAMES[other]} = {value:g}"
        measured = (CurvePoint(x, each.breakdown, each.low, each.high) for x, each in own)
        yield curve(name, measured, look=look, scale=100)
        predictions = [("predicted", f"{name}: predicted"), ("proved", f"{name}: C alone")]
        for shift, (column, label) in enumerate(predictions, 1):
            known = ((x, getattr(each, column)) for x, each in own)
            points = (CurvePoint(x, y) for x, y in known if y is not None)
            yield curve(label, points, look=look + shift * len(values), kind="plain", scale=100)


def breakdown_document(found: Breakdown) -> Document:
    """What a search says: up to which utilisation deadlines are met."""
    drawn = charts(found) if found.cells else []
    # Ticks and whatever else the host takes are in the pace.
    pace = " and ".join(f"{each:.2f}" for each in found.pace)
    machine = (
        ("Wake-up, median", time_text(found.wake_up_ns)),
        ("Switch to a job that waited, median", time_text(found.switch_ns)),
        ("C and overheads last this many times as long: median slot, 95 % of slots", pace or "–"),
    )
    answer = (
        Sentence(sentence(found), answer=True, terminal=True),
        Lines(doubts(found), terminal=True),
    )
    table, few = cells_table(found), ("where", "breakdown U", "predicted U")
    columns = [attrs.evolve(each, spare=each.key not in few) for each in table.columns]
    rows = sorted(found.cells, key=lambda each: each.breakdown)
    if origin(found.labels) != "measured":
        steps = [("deadbeat breakdown --quick", "measure this machine")]
    else:
        steps = [("deadbeat contention --causes", "find out what slows the tasks down")]
    return Document(
        title=found.name,
        kind="breakdown",
        source="the stored runs of this search",
        labels=found.labels,
        head=[*machine_facts(found.platform), ("Runs", f"{found.done} of {found.planned}")],
        answer=[sentence(found)],
        picture=attrs.evolve(table, rows=rows, columns=columns),
        steps=steps,
        data_files="summary.csv",
        sections=(
            Section("answer", "Up to which utilisation deadlines are met", answer, "Answer"),
            Section("figures", "Figures", (Figures(drawn),)),
            Section("table", "Table", (cells_table(found),)),
            Section("machine", "What the machine itself takes", (FactList(machine),)),
            Section("parameters", "Parameters", (FactList([*flatten(found.spec)]),)),
            Section("glossary", "How to read this", (FactList(terms("breakdown"), terms=True),)),
        ),
    )


def summary_dict(found: Breakdown) -> dict[str, Json]:
    plain = attrs.asdict(found, filter=lambda field, _: field.name not in ("cells", "sets"))
    return {"doubts": doubts(found), "rows": [row(each) for each in found.cells], **plain}


def files(found: Breakdown) -> dict[str, str | dict[str, Json]]:
    return {
        "summary.csv": csv_text(columns(CellResult), map(row, found.cells)),
        "sets.csv": csv_text(columns(SetResult), map(row, found.sets)),
        "summary.json": summary_dict(found),
    }


def paper_words(found: Breakdown) -> Words:
    machine = f"{found.platform['soc']} · {found.platform['kernel']}"
    return Words(labels=" · ".join(found.labels), caption=machine)
