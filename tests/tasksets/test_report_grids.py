"""Grids, colour ranges and terminal rows against small cases worked by hand."""

import numpy as np
import pytest
from helpers.demo_summary import demo_summary, with_factors
from helpers.rows import rows_of, summary_of, with_rows

from deadbeat.base.report.charts import edges
from deadbeat.base.report.scales import nice_step
from deadbeat.tasksets.contention.facts import noise_floor
from deadbeat.tasksets.contention.grids import (
    METRICS,
    Scale,
    cell_text,
    grid,
    scale,
    short,
    state_of,
)
from deadbeat.tasksets.contention.tables import point_tables
from deadbeat.tasksets.model.figures import CellFigures

SLOWDOWN, NEEDED, MISS, DELAY = METRICS
SCALE = Scale(low=1.0, high=2.0, levels=())


def test_rows_are_rho_and_columns_are_alpha():
    rows = [
        {
            "cores": 1,
            "sync_share": rho,
            "contended_ratio": alpha,
            "slowdown_mean": 1 + rho + alpha / 10,
            "task_sets": 1,
        }
        for alpha in (1.0, 0.5)
        for rho in (0.5, 0.0)
    ]
    found = grid(summary_of(rows=tuple(rows), sets=()), SLOWDOWN, 1, SCALE)
    assert (found.y_at, found.x_at) == ((0.0, 0.5), (0.5, 1.0))
    values = [[cell.value for cell in row] for row in found.cells]
    np.testing.assert_allclose(values, [[1.05, 1.1], [1.55, 1.6]])


def test_a_missing_point_stays_empty_between_known_neighbours():
    found = grid(demo_summary(), SLOWDOWN, 4, SCALE)
    absent, undecided = found.cells[3][1], found.cells[1][3]
    assert (absent.state, absent.text) == ("absent", "n.m.")
    assert (undecided.state, undecided.text) == ("undecided", "?")
    assert [cell.value for row in found.cells for cell in row].count(None) == 2
    assert absent.key == "4/750/250/10000"
    assert absent.hover == "M = 4, ρ = 0.75, α = 0.25\nnot measured"


@pytest.mark.parametrize(
    ("metric", "words"),
    [
        (SLOWDOWN, "Slowdown 1.839 [1.834, 1.844]"),
        (NEEDED, "Deadline needed ≥ 2.65, alone ≥ 1.44"),
        (MISS, "Deadline miss ratio 8.1 % [4.9 %, 12 %], alone 0 %"),
    ],
)
def test_the_pointer_shows_a_value_with_its_interval_and_that_alone(metric, words):
    found = grid(demo_summary(), metric, 4, SCALE).cells[-1][-1].hover
    assert found.split("\n")[1:] == [words, "4 task sets, 6,400 jobs"]


@pytest.mark.parametrize(
    ("ends", "state"),
    [
        ((1.021, 1.08), "shown"),
        ((1.019, 1.08), "faint"),
        ((0.95, 0.981), "faint"),
        ((0.95, 0.979), "shown"),
        ((None, None), "faint"),  # One set says nothing of others.
    ],
)
def test_only_what_lies_beyond_the_noise_has_a_colour(ends, state):
    row = {"slowdown_mean": 1.03, "slowdown_ci_low": ends[0], "slowdown_ci_high": ends[1]}
    assert state_of(CellFigures.of(row), SLOWDOWN, 0.02) == state


def test_a_bound_is_no_value():
    none_seen = {"deadline_miss_ratio": 0.0, "deadline_miss_ci_high": 0.95}
    assert state_of(CellFigures.of(none_seen), MISS) == "at-most"
    seen = CellFigures.of(none_seen | {"deadline_miss_ratio": 0.01})
    assert state_of(seen, MISS) == "shown"
    beyond = {"deadline_needed_p999": 3.0, "deadline_needed_p999_low": 2.5}
    assert state_of(CellFigures.of(beyond), NEEDED) == "at-least"
    assert state_of(CellFigures.of(beyond | {"deadline_needed_p999_high": 3.5}), NEEDED) == "shown"


def test_how_far_a_cell_is_known():
    assert state_of(None, SLOWDOWN) == "absent"
    assert state_of(CellFigures(task_sets=2), SLOWDOWN) == "undecided"


@pytest.mark.parametrize(
    ("ratio", "high", "text"), [(0.0, 0.0042, "<0.42"), (0.0, None, "0"), (0.125, 0.0042, "12")]
)
def test_zero_misses_show_their_upper_bound(ratio, high, text):
    row = {"deadline_miss_ratio": ratio, "deadline_miss_ci_high": high}
    assert cell_text(CellFigures.of(row), MISS) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [(0, "0"), (0.04567, "0.046"), (0.5, "0.5"), (7.3, "7.3"), (99.6, "100"), (250.0, "250")],
)
def test_short_numbers(value, text):
    assert short(value) == text


def test_noise_does_not_fill_the_colour_range():
    calm = demo_summary(contention=0.0, floor=0.1)
    found = scale(calm, SLOWDOWN, noise_floor(calm))
    assert found.high - found.low == pytest.approx(0.2)
    assert found.levels == ()


def test_contour_lines_are_round_apart_by_the_floor_and_not_at_no_effect():
    demo = demo_summary(floor=0.15)
    levels = scale(demo, SLOWDOWN, noise_floor(demo)).levels
    assert levels == (1.2, 1.4, 1.6, 1.8)


@pytest.mark.parametrize(("steps", "lines"), [(1, False), (2, False), (3, True)])
def test_contour_lines_need_four_points_either_way(steps, lines):
    demo = demo_summary(steps=steps)
    assert bool(scale(demo, SLOWDOWN, noise_floor(demo)).levels) is lines


def test_the_colour_range_is_common_to_all_cores():
    demo = demo_summary()
    found = scale(demo, SLOWDOWN, noise_floor(demo))
    values = [row["slowdown_mean"] for row in rows_of(demo) if row["slowdown_mean"] is not None]
    assert (found.low, found.high) == (min(values), max(values))


@pytest.mark.parametrize(
    ("at_least", "step"), [(0.011, 0.02), (0.2, 0.2), (0.21, 0.5), (0.6, 1.0), (7, 10)]
)
def test_steps_are_one_two_five(at_least, step):
    assert nice_step(at_least) == pytest.approx(step)


def test_edges_lie_half_way_and_as_far_outside():
    assert edges((0.0, 0.5, 1.0)) == (-0.25, 0.25, 0.75, 1.25)
    assert edges((0.0, 0.1, 0.5)) == pytest.approx((-0.05, 0.05, 0.3, 0.7))
    assert edges((0.5,)) == pytest.approx((0.45, 0.55))


def needed(value: float | None, low: float | None, high: float | None) -> dict[str, float | None]:
    column = "deadline_needed_p999"
    return {column: value, f"{column}_low": low, f"{column}_high": high}


@pytest.mark.parametrize(
    ("ends", "text"),
    [
        ((2.345, 2.1, 2.8), "2.35"),
        ((2.345, 2.1, None), "≥2.1"),
        ((None, 208.0, None), "≥208"),
        ((3.0, None, None), "≥3"),
        ((None, None, None), "?"),
    ],
)
def test_a_deadline_beyond_what_was_seen_is_known_from_below(ends, text):
    assert cell_text(CellFigures.of(needed(*ends)), NEEDED) == text


def test_terminal_rows_are_ordered_and_carry_intervals_and_states():
    (table,) = point_tables(demo_summary(steps=4))
    rows = table.texts(terminal=True)
    assert (table.title, len(rows)) == ("1 task a core, D = 10 C", 74)
    assert rows[0][:3] == ["1", "0.00", "0.00"]
    assert rows[-1][4] == "1.839 [1.834, 1.844]"
    assert rows[-1][6] == "8.09 [4.86, 12.1]+"
    assert rows[0][5:] == ["≥1.44", "<0.19 "]
    undecided = next(row for row in rows if row[4] == "undecided")
    assert (undecided[0], *undecided[5:]) == ("4", "-", "- ")


def test_the_interval_of_one_set_is_named():
    base = demo_summary(cores=(2,), steps=1)
    rows = tuple(row | {"slowdown_ci_basis": "rounds"} for row in rows_of(base))
    assert point_tables(with_rows(base, rows=rows))[0].texts()[0][4].endswith("] one set")


def test_points_of_other_deadlines_and_loads_are_in_tables_of_their_own():
    base = with_factors(demo_summary(cores=(2,), steps=1), (2.0, 5.0))
    heavy = tuple(row | {"tasks_per_core": 2} for row in rows_of(base)[:2])
    found = point_tables(with_rows(base, rows=(*heavy, *rows_of(base))))
    assert [(table.title, len(table.rows)) for table in found] == [
        ("1 task a core, D = 2 C", 4),
        ("1 task a core, D = 5 C", 4),
        ("2 tasks a core, D = 2 C", 1),
        ("2 tasks a core, D = 5 C", 1),
    ]
