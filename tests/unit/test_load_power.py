"""Truth: the verdict's own tests on failures of a known law."""

import numpy as np
import pytest
from helpers.loads import MS, back_to_back, run_of, summary_of_runs

from deadbeat.kinds.load.document import effects_table, power_lines
from deadbeat.kinds.load.estimates import Counted, Found, could_show, difference_of
from deadbeat.model.load import LoadSummary

WINDOW_S = 2.0


def cells(summary: LoadSummary) -> list[str]:
    """The first row of the effects as the page shows it."""
    table = effects_table(summary)
    return [column.text(table.rows[0]) for column in table.shown(terminal=False)]


def drawn(draw: np.random.Generator, rate: float, size: int, count: int) -> list[Counted]:
    """Runs with occasions of geometric size."""
    return [
        Counted(
            occasions=tuple(draw.geometric(1 / size, number).tolist()),
            released=2000,
            seconds=WINDOW_S,
        )
        for number in draw.poisson(rate, count)
    ]


def beat(failures: int, count: int) -> list[Counted]:
    one = Counted(occasions=(1,) * failures, released=2000, seconds=WINDOW_S)
    return [one] * count


def told(runs: list[Counted], *, verdicts: int = 1) -> Found:
    return could_show({4: runs}, level=0.05 / verdicts)


def test_more_runs_and_fewer_verdicts_find_less() -> None:
    few, many = (told(beat(10, count), verdicts=3).share for count in (4, 12))
    assert many < few
    more = told(beat(10, 12)).share
    assert more <= many


def test_four_failures_in_three_runs_can_show_nothing() -> None:
    # 4 to 0: 12.5 % by the exact test, however regular they come
    runs = [*beat(1, 2), *beat(2, 1)]
    found = told(runs)
    assert found.share is None
    assert found.removal < 0.5


def test_failures_that_keep_a_beat_are_told_from_none_by_few_runs() -> None:
    # 12 to 0, no run unlike another: 2 * 0.5^12, and 3.5 standard errors by chance within runs
    assert told(beat(2, 6), verdicts=4).removal > 0.99


def test_numbers_of_threads_that_never_fail_change_nothing_but_the_pairs() -> None:
    alone = could_show({4: beat(5, 6)}, level=0.05)
    both = could_show({4: beat(5, 6), 0: beat(0, 6)}, level=0.05)
    assert both.removal <= alone.removal
    assert both.removal > 0.5


def power(rate: float, size: int, runs: int, verdicts: int, tests: int) -> float:
    """How often the end of the share that a typical test tells is found."""
    draw = np.random.default_rng(round(rate * 100 + size + runs))
    known = [told(drawn(draw, rate, size, runs), verdicts=verdicts).share for _ in range(15)]
    share = float(np.median([each for each in known if each is not None]))
    found = sum(
        difference_of(drawn(draw, rate, size, runs), drawn(draw, rate * (1 - share), size, runs)).p
        <= 0.05 / verdicts
        for _ in range(tests)
    )
    return found / tests


def test_what_is_told_is_found_in_about_four_tests_of_five() -> None:
    assert power(20, 1, 6, 3, 60) >= 0.65


@pytest.mark.statistical
@pytest.mark.parametrize(
    ("rate", "size", "runs", "verdicts"),
    [(5, 1, 10, 3), (20, 1, 6, 3), (20, 1, 10, 6), (10, 10, 10, 6), (60, 5, 6, 1)],
)
def test_what_is_told_is_found_with_the_power_told(
    rate: float, size: int, runs: int, verdicts: int
) -> None:
    # told from as few runs as the test has: 80 %, give or take what the estimate of the law does
    assert 0.7 <= power(rate, size, runs, verdicts, 300) <= 0.99


@pytest.mark.statistical
def test_the_papers_repeats_find_the_end_of_a_handful_of_failures() -> None:
    draw = np.random.default_rng(1)
    found = sum(
        difference_of(drawn(draw, 5, 1, 8), drawn(draw, 0, 1, 8)).p <= 0.05 / 6 for _ in range(300)
    )
    assert found >= 0.9 * 300


# --- what a test says ----------------------------------------------------------------------------


def effects(failures: tuple[int, int], repeats: int):
    def cell(condition: str, failed: int):
        # each failure is an occasion of its own
        rounds = back_to_back([20 * MS, 10 * MS] * failed + [10 * MS] * (60 - 2 * failed))
        return [run_of(rounds, condition=condition, repeat=n) for n in range(1, repeats + 1)]

    names = ("plain", "pin")
    return summary_of_runs(
        [run for name, failed in zip(names, failures, strict=True) for run in cell(name, failed)]
    )


def test_no_difference_shown_says_what_would_have_been() -> None:
    summary = effects((9, 8), 6)
    (effect,) = summary.effects
    assert effect.verdict == "no difference shown"
    assert 0 < effect.could_show < effect.failures_before
    assert effect.removal_found == 1.0
    (line,) = power_lines(summary)
    assert line == (
        f"pin: no difference shown; {effect.could_show:.2f} of 9.00 failures/s less would be found"
        " with 80 %"
    )
    assert len(line) <= 100
    assert f"-{effect.could_show:.2f}" in cells(summary)


def test_too_few_failures_to_show_anything_are_told() -> None:
    summary = effects((1, 1), 4)
    (effect,) = summary.effects
    assert effect.could_show is None
    assert effect.removal_found < 0.8
    (line,) = power_lines(summary)
    assert "the end of all misses would be found with only" in line
    assert len(line) <= 100
    assert "not even -1.00" in cells(summary)


def test_what_is_shown_and_what_never_failed_say_nothing_of_it() -> None:
    assert not power_lines(effects((9, 0), 6))
    never = effects((0, 0), 6)
    assert not power_lines(never)
    (effect,) = never.effects
    # windows of 1 s: 3 in 6 s on either side; of occasions, as no failure was seen
    assert effect.occasions_high == 0.5
    assert (effect.failures.low, effect.failures.high) == (None, None)
    assert "< 0.50 occasions" in cells(never)
