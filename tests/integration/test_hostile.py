"""Truth: what a program does without deadbeat: its status, its data, and who runs what."""

import json
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from helpers.programs import ROOT, command_of

DEADBEAT = str(Path(sys.executable).with_name("deadbeat"))


def run(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        (DEADBEAT, "run", "--no-figures", *words),
        cwd=folder, capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip


@pytest.mark.hardware
def test_limits_on_files_and_names_that_end_lines_harm_nothing(tmp_path: Path) -> None:
    (program,) = command_of(ROOT / "tests/programs/strangers/odd.c", tmp_path)
    done = run(tmp_path, "--", program)
    assert done.returncode == 7, done.stderr
    assert r"\x0aname 7 x" in done.stdout and "\nname 7 x" not in done.stdout


@pytest.mark.hardware
def test_arguments_are_not_opened(tmp_path: Path) -> None:
    """A FIFO has its data once; a text is longer than a name of a file may be."""
    os.mkfifo(tmp_path / "fifo")
    writer = threading.Thread(target=(tmp_path / "fifo").write_text, args=("all of it\n",))
    writer.start()
    done = run(tmp_path, "--", "sh", "-c", f"cat fifo > data; exit 5 # {'x' * 300}", "fifo")
    writer.join()
    assert (done.returncode, (tmp_path / "data").read_text()) == (5, "all of it\n"), done.stderr


def test_what_a_repository_has_git_run_is_not_run(tmp_path: Path) -> None:
    def git(*words: str) -> None:
        identity = ("-c", "user.email=a@b", "-c", "user.name=a")
        subprocess.run(("git", *identity, *words), cwd=tmp_path, check=True, capture_output=True)

    (tmp_path / "loop.sh").write_text("sleep 0.1\n")
    git("init", "-q")
    git("add", "loop.sh")
    git("commit", "-qm", "loop")
    (tmp_path / "hook").write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\n")
    (tmp_path / "hook").chmod(0o755)
    git("config", "core.fsmonitor", str(tmp_path / "hook"))
    run(tmp_path, "--", "sh", "loop.sh")
    assert not (tmp_path / "ran").exists()
    git("status")
    assert (tmp_path / "ran").exists()  # it would have been


@pytest.mark.hardware
def test_threads_and_locks_have_the_names_of_their_author(tmp_path: Path) -> None:
    """The function of a thread; the variable, file or maker of a lock: in each run the same."""
    folder = ROOT / "tests/programs/strangers"
    (program,) = command_of(folder / "names.c", tmp_path, str(folder / "names2.c"))
    done = run(
        tmp_path, "--repeats", "2", "--deadline", "control=4ms", "--deadline", "vision=9ms",
        "--", program,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "known deadline" not in done.stdout
    for run_file in sorted((tmp_path / "runs/names/runs").iterdir()):
        traced = json.loads(run_file.read_text())["run"]["traced"]
        assert {each["name"] for each in traced["locks"] if each["count"]} == {
            "lock (names.c)", "lock (names2.c)", "lock of main (names.c:42)",
        }  # fmt: skip
        starts = {each["name"]: each["starts"] for each in traced["tasks"]}
        assert starts["vision"].startswith("vision (names.c:2")
