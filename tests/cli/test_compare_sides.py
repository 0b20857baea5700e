"""Truth: sides made up with a known effect, and intervals worked by hand."""

import math
import re

import attrs
import numpy as np
import pytest
from helpers.aa import RunFigure, Side
from helpers.judges import compare_sides, options_of
from helpers.sides import made_up

from deadbeat.base.model.comparison import Comparison
from deadbeat.base.model.observations import Cell
from deadbeat.base.verdicts.words import cell_text, effect_text
from deadbeat.tasksets.contention.observe import METRICS, WORDS

OPTIONS = options_of("contention", ungated=True)
SIMULATED = options_of("contention", simulated=True)


def side(name: str, values: dict[str, float], **figures: float) -> Side:
    """Runs of one cell each, slowdown only."""
    return Side(
        name=name,
        runs={
            key: RunFigure(
                cell=Cell("", 2, 1.0, 1.0, 10.0),
                block=key,
                values={"slowdown": value, "delay_ratio": None, "deadline_miss_ratio": None},
                **figures,
            )
            for key, value in values.items()
        },
    )


def compared(seed: int, effect: float, **options: float) -> Comparison:
    return compare_sides(
        made_up(seed, **options),
        made_up(seed + 1, effect=lambda cell: effect, **options),
        options=OPTIONS,
    )


def test_every_cell_counts_once() -> None:
    one = made_up(1, scatter=0)
    two = made_up(1, scatter=0, effect=lambda cell: 0.1 if cell.cores == 2 else 0.0)
    # Two of three runs of every cell of M = 2 are lost: the mean over cells is still the half.
    lost = {
        key: run for key, run in two.runs.items() if run.cell.cores == 1 or int(key[-1]) % 3 == 0
    }
    found = compare_sides(one, attrs.evolve(two, runs=lost), options=OPTIONS).metrics[0]
    assert found.effect == pytest.approx(math.sqrt(1.1) - 1)


def test_an_effect_is_found_with_its_size_and_sign() -> None:
    for effect, verdict in ((0.1, "worse"), (-0.1, "better")):
        found = compared(10, effect)
        assert found.verdict == verdict
        metric = found.metrics[0]
        assert metric.verdict == verdict
        assert metric.low < effect < metric.high
        assert abs(metric.effect - effect) < 0.02


def test_no_effect_is_equal_and_not_worse() -> None:
    found = compared(20, 0.0)
    assert found.verdict == "equal"
    assert [metric.verdict for metric in found.metrics] == ["equal", "equal", "undecided"]
    assert found.metrics[0].no_worse
    assert not found.metrics[2].told
    assert found.reason.endswith("; hardly any of the programs differs in miss ratio")
    assert found.rests_on == ("slowdown", "delay_ratio")
    assert found.undecided == ("deadline_miss_ratio",)


def test_much_noise_is_undecided_and_says_what_it_needs() -> None:
    found = compared(30, 0.0, scatter=0.3)
    assert found.verdict == "undecided"
    assert any(line.startswith("slowdown and delay ratio: ") for line in found.needs)


def test_an_effect_below_the_minimum_is_no_verdict() -> None:
    found = compared(40, 0.01, scatter=0.002)
    assert found.metrics[0].p < 0.01
    assert found.verdict == "equal"
    strict = options_of("contention", minimum=0.004, ungated=True)
    again = compare_sides(
        made_up(40, scatter=0.002),
        made_up(41, scatter=0.002, effect=lambda cell: 0.01),
        options=strict,
    )
    assert again.verdict == "worse"


def hot(cell: Cell) -> float:
    return 0.15 if (cell.cores, cell.sync_share, cell.contended_ratio) == (2, 1, 1) else 0.0


def test_one_cell_alone_decides() -> None:
    found = compare_sides(made_up(50), made_up(51, effect=hot), options=OPTIONS)
    assert found.verdict == "worse"
    (cell,) = [cell for cell in found.metrics[0].cells if cell.verdict == "worse"]
    assert cell_text(cell) == "M = 2, rho = 1, alpha = 1"
    assert cell.test == "student" and cell.pairs == 6
    assert cell.other / cell.baseline - 1 == pytest.approx(cell.effect)
    # Equal on average is not equal.
    assert found.metrics[0].verdict != "equal"


def test_misses_are_compared_as_a_difference() -> None:
    one = made_up(70, misses=0.02, replicas=12)
    two = made_up(71, misses=0.05, replicas=12)
    metric = compare_sides(one, two, options=OPTIONS).metrics[2]
    assert metric.verdict == "worse"
    assert metric.effect == pytest.approx(0.03, abs=0.006)
    assert metric.low < 0.03 < metric.high


def test_no_miss_anywhere_is_a_bound_not_equality() -> None:
    metric = compared(80, 0.0).metrics[2]
    assert metric.effect == 0.0
    # 108 programs without a difference: 1 - 0.05**(1 / 108).
    assert metric.high == pytest.approx(0.02736, abs=1e-5)
    assert metric.verdict == "undecided"


def test_a_session_that_is_slower_as_a_whole_is_caught_by_the_repeats() -> None:
    options = {"scatter": 0.005, "replicas": 6}
    base = made_up(90, **options)
    slow = made_up(91, effect=lambda cell: 0.03, **options)  # a host state, not an effect
    assert compare_sides(base, slow, options=OPTIONS).verdict == "worse"
    drifts = enumerate((0.02, -0.01, 0.01), 92)
    repeats = [made_up(n, effect=lambda cell, e=e: e, **options) for n, e in drifts]
    gated = compare_sides(base, slow, repeats, options=OPTIONS)
    assert gated.verdict == "undecided"
    assert gated.metrics[0].gate > 0.03
    assert gated.metrics[0].gate_basis.startswith("A/A: 3 repeats")


def test_one_repeat_alone_asks_for_a_second() -> None:
    one, two, repeat = (made_up(n, scatter=0.2) for n in (150, 151, 152))
    (need, *_) = compare_sides(one, two, [repeat], options=OPTIONS).needs
    assert need.startswith("slowdown and delay ratio: ") and "once more (--aa)" in need


def test_without_a_gate_nothing_is_decided() -> None:
    """An effect of 50 %, but the times that a guess needs are not there."""
    one, two = made_up(200), made_up(201, effect=lambda cell: 0.5)
    one, two = (
        attrs.evolve(made, runs={k: attrs.evolve(run, at_ns=None) for k, run in made.runs.items()})
        for made in (one, two)
    )
    few = made_up(202)
    few = attrs.evolve(few, runs=dict(list(few.runs.items())[:1]))  # too few for a gate
    (slowdown, *_) = compare_sides(one, two, [few], options=options_of("contention")).metrics
    assert (slowdown.gate, slowdown.verdict, slowdown.smallest_effect) == (None, "undecided", None)
    assert {cell.verdict for cell in slowdown.cells} == {"undecided"}
    assert compare_sides(one, two, [few], options=OPTIONS).verdict == "worse"  # ungated


def test_measured_campaigns_without_repeats_are_undecided() -> None:
    measured = options_of("contention")
    for effect in (0.5, -0.5, 0.0):
        one, two = made_up(210), made_up(211, effect=lambda cell, e=effect: e)
        found = compare_sides(one, two, options=measured)
        assert found.verdict == "undecided" and found.reason == WORDS.no_repeats
        cells = [cell for metric in found.metrics for cell in metric.cells]
        assert {cell.verdict for cell in cells} == {"undecided"}
        assert not any(metric.no_worse for metric in found.metrics)
        (need,) = found.needs
        assert need.startswith("slowdown, delay ratio and miss ratio: ") and "--aa" in need
        simulated = attrs.evolve(measured, undisturbed="it is made up")
        assert compare_sides(one, two, options=simulated).verdict != "undecided"


def with_misses(side_: Side, misses: dict[str, float]) -> Side:
    changed = {
        key: attrs.evolve(run, values={**run.values, "deadline_miss_ratio": misses.get(key, 0.0)})
        for key, run in side_.runs.items()
    }
    return attrs.evolve(side_, runs=changed)


def test_few_programs_that_begin_to_miss_are_not_equal() -> None:
    one, two = made_up(230, scatter=0.005), made_up(231, scatter=0.005)
    assert compare_sides(one, two, options=OPTIONS).verdict == "equal"
    hit = sorted(two.runs)[-5:]
    for keys, share in ((hit, 1.0), (hit[:1], 1.0), (hit[:1], 0.006)):
        found = compare_sides(one, with_misses(two, dict.fromkeys(keys, share)), options=OPTIONS)
        assert found.verdict == "undecided"
        assert found.reason.endswith("of miss ratio")
        misses = found.metrics[2]
        assert (misses.verdict, misses.told, misses.vote) == ("undecided", False, True)
    # One late job in many is no reason to withhold an answer.
    found = compare_sides(one, with_misses(two, {hit[0]: 0.004}), options=OPTIONS)
    assert found.verdict == "equal" and not found.metrics[2].vote


def test_faster_but_with_programs_that_begin_to_miss_is_not_better() -> None:
    one, two = made_up(232), made_up(233, effect=lambda cell: -0.1)
    assert compare_sides(one, two, options=OPTIONS).verdict == "better"
    late = with_misses(two, dict.fromkeys(sorted(two.runs)[-5:], 1.0))
    assert compare_sides(one, late, options=OPTIONS).verdict == "undecided"
    assert compare_sides(late, one, options=OPTIONS).verdict == "worse"


def test_identical_jumps_of_one_job_are_not_certain() -> None:
    """Two programs with one more miss of ten each: no scatter, and yet two coin flips."""
    cell = Cell("", 2, 0.5, 0.5, 10.0)

    def pair(miss: float) -> Side:
        values = {"slowdown": 1.0, "delay_ratio": 1.0, "deadline_miss_ratio": miss}
        runs = {f"r{n}": RunFigure(cell=cell, block=f"{n}", values=values) for n in range(2)}
        return Side(name="", runs=runs)

    found = compare_sides(pair(0.0), pair(0.1), options=SIMULATED)
    assert found.metrics[2].cells[0].p == 0.0  # what Student's t makes of it
    assert (found.metrics[2].cells[0].verdict, found.verdict) == ("undecided", "undecided")


def test_quantised_misses_raise_few_false_alarms() -> None:
    """Two or three programs a cell with ten jobs each: 21 and 8 % before they had to be told."""

    def world(random: np.random.Generator, cells: int, programs: int) -> Side:
        runs = {}
        for number in range(cells * programs):
            values = {
                "slowdown": float(np.exp(0.01 * random.standard_normal())),
                "delay_ratio": None,
                "deadline_miss_ratio": random.binomial(10, 0.05) / 10,
            }
            place = Cell("", 2, 0.5, (number % cells) / 10, 10.0)
            runs[f"r{number}"] = RunFigure(cell=place, block=f"{number}", values=values)
        return Side(name="", runs=runs)

    for shape in ((1, 2), (1, 3), (3, 2)):
        random = np.random.default_rng(240)
        pairs = ((world(random, *shape), world(random, *shape)) for _ in range(60))
        found = [compare_sides(*pair, options=SIMULATED).verdict for pair in pairs]
        assert sum(verdict in ("worse", "better") for verdict in found) <= 6, shape


def test_equal_on_average_names_the_cell_that_is_not_known() -> None:
    one = made_up(16, scatter=0.04)
    two = made_up(17, scatter=0.04, effect=lambda cell: hot(cell) * 2 / 3)
    slowdown = options_of("contention", ("slowdown",), simulated=True)
    found = compare_sides(one, two, options=slowdown)
    assert found.verdict == "equal"
    assert found.metrics[0].cells[-1].verdict == "undecided"
    assert re.search(
        r"on average; undecided in \d+ of 18 cells, widest apart: slowdown \+\d+\.\d % at"
        r" M = 2, rho = 1, alpha = 1$",
        found.reason,
    )


@pytest.mark.parametrize("value", [math.nan, math.inf])
@pytest.mark.parametrize("metric", [metric.name for metric in METRICS])
def test_what_is_no_number_is_missing(metric: str, value: float) -> None:
    one, two = made_up(250), made_up(251)
    key = min(two.runs)
    run = two.runs[key]
    broken = attrs.evolve(run, values={**run.values, metric: value})
    other = attrs.evolve(two, runs={**two.runs, key: broken})
    found = compare_sides(one, other, options=OPTIONS)
    (place,) = [each for each in found.metrics if each.metric.name == metric]
    assert math.isfinite(place.effect)
    assert sum(cell.pairs for cell in place.cells) == len(two.runs) - 1
    assert found.verdict == "undecided"  # one side lacks it


def test_a_metric_that_nobody_measured_is_undecided() -> None:
    one, two = side("a", {"r0": 1.0, "r1": 2.0}), side("b", {"r0": 1.0, "r1": 2.0})
    metric = compare_sides(one, two, options=OPTIONS).metrics[1]
    assert (metric.verdict, metric.effect) == ("undecided", None)


def test_swapping_the_sides_swaps_the_verdict() -> None:
    one, two = made_up(130), made_up(131, effect=lambda cell: 0.1)
    forth = compare_sides(one, two, options=OPTIONS).metrics[0]
    back = compare_sides(two, one, options=OPTIONS).metrics[0]
    assert (forth.verdict, back.verdict) == ("worse", "better")
    assert (1 + forth.effect) * (1 + back.effect) == pytest.approx(1)


def test_words() -> None:
    assert effect_text(METRICS[0], 0.0412) == "+4.1 %"
    assert effect_text(METRICS[2], -0.00412) == "-0.41 points"
    assert effect_text(METRICS[0], -0.0004) == "+0.0 %"


def test_the_gate_of_repeats_by_hand() -> None:
    """Levels of the baseline and its repeats are 0, log 1.1 and log 1.2, each without scatter."""
    sides = [side(name, {"r0": level, "r1": 2 * level}) for name, level in
             (("a", 1.0), ("b", 1.1), ("c", 1.2), ("other", 3.0))]  # fmt: skip
    one = options_of("contention", ("slowdown",))
    (metric,) = compare_sides(sides[0], sides[3], sides[1:3], options=one).metrics
    levels = np.log([1.0, 1.1, 1.2])
    # t(0.98, 2) = 4.84873; a further session lies sqrt(1 + 1 / 3) deviations from the mean of three
    expected = math.expm1(4.84873 * levels.std(ddof=1) * math.sqrt(4 / 3))
    assert metric.gate == pytest.approx(expected, rel=1e-4)
    assert metric.effect == pytest.approx(3 / math.exp(levels.mean()) - 1)


def test_more_is_better_where_a_metric_says_so() -> None:
    one, two = made_up(300), made_up(301, effect=lambda cell: 0.2)
    speed = attrs.evolve(METRICS[0], higher_is_better=True)
    options = attrs.evolve(SIMULATED, metrics=(speed,))
    assert compare_sides(one, two, options=options).verdict == "better"
    assert compare_sides(two, one, options=options).verdict == "worse"
