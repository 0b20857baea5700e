"""Truth: Clopper & Pearson where jobs are independent, bursts by hand, worlds of known shares."""

import numpy as np
import pytest

from deadbeat.base.stats.exceedance import Jobs
from deadbeat.base.stats.intervals import clopper_pearson


def jobs(rounds: list[list[float]], *more: list[list[float]]) -> Jobs:
    """Values by round; a list of rounds per task set."""
    runs = []
    for of_set in (rounds, *more):
        values = [value for own in of_set for value in own]
        place = np.repeat(np.arange(len(of_set)), [len(own) for own in of_set])
        runs.append((np.array(values), place))
    return Jobs.of(runs)


def test_no_miss_is_bounded_by_the_rounds() -> None:
    share = jobs([[0.5, 0.6]] * 20, [[0.5]] * 10).beyond(1.0)
    assert (share.value, share.low) == (0.0, 0.0)
    assert share.high == pytest.approx(1 - 0.05 ** (1 / 30))
    assert Jobs.of([]).beyond(1.0) is None


def test_a_limit_is_not_beyond_itself() -> None:
    share = jobs([[1.0, 1.0, 2.0]] * 4).beyond(1.0)
    assert share.value == pytest.approx(1 / 3)


def test_a_burst_counts_as_one_event() -> None:
    calm, burst = [0.1] * 10, [2.0] * 10
    one_burst = jobs([burst] + [calm] * 99)
    scattered = jobs([[2.0, *calm[1:]]] * 10 + [calm] * 90)
    assert one_burst.effective_jobs(10) == pytest.approx(100, rel=0.05)
    assert scattered.effective_jobs(10) == pytest.approx(1000, rel=0.05)
    wide, narrow = one_burst.beyond(1.0), scattered.beyond(1.0)
    assert wide.value == narrow.value == 0.01
    assert wide.low < narrow.low < 0.01 < narrow.high < wide.high


def test_what_sets_differ_by_is_no_noise_of_these_sets() -> None:
    # One set misses everything, the other nothing, always: of these two nothing is uncertain.
    known = jobs([[2.0] * 10] * 50, [[0.1] * 10] * 50)
    assert known.effective_jobs(500) == 1000
    share = known.beyond(1.0)
    assert share.interval == pytest.approx(clopper_pearson(500, 1000))


def test_what_never_finished_is_beyond_every_limit() -> None:
    share = jobs([[np.inf, 0.1]] * 10).beyond(1e9)
    assert share.value == 0.5


def test_a_needed_deadline_lies_between_those_of_its_interval() -> None:
    random = np.random.default_rng(1)
    known = jobs(random.exponential(1.0, (400, 25)).tolist())
    value, low, high = known.limit(0.01)
    assert low < value < high
    # -log(0.01); the interval of 10,000 independent jobs holds it
    assert low < 4.605 < high
    assert np.mean(known.values > value) <= 0.01
    # The ends are those at which the interval of the share just leaves 1 %.
    above, beyond = known.beyond(np.nextafter(low, 0)), known.beyond(high)
    assert above.low > 0.01 >= beyond.high


def test_too_few_rounds_bound_no_rare_lateness() -> None:
    value, low, high = jobs([[1.0, 1.1]] * 100).limit(0.001)
    assert (value, low, high) == (1.1, 1.1, None)
    assert Jobs.of([]).limit(0.01) == (None, None, None)


def test_what_never_finished_leaves_a_lower_end() -> None:
    value, low, high = jobs([[np.inf, 3.0]] * 100).limit(0.01)
    assert (value, low, high) == (None, 3.0, None)


#: Rounds of a stall that hits all its jobs, jobs that are late on their own, share of a stalled
#: round's jobs that are hit.
WORLDS = [(1 / 300, 0.0, 1.0), (1 / 100, 0.0, 1.0), (1 / 30, 0.0, 0.5), (1 / 10, 0.0, 0.5),
          (0.0, 0.001, 1.0), (0.0, 0.01, 1.0), (1 / 300, 0.003, 1.0), (0.3, 0.0, 0.8)]  # fmt: skip


@pytest.mark.statistical
@pytest.mark.parametrize(("stall", "alone", "hit"), WORLDS)
def test_coverage_where_misses_come_in_bursts(stall: float, alone: float, hit: float) -> None:
    random = np.random.default_rng(20261122)
    truth, held, trials = 1 - (1 - stall * hit) * (1 - alone), 0, 1000
    place = np.repeat(np.arange(50), 10)
    for _ in range(trials):
        runs = []
        for _ in range(6):
            stalled = (random.random(50) < stall)[place] & (random.random(500) < hit)
            runs.append((2.0 * (stalled | (random.random(500) < alone)), place))
        share = Jobs.of(runs).beyond(1.0)
        held += share.low <= truth <= share.high
    assert held / trials >= 0.925
