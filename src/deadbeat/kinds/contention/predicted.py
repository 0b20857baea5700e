"""Predicted from prices beside measured: how many of the slowed sets agree, and the worst."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from operator import attrgetter
from typing import Any

from attrs import frozen

from deadbeat.kinds.contention.facts import labels, platform, price_table
from deadbeat.kinds.contention.figures import mean_of
from deadbeat.kinds.contention.point import known, unfinished_share
from deadbeat.model.figures import SetFigures, is_saturated
from deadbeat.model.grouping import grouped
from deadbeat.model.results import Summary
from deadbeat.model.words import count_of, inside, origin
from deadbeat.report.building import CurvePoint, curve
from deadbeat.report.charts import Chart, Mark, Panel
from deadbeat.report.document import Part, Sentence, Table, percent, said
from deadbeat.stats.intervals import t_quantile

#: From this slowdown on a set is slowed.
SLOWED = 1.3
#: A prediction is right within this share of slowdown - 1, or by this much.
CLOSE, CLOSE_LEAST = 0.15, 0.05
#: An interval of a price that is wider explains a wrong prediction.
_WIDE = 0.15
#: Sets that are named.
_WORST = 12


@frozen(kw_only=True)
class PredictionCheck:
    """How well prices explain a campaign. ``sets``: sets that share objects, are not saturated and
    have both sides; ``slowed``: the ones slowed by `SLOWED` or more. ``right``,
    ``judged``: sets with a rightly predicted saturation, and all with both sides."""

    sets: tuple[SetFigures, ...]
    slowed: tuple[SetFigures, ...]
    right: int = 0
    judged: int = 0

    @property
    def close(self) -> int:
        return sum(map(_is_close, self.slowed))

    @property
    def inside(self) -> int:
        """Number of ``slowed`` that are predicted, or within what their rounds can show."""
        return sum(_is_close(own) or _scatter(own) is not None for own in self.slowed)

    @property
    def trivial(self) -> int:
        """Number of ``sets`` that "always 1.00" predicts as well."""
        return sum(abs(_measured(own) - 1) <= _room(own) for own in self.sets)

    @property
    def worst(self) -> list[SetFigures]:
        """The sets furthest off, in units of what is allowed."""
        wrong = [own for own in self.sets if not _is_close(own)]
        return sorted(wrong, key=lambda own: -abs(off(own)) / _room(own))


def is_priced(summary: Summary) -> bool:
    """Whether prices can say anything of its sets: a made-up machine slows them by a formula."""
    return price_table(summary) is not None and platform(summary).get("soc") != "formula"


def _predicted(own: SetFigures) -> float:
    return own.slowdown_predicted or 0.0


def _measured(own: SetFigures) -> float:
    return own.slowdown_mean or 0.0


def off(own: SetFigures) -> float:
    return _predicted(own) - _measured(own)


def _room(own: SetFigures) -> float:
    return max(CLOSE * (_measured(own) - 1), CLOSE_LEAST)


def _is_close(own: SetFigures) -> bool:
    return abs(off(own)) <= _room(own)


def _scatter(own: SetFigures) -> float | None:
    """Half the 95 % interval of a set's slowdown over its rounds, where it is within that; None: it
    is not, or that is not known."""
    error, rounds = own.slowdown_error, own.rounds
    if error is None or rounds is None or rounds < 2:
        return None
    scatter = t_quantile(0.975, rounds - 1) * error
    return scatter if abs(off(own)) <= scatter else None


def check(summary: Summary) -> PredictionCheck:
    sharing = [each for each in summary.sets if each.cores > 1 and each.contends]
    judged = [each for each in sharing if each.unfinished_predicted is not None]
    within = sum(
        is_saturated(each.unfinished_share) == is_saturated(each.unfinished_predicted)
        for each in judged
    )
    free = (each for each in judged if not is_saturated(each.unfinished_share))
    sets = tuple(s for s in free if None not in (s.slowdown_mean, s.slowdown_predicted))
    slowed = tuple(each for each in sets if _measured(each) >= SLOWED)
    return PredictionCheck(sets=sets, slowed=slowed, right=within, judged=len(judged))


def predicted_words(summary: Summary) -> str:
    """How many slowed sets prices predict; "" where there are no prices."""
    found = check(summary)
    if not is_priced(summary) or not found.sets:
        return ""
    if not found.slowed:
        return f"No set is slowed {SLOWED:g} times or more."
    words = f"From prices, {found.close} of {len(found.slowed)} slowed sets are predicted"
    return f"{words}; {found.inside} within what their own rounds can tell."


def likely_reason(summary: Summary, own: SetFigures) -> str:
    """Why a set is not what its prices say."""
    if (scatter := _scatter(own)) is not None:
        return f"its rounds scatter: {_measured(own):.2f} ± {scatter:.2f}"
    table = price_table(summary)
    objects = {text.partition("=")[0] for text in (own.shared_objects or "").split()}
    prices = [p for p in table.prices if p.object in objects] if table else []
    if not prices:
        return "no price of its objects"
    widths = [width for p in prices if (width := p.half_width) is not None]
    if not widths or max(widths) > _WIDE:
        return "its price is known to " + (f"± {percent(max(widths))}" if widths else "no interval")
    far = own.far_share
    if far is not None and 0.02 < far < 0.98:
        return "the host changed its state within the set"
    if off(own) < 0:
        return "more than the price: a convoy, or wake-ups while another holds it"
    return "less than the price: its cores met less, or took turns"


def predicted_parts(summary: Summary) -> tuple[Part, ...]:
    """The section of the page; nothing where no set has both sides."""
    found = check(summary)
    if not found.sets:
        return (Sentence("No set that shares objects has both a price and a slowdown."),)
    right = sum(map(_is_close, found.sets))
    words = (
        f"Each set is replayed with the prices of the states that it met: its releases, priorities"
        f" and uses, never its own jobs. Of {count_of(len(found.slowed), 'set')} slowed {SLOWED:g}"
        f" times or more {found.close} are predicted within {percent(CLOSE)} of slowdown - 1, or"
        f" {CLOSE_LEAST:g}, {found.inside} within that or the 95 % interval over their own rounds;"
        f" of all {len(found.sets)} that are not saturated {right}, where “always"
        f" 1.00” gets {found.trivial}. Saturation is predicted correctly for {found.right} of"
        f" {found.judged}."
    )
    table = Table(
        name="predicted-table",
        title="The worst predictions",
        columns=(
            said("set", attrgetter("key"), words=True),
            said("objects", attrgetter("shared_objects"), words=True),
            said("predicted", _predicted, format="{:.2f}".format),
            said(_side(summary), _measured, format="{:.2f}".format),
            said("likely reason", partial(likely_reason, summary), words=True, long=True),
        ),
        rows=found.worst[:_WORST],
        dense=True,
    )
    return (Sentence(words), *([table] if table.rows else []))


def _side(summary: Summary) -> str:
    return origin(labels(summary))


def predicted_charts(summary: Summary) -> list[Chart]:
    found = check(summary)
    by_object = grouped(found.sets, lambda own: own.object_class or "random mix")
    if not by_object:
        return []
    values = [side(own) for own in found.sets for side in (_predicted, _measured)]
    diagonal = [CurvePoint(end, end) for end in (min(values), max(values))]
    panel = Panel(
        title="",
        x_label="slowdown predicted from prices",
        y_label=f"slowdown, {_side(summary)}",
        curves=(
            curve("as predicted", diagonal, look=6, kind="plain"),
            *(
                curve(
                    name,
                    (CurvePoint(_predicted(s), _measured(s), text=s.key) for s in sets),
                    look=look,
                    kind="points",
                )
                for look, (name, sets) in enumerate(sorted(by_object.items()))
            ),
        ),
        marks=(Mark(axis="y", at=SLOWED, label="slowed"),),
        x_log=True,
        y_log=True,
    )
    caption = "A mark is a task set that shares objects and is not saturated."
    title = "Predicted from prices"
    return [Chart(name="predicted", title=title, caption=caption, panels=(panel,))]


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
        if is_saturated(unfinished_share([s for s in there if _mostly(s) == name]))
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


def _mostly(own: SetFigures) -> str:
    return next(iter(_parts(own)), "")
