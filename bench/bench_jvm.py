"""JVMs: what a sample costs, whether forced pauses are named, and pacing against JLBH, by turns."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
from contextlib import closing
from math import exp, log
from pathlib import Path
from statistics import mean, stdev
from time import monotonic

from attrs import evolve, frozen
from common import report

from deadbeat.build.jvm import Jdk, jdks
from deadbeat.build.programs import guarded, put_runtime
from deadbeat.kinds.primitives import foreign
from deadbeat.kinds.primitives.cases import PrimitiveCase, PrimitiveKey, plan, resolved
from deadbeat.kinds.primitives.foreign import ForeignPrimitives
from deadbeat.kinds.primitives.runtimes import jvm_words
from deadbeat.kinds.primitives.spec import PrimitivesSpec
from deadbeat.model.specification import read
from deadbeat.targets.local import LocalTarget

#: Turns about of pacing.
ROUNDS = int(os.environ.get("DEADBEAT_ROUNDS", "8"))
FORCED, AT_ONCE = 40, 10
PERIOD_NS, SAMPLES, BYTES = 20_000, 50_000, 10_240
#: The suite whose length is a goal: two JDKs, three collectors each.
SUITE = "native,jvm:17:G1,jvm:17:Z,jvm:17:Serial,jvm:25:G1,jvm:25:Z,jvm:25:Serial"
_BOUND_S = 60.0
#: What Chronicle needs from Java 17 on.
_OPENED = (
    "java.base/java.lang",
    "java.base/java.lang.reflect",
    "java.base/java.util",
    "java.base/sun.nio.ch",
    "java.base/jdk.internal.ref",
    "java.base/jdk.internal.misc",
    "jdk.compiler/com.sun.tools.javac.file",
)


@frozen
class Bench:
    """The machine, and how a program runs on it."""

    target: LocalTarget
    engine: ForeignPrimitives
    spec: PrimitivesSpec

    @property
    def cpu(self) -> int:
        return self.engine.topology().cpus[-1]

    def guarded(self, argv: list[str], fifo: int = 0) -> str:
        """What it printed."""
        words = guarded(
            put_runtime(self.target), argv, bound_s=_BOUND_S, lock=True, lock_wait_s=600, fifo=fifo
        )
        done = self.target.run(words, timeout=_BOUND_S + 600)
        if done.returncode != 0:
            raise RuntimeError(f"{argv[0]}: {done.stdout[-300:]} {done.stderr[-300:]}")
        return done.stdout


def sample_cost(bench: Bench, jdk: Jdk) -> None:
    """In many processes; each is the fastest of many turns within one."""
    key = PrimitiveKey(PrimitiveCase("clock", "", 0, "one", f"jvm:{jdk.feature}:G1"), 1)
    runs = [bench.engine.run(evolve(bench.spec, duration=0.02), key) for _ in range(8)]
    costs = [run.sample_cost_ps / 1000 for run in runs]
    name = f"cost of a sample above a bare loop with two clock reads, Java {jdk.version}"
    report(name, "<= 60 ns", max(costs), "ns", {"least": min(costs)})


def forced(bench: Bench, runtime: str, kind: str) -> tuple[int, int]:
    """Pauses made while a thread samples, and those that stand beside a sample or gap of theirs."""
    case = PrimitiveCase("alloc", "pool", BYTES, "one", runtime)
    out = f"{bench.target.folder}/forced"
    argv = [*foreign.jvm_command(case, 1, bench.target.folder)]
    words = {
        "--primitive": "alloc",
        "--variant": "pool",
        "--size": str(BYTES),
        "--amount": "64",
        "--cpus": str(bench.cpu),
        "--policy": "fifo",
        "--priority": "30",
        "--seconds-ns": str(10**9),
        "--force": f"{kind}:{AT_ONCE}",
        "--out": out,
    }
    bench.guarded([*argv, *(word for pair in words.items() for word in pair)])
    plain = json.loads(bench.target.read_text(out) or "")
    (thread,) = plain["threads"]
    late = [row for row in (*thread["late_times"], *thread["late_gaps"]) if len(row) > 3]
    wanted = ("GC pause",) if kind == "gc" else ("VM operation", "safepoint")
    named = sum(
        any(
            row[0] <= moment + took and row[0] + row[1] >= moment and row[3].startswith(wanted)
            for row in late
        )
        for moment, took in plain["forced"]
    )
    return len(plain["forced"]), named


def forced_pauses(bench: Bench, jdk: Jdk) -> None:
    """A pause without a late sample of its own counts as not named."""
    for collector, kind in (("G1", "gc"), ("Serial", "gc"), ("G1", "safepoint")):
        made = named = 0
        while made < FORCED:
            more = forced(bench, f"jvm:{jdk.feature}:{collector}", kind)
            made, named = made + more[0], named + more[1]
        name = f"forced {kind} of {collector} named beside its late sample, Java {jdk.version}"
        report(name, ">= 95 %", round(100 * named / made, 1), "%", {"named": named, "made": made})


def ours(bench: Bench, jdk: Jdk) -> tuple[float, float]:
    """Median and 99 %, ns, of the same copy at the same rate."""
    key = PrimitiveKey(PrimitiveCase("pace", "", BYTES, "one", f"jvm:{jdk.feature}:G1"), 1)
    spec = evolve(
        bench.spec, period=PERIOD_NS, samples=SAMPLES, duration=1.5 * SAMPLES * PERIOD_NS / 1e9
    )
    (thread,) = bench.engine.run(spec, key).threads
    return thread.times.quantile(500_000) or 0, thread.times.quantile(990_000) or 0


def theirs(bench: Bench, jdk: Jdk, folder: Path) -> tuple[float, float]:
    """What JLBH says; the same policy, CPU, heap and collector."""
    opened = [word for name in _OPENED for word in ("--add-opens", f"{name}=ALL-UNNAMED")]
    heap = ["-XX:+UseG1GC", "-Xms260m", "-Xmx260m", "-XX:+AlwaysPreTouch"]
    words = [bench.cpu, PERIOD_NS, SAMPLES, BYTES]
    argv = [jdk.java, *heap, *opened, "-cp", f"{folder}/target/*", "Paced", *map(str, words)]
    median, late = bench.guarded(argv, fifo=30).split()[-2:]
    return float(median), float(late)


def pacing(bench: Bench, jdk: Jdk, folder: Path) -> None:
    """Turns about; a busy hour meets both alike. JLBH counts from the reading of the clock that
    ended its wait: a stall while it waits is lateness of ours only, and it waits most of the time.
    """
    ratios: tuple[list[float], list[float]] = ([], [])
    for turn in range(ROUNDS):
        took = {}
        for side in sorted(("ours", "theirs"), reverse=bool(turn % 2)):
            took[side] = ours(bench, jdk) if side == "ours" else theirs(bench, jdk, folder)
        for kept, mine, other in zip(ratios, took["ours"], took["theirs"], strict=True):
            kept.append(log(mine / other))
    for which, goal, kept in zip(
        ("median", "99 %"), ("0.9 to 1.1", "its own band"), ratios, strict=True
    ):
        middle, error = mean(kept), stdev(kept) / len(kept) ** 0.5
        more = {"low": exp(middle - 2.4 * error), "high": exp(middle + 2.4 * error)}
        name = f"pacing of a copy against JLBH, {which}, Java {jdk.version}"
        report(name, goal, round(exp(middle), 4), "ratio", more)


def length_of_the_suite(bench: Bench) -> None:
    """By the runs that it plans, and what one takes here."""
    topology = bench.engine.topology()
    found = {jdk.feature for jdk in jdks()}
    words = [w for w in SUITE.split(",") if jvm_words(w).version in found or w == "native"]
    spec = resolved(read(PrimitivesSpec, {}, {"runtimes": ",".join(words)}), topology)
    keys = plan(spec, topology)
    took: dict[str, list[float]] = {}
    for key in keys[:: max(len(keys) // 60, 1)]:
        began = monotonic()
        bench.engine.run(spec, key)
        took.setdefault(key.case.runtime.partition(":")[0], []).append(monotonic() - began)
    for kind, goal in (("native", "<= 5 min"), ("jvm", "<= 15 min together")):
        runs = sum(key.case.runtime.startswith(kind) for key in keys)
        each = mean(took[kind]) if kind in took else 0.0
        more = {"runs": runs, "each_s": round(each, 2)}
        report(f"the default suite, {kind}", goal, round(runs * each / 60, 2), "min", more)


def main() -> None:
    """Every JDK that is installed."""
    with closing(LocalTarget()) as target, tempfile.TemporaryDirectory() as name:
        engine = ForeignPrimitives(target, lock_wait=600)
        spec = resolved(read(PrimitivesSpec, {}, {}), engine.topology())
        bench, folder = Bench(target, engine, spec), Path(name) / "jlbh"
        shutil.copytree(Path(__file__).parent / "jlbh", folder)
        subprocess.run(
            ["mvn", "-B", "-q", "package"],
            cwd=folder,
            env={**os.environ, "JAVA_HOME": str(jdks()[0].home)},
            check=True,
            timeout=600,
        )
        newest = {jdk.feature: jdk for jdk in reversed(jdks())}
        for jdk in newest.values():
            sample_cost(bench, jdk)
            forced_pauses(bench, jdk)
            pacing(bench, jdk, folder)
        length_of_the_suite(bench)


if __name__ == "__main__":
    main()
