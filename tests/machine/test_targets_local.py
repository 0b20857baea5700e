"""The local target against what the operating system itself says (processes, files, pipes)."""

import gzip
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

from deadbeat.base.model.errors import TargetError
from deadbeat.machine.targets.base import Completed
from deadbeat.machine.targets.fake import FakeTarget
from deadbeat.machine.targets.local import LocalTarget
from deadbeat.machine.targets.readings import ALONE, MEANWHILE, Reading, ask


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


OWNER = """
import os, time
os.getpid = lambda: {pid}
from deadbeat.machine.targets.local import LocalTarget
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


def test_no_room_for_a_folder_is_one_clear_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
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


# --- many files at once, and that the made-up target gives the same


def test_files_patterns_and_commands_are_read_at_once(tmp_path: Path) -> None:
    (tmp_path / "plain").write_text("one\ntwo\n")
    (tmp_path / "empty").write_text("")
    (tmp_path / "packed.gz").write_bytes(gzip.compress(b"CONFIG_A=y\n"))
    for cpu in range(3):
        (tmp_path / f"cpu{cpu}").write_text(f"{cpu}")
    paths = [str(tmp_path / name) for name in ("plain", "empty", "packed.gz", "none", "cpu*", "x?")]
    commands = {
        "hello": "echo 'a = b'; echo talk >&2",
        "bad": "echo why >&2; exit 3",
        "no": "nnn-n",
    }
    with LocalTarget() as target:
        found = target.read_many(paths, commands)
        left = list(Path(target.folder).iterdir())
    assert found.files[paths[0]] == Reading("one\ntwo\n")
    assert found.files[paths[1]] == Reading("")
    assert found.files[paths[2]] == Reading("CONFIG_A=y\n")
    assert found.files[paths[3]] == Reading(None, "no such file")
    assert found.patterns[paths[4]] == tuple(str(tmp_path / f"cpu{cpu}") for cpu in range(3))
    assert [found.files[path].text for path in found.patterns[paths[4]]] == ["0\n", "1\n", "2\n"]
    assert found.patterns[paths[5]] == ()
    assert found.commands["hello"] == Reading("a = b\n")
    assert found.commands["bad"] == Reading(None, "failed: why")
    assert found.commands["no"] == Reading(None, "no such program")
    assert left == []


def test_a_made_up_target_tells_missing_from_refused() -> None:
    target = FakeTarget(
        files={"/a/1": "x", "/a/2": "y"}, refused={"/a/3": "denied: no"}, outputs={"dmesg": "hm"}
    )
    found = target.read_many(["/a/*", "/b"], {"dmesg": "dmesg", "other": "other"})
    assert found.patterns["/a/*"] == ("/a/1", "/a/2", "/a/3")
    assert found.files["/a/3"] == Reading(None, "denied: no")
    assert found.files["/b"] == Reading(None, "no such file")
    assert found.commands == {"dmesg": Reading("hm"), "other": Reading(None, "no such program")}


def test_the_first_line_says_why_a_command_failed() -> None:
    with LocalTarget() as target:
        found = target.read_many([], {"bad": "for k in 1 2 3; do echo no $k >&2; done; exit 1"})
        silent = target.read_many([], {"bad": "exit 1"})
    assert found.commands["bad"] == Reading(None, "failed: no 1 (and 2 more lines)")
    assert silent.commands["bad"] == Reading(None, "failed:")


def test_one_command_has_the_machine_to_itself_and_one_runs_beside_the_rest(tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    wait = f"n=0; until [ -e {mark} ] || [ $n = 500 ]; do sleep 0.01; n=$((n + 1)); done"
    commands = {
        "marks": f"touch {mark}",
        "beside": f"{MEANWHILE}{wait}; [ -e {mark} ] && echo met",
        "fails": f"{MEANWHILE}echo no >&2; exit 1",
        "first": f"{ALONE}[ -e {mark} ] || echo nobody before",
    }
    with LocalTarget() as target:
        found = target.read_many([str(tmp_path)], commands)
        left = list(Path(target.folder).iterdir())
    assert found.commands["first"] == Reading("nobody before\n")
    assert found.commands["beside"] == Reading("met\n")
    assert found.commands["fails"] == Reading(None, "failed: no")
    assert list(found.commands) == list(commands)
    assert left == []
