"""What a noisy host does to the figures: coverage, bias and recovery, with noise made on purpose.

    bench/bench_noise.py [PART ...]     points null layout injected sibling slots scale

``make bench`` runs the quick parts with few sets; PARTs named are run as the table of goals asks.
Each noise is a neighbour on every CPU (neighbour.c), on and off for a mean of 3, 10 or 100 ms each.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic
from typing import Any

import numpy as np
from attrs import frozen
from common import bench_calibration, report
from injection import Hog, inject_options
from numpy.typing import NDArray

from deadbeat.catalog import load_catalog
from deadbeat.executors.base import RunRequest, RunSettings
from deadbeat.executors.hardware import HardwareExecutor
from deadbeat.executors.metrics import job_columns
from deadbeat.kinds.contention.figures import RoundSums, RunMean, Witness, without_overlapped
from deadbeat.model.calibration import Calibration
from deadbeat.model.jobs import JobTable
from deadbeat.model.results import Point, RunKey
from deadbeat.model.tasks import TaskSet
from deadbeat.stats.intervals import mean_interval, t_quantile
from deadbeat.store.campaign import CampaignStore
from deadbeat.store.jobfile import read_job_table
from deadbeat.synthesis import Synthesiser, SynthesisParameters

HERE = Path(__file__).parent
MEANS_MS = (3, 10, 100)
SETTINGS = RunSettings(seconds=1.0)
Floats = NDArray[np.float64]


@contextmanager
def neighbours(mean_ms: float | None, policy: str = "fifo") -> Iterator[None]:
    """A busy neighbour on every CPU; None: the host as it is. Each is ended by its number, and by
    itself after an hour."""
    with TemporaryDirectory() as folder:
        program = Path(folder) / "neighbour"
        subprocess.run(["gcc", "-O2", HERE / "neighbour.c", "-o", program, "-lm"], check=True)
        running = [
            subprocess.Popen([program, str(cpu), str(mean_ms), policy, "3600", str(cpu + 1)])
            for cpu in sorted(os.sched_getaffinity(0))
            if mean_ms is not None
        ]
        try:
            yield
        finally:
            for process in running:
                process.kill()
                process.wait()


@frozen(kw_only=True)
class Measured:
    """One run: its slowdown, the compute ratio, and its table."""

    slowdown: RunMean
    compute_ratio: float | None
    table: JobTable


def measure(
    executor: HardwareExecutor,
    sets: Sequence[TaskSet],
    settings: RunSettings,
    inject: Sequence[Mapping[str, str]] | None = None,
) -> list[Measured]:
    """Runs each set once; ``inject``: one for each of them, in a session of its own."""
    found = []
    keys = [RunKey(Point(s.cores, 0, 0), number) for number, s in enumerate(sets)]
    requests = [RunRequest(key, s) for key, s in zip(keys, sets, strict=True)]
    batches = (
        [(requests, None)]
        if inject is None
        else [([request], one) for request, one in zip(requests, inject, strict=True)]
    )
    for batch, injection in batches:
        with executor.open(batch, settings, inject=injection) as session:
            for request in batch:
                outcome = session.run(request.key)
                assert outcome.file is not None, outcome.error
                table, _ = without_overlapped(read_job_table(outcome.file))
                outcome.file.unlink()
                sums = RoundSums.of(job_columns(table), table)
                ratio = Witness.of(table).compute_ratio
                found.append(Measured(slowdown=sums.slowdown(), compute_ratio=ratio, table=table))
    return found


def task_sets(
    calibration: Calibration, count: int, *, cores: int, share: str = "1/2", alpha: int = 0
) -> list[TaskSet]:
    synthesiser = Synthesiser(load_catalog(), calibration)
    parameters = SynthesisParameters(
        cores=cores, tasks=cores, sync_share=Fraction(share), contended_ratio=Fraction(alpha)
    )
    return [synthesiser.synthesise(parameters, 500 + replica) for replica in range(count)]


def slowdowns(runs: Sequence[Measured]) -> Floats:
    return np.array([run.slowdown.value for run in runs if run.slowdown.value is not None])


def noises() -> list[tuple[str, float | None]]:
    return [("host as it is", None), *((f"neighbour {ms} ms", float(ms)) for ms in MEANS_MS)]


# -- parts


def points(machine: Machine) -> None:
    """Points decided by `make run`, half widths, and the share of time that ends in a figure."""
    for name, mean_ms in noises():
        with TemporaryDirectory() as folder, neighbours(mean_ms):
            words = ["profile", "--quick", "--runs", folder, "--json"]
            done = subprocess.run(
                [Path(sys.executable).parent / "deadbeat", *words],
                capture_output=True, text=True, check=False,
            )  # fmt: skip
            assert done.returncode == 0, done.stderr
            rows = json.loads((Path(folder) / "quick" / "summary.json").read_text())["rows"]
            paper = [row for row in rows if row["tasks_per_core"] == 1]
            decided = [row for row in paper if row["slowdown_ci_low"] is not None]
            share = time_in_figures(CampaignStore.open(Path(folder) / "quick"))
        report("points decided by make run", "18 of 18", len(decided), f"of {len(paper)}",
               {"noise": name})  # fmt: skip
        report("share of the runs' wall time in a figure, quick", ">= 0.80", share, "share",
               {"noise": name})  # fmt: skip
        null = [half(r) for r in paper if r["cores"] == 1 or r["contended_ratio"] == 0]
        report("half width at null points, quick: median, worst", "<= 0.02",
               float(np.median(null)), "slowdown", {"noise": name, "worst": max(null)})  # fmt: skip
        top = max(paper, key=lambda r: (r["cores"], r["sync_share"], r["contended_ratio"]))
        report("half width at (2,1,1), quick", "<= 0.2", half(top), "slowdown",
               {"noise": name, "mean": top["slowdown_mean"],
                "misses": top["deadline_miss_ratio"]})  # fmt: skip


def half(row: dict[str, Any]) -> float:
    return (row["slowdown_ci_high"] - row["slowdown_ci_low"]) / 2


def time_in_figures(store: CampaignStore) -> float:
    """Measured parts of all slots over the wall time of all runs, by their own records."""
    headers = [store.table(key).header for key in store.committed()]
    measured = sum(int(header["measured_ns"]) for header in headers)
    return measured / sum(int(header["wall_ns"]) for header in headers)


def null(machine: Machine) -> None:
    """Sets whose truth is 1, in each noise: their mean, and how often six of them hold the truth.

    Planted contention: every fifth job together takes four times as long, so the truth is 1.6.
    """
    for name, mean_ms in noises():
        with neighbours(mean_ms):
            sets = task_sets(machine.calibration, machine.count(60), cores=1)
            runs = measure(machine.executor, sets, SETTINGS)
        values = slowdowns(runs)
        report("mean of M = 1 sets", "1.000 +- 0.005", float(values.mean()), "slowdown",
               {"noise": name, "sets": len(values), "spread_of_one_set": float(values.std(ddof=1)),
                "standard_error": float(values.std(ddof=1)) / len(values) ** 0.5})  # fmt: skip
        for effect, planted, goal in (("none", 0, "93 to 97 %"), ("planted", 1, ">= 92 %")):
            random = np.random.default_rng(1)
            values = np.array([with_planted(run.table, planted, random) for run in runs])
            held = [holds_truth(values, 1 + 0.6 * planted, random) for _ in range(4000)]
            report(f"coverage of intervals of six sets, effect {effect}", goal,
                   100 * float(np.mean(held)), "%",
                   {"noise": name, "sets": len(values), "mean": float(values.mean())})  # fmt: skip


def holds_truth(values: Floats, truth: float, random: np.random.Generator) -> bool:
    """Whether the interval of six of ``values``, drawn at random, holds the truth."""
    low, high = mean_interval(random.choice(values, 6, replace=False)) or (0.0, 0.0)
    return low <= truth <= high


def with_planted(table: JobTable, planted: int, random: np.random.Generator) -> float:
    """The slowdown of a run in which every fifth job together, at random, is four times as long."""
    columns = job_columns(table)
    chosen = ~columns.solo & (random.random(len(columns.solo)) < 0.2) & bool(planted)
    columns.span_ns[chosen] *= 4
    value = RoundSums.of(columns, table).slowdown().value
    assert value is not None
    return value


def injected(machine: Machine) -> None:
    """A delay of 5 and 20 % of C in every job, and of C in every fifth: recovered by one set's own
    interval."""
    sets = task_sets(machine.calibration, machine.count(60), cores=1, share="0")
    for name, mean_ms in noises()[::2]:
        for what, part, every in (("5 %", 0.05, 1), ("20 %", 0.2, 1), ("every fifth job", 1.0, 5)):
            inject = [
                inject_options(delay_ns=round(part * s.tasks[0].wcet_ns), delay_every=every)
                for s in sets
            ]
            with neighbours(mean_ms):
                runs = measure(machine.executor, sets, SETTINGS, inject)
            held = [holds(run, one) for run, one in zip(runs, inject, strict=True)]
            report(f"injected delay recovered: {what}", ">= 92 %", 100 * float(np.mean(held)), "%",
                   {"noise": name, "sets": len(held)})  # fmt: skip


def holds(run: Measured, inject: Mapping[str, str]) -> bool:
    """Whether the set's own interval holds the delay, as a share of the calm span alone."""
    columns = job_columns(run.table)
    usable = columns.counted & columns.finished & columns.solo
    # the delay is work of so long a time when nobody disturbs it: so is this
    calm_ns = float(np.quantile(columns.span_ns[usable], 0.1))
    truth = 1 + int(inject["--inject-ns"]) / int(inject["--inject-every"]) / calm_ns
    mean = run.slowdown
    assert mean.value is not None and mean.error is not None
    arm = t_quantile(0.975, mean.rounds - 1) * mean.error
    return abs(mean.value - truth) <= arm


def sibling(machine: Machine) -> None:
    """A neighbour that runs only while both tasks do: in slowdown and compute ratio."""
    count = machine.count(60)
    hog = inject_options(hog=Hog(core=0, length_ns=50_000, period_ns=200_000))
    sets = task_sets(machine.calibration, count, cores=2)
    plain = measure(machine.executor, sets, SETTINGS)
    with_hog = measure(machine.executor, sets, SETTINGS, [hog] * count)
    for name, runs in (("without", plain), ("with", with_hog)):
        values = slowdowns(runs)
        ratios = np.array([run.compute_ratio for run in runs if run.compute_ratio is not None])
        report(f"neighbour that reacts to our load: {name}", "in slowdown and compute ratio",
               float(values.mean()), "slowdown",
               {"interval": mean_interval(values), "compute_ratio": float(ratios.mean()),
                "compute_ratio_interval": mean_interval(ratios),
                "points_lost": count - len(values)})  # fmt: skip


def slots(machine: Machine) -> None:
    """(2, 1, 1) with slots of several lengths, and with long windows."""
    sets = task_sets(machine.calibration, machine.count(24), cores=2, share="1", alpha=1)
    for periods in (2, 4, 8, 16, 200):
        settings = RunSettings(seconds=4.0, slot_periods=periods)
        values = slowdowns(measure(machine.executor, sets, settings))
        report(f"(2,1,1) with slots of {periods} periods", "agree within intervals",
               float(values.mean()), "slowdown",
               {"interval": mean_interval(values), "sets": len(values)})  # fmt: skip


def scale(machine: Machine) -> None:
    """`profile` of 64 and 256 logical cores on this machine's CPUs, --policy other: functional."""
    cpus = sorted(os.sched_getaffinity(0))
    for cores in machine.some((64, 256)):
        with TemporaryDirectory() as folder:
            began = monotonic()
            listed = f"{cpus[0]}-{cpus[-1]}*{cores // len(cpus)}"
            words = ["profile", "--pool", "quick", "--calibration-seconds", "20", "--cpus", listed,
                     "--cores", str(cores), "--sync-share", "1", "--contended-ratio", "0,1",
                     "--sets", "1", "--policy", "other", "--name", "scale",
                     "--runs", folder]  # fmt: skip
            done = subprocess.run(
                [Path(sys.executable).parent / "deadbeat", *words],
                capture_output=True, text=True, check=False,
            )  # fmt: skip
            assert done.returncode == 0, done.stderr + done.stdout
            store = CampaignStore.open(Path(folder) / "scale")
            tables = [store.table(key) for key in store.committed()]
            inside = sum(int(t.slots["end_ns"][-1] - t.slots["begin_ns"][0]) for t in tables)
            wall = sum(int(t.header["wall_ns"]) for t in tables)
        report(f"profile at {cores} logical cores: time outside slots", "<= 5 %",
               100 * (1 - inside / wall), "%",
               {"runs": len(tables), "seconds": round(monotonic() - began, 1),
                "functional": f"{cores} cores on {len(cpus)} CPUs, not real-time"})  # fmt: skip


def layout(machine: Machine) -> None:
    """Noise of one set's slowdown: the jobs of recorded M = 1 runs in windows, relabelled together
    and alone in today's layout and in that of the windows they were recorded in."""
    path = HERE / "recorded-windows.npz"
    spans = [one for one in np.load(path).values() if len(one) >= 200]
    random = np.random.default_rng(1)
    errors: dict[int, list[float]] = {}
    for jobs_a_slot in (1, 2, 4, 8, 32):
        for one in spans:
            for _ in range(20):
                label = labels(len(one), jobs_a_slot, random)
                ratio = one[label].mean() / one[~label].mean()
                errors.setdefault(jobs_a_slot, []).append(float(np.log(ratio)))
    noise = {n: float(np.sqrt(np.mean(np.square(found)))) for n, found in errors.items()}
    recorded = float(np.sqrt(np.mean([np.log(as_recorded(one)) ** 2 for one in spans])))
    report("noise of one set at M = 1, slots of 4 jobs over windows", "<= 1/2",
           noise[4] / recorded, "ratio",
           {"rms_log_ratio": noise, "as_recorded": recorded, "sets": len(spans)})  # fmt: skip


def labels(jobs: int, jobs_a_slot: int, random: np.random.Generator) -> NDArray[np.bool_]:
    """Which jobs are together: one slot of each round of two, in random order."""
    rounds = -(-jobs // (2 * jobs_a_slot))
    order = random.random(rounds) < 0.5
    slots_ = np.column_stack((order, ~order)).reshape(-1)
    return np.repeat(slots_, jobs_a_slot)[:jobs]


def as_recorded(spans: Floats) -> float:
    """Ratio of the windows as they were: four together of 75 ms, three alone of 50 ms between."""
    lengths = [75, 50] * 3 + [75]
    ends = np.cumsum(lengths) / sum(lengths) * len(spans)
    parts = np.split(spans, ends[:-1].astype(int))
    return float(np.concatenate(parts[0::2]).mean() / np.concatenate(parts[1::2]).mean())


@frozen(kw_only=True)
class Machine:
    """What the parts work on; ``whole``: as many sets as the table of goals asks."""

    executor: HardwareExecutor
    calibration: Calibration
    whole: bool

    def count(self, sets: int) -> int:
        return sets if self.whole else max(6, sets // 6)

    def some(self, values: Sequence[int]) -> Sequence[int]:
        return values if self.whole else values[:1]


PARTS = {part.__name__: part for part in (points, null, layout, injected, sibling, slots, scale)}
#: Not in `make bench` unless they are named: a quarter of an hour each.
LONG = ("points", "injected")


def main(names: Sequence[str]) -> None:
    executor = HardwareExecutor(lock_wait=600.0)
    try:
        machine = Machine(
            executor=executor, calibration=bench_calibration(executor), whole=bool(names)
        )
        for name in names or [name for name in PARTS if name not in LONG]:
            PARTS[name](machine)
    finally:
        executor.close()


if __name__ == "__main__":
    main(sys.argv[1:])
