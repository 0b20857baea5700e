"""How sides differ, with the interval between runs."""

from __future__ import annotations

import math

from attrs import evolve

from deadbeat.analysis.run_ratio import RUNS_MIN, Ratio, run_ratio
from deadbeat.model.latency import LoadPoint
from deadbeat.model.latency_summary import CellSummary
from deadbeat.report.latency_data import load_words
from deadbeat.report.latency_sides import Question, Side, Table
from deadbeat.report.times import time_text

#: What no interval between two sessions knows.
SESSIONS = (
    "Whether the systems differ, or only the days: deadbeat compare, with repeats of the first"
    " (--aa)."
)
TIMES = "times as large [95 %, between these sessions]"
#: A maximum of a run grows with its length: lengths must be alike to this.
_ALIKE = 1.02


def ratio(asked: Question, over: Side, under: Side, load: LoadPoint, quantity: str) -> Ratio:
    """Of a quantity of a run, beside one load; without an interval where runs differ in length."""
    one, two = over.cell(load, asked.engine), under.cell(load, asked.engine)
    if one is None or two is None:
        return run_ratio((), ())
    shown = (one.whole.honest, two.whole.honest)
    found = run_ratio(
        shown[0][quantity].runs_ns,
        shown[1][quantity].runs_ns,
        steps_ns=(shown[0].histogram.resolution_ns, shown[1].histogram.resolution_ns),
    )
    if quantity.startswith("max") and not same_length(over, under):
        return evolve(found, low=None, high=None)
    return found


def of_a_run(cell: CellSummary | None, quantity: str) -> float | None:
    """Geometric mean over the runs, whose ratio `ratio` is; of ``max`` the largest of all."""
    if cell is None:
        return None
    found = cell.whole.honest[quantity]
    logs = [math.log(value) for value in found.runs_ns if value]
    if quantity == "max":
        return found.value_ns
    return math.exp(sum(logs) / len(logs)) if logs else None


#: What the figures of a table of ratios are.
FIGURES = "geometric mean of the runs, but of the maximum the largest of all"


def same_length(over: Side, under: Side) -> bool:
    """Whether runs of both sides are equally long."""
    lengths = [side.summary.meta.get("seconds") for side in (over, under)]
    known = [value for value in lengths if isinstance(value, int | float) and value > 0]
    return len(known) == 2 and max(known) / min(known) <= _ALIKE


def ratio_text(found: Ratio) -> str:
    """``1.32 [1.10, 1.58]``, or that there is no interval."""
    if found.value is None:
        return "–"
    without = f" ({found.left_out} runs without a value)" if found.left_out else ""
    if found.low is None or found.high is None:
        return f"{found.value:.3g} (no interval){without}"
    return f"{found.value:.3g} [{found.low:.3g}, {found.high:.3g}]{without}"


def ratio_table(asked: Question, quantities: tuple[tuple[str, str], ...]) -> Table:
    """For every load both sides' figures and their ratio, second over first."""
    base, other = asked.sides
    rows = []
    for load in asked.loads:
        for quantity, name in quantities:
            cells = [side.cell(load, asked.engine) for side in asked.sides]
            rows.append(
                (
                    load_words(load),
                    name,
                    *(time_text(of_a_run(c, quantity)) for c in cells),
                    _of(asked, other, base, load, quantity),
                )
            )
    return Table(
        title=f"{other.name} against {base.name}",
        columns=("load", f"latency ({FIGURES})", base.name, other.name, TIMES),
        rows=tuple(rows),
    )


def _of(asked: Question, over: Side, under: Side, load: LoadPoint, quantity: str) -> str:
    if quantity == "max":
        cells = (over.cell(load, asked.engine), under.cell(load, asked.engine))
        one, two = (c.whole.honest["max"].value_ns if c else None for c in cells)
        return f"{one / two:.3g} (one sample of each)" if one and two else "–"
    return ratio_text(ratio(asked, over, under, load, quantity))


def effect_sentence(asked: Question, quantity: str, name: str) -> str:
    """Beside how many loads the second side is larger or smaller, and how much at most."""
    base, other = asked.sides
    found = [(load, ratio(asked, other, base, load, quantity)) for load in asked.loads]
    sure = [(load, r) for load, r in found if r.low is not None and r.high is not None]
    if not sure:
        why = (
            "runs of different lengths have maxima that cannot be compared"
            if quantity.startswith("max") and not same_length(other, base)
            else f"fewer than {RUNS_MIN} runs a side beside a load"
        )
        return f"{name}: whether {other.name} differs from {base.name} is not known: {why}."
    larger = [load for load, r in sure if r.differs and (r.value or 0) > 1]
    smaller = [load for load, r in sure if r.differs and (r.value or 0) < 1]
    where, worst = max(sure, key=lambda item: item[1].high or 0)
    of = f"of {len(sure)} {'load' if len(sure) == 1 else 'loads'}"
    told = [
        f"{word} beside {len(loads)} {of}"
        for word, loads in (("larger", larger), ("smaller", smaller))
        if loads
    ]
    first = (
        f"{other.name} is {' and '.join(told)} than {base.name}"
        if told
        else f"no difference of {other.name} from {base.name} shows beside any {of}"
    )
    return (
        f"{name}, between these two sessions: {first} (95 % each, not allowing for their number)."
        f" It may be {worst.high:.3g} times as large at most ({load_words(where)})."
        f" {SESSIONS}"
    )
