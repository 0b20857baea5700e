"""The truth is what a JVM of this machine does: every primitive runs, where and as it was asked."""

import csv
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from attrs import evolve
from helpers import seldom
from helpers.campaigns import started
from helpers.hardware import LOCK_WAIT
from helpers.processes import running, until, words_of

from deadbeat.base.model.errors import RunError, UsageError
from deadbeat.base.model.histogram import Histogram
from deadbeat.base.model.specification import read
from deadbeat.build.jvm import FOREIGN_JAVA, agent_jar, jdks
from deadbeat.latencies.primitives import foreign
from deadbeat.latencies.primitives.cases import PrimitiveCase, PrimitiveKey, cases, placed, resolved
from deadbeat.latencies.primitives.engine import HardwarePrimitives
from deadbeat.latencies.primitives.foreign import ForeignPrimitives
from deadbeat.latencies.primitives.runtimes import COLLECTORS, jvm_words
from deadbeat.latencies.primitives.spec import PrimitivesSpec
from deadbeat.latencies.primitives.topology import topology_of
from deadbeat.machine.targets.local import LocalTarget

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
    given = {"duration": "0.05", "sizes": "10K", "runtimes": runtime}
    return resolved(read(PrimitivesSpec, {}, given), MACHINE)


@pytest.fixture(scope="module")
def engine() -> Iterator[ForeignPrimitives]:
    with closing(LocalTarget()) as target:
        yield ForeignPrimitives(target, lock_wait=LOCK_WAIT)


#: Those on more CPUs take as long again.
FEW = cases(evolve(spec_of(NEWEST), placements=("one", "cache", "far")), MACHINE)[0]


def check(engine: ForeignPrimitives, case: PrimitiveCase) -> None:
    found = engine.run(spec_of(case.runtime), PrimitiveKey(case, 1))
    primitive = case.primitive
    pair = primitive.group == 2
    second = 30 + (pair and not primitive.equal)
    measures = slice(1, None, 2) if case.test == "event" else slice(None, None, 2)
    cpus = placed(case, spec_of(case.runtime), MACHINE)
    assert [thread.cpu for thread in found.threads] == list(cpus[measures] if pair else cpus)
    assert found.runtime is not None and found.warm_up is not None
    built, run = FOUND[0].feature, foreign.jdk_of(jvm_words(case.runtime).version).feature
    assert found.runtime.calls == ("FFM" if min(built, run) >= FOREIGN_JAVA else "JNA")
    for thread in found.threads:
        assert thread.policy == "fifo"
        assert thread.priority == (second if thread.thread % 2 and pair else 30)
        assert thread.times.total == thread.gaps.total > 0
        shown = max((late.value_ns for late in thread.late_times), default=0)
        assert shown == thread.times.max_ns or thread.times.max_ns <= thread.watch_ns


#: A pair, and one that works alone, in memory.
QUICK = ("event-park-cache", "alloc-lt-10K-one")


@pytest.mark.parametrize(
    "case",
    [
        pytest.param(
            case, marks=() if case.text.startswith(QUICK) else pytest.mark.slow, id=case.text
        )
        for case in FEW
    ],
)
def test_every_case_has_samples_and_threads_are_where_they_should_be(
    engine: ForeignPrimitives, case: PrimitiveCase
) -> None:
    check(engine, case)


def test_of_a_whole_jvm_the_kernel_has_every_thread_under_fifo(engine: ForeignPrimitives) -> None:
    case = PrimitiveCase("copy", "", 1024, "one", f"{NEWEST}:whole")
    facts = engine.run(spec_of(case.runtime), PrimitiveKey(case, 1)).runtime
    (below, mine) = facts.threads
    assert mine == ("fifo", 30, 1)
    assert below[:2] == ("fifo", 29) and below[2] > 5  # collectors, compilers, and what else it has


def test_a_jvm_whose_threads_are_not_as_they_should_be_is_refused() -> None:
    # it is told that all are real-time, and nobody made them so
    runtime = f"{NEWEST}:whole"
    with closing(LocalTarget()) as target:
        done = target.run(foreign.probe(runtime, spec_of(NEWEST)), timeout=LOCK_WAIT)
    with pytest.raises(UsageError, match=r"of the JVM should be fifo 29 and is other"):
        foreign.understood(runtime, spec_of(NEWEST), done.stdout, done)


@pytest.mark.parametrize("way", ["lt", *seldom(("immortal",), ("pool",))])
@pytest.mark.parametrize(
    "jdk", [*FOUND[:1], *seldom(*((jdk,) for jdk in FOUND[1:]))], ids=lambda jdk: jdk.version
)
def test_threads_that_should_allocate_nothing_do_not(
    engine: ForeignPrimitives, jdk: object, way: str
) -> None:
    runtime = f"jvm:{jdk.feature}:G1"  # type: ignore[attr-defined]
    case = PrimitiveCase("alloc", way, 10240, "one", runtime)
    (thread,) = engine.run(spec_of(runtime), PrimitiveKey(case, 1)).threads
    # what looks at late samples may link a call once more; a sample that allocates has its size
    assert thread.allocated_bytes < max(thread.times.total, 10240) / 2


@pytest.mark.slow
def test_a_thread_that_allocates_says_how_much(engine: ForeignPrimitives) -> None:
    case = PrimitiveCase("alloc", "heap", 10240, "one", NEWEST)
    (thread,) = engine.run(spec_of(NEWEST), PrimitiveKey(case, 1)).threads
    assert (thread.allocated_bytes or 0) >= 10240 * thread.times.total


def test_memory_of_a_real_time_jvm_is_locked(engine: ForeignPrimitives) -> None:
    case = PrimitiveCase("clock", "", 0, "one", NEWEST)
    facts = engine.run(spec_of(NEWEST), PrimitiveKey(case, 1)).runtime
    assert facts is not None and facts.memory is not None and facts.memory.locked
    # what is not locked is the kernel's own, and shares of files that others map
    assert facts.memory.locked_bytes > 0.95 * facts.memory.resident_bytes


@pytest.mark.slow
def test_a_paced_event_counts_from_its_release(engine: ForeignPrimitives) -> None:
    case = PrimitiveCase("event", "park", 0, "same", NEWEST)
    spec = evolve(spec_of(NEWEST), period=10**6, duration=0.1)
    (handler,) = engine.run(spec, PrimitiveKey(case, 1)).threads
    # as many releases as the window has, less those that it ends before
    assert 0 < handler.times.total <= 100
    # a firer that fires late keeps its release: a sample has its wake-up, too
    back_to_back = engine.run(spec_of(NEWEST), PrimitiveKey(case, 1)).threads[0]
    assert handler.times.min_ns > (back_to_back.times.min_ns or 0)


def test_a_pause_of_the_collector_is_named(engine: ForeignPrimitives) -> None:
    case = PrimitiveCase("alloc", "heap", 10240, "one", NEWEST)
    run = engine.run(evolve(spec_of(NEWEST), duration=0.3), PrimitiveKey(case, 1))
    assert "GC pause" in {late.cause for late in run.threads[0].late_times}


@pytest.mark.slow
@pytest.mark.parametrize("collector", COLLECTORS)
@pytest.mark.parametrize("jdk", FOUND, ids=lambda jdk: jdk.version)
def test_every_collector_that_starts_runs(engine: ForeignPrimitives, jdk: object, collector: str):
    runtime = f"jvm:{jdk.feature}:{collector}"  # type: ignore[attr-defined]
    try:
        engine.probed(evolve(spec_of(NEWEST), runtimes=(runtime,)))
    except UsageError as error:
        pytest.skip(str(error))
    for case in cases(spec_of(runtime), MACHINE)[0]:
        check(engine, case)


def test_a_runtime_is_named_in_full_and_must_start(engine: ForeignPrimitives) -> None:
    spec = spec_of(NEWEST)
    found = engine.probed(evolve(spec, runtimes=("native", "jvm", NEWEST, f"{NEWEST}:whole")))
    assert found.runtimes == ("native", NEWEST, f"{NEWEST}:whole")
    with pytest.raises(UsageError, match="there is no Java 98 here"):
        engine.probed(evolve(spec, runtimes=("jvm:98",)))


def test_what_it_cannot_do_it_says(engine: ForeignPrimitives) -> None:
    case = PrimitiveCase("copy", "sideways", 64, "one", NEWEST)
    with pytest.raises(RunError, match="no such variant"):
        engine.run(spec_of(NEWEST), PrimitiveKey(case, 1))


def processes_about(word: str) -> list[int]:
    """Those of java that have it in their command."""
    return running(
        lambda entry: (
            words_of(entry)[0].startswith(FOUND[0].java.encode())
            and word.encode() in (entry / "cmdline").read_bytes()
        )
    )


def test_a_jvm_ends_with_a_deadbeat_that_is_killed(tmp_path: Path) -> None:
    words = ["primitives", "--runtimes", "jvm", "--tests", "clock", "--placements", "one"]
    words += ["--duration", "50", "--runs", str(tmp_path / "runs")]
    process = started(*words, env={**os.environ, "TMPDIR": str(tmp_path)})
    try:
        until(lambda: processes_about(str(tmp_path)) or process.poll() is not None)
        assert processes_about(str(tmp_path))
    finally:
        process.kill()
        process.communicate()
    until(lambda: not processes_about(str(tmp_path)))


def test_it_numbers_the_buckets_of_the_golden_table() -> None:
    with GOLDEN.open() as file:
        rows = list(csv.DictReader(file))
    words = [FOUND[0].java, "-jar", str(agent_jar()), "buckets", *(r["value_ns"] for r in rows)]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    assert done.stdout.split() == [row["bucket"] for row in rows]


@pytest.mark.slow
def test_kept_samples_are_those_of_the_histogram(engine: ForeignPrimitives) -> None:
    spec = evolve(spec_of(NEWEST), duration=1.0, samples=300, keep=True, work=10)
    case = PrimitiveCase("copy", "", 10 * 1024, "one", NEWEST)
    (thread,) = engine.run(spec, PrimitiveKey(case, 1)).threads
    assert thread.samples is not None
    assert len(thread.samples) == thread.times.total == 300
    again = Histogram.of(thread.samples)
    assert again.sum_ns == thread.times.sum_ns
    assert again.counts.tolist() == thread.times.counts.tolist()
