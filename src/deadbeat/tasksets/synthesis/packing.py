"""Fills time budgets with fragment uses: size-stratified randomised packing, exact in picoseconds.

What a segment leaves over is carried on to the next of its kind; the last one is settled between
the nearest reachable cost below and the nearest above with the probabilities that make the mean
right (so neither a task's cost nor its synchronisation share has a bias).
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from attrs import define

from deadbeat.tasksets.model.tasks import Entry
from deadbeat.tasksets.synthesis.stream import Stream

#: Firsts of one stratum differ by less than this factor.
STRATUM_FACTOR = 3
#: A segment is cut into this many slots (and one more use may settle the last of them).
SLOTS = (3, 5)
# The last slot of a segment takes a grain of at most this part, so that little is left over.
_LAST_SLOT_PART = 4
# Bounds of the search for a settlement among coarse grains: two steps, and a number of repeats.
_SEARCH_STEPS = 8
_SEARCH_REPEATS = 32


class Grain(NamedTuple):
    """An entry and its cost on one core, ps: first use in a job, a later use of the same job, every
    further repeat of a use. A later use costs at most as much as the first."""

    entry: Entry
    first_ps: int
    again_ps: int
    repeat_ps: int


@define(eq=False)
class Use:
    """A use while it is packed; ``repeats`` still grows and shrinks. ``start_ps`` is what its first
    repeat costs: it depends on whether the entry was used earlier in the job."""

    grain: Grain
    repeats: int
    start_ps: int

    @property
    def cost_ps(self) -> int:
        return self.start_ps + (self.repeats - 1) * self.grain.repeat_ps


class Opened(set[Entry]):
    """The entries that a job has used so far, of the kind being packed."""

    def start_ps(self, grain: Grain) -> int:
        """What the first repeat of one more use of ``grain`` costs."""
        return grain.again_ps if grain.entry in self else grain.first_ps

    def use(self, grain: Grain, repeats: int) -> Use:
        """One more use."""
        start_ps = self.start_ps(grain)
        self.add(grain.entry)
        return Use(grain, repeats, start_ps)


class Shelf:
    """The grains of one kind on one core, in strata by first cost.

    Args:
        grains: At least one; costs are positive.
    """

    def __init__(self, grains: Iterable[Grain]) -> None:
        ordered = sorted(grains, key=lambda grain: (grain.first_ps, grain.entry))
        self.strata: list[list[Grain]] = []
        for grain in ordered:
            if self.strata and grain.first_ps < STRATUM_FACTOR * self.strata[-1][0].first_ps:
                self.strata[-1].append(grain)
            else:
                self.strata.append([grain])
        self.floors_ps = [stratum[0].first_ps for stratum in self.strata]
        self._firsts_ps = [[grain.first_ps for grain in stratum] for stratum in self.strata]
        by_repeat = sorted(ordered, key=lambda grain: (grain.repeat_ps, grain.entry))
        finest = by_repeat[0].repeat_ps
        self.finest = [grain for grain in by_repeat if grain.repeat_ps <= 2 * finest]
        self.cheapest = ordered[:_SEARCH_STEPS]

    @property
    def floor_ps(self) -> int:
        """Cost of the cheapest use."""
        return self.floors_ps[0]

    def pick(self, stream: Stream, limit_ps: int) -> Grain | None:
        """A random stratum, then a random grain of it, among those of at most ``limit_ps``."""
        strata = bisect_right(self.floors_ps, limit_ps)
        if strata == 0:
            return None
        index = stream.below(strata)
        fitting = bisect_right(self._firsts_ps[index], limit_ps)
        return self.strata[index][stream.below(fitting)]


class Slack(NamedTuple):
    """What a sum of costs may be off, ps.

    Attributes:
        gap_ps: Two reachable costs this close need no search for nearer ones.
        under_ps, over_ps: The most it may stay below and go above.
    """

    gap_ps: int
    under_ps: int
    over_ps: int


def pack(
    shelf: Shelf, stream: Stream, budgets_ps: Sequence[int], carry_ps: int, slack: Slack
) -> list[list[Use]]:
    """Uses for each budget (one per segment, at least one), in the order in which the job will run
    them. ``carry_ps``: left over (or, negative, overspent) by other segments of the task.

    Their cost is the sum of budgets and carry but for ``slack``, as far as such a cost was found
    (the caller checks), and on average exactly.
    """
    segments: list[list[Use]] = []
    opened = Opened()
    left_ps = carry_ps
    for budget_ps in budgets_ps:
        uses, left_ps = _fill(shelf, stream, opened, budget_ps + left_ps)
        segments.append(uses)
    if left_ps > 0:
        _settle(shelf, stream, opened, segments, left_ps, slack=slack)
    return segments


def _fill(shelf: Shelf, stream: Stream, opened: Opened, budget_ps: int) -> tuple[list[Use], int]:
    """Uses that cost at most ``budget_ps``, and what they leave of it."""
    uses: list[Use] = []
    left_ps = budget_ps
    slots = stream.between(*SLOTS)
    for slot in range(slots, 0, -1):
        if left_ps < shelf.floor_ps:
            break
        if slot == 1:
            share_ps, limit_ps = left_ps, left_ps // _LAST_SLOT_PART
        else:  # half to one and a half of an even share
            share_ps = limit_ps = left_ps * (512 + stream.below(1025)) // (1024 * slot)
        grain = shelf.pick(stream, limit_ps) or shelf.pick(stream, share_ps)
        if uses and uses[-1].grain is grain:  # a second try at diversity
            grain = shelf.pick(stream, limit_ps) or grain
        if grain is not None:
            left_ps -= _add(uses, opened, grain, share_ps)
    return uses, left_ps


def _add(uses: list[Use], opened: Opened, grain: Grain, share_ps: int) -> int:
    """Adds as many repeats as fit ``share_ps`` (at least one use fits); returns their cost."""
    if uses and uses[-1].grain is grain:
        repeats = share_ps // grain.repeat_ps
        uses[-1].repeats += repeats
        return repeats * grain.repeat_ps
    use = opened.use(grain, 1 + (share_ps - opened.start_ps(grain)) // grain.repeat_ps)
    uses.append(use)
    return use.cost_ps


def _settle(
    shelf: Shelf,
    stream: Stream,
    opened: Opened,
    segments: list[list[Use]],
    left_ps: int,
    *,
    slack: Slack,
) -> None:
    """Spends ``left_ps`` > 0 to the nearest cost below or above, at random with the right mean."""
    grain = shelf.finest[stream.below(len(shelf.finest))]
    if grain.repeat_ps <= slack.gap_ps and grain.first_ps <= left_ps:
        left_ps -= _add(segments[-1], opened, grain, left_ps)
        finest = segments[-1][-1]
    else:
        uses = [use for uses in segments for use in uses]
        finest = min(uses, key=lambda use: use.grain.repeat_ps, default=Use(grain, 0, 0))
    step_ps = finest.grain.repeat_ps
    if finest.repeats and step_ps <= min(slack):
        repeats, rest_ps = divmod(left_ps, step_ps)
        finest.repeats += repeats + stream.chance(rest_ps, step_ps)
        return
    # The finest steps there are: repeats of existing uses first, then new uses.
    used = sorted(
        (use for uses in segments for use in uses),
        key=lambda use: (use.grain.repeat_ps, use.grain.entry),
    )
    steps: list[_Step] = []
    for use in used:
        if not steps or steps[-1].grain is not use.grain:
            steps.append(_Step(use.grain, use, 0))
    steps = steps[:_SEARCH_STEPS]
    present = {step.grain.entry for step in steps}
    new = [
        _Step(grain, None, opened.start_ps(grain))
        for grain in shelf.cheapest
        if grain.entry not in present
    ]
    below, above = _search(steps + new, left_ps, slack.gap_ps)
    under_ps, over_ps = below.off_ps, above.off_ps
    # to overspend rather than leave some, with mean error zero
    more = over_ps <= slack.over_ps and (
        under_ps > slack.under_ps or stream.chance(under_ps, under_ps + over_ps)
    )
    for step, repeats in (above if more else below).changes:
        step.apply(repeats, segments[-1], opened)


class _Step:
    """More or fewer repeats of a use, or (``use`` None) a new use of a grain."""

    __slots__ = ("fewest", "grain", "start_ps", "use")

    def __init__(self, grain: Grain, use: Use | None, first_ps: int) -> None:
        self.grain = grain
        self.use = use
        self.fewest = 0 if use is None else max(1 - use.repeats, -_SEARCH_REPEATS)
        # What the first repeat costs beyond the further ones.
        self.start_ps = first_ps - grain.repeat_ps if use is None else 0

    def cost_ps(self, repeats: int) -> int:
        return repeats * self.grain.repeat_ps + (self.start_ps if repeats else 0)

    def most_within(self, budget_ps: int) -> int | None:
        """The most repeats that cost at most ``budget_ps``; None if even the fewest cost more."""
        most = (budget_ps - self.start_ps) // self.grain.repeat_ps
        if self.use is None and most < 1:
            most = 0 if budget_ps >= 0 else -1
        return most if most >= self.fewest else None

    def apply(self, repeats: int, segment: list[Use], opened: Opened) -> None:
        if self.use is not None:
            self.use.repeats += repeats
        elif repeats:
            segment.append(opened.use(self.grain, repeats))


class _Reach(NamedTuple):
    """A reachable cost: how far off it is, ps, and the changes that make it."""

    off_ps: int
    changes: tuple[tuple[_Step, int], ...]


def _search(steps: list[_Step], left_ps: int, gap_ps: int) -> tuple[_Reach, _Reach]:
    """The nearest costs at or below and above ``left_ps`` by changing one or two steps.

    Stops as soon as the two are within ``gap_ps`` of each other.
    """
    below = _Reach(left_ps, ())
    fewest = ((step, (step.most_within(left_ps) or 0) + 1) for step in steps)
    made = (_Reach(step.cost_ps(many) - left_ps, ((step, many),)) for step, many in fewest)
    above = min(made, key=lambda reach: reach.off_ps)
    for step in steps:
        for repeats in range(step.fewest, _SEARCH_REPEATS + 1):
            rest_ps = left_ps - step.cost_ps(repeats)
            for other in steps:
                most = None if other is step else other.most_within(rest_ps)
                if most is None:
                    continue
                under_ps = rest_ps - other.cost_ps(most)
                over_ps = other.cost_ps(most + 1) - rest_ps
                if under_ps < below.off_ps:
                    below = _Reach(under_ps, ((step, repeats), (other, most)))
                if over_ps < above.off_ps:
                    above = _Reach(over_ps, ((step, repeats), (other, most + 1)))
            if below.off_ps + above.off_ps <= gap_ps:
                return below, above
    return below, above
