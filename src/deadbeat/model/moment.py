"""One moment that went worst (a job, a wake-up, a round): who did what when, to be drawn."""

from __future__ import annotations

from attrs import frozen


@frozen(kw_only=True)
class Activity:
    """Something went on.

    Attributes:
        row: Index of the row it is on.
        kind: What it was: stretches of a kind look the same.
        begin_ns, end_ns: Since the release.
        text: Who it was.
    """

    row: int
    kind: str
    begin_ns: int
    end_ns: int
    text: str = ""


@frozen(kw_only=True)
class WorstMoment:
    """The worst one, from its release.

    Attributes:
        what: Which one it is, and how bad.
        rows: CPUs, threads or causes, from the top.
        marks: Name -> ns since the release; what lies far beyond the finish is told, not drawn.
        source: What it is drawn from.
    """

    what: str
    rows: tuple[str, ...]
    stretches: tuple[Activity, ...]
    marks: dict[str, int]
    source: str
