"""Fits of extreme values against published ones, another program's, and known parameters."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deadbeat.stats.evt_fit import (
    Fit,
    anderson_darling,
    fit_extreme,
    fit_p,
    fit_pareto,
)

#: Annual maxima of the sea level at Port Pirie, 1923 to 1987, m (S. Coles, An Introduction to
#: Statistical Modeling of Extreme Values, 2001, section 3.4.1).
PORT_PIRIE = [
    *(4.03, 3.83, 3.65, 3.88, 4.01, 4.08, 4.18, 3.80, 4.36, 3.96, 3.98, 4.69, 3.85, 3.96, 3.85),
    *(3.93, 3.75, 3.63, 3.57, 4.25, 3.97, 4.05, 4.24, 4.22, 3.73, 4.37, 4.06, 3.71, 3.96, 4.06),
    *(4.55, 3.79, 3.89, 4.11, 3.85, 3.86, 3.86, 4.21, 4.01, 4.11, 4.24, 3.96, 4.21, 3.74, 3.85),
    *(3.88, 3.66, 4.11, 3.71, 4.18, 3.90, 3.78, 3.91, 3.72, 4.00, 3.66, 3.62, 4.33, 4.55, 3.75),
    *(4.08, 3.90, 3.88, 3.94, 4.33),
]
#: 60 values; scipy 1.17.1: genpareto.fit(EXCESSES, floc=0) is shape -0.21682, scale 0.91877.
EXCESSES = [
    *(1.93, 0.619, 1.153, 0.425, 0.023, 0.344, 0.522, 0.088, 0.044, 0.853, 0.94, 1.015, 0.176),
    *(2.177, 1.291, 1.963, 0.415, 0.063, 0.347, 0.459, 2.099, 0.033, 0.098, 0.723, 0.278, 0.57),
    *(1.038, 0.031, 1.673, 0.001, 2.133, 0.784, 0.238, 0.57, 1.159, 0.414, 0.342, 0.931, 1.337),
    *(0.287, 0.296, 0.239, 2.093, 1.192, 0.009, 0.457, 0.071, 1.099, 0.865, 0.647, 0.485, 1.275),
    *(0.253, 0.319, 2.732, 1.128, 1.177, 0.096, 0.691, 0.307),
]


def known(family: str, shape: float, scale: float = 2.0, location: float = 10.0) -> Fit:
    return Fit(
        family=family,
        shape=np.array([shape]),
        scale=np.array([scale]),
        location=np.array([0.0 if family == "pareto" else location]),
    )


def test_port_pirie_is_as_coles_has_it() -> None:
    """By maximum likelihood mu 3.87 (0.03), sigma 0.198 (0.020), xi -0.050 (0.098); moments weigh
    the sample otherwise, within a fraction of these errors."""
    shape, scale, location = fit_extreme(np.array(PORT_PIRIE)).one()
    assert location == pytest.approx(3.87, abs=0.01)
    assert scale == pytest.approx(0.198, abs=0.010)
    assert shape == pytest.approx(-0.050, abs=0.025)


def test_levels_of_port_pirie_are_as_coles_has_them() -> None:
    """Exceeded once in 10 and 100 years: 4.30 and 4.69 m, intervals (4.21, 4.42), (4.50, 5.17)."""
    found = fit_extreme(np.array(PORT_PIRIE))
    assert found.exceeded_with(0.1)[0] == pytest.approx(4.30, abs=0.03)
    assert found.exceeded_with(0.01)[0] == pytest.approx(4.69, abs=0.05)


def test_excesses_are_fitted_as_another_program_does() -> None:
    """Within a standard error, (1 + xi) / sqrt(n) = 0.10, of the maximum of the likelihood."""
    shape, scale, _ = fit_pareto(np.array(EXCESSES)).one()
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
    shape, scale, _ = fit_pareto(np.array([EXCESSES, EXCESSES])).one(1)
    assert shape == pytest.approx(-k_of(theta))
    assert scale == pytest.approx(k_of(theta) / theta)


@pytest.mark.parametrize(
    ("family", "shape", "values", "survivals"),
    # scipy 1.17.1: genpareto(xi, 0, 2).sf and genextreme(-xi, 10, 2).sf.
    [
        ("pareto", -0.2, (0.5, 3, 9), (0.7737809375, 0.16807, 1e-5)),
        ("pareto", 0.0, (0.5, 3, 9), (0.7788007831, 0.2231301601, 0.01110899654)),
        ("pareto", 0.3, (0.5, 3, 9), (0.7857875058, 0.2898055239, 0.05795716395)),
        ("extreme", -0.2, (9, 12, 16), (0.8002143026, 0.2794064272, 0.01018774970)),
        ("extreme", 0.0, (9, 12, 16), (0.8077043545, 0.3077993724, 0.0485680071)),
        ("extreme", 0.3, (9, 12, 16), (0.8207507027, 0.3410124733, 0.1110481086)),
    ],
)
def test_survival_functions_are_those_of_the_families(
    family: str, shape: float, values: tuple[float, ...], survivals: tuple[float, ...]
) -> None:
    found = known(family, shape).survival(np.array(values, np.float64))[0]
    assert found == pytest.approx(survivals, rel=1e-6)


@given(
    st.sampled_from(["pareto", "extreme"]),
    st.floats(-0.9, 0.9),
    st.floats(1e-6, 0.5),
)
def test_levels_invert_the_survival_function(family: str, shape: float, share: float) -> None:
    found = known(family, shape)
    level = found.exceeded_with(share)
    assert found.survival(level)[0][0] == pytest.approx(share, rel=1e-4)


def test_beyond_its_end_point_nothing_is_exceeded() -> None:
    assert known("pareto", -0.5).survival(np.array([3.9, 4.1, 100.0]))[0] == pytest.approx(
        [0.025**2, 0, 0]
    )
    assert known("extreme", -0.5).survival(np.array([14.1]))[0][0] == 0


@pytest.mark.parametrize("shape", [-0.3, 0.0, 0.2, 0.5])
@pytest.mark.parametrize("family", ["pareto", "extreme"])
def test_known_parameters_are_found_again(family: str, shape: float) -> None:
    """300 samples of 200: their mean errs by little, their spread is that of theory."""
    fit = {"pareto": fit_pareto, "extreme": fit_extreme}[family]
    drawn = known(family, shape).draw(np.random.default_rng(6), 300, 200)
    found = fit(drawn)
    assert found.shape.mean() == pytest.approx(shape, abs=0.035)
    assert found.scale.mean() == pytest.approx(2.0, rel=0.02)
    if family == "pareto":
        assert found.shape.std() == pytest.approx((1 + shape) / np.sqrt(200), rel=0.3)
    else:
        assert found.location.mean() == pytest.approx(10.0, abs=0.05)


def test_a_row_alone_is_fitted_as_among_others() -> None:
    rows = known("pareto", 0.2).draw(np.random.default_rng(7), 5, 80)
    assert fit_pareto(rows[3]).one() == pytest.approx(fit_pareto(rows).one(3))
    assert fit_extreme(rows[3]).one() == pytest.approx(fit_extreme(rows).one(3))


def test_the_statistic_of_anderson_and_darling_by_hand() -> None:
    """Of uniform values: -n - sum (2 i - 1) (ln u_i + ln (1 - u_(n + 1 - i))) / n."""
    values = np.array([0.1, 0.4, 0.45, 0.9])
    uniform = known("pareto", -1.0, scale=1.0)
    terms = [(2 * i - 1) * (np.log(values[i - 1]) + np.log(1 - values[4 - i])) for i in range(1, 5)]
    assert anderson_darling(uniform, values)[0] == pytest.approx(-4 - sum(terms) / 4)


def test_the_test_of_fit_keeps_what_fits_and_refuses_what_does_not() -> None:
    """Each p of what fits is uniform: fewer than 8 of 60 are below 5 % but once in 100 trials."""
    random = np.random.default_rng(8)
    right = known("pareto", 0.1).draw(random, 60, 100)
    below = sum(fit_p("pareto", row, random=random, draws=99) <= 0.05 for row in right)
    assert below <= 8
    two_kinds = np.concatenate([random.exponential(size=150), 20 + random.exponential(size=50)])
    assert fit_p("pareto", two_kinds, random=random) <= 0.01
