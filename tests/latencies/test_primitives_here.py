"""The truth is what this machine does: every primitive runs, where and as it was asked."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from attrs import evolve
from helpers import seldom
from helpers.hardware import LOCK_WAIT

from deadbeat.base.model.errors import DataError, RunError, UsageError
from deadbeat.base.model.histogram import Histogram
from deadbeat.base.model.specification import read
from deadbeat.build.pool import LIBC, primitives
from deadbeat.latencies.primitives.cases import PrimitiveCase, PrimitiveKey, cases, placed, resolved
from deadbeat.latencies.primitives.engine import HardwarePrimitives
from deadbeat.latencies.primitives.runs import PrimitiveRun
from deadbeat.latencies.primitives.spec import PrimitivesSpec
from deadbeat.latencies.primitives.topology import topology_of
from deadbeat.machine.targets.local import LocalTarget
from deadbeat_papers.runtimes.arguments import read_arguments

pytestmark = pytest.mark.hardware

CPUS = tuple(sorted(os.sched_getaffinity(0)))
with closing(LocalTarget()) as local:
    MACHINE = topology_of(HardwarePrimitives(local).describe())
ASKED = read(PrimitivesSpec, {}, {"duration": "0.02", "sizes": "64,10K"})
SPEC = resolved(ASKED, MACHINE)


@pytest.fixture(scope="module")
def engine() -> Iterator[HardwarePrimitives]:
    with closing(LocalTarget()) as target:
        yield HardwarePrimitives(target, lock_wait=LOCK_WAIT)


def run(engine: HardwarePrimitives, case: PrimitiveCase, **more: object) -> PrimitiveRun:
    return engine.run(evolve(SPEC, **more), PrimitiveKey(case, 1))  # type: ignore[arg-type]


#: A copy beyond the caches takes seconds.
LARGE = 1 << 23
CASES = cases(SPEC, MACHINE)[0]


@pytest.mark.parametrize(
    "case",
    [
        *(case for case in CASES if case.size < LARGE),
        *seldom(*((case,) for case in CASES if case.size >= LARGE)),
    ],
    ids=lambda case: case.text,
)
def test_every_case_has_samples_and_threads_are_where_they_should_be(
    engine: HardwarePrimitives, case: PrimitiveCase
) -> None:
    # a number of samples, not a time: on a busy machine a thread may have no turn for long
    found = run(engine, case, samples=20, duration=20.0)
    cpus = placed(case, SPEC, MACHINE)
    primitive = primitives()[case.test]
    assert found.threads
    assert primitive.group == 2 or len(found.threads) == len(cpus)
    for thread in found.threads:
        assert thread.cpu == cpus[thread.thread]
        priority = SPEC.priority + (primitive.handles and thread.thread % 2)
        assert (thread.policy, thread.priority) == ("fifo", priority)
        # every sample has the gap before it
        assert thread.times.total == thread.gaps.total > 0
        assert thread.partner == (cpus[thread.thread ^ 1] if primitive.group == 2 else None)
        shown = max((late.value_ns for late in thread.late_times), default=0)
        # the longest is among those that are kept with their moment, if it was long at all
        assert shown == thread.times.max_ns or thread.times.max_ns <= thread.watch_ns


#: Policy, threads or pairs, the handler beside its firer.
WAYS = [("rr", 0, "above"), ("rr", 4, "equal"), ("fifo", 128, "equal"), ("fifo", 5, "equal")]


@pytest.mark.parametrize(("policy", "threads", "handler"), WAYS)
def test_pairs_go_round_with_the_priorities_that_were_asked_for(
    engine: HardwarePrimitives, policy: str, threads: int, handler: str
) -> None:
    case = PrimitiveCase("event", "futex", 0, "same", threads=threads, handler=handler)
    found = run(engine, case, policy=policy, samples=20, duration=20.0)
    cpus = placed(case, SPEC, MACHINE)
    assert [thread.thread for thread in found.threads] == [*range(1, len(cpus), 2)]
    for thread in found.threads:
        priority = SPEC.priority + (handler == "above")
        assert (thread.policy, thread.priority) == (policy, priority)
        assert thread.cpu == cpus[thread.thread]
        assert thread.times.total > 0


def test_a_number_of_samples_ends_a_run_before_its_time(engine: HardwarePrimitives) -> None:
    # more threads than CPUs under FIFO: one after the other has all of its own
    case = PrimitiveCase("copy", "", 64, "all", threads=3 * len(CPUS))
    found = run(engine, case, samples=1000, duration=20.0)
    assert [thread.times.total for thread in found.threads] == [1000] * len(found.threads)
    assert found.measured_ns < 20 * 10**9
    fired = run(engine, PrimitiveCase("event", "pipe", 0, "same"), samples=50, duration=20.0)
    assert [thread.times.total for thread in fired.threads] == [50]


@pytest.mark.skipif(len(CPUS) < 2, reason="needs two CPUs")
@pytest.mark.parametrize("variant", ["tas", "mutex", "clh"])
def test_two_groups_have_a_lock_each_at_the_same_time(engine: HardwarePrimitives, variant: str):
    groups, case = ((CPUS[:1], CPUS[1:2]),), PrimitiveCase("lock", variant, 0, "both", threads=4)
    found = run(engine, case, groups=groups, policy="other", samples=1000, duration=20.0)
    assert [thread.cpu for thread in found.threads] == [CPUS[0]] * 2 + [CPUS[1]] * 2
    for thread in found.threads:
        # whoever had it before is of the same half; every acquisition is in one row of the matrix
        other = slice(2, 4) if thread.thread < 2 else slice(0, 2)
        assert not any(thread.after[other])
        assert sum(thread.after) == thread.times.total
        assert 0 < thread.longest_row <= thread.times.total


@pytest.mark.skipif(len(CPUS) < 2, reason="needs two CPUs")
def test_pairs_of_a_matrix_run_one_after_the_other(engine: HardwarePrimitives) -> None:
    for variant, each in (("cas", 1), ("message", 2)):
        case = PrimitiveCase("line", variant, 0, "each")
        spec = evolve(SPEC, cpus=CPUS, samples=20, duration=20.0)
        found = engine.run(spec, PrimitiveKey(case, 1))
        assert len(found.threads) == each * len(CPUS) * (len(CPUS) - 1) // 2
        assert all(thread.times.min_ns is not None for thread in found.threads)


def test_a_thread_that_has_no_turn_is_told(engine: HardwarePrimitives) -> None:
    found = run(engine, PrimitiveCase("copy", "", 64, "one", threads=2), duration=0.5)
    assert sorted(bool(thread.times.total) for thread in found.threads) == [False, True]
    assert [each.id for each in found.problems] == ["no-turn"]
    # a handler above its firer is done before its firer could wait for it
    pairs = PrimitiveCase("event", "futex", 0, "same", threads=2 * len(CPUS))
    found = run(engine, pairs, duration=0.5)
    assert len(found.threads) == len(CPUS)
    assert [each.id for each in found.problems] == ["no-turn"]
    counted = run(engine, evolve(pairs, threads=128), samples=100, duration=20.0)
    assert [thread.times.total for thread in counted.threads] == [100] * 128


def test_work_between_samples_lies_in_the_gaps(engine: HardwarePrimitives) -> None:
    case = PrimitiveCase("copy", "", 64, "one")
    idle, busy = run(engine, case, samples=200), run(engine, case, samples=200, work=20_000)
    # a round takes a cycle at least: 20,000 of them 2 us and more at any clock below 10 GHz
    medians = [each.threads[0].gaps.quantile(500_000) or 0 for each in (idle, busy)]
    assert medians[1] > 2000 > medians[0]


def test_a_batch_is_one_sample(engine: HardwarePrimitives) -> None:
    case = PrimitiveCase("clock", "", 0, "one")
    one = run(engine, case, duration=0.5)
    many = run(engine, evolve(case, test="syscall"), batch=1000, duration=0.5)
    assert (one.batch, many.batch) == (1, 1000)
    # a system call takes at least as long as its own instruction, whatever the machine
    assert many.threads[0].times.min_ns > 1000
    assert many.threads[0].times.total < one.threads[0].times.total


#: Every object is a mapping of its own, with its length in the page before it.
ALLOCATOR = """
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
void *malloc(size_t n)
{
    char *at = mmap(0, n + 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED)
        return NULL;
    *(size_t *)at = n;
    return at + 4096;
}
void free(void *p) { if (p) munmap((char *)p - 4096, *(size_t *)((char *)p - 4096) + 4096); }
void *calloc(size_t n, size_t of) { return malloc(n * of); }
void *realloc(void *p, size_t n)
{
    void *made = malloc(n);
    size_t had = p ? *(size_t *)((char *)p - 4096) : 0;
    if (made && p)
        memcpy(made, p, had < n ? had : n);
    free(p);
    return made;
}
void *memalign(size_t align, size_t n) { (void)align; return malloc(n); }
void *aligned_alloc(size_t align, size_t n) { (void)align; return malloc(n); }
void *__libc_memalign(size_t align, size_t n) { (void)align; return malloc(n); }
int posix_memalign(void **p, size_t align, size_t n) { (void)align; return !(*p = malloc(n)); }
"""


def test_a_program_has_the_allocator_of_a_path(engine: HardwarePrimitives, tmp_path: Path) -> None:
    """It finds out itself whether malloc is the C library's: a run of another is refused."""
    (tmp_path / "pages.c").write_text(ALLOCATOR)
    archive = tmp_path / "libmy-pages.a"
    for argv in (["gcc", "-O2", "-c", "pages.c"], ["ar", "rc", archive, "pages.o"]):
        subprocess.run(argv, cwd=tmp_path, check=True)
    case, given = PrimitiveCase("alloc", "ring", 64, "one"), (LIBC, str(archive))
    taken = []
    for runtime in ("native", "native:my_pages"):
        found = run(engine, evolve(case, runtime=runtime), allocators=given, samples=200)
        taken.append(found.threads[0].times.quantile(500_000) or 0)
    assert taken[1] > 5 * taken[0], "two system calls an object"
    archive.with_name("libnone.a").write_bytes(b"!<arch>\n")
    none = evolve(case, runtime="native:none")
    with pytest.raises(DataError, match="had another allocator"):
        run(engine, none, allocators=(str(archive.with_name("libnone.a")),))
    archive.unlink()
    with pytest.raises(UsageError, match=r"there is no file .*libmy-pages\.a"):
        run(engine, evolve(case, runtime="native:my_pages"), allocators=given)


def test_what_is_touched_first_is_apart_from_what_each_sample_touches(engine: HardwarePrimitives):
    # glibc maps an object of 1 MB each time; a pool has its pages from the start
    fresh = PrimitiveCase("alloc", "ring", 2**20, "one")
    pool = evolve(fresh, test="alloc_pool", variant="own")
    (first,), (second,) = (run(engine, case).threads for case in (fresh, pool))
    assert (first.minor_faults or 0) >= first.times.total
    assert second.minor_faults == 0


def test_a_run_says_that_its_memory_is_locked(engine: HardwarePrimitives) -> None:
    assert run(engine, PrimitiveCase("clock", "", 0, "one")).memory_locked


def test_what_it_cannot_do_it_says(engine: HardwarePrimitives) -> None:
    with pytest.raises(RunError, match="no such variant"):
        run(engine, PrimitiveCase("copy", "sideways", 64, "one"))


@pytest.mark.parametrize("test", ["copy", "event:condvar"])
def test_kept_samples_are_those_of_the_histogram(engine: HardwarePrimitives, test: str) -> None:
    asked = {"tests": test, "sizes": "1K", "placements": "one,same", "keep": True, "samples": 300}
    spec = resolved(read(PrimitivesSpec, {"duration": "1"}, asked), MACHINE)
    (case,) = cases(spec, MACHINE)[0]
    (thread,) = engine.run(spec, PrimitiveKey(case, 1)).threads
    assert thread.samples is not None
    assert len(thread.samples) == 300
    again = Histogram.of(thread.samples)
    assert again.sum_ns == thread.times.sum_ns
    assert again.counts.tolist() == thread.times.counts.tolist()


def test_arguments_of_the_thesis_run_here(engine: HardwarePrimitives) -> None:
    """Ten threads of SCHED_RR 30, each with 10,000 samples of 8 bytes."""
    found = read_arguments(Path(__file__).parents[1] / "golden" / "rtsjmcbench" / "args.xml")
    wanted = resolved(read(PrimitivesSpec, found.layer("native"), {"work": 10}), MACHINE)
    (case,) = cases(wanted, MACHINE)[0]
    run = engine.run(wanted, PrimitiveKey(case, 1))
    assert [thread.times.total for thread in run.threads] == [10_000] * 10
    assert {(thread.policy, thread.priority) for thread in run.threads} == {("rr", 30)}
    assert [len(thread.samples) for thread in run.threads if thread.samples is not None] == [
        10_000
    ] * 10
