"""What a verdict rests on; the systems are small enough to be checked by hand."""

from typing import Any

import numpy as np
import pytest
from attrs import evolve
from helpers.sched import says

from deadbeat.base.model.errors import UsageError
from deadbeat.sched import (
    Costs,
    Scheduler,
    TaskSystem,
    TimedTask,
    Verdict,
    policies,
    simulate,
    simulate_ties,
    tie_rules,
)

Row = tuple[int, ...]


def system(processors: int, *rows: Row) -> TaskSystem:
    """Tasks of (C, D, T) or (C, D, T, O)."""
    tasks = (
        TimedTask(wcet=row[0], deadline=row[1], period=row[2], offset=row[3] if row[3:] else 0)
        for row in rows
    )
    return TaskSystem(processors=processors, tasks=tuple(tasks))


def scaled(known: TaskSystem, factor: int) -> TaskSystem:
    return system(
        known.processors,
        *(
            (t.wcet * factor, t.deadline * factor, t.period * factor, t.offset * factor)
            for t in known.tasks
        ),
    )


# Research 4d, O7: the heavy task misses at 2 when both light ones win its ties.
TIED = system(2, (1, 2, 2), (1, 2, 2), (2, 2, 2))
# H = 12: idle again by then.
EASY = system(2, (1, 3, 3), (2, 4, 4), (3, 6, 6))
# Large primes: the product is about 10^27.
PRIMES = (1_000_000_007, 1_000_000_009, 998_244_353)


def test_one_hyperperiod_proves_a_synchronous_constrained_system() -> None:
    proof = {"proof": "one-hyper-period", "execution": "up-to-wcet"}
    says("yes", simulate(EASY), proved=True, until=12, **proof)


def test_budget_ends_undecided_never_guessed() -> None:
    # Three releases at 0; that at 3 is one too many.
    because = "budget of 3 scheduling points"
    says("undecided", simulate(EASY, budget=3), because, proved=False, events=3, until=3)


def test_instants_of_the_policy_count_against_the_budget() -> None:
    verdict = simulate(system(1, (51, 100, 100)), Scheduler(policy="pd2"), budget=10)
    says("undecided", verdict, events=10, until=10)  # the release, and quanta that end at 1 to 9


def test_horizon_short_of_the_hyperperiod_is_undecided_and_says_why() -> None:
    says("undecided", simulate(EASY, horizon=11), "hyper-period of 12", until=11)
    says("yes", simulate(EASY, horizon=12))


def test_miss_within_a_short_horizon_is_a_proved_no() -> None:
    says("no", simulate(TIED, horizon=3), proved=True, first_miss=2)


def test_hyperperiod_beyond_64_bits_is_undecided_without_a_miss() -> None:
    verdict = simulate(system(2, *((5, p, p) for p in PRIMES)), budget=2000)
    says("undecided", verdict, "above 2^62", proved=False, proof="")


def test_hyperperiod_beyond_64_bits_is_no_with_a_miss() -> None:
    a, b, c = PRIMES
    verdict = simulate(system(2, (a, a, a), (b - 1, b, b), (9, c, c)), budget=2000)
    says("no", verdict, proved=True)
    # Both processors are taken until b - 1 by what is urgent at the shortest deadline but one.
    assert verdict.first_miss in (a, b)


def test_time_ends_before_instants_could_overflow() -> None:
    top = 1 << 60
    rows = ((1, top - less, top - less) for less in range(3))
    says("undecided", simulate(system(2, *rows)), until=1 << 62)


def test_utilisation_above_the_processors_is_no_even_when_the_budget_ends_first() -> None:
    # U = 1 + 1/1000 on one processor: the first miss is far away.
    slow = system(1, (500, 10**6, 1000), (501, 10**6, 1000))
    says("no", simulate(slow, budget=50), proved=True, first_miss=None, proof="overload")


def test_execution_longer_than_the_deadline_is_no_before_it_is_released() -> None:
    says("no", simulate(system(1, (1, 5, 5), (3, 2, 100, 60)), horizon=10), proof="overload")


@pytest.mark.parametrize("known", [EASY, TIED, system(1, (4, 9, 9, 20), (5, 30, 10))])
def test_common_divisor_is_taken_out_and_results_come_back_scaled(known: TaskSystem) -> None:
    factor = 1_000_003
    small, large = (
        simulate(each, record_jobs=True, record_segments=True, run_on=True)
        for each in (known, scaled(known, factor))
    )
    assert (large.schedulable, large.proof) == (small.schedulable, small.proof)
    assert large.until == small.until * factor
    assert large.events == small.events
    assert _times(large) == {
        name: values * factor if isinstance(values, int) else [v * factor for v in values]
        for name, values in _times(small).items()
    }
    np.testing.assert_array_equal(large.figures["preemptions"], small.figures["preemptions"])


def _times(verdict: Verdict) -> dict[str, Any]:
    done = verdict.figures["completed"] > 0
    columns = {
        name: verdict.figures[name][done].tolist()
        for name in ("response_min", "response_max", "tardiness_max", "slack_min", "slack_sum")
    }
    finish = verdict.jobs[:, 4]
    return columns | {
        "repeat": list(verdict.repeat or ()),
        "release": verdict.jobs[:, 2].tolist(),
        "finish": finish[finish >= 0].tolist(),
        "segments": verdict.segments[:, 3:].ravel().tolist(),
        "first_miss": verdict.first_miss or 0,
    }


def test_horizon_that_the_divisor_does_not_divide_is_kept() -> None:
    assert simulate(scaled(EASY, 10), horizon=37).until == 37


def test_nanosecond_parameters_fit_a_long_hyperperiod() -> None:
    second = 10**9
    known = system(1, (second, 7 * second, 7 * second), (second, 9 * second, 11 * second))
    says("yes", simulate(known), until=77 * second)


def test_deadlines_beyond_the_period_need_the_state_to_repeat() -> None:
    # U = 1 on one processor, work pending over the end of the hyper-period of 4.
    verdict = simulate(system(1, (3, 9, 4), (1, 4, 4, 1)), model="periodic-offset")
    says("yes", verdict, proof="repetition")
    assert verdict.repeat is not None


def test_deadlines_beyond_the_period_miss_after_the_first_hyperperiod() -> None:
    # Global EDF, m = 2, U = 2: the third task falls behind by 1 every 2, and misses its D = 7.
    verdict = simulate(system(2, (1, 1, 2), (1, 1, 2), (2, 7, 2)))
    assert verdict.schedulable == "no"
    assert verdict.first_miss is not None and verdict.first_miss > 2


@pytest.mark.parametrize("offset", [1, 5, 6, 7, 100])
def test_offsets_larger_than_the_hyperperiod_are_waited_for(offset: int) -> None:
    """The system without the late task repeats at once; with it, it misses."""
    late = (1, 6, 6, offset * 6)
    verdict = simulate(system(1, (1, 2, 2), (1, 3, 3), late, late))
    assert verdict.schedulable == "no"
    assert offset * 6 < verdict.first_miss <= offset * 6 + 6


def test_repetition_starts_after_the_last_offset() -> None:
    verdict = simulate(system(1, (1, 2, 2), (1, 3, 3, 13)))
    assert verdict.schedulable == "yes"
    assert verdict.repeat is not None
    begin, end = verdict.repeat
    assert begin >= 12  # 13 - 12 < T: from there on the late task looks like any other
    assert (end - begin) % 6 == 0


def test_costs_are_never_proved() -> None:
    costly = Scheduler(costs=Costs(context_switch=1))
    says("undecided", simulate(system(1, (1, 10, 10)), costly), "costs", proved=False)
    says("no", simulate(system(1, (10, 10, 10)), costly), proved=False, first_miss=10)


def test_enormous_costs_do_not_wrap() -> None:
    costly = Scheduler(costs=Costs(context_switch=1 << 60, cache_reload=1 << 60))
    known, bounds = system(1, (1, 4, 4), (7, 16, 16)), {"horizon": 1 << 60, "budget": 10_000}
    says("no", simulate(known, costly, run_on=True, **bounds), first_miss=4)


# --- the thesis's procedure


def test_thesis_simulates_two_hyperperiods() -> None:
    says("yes", simulate(EASY, method="thesis"), proof="thesis", until=24, repeat=(12, 24))


def test_thesis_says_nothing_of_jobs_unfinished_at_the_end() -> None:
    """Schedulable with D > T: the state first repeats several hyper-periods later."""
    carried = system(2, (2, 5, 4), (3, 3, 6), (5, 15, 6))
    says("undecided", simulate(carried, method="thesis"), "unfinished", until=24)
    exact = simulate(carried)
    says("yes", exact, proof="repetition")
    assert exact.repeat[0] >= 24


def test_thesis_within_less_than_two_hyperperiods_is_undecided() -> None:
    assert simulate(EASY, method="thesis", horizon=23).schedulable == "undecided"


def test_thesis_is_for_synchronous_periodic_releases() -> None:
    with pytest.raises(UsageError, match="without offsets"):
        simulate(system(1, (1, 2, 2, 1)), method="thesis")
    with pytest.raises(UsageError, match="without offsets"):
        simulate(EASY, method="thesis", model="sporadic")


# --- ties


def test_ties_all_is_fragile_where_the_rule_decides() -> None:
    found = simulate_ties(TIED)
    assert found.answer == "fragile"
    assert found.rules == tie_rules()
    # O7: ok if the heavy task, the last of the file, wins or is second.
    assert found.verdicts["index"].first_miss == 2
    assert found.verdicts["utilisation-desc"].schedulable == "yes"
    assert found.verdicts["reverse"].schedulable == "yes"


def test_ties_all_is_robust_never_or_undecided() -> None:
    assert simulate_ties(EASY).answer == "robust"
    assert simulate_ties(system(1, (2, 2, 2), (1, 2, 2))).answer == "never"
    assert simulate_ties(EASY, budget=2).answer == "undecided"


def test_ties_over_given_rules_only() -> None:
    found = simulate_ties(TIED, rules=["utilisation-desc", "reverse"])
    assert (found.answer, found.rules) == ("robust", ("utilisation-desc", "reverse"))
    with pytest.raises(UsageError, match="no tie rule"):
        simulate_ties(TIED, rules=[])


# --- what is refused


@pytest.mark.parametrize(
    ("scheduler", "words"),
    [
        (Scheduler(policy="edf"), "did you mean p-edf"),
        (Scheduler(ties="random"), "index, reverse"),
        (Scheduler(priorities="edf"), "rm, dm, given"),
        (Scheduler(partition="all"), "first-fit"),
        (Scheduler(order="random"), "utilisation-desc"),
        (Scheduler(admission="always"), "utilisation, density, exact"),
        (Scheduler(unplaced="drop"), "reject, least-loaded"),
        (Scheduler(balance="all"), "pull"),
    ],
)
def test_unknown_words_are_refused_with_the_list(scheduler: Scheduler, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        simulate(EASY, scheduler)


def test_systems_that_a_policy_is_not_defined_for_are_refused() -> None:
    with pytest.raises(UsageError, match="clusters of 2 do not divide 3 processors"):
        simulate(system(3, (1, 2, 2)), Scheduler(policy="c-edf"))
    with pytest.raises(UsageError, match="pd2 is defined for D = T, task 1 has another deadline"):
        simulate(system(1, (1, 4, 4), (1, 3, 4)), Scheduler(policy="pd2"))


@pytest.mark.parametrize(
    "arguments",
    [
        {"budget": 0},
        {"horizon": 0},
        {"horizon": (1 << 60) + 1},
        {"scheduler": Scheduler(costs=Costs(migration=-1))},
        {"scheduler": Scheduler(threshold=(1, 0))},
        {"scheduler": Scheduler(cluster_size=0)},
        {"model": "periodic"},
        {"method": "guess"},
    ],
)
def test_values_out_of_range_are_refused(arguments: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        simulate(EASY, **arguments)


def test_parameters_out_of_range_are_refused() -> None:
    for row in ((0, 2, 2), (1, 2, (1 << 60) + 1), (1, 2, 1 << 70), (1, 2, 2, -1)):
        with pytest.raises(UsageError, match="task 0"):
            simulate(system(1, row))


@pytest.mark.parametrize(
    ("policy", "size", "used", "admission"),
    [
        ("p-edf", 2, "first-fit", "exact"),
        ("p-np-edf", 2, "first-fit", "utilisation"),
        ("c-edf", 2, "worst-fit", "utilisation"),
        ("lc-edf", 1, "first-fit", "exact"),
    ],
)
def test_a_verdict_names_what_auto_stood_for(policy: str, size: int, used: str, admission: str):
    three = system(4, (2, 3, 3), (2, 3, 3), (2, 3, 3))
    scheduler = Scheduler(policy=policy, cluster_size=size)
    verdict = simulate(three, scheduler)
    assert verdict.scheduler == evolve(scheduler, partition=used, admission=admission)
    named = simulate(three, verdict.scheduler)
    assert (named.placed, named.schedulable) == (verdict.placed, verdict.schedulable)
    assert verdict.schedulable == "yes"


def test_a_heuristic_that_is_not_used_is_not_named() -> None:
    assert simulate(system(1, (1, 2, 2))).scheduler == Scheduler()


@pytest.mark.parametrize("balance", ["none", "offline", "pull", "both", "sticky", "release"])
def test_facts_of_loose_clusters_depend_on_the_balance(balance: str) -> None:
    """Sticky and release remember clusters, whatever the list of policies can say of all."""
    verdict = simulate(system(2, (1, 2, 2), (1, 3, 3)), Scheduler(policy="lc-edf", balance=balance))
    proved = balance not in ("sticky", "release")
    assert (verdict.facts.memoryless, verdict.facts.predictable) == (proved, proved)
    assert verdict.execution == ("up-to-wcet" if proved else "exactly-wcet")
    assert verdict.proof == ("one-hyper-period" if proved else "repetition")
    assert not policies()["lc-edf"].memoryless


def test_who_runs_on_past_misses_gets_the_figures_of_the_horizon() -> None:
    # U = 7/3 on two processors: one hyper-period is 3, and tardiness grows without bound.
    tasks = tuple(TimedTask(wcet=c, period=3, deadline=3) for c in (3, 3, 1))
    overloaded = TaskSystem(processors=2, tasks=tasks)
    short = simulate(overloaded, run_on=True)
    long = simulate(overloaded, run_on=True, horizon=90)
    assert (short.until, long.until) == (3, 90)
    assert long.schedulable == "no" and long.first_miss == 3
    assert long.figures["tardiness_max"].max() > 10
