"""Predictions in words, as pictures, and as files."""

from __future__ import annotations

from collections.abc import Iterable
from operator import attrgetter

import attrs

from deadbeat.base.model.platform import Platform
from deadbeat.base.model.words import Json, count_of
from deadbeat.base.report.building import CurvePoint, aside, curve
from deadbeat.base.report.charts import Chart, Curve, Panel
from deadbeat.base.report.document import (
    Column,
    Document,
    FactList,
    Figures,
    Findings,
    Note,
    Section,
    Sentence,
    Table,
    folded,
    machine_facts,
    percent,
    said,
)
from deadbeat.base.stats.binomial import Z95
from deadbeat.base.stats.intervals import Interval, clopper_pearson
from deadbeat.tasksets.prediction.results import CLOSE, LEVEL, Predictions, Predictor, SetPrediction

_WORDS = {"slowdown": "slowdown", "breakdown": "breakdown utilisation"}
#: Measured, predicted and extrapolated: a colour and a marker each, everywhere.
_MEASURED, _CALIBRATION, _PREDICTED, _EXTRAPOLATED = 1, 4, 0, 3

_HOW = (
    ("overlap", "The set is replayed: its periods, offsets, priorities and uses in order, each use"
     " at its calibrated cost divided by the rate that those beside it leave. So slowed tasks are"
     " busy longer and meet others more often."),
    ("one rival", "The price as measured, shrunk towards none by its own noise (James and"
     " Stein 1961). A size without a price has the figures of the nearest size."),
    ("locks", "More rivals at one object: machine-repairman model by mean value analysis (Reiser,"
     " Lavenberg 1980); the share of the time that the lock is held is what explains the pair's"
     " slowdown. What queueing cannot explain (beyond 2 for two) is the price of sharing, and taken"
     " to stay as it is."),
    ("bandwidth", "More rivals in memory: demand against capacity (Williams, Waterman and Patterson"
     " 2009, roofline); the demand is what two of a kind show beyond the capacity."),
    ("intervals", "Split conformal (Vovk, Gammerman and Shafer 2005; Lei and others 2018): half of"
     " the sets say how far predictions are off, in units of a difficulty that holds the error of"
     " the measurement; the other half is judged. Sets of the same programs are in one half."),
    ("left out", "Wake-up latency, switches, caches emptied by preemption, priority inversion, the"
     " kernel's own work; whatever only shows with more rivals than the prices had."),
)  # fmt: skip
_BREAKS = (
    "Beyond the cores of the prices: a demand that two cores do not show may saturate many; a lock"
    " that hardly slows two may be a convoy of many. Whether a slowdown of two is waiting or the"
    " price of sharing cannot be seen. The range is of both ends of the prices' intervals; its"
    " high end holds the most that so few cores may hide."
)


def _number(value: float) -> str:
    return f"{value:.3g}" if value >= 10 else f"{value:.2f}"


def _ends(interval: Interval | None) -> str:
    return f"{_number(interval.low)} to {_number(interval.high)}" if interval else "–"


# ---------- words ----------


def answer(found: Predictions) -> tuple[str, ...]:
    start = "Simulated: of" if "SIMULATED" in found.labels else "Of"
    ranged = []
    if found.ranged:
        share = _share(sum(each.in_range for each in found.ranged), len(found.ranged))
        ranged = [
            f"Measured on more than {found.rivals + 1} cores: {share} in its EXTRAPOLATED range."
        ]
    marked: dict[str, list[str]] = {}
    for cores, sets in found.beyond().items():
        values = [each.predicted or 0.0 for each in sets]
        ends = f"{_number(min(values))} to {_number(max(values))}"
        mark = "EXTRAPOLATED" if sets[0].role == "extrapolated" else "Predicted"
        marked.setdefault(mark, []).append(f"{ends} on {count_of(cores, 'core')}")
    word = _WORDS[found.figure]
    beyond = [f"{mark}: {word} {', '.join(parts)}." for mark, parts in marked.items()]
    return (_quality(found, start), *ranged, *_against(found), *beyond)


def _quality(found: Predictions, start: str) -> str:
    if not found.judged:
        return f"No held-out task set of {found.result} has both a prediction and a measurement."
    model = found.model
    words = (
        f"{start} {count_of(len(found.judged), 'held-out task set')} {model.close} are predicted"
        f" within {CLOSE:.0%} (worst {model.worst:.0%})".replace("%", " %")
    )
    if found.coverage is None:
        return f"{words}; no interval is stated: too few sets calibrate it."
    share = _share(found.held, len(found.judged))
    return f"{words}; the stated 90 % intervals hold {share}."


def _share(count: int, whole: int) -> str:
    low, high = clopper_pearson(count, whole)
    return f"{count} of {whole} (95 %: {100 * low:.0f} to {100 * high:.0f} %)"


def _against(found: Predictions) -> list[str]:
    """Whether the model beats the trivial predictors."""
    if not found.judged:
        return []
    mine = f"mean error {percent(found.model.mean)}"
    beaten = [each for each in found.trivial if each.beaten]
    unbeaten = [each for each in found.trivial if not each.beaten]
    made = []
    if beaten:
        others = " and ".join(f"{each.name} ({percent(each.mean)})" for each in beaten)
        made.append(f"The model ({mine}) beats {others}.")
    better = [each for each in unbeaten if each.mean <= found.model.mean]
    if better:
        others = " or ".join(f"{each.name} ({percent(each.mean)})" for each in better)
        made.append(
            f"Guessing {others} is as good or better than the model ({mine}): do not use it here."
        )
    elif unbeaten:
        others = " or ".join(f"{each.name} ({percent(each.mean)})" for each in unbeaten)
        made.append(f"The model ({mine}) is not shown to beat {others}.")
    return made


# ---------- tables ----------

PREDICTORS = (
    said("predictor", lambda each: each.name, words=True),
    said("sets", lambda each: len(each.errors)),
    said("mean error", lambda each: each.mean, format=percent),
    said(f"within {CLOSE:.0%}".replace("%", " %"), lambda each: each.close),
    said("worst error", lambda each: each.worst, format=percent),
)

_ROLES = {
    "calibration": "measured, calibrates",
    "held-out": "measured, held out",
    "predicted": "predicted",
    "extrapolated": "EXTRAPOLATED",
}
SETS = (
    Column(key="key", heading="set", words=True),
    Column(key="cores", heading="cores"),
    Column(key="role", heading="what", format=lambda role: _ROLES[role], words=True),
    Column(key="predicted", heading="predicted", format=_number),
    Column(key="interval", interval=True),
    Column(
        key="shown",
        heading="90 % interval, or range",
        value=lambda each: _ends(each.interval or each.range),
        raw=False,
    ),
    Column(key="range", interval=True),
    Column(key="measured", heading="measured", format=_number),
    Column(key="error"),
    Column(key="plain"),
    Column(key="off", heading="off by", format=lambda off: f"{100 * off:+.1f} %"),
    *(
        Column(key=key, heading=heading, value=attrgetter(f"covered.{key}"), format=percent)
        for key, heading in (
            ("exact", "known"),
            ("alike", "by another size"),
            ("lacking", "not known"),
        )
    ),
)


def _predictors(found: Predictions) -> list[Predictor]:
    if not found.judged:
        return []
    contended = [found.contended] if found.contended.errors else []
    return [found.model, *contended, *found.trivial]


# ---------- pictures ----------


def charts(found: Predictions) -> list[Chart]:
    made = [_against_measured(found)] if found.judged or found.calibrating else []
    if not found.beyond():
        return made
    word = _WORDS[found.figure]
    beyond = [each for sets in found.beyond().values() for each in sets]
    chosen = list(dict.fromkeys(each.key for each in beyond))
    own = [each for each in found.sets if each.key in chosen and each.role in _OWN]
    cores = sorted({each.cores for each in (*own, *beyond)})
    place = {
        (each.key, each.cores): cores.index(each.cores) + aside(chosen.index(each.key), len(chosen))
        for each in (*own, *beyond)
    }
    panel = Panel(
        title="",
        x_label="cores",
        y_label=word,
        curves=tuple(
            each
            for each in (
                _over("predicted, stated 90 % interval", [*own, *beyond], "predicted", place),
                _over("EXTRAPOLATED, range of the prices", beyond, "extrapolated", place),
                _over("measured", own, "measured", place),
            )
            if each.x
        ),
        categories=tuple(map(str, cores)),
        y_log=found.figure == "slowdown",
        y_limits=_limits([*own, *beyond]),
    )
    caption = (
        f"{count_of(len(chosen), 'set')}, each core of a larger machine doing what one of the set's"
        " does, at offsets of its own. Extrapolated points have no interval that was tested."
    )
    mark = " (EXTRAPOLATED)" * any(each.role == "extrapolated" for each in beyond)
    over_cores = Chart(
        name="cores", title=f"On other numbers of cores{mark}", caption=caption, panels=(panel,)
    )
    return [*made, over_cores]


def _against_measured(found: Predictions) -> Chart:
    word = _WORDS[found.figure]
    sets = [*found.judged, *found.calibrating]
    # The predictions as a line, on which a measurement is predicted exactly.
    known = {each.predicted: each for each in sets if each.predicted is not None}
    points = [CurvePoint(at, at, *(known[at].interval or ())) for at in sorted(known)]
    intervals = curve("predicted, stated 90 % interval", points, look=_PREDICTED, kind="line")
    panel = Panel(
        title="",
        x_label=f"predicted {word}",
        y_label=word,
        curves=(
            intervals,
            _points(found.calibrating, "measured, calibrates the intervals", _CALIBRATION),
            _points(found.judged, "measured, held out", _MEASURED),
        ),
        x_log=found.figure == "slowdown",
        y_log=found.figure == "slowdown",
        x_limits=_limits(sets),
        y_limits=_limits(sets),
    )
    caption = (
        "A point on the line is predicted exactly. Band: where the model says that a measurement"
        " lies with 90 %; it may leave the picture. Bars: error of the measurement itself (95 %)."
    )
    return Chart(name="predicted", title="Predicted and measured", caption=caption, panels=(panel,))


def _limits(sets: Iterable[SetPrediction]) -> tuple[float, float]:
    """Around what is predicted and measured, for both axes: an interval may be so wide that all
    else would be a point."""
    own = [(each.predicted, each.measured, *(each.range or ())) for each in sets]
    drawn = [value for values in own for value in values if value is not None]
    room = max(0.05 * (max(drawn) - min(drawn)), 0.02 * max(drawn))
    return min(drawn) - min(room, min(drawn) / 2), max(drawn) + room


def _points(sets: Iterable[SetPrediction], label: str, look: int) -> Curve:
    points = [_measured(each, each.predicted) for each in sets if each.predicted is not None]
    return curve(label, points, look=look, kind="errors")


def _measured(each: SetPrediction, x: float) -> CurvePoint | None:
    """What was measured of a set, with 95 % of its own error."""
    if each.measured is None:
        return None
    arm = Z95 * (each.error or 0.0) * each.measured
    text = f"{each.key}: {_number(each.measured)} measured"
    return CurvePoint(x, each.measured, each.measured - arm, each.measured + arm, text=text)


_OWN = ("calibration", "held-out")


def _over(
    label: str, sets: Iterable[SetPrediction], what: str, place: dict[tuple[str, int], float]
) -> Curve:
    points, beyond = [], what == "extrapolated"
    for each in sets:
        x = place[each.key, each.cores]
        if what == "measured":
            points.append(_measured(each, x + 0.02))
        elif each.predicted is not None and beyond == (each.role == "extrapolated"):
            ends = each.range if beyond else each.interval
            points.append(CurvePoint(x, each.predicted, *(ends or ())))
    look = {"measured": _MEASURED, "predicted": _PREDICTED, "extrapolated": _EXTRAPOLATED}[what]
    return curve(label, points, look=look, kind="errors")


# ---------- the whole ----------


def document(found: Predictions, platform: Platform) -> Document:
    words = answer(found)
    quality = Table(name="quality", columns=PREDICTORS, rows=_predictors(found), terminal=True)
    rows = sorted(found.sets, key=lambda each: (each.cores, -abs(each.off or 0.0), each.key))
    beyond = (Sentence(_BREAKS),) if any(s.role == "extrapolated" for s in found.sets) else ()
    return Document(
        title=f"{found.result} predicted",
        kind="predict",
        source="the stored prices and task sets",
        labels=found.labels,
        head=machine_facts(attrs.asdict(platform)),
        answer=words,
        picture=quality,
        sections=(
            Section(
                "answer",
                "How far to believe it",
                (Sentence(" ".join(words), answer=True), quality, Figures(charts(found)), *beyond),
                "Answer",
            ),
            Section(
                "sets",
                "Task sets",
                (
                    Note("The worst predictions first."),
                    folded(Table(name="sets", columns=SETS, rows=rows)),
                ),
            ),
            Section("findings", "What makes this doubtful", (Findings(found.findings),)),
            Section("how", "How it is predicted", (FactList(_HOW, terms=True),)),
        ),
    )


def rows(found: Predictions) -> list[dict[str, Json]]:
    return [
        {
            **attrs.asdict(each, recurse=False, filter=lambda field, _: field.name != "covered"),
            **{name: _plain(getattr(each, name)) for name in ("interval", "range")},
            "off": each.off,
            **{name: getattr(each.covered, name) for name in ("exact", "alike", "lacking")},
        }
        for each in found.sets
    ]


def _plain(interval: Interval | None) -> list[float] | None:
    return list(interval) if interval else None


def plain(found: Predictions) -> dict[str, Json]:
    return {
        "result": found.result,
        "figure": found.figure,
        "labels": list(found.labels),
        "level": LEVEL,
        "judged": len(found.judged),
        "calibrating": len(found.calibrating),
        "refused": found.refused,
        "within_10_percent": found.model.close if found.judged else 0,
        "held": found.held if found.coverage else None,
        "coverage": _plain(found.coverage),
        "ranged": len(found.ranged),
        "predictors": [
            {
                "name": each.name,
                "sets": len(each.errors),
                "mean_error": each.mean,
                "worst_error": each.worst,
                "within_10_percent": each.close,
                "gain": _plain(each.gain),
                "beaten": each.beaten,
            }
            for each in _predictors(found)
        ],
        "rows": rows(found),
    }
