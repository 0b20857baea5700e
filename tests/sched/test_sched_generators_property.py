"""Whatever the recipe: systems keep all its promises, or there is a reason; quickly either way."""

from fractions import Fraction
from math import lcm

import numpy as np
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from deadbeat.base.model.errors import SynthesisError
from deadbeat.sched import (
    Recipe,
    generate,
    period_samplers,
    sample_cfs,
    sample_utilisations,
    utilisation_samplers,
)

LIMITED = ("lcm-limited", "goossens-macq")


@st.composite
def recipes(draw: st.DrawFn) -> Recipe:
    processors = draw(st.integers(1, 8))
    tasks = draw(st.integers(1, 24))
    utilisations = draw(st.sampled_from([*utilisation_samplers()]))
    low, split, high = sorted(draw(st.tuples(*[st.floats(0, 1)] * 3)))
    if utilisations == "uunifast" or draw(st.booleans()):
        low, high = 0.0, 1.0
    period_low = draw(st.integers(1, 1000))
    deadlines = draw(st.sampled_from(["implicit", "constrained", "arbitrary"]))
    places = sorted(draw(st.tuples(*[st.floats(0, 3 if deadlines == "arbitrary" else 1)] * 2)))
    return Recipe(
        processors=processors,
        tasks=tasks,
        utilisation=draw(st.floats(0.01, 1.2)) * min(processors, tasks),
        utilisations=utilisations,
        low=low,
        high=high,
        mean=draw(st.none() | st.floats(0.001, 2)),
        heavy_share=draw(st.floats(0, 1)),
        split=min(max(split, low), high),
        periods=draw(st.sampled_from([*period_samplers()])),
        period_low=period_low,
        period_high=period_low + draw(st.integers(0, 5000)),
        granularity=draw(st.integers(1, 30)),
        lcm_limit=draw(st.integers(2, 10**6)),
        deadlines=deadlines,
        deadline_low=places[0],
        deadline_high=places[1],
        offsets=draw(st.sampled_from(["zero", "uniform"])),
        locks=draw(st.integers(0, 3)),
        requests=draw(st.integers(1, 4)),
        section_high=draw(st.integers(1, 200)),
        tolerance=draw(st.none() | st.floats(0, 0.5)),
        attempts=draw(st.integers(1, 2000)),
    )


@settings(max_examples=50, deadline=None)
@given(recipe=recipes(), seed=st.integers(0, 2**64 - 1), first=st.integers(0, 1000))
def test_systems_keep_what_the_recipe_says(recipe: Recipe, seed: int, first: int) -> None:
    try:
        batch = generate(recipe, seed=seed, count=3, first=first)
    except SynthesisError as error:
        assert error.message
        return
    assert (batch.tasks == generate(recipe, seed=seed, count=3, first=first).tasks).all()
    alone = generate(recipe, seed=seed, count=1, first=first + 2)
    assert alone.system(0) == batch.system(2)
    for i in range(3):
        system = batch.system(i)
        assert len(system.tasks) == recipe.tasks and system.processors == recipe.processors
        aim = Fraction(recipe.utilisation)
        assert abs(system.utilisation - aim) <= Fraction(recipe.sum_tolerance) + Fraction(1, 10**9)
        assert system.utilisation <= recipe.processors or aim > recipe.processors
        for task in system.tasks:
            assert sum(each.count * each.length for each in task.sections) <= task.wcet
            assert 1 <= task.wcet <= min(task.deadline, task.period)
            assert recipe.period_low <= task.period <= recipe.period_high
            assert task.period % recipe.granularity == 0
            assert 0 <= task.offset < (task.period if recipe.offsets == "uniform" else 1)
            assert task.deadline == task.period or recipe.deadlines != "implicit"
            assert task.deadline <= task.period or recipe.deadlines == "arbitrary"
            if recipe.utilisations != "uunifast" and task.wcet > 1:
                share = Fraction(2 * task.wcet - 1, 2 * task.period)
                assert share <= Fraction(recipe.high) + Fraction(1, 10**9)
        if recipe.periods in LIMITED:
            assert lcm(*(task.period for task in system.tasks)) < recipe.lcm_limit


@settings(max_examples=50, deadline=None)
@given(recipe=recipes(), seed=st.integers(0, 2**64 - 1))
def test_utilisations_are_within_the_bounds_and_meet_the_sum(recipe: Recipe, seed: int) -> None:
    facts = utilisation_samplers()[recipe.utilisations]
    try:
        drawn = sample_utilisations(recipe, seed=seed, count=5)
    except SynthesisError as error:
        # What is uniform over the slice fails only where the slice is empty.
        assert recipe.utilisations not in ("cfs", "randfixedsum") or "utilisation" in error.message
        return
    allowed = 1e-9 if facts.fixed_sum else recipe.sum_tolerance + 1e-9
    assert np.abs(drawn.sum(axis=1) - recipe.utilisation).max() <= allowed
    assert (drawn >= recipe.low).all()
    assert recipe.utilisations == "uunifast" or (drawn <= recipe.high).all()


#: Ranges of very different sizes, also none at all.
ranges = st.one_of(
    st.just(0.0), st.floats(1e-12, 1e-3), st.floats(1e-3, 1), st.sampled_from([0.1, 0.25, 0.5, 1])
)


@settings(max_examples=50, deadline=None)
@given(
    boxes=st.lists(st.tuples(st.floats(-1, 1), ranges), min_size=1, max_size=24),
    share=st.floats(0, 1),
    seed=st.integers(0, 2**64 - 1),
)
def test_cfs_draws_from_any_box(boxes: list[tuple[float, float]], share: float, seed: int) -> None:
    lower = [low for low, _ in boxes]
    upper = [low + width for low, width in boxes]
    total = sum(lower) + share * (sum(upper) - sum(lower))
    drawn = sample_cfs(lower, upper, total, seed=seed, count=4)
    assert (drawn >= lower).all() and (drawn <= upper).all()
    assert np.abs(drawn.sum(axis=1) - total).max() <= 1e-11 * max(1, len(boxes))
    assert (drawn[2:] == sample_cfs(lower, upper, total, seed=seed, count=2, first=2)).all()


@settings(max_examples=50, deadline=None)
@given(boxes=st.lists(st.floats(0.001, 1), min_size=2, max_size=10), share=st.floats(0.02, 0.98))
def test_cfs_is_symmetric_in_the_box(boxes: list[float], share: float) -> None:
    """Mirroring the box at its centre mirrors the law: means add up to the ranges."""
    assume(max(boxes) > 0.01)
    zero = [0.0] * len(boxes)
    total = sum(boxes)
    up = sample_cfs(zero, boxes, share * total, seed=1, count=400).mean(axis=0)
    down = sample_cfs(zero, boxes, (1 - share) * total, seed=2, count=400).mean(axis=0)
    # A standard deviation is at most half the range; the two means, of 400 each.
    assert (np.abs(up + down - boxes) <= 6 * np.array(boxes) / 2 / np.sqrt(200)).all()
