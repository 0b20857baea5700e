"""Counts of times without a loss: exact below a knee, within a thousandth above, to any length.

Values below 2048 ns have a bucket each; above, every power of two has 1024 buckets, so a bucket is
never wider than 1/1024 of what it holds (G. Tene's HdrHistogram, with the knee at 2 us).
``runtime/include/deadbeat/histogram.h`` has the same numbering; a golden file ties them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self, TypedDict

from attrs import asdict, field, frozen

from deadbeat.base.model.lazy import Later
from deadbeat.base.model.words import Json

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Integers = NDArray[np.int64]
else:
    np, Integers = Later("numpy"), Any

#: Buckets of a power of two, as a power of two.
#: Quantiles that are shown everywhere, in millionths.
QUANTILES_PPM = {
    "p50": 500_000,
    "p90": 900_000,
    "p99": 990_000,
    "p99.9": 999_000,
    "p99.99": 999_900,
}
SUB_BITS = 10


def buckets_of(values_ns: Integers) -> Integers:
    """Numbers of the buckets of values from 0."""
    shift = np.searchsorted(1 << np.arange(SUB_BITS + 1, 63), values_ns, side="right")
    return np.asarray((shift << SUB_BITS) + (values_ns >> shift), np.int64)


def bucket_lows(buckets: Integers) -> Integers:
    """Least value of each bucket, ns."""
    shift: Integers = np.maximum((buckets >> SUB_BITS) - 1, 0)
    return (buckets - (shift << SUB_BITS)) << shift


def bucket_of(value_ns: int) -> int:
    """`buckets_of` one value."""
    shift = max(value_ns.bit_length() - SUB_BITS - 1, 0)
    return (shift << SUB_BITS) + (value_ns >> shift)


def bucket_low(bucket: int) -> int:
    """Least value of a bucket, ns."""
    shift = max((bucket >> SUB_BITS) - 1, 0)
    return (bucket - (shift << SUB_BITS)) << shift


def bucket_high(bucket: int) -> int:
    """Greatest value of a bucket, ns."""
    return bucket_low(bucket + 1) - 1


def integers(values: Iterable[int]) -> Integers:
    if isinstance(values, np.ndarray):
        return np.asarray(values, np.int64)
    made = np.array(list(values))
    if made.ndim != 1 or (made.size and made.dtype.kind != "i"):
        raise ValueError("expected one list of whole numbers of 63 bits")
    return made.astype(np.int64)


#: Bucket of the longest time that has 63 bits. No histogram counts more values.
_LAST, _MOST = bucket_of(2**63 - 1), 2**53


@frozen(kw_only=True)
class Histogram:
    """How often which time was seen.

    Attributes:
        buckets: Numbers of the buckets with a count, ascending (shape n).
        counts: Their counts, all above 0 (shape n).
        min_ns, max_ns: Least and greatest value, exact; None where there is none, and a greatest
            that overflowed and was not kept.
        sum_ns: Sum of all values, exact (from an importer: as exact as its source).
        resolution_ns: Values are whole multiples of this, cut off below (1: whole nanoseconds;
            1000: cyclictest's microseconds).
        overflow: Values that are counted but have no known bucket: all of them at least
            ``overflow_from_ns`` and at most ``max_ns``. Always 0 of deadbeat's own prober; all of
            them where a tool keeps no histogram.
    """

    buckets: Integers = field(converter=integers, factory=tuple, eq=False)
    counts: Integers = field(converter=integers, factory=tuple, eq=False)
    min_ns: int | None = None
    max_ns: int | None = None
    sum_ns: int = 0
    resolution_ns: int = 1
    overflow: int = 0
    overflow_from_ns: int | None = None

    def __attrs_post_init__(self) -> None:
        if self.buckets.shape != self.counts.shape or np.any(self.counts <= 0):
            raise ValueError("every bucket has a count, and every count is above 0")
        if np.any(np.diff(self.buckets, prepend=-1) <= 0) or np.any(self.buckets > _LAST):
            raise ValueError(f"buckets ascend, from 0 to {_LAST}")
        if not (0 <= self.overflow < _MOST and self.counts.sum(dtype=float) < _MOST):
            raise ValueError(f"counts and what overflowed are from 0 to {_MOST}")
        if self.min_ns is not None and self.max_ns is not None and self.min_ns > self.max_ns:
            raise ValueError("the least time is above the greatest")
        if self.resolution_ns < 1:
            raise ValueError("the resolution is at least 1 ns")

    @classmethod
    def of(cls, values_ns: Iterable[int], *, resolution_ns: int = 1) -> Self:
        values, counts = np.unique(integers(values_ns), return_counts=True)
        return cls._counted(values, counts, resolution_ns)

    @classmethod
    def counted(cls, counts: Mapping[int, int], *, resolution_ns: int = 1) -> Self:
        """The histogram of values and how often each was seen."""
        values = integers(sorted(counts))
        return cls._counted(values, integers(counts[v] for v in values.tolist()), resolution_ns)

    @classmethod
    def _counted(cls, values: Integers, counts: Integers, resolution_ns: int) -> Self:
        buckets, first = np.unique(buckets_of(values), return_index=True)
        each = zip(values.tolist(), counts.tolist(), strict=True)
        return cls(
            buckets=buckets,
            counts=np.add.reduceat(counts, first) if len(first) else counts,
            min_ns=int(values[0]) if len(values) else None,
            max_ns=int(values[-1]) if len(values) else None,
            sum_ns=sum(value * count for value, count in each),
            resolution_ns=resolution_ns,
        )

    @cached_property
    def total(self) -> int:
        """Number of values, those without a bucket included."""
        return int(self.counts.sum()) + self.overflow

    @property
    def mean_ns(self) -> float | None:
        """Their mean; None of nothing."""
        return self.sum_ns / self.total if self.total else None

    @property
    def exceeds_ns(self) -> int | None:
        """What the greatest value is at least, where that is all that is known of it."""
        if self.max_ns is not None or not self.overflow:
            return None
        return max(self.overflow_from_ns or 0, int(self.lows_ns().max(initial=0)))

    def lows_ns(self) -> Integers:
        """Least value of each bucket."""
        return bucket_lows(self.buckets)

    def highs_ns(self) -> Integers:
        """Greatest value of each bucket."""
        return bucket_lows(self.buckets + 1) - 1

    def at_rank(self, rank: int) -> int | None:
        """The ``rank``-th smallest value (from 1), as the top of its bucket, at most ``max_ns``.

        None where what overflowed decides it: that lies above ``overflow_from_ns``, no more.
        """
        if not 1 <= rank <= self.total:
            raise ValueError(f"rank {rank} of {self.total}")
        if rank > self.total - self.overflow:
            return self.max_ns if rank == self.total else None
        counted = np.cumsum(self.counts)
        place = int(np.searchsorted(counted, rank))
        if rank > self._sure:  # as if all that overflowed were below it
            least = rank - self.overflow
            if least <= self._sure or int(np.searchsorted(counted, least)) != place:
                return None
        high = bucket_high(int(self.buckets[place]))
        return high if self.max_ns is None else min(high, self.max_ns)

    def low_at_rank(self, rank: int) -> int | None:
        """The same as the bottom of its bucket; of what may have overflowed, where that begins."""
        if rank > self._sure:
            return self.overflow_from_ns
        return self.low_of(int(np.searchsorted(np.cumsum(self.counts), rank)))

    @property
    def _sure(self) -> int:
        """Number of ranks with a known bucket: all below those that overflowed."""
        if not self.overflow:
            return self.total
        return int(self.counts[self.buckets < bucket_of(max(self.overflow_from_ns or 0, 0))].sum())

    def low_of(self, place: int) -> int | None:
        """Least value of the bucket at a place; beyond them all of what overflowed."""
        if place >= len(self.buckets):
            return self.overflow_from_ns
        return max(bucket_low(int(self.buckets[place])), self.min_ns or 0)

    def quantile(self, share_ppm: int) -> int | None:
        """The value that ``share_ppm`` millionths do not exceed (the nearest-rank quantile), ns.

        None of nothing, without a histogram, and where it may have overflowed.
        """
        if not len(self.counts):
            return None
        return self.at_rank(max(-(-self.total * share_ppm // 1_000_000), 1))

    def above(self, limit_ns: int) -> int:
        """Number of values above ``limit_ns``; one in its own bucket counts as above."""
        inside = bucket_of(limit_ns)
        return int(self.counts[self.buckets >= inside].sum()) + self.overflow

    def same(self, other: Histogram) -> bool:
        """Whether ``other`` counts the same."""
        arrays = (self.buckets, other.buckets), (self.counts, other.counts)
        return self == other and all(np.array_equal(*each) for each in arrays)

    def __add__(self, other: Histogram) -> Histogram:
        """All values of both; ``resolution_ns`` is the coarser one."""
        return pool([self, other])


def pool(histograms: Sequence[Histogram]) -> Histogram:
    """All values of all of them: their sum, also of thousands."""
    if not histograms:
        return Histogram()
    buckets, place = np.unique(
        np.concatenate([each.buckets for each in histograms]), return_inverse=True
    )
    counts = np.zeros(len(buckets), np.int64)
    np.add.at(counts, place, np.concatenate([each.counts for each in histograms]))

    def known(name: str) -> list[int]:
        found = (getattr(each, name) for each in histograms)
        return [value for value in found if value is not None]

    known_max = all(each.exceeds_ns is None for each in histograms)
    return Histogram(
        buckets=buckets,
        counts=counts,
        min_ns=min(known("min_ns"), default=None),
        max_ns=max(known("max_ns"), default=None) if known_max else None,
        sum_ns=sum(each.sum_ns for each in histograms),
        resolution_ns=max(each.resolution_ns for each in histograms),
        overflow=sum(each.overflow for each in histograms),
        overflow_from_ns=min(known("overflow_from_ns"), default=None),
    )


def to_json(histogram: Histogram) -> dict[str, Json]:
    plain = asdict(histogram)
    return plain | {name: plain[name].tolist() for name in ("buckets", "counts")}


class HistogramCounts(TypedDict):
    """A histogram as the runtime writes it: number and count of each bucket."""

    counts: list[list[int]]
    min_ns: int
    max_ns: int
    sum_ns: int


def from_counts(plain: HistogramCounts) -> Histogram:
    """What the runtime wrote (put_histogram in runtime/src/host/common.c).

    Raises:
        KeyError, TypeError, ValueError: It did not.
    """
    pairs = np.array(plain["counts"], np.int64).reshape(-1, 2)
    return Histogram(
        buckets=pairs[:, 0],
        counts=pairs[:, 1],
        min_ns=plain["min_ns"] if len(pairs) else None,
        max_ns=plain["max_ns"] if len(pairs) else None,
        sum_ns=plain["sum_ns"],
    )
