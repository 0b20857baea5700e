"""Steps in a row: on numbers whose steps are known, and the pictures of many matrices."""

import random

from hypothesis import given
from hypothesis import strategies as some
from test_plot import side, words

from deadbeat.compare.plot import preset_of
from deadbeat.kinds.latency.sides import question
from deadbeat_papers.figures.versions import apart, between, steps

LEAST = 0.1


def test_a_step_may_have_one_between_that_has_runs_on_both_sides():
    row = [(1.0, 1.1), (1.0, 3.0), (3.0, 3.1), (3.0, 3.2)]
    assert steps(row, least=LEAST) == ((0, 2),)


def test_values_are_apart_only_where_no_two_overlap_and_it_matters():
    assert apart((1.0, 1.1), (2.0, 2.2), least=LEAST)
    assert apart((2.0, 2.2), (1.0, 1.1), least=LEAST)
    assert not apart((1.0, 2.1), (2.0, 2.2), least=LEAST)
    assert not apart((1.00, 1.01), (1.02, 1.03), least=LEAST)
    assert not apart((), (1.0,), least=LEAST)
    assert steps([(1.0,), (1.0,), (3.0,), (3.1,), (1.0,)], least=LEAST) == ((1, 2), (3, 4))


@given(some.integers(2, 200), some.integers(0, 10**6), some.data())
def test_bisection_finds_the_step_and_measures_few(count, seed, data):
    at = data.draw(some.integers(1, count - 1))
    broken = (
        data.draw(some.sets(some.integers(1, count - 2), max_size=count // 4)) if count > 2 else ()
    )
    chance = random.Random(seed)
    names = [str(each) for each in range(count)]

    def measure(name: str) -> tuple[float, ...]:
        if int(name) in broken:
            return ()
        level = 10.0 if int(name) < at else 20.0
        return tuple(level + chance.random() for _ in range(3))

    known = {name: measure(name) for name in (names[0], names[-1])}
    while wanted := between(names, known, least=LEAST):
        assert not set(wanted) & set(known)
        known |= {name: measure(name) for name in wanted}
    row = [known[name] for name in names if known.get(name)]
    ((_, found),) = steps(row, least=LEAST)
    measured = [int(name) for name in names if known.get(name)]
    low, high = measured[found - 1], measured[found]
    assert low < at <= high
    assert all(each in broken for each in range(low + 1, high))
    assert len(known) <= 2 + count.bit_length() + len(broken)


def test_a_curve_over_versions_names_its_steps():
    sides = [side(f"6.{n}", scale=3.0 if n >= 3 else 1.0, seed=n) for n in range(1, 6)]
    drawn = preset_of("versions").draw(question(sides))
    assert "A step between 6.2 and 6.3" in words(drawn)
    (panel, _) = drawn.charts[0].panels
    assert panel.categories == ("6.1", "6.2", "6.3", "6.4", "6.5")
    assert len(drawn.tables[0].rows) == 1
    level = preset_of("versions").draw(question(sides[:2]))
    assert "No step" in words(level)


def test_single_changes_stand_in_the_order_of_their_effect():
    sides = [side("base"), side("little", seed=2), side("much", scale=5.0), side("half", scale=0.5)]
    drawn = preset_of("effects").draw(question(sides))
    assert [row[0] for row in drawn.tables[0].rows] == ["base", "much", "half", "little"]
    assert [row[3] for row in drawn.tables[0].rows] == ["no", "yes", "yes", "no"]
    assert drawn.charts[0].panels[0].categories == ("base", "much", "half", "little")
    assert drawn.sentences[0].startswith("much: p99 x ")
