"""Our prober beside cyclictest: the same core, turns about (ABBA), and what each wake-up costs.

``bench_latency.py [BLOCKS [SECONDS]]``: a block is cyclictest, prober, prober, cyclictest; its two
runs of cyclictest are also compared with one another, which is the band. Between the probers stands
cyclictest with its main thread on another CPU: otherwise that wakes 100 times a second on the CPU
that is measured, and keeps it warmer than the prober's own thread does. Every run is SCHED_FIFO
90, 1000 us, memory locked, /dev/cpu_dma_latency held at 0, times in nanoseconds.
"""

from __future__ import annotations

import json
import math
import os
import shutil
from collections.abc import Callable, Mapping, Sequence
from itertools import product
from pathlib import Path
from statistics import fmean, median
from threading import Thread
from time import monotonic, sleep

from attrs import frozen
from common import asked, not_measured, report

from deadbeat.base.model.histogram import Histogram
from deadbeat.build.programs import failure_of, guarded, put_runtime
from deadbeat.latencies.latency.engines import Request
from deadbeat.latencies.latency.prober import ProberEngine
from deadbeat.machine.targets.local import LocalTarget

BLOCKS, SECONDS = 8, 3.0
INTERVAL_NS = 1_000_000
QUANTILES = {"p50": 500_000, "p99": 990_000, "p99.9": 999_000}
#: cyclictest's histogram ends there, in ns; what lies above overflows.
CYCLICTEST_MAX_NS = 1_000_000


@frozen
class Run:
    """Quantiles (None: beyond cyclictest's range), cost and losses of one run."""

    quantiles: dict[str, int | None]
    cpu_ns: float
    lost: int


def main() -> None:
    """Measures, and prints a line per figure."""
    quick, words = asked()
    if shutil.which("cyclictest") is None:
        not_measured("prober over cyclictest", "no cyclictest here (Debian: rt-tests)")
        return
    given = ["2", "1"] if quick else words
    blocks = int(given[0]) if given else BLOCKS
    seconds = float(given[1]) if len(given) > 1 else SECONDS
    cpu, other = max(os.sched_getaffinity(0)), min(os.sched_getaffinity(0))
    with LocalTarget() as target:
        program = put_runtime(target)
        ways: dict[str, Callable[[], Run]] = {
            "cyclictest": lambda: _cyclictest(target, program, cpu, seconds),
            "prober": lambda: _prober(target, cpu, seconds),
            "apart": lambda: _cyclictest(target, program, cpu, seconds, main=other),
        }
        order = ("cyclictest", "prober", *(("apart",) if other != cpu else ()), "prober")
        found = [[ways[name]() for name in (*order, "cyclictest")] for _ in range(blocks)]
        runs = [[*block[:2], *block[-2:]] for block in found]
    extra = {"blocks": blocks, "seconds_per_run": seconds, "cpu": cpu, "load": os.getloadavg()[0]}
    for name in QUANTILES:
        _compare(name, runs, extra)
    if other != cpu:
        _compare_apart(found)
    cost = {
        name: median(run.cpu_ns for block in runs for run in (block[i], block[j]))
        for name, (i, j) in {"cyclictest": (0, 3), "prober": (1, 2)}.items()
    }
    report(
        "CPU time of a wake-up, prober over cyclictest",
        "<= 1",
        cost["prober"] / cost["cyclictest"],
        "ratio",
        {f"{name}_ns": round(ns) for name, ns in cost.items()},
    )
    report("samples the prober lost", "0", sum(b[1].lost + b[2].lost for b in runs), "samples")


def _prober(target: LocalTarget, cpu: int, seconds: float) -> Run:
    request = Request(cpus=(cpu,), seconds=seconds, interval_ns=INTERVAL_NS, priority=90)
    watch = _Watch("db-probe0", seconds)
    (seen,) = ProberEngine(lock_wait=600).measure(target, request).cpus
    lost = math.ceil(seconds * 1e9 / INTERVAL_NS) - seen.raw.total - seen.missed
    quantiles = {name: seen.raw.quantile(ppm) for name, ppm in QUANTILES.items()}
    return Run(quantiles, watch.cpu_ns(), lost)


def _cyclictest(
    target: LocalTarget, program: str, cpu: int, seconds: float, *, main: int | None = None
) -> Run:
    out = f"{target.folder}/cyclictest.json"
    words = ["cyclictest", "-q", "-m", "-N", "-p90", f"-i{INTERVAL_NS // 1000}", "-t1", f"-a{cpu}"]
    words += [f"-l{round(seconds * 1e9) // INTERVAL_NS}", f"-h{CYCLICTEST_MAX_NS}", f"--json={out}"]
    words += [] if main is None else [f"--mainaffinity={main}"]
    watch = _Watch("cyclictest", seconds)
    argv = guarded(program, words, bound_s=seconds + 60, lock=True, lock_wait_s=600)
    error = failure_of(target.run(argv), "cyclictest", package="rt-tests")
    if error:
        raise error
    (thread,) = json.loads(Path(out).read_text())["thread"].values()
    seen = _histogram(thread)
    quantiles = {name: seen.quantile(ppm) for name, ppm in QUANTILES.items()}
    return Run(quantiles, watch.cpu_ns(), 0)


def _histogram(thread: Mapping[str, dict[str, int]]) -> Histogram:
    """Bucket by bucket in ns, so both engines' quantiles are rounded alike."""
    values = [int(value) for value, n in thread["histogram"].items() for _ in range(n)]
    known = Histogram.of(values)
    overflow = int(str(thread["cycles"])) - known.total
    return known + Histogram(overflow=overflow, overflow_from_ns=CYCLICTEST_MAX_NS)


class _Watch:
    """CPU time per period of the real-time thread called ``name``, seen from outside: between a
    fifth and four fifths of its run, so that neither program's beginning and end count."""

    def __init__(self, name: str, seconds: float) -> None:
        self._seen: list[tuple[float, int]] = []
        self._thread = Thread(target=self._look, args=(name, seconds))
        self._thread.start()

    def _look(self, name: str, seconds: float) -> None:
        until = monotonic() + 600
        while (place := _thread_called(name)) is None and monotonic() < until:
            sleep(0.01)
        for pause in (seconds / 5, seconds * 3 / 5):
            sleep(pause)
            text = Path(f"{place}/schedstat").read_text()
            self._seen.append((monotonic(), int(text.split()[0])))

    def cpu_ns(self) -> float:
        self._thread.join()
        (begin, before), (end, after) = self._seen
        return (after - before) / ((end - begin) * 1e9 / INTERVAL_NS)


def _thread_called(name: str) -> str | None:
    for comm in Path("/proc").glob("[0-9]*/task/[0-9]*/comm"):
        try:
            if comm.read_text().strip() == name and _real_time(comm.parent):
                return str(comm.parent)
        except OSError:
            continue
    return None


def _real_time(thread: Path) -> bool:
    """By the 41st field of proc(5)'s stat: the policy."""
    return (thread / "stat").read_text().rpartition(")")[2].split()[38] == "1"


def _compare(name: str, runs: Sequence[Sequence[Run]], extra: Mapping[str, object]) -> None:
    """The prober's quantile over cyclictest's: the mean of the blocks' logarithms, beside how far
    cyclictest is from itself."""
    found = [[run.quantiles[name] for run in block] for block in runs]
    whole = [[math.log(v) for v in block if v] for block in found if all(block)]
    if not whole:
        not_measured(f"prober over cyclictest, {name}", "beyond cyclictest's range in every block")
        return
    ratios = [(b + c - a - d) / 2 for a, b, c, d in whole]
    selves = [d - a for a, _, _, d in whole]
    report(
        f"prober over cyclictest, {name}",
        "<= 1.05" if name == "p50" else "within the band of cyclictest against itself",
        math.exp(fmean(ratios)),
        "ratio",
        {
            "band_single_runs": round(math.exp(max(abs(d) for d in selves)), 3),
            "band_of_the_mean": round(math.exp(_chance(selves)), 3),
            "cyclictest_ns": _middle(found, (0, 3)),
            "prober_ns": _middle(found, (1, 2)),
            "blocks_left_out": len(found) - len(whole),
            **extra,
        },
    )


def _compare_apart(blocks: Sequence[Sequence[Run]]) -> None:
    """The prober's p50 and cost over those of cyclictest whose main thread is elsewhere."""
    costs = [
        median(block[i].cpu_ns for block in blocks for i in places) for places in ((2,), (1, 3))
    ]
    report(
        "CPU time of a wake-up, prober over cyclictest with its main thread on another CPU",
        "reported",
        costs[1] / costs[0],
        "ratio",
        {"cyclictest_ns": round(costs[0]), "prober_ns": round(costs[1])},
    )
    found = [[run.quantiles["p50"] for run in block[1:4]] for block in blocks]
    whole = [[math.log(v) for v in block if v] for block in found if all(block)]
    if whole:
        report(
            "prober over cyclictest with its main thread on another CPU, p50",
            "reported",
            math.exp(fmean((a + c) / 2 - b for a, b, c in whole)),
            "ratio",
            {"cyclictest_ns": _middle(found, (1,)), "prober_ns": _middle(found, (0, 2))},
        )


def _middle(found: Sequence[Sequence[int | None]], places: tuple[int, ...]) -> int:
    return round(median(block[i] or math.inf for block in found for i in places))


def _chance(selves: Sequence[float]) -> float:
    """How far from 0 the mean over blocks lies by chance in 19 of 20 cases, were both the same:
    differences of two single runs, with every sign (of at most 2**12), have twice the variance."""
    some = selves[:12]
    signs = product((-1, 1), repeat=len(some))
    means = sorted(
        abs(fmean(s * d for s, d in zip(way, some, strict=True))) / math.sqrt(2) for way in signs
    )
    return means[math.ceil(0.95 * len(means)) - 1]


if __name__ == "__main__":
    main()
