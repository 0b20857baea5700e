"""The local target against what the operating system itself says (processes, files, pipes)."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest
from attrs import evolve

from deadbeat.model.errors import TargetError
from deadbeat.targets.base import Completed
from deadbeat.targets.local import LocalTarget
from deadbeat.targets.readings import ask


@pytest.fixture
def target():
    with LocalTarget() as local:
        yield local


def test_writing_to_a_command_that_does_not_listen_is_an_error(target):
    with target.start(["sh", "-c", "exec <&-; echo deaf; exec cat /dev/null"]) as process:
        assert process.read_line(timeout=30) == "deaf"
        with pytest.raises(TargetError, match="no longer listens"):
            process.write_line("x")
        process.close(timeout=30)
        with pytest.raises(TargetError, match="no longer listens"):
            process.write_line("x")


def test_a_given_folder_is_kept(tmp_path):
    with LocalTarget(folder=tmp_path) as target:
        assert target.folder == str(tmp_path)
    assert tmp_path.is_dir()


def test_folders_of_dead_processes_are_removed_and_others_are_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    ended = subprocess.Popen(["true"])
    ended.wait()
    orphan = tmp_path / f"deadbeat-{ended.pid}-abc"
    living, foreign = tmp_path / f"deadbeat-{os.getpid()}-abc", tmp_path / "deadbeat-report"
    for folder in (orphan, living, foreign):
        folder.mkdir()
    with LocalTarget() as target:
        assert Path(target.folder).is_dir()
        assert not orphan.exists()
        assert living.exists()
        assert foreign.exists()


OWNER = """
import os, time
os.getpid = lambda: {pid}
from deadbeat.targets.local import LocalTarget
target = LocalTarget()
print(target.folder, flush=True)
time.sleep(600)
"""


@contextmanager
def another_owner(there: Path) -> Iterator[tuple[subprocess.Popen[str], Path]]:
    """A process with a work folder in ``there`` and a number that nobody has here, as in another
    PID namespace."""
    ended = subprocess.Popen(["true"])
    ended.wait()
    environment = {**os.environ, "TMPDIR": str(there)}
    argv = [sys.executable, "-c", OWNER.format(pid=ended.pid)]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True, env=environment) as process:
        try:
            assert process.stdout is not None
            yield process, Path(process.stdout.readline().strip())
        finally:
            process.kill()


def test_a_live_folder_of_another_pid_namespace_is_kept_and_a_killed_ones_is_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with another_owner(tmp_path) as (process, folder):
        (folder / "batch.elf").touch()
        with LocalTarget() as target:
            assert Path(target.folder).is_dir()
            assert (folder / "batch.elf").exists()
        process.kill()
        process.wait()
        with LocalTarget() as target:
            assert Path(target.folder).is_dir()
            assert not folder.exists()
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_is_removed_before_it_is_locked_is_made_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    made = []
    plain = tempfile.mkdtemp

    def robbed(prefix: str) -> str:
        made.append(plain(prefix=prefix))
        if len(made) == 1:
            shutil.rmtree(made[0])
        return made[-1]

    monkeypatch.setattr(tempfile, "mkdtemp", robbed)
    with LocalTarget() as target:
        assert target.folder == made[1]
        assert Path(target.folder).is_dir()


def test_a_link_is_no_orphan(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    (elsewhere / "file").touch()
    (tmp_path / "deadbeat-work-link").symlink_to(elsewhere)
    with LocalTarget() as target:
        assert Path(target.folder).is_dir()
        assert (elsewhere / "file").exists()


def test_no_room_for_a_folder_is_one_clear_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "missing"))
    with LocalTarget() as target:
        assert target.run(["true"]).returncode == 0, "what reads the machine alone needs none"
        with pytest.raises(
            TargetError, match=r"no temporary folder \S+: No such file .*set TMPDIR"
        ):
            print(target.folder)


def test_programs_get_the_environment_of_the_person(monkeypatch: pytest.MonkeyPatch) -> None:
    told = ("sh", "-c", 'echo "${OPENBLAS_NUM_THREADS-none}"')
    with LocalTarget() as target:
        for value, given in (("01", "none"), ("4", "4")):
            monkeypatch.setenv("OPENBLAS_NUM_THREADS", value)
            assert target.run(told).stdout.strip() == given


def test_a_shell_that_lacks_processes_tells_no_facts() -> None:
    words = ("sh: 1: Cannot fork", "sh: can't fork: Resource temporarily unavailable")
    with LocalTarget() as target:
        for said in words:

            def run(argv: Sequence[str], said: str = said) -> Completed:
                return evolve(target.run(argv), stderr=said)

            with pytest.raises(TargetError, match="ulimit -u"):
                ask(run, ["/proc/version"], {})
