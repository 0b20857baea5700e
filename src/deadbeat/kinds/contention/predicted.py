"""Predicted from prices beside measured: how many of the slowed sets agree, and the worst."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from attrs import frozen

from deadbeat.kinds.contention.classes import is_saturated
from deadbeat.kinds.contention.facts import labels, number, platform, price_table
from deadbeat.model.results import Summary
from deadbeat.report.charts import Chart, CurvePoint, Mark, Panel, curve
from deadbeat.report.document import Part, Sentence, Table, counted, percent, said
from deadbeat.stats.intervals import t_quantile

Row = Mapping[str, Any]
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
    """How well prices explain a campaign.

    Attributes:
        sets: Sets that share objects, are not saturated and have both sides; ``slowed``: those of
            them that are slowed by `SLOWED` or more.
        told, judged: Sets whose saturation is predicted rightly, and all with both sides.
    """

    sets: tuple[Row, ...]
    slowed: tuple[Row, ...]
    told: int = 0
    judged: int = 0

    @property
    def close(self) -> int:
        return sum(map(_is_close, self.slowed))

    @property
    def inside(self) -> int:
        """Of ``slowed``, those that are predicted, or within what their rounds can tell."""
        return sum(_is_close(row) or _is_inside(row) for row in self.slowed)

    @property
    def trivial(self) -> int:
        """Of ``sets``, those that "always 1.00" predicts as well."""
        return sum(abs(row["slowdown_mean"] - 1) <= _room(row) for row in self.sets)

    @property
    def worst(self) -> list[Row]:
        """The sets furthest off, in units of what is allowed."""
        wrong = [row for row in self.sets if not _is_close(row)]
        return sorted(wrong, key=lambda row: -abs(off(row)) / _room(row))


def is_priced(summary: Summary) -> bool:
    """Whether prices can say anything of its sets: a made-up machine slows them by a formula."""
    return price_table(summary) is not None and platform(summary).get("soc") != "formula"


def off(row: Row) -> float:
    """Predicted minus measured slowdown."""
    return float(row["slowdown_predicted"]) - float(row["slowdown_mean"])


def _room(row: Row) -> float:
    return max(CLOSE * (float(row["slowdown_mean"]) - 1), CLOSE_LEAST)


def _is_close(row: Row) -> bool:
    return abs(off(row)) <= _room(row)


def _scatter(row: Row) -> float | None:
    """Half the 95 % interval of a set's slowdown over its rounds; None: not known."""
    error, rounds = number(row.get("slowdown_error")), number(row.get("rounds"))
    if error is None or rounds is None or rounds < 2:
        return None
    return t_quantile(0.975, rounds - 1) * error


def _is_inside(row: Row) -> bool:
    scatter = _scatter(row)
    return scatter is not None and abs(off(row)) <= scatter


def check(summary: Summary) -> PredictionCheck:
    """Over the sets of several cores that share objects."""
    sharing = [
        row
        for row in summary.sets
        if row["cores"] > 1 and row["sync_share"] and row["contended_ratio"]
    ]
    judged = [row for row in sharing if row.get("unfinished_predicted") is not None]
    told = sum(
        is_saturated(row["unfinished_share"]) == is_saturated(row["unfinished_predicted"])
        for row in judged
    )
    sets = tuple(
        row
        for row in judged
        if not is_saturated(row["unfinished_share"])
        and number(row["slowdown_mean"]) is not None
        and number(row["slowdown_predicted"]) is not None
    )
    slowed = tuple(row for row in sets if row["slowdown_mean"] >= SLOWED)
    return PredictionCheck(sets=sets, slowed=slowed, told=told, judged=len(judged))


def predicted_words(summary: Summary) -> str:
    """How many slowed sets prices predict; "" where there are no prices."""
    found = check(summary)
    if not is_priced(summary) or not found.sets:
        return ""
    if not found.slowed:
        return f"No set is slowed {SLOWED:g} times or more."
    words = f"From prices, {found.close} of {len(found.slowed)} slowed sets are predicted"
    return f"{words}; {found.inside} within what their own rounds can tell."


def likely_reason(summary: Summary, row: Row) -> str:
    """Why a set is not what its prices say."""
    scatter = _scatter(row)
    if scatter is not None and abs(off(row)) <= scatter:
        return f"its rounds scatter: {row['slowdown_mean']:.2f} ± {scatter:.2f}"
    table = price_table(summary)
    objects = {text.partition("=")[0] for text in str(row.get("shared_objects")).split()}
    own = [p for p in table.prices if p.object in objects] if table else []
    if not own:
        return "no price of its objects"
    widths = [width for p in own if (width := p.half_width) is not None]
    if not widths or max(widths) > _WIDE:
        return "its price is known to " + (f"± {percent(max(widths))}" if widths else "no interval")
    far = number(row.get("far_share"))
    if far is not None and 0.02 < far < 0.98:
        return "the host changed its state within the set"
    if off(row) < 0:
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
        f" and uses, never its own jobs. Of {counted(len(found.slowed), 'set')} slowed {SLOWED:g}"
        f" times or more {found.close} are predicted within {percent(CLOSE)} of slowdown - 1, or"
        f" {CLOSE_LEAST:g}, {found.inside} within that or the 95 % interval over their own rounds;"
        f" of all {len(found.sets)} that are not saturated {right}, where “always"
        f" 1.00” gets {found.trivial}. Saturated or not is predicted rightly of {found.told} of"
        f" {found.judged}."
    )
    table = Table(
        name="predicted-table",
        title="The worst predictions",
        columns=(
            said("set", lambda row: row["key"], words=True),
            said("objects", lambda row: row.get("shared_objects"), words=True),
            said("predicted", lambda row: row["slowdown_predicted"], format="{:.2f}".format),
            said(_side(summary), lambda row: row["slowdown_mean"], format="{:.2f}".format),
            said("likely reason", lambda row: likely_reason(summary, row), words=True, long=True),
        ),
        rows=found.worst[:_WORST],
        dense=True,
    )
    return (Sentence(words), *([table] if table.rows else []))


def _side(summary: Summary) -> str:
    return "simulated" if "SIMULATED" in labels(summary) else "measured"


def predicted_charts(summary: Summary) -> list[Chart]:
    """Measured over predicted slowdown, a mark per set, by its object."""
    found = check(summary)
    by_object: dict[str, list[Row]] = {}
    for row in found.sets:
        by_object.setdefault(str(row.get("class") or "random mix"), []).append(row)
    if not by_object:
        return []
    panel = Panel(
        title="",
        x_label="slowdown predicted from prices",
        y_label=f"slowdown, {_side(summary)}",
        curves=(
            curve("as predicted", _diagonal(found.sets), look=6, kind="plain"),
            *(
                curve(
                    name,
                    (
                        CurvePoint(r["slowdown_predicted"], r["slowdown_mean"], text=r["key"])
                        for r in rows
                    ),
                    look=look,
                    kind="points",
                )
                for look, (name, rows) in enumerate(sorted(by_object.items()))
            ),
        ),
        marks=(Mark(axis="y", at=SLOWED, label="slowed"),),
        x_log=True,
        y_log=True,
    )
    return [
        Chart(
            name="predicted",
            title="Predicted from prices",
            caption="A mark is a task set that shares objects and is not saturated.",
            panels=(panel,),
        )
    ]


def _diagonal(sets: Sequence[Row]) -> list[CurvePoint]:
    values = [row[name] for row in sets for name in ("slowdown_predicted", "slowdown_mean")]
    return [CurvePoint(end, end) for end in (min(values), max(values))]
