"""A plan in rounds, for campaigns that stop each point when it is known.

Round r holds the set numbered r of every point, in the random order of the plan, so that each
point is visited again and again over the whole campaign, and the host's drift meets all of them
alike. Programs hold whole rounds: the first all that every point gets, the next half as many as all
before, so that little is built that is not wanted.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from deadbeat.kinds.contention import plan as design
from deadbeat.kinds.contention.precision import Bend, Layout
from deadbeat.kinds.contention.spec import CampaignSpec
from deadbeat.kinds.contention.stress import Group
from deadbeat.model.results import Point, RunKey, point_text
from deadbeat.store.campaign import CampaignStore

_AXES = ("sync_share_milli", "contended_ratio_milli")


def offered(spec: CampaignSpec, held: frozenset[RunKey] | None) -> tuple[RunKey, ...]:
    """The runs in the order in which they are offered.

    Args:
        held: Runs that programs exist of where none is built; None: all can be. A campaign that
            stopped when it was known built no more than it wanted.
    """
    if spec.precision is None:
        return design.plan(spec)
    keys = tuple(sorted(design.plan(spec), key=lambda key: round_of(spec, key)))
    return keys if held is None else tuple(key for key in keys if key in held)


def batches(spec: CampaignSpec, keys: Sequence[RunKey]) -> tuple[tuple[RunKey, ...], ...]:
    """``keys``, as they are offered, by program."""
    if spec.precision is None:
        return design.batches(keys)
    found: list[tuple[RunKey, ...]] = []
    last = max(round_of(spec, key) for key in keys) + 1
    for first, end in pairwise(_cuts(spec.precision.sets_min, last)):
        found += design.batches([key for key in keys if first <= round_of(spec, key) < end])
    return tuple(found)


def _cuts(sets_min: int, last: int) -> list[int]:
    cuts = [0, min(sets_min, last)]
    while cuts[-1] < last:
        cuts.append(min(last, cuts[-1] + max(1, cuts[-1] // 2)))
    return cuts


def round_of(spec: CampaignSpec, key: RunKey) -> int:
    """How many sets of its point, or of its group, come before ``key``."""
    group = design.group_of(spec, key)
    return key.replica if group is None else key.replica - group.first


def unit_of(spec: CampaignSpec, key: RunKey) -> str:
    """Name of what ``key`` adds to: its point, or its group at its deadline factor."""
    group = design.group_of(spec, key)
    if group is None:
        return point_text(key.point)
    factor = design.deadline_factor(spec, key)
    return group_text(group, None if factor is None else float(factor), spec)


def group_text(group: Group, factor: float | None, spec: CampaignSpec) -> str:
    """Name of a group; with the deadline factor where the campaign has several."""
    several = factor is not None and len(spec.tasks.deadline_factor) > 1
    return group.name + (f" D={factor:g}" if several else "")


def layout(spec: CampaignSpec, keys: Sequence[RunKey]) -> Layout:
    """Where the runs on offer belong."""
    return Layout(
        keys=tuple(keys),
        unit=lambda key: unit_of(spec, key),
        round=lambda key: round_of(spec, key),
        bends=() if spec.stress else bends(sorted({key.point for key in keys})),
    )


def bends(points: list[Point]) -> tuple[Bend, ...]:
    """Every three neighbours along rho and along alpha."""
    found: list[Bend] = []
    for axis in _AXES:
        lines: dict[tuple[int, ...], list[Point]] = {}
        for point in points:
            others = tuple(
                getattr(point, name)
                for name in ("cores", "deadline_factor_milli", "per_core", *_AXES)
                if name != axis
            )
            lines.setdefault(others, []).append(point)
        for line in lines.values():
            line.sort(key=lambda point: int(getattr(point, axis)))
            for three in zip(line, line[1:], line[2:], strict=False):
                a, b, c = (getattr(point, axis) for point in three)
                low, middle, high = map(point_text, three)
                weight = (c - b) / (c - a)
                found.append(Bend(low=low, middle=middle, high=high, weight=weight))
    return tuple(found)


def planned(spec: CampaignSpec, store: CampaignStore) -> int:
    """Runs the campaign in ``store`` consists of: at most, until all its points are decided."""
    record = _record(spec, store)
    return record["planned"] if is_decided(record) else design.most_runs(spec)


def is_complete(spec: CampaignSpec, store: CampaignStore) -> bool:
    """Whether nothing is left to run in ``store``: what is not wanted is not lacking."""
    if is_decided(_record(spec, store)):
        return True
    done, failed = store.committed(), store.failed()
    return all(key in done or key in failed for key in design.plan(spec))


def is_decided(record: dict[str, Any]) -> bool:
    """Whether all points of a record of ``Stopping`` have got what they are to get."""
    return record.get("complete") is True and type(record.get("planned")) is int


def _record(spec: CampaignSpec, store: CampaignStore) -> dict[str, Any]:
    return (store.load_precision() or {}) if spec.precision is not None else {}
