"""Whether late wake-ups keep a beat, against stalls that do and groups of stalls that do not."""

import numpy as np
import pytest
from attrs import evolve
from helpers.latency_series import MS, cpu_of, part_of
from test_tail import often

from deadbeat.kinds.latency.tail import Part, beat_ms
from deadbeat.model.histogram import Histogram
from deadbeat.model.latency import LateWakeUp

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
