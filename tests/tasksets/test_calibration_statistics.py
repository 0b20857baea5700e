"""Truth: samples drawn from known costs and known noise; published quantiles of Student's t and of
Wilcoxon's signed ranks."""

import math
import zlib
from pathlib import Path

import attrs
import numpy as np
import pytest
from helpers.runs import made_task
from numpy.typing import NDArray

from deadbeat.base.model.errors import CalibrationError, DataError
from deadbeat.base.model.platform import example_platform
from deadbeat.tasksets.executors import calibration as c
from deadbeat.tasksets.executors.base import Costing
from deadbeat.tasksets.model.calibration import Calibration, Cost, ParallelRatio
from deadbeat.tasksets.model.examples import example_calibration
from deadbeat.tasksets.model.tasks import Entry, FragmentUse, Kind, Segment, Task

ENTRIES = [Entry("short", 1), Entry("long", 8)]
TRUE_PS = {0: (400_000, 150_000, 100_000), 1: (25_000_000, 22_000_000, 20_000_000)}
CLOCK_PS = 20_000
QUIET_PS = 8_000_000
#: A visit comes every few ms.
VISIT_MS = 3.3


def made(
    *,
    groups: int = 40,
    cores: int = 1,
    noise: float = 0.01,
    states: NDArray[np.float64] | None = None,
    parallel: NDArray[np.void] | None = None,
    error: int = 0,
    wrong: int = 0,
) -> c.Samples:
    """Visits of both entries, five a group of which four are measured; ``states``: by how much the
    host slows each visit, [core, group, visit]."""
    rng = np.random.default_rng(7)
    if states is None:
        states = np.ones((cores, groups, 4))
    rows = []
    for core, group, visit in np.ndindex(cores, groups, 4):
        state = states[core, group, visit]
        for entry, (first, again, repeat) in TRUE_PS.items():
            repeats = int(rng.integers(5, 200)) if entry == 0 else 2
            noisy = state * (1 + noise * rng.standard_normal(3))
            spent_ps = (first * noisy[0], repeat * repeats * noisy[1], again * noisy[2])
            spent_ns = (round((ps + CLOCK_PS) / 1000) for ps in spent_ps)
            quiet = round(QUIET_PS * state)
            rows.append(
                (group * 5 + visit + 1, entry, core, entry, repeats, quiet, quiet, *spent_ns)
            )
    conditions = [
        (entry, core, error if entry == 0 else 0, wrong if entry == 0 else 0, 0, 1)
        for core in range(cores)
        for entry in TRUE_PS
    ]
    return c.Samples(
        clock_cost_ps=CLOCK_PS,
        entries=np.array(conditions, c.ENTRY),
        samples=np.array(rows, c.SAMPLE),
        parallel=np.zeros(0, c.PARALLEL) if parallel is None else parallel,
    )


def bursts(*, mean_ms: float, slow: float, groups: int = 40, cores: int = 1) -> NDArray[np.float64]:
    """A neighbour that is on and off half of the time each, for ``made``."""
    rng = np.random.default_rng(11)
    states = np.ones((cores, groups * 4))
    for core in range(cores):
        at_ms, on = 0.0, False
        while at_ms < groups * 4 * VISIT_MS:
            length_ms = rng.exponential(mean_ms)
            first, last = (round(edge / VISIT_MS) for edge in (at_ms, at_ms + length_ms))
            states[core, first:last] = slow if on else 1.0
            at_ms, on = at_ms + length_ms, not on
    return states.reshape(cores, groups, 4)


def estimates(
    samples: c.Samples, *, kinds: tuple[int, ...] = (0,), cold: bool = False
) -> Calibration:
    asked = Costing(pool="full", seconds=1, basis="cold" if cold else "warm")
    own = {"platform": example_platform(len(kinds)), "refused": {}, "began_s": 0.0}
    return c.calibration_of(samples, ENTRIES, asked, kinds=kinds, **own)


@pytest.mark.parametrize("number", [0, 1])
def test_known_costs_are_recovered_within_their_intervals(number: int) -> None:
    cost = estimates(made()).costs[str(ENTRIES[number])][0]
    first, again, repeat = TRUE_PS[number]
    assert cost.first_ps == pytest.approx(first, rel=0.01)
    assert cost.again_ps == pytest.approx(again, rel=0.01)
    assert cost.repeat_ps == pytest.approx(repeat, rel=0.01)
    assert cost.first_low_ps < cost.first_ps < cost.first_high_ps
    assert cost.repeat_low_ps <= repeat * 1.005
    assert cost.repeat_high_ps >= repeat * 0.995
    assert (cost.samples, cost.rejected, cost.calm) == (160, 0, True)
    assert not cost.known_badly


def test_another_state_of_the_host_is_left_out_and_not_averaged() -> None:
    states = np.ones((1, 40, 4))
    states[0, :15] = 1.25
    found = estimates(made(states=states))
    cost = found.costs["long/8"][0]
    assert cost.repeat_ps == pytest.approx(20_000_000, rel=0.01)
    assert (cost.samples, cost.rejected, cost.calm) == (100, 60, True)
    assert found.yardstick_ps == (QUIET_PS,)


@pytest.mark.parametrize("mean_ms", [3, 10, 100])
@pytest.mark.parametrize("slow", [1.05, 1.25, 2.0])
def test_a_busy_host_refuses_nothing_and_costs_what_the_quiet_one_does(mean_ms: float, slow: float):
    quiet = estimates(made())
    busy = estimates(made(states=bursts(mean_ms=mean_ms, slow=slow)))
    assert busy.refused == quiet.refused == {}
    for name, (cost,) in busy.costs.items():
        assert cost.calm
        for part in ("first_ps", "again_ps", "repeat_ps"):
            assert getattr(cost, part) == pytest.approx(
                getattr(quiet.costs[name][0], part), rel=0.01
            )


def test_a_host_that_is_hardly_ever_calm_gives_the_calmest_and_marks_it() -> None:
    # yardsticks spread evenly over 60 %: the fast mode was met in less than six groups
    states = np.linspace(1.0, 1.6, 40).repeat(4).reshape(1, 40, 4)
    cost = estimates(made(states=states)).costs["long/8"][0]
    assert not cost.calm and cost.known_badly
    assert (cost.samples, cost.rejected) == (40, 120)
    assert 20_000_000 < cost.repeat_ps < 1.15 * 20_000_000
    # the fast mode is the tenth of the visits: 1.06
    assert cost.repeat_low_ps < 1.06 * 20_000_000


@pytest.mark.parametrize("groups", [1, 2, 3])
def test_few_visits_are_kept_with_a_wide_interval(groups: int) -> None:
    cost = estimates(made(groups=groups)).costs["short/1"][0]
    assert cost.samples == 4 * groups
    assert cost.repeat_low_ps <= TRUE_PS[0][2] <= cost.repeat_high_ps
    assert math.isfinite(cost.uncertainty)
    if groups == 1:
        assert (cost.first_low_ps, cost.first_high_ps) == (0, 2 * cost.first_ps)
        assert cost.known_badly


def test_an_entry_known_too_roughly_is_kept_and_marked() -> None:
    cost = estimates(made(groups=8, noise=0.3)).costs["long/8"][0]
    assert cost.calm and cost.uncertainty > 0.1 and cost.known_badly


def test_rare_stalls_do_not_move_a_cost() -> None:
    samples = made()
    samples.samples["first_ns"][::37] += 1_000_000
    assert estimates(samples).costs["short/1"][0].first_ps == pytest.approx(400_000, rel=0.01)


def test_an_entry_that_cannot_be_set_up_or_is_wrong_is_refused() -> None:
    assert estimates(made(error=38)).refused == {
        "short/1": "core 0: it cannot be set up (errno 38)"
    }
    assert "check failed" in estimates(made(wrong=1)).refused["short/1"]
    everywhere = made(cores=2)
    everywhere.entries["error"][0] = 28  # it must be usable on every core
    found = estimates(everywhere, kinds=(0, 0))
    assert set(found.refused) == {"short/1"}
    assert set(found.costs) == {"long/8"}


def test_where_nothing_can_run_there_is_no_calibration() -> None:
    samples = made(error=38)
    samples.entries["error"][:] = 38
    with pytest.raises(CalibrationError, match="no entry can be used here"):
        estimates(samples)
    with pytest.raises(CalibrationError, match="no entry can be used on core 0"):
        estimates(attrs.evolve(samples, samples=samples.samples[:0]))


def test_an_entry_cheaper_than_the_clock_is_refused() -> None:
    samples = made()
    samples.samples["first_ns"][samples.samples["entry"] == 0] = CLOCK_PS // 1000
    assert estimates(samples).refused == {"short/1": "it costs less than reading the clock"}


def test_cold_costs_charge_every_repeat_as_a_first_use() -> None:
    cost = estimates(made(), cold=True).costs["short/1"][0]
    assert cost.first_ps == cost.again_ps == cost.repeat_ps


def test_a_later_use_never_costs_more_than_the_first() -> None:
    samples = made()
    samples.samples["again_ns"][:] = samples.samples["first_ns"] * 2
    cost = estimates(samples).costs["short/1"][0]
    assert cost.again_ps == cost.first_ps


def test_intervals_hold_the_true_cost_in_about_95_of_100_calibrations() -> None:
    rng = np.random.default_rng(11)
    groups = np.repeat(np.arange(20), 4)
    inside = 0
    for _ in range(1000):
        # visits of a group share a part of their error: they are neighbours in time
        values = 100 + rng.standard_normal(20)[groups] + rng.standard_normal(80)
        mean, half = c._estimate(values, groups, np.ones(80))
        inside += abs(mean - 100) <= half
    assert 0.92 <= inside / 1000 <= 0.98


# --- kinds of cores ------------------------------------------------------------------------------


def test_cores_of_a_kind_are_pooled_and_known_as_well_as_one() -> None:
    four = estimates(made(cores=4, groups=10), kinds=(0, 0, 0, 0)).costs["long/8"]
    assert len(four) == 4 and len(set(four)) == 1
    one = estimates(made(groups=40)).costs["long/8"][0]
    assert four[0].samples == one.samples == 160
    assert four[0].uncertainty == pytest.approx(one.uncertainty, rel=0.5)


def test_kinds_have_costs_of_their_own() -> None:
    states = np.ones((3, 40, 4))
    states[1] = 3.0  # not disturbed: another kind of core
    found = estimates(made(cores=3, states=states), kinds=(0, 1, 0))
    big, little, other = found.costs["long/8"]
    assert big == other
    assert little.repeat_ps == pytest.approx(3 * big.repeat_ps, rel=0.01)
    assert little.calm and found.yardstick_ps == (QUIET_PS, 3 * QUIET_PS, QUIET_PS)


def test_a_core_that_stays_disturbed_does_not_count() -> None:
    states = np.ones((2, 40, 4))
    states[1] = 1.2
    cost = estimates(made(cores=2, states=states), kinds=(0, 0)).costs["long/8"][1]
    assert cost.repeat_ps == pytest.approx(20_000_000, rel=0.01)
    assert (cost.samples, cost.rejected) == (160, 160)


def test_a_core_that_was_not_visited_has_the_cost_of_its_kind() -> None:
    samples = made(cores=2)
    only = attrs.evolve(samples, samples=samples.samples[samples.samples["core"] == 0])
    found = estimates(only, kinds=(0, 0))
    assert found.yardstick_ps == (QUIET_PS, QUIET_PS)
    assert found.costs["short/1"][0] == found.costs["short/1"][1]


def test_visits_do_not_grow_with_the_cores_and_meet_all_kinds_alike() -> None:
    assert c.visits_of((0, 0)) == (0, 1)
    assert c.visits_of((0,) * 64) == (0, 8, 16, 24, 32, 40, 48, 56)
    assert c.visits_of((0, 0, 0, 1)) == (0, 3, 1, 3, 2, 3)
    assert c.visits_of((0, 0, 1, 1)) == (0, 2, 1, 3)


# --- classes -------------------------------------------------------------------------------------


def rounds(
    entry: int,
    together: float,
    control: float = 1.0,
    *,
    slow: NDArray[np.float64] | None = None,
    count: int = 60,
    overlap: float = 1.0,
) -> list[tuple[int, ...]]:
    """Rounds on two cores: a block of 100 us alone, and together slower by a factor; ``slow``: what
    the host adds, [round, core, alone or together, block or control]."""
    noise = np.ones((count, 2, 2, 2)) if slow is None else slow
    return [
        (
            *(entry, core, number, beside),
            round(100_000 * (together if beside else 1.0) * noise[number, core, beside, 0]),
            round(90_000 * (control if beside else 1.0) * noise[number, core, beside, 1]),
            *(round(1e6 * overlap) if beside else 0, 0),
        )
        for number, core, beside in np.ndindex(count, 2, 2)
    ]


def ratios(*blocks: list[tuple[int, ...]]) -> Calibration:
    rows = np.array([row for block in blocks for row in block], c.PARALLEL)
    return estimates(made(cores=2, parallel=rows), kinds=(0, 0))


def test_a_class_is_judged_by_what_it_adds_to_pure_computation() -> None:
    # both entries are 8 % slower on all cores, but one of them only because everything is
    found = ratios(rounds(0, 1.08, 1.08), rounds(1, 1.08))
    assert found.parallel_ratio["short"] == ParallelRatio(ratio=1.0, low=1.0, high=1.0, rounds=60)
    assert found.parallel_ratio["long"] == ParallelRatio(ratio=1.08, low=1.08, high=1.08, rounds=60)
    assert [found.parallel_ratio[name].refutes for name in ("short", "long")] == [False, True]
    assert found.compute_parallel_ratio.rounds == 120


def burst_noise(rng: np.random.Generator, *, mean: float, slow: float) -> NDArray[np.float64]:
    """A neighbour of each core, on and off half of the time: bursts of ``mean`` blocks, whose edges
    fall into blocks, and stalls of ten blocks' length once in fifty."""
    noise = np.ones((2, 60 * 2 * 2))
    for core in range(2):
        at, on = 0.0, bool(rng.integers(2))
        while at < noise.shape[1]:
            end = at + rng.exponential(mean)
            edges = np.clip(np.arange(noise.shape[1] + 1), at, end)
            noise[core] += (slow - 1) * np.diff(edges) if on else 0.0
            at, on = end, not on
    noise += np.where(rng.random(noise.shape) < 0.02, 10 * rng.random(noise.shape), 0.0)
    noise *= 1 + 0.005 * rng.standard_normal(noise.shape)
    # alone and together take turns at coming first
    shaped = noise.reshape(2, 60, 2, 2).transpose(1, 0, 2, 3)
    shaped[::2] = shaped[::2, :, ::-1]
    return shaped


@pytest.mark.parametrize("mean", [30.0, 100.0, 1000.0])  # of 0.1 ms
@pytest.mark.parametrize("slow", [1.25, 2.0])
def test_bursts_refute_no_class_and_hide_no_competition(mean: float, slow: float) -> None:
    rng = np.random.default_rng(3)
    refuted = {1.0: 0, 1.1: 0}
    inside = 0
    for _ in range(60):
        for true in refuted:
            noise = burst_noise(rng, mean=mean, slow=slow)
            beyond, _ = c._round_logs(np.array(rounds(0, true, slow=noise), c.PARALLEL))
            ratio = c._interval(beyond)
            refuted[true] += ratio.refutes
            inside += ratio.low <= true <= ratio.high
    assert refuted[1.0] == 0
    assert refuted[1.1] >= 45
    assert inside / 120 >= 0.88


def test_blocks_that_did_not_overlap_say_nothing() -> None:
    apart = ratios(rounds(0, 1.5, overlap=0.6), rounds(1, 1.5, count=9))
    assert apart.parallel_ratio == {}  # the first never ran at once, the second too seldom
    mixed = np.array(rounds(0, 1.2), c.PARALLEL)
    early = mixed["round"] < 40
    mixed["overlap_ppm"][early] //= 2
    mixed["block_ns"][early & (mixed["together"] == 1)] = 100_000
    beyond, _ = c._round_logs(mixed)
    assert c._interval(beyond) == ParallelRatio(ratio=1.2, low=1.2, high=1.2, rounds=20)


def test_a_number_without_an_interval_refutes_nothing() -> None:
    assert not ParallelRatio(ratio=1.3, low=1.3, high=1.3, rounds=0).refutes


@pytest.mark.parametrize(
    ("count", "critical"),
    # Wilcoxon & Wilcox 1964, two-sided 5 %: the largest rank sum that is significant
    [(10, 8), (12, 13), (15, 25), (20, 52), (25, 89)],
)
def test_intervals_are_those_of_the_signed_rank_test(count: int, critical: int) -> None:
    values = np.sqrt(np.arange(1, count + 1))
    means = sorted((a + b) / 2 for i, a in enumerate(values) for b in values[i:])
    found = c._interval(values)
    assert math.log(found.low) == pytest.approx(means[critical], rel=0.02)


def test_cache_lines_are_read_per_pair() -> None:
    lines = [(c.CACHE_LINE_ENTRY, 0, n, 1, 60_000 + 1000 * n, 0, 0, 0) for n in range(9)]
    found = estimates(made(cores=2, parallel=np.array(lines, c.PARALLEL)), kinds=(0, 0))
    assert found.cache_line_ps == {"0-1": 62_000}
    assert found.parallel_ratio == {}
    assert found.compute_parallel_ratio is None


def file_of(samples: c.Samples, path: Path) -> Path:
    header = np.zeros(1, c.HEADER)
    header["magic"], header["version"] = b"DBCALS\r\n", 2
    header["entry_count"] = len(ENTRIES)
    header["sample_count"] = len(samples.samples)
    header["parallel_count"] = len(samples.parallel)
    header["clock_cost_ps"] = samples.clock_cost_ps
    parts = [header, samples.entries, samples.samples, samples.parallel]
    data = b"".join(part.tobytes() for part in parts)
    path.write_bytes(data + zlib.crc32(data).to_bytes(4, "little"))
    return path


def test_a_samples_file_is_read_back(tmp_path: Path) -> None:
    samples = made()
    read = c.read_samples(file_of(samples, tmp_path / "samples"), cores=1)
    assert read.clock_cost_ps == CLOCK_PS
    assert (read.samples == samples.samples).all()
    assert (read.entries == samples.entries).all()


@pytest.mark.parametrize("damage", ["cut", "flip", "empty", "version"])
def test_a_damaged_samples_file_is_refused(tmp_path: Path, damage: str) -> None:
    path = file_of(made(), tmp_path / "samples")
    data = bytearray(path.read_bytes())
    if damage == "cut":
        data = data[:-100]
    elif damage == "flip":
        data[200] ^= 1
    elif damage == "empty":
        data = bytearray()
    else:
        data[8] = 9
        data[-4:] = zlib.crc32(data[:-4]).to_bytes(4, "little")
    path.write_bytes(data)
    with pytest.raises(DataError):
        c.read_samples(path, cores=1)


def test_the_width_of_a_use_is_that_of_its_parts_together() -> None:
    cost = Cost(
        first_ps=1_000_000, first_low_ps=900_000, first_high_ps=1_100_000,
        again_ps=500_000, again_low_ps=500_000, again_high_ps=500_000,
        repeat_ps=100_000, repeat_low_ps=98_000, repeat_high_ps=102_000,
        samples=40, rejected=0,
    )  # fmt: skip
    # 100 repeats: the first is 1 us +- 100 ns, 99 further ones 100 ns +- 2 ns each
    assert cost.uncertainty == pytest.approx((100 + 99 * 2) / (1000 + 99 * 100))


def test_of_two_visits_the_cost_is_their_mean() -> None:
    ones = np.ones(2)
    mean, half = c._estimate(np.array([1.0, 2.0]), np.array([0, 1]), ones)
    assert mean == 1.5 and half > 0


COST = Cost(
    first_ps=2_000, first_low_ps=1_900, first_high_ps=2_100,
    again_ps=1_000, again_low_ps=970, again_high_ps=1_030,
    repeat_ps=500, repeat_low_ps=490, repeat_high_ps=510,
    samples=40, rejected=0,
)  # fmt: skip
CALIBRATION: Calibration = attrs.evolve(
    example_calibration({}), costs={"a/1": (COST,), "b/1": (COST,)}
)


def task(*uses: tuple[str, int]) -> Task:
    made = tuple(FragmentUse(Entry(name, 1), repeats) for name, repeats in uses)
    return made_task(*(Segment(Kind.NS, 1, 1, (use,)) for use in made))


def test_uses_of_one_entry_add_up() -> None:
    # first + 3 repeats, then again + 1 repeat: 2000 + 1500 + 1000 + 500 ps
    expected = (100 + 3 * 10 + 30 + 10) / 5_000
    assert CALIBRATION.cost_uncertainty(task(("a", 4), ("a", 2))) == pytest.approx(expected)


def test_different_entries_add_in_squares() -> None:
    one, both = task(("a", 4)), task(("a", 4), ("b", 4))
    alone = CALIBRATION.cost_uncertainty(one)
    assert alone == pytest.approx(130 / 3_500)
    assert CALIBRATION.cost_uncertainty(both) == pytest.approx(alone / math.sqrt(2))


def test_a_task_without_uses_has_none() -> None:
    assert CALIBRATION.cost_uncertainty(task()) == 0.0
