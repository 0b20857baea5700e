"""Truth: how often works are listed, counted by hand."""

from collections import Counter

from deadbeat.prices.stage import TARGET, weighted
from deadbeat.prices.works import WEIGHT_MAX, WORKS_MAX, PriceWork


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
