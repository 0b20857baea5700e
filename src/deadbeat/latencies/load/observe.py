"""Load tests as tables of observations.

A cell is a number of ordinary threads, without a remedy; a run is an observation, never a round:
rounds of one run share what the machine did. Blocks are those of the plan.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from attrs import evolve, field, frozen

from deadbeat.base.model.comparison import (
    Aligned,
    Comparable,
    ComparedLook,
    Lineup,
    RemedyEffects,
    Subject,
)
from deadbeat.base.model.finding import Finding, finding, not_counted, other_work_beside
from deadbeat.base.model.observations import Observations
from deadbeat.base.model.words import LABELLED
from deadbeat.base.store.serial import to_plain
from deadbeat.latencies.load.charts import overlay_charts
from deadbeat.latencies.load.figures import METRICS, WORDS, cell_of, figures_of, rows_of
from deadbeat.latencies.load.model import PLAIN, REFERENCE, TRACED, LoadKey, LoadRun, LoadSummary
from deadbeat.latencies.load.spec import LoadSpec, block_of, planned_keys, read_spec
from deadbeat.latencies.load.store import LoadStore
from deadbeat.latencies.load.summarise import summary_of
from deadbeat.latencies.load.validity import beside_load

#: A round's work that differs by more is another round.
_ROUNDS_DIFFER = 0.02


@frozen(kw_only=True)
class LoadTest(Subject):
    """A load test.

    Attributes:
        every: Every stored run, those that do not count included.
        blocks: Run -> its block; of all but the traced one, which stands in none.
        spec: Resolved.
        additions: Additions of a round.
        summary: What its own page shows: its remedies' effects are from it.
    """

    every: tuple[LoadRun, ...] = field(repr=False)
    blocks: Mapping[LoadKey, int] = field(repr=False)
    spec: LoadSpec = field(repr=False)
    additions: int
    summary: LoadSummary = field(repr=False)


def read_load(path: Path) -> LoadTest:
    """The load test in ``path``. Raises DataError: it is damaged, or no load test."""
    store = LoadStore.open(path)
    spec, runs, planned = read_spec(store.spec), tuple(store.runs()), planned_keys(store)
    left = len(set(planned) - {run.key for run in runs})
    return load_test_of(
        spec,
        runs,
        planned=planned,
        summary=summary_of(store, runs),
        unit_ps=store.unit_ps,
        name=path.resolve().name,
        path=str(path),
        platform=to_plain(store.platform),
        left=f"{left} of {len(planned)} runs are missing" if left else "",
    )


def load_test_of(
    spec: LoadSpec,
    runs: Sequence[LoadRun],
    *,
    planned: Iterable[LoadKey],
    summary: LoadSummary,
    unit_ps: int,
    **facts: Any,
) -> LoadTest:
    """A load test of runs; ``facts``: its other attributes."""
    plain = [run for run in runs if run.key.condition == PLAIN]
    kind = summary.kind
    labels = [kind] if kind in LABELLED else []
    labels += ["policy other"] if any(run.policy == "other" for run in plain) else []
    assert spec.round is not None
    return LoadTest(
        every=tuple(runs),
        blocks={key: block_of(spec, key) for key in planned if key.condition != TRACED},
        spec=spec,
        additions=spec.additions or spec.round * 1_000_000 // unit_ps,
        summary=summary,
        kind=kind,
        settings={  # what makes a failure what it is, of a resolved specification
            "form": spec.form,
            "round": f"{spec.additions} additions" if spec.additions else _ms(spec.round),
            "deadline": _ms(spec.deadline),
            "period": _ms(spec.period),
            "priority": spec.priority,
            "policy": spec.policy,
            "normal": ", ".join(map(str, spec.normal or ())),
            "seconds": spec.seconds,
        },
        counted=sum(run.valid for run in plain),
        stored=len(plain),
        created_at=min((run.started for run in plain if run.started), default=None),
        labels=tuple(labels),
        beside=spec.beside,
        **facts,
    )


def _ms(ns: int | None) -> str:
    return "none" if ns is None else f"{ns / 1e6:g} ms"


def align(lineup: Lineup) -> Aligned:
    """Load tests that asked the same, their remedies beside each other."""
    tests: tuple[LoadTest, ...] = lineup.subjects
    found = [each for test in lineup.every for each in _findings(test)]
    return Aligned(
        tables=tuple(observe(test) for test in lineup.every),
        findings=(*found, *_other_rounds(tests)),
        differences=tuple(_other_cpus(tests)),
        parameters={"additions": [test.additions for test in tests]},
        remedies=tuple(_remedies(tests)),
    )


def observe(test: LoadTest) -> Observations:
    """The runs without a remedy that count; those without the thread say what work is lost."""
    deadline, spec = test.spec.deadline, test.spec
    assert deadline is not None
    figures = [
        figures_of(run, deadline_ns=deadline, period_ns=spec.period)
        for run in test.every
        if run.valid and run.key.condition in (PLAIN, REFERENCE)
    ]
    without = {
        (each.run.key.normal, each.run.key.repeat): each.work_per_s
        for each in figures
        if each.run.key.condition == REFERENCE
    }
    rows = (
        row
        for each in figures
        if each.run.key.condition == PLAIN
        for row in rows_of(
            evolve(each, without=without.get((each.run.key.normal, each.run.key.repeat))),
            run=each.run.key.text,
            cell=cell_of(each.run.key.normal),
            block=f"{test.blocks[each.run.key]:04d}",
        )
    )
    return Observations(name=test.name, rows=rows, cells=map(cell_of, spec.normal or ()))


# -- what the reader must know


def _remedies(tests: Sequence[LoadTest]) -> Iterator[RemedyEffects]:
    """Effects that the baseline and another have, in the order of the baseline."""
    known = [{(e.condition, e.normal): e for e in test.summary.effects} for test in tests]
    for (condition, normal), effect in known[0].items():
        others = [own.get((condition, normal)) for own in known[1:]]
        if any(others):
            yield RemedyEffects(condition=condition, normal=normal, effects=(effect, *others))


def _findings(test: LoadTest) -> Iterator[Finding]:
    invalid = sum(not run.valid for run in test.every)
    yield from not_counted("load-invalid-runs", test.name, invalid, len(test.every))
    yield from other_work_beside(test.name, beside_load(test.every))


def _other_rounds(tests: Sequence[LoadTest]) -> Iterator[Finding]:
    """A round is as long as was asked on either machine: then its work is not the same."""
    baseline = tests[0]
    for test in tests[1:]:
        if abs(test.additions / baseline.additions - 1) > _ROUNDS_DIFFER:
            yield finding(
                "load-rounds-differ",
                f"a round is {baseline.additions:,} additions in {baseline.name} and"
                f" {test.additions:,} in {test.name}: each takes {test.settings['round']} there"
                " when nothing disturbs it",
                where=test.name,
            )


def _other_cpus(tests: Sequence[LoadTest]) -> Iterator[str]:
    baseline = tests[0]
    for test in tests[1:]:
        if test.spec.cpus != baseline.spec.cpus:
            prefix = f"{test.name}: " if len(tests) > 2 else ""
            one, two = (", ".join(map(str, each.spec.cpus or ())) for each in (baseline, test))
            yield f"{prefix}CPUs of the threads: {one} | {two}"


COMPARABLE = Comparable(
    of="load",
    noun="load test",
    words=WORDS,
    look=ComparedLook(
        called="Load tests", terms="compare-load", groups=("By ordinary threads", "cell")
    ),
    metrics=METRICS,
    read=read_load,
    align=align,
    overlays=lambda tests, _: overlay_charts([test.summary for test in tests]),
)
