"""Truth: the primitives' own files, and what a run of each key must hold."""

from __future__ import annotations

import json
import re

import pytest

import deadbeat
from deadbeat.build.native import native_root
from deadbeat.kinds.primitives.engine import parsed
from deadbeat.kinds.primitives.pool import primitives
from deadbeat.kinds.primitives.results import cell_of
from deadbeat.kinds.primitives.spec import (
    PLACEMENTS,
    PrimitiveCase,
    PrimitiveKey,
    PrimitivesSpec,
    cases,
    placed,
    plan,
    resolved,
)
from deadbeat.model.errors import DataError, UsageError
from deadbeat.model.specification import plain_of, read


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


def test_what_cannot_be_run_is_refused_with_its_reason() -> None:
    _, refused = cases(resolved(read(PrimitivesSpec, {}, {"tests": "event:spin"}), (0, 1)))
    assert list(refused) == ["event-spin-same"]
    assert "for ever" in refused["event-spin-same"]
    with pytest.raises(UsageError, match=r"holds 64\.0 GiB at once"):
        resolved(
            read(PrimitivesSpec, {}, {"tests": "alloc", "sizes": "1024M", "placements": "one"}),
            (0, 1),
        )
    with pytest.raises(UsageError, match="needs two CPUs"):
        resolved(read(PrimitivesSpec, {}, {"tests": "event", "placements": "other"}), (0,))
    with pytest.raises(UsageError, match="there is no CPU 7"):
        resolved(read(PrimitivesSpec, {}, {"cpus": "7"}), (0, 1))


def test_what_is_not_paced_is_not_run_as_if_it_were() -> None:
    asked = {"tests": "event:park,event:futex", "runtimes": "native,jvm", "period": "1ms"}
    runs, refused = cases(resolved(read(PrimitivesSpec, {}, asked), (0, 1)))
    assert {case.runtime for case in runs} == {"native"}
    assert all("not paced" in why for why in refused.values())


def test_threads_that_spin_may_share_a_cpu_where_none_is_real_time() -> None:
    asked = {"tests": "event:spin", "policy": "other"}
    assert not cases(resolved(read(PrimitivesSpec, {}, asked), (0, 1)))[1]


def test_every_repeat_has_every_case_once_in_an_order_of_its_own() -> None:
    spec = resolved(read(PrimitivesSpec, {}, {"repeats": "3"}), (0, 1, 2, 3))
    keys, wanted = plan(spec), cases(spec)[0]
    blocks = [[key.case for key in keys if key.repeat == repeat] for repeat in (1, 2, 3)]
    assert all(sorted(block) == sorted(wanted) for block in blocks)
    assert blocks[0] != blocks[1] != blocks[2]
    assert plan(read(PrimitivesSpec, plain_of(spec))) == keys
    assert {PrimitiveKey.parse(key.text) for key in keys} == set(keys)


def test_a_pair_has_a_firer_and_a_handler() -> None:
    case = PrimitiveCase("event", "futex", 0, "other")
    assert placed(case, (0, 1, 2, 3)) == (0, 3)
    assert placed(PrimitiveCase("event", "futex", 0, "same"), (0, 1)) == (1, 1)
    assert placed(PrimitiveCase("copy", "", 64, "all"), (0, 1)) == (0, 1)


def written(**more: object) -> str:
    times = {"min_ns": 100, "max_ns": 5000, "sum_ns": 5200, "counts": [[100, 2], [2274, 1]]}
    gaps = {"min_ns": 40, "max_ns": 900_000, "sum_ns": 900_040, "counts": [[40, 2], [9985, 1]]}
    thread = {
        "thread": 0,
        "cpu": 1,
        "policy": "fifo",
        "priority": 30,
        "looked": 1,
        "preempted": 1,
        "migrated": 0,
        "waited": 1,
        "watch_ns": 1000,
        "times": times,
        "gaps": gaps,
        "late_times": [[123, 5000, 5]],
        "late_gaps": [[456, 900_000, 0]],
    }
    numbers = {
        "version": 1,
        "batch": 1,
        "clock_cost_ps": 25_000,
        "sample_cost_ps": 9_000,
        "resolution_ns": 30,
        "measured_ns": 10**8,
    }
    return json.dumps({**numbers, "threads": [thread], **more})


KEY = PrimitiveKey(PrimitiveCase("copy", "", 4096, "one"), 1)


def test_what_the_program_writes_is_kept_whole() -> None:
    run = parsed(written(), KEY, "now")
    row = cell_of(KEY.case, [run])
    # a preempted sample counts: it is told, not dropped
    assert (row.samples, row.times.max_ns, row.looked, row.tagged) == (3, 5000, 1, 2)
    assert row.worst is not None
    assert row.worst.words == "preempted, waited for its CPU"
    assert row.stall_ns == 900_000
    # 100 ns are less than five steps of 30 ns
    assert not row.resolved
    assert cell_of(KEY.case, [parsed(written(resolution_ns=20), KEY, "now")]).resolved


def test_of_a_batch_the_mean_is_shown() -> None:
    row = cell_of(KEY.case, [parsed(written(batch=100), KEY, "now")])
    assert row.quantile_ns(500_000) == 1.0


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


def test_alloc_is_timed_with_each_allocator_and_nothing_else_is() -> None:
    asked = {"tests": "alloc:ring,copy", "sizes": "64", "allocators": "libc,jemalloc"}
    spec = resolved(read(PrimitivesSpec, {}, asked), (0,))
    keys = plan(spec)
    assert {(key.case.test, key.case.runtime) for key in keys} == {
        ("alloc", "native"),
        ("alloc", "native:jemalloc"),
        ("copy", "native"),
    }
    assert {PrimitiveKey.parse(key.text) for key in keys} == set(keys)
    other = PrimitiveKey(PrimitiveCase("alloc", "ring", 64, "one", "native:jemalloc"), 1)
    assert parsed(written(allocator="jemalloc"), other, "now").threads
    with pytest.raises(DataError, match="another allocator"):
        parsed(written(), other, "now")


def test_a_switch_has_one_cpu_and_a_line_has_two() -> None:
    wanted, _ = cases(resolved(read(PrimitivesSpec, {}, {"tests": "switch,line:cas"}), (0, 1)))
    assert [case.text for case in wanted] == ["switch-same", "line-cas-other"]


@pytest.mark.parametrize("text", ["", "{}", "[]", written(version=2), written(threads=[{}])])
def test_a_damaged_result_is_told(text: str) -> None:
    with pytest.raises(DataError):
        parsed(text, KEY, "now")


def test_from_the_command_to_the_page(tmp_path) -> None:
    done = deadbeat.primitives(
        tests="event:futex,copy", sizes="64", repeats=2, simulated=True, runs=tmp_path
    )
    assert done.simulated
    assert {row["operation"] for row in done.rows} == {"event futex", "copy"}
    assert all(len(row["p99s_ns"]) == 2 for row in done.rows)
    again = deadbeat.open(tmp_path / "primitives")
    assert again.rows == done.rows
    assert "Simulated:" in again.headline
