"""Truth: slots, prices and intervals worked out by hand."""

import pytest

from deadbeat.executors.controls import call_costs, hold_slopes
from deadbeat.prices.rates import repairman
from deadbeat.prices.table import PriceBatch, Slot
from deadbeat.prices.works import PriceWork


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
