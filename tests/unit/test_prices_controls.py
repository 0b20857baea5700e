"""Truth: slots, prices and intervals worked out by hand."""

from collections import Counter

import pytest

from deadbeat.executors.controls import call_costs, hold_slopes
from deadbeat.prices.rates import repairman
from deadbeat.prices.stage import TARGET, weighted
from deadbeat.prices.table import PriceBatch, Slot
from deadbeat.prices.works import WEIGHT_MAX, WORKS_MAX, PriceWork


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
