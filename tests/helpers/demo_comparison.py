"""A comparison out of formulas: B is worse where contention is high, and better in one corner."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from deadbeat.kinds.contention.observe import COMPARABLE, METRICS
from deadbeat.model.comparison import (
    CellComparison,
    Comparison,
    ComparisonResult,
    MetricComparison,
)
from deadbeat.model.observations import Metric
from deadbeat.model.results import Summary
from helpers.demo_stress import demo_stress
from helpers.demo_summary import demo_summary, wobble
from helpers.rows import rows_of, sets_of, with_rows

_COLUMN = {"slowdown": "slowdown_mean", "delay_ratio": "delay_ratio_mean"}


def demo_comparison(
    *,
    names: Sequence[str] = ("baseline", "candidate"),
    mode: str = "profile",
    cores: tuple[int, ...] = (1, 2, 4),
    factors: tuple[float, ...] = (2.0,),
    labels: tuple[str, ...] = ("simulated", "policy other"),
) -> tuple[ComparisonResult, tuple[Summary, ...]]:
    """The result, and the summaries in the order of ``names``."""
    summaries = tuple(
        demo_summary(name=name, cores=cores, contention=1 + 0.3 * place, holes=False, labels=labels)
        if mode == "profile"
        else _stressed(
            demo_stress(name=name, factors=factors, sets_per_group=40, labels=labels),
            1 + 0.3 * place,
        )
        for place, name in enumerate(names)
    )
    comparisons = tuple(
        _comparison(summaries[0], other, names[0], name)
        for name, other in zip(names[1:], summaries[1:], strict=True)
    )
    result = ComparisonResult(
        campaigns=tuple(
            {
                "name": name,
                "path": f"runs/{name}",
                "kernel": f"6.18.{44 + place}",
                "preemption": "full" if place else "none",
                "platform": "bench-07",
                "labels": labels,
                "runs": len(sets_of(summary)),
                "fingerprint": f"{place:064d}",
            }
            for place, (name, summary) in enumerate(zip(names, summaries, strict=True))
        ),
        comparisons=comparisons,
        differences=("kernel: 6.18.44 | 6.18.45", "preemption: none | full"),
        findings=summaries[0].findings[:1],
        labels=labels,
        verdict="worse",
        parameters={"minimum_effect": 0.02, "resamples": 9999, "seed": 1},
        look=COMPARABLE.look,
    )
    return result, summaries


def _stressed(base: Summary, scale: float) -> Summary:
    stretched = [_stretched(item, scale) for item in sets_of(base)]
    return with_rows(
        base, sets=tuple(stretched), rows=tuple(_stretched(r, scale) for r in rows_of(base))
    )


def _stretched(item: dict[str, Any], scale: float) -> dict[str, Any]:
    changed = {
        column: 1 + (item[column] - 1) * scale for column in ("slowdown_mean", "delay_ratio_mean")
    }
    columns = ("deadline_miss_ratio", "deadline_miss_ci_low", "deadline_miss_ci_high")
    changed |= {c: min(1.0, item[c] * scale) for c in columns if item.get(c) is not None}
    return item | changed


def _comparison(base: Summary, other: Summary, name: str, against: str) -> Comparison:
    return Comparison(
        baseline=name,
        other=against,
        metrics=tuple(_metric(metric, base, other) for metric in METRICS),
        verdict="worse",
        reason="slowdown worse: +8.2 % over all cells, 12 of 75 cells",
        needs=("delay_ratio: run the baseline once more and name it with --aa",),
    )


def _metric(metric: Metric, base: Summary, other: Summary) -> MetricComparison:
    column = _COLUMN.get(metric.name, metric.name)
    cells = tuple(
        _cell(metric, a, b, a[column], b[column])
        for a, b in zip(rows_of(base), rows_of(other), strict=True)
    )
    known = [cell.effect for cell in cells if cell.effect is not None]
    mean = sum(known) / len(known)
    return MetricComparison(
        metric=metric,
        effect=mean,
        low=mean - 0.01,
        high=mean + 0.012,
        p=0.0004,
        p_holm=0.0012,
        verdict="worse" if mean > 2 * metric.minimum else "undecided",
        minimum=metric.minimum,
        gate=None if metric.name == "delay_ratio" else metric.minimum / 2,
        gate_basis="" if metric.name == "delay_ratio" else "3 repeats of the baseline",
        cells=cells,
        smallest_effect=metric.minimum * 0.8,
    )


def _cell(
    metric: Metric, a: dict[str, Any], b: dict[str, Any], baseline: float, other: float
) -> CellComparison:
    stressed = "group" in a
    rho, alpha = (None, None) if stressed else (a["sync_share"], a["contended_ratio"])
    effect = other - baseline if not metric.log else other / baseline - 1
    if (rho, alpha) == (0.25, 0.25):
        effect = -0.06
    arm = 0.004 + 0.01 * abs(wobble(effect, a["cores"] or 3))
    minimum = metric.minimum
    verdict = "undecided"
    if effect - arm > minimum / 2 and effect > minimum:
        verdict = "worse"
    elif effect + arm < -minimum / 2:
        verdict = "better"
    elif abs(effect) + arm < minimum:
        verdict = "equal"
    return CellComparison(
        metric=metric,
        cores=a["cores"] or 0,
        sync_share=rho,
        contended_ratio=alpha,
        deadline_factor=a.get("deadline_factor") or 10.0,
        group=a["group"] if stressed else "",
        pairs=10,
        baseline=baseline,
        other=other,
        effect=effect,
        low=effect - arm,
        high=effect + arm,
        p=0.001,
        p_holm=0.04 if verdict in ("worse", "better") else 0.6,
        smallest_effect=arm * 1.4,
        verdict=verdict,
    )
