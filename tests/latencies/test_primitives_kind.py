"""Truth: the primitives' own files, and what a run of each key must hold."""

import json
import re

import pytest
from attrs import evolve
from helpers.topologies import MIB, THREADS, XEON, flat
from helpers.topologies import written_run as written

import deadbeat
from deadbeat.base.model.errors import DataError, UsageError
from deadbeat.base.model.platform import example_platform
from deadbeat.base.model.specification import plain_of, read
from deadbeat.build.native import native_root
from deadbeat.build.pool import PLACEMENTS, primitives
from deadbeat.latencies.primitives.cases import (
    PrimitiveCase,
    PrimitiveKey,
    cases,
    placed,
    plan,
    resolved,
)
from deadbeat.latencies.primitives.engine import pair_seconds, parsed
from deadbeat.latencies.primitives.lines import lines_of
from deadbeat.latencies.primitives.results import cell_of, cells_of
from deadbeat.latencies.primitives.runs import PrimitiveRun
from deadbeat.latencies.primitives.spec import PrimitivesSpec
from deadbeat.latencies.primitives.topology import PAIRS_MOST, Layout, Topology, topology_of
from deadbeat.machine.host.kernel import CLOCKSOURCE, CPUINFO, counter_lacks


def test_every_file_says_of_its_variants_what_its_code_does() -> None:
    for name, primitive in primitives().items():
        text = (native_root() / "runtime" / "primitives" / f"{name}.c").read_text()
        found = re.search(r"variants\[\] = \{(.*?),\s+NULL\}", text, re.DOTALL)
        listed = tuple(re.findall(r'"(\w+)"', found[1])) if found else ()
        assert listed == primitive.variants
        assert (".group = 2" in text) == (primitive.group == 2)
        assert ("DB_SAMPLE(" in text) == primitive.batches
        assert set(primitive.spins) <= {*primitive.variants, ""}
        assert set(primitive.placements) <= set(PLACEMENTS)


def test_the_counter_is_a_clock_only_where_it_is_the_kernels_and_invariant() -> None:
    def lacks(source: str, flags: str = "") -> str:
        return counter_lacks({CLOCKSOURCE: f"{source}\n", CPUINFO: f"flags : {flags}\n"}.get)

    assert lacks("tsc", "constant_tsc nonstop_tsc") == lacks("arch_sys_counter") == ""
    assert lacks("tsc", "tsc constant_tsc") == "the processor's counter varies: no nonstop_tsc"
    assert lacks("kvm-clock").startswith("the kernel's clock source is kvm-clock, not")


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"tests": "malloc"}, 'there is no primitive "malloc"'),
        ({"tests": "event:smoke"}, 'event has no variant "smoke"'),
        ({"sizes": "10Q"}, '"10Q" is not a size'),
        ({"sizes": "0"}, '"0" is not a size'),
        ({"placements": "moon"}, '"moon" is not a choice'),
    ],
)
def test_what_is_asked_in_vain_is_named(asked: dict[str, str], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        read(PrimitivesSpec, {}, asked)


TWO = flat(0, 1)


def asked(topology: Topology = TWO, **typed: str) -> PrimitivesSpec:
    return resolved(read(PrimitivesSpec, {}, typed), topology)


def test_what_cannot_be_run_is_refused_with_its_reason() -> None:
    _, refused = cases(asked(tests="event:spin", placements="same,cache"), TWO)
    assert list(refused) == ["event-spin-same"]
    assert "for ever" in refused["event-spin-same"]
    with pytest.raises(UsageError, match=r"holds 64\.0 GiB at once"):
        asked(tests="alloc", sizes="1024M", placements="one")
    with pytest.raises(UsageError, match="no two cores of CPUs 0 share"):
        asked(flat(0), tests="event", placements="cache")
    with pytest.raises(UsageError, match="CPU 7 "):
        asked(cpus="7")
    with pytest.raises(UsageError, match="--groups: CPU 7 "):
        asked(groups="0,1/7")


@pytest.mark.parametrize("policy", ["fifo", "rr"])
def test_more_threads_than_cpus_that_spin_are_a_live_lock_under_a_fixed_priority(policy: str):
    typed = {"tests": "lock:tas", "placements": "all", "policy": policy, "samples": "9"}
    runs, refused = cases(asked(threads="2,3", **typed), TWO)
    assert [case.threads for case in runs] == [2]
    assert f"spin under {policy.upper()}" in refused["lock-tas-all-x3"]
    assert not cases(asked(tests="event:spin", policy="other", placements="same"), TWO)[1]


def test_threads_that_never_wait_have_turns_or_a_number_of_samples() -> None:
    typed = {"tests": "copy,sleep", "placements": "all", "threads": "4", "sizes": "64"}
    runs, refused = cases(asked(**typed), TWO)
    assert [case.test for case in runs] == ["sleep"]
    assert "give --samples, or --policy rr" in refused["copy-64-all-x4"]
    for more in ({"samples": "9"}, {"policy": "rr"}, {"policy": "other"}):
        assert not cases(asked(**typed, **more), TWO)[1]


def test_pairs_of_a_cpu_have_turns_or_a_number_of_events() -> None:
    typed = {"tests": "event:futex", "threads": "1,2,3", "handlers": "above,equal"}
    refused = cases(asked(placements="same,cache", **typed), TWO)[1]
    # on two CPUs, the third pair is the second of its CPU
    assert list(refused) == ["event-futex-same-x3"]
    assert "the first pair of a CPU has it to the end" in refused["event-futex-same-x3"]
    for more in ({"samples": "9"}, {"policy": "rr"}, {"period": "1ms"}):
        assert not cases(asked(placements="same", **typed, **more), TWO)[1]


def test_what_does_not_fit_the_memory_that_is_free_is_refused() -> None:
    small = evolve(TWO, free_bytes=256 * MIB)
    typed = {"tests": "copy", "sizes": "1M,128M", "placements": "one"}
    runs, refused = cases(asked(small, **typed), small)
    assert [case.size for case in runs] == [MIB]
    assert "more than half of the 0.25 GiB that are free" in refused["copy-128M-one"]
    # what the samples of many threads take counts, too: 256 threads at 1.25 MiB
    many = {"tests": "event:pipe", "threads": "8,128", "placements": "cache"}
    runs, refused = cases(asked(small, **many), small)
    assert [case.threads for case in runs] == [8]
    assert "holds 0.31 GiB" in refused["event-pipe-cache-x128"]


def test_every_repeat_has_every_case_once_in_an_order_of_its_own() -> None:
    four = flat(0, 1, 2, 3)
    spec = asked(four, repeats="3")
    keys, wanted = plan(spec, four), cases(spec, four)[0]
    blocks = [[key.case for key in keys if key.repeat == repeat] for repeat in (1, 2, 3)]
    assert all(sorted(block) == sorted(wanted) for block in blocks)
    assert blocks[0] != blocks[1] != blocks[2]
    assert plan(read(PrimitivesSpec, plain_of(spec)), four) == keys


def test_a_key_says_all_of_its_case() -> None:
    more = {"groups": "0/1", "threads": "8,128", "handlers": "above,equal", "policy": "other"}
    spec = asked(XEON, runtimes="native,jvm:25:G1", allocators="libc,/lib/libje.malloc.a", **more)
    keys = plan(spec, XEON)
    assert {key.case.threads for key in keys} == {0, 8, 128}
    assert {key.case.handler for key in keys} == {"above", "equal"}
    assert [PrimitiveKey.parse(key.text) for key in keys] == keys
    assert plan(read(PrimitivesSpec, plain_of(spec)), XEON) == keys
    case = PrimitiveCase("event", "futex", 0, "same", "jvm:25:G1", 8, "equal")
    assert PrimitiveKey(case, 1).text == "event.futex.0.same.8.equal.jvm-25-G1.0001"
    assert case.text == "event-futex-same-x8-equal-jvm:25:G1"


def test_the_topology_is_the_one_that_the_machine_describes() -> None:
    def cache(level: int, kind: str, size: int, *cpus: int) -> dict[str, object]:
        names = ("level", "type", "size_bytes", "shared_cpus")
        return dict(zip(names, (level, kind, size, [*cpus]), strict=True))

    own = [cache(1, "Data", 32768, 0), cache(1, "Instruction", 32768, 0)]
    topology = {
        "0": {"siblings": [0, 1], "caches": [*own, cache(2, "Unified", 4 * MIB, 0, 1)]},
        "1": {"siblings": [0, 1], "caches": [cache(2, "Unified", 4 * MIB, 0, 1)]},
        "2": {"siblings": "unknown: no such file", "caches": "unknown: cannot be read"},
    }
    memory = {"available_kb": 2048}
    platform = evolve(example_platform(3), details={"topology": topology, "memory": memory})
    assert topology_of(platform) == Topology(
        cpus=(0, 1, 2), cores=((0, 1),), caches=((0, 1),), cache_bytes=4 * MIB, free_bytes=2 * MIB
    )
    assert topology_of(example_platform(2)) == Topology(cpus=(0, 1))


def test_threads_that_work_alone_are_placed_by_cache() -> None:
    # the seed's own example: {0,2}, {1,3}, {4,6} or {5,7} share a cache, and {1,5} do not
    xeon = Layout(cpus=XEON.cpus, topology=XEON)
    assert xeon.alone("one") == (7,)
    assert xeon.alone("cache") == (7, 5)
    # as many of each: what is compared has as many threads
    assert xeon.alone("apart", 2) == (0, 1) and len(xeon.alone("apart")) == 2
    assert xeon.alone("both") == (7, 5, 0, 1)
    assert xeon.alone("both", 8) == (7, 5, 7, 5, 0, 1, 4, 0)
    assert xeon.alone("all", 16) == XEON.cpus * 2
    # two sockets: one core of each thread comes first, and the groups have no CPU in common
    threads = Layout(cpus=THREADS.cpus, topology=THREADS)
    assert threads.alone("cache") == (7, 6)
    assert threads.alone("apart") == (0, 2)
    assert threads.alone("both") == (7, 6, 0, 2)


def test_pairs_are_placed_by_core_and_cache() -> None:
    threads = Layout(cpus=THREADS.cpus, topology=THREADS)
    assert threads.pairs("same")[:2] == ((7, 7), (6, 6))
    assert threads.pairs("sibling")[:4] == ((0, 4), (1, 5), (2, 6), (3, 7))
    for one, two in threads.pairs("cache"):
        assert THREADS.same_cache(one, two) and not THREADS.same_core(one, two)
    assert not any(THREADS.same_cache(*pair) for pair in threads.pairs("far"))
    for word in ("cache", "far", "sibling"):
        first = threads.pairs(word)[:4]
        assert len({cpu for pair in first for cpu in pair}) == 8
    assert Layout(cpus=(0, 1), topology=flat(0, 1)).pairs("cache") == ((0, 1), (1, 0))


def test_a_matrix_has_every_pair_once_and_of_many_cpus_some() -> None:
    case = PrimitiveCase("line", "cas", 0, "each")
    assert placed(case, asked(flat(0, 1, 2)), flat(0, 1, 2)) == (0, 1, 0, 2, 1, 2)
    many = flat(*range(100))
    cpus = placed(case, asked(many), many)
    pairs = [*zip(cpus[::2], cpus[1::2], strict=True)]
    assert len({*pairs}) == len(pairs) == PAIRS_MOST
    assert all(one < two for one, two in pairs)
    assert placed(case, asked(many), many) == cpus
    # five seconds for all, and no pair less than 5 ms
    assert pair_seconds(asked(TWO), TWO) == 0.2
    assert pair_seconds(asked(many), many) == 0.005


def test_pairs_go_round() -> None:
    case = PrimitiveCase("event", "futex", 0, "cache")
    spec = asked(flat(0, 1, 2, 3))
    assert placed(case, spec, flat(0, 1, 2, 3)) == (0, 3)
    many = evolve(case, placement="same", threads=5)
    assert placed(many, spec, flat(0, 1, 2, 3)) == (3, 3, 2, 2, 1, 1, 0, 0, 3, 3)
    assert placed(PrimitiveCase("copy", "", 64, "all"), spec, flat(0, 1)) == (0, 1, 2, 3)


@pytest.mark.parametrize(
    ("topology", "pairs", "word", "why"),
    [
        (flat(0, 1), True, "sibling", "no two of CPUs 0,1 are of one core"),
        (flat(0, 1), True, "far", "no two of CPUs 0,1 are without a shared cache"),
        (flat(0, 1), False, "apart", "no two of CPUs 0,1 are without a shared cache"),
        (flat(0, 1), False, "cache", "the same as all: CPUs 0,1 share one last-level cache"),
        (Topology(cpus=(0, 1)), True, "cache", "does not say which CPUs share a cache"),
        (Topology(cpus=(0, 1)), True, "sibling", "does not say which CPUs share a core"),
        (Topology(cpus=(0, 1), caches=((0,), (1,))), True, "cache", "no two cores"),
        (Topology(cpus=(0, 1), caches=((0,), (1,))), False, "cache", "no other of CPUs 0,1"),
        (Topology(cpus=(0, 1), caches=((0,), (1,))), False, "both", "too few for two groups"),
        (flat(0), False, "all", "the same as one"),
    ],
)
def test_a_place_that_is_not_there_is_told_with_its_reason(
    topology: Topology, pairs: bool, word: str, why: str
) -> None:
    assert why in Layout(cpus=topology.cpus, topology=topology).lacking(word, pairs=pairs)


def test_a_place_that_is_not_there_is_told_once() -> None:
    _, refused = cases(asked(tests="event,copy"), TWO)
    said = [name for name in refused if name.startswith(("pairs ", "threads "))]
    assert sorted(said) == ["pairs far", "pairs sibling", "threads apart", "threads cache"]


def test_the_shared_source_is_a_share_of_the_cache() -> None:
    spec = asked(XEON, tests="copy_shared", shares="1,4,1024", placements="one")
    assert [case.size for case in cases(spec, XEON)[0]] == [6 * MIB, 6 * MIB // 4, 6 * 1024]
    unknown = Topology(cpus=(0, 1), caches=((0, 1),))
    with pytest.raises(UsageError, match="does not say how large its last-level cache is"):
        asked(unknown, tests="copy_shared", placements="one")


KEY = PrimitiveKey(PrimitiveCase("copy", "", 4096, "one"), 1)


def test_what_the_program_writes_is_kept_whole() -> None:
    run = parsed(written(), KEY, "now")
    row = cell_of(KEY.case, [run])
    # a preempted sample counts: it is told, not dropped
    assert (row.samples, row.times.max_ns, row.looked, row.tagged) == (3, 5000, 1, 2)
    assert row.worst.words == "preempted, waited for its CPU"
    assert row.stall_ns == 900_000
    # 100 ns are less than five steps of 30 ns
    assert not row.resolved
    assert cell_of(KEY.case, [parsed(written(resolution_ns=20), KEY, "now")]).resolved
    # of a batch the mean is shown
    assert cell_of(KEY.case, [parsed(written(batch=100), KEY, "now")]).quantile_ns(500_000) == 1.0


def test_page_faults_of_the_start_are_apart_from_those_while_it_was_measured() -> None:
    plain = json.loads(written(memory_locked=False))
    plain["threads"][0] |= {"first_faults": 300, "minor_faults": 5, "major_faults": 2}
    run = parsed(json.dumps(plain), KEY, "now")
    row = cell_of(KEY.case, [run, run])
    assert (row.first_faults, row.faults, run.memory_locked) == (600, 14, False)
    # a JVM does not know those of its threads
    row = cell_of(KEY.case, [parsed(written(), KEY, "now")])
    assert (row.first_faults, row.faults) == (None, None)


def test_fairness_is_that_of_jain_chiu_and_hawe() -> None:
    # their example: of two, one has all: one half
    key = PrimitiveKey(PrimitiveCase("lock", "tas", 0, "all"), 1)
    plain = json.loads(written())
    none = {"min_ns": None, "max_ns": None, "sum_ns": 0, "counts": []}
    starved = plain["threads"][0] | {"thread": 1, "times": none, "gaps": none}
    both = parsed(json.dumps(plain | {"threads": [plain["threads"][0]] * 2}), key, "now")
    row = cell_of(key.case, [both])
    assert (row.fairness, row.most_share) == (1.0, 1.0)
    one = parsed(json.dumps(plain | {"threads": [plain["threads"][0], starved]}), key, "now")
    row = cell_of(key.case, [both, one])
    assert (row.fairness, row.most_share) == (0.5, 3.0)
    # copies want nothing of each other
    alone = PrimitiveCase("copy", "", 64, "all")
    assert cell_of(alone, [both]).fairness is None


def _four(case: PrimitiveCase, **more: object) -> PrimitiveRun:
    """Threads 0 and 1 are quick, 2 and 3 take 50 times as long."""
    plain = json.loads(written())
    slow = {"min_ns": 5000, "max_ns": 5000, "sum_ns": 15000, "counts": [[3298, 3]]}
    one = {**plain["threads"][0], **more}
    threads = [one | {"thread": n} | ({"times": slow} if n > 1 else {}) for n in range(4)]
    return parsed(json.dumps(plain | {"threads": threads}), PrimitiveKey(case, 1), "now")


def test_two_groups_at_once_are_two_rows() -> None:
    case = PrimitiveCase("lock", "tas", 0, "both", threads=4)
    after = {"after": [1, 2, 0, 0], "longest_row": 2}
    rows = cells_of(case, [_four(case, **after)], XEON)
    assert [(row.part, row.samples) for row in rows] == [("cache", 6), ("apart", 6)]
    assert [row.where for row in rows] == [
        "4 threads, CPUs of one cache, both kinds at once",
        "4 threads, CPUs that share no cache, both kinds at once",
    ]
    assert rows[0].quantile_ns(500_000) < rows[1].quantile_ns(500_000)
    first, second = rows[0].contenders
    assert (first.after, second.after) == ((1, 2), (1, 2))
    assert (first.own_share, second.own_share) == (1 / 3, 2 / 3)
    assert first.longest_row == 2


def test_pairs_of_a_matrix_are_a_row_for_each_kind() -> None:
    case = PrimitiveCase("line", "cas", 0, "each")
    run = _four(case)
    ends = [(0, 2), (0, 1), (1, 3), (4, 5)]
    threads = (
        evolve(thread, cpu=cpu, partner=partner)
        for thread, (cpu, partner) in zip(run.threads, ends, strict=True)
    )
    rows = cells_of(case, [evolve(run, threads=tuple(threads))], XEON)
    assert [(row.part, row.samples) for row in rows] == [("far", 6), ("cache", 6)]
    # half of a round trip is one way
    lines = lines_of([evolve(run, threads=(evolve(run.threads[2], cpu=1, partner=3),))], XEON)
    assert [(line.sender, line.receiver, line.relation) for line in lines] == [(1, 3, "cache")]
    assert 2490 < lines[0].median_ns < 2510


def test_an_interval_is_over_repeats_and_needs_three() -> None:
    row = cell_of(KEY.case, [parsed(written(), KEY, "now")] * 2)
    assert row.interval([100, 110]) is None
    # Student: mean 110, standard error 10 / sqrt(3), t = 4.3027 for two degrees of freedom
    found = row.interval([100, 110, 120])
    assert (round(found.low, 2), round(found.high, 2)) == (85.16, 134.84)


def test_a_copy_shows_what_it_holds_and_how_fast_it_is() -> None:
    case = PrimitiveCase("copy_shared", "", 4000, "all")
    row = cell_of(case, [parsed(written(), PrimitiveKey(case, 1), "now")])
    # one source and one destination; 4000 bytes in 100 ns
    assert (row.footprint_bytes, row.bytes_per_ns) == (8000, 40.0)
    assert cell_of(KEY.case, [parsed(written(), KEY, "now")]).footprint_bytes == 2 * 4096
    alone = PrimitiveKey(PrimitiveCase("clock", "", 0, "one"), 1)
    row = cell_of(alone.case, [parsed(written(), alone, "now")])
    assert (row.footprint_bytes, row.bytes_per_ns) == (None, None)


def test_alloc_is_timed_with_each_allocator_and_nothing_else_is() -> None:
    typed = {"tests": "alloc:ring,copy", "sizes": "64", "allocators": "libc,/lib/libjemalloc.a"}
    spec = asked(flat(0), **typed)
    keys = plan(spec, flat(0))
    found = {f"{key.case.test} {key.case.runtime}" for key in keys}
    assert found == {"alloc native", "alloc native:jemalloc", "copy native"}
    assert {PrimitiveKey.parse(key.text) for key in keys} == set(keys)
    other = PrimitiveKey(PrimitiveCase("alloc", "ring", 64, "one", "native:jemalloc"), 1)
    assert parsed(written(allocator="other"), other, "now").threads
    with pytest.raises(DataError, match="another allocator"):
        parsed(written(), other, "now")


def test_a_switch_has_one_cpu_and_a_line_has_two() -> None:
    wanted, _ = cases(asked(tests="switch,line:cas"), TWO)
    assert [case.text for case in wanted] == ["switch-same", "line-cas-cache", "line-cas-each"]


@pytest.mark.parametrize("text", ["", "{}", "[]", written(version=2), written(threads=[{}])])
def test_a_damaged_result_is_told(text: str) -> None:
    with pytest.raises(DataError):
        parsed(text, KEY, "now")


def test_matrix_and_contenders_are_on_the_page_and_in_files(tmp_path) -> None:
    deadbeat.primitives(
        tests="line,lock:tas", placements="each,both,all", simulated=True, runs=tmp_path
    )
    folder = tmp_path / "primitives"
    lines = (folder / "lines.csv").read_text().splitlines()
    # 8 CPUs: 28 pairs by two protocols, and both directions of each by the third
    assert len(lines) == 1 + 2 * 28 + 56
    threads = (folder / "contenders.csv").read_text().splitlines()
    assert len(threads) == 1 + 8 + 4
    page = (folder / "report.html").read_text()
    assert "Cache lines from CPU to CPU" in page and "Who gets the lock" in page
    assert "half of a round trip" in page
    assert deadbeat.open(folder).summary.findings == ()
