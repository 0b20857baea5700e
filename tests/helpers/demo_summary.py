"""A realistic Summary out of formulas: no clock, no random generator of the process, no machine."""

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from attrs import evolve

from deadbeat.base.model.finding import Finding
from deadbeat.base.model.traces import PARTS
from deadbeat.tasksets.contention.point import point_cell
from deadbeat.tasksets.model.figures import CellFigures, Figure, SetFigures
from deadbeat.tasksets.model.results import NoiseFacts, Point, RunKey, Summary
from helpers.rows import cells_from, rows_of, sets_from, sets_of

#: Standard deviation of the formula's noise on a set's slowdown.
_NOISE = 0.004


def wobble(*parts: float) -> float:
    """A number in [-1, 1) that depends on nothing but ``parts``."""
    phase = sum(part * 12.9 * (index + 1) ** 1.7 for index, part in enumerate(parts))
    return 2 * math.fmod(abs(math.sin(phase + 0.3)) * 43758.5, 1.0) - 1


def model_slowdown(cores: int, rho: float, alpha: float) -> float:
    """Slowdown without noise: none at M = 1, none without contended synchronisation."""
    return 1 + 0.28 * (cores - 1) * rho * alpha**1.4


def model_miss_ratio(cores: int, rho: float, alpha: float) -> float:
    """Miss ratio without noise: nothing up to a slowdown of 1.35, then quadratic."""
    return min(1.0, 0.4 * max(0.0, model_slowdown(cores, rho, alpha) - 1.35) ** 2)


def demo_summary(
    *,
    name: str = "demo",
    cores: tuple[int, ...] = (1, 2, 4),
    steps: int = 4,
    sets_per_point: int = 4,
    labels: tuple[str, ...] = ("simulated", "policy other"),
    floor: float | None = 0.012,
    kind: str = "simulated",
    host: str = "bench-07",
    holes: bool = True,
    contention: float = 1.0,
) -> Summary:
    """A campaign over M in ``cores``, rho and alpha 0 to 1 in ``steps`` steps.

    With ``holes``, the point (largest M, 0.25, 0.75) is undecided and (largest M, 0.75, 0.25) was
    never measured. ``contention`` scales the effect; 0 gives a campaign where nothing happens.
    """
    grid = [index / steps for index in range(steps + 1)]
    cells, sets, distributions = list[CellFigures](), list[SetFigures](), []
    for m in cores:
        for rho in grid:
            for alpha in grid:
                if holes and (m, rho, alpha) == (cores[-1], 0.75, 0.25):
                    continue
                own = sets_from(
                    _set(m, rho, alpha, replica, contention) for replica in range(sets_per_point)
                )
                where = CellFigures(
                    cores=m, sync_share=rho, contended_ratio=alpha,
                    deadline_factor=10.0, tasks_per_core=1,
                )  # fmt: skip
                if holes and (m, rho, alpha) == (cores[-1], 0.25, 0.75):
                    cells.append(point_cell(where, (), ()))
                else:
                    cells.append(_cell(where, own))
                    distributions += _distributions(cells[-1], contention)
                sets += own
    return Summary(
        cells=tuple(cells),
        sets=tuple(sets),
        distributions=tuple(distributions),
        findings=_findings(),
        noise_floor=_noise(floor),
        labels=labels,
        meta=_meta(name, kind, host),
    )


def _set(m: int, rho: float, alpha: float, replica: int, contention: float) -> dict[str, Any]:
    clean = 1 + contention * (model_slowdown(m, rho, alpha) - 1)
    slowdown = clean * (1 + _NOISE * wobble(m, rho, alpha, replica))
    jobs = 400 * m
    share = contention * model_miss_ratio(m, rho, alpha) * (1 + 0.5 * wobble(alpha, m, replica, 9))
    misses = round(jobs * min(1.0, share))
    key = RunKey(Point(m, round(rho * 1000), round(alpha * 1000)), replica)
    return {
        "key": key.text,
        "cores": m,
        "sync_share": rho,
        "contended_ratio": alpha,
        "deadline_factor": 10.0,
        "replica": replica,
        "seed": 7_000_000 + 1000 * m + replica,
        "tasks": m,
        "jobs": jobs,
        "released": jobs,
        "delay_ratio_mean": slowdown * (1 + 0.006 * wobble(replica, m)),
        "slowdown_mean": slowdown,
        "response_ratio_mean": slowdown * 1.04,
        "response_ratio_predicted": 1.02,
        "deadline_misses_predicted": 0,
        "deadline_misses": misses,
        "deadline_miss_ratio": misses / jobs,
        "sync_share_real": rho * (1 + 0.004 * wobble(replica, rho)),
        "contended_ratio_real": alpha * (1 + 0.01 * wobble(replica, alpha)),
        "overlap_real": 0.0 if m == 1 else 0.1 * rho * alpha,
        "file": f"jobs/{key.text}.jobs",
    }


def _cell(where: CellFigures, own: Sequence[SetFigures]) -> CellFigures:
    """A point as the product sums its sets, but for what only their jobs say."""
    found = point_cell(where, own, ())
    slow, delay = found.slowdown.value or 0.0, found.value("delay_ratio_mean") or 0.0
    jobs, misses = found.jobs or 0, sum(each.deadline_misses for each in own)
    miss, none, waits = misses / jobs, 3 / jobs, 0.6 * (slow - 1)
    low, high = miss * 0.6, min(1.0, miss * 1.5) if misses else none
    more = {
        "slowdown_mean": Figure(slow, slow - 0.005, slow + 0.005, "sets"),
        "delay_ratio_mean": Figure(delay, delay - 0.006, delay + 0.006, "sets"),
        "deadline_miss_ratio": Figure(miss, low, high),
        "alone_miss_ratio": Figure(0.0, 0.0, none),
        "miss_excess": Figure(miss, low - none, high),
    }
    parts = (slow * 0.04, 0.0, waits, slow - waits, 0.0)
    more |= {f"{part}_ratio": Figure(value) for part, value in zip(PARTS, parts, strict=True)}
    # Deadlines that jobs need: the tail is longer than the mean, and its end is not known.
    for side, mean in (("", slow), ("alone_", 1.0)):
        for name, times in (("p99", 1.3), ("p999", 1.6)):
            needed = mean * times
            high_end = needed * 1.2 if name == "p99" else None
            more[f"{side}deadline_needed_{name}"] = Figure(needed, needed * 0.9, high_end)
        more[f"{side}deadline_needed_all"] = Figure(mean * 1.8)
    return found.with_figures(**more)


def _distributions(cell: CellFigures, contention: float) -> list[dict[str, Any]]:
    """A log-normal bell around the mean with a tail that grows with the contention."""
    m, rho, alpha = cell.cores, cell.sync_share, cell.contended_ratio
    edges = [0.5 * 10 ** (index / 40) for index in range(61)]
    result = []
    for metric in ("slowdown", "delay_ratio", "response_ratio"):
        centre = cell.value(f"{metric}_mean") or 1.0
        width = 0.01 + 0.08 * contention * rho * alpha * (m - 1) / 3
        counts = []
        for low, high in pairwise(edges):
            z = math.log((low * high) ** 0.5 / centre) / max(width, 0.03)
            tail = 0.01 * rho * alpha * contention * (low > centre) * (centre / low) ** 2
            counts.append(round((cell.jobs or 0) * (0.2 * math.exp(-z * z / 2) + tail)))
        result.append(
            {
                "cores": m,
                "sync_share": rho,
                "contended_ratio": alpha,
                "deadline_factor": 10.0,
                "metric": metric,
                "edges": edges,
                "counts": counts,
            }
        )
    return result


def _findings() -> tuple[Finding, ...]:
    return (
        Finding(
            id="no-housekeeping-core",
            severity="warning",
            message="Every core runs tasks under test; the host process shares core 0.",
            cure="Leave one core out: --cores 0-2.",
        ),
        Finding(
            id="steal",
            severity="serious",
            message="The hypervisor took 1.9 % of the time of core 1.",
            cure="Run on bare metal, or read slowdowns below the noise floor as nothing.",
            where="m004-s0250-c0750",
        ),
        Finding(id="clock", severity="info", message="The clock source is tsc."),
    )


def _noise(floor: float | None) -> NoiseFacts | None:
    if floor is None:
        return None
    basis = "108 sets of the campaign that share no object"
    return NoiseFacts(smallest_effect=floor, sets=108, mean=1.0, sd=0.004, basis=basis)


def _meta(name: str, kind: str, host: str) -> dict[str, Any]:
    before = {
        "kernel": {"release": "6.18.44", "preemption": "full", "command_line": "quiet isolcpus=2"},
        "cpu": {"governor": "performance", "temperature_c": 51, "online": [0, 1, 2, 3]},
        "steal_ticks": 1204,
    }
    after = {
        "kernel": before["kernel"],
        "cpu": {"governor": "performance", "temperature_c": 63, "online": [0, 1, 2, 3]},
        "steal_ticks": 1391,
    }
    return {
        "name": name,
        "created_at": "2026-11-21T20:15:00Z",
        "parameters": {"cores": [1, 2, 4], "seconds": 1.0, "seed": 7, "overrun": "skip"},
        "platform": {
            "name": host,
            "kind": kind,
            "machine": "x86_64",
            "soc": "Example 9000",
            "cpus": [0, 1, 2, 3],
            "kernel": "6.18.44",
            "preemption": "full",
            "governor": "performance",
            "toolchain": "gcc 12.2.0",
        },
        "calibration": {
            "basis": "warm",
            "policy": "fifo",
            "pool": "quick",
            "entries": 84,
            "refused": {"mutex_ceiling/1": "needs a real-time policy"},
            "seconds": 20.4,
        },
        "sessions": [{"session": 1, "before": before, "after": after}],
    }


def with_factors(summary: Summary, factors: tuple[float, ...]) -> Summary:
    """The same campaign at several deadline factors: misses fall with the square of the factor."""

    def at(item: dict[str, Any], factor: float) -> dict[str, Any]:
        fall = (factors[0] / factor) ** 2
        changed: dict[str, Any] = {"deadline_factor": factor}
        for column in ("deadline_miss_ratio", "deadline_miss_ci_low", "deadline_miss_ci_high"):
            if item.get(column) is not None:
                changed[column] = item[column] * fall if item[column] * fall > 1e-3 else 0.0
        if "key" in item:
            changed["key"] = f"{item['key']}-d{round(factor * 1000):06d}"
        return item | changed

    def spread(items: Sequence[dict[str, Any]]) -> tuple[dict[str, Any], ...]:
        return tuple(at(item, factor) for item in items for factor in factors)

    return evolve(
        summary,
        cells=cells_from(spread(rows_of(summary))),
        sets=sets_from(spread(sets_of(summary))),
        distributions=spread(summary.distributions),
    )
