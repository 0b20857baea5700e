"""Ten million job records to summary.csv: seconds and peak memory.

The campaign is made up in a temporary folder, outside of the timing; the summary is made by a
fresh process, so that its peak memory is its own.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from fractions import Fraction
from pathlib import Path

import numpy as np
from common import cpu_seconds, peak_bytes, report

from deadbeat.kinds.contention.summarise import summarise
from deadbeat.model import jobs as j
from deadbeat.model.calibration import Calibration
from deadbeat.model.examples import example_calibration, example_entries, example_fragments
from deadbeat.model.jobs import JobTable
from deadbeat.model.results import Point, RunKey
from deadbeat.model.tasks import Entry, FragmentUse, Kind, Resource, Segment, Task, TaskSet
from deadbeat.store.campaign import CampaignStore
from deadbeat.store.jobfile import new_header
from deadbeat.store.summary import write_summary

CORES, TASKS, SEGMENTS, USES = 8, 16, 8, 3
PERIOD_NS, WCET_NS = 3_000_000, 300_000
BATCH = 1000


def make_task_set(key: RunKey, calibration: Calibration, seed: int) -> TaskSet:
    """A set of the usual shape: eight segments of three uses, three classes."""
    random = np.random.default_rng(seed)
    ns = [Entry(f.name, s) for f in example_fragments() if f.kind is Kind.NS for s in f.sizes]
    classes = [f for f in example_fragments() if f.kind is Kind.SY][:3]
    resources = [Resource(f.name, None) for f in classes]
    resources += [Resource(f.name, core) for f in classes for core in range(CORES)]
    tasks = []
    for index in range(TASKS):
        core = index % CORES
        segments = []
        for position in range(SEGMENTS):
            is_sync = position / SEGMENTS < key.point.sync_share
            uses = []
            for _ in range(USES):
                if is_sync:
                    kind = int(random.integers(len(classes)))
                    entry = Entry(classes[kind].name, classes[kind].sizes[0])
                    contended = random.random() < key.point.contended_ratio
                    resource = kind if contended else len(classes) + kind * CORES + core
                    uses.append(FragmentUse(entry, int(random.integers(1, 40)), resource))
                else:
                    uses.append(FragmentUse(ns[int(random.integers(len(ns)))], 3, None))
            cost = sum(calibration.cost(use.entry, core).use_ps(use.repeats) for use in uses)
            segments.append(Segment(Kind.SY if is_sync else Kind.NS, cost, cost, tuple(uses)))
        tasks.append(
            Task(
                name=f"t{index}", core=core, wcet_ns=WCET_NS, period_ns=PERIOD_NS,
                deadline_ns=PERIOD_NS, offset_ns=index * 1000, priority=60 + index, seed=index,
                segments=tuple(segments),
            )
        )  # fmt: skip
    return TaskSet(
        cores=CORES, tasks=tuple(tasks), resources=tuple(resources), seed=seed, generator="bench",
        sync_share=Fraction(key.point.sync_share_milli, 1000),
        contended_ratio=Fraction(key.point.contended_ratio_milli, 1000),
        sync_share_real=key.point.sync_share, contended_ratio_real=key.point.contended_ratio,
    )  # fmt: skip


def make_table(records: int, seed: int) -> JobTable:
    """A run of ``records`` jobs: TASKS tasks, one job in twenty solo, one in a thousand skipped."""
    random = np.random.default_rng(seed)
    per_task = records // TASKS
    solo = max(per_task // 20, 1)
    tasks = np.zeros(TASKS, j.TASK_DTYPE)
    tasks["task"] = np.arange(TASKS)
    tasks["core"] = tasks["task"] % CORES
    tasks["wcet_ns"], tasks["period_ns"], tasks["deadline_ns"] = WCET_NS, PERIOD_NS, PERIOD_NS
    tasks["job_count"] = per_task
    tasks["first_job"] = np.arange(TASKS) * per_task
    slots = np.zeros(1 + TASKS, j.SLOT_DTYPE)
    slots["slot"] = np.arange(1 + TASKS)
    slots["kind"][1:], slots["task"][1:] = j.SLOT_SOLO, np.arange(TASKS)
    slots["end_ns"] = 1 << 50
    number = np.tile(np.arange(per_task), TASKS)
    owner = np.repeat(np.arange(TASKS), per_task)
    is_solo = number >= per_task - solo
    skipped = ~is_solo & (random.random(len(number)) < 0.001)
    jobs = np.zeros(len(number), j.JOB_DTYPE)
    jobs["release_ns"] = number * PERIOD_NS + owner * 7919
    jobs["start_ns"] = jobs["release_ns"] + random.integers(2_000, 20_000, len(number))
    jobs["finish_ns"] = jobs["start_ns"] + random.integers(WCET_NS, 2 * WCET_NS, len(number))
    jobs["start_ns"][skipped] = jobs["finish_ns"][skipped] = j.NEVER
    jobs["task"], jobs["slot"] = owner, np.where(is_solo, 1 + owner, 0)
    ran = j.JOB_COUNTED | j.JOB_STARTED | j.JOB_FINISHED
    jobs["flags"] = np.where(skipped, j.JOB_COUNTED | j.JOB_SKIPPED, ran)
    jobs["flags"] |= np.where(is_solo, j.JOB_SOLO, 0).astype(np.uint32)
    header = new_header(set_id=f"{seed:064x}", flags=j.RUN_REALTIME)
    probes = np.zeros(0, j.PROBE_DTYPE)
    return JobTable(header=header, tasks=tasks, slots=slots, probes=probes, jobs=jobs)


def make_campaign(path: Path, *, points: int, replicas: int, records: int) -> None:
    store = CampaignStore.create(path, {"name": "bench"}, 1)
    calibration = example_calibration(example_entries(example_fragments()), cores=CORES)
    store.save_calibration(calibration)
    keys = [
        RunKey(Point(CORES, 250 * (p // 5 % 5), 250 * (p % 5)), r + replicas * (p // 25))
        for p in range(points)
        for r in range(replicas)
    ]
    with store.lock():
        for first in range(0, len(keys), BATCH):
            some = keys[first : first + BATCH]
            sets = [(key, make_task_set(key, calibration, n)) for n, key in enumerate(some, first)]
            ids = [f"{n:064x}" for n in range(first, first + len(some))]
            store.programs.save(f"batch-{first:05d}", "", sets, set_ids=ids)
        for number, key in enumerate(keys):
            store.commit(key, make_table(records, number))


def measure(path: Path) -> None:
    """In a process of its own: summary of ``path``, its cost on stdout."""
    began, cpu = time.perf_counter(), cpu_seconds()
    store = CampaignStore.open(path)
    summary = summarise(store)
    write_summary(store, summary)
    used = {
        "seconds": time.perf_counter() - began,
        "cpu_seconds": cpu_seconds() - cpu,
        "peak_bytes": peak_bytes(),
        "released": sum(cell.released or 0 for cell in summary.cells),
        "points": len(summary.cells),
        "overlap": summary.cells[-1].value("overlap_real"),
    }
    print(json.dumps(used))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--points", type=int, default=25)
    parser.add_argument("--replicas", type=int, default=80)
    parser.add_argument("--records", type=int, default=5000, help="job records per run")
    parser.add_argument("--measure", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        measure(options.measure)
        return
    with tempfile.TemporaryDirectory(prefix="deadbeat-bench-") as folder:
        path = Path(folder) / "campaign"
        make_campaign(
            path, points=options.points, replicas=options.replicas, records=options.records
        )
        text = subprocess.run(
            [sys.executable, __file__, "--measure", str(path)],
            check=True, capture_output=True, text=True,
        ).stdout  # fmt: skip
    used = json.loads(text)
    records = options.points * options.replicas * options.records // TASKS * TASKS
    extra = {"records": records, "runs": options.points * options.replicas, **used}
    name = f"{records / 1e6:.3g} million job records to summary.csv"
    report(f"{name}: time", "<= 10 s", round(used["seconds"], 3), "s", extra)
    report(f"{name}: memory", "<= 1.5 GB", round(used["peak_bytes"] / 1e9, 3), "GB")


if __name__ == "__main__":
    main()
