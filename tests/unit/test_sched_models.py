"""Truth: worked examples of independent tools (../shared/research/lock-oracles), and this
machine's kernel: what goes beyond tasks that compute."""

from __future__ import annotations

import ctypes
import errno
import json
import os
import platform
import struct
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from attrs import evolve
from helpers.answers import answer_of
from helpers.sched import system_of

from deadbeat import sched
from deadbeat.cli.main import main
from deadbeat.model.systems import TaskSystem, TimedTask
from deadbeat.sched.admission import RootDomain, admit
from deadbeat.sched.sensitivity import sensitivity

ORACLES = Path(__file__).parents[3] / "shared" / "research" / "lock-oracles"
#: Number of the call sched_setattr, and what it is given: size, policy and no flags.
_SETATTR, _HEAD = {"x86_64": 314, "aarch64": 274}, "=IIQiIQQQ"


def examples(analysis: str) -> Any:
    found = sorted(ORACLES.glob(f"{analysis}-[0-9]*.json"))
    marks = [pytest.mark.skip("no worked examples here")] if not found else []
    return pytest.mark.parametrize(
        "file",
        [pytest.param(path, id=path.stem) for path in found] or [pytest.param("", marks=marks)],
    )


def analyzed(capsys: Any, folder: Path, system: dict[str, Any], *options: str) -> dict[str, Any]:
    """What ``sched analyze`` answers of a file with this system."""
    file = folder / "system.json"
    file.write_text(json.dumps(system))
    assert main(("sched", "analyze", str(file), "--json", *options)) == 0
    return answer_of(capsys.readouterr().out)


@examples("sched-deadline-admission")
def test_admission_of_the_worked_examples(file, capsys, tmp_path):
    example = json.loads(file.read_text())
    given = example["system"]
    tasks = [
        {"wcet": each["budget"], "period": each["server_period"], **each} for each in given["tasks"]
    ]
    system = {"processors": given["processors"], "unit": given["unit"], "tasks": tasks}
    answer = analyzed(capsys, tmp_path, system, "--test", "load")
    assert answer["sched_deadline"]["answers"] == example["expected"]["answers"]


def test_admission_follows_the_kernels_files(capsys, tmp_path):
    """Without a fair server 0.95 a CPU; with sched_rt_runtime_us = -1 whatever is valid."""
    tasks = [{"wcet": 1, "period": 100, "budget": budget} for budget in (95, 1, 100)]
    tasks.append({"wcet": 1, "period": 100})
    system = {"processors": 1, "unit": "ms", "tasks": tasks}

    def answers(*keys: str) -> list[str | None]:
        options = [word for key in keys for word in ("--set", key)]
        return analyzed(capsys, tmp_path, system, "--test", "load", *options)["sched_deadline"][
            "answers"
        ]

    assert answers() == ["EBUSY", "admitted", "EBUSY", None]
    assert answers("fair-runtime=0") == ["admitted", "EBUSY", "EBUSY", None]
    assert answers("rt-runtime=-1") == ["admitted", "admitted", "admitted", None]
    system["unit"] = "apples"
    assert answers() == [None] * 4


@contextmanager
def sleepers(count: int) -> Iterator[list[int]]:
    started = [subprocess.Popen(["sleep", "600"]) for _ in range(count)]
    try:
        yield [each.pid for each in started]
    finally:
        for each in started:
            each.kill()
            each.wait()


def asked(process: int, runtime: int, deadline: int, period: int) -> str:
    """The kernel's answer to a request for SCHED_DEADLINE."""
    attributes = struct.pack(_HEAD, 48, 6, 0, 0, 0, runtime, deadline, period)
    call = ctypes.CDLL(None, use_errno=True).syscall
    if call(_SETATTR[platform.machine()], process, attributes, 0) == 0:
        return "admitted"
    return errno.errorcode[ctypes.get_errno()]


@pytest.mark.hardware
@pytest.mark.skipif(os.geteuid() != 0 or platform.machine() not in _SETATTR, reason="asks as root")
def test_admission_equals_this_kernels():
    """200 random requests in eight groups, each to a machine without reservations: the kernel
    keeps what a task reserved until its period ends, at most 0.1 s after it is gone."""
    rng = np.random.default_rng(31)
    files = [Path(f"/proc/sys/kernel/sched_rt_{each}_us") for each in ("runtime", "period")]
    runtime, period = (int(file.read_text()) for file in files)
    release = tuple(map(int, platform.release().split(".")[:2]))
    domain = RootDomain(
        processors=len(os.sched_getaffinity(0)),
        rt_runtime=runtime,
        rt_period=period,
        fair_runtime=50_000_000 if release >= (6, 12) else 0,
    )
    if Path("/sys/kernel/debug/sched/fair_server").is_dir():
        pytest.skip("this kernel's fair servers may be set: the test takes the defaults")
    agreed, answers = 0, set()
    for _ in range(8):
        with sleepers(25) as processes:
            periods = (10 ** rng.uniform(4.8, 8, 25)).astype(np.int64)
            periods[rng.random(25) < 0.05] = 1000 * 2**22 + 1
            deadlines = (periods * rng.choice([1, 1, 0.5, 1.2], 25)).astype(np.int64)
            shares = rng.choice([0.001, 0.03, 0.2, 0.6, 1], 25) * rng.uniform(0.5, 1.02, 25)
            rows = np.stack([(shares * periods).astype(np.int64) + 1, deadlines, periods], axis=1)
            tasks = tuple(
                TimedTask(
                    wcet=1, period=p, deadline=d, budget=q, server_period=p, server_deadline=d
                )
                for q, d, p in rows.tolist()
            )
            system = TaskSystem(processors=domain.processors, unit="ns", tasks=tasks)
            found = [asked(pid, *row) for pid, row in zip(processes, rows.tolist(), strict=True)]
            agreed += sum(np.array(found) == np.array(admit(system, domain).answers))
            answers |= set(found)
        time.sleep(0.2)
    assert (agreed, answers) == (200, {"admitted", "EBUSY", "EINVAL"})


@examples("sensitivity")
def test_sensitivity_of_the_worked_examples(file, capsys, tmp_path):
    example = json.loads(file.read_text())
    system, expected = example["system"], example["expected"]
    options = ("--sensitivity", "--priorities", "given", "--test", "uni-rta", "--test", "qpa")
    answer = analyzed(capsys, tmp_path, system, *options)
    found = {each["test"]: each for each in answer["sensitivity"]}
    for test, word in (("uni-rta", "fp"), ("qpa", "edf")):
        assert found[test]["exact"] and found[test]["scale"] == expected[f"{word}_scale"]
        # The examples stop at 200.
        extra = found[test]["extra"] or [None] * len(system["tasks"])
        assert [each if each is None else min(each, 200) for each in extra] == expected[
            f"{word}_extra_wcet"
        ]
    assert found["uni-rta"]["breakdown"] == expected["fp_breakdown_utilisation"]


def test_bisection_finds_the_exact_factor():
    """The same by trying: D > T has no formula, D <= T has both."""
    rng = np.random.default_rng(5)
    for _ in range(20):
        periods = rng.integers(5, 40, 3).tolist()
        tasks = [(int(rng.integers(1, 1 + p // 3)), p) for p in periods]
        system = system_of(1, *((c, p, int(rng.integers(max(c, p // 2), p + 1))) for c, p in tasks))
        analysis = sched.analyze(system, names=["uni-rta", "qpa"])
        exact = sensitivity(analysis, {})
        blocked = sensitivity(evolve(analysis, blocking=1), {})  # says only that no formula holds
        for one, other in zip(exact, blocked, strict=True):
            assert (one.exact, other.exact) == (True, False)
            assert 0 <= one.scale - other.scale < Fraction(1, 1000)


def test_sections_grow_with_their_task(capsys, tmp_path):
    """By hand: the first task needs 4 s + 2 s of 10, the second 8 s + 2 x 2 s of 20: s = 5 / 3."""
    sections = [{"lock": "bus", "length": 1}], [{"lock": "bus", "length": 4}]
    tasks = [
        {"wcet": 2, "period": 10, "sections": sections[0]},
        {"wcet": 8, "period": 20, "sections": sections[1]},
    ]
    answer = analyzed(
        capsys, tmp_path, {"processors": 1, "tasks": tasks}, "--sensitivity", "--test", "uni-rta"
    )
    (found,) = answer["sensitivity"]
    assert (found["scale"], found["exact"]) == ("833/500", False)


@examples("opa-preemptive")
def test_audsley_of_the_worked_preemptive_example(file, capsys, tmp_path):
    check_audsley(json.loads(file.read_text()), capsys, tmp_path)


@examples("opa-nonpreemptive")
def test_audsley_of_the_worked_nonpreemptive_example(file, capsys, tmp_path):
    example = json.loads(file.read_text())
    for task in example["system"]["tasks"]:
        task["np_max"] = task["wcet"]
    check_audsley(example, capsys, tmp_path)


def check_audsley(example: dict[str, Any], capsys: Any, folder: Path) -> None:
    system, expected = example["system"], example["expected"]

    def answer(priorities: str) -> tuple[bool, dict[str, Any]]:
        given = ("--test", "uni-rta", "--priorities", priorities)
        found = analyzed(capsys, folder, system, *given)
        return found["tests"][0]["answer"] == "accepted", found

    assert answer("dm")[0] == expected["deadline_monotonic_works"]
    accepted, found = answer("opa")
    assert accepted == expected["accepted"]
    for task, rank in zip(system["tasks"], found["assigned"], strict=True):
        task["priority"] = rank
    assert answer("given")[0]


def test_audsley_finds_priorities_where_any_work():
    rng = np.random.default_rng(8)
    seen = set()
    for _ in range(60):
        tasks = [(int(rng.integers(1, 6)), int(rng.integers(6, 16))) for _ in range(3)]
        deadlines = rng.integers(5, 30, 3).tolist()
        system = system_of(
            1,
            *((c, p, d) for (c, p), d in zip(tasks, deadlines, strict=True)),
            np_max=rng.integers(0, 2, 3).tolist(),
        )
        works = any(
            sched.analyze(ranked(system, order), names=["uni-rta"], priorities="given")
            .results[0]
            .answer
            == "accepted"
            for order in permutations(range(3))
        )
        found = sched.analyze(system, names=["uni-rta"], priorities="opa")
        assert found.results[0].answer == ("accepted" if works else "refuted")
        assert bool(found.assigned) == works
        seen.add(works)
    assert seen == {True, False}


def ranked(system: TaskSystem, ranks: tuple[int, ...]) -> TaskSystem:
    tasks = [evolve(task, priority=rank) for task, rank in zip(system.tasks, ranks, strict=True)]
    return evolve(system, tasks=tuple(tasks))


def test_audsley_is_refused_by_tests_that_it_is_not_for():
    system = system_of(1, (1, 4), (1, 5), home=[0, 0])
    answers = sched.analyze(system, names=[*sched.tests()], priorities="opa").results
    fixed = {each.facts.name: each for each in answers if "-fp" in each.facts.scheduler}
    assert fixed.pop("uni-rta").answer == "accepted"
    assert {"rta-fp", "rta-fp-guan", "mpcp", "pinned-fifo-pi", "fp-suspension"} <= fixed.keys()
    assert all("Audsley" in each.reason for each in fixed.values())
