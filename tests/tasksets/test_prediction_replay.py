"""Truth: two cores by hand; the scheduling simulator; a machine with known contention."""

from collections.abc import Mapping

import attrs
import pytest
from helpers.known_contention import (
    KnownMachine,
    KnownWork,
    Program,
    draw_set,
    matrix_of,
    replayed,
    true_slowdown,
)
from hypothesis import given, settings
from hypothesis import strategies as st

from deadbeat.base.model.systems import TimedTask
from deadbeat.base.stats.intervals import Interval
from deadbeat.sched.simulator import simulate_jobs
from deadbeat.tasksets.prediction.engine import slowdown_of
from deadbeat.tasksets.prices.rates import (
    PairMatrix,
    PairSlowdown,
    Rates,
    RatesByRivals,
    SizedWork,
    copied,
    scaled,
)
from deadbeat.tasksets.prices.replay import UNKNOWN, Overheads, ReplayTask, alone, replay


def task(core: int, *uses: tuple[int, float], **more: int) -> ReplayTask:
    given = {"priority": 1, "period_ns": 1000, "deadline_ns": 1000, "offset_ns": 0, **more}
    return ReplayTask(core=core, uses=uses, **given)


def pairwise(active: Mapping[int, int]) -> dict[int, float]:
    """SizedWork 0 takes three times as long beside work 1, which does not mind."""
    return {work: 3.0 if work == 0 and 1 in active else 1.0 for work in active}


# ---------- by hand ----------


def test_only_the_time_beside_the_rival_is_slow() -> None:
    # The rival is there for 60 ns, in which 20 of the 100 ns are done: 140 ns in all.
    victim, rival = task(0, (0, 100.0)), task(1, (1, 60.0))
    first, second = replay([victim, rival], pairwise, horizon_ns=1000)
    assert (first.spans_ns, second.spans_ns) == (pytest.approx(140.0), pytest.approx(60.0))
    assert slowdown_of([victim, rival], pairwise, horizon_ns=1000) == pytest.approx((1.4 + 1) / 2)


def test_a_rival_at_another_time_slows_nobody() -> None:
    tasks = [task(0, (0, 100.0)), task(1, (1, 60.0), offset_ns=500)]
    assert slowdown_of(tasks, pairwise, horizon_ns=10_000) == pytest.approx(1.0)


def test_both_hold_each_other_up_until_the_first_is_done() -> None:
    def both(active: Mapping[int, int]) -> dict[int, float]:
        return {work: 2.0 if cores > 1 else 1.0 for work, cores in active.items()}

    # 50 ns and 100 ns of one work: 100 ns until the first is done, 50 ns remain to the other.
    found = replay([task(0, (0, 50.0)), task(1, (0, 100.0))], both, horizon_ns=1000)
    assert [each.spans_ns for each in found] == [pytest.approx(100.0), pytest.approx(150.0)]


def test_work_of_which_nothing_is_known_neither_slows_nor_is_slowed() -> None:
    tasks = [task(0, (UNKNOWN, 100.0)), task(1, (1, 100.0))]
    assert slowdown_of(tasks, pairwise, horizon_ns=5000) == pytest.approx(1.0)


def test_a_job_that_is_preempted_keeps_its_span_but_not_the_core() -> None:
    low, high = task(0, (0, 100.0)), task(0, (1, 40.0), priority=2, offset_ns=30)
    first, second = replay([low, high], alone, horizon_ns=1000)
    assert (first.spans_ns, first.own_ns) == (pytest.approx(140.0), pytest.approx(100.0))
    assert second.spans_ns == pytest.approx(40.0)


def test_each_start_pays_a_wake_up_and_each_job_that_waited_a_switch() -> None:
    """0 to 10 wake-up; low runs 20 of 100 until 30; wake-up; high 40 to 80; switch; low from 85."""
    low, high = task(0, (0, 100.0)), task(0, (1, 40.0), priority=2, offset_ns=30)
    overheads = Overheads(wake_up_ns=10, switch_ns=5)
    first, second = replay([low, high], alone, horizon_ns=1000, overheads=overheads)
    assert (first.spans_ns, first.own_ns) == (pytest.approx(155.0), pytest.approx(100.0))
    assert second.spans_ns == pytest.approx(40.0)
    # released together the low one waits: 10 + 40, then 5
    low, high = (attrs.evolve(each, offset_ns=0) for each in (low, high))
    first, second = replay([low, high], alone, horizon_ns=1000, overheads=overheads)
    assert first.spans_ns == pytest.approx(100.0)


def test_nobody_is_slowed_by_a_core_that_wakes_up() -> None:
    # The victim has 100 - 30 ns left where the rival begins, which holds it up for 60 ns.
    victim, rival = task(0, (0, 100.0)), task(1, (1, 60.0), offset_ns=20)
    overheads = Overheads(wake_up_ns=10)
    first, _ = replay([victim, rival], pairwise, horizon_ns=1000, overheads=overheads)
    assert first.spans_ns == pytest.approx(100 + 60 * 2 / 3)


def test_a_job_that_lasts_past_its_period_costs_the_next_one() -> None:
    (found,) = replay([task(0, (0, 1500.0))], alone, horizon_ns=4_000)
    assert (found.finished, found.missed) == (2, 4)  # each second release is skipped


def test_a_set_is_copied_core_by_core_with_offsets_of_their_own() -> None:
    own = [task(0, (0, 10.0)), task(1, (1, 20.0))]
    found = copied(own, 5, seed=3)
    assert [each.uses[0][0] for each in found] == [0, 1, 0, 1, 0]
    assert [each.core for each in found] == [0, 1, 2, 3, 4]
    assert len({each.offset_ns for each in found[2:]}) == 3
    assert copied(own, 5, seed=3) == found
    assert copied(own, 1, seed=3) == (own[0],)


def test_scaled_periods_leave_the_work_as_it_is() -> None:
    (found,) = scaled([task(0, (0, 10.0), offset_ns=100)], 0.5)
    assert (found.period_ns, found.deadline_ns, found.offset_ns) == (500, 500, 50)
    assert found.cost_ns == 10.0


# ---------- the scheduling simulator ----------

TASKS = st.lists(
    st.tuples(
        st.integers(0, 1),  # core
        st.integers(1, 3),  # priority
        st.integers(5, 40),  # C
        st.integers(41, 200),  # T
        st.integers(0, 40),  # offset
    ),
    min_size=1,
    max_size=5,
)


@settings(max_examples=100, deadline=None)
@given(TASKS)
def test_without_interference_it_is_partitioned_fifo(rows: list[tuple[int, ...]]) -> None:
    horizon = 2_000
    found = replay(
        [
            task(c, (0, float(w)), priority=p, period_ns=t, deadline_ns=t, offset_ns=o)
            for c, p, w, t, o in rows
        ],
        alone,
        horizon_ns=horizon,
    )
    jobs = simulate_jobs(
        [
            TimedTask(home=c, priority=p, wcet=w, period=t, deadline=t, offset=o)
            for c, p, w, t, o in rows
        ],
        cores=2,
        horizon_ns=horizon,
        skip_overruns=True,
    )
    for index, each in enumerate(found):
        mine = jobs[(jobs[:, 0] == index) & (jobs[:, 4] >= 0) & (jobs[:, 4] < horizon)]
        assert each.finished == len(mine)
        assert each.spans_ns == pytest.approx(float((mine[:, 4] - mine[:, 3]).sum()), abs=1e-3)


# ---------- rates ----------

LOCK, OTHER = SizedWork("futex", 8, shared=True), SizedWork("futex", 64, shared=True)
STREAM, MATMUL = SizedWork("memory_stream", 4096), SizedWork("matmul", 20)


def matrix(values: Mapping[tuple[int, int], float], width: float = 0.0) -> PairMatrix:
    return PairMatrix(
        works=(LOCK, STREAM, MATMUL),
        computes=(False, True, True),
        memory=(False, True, False),
        pairs={
            pair: PairSlowdown(value=value, interval=Interval(value - width, value + width))
            for pair, value in values.items()
        },
    )


KNOWN = {(0, 0): 1.25, (1, 1): 1.4, (0, 1): 1.1}


def test_one_rival_slows_as_measured() -> None:
    rates = Rates(matrix(KNOWN))
    assert rates({0: 2, 2: 5}) == {0: pytest.approx(1.25), 2: 1.0}
    assert rates({0: 1, 1: 1}) == {0: pytest.approx(1.1), 1: pytest.approx(1.0)}


def test_more_rivals_queue_or_saturate_and_what_comes_both_ways_adds_up() -> None:
    rates = Rates(matrix(KNOWN))
    assert rates({0: 3})[0] == pytest.approx(repair := 1.6)  # three customers, by hand above
    assert rates({1: 10})[1] == pytest.approx(7.0)  # ten times 0.7 of the bandwidth
    assert rates({0: 3, 1: 1})[0] == pytest.approx(repair + 0.1)
    assert rates({1: 4, 2: 60})[2] == 1.0  # computation that nobody slows


def test_noise_is_shrunk_away_and_what_is_known_well_is_kept() -> None:
    assert PairSlowdown(value=1.1, interval=Interval(0.9, 1.3)).excess == pytest.approx(0.0)
    assert PairSlowdown(value=1.1, interval=Interval(1.09, 1.11)).excess == pytest.approx(0.1, 0.01)
    assert PairSlowdown(value=0.8, interval=None).excess == 0.0
    assert PairSlowdown(value=1.2, interval=None).excess == pytest.approx(0.2)


def test_the_high_end_holds_what_two_do_not_show() -> None:
    found = matrix({(0, 0): 1.0, (1, 1): 1.0})
    low, high = Rates(found, -1), Rates(found, 1)
    assert low({0: 16, 1: 16}) == {0: 1.0, 1: 1.0}
    assert high({1: 16})[1] == pytest.approx(8.0)  # each asks for half
    assert high({0: 16})[0] > 7.0
    assert high({2: 64})[2] == 1.0


def test_another_size_stands_in_and_says_so() -> None:
    found = matrix(KNOWN)
    assert found.place(LOCK) == (0, True)
    assert found.place(OTHER) == (0, False)
    assert found.place(SizedWork("futex", 8)) == (UNKNOWN, False)  # a lock of its own is other work
    assert found.place(SizedWork("crc32", 64)) == (UNKNOWN, False)


@settings(max_examples=50, deadline=None)
@given(
    st.dictionaries(st.tuples(st.integers(0, 2), st.integers(0, 2)), st.floats(0.8, 6.0)),
    st.dictionaries(st.integers(0, 2), st.integers(1, 20), min_size=1),
    st.integers(0, 2),
)
def test_one_more_core_never_speeds_a_work_up(
    values: dict[tuple[int, int], float], active: dict[int, int], more: int
) -> None:
    rates = Rates(matrix({pair: max(1.0, value) for pair, value in values.items()}))
    objects = {work: cores for work, cores in active.items() if work == 0}
    further = {**objects, 0: objects.get(0, 0) + 1}
    if objects:
        assert rates(further)[0] >= rates(objects)[0] - 1e-9
    assert all(value >= 1.0 for value in rates({**active, more: active.get(more, 0) + 1}).values())


def test_the_matrix_of_the_rivals_that_are_there_is_asked() -> None:
    one, three = matrix({(0, 0): 1.25}), attrs.evolve(matrix({(0, 0): 5.0}), rivals=3)
    rates = RatesByRivals((one, three))
    assert rates({0: 2})[0] == pytest.approx(1.25)
    assert rates({0: 3})[0] == pytest.approx(1.6)  # three customers, from what two show
    assert rates({0: 4})[0] == pytest.approx(5.0)
    assert rates({0: 8})[0] == pytest.approx(10.0)  # always held: one after the other


# ---------- a machine with known contention ----------


def test_the_known_machine_serves_a_lock_one_after_the_other() -> None:
    use = KnownWork(name="futex", think_ns=0, hold_ns=100, lock="a", draws="fixed")
    cores = KnownMachine([Program(uses=(use,)) for _ in range(4)], seed=1).run(40_001)
    assert [core.jobs for core in cores] == [100] * 4


def test_the_known_machine_divides_its_bandwidth_by_demand() -> None:
    use = KnownWork(name="memory_stream", stream_ns=100, demand=0.8)
    cores = KnownMachine([Program(uses=(use,)) for _ in range(5)], seed=1).run(40_001)
    assert [core.jobs for core in cores] == [100] * 5  # each takes 5 * 0.8 times as long


@pytest.mark.parametrize("cores", [2, 4, 16])
def test_saturation_that_two_cores_show_is_predicted_exactly(cores: int) -> None:
    works = (
        KnownWork(name="memory_stream", stream_ns=100e3, demand=0.7),
        KnownWork(name="matmul", think_ns=100e3),
    )
    rates = Rates(matrix_of(works, repeats=2, slots=1))
    programs = draw_set(works, cores, 5, busy=lambda draw: draw.uniform(0.2, 0.6))
    truth = true_slowdown(programs, 10e6, seed=1)
    assert truth > 1.01
    found = slowdown_of(replayed(programs, works), rates, horizon_ns=10e6)
    assert found == pytest.approx(truth, rel=1e-3)


def test_saturation_that_two_cores_hide_is_missed_and_inside_the_range() -> None:
    works = (KnownWork(name="memory_stream", stream_ns=100e3, demand=0.3),)
    found = matrix_of(works, repeats=2, slots=1)
    programs = draw_set(works, 16, 5, busy=lambda draw: draw.uniform(0.4, 0.6))
    truth = true_slowdown(programs, 10e6, seed=1)
    low, mean, high = (
        slowdown_of(replayed(programs, works), Rates(found, bend), horizon_ns=10e6)
        for bend in (-1, 0, 1)
    )
    assert low == mean == pytest.approx(1.0)
    assert 1.3 < truth < high
