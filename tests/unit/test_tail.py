"""Statements on the tail against series whose true tail and dependence are known."""

from __future__ import annotations

import numpy as np
import pytest
from attrs import evolve
from helpers.latency_series import MS, cpu_of, part_of

from deadbeat.analysis.periodic import beat_ms
from deadbeat.analysis.tail import (
    Part,
    dependence,
    dispersion,
    duration,
    exceeding,
    extremal_index,
    intervals_estimator,
    late_places,
    tail_statements,
)
from deadbeat.model.histogram import Histogram
from deadbeat.model.latency import CpuLatency, Late


def independent(random: np.random.Generator, many: int) -> np.ndarray:
    return (20_000 + 10_000 * random.exponential(size=many)).astype(np.int64)


def moving(random: np.random.Generator, many: int) -> np.ndarray:
    """Maxima of two neighbours: extremal index 1/2 exactly (Leadbetter 1983)."""
    values = independent(random, many + 1)
    return np.maximum(values[1:], values[:-1])


def test_nothing_above_the_largest_of_n_is_three_by_n() -> None:
    random = np.random.default_rng(1)
    parts = [part_of(cpu_of(independent(random, 20_000)), repeat=n) for n in range(5)]
    (found,) = tail_statements(parts, [])
    assert (found.kind, found.wake_ups, found.exceeded) == ("maximum", 100_000, 0)
    assert found.limit_ns == max(part.cpus[0].raw.max_ns or 0 for part in parts)
    assert found.bound == pytest.approx(-np.log(0.05) / found.effective, rel=1e-3)
    assert found.effective <= found.wake_ups
    assert (found.runs, found.runs_exceeded) == (5, 0)
    assert found.run_bound == pytest.approx(1 - 0.05 ** (1 / 5))


def test_ten_times_less_takes_nine_times_as_long_again() -> None:
    (found,) = tail_statements([part_of(cpu_of([1_000] * 36_000, ring=0))], [])
    assert found.hours == pytest.approx(0.01)
    assert found.hours_for_tenth == pytest.approx(0.09, rel=1e-3)
    assert "5.4 min more" in found.text and "if wake-ups are independent" in found.text


def test_a_deadline_that_was_exceeded_is_told_as_it_is() -> None:
    values = [1_000] * 990 + [50_000] * 10
    parts = [part_of(cpu_of(values, ring=0))]
    maximum, missed, kept = tail_statements(parts, [40_000, 60_000])
    assert maximum.limit_ns == 50_000 and maximum.exceeded == 0
    assert (missed.exceeded, missed.runs_exceeded, missed.hours_for_tenth) == (10, 1, None)
    assert missed.bound is not None and 0.01 < missed.bound < 0.02
    assert "10 of 1,000" in missed.text and "it does happen" in missed.text
    assert kept.exceeded == 0 and kept.kind == "deadline"


def test_a_value_cut_off_below_a_deadline_may_have_been_above_it() -> None:
    micro = Histogram(
        buckets=Histogram.of([50_000]).buckets,
        counts=[3],
        min_ns=50_000,
        max_ns=50_000,
        sum_ns=150_000,
        resolution_ns=1_000,
    )
    assert exceeding(micro, 50_500) == 3
    assert exceeding(micro, 50_999) == 0
    part = part_of(evolve(cpu_of([1]), raw=micro, worst=()))
    assert tail_statements([part], [])[0].limit_ns == 50_999


def test_missed_periods_count_where_they_can_have_been_late_enough() -> None:
    """A stall of 5 ms at 1 ms: the four periods behind it waited 4 ms at most."""
    cpu = cpu_of([10_000] * 95 + [5 * MS], ring=0, missed=4)
    limits = [3 * MS, 4 * MS, 6 * MS]
    _, *found = tail_statements([part_of(cpu)], limits)
    assert [each.exceeded for each in found] == [5, 1, 0]
    assert all(each.wake_ups == 100 for each in found)
    waited = [10_000] * 95 + [5 * MS, 4 * MS, 3 * MS, 2 * MS, MS]
    corrected = evolve(cpu, corrected=Histogram.of(waited))
    _, *found = tail_statements([part_of(corrected)], [int(3.5 * MS)])
    assert [each.exceeded for each in found] == [2]


def test_gaps_tell_the_extremal_index() -> None:
    random = np.random.default_rng(2)
    alone = extremal_index([part_of(cpu_of(independent(random, 50_000), ring=500))])
    paired = extremal_index([part_of(cpu_of(moving(random, 50_000), ring=500))])
    assert alone is not None and alone > 0.85
    assert paired == pytest.approx(0.5, abs=0.08)
    assert extremal_index([part_of(cpu_of([1, 2, 3], ring=3))]) is None


def test_the_intervals_estimator_is_that_of_ferro_and_segers() -> None:
    """Equation 5 by hand: both of its cases."""
    assert intervals_estimator(np.array([1.0, 1.0, 2.0, 2.0])) == pytest.approx(
        min(1.0, 2 * 36 / (4 * 10))
    )
    gaps = np.array([1.0, 10.0, 1.0, 30.0])
    expected = 2 * (9 + 29) ** 2 / (4 * (9 * 8 + 29 * 28))
    assert intervals_estimator(gaps) == pytest.approx(expected)


def test_stalls_of_all_cpus_at_once_are_one_cluster() -> None:
    random = np.random.default_rng(3)
    values = independent(random, 20_000)
    both = [part_of(cpu_of(values), cpu_of(values, cpu=1))]
    index = extremal_index(both)
    assert index is not None and index == pytest.approx(0.5, abs=0.1)


def test_missed_periods_are_of_the_cluster_of_the_wake_up_that_made_them() -> None:
    ring = (
        Late(due_ns=7 * MS, latency_ns=3 * MS + 500_000, missed=3),
        Late(due_ns=0, latency_ns=MS),
    )
    part = part_of(evolve(cpu_of([MS] * 20), worst=ring))
    assert late_places(part).tolist() == [0, 7, 8, 9]


def test_runs_that_differ_more_than_chance_count_less() -> None:
    random = np.random.default_rng(4)
    alike = [part_of(cpu_of(independent(random, 5_000)), repeat=n) for n in range(6)]
    stalls = [
        part_of(cpu_of(np.r_[independent(random, 4_960), [900_000] * (40 if n == 3 else 0)]))
        for n in range(6)
    ]
    calm, wild = dispersion(alike), dispersion(stalls)
    assert calm is not None and calm < 2.6  # 5 % of such are above 2.2
    assert wild is not None and wild > 10
    assert "between runs" in dependence(stalls).text
    assert dispersion(alike[:2]) is None


def test_no_order_and_no_runs_to_compare_is_said() -> None:
    found = dependence([part_of(cpu_of([5_000] * 100, ring=0))])
    assert found.factor is None and "not known" in found.text


def test_without_a_wake_up_there_is_no_statement() -> None:
    empty = CpuLatency(cpu=0, expected=10, cycles=0, missed=10, raw=Histogram())
    assert tail_statements([part_of(empty)], [1_000]) == []
    assert tail_statements([], [1_000]) == []


@pytest.mark.parametrize(
    ("hours", "text"), [(0.01, "36 s"), (0.075, "4.5 min"), (7.2, "7.2 h"), (288.0, "12 days")]
)
def test_durations_are_told_in_their_unit(hours: float, text: str) -> None:
    assert duration(hours) == text


def covered(series: object, samples: int, *, share_above: object) -> float:
    """Share of experiments whose bound on P(> maximum) holds."""
    held = 0
    for seed in range(samples):
        random = np.random.default_rng(seed)
        parts = [
            part_of(cpu_of(series(random, 1_000), ring=60), repeat=n)  # type: ignore[operator]
            for n in range(4)
        ]
        (found,) = tail_statements(parts, [])
        assert found.bound is not None
        held += share_above(found.limit_ns) < found.bound  # type: ignore[operator]
    return held / samples


def one_above(limit_ns: int) -> float:
    return float(np.exp(-(limit_ns - 20_000) / 10_000))


def test_bounds_hold_in_95_of_100_experiments() -> None:
    """A representative: fewer than 54 of 60 would be seen once in 50 at 95 %."""
    assert covered(independent, 60, share_above=one_above) >= 54 / 60


@pytest.mark.statistical
@pytest.mark.parametrize("series", [independent, moving])
def test_bounds_hold_with_and_without_clusters(series: object) -> None:
    def above(limit_ns: int) -> float:
        share = one_above(limit_ns)
        return share if series is independent else 1 - (1 - share) ** 2

    assert covered(series, 400, share_above=above) >= 0.93


# -- beats


def beaten(period: int | None, seed: int, *, seconds: int = 10) -> list[Part]:
    random = np.random.default_rng(seed)
    parts = []
    for repeat in range(4):
        values = independent(random, seconds * 1_000)
        if period:
            values[int(random.integers(period)) :: period] += 200_000
        parts.append(part_of(cpu_of(values, ring=40), repeat=repeat))
    return parts


@pytest.mark.parametrize("period", [1000, 100, 20])
def test_a_beat_is_found_and_not_its_harmonics(period: int) -> None:
    assert beat_ms(beaten(period, seed=5, seconds=20)) == period


def test_no_beat_is_heard_in_noise() -> None:
    """The chance of one is 1 in 1000 each."""
    assert [beat_ms(beaten(None, seed=seed)) for seed in range(20)] == [None] * 20
