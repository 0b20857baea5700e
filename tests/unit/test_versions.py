"""Steps in a row: on numbers whose steps are known, and the pictures of many matrices."""

from test_plot import side, words

from deadbeat.compare.plot import preset_of
from deadbeat.kinds.latency.sides import question
from deadbeat_papers.figures.versions import apart, steps

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
