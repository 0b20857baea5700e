"""The truth is what a JVM of this machine does: every primitive runs, where and as it was asked."""

from __future__ import annotations

import csv
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path

import pytest
from attrs import evolve
from helpers.hardware import LOCK_WAIT

from deadbeat.build.jvm import FOREIGN_JAVA, agent_jar, jdks
from deadbeat.kinds.primitives.cases import (
    PrimitiveCase,
    PrimitiveKey,
    cases,
    placed,
    resolved,
)
from deadbeat.kinds.primitives.engine import HardwarePrimitives
from deadbeat.kinds.primitives.jvm import JvmPrimitives, jdk_of
from deadbeat.kinds.primitives.runtimes import COLLECTORS, jvm_words
from deadbeat.kinds.primitives.spec import PrimitivesSpec
from deadbeat.kinds.primitives.topology import topology_of
from deadbeat.model.errors import RunError, UsageError
from deadbeat.model.specification import read
from deadbeat.targets.local import LocalTarget

FOUND = jdks()
pytestmark = [
    pytest.mark.hardware,
    pytest.mark.skipif(not any(jdk.compiles for jdk in FOUND), reason="no JDK is installed"),
    pytest.mark.skipif(shutil.which("mvn") is None, reason="Maven is not installed"),
]

with closing(LocalTarget()) as local:
    MACHINE = topology_of(HardwarePrimitives(local).describe())
NEWEST = f"jvm:{FOUND[0].feature if FOUND else 17}:G1"
GOLDEN = Path(__file__).parents[1] / "golden" / "histogram-buckets.csv"


def spec_of(runtime: str) -> PrimitivesSpec:
    given = {"seconds": "0.05", "sizes": "10K", "runtimes": runtime}
    return resolved(read(PrimitivesSpec, {}, given), MACHINE)


@pytest.fixture(scope="module")
def engine() -> Iterator[JvmPrimitives]:
    with closing(LocalTarget()) as target:
        native = HardwarePrimitives(target, lock_wait=LOCK_WAIT)
        yield JvmPrimitives(native, target, lock_wait=LOCK_WAIT)


#: Those on more CPUs take as long again.
FEW = cases(evolve(spec_of(NEWEST), placements=("one", "cache", "far")), MACHINE)[0]


def check(engine: JvmPrimitives, case: PrimitiveCase) -> None:
    found = engine.run(spec_of(case.runtime), PrimitiveKey(case, 1))
    pair = case.test == "event"
    cpus = placed(case, spec_of(case.runtime), MACHINE)
    assert [thread.cpu for thread in found.threads] == list(cpus[1:] if pair else cpus)
    assert found.runtime is not None and found.warm_up is not None
    built, run = FOUND[0].feature, jdk_of(jvm_words(case.runtime)[0]).feature
    assert found.runtime.calls == ("FFM" if min(built, run) >= FOREIGN_JAVA else "JNA")
    for thread in found.threads:
        assert (thread.policy, thread.priority) == ("fifo", 30 + pair)
        assert thread.times.total == thread.gaps.total > 0
        shown = max((late.value_ns for late in thread.late_times), default=0)
        assert shown == thread.times.max_ns or thread.times.max_ns <= thread.watch_ns


@pytest.mark.parametrize("case", FEW, ids=lambda case: case.text)
def test_every_case_has_samples_and_threads_are_where_they_should_be(
    engine: JvmPrimitives, case: PrimitiveCase
) -> None:
    check(engine, case)


def test_a_pause_of_the_collector_is_named(engine: JvmPrimitives) -> None:
    case = PrimitiveCase("alloc", "heap", 10240, "one", NEWEST)
    run = engine.run(evolve(spec_of(NEWEST), seconds=0.3), PrimitiveKey(case, 1))
    assert "GC pause" in {late.cause for late in run.threads[0].late_times}


@pytest.mark.slow
@pytest.mark.parametrize("collector", COLLECTORS)
@pytest.mark.parametrize("jdk", FOUND, ids=lambda jdk: jdk.version)
def test_every_collector_that_starts_runs(
    engine: JvmPrimitives, jdk: object, collector: str
) -> None:
    runtime = f"jvm:{jdk.feature}:{collector}"  # type: ignore[attr-defined]
    try:
        engine.runtimes((runtime,))
    except UsageError as error:
        pytest.skip(str(error))
    for case in cases(spec_of(runtime), MACHINE)[0]:
        check(engine, case)


def test_a_runtime_is_named_in_full_and_must_start(engine: JvmPrimitives) -> None:
    assert engine.runtimes(("native", "jvm", NEWEST)) == ("native", NEWEST)
    with pytest.raises(UsageError, match="there is no Java 98 here"):
        engine.runtimes(("jvm:98",))


def test_what_it_cannot_do_it_says(engine: JvmPrimitives) -> None:
    case = PrimitiveCase("copy", "sideways", 64, "one", NEWEST)
    with pytest.raises(RunError, match="no such variant"):
        engine.run(spec_of(NEWEST), PrimitiveKey(case, 1))


def processes_about(word: str) -> list[int]:
    """Those of java that have it in their command."""
    found = []
    for entry in Path("/proc").iterdir():
        with suppress(OSError):
            words = (entry / "cmdline").read_bytes() if entry.name.isdigit() else b""
            if words.startswith(FOUND[0].java.encode()) and word.encode() in words:
                found.append(int(entry.name))
    return found


def await_that(condition: Callable[[], bool]) -> None:
    until = time.monotonic() + 60 + LOCK_WAIT
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.05)


def test_a_jvm_ends_with_a_deadbeat_that_is_killed(tmp_path: Path) -> None:
    words = ["primitives", "--runtimes", "jvm", "--tests", "clock", "--placements", "one"]
    command = [sys.executable, "-m", "deadbeat", *words, "--seconds", "50"]
    started = subprocess.Popen(
        [*command, "--runs", str(tmp_path / "runs")],
        env={**os.environ, "TMPDIR": str(tmp_path)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        await_that(lambda: bool(processes_about(str(tmp_path))) or started.poll() is not None)
        assert processes_about(str(tmp_path))
    finally:
        started.kill()
        started.wait()
    await_that(lambda: not processes_about(str(tmp_path)))


def test_it_numbers_the_buckets_of_the_golden_table() -> None:
    with GOLDEN.open() as file:
        rows = list(csv.DictReader(file))
    words = [FOUND[0].java, "-jar", str(agent_jar()), "buckets", *(r["value_ns"] for r in rows)]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    assert done.stdout.split() == [row["bucket"] for row in rows]
