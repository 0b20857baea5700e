"""Task sets on this machine: share of time spent measuring, and how well C is met on one core."""

from __future__ import annotations

import sys
from fractions import Fraction
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any

import numpy as np
from common import bench_calibration, report

from deadbeat.catalog import load_catalog
from deadbeat.executors.base import RunRequest, RunSettings
from deadbeat.executors.hardware import HardwareExecutor
from deadbeat.executors.metrics import job_columns
from deadbeat.kinds.contention.figures import run_figures, without_overlapped
from deadbeat.model.calibration import Calibration
from deadbeat.model.jobs import JOB_COUNTED, JOB_FINISHED
from deadbeat.model.results import Point, RunKey
from deadbeat.store.campaign import CampaignStore
from deadbeat.store.jobfile import read_job_table
from deadbeat.synthesis import Synthesiser, SynthesisParameters

#: Whole campaigns' worth of task sets for the share; sets for each rho.
SETS, SETS_OF_SHARE = 100, 30


def requests_of(
    calibration: Calibration, *, cores: int, shares: list[str], count: int
) -> list[RunRequest]:
    """``count`` task sets of each share, interleaved, so that no share meets its own host state."""
    synthesiser = Synthesiser(load_catalog(), calibration)
    requests = []
    for replica in range(count):
        for index, share in enumerate(shares):
            parameters = SynthesisParameters(
                cores=cores, tasks=cores, sync_share=Fraction(share), contended_ratio=Fraction(1, 2)
            )
            key = RunKey(Point(cores, index, 0), replica)
            requests.append(RunRequest(key, synthesiser.synthesise(parameters, 1000 + replica)))
    return requests


def measuring_share(executor: HardwareExecutor, calibration: Calibration) -> None:
    """100 sets of 1 s, read and committed as a campaign does."""
    requests = requests_of(
        calibration, cores=len(executor.cpus), shares=["0", "1/2"], count=SETS // 2
    )
    settings = RunSettings(seconds=1.0, warmup_jobs=1)
    measured_ns, setups = 0, []
    with (
        TemporaryDirectory() as folder,
        executor.open(requests, settings) as session,
    ):
        store = CampaignStore.create(Path(folder) / "bench", {}, 1)
        session.run(requests[0].key)  # starts the program: part of a batch, not of a set
        began = perf_counter()
        for request in requests:
            outcome = session.run(request.key)
            if outcome.file is None:
                sys.exit(f"a set failed: {outcome.error}")
            table = read_job_table(outcome.file)
            store.commit(request.key, table, outcome.file)
            measured_ns += int(table.header["measured_ns"])
            setups.append(int(table.header["setup_ns"]))
        wall = perf_counter() - began
    report(
        "seconds measuring (in slots, without their warm-up) / wall seconds, 100 sets of 1 s",
        ">= 0.80",
        round(measured_ns / 1e9 / wall, 4),
        "ratio",
        {"wall_s": round(wall, 1), "setup_p50_ms": round(float(np.median(setups)) / 1e6, 2)},
    )


def _figures(file: Path) -> dict[str, float]:
    """Median span / C, alone and together, and slowdown of a set."""
    table, _ = without_overlapped(read_job_table(file))
    columns = job_columns(table)
    done = JOB_COUNTED | JOB_FINISHED
    spans: Any = columns.delay_ratio[(columns.flags & done) == done]
    figures = run_figures(table, columns)
    return {
        "ratio": float(np.median(spans)),
        "slowdown": figures.of_set.slowdown_mean,
        "error": figures.of_set.slowdown_error,
        "slowdown_p50": float(np.nanmedian(figures.slowdown)),
    }


def accuracy(executor: HardwareExecutor, calibration: Calibration) -> None:
    """M = 1: median span / C at rho = 0, 0.5, 1 and slowdown; every set counts."""
    shares = ["0", "1/2", "1"]
    requests = requests_of(calibration, cores=1, shares=shares, count=SETS_OF_SHARE)
    settings = RunSettings(seconds=0.6, warmup_jobs=1)
    seen: dict[int, list[dict[str, float]]] = {index: [] for index in range(len(shares))}
    with executor.open(requests, settings) as session:
        for request in requests:
            outcome = session.run(request.key)
            if outcome.file is None:
                sys.exit(f"a set failed: {outcome.error}")
            seen[request.key.point.sync_share_milli].append(_figures(outcome.file))
            outcome.file.unlink()
    medians = [float(np.median([f["ratio"] for f in seen[s]])) for s in seen]
    slope = float(np.polyfit([0, 0.5, 1], medians, 1)[0])
    common = {"sets": [len(seen[s]) for s in seen]}
    for text, value in zip(shares, medians, strict=True):
        spread = np.percentile([f["ratio"] for f in seen[shares.index(text)]], [5, 25, 75, 95])
        report(
            f"M = 1: median span / C at rho = {text}",
            "1.00 +- 0.02",
            round(value, 4),
            "ratio",
            {**common, "sets_p5_p25_p75_p95": [round(float(x), 3) for x in spread]},
        )
    report("M = 1: slope of span / C over rho", "|.| < 0.02", round(slope, 4), "per unit rho")
    every = [f for s in seen for f in seen[s]]
    report(
        "slowdown at M = 1",
        "1.000 +- 0.005",
        round(float(np.mean([f["slowdown"] for f in every])), 4),
        "ratio",
        {
            "sd_of_sets": round(float(np.std([f["slowdown"] for f in every], ddof=1)), 4),
            "own_error_p50": round(float(np.median([f["error"] for f in every])), 4),
            "median_of_sets": round(float(np.median([f["slowdown"] for f in every])), 4),
            "p50_of_jobs": round(float(np.median([f["slowdown_p50"] for f in every])), 4),
            "sets": len(every),
        },
    )


def main() -> None:
    """Calibrates first unless bench_calibration.py has just done so."""
    executor = HardwareExecutor(lock_wait=600)
    calibration = bench_calibration(executor)
    accuracy(executor, calibration)
    measuring_share(executor, calibration)
    executor.close()


if __name__ == "__main__":
    main()
