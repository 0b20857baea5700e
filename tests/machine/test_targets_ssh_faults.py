"""SSH to machines that are small, full, slow, cut off, or that lie; and this host killed."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from helpers.processes import children, is_alive, python, script, until
from helpers.sshd import Sshd, private_sshd

from deadbeat.base.model.errors import TargetError
from deadbeat.machine.targets import ssh
from deadbeat.machine.targets.ssh import SshTarget

#: In place of ssh: what goes to a target's shell goes to one here, and back through $THROUGH.
SCRIPTED = """#!/bin/sh
[ -z "$SAID" ] || printf '%b' "$SAID" >&2
[ -z "$STATUS" ] || exit "$STATUS"
for last; do :; done
[ -n "$THROUGH" ] || exec sh -c "$last"
exec {python} -c '
import subprocess, sys
given = subprocess.Popen(["sh", "-c", sys.argv[1]], stdout=subprocess.PIPE, start_new_session=True)
subprocess.run(["sh", "-c", sys.argv[2]], stdin=given.stdout)
sys.exit(255)' "$last" "$THROUGH"
"""


def connected(server: Sshd, monkeypatch: pytest.MonkeyPatch) -> SshTarget:
    monkeypatch.setenv("DEADBEAT_SSH_CONFIG", str(server.config))
    return SshTarget(server.word)


@pytest.fixture
def busybox(tmp_path: Path) -> Path:
    """A folder with the applets of busybox, and nothing else."""
    folder = tmp_path / "applets"
    folder.mkdir()
    try:
        subprocess.run(["busybox", "--install", "-s", str(folder)], check=True)
    except FileNotFoundError:
        pytest.skip("there is no busybox here (tools/setup dev installs it)")
    return folder


def test_busybox_alone_is_enough(busybox, tmp_path, monkeypatch):
    (tmp_path / "sshd").mkdir()
    path = f"SetEnv PATH={busybox} SHLVL=1"
    with private_sshd(tmp_path / "sshd", path, shell=f"{busybox}/ash") as server:
        with connected(server, monkeypatch) as target:
            where = target.run(["sh", "-c", "echo $PATH; readlink /proc/$PPID/exe; kill -9 $$"])
            assert where.stdout == f"{busybox}\n{(busybox / 'ash').resolve()}\n"
            assert where.returncode == -9
            with pytest.raises(TargetError, match="no program no-such"):
                target.run(["no-such"])
            source = tmp_path / "a b"
            source.write_bytes(os.urandom(100_000))
            target.put(source, f"{target.folder}/$(x) y")
            target.put(source, f"{target.folder}/$(x) y")
            target.get(f"{target.folder}/$(x) y", tmp_path / "back")
            assert (tmp_path / "back").read_bytes() == source.read_bytes()
            found = target.read_many(["/proc/vers*", "/no"], {"name": "uname"})
            assert found.patterns["/proc/vers*"] == ("/proc/version",)
            assert found.commands["name"].text == "Linux\n"
            process = target.start(["sh", "-c", "echo $$; sleep 600; true"])
            number = int(process.read_line(30) or "")
            left = children(number)
            process.kill()
            assert not any(map(is_alive, (number, *left)))
            folder = Path(target.folder)
        assert not folder.exists()


OWNER = """
import sys
from deadbeat.machine.targets.ssh import SshTarget
target = SshTarget(sys.argv[1])
process = target.start(["sh", "-c", "echo $$; exec sleep 600"])
print(target._connection._master.pid, process.read_line(30), target.folder,
      target._connection._local, flush=True)
sys.stdin.read()
"""


def killed(server: Sshd, monkeypatch: pytest.MonkeyPatch) -> tuple[int, int, Path, Path]:
    """What a process that is killed has: a connection, a command, a folder there and one here."""
    monkeypatch.setenv("DEADBEAT_SSH_CONFIG", str(server.config))
    with python(OWNER, server.word) as owner:
        connection, command, there, here = owner.stdout.readline().split()
        assert is_alive(int(connection))
        assert is_alive(int(command))
        owner.kill()
    return int(connection), int(command), Path(there), Path(here)


def test_nothing_is_left_here_or_there_when_this_process_is_killed(sshd, monkeypatch):
    connection, command, there, here = killed(sshd, monkeypatch)
    until(lambda: not is_alive(connection) and not is_alive(command))
    until(lambda: not there.exists() and not here.exists())
    until(lambda: not sshd.connections())


def test_a_silent_cut_leaves_nothing_once_the_next_one_connects(sshd, monkeypatch):
    """The target does not learn that this host is gone: its sshd stands still."""
    stopped: list[int] = []

    def stop() -> None:
        for number in sshd.connections():
            stopped.extend((number, *children(number)))

    monkeypatch.setenv("DEADBEAT_SSH_CONFIG", str(sshd.config))
    with python(OWNER, sshd.word) as owner:
        master, command, folder, _ = owner.stdout.readline().split()
        stop()
        servers = [each for each in stopped if b"sshd" in command_of(each)]
        for each in servers:
            os.kill(each, signal.SIGSTOP)
        try:
            owner.kill()
            os.kill(int(master), signal.SIGKILL)
            owner.wait()
            assert is_alive(int(command))
            assert Path(folder).exists()
            with connected(sshd, monkeypatch) as target:
                assert target.folder != folder
                until(lambda: not is_alive(int(command)))
                assert not Path(folder).exists()
        finally:
            for each in servers:
                os.kill(each, signal.SIGCONT)


def command_of(process: int) -> bytes:
    return Path(f"/proc/{process}/cmdline").read_bytes()


def test_the_folder_of_another_one_that_lives_is_kept(sshd, monkeypatch):
    with connected(sshd, monkeypatch) as one, connected(sshd, monkeypatch) as two:
        assert one.folder != two.folder
        assert one.run(["test", "-d", two.folder]).returncode == 0
        assert two.run(["test", "-d", one.folder]).returncode == 0


def test_a_folder_whose_keeper_was_killed_is_removed_by_the_next_one(sshd, monkeypatch):
    with connected(sshd, monkeypatch) as target:
        folder = Path(target.folder)
        keeper = int(folder.name.split("-")[3])
        process = target.start(["sh", "-c", "echo $$; exec sleep 600"])
        number = int(process.read_line(30) or "")
        os.kill(keeper, signal.SIGKILL)
        until(lambda: not is_alive(keeper))
        with connected(sshd, monkeypatch):
            assert not folder.exists()
            assert not is_alive(number)


def test_a_full_folder(tmp_path, monkeypatch):
    """No file is there in part, and small things still work."""
    (tmp_path / "small").mkdir()
    (tmp_path / "sshd").mkdir()
    mount = f"mount -t tmpfs -o size=64k none {tmp_path}/small"
    lines = f"SetEnv TMPDIR={tmp_path}/small SHLVL=1"
    source = tmp_path / "source"
    source.write_bytes(bytes(100_000))
    with (
        private_sshd(tmp_path / "sshd", lines, before=(mount,)) as server,
        connected(server, monkeypatch) as target,
    ):
        assert target.folder.startswith(f"{tmp_path}/small/")
        with pytest.raises(TargetError, match=r"cannot be copied.*No space left") as caught:
            target.put(source, f"{target.folder}/file")
        assert "free space there" in caught.value.hint
        assert target.run(["ls", target.folder]).stdout == ""
        target.put(Path("/etc/hostname"), f"{target.folder}/file")
        assert target.read_text(f"{target.folder}/file") == Path("/etc/hostname").read_text()


def test_a_folder_mounted_noexec_is_passed_over(tmp_path, monkeypatch):
    (tmp_path / "small").mkdir()
    (tmp_path / "sshd").mkdir()
    mount = f"mount -t tmpfs -o noexec none {tmp_path}/small"
    lines = f"SetEnv TMPDIR={tmp_path}/small SHLVL=1"
    with (
        private_sshd(tmp_path / "sshd", lines, before=(mount,)) as server,
        connected(server, monkeypatch) as target,
    ):
        assert not target.folder.startswith(str(tmp_path))
        assert target.run(["ls", f"{tmp_path}/small"]).stdout == ""


def test_one_session_too_many(tmp_path, monkeypatch):
    with (
        private_sshd(tmp_path, "MaxSessions 2") as server,
        connected(server, monkeypatch) as target,
    ):
        with target.start(["cat"]):
            with pytest.raises(TargetError, match="refuses one more session") as caught:
                target.run(["true"])
            assert "MaxSessions" in caught.value.hint
        assert target.run(["true"]).returncode == 0


def test_a_shell_that_says_things_before(tmp_path, monkeypatch):
    talk = 'echo Welcome to board; echo Have fun >&2; exec /bin/sh "$@"'
    noisy = script(tmp_path / "noisy", talk)
    (tmp_path / "banner").write_text("Authorised people only\n")
    (tmp_path / "sshd").mkdir()
    banner = f"Banner {tmp_path}/banner"
    with (
        private_sshd(tmp_path / "sshd", banner, shell=noisy) as server,
        connected(server, monkeypatch) as target,
    ):
        done = target.run(["sh", "-c", "echo out; echo err >&2"])
        assert (done.stdout, done.stderr) == ("out\n", "err\n")
        with target.start(["echo", "one"]) as process:
            assert process.read_line(30) == "one"
            assert process.read_line(30) is None
        target.get("/etc/hostname", tmp_path / "name")
        assert (tmp_path / "name").read_bytes() == Path("/etc/hostname").read_bytes()


def test_an_account_that_may_not_log_in(tmp_path, monkeypatch):
    with private_sshd(tmp_path, shell="/bin/false") as server:
        with pytest.raises(TargetError, match="its shell does not do what it is asked") as caught:
            connected(server, monkeypatch)
        assert "POSIX shell" in caught.value.hint


def test_the_program_and_its_shell_are_killed_on_the_target(sshd, monkeypatch):
    with connected(sshd, monkeypatch) as target:
        done = target.run(["sh", "-c", "kill -SEGV $$"])
        assert done.returncode == -signal.SIGSEGV
        with (
            target.start(["sh", "-c", "kill -KILL $PPID"]) as process,
            pytest.raises(TargetError, match="a shell of ours was killed on"),
        ):
            process.read_line(30)
        assert target.run(["echo", "on"]).stdout == "on\n"


def test_what_has_no_end_is_bounded(sshd, monkeypatch, tmp_path):
    monkeypatch.setattr(ssh, "TEXT_BYTES", 1 << 20)
    with connected(sshd, monkeypatch) as target:
        with pytest.raises(TargetError, match="more than 1 MiB"):
            target.read_text("/dev/zero")
        with pytest.raises(TargetError, match="more than 1 MiB"):
            target.run(["sh", "-c", "head -c 2000000 /dev/zero >&2; exec sleep 600"])
        with pytest.raises(TargetError, match="there is no such file"):
            target.get("/dev/zero", tmp_path / "zero")
        with target.start(["yes", "x" * 100]) as process:
            assert process.read_line(30) == "x" * 100
        with (
            pytest.raises(TargetError, match="wrote more than 1 MiB"),
            target.start(["sh", "-c", "head -c 2000000 /dev/zero >&2; exec sleep 600"]) as process,
        ):
            process.read_line(30)
        assert target.run(["true"]).returncode == 0


def test_control_characters_of_a_target_do_not_reach_a_message(sshd, monkeypatch, tmp_path):
    with connected(sshd, monkeypatch) as target:
        with pytest.raises(TargetError) as caught:
            target.put(Path("/etc/hostname"), "/no\x1b[31m/\nsuch")
        assert str(caught.value).isprintable()
        with pytest.raises(TargetError) as caught:
            target.run(["\x1b]0;title\x07"])
        assert str(caught.value).isprintable()


@pytest.fixture
def scripted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Puts an ssh on PATH that does as variables say."""
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "ssh").write_text(SCRIPTED.format(python=sys.executable))
    (folder / "ssh").chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")

    def say(**variables: str) -> None:
        for name in ("SAID", "STATUS", "THROUGH"):
            monkeypatch.setenv(name, variables.get(name.lower(), ""))

    say()
    return say


def test_the_scripted_one_works(scripted):
    with SshTarget("ssh://board") as target:
        assert target.run(["echo", "x"]).stdout == "x\n"


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ("ssh: connect to host board port 22: No route to host\\r\\n", "No route to host"),
        ("\\033[2Jssh: \\007bad\\n", "?[2Jssh: ?bad"),
        ("x" * 5000, "x" * 150),
        ("", "the connection to board was cut as it was made"),
    ],
)
def test_whatever_ssh_says_is_one_printable_line(scripted, said, message):
    scripted(said=said, status="255")
    with pytest.raises(TargetError) as caught:
        SshTarget("ssh://board")
    assert message in caught.value.message
    assert str(caught.value).isprintable()
    assert len(caught.value.message) < 300


@pytest.mark.parametrize(
    "through",
    [
        "sed -u 's/folder .*/folder /'",
        "sed -u 's/folder .*/folder relative/'",
        r"sed -u 's/folder .*/folder \/etc/'",
        r"sed -u 's/folder \(.*\)/folder \1\x1b/'",
        "sed -u 's/folder/nonsense/'",
        "head -c 20",
        "cat /dev/null",
        *("yes", "tr -d '\\n' </dev/zero"),
    ],
)
def test_a_target_that_lies_about_its_folder_or_floods_is_refused(scripted, through):
    scripted(through=through)
    with pytest.raises(TargetError) as caught:
        SshTarget("ssh://board")
    assert str(caught.value).isprintable()


@pytest.mark.parametrize(
    "lengths",
    [
        (0, 60, 390, 460),
        pytest.param((*range(0, 120, 7), *range(120, 480, 13)), marks=pytest.mark.slow),
    ],
    ids=["few", "many"],
)
def test_wherever_a_connection_is_cut_answers_are_whole_or_an_error(scripted, tmp_path, lengths):
    source = tmp_path / "source"
    source.write_bytes(b"0123456789\n" * 30)
    back = tmp_path / "back"
    with SshTarget("ssh://board") as target:
        there = f"{target.folder}/file"
        target.put(source, there)
        ends = {"whole": 0, "cut": 0}
        for length in lengths:
            scripted(through=f"dd bs=1 count={length} 2>/dev/null")
            target._forget()
            back.unlink(missing_ok=True)
            for ask, wanted in (
                (lambda: target.run(["cat", there]).stdout, source.read_text()),
                (lambda: target.read_text(there), source.read_text()),
                (lambda: target.get(there, back) or back.read_text(), source.read_text()),
            ):
                try:
                    assert ask() == wanted
                    ends["whole"] += 1
                except TargetError as error:
                    assert error.hint or error.message
                    assert not back.exists()
                    ends["cut"] += 1
        assert min(ends.values()) > 0


@pytest.mark.parametrize(
    "through", ["sed -u s/0123/0124/", "sed -u 's/^330 /33x /'", "sed -u 's/^330/10/'"]
)
def test_a_file_that_arrives_changed_is_no_file(scripted, tmp_path, through):
    source, back = tmp_path / "source", tmp_path / "back"
    source.write_bytes(b"0123456789\n" * 30)
    with SshTarget("ssh://board") as target:
        target.put(source, f"{target.folder}/file")
        scripted(through=through)
        with pytest.raises(TargetError):
            target.get(f"{target.folder}/file", back)
        assert not back.exists()
        assert sorted(path.name for path in tmp_path.iterdir()) == ["bin", "source"]
