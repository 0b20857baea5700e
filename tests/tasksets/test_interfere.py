"""Truth: the made-up machine, whose slowdowns are known, and slots written by hand."""

import json
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve

import deadbeat
from deadbeat.base.kinds.observed import ObservedResult
from deadbeat.base.model.comparison import Lineup
from deadbeat.base.model.errors import DataError, UsageError
from deadbeat.base.model.platform import example_platform
from deadbeat.base.model.specification import plain_of, read
from deadbeat.base.stats.intervals import Interval
from deadbeat.build.pool import primitives
from deadbeat.cli.compare.results import compare_results
from deadbeat.cli.compare.results import found as found_kind
from deadbeat.tasksets.catalog import load_catalog
from deadbeat.tasksets.interfere.document import answer
from deadbeat.tasksets.interfere.engine import SimulatedChannels, parsed, true_slowdown
from deadbeat.tasksets.interfere.kind import COMPARABLE
from deadbeat.tasksets.interfere.results import (
    ALONE,
    ASLEEP,
    InterfereRun,
    InterfereSummary,
    Slowdown,
    ordered,
    slowdowns,
)
from deadbeat.tasksets.interfere.sharing import NOTHING, RULES, levels, shared, shares
from deadbeat.tasksets.interfere.spec import (
    WORKS,
    InterfereKey,
    InterfereSpec,
    SetWork,
    VictimCaches,
    machine_of,
    placed,
    plan,
    resolved,
)

MACHINE = machine_of(SimulatedChannels().describe(), 0)
SPEC = resolved(read(InterfereSpec, {}, {"repeats": 4}), (0, 1, 2, 3), MACHINE)


def runs(spec: InterfereSpec = SPEC) -> list[InterfereRun]:
    return [SimulatedChannels().run(spec, key) for key in plan(spec)]


def by_hand(*slots: tuple[int, int, int, int, int, int]) -> InterfereRun:
    return InterfereRun(
        key=InterfereKey(1), started="", clock_cost_ps=0, slot_ns=0, refused={}, slots=slots
    )


A, B = SetWork("matmul", 20), SetWork("pipe", 4, shared=True)


def test_a_slowdown_is_time_beside_over_time_alone_of_a_use() -> None:
    run = by_hand(
        (0, 0, ALONE, 100, 0, 1_000),
        (0, 0, ALONE, 100, 0, 4_000),  # a stall of the host counts by its logarithm
        (0, 0, 1, 50, 1, 2_000),
        (0, 0, ASLEEP, 100, 1, 2_000),
    )
    found = {(c.victim, c.aggressor): c for c in slowdowns((A, B), [run])}
    assert found[A, B].value == pytest.approx(2.0)  # 40 ns a use beside 20 ns alone
    assert found[A, None].value == pytest.approx(1.0)
    assert found[A, B].alone_ns == pytest.approx(20.0)
    # one run says nothing of how much runs differ
    assert found[A, B].interval is None
    assert not found[A, B].shows


def test_a_slot_without_its_aggressor_is_told() -> None:
    run = by_hand(
        (0, 0, ALONE, 1, 0, 100), (0, 0, 1, 1, 2, 150), (1, 0, 1, 1, 1, 120), (2, 0, 1, 1, 2, 150)
    )
    (cell,) = (c for c in slowdowns((A, B), [run]) if c.aggressor)
    assert (cell.slots, cell.late) == (3, 1)


def test_intervals_hold_the_truth_of_the_made_up_machine() -> None:
    cells = slowdowns(SPEC.works, runs())
    place = {work: at for at, work in enumerate(SPEC.works)}
    missed = 0
    for cell in cells:
        aggressor = ASLEEP if cell.aggressor is None else place[cell.aggressor]
        truth = true_slowdown(SPEC, place[cell.victim], aggressor, cell.place)
        missed += not cell.interval.low <= truth <= cell.interval.high
        assert cell.shows == (truth > 1.0)
    assert SPEC.aggressors == ("others", "sibling")
    assert len(cells) == 2 * 12 * 13
    assert missed <= 2 * 156 * 0.12


def test_less_than_the_control_shows_is_noise() -> None:
    """A victim at 1.2 beside threads that sleep: so much may come from nobody."""
    rows = [(0, 0, ALONE, 1, 0, 100), (0, 0, ASLEEP, 1, 1, 120), (0, 0, 1, 1, 1, 115)]
    found = slowdowns((A, B), [by_hand(*rows), by_hand(*rows)])
    (cell,) = (c for c in found if c.aggressor)
    assert cell.interval == pytest.approx((1.15, 1.15))
    assert not cell.shows
    assert cell.least == pytest.approx(1.2)


def test_a_pair_is_slowed_free_or_undecided_and_only_the_free_are_called_so() -> None:
    """first-use.md, row 2: "Nobody slows copy:256K" above 1.28 (0.48 to 3.82)."""

    def told(*values: int) -> tuple[Slowdown, str]:
        made = [by_hand((0, 0, ALONE, 1, 0, 100), (0, 0, 1, 1, 1, value)) for value in values]
        cells = slowdowns((A, B), made)
        found = evolve(summary(), cells=cells, order=(A, B))
        (cell,) = (c for c in cells if c.aggressor)
        return cell, " ".join(answer(found))

    cell, text = told(48, 240, 100)  # may be 1, may be more
    assert (cell.shows, cell.free, cell.undecided) == (False, False, True)
    assert f"1 of 1 pairs need more repeats: {A.text} beside {B.text}" in text
    assert f"Free (each interval below 1.05): {B.text}." in text
    cell, text = told(99, 101, 100)
    assert (cell.shows, cell.free, cell.undecided) == (False, True, False)
    assert f"{A.text}, {B.text}" in text and "Undecided" not in text
    cell, text = told(103, 106, 104)  # above what matters or below it
    assert cell.undecided
    cell, text = told(150, 160, 155)
    assert cell.shows and "Undecided" not in text
    assert f"Slowed in 1 of 1 pairs: {A.text}." in text


def summary_of(
    cells: tuple[Slowdown, ...], order: tuple[SetWork, ...], footprints: dict[SetWork, int]
) -> InterfereSummary:
    made = {"name": "made-up", "spec": SPEC, "machine": MACHINE, "done": 4, "slots": 0}
    made |= {"cells": cells, "order": order, "footprints": footprints}
    return InterfereSummary(**made, labels=(), findings=(), refused={})


@cache
def summary() -> InterfereSummary:
    made = runs()
    cells = slowdowns(SPEC.works, made)
    footprints = dict(zip(SPEC.works, made[0].footprints, strict=True))
    return summary_of(cells, ordered(SPEC.works, cells), footprints)


def work(text: str) -> SetWork:
    work: SetWork = WORKS.parse(text)[0]
    return work


@pytest.mark.parametrize(
    ("victim", "place", "said"),
    [
        ("futex:64@shared", "others", "its own object"),
        ("matmul:20", "others", NOTHING),
        ("copy:32M", "others", "memory bandwidth"),
        ("pointer_chase:65536", "others", "memory bandwidth"),
        ("copy:2M", "others", "room in the shared cache"),
        ("copy:8M", "others", "room in the shared cache"),
        ("pipe:4", "others", "a lock of the kernel, or its data, of this class"),
        (
            "pipe:4@shared",
            "others",
            "its own object, a lock of the kernel, or its data, of this class",
        ),
        ("copy:128K", "others", NOTHING),
        ("copy:128K", "sibling", "the core's own cache and units"),
    ],
)
def test_what_is_shared_is_what_the_made_up_machine_has(victim: str, place: str, said: str) -> None:
    assert shares(summary(), work(victim), place) == said


def test_a_resource_names_the_cell_that_shows_it() -> None:
    (each,) = shared(summary(), work("copy:32M"), "others")
    assert each.cell.shows
    assert each.cell.aggressor in (work("copy:32M"), work("pointer_chase:65536"))


def by_cells(sizes: dict[str, float], *slow: tuple[str, str, float]) -> InterfereSummary:
    """Of copies that take so many ns a byte alone; all pairs are known, and at 1 unless told."""
    works = tuple(work(text) for text in sizes)
    named = {(victim, aggressor): value for victim, aggressor, value in slow}
    cells = tuple(
        Slowdown(
            victim=v,
            aggressor=a,
            value=(value := named.get((v.text, a.text), 1.0)),
            interval=Interval(value, value),
            alone_ns=sizes[v.text] * v.size * 2,
            slots=1,
            late=0,
        )
        for v in works
        for a in works
    )
    return summary_of(cells, works, {each: 2 * each.size for each in works})


#: ns a byte: up to 3M run in caches, 8M would fit the shared one, and is as slow as memory.
COPIES = {
    "copy:128K": 0.02,
    "copy:512K": 0.05,
    "copy:2M": 0.05,
    "copy:3M": 0.05,
    "copy:8M": 0.19,
    "copy:32M": 0.2,
}


def test_a_cache_that_others_fill_is_found_by_what_a_byte_takes() -> None:
    found = levels(by_cells(COPIES))
    assert (found.held, found.lost) == (2 * 3 * 1024**2, 2 * 8 * 1024**2)
    assert found.of(2 * 128 * 1024) == "core"
    assert found.of(3 * 1024**2) == "cache"
    assert found.of(20 * 1024**2) == "memory"
    assert found.of(8 * 1024**2) == ""  # between: the cache may hold it, or not


@pytest.mark.parametrize(
    ("slow", "victim", "said"),
    [
        (("copy:8M", "copy:32M", 1.3), "copy:8M", "memory bandwidth"),
        (("copy:2M", "copy:32M", 1.3), "copy:2M", "room in the shared cache"),
        (("copy:2M", "copy:2M", 1.3), "copy:2M", "room in the shared cache"),
        (("copy:2M", "copy:512K", 1.3), "copy:2M", "bandwidth of the shared cache"),
        (("copy:128K", "copy:128K", 1.3), "copy:128K", "clock or power of the chip"),
        (
            ("copy:128K", "copy:32M", 1.3),
            "copy:128K",
            "its core's own cache, which the shared one empties",
        ),
    ],
)
def test_each_rule_by_its_own_evidence(slow: tuple[str, str, float], victim: str, said: str):
    assert shares(by_cells(COPIES, slow), work(victim)) == said


def test_without_a_measured_cache_nothing_is_told_apart() -> None:
    found = by_cells({"copy:2M": 0.05, "copy:8M": 0.05}, ("copy:8M", "copy:2M", 1.3))
    assert shares(found, work("copy:8M")).endswith("not separable here")


def test_every_slowdown_has_a_name() -> None:
    """Whoever is slowed by whomever, some rule tells."""
    texts = [*COPIES, "copy:4M"]
    sizes = {**COPIES, "copy:4M": 0.12}
    for victim in texts:
        for aggressor in texts:
            found = by_cells(sizes, (victim, aggressor, 1.3))
            assert shares(found, work(victim)) != NOTHING, (victim, aggressor)
    assert len({rule.resource for rule in RULES}) == len(RULES)


def test_works_that_suffer_alike_stand_side_by_side() -> None:
    order = [each.text for each in summary().order]
    streams = [order.index(name) for name in ("copy:32M", "pointer_chase:65536")]
    assert abs(streams[0] - streams[1]) == 1


#: Four cores with two threads each: n and n + 4.
TWO_THREADS = VictimCaches(siblings=(0, 4))


@pytest.mark.parametrize(
    ("place", "cpus"),
    [
        ("others", (0, 1, 2, 3, 5, 6, 7)),
        ("sibling", (0, 4)),
        ("1", (0, 1)),
        ("3", (0, 1, 2, 3)),
        ("6", (0, 1, 2, 3, 5, 6, 7)),
        ("7", ()),
    ],
)
def test_aggressors_are_where_the_topology_says(place: str, cpus: tuple[int, ...]) -> None:
    spec = resolved(read(InterfereSpec, {}, {"works": "matmul"}), range(8), TWO_THREADS)
    assert spec.aggressors == ("others", "sibling")
    assert placed(spec, place, TWO_THREADS) == cpus


def test_a_place_that_is_not_there_is_refused_with_the_reason() -> None:
    def ask(places: str, cpus: str = "0-3", machine: VictimCaches = TWO_THREADS) -> InterfereSpec:
        return resolved(
            read(InterfereSpec, {}, {"aggressors": places, "cpus": cpus}), range(8), machine
        )

    with pytest.raises(UsageError, match=r"no CPU of its core beside CPU 0 among CPUs 0,1,2,3"):
        ask("sibling")
    with pytest.raises(UsageError, match=r"not 4 other cores beside CPU 0"):
        ask("1,4")
    with pytest.raises(UsageError, match=r"no other core beside CPU 0 among CPUs 0,4"):
        ask("others", "0,4")
    with pytest.raises(UsageError, match=r'"near" is no place of aggressors'):
        ask("near")
    assert ask("3,1").aggressors == ("3", "1")
    assert resolved(read(InterfereSpec, {}, {"cpus": "0,4"}), range(8), TWO_THREADS).aggressors == (
        "sibling",
    )


def test_places_take_turns_and_old_names_of_runs_still_hold() -> None:
    keys = plan(resolved(read(InterfereSpec, {}, {"aggressors": "1,3,others"}), range(8)))
    assert len(keys) == 18
    assert {key.place for key in keys[:3]} == {"1", "3", "others"}
    assert [InterfereKey.parse(key.text) for key in keys] == keys
    assert InterfereKey.parse("0007") == InterfereKey(7, "others")


def test_the_caches_of_a_machine_are_read_from_its_topology() -> None:
    assert MACHINE.siblings == (0, 1)
    assert (MACHINE.own_bytes, MACHINE.shared_bytes) == (512 * 1024, 32 * 1024**2)
    nothing = machine_of(example_platform(), 0)
    assert nothing == VictimCaches()
    assert nothing.level(1) == ""


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("pipe:4@shared", "fragment pipe 4 shared"),
        ("pipe:4@global", "fragment pipe 4 local global"),
        ("pipe:4@shared@global", "fragment pipe 4 shared global"),
        ("event:futex", "primitive event futex 0 0 0 0"),
        ("switch", "primitive switch - 0 0 0 1"),
        ("copy:64K", "primitive copy - 65536 0 1 0"),
        ("alloc:lifo:10K", "primitive alloc lifo 10240 64 0 0"),
    ],
)
def test_a_work_is_written_for_a_person_and_for_the_runtime(text: str, line: str) -> None:
    assert work(text).text == text
    assert work(text).line == line


def test_no_fragment_has_the_name_of_a_primitive() -> None:
    assert not {*load_catalog().fragments} & {*primitives()}


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"works": "matmull"}, 'no fragment or primitive is called "matmull"'),
        ({"works": "line"}, "line cannot be .* its two threads need two CPUs"),
        ({"works": "event:spin"}, "event cannot be .* spin for one another on one CPU"),
        ({"works": "copy_shared:64K"}, "copy_shared cannot be .* take copy"),
        ({"works": "lock:mcs@shared"}, "lock cannot be .* belong to one process"),
        ({"works": "copy:64K:2M"}, 'copy has no variant or size "2M"'),
        ({"works": "matmul:21"}, "matmul has no size 21"),
        ({"works": "matmul:20@shared"}, "no object that cores could share"),
        ({"works": "matmul:20@global"}, "no object that cores could share"),
        ({"works": "lock:mcs@global"}, "lock cannot be .* belong to one process"),
        ({"works": "Matmul;"}, "no fragment or primitive is called"),
        ({"repeats": "1"}, "repeats"),
    ],
)
def test_what_is_asked_in_vain_is_named(asked: dict[str, str], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        read(InterfereSpec, {}, asked)


def test_what_memory_does_not_hold_is_refused() -> None:
    with pytest.raises(UsageError, match=r"primitives would hold 16\.0 GiB at once"):
        resolved(read(InterfereSpec, {}, {"works": "copy:2048M"}), (0, 1, 2, 3))


def test_one_cpu_is_not_enough() -> None:
    with pytest.raises(UsageError, match="needs a CPU for the victim and one for the aggressor"):
        resolved(read(InterfereSpec, {}, {}), (0,))
    with pytest.raises(UsageError, match="CPU 9 "):
        resolved(read(InterfereSpec, {}, {"cpus": "0,9"}), (0, 1))


def test_a_specification_reads_back_as_it_was_written() -> None:
    assert read(InterfereSpec, plain_of(SPEC)) == SPEC


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"version": 2}', json.dumps({"version": 1, "works": [{}]})]
)
def test_damaged_slots_are_told(text: str) -> None:
    with pytest.raises(DataError):
        parsed(text, InterfereKey(1), "now")


def test_behind_one_lock_what_is_private_costs_what_is_shared(tmp_path: Path) -> None:
    """The made-up machine, where one lock doubles a use; objects of another class wait for it, too,
    and no price is of it."""
    works = "matmul:20,futex:64,futex:64@global,atomic_line:16@shared@global"
    done = deadbeat.interfere(
        works=works, aggressors="others", repeats=3, simulated=True, runs=tmp_path, figures=False
    )
    slowed = {(row["victim"], row["aggressor"]): row["value"] for row in done.rows}
    locked = ("futex:64@global", "atomic_line:16@shared@global")
    for pair in product(locked, locked):
        assert slowed[pair] == pytest.approx(2.0, rel=0.05)
    assert slowed["futex:64", "futex:64@global"] == pytest.approx(1.0, rel=0.05)
    assert not done.shown.plain.get("prices")


def test_what_the_works_share_is_priced_first(tmp_path: Path) -> None:
    """Truth: the made-up machine, where others on an object slow it by 3, and memory by 1.5."""

    def made(**asked: str) -> Any:
        return deadbeat.interfere(
            aggressors="others", repeats=2, simulated=True, runs=tmp_path, figures=False, **asked
        )

    done = made(works="matmul:20,futex:64@shared,pipe:4,pointer_chase:65536")
    prices = done.shown.plain["prices"]
    assert [(p["object"], p["size"], p["others"]) for p in prices] == [
        (name, size, others)
        for name, size in (("futex", 64), ("pointer_chase", 65536))
        for others in (1, 1, 3)
    ]
    for price in prices:
        truth = 3.0 if price["object"] == "futex" else 1.5
        assert price["ratio_low"] < truth < price["ratio_high"]
    screen = done.document.below[0]
    assert [row.object for row in screen.rows] == ["futex", "pointer_chase"]
    assert "Prices of sharing" in [section.title for section in done.document.sections]
    # a price is measured once; a result of before prices stays readable, and is finished without
    file = tmp_path / "interfere" / "prices.json"
    before = file.read_bytes()
    (tmp_path / "interfere" / "report.html").unlink()
    assert made(works="matmul:20,futex:64@shared,pipe:4,pointer_chase:65536").rows == done.rows
    assert file.read_bytes() == before
    file.unlink()
    (tmp_path / "interfere" / "report.html").unlink()
    old = made(works="matmul:20,futex:64@shared,pipe:4,pointer_chase:65536")
    assert (old.rows, old.shown.plain["prices"], old.document.below) == (done.rows, [], ())
    assert not file.exists()
    # what shares nothing has no price
    assert made(works="matmul:20,pipe:4,copy:64K").shown.plain["prices"] == []
    assert not (tmp_path / "interfere-2" / "prices.json").exists()


def matrix(tmp_path: Path, name: str, seed: int, **asked: str) -> ObservedResult:
    asked = {"works": "matmul:20,pipe:4@shared", "aggressors": "others"} | asked
    deadbeat.interfere(
        name=name, repeats=6, seed=seed, simulated=True, figures=False, runs=tmp_path, **asked
    )
    return COMPARABLE.read(tmp_path / name)


def test_matrices_are_compared_cell_by_cell(tmp_path: Path) -> None:
    """Truth: alike, then the made-up machine with the object shared three times as slow."""
    one, other = (matrix(tmp_path, name, seed) for seed, name in enumerate(("one", "other"), 1))
    result = compare_results(COMPARABLE, Lineup(subjects=(one, other)))
    assert result.verdict == "equal"
    metric, price = result.comparisons[0].metrics
    assert [(cell.group, cell.verdict) for cell in price.cells] == [
        (f"pipe:4 beside {others}, steady", "equal")
        for others in ("1 on cores 0,1", "1 on cores 0,2", "3")
    ]
    assert {cell.group for cell in metric.cells} == {
        f"{victim} beside {aggressor}"
        for victim in ("matmul:20", "pipe:4@shared")
        for aggressor in ("matmul:20", "pipe:4@shared")
    }
    late = [
        evolve(row, value=2 * row.value) if row.cell.group == "pipe:4@shared beside pipe:4@shared"
        else row
        for row in other.table.rows
    ]  # fmt: skip
    slower = evolve(other, table=evolve(other.table, rows=late))
    result = compare_results(COMPARABLE, Lineup(subjects=(one, slower)))
    assert result.verdict == "worse"
    worse = [c for c in result.comparisons[0].metrics[0].cells if c.verdict == "worse"]
    assert [cell.group for cell in worse] == ["pipe:4@shared beside pipe:4@shared"]
    assert worse[0].effect == pytest.approx(1.0, abs=0.05)


def test_a_matrix_is_found_by_its_name_and_strange_ones_are_refused(tmp_path: Path) -> None:
    one, _ = (matrix(tmp_path, name, seed) for seed, name in enumerate(("one", "other"), 1))
    assert found_kind(tmp_path, "other") == (COMPARABLE, tmp_path / "other")
    strange = matrix(tmp_path, "strange", 3, works="crc32:64")
    with pytest.raises(UsageError, match="no pair in common"):
        compare_results(COMPARABLE, Lineup(subjects=(one, strange)))


@pytest.mark.parametrize(("value", "low", "high"), [(1.2, 0.9, 1.6), (1.01, 0.8, 1.28)])
def test_as_many_runs_as_are_asked_for_decide_a_pair(value: float, low: float, high: float) -> None:
    wide = Slowdown(
        victim=SetWork("futex", 0),
        aggressor=None,
        value=value,
        interval=Interval(low, high),
        alone_ns=1.0,
        slots=9,
        late=0,
    )

    def after(times: float) -> bool:
        ends = (value * (end / value) ** times**-0.5 for end in (low, high))
        return evolve(wide, interval=Interval(*ends)).undecided

    assert wide.undecided
    assert after(0.99 * wide.runs_needed)
    assert not after(1.01 * wide.runs_needed)
