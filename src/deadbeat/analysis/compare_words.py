"""What a comparison says in words: its reason, and what would decide what is undecided."""

from __future__ import annotations

import math
from collections.abc import Sequence

from attrs import frozen

from deadbeat.model.comparison import CellComparison, MetricComparison

_METRIC_TEXT = {
    "slowdown": "slowdown",
    "delay_ratio": "delay ratio",
    "deadline_miss_ratio": "miss ratio",
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


def overall(metrics: Sequence[MetricComparison]) -> Overall:
    """Worst first; a metric that cannot tell anything has no vote for ``equal``."""
    empty = _without_data(metrics)
    for verdict in ("worse", "better"):
        found = {metric.metric: _decided(metric, verdict) for metric in metrics}
        if any(found.values()):
            return Overall(
                verdict=verdict,
                reason="; ".join(filter(None, [*found.values(), empty])),
                rests_on=tuple(metric for metric, words in found.items() if words),
            )
    silent = [metric.metric for metric in metrics if not metric.told]
    open_ = [metric.metric for metric in metrics if metric.told and metric.verdict != "equal"]
    rest = [f"{_list(silent)} undecided: too few programs differ"] if silent else []
    rest += [empty] if empty else []
    if open_ or empty or len(silent) == len(metrics):
        shown = open_ or ([] if len(silent) < len(metrics) else silent)
        neither = f"neither a difference nor equality is shown in {_list(shown)}"
        return Overall(
            verdict="undecided",
            reason="; ".join([neither] * bool(shown) + rest),
            rests_on=tuple(open_ or [metric.metric for metric in metrics]),
        )
    voters = tuple(metric.metric for metric in metrics if metric.told)
    verb = "differs" if len(voters) == 1 else "differ"
    told = f"{_list(voters)} {verb} by less than the minimum effect"
    return Overall(verdict="equal", reason="; ".join([told, *rest]), rests_on=voters)


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


def effect_text(metric: str, effect: float) -> str:
    """``+4.1 %``, or ``+0.41 points`` of a miss ratio in per cent."""
    unit = "points" if metric == "deadline_miss_ratio" else "%"
    digits = 2 if metric == "deadline_miss_ratio" else 1
    return f"{100 * effect:+.{digits}f} {unit}"


def size_text(metric: str, size: float) -> str:
    """The same of a size, which has no sign."""
    return effect_text(metric, size).removeprefix("+")


def cell_text(cell: CellComparison, *, factor: bool = False) -> str:
    """``M = 2, rho = 0.5, alpha = 1``, with what applies; ``factor``: and the deadline factor."""
    parts = [cell.group] if cell.group else []
    if cell.cores > 0 and not cell.group:
        parts.append(f"M = {cell.cores}")
    for name, value in (("rho", cell.sync_share), ("alpha", cell.contended_ratio)):
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


def needs(metrics: Sequence[MetricComparison]) -> tuple[str, ...]:
    """A line for every metric that is undecided."""
    return tuple(
        f"{metric_text(metric.metric)}: {_need(metric)}"
        for metric in metrics
        if metric.verdict == "undecided"
    )


def _need(metric: MetricComparison) -> str:
    pairs = sum(cell.pairs for cell in metric.cells)
    if any(cell.verdict in ("worse", "better") for cell in metric.cells):
        return "single cells differ, which the mean over all cells hides: look at the cells"
    if not pairs:
        return "no program has it on both sides: repeat the campaigns with --retry-failed"
    if empty := _empty(metric):
        return (
            f"{empty} of {len(metric.cells)} cells have no program with a result on both sides:"
            " finish the campaigns, or repeat their commands with --retry-failed"
        )
    if not metric.told:
        return (
            f"hardly a program of {pairs} differs: a shorter deadline (--deadline-factor 2) or more"
            " task sets would show more"
        )
    return _need_of_precision(metric, pairs)


def _need_of_precision(metric: MetricComparison, pairs: int) -> str:
    if metric.gate is None:
        return "run the baseline once more and name it with --aa"
    if metric.gate >= metric.minimum:
        gate, minimum = (size_text(metric.metric, size) for size in (metric.gate, metric.minimum))
        return (
            f"campaigns that differ in nothing may differ by {gate} here, the minimum effect is"
            f" {minimum}: {_narrower_gate(metric)}"
        )
    if metric.smallest_effect is not None and metric.smallest_effect > metric.minimum:
        times = (metric.smallest_effect / metric.minimum) ** 2
        return f"about {math.ceil(times * pairs)} task sets instead of {pairs} (more --replicas)"
    return (
        "the effect lies too near the minimum effect to be told from it: more --replicas, or"
        " another --minimum-effect"
    )


def _narrower_gate(metric: MetricComparison) -> str:
    if metric.gate_basis.startswith("A/A: 1 repeat"):
        return (
            "a second repeat of the baseline (--aa): from one alone the bound is 12.7 times the"
            " difference that was seen"
        )
    return "a quieter machine, more task sets, or repeats of the baseline (--aa)"
