"""The scheduling core, which a clone set up to measure builds when something first needs it."""

import subprocess
import sys
from pathlib import Path

import pytest

from deadbeat.base.model.errors import BuildError
from deadbeat.cli import _measure
from deadbeat.cli.main import main
from deadbeat.sched import build as building
from deadbeat.sched import core as sched_core

WITHOUT = """
import sys
sys.modules["deadbeat.sched._core"] = None
sys.prefix = "/nowhere"  # nothing is built
from deadbeat.cli.main import main
for line in sys.argv[1:]:
    if status := main(line.split()):
        sys.exit(status)
"""


def without_core(folder: Path, *lines: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", WITHOUT, *lines],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        timeout=100,
    )


@pytest.mark.slow
def test_what_only_measures_does_without(tmp_path):
    done = without_core(
        tmp_path,
        "doctor",
        "latency --simulated --duration 1 --repeats 1 --loads idle --no-figures",
        "load --simulated --quick --repeats 1 --no-figures",
        "run --simulated --no-figures -- true",
        "show runs/latency",
    )
    assert done.returncode == 0, done.stderr


def test_a_core_that_is_lacking_is_told_in_a_line(tmp_path):
    done = without_core(tmp_path, "list policies")
    assert (done.returncode, done.stdout) == (3, "")
    assert done.stderr == (
        "deadbeat: error: this installation lacks the scheduling core (install deadbeat again)\n"
    )


def test_it_is_there_before_what_needs_it_measures(tmp_path, monkeypatch, capsys):
    def lacks() -> None:
        raise BuildError("it is not built")

    monkeypatch.setattr(_measure, "core", lacks)
    runs = tmp_path / "runs"
    assert main(["breakdown", "--quick", "--simulated", "--runs", str(runs)]) == 3
    assert "it is not built" in capsys.readouterr().err
    assert not list(runs.rglob("*.jobs*"))


@pytest.fixture
def clone(tmp_path, monkeypatch):
    """A clone whose set-up writes down how it was called."""
    (tmp_path / ".venv").mkdir()
    (tmp_path / "tools").mkdir()
    setup = tmp_path / "tools/setup"
    setup.write_text('#!/bin/sh\necho "$*" >"${0%/tools/setup}/called"\n')
    setup.chmod(0o755)
    monkeypatch.setattr(building, "_clone", lambda: tmp_path)
    monkeypatch.setattr(sys, "prefix", str(tmp_path / ".venv"))
    return tmp_path


def test_a_clone_builds_it_by_its_own_set_up(clone):
    building.build_core()
    assert (clone / "called").read_text() == "core\n"


def test_a_build_that_fails_names_what_to_type(clone):
    (clone / "tools/setup").write_text("#!/bin/sh\nexit 1\n")
    with pytest.raises(BuildError, match=f"is not built \\(in {clone} type: tools/setup\\)"):
        building.build_core()


def test_another_environment_than_the_clones_is_left_alone(clone, monkeypatch):
    monkeypatch.setattr(sys, "prefix", "/usr")
    with pytest.raises(BuildError, match="lacks the scheduling core"):
        building.build_core()
    assert not (clone / "called").exists()


def test_what_was_built_is_used_at_once(tmp_path, monkeypatch):
    def build() -> None:
        folder = tmp_path / "deadbeat/sched"
        folder.mkdir(parents=True)
        (folder / "_core.py").write_text("answer = 42\n")

    monkeypatch.setitem(sys.modules, "deadbeat.sched._core", None)
    monkeypatch.setattr(sched_core, "build_core", build)
    monkeypatch.setattr(sched_core.sysconfig, "get_path", lambda name: str(tmp_path))
    monkeypatch.setattr(sched_core, "core", sched_core.core.__wrapped__)
    assert sched_core._Core().answer == 42
