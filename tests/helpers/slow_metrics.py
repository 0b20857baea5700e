"""The definitions of docs/reference/metrics.md, job by job: slow, and obviously right."""

from __future__ import annotations

from statistics import fmean, median
from typing import Any

from deadbeat.model import jobs as j
from deadbeat.model.jobs import JobTable


def slow_figures(table: JobTable) -> dict[str, Any]:
    """What `run_figures` says, by loops."""
    tasks = [dict(zip(table.tasks.dtype.names, row, strict=True)) for row in table.tasks.tolist()]
    jobs = [dict(zip(table.jobs.dtype.names, row, strict=True)) for row in table.jobs.tolist()]
    counted = [job for job in jobs if job["flags"] & j.JOB_COUNTED]
    together = [job for job in counted if not job["flags"] & j.JOB_SOLO]
    done = [job for job in together if job["flags"] & j.JOB_FINISHED]
    solo = [job for job in counted if job["flags"] & j.JOB_SOLO and job["flags"] & j.JOB_FINISHED]
    medians = {}
    for index in range(len(tasks)):
        spans = [_span(job) for job in solo if job["task"] == index]
        if spans and median(spans) > 0:
            medians[index] = median(spans)
    slowdowns = [_span(job) / medians[job["task"]] for job in done if job["task"] in medians]
    costs = [tasks[job["task"]]["wcet_ns"] for job in done]
    return {
        "jobs": len(done),
        "released": len(together),
        "delay_ratio": [_span(job) / cost for job, cost in zip(done, costs, strict=True)],
        "response_ratio": [
            (job["finish_ns"] - job["release_ns"]) / cost
            for job, cost in zip(done, costs, strict=True)
        ],
        "slowdown": slowdowns,
        "slowdown_mean": _set_slowdown(len(tasks), done, solo),
        "deadline_misses": sum(_missed(job, tasks) for job in together),
        "miss_episodes": _episodes(together, tasks),
        "overruns": sum(_overrun(job, jobs) for job in together),
        "tasks_without_solo": len(tasks) - len(medians),
    }


def _span(job: dict[str, Any]) -> int:
    return int(job["finish_ns"] - job["start_ns"])


def _missed(job: dict[str, Any], tasks: list[dict[str, Any]]) -> bool:
    if not job["flags"] & j.JOB_FINISHED:
        return True
    return bool(job["finish_ns"] - job["release_ns"] > tasks[job["task"]]["deadline_ns"])


def _episodes(together: list[dict[str, Any]], tasks: list[dict[str, Any]]) -> int:
    episodes, before = 0, None
    for job in together:
        missed = _missed(job, tasks)
        place = (job["task"], job["slot"])
        if missed and before != (*place, True):
            episodes += 1
        before = (*place, missed)
    return episodes


def _overrun(job: dict[str, Any], jobs: list[dict[str, Any]]) -> bool:
    if job["flags"] & j.JOB_SKIPPED:
        return True
    place = next(index for index, other in enumerate(jobs) if other is job)
    if place == 0:
        return False
    before = jobs[place - 1]
    if (before["task"], before["slot"]) != (job["task"], job["slot"]):
        return False
    if before["flags"] & j.JOB_SKIPPED:
        return False
    finished = before["flags"] & j.JOB_FINISHED
    return not finished or bool(before["finish_ns"] > job["release_ns"])


def _set_slowdown(
    tasks: int, done: list[dict[str, Any]], solo: list[dict[str, Any]]
) -> float | None:
    ratios = []
    for index in range(tasks):
        with_others = [_span(job) for job in done if job["task"] == index]
        alone = [_span(job) for job in solo if job["task"] == index]
        if with_others and alone and fmean(alone) > 0:
            ratios.append(fmean(with_others) / fmean(alone))
    return fmean(ratios) if ratios else None


def slow_overlap(placed: dict[int, list[tuple[int, int]]]) -> float | None:
    """Overlap of one object, moment by moment: core -> intervals in which it is inside."""
    times = [time for intervals in placed.values() for interval in intervals for time in interval]
    inside = shared = 0
    for moment in range(min(times, default=0), max(times, default=0)):
        cores = sum(
            any(enter <= moment < leave for enter, leave in intervals)
            for intervals in placed.values()
        )
        inside += cores
        shared += cores if cores >= 2 else 0
    return shared / inside if inside else None
