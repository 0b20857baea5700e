"""How the sides of a picture differ: ratios with their intervals, and what else differs."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

from attrs import evolve, frozen

from deadbeat import (
    FALSE_ALARMS,
    LATENCY_WORDS,
    Cell,
    CellComparison,
    CellSummary,
    CompareOptions,
    LoadPoint,
    Metric,
    Observation,
    Observations,
    Question,
    Side,
    SidesTable,
    compare_tables,
    difference_row,
    differing_platforms,
    load_words,
    time_text,
)

#: Source of most presets' figures.
SAVOIR_FAIRE = "Savoir-faire Linux, Linux for real-time systems: evaluation and security, figure"
NOT_RECORDED = "not recorded"
#: What no interval between two sessions knows.
SESSIONS = (
    "Whether the systems differ, or only the days: deadbeat compare, with repeats of the first"
    " (--aa)."
)
TIMES = "times as large [95 %, between these sessions]"
#: What the figures of a table of ratios are.
FIGURES = "geometric mean of the runs, but of the maximum the largest of all"
#: A maximum of a run grows with its length: lengths must be alike to this.
_ALIKE = 1.02
#: Fewer pairs of runs tell no interval.
_PAIRS_MIN = 3


@frozen(kw_only=True)
class RunRatio:
    """How many times as large a quantity of a run is: geometric means over pairs of runs; None
    where a side has no run. ``low``, ``high``: 95 % between these sessions; None: there is no
    interval (``why``). ``p``: for no difference, corrected for the number of loads; 1 without an
    interval."""

    value: float | None
    low: float | None = None
    high: float | None = None
    runs: int = 0
    p: float = 1.0
    why: str = f"fewer than {_PAIRS_MIN} pairs of runs"

    @property
    def differs(self) -> bool:
        return self.low is not None and self.high is not None and not self.low <= 1 <= self.high

    @property
    def text(self) -> str:
        """``1.32 [1.10, 1.58]``, or that there is no interval."""
        if self.value is None:
            return "–"
        if self.low is None or self.high is None:
            return f"{self.value:.3g} (no interval)"
        return f"{self.value:.3g} [{self.low:.3g}, {self.high:.3g}]"


def ratios(asked: Question, over: Side, under: Side, quantity: str) -> dict[LoadPoint, RunRatio]:
    """The comparison of two sides in one quantity of a run, ``over`` over ``under``."""
    metric = Metric(name=quantity, title=quantity, unit="ns", minimum=1e-9)
    options = CompareOptions(metrics=(metric,), words=LATENCY_WORDS, ungated=True)
    one, two = (_table(asked, side, metric) for side in (under, over))
    (found,) = compare_tables(one, two, options=options).metrics
    cells = {cell.group: cell for cell in found.cells}
    comparable = not quantity.startswith("max") or same_length(over, under)
    return {load: _ratio(cells.get(load.text), comparable=comparable) for load in asked.loads}


def _ratio(cell: CellComparison | None, *, comparable: bool) -> RunRatio:
    if cell is None or cell.effect is None:
        return RunRatio(value=None)
    known = RunRatio(value=1 + cell.effect, runs=cell.pairs)
    if not comparable:
        return evolve(known, why="runs of different lengths have maxima that cannot be compared")
    if cell.pairs < _PAIRS_MIN:
        return known
    p = 1.0 if cell.p_holm is None else cell.p_holm
    if cell.low is None or cell.high is None:
        why = "the interval reaches beyond any ratio that means something"
        return evolve(known, p=p, why=why)
    if math.isclose(cell.low, cell.high, abs_tol=1e-9):
        why = "runs are all alike, which says nothing of how much others differ"
        return evolve(known, why=why)
    return evolve(known, low=1 + cell.low, high=1 + cell.high, p=p, why="")


def _table(asked: Question, side: Side, metric: Metric) -> Observations:
    def rows() -> Iterator[Observation]:
        for load in asked.loads:
            summary = side.cell(load, asked.engine)
            if summary is None:
                continue
            shown = summary.whole.honest
            step = shown.histogram.resolution_ns - 1
            for repeat, value in enumerate(shown[metric.name].runs_ns):
                yield Observation(
                    run=f"{load.text} {repeat:06d}",
                    cell=Cell(load.text),
                    block=f"{repeat:06d}",
                    metric=metric.name,
                    value=value,
                    slack=math.log1p(step / value) if value else 0.0,
                )

    return Observations(name=side.name, rows=rows())


def of_a_run(cell: CellSummary | None, quantity: str) -> float | None:
    if cell is None:
        return None
    found = cell.whole.honest[quantity]
    logs = [math.log(value) for value in found.runs_ns if value]
    if quantity == "max":
        return found.value_ns
    return math.exp(sum(logs) / len(logs)) if logs else None


def same_length(over: Side, under: Side) -> bool:
    lengths = [side.summary.meta.seconds for side in (over, under)]
    known = [each[0] for each in lengths if len(each) == 1 and each[0] > 0]
    return len(known) == 2 and max(known) / min(known) <= _ALIKE


def ratio_table(
    asked: Question, quantities: Sequence[tuple[str, str]], *, load: LoadPoint | None = None
) -> SidesTable:
    """For every load, or one, both sides' figures and their ratio, second over first."""
    base, other = asked.sides
    found = {quantity: ratios(asked, other, base, quantity) for quantity, _ in quantities}
    rows = []
    for each in [load] if load else asked.loads:
        cells = [side.cell(each, asked.engine) for side in asked.sides]
        for quantity, name in quantities:
            one, two = (of_a_run(cell, quantity) for cell in cells)
            times = found[quantity][each].text
            if quantity == "max":
                times = f"{two / one:.3g} (one sample of each)" if one and two else "–"
            where = () if load else (load_words(each),)
            rows.append((*where, name, time_text(one), time_text(two), times))
    first = () if load else ("load",)
    return SidesTable(
        title=f"{other.name} against {base.name}",
        columns=(*first, f"latency ({FIGURES})", base.name, other.name, TIMES),
        rows=tuple(rows),
    )


def effect_sentences(asked: Question, quantities: Sequence[tuple[str, str]]) -> tuple[str, ...]:
    """Number of loads, by quantity and its name, beside which the second side is larger or
    smaller, allowing for the number of loads and of quantities, and how much at most."""
    base, other = asked.sides
    level = FALSE_ALARMS / len(quantities)
    return tuple(
        _effect_sentence(asked, name, ratios(asked, other, base, quantity), level)
        for quantity, name in quantities
    )


def _effect_sentence(
    asked: Question, name: str, found: dict[LoadPoint, RunRatio], level: float
) -> str:
    base, other = asked.sides
    known = {load: each for load, each in found.items() if each.high is not None}
    if not known:
        why = "; ".join(dict.fromkeys(each.why for each in found.values()))
        return f"{name}: whether {other.name} differs from {base.name} is not known: {why}."
    sure = [each.value or 0 for each in known.values() if each.p <= level]
    larger, smaller = sum(value > 1 for value in sure), sum(value < 1 for value in sure)
    load, worst = max(known.items(), key=lambda item: item[1].high or 0)
    of = f"of {len(known)} {'load' if len(known) == 1 else 'loads'}"
    parts = [
        f"{word} under {count} {of}"
        for word, count in (("larger", larger), ("smaller", smaller))
        if count
    ]
    first = (
        f"{other.name} is {' and '.join(parts)} than {base.name}"
        if parts
        else f"no difference of {other.name} from {base.name} shows under any {of}"
    )
    return (
        f"{name}, between these two sessions: {first} (5 % for all that is said here together). It"
        f" may be {worst.high:.3g} times as large (the largest interval of 95 %, under"
        f" {load_words(load)}). {SESSIONS}"
    )


# -- what else differs


def hardening_table(asked: Question) -> SidesTable:
    one, two = asked.sides
    states = (_hardening(one), _hardening(two))
    rows = tuple(
        (name, *(state.get(name, NOT_RECORDED) for state in states))
        for name in dict.fromkeys(key for state in states for key in state)
        if states[0].get(name) != states[1].get(name)
    )
    return SidesTable(
        title="Hardening options that differ", columns=("option", one.name, two.name), rows=rows
    )


def hardening_caveats(asked: Question) -> tuple[str, ...]:
    """Where it is not hardening that differs, or that is not known."""
    without = [side.name for side in asked.sides if not _hardening(side)]
    if without:
        return (
            f"Which hardening options {' and '.join(without)} had is not recorded: deadbeat doctor"
            " shows them.",
        )
    if not hardening_table(asked).rows:
        return ("No hardening option that was recorded differs between the two.",)
    return ()


def differences_table(asked: Question) -> SidesTable:
    one, two = asked.sides
    return SidesTable(
        title="What differs between the systems",
        columns=("what", one.name, two.name),
        rows=tuple(map(difference_row, differing_platforms(one.platform, two.platform))),
    )


def _hardening(side: Side) -> Mapping[str, str]:
    details = side.platform.get("details")
    found = details.get("hardening") if isinstance(details, Mapping) else None
    return {str(k): str(v) for k, v in found.items()} if isinstance(found, Mapping) else {}
