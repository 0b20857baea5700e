"""Whatever the parameters and costs: sums are exact, and a task costs its WCET within 1 %."""

import itertools
from fractions import Fraction

from attrs import evolve
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from deadbeat.base.model.errors import SynthesisError, UsageError
from deadbeat.tasksets.catalog import Catalog
from deadbeat.tasksets.emit import emit_batch, task_set_id
from deadbeat.tasksets.model.calibration import Calibration
from deadbeat.tasksets.model.examples import example_calibration, example_entries, example_fragments
from deadbeat.tasksets.model.tasks import Kind, TaskSet
from deadbeat.tasksets.synthesis import SynthesisParameters, synthesise
from deadbeat.tasksets.synthesis.distributions import DISTRIBUTIONS, PERIODS, UTILISATION_METHODS
from deadbeat.tasksets.synthesis.outlines import outlines
from deadbeat.tasksets.synthesis.parameters import PRIORITIES

FRAGMENTS = example_fragments()
CATALOG = Catalog(fragments={fragment.name: fragment for fragment in FRAGMENTS})
CALIBRATION = example_calibration(example_entries(FRAGMENTS))

seeds = st.integers(0, 2**63 - 1)
shares = st.one_of(
    st.sampled_from([Fraction(0), Fraction(1)]), st.fractions(0, 1, max_denominator=1000)
)


@st.composite
def parameter_sets(draw: st.DrawFn) -> SynthesisParameters:
    cores = draw(st.integers(1, 5))
    tasks = draw(st.integers(cores, 10))
    classes_min = draw(st.integers(1, 4))
    low = draw(st.integers(60, 79))
    each = st.one_of(st.just([]), st.lists(shares, min_size=tasks, max_size=tasks))
    try:
        return SynthesisParameters(
            cores=cores,
            tasks=tasks,
            segments_max=draw(st.integers(2, 12)),
            sync_share=draw(shares),
            contended_ratio=draw(shares),
            sync_shares=tuple(draw(each)),
            contended_ratios=tuple(draw(each)),
            critical_cores=draw(st.integers(0, cores)),
            fill_utilisation=draw(st.fractions(Fraction(1, 10), 1, max_denominator=20)),
            classes_min=classes_min,
            classes_max=draw(st.integers(classes_min, 5)),
            priorities=draw(st.sampled_from(PRIORITIES)),
            priority_low=low,
            priority_high=draw(st.integers(low, 79)),
            **draw(drawn_costs() | drawn_utilisations()),
        )
    except UsageError:
        assume(False)
        raise


@st.composite
def drawn_costs(draw: st.DrawFn) -> dict[str, object]:
    wcet_min_ns = draw(st.integers(100_000, 3_000_000))
    return {
        "wcet_min_ns": wcet_min_ns,
        "wcet_max_ns": draw(st.integers(wcet_min_ns, 4_000_000)),
        "distribution": draw(st.sampled_from(sorted(DISTRIBUTIONS))),
        "deadline_factor": draw(st.fractions(1, 100, max_denominator=50)),
    }


@st.composite
def drawn_utilisations(draw: st.DrawFn) -> dict[str, object]:
    low = draw(st.fractions(0, Fraction(1, 5), max_denominator=50))
    timing: dict[str, object] = {
        "utilisation_method": draw(st.sampled_from(sorted(UTILISATION_METHODS))),
        "utilisation_min": low,
        "utilisation_max": draw(st.fractions(low, 1, max_denominator=50)),
        "periods": draw(st.sampled_from(sorted(PERIODS))),
        "period_min_ns": draw(st.integers(200_000, 2_000_000)),
        "period_max_ns": draw(st.integers(3_000_000, 100_000_000)),
        "wcet_max_ns": draw(st.integers(100_000, 5_000_000)),
    }
    for name in draw(st.sets(st.sampled_from(sorted(timing)))):
        del timing[name]
    return timing | {"utilisation": draw(st.fractions(Fraction(1, 20), 1, max_denominator=100))}


@st.composite
def calibrations(draw: st.DrawFn) -> Calibration:
    """The example's costs, each stretched by up to 4, its first use 0.9 to 3 repeats."""
    costs = {}
    for text, cores in CALIBRATION.costs.items():
        stretch = draw(st.integers(25, 100))
        ahead = draw(st.integers(90, 300))
        later = draw(st.integers(80, ahead))
        costs[text] = tuple(
            evolve(
                cost,
                repeat_ps=cost.repeat_ps * stretch // 25,
                first_ps=cost.repeat_ps * stretch // 25 * ahead // 100,
                again_ps=cost.repeat_ps * stretch // 25 * later // 100,
            )
            for cost in cores
        )
    return evolve(CALIBRATION, costs=costs)


def made(asked: SynthesisParameters, calibration: Calibration, seed: int) -> TaskSet | None:
    try:
        return synthesise(asked, CATALOG, calibration, seed)
    except SynthesisError as error:
        assert error.hint
        assert asked.utilisation is not None or calibration is not CALIBRATION
        return None


def check(task_set: TaskSet, asked: SynthesisParameters, calibration: Calibration) -> None:
    assert len(task_set.tasks) == asked.tasks
    for index, task in enumerate(task_set.tasks):
        wcet_ps = 1000 * task.wcet_ns
        assert asked.priority_low <= task.priority <= asked.priority_high
        assert 0 <= task.offset_ns < task.period_ns == task.deadline_ns
        assert task.core == index % asked.cores
        assert task.critical == asked.is_critical(task.core)
        assert 1 <= len(task.segments) <= asked.segments_max
        assert sum(segment.budget_ps for segment in task.segments) == wcet_ps
        sync_ps = sum(s.budget_ps for s in task.segments if s.kind is Kind.SY)
        assert abs(sync_ps - asked.share_of(index) * wcet_ps) <= Fraction(1, 2)
        assert all(segment.budget_ps > 0 for segment in task.segments)
        costs_ps = calibration.job_costs_ps(task)
        for segment, segment_costs_ps in zip(task.segments, costs_ps, strict=True):
            for use in segment.uses:
                assert use.repeats >= 1
                assert CATALOG.fragments[use.entry.fragment].kind is segment.kind
                assert (use.resource is None) == (segment.kind is Kind.NS)
            assert segment.cost_ps == sum(segment_costs_ps)
        assert abs(task.cost_ps - wcet_ps) * 100 <= wcet_ps
    assert 0 <= task_set.sync_share_real <= 1
    assert 0 <= task_set.contended_ratio_real <= 1


@settings(max_examples=40, deadline=None)
@given(parameter_sets(), seeds)
def test_every_task_set_keeps_its_promises(asked, seed):
    task_set = made(asked, CALIBRATION, seed)
    if task_set is None:
        return
    check(task_set, asked, CALIBRATION)
    assert task_set == made(asked, CALIBRATION, seed)
    for index, task in enumerate(task_set.tasks):
        sync = [s for s in task.segments if s.kind is Kind.SY]
        off_ps = sum(s.cost_ps for s in sync) - asked.share_of(index) * 1000 * task.wcet_ns
        # The finest synchronising use costs less than 10 us; a task has one of them too many.
        assert abs(off_ps) <= max(10_000_001, 10 * task.wcet_ns)


@settings(max_examples=40, deadline=None)
@given(parameter_sets(), calibrations(), seeds)
def test_whatever_the_costs(asked, calibration, seed):
    task_set = made(asked, calibration, seed)
    if task_set is not None:
        check(task_set, asked, calibration)


@settings(max_examples=40, deadline=None)
@given(parameter_sets(), seeds)
def test_what_is_executed_names_it(asked, seed):
    task_set = made(asked, CALIBRATION, seed)
    if task_set is None:
        return
    renamed = evolve(
        task_set,
        seed=0,
        generator="other",
        sync_share=Fraction(1, 7),
        tasks=tuple(evolve(task, name="x") for task in task_set.tasks),
    )
    assert task_set_id(renamed) == task_set_id(task_set)
    first = task_set.tasks[0]
    later = evolve(task_set, tasks=(evolve(first, offset_ns=first.offset_ns + 1),))
    assert task_set_id(later) != task_set_id(evolve(task_set, tasks=(first,)))
    assert emit_batch([task_set]).count(task_set_id(task_set)) == 2


@settings(max_examples=40, deadline=None)
@given(parameter_sets(), seeds)
def test_timing_keeps_its_promises(asked, seed):
    try:
        drawn = outlines(asked, seed)
    except SynthesisError as error:
        assert asked.utilisation is not None
        assert error.hint
        return
    for core in range(asked.cores):
        tasks = [outline for outline in drawn if outline.core == core]
        used = [Fraction(outline.wcet_ns, outline.period_ns) for outline in tasks]
        rounding = [Fraction(1, 2 * outline.period_ns) for outline in tasks]
        if not asked.is_critical(core):
            assert 0 <= asked.fill_utilisation - sum(used) <= 2 * sum(rounding)
        elif asked.utilisation is not None:
            assert abs(sum(used) - asked.utilisation) <= sum(rounding)
            bounds = [asked.utilisation_bounds(task) for task in asked.tasks_on(core)]
            for part, error, (low, high) in zip(used, rounding, bounds, strict=True):
                assert low - error <= part <= high + error
            assert all(asked.period_min_ns <= each.period_ns for each in tasks)
            assert all(each.period_ns <= asked.period_max_ns for each in tasks)
        else:
            exact = [asked.deadline_factor * each.wcet_ns for each in tasks]
            assert all(
                abs(each.period_ns - wanted) <= Fraction(1, 2)
                for each, wanted in zip(tasks, exact, strict=True)
            )
    assert all(asked.wcet_min_ns <= outline.wcet_ns <= asked.wcet_max_ns for outline in drawn)
    if asked.periods == "harmonic":
        periods = sorted({outline.period_ns for outline in drawn if outline.critical})
        assert all(b % a == 0 for a, b in itertools.pairwise(periods))
