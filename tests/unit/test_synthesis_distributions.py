"""The truth is each distribution's exact probability function, summed; draws are deterministic."""

from __future__ import annotations

import math
from collections import Counter

import pytest

from deadbeat.synthesis.distributions import DISTRIBUTIONS, exp_minus
from deadbeat.synthesis.stream import Stream

LOW, HIGH = 10, 41
WEIGHTS = {
    "uniform": lambda x: 1.0,
    "log-uniform": lambda x: 1 / x,
    "normal": lambda x: math.exp(-(((x - 25.5) / (31 / 6)) ** 2) / 2),
    "exponential": lambda x: math.exp(-4 * (x - LOW) / 31),
}


def test_every_distribution_has_a_truth():
    assert set(WEIGHTS) == set(DISTRIBUTIONS)


@pytest.mark.parametrize("name", sorted(DISTRIBUTIONS))
def test_chi_square_against_the_exact_probabilities(name):
    draws = 20_000
    stream = Stream(11, name)
    counts = Counter(DISTRIBUTIONS[name](stream, LOW, HIGH) for _ in range(draws))
    assert min(counts) >= LOW and max(counts) <= HIGH
    weights = {x: WEIGHTS[name](x) for x in range(LOW, HIGH + 1)}
    total = sum(weights.values())
    expected = {x: draws * weight / total for x, weight in weights.items()}
    square = sum((counts[x] - mean) ** 2 / mean for x, mean in expected.items())
    # 31 degrees of freedom: 1 in 10^4 is above 70; another distribution gives thousands.
    assert square < 70


@pytest.mark.parametrize("name", sorted(DISTRIBUTIONS))
def test_kolmogorov_smirnov_at_the_width_of_a_campaign(name):
    low, high, draws = 100_000, 500_000, 4000
    width = high - low
    middle, sigma = (low + high) / 2, width / 6

    def phi(x):
        return math.erf((x - middle) / sigma / math.sqrt(2))

    distribution = {
        "uniform": lambda x: (x - low) / width,
        "log-uniform": lambda x: math.log(x / low) / math.log(high / low),
        "normal": lambda x: (phi(x) - phi(low)) / (phi(high) - phi(low)),
        "exponential": lambda x: (1 - math.exp(-4 * (x - low) / width)) / (1 - math.exp(-4)),
    }[name]
    stream = Stream(12, name)
    values = sorted(DISTRIBUTIONS[name](stream, low, high) for _ in range(draws))
    distance = max(abs(distribution(x) - (i + 0.5) / draws) for i, x in enumerate(values))
    # 1 in 10^4 is above 2.23 / sqrt(n).
    assert distance < 2.23 / math.sqrt(draws)


@pytest.mark.parametrize("name", sorted(DISTRIBUTIONS))
def test_an_interval_of_one_point(name):
    stream = Stream(13, name)
    assert {DISTRIBUTIONS[name](stream, 7, 7) for _ in range(20)} == {7}


@pytest.mark.parametrize(("numerator", "denominator"), [(0, 1), (1, 3), (1, 1), (5, 2), (9, 2)])
def test_bernoulli_of_the_exponential(numerator, denominator):
    stream = Stream(14, numerator, denominator)
    draws = 20_000
    hits = sum(exp_minus(stream, numerator, denominator) for _ in range(draws))
    mean = math.exp(-numerator / denominator)
    deviation = math.sqrt(draws * mean * (1 - mean))
    assert abs(hits - draws * mean) <= 4.5 * deviation


class Counted(Stream):
    """Counts its words: the cost of a draw without a clock."""

    __slots__ = ("words",)

    def __init__(self, *label):
        super().__init__(*label)
        self.words = 0

    def word(self):
        self.words += 1
        return super().word()


@pytest.mark.parametrize("name", sorted(DISTRIBUTIONS))
@pytest.mark.parametrize("low, high", [(3_000_000, 3_000_000), (3_000_000, 3_000_005), (5, 900)])
def test_a_draw_is_cheap_however_narrow_the_interval(name, low, high):
    stream = Counted(13, name)
    values = [DISTRIBUTIONS[name](stream, low, high) for _ in range(200)]
    assert low <= min(values) and max(values) <= high
    assert stream.words < 200 * 40


def test_a_log_uniform_draw_inside_one_octave_is_one():
    stream = Stream(14)
    counts = Counter(DISTRIBUTIONS["log-uniform"](stream, 10, 17) for _ in range(20_000))
    total = sum(1 / x for x in range(10, 18))
    expected = {x: 20_000 / x / total for x in range(10, 18)}
    # 7 degrees of freedom: 1 in 10^4 is above 30; a uniform law gives hundreds.
    assert sum((counts[x] - mean) ** 2 / mean for x, mean in expected.items()) < 30
