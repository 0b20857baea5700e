"""Whatever the parameters and costs: sums are exact, and a task costs its WCET within 1 %."""

from __future__ import annotations

from fractions import Fraction

from attrs import evolve
from hypothesis import given, settings
from hypothesis import strategies as st

from deadbeat.catalog import Catalog
from deadbeat.emit import emit_batch, task_set_id
from deadbeat.model.calibration import Calibration
from deadbeat.model.errors import SynthesisError
from deadbeat.model.examples import example_calibration, example_entries, example_fragments
from deadbeat.model.tasks import Kind, TaskSet
from deadbeat.synthesis import SynthesisParameters, synthesise
from deadbeat.synthesis.distributions import DISTRIBUTIONS
from deadbeat.synthesis.parameters import PRIORITIES

FRAGMENTS = example_fragments()
CATALOG = Catalog(fragments={fragment.name: fragment for fragment in FRAGMENTS})
CALIBRATION = example_calibration(example_entries(FRAGMENTS))

shares = st.one_of(
    st.sampled_from([Fraction(0), Fraction(1)]), st.fractions(0, 1, max_denominator=1000)
)


@st.composite
def parameter_sets(draw: st.DrawFn) -> SynthesisParameters:
    cores = draw(st.integers(1, 5))
    wcet_min_ns = draw(st.integers(100_000, 3_000_000))
    classes_min = draw(st.integers(1, 4))
    low = draw(st.integers(60, 79))
    return SynthesisParameters(
        cores=cores,
        tasks=draw(st.integers(cores, 9)),
        segments_max=draw(st.integers(2, 12)),
        wcet_min_ns=wcet_min_ns,
        wcet_max_ns=draw(st.integers(wcet_min_ns, 4_000_000)),
        distribution=draw(st.sampled_from(sorted(DISTRIBUTIONS))),
        sync_share=draw(shares),
        contended_ratio=draw(shares),
        deadline_factor=draw(st.fractions(1, 100, max_denominator=50)),
        classes_min=classes_min,
        classes_max=draw(st.integers(classes_min, 5)),
        priorities=draw(st.sampled_from(PRIORITIES)),
        priority_low=low,
        priority_high=draw(st.integers(low, 79)),
    )


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


def check(task_set: TaskSet, asked: SynthesisParameters, calibration: Calibration) -> None:
    assert len(task_set.tasks) == asked.tasks
    for index, task in enumerate(task_set.tasks):
        wcet_ps = 1000 * task.wcet_ns
        assert asked.wcet_min_ns <= task.wcet_ns <= asked.wcet_max_ns
        assert asked.priority_low <= task.priority <= asked.priority_high
        assert 0 <= task.offset_ns < task.period_ns == task.deadline_ns
        assert task.core == index % asked.cores
        assert 1 <= len(task.segments) <= asked.segments_max
        assert sum(segment.budget_ps for segment in task.segments) == wcet_ps
        sync_ps = sum(s.budget_ps for s in task.segments if s.kind is Kind.SY)
        assert abs(sync_ps - asked.sync_share * wcet_ps) <= Fraction(1, 2)
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


@settings(max_examples=80, deadline=None)
@given(parameter_sets(), st.integers(0, 2**63 - 1))
def test_every_task_set_keeps_its_promises(asked, seed):
    check(synthesise(asked, CATALOG, CALIBRATION, seed), asked, CALIBRATION)


@settings(max_examples=60, deadline=None)
@given(parameter_sets(), calibrations(), st.integers(0, 2**63 - 1))
def test_whatever_the_costs(asked, calibration, seed):
    try:
        task_set = synthesise(asked, CATALOG, calibration, seed)
    except SynthesisError as error:
        assert error.hint
        return
    check(task_set, asked, calibration)


@settings(max_examples=60, deadline=None)
@given(parameter_sets(), st.integers(0, 2**63 - 1))
def test_what_is_executed_names_it(asked, seed):
    task_set = synthesise(asked, CATALOG, CALIBRATION, seed)
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
