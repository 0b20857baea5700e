"""Truth: what a remedy is said to do, and what would have been found."""

from helpers.loads import MS, back_to_back, run_of, summary_of_runs

from deadbeat.latencies.load.document import effects_table, power_lines
from deadbeat.latencies.load.model import LoadSummary


def cells(summary: LoadSummary) -> list[str]:
    """The first row of the effects as the page shows it."""
    table = effects_table(summary)
    return [column.text(table.rows[0]) for column in table.shown(terminal=False)]


def effects(failures: tuple[int, int], repeats: int):
    def cell(condition: str, failed: int):
        # each failure is an occasion of its own
        rounds = back_to_back([20 * MS, 10 * MS] * failed + [10 * MS] * (60 - 2 * failed))
        return [run_of(rounds, condition=condition, repeat=n) for n in range(1, repeats + 1)]

    names = ("plain", "pin")
    return summary_of_runs(
        [run for name, failed in zip(names, failures, strict=True) for run in cell(name, failed)]
    )


def test_an_undecided_remedy_says_what_would_have_been_found() -> None:
    summary = effects((9, 8), 6)
    (effect,) = summary.effects
    assert effect.verdict == "undecided"
    # 54 of 360 rounds fail: about 2.3 standard errors of sqrt(2 * 54), in 4 of 5 tests another 0.9
    assert 0.05 < effect.misses.smallest_effect < effect.misses.baseline == 9 / 60
    (line,) = power_lines(summary)
    size = f"{100 * effect.misses.smallest_effect:.2f} points"
    assert line == (
        f"pin: undecided; a change of the miss ratio of ±{size} would be found with 80 %"
    )
    assert len(line) <= 100
    assert f"±{size}" in cells(summary)


def test_too_few_failures_to_show_anything_are_told() -> None:
    summary = effects((1, 1), 4)
    assert summary.effects[0].verdict == "undecided"
    (line,) = power_lines(summary)
    assert line == "pin: undecided; too few runs to find even the end of all misses with 80 %"
    assert "not even -1.67 points" in cells(summary)


def test_what_is_shown_and_what_never_failed_say_nothing_of_it() -> None:
    assert not power_lines(effects((9, 0), 6))
    never = effects((0, 0), 6)
    assert not power_lines(never)
    (effect,) = never.effects
    # windows of 1 s: 3 in 6 s on either side; of occasions, as no failure was seen
    assert effect.occasions_high == 0.5
    assert "< 0.50 occasions" in cells(never)
    assert "undecided: no deadline missed either way" in cells(never)
