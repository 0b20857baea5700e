"""What a comparison says in words: its reason, and what would decide what is undecided."""

from __future__ import annotations

import math
from collections.abc import Sequence

from attrs import frozen

from deadbeat.compare.sides import DIFFERING_MIN, RATIOS, Cell
from deadbeat.compare.vocabulary import CAMPAIGNS, Vocabulary
from deadbeat.model.comparison import (
    LATENCY_METRICS,
    LOAD_METRICS,
    CellComparison,
    MetricComparison,
)

_METRIC_TEXT = {
    "slowdown": "slowdown",
    "delay_ratio": "delay ratio",
    "deadline_miss_ratio": "miss ratio",
    "missed_ratio": "missed periods",
    "response_p50": "median response",
    "response_p99": "p99 response",
    "response_max": "longest response",
    "work_lost": "work lost",
}


def metric_text(metric: str) -> str:
    """``delay_ratio`` in words."""
    return _METRIC_TEXT.get(metric, metric)


def words_list(words: Sequence[str]) -> str:
    """``a, b and c``."""
    return " and ".join(filter(None, [", ".join(words[:-1]), *words[-1:]]))


@frozen(kw_only=True)
class Overall:
    """The verdict over all metrics, what decided it in words, and the metrics it rests on."""

    verdict: str
    reason: str
    rests_on: tuple[str, ...]


def overall(
    metrics: Sequence[MetricComparison],
    *,
    harm: Sequence[str] = (),
    words: Vocabulary = CAMPAIGNS,
) -> Overall:
    """Worst first; a metric in which next to nothing happened has no vote for ``equal``.

    Args:
        harm: Why the other may be worse than the pairs show.
        words: For what is compared.
    """
    leaning = [metric for metric in metrics if _leans_worse(metric, words)]
    empty = _without_data(metrics)
    found = {}
    for verdict in ("worse", "better"):
        found = {metric.metric: _decided(metric, verdict) for metric in metrics}
        shown = verdict == "worse" or not (harm or leaning)
        if any(found.values()) and shown:
            return Overall(
                verdict=verdict,
                reason="; ".join(filter(None, [*found.values(), empty])),
                rests_on=tuple(metric for metric, told in found.items() if told),
            )
    capped = {metric.metric: metric.capped for metric in metrics if metric.capped}
    if capped:
        lines = dict.fromkeys(line for found in capped.values() for line in found)
        reason = "; ".join(filter(None, [*lines, empty]))
        return Overall(verdict="undecided", reason=reason, rests_on=tuple(capped))
    against_better = leaning if any(found.values()) else ()
    return _without_difference(metrics, against_better, empty, words)


def _leans_worse(metric: MetricComparison, words: Vocabulary) -> bool:
    """Nothing can be said, but what there is speaks for the baseline, and matters.

    Of campaigns only where too few programs differ to say anything.
    """
    silent = metric.verdict == "undecided" if words.cautious else not metric.told
    return silent and metric.effect is not None and metric.effect >= metric.minimum


def _without_difference(
    metrics: Sequence[MetricComparison],
    leaning: Sequence[MetricComparison],
    empty: str,
    words: Vocabulary,
) -> Overall:
    silent = [metric.metric for metric in metrics if not metric.vote]
    voting = [metric for metric in metrics if metric.vote]
    open_ = [metric.metric for metric in voting if metric.verdict != "equal"]
    open_ = [metric.metric for metric in leaning] or open_
    rest = [f"{_list(silent)} undecided: too few {words.units} differ"] if silent else []
    rest += [empty] if empty else []
    if open_ or empty or not voting:
        shown = open_ or ([] if voting else silent)
        neither = f"neither a difference nor equality is shown in {_list(shown)}"
        return Overall(
            verdict="undecided",
            reason="; ".join([neither] * bool(shown) + rest),
            rests_on=tuple(open_ or [metric.metric for metric in metrics]),
        )
    voters = tuple(metric.metric for metric in voting)
    verb = "differs" if len(voters) == 1 else "differ"
    cells = _undecided_cells(voting)
    average = " on average" if cells else ""
    told = f"{_list(voters)} {verb} by less than the minimum effect{average}"
    reason = "; ".join(filter(None, [told, cells, *rest]))
    return Overall(verdict="equal", reason=reason, rests_on=voters)


def _undecided_cells(metrics: Sequence[MetricComparison]) -> str:
    """``undecided in 3 of 36 cells, widest apart: ...``; "" without any."""
    every = [(metric, cell) for metric in metrics for cell in metric.cells]
    found = [(metric, cell) for metric, cell in every if cell.verdict == "undecided"]
    if not found:
        return ""
    metric, cell = max(found, key=lambda each: abs(each[1].effect or 0.0) / each[0].minimum)
    effect = "" if cell.effect is None else f" {effect_text(metric.metric, cell.effect)}"
    several = len({cell.deadline_factor for _, cell in every}) > 1
    return (
        f"undecided in {len(found)} of {len(every)} cells, widest apart:"
        f" {metric_text(metric.metric)}{effect} at {cell_text(cell, factor=several)}"
    )


def _list(metrics: Sequence[str]) -> str:
    return words_list([metric_text(metric) for metric in metrics])


def _without_data(metrics: Sequence[MetricComparison]) -> str:
    """How many cells no program stands for; "" if there is none."""
    cells = max((metric.cells for metric in metrics), key=len, default=())
    empty = min((_empty(metric) for metric in metrics if metric.cells), default=0)
    return f"{empty} of {len(cells)} cells have no data" if empty else ""


def _empty(metric: MetricComparison) -> int:
    return sum(not cell.pairs for cell in metric.cells)


def _decided(metric: MetricComparison, verdict: str) -> str:
    """What of ``metric`` is ``verdict``; "" if nothing."""
    cells = sum(cell.verdict == verdict for cell in metric.cells)
    over_all = metric.verdict == verdict and metric.effect is not None
    parts = []
    if over_all and metric.effect is not None:
        parts.append(f"{effect_text(metric.metric, metric.effect)} over all cells")
    if cells:
        parts.append(f"{cells} of {len(metric.cells)} cells")
    return f"{metric_text(metric.metric)} {verdict}: {', '.join(parts)}" if parts else ""


#: From here on an effect is told as a factor; beyond the second only that it is more.
_TIMES, _TIMES_MAX = 1.0, 9.0


def verdict_text(metric: MetricComparison) -> str:
    """The verdict over all cells, and what of it does not hold for each."""
    if not metric.told:
        return "undecided, too rare"
    if metric.verdict == "undecided" and metric.no_worse:
        return "undecided, no worse"
    undecided = any(cell.verdict != "equal" for cell in metric.cells)
    return "equal on average" if metric.verdict == "equal" and undecided else metric.verdict


def bound_text(metric: str, size: float | None) -> str:
    """`size_text`; of None that nothing can be told."""
    return "cannot tell" if size is None else size_text(metric, size)


def ends_text(metric: str, low: float | None, high: float | None) -> str:
    """``[-1.20, +3.40]``, in per cent or points; factors where they are large."""
    if low is None and high is None:
        return "[cannot tell]"
    return f"[{_end(metric, low)}, {_end(metric, high)}]"


def _end(metric: str, value: float | None) -> str:
    if value is None:
        return "open"
    if metric in RATIOS and value >= _TIMES:
        return effect_text(metric, value)
    return f"{100 * value + 0.0:+.2f}"


def effect_text(metric: str, effect: float) -> str:
    """``+4.1 %``, ``3.2 times`` of large ones, or ``+0.41 points`` of a miss ratio in per cent."""
    if metric in RATIOS and effect >= _TIMES:
        beyond = effect > _TIMES_MAX
        return f"more than {1 + _TIMES_MAX:.0f} times" if beyond else f"{1 + effect:.1f} times"
    unit, digits = ("%", 1) if metric in RATIOS else ("points", 2)
    rounded = round(100 * effect, digits) + 0.0  # no -0.0
    return f"{rounded:+.{digits}f} {unit}"


def value_text(metric: str, value: float) -> str:
    """The metric itself on one side: a ratio, ``0.410 %`` of misses, ``12.3 us`` of latencies,
    ``10.3 ms`` of response times."""
    if metric not in RATIOS:
        return f"{100 * value:.3f} %"
    if metric in LOAD_METRICS:
        return f"{value / 1e6:.3f} ms"
    return f"{value / 1000:.1f} us" if metric in LATENCY_METRICS else f"{value:.3f}"


def size_text(metric: str, size: float) -> str:
    """The same of a size, which has no sign."""
    return effect_text(metric, size).removeprefix("+")


def place_text(cell: Cell, *, factor: bool = False) -> str:
    """`cell_text` of a cell that has no comparison."""
    shares = [None if share < 0 else share for share in (cell.sync_share, cell.contended_ratio)]
    return _place(cell, shares, factor=factor)


def cell_text(cell: CellComparison, *, factor: bool = False) -> str:
    """``M = 2, rho = 0.5, alpha = 1``, with what applies; ``factor``: and the deadline factor."""
    return _place(cell, [cell.sync_share, cell.contended_ratio], factor=factor)


def _place(cell: Cell | CellComparison, shares: Sequence[float | None], *, factor: bool) -> str:
    parts = [cell.group] if cell.group else []
    if cell.cores > 0 and not cell.group:
        parts.append(f"M = {cell.cores}")
    for name, value in zip(("rho", "alpha"), shares, strict=True):
        if value is not None:
            parts.append(f"{name} = {value:g}")
    if factor:
        parts.append(f"D = {cell.deadline_factor:g} C")
    return ", ".join(parts)


def count_text(metric: MetricComparison) -> str:
    """``2 worse, 7 equal``: how many cells have which verdict."""
    counts = {
        verdict: sum(cell.verdict == verdict and cell.pairs > 0 for cell in metric.cells)
        for verdict in ("worse", "better", "equal", "undecided")
    }
    counts["without data"] = _empty(metric)
    return ", ".join(f"{count} {name}" for name, count in counts.items() if count) or "none"


def needs(metrics: Sequence[MetricComparison], words: Vocabulary = CAMPAIGNS) -> tuple[str, ...]:
    """A line for all metrics that are undecided and need the same."""
    found: dict[str, list[str]] = {}
    for metric in metrics:
        if metric.verdict == "undecided":
            found.setdefault(_need(metric, words), []).append(metric_text(metric.metric))
    return tuple(f"{words_list(names)}: {need}" for need, names in found.items())


def _need(metric: MetricComparison, words: Vocabulary) -> str:
    if words.no_repeats in metric.capped:
        return words.once_more
    pairs = sum(cell.pairs for cell in metric.cells)
    if any(cell.verdict in ("worse", "better") for cell in metric.cells):
        return "single cells differ, which the mean over all cells hides: look at the cells"
    if not pairs:
        return f"none of the {words.units} has it on both sides: {words.finish}"
    if empty := _empty(metric):
        return (
            f"{empty} of {len(metric.cells)} cells have no {words.units} with a result on both"
            f" sides: {words.finish}"
        )
    if not metric.told:
        return _need_of_rare(pairs, words)
    return _need_of_precision(metric, pairs, words)


def _need_of_rare(pairs: int, words: Vocabulary) -> str:
    if pairs < DIFFERING_MIN:
        return (
            f"{pairs} {words.units} do not show how much {words.units} scatter, {DIFFERING_MIN} or"
            f" more do: {words.rare}"
        )
    return f"hardly any of {pairs} {words.units} differs: {words.rare}"


def _need_of_precision(metric: MetricComparison, pairs: int, words: Vocabulary) -> str:
    if metric.capped:
        return words.find_lost
    if metric.gate is None:
        return words.once_more
    if metric.gate >= metric.minimum:
        gate, minimum = (size_text(metric.metric, size) for size in (metric.gate, metric.minimum))
        return (
            f"{words.results} that differ in nothing may differ by {gate} here, the minimum effect"
            f" is {minimum}: {_narrower_gate(metric, words)}"
        )
    if metric.smallest_effect is not None and metric.smallest_effect > metric.minimum:
        times = (metric.smallest_effect / metric.minimum) ** 2
        return f"about {math.ceil(times * pairs)} {words.more} instead of {pairs}"
    return (
        f"the effect lies too near the minimum effect to be told from it: more {words.more}, or"
        " another --minimum-effect"
    )


def _narrower_gate(metric: MetricComparison, words: Vocabulary) -> str:
    if metric.gate_basis.startswith("A/A: 1 repeat"):
        return (
            "a second repeat of the baseline (--aa): from one alone the bound is 16 and more times"
            " the difference that was seen"
        )
    return f"a quieter machine, more {words.more}, or repeats of the baseline (--aa)"
