"""What a Summary says about itself: name, machine, smallest effect, sessions, calibration.

Every reader of ``Summary.meta`` in the report is here, so that a key has one spelling. A fact that
the summary does not hold is named as missing, never guessed.
"""

from __future__ import annotations

import math
import numbers
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from attrs import evolve, frozen

from deadbeat.model.results import PrecisionRecord, Summary
from deadbeat.model.words import beside_label, loud
from deadbeat.prices.table import PriceTable
from deadbeat.report.charts import UNDECIDED, Mark, spread
from deadbeat.report.document import UNKNOWN, counted, flatten, machine_facts, percent
from deadbeat.store.serial import converter, exact_converter, structure

#: A point, a group or a task set, as in summary.csv and sets.csv.
Row = Mapping[str, Any]

#: Failed runs that are named with a reason.
_RUNS = 4


@frozen(kw_only=True)
class NoiseFloor:
    """The smallest effect that can be seen in a campaign.

    Attributes:
        share: Smallest slowdown above 1 that can be seen (0.012 is 1.2 %); None: not known.
        text: The sentence that stands on every figure.
        basis: One line: what it rests on; "" when not recorded.
    """

    share: float | None
    text: str
    basis: str

    def marks(self, axis: str) -> tuple[Mark, ...]:
        """What lies within it."""
        if not self.share:
            return ()
        return (Mark(axis=axis, at=1.0, to=1 + self.share, label="too small to see"),)


@frozen(kw_only=True)
class SessionFacts:
    """State of the machine before and after one invocation, as flat ``path: text`` tables."""

    title: str
    before: Mapping[str, str]
    after: Mapping[str, str]

    @property
    def changed(self) -> tuple[str, ...]:
        """Keys whose value differs or is there only once; none while one side is not recorded."""
        if not self.before or not self.after:
            return ()
        keys = sorted(self.before.keys() | self.after.keys())
        return tuple(key for key in keys if self.before.get(key) != self.after.get(key))


def number(value: Any) -> float | None:
    """A finite float, or None for everything that is none (None, NaN, text)."""
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        return None
    return float(value) if math.isfinite(value) else None


class Figure(NamedTuple):
    """A figure of a row with the ends of its 95 % interval; None: not known.

    Attributes:
        of_one: Whether the interval is that of one set, over its rounds.
    """

    value: float | None
    low: float | None = None
    high: float | None = None
    of_one: bool = False

    @property
    def ends(self) -> tuple[float, float] | None:
        return None if self.low is None or self.high is None else (self.low, self.high)

    def scaled(self, factor: float) -> Figure:
        """In another unit."""
        value, low, high = (None if each is None else each * factor for each in self[:3])
        return Figure(value, low, high, self.of_one)

    def text(self, digits: Callable[[float], str]) -> str:
        """``1.2 [1.1, 1.3] one set``, or ``undecided``."""
        if self.value is None:
            return UNDECIDED
        ends = "" if self.ends is None else f" [{', '.join(map(digits, self.ends))}]"
        return digits(self.value) + ends + " one set" * bool(ends and self.of_one)

    def interval(self, digits: Callable[[float], str]) -> str:
        """``95 % interval 1.1 to 1.3``, or that there is none."""
        if self.ends is None:
            return "no interval"
        return f"95 % interval{' of one set' * self.of_one} {' to '.join(map(digits, self.ends))}"


def figure(row: Row, column: str) -> Figure:
    """A figure of a row; the columns of its interval are named after its own."""
    stems = (*(f"{column.removesuffix(end)}_ci" for end in ("", "_mean", "_ratio")), column)
    stem = next((each for each in stems if {f"{each}_low", f"{each}_high"} & row.keys()), "")
    value, low, high = (number(row.get(name)) for name in (column, f"{stem}_low", f"{stem}_high"))
    return Figure(value, low, high, row.get(f"{stem}_basis") == "rounds")


@frozen
class Level:
    """A deadline factor of a campaign.

    Attributes:
        option: What tells its figures from those of others; "": there is one factor.
        suffix: Of their names.
    """

    factor: float
    option: str = ""
    suffix: str = ""

    def of(self, rows: Iterable[Row]) -> list[Row]:
        """The rows or task sets of this factor."""
        return [row for row in rows if not self.option or factor_of(row) == self.factor]


def levels(rows: Iterable[Row], most: int | None = None) -> tuple[Level, ...]:
    """The deadline factors of ``rows``, ascending; at most about ``most``, None: all."""
    every = factors(rows)
    if len(every) < 2:
        return (Level(max(every, default=0.0)),)
    shown = every if most is None else spread(every, most)
    return tuple(Level(f, f"D/C = {f:g}", f"-d{round(f * 1000):06d}") for f in shown)


def factor_of(row: Row) -> float:
    """D / C of a row or task set; 0 where the campaign does not say."""
    return number(row.get("deadline_factor")) or 0.0


def factors(rows: Iterable[Row]) -> tuple[float, ...]:
    """The deadline factors that occur, ascending."""
    return tuple(sorted({factor_of(row) for row in rows}))


def misses(row: Row) -> bool:
    """Whether more jobs miss than of the same tasks alone, by the interval of the difference."""
    return (number(row.get("miss_excess_ci_low")) or 0) > 0


def multiple(value: float) -> str:
    """A multiple of C with three significant digits."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def ratio(value: float) -> str:
    """At most three decimals, and no more than five characters below 10,000."""
    return f"{value:.{3 if value < 10 else 2 if value < 100 else 1}f}"


def deadline_words(row: Row) -> str:
    """``D = 10 C``, or ``D = T`` where T is drawn."""
    factor = factor_of(row)
    return f"D = {factor:g} C" if factor else "D = T"


def per_core_of(row: Row) -> int:
    """Tasks a core of a row or distribution; 0 where the campaign does not say."""
    return int(number(row.get("tasks_per_core")) or 0)


def grid_of(summary: Summary) -> Summary:
    """The campaign's grid: without the points that have a number of tasks a core of their own."""
    own = _per_core(summary)
    if not loaded_rows(summary):
        return summary
    return evolve(
        summary,
        rows=tuple(row for row in summary.rows if per_core_of(row) == own),
        sets=tuple(item for item in summary.sets if item["tasks"] == own * item["cores"]),
        distributions=tuple(item for item in summary.distributions if per_core_of(item) == own),
    )


def loaded_rows(summary: Summary) -> tuple[Row, ...]:
    """The points with another number of tasks a core than the grid's, in order."""
    if summary.mode == "stress":
        return ()
    own = _per_core(summary)
    axes = ("cores", "sync_share", "contended_ratio")
    found = (row for row in summary.rows if per_core_of(row) != own)
    return tuple(sorted(found, key=lambda row: tuple(row[axis] for axis in axes)))


def loads(
    rows: Iterable[Row],
) -> dict[tuple[int, float], list[Row]]:
    """The rows by tasks a core and deadline factor, ascending: what may be compared."""
    found: dict[tuple[int, float], list[Row]] = {}
    for row in rows:
        found.setdefault((per_core_of(row), factor_of(row)), []).append(row)
    return dict(sorted(found.items()))


def _per_core(summary: Summary) -> int:
    """Tasks a core of the grid: as the campaign says, or the fewest of its points."""
    asked = number(inside(summary.meta, "parameters", "tasks").get("per_core"))
    every = {per_core_of(row) for row in summary.rows}
    return int(asked) if asked in every else min(every, default=0)


def noise_floor(summary: Summary) -> NoiseFloor:
    """The smallest effect, with the sentence for the figures."""
    share = number(summary.noise_floor.get("smallest_effect"))
    text = f"only slowdowns of {percent(share or 0)} or more could be seen here"
    if share is None:
        state = "is unknown" if summary.noise_floor else "was not measured"
        text = f"how small a slowdown could be seen here {state}"
    basis = str(summary.noise_floor.get("basis") or "")
    return NoiseFloor(share=share, text=text, basis=basis)


def campaign_name(summary: Summary) -> str:
    return str(summary.meta.get("name") or "unnamed campaign")


def platform(summary: Summary) -> Row:
    """The platform as plain values; empty when not recorded."""
    return inside(summary.meta, "platform")


def origin_text(summary: Summary) -> str:
    """Whose programs were run and where they were calibrated; "" for a campaign's own."""
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
    """Label and text of what stands under the title."""
    machine = platform(summary)
    cpus = machine.get("cpus")
    host, *system = machine_facts(machine, cores=len(cpus) if isinstance(cpus, Sequence) else 0)
    jobs = sum(int(number(row.get("jobs")) or 0) for row in summary.rows)
    known = precision_text(summary)
    return (
        host,
        *(("Programs", text) for text in (origin_text(summary),) if text),
        *system,
        ("Date", str(summary.meta.get("created_at") or UNKNOWN)),
        (
            "Simulated" if "SIMULATED" in labels(summary) else "Measured",
            f"{_rows_are(summary)} · {_sets_are(summary)} · {counted(jobs, 'job')}",
        ),
        *((("Precision", known),) if known else ()),
    )


def _sets_are(summary: Summary) -> str:
    """``132 task sets``; ``120 of 132 task sets`` where some failed or are missing."""
    there = len(summary.sets)
    planned = int(number(summary.meta.get("planned")) or 0)
    every = max(planned, there + len(inside(summary.meta, "failed")))
    return f"{there:,} of " * (every > there) + counted(every, "task set")


def _rows_are(summary: Summary) -> str:
    count = len(summary.rows)
    if summary.mode != "stress":
        return counted(count, "point")
    levels = len(factors(summary.rows))
    if levels < 2:
        return counted(count, "group")
    several = len({row.get("group") for row in summary.rows})
    each = " each" if several > 1 else ""
    return f"{counted(several, 'group')} at {levels} deadline factors{each}"


def labels(summary: Summary) -> tuple[str, ...]:
    """The labels that must show on every figure, the platform's kind among them unless hardware."""
    kind = str(platform(summary).get("kind") or "")
    own = list(summary.labels)
    if kind and kind != "hardware" and kind.lower() not in {label.lower() for label in own}:
        own.insert(0, kind)
    asked = inside(summary.meta, "parameters")
    return (*loud(filter(None, own)), *beside_label(asked.get("beside")))


def sessions(summary: Summary) -> tuple[SessionFacts, ...]:
    """Environment records, one per invocation of the campaign, in order."""
    return tuple(
        SessionFacts(
            title=f"Session {inside(record).get('session', position)}",
            before=dict(flatten(inside(record).get("before"))),
            after=dict(flatten(inside(record).get("after"))),
        )
        for position, record in enumerate(summary.meta.get("sessions") or (), start=1)
    )


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
    at = f"{counted(len(points), 'point')} with"
    at += f" {counted(sum(point.sets for point in points), 'task set')}"
    return f"{record.metric.replace('_', ' ')} to within {width} at {at}: {text}"


def price_table(summary: Summary) -> PriceTable | None:
    """What sharing costs; None: it was not measured."""
    found = summary.meta.get("prices")
    if found is None:
        return None
    path, hint = Path("summary.json"), "deadbeat report NAME makes it anew"
    made = exact_converter()
    return structure(found, PriceTable, path=path, what="summary", hint=hint, made=made)


def listed_prices(summary: Summary) -> PriceTable | None:
    """The prices of a profile, which are the picture of its first screen; None: it has none."""
    found = None if summary.mode == "stress" else price_table(summary)
    return found if found and found.prices else None


def about(summary: Summary) -> list[str]:
    """Whose programs they are, and how well points are known where that was asked."""
    origin, precision = origin_text(summary), precision_text(summary)
    return [*([f"programs {origin}"] if origin else []), *([precision] if precision else [])]


def leaves(summary: Summary, part: str) -> tuple[tuple[str, str], ...]:
    """A part of what is known of the campaign as ``path``, text."""
    return tuple(flatten(summary.meta.get(part)))


def failed_runs(summary: Summary) -> tuple[tuple[str, str], ...]:
    """Every reason for which runs failed, and how many and which, the most frequent first."""
    failed = inside(summary.meta, "failed")
    by_reason: dict[str, list[str]] = {}
    for key in sorted(failed):
        reason = str(inside(failed[key]).get("reason") or UNKNOWN)
        by_reason.setdefault(reason, []).append(str(key))
    ordered = sorted(by_reason.items(), key=lambda item: -len(item[1]))
    return tuple(
        (
            f"{counted(len(keys), 'run')}: {', '.join(keys[:_RUNS])}{', …' * (len(keys) > _RUNS)}",
            why,
        )
        for why, keys in ordered
    )


def nothing_decided(summary: Summary) -> str:
    """What is said where no row has a result: nothing was run, or nothing of it is stored."""
    counted = any(number(row.get("task_sets")) for row in summary.rows)
    stored = counted or summary.sets or summary.meta.get("failed")
    what = "No task set has a result" if stored else "No run is stored"
    return f"{what}: nothing is decided."


def inside(value: Any, *keys: str) -> Row:
    """The table below ``keys`` of nested ones; empty where there is none."""
    for key in keys:
        value = value.get(key) if isinstance(value, Mapping) else None
    return value if isinstance(value, Mapping) else {}
