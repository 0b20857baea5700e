"""What ``deadbeat compare`` can compare: a kind of results a line of a table."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from attrs import frozen

from deadbeat.compare import latency as latency_compare
from deadbeat.compare import load as load_compare
from deadbeat.compare.campaigns import compare as compare_campaigns
from deadbeat.compare.decide import Options
from deadbeat.kinds.contention.place import find_campaign
from deadbeat.kinds.contention.view import open_campaign
from deadbeat.model.comparison import LATENCY_METRICS, LOAD_METRICS, METRICS, ComparisonResult
from deadbeat.model.errors import UsageError
from deadbeat.model.results import Summary
from deadbeat.store import place
from deadbeat.store.place import Kind

if TYPE_CHECKING:
    from deadbeat.report.charts import Chart


@frozen(kw_only=True)
class Ask:
    """What is to be compared, and how.

    Attributes:
        paths, repeats: Folders; the first of ``paths`` is the baseline, which ``repeats`` are of.
        options: Of the statistics.
        per_cpu: Each CPU is a cell of its own.
        allow_mixed: Also simulated beside measured.
        partial: Also what is unfinished.
    """

    paths: tuple[Path, ...]
    repeats: tuple[Path, ...]
    options: Options
    per_cpu: bool
    allow_mixed: bool
    partial: bool


@frozen(kw_only=True)
class Answer:
    """A comparison and what its page shows beside it.

    Attributes:
        summaries: In the order of ``result.campaigns``.
        extra: Makes the figures that only this kind has; they are heavy to import.
    """

    result: ComparisonResult
    summaries: tuple[Summary, ...]
    extra: Callable[[], list[Chart]]


@frozen(kw_only=True)
class Comparable:
    """One kind of results.

    Attributes:
        place: What its folders are.
        several: What many are called.
        metrics: That it has.
        minimum_effect, minimum_miss: What matters where nothing else is asked for.
        compare: Does it.
        per_cpu: Whether ``--per-cpu`` means anything.
    """

    place: Kind
    several: str
    metrics: tuple[str, ...]
    minimum_effect: float
    minimum_miss: float
    compare: Callable[[Ask], Answer]
    per_cpu: bool = False


def _campaigns(ask: Ask) -> Answer:
    views = [open_campaign(path) for path in ask.paths]
    result = compare_campaigns(
        views,
        [open_campaign(path) for path in ask.repeats],
        options=ask.options,
        allow_mixed=ask.allow_mixed,
        partial=ask.partial,
    )
    return Answer(result=result, summaries=tuple(view.summary for view in views), extra=list)


def _matrices(ask: Ask) -> Answer:
    matrices = [latency_compare.read_matrix(path) for path in ask.paths]
    result = latency_compare.compare_latency(
        matrices,
        [latency_compare.read_matrix(path) for path in ask.repeats],
        options=ask.options,
        per_cpu=ask.per_cpu,
        allow_mixed=ask.allow_mixed,
        partial=ask.partial,
    )

    def extra() -> list[Chart]:
        from deadbeat.kinds.latency.overlays import overlay_charts  # noqa: PLC0415  heavy

        return overlay_charts((matrix.name, matrix.runs) for matrix in matrices)

    return Answer(result=result, summaries=_no_summaries("latency", matrices), extra=extra)


def _load_tests(ask: Ask) -> Answer:
    tests = [load_compare.read_load(path) for path in ask.paths]
    result = load_compare.compare_load(
        tests,
        [load_compare.read_load(path) for path in ask.repeats],
        options=ask.options,
        allow_mixed=ask.allow_mixed,
        partial=ask.partial,
    )

    def extra() -> list[Chart]:
        from deadbeat.kinds.interference.overlays import overlay_charts  # noqa: PLC0415  heavy

        return overlay_charts([test.summary for test in tests])

    return Answer(result=result, summaries=_no_summaries("load", tests), extra=extra)


def _no_summaries(mode: str, results: Sequence[object]) -> tuple[Summary, ...]:
    """Nothing that has task sets: only the mode is told."""
    return tuple(Summary(mode=mode, rows=(), sets=()) for _ in results)


CAMPAIGN = Comparable(
    place=place.CAMPAIGN,
    several="campaigns",
    metrics=METRICS,
    minimum_effect=0.02,
    minimum_miss=0.005,
    compare=_campaigns,
)
#: The first that finds a folder is its kind; the last says what there is instead.
KINDS = (
    Comparable(
        place=place.MATRIX,
        several="matrices",
        metrics=LATENCY_METRICS,
        minimum_effect=latency_compare.MINIMUM_EFFECT,
        minimum_miss=latency_compare.MINIMUM_MISS,
        compare=_matrices,
        per_cpu=True,
    ),
    Comparable(
        place=place.LOAD_TEST,
        several="load tests",
        metrics=LOAD_METRICS,
        minimum_effect=load_compare.MINIMUM_EFFECT,
        minimum_miss=load_compare.MINIMUM_MISS,
        compare=_load_tests,
    ),
    CAMPAIGN,
)


def found(runs: Path, name: str) -> tuple[Comparable, Path]:
    """The kind and the folder of what ``name`` means; UsageError where it means nothing."""
    for kind in KINDS[:-1]:
        path = kind.place.find(runs, name)
        if path is not None:
            return kind, path
    return CAMPAIGN, find_campaign(runs, name)


def all_found(runs: Path, names: Sequence[str]) -> tuple[Comparable, tuple[Path, ...]]:
    """The kind that all ``names`` are of, and their folders; campaigns where there is no name.

    Raises:
        UsageError: One means nothing, or is of another kind.
    """
    places = [found(runs, name) for name in names]
    first = places[0][0] if places else CAMPAIGN
    for name, (kind, _) in zip(names, places, strict=True):
        if kind is not first:
            raise UsageError(
                f"{name} is a {kind.place.noun}, beside it a {first.place.noun} is named: they"
                " have nothing in common",
                "compare campaigns with campaigns (deadbeat profile, stress), matrices with"
                " matrices (deadbeat latency), load tests with load tests (deadbeat load)",
            )
    return first, tuple(path for _, path in places)
