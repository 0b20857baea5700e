"""Prices of several results as observations: what a comparison of them pairs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
from attrs import evolve

from deadbeat.base.model.comparison import Lineup
from deadbeat.base.model.finding import Finding, finding
from deadbeat.base.model.observations import Cell, Metric, Observation, Observations
from deadbeat.tasksets.prices.stage import load_prices
from deadbeat.tasksets.prices.table import LEAST_SLOTS, Rows, shared_slots

#: The slots of a state, in order, are cut into this number of parts; their means are runs. Results
#: with more slots and with fewer then have pairs, and a mean over runs is one over slots.
_PARTS = LEAST_SLOTS
_NAMED = 3
Slots = Mapping[tuple[str, str], Rows]


def price_metric(sharper: str) -> Metric:
    """What a shared operation takes; ``sharper``: the option that gives it more time."""
    return Metric(
        name="price", title="Price of sharing", unit="ns", shown="ns", minimum=0.05, apart=sharper
    )


def with_prices(
    lineup: Lineup, tables: Sequence[Observations]
) -> tuple[tuple[Observations, ...], list[Finding]]:
    """``tables`` with the prices that were seen often enough, and what is not compared."""
    slots = shared_slots([load_prices(Path(each.path)) for each in lineup.every])
    often = [{key for key, own in each.items() if len(own) >= LEAST_SLOTS} for each in slots]
    often[0].intersection_update(*filter(None, often[len(lineup.subjects) :]))
    made = [
        evolve(table, rows=(*table.rows, *_rows(own, sorted(seen))))
        for table, own, seen in zip(tables, slots, often, strict=True)
    ]
    lacking = [
        each
        for n, subject in enumerate(lineup.subjects[1:], 1)
        for each in _not_compared(slots[0], slots[n], often[0] & often[n], subject.name)
    ]
    return tuple(made), lacking


def _rows(slots: Slots, keys: Sequence[tuple[str, str]]) -> Iterator[Observation]:
    for key in keys:
        name = ", ".join(key)
        for part, own in enumerate(np.array_split(slots[key], _PARTS)):
            yield Observation(
                run=f"{name} {part}",
                cell=Cell(name, of="price"),
                block=f"{part}",
                metric="price",
                value=float(np.exp(np.log(own).mean())),
                at=float(part),  # only the order of runs counts
            )


def _not_compared(
    one: Slots, two: Slots, both: set[tuple[str, str]], where: str
) -> Iterator[Finding]:
    """Objects and states that one of them did not see, or not often enough."""
    met = {*one, *two} if one and two else set()
    names = [", ".join(key) for key in sorted(met - both)]
    if names:
        some = "; ".join(names[:_NAMED]) + "; ..." * (len(names) > _NAMED)
        yield finding(
            "host-state-differs",
            f"the host was in another state, or had other objects: {len(names)} of"
            f" {len(met)} prices were not seen {LEAST_SLOTS} times on both sides ({some}), and are"
            " not compared",
            cure="repeat both, until they have met the same states",
            where=where,
        )
