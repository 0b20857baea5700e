"""SSH itself: what its own client says of connections that fail, are refused, or are cut."""

import socket
import subprocess
from pathlib import Path

import pytest
from helpers.sshd import Sshd

from deadbeat.base.model.errors import TargetError, UsageError
from deadbeat.machine.targets.ssh import SshTarget
from deadbeat.machine.targets.ssh_connection import Address


@pytest.fixture
def config(sshd: Sshd, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A client's configuration of this test alone."""
    copy = tmp_path / "config"
    copy.write_text(sshd.config.read_text())
    monkeypatch.setenv("DEADBEAT_SSH_CONFIG", str(copy))
    return copy


@pytest.mark.parametrize(
    ("word", "address"),
    [
        ("ssh://root@board:2222", Address("board", "root", 2222)),
        ("ssh://Board", Address("Board")),
        ("ssh://board-1.lab/", Address("board-1.lab")),
        ("ssh://[fe80::1%25eth0]:22", Address("fe80::1%eth0", None, 22)),
        ("ssh://[::1]:22", Address("::1", None, 22)),
        ("ssh://me@[fe80::1%eth0]", Address("fe80::1%eth0", "me")),
    ],
)
def test_an_address(word, address):
    assert Address.of(word) == address


@pytest.mark.parametrize(
    "word",
    [
        "board",
        "ssh:board",
        "ssh://",
        "ssh://:22",
        "http://board",
        "ssh://board:x",
        "ssh://board:0",
        "ssh://board:70000",
        "ssh://me:secret@board",
        "ssh://board/tmp",
        "ssh://board?x",
        "ssh://-oProxyCommand=x",
        "ssh://-l@board",
        "ssh://$(touch hit)@board",
        "ssh://me@`x`",
        "ssh://a b@board",
        "ssh://me@bo\nard",
        "ssh://%24(x)@board",
        "ssh://me@board;x",
    ],
)
def test_what_is_no_address_is_refused_before_a_process_starts(word, monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(UsageError, match="is no target"):
        SshTarget(word)


def failed(word: str) -> TargetError:
    with pytest.raises(TargetError) as caught:
        SshTarget(word)
    assert caught.value.hint
    assert "\n" not in str(caught.value)
    return caught.value


def test_an_unknown_host_key_is_refused_whatever_the_configuration_says(sshd, config):
    text = config.read_text().replace(f"{sshd.folder}/known", "/dev/null")
    config.write_text(f"StrictHostKeyChecking no\n{text}")
    error = failed(sshd.word)
    assert error.message == "the host key of 127.0.0.1 is not known here"
    assert "connect once by hand: ssh -l" in error.hint
    assert f"ssh-keyscan -p {sshd.port} 127.0.0.1" in error.hint


def test_a_changed_host_key_is_refused(sshd, config, tmp_path):
    other = tmp_path / "other"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(other)], check=True)
    key = other.with_suffix(".pub").read_text()
    (tmp_path / "known").write_text(f"[127.0.0.1]:{sshd.port} {key}")
    config.write_text(config.read_text().replace(f"{sshd.folder}/known", f"{tmp_path}/known"))
    assert failed(sshd.word).message == "the host key of 127.0.0.1 has changed"


def test_no_permission(sshd, config):
    config.write_text(config.read_text().replace(f"{sshd.folder}/user", f"{sshd.folder}/host"))
    error = failed(sshd.word)
    assert error.message.startswith("127.0.0.1 refuses all logins: ")
    assert "Permission denied (publickey" in error.message


def test_nobody_listens(config):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        error = failed(f"ssh://127.0.0.1:{taken.getsockname()[1]}")
    assert error.message.startswith("127.0.0.1 cannot be connected to: ")
    assert error.message.endswith("Connection refused")


def test_no_such_host(config):
    error = failed("ssh://no-such-host.invalid")
    assert "Could not resolve hostname no-such-host.invalid" in error.message


def test_a_machine_without_ssh(monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")
    assert failed("ssh://board").message == "no program ssh here"


def test_a_cut_connection_is_one_clear_line_and_the_next_call_connects_again(sshd, config):
    with SshTarget(sshd.word) as target:
        folder = target.folder
        with target.start(["cat"]) as process:
            process.write_line("one")
            assert process.read_line(timeout=30) == "one"
            sshd.cut()
            with pytest.raises(TargetError, match=r"127\.0\.0\.1 was cut.*cat has not") as caught:
                process.read_line(timeout=30)
        assert caught.value.hint == "the same command continues where it stopped"
        assert target.run(["echo", "again"]).stdout == "again\n"
        assert target.folder != folder
        assert not Path(folder).exists()
        assert Path(target.folder).is_dir()
