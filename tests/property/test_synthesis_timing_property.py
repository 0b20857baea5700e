"""Whatever is asked: sums and bounds of utilisation, filled cores, and each task's own shares."""

from __future__ import annotations

import itertools
from fractions import Fraction

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from deadbeat.catalog import Catalog
from deadbeat.model.errors import SynthesisError, UsageError
from deadbeat.model.examples import example_calibration, example_entries, example_fragments
from deadbeat.model.tasks import Kind
from deadbeat.synthesis import Synthesiser, SynthesisParameters
from deadbeat.synthesis.distributions import PERIODS, UTILISATION_METHODS
from deadbeat.synthesis.outlines import outlines
from deadbeat.synthesis.parameters import PRIORITIES

FRAGMENTS = example_fragments()
CATALOG = Catalog(fragments={fragment.name: fragment for fragment in FRAGMENTS})
SYNTHESISER = Synthesiser(CATALOG, example_calibration(example_entries(FRAGMENTS)))

seeds = st.integers(0, 2**63 - 1)
shares = st.one_of(
    st.sampled_from([Fraction(0), Fraction(1)]), st.fractions(0, 1, max_denominator=1000)
)


@st.composite
def parameter_sets(draw: st.DrawFn) -> SynthesisParameters:
    cores = draw(st.integers(1, 4))
    tasks = draw(st.integers(cores, 10))
    low = draw(st.fractions(0, Fraction(1, 5), max_denominator=50))
    timing: dict[str, object] = {
        "utilisation": draw(st.fractions(Fraction(1, 20), 1, max_denominator=100)),
        "utilisation_method": draw(st.sampled_from(sorted(UTILISATION_METHODS))),
        "utilisation_min": low,
        "utilisation_max": draw(st.fractions(low, 1, max_denominator=50)),
        "periods": draw(st.sampled_from(sorted(PERIODS))),
        "period_min_ns": draw(st.integers(200_000, 2_000_000)),
        "period_max_ns": draw(st.integers(3_000_000, 100_000_000)),
        "wcet_max_ns": draw(st.integers(100_000, 5_000_000)),
    }
    for name in draw(st.sets(st.sampled_from(sorted(timing.keys() - {"utilisation"})))):
        del timing[name]
    if draw(st.integers(0, 3)) == 0:
        timing = {}
    each = st.lists(shares, min_size=tasks, max_size=tasks)
    try:
        return SynthesisParameters(
            cores=cores,
            tasks=tasks,
            sync_share=draw(shares),
            contended_ratio=draw(shares),
            sync_shares=tuple(draw(st.one_of(st.just([]), each))),
            contended_ratios=tuple(draw(st.one_of(st.just([]), each))),
            critical_cores=draw(st.integers(0, cores)),
            fill_utilisation=draw(st.fractions(Fraction(1, 10), 1, max_denominator=20)),
            priorities=draw(st.sampled_from(PRIORITIES)),
            **timing,
        )
    except UsageError:
        assume(False)
        raise


def check_timing(asked: SynthesisParameters, seed: int) -> None:
    try:
        drawn = outlines(asked, seed)
    except SynthesisError as error:
        assert asked.utilisation is not None
        assert error.hint
        return
    for core in range(asked.cores):
        tasks = [outline for outline in drawn if outline.core == core]
        critical = asked.critical_cores == 0 or core < asked.critical_cores
        assert {outline.critical for outline in tasks} == {critical}
        used = [Fraction(outline.wcet_ns, outline.period_ns) for outline in tasks]
        rounding = [Fraction(1, 2 * outline.period_ns) for outline in tasks]
        if not critical:
            assert 0 <= asked.fill_utilisation - sum(used) <= 2 * sum(rounding)
        elif asked.utilisation is not None:
            assert abs(sum(used) - asked.utilisation) <= sum(rounding)
            bounds = [asked.utilisation_bounds(task) for task in asked.tasks_on(core)]
            for part, error, (low, high) in zip(used, rounding, bounds, strict=True):
                assert low - error <= part <= high + error
            assert all(
                asked.period_min_ns <= outline.period_ns <= asked.period_max_ns for outline in tasks
            )
        else:
            assert all(outline.period_ns == 10 * outline.wcet_ns for outline in tasks)
    assert all(asked.wcet_min_ns <= outline.wcet_ns <= asked.wcet_max_ns for outline in drawn)
    if asked.periods == "harmonic":
        periods = sorted({outline.period_ns for outline in drawn if outline.critical})
        assert all(b % a == 0 for a, b in itertools.pairwise(periods))


@settings(max_examples=60, deadline=None)
@given(parameter_sets(), seeds)
def test_timing_keeps_its_promises(asked, seed):
    check_timing(asked, seed)


@settings(max_examples=60, deadline=None)
@given(parameter_sets(), seeds)
def test_tasks_realise_their_own_shares(asked, seed):
    try:
        made = SYNTHESISER.synthesise(asked, seed)
    except SynthesisError as error:
        assert error.hint
        return
    for index, task in enumerate(made.tasks):
        wcet_ps = 1000 * task.wcet_ns
        share = asked.share_of(index)
        sync_ps = sum(s.cost_ps for s in task.segments if s.kind is Kind.SY)
        budget_ps = sum(s.budget_ps for s in task.segments if s.kind is Kind.SY)
        assert abs(budget_ps - share * wcet_ps) <= Fraction(1, 2)
        # The finest synchronising use costs less than 10 us; a task has one of them too many.
        assert abs(sync_ps - budget_ps) <= max(10_000_000, wcet_ps // 100)
        assert abs(task.cost_ps - wcet_ps) * 100 <= wcet_ps
        if not task.critical:
            assert {segment.kind for segment in task.segments} == {Kind.NS}
    assert 0 <= made.sync_share_real <= 1
    assert 0 <= made.contended_ratio_real <= 1
    assert made == SYNTHESISER.synthesise(asked, seed)
