"""Examples of the literature, worked by hand there or here; core and twin both give the answer."""

from fractions import Fraction
from itertools import permutations
from typing import Any

import numpy as np
import pytest
from helpers.sched import Draw, compare_answers, compare_runs, system_of
from oracles.schedule.partition import HEURISTICS
from oracles.schedule.pfair import group_deadline, subtask

from deadbeat.base.model.systems import TaskSystem
from deadbeat.sched import Scheduler, Verdict, tie_rules


def decide(system: TaskSystem, policy: str, **options: Any) -> Verdict:
    return compare_answers(system, Scheduler(policy=policy, **options))


def observe(system: TaskSystem, policy: str, horizon: int, **options: Any) -> Verdict:
    return compare_runs(system, Scheduler(policy=policy, **options), horizon)


def responses(verdict: Verdict, task: int) -> list[int]:
    return [
        finish - release
        for i, _, release, _, finish, _ in sorted(verdict.jobs.tolist())
        if i == task
    ]


def stretches(verdict: Verdict, task: int) -> list[tuple[int, int]]:
    """When the task ran, wherever."""
    found: list[tuple[int, int]] = []
    for i, _, _, start, end in sorted(verdict.segments.tolist(), key=lambda row: row[3]):
        if i == task and found and found[-1][1] == start:
            found[-1] = (found[-1][0], end)
        elif i == task:
            found.append((start, end))
    return found


# --- one processor ---------------------------------------------------------------------------


def test_liu_and_layland_1973_two_tasks() -> None:
    """Section 4: T = 2, 5; with the shorter period first C2 can grow to 2, the other way not."""
    shorter_first, longer_first = [2, 1], [1, 2]
    for c2, order, answer in ((1, longer_first, "yes"), (2, longer_first, "no")):
        system = system_of(1, (1, 2), (c2, 5), priority=order)
        assert decide(system, "g-fp", priorities="given").schedulable == answer
    for c2, answer in ((1, "yes"), (2, "yes"), (3, "no")):
        system = system_of(1, (1, 2), (c2, 5), priority=shorter_first)
        assert decide(system, "g-fp", priorities="given").schedulable == answer
        assert decide(system, "p-fp", priorities="rm").schedulable == answer


def test_buttazzo_edf_meets_what_rate_monotonic_misses() -> None:
    """Hard Real-Time Computing Systems, section 4.4.2: U = 34/35, RM overflows at 7."""
    system = system_of(1, (2, 5), (4, 7))
    assert decide(system, "g-edf").schedulable == "yes"
    assert decide(system, "g-fp", priorities="rm").first_miss == 7


def test_leung_and_whitehead_1982_deadline_monotonic_beats_rate_monotonic() -> None:
    system = system_of(1, (2, 10, 3), (2, 5))
    assert decide(system, "g-fp", priorities="dm").schedulable == "yes"
    assert decide(system, "g-fp", priorities="rm").first_miss == 3


def test_burns_and_wellings_response_times() -> None:
    """Periods 7, 12, 20; C 3, 3, 5: R 3, 6, 20."""
    verdict = observe(system_of(1, (3, 7), (3, 12), (5, 20)), "g-fp", 420, priorities="rm")
    assert verdict.figures["response_max"].tolist() == [3, 6, 20]


def test_lehoczky_1990_worst_response_is_not_the_first() -> None:
    """C 26, 62; T 70, 100: seven jobs in the busy period, the fifth takes longest."""
    system = system_of(1, (26, 70, 70), (62, 100, 118))
    verdict = observe(system, "g-fp", 694, priorities="rm")
    assert responses(verdict, 1) == [114, 102, 116, 104, 118, 106, 94]
    assert decide(system, "g-fp", priorities="rm").schedulable == "yes"
    tight = system_of(1, (26, 70, 70), (62, 100, 117))
    assert decide(tight, "g-fp", priorities="rm").first_miss == 400 + 117


def test_davis_burns_bril_lukkien_2007_second_instance_of_a_can_message_is_late() -> None:
    """T 2.5, 3.5, 3.5, C 1, D 2.5, 3.25, 3.25, here times four: responses of C 3.0, then 3.5."""
    system = system_of(1, (4, 10, 10), (4, 14, 13), (4, 14, 13), priority=[3, 2, 1])
    verdict = decide(system, "g-np-fp", priorities="given")
    assert (verdict.first_miss, verdict.first_miss_task, verdict.first_miss_job) == (27, 2, 1)
    ran = observe(system, "p-np-fp", 28, priorities="given")
    assert responses(ran, 2)[:2] == [12, 14]


def test_long_jobs_block_without_preemption() -> None:
    """U = 0.53, and still late: nobody interrupts the long job."""
    system = system_of(1, (1, 2), (3, 100))
    assert decide(system, "g-edf").schedulable == "yes"
    for policy in ("g-np-edf", "p-np-edf", "g-np-fp", "p-np-fp"):
        assert decide(system, policy).first_miss == 4, policy


def test_less_work_makes_non_preemptive_edf_late() -> None:
    """With one unit less to do the long job gets in before the urgent one comes."""
    tasks = ((2, 20, 5), (1, 20, 3), (4, 20, 20))
    assert decide(system_of(1, *tasks, offset=[0, 2, 0]), "g-np-edf").schedulable == "yes"
    shorter = ((1, 20, 5), *tasks[1:])
    assert decide(system_of(1, *shorter, offset=[0, 2, 0]), "g-np-edf").first_miss == 5
    assert decide(system_of(1, *shorter, offset=[0, 2, 0]), "g-edf").schedulable == "yes"


# --- many processors -------------------------------------------------------------------------


@pytest.mark.parametrize("m", [2, 3, 4])
def test_dhall_and_liu_1978_edf_misses_at_a_utilisation_near_one(m: int) -> None:
    system = system_of(m, *[(2, 20)] * m, (21, 22))
    assert system.utilisation == Fraction(m, 10) + Fraction(21, 22)
    for policy in ("g-edf", "g-fp"):
        verdict = decide(system, policy)
        assert (verdict.first_miss, verdict.first_miss_task) == (22, m), policy
    for policy in ("p-edf", "edf-us", "fpedf", "edzl", "pd2"):
        assert decide(system, policy).schedulable == "yes", policy


@pytest.mark.parametrize("m", [2, 3, 4])
def test_dhall_and_liu_1978_rate_monotonic_misses_where_edf_does_not(m: int) -> None:
    system = system_of(m, *[(1, 10)] * m, (10, 11))
    assert decide(system, "g-fp", priorities="rm").first_miss == 11
    assert decide(system, "g-edf").schedulable == "yes"


@pytest.mark.parametrize("deadlines", [(1, 1), (2, 3)])
def test_synchronous_release_is_not_the_worst_case_of_global_edf(deadlines: tuple[int, int]):
    """(1,2), (1,3), (5,6) as (C, T), whatever the first two's deadlines, on two processors.

    No offsets make them late. One job of the first task a unit late does: with both light tasks
    released at 0 and at 3 the heavy job waits twice and ends at 7. The jobs as tasks of their own.
    """
    light = [(1, period, deadline) for period, deadline in zip((2, 3), deadlines, strict=True)]
    for a in range(2):
        for b in range(3):
            for c in range(6):
                system = system_of(2, *light, (5, 6), offset=[a, b, c])
                assert decide(system, "g-edf").schedulable == "yes", (a, b, c)
    jobs = [(1, 20, deadline) for deadline in deadlines]
    delayed = system_of(2, *jobs, *jobs, (5, 20, 6), offset=[0, 0, 3, 3, 0])
    assert decide(delayed, "g-edf", ties="index").first_miss == 6


def test_the_smallest_system_that_depends_on_ties() -> None:
    """Two processors, (1,2), (1,2), (2,2): the full task must not lose both ties."""
    answers = {}
    for tasks in set(permutations(((1, 2), (1, 2), (2, 2)))):
        verdict = decide(system_of(2, *tasks), "g-edf", ties="index")
        answers[tasks.index((2, 2))] = (verdict.schedulable, verdict.first_miss)
    assert answers == {0: ("yes", None), 1: ("yes", None), 2: ("no", 2)}
    system = system_of(2, (1, 2), (1, 2), (2, 2))
    late = {rule for rule in tie_rules() if decide(system, "g-edf", ties=rule).first_miss == 2}
    assert late == {"index", "utilisation-asc", "wcet-asc", "period-asc", "period-desc"}


@pytest.mark.parametrize(("m", "first_miss"), [(1, 3), (2, 3), (3, None)])
def test_schedcat_three_tasks_of_two_thirds(m: int, first_miss: int | None) -> None:
    """schedcat tests/sim.py."""
    assert decide(system_of(m, *[(2, 3)] * 3), "g-edf").first_miss == first_miss


def test_baruah_cohen_plaxton_varvel_1996_three_tasks_of_two_thirds() -> None:
    """U = 2 on two processors: proportionate progress, and zero laxity, meet what EDF cannot."""
    system = system_of(2, *[(2, 3)] * 3)
    for policy in ("pd2", "edzl"):
        assert decide(system, policy).schedulable == "yes", policy
    assert decide(system, "p-edf").schedulable == "no"
    assert decide(system, "p-edf").first_miss is None


def test_anderson_and_srinivasan_2001_windows_of_weight_eight_elevenths() -> None:
    """Figure 1: windows, overlaps, and the group deadlines 4, 8 and 11."""
    weight = Fraction(8, 11)
    windows = [(subtask(weight, i).release, subtask(weight, i).deadline) for i in range(1, 9)]
    assert windows == [(0, 2), (1, 3), (2, 5), (4, 6), (5, 7), (6, 9), (8, 10), (9, 11)]
    assert [subtask(weight, i).b for i in range(1, 9)] == [1, 1, 1, 1, 1, 1, 1, 0]
    assert [group_deadline(weight, i) for i in range(1, 9)] == [4, 4, 8, 8, 8, 11, 11, 11]
    assert group_deadline(Fraction(1, 3), 1) == 0


@pytest.mark.parametrize("m", [2, 3, 4])
def test_srinivasan_and_anderson_2002_pd2_uses_every_processor_fully(m: int) -> None:
    draw = Draw(m)
    for _ in range(40):
        system = draw.full_system(m)
        rule = draw.one_of(tie_rules())
        assert decide(system, "pd2", ties=rule).schedulable == "yes", (system, rule)


def test_park_et_al_2005_edzl_does_as_edf_where_edf_is_on_time() -> None:
    """A job at zero laxity that EDF lets wait is late: before that EDZL changes nothing."""
    rng = np.random.default_rng(5)
    on_time = saved = 0
    for _ in range(150):
        m = int(rng.integers(2, 4))
        tasks = []
        for _ in range(int(rng.integers(m + 1, 7))):
            period = int(rng.choice([2, 3, 4, 6, 8, 12]))
            tasks.append((int(rng.integers(1, period)), period))
        system = system_of(m, *tasks)
        edf, edzl = decide(system, "g-edf"), decide(system, "edzl")
        if edf.schedulable == "yes":
            on_time += 1
            ran = [observe(system, policy, 24) for policy in ("g-edf", "edzl")]
            for task in range(len(tasks)):
                assert stretches(ran[0], task) == stretches(ran[1], task), system
        saved += (edf.schedulable, edzl.schedulable) == ("no", "yes")
        assert edzl.schedulable == "yes" or edf.schedulable == "no", system
    assert on_time > 30 and saved > 3


@pytest.mark.parametrize("heuristic", HEURISTICS)
@pytest.mark.parametrize("m", [2, 3, 4])
def test_lopez_diaz_garcia_2000_one_task_more_than_processors(m: int, heuristic: str) -> None:
    """m + 1 tasks just above one half fit on m processors in no way; spread out they do."""
    system = system_of(m, *[(11, 20)] * (m + 1))
    refused = decide(system, "p-edf", partition=heuristic)
    assert (refused.schedulable, refused.first_miss) == ("no", None)
    overloaded = decide(system, "p-edf", partition=heuristic, unplaced="least-loaded")
    assert (overloaded.schedulable, overloaded.first_miss) == ("no", 20)
    assert decide(system, "pd2").schedulable == "yes"


def test_bin_packing_heuristics_differ_as_in_the_textbook() -> None:
    """Items 5, 7, 2, 4, 1 tenths in this order (Johnson 1974's rules)."""
    system = system_of(3, (5, 10), (7, 10), (2, 10), (4, 10), (1, 10))
    expected = {
        "next-fit": (0, 1, 1, 2, 2),
        "first-fit": (0, 1, 0, 2, 0),
        "best-fit": (0, 1, 1, 0, 0),
        "worst-fit": (0, 1, 2, 2, 0),
    }
    for heuristic, placed in expected.items():
        verdict = decide(system, "p-edf", partition=heuristic, order="file")
        assert verdict.placed == placed, heuristic


# --- servers ---------------------------------------------------------------------------------


def test_linux_throttles_a_job_that_outruns_its_runtime() -> None:
    """sched-deadline.rst: runtime 2 every 5; a job of 4 runs [0, 2) and [5, 7)."""
    system = system_of(1, (4, 10), budget=[2], server_period=[5], server_deadline=[5])
    verdict = observe(system, "g-cbs", 10)
    assert stretches(verdict, 0) == [(0, 2), (5, 7)]
    assert decide(system, "p-cbs").schedulable == "yes"


def test_abeni_and_buttazzo_1998_a_server_that_overruns_harms_only_itself() -> None:
    """Task 0 asks for 4 of 5 and has reserved 2; task 1 has 3 of 5."""
    system = system_of(1, (4, 5), (3, 5), budget=[2, 3])
    served = observe(system, "g-cbs", 100)
    assert served.figures["missed"].tolist()[1] == 0
    assert served.figures["missed"].tolist()[0] > 0
    assert observe(system, "g-edf", 100).figures["missed"].tolist()[1] > 0


def test_linux_revised_wake_up_rule_of_constrained_servers() -> None:
    """Runtime 4, deadline 8, period 16: back at 6 with 2 left, (8 - 6) * 4 / 8 = 1 is granted.

    The rest of that job, and the job of 12 behind it, run on the next period's runtime.
    """
    server: dict[str, list[Any]] = {"budget": [4], "server_period": [16], "server_deadline": [8]}
    verdict = observe(system_of(1, (2, 6, 100), **server), "g-cbs", 18)
    assert stretches(verdict, 0) == [(0, 2), (6, 7), (16, 18)]


def test_linux_lets_constrained_servers_wait_for_their_next_period() -> None:
    """Runtime 4, deadline 8, period 16: who comes at 10, after the deadline, waits until 16."""
    server: dict[str, list[Any]] = {"budget": [4], "server_period": [16], "server_deadline": [8]}
    verdict = observe(system_of(1, (3, 10, 100), **server), "g-cbs", 20)
    assert stretches(verdict, 0) == [(0, 3), (16, 19)]


def test_sched_fifo_serves_a_level_in_order_of_wake_up() -> None:
    """sched(7): a preempted thread stays at the head of its level, who wakes goes to the tail.

    Task 1 starts at 0, is preempted at 1 by task 0, and goes on at 2 before task 2, which woke at
    1; under a static order of ties task 2 would win where it is preferred.
    """
    system = system_of(1, (1, 10), (3, 10), (2, 10), priority=[2, 1, 1], offset=[1, 0, 1])
    for rule in ("index", "reverse"):
        ran = observe(system, "p-fifo", 10, priorities="given", ties=rule)
        assert stretches(ran, 1) == [(0, 1), (2, 4)]
        assert stretches(ran, 2) == [(4, 6)]
    static = observe(system, "p-fp", 10, priorities="given", ties="reverse")
    assert stretches(static, 2) == [(2, 4)]


# --- bounds ----------------------------------------------------------------------------------


@pytest.mark.parametrize("m", [2, 3, 4])
def test_utilisation_bounds_of_the_literature_hold(m: int) -> None:
    """Goossens, Funk and Baruah 2003; Srinivasan and Baruah 2002; Baruah 2004.

    Sets right at each bound: utilisations drawn, then scaled so that the bound is just met.
    """
    rng = np.random.default_rng(10 + m)
    reached = dict.fromkeys(("g-edf", "edf-us", "edf-us half", "fpedf"), 0)
    for _ in range(150):
        tasks = []
        for _ in range(int(rng.integers(m + 1, 8))):
            period = int(rng.choice([4, 6, 8, 12, 24]))
            tasks.append((int(rng.integers(1, period + 1)), period))
        system = system_of(m, *tasks)
        total, largest = system.utilisation, max(task.utilisation for task in system.tasks)
        bounds = {
            "g-edf": m - (m - 1) * largest,
            "edf-us": Fraction(m * m, 2 * m - 1),
            "edf-us half": Fraction(m + 1, 2),
            "fpedf": max(m - (m - 1) * largest, Fraction(m, 2) + largest),
        }
        for name, bound in bounds.items():
            if total > bound:
                continue
            reached[name] += 1
            threshold = (1, 2) if name == "edf-us half" else None
            rule = str(rng.choice(tie_rules()))
            scheduler = Scheduler(policy=name.split()[0], threshold=threshold, ties=rule)
            assert compare_answers(system, scheduler).schedulable == "yes", (system, scheduler)
    assert min(reached.values()) > 3, reached
