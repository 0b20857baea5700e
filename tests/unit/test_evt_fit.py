"""Fits of extreme values against published ones, another program's, and known parameters."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deadbeat.stats.evt_fit import Fit, anderson_darling, fit, fit_p

#: 60 values; scipy 1.17.1: genpareto.fit(EXCESSES, floc=0) is shape -0.21682, scale 0.91877.
EXCESSES = [
    *(1.93, 0.619, 1.153, 0.425, 0.023, 0.344, 0.522, 0.088, 0.044, 0.853, 0.94, 1.015, 0.176),
    *(2.177, 1.291, 1.963, 0.415, 0.063, 0.347, 0.459, 2.099, 0.033, 0.098, 0.723, 0.278, 0.57),
    *(1.038, 0.031, 1.673, 0.001, 2.133, 0.784, 0.238, 0.57, 1.159, 0.414, 0.342, 0.931, 1.337),
    *(0.287, 0.296, 0.239, 2.093, 1.192, 0.009, 0.457, 0.071, 1.099, 0.865, 0.647, 0.485, 1.275),
    *(0.253, 0.319, 2.732, 1.128, 1.177, 0.096, 0.691, 0.307),
]


def known(shape: float, scale: float = 2.0) -> Fit:
    return Fit(shape=np.array([shape]), scale=np.array([scale]))


def test_excesses_are_fitted_as_another_program_does() -> None:
    """Within a standard error, (1 + xi) / sqrt(n) = 0.10, of the maximum of the likelihood."""
    shape, scale = fit(np.array(EXCESSES)).one()
    assert shape == pytest.approx(-0.217, abs=0.10)
    assert scale == pytest.approx(0.919, abs=0.10)


def test_many_samples_at_once_are_as_the_formulas_of_zhang_and_stephens() -> None:
    """Equations 6 to 8 of their paper, value by value; their k is minus the shape."""
    x = sorted(EXCESSES)
    many = len(x)
    points = 20 + int(many**0.5)
    quartile = x[int(many / 4 + 0.5) - 1]

    def k_of(theta: float) -> float:
        return -sum(np.log(1 - theta * value) for value in x) / many

    def profile(theta: float) -> float:
        return many * (np.log(theta / k_of(theta)) + k_of(theta) - 1)

    thetas = [
        1 / x[-1] + (1 - (points / (j - 0.5)) ** 0.5) / (3 * quartile) for j in range(1, points + 1)
    ]
    levels = [profile(theta) for theta in thetas]
    weights = [1 / sum(np.exp(other - level) for other in levels) for level in levels]
    theta = sum(t * w for t, w in zip(thetas, weights, strict=True))
    shape, scale = fit(np.array([EXCESSES, EXCESSES])).one(1)
    assert shape == pytest.approx(-k_of(theta))
    assert scale == pytest.approx(k_of(theta) / theta)


@pytest.mark.parametrize(
    ("shape", "values", "survivals"),
    # scipy 1.17.1: genpareto(xi, 0, 2).sf.
    [
        (-0.2, (0.5, 3, 9), (0.7737809375, 0.16807, 1e-5)),
        (0.0, (0.5, 3, 9), (0.7788007831, 0.2231301601, 0.01110899654)),
        (0.3, (0.5, 3, 9), (0.7857875058, 0.2898055239, 0.05795716395)),
    ],
)
def test_the_survival_function_is_that_of_the_family(
    shape: float, values: tuple[float, ...], survivals: tuple[float, ...]
) -> None:
    found = known(shape).survival(np.array(values, np.float64))[0]
    assert found == pytest.approx(survivals, rel=1e-6)


@settings(deadline=None)  # the first imports scipy
@given(st.floats(-0.9, 0.9), st.floats(1e-6, 0.5))
def test_levels_invert_the_survival_function(shape: float, share: float) -> None:
    found = known(shape)
    level = found.exceeded_with(np.float64(share))
    assert found.survival(level)[0][0] == pytest.approx(share, rel=1e-4)


def test_beyond_its_end_point_nothing_is_exceeded() -> None:
    assert known(-0.5).survival(np.array([3.9, 4.1, 100.0]))[0] == pytest.approx([0.025**2, 0, 0])


@pytest.mark.parametrize("shape", [-0.3, 0.0, 0.2, 0.5])
def test_known_parameters_are_found_again(shape: float) -> None:
    """300 samples of 200: their mean errs by little, their spread is that of theory."""
    drawn = known(shape).draw(np.random.default_rng(6), 300, 200)
    found = fit(drawn)
    assert found.shape.mean() == pytest.approx(shape, abs=0.035)
    assert found.scale.mean() == pytest.approx(2.0, rel=0.02)
    assert found.shape.std() == pytest.approx((1 + shape) / np.sqrt(200), rel=0.3)


def test_a_row_alone_is_fitted_as_among_others() -> None:
    rows = known(0.2).draw(np.random.default_rng(7), 5, 80)
    assert fit(rows[3]).one() == pytest.approx(fit(rows).one(3))


def test_the_statistic_of_anderson_and_darling_by_hand() -> None:
    """Of uniform values: -n - sum (2 i - 1) (ln u_i + ln (1 - u_(n + 1 - i))) / n."""
    values = np.array([0.1, 0.4, 0.45, 0.9])
    uniform = known(-1.0, scale=1.0)
    terms = [(2 * i - 1) * (np.log(values[i - 1]) + np.log(1 - values[4 - i])) for i in range(1, 5)]
    assert anderson_darling(uniform, values)[0] == pytest.approx(-4 - sum(terms) / 4)


def test_the_test_of_fit_keeps_what_fits_and_refuses_what_does_not() -> None:
    """Each p of what fits is uniform: fewer than 8 of 60 are below 5 % but once in 100 trials."""
    random = np.random.default_rng(8)
    right = known(0.1).draw(random, 60, 100)
    below = sum(fit_p(row, random=random, draws=99) <= 0.05 for row in right)
    assert below <= 8
    two_kinds = np.concatenate([random.exponential(size=150), 20 + random.exponential(size=50)])
    assert fit_p(two_kinds, random=random) <= 0.01
