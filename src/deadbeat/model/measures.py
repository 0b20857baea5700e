"""Figures of a task set of which a point or group shows the mean over its sets: a row each.

A row here, and the line of `deadbeat.kinds.contention.figures` that computes it, are all that a new
figure takes. Its columns in sets.csv, summary.csv and the JSON, its cell on the page, its entry in
docs/reference/metrics.md and, with ``minimum``, its place in comparisons follow.
"""

from __future__ import annotations

from collections.abc import Iterator

from attrs import frozen


@frozen(kw_only=True)
class Measure:
    """One figure.

    Attributes:
        name: Its column, of a task set, a point and a group.
        title: Heads its column on the page; "": it is not there.
        meaning: What it is, for the reference.
        interval: Whether the mean has a 95 % interval over sets, ``NAME_ci_low`` and ``_high``.
        groups: Whether a group of a stress campaign has it too.
        scale: From its unit to the page's: 100 of a share in per cent.
        minimum: Smallest ratio of two campaigns (as a share) that matters; None: not compared.
    """

    name: str
    title: str = ""
    meaning: str
    interval: bool = False
    groups: bool = True
    scale: float = 1.0
    minimum: float | None = None

    @property
    def columns(self) -> tuple[str, ...]:
        """Of summary.csv."""
        ends = ("_ci_low", "_ci_high") if self.interval else ()
        return (self.name, *(f"{self.name}{end}" for end in ends))


MEASURES: tuple[Measure, ...] = (
    Measure(
        name="slowdown_calm",
        title="slowdown, calm half",
        meaning="slowdown in that half of the rounds in which the witnesses were faster",
    ),
    Measure(
        name="slowdown_rough",
        title="slowdown, rough half",
        meaning="slowdown in the other half",
    ),
    Measure(
        name="compute_ratio",
        title="compute ratio",
        meaning="computation together over computation alone, by the witnesses",
        interval=True,
    ),
    Measure(name="response_ratio_mean", meaning="response over C, mean over the set's jobs"),
    Measure(
        name="response_ratio_predicted",
        meaning="the same, **replayed with prices**: see [below](#predicted-and-measured)",
        groups=False,
    ),
)


def measure_columns(*, groups: bool) -> Iterator[str]:
    """Columns of summary.csv, of points or of groups."""
    for measure in MEASURES:
        if measure.groups or not groups:
            yield from measure.columns
