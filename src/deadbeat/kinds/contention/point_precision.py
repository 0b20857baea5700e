"""How well the mean of a point is known, as the summary knows it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from attrs import frozen

from deadbeat.executors.metrics import job_columns, of_tasks
from deadbeat.kinds.contention.figures import run_figures
from deadbeat.kinds.contention.plan import group_of
from deadbeat.kinds.contention.point import known
from deadbeat.kinds.contention.precision import REACHED, UNFINISHED, MeanEstimate, PointSample
from deadbeat.kinds.contention.rounds_kept import without_overlapped
from deadbeat.kinds.contention.spec import CampaignSpec
from deadbeat.model.finding import Finding
from deadbeat.model.jobs import JobTable
from deadbeat.model.results import RunKey
from deadbeat.stats.bootstrap import Floats, Interval, student_half_width
from deadbeat.stats.intervals import mean_interval, share_over_sets


def gauge_of(spec: CampaignSpec) -> SummaryGauge:
    """The gauge of a campaign that asks for a precision."""
    assert spec.precision is not None

    def critical(key: RunKey) -> int:
        group = group_of(spec, key)
        return 0 if group is None else group.critical_cores

    return SummaryGauge(metric=spec.precision.metric, critical_cores=critical)


@frozen(kw_only=True)
class SummaryGauge:
    """A Gauge whose numbers are those of the summary: same sets, same weights; the interval is the
    part of the summary's that further sets can tighten.

    Attributes:
        critical_cores: How many cores carry the tasks that count in a run; 0: all.
    """

    metric: str
    critical_cores: Callable[[RunKey], int] = lambda key: 0

    def sample(self, key: RunKey, table: JobTable) -> PointSample | None:
        """The set's own figure."""
        table, _ = without_overlapped(table)
        columns, chosen = job_columns(table), None
        if critical := self.critical_cores(key):
            chosen = np.asarray(table.tasks["core"] < critical)
            columns = of_tasks(columns, chosen)
        figures = run_figures(table, columns, chosen=chosen).set_figures
        if self.metric == "deadline_miss_ratio":
            return PointSample(float(figures["deadline_misses"]), float(figures["released"]))
        value = figures[f"{self.metric}_mean"]
        return None if value is None else PointSample(float(value))

    def estimate(self, key: RunKey, samples: Sequence[PointSample]) -> MeanEstimate | None:
        """Mean and interval over sets; None where the summary has none either."""
        above = np.array([sample.above for sample in samples])
        below = np.array([sample.below for sample in samples])
        interval = _over_sets(self.metric, above, below)
        if interval is None or not below.sum():
            return None
        used = below > 0
        student = student_half_width(above[used], below[used]) if used.sum() > 1 else 0.0
        return MeanEstimate(float(above.sum() / below.sum()), *interval, student=student)


def _over_sets(metric: str, above: Floats, below: Floats) -> Interval | None:
    miss = metric == "deadline_miss_ratio"
    return share_over_sets(above, below) if miss else mean_interval(above)


def half_width(sets: Sequence[Mapping[str, Any]], metric: str) -> float | None:
    """Half the interval over sets, relative to the mean but for a miss ratio."""
    miss = metric == "deadline_miss_ratio"
    above = known(sets, "deadline_misses" if miss else f"{metric}_mean")
    below = known(sets, "released") if miss else np.ones_like(above)
    interval = _over_sets(metric, above, below)
    if interval is None:
        return None
    half = (interval[1] - interval[0]) / 2
    if miss:
        return half
    mean = float(above.mean())
    return half / mean if mean > 0 else None


def precision_columns(
    record: Mapping[str, Any] | None, name: str, sets: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    """``half_width`` and ``stopped`` of the point or group ``name``; None without a precision."""
    if not record:
        return {"half_width": None, "stopped": None}
    point = record["points"].get(name, {})
    return {
        "half_width": half_width(sets, record["metric"]),
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
