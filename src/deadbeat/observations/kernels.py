"""Which campaign ran on which kernel, and what a comparison of two says."""

from __future__ import annotations

from collections.abc import Sequence

from deadbeat.model.comparison import CellComparison, Comparison
from deadbeat.observations.base import Result

PREEMPTION_UNKNOWN = "unknown"


def older_and_newer(results: Sequence[Result]) -> tuple[Result, Result] | None:
    """Two releases without real-time preemption, the older first; None where there are none.

    The same preemption model if two have it: otherwise the models would be compared, too.
    """
    plain = [one for one in results if not one.realtime and one.version is not None]
    ordered = sorted(plain, key=lambda one: one.version or ())
    pairs = [
        (a, b)
        for index, a in enumerate(ordered)
        for b in ordered[index + 1 :]
        if a.version != b.version
    ]
    same = [pair for pair in pairs if pair[0].preemption == pair[1].preemption]
    return next(iter(same or pairs), None)


def plain_and_realtime(results: Sequence[Result]) -> tuple[Result, Result] | None:
    """Without and with real-time preemption, of the same release if there are such."""
    pairs = [(a, b) for a in results for b in results if not a.realtime and b.realtime]
    same = [pair for pair in pairs if pair[0].version == pair[1].version]
    return next(iter(same or pairs), None)


def cells_of(comparison: Comparison, metric: str) -> tuple[CellComparison, ...]:
    """Cells with an effect."""
    return tuple(
        cell
        for one in comparison.metrics
        if one.metric.name == metric
        for cell in one.cells
        if cell.effect is not None
    )


def counts(cells: Sequence[CellComparison]) -> dict[str, int]:
    """How many cells have which verdict."""
    return {
        verdict: sum(cell.verdict == verdict for cell in cells)
        for verdict in ("better", "worse", "equal", "undecided")
    }


def counts_text(cells: Sequence[CellComparison]) -> str:
    """``3 better, 1 worse, 0 equal, 5 undecided``."""
    return ", ".join(f"{number} {verdict}" for verdict, number in counts(cells).items())


def mean_effect(cells: Sequence[CellComparison]) -> float | None:
    """Mean of the effects, each cell counted once; None without cells."""
    effects = [cell.effect for cell in cells if cell.effect is not None]
    return sum(effects) / len(effects) if effects else None


def percent(share: float | None) -> str:
    return "not measured" if share is None else f"{100 * share:+.1f} %"


def pair_text(baseline: Result, other: Result) -> tuple[tuple[str, str], ...]:
    """Which kernels are compared."""
    return tuple(
        (role, f"{one.name}: {one.kernel}, preemption {one.preemption}")
        for role, one in (("baseline", baseline), ("against it", other))
    )


def doubts_of(comparison: Comparison) -> tuple[tuple[str, str], ...]:
    """Why points are undecided although they have an effect; empty where nothing forbids it."""
    lines = dict.fromkeys(line for metric in comparison.metrics for line in metric.capped)
    return (("what is in doubt", "; ".join(lines)),) if lines else ()
