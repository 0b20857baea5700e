"""Places of a board farm: taken, given back, refused; once by labgrid's own coordinator."""

import getpass
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from attrs import define, field
from helpers.processes import python

from deadbeat.model.errors import TargetError, UnreachableError, UsageError
from deadbeat.targets.labgrid import LabgridTarget, Lease
from deadbeat.targets.opening import open_target


@define
class ScriptedFarm:
    """A farm with one place.

    Attributes:
        held: Who has it; "" nobody, ``me`` whoever asks.
        said: What it was asked, in order.
    """

    service: str
    held: str = ""
    file: Path = Path("/nowhere")
    said: list[str] = field(factory=list)

    def acquire(self, place: str) -> Lease:
        self.said.append(f"acquire {place}")
        if self.held not in ("", "me"):
            raise TargetError(f"place {place} is held by {self.held}")
        return Lease(place=place, service=self.service, ours=self.held == "")

    def release(self, place: str) -> None:
        self.said.append(f"release {place}")

    def release_command(self, place: str) -> tuple[str, ...]:
        return ("touch", f"{self.file}-{place}")


@pytest.mark.parametrize("word", ["labgrid:", "labgrid", "ssh:board", "labgrid:a\nb"])
def test_what_is_no_place_is_refused_before_anybody_is_asked(word):
    farm = ScriptedFarm("ssh://x")
    with pytest.raises(UsageError, match="names no place"):
        LabgridTarget(word, farm=farm)
    assert farm.said == []


def test_a_place_is_taken_used_and_given_back_once(sshd, monkeypatch, tmp_path):
    monkeypatch.setenv("DEADBEAT_SSH_CONFIG", str(sshd.config))
    farm = ScriptedFarm(sshd.word, file=tmp_path / "released")
    with LabgridTarget("labgrid:board", farm=farm) as target:
        assert (target.name, target.address) == ("board", "labgrid:board")
        assert target.run(["echo", "x"]).stdout == "x\n"
        assert farm.said == ["acquire board"]
    target.close()
    assert farm.said == ["acquire board", "release board"]
    assert list(tmp_path.iterdir()) == []


def test_what_the_user_holds_stays_held(sshd, monkeypatch):
    monkeypatch.setenv("DEADBEAT_SSH_CONFIG", str(sshd.config))
    farm = ScriptedFarm(sshd.word, held="me")
    LabgridTarget("labgrid:board", farm=farm).close()
    assert farm.said == ["acquire board"]


def test_a_place_whose_machine_cannot_be_reached_is_given_back(monkeypatch):
    monkeypatch.setenv("DEADBEAT_SSH_CONFIG", "/dev/null")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        farm = ScriptedFarm(f"ssh://127.0.0.1:{taken.getsockname()[1]}")
        with pytest.raises(UnreachableError, match="Connection refused"):
            LabgridTarget("labgrid:board", farm=farm)
    assert farm.said == ["acquire board", "release board"]


def test_somebody_elses_place_is_not_given_back():
    farm = ScriptedFarm("ssh://x", held="host/somebody")
    with pytest.raises(TargetError, match="held by host/somebody"):
        LabgridTarget("labgrid:board", farm=farm)
    assert farm.said == ["acquire board"]


def test_a_machine_without_labgrid(monkeypatch):
    monkeypatch.setitem(sys.modules, "labgrid.remote", None)
    monkeypatch.delitem(sys.modules, "labgrid.remote.client", raising=False)
    with pytest.raises(UsageError, match="needs the package labgrid") as caught:
        open_target("labgrid:board")
    assert "pip install" in caught.value.hint


def test_an_address_that_is_none(monkeypatch):
    pytest.importorskip("labgrid")
    monkeypatch.setenv("LG_COORDINATOR", "farm::x")
    with pytest.raises(UsageError, match=r'LG_COORDINATOR="farm::x"'):
        open_target("labgrid:board")


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
        return port


def client(*words: str, **more: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "labgrid.remote.client", *words],
        env={**os.environ, **more},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout + done.stderr


@contextmanager
def running(folder: Path, *words: str, ready: str) -> Iterator[subprocess.Popen[str]]:
    """A program of labgrid, once it has written ``ready``."""
    process = subprocess.Popen(
        [sys.executable, "-u", "-m", *words],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        said = []
        while ready not in (line := process.stdout.readline()):
            said.append(line)
            assert line, "".join(said)
        yield process
    finally:
        process.send_signal(signal.SIGKILL)
        process.communicate()


@pytest.mark.slow
def test_labgrids_own_coordinator(sshd, tmp_path, monkeypatch):
    pytest.importorskip("labgrid")
    address = f"127.0.0.1:{free_port()}"
    monkeypatch.setenv("LG_COORDINATOR", address)
    monkeypatch.setenv("DEADBEAT_SSH_CONFIG", str(sshd.config))
    (tmp_path / "resources.yaml").write_text(
        "farm:\n"
        "  NetworkService:\n"
        "    address: 127.0.0.1\n"
        f"    username: {getpass.getuser()}\n"
        f"    port: {sshd.port}\n"
    )
    with pytest.raises(UnreachableError, match=f"coordinator at {address}"):
        open_target("labgrid:board")
    (tmp_path / "coordinator").mkdir()
    with (
        running(
            tmp_path / "coordinator",
            "labgrid.remote.coordinator",
            f"--listen={address}",
            ready="listening on",
        ),
        running(
            tmp_path,
            "labgrid.remote.exporter",
            f"--coordinator={address}",
            "--name=exporter",
            "resources.yaml",
            ready="Exporter ready",
        ),
    ):
        with pytest.raises(UsageError, match="has no place"):
            open_target("labgrid:board")
        while "exporter/farm" not in client("resources"):
            pass  # until the exporter's resource is known
        client("-p", "board", "create")
        client("-p", "empty", "create")
        client("-p", "board", "add-match", "exporter/farm/NetworkService")
        with pytest.raises(TargetError, match="has no NetworkService"):
            open_target("labgrid:empty")
        assert "acquired: None" in client("-p", "empty", "show")

        with open_target("labgrid:board") as target:
            assert target.run(["echo", "x"]).stdout == "x\n"
            assert f"/{getpass.getuser()}" in client("-p", "board", "show")
        assert "acquired: None" in client("-p", "board", "show")

        client("-p", "board", "acquire", LG_USERNAME="somebody")
        with pytest.raises(TargetError, match=r"is held by .*/somebody"):
            open_target("labgrid:board")
        client("-p", "board", "release", LG_USERNAME="somebody")

        code = "import sys; from deadbeat.targets.opening import open_target as o\n"
        code += "t = o('labgrid:board'); print('open', flush=True); sys.stdin.read()"
        with python(code) as owner:
            assert owner.stdout.readline() == "open\n"
            assert "acquired: None" not in client("-p", "board", "show")
            owner.kill()
        while "acquired: None" not in client("-p", "board", "show"):
            pass  # until its keeper has released the place
