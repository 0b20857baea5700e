"""The price stage: what is measured first, what while other things are, and where it is kept."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property, lru_cache
from heapq import nlargest
from pathlib import Path
from typing import Protocol

import attrs

from deadbeat.base.model.errors import DataError, DeadbeatError
from deadbeat.base.model.platform import Platform
from deadbeat.base.store.files import read_json, write_json
from deadbeat.base.store.folder import OwnedFolder
from deadbeat.base.store.place import entries
from deadbeat.tasksets.catalog import Catalog
from deadbeat.tasksets.model.tasks import Fragment
from deadbeat.tasksets.prices.table import PriceBatch, PriceTable, StoredPrices, price_table
from deadbeat.tasksets.prices.works import (
    WEIGHT_MAX,
    WORKS_MAX,
    PriceWork,
    Pricing,
    groups_of,
    priced_fragments,
    sizes_of,
    works_of,
)
from deadbeat.tasksets.store.serial import structure, to_plain

PRICES_FILE = "prices.json"
_HINT = "delete the file and repeat the command: prices are measured again"
#: Earlier results that are asked for prices, the newest.
_EARLIER = 8


def load_prices(folder: Path) -> StoredPrices | None:
    """Prices of a folder; None: it has none. Raises DataError: damaged or of another format."""
    path = folder / PRICES_FILE
    if not path.is_file():
        return None
    now = path.stat()
    return _loaded(path, (now.st_ino, now.st_size, now.st_mtime_ns))


@lru_cache(maxsize=16)  # an experiment asks for the same file once per group
def _loaded(path: Path, _identity: tuple[int, ...]) -> StoredPrices:
    plain = read_json(path, what="prices", hint=_HINT)
    found = structure(plain, StoredPrices, path=path, what="prices", hint=_HINT)
    cores = {core for batch in found.batches for work in batch.works for core in work.cores}
    if not cores <= {*range(len(found.platform.cpus))}:
        raise DataError(f"prices {path} are damaged: they are of cores that there are not", _HINT)
    return found


def save_prices(store: OwnedFolder, prices: StoredPrices) -> None:
    with store.lock():
        plain = to_plain(attrs.evolve(prices, platform=attrs.evolve(prices.platform, details={})))
        write_json(store.path / PRICES_FILE, plain)


def earlier_prices(
    runs: Path, platform: Platform, policy: str, cpus: Sequence[int], *, but: Path
) -> Iterator[StoredPrices]:
    """Prices of the same machine, kernel, policy, toolchain and CPUs in other folders of ``runs``,
    the newest first; a damaged file is none."""
    files = [path / PRICES_FILE for path in entries(runs) if path.name != but.name]
    known = [(path.stat().st_mtime, path) for path in files if path.is_file()]
    for _, path in nlargest(_EARLIER, known):
        try:
            found = load_prices(path.parent)
        except DeadbeatError:
            continue
        if found is not None and found.fits(platform, policy, cpus):
            yield found


#: Relative half width of a ratio from which on an object gets no more slots than others.
TARGET = 0.045


class Pricer(Protocol):
    def describe(self) -> Platform: ...

    def price(self, asked: Pricing) -> PriceBatch: ...


@attrs.define
class PriceStage:
    """Prices of what the sets of ``pool`` can draw on ``cores`` cores, kept in ``store``.
    ``refused``: object -> why it cannot run here. ``given``: fragments and sizes in place of the
    pool's."""

    pricer: Pricer
    catalog: Catalog
    store: OwnedFolder
    pool: str
    cores: int
    layout: str = "default"
    policy: str = "fifo"
    seed: int = 1
    refused: Mapping[str, str] = attrs.field(factory=dict)
    given: Sequence[tuple[Fragment, Sequence[int]]] = ()

    @cached_property
    def _works(self) -> tuple[list[PriceWork], list[PriceWork]]:
        sized = self.given or [
            (each, sizes_of(each, self.pool))
            for each in priced_fragments(self.catalog, self.pool, layout=self.layout)
            if each.name not in self.refused
        ]
        groups = groups_of(self.cores, self.pricer.describe())
        return list(works_of(sized, groups)), list(works_of(sized, groups, later=True))

    def stored(self) -> StoredPrices | None:
        return load_prices(self.store.path)

    @property
    def batches(self) -> int:
        known = self.stored()
        return 0 if known is None else len(known.batches)

    def begin(self, seconds: float) -> PriceTable:
        """Everything at its first size, unless it is known."""
        if self.stored() is None:
            self._measure(self._works[0], seconds)
        return prices_in(self.store) or PriceTable()

    def more(self, seconds: float) -> None:
        """Both sizes, what is known least more often; in every second batch also visits, and what
        shares no object, which takes long to set up, unless it is known less than others."""
        known = self.stored()
        if known is None:
            return
        first, later = self._works
        wide = widths(price_table(known))
        every = len(known.batches) % 2 == 0
        works = [
            work
            for work in (*first, *later)
            if every or (not work.visit if work.shared else wide.get(work.object, 1.0) > TARGET)
        ]
        self._measure(weighted(works, wide), seconds)

    def _measure(self, works: list[PriceWork], seconds: float) -> None:
        known = self.stored()
        done = () if known is None else known.batches
        asked = Pricing(
            works=tuple(works),
            seconds=seconds,
            policy=self.policy,
            seed=self.seed * 9973 + len(done),
        )
        batch = self.pricer.price(asked)
        platform = self.pricer.describe()
        made = StoredPrices(
            platform=attrs.evolve(platform, cpus=platform.cpus[: self.cores]),
            policy=self.policy,
            batches=(*done, batch),
            refused={n: why for n, why in self.refused.items() if n in self._names()},
        )
        save_prices(self.store, made)

    def _names(self) -> Iterator[str]:
        return (each.name for each in priced_fragments(self.catalog, self.pool, layout=self.layout))


def widths(table: PriceTable) -> dict[str, float]:
    """Object -> the widest relative half width of its ratios that have an interval. A state that is
    rarely seen has none: more slots would not meet it more often."""
    found: dict[str, float] = {}
    for price in table.prices:
        if price.seconds_old is None and price.half_width is not None:
            found[price.object] = max(found.get(price.object, 0.0), price.half_width)
    return found


def weighted(works: Sequence[PriceWork], wide: Mapping[str, float]) -> list[PriceWork]:
    """Calls of objects with a wide interval several times, as long as a batch has room; without an
    interval once: more rounds tell more than more slots of a round."""

    def times(work: PriceWork, most: int) -> int:
        width = 0.0 if work.visit or not work.shared else wide.get(work.object, TARGET)
        return max(1, min(most, round(width / TARGET)))

    most = WEIGHT_MAX
    while most > 1 and sum(times(work, most) for work in works) > WORKS_MAX:
        most -= 1
    return [work for work in works for _ in range(times(work, most))]


def prices_in(store: OwnedFolder) -> PriceTable | None:
    """Prices of a folder, beside those of earlier ones on the same machine; None: it has none."""
    known = load_prices(store.path)
    if known is None:
        return None
    place = known.platform, known.policy, known.platform.cpus
    earlier = earlier_prices(store.path.parent, *place, but=store.path)
    return price_table(known, earlier, now_s=time.time())
