"""Truth: any bytes end in a DataError or a table the analysis takes; figures have a slow twin."""

import struct
import zlib
from pathlib import Path
from statistics import fmean, median
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deadbeat.base.model import jobs as j
from deadbeat.base.model.errors import DataError
from deadbeat.base.model.jobs import JobTable
from deadbeat.base.model.traces import COUNTER_EVENTS
from deadbeat.tasksets.contention.figures import run_figures
from deadbeat.tasksets.contention.run_parts import ContendedUses, overlap_share
from deadbeat.tasksets.executors.metrics import job_columns, quantiles
from deadbeat.tasksets.store.jobfile import job_file_buffers, new_header, parse_job_table


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


GOLDEN = Path(__file__).parents[1] / "golden"
HEX = st.text("0123456789abcdef", min_size=64, max_size=64)


@st.composite
def tables(draw: st.DrawFn) -> JobTable:
    """Any consistent table of up to three tasks and slots, with times that collide."""
    task_count = draw(st.integers(0, 3))
    solo = [draw(st.integers(-1, task_count - 1)) for _ in range(draw(st.integers(1, 3)))]
    slots = np.zeros(len(solo), j.SLOT_DTYPE)
    for index, task in enumerate(solo):
        kind = j.SLOT_TOGETHER if task < 0 else j.SLOT_SOLO
        begin = 1000 * index
        warm_up = draw(st.integers(0, 100))
        slots[index] = (
            index,
            kind,
            task & 0xFFFF,
            index // 2,
            begin,
            begin + warm_up,
            begin + 1000,
        )
    tasks = np.zeros(task_count, j.TASK_DTYPE)
    rows: list[tuple[int, ...]] = []
    for index in range(task_count):
        count = draw(st.integers(0, 6))
        times = st.integers(1, 60)
        tasks[index] = (
            index, draw(st.integers(0, 2)), 0, 1, 60,
            draw(times), draw(times), draw(times), 0, len(rows), count,
        )  # fmt: skip
        release = 0
        for _ in range(count):
            release += draw(st.integers(0, 40))
            rows.append(draw(_job_rows(index, release, solo)))
    jobs = np.array(rows, dtype=j.JOB_DTYPE)
    return JobTable(
        header=new_header(set_id=draw(HEX), flags=draw(st.integers(0, 31))),
        tasks=tasks,
        slots=slots,
        probes=np.zeros(0, j.PROBE_DTYPE),
        jobs=jobs,
        details=draw(_details(jobs)),
        counters=draw(_counters(task_count, solo)),
    )


@st.composite
def _details(draw: st.DrawFn, jobs: np.ndarray) -> np.ndarray:
    if not draw(st.booleans()):
        return np.zeros(0, j.DETAIL_DTYPE)
    details = np.zeros(len(jobs), j.DETAIL_DTYPE)
    details["worst_use"] = j.NO_USE
    for detail, job in zip(details, jobs, strict=True):
        if job["flags"] & j.JOB_FINISHED:
            span = int(job["finish_ns"] - job["start_ns"])
            detail["stall_ns"] = draw(st.integers(0, span))
            detail["worst_use_ns"] = draw(st.integers(0, span))
            detail["worst_use"] = draw(st.integers(0, 5))
    return details


@st.composite
def _counters(draw: st.DrawFn, tasks: int, solo: list[int]) -> np.ndarray:
    places = [
        (task, window)
        for task in range(tasks)
        for window, alone in enumerate(solo)
        if alone in (-1, task)
    ]
    rows = [
        (*place, event, draw(st.integers(0, j.COUNTER_FAILED)), draw(st.integers(1, 99)), 2, 1)
        for place in (places if draw(st.booleans()) else [])
        for event in sorted(draw(st.sets(st.integers(0, len(COUNTER_EVENTS) - 1), max_size=3)))
    ]
    return np.array(rows, dtype=j.COUNTER_DTYPE)


@st.composite
def _job_rows(draw: st.DrawFn, task: int, release: int, solo: list[int]) -> tuple[int, ...]:
    window = draw(st.integers(0, len(solo) - 1))
    fate = draw(st.sampled_from(["finished", "started", "waiting", "skipped"]))
    start = release + draw(st.integers(0, 30))
    finish = start + draw(st.integers(0, 90))
    flags = {
        "finished": j.JOB_STARTED | j.JOB_FINISHED,
        "started": j.JOB_STARTED,
        "waiting": 0,
        "skipped": j.JOB_SKIPPED,
    }[fate]
    flags |= draw(st.sampled_from([0, j.JOB_COUNTED])) | (j.JOB_SOLO if solo[window] >= 0 else 0)
    started, finished = flags & j.JOB_STARTED, flags & j.JOB_FINISHED
    return (
        release, start if started else j.NEVER, finish if finished else j.NEVER,
        0, 0, 0, 0, 0, task, window, flags,
    )  # fmt: skip


def as_bytes(table: JobTable) -> bytes:
    return b"".join(job_file_buffers(table))


def read_or_refuse(data: bytes) -> None:
    try:
        table = parse_job_table(data, name="fuzz")
    except DataError as error:
        assert "\n" not in str(error)
        return
    with np.errstate(over="ignore"):
        run_figures(table, job_columns(table))
    assert as_bytes(table) == data


@settings(deadline=None)
@given(tables())
def test_a_table_survives_its_bytes(table: JobTable) -> None:
    again = parse_job_table(as_bytes(table), name="x")
    for name in ("tasks", "slots", "probes", "jobs", "details", "counters"):
        assert getattr(again, name).tobytes() == getattr(table, name).tobytes()
    assert again.set_id == table.set_id
    assert int(again.header["flags"]) == int(table.header["flags"])


@settings(deadline=None)
@given(st.binary(max_size=2000))
def test_garbage_is_refused(data: bytes) -> None:
    read_or_refuse(data)


@settings(deadline=None)
@given(tables(), st.data())
def test_a_truncated_file_is_refused(table: JobTable, data: st.DataObject) -> None:
    whole = as_bytes(table)
    with pytest.raises(DataError):
        parse_job_table(whole[: data.draw(st.integers(0, len(whole) - 1))], name="x")


@settings(deadline=None)
@given(tables(), st.data())
def test_flipped_bits_are_refused(table: JobTable, data: st.DataObject) -> None:
    changed = bytearray(as_bytes(table))
    position = data.draw(st.integers(0, len(changed) - 1))
    changed[position] ^= data.draw(st.integers(1, 255))
    with pytest.raises(DataError):
        parse_job_table(bytes(changed), name="x")


@settings(max_examples=50, deadline=None)
@given(
    tables().map(as_bytes) | st.just((GOLDEN / "records-v3.jobs").read_bytes()),
    st.data(),
)
def test_damage_behind_a_right_checksum_is_refused_or_harmless(whole: bytes, data: st.DataObject):
    changed = bytearray(whole[:-4])
    for _ in range(data.draw(st.integers(1, 4))):
        position = data.draw(st.integers(0, len(changed) - 1))
        piece = data.draw(st.binary(min_size=1, max_size=8))
        changed[position : position + len(piece)] = piece
    del changed[data.draw(st.integers(0, 3)) + len(whole) :]
    read_or_refuse(bytes(changed) + struct.pack("<I", zlib.crc32(bytes(changed))))


@settings(max_examples=50, deadline=None)
@given(tables())
def test_figures_are_those_of_the_slow_twin(table: JobTable) -> None:
    figures, slow = run_figures(table, job_columns(table)), slow_figures(table)
    for name in ("delay_ratio", "response_ratio", "slowdown"):
        assert getattr(figures, name).tolist() == pytest.approx(slow.pop(name))
    for name, value in slow.items():
        assert getattr(figures.of_set, name) == pytest.approx(value), name


@settings(max_examples=50, deadline=None)
@given(tables(), st.lists(st.tuples(st.integers(0, 10), st.integers(1, 10)), max_size=3))
def test_overlap_is_that_of_the_slow_twin(table: JobTable, shares: list[tuple[int, int]]) -> None:
    low = np.array([low / 20 for low, _ in shares])
    high = np.array([(low + width) / 20 for low, width in shares])
    plan = {0: [ContendedUses(task, low, high) for task in range(len(table.tasks))]}
    placed: dict[int, list[tuple[int, int]]] = {}
    for row in table.jobs:
        if row["flags"] & j.JOB_FINISHED and not row["flags"] & j.JOB_SOLO:
            start, span = int(row["start_ns"]), int(row["finish_ns"] - row["start_ns"])
            placed.setdefault(int(table.tasks["core"][row["task"]]), []).extend(
                (start + int(span * enter), start + int(span * leave))
                for enter, leave in zip(low, high, strict=True)
            )
    assert overlap_share(job_columns(table), table.tasks, plan) == pytest.approx(
        slow_overlap(placed)
    )


@settings(deadline=None)
@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=30), st.floats(0, 1))
def test_quantiles_are_those_of_numpy(values: list[float], share: float) -> None:
    true = np.quantile(values, share)
    # Sums of numbers of a million are exact to about 1e-10.
    assert quantiles(np.array(values), share) == [pytest.approx(true, abs=1e-8)]
