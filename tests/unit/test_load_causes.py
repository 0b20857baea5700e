"""Truth: runs in which one known thing took the time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import attrs
from helpers.loads import MS, SECOND, back_to_back, run_of, summary_of_runs, waits

from deadbeat.analysis.load_causes import Machine, episodes_of
from deadbeat.model.load import Gaps, LoadRun
from deadbeat.model.load_summary import Cause

WINDOW = (0, 2 * SECOND)
LIMITED = {"rt_runtime_us": 950_000, "rt_period_us": 1_000_000}
FREE = {"rt_runtime_us": -1, "rt_period_us": 1_000_000}


def crowd(
    *,
    wait_ns: int = 50 * MS,
    machine: dict[str, Any] | None = None,
    condition: str = "plain",
    slower: float = 1.0,
    applied: dict[str, str] | None = None,
) -> list[LoadRun]:
    """Three runs of 2 s in which ``wait_ns`` of every second went to others, at once."""
    count = int((2 * SECOND - 2 * wait_ns) / (10 * MS * slower))
    late = {count // 4: wait_ns, 3 * count // 4: wait_ns} if wait_ns else {}
    rounds = back_to_back([round(10 * MS * slower)] * count, waits_ns=late)
    gaps = waits((SECOND // 2, wait_ns), (3 * SECOND // 2, wait_ns)) if wait_ns else Gaps()
    return [
        run_of(
            rounds,
            condition=condition,
            repeat=repeat,
            window_ns=WINDOW,
            gaps=gaps,
            machine=machine or LIMITED,
            applied=applied or {},
        )
        for repeat in (1, 2, 3)
    ]


def alone() -> list[LoadRun]:
    rounds = back_to_back([10 * MS] * 200)
    return [run_of(rounds, normal=0, window_ns=WINDOW, machine=LIMITED)]


def causes(runs: Sequence[LoadRun], machine: Machine) -> list[Cause]:
    return list(summary_of_runs([*alone(), *runs], machine=machine).causes)


def test_nothing_lost_has_no_cause() -> None:
    assert causes(crowd(wait_ns=0), Machine(kernel=(6, 1))) == []


def test_before_the_fair_server_it_is_the_rt_bandwidth() -> None:
    (cause,) = causes(crowd(), Machine(kernel=(6, 1)))
    assert (cause.name, cause.certainty) == ("rt-bandwidth", "shown")
    assert "50.0 ms of every second" in cause.evidence
    assert "1000 ms apart" in cause.evidence


def test_without_a_limit_it_is_the_fair_server() -> None:
    (cause,) = causes(crowd(machine=FREE), Machine(kernel=(6, 18)))
    assert (cause.name, cause.certainty) == ("fair-server", "shown")


def test_where_both_may_be_nothing_is_claimed_without_an_experiment() -> None:
    (cause,) = causes(crowd(), Machine(kernel=(6, 18)))
    assert (cause.name, cause.certainty) == ("bandwidth", "likely")


def test_what_stays_without_the_limit_is_the_fair_servers() -> None:
    free = crowd(machine=FREE, condition="rt-bandwidth")
    (cause,) = causes([*crowd(), *free], Machine(kernel=(6, 18)))
    assert (cause.name, cause.certainty) == ("fair-server", "shown")


def test_what_goes_with_the_limit_is_the_rt_bandwidths() -> None:
    free = crowd(wait_ns=0, machine=FREE, condition="rt-bandwidth")
    (cause,) = causes([*crowd(), *free], Machine(kernel=(6, 18)))
    assert (cause.name, cause.certainty) == ("rt-bandwidth", "shown")


def test_a_part_that_stays_is_shared_out() -> None:
    free = crowd(wait_ns=20 * MS, machine=FREE, condition="rt-bandwidth")
    found = causes([*crowd(), *free], Machine(kernel=(6, 18)))
    shares = {cause.name: round(cause.share or 0, 2) for cause in found}
    assert shares == {"rt-bandwidth": 0.6, "fair-server": 0.4}


def test_a_part_that_is_within_what_runs_differ_by_is_not_shared_out() -> None:
    limited = [crowd(wait_ns=wait * MS)[place] for place, wait in enumerate((40, 60, 50))]
    free = [
        crowd(wait_ns=wait * MS, machine=FREE, condition="rt-bandwidth")[place]
        for place, wait in enumerate((50, 45, 40))
    ]
    (cause,) = causes([*limited, *free], Machine(kernel=(6, 18)))
    assert cause.name == "fair-server"
    assert cause.evidence.endswith("which leaves the fair server as it is")


def test_a_remedy_that_takes_both_off_does_not_tell_them_apart() -> None:
    applied = {"/sys/kernel/debug/sched/fair_server/cpu0/runtime": "0"}
    free = crowd(wait_ns=0, machine=FREE, condition="rt-bandwidth", applied=applied)
    (cause,) = causes([*crowd(), *free], Machine(kernel=(6, 18)))
    assert (cause.name, cause.certainty) == ("bandwidth", "shown")


def test_waiting_of_another_size_is_not_put_down_to_the_kernels_share() -> None:
    (cause,) = causes(crowd(wait_ns=200 * MS), Machine(kernel=(6, 18)))
    assert (cause.name, cause.certainty) == ("other-task", "unknown")


def test_no_limit_and_no_fair_server_leave_another_task() -> None:
    (cause,) = causes(crowd(machine=FREE), Machine(kernel=(6, 1)))
    assert cause.name == "other-task"


def traced(waited_ns: dict[str, int] | None = None, **trace: Any) -> LoadRun:
    told = {"waited_ns": waited_ns} if waited_ns else {}
    rounds = back_to_back([10 * MS] * 20)
    return run_of(rounds, condition="traced", window_ns=WINDOW, trace={**told, **trace})


def test_events_that_show_ordinary_threads_show_the_kernels_share() -> None:
    seen = traced({"ordinary threads of this test": 90 * MS, "sh (ordinary)": 9 * MS})
    (cause,) = causes([*crowd(), seen], Machine(kernel=(6, 18)))
    assert (cause.name, cause.certainty) == ("bandwidth", "shown")
    assert "ordinary threads of this test 90.0 ms, sh (ordinary) 9.0 ms" in cause.evidence


def test_events_that_show_a_real_time_task_name_it() -> None:
    seen = traced({"multipathd (priority 99)": 90 * MS, "sh (ordinary)": 9 * MS})
    (cause,) = causes([*crowd(), seen], Machine(kernel=(6, 1)))
    assert (cause.name, cause.certainty) == ("other-task", "likely")
    assert "multipathd (priority 99) 90.0 ms" in cause.evidence


def test_no_events_no_claim_and_the_reason() -> None:
    seen = traced(unavailable="tracefs on /sys/kernel/tracing is read-only")
    (cause,) = causes([*crowd(), seen], Machine(kernel=(6, 18)))
    assert (cause.name, cause.certainty) == ("bandwidth", "likely")
    assert "events were not recorded: tracefs" in cause.evidence


def test_the_traced_run_counts_nowhere() -> None:
    summary = summary_of_runs([*alone(), *crowd(), traced({"x": 1})])
    assert {cell.condition for cell in summary.cells} == {"plain"}


def test_nothing_moved_is_the_host_only_with_stolen_ticks() -> None:
    def stopped(ticks: int | None) -> Cause:
        gaps = Gaps.of_rows([[SECOND // 2, 30 * MS, 0, 0, 0, 0]])
        rounds = back_to_back([10 * MS] * 50 + [40 * MS] + [10 * MS] * 140)
        machine = {**LIMITED, "steal_ticks": ticks}
        run = run_of(rounds, window_ns=WINDOW, gaps=gaps, machine=machine)
        (cause,) = causes([run], Machine(kernel=(6, 1), virtual=True))
        return cause

    assert stopped(3).name == "steal"
    assert stopped(0).name == "host-or-interrupt"
    assert stopped(None).certainty == "unknown"
    assert "a virtual machine" in stopped(0).evidence


def test_slower_rounds_are_smt_where_the_remedy_helps_and_unknown_elsewhere() -> None:
    slow = crowd(wait_ns=0, slower=1.3)
    shared = Machine(kernel=(6, 1), siblings={"0": 2, "1": 2})
    (cause,) = causes(slow, shared)
    assert (cause.name, cause.certainty) == ("unknown", "unknown")
    assert "an SMT sibling" in cause.evidence
    (cause,) = causes([*slow, *crowd(wait_ns=0, condition="smt")], shared)
    assert (cause.name, cause.certainty) == ("smt", "shown")
    (cause,) = causes([*slow, *crowd(wait_ns=0, slower=1.29, condition="smt")], shared)
    assert cause.name == "unknown"


def test_frequencies_that_were_read_are_told() -> None:
    machine = {**LIMITED, "frequency_khz": {"0": [1_200_000, 3_400_000], "1": [None, 2_000_000]}}
    slow = crowd(wait_ns=0, slower=1.3, machine=machine)
    (cause,) = causes(slow, Machine(kernel=(6, 1), scaling=True))
    assert "the frequency (1.20 to 3.40 GHz)" in cause.evidence


def test_slower_rounds_are_the_frequency_where_the_governor_helps() -> None:
    slow, fast = crowd(wait_ns=0, slower=1.3), crowd(wait_ns=0, condition="governor")
    (cause,) = causes([*slow, *fast], Machine(kernel=(6, 1), scaling=True))
    assert cause.name == "frequency"


def test_an_ordinary_thread_shares_like_the_others() -> None:
    runs = [attrs.evolve(run, policy="other") for run in crowd(wait_ns=400 * MS)]
    (cause,) = causes(runs, Machine(kernel=(6, 18)))
    assert (cause.name, cause.certainty) == ("fair-scheduling", "shown")


def test_what_is_compared_with_itself_is_not_slower() -> None:
    rounds = back_to_back([10 * MS] * 60 + [20 * MS] * 40)
    summary = summary_of_runs([run_of(rounds, normal=0, window_ns=WINDOW, machine=LIMITED)])
    assert summary.causes == ()


def test_moves_are_counted_and_their_price_is_measured() -> None:
    rounds = back_to_back([12 * MS] * 20 + [10 * MS] * 150, moves=20)
    found = causes([run_of(rounds, window_ns=WINDOW, machine=LIMITED)], Machine(kernel=(6, 1)))
    (move,) = [cause for cause in found if cause.name == "migration"]
    assert "10.00 moves per second" in move.evidence
    assert "+2000 us" in move.evidence


def test_stretches_close_to_one_another_are_one_episode() -> None:
    gaps = waits((10 * MS, 20 * MS), (35 * MS, 20 * MS), (900 * MS, 10 * MS))
    seen = episodes_of([run_of(back_to_back([10 * MS]), gaps=gaps, window_ns=WINDOW)])
    assert (seen.count, seen.length_ns, seen.period_ns) == (2, 25 * MS, 890 * MS)


def test_a_pause_between_rounds_is_waiting_too() -> None:
    rows = [
        [0, 0, 10 * MS, 10 * MS, 0, 0, 0, 0, 0, 0, 0],
        [10 * MS, 60 * MS, 70 * MS, 10 * MS, 50 * MS, 0, 1, 0, 0, 0, 0],
    ]
    run = run_of(type(back_to_back([])).of_rows(rows), window_ns=WINDOW)
    assert episodes_of([run]).length_ns == 50 * MS
