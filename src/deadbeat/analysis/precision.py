"""How well the mean of a point is known, as the summary knows it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from attrs import frozen

from deadbeat.analysis.bootstrap import mean_interval, miss_interval, seed_of, student_half_width
from deadbeat.analysis.metrics import job_columns, of_tasks, run_figures
from deadbeat.analysis.quiet import only_quiet
from deadbeat.campaign.plan import deadline_factor, group_of
from deadbeat.campaign.precision import REACHED, UNFINISHED, Estimate, Sample
from deadbeat.campaign.spec import CampaignSpec
from deadbeat.campaign.stress import Group
from deadbeat.model.calibration import Calibration
from deadbeat.model.jobs import JobTable
from deadbeat.model.results import Finding, Point, RunKey

RESAMPLES = 2000
#: Metric of a precision -> columns of the summary.
COLUMNS = {
    "slowdown": ("slowdown_mean", "slowdown_ci_low", "slowdown_ci_high"),
    "delay_ratio": ("delay_ratio_mean", "delay_ratio_ci_low", "delay_ratio_ci_high"),
    "deadline_miss_ratio": (
        "deadline_miss_ratio",
        "deadline_miss_ci_low",
        "deadline_miss_ci_high",
    ),
}


def point_seed(seed: int, point: Point) -> int:
    """Seed of the resampling at a point of the campaign with ``seed``."""
    level = (point.deadline_factor_milli,) if point.deadline_factor_milli else ()
    place = (point.cores, point.sync_share_milli, point.contended_ratio_milli, *level)
    return seed_of(seed, *place)


def group_seed(seed: int, group: Group, factor: float | None) -> int:
    """Seed of the resampling of a group at a deadline factor."""
    return seed_of(seed, group.name, factor)


def gauge_of(spec: CampaignSpec, calibration: Calibration) -> SummaryGauge:
    """The gauge of a campaign that asks for a precision."""
    assert spec.precision is not None

    def seed(key: RunKey) -> int:
        group = group_of(spec, key)
        if group is None:
            return point_seed(spec.seed, key.point)
        factor = deadline_factor(spec, key)
        return group_seed(spec.seed, group, None if factor is None else float(factor))

    def critical(key: RunKey) -> int:
        group = group_of(spec, key)
        return 0 if group is None else group.critical_cores

    return SummaryGauge(
        metric=spec.precision.metric,
        calibration=calibration,
        tolerance=spec.quiet.tolerance,
        seed=seed,
        critical_cores=critical,
    )


@frozen(kw_only=True)
class SummaryGauge:
    """A Gauge whose numbers are those of the summary: same sets, same weights, same interval.

    Attributes:
        seed: Of the resampling at the point, or the group, of a run.
        critical_cores: How many cores carry the tasks that count in a run; 0: all.
    """

    metric: str
    calibration: Calibration
    tolerance: float
    seed: Callable[[RunKey], int]
    critical_cores: Callable[[RunKey], int] = lambda key: 0
    resamples: int = RESAMPLES

    def sample(self, key: RunKey, table: JobTable) -> Sample | None:
        """The set's own figure, from its quiet windows."""
        quiet, _ = only_quiet(table, self.calibration, self.tolerance)
        columns, chosen = job_columns(quiet), None
        if critical := self.critical_cores(key):
            chosen = np.asarray(table.tasks["core"] < critical)
            columns = of_tasks(columns, chosen)
        figures = run_figures(quiet, columns, chosen=chosen).set_figures
        if self.metric == "deadline_miss_ratio":
            return Sample(float(figures["deadline_misses"]), float(figures["released"]))
        value = figures[f"{self.metric}_mean"]
        return None if value is None else Sample(float(value))

    def estimate(self, key: RunKey, samples: Sequence[Sample]) -> Estimate | None:
        """Mean and interval over sets; None where the summary has none either."""
        above = np.array([sample.above for sample in samples])
        below = np.array([sample.below for sample in samples])
        how = {"seed": self.seed(key), "resamples": self.resamples}
        if self.metric == "deadline_miss_ratio":
            interval = miss_interval(above, below, **how)
        else:
            interval = mean_interval(above, **how)
        if interval is None or not below.sum():
            return None
        used = below > 0
        student = student_half_width(above[used], below[used]) if used.sum() > 1 else 0.0
        return Estimate(float(above.sum() / below.sum()), *interval, student=student)


def half_width(row: Mapping[str, Any], metric: str) -> float | None:
    """Half the interval of a row of the summary, relative to the mean but for a miss ratio."""
    mean, low, high = (row[column] for column in COLUMNS[metric])
    if mean is None or low is None or high is None:
        return None
    half = (high - low) / 2
    if metric == "deadline_miss_ratio":
        return float(half)
    return float(half / mean) if mean > 0 else None


def precision_columns(
    record: Mapping[str, Any] | None, name: str, row: Mapping[str, Any]
) -> dict[str, Any]:
    """``half_width`` and ``stopped`` of the row called ``name``; None without a precision."""
    if not record:
        return {"half_width": None, "stopped": None}
    point = record["points"].get(name, {})
    return {
        "half_width": half_width(row, record["metric"]),
        "stopped": point.get("stopped", UNFINISHED),
    }


def precision_findings(record: Mapping[str, Any] | None) -> Iterator[Finding]:
    """A promise that was not kept is said."""
    if not record:
        return
    short = {name: point for name, point in record["points"].items() if point["stopped"] != REACHED}
    if not short:
        return
    reasons = sorted({point["stopped"] for point in short.values()})
    worst = max(short, key=lambda name: short[name]["half_width"] or float("inf"))
    width = short[worst]["half_width"]
    text = "not known" if width is None else f"{width:.3g}"
    yield Finding(
        id="precision-not-reached",
        severity="warning",
        message=f"{len(short)} of {len(record['points'])} points are not known to"
        f" {record['target']:g} ({', '.join(reasons)}); the worst is {worst}, half width {text}",
        cure="raise --sets-max or --budget, or ask for less",
        where=worst,
    )
