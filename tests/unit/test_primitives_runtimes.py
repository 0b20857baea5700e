"""Truth: the files of the JVM's primitives, and what each runtime can be asked for."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from helpers.topologies import flat

import deadbeat
from deadbeat.build.jvm import jdks, jvm_sources
from deadbeat.kinds.primitives.cases import (
    PrimitiveCase,
    PrimitiveKey,
    cases,
    plan,
    resolved,
)
from deadbeat.kinds.primitives.engine import parsed
from deadbeat.kinds.primitives.pool import primitives, primitives_of
from deadbeat.kinds.primitives.results import PrimitivesStore
from deadbeat.kinds.primitives.runtimes import jvm_words
from deadbeat.kinds.primitives.spec import PrimitivesSpec
from deadbeat.model.errors import UsageError
from deadbeat.model.specification import plain_of, read

JVM = "jvm:25:G1"
TWO = flat(0, 1)


def asked(**typed: str) -> PrimitivesSpec:
    return resolved(read(PrimitivesSpec, {}, typed), TWO)


def test_every_class_has_the_variants_that_its_file_describes() -> None:
    for path in jvm_sources():
        text, known = path.read_text(), primitives_of(JVM)[path.stem.lower()]
        found = re.search(r"VARIANTS = List\.of\((.*?)\)", text)
        listed = tuple(re.findall(r'"(\w+)"', found[1])) if found else ()
        assert listed == known.variants
        # what both have is one test in two languages
        assert known.sizes == primitives()[known.name].sizes
        assert known.group == primitives()[known.name].group


@pytest.mark.parametrize(
    ("runtimes", "said"),
    [
        ("ruby", 'there is no runtime "ruby"'),
        ("jvm:eight", 'there is no runtime "jvm:eight"'),
        ("native,jvm:25:Zorro", 'no JVM has a collector "Zorro"'),
    ],
)
def test_runtimes_asked_in_vain_are_named(runtimes: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        read(PrimitivesSpec, {}, {"runtimes": runtimes})


def test_words_of_a_runtime() -> None:
    assert [jvm_words(word) for word in ("jvm", "jvm:17", JVM, "native")] == [
        (0, ""), (17, ""), (25, "G1"), (0, "")
    ]  # fmt: skip


def test_a_runtime_has_cases_of_what_it_has() -> None:
    spec = asked(runtimes=f"native,{JVM}", sizes="64", placements="one,same")
    found = [case for case in cases(spec, TWO)[0] if case.runtime == JVM]
    assert [(case.test, case.variant) for case in found] == [
        ("alloc", "heap"), ("alloc", "arena"), ("alloc", "pool"), ("clock", ""), ("copy", ""),
        ("event", "park"), ("event", "monitor"),
    ]  # fmt: skip
    assert found[0].text == "alloc-heap-64-one-jvm:25:G1"
    native = asked(sizes="64", placements="one,same")
    assert [case for case in cases(spec, TWO)[0] if case.runtime == "native"] == cases(native, TWO)[
        0
    ]


def test_what_a_runtime_cannot_do_is_refused_with_its_reason() -> None:
    words = "alloc,event:park,event:futex,syscall"
    spec = asked(runtimes="jvm:17:Epsilon", tests=words, sizes="64", placements="one,same")
    assert cases(spec, TWO)[1] == {
        "alloc-heap-64-one-jvm:17:Epsilon": "a heap that nobody collects is full before a run ends",
        "alloc-arena-64-one-jvm:17:Epsilon": "arenas need Java 22",
        "event:futex": "not a primitive of jvm:17:Epsilon",
        "syscall": "not a primitive of jvm:17:Epsilon",
    }
    with pytest.raises(UsageError, match=r"event:park: not a primitive of native"):
        asked(tests="event:park")


def test_runs_of_all_runtimes_come_in_one_random_order() -> None:
    spec = asked(runtimes=f"native,{JVM}", sizes="64", repeats="2")
    keys = plan(spec, TWO)
    assert {PrimitiveKey.parse(key.text) for key in keys} == set(keys)
    runtimes = [key.case.runtime for key in keys[: len(keys) // 2]]
    assert runtimes != sorted(runtimes) and set(runtimes) == {"native", JVM}
    assert plan(read(PrimitivesSpec, plain_of(spec)), TWO) == keys


def written(*, steady: bool) -> str:
    one = {"min_ns": 100, "max_ns": 5000, "sum_ns": 5100, "counts": [[100, 1], [2274, 1]]}
    thread = dict.fromkeys(("thread", "cpu", "looked", "preempted", "migrated", "waited"), 0)
    return json.dumps(
        {
            **{"version": 1, "batch": 1, "clock_cost_ps": 1, "sample_cost_ps": 1},
            **{"resolution_ns": 10, "measured_ns": 10**8},
            "warm_up": {"windows": 12, "steady": steady},
            "runtime": {"name": "VM", "version": "25", "gc": "G1", "flags": "-Xmx1g"},
            "threads": [
                {
                    **{**thread, "policy": "fifo", "priority": 30, "watch_ns": 1000},
                    **{"times": one, "gaps": one},
                    **{"late_times": [[1, 5000, 1, "GC pause"]], "late_gaps": []},
                }
            ],
        }
    )


def test_a_runtime_says_what_it_is_and_whether_it_was_warm() -> None:
    key = PrimitiveKey(PrimitiveCase("copy", "", 64, "one", JVM), 1)
    run = parsed(written(steady=True), key, "now")
    assert run.runtime is not None and run.runtime.flags == "-Xmx1g"
    assert run.threads[0].late_times[0].words == "preempted, GC pause"
    assert not run.problems
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
