"""Truth: the made-up machine, whose slowdowns are known, and slots written by hand."""

from __future__ import annotations

import json

import pytest

import deadbeat
from deadbeat.kinds.channels.engine import SimulatedChannels, parsed, true_slowdown
from deadbeat.kinds.channels.results import (
    ALONE,
    ASLEEP,
    InterfereRun,
    InterfereSummary,
    ordered,
    shares,
    slowdowns,
)
from deadbeat.kinds.channels.spec import InterfereKey, InterfereSpec, SetWork, plan, resolved
from deadbeat.model.errors import DataError, UsageError
from deadbeat.model.specification import plain_of, read

SPEC = resolved(read(InterfereSpec, {}, {"repeats": 4}), (0, 1, 2, 3))


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
        (0, 0, ALONE, 100, 0, 3_000),  # a stall of the host counts
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
        truth = true_slowdown(SPEC, place[cell.victim], aggressor)
        assert cell.interval is not None
        missed += not cell.interval.low <= truth <= cell.interval.high
        assert cell.shows == (truth > 1.0)
    assert len(cells) == 12 * 13
    assert missed <= 156 * 0.12


def summary() -> InterfereSummary:
    cells = slowdowns(SPEC.works, runs())
    return InterfereSummary(
        name="made-up",
        spec=SPEC,
        done=4,
        slots=0,
        labels=(),
        findings=(),
        refused={},
        cells=cells,
        order=ordered(SPEC.works, cells),
    )


def test_what_is_shared_follows_from_who_slows() -> None:
    found = summary()
    assert shares(found, SetWork("futex", 64, shared=True)) == "its own object"
    assert shares(found, SetWork("matmul", 20)) == "nothing"
    assert shares(found, SetWork("memory_stream", 256)) == "shared cache or memory bandwidth"


def test_works_that_suffer_alike_stand_side_by_side() -> None:
    order = [work.fragment for work in summary().order]
    streams = [at for at, name in enumerate(order) if name == "memory_stream"]
    assert streams[-1] - streams[0] == 1


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"works": "matmull"}, 'no fragment is called "matmull"'),
        ({"works": "matmul:21"}, "matmul has no size 21"),
        ({"works": "matmul:20@shared"}, "no object that cores could share"),
        ({"works": "Matmul;"}, "no fragment is called"),
        ({"repeats": "1"}, "repeats"),
    ],
)
def test_what_is_asked_in_vain_is_named(asked: dict[str, str], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        read(InterfereSpec, {}, asked)


def test_one_cpu_is_not_enough() -> None:
    with pytest.raises(UsageError, match="needs a CPU for the victim and one for the aggressor"):
        resolved(read(InterfereSpec, {}, {}), (0,))
    with pytest.raises(UsageError, match="there is no CPU 9"):
        resolved(read(InterfereSpec, {}, {"cpus": "0,9"}), (0, 1))


def test_a_specification_reads_back_as_it_was_written() -> None:
    assert read(InterfereSpec, plain_of(SPEC)) == SPEC


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"version": 2}', json.dumps({"version": 1, "works": [{}]})]
)
def test_damaged_slots_are_told(text: str) -> None:
    with pytest.raises(DataError):
        parsed(text, InterfereKey(1), "now")


def test_from_the_command_to_the_page(tmp_path) -> None:
    done = deadbeat.interfere(
        works="matmul:20,futex:64@shared", repeats=3, simulated=True, runs=tmp_path
    )
    assert done.simulated
    assert len(done.rows) == 2 * 3
    worst = max(done.rows, key=lambda row: row["value"])
    assert worst["victim"] == worst["aggressor"] == "futex:64@shared"
    assert deadbeat.open(tmp_path / "interfere").rows == done.rows
    assert (tmp_path / "interfere" / "report.html").is_file()
