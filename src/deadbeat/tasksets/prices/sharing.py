"""What sharing a lock costs on a machine, by the price lists among its results."""

from __future__ import annotations

import math
from pathlib import Path

from deadbeat.base.model.platform import Platform
from deadbeat.tasksets.prices.rates import GROWTH
from deadbeat.tasksets.prices.stage import earlier_prices
from deadbeat.tasksets.prices.table import PriceTable, price_table

#: Protocol of a lock -> the object of price lists.
_OBJECTS = {"none": "mutex_normal", "inherit": "mutex_inherit", "protect": "mutex_ceiling",
            "spin": "spin"}  # fmt: skip


def dearer(cores: int, known: int) -> tuple[float, float]:
    """Ends of the factor of a price on ``cores`` CPUs, of which ``known`` ones were measured, that
    hold 91 % of public machines."""
    doublings = math.log2(max(cores / known, 1))
    low, high = (growth**doublings for growth in GROWTH)
    return low, high


def sharing_of(folder: Path, here: Platform) -> dict[str, float]:
    """Protocol -> what sharing its lock with another core costs an operation, ns, by the newest
    price list of this machine beside the result ``folder``; empty: there is none."""
    lists = earlier_prices(folder.parent, here, "fifo", here.cpus, but=folder)
    table = next(map(price_table, lists), PriceTable())
    prices = sorted(table.of(state=table.usual(), others=1), key=lambda each: -each.size)
    found = {each.object: each.shared_ns - each.alone_ns for each in prices if each.shared_ns}
    return {word: found[name] for word, name in _OBJECTS.items() if name in found}
