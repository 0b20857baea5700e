"""What each remedy changes, judged as every comparison is (`deadbeat.base.verdicts.engine`).

A remedy that was tried at several numbers of ordinary threads is judged by all pairs of runs
together, and shown at each.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from statistics import mean
from typing import TypeAlias

from attrs import evolve

from deadbeat.base.model.comparison import CellComparison, Effect
from deadbeat.base.model.observations import Cell, Observation, Observations
from deadbeat.base.verdicts.engine import CompareOptions, compare_changes, compare_tables
from deadbeat.base.verdicts.pairs import IN_TURNS, PAIRS_MIN
from deadbeat.latencies.load.estimates import occasions_bound
from deadbeat.latencies.load.figures import METRICS, WORDS, LoadFigures, cell_of, rows_of
from deadbeat.latencies.load.model import PLAIN, REFERENCE, several

#: Runs by condition and number of ordinary threads.
Groups: TypeAlias = Mapping[tuple[str, int], Sequence[LoadFigures]]
_MISSES, _P99 = (
    next(metric for metric in METRICS if metric.name == name)
    for name in ("deadline_miss_ratio", "response_p99")
)
_OPTIONS = CompareOptions(metrics=(_MISSES,), words=WORDS, undisturbed=IN_TURNS, lacking_max=1.0)


def effects_of(groups: Groups) -> tuple[Effect, ...]:
    """The judged effect of every remedy; then those of each number that are judged together."""
    tried: dict[str, list[int]] = {}
    for condition, normal in groups:
        other = condition in (PLAIN, REFERENCE) or condition.startswith(several(""))
        if not other and _pairs(groups, condition, [normal]):
            tried.setdefault(condition, []).append(normal)
    judged = compare_changes(
        _table(groups, PLAIN, together=True),
        [_table(groups, condition, together=True) for condition in tried],
        options=_OPTIONS,
    )
    first, rest = [], []
    for (condition, numbers), comparison in zip(tried.items(), judged, strict=True):
        (metric,) = comparison.metrics
        each = [_effect(groups, condition, normal) for normal in numbers]
        (cell,) = metric.cells
        whole = each[0] if len(each) == 1 else _effect(groups, condition, None, cell)
        why = "too few repeats" if cell.pairs < PAIRS_MIN else ""
        why = why if whole.occasions_high is None else "no deadline missed either way"
        first.append(evolve(whole, misses=cell, verdict=cell.verdict, why=why))
        rest += each if len(each) > 1 else []
    return (*first, *rest)


def _effect(
    groups: Groups, condition: str, normal: int | None, known: CellComparison | None = None
) -> Effect:
    """Without its verdict. ``known``: its misses."""
    numbers = [number for name, number in groups if name == condition]
    pairs = _pairs(groups, condition, numbers if normal is None else [normal])
    before, after = ([each.count for each in side] for side in zip(*pairs, strict=True))
    p99 = None
    if known is None:
        one, other = (_table(groups, name, only=normal) for name in (PLAIN, condition))
        found = compare_tables(
            one, other, options=evolve(_OPTIONS, metrics=(_MISSES, _P99), changes=1)
        )
        known, p99 = (metric.cells[0] for metric in found.metrics)
    failed = any(each.failures for each in (*before, *after))
    return Effect(
        condition=condition,
        normal=normal,
        failures_before=mean(each.per_s for each in before),
        failures_after=mean(each.per_s for each in after),
        misses=known,
        p99=p99,
        occasions_high=None if failed else occasions_bound(before, after),
    )


def _pairs(
    groups: Groups, condition: str, numbers: Iterable[int]
) -> list[tuple[LoadFigures, LoadFigures]]:
    """Runs of one repeat without a remedy and with it, both valid."""
    pairs = []
    for normal in numbers:
        before, after = (
            {each.repeat: each for each in groups.get((name, normal), ())}
            for name in (PLAIN, condition)
        )
        pairs += [(before[repeat], after[repeat]) for repeat in sorted({*before} & {*after})]
    return pairs


def _table(
    groups: Groups, condition: str, *, together: bool = False, only: int | None = None
) -> Observations:
    """Runs of a condition, each number of ordinary threads a cell; ``together``: all one."""

    def rows() -> Iterator[Observation]:
        for (name, normal), runs in groups.items():
            if name != condition or only not in (None, normal):
                continue
            for each in runs:
                yield from rows_of(
                    each,
                    run=f"{normal} {each.repeat}",
                    cell=Cell() if together else cell_of(normal),
                    block=f"{each.repeat:04d}",
                    counted=True,
                )

    return Observations(name=condition, rows=rows())
