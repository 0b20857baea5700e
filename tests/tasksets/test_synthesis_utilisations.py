"""The truth: every vector counted on small lattices, exact marginals of the slice on large ones."""

import itertools
import math
import re
from collections import Counter
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from attrs import fields_dict
from helpers import often
from helpers.fixed_sum import KS_LIMIT, assert_follows, distance, marginal, marginal_of_task
from hypothesis import given, settings
from hypothesis import strategies as st

from deadbeat.base.model.errors import SynthesisError, UsageError
from deadbeat.tasksets.synthesis import SynthesisParameters, seed_for
from deadbeat.tasksets.synthesis.distributions import (
    DISTRIBUTIONS,
    PERIODS,
    UTILISATION_METHODS,
    composition,
    exp_minus,
    fixed_sum,
    harmonic_periods,
    log_uniform_periods,
    uunifast_discard,
)
from deadbeat.tasksets.synthesis.parameters import FIXED_SUM_LIMIT
from deadbeat.tasksets.synthesis.stream import Stream

METHODS = sorted(UTILISATION_METHODS)
ONE, TENTH, ZERO = Fraction(1), Fraction(1, 10), Fraction(0)


def chi_square(counts: Counter[tuple[int, ...]], cells: list[tuple[int, ...]]) -> float:
    """Standardised: about a standard normal where all cells are equally likely."""
    assert set(counts) <= set(cells)
    mean = counts.total() / len(cells)
    square = sum((counts[cell] - mean) ** 2 / mean for cell in cells)
    freedom = len(cells) - 1
    return float((square - freedom) / (2 * freedom) ** 0.5)


def test_every_composition_is_equally_likely():
    cells = [parts for parts in itertools.product(range(7), repeat=3) if sum(parts) == 6]
    stream = Stream(4)
    counts = Counter(tuple(composition(stream, 3, 6)) for _ in range(60 * len(cells)))
    assert chi_square(counts, cells) < 4.5
    assert composition(stream, 1, 6) == [6]


#: (tasks, sum, low, high): on an edge of the box, in its middle, and nearly in a corner.
SLICES = [
    (2, Fraction(1, 2), ZERO, ONE),
    (3, Fraction(9, 10), Fraction(1, 10), Fraction(3, 5)),
    (5, Fraction(4, 5), Fraction(1, 100), Fraction(1, 4)),
]
WIDE = [
    (2, Fraction(19, 20), Fraction(1, 100), Fraction(49, 100)),
    (8, Fraction(9, 10), Fraction(1, 10), Fraction(1, 5)),
    (8, ONE, Fraction(1, 20), Fraction(1, 4)),
    (20, ONE, ZERO, Fraction(1, 10)),
]


@pytest.mark.parametrize(
    ("name", "case", "count"),
    [
        *((name, case, 1500) for name in METHODS for case in SLICES),
        *often(*((name, case, 8000) for name in METHODS for case in SLICES + WIDE[:3])),
        *often(("fixed-sum", WIDE[3], 5000)),  # where discarding is hopeless
    ],
)
def test_tasks_follow_the_exact_marginal_of_the_slice(name, case, count):
    tasks, total, low, high = case
    stream = Stream(5, name, tasks, total)
    drawn = [UTILISATION_METHODS[name](stream, total, [(low, high)] * tasks) for _ in range(count)]
    sample = np.array([[float(used) for used in vector] for vector in drawn])
    for task in {0, tasks - 1}:
        assert_follows(
            sample[:, task],
            lambda x: marginal(tasks, total, low, high, x),
            max(float(low), float(total - (tasks - 1) * high)),
            min(float(high), float(total - (tasks - 1) * low)),
        )
    if tasks > 2:  # Any two are as negatively correlated as exchangeable parts of a sum are.
        pair = np.corrcoef(sample[:, 0], sample[:, 1])[0, 1]
        assert abs(pair + 1 / (tasks - 1)) < 4.5 / count**0.5


#: Lower and upper bounds and the sum: in the middle, low, and near the top.
OWN = [
    ([0.0, 0.1, 0.05], [0.2, 0.45, 0.3], 0.55),
    ([0.0, 0.01, 0.02, 0.0, 0.1], [0.9, 0.05, 0.5, 0.003, 0.2], 0.4),
    ([0.0, 0.0, 0.1, 0.2], [0.3, 0.1, 0.25, 0.21], 0.8),
]


@pytest.mark.parametrize(
    ("name", "case", "count"),
    [
        *((name, case, 1200) for name in METHODS for case in OWN[:2]),
        *often(*(("fixed-sum", case, 8000) for case in OWN)),
    ],
)
def test_tasks_with_bounds_of_their_own_follow_the_exact_marginals(name, case, count):
    lower, upper, total = case
    bounds = [
        (Fraction(repr(low)), Fraction(repr(high))) for low, high in zip(lower, upper, strict=True)
    ]
    method, stream = UTILISATION_METHODS[name], Stream(8, name, total)
    drawn = [method(stream, Fraction(repr(total)), bounds) for _ in range(count)]
    sample = np.array([[float(used) for used in vector] for vector in drawn])
    for task in range(len(bounds)):
        first = max(lower[task], total - sum(upper) + upper[task])
        last = min(upper[task], total - sum(lower) + lower[task])
        grid = [round(float(x), 12) for x in np.linspace(first, last, 40)[1:-1]]
        law = marginal_of_task(task, lower, upper, total, grid)
        assert distance(sample[:, task], grid, law) < KS_LIMIT


@given(
    st.lists(st.tuples(*[st.fractions(0, 1, max_denominator=10**6)] * 2), min_size=1, max_size=9),
    st.fractions(0, 1),
    st.sampled_from(METHODS),
    st.integers(0, 2**63 - 1),
)
@settings(max_examples=60, deadline=None)
def test_sums_and_own_bounds_are_exact(pairs, place, name, seed):
    bounds = [(min(pair), max(pair)) for pair in pairs]
    least, most = (sum(side) for side in zip(*bounds, strict=True))
    total = least + place * (most - least)
    try:
        drawn = UTILISATION_METHODS[name](Stream(seed), total, bounds)
    except SynthesisError as error:
        assert name == "uunifast-discard"
        assert "fixed-sum" in error.hint
        return
    assert sum(drawn) == total
    assert all(low <= used <= high for used, (low, high) in zip(drawn, bounds, strict=True))


def test_ranges_that_differ_by_many_orders():
    tiny = Fraction(1, 10**20)
    bounds = [(ZERO, ONE), (TENTH, TENTH), (TENTH, TENTH + tiny), (ZERO, Fraction(1, 10**9))]
    for total in (Fraction(1, 5), Fraction(1, 2), sum(high for _, high in bounds)):
        drawn = fixed_sum(Stream(2), total, bounds)
        assert sum(drawn) == total
        assert all(low <= used <= high for used, (low, high) in zip(drawn, bounds, strict=True))


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize(
    ("tasks", "total", "low", "high"),
    [
        (1, Fraction(1, 3), ZERO, ONE),
        (4, Fraction(4, 7), Fraction(1, 7), ONE),
        (4, Fraction(4, 7), ZERO, Fraction(1, 7)),
        (4, Fraction(4, 7), Fraction(1, 7), Fraction(1, 7)),
        (3, Fraction(1, 3) + Fraction(1, 10**15), Fraction(1, 9), Fraction(1, 8)),
        (2, Fraction(1, 4), ZERO, ONE),
    ],
)
def test_sums_and_bounds_are_exact_also_in_a_corner(name, tasks, total, low, high):
    for seed in range(20):
        drawn = UTILISATION_METHODS[name](Stream(seed), total, [(low, high)] * tasks)
        assert len(drawn) == tasks
        assert sum(drawn) == total
        assert all(low <= used <= high for used in drawn)


def test_discarding_in_vain_names_the_other_method():
    hopeless = (Fraction(19, 20), [(ZERO, Fraction(1, 20))] * 20)
    with pytest.raises(SynthesisError, match="drew 10000 times in vain") as caught:
        uunifast_discard(Stream(1), *hopeless)
    assert "fixed-sum" in caught.value.hint
    assert sum(fixed_sum(Stream(1), *hopeless)) == Fraction(19, 20)


def test_as_many_tasks_as_are_accepted():
    drawn = fixed_sum(Stream(1), ONE, [(ZERO, Fraction(1, 64))] * FIXED_SUM_LIMIT)
    assert sum(drawn) == ONE
    assert 0 <= min(drawn) < max(drawn) <= Fraction(1, 64)
    own = [(ZERO, Fraction(1, 9 + 2 * task)) for task in range(FIXED_SUM_LIMIT)]
    drawn = fixed_sum(Stream(1), ONE / 2, own)
    assert sum(drawn) == ONE / 2
    assert all(used <= high for used, (_, high) in zip(drawn, own, strict=True))


def test_harmonic_periods_divide_one_another_and_are_within():
    seen = set()
    for seed in range(100):
        low, high = 500, 10_000
        choose = harmonic_periods(Stream(seed, "law"), low, high)
        drawn = sorted({choose(Stream(seed, task), low, high) for task in range(30)})
        assert low <= drawn[0] and drawn[-1] <= high
        assert all(after % before == 0 for before, after in itertools.pairwise(drawn))
        seen |= {after // before for before, after in itertools.pairwise(drawn)}
        assert choose(Stream(1), drawn[0] + 1, drawn[0] + 1) is None
    assert {2, 3} <= seen


def test_a_chain_of_one():
    choose = harmonic_periods(Stream(1), 700, 700)
    assert choose(Stream(2), 1, 10_000) == 700


def test_log_uniform_periods_are_those_of_the_distribution():
    choose = log_uniform_periods(Stream(1), 1, 2)
    drawn = [choose(Stream(seed), 1000, 8000) for seed in range(2000)]
    octaves = Counter((period // 1000).bit_length() for period in drawn)
    assert all(abs(octaves[octave] - 2000 / 3) < 95 for octave in (1, 2, 3))


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


def test_splitmix64_published_sequence():
    # Seed 1234567, as published with the reference implementation on Rosetta Code.
    stream = Stream(0)
    stream._state = 1234567
    assert [stream.word() for _ in range(5)] == [
        6457827717110365317,
        3203168211198807973,
        9817491932198370423,
        4593380528125082431,
        16408922859458223821,
    ]


def test_label_and_seed_tell_streams_apart():
    first = {Stream(seed, label).word() for seed in range(50) for label in ("wcet", "offset")}
    assert len(first) == 100
    assert Stream(3, "wcet").word() == Stream(3, "wcet").word()


def test_below_is_even():
    stream = Stream(1, "test")
    counts = Counter(stream.below(6) for _ in range(6000))
    assert sorted(counts) == [0, 1, 2, 3, 4, 5]
    # Six standard deviations of a count are 173.
    assert all(abs(count - 1000) < 173 for count in counts.values())


def test_below_beyond_a_word():
    stream = Stream(2, "test")
    bound = 3 * 2**80
    draws = [stream.below(bound) for _ in range(3000)]
    assert min(draws) >= 0 and max(draws) < bound
    thirds = Counter(draw >> 80 for draw in draws)
    assert all(abs(thirds[third] - 1000) < 155 for third in range(3))


def test_chance_is_exact_at_its_ends():
    stream = Stream(4, "test")
    assert not any(stream.chance(0, 7) for _ in range(100))
    assert all(stream.chance(7, 7) for _ in range(100))


def test_every_order_is_equally_likely():
    stream = Stream(5, "test")
    orders: Counter[tuple[int, ...]] = Counter()
    for _ in range(6000):
        items = [0, 1, 2]
        stream.shuffle(items)
        orders[tuple(items)] += 1
    assert len(orders) == 6
    assert all(abs(count - 1000) < 173 for count in orders.values())


def test_seed_for_depends_on_all_three_and_fits_signed_64_bits():
    seeds = {seed_for(c, m, r) for c in range(5) for m in range(1, 5) for r in range(5)}
    assert len(seeds) == 100
    assert all(0 <= seed < 2**63 for seed in seeds)


GOOD = {"cores": 2, "tasks": 2, "sync_share": Fraction(1, 2), "contended_ratio": Fraction(1, 10)}


def test_defaults_are_the_papers():
    parameters = SynthesisParameters(**GOOD)
    assert (parameters.wcet_min_ns, parameters.wcet_max_ns) == (100_000, 500_000)
    assert (parameters.segments_max, parameters.deadline_factor) == (8, 10)
    assert (parameters.distribution, parameters.priorities) == ("uniform", "uniform")


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("cores", 0, "cores: expected 1 to"),
        ("cores", True, "cores: expected a whole number"),
        ("tasks", 1, "tasks: expected 2 to"),
        ("segments_max", 1, "segments_max: expected 2 to"),
        ("segments_max", 0, "segments_max"),
        ("wcet_min_ns", 0, "wcet_min_ns"),
        ("wcet_min_ns", 1e5, "wcet_min_ns: expected a whole number, found 100000.0"),
        ("wcet_max_ns", 99_999, "wcet_max_ns: expected 100000 to"),
        ("distribution", "unifrom", "did you mean 'uniform'"),
        ("distribution", "cauchy", "expected uniform, log-uniform, normal, exponential"),
        ("sync_share", Fraction(11, 10), "sync_share: expected 0 to 1, found 11/10"),
        ("sync_share", 0.5, "sync_share: expected an exact fraction"),
        ("contended_ratio", Fraction(-1, 10), "contended_ratio"),
        ("deadline_factor", Fraction(1, 2), "deadline_factor"),
        ("classes_min", 0, "classes_min"),
        ("classes_max", 0, "classes_max: expected 1 to"),
        ("priorities", "monotonic", "priorities: 'monotonic' is unknown"),
        ("priority_low", 59, "priority_low: expected 60 to 79"),
        ("priority_high", 80, "priority_high: expected 60 to 79"),
        ("fragments", ["mutex"], "fragments: expected a tuple of names"),
    ],
)
def test_each_value_out_of_range_is_named(name, value, expected):
    with pytest.raises(UsageError) as caught:
        SynthesisParameters(**{**GOOD, name: value})
    assert expected in caught.value.message


def test_all_errors_at_once():
    with pytest.raises(UsageError) as caught:
        SynthesisParameters(
            cores=2, tasks=0, sync_share=Fraction(2), contended_ratio=Fraction(3), priority_low=1
        )
    for name in ("tasks", "sync_share", "contended_ratio", "priority_low"):
        assert f"{name}:" in caught.value.message


def test_one_segment_is_enough_for_one_kind():
    for share in (Fraction(0), Fraction(1)):
        SynthesisParameters(**{**GOOD, "sync_share": share, "segments_max": 1})


def test_the_reference_page_has_every_parameter_and_law():
    page = (Path(__file__).parents[2] / "docs/reference/synthesis.md").read_text(encoding="utf-8")
    table = page.split("## Parameters")[1].split("\n## ")[0]
    cells = re.findall(r"^\| (`[^|]*)\|", table, flags=re.MULTILINE)
    named = re.findall(r"`(\w+)`", " ".join(cells))
    assert named == list(fields_dict(SynthesisParameters))
    for name in (*DISTRIBUTIONS, *UTILISATION_METHODS, *PERIODS):
        assert f"| `{name}` |" in page
