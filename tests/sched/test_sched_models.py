"""Truth: worked examples of independent tools, this machine's kernel, and brute force: what goes
beyond tasks that compute."""

import ctypes
import errno
import json
import os
import platform
import struct
import subprocess
import time
from fractions import Fraction
from itertools import permutations, product
from operator import eq
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from attrs import evolve
from helpers.answers import answer_of
from helpers.sched import system_of
from oracles.worked import worked

from deadbeat import sched
from deadbeat.base.model.errors import UsageError
from deadbeat.base.model.systems import (
    BEYOND,
    RARE,
    TRIGGERED,
    Chain,
    CriticalSection,
    Dag,
    Lock,
    TaskSystem,
    TimedTask,
)
from deadbeat.cli.main import main
from deadbeat.sched.admission import RootDomain, admit
from deadbeat.sched.arrays import TaskBatch
from deadbeat.sched.core import core
from deadbeat.sched.files import parse_task_system
from deadbeat.sched.locks import rows
from deadbeat.sched.sensitivity import sensitivity
from deadbeat.sched.tasksystems import task_system_text, write_task_system

SERVED = tuple(map(int, platform.release().split(".")[:2])) >= (6, 12)
_SETATTR = {"x86_64": 314, "aarch64": 274}.get(platform.machine())


def examples(analysis: str) -> Any:
    found = [pytest.param(each, id=each["id"]) for each in worked(analysis)]
    return pytest.mark.parametrize("example", found)


def analyzed(capsys: Any, folder: Path, system: dict[str, Any], *options: str) -> dict[str, Any]:
    file = folder / "system.json"
    file.write_text(json.dumps(system))
    assert main(("sched", "analyze", str(file), "--json", *options)) == 0
    return answer_of(capsys.readouterr().out)


@examples("sched-deadline-admission")
def test_admission_of_the_worked_examples(example, capsys, tmp_path):
    system = {key: example["system"][key] for key in ("processors", "unit")}
    tasks = example["system"]["tasks"]
    system["tasks"] = [{"wcet": 1, "period": 9, **task} for task in tasks]
    answer = analyzed(capsys, tmp_path, system, "--test", "load")
    assert answer["sched_deadline"]["answers"] == example["expected"]["answers"]


def test_admission_follows_the_kernels_files(capsys, tmp_path):
    """Without a fair server 0.95 a CPU; with sched_rt_runtime_us = -1 whatever is valid."""
    tasks = [{"wcet": 1, "period": 100, "budget": budget} for budget in (95, 1, 100)]
    system = {"processors": 1, "unit": "ms", "tasks": [*tasks, {"wcet": 1, "period": 100}]}

    def answers(key: str) -> list[str | None]:
        answer = analyzed(capsys, tmp_path, system, "--test=load", f"--set={key}")
        return answer["sched_deadline"]["answers"]

    assert answers("fair-runtime=50000000") == ["EBUSY", "admitted", "EBUSY", None]
    assert answers("fair-runtime=0") == ["admitted", "EBUSY", "EBUSY", None]
    assert answers("rt-runtime=-1") == ["admitted", "admitted", "admitted", None]
    system = {**system, "processors": 2, "tasks": [{**tasks[0], "affinity": [1]}]}
    assert answers("rt-runtime=-1") == ["EPERM"]  # not all of the root domain


def asked(process: int, runtime: int, deadline: int, period: int) -> str:
    """The kernel's answer to a request for SCHED_DEADLINE."""
    attributes = struct.pack("=IIQiIQQQ", 48, 6, 0, 0, 0, runtime, deadline, period)
    failed = ctypes.CDLL(None, use_errno=True).syscall(_SETATTR, process, attributes, 0)
    return errno.errorcode[ctypes.get_errno()] if failed else "admitted"


@pytest.mark.hardware
@pytest.mark.skipif(not SERVED or os.geteuid() != 0 or not _SETATTR, reason="root, Linux 6.12")
def test_admission_equals_this_kernels():
    """200 random requests in eight groups, each to a machine without reservations: the kernel
    keeps what a task reserved until its period ends, at most 0.1 s after it is gone."""
    rng, agreed, answers = np.random.default_rng(31), 0, set()
    files = (f"/proc/sys/kernel/sched_rt_{word}_us" for word in ("runtime", "period"))
    runtime, period = (int(Path(file).read_text()) for file in files)
    domain = RootDomain(
        processors=len(os.sched_getaffinity(0)), rt_runtime=runtime, rt_period=period
    )
    for _ in range(8):
        periods = 10 ** rng.uniform(4.8, 8, 25)
        periods[rng.random(25) < 0.05] = 1000 * 2**22 + 1
        deadlines = periods * rng.choice([1, 1, 0.5, 1.2], 25)
        runtimes = periods * rng.choice([0.001, 0.03, 0.2, 0.6, 1], 25) * rng.uniform(0.5, 1.02, 25)
        rows = np.stack([runtimes, deadlines, periods], axis=1).astype(np.int64).tolist()
        tasks = tuple(TimedTask(wcet=1, budget=q, deadline=d, period=p) for q, d, p in rows)
        sleepers = [subprocess.Popen(["sleep", "600"]) for _ in rows]
        try:
            found = [asked(each.pid, *row) for each, row in zip(sleepers, rows, strict=True)]
        finally:
            for each in sleepers:
                each.kill()
                each.wait()
        said = admit(TaskSystem(processors=domain.processors, unit="ns", tasks=tasks), domain)
        agreed += sum(map(eq, found, said.answers))
        answers |= {*found}
        time.sleep(0.2)
    assert (agreed, answers) == (200, {"admitted", "EBUSY", "EINVAL"})


@examples("sensitivity")
def test_sensitivity_of_the_worked_examples(example, capsys, tmp_path):
    expected = example["expected"]
    options = ("--sensitivity", "--priorities", "given", "--test", "uni-rta", "--test", "qpa")
    answer = analyzed(capsys, tmp_path, example["system"], *options)
    fp, edf = sorted(answer["sensitivity"], key=lambda each: each["test"] == "qpa")
    assert fp["breakdown"] == expected["fp_breakdown_utilisation"]
    for found, word in ((fp, "fp"), (edf, "edf")):
        assert found["exact"] and found["scale"] == expected[f"{word}_scale"]
        # The examples stop at 200.
        extra = [min(each, 200) for each in found["extra"] or ()] or [None] * len(expected)
        assert extra[: len(answer["tests"][0]["bounds"])] == expected[f"{word}_extra_wcet"]


def test_bisection_finds_the_exact_factor():
    rng = np.random.default_rng(5)
    for _ in range(20):
        tasks = [
            (int(rng.integers(1, 1 + p // 3)), p, p - 1) for p in rng.integers(5, 40, 3).tolist()
        ]
        analysis = sched.analyze(system_of(1, *tasks), names=["uni-rta", "qpa"])
        without = sensitivity(evolve(analysis, blocking=1), {})  # then there is no formula
        for one, other in zip(sensitivity(analysis, {}), without, strict=True):
            assert one.exact and 0 <= one.scale - other.scale < Fraction(1, 1000)


def test_sections_grow_with_their_task():
    """By hand: the first task needs 4 s + 2 s of 10, the second 8 s + 2 x 2 s of 20: s = 5 / 3."""
    sections = [(CriticalSection(lock="bus", length=length),) for length in (1, 4)]
    system = evolve(system_of(1, (2, 10), (8, 20), sections=sections), locks=(Lock(name="bus"),))
    (found,) = sensitivity(sched.analyze(system, names=["uni-rta"]), {})
    assert (found.scale, found.exact) == (Fraction(1666, 1000), False)


@examples("opa-*")
def test_audsley_of_the_worked_examples(example, capsys, tmp_path):
    system, expected = example["system"], example["expected"]
    for task in system["tasks"] if example["analysis"] == "opa-nonpreemptive" else ():
        task["np_max"] = task["wcet"]

    def accepted(words: str) -> list[int]:
        answer = analyzed(capsys, tmp_path, system, "--test=uni-rta", f"--priorities={words}")
        ranks = answer.get("assigned", [True])
        return ranks if answer["tests"][0]["answer"] == "accepted" else []

    assert bool(accepted("dm")) == expected["deadline_monotonic_works"]
    assert bool(accepted("opa")) == expected["accepted"]
    for task, rank in zip(system["tasks"], accepted("opa"), strict=True):
        task["priority"] = rank
    assert accepted("given")


def test_audsley_finds_priorities_where_any_work():
    rng, seen = np.random.default_rng(8), set()
    for _ in range(60):
        tasks = [tuple(rng.integers((1, 6, 5), (6, 16, 30)).tolist()) for _ in range(3)]
        answers = [
            sched.analyze(
                system_of(1, *tasks, priority=ranks), names=["uni-rta"], priorities="given"
            )
            for ranks in map(list, permutations(range(3)))
        ]
        works = "accepted" in {each.results[0].answer for each in answers}
        found = sched.analyze(system_of(1, *tasks), names=["uni-rta"], priorities="opa")
        assert found.results[0].answer == ("accepted" if works else "refuted")
        assert bool(found.assigned) == works
        seen.add(works)
    assert seen == {True, False}
    every = sched.analyze(system_of(1, (1, 4)), names=[*sched.tests()], priorities="opa").results
    fixed = {each.facts.name: each for each in every if "-fp" in each.facts.scheduler}
    assert fixed.pop("uni-rta").answer == "accepted"
    assert {"rta-fp", "mpcp", "pinned-fifo-pi", "fp-suspension"} <= fixed.keys()
    assert all("Audsley" in each.reason for each in fixed.values())


@examples("fp-in-reservation")
def test_reservation_of_the_worked_example(example, capsys, tmp_path):
    keys = [f"--set=supply-{key}={example['supply'][key]}" for key in ("budget", "period")]
    options = ("--priorities=given", "--test=fp-in-reservation", "--test=uni-rta", *keys)
    plain, found = analyzed(capsys, tmp_path, example["system"], *options)["tests"]
    assert plain["reason"] == "it ignores the reservation"
    assert found["bounds"] == example["expected"]["response"]


#: What a task has that a word of BEYOND is about.
_HAS = {
    "locks": {"sections": (CriticalSection(lock="l", length=1),)},
    "jitter": {"jitter": 1},
    "suspension": {"suspension": 1},
    "non-preemptive sections": {"np_max": 2, "np_last": 2},
    "arrival curves": {"arrivals": ((1, 1), (4, 2))},
    "DAGs": {"dag": Dag(nodes=(1, 1), edges=((0, 1),))},
    TRIGGERED: {},
    "affinity sets": {"affinity": (0,)},
    "shorter jobs": {"bcet": 1},
}


@pytest.mark.parametrize("word", BEYOND)
def test_what_a_test_does_not_model_it_does_not_answer(word, tmp_path):
    task = TimedTask(wcet=2, period=10, deadline=10, home=0, **_HAS[word])
    chains = (Chain(tasks=(0, 1), links=("triggered",)),) if word == TRIGGERED else ()
    locks = tuple(Lock(name=each.lock) for each in task.sections)
    system = TaskSystem(processors=2, tasks=(task, task), locks=locks, chains=chains)
    assert (system.beyond, system.rare) == ((word,), (word,) if word in RARE else ())
    said = {each.facts: each for each in sched.analyze(system, names=[*sched.tests()]).results}
    assert {word in facts.models for facts in said} == {True, False}
    for facts, found in said.items():
        refused = (found.answer, found.reason) == ("not applicable", f"it ignores {word}")
        assert refused != (word in facts.models), facts.name
    alone = {*RARE} - {TRIGGERED}
    for policy in {*sched.policies()} - {*([] if word in alone else core().lock_policies())}:
        with pytest.raises(UsageError, match=f"ignores {word}"):
            sched.simulate(system, sched.Scheduler(policy=policy))
    with pytest.raises(UsageError, match=f"CSV has no {word}"):
        write_task_system(tmp_path / "system.csv", system)
    for other in (rows, lambda it: TaskBatch.of([it])) if word in RARE else ():
        with pytest.raises(UsageError, match=word):
            other(system)
    assert parse_task_system(task_system_text(system).encode(), source="").system == system


def test_partitions_keep_to_affinity_sets():
    """Refuted where no home for every task is accepted, of all that the sets allow."""
    rng, seen, tests = Random(4), set(), ["p-edf", "p-fp"]
    for _ in range(60):
        free = []
        for period in rng.choices(range(4, 13), k=4):
            cpus = rng.choice([(0,), (2,), (0, 1), (1, 2), ()])
            task = TimedTask(wcet=rng.randint(1, period - 1), period=period, deadline=period)
            free.append(evolve(task, affinity=cpus))
        bound = [
            [evolve(task, home=cpu, affinity=()) for cpu in task.affinity or range(3)]
            for task in free
        ]
        placed = [TaskSystem(processors=3, tasks=tasks) for tasks in product(*bound)]
        works = (sched.test_batch(TaskBatch.of(placed), tests) == 1).any(axis=0)
        system = TaskSystem(processors=3, tasks=tuple(free))
        for result, one in zip(sched.analyze(system, names=tests).results, works, strict=True):
            assert (result.answer == "refuted") != one, system
            seen |= {result.answer}
    assert {"accepted", "refuted"} <= seen
