"""Primitives beside public tools that time the same, turns about: ratios of ours to theirs.

What a tool prints is compared with the same figure of ours. A busy hour meets both alike, and
widens the interval of the ratio.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from functools import partial
from math import exp, log
from pathlib import Path
from statistics import mean, median, stdev

from attrs import evolve, frozen
from common import report

from deadbeat.build.native import cache_root, call_cargo
from deadbeat.build.programs import guarded, put_runtime, toolchain_of
from deadbeat.build.toolchain import OPTIMISED
from deadbeat.executors.hardware import HardwareExecutor
from deadbeat.kinds.primitives.cases import PrimitiveCase, PrimitiveKey, resolved
from deadbeat.kinds.primitives.engine import HardwarePrimitives
from deadbeat.kinds.primitives.spec import PrimitivesSpec
from deadbeat.model.errors import BuildError
from deadbeat.model.histogram import Histogram, from_counts
from deadbeat.model.specification import read
from deadbeat.targets.local import LocalTarget

ROUNDS = int(os.environ.get("DEADBEAT_ROUNDS", "12"))
PRIORITY = 31
CPUS = sorted(os.sched_getaffinity(0))
CPU = CPUS[-1]
#: Others may measure meanwhile.
LOCK_WAIT = 300.0
_NS_US = 1000


@frozen
class Figure:
    """A ratio: ``ours`` and ``theirs`` measure the same, by the same statistics.

    Attributes:
        rounds: Times ROUNDS.
    """

    name: str
    goal: str
    ours: Callable[[], Mapping[str, float]]
    theirs: Callable[[], Mapping[str, float]]
    rounds: int = 1


@frozen
class Missing:
    """A peer that is not here."""

    name: str
    hint: str


def ratio(ours: Sequence[float], theirs: Sequence[float]) -> tuple[float, float, float]:
    """Geometric mean of the turns' ratios, and its interval of 95 %."""
    logs = [log(mine / other) for mine, other in zip(ours, theirs, strict=True)]
    # Student's t of 12 rounds: a little wide for more
    middle, error = mean(logs), 2.2 * stdev(logs) / len(logs) ** 0.5
    low, value, high = (round(exp(middle + each), 4) for each in (-error, 0, error))
    return value, low, high


def turns(figure: Figure, draw: random.Random) -> None:
    """Both sides in each round, in random order. The first statistic is the figure's."""
    sides = {"ours": figure.ours, "theirs": figure.theirs}
    took: dict[str, list[Mapping[str, float]]] = {side: [] for side in sides}
    for _ in range(ROUNDS * figure.rounds):
        for side in draw.sample(sorted(sides), 2):
            took[side].append(sides[side]())
    more: dict[str, object] = {}
    for name in took["ours"][0]:
        mine, others = ([each[name] for each in took[side]] for side in ("ours", "theirs"))
        value, low, high = ratio(mine, others)
        more[name] = {
            "ratio": value,
            "low": low,
            "high": high,
            "ours": round(median(mine), 3),
            "theirs": round(median(others), 3),
        }
    first = more[next(iter(more))]
    assert isinstance(first, dict)
    report(figure.name, figure.goal, first["ratio"], "ratio", more)


@frozen
class Ours:
    """Our program as the peers are: dynamic, under FIFO, all threads of one priority."""

    target: LocalTarget
    executor: HardwareExecutor
    guard: str

    def times(
        self, primitive: str, seconds: float, cpus: Sequence[int] = (CPU,), **more: object
    ) -> Histogram:
        """Of every sample, all threads'."""
        out = f"{self.target.folder}/bench"
        options = {
            "--primitive": primitive,
            "--cpus": ",".join(map(str, cpus)),
            "--priority": str(PRIORITY),
            "--second-priority": str(PRIORITY),
            "--seconds-ns": str(round(seconds * 1e9)),
            "--out": out,
        } | {f"--{name.replace('_', '-')}": str(word) for name, word in more.items()}
        for _ in self.executor.converse("primitive", "fifo", options, timeout=60):
            pass
        threads = json.loads(self.target.read_text(out) or "")["threads"]
        (times,) = (from_counts(each["times"]) for each in threads if each["times"]["counts"])
        return times

    def peer(
        self, words: Sequence[object], cpus: Sequence[int] = (CPU,), fifo: int = PRIORITY
    ) -> str:
        """What a peer prints, on those CPUs, while nobody else measures."""
        argv = ("taskset", "-c", ",".join(map(str, cpus)), *map(str, words))
        command = guarded(self.guard, argv, bound_s=60, lock=True, lock_wait_s=LOCK_WAIT, fifo=fifo)
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        return done.stdout


def mean_ns(times: Histogram) -> float:
    return times.sum_ns / times.total


def sample_cost(target: LocalTarget) -> None:
    """In many processes; each is the fastest of many turns within one."""
    engine = HardwarePrimitives(target, lock_wait=LOCK_WAIT)
    spec = evolve(resolved(read(PrimitivesSpec, {}, {}), engine.topology()), duration=0.02)
    key = PrimitiveKey(PrimitiveCase("clock", "", 0, "one"), 1)
    costs = [engine.run(spec, key).sample_cost_ps / 1000 for _ in range(10)]
    name = "cost of a sample above a bare loop with two clock reads"
    report(name, "<= 30 ns", max(costs), "ns", {"least": min(costs)})


# --- google-benchmark ----------------------------------------------------------------------------

#: Samples of about a millisecond: what either side does between two is small beside that.
#: (operation, bytes, operations of a sample); a turn has REPETITIONS samples.
OPERATIONS = (
    ("copy", 1024, 50_000),
    ("copy", 10 * 1024, 5_000),
    ("copy", 100 * 1024, 250),
    ("alloc", 10 * 1024, 25_000),
)
REPETITIONS = 60


def google_benchmark(folder: Path) -> Path | None:
    """Built as ours is; None: it is not installed."""
    program = folder / "google_benchmark"
    source = Path(__file__).with_name("google_benchmark.cpp")
    argv = ["g++", "-std=c++17", *OPTIMISED, source, "-o", program, "-lbenchmark"]
    done = subprocess.run([*map(str, argv), "-pthread"], capture_output=True, check=False)
    return None if done.returncode else program


def operation_by_google(
    ours: Ours, program: Path, operation: str, size: int, count: int
) -> dict[str, float]:
    """ns of an operation, of all repetitions."""
    words = (program, operation, size, count, REPETITIONS, "--benchmark_format=json")
    rows = json.loads(ours.peer(words))["benchmarks"]
    times = [row["real_time"] for row in rows if row["run_type"] == "iteration"]
    return {"median": median(times), "mean": mean(times)}


def operation_by_us(ours: Ours, operation: str, size: int, count: int) -> dict[str, float]:
    """The same of ours."""
    primitive, more = (
        ("copy", {}) if operation == "copy" else ("alloc_cycle", {"variant": "plain", "amount": 64})
    )
    times = ours.times(primitive, 10, batch=count, size=size, count=REPETITIONS, **more)
    return {"median": (times.quantile(500_000) or 0) / count, "mean": mean_ns(times) / count}


def beside_google(ours: Ours, folder: Path) -> Iterator[Figure | Missing]:
    program = google_benchmark(folder)
    if program is None:
        yield Missing("google-benchmark", "install libbenchmark-dev")
        return
    for operation, size, count in OPERATIONS:
        which = (operation, size, count)
        name = f"{operation} of {size // 1024} KB against google-benchmark, median"
        yield Figure(
            name,
            "0.97 to 1.03",
            partial(operation_by_us, ours, *which),
            partial(operation_by_google, ours, program, *which),
            rounds=3,  # short turns: the host changes its speed from second to second
        )


# --- core-to-core-latency ------------------------------------------------------------------------

_CORES = ("core-to-core-latency", "1.2.0")
#: Round trips of a sample, and samples.
TRIPS, SAMPLES = 1000, 1000


def core_to_core() -> Path:
    """Built from its crate, once.

    Raises:
        BuildError: There is no cargo, or no network.
    """
    name, version = _CORES
    root = cache_root() / "peers" / f"{name}-{version}"
    program = root / "bin" / name
    if not program.exists():
        root.mkdir(parents=True, exist_ok=True)
        words = ("install", "--quiet", "--locked", "--root", str(root), "--version", version, name)
        call_cargo(words, root, f"build {name}", hint="install cargo (Debian's, or rustup)")
    return program


def swaps_by_them(ours: Ours, program: Path, pair: Sequence[int]) -> dict[str, float]:
    """ns one way: mean of all samples; its first is a warm-up. The second CPU pings."""
    text = ours.peer((program, "-c", ",".join(map(str, pair)), "--csv", TRIPS, SAMPLES), pair)
    return {"mean": float(text.replace(",", " ").split()[-1])}


def swaps_by_us(ours: Ours, pair: Sequence[int]) -> dict[str, float]:
    times = ours.times("line", 10, [*reversed(pair)], variant="cas", batch=TRIPS, count=SAMPLES)
    return {"mean": mean_ns(times) / TRIPS / 2}


def beside_cores(ours: Ours) -> Iterator[Figure | Missing]:
    if len(CPUS) < 2:
        yield Missing(_CORES[0], "it needs two CPUs")
        return
    try:
        program = core_to_core()
    except BuildError as error:
        yield Missing(_CORES[0], f"{error}: {error.hint}")
        return
    pair = (CPUS[0], CPU)
    yield Figure(
        "cache line by compare-and-swap against core-to-core-latency, mean one way",
        "0.95 to 1.05",
        partial(swaps_by_us, ours, pair),
        partial(swaps_by_them, ours, program, pair),
        rounds=3,  # a run is short, and its lines' addresses matter
    )


# --- rt-tests ------------------------------------------------------------------------------------

#: Their tool -> our variant of the same mechanism.
EVENTS = {"ptsematest": "mutex", "pmqtest": "mq", "sigwaittest": "sigwait", "svsematest": "sysv"}
#: Of a turn; a millisecond apart.
FIRED = 1000


def event_by_them(ours: Ours, tool: str, folder: Path) -> dict[str, float]:
    """µs; they have no median. Both ends are cut off to whole µs, which does not move a mean."""
    out = folder / "peer.json"
    words = (tool, "-q", "-a", CPU, "-l", FIRED, "-i", 1000, "-p", PRIORITY, f"--json={out}")
    ours.peer(words, CPUS, fifo=0)  # it sets policy and CPU itself
    found = json.loads(out.read_text())["thread"]["0"]["receiver"]
    return {"mean": float(found["avg"]), "max": float(found["max"])}


def event_by_us(ours: Ours, variant: str) -> dict[str, float]:
    """µs: same CPU, same priority of both, the handler pauses as theirs does."""
    more = {"variant": variant, "period_ns": 10**6, "amount": 1}
    times = ours.times("event", FIRED / 1000, (CPU, CPU), **more)
    return {"mean": mean_ns(times) / _NS_US, "max": (times.max_ns or 0) / _NS_US}


def beside_events(ours: Ours, folder: Path) -> Iterator[Figure | Missing]:
    for tool, variant in EVENTS.items():
        if not shutil.which(tool):
            yield Missing(tool, "install rt-tests")
            continue
        yield Figure(
            f"event by {variant} against {tool}, mean latency",
            "0.95 to 1.05",
            partial(event_by_us, ours, variant),
            partial(event_by_them, ours, tool, folder),
        )


def main() -> None:
    draw = random.Random("bench_primitives")
    with closing(LocalTarget()) as target, tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        # libraries of the system are called through a table, which is 3 % of the shortest malloc
        toolchain = evolve(toolchain_of(target, cross=None), static=False)
        ours = Ours(
            target,
            HardwareExecutor(target=target, toolchain=toolchain, lock_wait=LOCK_WAIT),
            put_runtime(target),
        )
        sample_cost(target)
        for figures in (
            beside_google(ours, folder),
            beside_cores(ours),
            beside_events(ours, folder),
        ):
            for figure in figures:
                if isinstance(figure, Missing):
                    print(json.dumps({"name": figure.name, "missing": figure.hint}), flush=True)
                else:
                    turns(figure, draw)


if __name__ == "__main__":
    main()
