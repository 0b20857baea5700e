"""Schedulability tests over a task system: which accept, who proves what, the cheapest proof."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from time import process_time
from typing import TYPE_CHECKING, Literal, TypedDict, Unpack, get_args

import numpy as np
from attrs import evolve, field, frozen
from numpy.typing import NDArray

from deadbeat.base.model.errors import UsageError
from deadbeat.base.model.systems import BEYOND, TRIGGERED, Lock, TaskSystem
from deadbeat.base.model.words import nearest
from deadbeat.sched.arrays import TaskBatch, detail_rows, extra_rows, section_rows, task_rows
from deadbeat.sched.simulator import Verdict, require_word

if TYPE_CHECKING:
    from deadbeat.sched import _core
else:
    from deadbeat.sched.core import lazy as _core

TestAnswer = Literal["not accepted", "accepted", "refuted", "not applicable", "undecided"]
TestKind = Literal["sufficient", "exact", "necessary", "bound"]

#: In the order of the core's numbers.
TEST_ANSWERS: tuple[TestAnswer, ...] = get_args(TestAnswer)
TEST_KINDS: tuple[TestKind, ...] = get_args(TestKind)
#: ``TestFacts.scheduler`` of a test that holds for every scheduler.
ANY_SCHEDULER = "any"
#: ``TestFacts.ties`` of a test that holds for the tie rule it is given.
GIVEN_TIES = "given"
#: What tests are made for, and left out where a system has none.
_SPECIAL = {"arrival curves", "DAGs", "shorter jobs"}
#: Costs from which on a test is run where it is named, only.
ASKED_ONLY = 100
#: Of triggered links asks ``uni-rta`` of each processor.
_ON_EACH = "p-fp"
#: Of response times that jitter follows from, at most.
_ROUNDS = 1000
_NEVER = np.iinfo(np.int64).max


@frozen(kw_only=True)
class TestFacts:
    """What a test declares of itself (core/include/deadbeat/sched/tests.hpp).

    Attributes:
        scheduler: The policy it is about, or ``any``.
        model: ``sporadic`` (an acceptance then holds for periodic releases at any offsets), or
            ``periodic-offset``: releases at the offsets of the system.
        ties: ``any``, or ``given``: the rule it was run with, which orders equal priorities.
        deadlines: The widest class it takes: implicit, constrained or arbitrary.
        cost: Order of costs, cheapest first; from 100 on it is run where it is named, only.
        whole_instants: It counts whole instants of the system's unit: an acceptance is for releases
            and execution times at these only. In a finer unit the system may miss.
        models: What it takes account of beside tasks that compute, of BEYOND; of a system with
            anything else it says nothing. ``protocols``: of the locks, where it models them.
    """

    __test__ = False  # not for pytest to collect

    name: str
    title: str
    reference: str
    scheduler: str
    model: str
    ties: str
    deadlines: str
    kind: TestKind
    cost: int
    whole_instants: bool
    models: tuple[str, ...]
    protocols: tuple[str, ...]


@frozen(kw_only=True)
class TestResult:
    """What one test says of one system.

    Attributes:
        answer: ``accepted`` and ``refuted`` are proofs, the others are not.
        reason: Why it is neither; may be empty.
        ties: The rule an acceptance holds for, or ``any``.
        bounds: Per task the bound of its response time (of its tardiness, where the kind is
            ``bound``), None where the test gives none.
        seconds: CPU time it took.
    """

    __test__ = False

    facts: TestFacts
    answer: TestAnswer
    reason: str
    ties: str
    bounds: tuple[int | None, ...]
    seconds: float = field(eq=False)


@frozen(kw_only=True)
class SchedulerAnalysis:
    """What the tests say together of one scheduler, under hard deadlines.

    Attributes:
        accepted, refuted: Names of the tests that prove it schedulable or not, cheapest first.
        silent: Names of the tests of it that were applicable and proved nothing.
        proof: The cheapest of ``accepted`` or ``refuted``; None: nothing is proved.
    """

    scheduler: str
    schedulable: Literal["yes", "no", "undecided"]
    proof: str | None
    accepted: tuple[str, ...]
    refuted: tuple[str, ...]
    silent: tuple[str, ...]


@frozen(kw_only=True)
class Analysis:
    """Results by cost, cheapest first, and per scheduler what they come to. ``assigned``: the
    priorities that Audsley's assignment found, larger is more urgent; empty: none."""

    system: TaskSystem
    ties: str
    priorities: str
    partition: str
    order: str
    admission: str
    blocking: int
    results: tuple[TestResult, ...]
    schedulers: Mapping[str, SchedulerAnalysis]
    assigned: tuple[int, ...] = ()

    def result(self, name: str) -> TestResult:
        """Result of the test called ``name``. Raises KeyError."""
        return {result.facts.name: result for result in self.results}[name]


@cache
def tests() -> Mapping[str, TestFacts]:
    """Every schedulability test of the core by name, cheapest first."""
    return {
        entry["name"]: TestFacts(
            **{
                **entry,
                "kind": TEST_KINDS[entry["kind"]],
                "protocols": tuple(entry["protocols"].split()),
                "models": _models(entry["name"], entry["models"]),
            }
        )
        for entry in _core.tests()
    }


def _models(name: str, bits: int) -> tuple[str, ...]:
    own = {word for bit, word in enumerate(BEYOND) if bits >> bit & 1}
    own |= {TRIGGERED} if "jitter" in own or name == _ON_EACH else set()  # see ``run_test``
    return tuple(word for word in BEYOND if word in own)


def schedulers() -> list[str]:
    """Policies that a test is about."""
    return sorted({facts.scheduler for facts in tests().values()} - {ANY_SCHEDULER})


def placements() -> list[str]:
    """Heuristics that place tasks, and ``any``: whichever with which a test accepts."""
    return [*_core.option_words("partition")]


class TestSettings(TypedDict, total=False):
    """Settings of the tests.

    Attributes:
        ties: Decides between equal priorities, in tests of fixed priorities.
        priorities: ``rm``, ``dm`` or ``given``, likewise; ``opa``: Audsley's assignment, in tests
            that it is for, on one processor.
        partition, order, admission: How tasks are placed, in tests of partitioned schedulers;
            ``auto`` is first-fit, and exact; ``any``: the first placement that is accepted.
        blocking: The longest non-preemptive section, in tests of one processor.
        supply_budget, supply_period: The reservation that all tasks run in; 0: the processor.
        budget: Elementary steps after which a test is ``undecided``.
    """

    ties: str
    priorities: str
    partition: str
    order: str
    admission: str
    blocking: int
    supply_budget: int
    supply_period: int
    budget: int


def analyze(
    system: TaskSystem,
    *,
    scheduler: str | None = None,
    names: Sequence[str] | None = None,
    **settings: Unpack[TestSettings],
) -> Analysis:
    """Runs the tests of ``scheduler`` (a policy; None: of all), or those of ``names``.

    Raises:
        UsageError: An unknown test or setting, or a scheduler that no test is about.
        RuntimeError: Two tests contradict each other, which is a defect of deadbeat.
    """
    options = test_options(settings)
    known = list(tests().values())
    if names is not None:
        wanted = {_facts(name).name for name in names}
        known = [facts for facts in known if facts.name in wanted]
    if scheduler is None:
        chosen = known
    else:
        if scheduler not in schedulers():
            hint = nearest(scheduler, schedulers())
            raise UsageError(f'no test is about the policy "{scheduler}"', hint)
        chosen = [facts for facts in known if facts.scheduler in (scheduler, ANY_SCHEDULER)]
        if not chosen:
            asked = ", ".join(facts.name for facts in known)
            raise UsageError(
                f'{asked}: not about the policy "{scheduler}"', "leave out the one or the other"
            )
    if names is None:
        chosen = [facts for facts in chosen if facts.cost < ASKED_ONLY]
    if not (names or scheduler):
        chosen = [facts for facts in chosen if _is_for(system, facts, options)]
    results = tuple(run_test(system, facts, options) for facts in chosen)
    hard = [result for result in results if result.facts.kind != "bound"]
    by_scheduler_names = sorted({result.facts.scheduler for result in hard} - {ANY_SCHEDULER})
    found = {}
    for name in by_scheduler_names or [ANY_SCHEDULER] * bool(hard):
        mine = [result for result in hard if result.facts.scheduler in (name, ANY_SCHEDULER)]
        found[name] = _combine(name, mine)
    return Analysis(
        system=system,
        ties=options.ties,
        priorities=options.priorities,
        partition=_core.heuristic_for(options.partition, 1),
        order=options.order,
        admission="exact" if options.admission == "auto" else options.admission,
        blocking=options.blocking,
        results=results,
        schedulers=found,
        assigned=_assigned(system, options) if options.priorities == "opa" else (),
    )


def _is_for(system: TaskSystem, facts: TestFacts, options: _core.TestOptions) -> bool:
    """Whether it is asked about such systems unless it is named: schedulers without locks are the
    plain ones."""
    if special := _SPECIAL & set(facts.models):
        return bool(special & set(system.beyond))
    within = "reservation" * bool(options.supply_budget)
    return bool(system.locks) or facts.scheduler.partition("+")[2] == within


def _assigned(system: TaskSystem, options: _core.TestOptions) -> tuple[int, ...]:
    own = {*tests()["uni-rta"].models} - {TRIGGERED}
    if not set(system.beyond) <= own or system.processors > 1:
        return ()
    rows = task_rows(system.tasks), options, section_rows(system), extra_rows(system)
    order = _core.order_of_priorities(system.processors, *rows)
    return tuple(len(order) - order.index(task) for task in range(len(order)))


def test_batch(
    batch: TaskBatch, names: Sequence[str], *, threads: int = 1, **settings: Unpack[TestSettings]
) -> NDArray[np.int8]:
    """Answers of the tests ``names``, shape (systems, tests), as indices of TEST_ANSWERS.

    Raises UsageError as ``analyze`` does.
    """
    for name in names:
        _facts(name)
    answers: NDArray[np.int8] = _core.test_batch(
        *(batch.tasks, batch.starts, batch.processors),
        *(batch.sections, batch.section_starts, batch.extras),
        *(list(names), test_options(settings), threads),
    )
    for locks in {*batch.locks}:
        foreign = [bool(_other_protocol(locks, _facts(name))) for name in names]
        if any(foreign):
            mine = np.array([each == locks for each in batch.locks])
            answers[np.ix_(mine, np.array(foreign))] = TEST_ANSWERS.index("not applicable")
    return answers


vars(test_batch)["__test__"] = False  # not for pytest to collect


def _facts(name: str) -> TestFacts:
    if name not in tests():
        raise UsageError(f'there is no schedulability test "{name}"', nearest(name, tests()))
    return tests()[name]


def require_agreement(analysis: Analysis, scheduler: str, verdict: Verdict) -> None:
    """Raises RuntimeError where tests and the simulation of one system contradict each other.

    What a test accepts meets all deadlines whatever the releases are; what one refutes misses with
    releases from time 0 on. ``verdict`` is of the policy ``scheduler`` with the same options.
    """
    found = analysis.schedulers[scheduler]
    if found.accepted and verdict.schedulable == "no":
        raise RuntimeError(
            f"{scheduler}: {', '.join(found.accepted)} accept what simulation refutes"
            f" ({verdict.model}: {verdict.because})"
        )
    # Simulated tasks block no other, and releases at offsets may miss nothing.
    comparable = analysis.blocking == 0 and verdict.model != "periodic-offset"
    if found.refuted and verdict.schedulable == "yes" and comparable:
        raise RuntimeError(
            f"{scheduler}: {', '.join(found.refuted)} refute what simulation proves"
            f" ({verdict.model}: {verdict.because})"
        )


def test_options(settings: TestSettings) -> _core.TestOptions:
    """Settings as the core has them. Raises UsageError: an unknown word."""
    options = _core.TestOptions()
    for name, value in settings.items():
        setattr(options, name, value)
    require_word("tie rule", options.ties, _core.tie_rules())
    require_word("assignment of priorities", options.priorities, ["rm", "dm", "given", "opa"])
    require_word("admission", options.admission, _core.partition_admissions())
    require_word("partitioning heuristic", options.partition, placements())
    require_word("order of placing", options.order, _core.partition_orders())
    if options.blocking < 0:
        raise UsageError(f"blocking is {options.blocking}", "a time, 0 or more")
    if not 0 <= options.supply_budget <= options.supply_period:
        found = f"{options.supply_budget} of {options.supply_period}"
        raise UsageError(f"the reservation is {found}", "supply-budget: at most supply-period")
    return options


vars(test_options)["__test__"] = False


def run_test(system: TaskSystem, facts: TestFacts, options: _core.TestOptions) -> TestResult:
    """What the test says; of triggered links as of jitter (Tindell and Clark 1994): a job of what
    another task releases arrives with its job, and is released when that ends, by its bound."""
    if not system.triggers or TRIGGERED not in facts.models or options.priorities == "opa":
        return _run_test(system, facts, options)
    if facts.name == _ON_EACH:
        return _on_each(system, facts, options)
    return _with_triggers(system, facts, lambda each: _run_test(each, facts, options))


def _with_triggers(
    system: TaskSystem, facts: TestFacts, test: Callable[[TaskSystem], TestResult]
) -> TestResult:
    """From no jitter on until bounds are those that the jitter follows from. An instant at which
    one is passed first would need one that was passed before."""
    waits = dict.fromkeys(system.triggers, 0)
    for _ in range(_ROUNDS):
        found = test(_released(system, waits))
        if found.answer != "accepted" or facts.kind == "necessary":
            break
        due = (task.deadline for task in system.tasks)
        bounds = [min(b or d, d) for b, d in zip(found.bounds, due, strict=True)]
        before, waits = waits, {to: bounds[by] for to, by in system.triggers.items()}
        if waits == before:
            return evolve(found, bounds=tuple(bounds))
    else:
        found = evolve(found, answer="undecided", reason="no end of rounds of jitter")
    if found.answer == "refuted" and facts.kind != "necessary":
        found = evolve(found, answer="not accepted", reason="with links as jitter, which is more")
    return found


def _released(system: TaskSystem, waits: Mapping[int, int]) -> TaskSystem:
    """Tasks that others release as ones of jitter, at the offsets of the first of their run."""
    tasks = list(system.tasks)
    for to, wait in waits.items():
        root = system.tasks[system.root(to)]
        tasks[to] = evolve(tasks[to], jitter=wait or root.jitter, offset=root.offset)
    return evolve(system, chains=(), tasks=tuple(tasks))


def _on_each(system: TaskSystem, facts: TestFacts, options: _core.TestOptions) -> TestResult:
    """``uni-rta`` of each processor."""
    homes = [task.home if system.processors > 1 else 0 for task in system.tasks]
    one = tests()["uni-rta"]
    places = {
        home: [i for i, other in enumerate(homes) if other == home] for home in dict.fromkeys(homes)
    }

    def test(jittery: TaskSystem) -> TestResult:
        bounds: list[int | None] = [None] * len(homes)
        for mine in places.values():
            own = evolve(jittery, processors=1, tasks=tuple(jittery.tasks[i] for i in mine))
            plain = evolve(own, tasks=tuple(evolve(task, home=0) for task in own.tasks))
            found = _run_test(plain, one, options)
            for i, bound in zip(mine, found.bounds, strict=True):
                bounds[i] = bound
            if found.answer != "accepted":
                break
        return evolve(found, facts=facts, bounds=tuple(bounds))

    if None in homes:
        hint = "with triggered links it takes tasks with homes"
        return evolve(_run_test(system, facts, options), reason=hint)
    return _with_triggers(system, facts, test)


def _run_test(system: TaskSystem, facts: TestFacts, options: _core.TestOptions) -> TestResult:
    more = section_rows(system), extra_rows(system), detail_rows(system)
    start = process_time()
    if reason := _other_protocol(system.locks, facts):
        answer, bounds = TEST_ANSWERS.index("not applicable"), np.full(len(system.tasks), _NEVER)
    else:
        answer, reason, bounds = _core.run_test(
            facts.name, system.processors, task_rows(system.tasks), options, *more
        )
    seconds = process_time() - start
    return TestResult(
        facts=facts,
        answer=TEST_ANSWERS[answer],
        reason=reason,
        ties=options.ties if facts.ties == GIVEN_TIES else facts.ties,
        bounds=tuple(None if bound == _NEVER else int(bound) for bound in bounds),
        seconds=seconds,
    )


def _other_protocol(locks: Sequence[Lock], facts: TestFacts) -> str:
    """Why a test that models locks says nothing of these; "": it does."""
    of_protocols = "locks" in facts.models and facts.scheduler != ANY_SCHEDULER
    for lock in locks if of_protocols else ():
        if lock.protocol == "none":
            return f"lock {lock.name} is a plain mutex: whatever preempts its holder has no bound"
        if lock.protocol not in ("any", *facts.protocols):
            return f"lock {lock.name} has protocol {lock.protocol}"
    return ""


def _combine(scheduler: str, results: Sequence[TestResult]) -> SchedulerAnalysis:
    def names(*answers: TestAnswer) -> tuple[str, ...]:
        return tuple(result.facts.name for result in results if result.answer in answers)

    accepted, refuted = names("accepted"), names("refuted")
    if accepted and refuted:
        raise RuntimeError(
            f"{scheduler}: {', '.join(accepted)} accept what {', '.join(refuted)} refute"
        )
    proofs = accepted or refuted
    silent = [result for result in results if result.answer in ("not accepted", "undecided")]
    return SchedulerAnalysis(
        scheduler=scheduler,
        schedulable="yes" if accepted else "no" if refuted else "undecided",
        proof=proofs[0] if proofs else None,
        accepted=accepted,
        refuted=refuted,
        silent=tuple(r.facts.name for r in silent if r.facts.scheduler == scheduler),
    )
