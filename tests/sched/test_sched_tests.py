"""Truth: examples of the literature with known answers, by name, and arithmetic by hand."""

import math
from typing import Any

import pytest
from helpers.sched import Terse, system_of

from deadbeat import sched
from deadbeat.base.model.errors import UsageError
from deadbeat.base.model.systems import TaskSystem
from deadbeat.sched.analysis import ANY_SCHEDULER, TestFacts, TestResult


def result(name: str, processors: int, *tasks: Terse, **options: Any) -> TestResult:
    return sched.analyze(system_of(processors, *tasks), names=[name], **options).result(name)


def answer(name: str, processors: int, *tasks: Terse, **options: Any) -> str:
    return result(name, processors, *tasks, **options).answer


def refuses(system: TaskSystem, policy: str) -> bool:
    """No test of ``policy`` accepts."""
    return not sched.analyze(system, scheduler=policy).schedulers[policy].accepted


# --- global schedulers ----------------------------------------------------------------------------


@pytest.mark.parametrize("m", [2, 3, 4, 8])
def test_dhall_and_liu_1978(m: int) -> None:
    """m light tasks and a heavy one: global EDF and RM miss at any U / m; partitions do not."""
    system = system_of(m, *[(2, 20)] * m, (21, 22))
    analysis = sched.analyze(system)
    assert refuses(system, "g-edf")
    assert refuses(system, "g-fp")
    assert analysis.schedulers["p-edf"].schedulable == "yes"
    # A heavy task that runs first is what EDF-US and fpEDF were made for.
    assert analysis.schedulers["edf-us"].schedulable == "yes"
    assert analysis.schedulers["fpedf"].schedulable == "yes"


def test_goossens_funk_and_baruah_2003_is_tight() -> None:
    """U = m - (m - 1) u_max accepts; the least more does not, whatever doubles make of it."""
    thirds = [(1, 3)] * 5  # 5/3 = 2 - 1/3
    assert answer("gfb", 2, *thirds) == "accepted"
    assert answer("gfb", 2, *thirds, (1, 2**59)) == "not accepted"
    half = (2**57, 2**58)
    assert answer("gfb", 2, half, half, half) == "accepted"
    assert answer("gfb", 2, (2**57 + 1, 2**58), half, half) == "not accepted"


def test_gfb_at_equality_over_prime_periods() -> None:
    """Per prime p, (p - 1) / 2p twice and 1 / p: 1 in all, a common denominator of 160 bits."""
    primes = [1_000_000 + beyond for beyond in (3, 33, 37, 39, 81, 99, 117, 121)]
    tasks = [task for p in primes for task in (((p - 1) // 2, p), ((p - 1) // 2, p), (1, p))]
    # 8.5 = 16 - 15 / 2
    assert answer("gfb", 16, *tasks, (1, 2)) == "accepted"
    assert answer("gfb", 16, *tasks, (1, 2), (1, 10**17)) == "not accepted"
    assert answer("gfb", 16, *tasks[:-1], (1, 1_000_123), (1, 2)) == "accepted"


def test_density_counts_the_shorter_of_deadline_and_period() -> None:
    assert answer("gfb", 1, (1, 4, 2), (1, 2, 9)) == "accepted"
    assert answer("gfb", 1, (1, 4, 2), (1, 2, 9), (1, 100)) == "not accepted"


@pytest.mark.parametrize("tasks", [[(1, 2), (1, 3), (5, 6)], [(1, 2, 1), (1, 3, 1), (6, 6, 6)]])
def test_synchronous_releases_are_not_the_worst_case_of_global_edf(tasks: list[Terse]) -> None:
    """Sporadic tasks of this kind miss (found by exploring all states): no test may accept."""
    assert refuses(system_of(2, *tasks), "g-edf")


def test_baruah_2007_as_printed_accepts_too_much() -> None:
    """Two jobs of 3 in all due after 2: the cap of BAR must exceed what may delay a job."""
    tasks: list[Terse] = [(1, 6, 2), (2, 6, 2), (3, 12, 9)]
    assert answer("bar", 1, *tasks) == "not accepted"
    assert answer("qpa", 1, *tasks) == "refuted"


def test_bertogna_cirinei_and_lipari_by_hand() -> None:
    """m = 2, three tasks (1, 4): each may meet min(1, 4 - 1) of both others; 1 + 1 < 2 * 3."""
    assert answer("bcl", 2, *[(1, 4)] * 3) == "accepted"
    # S = 4 - 1 - floor((1 + 1) / 2) = 2 of every task, so no response is above 2. Any window
    # sees both others for 1: R = 1 + floor(2 / 2) = 2.
    assert result("bcl-iter", 2, *[(1, 4)] * 3).bounds == (2, 2, 2)
    assert result("rta-edf", 2, *[(1, 4)] * 3).bounds == (2, 2, 2)


def test_guan_et_al_2009_limit_carry_in_by_hand() -> None:
    """Four tasks (1, 2) on two processors, U = m.

    Limited carry-in: a window of 2 holds each of the three above once, R = 1 + floor(3 / 2) = 2.
    Bertogna and Cirinei see the third (R = 2) carry in as well: 1 + floor((1 + 1 + 2) / 2) = 3.
    """
    found = result("rta-fp-guan", 2, *[(1, 2)] * 4)
    assert (found.answer, found.bounds) == ("accepted", (1, 1, 2, 2))
    found = result("rta-fp", 2, *[(1, 2)] * 4)
    assert (found.answer, found.bounds) == ("not accepted", (1, 1, 2, None))


def test_fpedf_bound_is_half_of_the_processors_and_one_task() -> None:
    """Baruah 2004: m/2 + u_max, above m - (m - 1) u_max where a task is heavy; not for m = 1."""
    assert answer("fpedf-bound", 4, (1, 1), (1, 1), (1, 1)) == "accepted"
    assert answer("fpedf-bound", 4, (1, 1), (1, 1), (1, 1), (1, 100)) == "not accepted"
    assert answer("fpedf-bound", 1, (5, 8), (3, 8)) == "accepted"
    assert answer("fpedf-bound", 1, (5, 8), (4, 8)) == "not accepted"


def test_srinivasan_and_baruah_2002_bound() -> None:
    """m^2 / (2m - 1) = 4/3 on two processors."""
    assert answer("edf-us-bound", 2, (2, 3), (2, 3)) == "accepted"
    assert answer("edf-us-bound", 2, (2, 3), (2, 3), (1, 2**58)) == "not accepted"


def test_devi_and_anderson_2008() -> None:
    """m = 2, (2, 3) twice and (4, 6): L = 1, x = (4 - 2) / 2 = 1: tardiness at most 1 + C."""
    found = result("tardiness", 2, (2, 3), (2, 3), (4, 6))
    assert (found.answer, found.bounds) == ("accepted", (3, 3, 5))
    assert answer("tardiness", 2, (2, 3), (2, 3), (5, 6)) == "not accepted"  # U > 2
    assert result("tardiness", 2, (1, 3), (1, 3)).bounds == (0, 0)


# --- one processor --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("tasks", "bounds", "refuted"),
    [
        # Lehoczky, Sha and Ding 1989: above Liu and Layland's bound
        ([(40, 100), (40, 150), (100, 350)], (40, 80, 300), None),
        # Audsley et al. 1993: the last at its deadline
        ([(3, 7), (3, 12), (5, 20)], (3, 6, 20), (6, 20)),
        # Lehoczky 1990, arbitrary deadlines: the fifth of the seven jobs of the busy period is the
        # latest; the responses are 114, 102, 116, 104, 118, 106, 94
        ([(26, 70), (62, 100, 118)], (26, 118), (62, 100, 117)),
    ],
)
def test_response_times_of_the_literature(
    tasks: list[Terse], bounds: tuple[int, ...], refuted: Terse | None
) -> None:
    found = result("uni-rta", 1, *tasks)
    assert (found.answer, found.bounds) == ("accepted", bounds)
    assert not refuted or answer("uni-rta", 1, *tasks[:-1], refuted) == "refuted"


def test_blocking_delays_all_but_the_least_urgent() -> None:
    """R of (1, 4) with B = 2 is 3; of (2, 6) 1 + 2 + 2 + 1; of the last as without."""
    tasks: list[Terse] = [(1, 4), (2, 6), (2, 12)]
    assert result("uni-rta", 1, *tasks, blocking=2).bounds == (3, 6, 6)
    assert result("uni-rta", 1, *tasks, blocking=4).answer == "not accepted"


def test_liu_and_layland_1973() -> None:
    """EDF up to U = 1; RM not: (2, 5), (4, 7)."""
    assert answer("qpa", 1, (2, 5), (4, 7)) == "accepted"
    assert answer("uni-rta", 1, (2, 5), (4, 7)) == "refuted"
    assert answer("qpa", 1, (1, 2), (1, 3), (1, 6)) == "accepted"
    assert answer("qpa", 1, (1, 2), (1, 3), (1, 6), (1, 2**58)) == "refuted"


def test_liu_and_layland_bound_of_two_tasks_is_0_828() -> None:
    """U <= 2 (sqrt 2 - 1), to the last unit of a period of 10^18: no double can tell."""
    period = 10**18
    largest = math.isqrt(8 * period**2) - 2 * period
    assert 0.828 < largest / period < 0.829
    half = largest // 2
    assert answer("ll-rm", 1, (half, period), (largest - half, period)) == "accepted"
    assert answer("ll-rm", 1, (half, period), (largest - half + 1, period)) == "not accepted"


def test_bini_buttazzo_and_buttazzo_2003() -> None:
    """The product of all u + 1 is at most 2: equal for 1/2 and 1/3, which ll-rm does not accept."""
    assert answer("hyperbolic", 1, (1, 2), (1, 3)) == "accepted"
    assert answer("ll-rm", 1, (1, 2), (1, 3)) == "not accepted"
    third = 10**17
    assert answer("hyperbolic", 1, (1, 2), (third, 3 * third)) == "accepted"
    assert answer("hyperbolic", 1, (1, 2), (third + 1, 3 * third)) == "not accepted"


@pytest.mark.parametrize("name", ["ll-rm", "hyperbolic"])
def test_bounds_of_rate_monotonic_say_what_they_are_not_for(name: str) -> None:
    assert answer(name, 1, (1, 4), (1, 5)) == "accepted"
    assert result(name, 1, (1, 4), (1, 5), blocking=1).reason == "tasks may be blocked"
    found = result(name, 1, (1, 4), (1, 5), priorities="given")
    assert found.reason == "priorities are not rate-monotonic"
    assert answer(name, 1, *[(1, 400)] * 200, budget=100) == "undecided"


def test_processor_demand_by_hand() -> None:
    """(2, 5, 4), (3, 8, 7), (3, 12, 9): 2 due by 4, 5 by 7, 10 by 9; one unit less fits exactly."""
    assert answer("qpa", 1, (2, 5, 4), (3, 8, 7), (3, 12, 9)) == "refuted"
    assert answer("qpa", 1, (2, 5, 4), (3, 8, 7), (2, 12, 9)) == "accepted"
    assert answer("qpa", 1, (2, 5, 4), (3, 8, 7), (2, 12, 9), blocking=2) == "accepted"
    assert answer("qpa", 1, (2, 5, 4), (3, 8, 7), (2, 12, 9), blocking=3) == "not accepted"


def test_tests_of_one_processor_say_so() -> None:
    for name in UNI:
        found = result(name, 2, (1, 2))
        assert (found.answer, found.reason) == ("not applicable", "more than one processor")


# --- any scheduler --------------------------------------------------------------------------------


def test_necessary_conditions() -> None:
    assert answer("necessary", 2, (1, 1), (1, 1)) == "not accepted"
    assert answer("necessary", 2, (1, 1), (1, 1), (1, 2**58)) == "refuted"
    assert answer("necessary", 8, (3, 4, 2)) == "refuted"
    # Three jobs due after 1 on two processors, U = 0.3.
    assert answer("necessary", 2, *[(1, 10, 1)] * 3) == "refuted"
    assert answer("necessary", 3, *[(1, 10, 1)] * 3) == "not accepted"


# --- what they share ------------------------------------------------------------------------------


#: Tests of one processor.
UNI = ("ll-rm", "hyperbolic", "qpa", "uni-rta", "fp-suspension", "edf-response")
UNI += ("fifo-response", "fp-in-reservation", "fp-arrival-curve", "edf-arrival-curve")
OTHERS_FIT = "this placement fails, another meets all deadlines"
CONSTRAINED = [(1, 4, 3), (1, 5, 4)]
ARBITRARY = [(1, 4, 5), (1, 5, 4)]


@pytest.mark.parametrize("facts", sched.tests().values(), ids=lambda facts: facts.name)
def test_outside_its_class_a_test_is_not_applicable(facts: TestFacts) -> None:
    takes = {"implicit": 0, "constrained": 1, "arbitrary": 2}[facts.deadlines]
    one = 1 if facts.name in UNI else 2
    for width, tasks in enumerate(([(1, 4), (1, 5)], CONSTRAINED, ARBITRARY)):
        found = result(facts.name, one, *tasks[: 1 if facts.name == "dag-graham" else 2])
        assert (found.answer == "not applicable") == (width > takes)
        assert bool(found.reason) or found.answer != "not applicable"


@pytest.mark.parametrize("name", sched.tests())
def test_facts_are_complete(name: str) -> None:
    facts = sched.tests()[name]
    assert facts.title
    assert facts.reference
    assert facts.model == ("periodic-offset" if "periodic" in name else "sporadic")
    assert facts.ties in ("any", "given")
    assert facts.scheduler == ANY_SCHEDULER or facts.scheduler.split("+")[0] in sched.policies()


@pytest.mark.parametrize(
    "name",
    [
        *("bcl-iter", "rta-edf", "rta-fp", "rta-fp-guan", "bar", "ff-dbf", "msrp", "msrp-holistic"),
        *("mpcp-virtual-spin", "dpcp", "global-fifo-pi", "omlp-global", "np-periodic-fp"),
        *("np-periodic-edf", "periodic-fp", "periodic-edf", "sporadic-fp", "sporadic-edf"),
    ],
)
def test_a_used_up_budget_is_undecided(name: str) -> None:
    tasks: list[Terse] = [(1, 15, 3), (1, 16, 4), (1, 17, 5), (1, 18, 6)]
    assert answer(name, 2, *tasks) == "accepted"
    assert answer(name, 2, *tasks, budget=3) == "undecided"


@pytest.mark.parametrize("facts", sched.tests().values(), ids=lambda facts: facts.name)
def test_the_largest_numbers_wrap_nowhere(facts: TestFacts) -> None:
    """Times of 2^60: the truth of the same system scaled down, or undecided."""
    one = 1 if facts.name in UNI else 2
    for tasks in ([(1, 4), (1, 4), (1, 2)], [(1, 2), (3, 4), (3, 4)], [(4, 4), (2, 4)]):
        large = [(c << 58, t << 58) for c, t in tasks]
        small, huge = result(facts.name, one, *tasks), result(facts.name, one, *large)
        assert huge.answer in ("undecided", small.answer)


def test_large_parameters_that_share_no_divisor_are_still_decided() -> None:
    """Periods near 2^40 without a common factor: no hyper-period is needed."""
    tasks = [(2**38 + i, 2**40 + 2 * i + 1, 2**39 + 7 * i) for i in range(4)]
    for name in ("ff-dbf", "load", "bar", "rta-edf", "necessary"):
        assert answer(name, 4, *tasks) in ("accepted", "not accepted")


def test_analysis_names_the_cheapest_proof_and_who_proves_what() -> None:
    system = system_of(2, (1, 4), (1, 5), (1, 6))
    analysis = sched.analyze(system, scheduler="g-edf")
    edf = analysis.schedulers["g-edf"]
    assert set(analysis.schedulers) == {"g-edf"}
    assert (edf.schedulable, edf.proof) == ("yes", "gfb")
    assert {"gfb", "rta-edf", "ff-dbf"} <= set(edf.accepted)
    assert "tardiness" not in edf.accepted  # proves no hard deadline
    assert "necessary" not in edf.silent  # which is about no scheduler
    costs = [found.facts.cost for found in analysis.results]
    assert costs == sorted(costs)


def test_analysis_of_what_nothing_can_schedule() -> None:
    analysis = sched.analyze(system_of(2, (3, 4), (3, 4), (3, 4)))
    assert {found.schedulable for found in analysis.schedulers.values()} == {"no"}
    assert "necessary" in analysis.schedulers["g-edf"].refuted


def test_given_ties_are_named() -> None:
    """Two tasks of equal priority on one processor: the rule decides who misses."""
    tasks: list[Terse] = [(1, 4, 2), (2, 4, 2)]
    loose: list[Terse] = [(1, 4, 1), (2, 4, 3)]
    assert answer("uni-rta", 1, *tasks) == "refuted"
    assert result("uni-rta", 1, *loose).ties == "index"
    assert answer("uni-rta", 1, *loose) == "accepted"
    assert answer("uni-rta", 1, *loose, ties="reverse") == "refuted"
    assert result("gfb", 1, *loose).ties == "any"


def test_partition_options_are_looked_at() -> None:
    """In the order of the file 4 + 2 and 3 + 3 of 6 fit by first fit, not by next fit."""
    tasks: list[Terse] = [(4, 6), (3, 6), (2, 6), (3, 6)]
    assert answer("p-edf", 2, *tasks, order="file") == "accepted"
    found = result("p-edf", 2, *tasks, order="file", partition="next-fit")
    assert (found.answer, found.reason) == ("not accepted", OTHERS_FIT)


@pytest.mark.parametrize(
    "options",
    [
        {"names": ["gbf"]},
        {"scheduler": "edzl"},
        {"ties": "fate"},
        {"priorities": "audsley"},
        {"partition": "last-fit"},
        {"order": "name"},
        {"admission": "any"},
        {"blocking": -1},
    ],
)
def test_unknown_words_are_errors_that_list_the_known(options: dict[str, Any]) -> None:
    with pytest.raises(UsageError) as caught:
        sched.analyze(system_of(1, (1, 2)), **options)
    assert caught.value.hint


def test_a_placement_that_fails_is_no_proof_against_the_others() -> None:
    """0.5 + 0.5 + 0.07 on four processors: by utilisation two share one, and miss."""
    tasks: list[Terse] = [(5, 10), (7, 14), (1, 15)]
    assert answer("p-fp", 4, *tasks) == "accepted"
    decided = sched.simulate(system_of(4, *tasks), sched.Scheduler(policy="p-fp"))
    assert decided.schedulable == "yes"
    by_sum = result("p-fp", 4, *tasks, admission="utilisation")
    assert (by_sum.answer, by_sum.reason) == ("not accepted", OTHERS_FIT)
    assert answer("p-fp", 1, (2, 4), (5, 10), (1, 100)) == "refuted"
    five = result("p-edf", 4, *[(6, 10)] * 5)
    assert (five.answer, five.reason) == ("refuted", "every placement fails")
