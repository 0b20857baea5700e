"""Predicted from prices beside measured: by object and point, pooled over sets.

One set of a few seconds cannot judge: sets of one object differ by more than a price is off.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from operator import attrgetter
from typing import Any

import numpy as np
from attrs import frozen

from deadbeat.base.model.grouping import grouped
from deadbeat.base.model.words import inside, origin
from deadbeat.base.report.building import CurvePoint, curve
from deadbeat.base.report.charts import Chart, Panel
from deadbeat.base.report.document import Part, Sentence, Table, percent, said
from deadbeat.base.stats.intervals import Floats, Interval, mean_interval, student_half_width
from deadbeat.tasksets.contention.facts import labels, platform, price_table
from deadbeat.tasksets.contention.figures import mean_of
from deadbeat.tasksets.contention.grids import point_words
from deadbeat.tasksets.contention.point import known, unfinished_share
from deadbeat.tasksets.model.figures import SetFigures, is_saturated
from deadbeat.tasksets.model.results import Summary

#: A pooled prediction is right within this share of the mean slowdown - 1, or by this much.
CLOSE, CLOSE_LEAST = 0.15, 0.02
RIGHT, HIGH, LOW, OPEN = "right", "too high", "too low", "undecided"
_RANDOM = "random mix"
_TWO = "{:.3f}".format


@frozen(kw_only=True)
class Pool:
    """Sets that share one object, at a point or at all of them."""

    object: str
    point: str
    sets: tuple[SetFigures, ...]

    @property
    def measured(self) -> Floats:
        """Slowdown - 1 of each set."""
        return np.array([own.slowdown_mean for own in self.sets], np.float64) - 1

    @property
    def predicted(self) -> Floats:
        return np.array([own.slowdown_predicted for own in self.sets], np.float64) - 1

    @property
    def off(self) -> float:
        """Mean predicted less mean measured slowdown."""
        return float((self.predicted - self.measured).mean())

    @property
    def half_width(self) -> float | None:
        """95 % of ``off``, over sets: Student's; None: one set."""
        return student_half_width(self.predicted - self.measured) if len(self.sets) > 1 else None

    @property
    def verdict(self) -> str:
        """By the whole interval of ``off`` and what is allowed."""
        room, half = max(CLOSE * float(self.measured.mean()), CLOSE_LEAST), self.half_width
        if half is None or abs(abs(self.off) - room) <= half:
            return OPEN
        return RIGHT if abs(self.off) < room else HIGH if self.off > 0 else LOW


@frozen(kw_only=True)
class PredictionCheck:
    """How well prices explain a campaign. ``sets``: sets that share objects, are not saturated and
    have both sides; ``right``, ``judged``: sets with a rightly predicted saturation, and all with
    both sides."""

    sets: tuple[SetFigures, ...]
    right: int = 0
    judged: int = 0

    @property
    def objects(self) -> list[Pool]:
        """All sets of an object."""
        found = grouped(self.sets, lambda own: own.object_class or _RANDOM)
        return [Pool(object=n, point="all", sets=tuple(s)) for n, s in sorted(found.items())]

    @property
    def pools(self) -> Iterator[Pool]:
        """Those, each followed by its points where there are several."""
        for pool in self.objects:
            yield pool
            points = grouped(pool.sets, point_words)
            if len(points) > 1:
                for point, sets in sorted(points.items()):
                    yield Pool(object=pool.object, point=point, sets=tuple(sets))


def is_priced(summary: Summary) -> bool:
    """Whether prices can say anything of its sets: a made-up machine slows them by a formula."""
    return price_table(summary) is not None and platform(summary).get("soc") != "formula"


def check(summary: Summary) -> PredictionCheck:
    sharing = [each for each in summary.sets if each.cores > 1 and each.contends]
    judged = [each for each in sharing if each.unfinished_predicted is not None]
    within = sum(
        is_saturated(each.unfinished_share) == is_saturated(each.unfinished_predicted)
        for each in judged
    )
    free = (each for each in judged if not is_saturated(each.unfinished_share))
    sets = tuple(s for s in free if None not in (s.slowdown_mean, s.slowdown_predicted))
    return PredictionCheck(sets=sets, right=within, judged=len(judged))


def predicted_words(summary: Summary) -> str:
    """How many objects' slowdowns prices predict; "" where there are no prices."""
    objects = check(summary).objects
    if not is_priced(summary) or not objects:
        return ""
    counts = Counter(pool.verdict for pool in objects)
    wrong = [f"{p.object} {p.verdict}" for p in objects if p.verdict in (HIGH, LOW)]
    rest = f"{counts[OPEN]} undecided (too few sets)" if counts[OPEN] else ""
    words = f"From prices, the slowdowns of {counts[RIGHT]} of {len(objects)} objects are predicted"
    return "; ".join(filter(None, [words, rest, ", ".join(wrong)])) + "."


def predicted_parts(summary: Summary) -> tuple[Part, ...]:
    """The section of the page; nothing where no set has both sides."""
    found = check(summary)
    if not found.sets:
        return (Sentence("No set that shares objects has both a price and a slowdown."),)
    words = (
        "Each set is replayed with the prices of the states that it met: its releases, priorities"
        " and uses, at the pace of its jobs alone; never its jobs together. Sets of an object are"
        f" pooled: right is within {percent(CLOSE)} of the mean slowdown - 1, or {CLOSE_LEAST:g},"
        f" with the whole 95 % interval of the difference. Saturation is predicted correctly for"
        f" {found.right} of {found.judged} sets."
    )
    table = Table(
        name="predicted-table",
        title="Slowdown - 1, mean over sets",
        columns=(
            said("object", attrgetter("object"), words=True),
            said("point", attrgetter("point"), words=True),
            said("sets", lambda pool: len(pool.sets)),
            said("predicted", lambda pool: float(pool.predicted.mean()), format=_TWO),
            said("95 %", lambda pool: _ends(pool.predicted)),
            said(_side(summary), lambda pool: float(pool.measured.mean()), format=_TWO),
            said("95 %", lambda pool: _ends(pool.measured)),
            said("prediction", attrgetter("verdict"), words=True),
        ),
        rows=tuple(found.pools),
        dense=True,
    )
    return (Sentence(words), table)


def _ends(excess: Floats) -> str:
    found: Interval | None = mean_interval(excess + 1)
    return "–" if found is None else f"{found.low - 1:.3f} to {found.high - 1:.3f}"


def _side(summary: Summary) -> str:
    return origin(labels(summary))


def predicted_charts(summary: Summary) -> list[Chart]:
    objects = check(summary).objects
    if not objects:
        return []
    values = [
        1 + end for pool in objects for side in (pool.predicted, pool.measured) for end in side
    ]
    diagonal = [CurvePoint(end, end) for end in (min(values), max(values))]
    panel = Panel(
        title="",
        x_label="slowdown predicted from prices",
        y_label=f"slowdown, {_side(summary)}",
        curves=(
            curve("as predicted", diagonal, look=6, kind="plain"),
            *(
                curve(p.object, _marks(p.sets), look=at, kind="points")
                for at, p in enumerate(objects)
            ),
        ),
        x_log=True,
        y_log=True,
    )
    caption = "A mark is a task set that shares objects and is not saturated."
    title = "Predicted from prices"
    return [Chart(name="predicted", title=title, caption=caption, panels=(panel,))]


def _marks(sets: Sequence[SetFigures]) -> Iterator[CurvePoint]:
    for own in sets:
        yield CurvePoint(own.slowdown_predicted or 0.0, own.slowdown_mean or 0.0, text=own.key)


# -- a replay

#: Objects of a replay that are named, the dearest.
_NAMED = 4


def replay_words(summary: Summary) -> Iterator[str]:
    """What a replay was made from, and what is left of it without the objects that are saturated;
    nothing of what was measured."""
    first: Any = next(iter(summary.meta.get("sessions") or ()), {})
    found: Any = inside(first, "before", "replay")
    if not found:
        return
    ratios = {name: float(own[0]) for name, own in found["ratios"].items()}
    dear = sorted(ratios, key=ratios.__getitem__, reverse=True)
    named = ", ".join(f"{name} {ratios[name]:.3g}" for name in dear[:_NAMED])
    named += f" and {len(dear) - _NAMED} more" * (len(dear) > _NAMED)
    words = f"Replayed with the prices of {found['of']} ({found['place']}), times alone: {named};"
    yield f"{words} ranges hold the ends of prices and growth."
    share = summary.meta.get("priced_share")
    if isinstance(share, float):
        yield f"{percent(share)} of the work has a price; the rest slows nothing."
    sharing = [each for each in summary.sets if each.cores > 1 and each.contends]
    place = max(((s.cores, s.sync_share, s.contended_ratio) for s in sharing), default=None)
    there = [s for s in sharing if (s.cores, s.sync_share, s.contended_ratio) == place]
    full = [
        name
        for name in dear
        if is_saturated(unfinished_share([s for s in there if next(iter(_parts(s)), "") == name]))
    ]
    if full:
        rest = [s for s in there if not {*full} & {*_parts(s)}]
        own = mean_of(known(rest, "slowdown_bound"))
        text = "there is none" if own is None else f"{own:.3g}"
        yield (
            f"Saturated at M = {place[0] if place else 0}: {', '.join(full)}; slowdown of the"
            f" {len(rest)} of {len(there)} sets without: {text}."
        )


def _parts(own: SetFigures) -> list[str]:
    """Objects that a set shares, by the time spent in them."""
    return [part.partition("=")[0] for part in (own.shared_objects or "").split()]
