"""What two systems themselves take of the same task sets: for a wake-up, for each shared object."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median

from deadbeat.kinds.contention.view import CampaignView
from deadbeat.model.calibration import Calibration
from deadbeat.model.words import time_text

#: Time for measuring the objects of a system that runs another's task sets, s.
OWN_SECONDS = 5.0


def overhead_lines(one: CampaignView, two: CampaignView) -> Iterator[str]:
    """Lines ``what: A's value | B's value``, where the systems differ; none where they do not."""
    places = (one.place, two.place)
    if None in places or len({each.system for each in places if each}) == 1:
        return
    wakes = [_wake_up_ns(view) for view in (one, two)]
    if all(wakes):
        yield f"wake-up, median: {' | '.join(time_text(each) for each in wakes)}"
    costs = [_own_costs(view) for view in (one, two)]
    seen: set[str] = set()
    for entry in costs[0]:
        fragment = entry.partition("/")[0]
        if entry in costs[1] and fragment not in seen:
            seen.add(fragment)
            yield f"a use of {entry}: {' | '.join(time_text(side[entry]) for side in costs)}"


def _wake_up_ns(view: CampaignView) -> float:
    found = [each.wake_up_p50_ns for each in view.summary.sets if each.wake_up_p50_ns]
    return median(found) if found else 0.0


def _own_costs(view: CampaignView) -> dict[str, int]:
    """What a repeated use of an object takes on the system itself, ns."""
    own: Calibration | None = view.store.load_own_costs()
    if own is None and view.store.load_origin() is None:
        own = view.store.load_calibration()
    return (
        {entry: round(cost[0].repeat_ps / 1000) for entry, cost in own.costs.items()} if own else {}
    )
