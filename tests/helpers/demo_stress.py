"""A realistic Summary of a stress campaign out of formulas: no clock, no chance, no machine."""

from collections.abc import Sequence
from typing import Any

from deadbeat.base.model.traces import PARTS
from deadbeat.tasksets.contention.point import group_cell
from deadbeat.tasksets.model.figures import CellFigures
from deadbeat.tasksets.model.results import Point, RunKey, Summary
from helpers.demo_summary import demo_summary, model_slowdown, wobble
from helpers.rows import sets_from

EVENTS = ("context_switches", "cpu_migrations", "page_faults", "cycles", "cache_misses")


def demo_stress(
    *,
    name: str = "stressed",
    groups: Sequence[str] = ("M=2", "M=4", "M=8", "random"),
    sets_per_group: int = 60,
    factors: Sequence[float] = (2.0,),
    critical: Sequence[int] = (0,),
    causes: bool = True,
    counters: bool = True,
    labels: tuple[str, ...] = ("simulated", "policy other"),
    kind: str = "simulated",
) -> Summary:
    """Groups of random task sets; with ``critical`` of (1, 2), groups ``M=4 k=1`` and so on."""
    cells: list[CellFigures] = []
    sets: list[dict[str, Any]] = []
    first = 0
    for group in groups:
        for k in critical:
            label = f"{group} k={k}" if k else group
            for factor in factors:
                own = [
                    _set(label, group, first + place, factor, k, causes=causes, counters=counters)
                    for place in range(sets_per_group)
                ]
                sets += own
                cores = int(group[2:]) if group.startswith("M=") else 0
                where = CellFigures(
                    group=label, cores=cores, critical_cores=k, deadline_factor=factor
                )
                cells.append(group_cell(where, sets_from(own)))
            first += sets_per_group
    base = demo_summary(name=name, labels=labels, kind=kind, cores=(), steps=1)
    meta = dict(base.meta)
    if counters:
        meta["counters"] = {
            event: "counted" if event in EVENTS[:3] else "not supported here" for event in EVENTS
        } | {"cache_misses": "refused: perf_event_paranoid is 3"}
    if causes:
        meta["causes"] = [_late(place) for place in range(6)]
    else:
        meta["causes_unavailable"] = "tracefs is not mounted and cannot be mounted here"
    return Summary(
        mode="stress",
        cells=tuple(cells),
        sets=sets_from(sets),
        findings=base.findings,
        noise_floor=base.noise_floor,
        labels=labels,
        meta=meta,
    )


def _set(
    label: str, group: str, number: int, factor: float, k: int, *, causes: bool, counters: bool
) -> dict[str, Any]:
    drawn = [0.5 + 0.5 * wobble(number, part) for part in (1, 2, 3, 4)]
    m = int(group[2:]) if group.startswith("M=") else (2, 4, 8)[int(2.99 * drawn[3])]
    rho, alpha = round(drawn[0], 3), round(drawn[1], 3)
    effect = model_slowdown(m, rho, alpha) - 1
    slowdown = 1 + effect / (1 + k) * (0.6 + 0.8 * drawn[2]) + 0.004 * wobble(number, 5)
    late = max(0.0, slowdown - 0.75 * factor) ** 2 * 0.4
    jobs = 400 * m
    misses = min(jobs, round(jobs * late))
    key = RunKey(Point(m, round(rho * 1000), round(alpha * 1000), round(factor * 1000)), number)
    parts = _parts(slowdown, effect, causes)
    return {
        "key": key.text,
        "group": label,
        "cores": m,
        "critical_cores": k,
        "deadline_factor": factor,
        "sync_share": rho,
        "contended_ratio": alpha,
        "replica": number,
        "seed": 7_000_000 + number,
        "tasks": m + number % 3,
        "utilisation": m / factor,
        "jobs": jobs,
        "released": jobs,
        "delay_ratio_mean": slowdown * (1.01 + 0.006 * wobble(number, m)),
        "slowdown_mean": slowdown,
        "response_ratio_mean": sum(parts.values()) if causes else slowdown * 1.04,
        "alone_misses": 0,
        "alone_released": jobs // 4,
        "deadline_misses": misses,
        "deadline_miss_ratio": misses / jobs,
        "miss_episodes": (misses + 2) // 3,
        "sync_share_real": rho,
        "contended_ratio_real": alpha if rho else None,
        "overlap_real": 0.1 * rho * alpha,
        "file": f"jobs/{key.text}.jobs",
        **{f"{part}_ratio": parts[part] if causes else None for part in PARTS},
        "counter_context_switches_per_job": 1 + 4 * effect + drawn[2] if counters else None,
        "counter_cpu_migrations_per_job": 0.0 if counters else None,
        "counter_page_faults_per_job": 0.01 * drawn[2] if counters and number % 2 else None,
        "counter_cycles_per_job": None,
        "counter_cache_misses_per_job": None,
    }


def _parts(slowdown: float, effect: float, causes: bool) -> dict[str, float]:
    del causes
    waits = {"wake_up": 0.03, "core_wait": 0.02 + 0.01 * effect, "stall": 0.002}
    waits["resource_wait"] = 0.7 * max(0.0, slowdown - 1)
    return waits | {"execution": 1 + 0.3 * max(0.0, slowdown - 1)}


def _late(place: int) -> dict[str, Any]:
    causes = ("preempted", "lock", "throttled", "migrated", "own work", "not seen")
    parts = {"wake_up": 40_000, "core_wait": 3_100_000, "resource_wait": 800_000}
    parts |= {"execution": 1_500_000 + 1000 * place, "stall": 0}
    return {
        "run": f"m004-s0500-c1000-r{place:04d}",
        "job": 17 + place,
        "task": place % 4,
        "response_ns": sum(parts.values()),
        "deadline_ns": 4_000_000,
        "parts_ns": parts,
        "cause": causes[place],
        "holder": ("kworker/2:1 (pid 88, FIFO 99)", "db-t1", "", "", "", "")[place],
        "evidence": "ran on cpu 2 for 3.10 ms of the 3.10 ms in which db-t0 was ready",
        "traced": place < 4,
        "finished": place < 5,
        "skipped": 0 if place < 5 else 154,
        "details": {"events": 40, "events_lost": 12, "events_left_out": 7} if place == 1 else {},
    }
