"""Figures of a profile beyond its grids: misses over the deadline factor."""

from __future__ import annotations

from attrs import evolve

from deadbeat.kinds.contention.stress_charts import factor_charts
from deadbeat.model.results import Summary
from deadbeat.report import grids
from deadbeat.report.charts import Chart
from deadbeat.report.facts import factors

#: Curves in one panel.
_CURVES = 6


def profile_charts(summary: Summary) -> list[Chart]:
    """Miss ratio over D / C at the largest rho, a curve per alpha, a chart per M."""
    if len(factors(summary.rows)) < 2:
        return []
    found = []
    shares = grids.axis_of(summary, "sync_share")
    ratios = {
        grids.milli(a) for a in grids.spread(grids.axis_of(summary, "contended_ratio"), _CURVES)
    }
    for m in reversed(grids.cores_of(summary)):
        rows = [
            row
            for row in summary.rows
            if int(row["cores"]) == m
            and grids.milli(row["sync_share"]) == grids.milli(shares[-1])
            and grids.milli(row["contended_ratio"]) in ratios
        ]
        charts = factor_charts(
            sorted(rows, key=lambda row: float(row["contended_ratio"])),
            label=lambda row: f"α = {float(row['contended_ratio']):g}",
            name=f"deadline-factor-m{m:03d}",
            title=f"Deadline misses over the deadline factor, ρ = {shares[-1]:g}",
        )
        found += [evolve(c, family="deadline-factor", option=f"M = {m}") for c in charts]
    return found
