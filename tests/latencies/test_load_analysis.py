"""Truth: rounds whose figures can be counted by hand."""

import numpy as np
import pytest
from attrs import evolve
from helpers.loads import MS, SECOND, back_to_back, run_of, summary_of_runs, waits

from deadbeat.base.model.finding import Finding
from deadbeat.latencies.load.kind import _cases, counts
from deadbeat.latencies.load.model import Gaps, LoadKey, LoadRun, Rounds
from deadbeat.latencies.load.summarise import figures_of

DEADLINE = 15 * MS


def figures(run: LoadRun, period_ns: int | None = None, deadline_ns: int = DEADLINE):  # type: ignore[no-untyped-def]
    return figures_of(run, deadline_ns=deadline_ns, period_ns=period_ns)


def test_a_round_over_the_deadline_is_a_failure_and_one_at_it_is_not() -> None:
    run = run_of(back_to_back([10 * MS, 15 * MS, 15 * MS + 1, 10 * MS]))
    assert figures(run).count.failures == 1
    assert figures(run).count.released == 4
    assert figures(run).count.per_s == 1.0


def test_only_rounds_released_inside_the_window_count() -> None:
    lengths = [20 * MS] * 10
    run = run_of(back_to_back(lengths), window_ns=(20 * MS, 100 * MS))
    # released at 0, 20, ..., 180 ms: four of them in [20, 100)
    assert figures(run).count.released == 4
    assert figures(run).count.failures == 4


def test_a_skipped_release_missed_its_deadline() -> None:
    # every 20 ms; the second takes 50 ms and skips the releases at 40 and 60 ms
    rows = [
        [0, 0, 10 * MS, 10 * MS, 0, 1, 0, 0, 0, 0, 0],
        [20 * MS, 20 * MS, 70 * MS, 50 * MS, 0, 1, 0, 0, 0, 0, 2],
        [80 * MS, 80 * MS, 90 * MS, 10 * MS, 0, 1, 0, 0, 0, 0, 0],
    ]
    run = run_of(Rounds.of_rows(rows), window_ns=(0, 100 * MS))
    found = figures(run, period_ns=20 * MS, deadline_ns=20 * MS)
    assert (found.count.released, found.count.failures) == (5, 3)


def test_a_deadline_beyond_the_window_does_not_count() -> None:
    rows = [
        [0, 0, 10 * MS, 10 * MS, 0, 1, 0, 0, 0, 0, 0],
        [90 * MS, 90 * MS, 120 * MS, 30 * MS, 0, 1, 0, 0, 0, 0, 1],
    ]
    run = run_of(Rounds.of_rows(rows), window_ns=(0, 100 * MS))
    found = figures(run, period_ns=20 * MS, deadline_ns=20 * MS)
    assert (found.count.released, found.count.failures) == (1, 0)


def test_failures_in_a_row_are_one_occasion() -> None:
    lengths = [20 * MS, 20 * MS, 10 * MS, 20 * MS, 10 * MS]
    assert figures(run_of(back_to_back(lengths))).count.occasions == (2, 1)


def test_lost_time_splits_into_waiting_stopped_and_slower() -> None:
    alone = run_of(back_to_back([10 * MS] * 50), normal=0)
    # two rounds wait 50 ms and 30 ms; every round takes 1 ms more; 5 ms nothing moves in one
    lengths = [11 * MS] * 20 + [16 * MS] + [11 * MS] * 19
    rounds = back_to_back(lengths, waits_ns={3: 50 * MS, 9: 30 * MS})
    gaps = waits((40 * MS, 50 * MS), (150 * MS, 30 * MS))
    stopped = type(gaps).of_rows(
        [*np.column_stack(list(gaps.columns().values())).tolist(), [300 * MS, 5 * MS, 0, 0, 0, 0]]
    )
    summary = summary_of_runs([alone, run_of(rounds, gaps=stopped)])
    lost = summary.cell(4, "plain").lost  # type: ignore[union-attr]
    assert lost.waiting == pytest.approx(0.080)
    assert lost.stopped == pytest.approx(0.005)
    assert lost.slower == pytest.approx(0.040)


def test_work_lost_compares_runs_of_one_repeat() -> None:
    runs = []
    for repeat, with_it, without in ((1, 500, 1000), (2, 600, 800), (3, 700, 700)):
        runs.append(run_of(back_to_back([MS]), repeat=repeat, units=[with_it // 2] * 2))
        runs.append(
            run_of(Rounds(), condition="reference", repeat=repeat, units=[without // 2] * 2)
        )
    lost = summary_of_runs(runs).cell(4, "plain").work_lost  # type: ignore[union-attr]
    assert lost.value == pytest.approx((0.5 + 0.25 + 0.0) / 3)


def test_an_invalid_run_counts_nowhere() -> None:
    wrong = Finding(id="wrong-priority", severity="invalid", message="had fifo 50")
    bad = run_of(back_to_back([20 * MS] * 10), repeat=2, problems=(wrong,))
    summary = summary_of_runs([run_of(back_to_back([10 * MS] * 10)), bad])
    cell = summary.cell(4, "plain")
    assert (cell.runs, cell.invalid, cell.failures) == (1, 1, 0)
    assert summary.problems == ("invalid: 1 of 2 runs: wrong-priority, for example had fifo 50",)


def test_verdicts_need_an_interval_off_zero() -> None:
    def cell(condition: str, length: int) -> list[LoadRun]:
        rounds = back_to_back([length] * 5)
        return [run_of(rounds, condition=condition, repeat=n) for n in (1, 2, 3)]

    runs = [*cell("plain", 20 * MS), *cell("pin", 20 * MS), *cell("smt", 10 * MS)]
    verdicts = {effect.condition: effect.verdict for effect in summary_of_runs(runs).effects}
    assert verdicts == {"pin": "undecided", "smt": "better"}


def test_a_verdict_needs_three_pairs_and_more_proof_the_more_was_tried() -> None:
    def cell(condition: str, failures: int, runs: int) -> list[LoadRun]:
        # each failure is an occasion of its own
        rounds = back_to_back([20 * MS, 10 * MS] * failures + [10 * MS] * (40 - 2 * failures))
        return [run_of(rounds, condition=condition, repeat=n) for n in range(1, runs + 1)]

    def verdict(tried: int, runs: int) -> str:
        names = ("pin", "smt", "governor", "preemption", "rt-bandwidth")[:tried]
        cells = [cell("plain", 2, runs), *(cell(name, 0, runs) for name in names[:1])]
        cells += [cell(name, 2, runs) for name in names[1:]]
        effects = summary_of_runs([run for each in cells for run in each]).effects
        return next(effect.verdict for effect in effects if effect.condition == "pin")

    assert verdict(1, 2) == "undecided"
    # 8 to 0: 2 * 0.5^8 = 0.8 % for one remedy, 4 % for five
    assert verdict(1, 4) == "better"
    # 6 to 0: 3.1 % for one, which two would share
    assert verdict(1, 3) == "better"
    assert verdict(2, 3) == "undecided"


def test_an_interval_holds_zero_where_its_verdict_does_not_exclude_it() -> None:
    """first-use.md, row 10: "-0.50 [-0.98, -0.05] no difference shown"."""
    for before in range(2, 9):
        for after in range(before):
            runs = []
            for condition, failures in (("plain", before), ("pin", after), ("smt", before)):
                lengths = [20 * MS, 10 * MS] * failures + [10 * MS] * (40 - 2 * failures)
                runs += [
                    run_of(back_to_back(lengths), condition=condition, repeat=n) for n in (1, 2, 3)
                ]
            for effect in summary_of_runs(runs).effects:
                low, high = effect.misses.low, effect.misses.high
                assert low is not None and high is not None
                assert (low <= 0 <= high) == (effect.verdict == "undecided")


def test_a_remedy_tried_at_several_numbers_has_one_verdict() -> None:
    def cell(condition: str, normal: int, failures: int) -> list[LoadRun]:
        rounds = back_to_back([20 * MS, 10 * MS] * failures + [10 * MS] * (40 - 2 * failures))
        return [run_of(rounds, condition=condition, normal=normal, repeat=n) for n in (1, 2, 3)]

    # 3 to 0 at each number: 25 %; 6 to 0 at both: 3.1 %
    runs = [run for normal in (0, 2) for run in cell("plain", normal, 1)]
    runs += [run for normal in (0, 2) for run in cell("all", normal, 0)]
    effects = summary_of_runs(runs).effects
    found = [(each.normal, each.misses.pairs, each.verdict, each.p99 is None) for each in effects]
    assert found == [(None, 6, "better", True), (0, 3, "", False), (2, 3, "", False)]


def test_a_share_of_work_is_lost_within_what_is_possible() -> None:
    runs = []
    for repeat, with_it in ((1, 1000), (2, 20), (3, 900)):
        runs.append(run_of(back_to_back([MS]), repeat=repeat, units=[with_it]))
        runs.append(run_of(Rounds(), condition="reference", repeat=repeat, units=[1000]))
    lost = summary_of_runs(runs).cell(4, "plain").work_lost  # type: ignore[union-attr]
    assert (lost.low, lost.high) == (0.0, 1.0)


def test_an_unfinished_test_says_so() -> None:
    summary = summary_of_runs([run_of(back_to_back([MS]))], planned=SECOND)
    assert (summary.done, summary.planned) == (1, SECOND)


def test_time_that_no_account_holds_is_not_taken_from_the_execution_twice() -> None:
    """Truth: 14 gaps of 1160 us on a kernel with PARAVIRT_TIME_ACCOUNTING, by the wall 1160 us
    longer, by the thread's own CPU clock not at all."""
    alone = run_of(back_to_back([10 * MS] * 50), normal=0)
    gap = 1_160_000
    rows, now = [], 0
    for number in range(50):
        finish = now + 11 * MS + (gap if number < 14 else 0)
        rows.append([now, now, finish, 11 * MS, 0, 0, 0, 0, 0, 0, 0])
        now = finish
    gaps = [[row[0] + 5 * MS, gap, 0, 0, 0, 0] for row in rows[:14]]
    run = run_of(Rounds.of_rows(rows), gaps=Gaps.of_rows(gaps))
    lost = summary_of_runs([alone, run]).cell(4, "plain").lost  # type: ignore[union-attr]
    assert lost.stopped == pytest.approx(14 * gap / SECOND)
    assert lost.uncharged == pytest.approx(14 * gap / SECOND)
    assert lost.slower == pytest.approx(0.050)


def test_other_work_is_said_once_and_where_its_amount_is_not_known_by_name() -> None:
    busy = Finding(id="other-work", severity="warning", message="2 others were ready")
    runs = [run_of(back_to_back([10 * MS] * 10), repeat=n, problems=(busy,)) for n in (1, 2)]
    assert summary_of_runs(runs).problems[0].startswith("warning: 2 of 2 runs: other-work")
    known = summary_of_runs([evolve(run, machine={"foreign_cpus": 0.9}) for run in runs])
    assert known.problems == () and known.beside.startswith("2 of 2 runs were disturbed")


def test_what_ends_with_status_1() -> None:
    invalid = (Finding(id="steal", severity="invalid", message="the host"),)
    fine = run_of(back_to_back([10 * MS] * 9))
    late = run_of(back_to_back([20 * MS] * 9), repeat=2)
    bad = run_of(back_to_back([10 * MS] * 9), repeat=3, problems=invalid)

    def found(*runs: LoadRun) -> dict[str, str]:
        bad = (case for case in _cases(summary_of_runs(runs)) if case.verdict == "failed")
        return {case.group: case.message.partition(",")[0] for case in bad}

    assert counts(summary_of_runs([fine, late, bad]))
    assert not counts(summary_of_runs([bad]))
    assert not counts(summary_of_runs([evolve(fine, key=LoadKey(4, "all", 1))]))
    assert found(fine) == {}
    assert found(fine, late) == {"load.misses": "9 of 18 rounds missed"}
