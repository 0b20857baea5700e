"""Truth: runs in which one known thing took the time."""

import re
from collections.abc import Callable, Sequence
from typing import Any

import attrs
import pytest
from helpers.loads import MS, SECOND, back_to_back, run_of, summary_of_runs, waits

from deadbeat.latencies.load.causes import episodes_of
from deadbeat.latencies.load.document import load_document
from deadbeat.latencies.load.lost import SceneMachine
from deadbeat.latencies.load.model import Cause, Gaps, LoadRun

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


def causes(runs: Sequence[LoadRun], machine: SceneMachine) -> list[Cause]:
    return list(summary_of_runs([*alone(), *runs], machine=machine).causes)


def test_nothing_lost_has_no_cause() -> None:
    assert causes(crowd(wait_ns=0), SceneMachine(kernel=(6, 1))) == []


def traced(waited_ns: dict[str, int] | None = None, **trace: Any) -> LoadRun:
    told = {"waited_ns": waited_ns} if waited_ns else {}
    rounds = back_to_back([10 * MS] * 20)
    return run_of(rounds, condition="traced", window_ns=WINDOW, trace={**told, **trace})


def freed(**more: Any) -> list[LoadRun]:
    """The same without an RT bandwidth limit."""
    return crowd(machine=FREE, condition="rt-bandwidth", **more)


ORDINARY, ABOVE = "ordinary threads of this test", "multipathd (priority 99)"
SERVER_OFF = {"/sys/kernel/debug/sched/fair_server/cpu0/runtime": "0"}
#: Runs, minor version of Linux 6 (the fair server is there from 12 on), cause, its evidence.
CASES: dict[str, tuple[Callable[[], list[LoadRun]], int, str, str]] = {
    "before the fair server": (
        crowd, 1, "throttled likely", r"50\.0 ms of every second.*1000 ms apart"),
    "it goes with the limit": (
        lambda: [*crowd(), *freed(wait_ns=0)], 1, "throttled shown", ""),
    "it goes in two of three": (
        lambda: [*crowd(), *freed(wait_ns=0)[:2]], 1, "throttled likely", ""),
    "without a limit": (lambda: crowd(machine=FREE), 18, "fair-server likely", ""),
    "both may be, without an experiment": (crowd, 18, "throttled or fair-server likely", ""),
    "it stays without the limit": (lambda: [*crowd(), *freed()], 18, "fair-server shown", ""),
    "it goes, and there is a server": (
        lambda: [*crowd(), *freed(wait_ns=0)], 18, "throttled shown", ""),
    "two repeats": (
        lambda: [*crowd()[:2], *freed(wait_ns=0)[:2]], 18,
        "throttled or fair-server likely", "too few pairs"),
    "a remedy that takes both off": (
        lambda: [*crowd(), *freed(wait_ns=0, applied=SERVER_OFF)], 18,
        "throttled or fair-server shown", ""),
    "of another size": (lambda: crowd(wait_ns=200 * MS), 18, "preempted unknown", ""),
    "no limit and no fair server": (lambda: crowd(machine=FREE), 1, "preempted unknown", ""),
    "events show ordinary threads": (
        lambda: [*crowd(), traced({ORDINARY: 90 * MS, "sh (ordinary)": 9 * MS})],
        18, "throttled or fair-server shown", r"of this test 90\.0 ms, sh \(ordinary\) 9\.0 ms"),
    "events show a real-time task": (
        lambda: [*crowd(), traced({ABOVE: 90 * MS, "sh (ordinary)": 9 * MS})],
        1, "preempted likely", r"multipathd \(priority 99\) 90\.0 ms"),
    "no events": (
        lambda: [*crowd(), traced(unavailable="tracefs is read-only")],
        18, "throttled or fair-server likely", "events were not recorded: tracefs"),
    "an ordinary thread": (
        lambda: [attrs.evolve(run, policy="other") for run in crowd(wait_ns=400 * MS)],
        18, "preempted shown", ""),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_who_had_the_cpu_and_how_sure_that_is(name: str) -> None:
    runs, minor, found, evidence = CASES[name]
    (cause,) = causes(runs(), SceneMachine(kernel=(6, minor)))
    assert f"{cause.name} {cause.certainty}" == found
    assert re.search(evidence, cause.evidence)


def test_a_part_that_stays_is_shared_out() -> None:
    free = crowd(wait_ns=20 * MS, machine=FREE, condition="rt-bandwidth")
    found = causes([*crowd(), *free], SceneMachine(kernel=(6, 18)))
    shares = {cause.name: round(cause.share or 0, 2) for cause in found}
    assert shares == {"throttled": 0.6, "fair-server": 0.4}


def crowds(condition: str, waits_ms: Sequence[int], machine: dict[str, Any]) -> list[LoadRun]:
    """A run of each waiting, in ms of a second."""
    return [
        crowd(wait_ns=wait * MS, machine=machine, condition=condition)[place]
        for place, wait in enumerate(waits_ms)
    ]


def test_a_part_that_is_within_what_runs_differ_by_is_not_shared_out() -> None:
    runs = [*crowds("plain", (40, 60, 50), LIMITED), *crowds("rt-bandwidth", (50, 45, 40), FREE)]
    (cause,) = causes(runs, SceneMachine(kernel=(6, 18)))
    assert cause.name == "fair-server"
    assert "45.0 [32.6, 57.4] ms remain" in cause.evidence


def in_four(*waits_ms: Sequence[int], seen: Sequence[LoadRun] = ()) -> dict[str, Cause]:
    """Causes where waiting was plain, without the limit, bound, and both at once."""
    conditions = ("plain", "rt-bandwidth", "pin", "all")
    cells = zip(conditions, waits_ms, (LIMITED, FREE) * 2, strict=True)
    runs = [run for cell in cells for run in crowds(*cell)]
    return {each.name: each for each in causes([*runs, *seen], SceneMachine(kernel=(6, 18)))}


CONTRADICTING = ((33, 34, 33), (1, 2, 1), (30, 29, 30), (23, 22, 23))


def test_cells_without_the_limit_that_contradict_one_another_show_nothing() -> None:
    """Truth: seen here: unbound the waiting went at -1, bound to a CPU it stayed."""
    found = in_four(*CONTRADICTING)
    assert set(found) == {"throttled", "fair-server"}
    assert {cause.certainty for cause in found.values()} == {"likely"}
    assert "do not agree" in found["throttled"].evidence
    assert "all against pin" in found["throttled"].evidence


def test_a_comparison_whose_runs_differ_too_much_contradicts_nothing() -> None:
    found = in_four((33, 34, 33), (7, 3, 10), (10, 60, 30), (20, 0, 5))
    assert found["throttled"].certainty == "shown"
    assert round(found["throttled"].share or 0, 1) == 0.8
    assert found["fair-server"].certainty == "likely"


def test_events_do_not_show_which_of_the_two_it_was() -> None:
    seen = traced({"ordinary threads of this test": 90 * MS})
    found = in_four(*CONTRADICTING, seen=[seen])
    assert {cause.certainty for cause in found.values()} == {"likely"}


def test_a_small_part_that_is_shown_is_named() -> None:
    found = in_four((50, 50, 51), (2, 2, 2), (50, 51, 50), (2, 2, 2))
    certain = {name: each.certainty for name, each in found.items()}
    assert certain == {"throttled": "shown", "fair-server": "shown"}


def test_the_traced_run_counts_nowhere() -> None:
    summary = summary_of_runs([*alone(), *crowd(), traced({"x": 1})])
    assert {cell.condition for cell in summary.cells} == {"plain"}


def stopped(**ticks: Any) -> list[Cause]:
    """Nothing moved for 30 ms, in one round."""
    gaps = Gaps.of_rows([[SECOND // 2, 30 * MS, 0, 0, 0, 0]])
    rounds = back_to_back([10 * MS] * 50 + [40 * MS] + [10 * MS] * 140)
    run = run_of(rounds, window_ns=WINDOW, gaps=gaps, machine={**LIMITED, **ticks})
    return causes([run], SceneMachine(kernel=(6, 1), virtual=True))


def test_nothing_moved_is_the_host_only_with_stolen_ticks() -> None:
    (some,), (none,), (unread,) = (stopped(steal_ticks=ticks) for ticks in (3, 0, None))
    assert (some.name, none.name, unread.certainty) == ("stolen", "interrupt or stolen", "unknown")
    assert "a virtual machine" in none.evidence


def test_ticks_account_for_ten_milliseconds_each_on_the_threads_own_cpu() -> None:
    def found(by_cpu: dict[str, int]) -> dict[str, float]:
        told = stopped(steal_ticks=sum(by_cpu.values()), steal_ticks_by_cpu=by_cpu)
        return {cause.name: round(cause.share or 0, 2) for cause in told}

    assert found({"0": 1, "1": 0}) == {"stolen": 0.33, "interrupt or stolen": 0.67}
    assert found({"0": 5, "1": 0}) == {"stolen": 1.0}
    assert found({"0": 0, "1": 9}) == {"interrupt or stolen": 1.0}


def test_slower_rounds_are_smt_where_the_remedy_helps_beyond_pin() -> None:
    slow, pinned = crowd(wait_ns=0, slower=1.3), crowd(wait_ns=0, slower=1.29, condition="pin")
    idle = crowd(wait_ns=0, condition="smt")
    shared = SceneMachine(kernel=(6, 1), siblings={0: 2, 1: 2})
    (cause,) = causes(slow, shared)
    assert (cause.name, cause.certainty) == ("not seen", "unknown")
    assert "an SMT sibling" in cause.evidence
    found = causes([*slow, *pinned, *idle], shared)
    assert (found[0].name, found[0].certainty) == ("smt", "shown")
    assert "against pin" in found[0].evidence
    (cause,) = causes([*slow, *crowd(wait_ns=0, condition="pin"), *idle], shared)
    assert cause.name == "not seen", "pin alone did as much"
    (cause,) = causes([*slow, *idle], shared)
    assert cause.name == "not seen", "without pin it is compared with nothing"


def test_the_first_cause_is_the_one_without_which_most_misses_end() -> None:
    """first-use.md, row 1: 77 % of the lost time, and not one miss."""
    shared = SceneMachine(kernel=(6, 1), siblings={0: 2, 1: 2})
    runs = [
        *crowd(slower=1.3),
        *crowd(slower=1.29, condition="pin"),
        *crowd(condition="smt"),
        *crowd(wait_ns=0, slower=1.3, condition="rt-bandwidth", machine=FREE),
    ]
    summary = summary_of_runs([*alone(), *runs], machine=shared)
    by_name = {cause.name: cause for cause in summary.causes}
    waited, slowed = by_name["throttled"], by_name["smt"]
    assert (waited.misses, slowed.misses) == (6, 0), "2 in each of 3 runs"
    assert (slowed.share or 0) > (waited.share or 0)
    assert summary.causes[0] is waited
    _, first, helped = load_document(summary).answer
    assert first.startswith(
        "Main cause: the kernel throttled it (RT bandwidth control, or a quota): 6 of 6"
    )
    assert helped == "No single remedy is shown to help.", "6 to 0, among three that were tried"
    shown = [attrs.evolve(e, verdict="better") for e in summary.effects if e.condition[0] == "r"]
    helped = load_document(attrs.evolve(summary, effects=tuple(shown))).answer[-1]
    assert helped == "What helps: rt-bandwidth (1.00 to 0.00 failures/s)."


def test_smt_and_the_frequency_share_what_they_take_back() -> None:
    slow, pinned = crowd(wait_ns=0, slower=1.3), crowd(wait_ns=0, slower=1.3, condition="pin")
    idle = crowd(wait_ns=0, slower=1.2, condition="smt")
    fast = crowd(wait_ns=0, slower=1.1, condition="governor")
    machine = SceneMachine(kernel=(6, 1), siblings={0: 2}, scaling=True)
    found = causes([*slow, *pinned, *idle, *fast], machine)
    assert {cause.name for cause in found} >= {"smt", "frequency"}
    assert all(cause.certainty == "shown" for cause in found if cause.name != "not seen")


def test_a_remedy_whose_runs_differ_by_more_than_it_takes_back_shows_nothing() -> None:
    slow, wild = crowd(wait_ns=0, slower=1.3), (1.0, 1.4, 1.1)
    fast = [
        crowd(wait_ns=0, slower=slower, condition="governor")[place]
        for place, slower in enumerate(wild)
    ]
    (cause,) = causes([*slow, *fast], SceneMachine(kernel=(6, 1), scaling=True))
    assert cause.name == "not seen"
    assert "not shown" in cause.evidence


def test_frequencies_that_were_read_are_told() -> None:
    machine = {**LIMITED, "frequency_khz": {"0": [1_200_000, 3_400_000], "1": [None, 2_000_000]}}
    slow = crowd(wait_ns=0, slower=1.3, machine=machine)
    (cause,) = causes(slow, SceneMachine(kernel=(6, 1), scaling=True))
    assert "the frequency (1.20 to 3.40 GHz)" in cause.evidence


def test_slower_rounds_are_the_frequency_where_the_governor_helps() -> None:
    slow, fast = crowd(wait_ns=0, slower=1.3), crowd(wait_ns=0, condition="governor")
    (cause,) = causes([*slow, *fast], SceneMachine(kernel=(6, 1), scaling=True))
    assert cause.name == "frequency"


def test_what_is_compared_with_itself_is_not_slower() -> None:
    rounds = back_to_back([10 * MS] * 60 + [20 * MS] * 40)
    summary = summary_of_runs([run_of(rounds, normal=0, window_ns=WINDOW, machine=LIMITED)])
    assert summary.causes == ()


def moving(*, condition: str = "plain", length_ns: int = 10 * MS, moves: int = 20) -> list[LoadRun]:
    rounds = back_to_back([length_ns + 2 * MS] * 20 + [length_ns] * 150, moves=moves)
    return [
        run_of(rounds, condition=condition, repeat=repeat, window_ns=WINDOW, machine=LIMITED)
        for repeat in (1, 2, 3)
    ]


def migration(runs: Sequence[LoadRun]) -> Cause:
    found = causes(runs, SceneMachine(kernel=(6, 1)))
    (move,) = [cause for cause in found if cause.name == "migrated"]
    return move


def test_long_rounds_that_were_moved_more_often_show_no_cost_of_moves() -> None:
    move = migration(moving())
    assert "10.00 moves per second" in move.evidence
    assert move.certainty == "unknown"
    assert "pin was not measured" in move.evidence
    move = migration([*moving(), *moving(condition="pin", moves=0)])
    assert move.certainty == "unknown", "bound to one CPU the same rounds are as long"
    assert "not shown" in move.evidence


def test_what_pinning_takes_back_is_the_cost_of_moves() -> None:
    move = migration([*moving(), *moving(condition="pin", moves=0, length_ns=9 * MS)])
    assert move.certainty == "shown"
    assert "1000.0 [1000.0, 1000.0] us" in move.evidence


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
