"""Truth: printed tables of Student's t."""

import math

import numpy as np
import pytest

from deadbeat.stats.intervals import arm_factor, student_half_width, t_quantile
from deadbeat.stats.seeds import seed_of


@pytest.mark.parametrize(
    ("degrees", "expected"),
    [(1, 12.706), (2, 4.3027), (3, 3.1824), (4, 2.7764), (9, 2.2622), (10, 2.2281), (30, 2.0423),
     (120, 1.9799), (1000, 1.9623), (2000, 1.9612)],
)  # fmt: skip
def test_t_quantiles_are_those_of_the_printed_table(degrees: int, expected: float) -> None:
    assert t_quantile(0.975, degrees) == pytest.approx(expected, rel=3e-5)


def test_few_sets_lengthen_the_arms() -> None:
    assert arm_factor(10**6, 0.025) == pytest.approx(1.0, abs=1e-4)
    assert arm_factor(10, 0.025) == pytest.approx(math.sqrt(10 / 9) * 2.2622 / 1.95996, rel=1e-4)
    assert arm_factor(2, 0.025) == pytest.approx(math.sqrt(2) * 12.706 / 1.95996, rel=1e-4)


def test_a_seed_is_of_all_its_parts() -> None:
    assert seed_of(1, 2, "a") == seed_of(1, 2, "a") != seed_of(1, 2, "b")


def test_students_width_of_a_ratio_is_that_of_its_residuals() -> None:
    values = np.array([1.0, 2.0, 4.0])
    expected = 4.3027 * values.std(ddof=1) / math.sqrt(3)
    assert student_half_width(values) == pytest.approx(expected, rel=1e-4)
    same = student_half_width(values * 500, np.full(3, 500.0))
    assert same == pytest.approx(expected, rel=1e-4)
    # 10 of 100, 40 of 200, 10 of 300: ratio 0.1, off by 0, 20 and -20 of 200 releases each.
    above, below = np.array([10.0, 40.0, 10.0]), np.array([100.0, 200.0, 300.0])
    assert student_half_width(above, below) == pytest.approx(4.3027 * 0.1 / math.sqrt(3), rel=1e-4)
