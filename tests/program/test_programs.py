"""The truth is the program's own clock: each of known truth ends, and says what it did."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from helpers import seldom
from helpers.programs import PROGRAMS, ROOT, command_of, truth_in

from deadbeat.build.toolchain import Toolchain
from deadbeat.machine.targets.local import LocalTarget
from deadbeat.program.derive.records import Recording
from deadbeat.program.derive.tasks import derive
from deadbeat.program.derive.twin import twin_of
from deadbeat.program.run.spec import ProgramSpec
from deadbeat.program.run.tries import ProgramChange
from deadbeat.program.run.twin import agreed, built
from deadbeat.program.run.watching import watched

EXAMPLES = sorted((ROOT / "examples/program").glob("*.c"))
pytestmark = pytest.mark.hardware


def output_of(*command: str) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout


#: Go compiles its library with it.
LARGE = ("ticker",)


@pytest.mark.parametrize(
    "name", [*(n for n in PROGRAMS if n not in LARGE), *seldom(*((n,) for n in LARGE))]
)
def test_a_program_says_what_it_did(name: str, tmp_path: Path) -> None:
    truth = truth_in(output_of(*command_of(PROGRAMS[name], tmp_path), "0.3"))
    names = {task["name"] for task in truth["tasks"]}
    assert len(names) == len(truth["tasks"]) > 0
    assert {link[end] for link in truth["chains"] for end in ("from", "to")} <= names
    for task in truth["tasks"]:
        assert task["jobs"] > 0 and 0 < task["c_mean_ns"] <= task["c_max_ns"]
        assert task["cpus"] and task["policy"]
        assert all(0 < one["mean_ns"] <= one["max_ns"] for one in task["sections"] or ())


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_is_short_and_runs(path: Path, tmp_path: Path) -> None:
    assert len(path.read_text().splitlines()) <= 120
    assert str(path.name) in path.read_text()  # how it is compiled
    assert output_of(*command_of(path, tmp_path), "0.3").count(":") in (1, 2)


def recorded(*command: str) -> Recording:
    with LocalTarget() as here:
        found = watched(
            ProgramSpec(command=command), 2, here, Toolchain.find(), ProgramChange()
        ).recording
    if any(line.startswith("who runs") for line in found.not_seen):
        pytest.skip("the kernel's events need root")
    return found


@pytest.mark.parametrize("name", ["absolute", *seldom(("bursts",))])
def test_a_twin_is_derived_as_its_original(name: str, tmp_path: Path) -> None:
    recording = recorded(*command_of(PROGRAMS[name], tmp_path), "1")
    original = derive(recording)
    twin = derive(recorded(str(built(twin_of(recording, original), Toolchain.find()))))
    assert {t.name: t.kind for t in twin.tasks if t.jobs} == {
        t.name: t.kind for t in original.tasks if t.jobs
    }
    near = {"period": 0.001, "jobs": 0.1, "sections": 0.1, "C mean": 0.25, "section mean": 0.25}
    rows = [each for each in agreed(original, twin) if each.figure in near]
    assert len(rows) >= 5
    for each in rows:  # a busy host is allowed for; the bars are those of bench_twin.py
        assert each.twin == pytest.approx(each.original, rel=near[each.figure]), each
    known = {t.name: (t.policy, t.priority, t.cpus) for t in original.tasks if t.jobs}
    assert known == {t.name: (t.policy, t.priority, t.cpus) for t in twin.tasks if t.jobs}
    assert [(c.from_, c.to) for c in twin.chains] == [(c.from_, c.to) for c in original.chains]
