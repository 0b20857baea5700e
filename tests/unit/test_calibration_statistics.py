"""Truth: samples drawn from known costs; published quantiles of Student's t."""

from __future__ import annotations

import zlib
from pathlib import Path

import attrs
import numpy as np
import pytest
from numpy.typing import NDArray

from deadbeat.executors import calibration as c
from deadbeat.executors.student import t_quantile_975
from deadbeat.model.errors import CalibrationError, DataError
from deadbeat.model.tasks import Entry

ENTRIES = [Entry("short", 1), Entry("long", 8)]
TRUE_PS = {0: (400_000, 150_000, 100_000), 1: (25_000_000, 22_000_000, 20_000_000)}
CLOCK_PS = 20_000
QUIET_PS = 8_000_000


def made(
    *,
    groups: int = 40,
    cores: int = 1,
    noise: float = 0.01,
    slow_groups: int = 0,
    parallel: NDArray[np.void] | None = None,
    error: int = 0,
    wrong: int = 0,
) -> c.Samples:
    """Visits of both entries, five a group of which four are measured, in random order of size."""
    rng = np.random.default_rng(7)
    rows = []
    for core in range(cores):
        for group in range(groups):
            state = 1.25 if group < slow_groups else 1.0
            for visit in range(1, 5):
                for entry, (first, again, repeat) in TRUE_PS.items():
                    repeats = int(rng.integers(5, 200)) if entry == 0 else 2
                    noisy = state * (1 + noise * rng.standard_normal(3))
                    rows.append(
                        (
                            group * 5 + visit,
                            entry,
                            core,
                            entry,
                            repeats,
                            round(QUIET_PS * state),
                            round(QUIET_PS * state),
                            round((first * noisy[0] + CLOCK_PS) / 1000),
                            round((repeat * repeats * noisy[1] + CLOCK_PS) / 1000),
                            round((again * noisy[2] + CLOCK_PS) / 1000),
                        )
                    )
    states = [
        (entry, core, error if entry == 0 else 0, wrong if entry == 0 else 0, 0, 1)
        for core in range(cores)
        for entry in TRUE_PS
    ]
    return c.Samples(
        clock_cost_ps=CLOCK_PS,
        entries=np.array(states, c.ENTRY),
        samples=np.array(rows, c.SAMPLE),
        parallel=np.zeros(0, c.PARALLEL) if parallel is None else parallel,
    )


def estimates(samples: c.Samples, *, cores: int = 1, cold: bool = False) -> c.Estimates:
    return c.estimate_costs(samples, ENTRIES, cores=cores, cold=cold)


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
    assert (cost.samples, cost.rejected) == (160, 0)


def test_another_state_of_the_host_is_rejected_and_not_averaged() -> None:
    found = estimates(made(slow_groups=15))
    cost = found.costs["long/8"][0]
    assert cost.repeat_ps == pytest.approx(20_000_000, rel=0.01)
    assert (cost.samples, cost.rejected) == (100, 60)
    assert found.quiet_share == pytest.approx(25 / 40)
    assert found.yardstick_ps == (QUIET_PS,)


def test_rare_stalls_do_not_move_a_cost() -> None:
    samples = made()
    samples.samples["first_ns"][::37] += 1_000_000
    assert estimates(samples).costs["short/1"][0].first_ps == pytest.approx(400_000, rel=0.01)


def test_a_machine_that_is_never_quiet_gets_no_answer() -> None:
    samples = made()
    samples.samples["yardstick_after_ps"][:] = QUIET_PS * 2
    with pytest.raises(CalibrationError, match="quiet in only 0 %"):
        estimates(samples)


def test_an_entry_known_too_roughly_is_refused_with_the_reason() -> None:
    samples = made(groups=8, noise=0.3)
    refused = estimates(samples).refused
    assert "long/8" in refused
    assert "only known to within" in refused["long/8"]


def test_too_few_groups_are_no_answer() -> None:
    with pytest.raises(CalibrationError, match="only 0 of 2 entries got an answer"):
        estimates(made(groups=3))


def test_an_entry_that_cannot_be_set_up_or_is_wrong_is_refused() -> None:
    assert "errno 38" in estimates(made(error=38)).refused["short/1"]
    assert "check failed" in estimates(made(wrong=1)).refused["short/1"]


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


def rounds(entry: int, together: float, control: float) -> list[tuple[int, ...]]:
    """Fifteen rounds on two cores: a block of 100 us alone, and together slower by a factor."""
    rows = []
    for number in range(15):
        for core in range(2):
            rows.append((entry, core, number, 0, 100_000, 90_000))
            rows.append(
                (entry, core, number, 1, round(100_000 * together), round(90_000 * control))
            )
    return rows


def test_a_class_is_judged_by_what_it_adds_to_pure_computation() -> None:
    # both entries are 8 % slower on all cores, but one of them only because everything is
    parallel = np.array(rounds(0, 1.08, 1.08) + rounds(1, 1.08, 1.0), c.PARALLEL)
    found = estimates(made(cores=2, parallel=parallel), cores=2)
    assert found.parallel_ratio["short"] == pytest.approx(1.0)
    assert found.parallel_ratio["long"] == pytest.approx(1.08)
    assert found.compute_parallel_ratio is not None


def test_cache_lines_are_read_per_pair() -> None:
    lines = [(c.CACHE_LINE_ENTRY, 0, n, 1, 60_000 + 1000 * n, 0) for n in range(9)]
    found = estimates(made(cores=2, parallel=np.array(lines, c.PARALLEL)), cores=2)
    assert found.cache_line_ps == {"0-1": 62_000}
    assert found.parallel_ratio == {}
    assert found.compute_parallel_ratio is None


def file_of(samples: c.Samples, path: Path) -> Path:
    header = np.zeros(1, c.HEADER)
    header["magic"], header["version"] = b"DBCALS\r\n", 1
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


@pytest.mark.parametrize(
    ("degrees", "published"),
    # Abramowitz & Stegun, table 26.10
    [(1, 12.706), (2, 4.303), (4, 2.776), (5, 2.571), (10, 2.228), (30, 2.042), (120, 1.980)],
)
def test_quantiles_of_student(degrees: int, published: float) -> None:
    assert t_quantile_975(degrees) == pytest.approx(published, abs=0.002)


def test_references_are_those_of_a_calibration_and_need_no_costs() -> None:
    samples = made()
    found = estimates(samples)
    references = (found.yardstick_ps, found.cache_line_ps)
    assert c.estimate_references(samples, cores=1) == references
    few = attrs.evolve(samples, samples=samples.samples[:8])
    with pytest.raises(CalibrationError, match="got an answer"):
        estimates(few)
    assert c.estimate_references(few, cores=1)[0][0] == pytest.approx(references[0][0], rel=0.01)
