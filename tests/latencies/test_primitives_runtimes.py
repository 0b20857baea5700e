"""Truth: the files of the JVM's primitives, and what each runtime can be asked for."""

import json
import re
from pathlib import Path

import pytest
from attrs import evolve
from helpers.topologies import flat, written_run

import deadbeat
from deadbeat.base.model.errors import DataError, UsageError
from deadbeat.base.model.specification import plain_of, read
from deadbeat.build.jvm import jdks, jvm_sources
from deadbeat.build.pool import primitives, primitives_of
from deadbeat.latencies.primitives.cases import PrimitiveCase, PrimitiveKey, cases, plan, resolved
from deadbeat.latencies.primitives.engine import Wanted, parsed
from deadbeat.latencies.primitives.foreign import priority_of
from deadbeat.latencies.primitives.runs import PrimitivesStore
from deadbeat.latencies.primitives.runtimes import SCHEDULING, Jvm, jvm_words, known_to_external
from deadbeat.latencies.primitives.spec import PrimitivesSpec

JVM = "jvm:25:G1"
TWO = flat(0, 1)


def asked(**typed: str) -> PrimitivesSpec:
    return resolved(read(PrimitivesSpec, {}, typed), TWO)


def test_every_class_has_the_variants_that_its_file_describes() -> None:
    for path in jvm_sources():
        name = re.sub(r"(?<!^)(?=[A-Z])", "_", path.stem).lower()
        text, known = path.read_text(), primitives_of(JVM)[name]
        found = re.search(r"VARIANTS =\s+List\.of\((.*?)\)", text)
        listed = tuple(re.findall(r'"(\w+)"', found[1])) if found else ()
        assert listed == known.variants
        # what both have is one test in two languages
        assert {*known.places} <= {*primitives()[name].places}
        for same in ("sizes", "shares", "group", "equal", "waits", "contends"):
            assert getattr(known, same) == getattr(primitives()[name], same), (name, same)
        assert ("return 2;" in text) == (known.group == 2)
        assert ("sampler.batch" in text) == known.batches
        # work between two samples is done by whoever has a loop of its own
        assert ("sampler.work()" in text) == ("public void run(" in text)


@pytest.mark.parametrize(
    ("key", "asked", "said"),
    [
        ("runtimes", "ruby", 'there is no runtime "ruby"'),
        ("runtimes", "jvm:eight", 'there is no runtime "jvm:eight"'),
        ("runtimes", "native,jvm:25:Zorro", 'no JVM has a collector "Zorro"'),
        ("runtimes", "jvm:25:G1:half", '"half" is not a choice'),
        ("runtimes", "external:my-vm", 'there is no runtime "external:my-vm"'),
        ("external", "rt", "is no external runtime"),
        ("external", "my-vm=./x", "is no external runtime"),
        ("external", "rt=", "is no external runtime"),
        ("external", "rt='./x", "is no external runtime"),
        ("external", "rt=./x,rt=./y", "two external runtimes have one name"),
    ],
)
def test_runtimes_asked_in_vain_are_named(key: str, asked: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        read(PrimitivesSpec, {}, {key: asked})


def test_words_of_a_runtime() -> None:
    assert [jvm_words(word) for word in ("jvm", "jvm:17", JVM, f"{JVM}:whole", "native")] == [
        Jvm(), Jvm(17), Jvm(25, "G1"), Jvm(25, "G1", "whole"), Jvm()
    ]  # fmt: skip
    assert [Jvm(25, "G1", word).text for word in SCHEDULING] == [JVM, f"{JVM}:whole"]


def test_what_is_timed_only_by_name_is_left_out_otherwise() -> None:
    assert not {"pace", "alloc_cycle"} & {case.test for case in cases(asked(), TWO)[0]}
    found = cases(asked(tests="pace,alloc_cycle", sizes="64"), TWO)[0]
    assert {case.test for case in found} == {"pace", "alloc_cycle"}


def test_a_runtime_has_cases_of_what_it_has() -> None:
    spec = asked(runtimes=f"native,{JVM}", sizes="64", placements="one,same")
    found = [case for case in cases(spec, TWO)[0] if case.runtime == JVM]
    assert [(case.test, case.variant) for case in found] == [
        *(("alloc", way) for way in ("heap", "lt", "vt", "immortal", "pool")),
        ("clock", ""), ("copy", ""), ("copy_shared", ""),
        ("event", "park"), ("event", "monitor"),
        *(("lock", way) for way in ("monitor", "reentrant", "stamped", "tas", "ttas", "ticket")),
        ("sleep", ""), ("syscall", ""), ("thread", ""),
    ]  # fmt: skip
    assert found[0].text == "alloc-heap-64-one-jvm:25:G1"
    native = asked(sizes="64", placements="one,same")
    assert [case for case in cases(spec, TWO)[0] if case.runtime == "native"] == cases(native, TWO)[
        0
    ]


def test_what_a_runtime_cannot_do_is_refused_with_its_reason() -> None:
    words = "alloc,event:park,event:futex,fault"
    spec = asked(runtimes="jvm:17:Epsilon", tests=words, sizes="64", placements="one,same")
    assert cases(spec, TWO)[1] == {
        "alloc-heap-64-one-jvm:17:Epsilon": "a heap never collected fills before a run ends",
        "alloc-vt-64-one-jvm:17:Epsilon": "an arena needs Java 22",
        "event:futex": "not a primitive of jvm:17:Epsilon",
        "fault": "not a primitive of jvm:17:Epsilon",
    }
    with pytest.raises(UsageError, match=r"event:park: not a primitive of native"):
        asked(tests="event:park")


def test_a_jvm_is_asked_for_less_where_nobody_says_what() -> None:
    spec = asked(runtimes=f"native,{JVM}", tests="copy,lock:tas,event:spin")
    found: dict[str, list[tuple[str, int, str]]] = {each: [] for each in spec.runtimes}
    for case in cases(spec, TWO)[0]:
        found[case.runtime].append((case.test, case.size, case.placement))
    assert found[JVM] == [("copy", 10240, "one"), ("lock", 0, "all"), ("event", 0, "cache")]
    assert [size for test, size, where in found["native"] if (test, where) == ("copy", "one")] == [
        64, 10240, 2**20
    ]  # fmt: skip
    # what is asked for is run in all
    more = asked(runtimes=JVM, tests="copy", sizes="64,1M", placements="one,all")
    assert len(cases(more, TWO)[0]) == 4


def refusals(**typed: str) -> set[str]:
    return set(cases(read(PrimitivesSpec, {}, {"cpus": "0,1", **typed}), TWO)[1].values())


def test_a_whole_jvm_is_real_time_below_its_threads() -> None:
    whole = {"runtimes": f"{JVM}:whole", "tests": "copy", "placements": "one"}
    assert not refusals(**whole)
    assert priority_of(f"{JVM}:whole", asked(**whole, priority="30")) == 29
    assert priority_of(JVM, asked(**whole, priority="30")) == 0
    assert refusals(**whole, policy="other") == {"a whole JVM is real-time under fifo and rr only"}
    assert refusals(**whole, priority="1") == {
        "its JVM has one priority less: give --priority 2 or more"
    }


def test_what_is_never_freed_must_fit_its_memory() -> None:
    # the seed's check: iterations x size
    asked_of = {"tests": "alloc:immortal", "sizes": "10K", "placements": "one"}
    fits = {**asked_of, "runtimes": JVM, "samples": "400000"}
    assert not refusals(**fits)
    (why,) = refusals(**{**fits, "samples": "500000"})
    assert why == "samples x batch x size is 4.8 GiB a thread that is never freed"
    # a buffer of Java 17 holds less than 2 GiB
    assert refusals(**{**fits, "runtimes": "jvm:17:G1"})
    assert not refusals(**asked_of, runtimes=JVM)


def test_a_further_collector_is_timed_with_what_allocates() -> None:
    three = "jvm:25:G1,jvm:25:Z,jvm:17:G1"
    found, refused = cases(asked(runtimes=three), TWO)
    done = {
        runtime: {case.operation for case in found if case.runtime == runtime}
        for runtime in three.split(",")
    }
    assert done["jvm:25:G1"] >= {"alloc pool", "copy", "event park", "lock monitor", "syscall"}
    assert done["jvm:25:Z"] == {
        "alloc heap", "alloc vt", "lock reentrant", "lock stamped", "thread"
    }  # fmt: skip
    assert done["jvm:17:G1"] == done["jvm:25:G1"] - {"alloc vt"}  # another JDK has all
    assert "what never allocates in jvm:25:Z" in refused
    both, refused = cases(asked(runtimes=three, tests="syscall"), TWO)
    assert (len(both), refused) == (3, {})
    # the threads of a whole JVM are others
    assert "what never allocates" not in " ".join(
        cases(asked(runtimes="jvm:25:G1,jvm:25:Z:whole"), TWO)[1]
    )


def test_a_command_may_have_commas() -> None:
    spec = read(PrimitivesSpec, {}, {"external": "a=./x -o 1,2,b=./y"})
    assert [(each.name, each.argv) for each in spec.external] == [
        ("a", ("./x", "-o", "1,2")), ("b", ("./y",))
    ]  # fmt: skip


EXTERNAL = {"external": "rt=./speaks --really"}


def test_an_external_runtime_runs_what_it_lists() -> None:
    spec = read(PrimitivesSpec, {}, EXTERNAL | {"runtimes": "external:rt", "tests": "alloc,copy"})
    (given,) = spec.external
    assert (given.name, given.argv, given.does) == ("rt", ("./speaks", "--really"), ())
    # both kinds of memory that any runtime has may be listed
    listed = known_to_external({"alloc": ["heap", "ring"], "clock": []})
    spec = resolved(
        evolve(spec, external=(evolve(given, does=listed),), placements=("one",), sizes=(64,)), TWO
    )
    found, refused = cases(spec, TWO)
    assert [case.text for case in found] == [
        f"alloc-{way}-64-one-external:rt" for way in ("heap", "ring")
    ]
    assert refused == {"copy": "not a primitive of external:rt"}
    assert {PrimitiveKey.parse(key.text) for key in plan(spec, TWO)} == set(plan(spec, TWO))
    assert read(PrimitivesSpec, plain_of(spec)) == spec


@pytest.mark.parametrize("listed", [{"malloc": []}, {"alloc": ["smoke"]}])
def test_what_a_command_lists_must_have_a_meaning(listed: dict[str, list[str]]) -> None:
    with pytest.raises(ValueError, match=r"there is no primitive|has no variant"):
        known_to_external(listed)


def test_runs_of_all_runtimes_come_in_one_random_order() -> None:
    spec = asked(runtimes=f"native,{JVM}", sizes="64", repeats="2")
    keys = plan(spec, TWO)
    assert {PrimitiveKey.parse(key.text) for key in keys} == set(keys)
    runtimes = [key.case.runtime for key in keys[: len(keys) // 2]]
    assert runtimes != sorted(runtimes) and set(runtimes) == {"native", JVM}
    assert plan(read(PrimitivesSpec, plain_of(spec)), TWO) == keys


SEEN = {
    "threads": [["fifo", 30, 1], ["other", 0, 21]],
    "memory": {"locked": True, "resident_bytes": 2, "locked_bytes": 1, "faults": 0},
}


ONE = {"min_ns": 100, "max_ns": 5000, "sum_ns": 5100, "counts": [[100, 1], [3298, 1]]}


def written(*, steady: bool) -> str:
    runtime = {"name": "VM", "version": "25", "gc": "G1", "flags": "-Xmx1g", **SEEN}
    own = {"cpu": 0, "times": ONE, "gaps": ONE, "late_times": [[1, 5000, 1, "GC pause"]]}
    return written_run(own, warm_up={"windows": 12, "steady": steady}, runtime=runtime)


ASKED = (Wanted(0, "fifo", 30),)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"policy": "other"}, "was on CPU 0 under other with priority 30, not on CPU 0 under fifo"),
        ({"cpu": 1}, "was on CPU 1"),
        ({"priority": 20}, "with priority 20"),
        ({"thread": 1}, "the result has 1 thread, not 1"),
        ({"gaps": {"min_ns": 1, "max_ns": 1, "sum_ns": 1, "counts": [[1, 1]]}}, "not a gap for"),
        ({"times": {"counts": [[1, -1]]}}, "damaged"),
        ({"times": ONE | {"counts": [[3298, 1], [100, 1]]}}, "damaged"),
        ({"times": ONE | {"counts": [[100, 3], [3298, -1]]}}, "damaged"),
        ({"times": ONE | {"max_ns": 50_000}}, "contradicts itself"),
    ],
)
def test_a_result_that_is_not_as_it_was_asked_is_refused(wrong: dict[str, object], said: str):
    key = PrimitiveKey(PrimitiveCase("copy", "", 64, "one", JVM), 1)
    assert parsed(written(steady=True), key, "now", ASKED).threads
    plain = json.loads(written(steady=True))
    plain["threads"][0] |= wrong
    with pytest.raises(DataError, match=said):
        parsed(json.dumps(plain), key, "now", ASKED)
    with pytest.raises(DataError, match="1 thread, not 2"):
        parsed(written(steady=True), key, "now", ASKED * 2)


def test_a_runtime_says_what_it_is_and_whether_it_was_warm() -> None:
    key = PrimitiveKey(PrimitiveCase("copy", "", 64, "one", JVM), 1)
    run = parsed(written(steady=True), key, "now")
    assert run.runtime is not None and run.runtime.flags == "-Xmx1g"
    assert run.threads[0].late_times[0].words == "preempted, GC pause"
    assert run.runtime.threads == (("fifo", 30, 1), ("other", 0, 21))
    assert run.runtime.memory is not None and run.runtime.memory.locked
    assert run.runtime.words == (
        "VM 25; G1; -Xmx1g; threads: 1 fifo 30, 21 other; memory: 0 MiB, 0 locked, 0 page faults"
    )
    assert not run.problems
    plain = json.loads(written(steady=True))
    plain["runtime"]["memory"]["locked"] = False
    unlocked = parsed(json.dumps(plain), key, "now")
    assert unlocked.memory_locked is False and unlocked.valid
    cold = parsed(written(steady=False), key, "now")
    assert [each.id for each in cold.problems] == ["not-steady"] and cold.valid
    converter = PrimitivesStore.CONVERTER
    assert converter.structure(converter.unstructure(cold), type(cold)) == cold


def test_jdks_are_found_by_what_they_say_of_themselves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "java").write_text("")
    (tmp_path / "bin" / "java").chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    release = tmp_path / "release"
    for text, known in (("99.0.1", 99), ("1.8.0_402", None)):
        release.write_text(f'IMPLEMENTOR="X"\nJAVA_VERSION="{text}"\n')
        found = {jdk.home: jdk.feature for jdk in jdks()}
        assert found.get(tmp_path.resolve()) == known


def test_a_simulated_comparison_shows_both_runtimes(tmp_path: Path) -> None:
    done = deadbeat.primitives(
        tests="copy,event:park,event:futex", sizes="64", runtimes="native,jvm", simulated=True,
        repeats=1, runs=tmp_path,
    )  # fmt: skip
    assert {row["runtime"] for row in done.rows} == {"native", JVM}
    assert "park, jvm:25:G1" in done.headline or "futex" in done.headline
    assert all(len(row["p99s_ns"]) == 1 for row in done.rows)
    again = deadbeat.open(tmp_path / "primitives")
    assert again.simulated and again.rows == done.rows


def test_a_jvm_keeps_its_samples_too() -> None:
    found, refused = cases(
        asked(runtimes=JVM, tests="copy", placements="one", samples="300", keep=True), TWO
    )
    assert (len(found), refused) == (1, {})
