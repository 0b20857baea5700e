"""What a Summary says about itself: name, machine, smallest effect, sessions, calibration.

Every reader of ``Summary.meta`` in the report is here, so that a key has one spelling. A fact that
the summary does not hold is named as missing, never guessed.
"""

from __future__ import annotations

import math
import numbers
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from operator import attrgetter
from pathlib import Path
from typing import Any, TypeVar

from attrs import evolve, frozen

from deadbeat.base.model.grouping import grouped
from deadbeat.base.model.words import Json, beside_label, count_of, inside, loud, origin
from deadbeat.base.report.building import spread
from deadbeat.base.report.charts import Mark
from deadbeat.base.report.document import UNKNOWN, flatten, machine_facts, percent
from deadbeat.base.store.serial import plain_converter
from deadbeat.tasksets.model.figures import CellFigures, SetFigures
from deadbeat.tasksets.model.results import PrecisionRecord, Summary
from deadbeat.tasksets.prices.table import PriceTable
from deadbeat.tasksets.store.serial import converter, structure

#: Points or groups, or task sets.
Of = TypeVar("Of", CellFigures, SetFigures)


#: Failed runs that are named with a reason.
_RUNS = 4


@frozen
class NoiseFloor:
    """The smallest effect that can be seen in a campaign. ``share``: smallest slowdown above 1 that
    can be seen (0.012 is 1.2 %); None: not known. ``text``: the sentence that stands on every
    figure. ``basis``: one line: what it rests on; "" when not recorded."""

    share: float | None
    text: str
    basis: str

    def marks(self, axis: str) -> tuple[Mark, ...]:
        if not self.share:
            return ()
        return (Mark(axis=axis, at=1.0, to=1 + self.share, label="too small to see"),)


def number(value: Any) -> float | None:
    """A finite float, or None for everything that is none (None, NaN, text)."""
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        return None
    return float(value) if math.isfinite(value) else None


@frozen
class Level:
    """A deadline factor of a campaign. ``option``: what tells its figures from those of others; "":
    there is one factor. ``suffix``: added to their names."""

    factor: float
    option: str = ""
    suffix: str = ""

    def holds(self, factor: float | None) -> bool:
        return not self.option or (factor or 0.0) == self.factor

    def of(self, items: Iterable[Of]) -> list[Of]:
        return [each for each in items if self.holds(each.deadline_factor)]


def levels(items: Iterable[CellFigures | SetFigures], most: int | None = None) -> tuple[Level, ...]:
    """The deadline factors of ``items``, ascending; at most about ``most``, None: all."""
    every = factors(items)
    if len(every) < 2:
        return (Level(max(every, default=0.0)),)
    shown = every if most is None else spread(every, most)
    return tuple(Level(f, f"D/C = {f:g}", f"-d{round(f * 1000):06d}") for f in shown)


def factors(items: Iterable[CellFigures | SetFigures]) -> tuple[float, ...]:
    """The deadline factors that occur, ascending; 0 where the campaign does not say."""
    return tuple(sorted({each.deadline_factor or 0.0 for each in items}))


def multiple(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def ratio(value: float) -> str:
    """At most three decimals, and no more than five characters below 10,000."""
    return f"{value:.{3 if value < 10 else 2 if value < 100 else 1}f}"


def deadline_words(cell: CellFigures) -> str:
    """``D = 10 C``, or ``D = T`` where T is drawn."""
    return f"D = {cell.factor:g} C" if cell.factor else "D = T"


def most(cells: Iterable[CellFigures], name: str) -> CellFigures:
    """The first with the largest value of a figure."""
    return max(cells, key=lambda cell: cell.value(name) or 0.0)


def grid_of(summary: Summary) -> Summary:
    """The campaign's grid: without the points that have a number of tasks a core of their own."""
    own = _per_core(summary)
    if not loaded_cells(summary):
        return summary
    drawn = (each for each in summary.distributions if (each.get("tasks_per_core") or 0) == own)
    return evolve(
        summary,
        cells=tuple(cell for cell in summary.cells if cell.tasks_per_core == own),
        sets=tuple(each for each in summary.sets if each.tasks == own * each.cores),
        distributions=tuple(drawn),
    )


def loaded_cells(summary: Summary) -> tuple[CellFigures, ...]:
    """The points with another number of tasks a core than the grid's, in order."""
    if summary.mode == "stress":
        return ()
    own = _per_core(summary)
    found = (cell for cell in summary.cells if cell.tasks_per_core != own)
    return tuple(sorted(found, key=attrgetter("cores", "sync_share", "contended_ratio")))


def loads(cells: Iterable[CellFigures]) -> list[list[CellFigures]]:
    """The points by tasks a core and deadline factor, ascending: what may be compared."""
    return [
        own for _, own in sorted(grouped(cells, lambda c: (c.tasks_per_core, c.factor)).items())
    ]


def _per_core(summary: Summary) -> int:
    """Tasks per core of the grid: the campaign's number, or the fewest of its points."""
    asked = number(inside(summary.meta, "parameters", "tasks").get("per_core"))
    every = {cell.tasks_per_core for cell in summary.cells}
    return int(asked) if asked in every else min(every, default=0)


def noise_floor(summary: Summary) -> NoiseFloor:
    found = summary.noise_floor
    if found is None:
        return NoiseFloor(None, "how small a slowdown could be seen here was not measured", "")
    share, text = found.smallest_effect, "how small a slowdown could be seen here is unknown"
    if share is not None:
        text = f"only slowdowns of {percent(share)} or more could be seen here"
    return NoiseFloor(share, text, found.basis)


def campaign_name(summary: Summary) -> str:
    return str(summary.meta.get("name") or "unnamed campaign")


def platform(summary: Summary) -> Mapping[str, Json]:
    """The platform as plain values; empty when not recorded."""
    return inside(summary.meta, "platform")


def origin_text(summary: Summary) -> str:
    """Owner of the programs and where they were calibrated; "" for a campaign's own."""
    origin = inside(summary.meta, "origin")
    if not origin:
        return ""
    original = inside(origin, "original_platform")
    where = " · ".join(str(original[key]) for key in ("name", "soc", "kernel") if original.get(key))
    words = f"of {origin.get('from') or UNKNOWN}, calibrated on {where or UNKNOWN}"
    if not origin.get("same_hardware"):
        words += "; costs come from another platform: read the slowdown, not the delay ratio"
    return words


def head_facts(summary: Summary) -> tuple[tuple[str, str], ...]:
    machine = platform(summary)
    cpus = machine.get("cpus")
    host, *system = machine_facts(machine, cores=len(cpus) if isinstance(cpus, Sequence) else 0)
    jobs = count_of(sum(cell.jobs or 0 for cell in summary.cells), "job")
    measured = origin(labels(summary)).capitalize()
    # `132 task sets`; `120 of 132 task sets` where some failed or are missing.
    there = len(summary.sets)
    planned = int(number(summary.meta.get("planned")) or 0)
    every = max(planned, there + len(inside(summary.meta, "failed")))
    sets_are = f"{there:,} of " * (every > there) + count_of(every, "task set")
    count = len(summary.cells)
    if summary.mode != "stress":
        rows_are = count_of(count, "point")
    else:
        levels = len(factors(summary.cells))
        if levels < 2:
            rows_are = count_of(count, "group")
        else:
            several = len({cell.group for cell in summary.cells})
            each = " each" if several > 1 else ""
            rows_are = f"{count_of(several, 'group')} at {levels} deadline factors{each}"
    return (
        host,
        *(("Programs", text) for text in (origin_text(summary),) if text),
        *system,
        ("Date", str(summary.meta.get("created_at") or UNKNOWN)),
        (measured, f"{rows_are} · {sets_are} · {jobs}"),
        *(("Precision", text) for text in (precision_text(summary),) if text),
    )


def labels(summary: Summary) -> tuple[str, ...]:
    """The labels that must show on every figure, the platform's kind among them unless hardware."""
    kind = str(platform(summary).get("kind") or "")
    own = list(summary.labels)
    if kind and kind != "hardware" and kind.lower() not in {label.lower() for label in own}:
        own.insert(0, kind)
    asked = inside(summary.meta, "parameters")
    return (*loud(filter(None, own)), *beside_label(asked.get("beside")))


def sessions(summary: Summary) -> Iterator[tuple[str, dict[str, str], dict[str, str]]]:
    """Title of each invocation of the campaign, in order; the state of the machine before and after
    it, as flat ``path: text`` tables."""
    for position, record in enumerate(summary.meta.get("sessions") or (), start=1):
        before, after = (dict(flatten(inside(record).get(when))) for when in ("before", "after"))
        yield f"Session {inside(record).get('session', position)}", before, after


def precision_text(summary: Summary) -> str:
    """How many points are known as well as was asked, and why not the others; "" if not asked."""
    asked = inside(summary.meta, "parameters", "precision")
    if summary.points and asked.get("sets_mean") is not None:
        return ""
    stored = summary.meta.get("precision")
    record = stored and converter().structure(stored, PrecisionRecord)
    if not record or not record.points:
        return ""
    points = record.points.values()
    reasons = Counter(point.stopped for point in points)
    width = percent(record.target) if record.relative else f"{record.target:g}"
    text = ", ".join(f"{reason}: {count}" for reason, count in sorted(reasons.items()))
    at = f"{count_of(len(points), 'point')} with"
    at += f" {count_of(sum(point.sets for point in points), 'task set')}"
    return f"{record.metric.replace('_', ' ')} to within {width} at {at}: {text}"


def price_table(summary: Summary) -> PriceTable | None:
    """What sharing costs; None: it was not measured."""
    found = summary.meta.get("prices")
    if found is None:
        return None
    path, hint = Path("summary.json"), "deadbeat page NAME builds it again"
    made = plain_converter()
    return structure(found, PriceTable, path=path, what="summary", hint=hint, made=made)


def listed_prices(summary: Summary) -> PriceTable | None:
    """The prices of a profile, which are the picture of its first screen; None: it has none."""
    found = None if summary.mode == "stress" else price_table(summary)
    return found if found and found.prices else None


def about(summary: Summary) -> list[str]:
    origin = origin_text(summary)
    return [*filter(None, (origin and f"programs {origin}", precision_text(summary)))]


def leaves(summary: Summary, part: str) -> tuple[tuple[str, str], ...]:
    return tuple(flatten(summary.meta.get(part)))


def failed_runs(summary: Summary) -> tuple[tuple[str, str], ...]:
    """Every reason for which runs failed, and how many and which, the most frequent first."""
    failed = inside(summary.meta, "failed")
    why = {key: str(inside(failed[key]).get("reason") or UNKNOWN) for key in sorted(failed)}
    ordered = sorted(grouped(why, why.__getitem__).items(), key=lambda item: -len(item[1]))
    shown = (", ".join([*keys[:_RUNS], *["…"] * (len(keys) > _RUNS)]) for _, keys in ordered)
    return tuple(
        (f"{count_of(len(keys), 'run')}: {names}", reason)
        for names, (reason, keys) in zip(shown, ordered, strict=True)
    )


def nothing_decided(summary: Summary) -> str:
    """What is said where no row has a result: nothing was run, or nothing of it is stored."""
    counted = any(cell.task_sets for cell in summary.cells)
    stored = counted or summary.sets or summary.meta.get("failed")
    what = "No task set has a result" if stored else "No run is stored"
    return f"{what}: nothing is decided."
