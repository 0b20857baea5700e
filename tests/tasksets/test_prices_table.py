"""Truth: prices worked out by hand from a few slots, and a queue computed by hand."""

import math
from pathlib import Path

import numpy as np
import pytest
from attrs import evolve
from scipy.stats import t as student

from deadbeat.base.model.platform import example_platform
from deadbeat.base.store.folder import OwnedFolder
from deadbeat.tasksets.executors.controls import call_costs, hold_slopes
from deadbeat.tasksets.executors.scheduled import SimExecutor
from deadbeat.tasksets.executors.simulated import FakeExecutor
from deadbeat.tasksets.model.examples import example_entries, example_fragments
from deadbeat.tasksets.model.tasks import Kind
from deadbeat.tasksets.prices.rates import repairman
from deadbeat.tasksets.prices.stage import load_prices, save_prices, widths
from deadbeat.tasksets.prices.states import FAR, NEAR, STEADY
from deadbeat.tasksets.prices.table import PriceBatch, PriceTable, Slot, StoredPrices, price_table
from deadbeat.tasksets.prices.works import PriceWork, Pricing

MUTEX = PriceWork(object="mutex", size=8, operations=8, cores=(0, 1))
VISIT = evolve(MUTEX, size=1, operations=1, visit=True)
TRIP, FAR_TRIP = 60_000, 300_000


def alone(round_: int, who: int, call_ns: int, work: int = 0) -> Slot:
    return (round_, work, who, 1, 10 * call_ns, 10, 0, 0, TRIP, TRIP)


def together(
    round_: int, first: int, others: int, *, work: int = 0, trips: tuple[int, int] = (TRIP, TRIP)
) -> Slot:
    """Both cores in a window of 4,000 ns: so many calls of each."""
    return (round_, work, -1, 2, 4_000, first, 4_000, others, *trips)


def stored(
    *slots: Slot,
    works: tuple[PriceWork, ...] = (MUTEX,),
    errors: tuple[str, ...] = (),
    made_at: str = "2026-01-01T00:00:00+00:00",
) -> StoredPrices:
    batch = PriceBatch(
        works=works, errors=errors or ("",) * len(works), slots=slots, made_at=made_at
    )
    return StoredPrices(platform=example_platform(2), policy="fifo", batches=(batch,))


#: Alone 80 and 120 ns a call. Together 8,000 ns make 20 calls (400 ns each), then 16 (500 ns).
BOTH = math.sqrt(400 * 500)
TWO_ROUNDS = (
    *(alone(0, 0, 80), alone(0, 1, 120), together(0, 10, 10)),
    *(together(1, 10, 6), alone(1, 1, 120), alone(1, 0, 80)),
)


def test_a_price_is_cores_times_window_over_all_operations() -> None:
    table = price_table(stored(*TWO_ROUNDS))
    (price,) = table.prices
    # alone both make 2 calls in 80 x 120 x 2 / (80 + 120) ns: harmonic, as together
    assert price.alone_ns == pytest.approx(96 / 8)
    assert price.shared_ns == pytest.approx(BOTH / 8)
    assert price.ratio == pytest.approx(BOTH / 96)
    assert price.victim_ns == pytest.approx(400 / 8)
    assert price.aggressor_ns == pytest.approx(math.sqrt(400 * 4_000 / 6) / 8)
    assert (price.state, price.share, price.round_trip_ns) == (STEADY, 1.0, 60.0)
    assert (price.others, price.slots, table.slots, table.changed) == (1, 2, 2, 0)


def test_fewer_than_eight_slots_have_no_interval() -> None:
    (price,) = price_table(stored(*TWO_ROUNDS)).prices
    assert price.low_ns is None and price.high_ns is None and price.half_width is None
    assert price.reason == "seen 2 times: no interval"
    assert widths(price_table(stored(*TWO_ROUNDS))) == {}


def eight_rounds() -> list[Slot]:
    """Shared 400 and 500 ns a call in turn, alone always 80 and 120."""
    slots = []
    for round_ in range(8):
        calls = (10, 10) if round_ % 2 else (10, 6)
        slots += [alone(round_, 0, 80), alone(round_, 1, 120), together(round_, *calls)]
    return slots


def test_eight_slots_have_students_interval_of_their_mean() -> None:
    (price,) = price_table(stored(*eight_rounds())).prices
    assert price.shared_ns is not None and price.low_ns is not None and price.ratio_low is not None
    # the logarithm of each is so much off the mean: the standard deviation over the root of seven
    half = student.ppf(0.975, 7) * math.log(500 / 400) / 2 / math.sqrt(7)
    assert price.shared_ns == pytest.approx(BOTH / 8)
    assert math.log(price.shared_ns / price.low_ns) == pytest.approx(half)
    assert math.log((price.high_ns or 0) / price.shared_ns) == pytest.approx(half)
    assert price.ratio_low == pytest.approx(BOTH / 96 * math.exp(-half)), "alone does not scatter"
    assert price.reason == ""


def test_blocks_of_one_round_are_one_draw() -> None:
    """A work that is listed twice has two slots a round, and they are alike."""
    twice = [(number, work, *rest) for number, _, *rest in eight_rounds() for work in (0, 1)]
    (once,) = price_table(stored(*eight_rounds())).prices
    (price,) = price_table(stored(*twice, works=(MUTEX, MUTEX))).prices
    assert price.slots == 16
    assert (price.low_ns, price.ratio_low) == pytest.approx((once.low_ns, once.ratio_low))


def test_copies_of_an_object_on_cores_that_differ_cost_what_they_cost_alone() -> None:
    slots = [alone(0, 0, 80), alone(0, 1, 160), together(0, 50, 25)]
    (price,) = price_table(stored(*slots)).prices
    assert price.ratio == pytest.approx(1.0)


def test_cores_that_take_turns_in_being_alone_are_all_counted() -> None:
    """On more than four cores four are alone in a round."""
    many = PriceWork(object="mutex", size=1, cores=tuple(range(6)))
    slots = [
        slot
        for number, sampled in enumerate(((0, 1, 2, 3), (2, 3, 4, 5)))
        for slot in (*(alone(number, who, 100) for who in sampled), together(number, 10, 50))
    ]
    made = stored(*slots, works=(many,))
    made = evolve(made, platform=evolve(made.platform, cpus=tuple(range(6))))
    (price,) = price_table(made).prices
    assert (price.alone_ns, price.others) == (pytest.approx(100), 5)


def test_a_visit_costs_what_it_costs_above_its_own_work() -> None:
    visits = [alone(0, 0, 500, 1), alone(0, 1, 500, 1), together(0, 8, 8, work=1)]
    (price,) = price_table(stored(*TWO_ROUNDS, *visits, works=(MUTEX, VISIT))).prices
    # shared 4,000 ns / 8 calls of 500 ns: nothing above the 500 alone
    assert price.visited_extra_ns == pytest.approx(0.0)
    visits[2] = together(0, 5, 5, work=1)
    (price,) = price_table(stored(*TWO_ROUNDS, *visits, works=(MUTEX, VISIT))).prices
    assert price.visited_extra_ns == pytest.approx(300.0)
    assert price.visited_low_ns is None


def test_states_have_prices_of_their_own_and_a_change_is_in_none() -> None:
    far = (FAR_TRIP, FAR_TRIP)
    slots = [
        *TWO_ROUNDS,
        *(alone(2, 0, 80), alone(2, 1, 120), together(2, 5, 5, trips=far)),
        *(alone(3, 0, 80), alone(3, 1, 120), together(3, 1, 1, trips=(TRIP, FAR_TRIP))),
    ]
    table = price_table(stored(*slots))
    near, other = table.prices
    assert (near.state, near.shared_ns, near.share) == (NEAR, pytest.approx(BOTH / 8), 0.5)
    assert (other.state, other.shared_ns, other.share) == (FAR, pytest.approx(100), 0.25)
    assert (table.slots, table.changed) == (4, 1)
    assert table.usual() == NEAR


def test_what_is_refused_or_fails_has_its_reason_and_no_price() -> None:
    pipe = PriceWork(object="pipe", size=1, cores=(0, 1))
    made = stored(*TWO_ROUNDS, works=(MUTEX, pipe), errors=("", "Too many open files"))
    table = price_table(evolve(made, refused={"mutex_inherit": "needs SCHED_FIFO"}))
    assert [price.object for price in table.prices] == ["mutex"]
    assert table.refused == {"mutex_inherit": "needs SCHED_FIFO", "pipe": "Too many open files"}


def test_on_one_core_nobody_shares() -> None:
    work = evolve(MUTEX, cores=(0,))
    row = (0, 0, 0, 1, 800, 10, 0, 0, 0, 0)
    table = price_table(stored(row, works=(work,)))
    (price,) = table.prices
    assert (price.alone_ns, price.others, price.state) == (pytest.approx(10.0), 0, "")
    assert (price.shared_ns, price.ratio, price.low_ns) == (None, None, None)
    assert price.reason == "one CPU: nothing shared"
    assert (table.states, table.slots) == ({}, 0)


def test_a_state_that_was_not_seen_has_the_earlier_price_and_its_age() -> None:
    trips = (FAR_TRIP, FAR_TRIP)
    far = [
        slot
        for round_ in range(8)
        for slot in (
            *(alone(round_, 0, 80), alone(round_, 1, 120)),
            together(round_, 5, 5, trips=trips),
        )
    ]
    earlier = stored(*TWO_ROUNDS, *((slot[0] + 2, *slot[1:]) for slot in far))
    now = stored(*eight_rounds(), made_at="2026-01-01T01:00:00+00:00")
    hour_s = 1767225600.0 + 3600  # 2026-01-01T01:00:00Z
    table = price_table(now, [earlier], now_s=hour_s)
    near, old = table.prices
    assert (near.state, near.seconds_old, near.share) == (NEAR, None, 1.0)
    assert (old.state, old.seconds_old, old.share) == (FAR, 3600.0, 0.0)
    assert old.shared_ns == pytest.approx(100)
    assert table.shares == {NEAR: 1.0, FAR: 0.0}
    assert [price.state for price in price_table(now).prices] == [STEADY], "none is guessed"


def test_what_is_stored_is_read_again(tmp_path: Path) -> None:
    made = evolve(
        stored(*TWO_ROUNDS, works=(MUTEX, VISIT), errors=("", "not here")),
        refused={"mutex_inherit": "needs SCHED_FIFO"},
    )
    store = OwnedFolder(tmp_path)
    assert load_prices(tmp_path) is None
    save_prices(store, made)
    found = load_prices(tmp_path)
    assert found == evolve(made, platform=evolve(made.platform, details={}))
    assert found is not None
    assert price_table(found) == price_table(made)


def priced(machine: FakeExecutor, cores: tuple[int, ...]) -> tuple[PriceBatch, PriceTable]:
    entries = example_entries(example_fragments())
    works = tuple(
        PriceWork(object=entry.fragment, size=entry.size, cores=cores)
        for entry, kind in entries.items()
        if kind is Kind.SY
    )
    batch = machine.price(Pricing(works=works, seconds=4.0))
    made = StoredPrices(platform=machine.describe(), policy="fifo", batches=(batch,))
    return batch, price_table(made)


@pytest.mark.parametrize("cores", [2, 3, 4])
def test_the_slope_of_a_simulated_price_is_that_of_a_queue(cores: int) -> None:
    """Each waits for all others once (contention 1): as many times its own time as there are
    cores, by mean value analysis, too."""
    machine = SimExecutor(cores=cores, contention=1.0)
    batch, table = priced(machine, tuple(range(cores)))
    own = [price.alone_ns for price in table.prices]
    shared = [price.shared_ns or 0.0 for price in table.prices]
    assert max(own) > 10 * min(own)
    slope, more = np.polyfit(own, shared, 1)
    assert slope == pytest.approx(cores, rel=1e-6) == repairman(cores, 1.0)
    assert more == pytest.approx(0, abs=1e-3)
    if cores == 2:
        assert hold_slopes(call_costs(batch)) == pytest.approx([2.0] * 8, rel=1e-6)


def test_a_simulated_price_is_within_its_noise() -> None:
    _, table = priced(FakeExecutor(contention=0.6), (0, 1))
    for price in table.prices:
        assert price.ratio == pytest.approx(1.6, rel=0.04)
        assert price.half_width is not None and 0 < price.half_width < 0.05


def test_what_every_core_has_for_itself_costs_the_same_beside_others() -> None:
    work = PriceWork(object="pipe", size=64, cores=(0, 1), shared=False)
    batch = SimExecutor(contention=1.0).price(Pricing(works=(work,), seconds=4.0))
    costs = call_costs(batch)
    assert costs[..., 1] == pytest.approx(costs[..., 0], rel=1e-6)


def test_slots_of_one_round_have_no_interval() -> None:
    slots = [slot for n in range(8) for slot in (alone(0, 0, 80, n), together(0, 10, 10, work=n))]
    (price,) = price_table(stored(*slots, works=(MUTEX,) * 8)).prices
    assert (price.slots, price.low_ns, price.reason) == (8, None, "seen in one round: no interval")


def counted(handovers: int, sleeps: int, stopped_ns: int = 0) -> tuple[int, int, int]:
    return handovers, sleeps, stopped_ns


def test_a_lock_is_priced_by_its_hand_overs_in_each_mode() -> None:
    """A window of 4,000 ns, 8 operations a call: spinning 20 hand-overs for 20 calls, sleeping 4
    for 10. What an operation takes is 2 hand-overs over the operations of a possession."""
    slots = []
    for round_ in range(16):
        spins = round_ % 4 > 0
        calls, counts = (10, counted(20, 0)) if spins else (5, counted(4, 4))
        slots += [alone(round_, 0, 80), alone(round_, 1, 120)]
        slots.append((*together(round_, calls, calls), *counts))
    slots = [(*slot, 0, 0, 0)[:13] for slot in slots]
    (price,) = price_table(stored(*slots)).prices
    spinning, sleeping = price.handovers
    assert (spinning.mode, spinning.share, spinning.ns) == ("spinning", 0.75, pytest.approx(200))
    assert (sleeping.mode, sleeping.share, sleeping.ns) == ("sleeping", 0.25, pytest.approx(1_000))
    assert (spinning.possession, sleeping.possession) == pytest.approx((8, 20))
    assert spinning.low_ns == pytest.approx(200) and sleeping.low_ns is None, "4 slots"
    each = [2 * way.ns / way.possession for way in price.handovers]
    assert each == pytest.approx([8_000 / 160, 8_000 / 80])
    (price,) = price_table(stored(*eight_rounds())).prices
    assert price.handovers == (), "files of before count none"


@pytest.mark.parametrize("who", [-1, 0])
def test_a_slot_in_which_a_core_stood_still_is_in_no_price(who: int) -> None:
    """Together or alone: a core that did no call for nine tenths of its window."""
    clean = eight_rounds()
    bad = together(8, 10, 1) if who < 0 else alone(8, 0, 8_000)
    more = [bad, *((alone(8, 0, 80),) if who < 0 else (together(8, 10, 10),)), alone(8, 1, 120)]
    slots = [(*slot, *counted(0, 0, 3_600 * 20 * (slot is bad))) for slot in (*clean, *more)]
    table = price_table(stored(*slots))
    assert table.stopped == pytest.approx(1 / 27)
    (price,) = table.prices
    (usual,) = price_table(stored(*clean)).prices
    assert price.ratio == pytest.approx(usual.ratio, rel=0.05)
    assert price.slots == 8 + (who >= 0)
