"""Truth: another machine is asked everything over its own connection, a cut one loses no run that
was finished, and settings come back there without us."""

import json
import os
import select
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from helpers.pretend import PretendedTarget
from helpers.programs import PROGRAMS, command_of, truth_in
from helpers.sshd import Sshd, private_sshd
from helpers.trees import ODD, grow, held

from deadbeat.build.programs import usable_on
from deadbeat.cli.main import main
from deadbeat.latencies.latency.observe import read_matrix
from deadbeat.latencies.latency.store import LatencyStore
from deadbeat.machine.settings.tune import holder_of, signed
from deadbeat.machine.targets import opening
from deadbeat.machine.targets.local import LocalTarget
from deadbeat.program.run.results import ProgramStore, summarise
from deadbeat.tasksets.catalog import load_catalog
from deadbeat.tasksets.executors.abilities import abilities

BOARD = "pretend://board"
#: Name of the folder that is TMPDIR on the other machine.
PLACE = "a  b; $(reboot)`reboot`'"
TINY = ("--loads", "idle", "--engine", "prober", "--duration", "0.2", "--repeats", "3")
#: So often a measurement may find that another one of the tests has the machine.
_TRIES = 30
Capture = pytest.CaptureFixture[str]


@pytest.fixture
def board(monkeypatch: pytest.MonkeyPatch) -> Iterator[type[PretendedTarget]]:
    monkeypatch.setitem(opening.SCHEMES, "pretend", "helpers.pretend:PretendedTarget")
    for name in ("cpu", "cut_at"):
        monkeypatch.setattr(PretendedTarget, name, None)
    PretendedTarget.made.clear()
    yield PretendedTarget
    assert all(each.closed and not Path(each.folder).exists() for each in PretendedTarget.made)


@pytest.fixture(scope="module")
def sshd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sshd]:
    folder = tmp_path_factory.mktemp("sshd")
    (folder / PLACE).mkdir()
    words = f'SetEnv "TMPDIR={folder / PLACE}" SHLVL=1'
    with private_sshd(folder, words) as server:
        before = os.environ.get("DEADBEAT_SSH_CONFIG")
        os.environ["DEADBEAT_SSH_CONFIG"] = str(server.config)
        try:
            yield server
        finally:
            os.environ.pop("DEADBEAT_SSH_CONFIG")
            if before is not None:
                os.environ["DEADBEAT_SSH_CONFIG"] = before


def measured(capsys: Capture, *words: str) -> tuple[int, str, str]:
    """A command, again while another measurement has the machine."""
    for _ in range(_TRIES):
        status = main(words)
        out, err = capsys.readouterr()
        if "another deadbeat measurement" not in err:
            break
    return status, out, err


def answered(capsys: Capture, *words: str) -> dict[str, Any]:
    assert main((*words, "--json")) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)["results"]
    return found


@pytest.mark.hardware
def test_a_cut_connection_ends_the_command_and_the_same_one_continues(
    tmp_path: Path, capsys: Capture, board: type[PretendedTarget]
) -> None:
    board.cpu = max(os.sched_getaffinity(0))  # another machine has other CPUs
    words = ("latency", *TINY, "--name", "cut", "--runs", str(tmp_path), "--target", BOARD)
    board.cut_at = 3  # a trial, a run, and then
    status, _, err = measured(capsys, *words)
    assert status == 3
    errors = [line for line in err.splitlines() if "error:" in line]
    assert errors == ["deadbeat: error: board cannot be reached any more (is it on?)"]
    kept = {path.name: path.stat().st_mtime_ns for path in (tmp_path / "cut/runs").iterdir()}
    assert len(kept) == 1
    board.cut_at = None
    here = ("latency", *TINY, "--name", "cut", "--runs", str(tmp_path))
    assert main(here) == 2
    assert f"was begun on {BOARD}, not on this machine" in capsys.readouterr().err
    status, _, err = measured(capsys, *words)
    assert status == 0, err
    now = {path.name: path.stat().st_mtime_ns for path in (tmp_path / "cut/runs").iterdir()}
    assert len(now) == 3 and kept.items() <= now.items()
    assert LatencyStore.open(tmp_path / "cut").failed() == {}
    platform = read_matrix(tmp_path / "cut").platform
    assert platform["cpus"] == [board.cpu]
    assert platform["details"]["target"] == BOARD  # type: ignore[index]


def test_cpus_are_those_of_the_target(board: type[PretendedTarget]) -> None:
    board.cpu = max(os.sched_getaffinity(0))
    with board(BOARD) as target:
        assert usable_on(target) == (board.cpu,)
    with LocalTarget() as target:
        assert usable_on(target) == tuple(sorted(os.sched_getaffinity(0)))


def test_what_holds_a_setting_is_looked_for_where_the_setting_is(sshd: Sshd) -> None:
    with opening.open_target(sshd.word) as target:
        reason = signed("deadbeat load, a", target)
        holder = holder_of(reason, target.read_text)
        assert holder.lives and holder.process not in (None, 0, os.getpid())
        process = os.pidfd_open(holder.process)
    select.select([process], [], [])  # until it has ended
    os.close(process)
    with LocalTarget() as here:  # the connection is over, and with it what held the setting
        assert not holder_of(reason, here.read_text).lives


def test_the_doctor_examines_it_over_ssh(sshd: Sshd, capsys: Capture) -> None:
    found = answered(capsys, "doctor", "--only", "memory", "--target", sshd.word)
    assert found["target"]["address"] == sshd.word and found["checks"]


def test_settings_are_changed_there_and_come_back_without_us(
    sshd: Sshd, tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("DEADBEAT_STATE", raising=False)
    tree = grow(tmp_path / "a tree's; $(root)")
    place = ("--target", sshd.word, "--root", str(tree))
    before = held(tree)
    done = answered(capsys, "tune", "apply", "--knob=swappiness=9", *place)
    assert [each["outcome"] for each in done["changes"]] == ["applied"]
    assert (tree / "proc/sys/vm/swappiness").read_bytes().split() == [b"9"]
    (change,) = answered(capsys, "tune", "status", *place)["changes"]
    assert (change["old"], change["process"]) == ("61", None)
    state = tree / "var/lib/deadbeat/tune"
    subprocess.run(["sh", state / "journal.sh", "revert", state], check=True, capture_output=True)
    assert {path: held(tree)[path] for path in ODD} == {path: before[path] for path in ODD}
    done = answered(capsys, "tune", "apply", "--knob=swappiness=9", *place)
    assert answered(capsys, "tune", "revert", *place)["changes"][0]["result"] == "restored"
    assert main(("tune", "status", "--target", sshd.word, "--root", "tree")) == 2
    assert "name a folder of 127.0.0.1" in capsys.readouterr().err


def test_a_machine_says_what_it_can(sshd: Sshd, capsys: Capture) -> None:
    status = main(("doctor", "--abilities", sshd.word, "--json"))
    found = json.loads(capsys.readouterr().out)["results"]
    rows = {each["what"]: each for each in found["abilities"]}
    assert found["measures"] is (status == 0)
    assert (
        rows["shell"]["can"] and rows["writable folder"]["can"] and rows["programs for it"]["can"]
    )
    assert PLACE in rows["writable folder"]["found"]
    assert rows["writable folder"]["found"].endswith(" MB free")
    assert {"CPUs", "SCHED_FIFO", "SCHED_DEADLINE", "memory lock", "event tracing"} <= rows.keys()
    assert all(each["found"] and "\n" not in each["found"] for each in rows.values())


def test_a_machine_that_cannot_be_reached_is_an_answer(capsys: Capture) -> None:
    assert main(("doctor", "--abilities", "ssh://nobody@127.0.0.1:9", "--json")) == 1
    (row,) = json.loads(capsys.readouterr().out)["results"]["abilities"]
    assert (row["what"], row["can"]) == ("connection", False) and row["cure"]


def test_another_architecture_without_a_compiler_is_told(board: type[PretendedTarget]) -> None:
    class Strange(board):  # type: ignore[misc, valid-type]
        def run(self, argv: Any, **more: Any) -> Any:
            done = super().run(argv, **more)
            if tuple(argv) == ("uname", "-m"):
                return type(done)(argv=done.argv, returncode=0, stdout="alpha\n", stderr="")
            return done

    with Strange(BOARD) as target:
        rows = {each.what: each for each in abilities(target, load_catalog())}
    found = rows["programs for it"]
    assert found.can is False and "alpha" in found.found and "--cross" in found.cure
    assert "program runs" not in rows


@pytest.mark.slow
@pytest.mark.hardware
def test_a_matrix_is_measured_over_ssh(sshd: Sshd, tmp_path: Path, capsys: Capture):
    place = ("--name", "l", "--runs", str(tmp_path), "--target", sshd.word)
    status, _, err = measured(capsys, "latency", *TINY, *place)
    assert status == 0, err
    assert answered(capsys, "show", "l", "--runs", str(tmp_path))["done"] >= 1


@pytest.mark.hardware
@pytest.mark.parametrize("over", ["sshd", "board"])
def test_a_program_is_watched_there(
    over: str,
    request: pytest.FixtureRequest,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    """A file of this machine is sent; locks are visible where its folder has no blank."""
    word = request.getfixturevalue(over).word if over == "sshd" else BOARD
    request.getfixturevalue(over)
    monkeypatch.chdir(tmp_path)
    program = command_of(PROGRAMS["sections"], tmp_path)
    assert main(("run", "--no-figures", "--target", word, "--", *program, "0.5")) == 0
    truth = truth_in(capfd.readouterr().out)
    found = summarise(ProgramStore.open(Path("runs/sections"))).traced
    assert found is not None
    assert {task["name"] for task in truth["tasks"]} <= {task.name for task in found.known}
    if over == "board":
        assert found.locks
    else:
        assert "blank" in " ".join(found.not_seen)
