"""Truth: round trips drawn from groups that are known beforehand."""

from collections import Counter

import numpy as np
import pytest
from numpy.typing import NDArray

from deadbeat.tasksets.executors.controls import call_costs, hold_slopes
from deadbeat.tasksets.prices.rates import repairman
from deadbeat.tasksets.prices.stage import TARGET, weighted
from deadbeat.tasksets.prices.states import CHANGED, FAR, NEAR, STEADY, PairStates, pair_states
from deadbeat.tasksets.prices.table import PriceBatch, Slot
from deadbeat.tasksets.prices.works import WEIGHT_MAX, WORKS_MAX, PriceWork

Floats = NDArray[np.float64]
NEAR_PS, FAR_PS = 92_000.0, 452_000.0


def group(centre_ps: float, count: int, spread: float = 0.06) -> Floats:
    """Round trips of one state, as an even grid of a log-normal's quantiles would have them."""
    grid = np.linspace(-2, 2, count) if count > 1 else np.zeros(count)
    return np.asarray(centre_ps * np.exp(spread * grid))


def both(near: int, far: int, spread: float = 0.06) -> Floats:
    return np.concatenate([group(NEAR_PS, near, spread), group(FAR_PS, far, spread)])


def test_one_group_is_steady() -> None:
    found = pair_states(group(NEAR_PS, 201))
    assert found.limit_ps is None
    assert found.trips_ps == {STEADY: pytest.approx(NEAR_PS)}


def test_two_groups_are_near_and_far() -> None:
    found = pair_states(both(181, 21))
    assert found.trips_ps == {NEAR: pytest.approx(NEAR_PS), FAR: pytest.approx(FAR_PS)}
    # half way, by their ratio
    assert found.limit_ps == pytest.approx((NEAR_PS * FAR_PS) ** 0.5)
    assert pair_states(both(181, 21)[::-1]) == found, "in any order"


ONE, TWO = [STEADY], [NEAR, FAR]


@pytest.mark.parametrize(
    ("trips", "states"),
    [
        pytest.param(group(NEAR_PS, 300, 0.5), ONE, id="wide"),
        pytest.param(np.linspace(50e3, 500e3, 300), ONE, id="even"),
        pytest.param(100e3 * (1 - 0.3 * np.log1p(-np.arange(300) / 300)), ONE, id="a tail above"),
        pytest.param(np.concatenate([group(1e5, 100), group(1.5e5, 100)]), ONE, id="too alike"),
        pytest.param([*both(150, 50), *np.linspace(1.3 * NEAR_PS, 0.8 * FAR_PS, 10)], TWO,
                     id="some on the way"),
        pytest.param([*both(150, 50), *np.geomspace(1.2 * NEAR_PS, 0.9 * FAR_PS, 100)], ONE,
                     id="many on the way"),
        pytest.param(both(199, 1), ONE, id="an outlier above"),
        pytest.param(both(1, 199), ONE, id="an outlier below"),
        pytest.param([100.0, 100.0, 450.0, 450.0], TWO, id="four are enough"),
        pytest.param([100.0, 102.0, 98.0, 101.0], ONE, id="four alike"),
        pytest.param([100.0, 450.0, 100.0], ONE, id="three are not enough"),
    ],
)  # fmt: skip
def test_noise_is_one_state_and_groups_are_two(trips: Floats, states: list[str]) -> None:
    assert list(pair_states(trips).trips_ps) == states


def test_one_state_is_at_the_median() -> None:
    assert pair_states([100.0, 450.0, 100.0]).trips_ps == {STEADY: 100.0}


@pytest.mark.parametrize("spread", [0.02, 0.06, 0.12])
def test_noise_within_two_states_leaves_them_two(spread: float) -> None:
    found = pair_states(both(150, 50, spread))
    assert (found.of(both(150, 50, spread)) == [NEAR] * 150 + [FAR] * 50).all()


def test_a_state_that_is_rarely_seen_is_one() -> None:
    found = pair_states(both(198, 2))
    assert found.trips_ps[FAR] == pytest.approx(FAR_PS, rel=0.01)
    assert (found.of(both(198, 2)) == FAR).sum() == 2


def test_what_was_not_measured_says_nothing() -> None:
    assert pair_states([0.0, 0.0]) == PairStates(limit_ps=None, trips_ps={})
    assert pair_states([]) == PairStates(limit_ps=None, trips_ps={})
    assert pair_states([0.0, *group(NEAR_PS, 9)]).trips_ps == {STEADY: pytest.approx(NEAR_PS)}
    assert pair_states(group(NEAR_PS, 9)).of(np.array([0.0, 1.0])).tolist() == ["", STEADY]


#: Before and after a slot, and what the slot is.
BETWEEN = [
    (NEAR_PS, NEAR_PS, NEAR),
    (FAR_PS, FAR_PS, FAR),
    (NEAR_PS, FAR_PS, CHANGED),
    (FAR_PS, NEAR_PS, CHANGED),
    (0.0, FAR_PS, FAR),
    (NEAR_PS, 0.0, NEAR),
    (0.0, 0.0, CHANGED),
]


def test_a_slot_between_two_states_has_changed() -> None:
    before, after, expected = zip(*BETWEEN, strict=True)
    states = pair_states(both(50, 50))
    assert states.between(np.array(before), np.array(after)).tolist() == [*expected]


def test_in_a_steady_pair_no_slot_changes() -> None:
    states = pair_states(group(NEAR_PS, 50))
    assert states.between(np.array([9e4, 0.0]), np.array([5e5, 0.0])).tolist() == [STEADY, CHANGED]


def slots_of(round_: int, work: int, hold_ns: int, *, handed_ns: int = 50) -> list[Slot]:
    """One core holds for as long as asked, the other for a fifth more; together in turns."""
    own, other = 10 * hold_ns, 12 * hold_ns
    cycle = 10 * (hold_ns + 1.2 * hold_ns + 2 * handed_ns)
    return [
        (round_, work, 0, 1, own, 10, 0, 0, 60_000, 60_000),
        (round_, work, 1, 1, other, 10, 0, 0, 60_000, 60_000),
        (round_, work, -1, 2, round(cycle), 10, round(cycle), 10, 60_000, 60_000),
    ]


def batch_of(*slots: Slot) -> PriceBatch:
    works = tuple(PriceWork(object="queue", size=size, cores=(0, 1)) for size in range(1, 4))
    return PriceBatch(works=works, errors=("",) * 3, slots=slots)


def test_the_slope_of_a_queue_is_its_number_of_cores_whatever_a_hand_over_takes() -> None:
    slots = [
        slot
        for round_, handed_ns in enumerate((50, 400))
        for work, hold_ns in enumerate((2_000, 9_000, 20_000))
        for slot in slots_of(round_, work, hold_ns, handed_ns=handed_ns)
    ]
    costs = call_costs(batch_of(*slots[::-1]))
    assert costs.shape == (2, 3, 2, 2)
    assert costs[1, 0].tolist() == [[2_000.0, 5_200.0], [2_400.0, 5_200.0]]
    assert hold_slopes(costs) == pytest.approx([2.0, 2.0])
    assert repairman(2, 1.0) == 2.0


def test_what_is_known_least_is_measured_most() -> None:
    names = ("known", "wide", "worst", "new")
    works = [PriceWork(object=name, size=8, cores=(0, 1)) for name in names]
    visit = PriceWork(object="wide", size=1, cores=(0, 1), visit=True)
    wide = {"known": TARGET / 2, "wide": 3 * TARGET, "worst": 1.0}
    listed = Counter(weighted([*works, visit], wide))
    assert [listed[work] for work in (*works, visit)] == [1, 3, WEIGHT_MAX, 1, 1]


def test_a_batch_is_no_longer_than_the_runtime_takes() -> None:
    works = [PriceWork(object=f"lock{n}", size=8, cores=(0, 1)) for n in range(100)]
    listed = weighted(works, {work.object: 1.0 for work in works})
    assert len(listed) == 500 <= WORKS_MAX
