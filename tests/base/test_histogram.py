"""The histogram of times against plain lists."""

import pytest
from cattrs.errors import BaseValidationError
from hypothesis import given
from hypothesis import strategies as st

from deadbeat.base.model.histogram import Histogram, bucket_high, bucket_low, bucket_of, to_json
from deadbeat.base.store.serial import exact_converter

TIMES = st.lists(st.integers(0, 2**62), min_size=1, max_size=60)


@given(st.integers(0, 2**62))
def test_a_bucket_holds_its_value_within_a_thousandth(value: int) -> None:
    low, high = bucket_low(bucket_of(value)), bucket_high(bucket_of(value))
    assert low <= value <= high
    assert high - low <= value / 1024
    assert bucket_of(high + 1) == bucket_of(value) + 1


@given(TIMES, st.integers(1, 1_000_000))
def test_a_quantile_is_that_of_the_sorted_list(values: list[int], share_ppm: int) -> None:
    found = Histogram.of(values).quantile(share_ppm)
    true = sorted(values)[max(-(-len(values) * share_ppm // 1_000_000), 1) - 1]
    assert true <= found <= true * (1 + 1 / 1024)


@given(TIMES, TIMES)
def test_a_sum_is_the_histogram_of_all(first: list[int], second: list[int]) -> None:
    both = Histogram.of(first) + Histogram.of(second)
    all_of_them = Histogram.of(first + second)
    assert to_json(both) == to_json(all_of_them)


@given(st.lists(st.integers(0, 2**55), max_size=60))
def test_what_is_stored_is_read(values: list[int]) -> None:
    plain = to_json(Histogram.of(values))
    assert to_json(exact_converter().structure(plain, Histogram)) == plain


@pytest.mark.parametrize(
    ("key", "value"),
    [("max_ns", "7"), ("min_ns", True), ("sum_ns", 1.5), ("sum_ns", 2**63), ("overflow", -1),
     ("resolution_ns", None), ("resolution_ns", 0), ("overflow_from_ns", [1]), ("buckets", "12"),
     ("buckets", [0.5]), ("buckets", [True]), ("buckets", [-1]), ("buckets", [2**40]),
     ("counts", [2**60]), ("counts", {"1": 2})],
)  # fmt: skip
def test_a_wrong_value_is_refused(key: str, value: object) -> None:
    plain = to_json(Histogram.of([7])) | {key: value}
    with pytest.raises(BaseValidationError):
        exact_converter().structure(plain, Histogram)


def test_edges_of_many_buckets_are_those_of_each() -> None:
    values = [0, 1, 2047, 2048, 2049, 4096, 70_000, 10**9, 2**40 + 3, 2**61]
    one = Histogram.of(values)
    assert one.lows_ns().tolist() == [bucket_low(int(b)) for b in one.buckets]
    assert one.highs_ns().tolist() == [bucket_high(int(b)) for b in one.buckets]


def test_what_overflowed_is_counted_and_has_no_made_up_value() -> None:
    one = Histogram.of([5_000] * 9)
    full = Histogram(
        buckets=one.buckets, counts=one.counts, min_ns=5_000, max_ns=2_000_000, sum_ns=2_045_000,
        resolution_ns=1000, overflow=3, overflow_from_ns=1_000_000,
    )  # fmt: skip
    assert full.total == 12
    assert full.quantile(500_000) is not None
    assert full.quantile(900_000) is None
    assert full.quantile(1_000_000) == 2_000_000
    assert full.above(999_999) == 3


def test_an_empty_bucket_is_refused() -> None:
    with pytest.raises(ValueError, match="above 0"):
        Histogram(buckets=[3], counts=[0])
