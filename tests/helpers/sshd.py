"""A private sshd on a loopback port, with keys and a configuration of its own, and a client's."""

import fcntl
import getpass
import os
import shutil
import socket
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from attrs import frozen

from helpers.processes import children

SSHD = shutil.which("sshd", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/local/sbin")
#: Where a root's sshd wants to chroot to. Debian makes it with the service, of another mode.
_PRIVSEP, _OURS = Path("/run/sshd"), 0o711


@frozen(kw_only=True)
class Sshd:
    """A server that runs.

    Attributes:
        word: What ``--target`` takes.
        config: The client's configuration, for ``DEADBEAT_SSH_CONFIG``.
        process: Number of the server; a child of it serves each connection.
    """

    word: str
    config: Path
    folder: Path
    port: int
    process: int

    def connections(self) -> list[int]:
        """Processes that serve a connection: children of the server."""
        return children(self.process)

    def cut(self) -> None:
        """Ends every connection as a crash of the server would."""
        for number in self.connections():
            for each in (number, *children(number)):
                with suppress(OSError):  # it may end meanwhile
                    if b"sshd" in Path(f"/proc/{each}/cmdline").read_bytes():
                        os.kill(each, 9)


@contextmanager
def private_sshd(
    folder: Path, *lines: str, shell: str | None = None, before: Sequence[str] = ()
) -> Iterator[Sshd]:
    """Runs a server as this user, who alone may log in.

    Args:
        folder: Empty and private to this test.
        lines: More of sshd_config.
        shell: Login shell in place of the user's own; needs a mount namespace, so root.
        before: Commands of a shell in that namespace, before the server starts.
    """
    if SSHD is None:
        pytest.skip("there is no sshd here (tools/setup dev installs it)")
    for name in ("host", "user"):
        subprocess.run(
            ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(folder / name)], check=True
        )
    (folder / "authorized").write_text((folder / "user.pub").read_text())
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    (folder / "sshd_config").write_text(
        "\n".join(
            (
                *lines,
                f"Port {port}",
                "ListenAddress 127.0.0.1",
                f"HostKey {folder}/host",
                f"AuthorizedKeysFile {folder}/authorized",
                f"PidFile {folder}/pid",
                "PermitRootLogin prohibit-password",
                "StrictModes no",
                "UsePAM no",
                # Bash then leaves the user's ~/.bashrc alone, which may be slow or say something.
                "SetEnv SHLVL=1",
                "",
            )
        )
    )
    (folder / "known").write_text(f"[127.0.0.1]:{port} {(folder / 'host.pub').read_text()}")
    (folder / "config").write_text(
        f"IdentityFile {folder}/user\nIdentitiesOnly yes\nIdentityAgent none\n"
        f"UserKnownHostsFile {folder}/known\nGlobalKnownHostsFile none\n"
    )
    server: tuple[str, ...] = (SSHD, "-D", "-e", "-f", str(folder / "sshd_config"))
    if shell is not None or before:
        server = _with_shell(folder, server, shell, before)
    with _privilege_separation():
        log = (folder / "log").open("wb")
        process = subprocess.Popen(server, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        try:
            _wait_for(port, process, folder)
            yield Sshd(
                word=f"ssh://{getpass.getuser()}@127.0.0.1:{port}",
                config=folder / "config",
                folder=folder,
                port=port,
                process=process.pid,
            )
        finally:
            for number in children(process.pid):
                with suppress(ProcessLookupError):
                    os.kill(number, 15)
            process.terminate()
            process.wait()
            log.close()


@contextmanager
def _privilege_separation() -> Iterator[None]:
    """The folder, which is there while one of several test processes needs it."""
    if os.getuid() != 0:
        yield
        return
    while True:
        with suppress(FileExistsError):
            _PRIVSEP.mkdir(mode=_OURS)
        try:
            held = os.open(_PRIVSEP, os.O_RDONLY | os.O_DIRECTORY)
        except FileNotFoundError:
            continue
        fcntl.flock(held, fcntl.LOCK_SH)
        if _PRIVSEP.exists() and os.path.samestat(os.fstat(held), _PRIVSEP.stat()):
            break
        os.close(held)
    try:
        yield
    finally:
        with suppress(OSError):
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.fstat(held).st_mode & 0o777 == _OURS:
                _PRIVSEP.rmdir()
        os.close(held)


def _with_shell(
    folder: Path, server: tuple[str, ...], shell: str | None, before: Sequence[str]
) -> tuple[str, ...]:
    unshare = ("unshare", "--mount", "--propagation", "private")
    if subprocess.run([*unshare, "true"], capture_output=True, check=False).returncode != 0:
        pytest.skip("mount namespaces are not to be had here")
    users = Path("/etc/passwd").read_text().splitlines()
    name = getpass.getuser()
    if shell is not None:
        users = [
            ":".join((*each.split(":")[:-1], shell)) if each.startswith(f"{name}:") else each
            for each in users
        ]
    (folder / "passwd").write_text("\n".join(users) + "\n")
    words = ['mount --bind "$0" /etc/passwd', *before, 'exec "$@"']
    return (*unshare, "sh", "-ec", "\n".join(words), str(folder / "passwd"), *server)


def _wait_for(port: int, process: subprocess.Popen[bytes], folder: Path) -> None:
    """Until it takes connections, which the kernel tells, not the clock."""
    while process.poll() is None:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
    raise AssertionError(f"sshd ended: {(folder / 'log').read_text()}")
