"""`deadbeat compare` of load tests: two kernels, two preemption models, two boards.

The unit is the run, never the round: rounds of one run share what the machine did. A cell is a
number of ordinary threads, without a remedy; runs of one key are paired, and those of the plan's
blocks were measured close together.
docs/explanation/comparing-load-tests.md.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import attrs
import numpy as np
from attrs import field, frozen

from deadbeat.compare.decide import Options
from deadbeat.compare.findings import not_counted, other_work_beside
from deadbeat.compare.repeated import Way, compare_repeated, require_comparable
from deadbeat.compare.sides import Cell, RunFigure, Side
from deadbeat.compare.vocabulary import LOADS
from deadbeat.experiment.beside import beside_load
from deadbeat.kinds.interference.place import planned_keys
from deadbeat.kinds.interference.plan import block_of
from deadbeat.kinds.interference.spec import LoadSpec, read_spec
from deadbeat.kinds.interference.summarise import Figures, figures_of
from deadbeat.kinds.interference.view import summary_of
from deadbeat.model.comparison import LOAD_METRICS, ComparisonResult, RemedyEffects
from deadbeat.model.finding import Finding
from deadbeat.model.load import PLAIN, REFERENCE, TRACED, LoadKey, LoadRun
from deadbeat.model.load_summary import LoadSummary
from deadbeat.store.load import LoadStore
from deadbeat.store.serial import to_plain

#: Relative difference of response times and difference of shares of work, and difference of miss
#: ratios, that matter where nothing else is asked for.
MINIMUM_EFFECT, MINIMUM_MISS = 0.05, 0.005
#: A round's work that differs by more is another round.
_ROUNDS_DIFFER = 0.02


@frozen(kw_only=True)
class LoadTest:
    """A load test as a comparison reads it.

    Attributes:
        name, path: Of its folder.
        every: Every stored run, those that do not count included.
        settings: What must agree, from its specification, in words.
        platform: Where it was measured, as JSON values.
        planned: Every run there should be.
        blocks: Of each of them: which were measured close together.
        normal: Numbers of ordinary threads.
        deadline_ns, period_ns: Of its rounds; ``period_ns`` None back to back.
        additions: Of a round.
        cpus: CPUs that its threads may use.
        summary: What its own page shows: its remedies' effects are from it.
    """

    name: str
    path: str
    every: tuple[LoadRun, ...] = field(repr=False)
    settings: Mapping[str, Any]
    platform: Mapping[str, Any] = field(repr=False)
    planned: tuple[LoadKey, ...] = field(repr=False)
    blocks: Mapping[LoadKey, int] = field(repr=False)
    normal: tuple[int, ...]
    deadline_ns: int
    period_ns: int | None
    additions: int
    cpus: tuple[int, ...]
    summary: LoadSummary = field(repr=False)

    @property
    def kind(self) -> str:
        """Of where it ran."""
        return self.summary.kind

    @property
    def runs(self) -> tuple[LoadRun, ...]:
        """Those without a remedy: only they are compared."""
        return tuple(run for run in self.every if run.key.condition == PLAIN)

    @property
    def cells(self) -> frozenset[str]:
        """Every number of ordinary threads that was asked for."""
        return frozenset(map(_group, self.normal))

    @property
    def left(self) -> int:
        """Runs still to come."""
        return len(set(self.planned) - {run.key for run in self.every})


def read_load(path: Path) -> LoadTest:
    """The load test in ``path``.

    Raises:
        DataError: It is damaged, or no load test.
    """
    store = LoadStore.open(path)
    spec = read_spec(store.spec)
    runs = tuple(store.runs())
    assert spec.deadline is not None
    assert spec.round is not None
    planned = planned_keys(store)
    return LoadTest(
        name=path.resolve().name,
        path=str(path),
        every=runs,
        settings=settings_of(spec),
        platform=to_plain(store.platform),
        planned=planned,
        blocks=blocks_of(spec, planned),
        normal=spec.normal or (),
        deadline_ns=spec.deadline,
        period_ns=spec.period,
        additions=spec.additions or spec.round * 1_000_000 // store.unit_ps,
        cpus=spec.cpus or (),
        summary=summary_of(store, runs),
    )


def blocks_of(spec: LoadSpec, planned: Iterable[LoadKey]) -> dict[LoadKey, int]:
    """Run -> its block; of all but the traced one, which stands in none."""
    return {key: block_of(spec, key) for key in planned if key.condition != TRACED}


def settings_of(spec: LoadSpec) -> dict[str, Any]:
    """What makes a failure what it is, of a resolved specification."""
    additions = spec.additions
    return {
        "form": spec.form,
        "round": f"{additions} additions" if additions else _ms(spec.round),
        "deadline": _ms(spec.deadline),
        "period": _ms(spec.period),
        "priority": spec.priority,
        "policy": spec.policy,
        "normal": ", ".join(map(str, spec.normal or ())),
        "seconds": spec.seconds,
    }


def _ms(ns: int | None) -> str:
    return "none" if ns is None else f"{ns / 1e6:g} ms"


def compare_load(
    tests: Sequence[LoadTest],
    repeats: Sequence[LoadTest] = (),
    *,
    options: Options,
    allow_mixed: bool = False,
    partial: bool = False,
) -> ComparisonResult:
    """Compares the first of ``tests`` with each of the others.

    Args:
        tests: Two or more; the first is the baseline.
        repeats: Further load tests of the baseline's command on its machine and kernel (A/A).
        options: Of the statistics; ``words`` and ``few_blocks`` are set here.
        allow_mixed: Compare a simulated load test with a measured one; labelled.
        partial: Compare unfinished load tests; labelled.

    Raises:
        UsageError: They asked different questions, one is empty, unfinished or named twice, a
            repeat is none.
    """
    require_comparable(tests, repeats, words=LOADS, allow_mixed=allow_mixed, partial=partial)
    every = [*tests, *repeats]
    way = Way(of="load", words=LOADS, side=side_of, planned=_planned)
    found = compare_repeated(
        tests,
        repeats,
        way=way,
        options=options,
        findings=[*_of_tests(every), *_other_rounds(tests)],
        parameters={"additions": [test.additions for test in tests]},
    )
    return attrs.evolve(
        found,
        differences=(*found.differences, *_other_cpus(tests)),
        remedies=tuple(_remedies(tests)),
    )


# -- from a load test to a side


def side_of(test: LoadTest) -> Side:
    """The runs without a remedy that count, as plain figures."""
    return side_of_runs(
        test.name,
        test.every,
        blocks=test.blocks,
        deadline_ns=test.deadline_ns,
        period_ns=test.period_ns,
    )


def side_of_runs(
    name: str,
    runs: Iterable[LoadRun],
    *,
    blocks: Mapping[LoadKey, int],
    deadline_ns: int,
    period_ns: int | None,
) -> Side:
    """The same of runs by themselves; those of `REFERENCE` say what work is lost."""
    figures = [
        figures_of(run, deadline_ns=deadline_ns, period_ns=period_ns)
        for run in runs
        if run.valid and run.key.condition in (PLAIN, REFERENCE)
    ]
    without = {
        (key.normal, key.repeat): each.work_per_s
        for each in figures
        if (key := each.run.key).condition == REFERENCE
    }
    return Side(
        name=name,
        runs={
            key.text: _figure(each, blocks[key], without.get((key.normal, key.repeat)))
            for each in figures
            if (key := each.run.key).condition == PLAIN
        },
    )


def _figure(figures: Figures, block: int, without: float | None) -> RunFigure:
    """Args: ``without``: work of the ordinary threads in the run without the real-time one."""
    run, released = figures.run, figures.released
    responses = np.sort(figures.response_ns)
    skipped = released - len(responses)
    work = figures.work_per_s
    return RunFigure(
        cell=_cell(run.key.normal),
        block=f"{block:04d}",
        values={
            "deadline_miss_ratio": figures.failures / released if released else None,
            "response_p50": _rank(responses, 50),
            "response_p99": _rank(responses, 99),
            "response_max": _rank(responses, 100),
            "work_lost": 1 - work / without if work is not None and without else None,
        },
        at_ns=int(datetime.fromisoformat(run.started).timestamp()) * 1_000_000_000,
        lost=skipped / released if released else None,
    )


def _rank(ordered: np.ndarray[Any, np.dtype[np.int64]], percent: int) -> float | None:
    """Quantile by nearest rank."""
    return float(ordered[-(-len(ordered) * percent // 100) - 1]) if len(ordered) else None


def _group(normal: int) -> str:
    return f"{normal} ordinary thread{'' if normal == 1 else 's'}"


def _cell(normal: int) -> Cell:
    return Cell(_group(normal), -1, -1.0, -1.0, 0.0)


def _planned(test: LoadTest) -> list[Cell]:
    return [_cell(normal) for normal in test.normal]


# -- what the reader must know


def _remedies(tests: Sequence[LoadTest]) -> Iterator[RemedyEffects]:
    """Effects that the baseline and another have, in the order of the baseline."""
    known = [
        {(effect.condition, effect.normal): effect for effect in test.summary.effects}
        for test in tests
    ]
    for (condition, normal), effect in known[0].items():
        others = [own.get((condition, normal)) for own in known[1:]]
        if any(others):
            yield RemedyEffects(condition=condition, normal=normal, effects=(effect, *others))


def _of_tests(every: Sequence[LoadTest]) -> Iterator[Finding]:
    for test in every:
        if message := not_counted(test.name, test.every):
            yield Finding(
                id="load-invalid-runs",
                severity="warning",
                message=message,
                cure=f"deadbeat show {test.name} tells why",
                where=test.name,
            )
        yield from other_work_beside(test.name, beside_load(test.every))


def _other_rounds(tests: Sequence[LoadTest]) -> Iterator[Finding]:
    """A round is as long as was asked on either machine: then its work is not the same."""
    baseline = tests[0]
    for test in tests[1:]:
        ratio = test.additions / baseline.additions
        if abs(ratio - 1) > _ROUNDS_DIFFER:
            yield Finding(
                id="load-rounds-differ",
                severity="warning",
                message=f"a round is {baseline.additions:,} additions in {baseline.name} and"
                f" {test.additions:,} in {test.name}: each takes {test.settings['round']} there"
                " when nothing disturbs it",
                cure="response times are then told against each machine's own speed; --preset paper"
                " gives both the same work",
                where=test.name,
            )


def _other_cpus(tests: Sequence[LoadTest]) -> Iterator[str]:
    baseline = tests[0]
    for test in tests[1:]:
        if test.cpus != baseline.cpus:
            prefix = f"{test.name}: " if len(tests) > 2 else ""
            one, two = (", ".join(map(str, each.cpus)) for each in (baseline, test))
            yield f"{prefix}CPUs of the threads: {one} | {two}"


def load_options(**changes: Any) -> Options:
    """Options as `compare_load` uses them, for experiments on sides."""
    return Options(
        **{
            "metrics": LOAD_METRICS,
            "minimum_effect": MINIMUM_EFFECT,
            "minimum_miss": MINIMUM_MISS,
            "words": LOADS,
            "few_blocks": True,
            **changes,
        }
    )
