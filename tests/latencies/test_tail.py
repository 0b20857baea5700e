"""Statements on the tail against series whose true tail and dependence are known."""

import numpy as np
import pytest
from attrs import evolve
from helpers import often
from helpers.latency_series import MS, cpu_of, part_of

from deadbeat.base.model.histogram import Histogram
from deadbeat.base.stats.binomial import poisson_upper
from deadbeat.latencies.latency.model import CpuLatency, LateWakeUp
from deadbeat.latencies.latency.tail import (
    Part,
    beat_ms,
    dependence,
    dispersion,
    episodes_above,
    exceeding,
    tail_statements,
)


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
    assert "5.4 min more" in found.text and "if wake-ups are independent and all" in found.text


def test_what_was_exceeded_is_a_tenth_too_after_ten_times_as_long() -> None:
    """One of 30,000: ten times as many without another bound a tenth.

    Of gamma variables of shapes 2 and 1 the ratio exceeds 1 / (1 / sqrt(0.95) - 1) in 5 %.
    """
    values = [1_000] * 29_999 + [90_000]
    short, long = (
        tail_statements([part_of(cpu_of(values + [1_000] * more, ring=20))], [50_000])[1]
        for more in (0, 270_000)
    )
    assert short.exceeded == long.exceeded == 1
    assert short.bound == pytest.approx(1 / (0.95**-0.5 - 1) / 30_000, rel=1e-6)
    assert long.bound == pytest.approx((short.bound or 0) / 10, rel=1e-6)
    assert short.hours + short.hours_for_tenth == pytest.approx(long.hours)
    assert "ld make that a tenth" in short.text


def test_a_deadline_that_was_exceeded_is_told_as_it_is() -> None:
    values = [1_000] * 990 + [50_000] * 10
    parts = [part_of(cpu_of(values, ring=0))]
    maximum, missed, kept = tail_statements(parts, [40_000, 60_000])
    assert maximum.limit_ns == 50_000 and maximum.exceeded == 0
    assert (missed.exceeded, missed.runs_exceeded) == (10, 1)
    assert missed.bound is not None and 0.01 < missed.bound < 0.02
    assert "10 of 1,000" in missed.text and missed.text.endswith(". The run exceeded it")
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


def test_late_wake_ups_near_each_other_are_one_episode() -> None:
    values = np.full(5_000, 1_000)
    values[[100, 101, 105, 300, 4_000]] = 50_000
    part = part_of(cpu_of(values, ring=20))
    assert [each.size for each in episodes_above(part, 40_000)] == [3, 1, 1]
    (_, found) = tail_statements([part], [40_000])
    assert (found.exceeded, found.episodes) == (5, 3)
    assert found.effective == pytest.approx(5_000 / (11 / 5))
    assert found.episodes_per_hour == pytest.approx(7.753657 * 720, rel=1e-5)
    assert "5 of 5,000" in found.text and "in 3 episodes" in found.text


def test_one_burst_that_fills_the_ring_is_one_episode() -> None:
    """All gaps are 1: the opposite of independent."""
    values = np.full(5_000, 1_000)
    values[200:240] = 50_000 + np.arange(40)
    part = part_of(cpu_of(values, ring=20))
    maximum, found = tail_statements([part], [40_000])
    assert maximum.effective == pytest.approx(5_000 / 20)
    assert found.episodes is None and found.effective == pytest.approx(5_000 / 40)
    assert found.bound == pytest.approx(40 / (0.95**-0.5 - 1) / 5_000, rel=1e-6)
    # As often as if each of those that no ring has had come by itself.
    assert found.episodes_per_hour == pytest.approx(poisson_upper(21) * 720)


def test_stalls_of_all_cpus_at_once_are_one_episode() -> None:
    values = np.full(2_000, 1_000)
    values[[100, 900]] = 50_000
    both = part_of(cpu_of(values), cpu_of(values, cpu=1))
    assert [each.size for each in episodes_above(both, 40_000)] == [2, 2]


def test_missed_periods_are_of_the_episode_of_the_wake_up_that_made_them() -> None:
    ring = (
        LateWakeUp(due_ns=70 * MS, latency_ns=3 * MS + 500_000, missed=3),
        LateWakeUp(due_ns=0, latency_ns=MS),
    )
    part = part_of(evolve(cpu_of([MS] * 20), worst=ring))
    assert [(each.start_ns, each.size) for each in episodes_above(part, MS)] == [(70 * MS, 3)]
    assert [each.size for each in episodes_above(part, 3 * MS)] == [1]


def test_runs_that_differ_more_than_chance_count_less_and_it_is_said() -> None:
    random = np.random.default_rng(4)
    alike = [part_of(cpu_of(independent(random, 5_000), ring=20), repeat=n) for n in range(6)]
    worse = [
        part_of(cpu_of(independent(random, 5_000) * (3 if n == 3 else 1), ring=20), repeat=n)
        for n in range(6)
    ]
    calm, wild = dispersion(alike), dispersion(worse)
    assert calm is not None and calm < 2.6  # 5 % of such are above 2.2
    assert wild is not None and wild > 10
    (found,) = tail_statements(worse, [])
    assert found.wake_ups / found.effective > wild  # its upper bound, not its estimate
    assert "differ no more than these" in found.condition and "at most" in found.dependence
    (found,) = tail_statements(alike, [])
    assert "all runs are like these" in found.condition
    assert dispersion(alike[:1]) is None


def test_of_one_run_alikeness_is_a_condition_in_the_sentence() -> None:
    random = np.random.default_rng(4)
    (found,) = tail_statements([part_of(cpu_of(independent(random, 5_000), ring=20))], [])
    assert "how runs differ is not known" in found.dependence
    assert f"(95 %), {found.condition}" in found.text and "if all runs are like" in found.text
    assert "If runs differ, up to 95 % of such runs exceed it" in found.text


def test_no_order_and_no_runs_to_compare_is_said() -> None:
    found = dependence([part_of(cpu_of([5_000] * 100, ring=0))], 5_000)
    assert found.factor is None and "does not record when" in found.text
    assert found.condition.startswith("if wake-ups are independent and all runs")


def test_every_number_has_its_condition_beside_it() -> None:
    values = np.full(5_000, 1_000)
    values[[100, 101, 900]] = 50_000, 60_000, 40_000
    maximum, found = tail_statements([part_of(cpu_of(values, ring=3))], [45_000])
    assert maximum.condition == (
        "if all runs are like these and an episode of later ones has at most 1.66 wake-ups on"
        " average"
    )
    assert found.condition == found.rate_condition == "if all runs are like these"
    for each in (maximum, found):
        assert f"(95 %), {each.condition}. " in each.text
        assert f"times an hour {each.rate_condition}. " in each.text


def test_of_one_wake_up_nothing_is_shown() -> None:
    maximum, over, under = tail_statements([part_of(cpu_of([5_000]))], [1_000, MS])
    for found in (maximum, over, under):
        assert (found.bound, found.hours_for_tenth, found.episodes_per_hour) == (1.0, None, None)
        assert "is not known" in found.text and "more without" not in found.text
    assert maximum.text == (
        "How many wake-ups are later than 5.0 us is not known: it is the latest of 1 wake-up. If"
        " runs differ,"
        " up to 95 % of such runs exceed it (the run did not)"
    )


def test_without_a_wake_up_there_is_no_statement() -> None:
    empty = CpuLatency(cpu=0, expected=10, cycles=0, missed=10, raw=Histogram())
    assert tail_statements([part_of(empty)], [1_000]) == []
    assert tail_statements([], [1_000]) == []


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
        held += share_above(found.limit_ns) < found.bound  # type: ignore[operator]
    return held / samples


def one_above(limit_ns: int) -> float:
    return float(np.exp(-(limit_ns - 20_000) / 10_000))


@pytest.mark.parametrize(
    ("series", "samples"), [(independent, 60), *often((independent, 400), (moving, 400))]
)
def test_bounds_hold_in_95_of_100_experiments(series: object, samples: int) -> None:
    """Fewer than 54 of 60 would be seen once in 50 at 95 %."""

    def above(limit_ns: int) -> float:
        share = one_above(limit_ns)
        return share if series is independent else 1 - (1 - share) ** 2

    assert covered(series, samples, share_above=above) >= (0.9 if samples < 100 else 0.93)


def bad_or_not(random: np.random.Generator, repeat: int, *, share: float, times: float) -> Part:
    """A run of 2 s on two CPUs, sometimes with latencies so many times as spread."""
    scale = times if random.random() < share else 1.0
    values = 5_000 + 2_000 * scale * random.exponential(size=(2, 2_000))
    cpus = (cpu_of(each.astype(np.int64), cpu=cpu, ring=20) for cpu, each in enumerate(values))
    return part_of(*cpus, repeat=repeat)


def runs_above(limit_ns: int, *, share: float, times: float) -> float:
    one = [np.exp(-(limit_ns - 5_000) / 2_000 / scale) for scale in (1.0, times)]
    good, bad = (-np.expm1(4_000 * np.log1p(-each)) for each in one)
    return float((1 - share) * good + share * bad)


def runs_held(samples: int, *, share: float, times: float, runs: int) -> float:
    held = 0
    for seed in range(samples):
        random = np.random.default_rng(seed)
        parts = [bad_or_not(random, n, share=share, times=times) for n in range(runs)]
        (found,) = tail_statements(parts, [])
        truth = runs_above(found.limit_ns, share=share, times=times)
        held += truth <= (found.run_bound or 0.0)
    return held / samples


RARE = [(300, share, times, runs) for share, times in ((0.2, 3.0), (0.1, 5.0))
        for runs in (1, 2, 5, 10)]  # fmt: skip


@pytest.mark.parametrize(("samples", "share", "times", "runs"), [(40, 0.2, 3, 3), *often(*RARE)])
def test_the_bound_by_runs_holds_of_runs_that_are_not_alike(
    samples: int, share: float, times: float, runs: int
) -> None:
    """Fewer than 36 of 40 would be seen once in 20 at 95 %."""
    held = runs_held(samples, share=share, times=times, runs=runs)
    assert held >= (0.9 if samples < 100 else 0.92)


def stall_statements(seed: int, *, runs: int, length: int = 100) -> tuple[bool, bool, bool]:
    """Of a deadline of half a stall, one a run: seen, share of wake-ups and rate both bounded."""
    deadline, seconds = length // 2 * MS, 4
    parts = stalled(seed, runs=runs, seconds=seconds, length=length)
    (_, found) = tail_statements(parts, [deadline])
    late = (length + 1) // 2 + 0.5
    truth = late / (seconds * 1_000)
    assert found.bound is not None and found.episodes_per_hour is not None
    return found.exceeded > 0, truth <= found.bound, found.episodes_per_hour >= 900


@pytest.mark.parametrize(
    ("samples", "runs"), [(40, 5), *often(*((300, runs) for runs in (1, 2, 5, 10)))]
)
def test_stalls_are_counted_as_episodes_and_those_that_were_seen_bounded(samples: int, runs: int):
    least = 0.9 if samples < 100 else 0.93
    found = [stall_statements(seed, runs=runs) for seed in range(samples)]
    assert sum(rate for _, _, rate in found) >= least * samples
    seen = [share for was, share, _ in found if was]
    assert sum(seen) >= least * len(seen)


def of_random_length(random: np.random.Generator, repeat: int) -> Part:
    """3 s, one stall on average, of an exponential length: each with its missed periods."""
    values = independent(random, 3_000)
    moments = random.integers(3_000, size=random.poisson(1))
    late = {int(at): int((2 + random.exponential(10)) * MS) for at in moments}
    return with_stalls(values, late, repeat)


def with_stalls(values: np.ndarray, late: dict[int, int], repeat: int) -> Part:
    """Moments, ms, and how late each is, ns."""
    whole = [LateWakeUp(due_ns=at * MS, latency_ns=by, missed=by // MS) for at, by in late.items()]
    waited = [by - MS * step for by in late.values() for step in range(by // MS + 1)]
    cpu = cpu_of(values, ring=20)
    return part_of(
        evolve(
            cpu,
            raw=Histogram.of([*values, *late.values()]),
            corrected=Histogram.of([*values, *waited]),
            worst=(*whole, *cpu.worst),
        ),
        repeat=repeat,
    )


def burst(random: np.random.Generator, repeat: int) -> Part:
    """3 s, two bursts on average, of a geometric number of wake-ups three periods apart."""
    values = independent(random, 3_400)
    for at in random.integers(3_000, size=random.poisson(2)):
        values[at + 3 * np.arange(min(random.geometric(0.05), 130))] = 5 * MS
    return part_of(cpu_of(values, ring=20), repeat=repeat)


def shares_held(make: object, samples: int, *, runs: int) -> tuple[float, float]:
    """Of a deadline of 4 ms: shares where it was exceeded, and rates."""
    random = np.random.default_rng(6)
    pool = [make(random, number) for number in range(300)]  # type: ignore[operator]
    truth = sum(part.exceeding(4 * MS) for part in pool) / sum(part.wake_ups for part in pool)
    often = sum(len(episodes_above(part, 4 * MS)) for part in pool) / (
        sum(part.run.seconds for part in pool) / 3600
    )
    shares, rates = [], 0
    for _ in range(samples):
        chosen = random.choice(len(pool), runs, replace=False)
        (_, found) = tail_statements([pool[number] for number in chosen], [4 * MS])
        shares += [truth <= (found.bound or 0)] if found.exceeded else []
        rates += found.episodes_per_hour is None or often <= found.episodes_per_hour
    return sum(shares) / len(shares), rates / samples


LONG = [(make, 300, runs) for make in (of_random_length, burst) for runs in (1, 2, 3, 5, 10)]


@pytest.mark.parametrize(("make", "samples", "runs"), [(of_random_length, 60, 5), *often(*LONG)])
def test_stalls_of_random_length_are_bounded_by_the_few_that_were_seen(
    make: object, samples: int, runs: int
) -> None:
    least = 0.9 if samples < 100 else 0.93
    assert min(shares_held(make, samples, runs=runs)) >= least


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


def stalled(seed: int, *, runs: int, seconds: int = 5, length: int = 50) -> list[Part]:
    """Stalls at random moments, one a run on average, each with its missed periods."""
    random = np.random.default_rng(seed)
    parts = []
    for repeat in range(runs):
        values = independent(random, seconds * 1_000)
        starts = random.integers(0, seconds * 1_000, size=random.poisson(1)).tolist()
        parts.append(with_stalls(values, dict.fromkeys(starts, length * MS + MS // 2), repeat))
    return parts


@pytest.mark.parametrize(("samples", "runs"), [(12, 5), *often((300, 1), (300, 5))])
def test_a_random_stall_has_one_phase_and_no_beat(samples: int, runs: int) -> None:
    """The chance is 1 in 1000 of each; two of 300 would be seen once in 27."""
    found = sum(beat_ms(stalled(seed, runs=runs)) is not None for seed in range(samples))
    assert found <= samples // 300


#: Groups of stalls of a run: how many, stalls of each, and within how many ms.
GROUPS = [(2, 10, 500), (2, 10, 60), (3, 7, 100), (4, 5, 300), (6, 4, 150), (20, 1, 1)]


def stalled_at(random: np.random.Generator, moments: list[int], seconds: int) -> Part:
    """A run with stalls of 3 to 8 ms, whose ring holds the 20 latest wake-ups."""
    quiet = cpu_of((5_000 + 2_000 * random.exponential(size=seconds * 1_000)).astype(np.int64))
    stalls = [
        LateWakeUp(due_ns=moment * MS, latency_ns=int(random.uniform(3, 8) * MS), missed=3)
        for moment in sorted(set(moments))
    ]
    worst = sorted((*stalls, *quiet.worst), key=lambda late: -late.latency_ns)[:20]
    raw = quiet.raw + Histogram.of([late.latency_ns for late in stalls])
    return part_of(evolve(quiet, cycles=raw.total, raw=raw, worst=tuple(worst)))


def grouped(random: np.random.Generator, groups: int, per: int, spread: int) -> Part:
    moments = [
        int(start + after)
        for start in random.integers(0, 4_400, groups)
        for after in random.integers(0, spread, per)
    ]
    return stalled_at(random, moments, 5)


def beating(random: np.random.Generator, period: int, *, missing: float = 0.0) -> Part:
    """Every ``period`` ms with 2 % scatter for 10 s, and, where some are missing, two others."""
    moments = [
        int(at + random.normal(0, period / 50))
        for at in range(int(random.integers(period)), 9_900, period)
        if random.random() >= missing
    ]
    others = random.integers(0, 9_900, 2).tolist() if missing else []
    return stalled_at(random, [max(moment, 0) for moment in moments + others], 10)


def found_in_groups(samples: int, groups: tuple[int, int, int], *, runs: int) -> int:
    random = np.random.default_rng(2)
    return sum(
        beat_ms([grouped(random, *groups) for _ in range(runs)]) is not None for _ in range(samples)
    )


def found_beats(samples: int, period: int, *, missing: float) -> int:
    random = np.random.default_rng(4)
    return sum(
        beat_ms([beating(random, period, missing=missing) for _ in range(3)]) == period
        for _ in range(samples)
    )


@pytest.mark.parametrize("groups", GROUPS)
@pytest.mark.parametrize(("samples", "runs"), [(8, 5), *often((200, 1), (200, 3), (200, 5))])
def test_groups_of_stalls_at_random_moments_keep_no_beat(
    groups: tuple[int, int, int], samples: int, runs: int
) -> None:
    """Where each stall counted by itself up to 77 % of them were called a beat."""
    assert found_in_groups(samples, groups, runs=runs) <= samples // 100


MANY = [(150, period, missing) for period in (100, 250, 1000) for missing in (0.0, 0.2)]


@pytest.mark.parametrize(
    ("samples", "period", "missing"), [(6, 100, 0.0), (6, 250, 0.2), (6, 1000, 0.0), *often(*MANY)]
)
def test_stalls_that_keep_one_are_found(samples: int, period: int, missing: float) -> None:
    least = 5 if samples < 10 else 0.7 * samples
    assert found_beats(samples, period, missing=missing) >= least
