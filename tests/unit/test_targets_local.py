"""The local target against what the operating system itself says (processes, files, pipes)."""

from __future__ import annotations

import gzip
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from deadbeat.model.errors import TargetError
from deadbeat.targets.base import Process, Target
from deadbeat.targets.local import LocalTarget

ECHO = """
import sys
print("ready", flush=True)
for line in sys.stdin:
    print("got " + line.strip(), flush=True)
print("bye", file=sys.stderr)
sys.exit(3)
"""
STUBBORN = """
import sys, time
print("ready", flush=True)
while True:
    time.sleep(60)
"""


@pytest.fixture
def target():
    with LocalTarget() as local:
        yield local


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_it_satisfies_the_protocols(target):
    seam: Target = target
    process: Process = target.start(["true"])
    with process:
        assert seam.name
        assert seam.kind == "hardware"


def test_run_returns_status_and_both_outputs(target):
    done = target.run(["sh", "-c", "printf out; printf err >&2; exit 7"])
    assert (done.returncode, done.stdout, done.stderr) == (7, "out", "err")


def test_run_of_a_command_killed_by_a_signal_is_negative(target):
    assert target.run(["sh", "-c", "kill -9 $$"]).returncode == -9


def test_run_replaces_bytes_that_are_not_utf8(target):
    assert target.run(["printf", "\\377"]).stdout == "\N{REPLACEMENT CHARACTER}"


def test_run_kills_what_does_not_end_in_time_even_with_grandchildren_on_its_pipes(target):
    with pytest.raises(TargetError, match=r"did not end within 0\.2 s"):
        target.run(["sh", "-c", "sleep 3; true"], timeout=0.2)


@pytest.mark.parametrize("how", ["run", "start"])
def test_a_missing_program_is_named(target, how):
    with pytest.raises(TargetError, match="no program no-such-program"):
        getattr(target, how)(["no-such-program"])


@pytest.mark.parametrize("how", ["run", "start"])
def test_a_file_that_is_not_a_program_is_refused(target, how, tmp_path):
    file = tmp_path / "data"
    file.write_text("x")
    with pytest.raises(TargetError, match="may not be executed"):
        getattr(target, how)([str(file)])


def test_a_conversation_in_lines(target):
    with target.start([sys.executable, "-c", ECHO]) as process:
        assert process.read_line(timeout=30) == "ready"
        process.write_line("one")
        process.write_line("two")
        assert process.read_line(timeout=30) == "got one"
        assert process.read_line(timeout=30) == "got two"
        process.write_line("three")
        done = process.close(timeout=30)
    assert (done.returncode, done.stdout, done.stderr) == (3, "got three\n", "bye\n")
    assert process.stderr() == "bye\n"


def test_the_end_of_output_is_none_and_an_unfinished_last_line_is_kept(target):
    with target.start(["printf", "a\\nlast"]) as process:
        assert process.read_line(timeout=30) == "a"
        assert process.read_line(timeout=30) == "last"
        assert process.read_line(timeout=30) is None


def test_silence_is_an_error_that_quotes_the_last_words_and_loses_nothing(target):
    script = r"echo why >&2; printf 'first\nhalf'; read go; echo ' done'"
    with target.start(["sh", "-c", script]) as process:
        assert process.read_line(timeout=30) == "first"
        with pytest.raises(TargetError) as caught:
            process.read_line(timeout=0.01)
        assert "did not answer within 0.01 s" in caught.value.message
        assert caught.value.hint == "it said: why"
        process.write_line("go")
        assert process.read_line(timeout=30) == "half done"


def test_writing_to_a_command_that_does_not_listen_is_an_error(target):
    with target.start(["sh", "-c", "exec <&-; echo deaf; exec cat /dev/null"]) as process:
        assert process.read_line(timeout=30) == "deaf"
        with pytest.raises(TargetError, match="no longer listens"):
            process.write_line("x")
        process.close(timeout=30)
        with pytest.raises(TargetError, match="no longer listens"):
            process.write_line("x")


def test_close_kills_what_ignores_it(target):
    process = target.start([sys.executable, "-c", STUBBORN])
    assert process.read_line(timeout=30) == "ready"
    with pytest.raises(TargetError, match="was killed"):
        process.close(timeout=0.1)
    assert not is_alive(process.pid)


def test_close_drains_a_command_that_writes_more_than_a_pipe_holds(target):
    with target.start([sys.executable, "-c", "print('x' * 1_000_000)"]) as process:
        done = process.close(timeout=60)
    assert (done.returncode, len(done.stdout)) == (0, 1_000_001)


def test_nothing_survives_the_target():
    with LocalTarget() as target:
        folder = Path(target.folder)
        assert folder.is_dir()
        process = target.start([sys.executable, "-c", STUBBORN])
        assert process.read_line(timeout=30) == "ready"
        assert is_alive(process.pid)
    assert not is_alive(process.pid)
    assert not folder.exists()
    target.close()
    process.kill()


def test_a_given_folder_is_kept(tmp_path):
    with LocalTarget(folder=tmp_path) as target:
        assert target.folder == str(tmp_path)
    assert tmp_path.is_dir()


def test_put_and_get_keep_bytes_and_the_executable_bit(target, tmp_path):
    source = tmp_path / "program"
    source.write_bytes(b"#!/bin/sh\necho hello\n")
    source.chmod(0o755)
    there = f"{target.folder}/program"
    target.put(source, there)
    assert target.run([there]).stdout == "hello\n"
    target.get(there, tmp_path / "back")
    assert (tmp_path / "back").read_bytes() == source.read_bytes()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["back", "program"]


def test_a_failed_copy_leaves_nothing(target, tmp_path):
    with pytest.raises(TargetError, match="cannot be copied"):
        target.get(f"{target.folder}/missing", tmp_path / "x")
    assert list(tmp_path.iterdir()) == []


def test_read_text(target, tmp_path):
    (tmp_path / "plain").write_text("text")
    (tmp_path / "config.gz").write_bytes(gzip.compress(b"CONFIG_X=y\n"))
    (tmp_path / "damaged.gz").write_bytes(gzip.compress(b"CONFIG_X=y\n")[:-9])
    assert target.read_text(str(tmp_path / "plain")) == "text"
    assert target.read_text(str(tmp_path / "config.gz")) == "CONFIG_X=y\n"
    assert target.read_text(str(tmp_path / "damaged.gz")) is None
    assert target.read_text(str(tmp_path / "missing")) is None
    assert target.read_text(str(tmp_path)) is None


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
    with LocalTarget():
        assert not orphan.exists()
        assert living.exists()
        assert foreign.exists()


OWNER = """
import os, sys, time
import tempfile
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
        with LocalTarget():
            assert (folder / "batch.elf").exists()
        process.kill()
        process.wait()
        with LocalTarget():
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
    with LocalTarget():
        assert (elsewhere / "file").exists()


def test_no_room_for_a_folder_is_one_clear_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "missing"))
    with pytest.raises(TargetError, match="no temporary folder: No such file or directory"):
        LocalTarget()
