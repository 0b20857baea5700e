"""How sides differ, with the interval between runs."""

from __future__ import annotations

import math
from collections.abc import Sequence

from attrs import evolve

from deadbeat.compare.run_ratio import Ratio, run_ratio
from deadbeat.kinds.latency.data import load_words
from deadbeat.kinds.latency.sides import Question, Side, Table
from deadbeat.model.latency import LoadPoint
from deadbeat.model.latency_summary import CellSummary
from deadbeat.report.times import time_text
from deadbeat.stats.permutation import holm

#: What no interval between two sessions knows.
SESSIONS = (
    "Whether the systems differ, or only the days: deadbeat compare, with repeats of the first"
    " (--aa)."
)
TIMES = "times as large [95 %, between these sessions]"
LENGTHS = "runs of different lengths have maxima that cannot be compared"
#: What all that one picture calls larger or smaller may err together, without a drift.
LEVEL = 0.05
#: A maximum of a run grows with its length: lengths must be alike to this.
_ALIKE = 1.02


def ratio(
    asked: Question,
    over: Side,
    under: Side,
    load: LoadPoint,
    quantity: str,
    *,
    level: float = 1 - LEVEL,
) -> Ratio:
    """Of a quantity of a run, beside one load; without an interval where runs differ in length."""
    one, two = over.cell(load, asked.engine), under.cell(load, asked.engine)
    if one is None or two is None:
        return run_ratio((), ())
    shown = (one.whole.honest, two.whole.honest)
    found = run_ratio(
        shown[0][quantity].runs_ns,
        shown[1][quantity].runs_ns,
        level=level,
        steps_ns=(shown[0].histogram.resolution_ns, shown[1].histogram.resolution_ns),
    )
    if quantity.startswith("max") and not same_length(over, under):
        return evolve(found, low=None, high=None, p=1.0, why=LENGTHS)
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


def effect_sentences(asked: Question, quantities: tuple[tuple[str, str], ...]) -> tuple[str, ...]:
    """Of each quantity (and what it is called): beside how many loads the second side is larger or
    smaller, allowing for the number of loads and of quantities (S. Holm, 1979), and how much at
    most, beside all loads at once (Bonferroni)."""
    base, other = asked.sides
    every = [(quantity, load) for quantity, _ in quantities for load in asked.loads]
    level = 1 - LEVEL / len(every)
    found = {
        (quantity, load): ratio(asked, other, base, load, quantity, level=level)
        for quantity, load in every
    }
    known = [key for key in every if found[key].low is not None]
    chances = holm([found[key].p for key in known])
    sure = {key for key, p in zip(known, chances, strict=True) if p <= LEVEL}
    return tuple(
        _effect_sentence(
            asked,
            name,
            [(load, found[quantity, load], (quantity, load) in sure) for load in asked.loads],
        )
        for quantity, name in quantities
    )


def _effect_sentence(
    asked: Question, name: str, found: Sequence[tuple[LoadPoint, Ratio, bool]]
) -> str:
    """Of each load its ratio and whether it differs."""
    base, other = asked.sides
    known = [each for each in found if each[1].high is not None]
    if not known:
        why = "; ".join(dict.fromkeys(each.why for _, each, _ in found))
        return f"{name}: whether {other.name} differs from {base.name} is not known: {why}."
    larger = sum(differs and (each.value or 0) > 1 for _, each, differs in known)
    smaller = sum(differs and (each.value or 0) < 1 for _, each, differs in known)
    where, worst, _ = max(known, key=lambda item: item[1].high or 0)
    of = f"of {len(known)} {'load' if len(known) == 1 else 'loads'}"
    told = [
        f"{word} beside {count} {of}"
        for word, count in (("larger", larger), ("smaller", smaller))
        if count
    ]
    first = (
        f"{other.name} is {' and '.join(told)} than {base.name}"
        if told
        else f"no difference of {other.name} from {base.name} shows beside any {of}"
    )
    return (
        f"{name}, between these two sessions: {first} (5 % for all that is said here together). It"
        f" may be {worst.high:.3g} times as large at most ({load_words(where)}). {SESSIONS}"
    )
