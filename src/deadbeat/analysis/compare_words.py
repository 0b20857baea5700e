"""What a comparison says in words: its reason, and what would decide what is undecided."""

from __future__ import annotations

import math
from collections.abc import Sequence

from deadbeat.model.comparison import CellComparison, MetricComparison


def overall(metrics: Sequence[MetricComparison]) -> tuple[str, str]:
    """Worst first; a metric that cannot tell anything has no vote for ``equal``."""
    for verdict in ("worse", "better"):
        found = [_decided(metric, verdict) for metric in metrics]
        if any(found):
            return verdict, "; ".join(filter(None, found))
    silent = [metric.metric for metric in metrics if not metric.told]
    open_ = [metric.metric for metric in metrics if metric.told and metric.verdict != "equal"]
    rest = f"; {' and '.join(silent)} differs in too few programs to say anything" if silent else ""
    if open_ or len(silent) == len(metrics):
        names = " and ".join(open_ or silent)
        return "undecided", f"neither a difference nor equality is shown in {names}{rest}"
    names = " and ".join(metric.metric for metric in metrics if metric.told)
    return "equal", f"{names} differ by less than the minimum effect{rest}"


def _decided(metric: MetricComparison, verdict: str) -> str:
    """What of ``metric`` is ``verdict``; "" if nothing."""
    cells = sum(cell.verdict == verdict for cell in metric.cells)
    over_all = metric.verdict == verdict and metric.effect is not None
    parts = []
    if over_all and metric.effect is not None:
        parts.append(f"{effect_text(metric.metric, metric.effect)} over all cells")
    if cells:
        parts.append(f"{cells} of {len(metric.cells)} cells")
    return f"{metric.metric} {verdict}: {', '.join(parts)}" if parts else ""


def effect_text(metric: str, effect: float) -> str:
    """``+4.1 %``, or ``+0.41 points`` of a miss ratio in per cent."""
    unit = "points" if metric == "deadline_miss_ratio" else "%"
    digits = 2 if metric == "deadline_miss_ratio" else 1
    return f"{100 * effect:+.{digits}f} {unit}"


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


def needs(metrics: Sequence[MetricComparison]) -> tuple[str, ...]:
    """A line for every metric that is undecided."""
    return tuple(
        f"{metric.metric}: {_need(metric)}" for metric in metrics if metric.verdict == "undecided"
    )


def _need(metric: MetricComparison) -> str:
    pairs = sum(cell.pairs for cell in metric.cells)
    if any(cell.verdict in ("worse", "better") for cell in metric.cells):
        return "single cells differ, which the mean over all cells hides: look at the cells"
    if not pairs:
        return "no program has it on both sides: repeat the campaigns with --retry-failed"
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
        gate, minimum = (
            effect_text(metric.metric, size).removeprefix("+")
            for size in (metric.gate, metric.minimum)
        )
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
