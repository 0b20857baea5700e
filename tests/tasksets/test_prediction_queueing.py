"""Truth: closed forms of two customers, and the limits of queues and of a bandwidth."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deadbeat.tasksets.prices.rates import growth, lock_of, queued, repairman

SHARES = st.floats(0.0, 1.0)
SLOWDOWNS = st.floats(1.0, 40.0)


@given(SHARES)
def test_two_customers_wait_the_square_of_the_share(share: float) -> None:
    """Reiser and Lavenberg by hand: the second finds the first at the lock with ``share``."""
    assert repairman(1, share) == pytest.approx(1.0)
    assert repairman(2, share) == pytest.approx(1 + share**2)


def test_three_customers_by_hand() -> None:
    # share 1/2: R(1) = 1/2, Q(1) = 1/2; R(2) = 3/4, cycle 5/4, Q(2) = 6/5; R(3) = 11/10.
    assert repairman(3, 0.5) == pytest.approx(1.1 + 0.5)


@given(st.integers(1, 200))
def test_a_lock_that_is_always_held_serves_one_after_the_other(customers: int) -> None:
    assert repairman(customers, 1.0) == pytest.approx(customers)


@given(st.integers(1, 100), SHARES)
def test_a_queue_lies_between_its_bounds(customers: int, share: float) -> None:
    """No cycle is shorter than alone or than all holds together, or longer than both added up."""
    cycle = repairman(customers, share)
    assert max(1.0, customers * share) - 1e-9 <= cycle <= 1.0 + (customers - 1) * share + 1e-9


@given(SLOWDOWNS, st.integers(1, 8))
def test_beside_as_many_as_were_measured_it_is_what_was_measured(slowdown: float, measured: int):
    assert queued(slowdown, measured, measured=measured) == pytest.approx(slowdown)


@given(SLOWDOWNS, st.integers(0, 100), st.integers(1, 4))
def test_a_further_rival_never_helps(slowdown: float, rivals: int, measured: int) -> None:
    less = queued(slowdown, rivals, measured=measured)
    assert queued(slowdown, rivals + 1, measured=measured) >= less - 1e-9
    assert less >= 1.0


def test_what_queueing_cannot_explain_is_the_price_of_sharing() -> None:
    assert lock_of(6.0) == (1.0, 3.0)
    assert queued(6.0, 3) == pytest.approx(12.0)  # four in a row, each three times as long
    assert lock_of(2.0)[1] == 1.0
    share, price = lock_of(1.25)
    assert (share, price) == (pytest.approx(0.5), 1.0)


def test_nobody_beside_and_no_slowdown_are_none() -> None:
    assert queued(9.0, 0) == 1.0
    assert queued(1.0, 63) == 1.0


def test_bandwidth_is_shared_by_demand() -> None:
    # 0.7 and 0.7 of it: 1.4 times as long; four of them 2.8 times, which is twice that.
    assert growth([0.7] * 4, 1.4) == pytest.approx(2.0)
    assert growth([0.3] * 3, 0.6) == 1.0  # there is enough
    assert growth([0.3] * 5, 0.6) == pytest.approx(1.5)
