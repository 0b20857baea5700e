"""One connection of the OpenSSH client to a target, over which every command goes.

The first command of the connection is its keeper (``ssh_keeper.sh``). The user's configuration,
agent and jump hosts count; host keys are checked in any case. Nothing is sent while a command runs
but what the command is sent: a keep-alive comes after `SILENCE_S` without a word of the target.
"""

from __future__ import annotations

import os
import re
import secrets
import shlex
import shutil
import tempfile
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from hashlib import sha256
from importlib.resources import files
from pathlib import Path
from urllib.parse import unquote, urlsplit

from attrs import frozen

from deadbeat.base.model.errors import TargetError, UnreachableError, UsageError
from deadbeat.base.model.words import shown
from deadbeat.machine.targets.keeper import DONE
from deadbeat.machine.targets.local import HostKeeper, LocalProcess

#: Names a file of ssh's configuration to be used in place of the user's.
CONFIGURATION = "DEADBEAT_SSH_CONFIG"
#: A dead connection is found after one to two of them. A set that takes longer meets a keep-alive.
SILENCE_S = 300
#: Patience with the connection, a login, and an answer of the keeper, s.
_CONNECT_S, _LOGIN_S, ANSWER_S = 20, 60.0, 20.0
_AGAIN = "the same command continues where it stopped"
#: Exit status of an ssh that failed itself; any other one is the remote shell's.
_SSHS_OWN = 255
#: Options of the connection. The keys of hosts are checked whatever the user's configuration says.
_OPTIONS = {
    "BatchMode": "yes",
    "StrictHostKeyChecking": "yes",
    "ConnectTimeout": str(_CONNECT_S),
    "ServerAliveInterval": str(SILENCE_S),
    "ServerAliveCountMax": "1",
    "ControlMaster": "yes",
    "ControlPersist": "no",
    "LogLevel": "ERROR",
    "RequestTTY": "no",
    "RemoteCommand": "none",
    "PermitLocalCommand": "no",
    "ForwardAgent": "no",
    "ForwardX11": "no",
    "ClearAllForwardings": "yes",
}
#: A command never makes a connection of its own, and needs no configuration.
_SHARED = ("ssh", "-F", "none", "-T", "-o", "BatchMode=yes", "-o", "ProxyCommand=false")
#: Longest quotation of what was said, in characters.
_SAID = 200
#: Folders of earlier connections that one connection removes.
_OTHERS = 100
#: What a login may write before the first answer.
_NOISE_BYTES = 1 << 20
_USER = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._+-]*\$?")
_HOST = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]*|[0-9A-Fa-f:.]+(%[A-Za-z0-9._-]+)?")
#: What a path of Unix sockets holds, without what ssh puts behind it while it makes one.
_SOCKET_BYTES = 107 - 18
#: If deadbeat is killed: the connection ends with its keeper, or, where it no longer answers, so.
_AFTER = """
for try in 1 2 3 4 5 6 7 8 9 10; do [ -S "$0/s" ] || break; sleep 0.5; done
grep -q -F -e "$0/s" "/proc/$1/cmdline" 2>/dev/null && kill -KILL "$1"
rm -rf -- "$0"
"""


@frozen
class Address:
    """Where a target is.

    Attributes:
        host: A name, an address or an alias of ssh's configuration.
        user, port: None: by ssh's configuration.
    """

    host: str
    user: str | None = None
    port: int | None = None

    @classmethod
    def of(cls, word: str) -> Address:
        """Parse ``ssh://[user@]host[:port]``. UsageError when it is no such address."""

        def wrong(why: str) -> UsageError:
            return UsageError(f"{shown(word)} is no target: {why}", "write ssh://user@host:port")

        if not word.isprintable() or " " in word:
            raise wrong("it has characters that no address has")
        try:
            parts = urlsplit(word)
            host, port = parts.hostname or "", parts.port
        except ValueError as error:
            raise wrong(str(error)) from error
        named = parts.netloc.rpartition("@")[2]
        if host and not named.startswith("["):
            host = named.partition(":")[0]  # an alias keeps its capitals
        host = host.replace("%25", "%")  # of a zone, as in a URL
        if parts.scheme != "ssh" or not host:
            raise wrong("the host is missing")
        if parts.path not in ("", "/") or parts.query or parts.fragment or parts.password:
            raise wrong("it has more than a user, a host and a port")
        user = None if parts.username is None else unquote(parts.username)
        if not _HOST.fullmatch(host) or (user is not None and not _USER.fullmatch(user)):
            raise wrong("the name of its user or host has other characters than names have")
        if port == 0:
            raise wrong("ports begin with 1")
        return cls(host, user, port)

    def words(self) -> tuple[str, ...]:
        """Words for ssh."""
        user = () if self.user is None else ("-l", self.user)
        port = () if self.port is None else ("-p", str(self.port))
        return (*user, *port, "--", self.host)

    def by_hand(self) -> str:
        """The command to type."""
        return " ".join(word for word in ("ssh", *self.words()) if word != "--")


@cache
def script(name: str) -> str:
    """A shell script of this package, without its comments."""
    lines = files(__package__).joinpath(name).read_text(encoding="ascii").splitlines()
    return "\n".join(line.strip() for line in lines if not line.lstrip().startswith("#"))


def quoted(argv: Sequence[str]) -> str:
    """Words of a POSIX shell, which gives exactly ``argv``.
    Raises TargetError: a word no command can have."""
    if any("\0" in word for word in argv):
        raise TargetError("a word of a command has a NUL character, which no command can have")
    return " ".join(map(shlex.quote, argv))


def plain(text: str) -> str:
    """The last line of what a target said, as a message can have it."""
    last = (text.strip().splitlines() or [""])[-1]
    return "".join(c if c.isprintable() else "?" for c in last)[:_SAID]


def after(mark: str, process: LocalProcess, timeout: float) -> str | None:
    """The rest of the next line with ``mark``; None: there is none. What a login writes is passed
    over.

    Raises:
        TargetError: It does not come in time, or not within 1 MiB.
    """
    deadline, passed = time.monotonic() + timeout, 0
    while passed < _NOISE_BYTES:
        line = process.read_line(max(0.0, deadline - time.monotonic()))
        if line is None:
            return None
        _, found, rest = line.partition(f"{mark} ")
        if found:
            return rest
        passed += len(line) + 1
    raise TargetError("it says much, but not what it is asked for")


class Connection:
    """Connects to ``address``.

    Args:
        replacing: Folder of the connection that this one follows; removed, with what runs for it.

    Attributes:
        folder: The private folder on the target.

    Raises:
        TargetError: It cannot be connected to, or there is no folder to work in.
    """

    def __init__(self, address: Address, *, replacing: str = "") -> None:
        self.address = address
        self._mark = f"deadbeat{secrets.token_hex(8)}"
        self._local = _socket_folder()
        self._keeper: HostKeeper | None = None
        self._cut = False
        self._asking = threading.Lock()
        path = os.environ.get(CONFIGURATION)
        options = [word for each in _OPTIONS.items() for word in ("-o", "=".join(each))]
        self._control = f"ControlPath={str(self._local / 's').replace('%', '%%')}"
        # This process among all of all machines: ``MACHINE.PROCESS.START``.
        words = (self._mark, f"{_here()}.{os.getpid()}.{_start(os.getpid())}", secrets.token_hex(4))
        remote = quoted(("exec", "sh", "-c", script("ssh_keeper.sh"), "deadbeat-keeper", *words))
        configuration = () if path is None else ("-F", path)
        try:
            self._master = LocalProcess(
                ("ssh", *configuration, *options, "-o", self._control, *address.words(), remote),
                shown=("the connection",),
                apart=True,
                limit=_NOISE_BYTES,
            )
        except TargetError as error:
            shutil.rmtree(self._local, ignore_errors=True)
            hint = "install OpenSSH's client (Debian: apt-get install openssh-client)"
            raise TargetError(error.message, hint) from error
        try:
            self._keeper = HostKeeper(_AFTER, str(self._local), str(self._master.pid))
            self.folder = self._opened(words[-1], replacing)
        except BaseException:
            self.close()
            raise

    @property
    def alive(self) -> bool:
        """Whether it is not known to be cut."""
        return not self._cut and self._master.running

    def session(self, words: Sequence[str]) -> tuple[str, ...]:
        """The command that runs ``ssh_run.sh`` with ``words`` on the target."""
        name = f"deadbeat-run:{self.folder}"
        remote = quoted(("exec", "sh", "-c", script("ssh_run.sh"), name, *words))
        return (*_SHARED, "-o", self._control, "--", "target", remote)

    def ask(self, what: str, timeout: float = ANSWER_S) -> bool:
        """Has the keeper do ``what``; whether it has. The connection is cut where it does not."""
        with self._asking, suppress(TargetError):
            if self.alive:
                self._master.write_line(what)
                if after(self._mark, self._master, timeout) == what:
                    return True
        self._cut = True
        return False

    def lost(self, what: str, said: str) -> TargetError:
        """The error of a command with an unknown end.

        Args:
            what: What is known of it.
            said: What the ssh that ran it said.
        """
        host = self.address.host
        if self.alive and self.ask("ping"):
            if "refused" in said or "request failed" in said:
                return TargetError(
                    f"{host} refuses one more session: {plain(said)}",
                    "raise MaxSessions in its sshd_config",
                )
            return TargetError(f"a shell of ours was killed on {host}: {what}", plain(said))
        why = plain(self._master.stderr())
        why = f" ({why})" if why else ""
        return UnreachableError(f"the connection to {host} was cut{why}: {what}", _AGAIN)

    def close(self) -> None:
        """Has the keeper end and remove all, and ends the connection. Safe to call again."""
        if self.alive:
            self.ask(DONE)
        if self._master.running and not self._cut:
            with suppress(TargetError):
                self._master.close(ANSWER_S)
        self._master.kill()
        self._cut = True
        shutil.rmtree(self._local, ignore_errors=True)
        if self._keeper is not None:
            self._keeper.call_off()

    def _opened(self, random: str, replacing: str) -> str:
        """The folder, once the keeper has made it and what others left is removed."""
        others = [replacing] if replacing else []
        word = rest = ""
        try:
            while (answer := after(self._mark, self._master, _LOGIN_S)) is not None:
                word, _, rest = answer.partition(" ")
                if word != "other" or len(others) > _OTHERS:
                    break
                owner, _, folder = rest.partition(" ")
                if _has_ended(owner):
                    others.append(folder)
        except TargetError as error:
            raise self._refusal(plain(error.message)) from error
        if word not in ("", "folder"):
            raise self._refusal(f"it answers {plain(answer or '')}")
        if answer is None:
            raise self._refusal("")
        self._check_folder(rest, random)
        for folder in filter(str.isprintable, others):
            self.ask(f"end {folder}")
        return rest

    def _check_folder(self, folder: str, random: str) -> None:
        """TargetError where it is none that the keeper can have made."""
        if not folder:
            raise TargetError(
                f"{self.address.host} has no folder to work in",
                "one of TMPDIR, /tmp, /dev/shm, /var/tmp and the home must be writable, have"
                " space, and not be mounted noexec",
            )
        ours = folder.startswith("/") and folder.endswith(f"-{random}")
        if not (ours and folder.isprintable()):
            raise TargetError(f"{self.address.host} answers with no folder: {shown(folder)}")

    def _refusal(self, otherwise: str) -> TargetError:
        """Why it was not connected."""
        status = None
        with suppress(TargetError):
            status = self._master.close(1.0).returncode
        said = self._master.stderr()
        host, by_hand, last = self.address.host, self.address.by_hand(), plain(said) or otherwise
        port = f" -p {self.address.port}" if self.address.port else ""
        if "HOST IDENTIFICATION HAS CHANGED" in said:
            return TargetError(
                f"the host key of {host} has changed",
                "a new installation, or a machine in between? If you know: remove the old key with"
                f" ssh-keygen -R, then connect once by hand: {by_hand}",
            )
        if "Host key verification failed" in said or "host key is known for" in said:
            return TargetError(
                f"the host key of {host} is not known here",
                f"connect once by hand: {by_hand}; or, if you trust the network: ssh-keyscan{port}"
                f" {host} >> ~/.ssh/known_hosts",
            )
        if "Permission denied" in said:
            return TargetError(
                f"{host} refuses all logins: {last}",
                f"a key without a password prompt is needed (ssh-copy-id, ssh-agent): does"
                f" {by_hand} true work?",
            )
        if not last and status == _SSHS_OWN:
            return UnreachableError(f"the connection to {host} was cut as it was made", _AGAIN)
        if not last:
            return TargetError(
                f"{host} lets us in, but its shell does not do what it is asked",
                f"the login shell must be a POSIX shell: does {by_hand} 'exec sh -c true' work?",
            )
        return UnreachableError(
            f"{host} cannot be connected to: {last}",
            f"is it on, and does sshd listen there? Try: {by_hand} true",
        )


def _socket_folder() -> Path:
    """A new private folder with a path short enough for a socket in it."""
    for place in (None, "/tmp", "/dev/shm"):
        try:
            folder = Path(tempfile.mkdtemp(prefix="deadbeat-mux-", dir=place))
        except OSError:
            continue
        if len(os.fsencode(folder / "s")) <= _SOCKET_BYTES:
            return folder
        folder.rmdir()
    raise TargetError("no temporary folder for the connection's socket", "is /tmp writable?")


@cache
def _here() -> str:
    """This boot of this machine, and its PID namespace."""
    boot = Path("/proc/sys/kernel/random/boot_id")
    known = f"{boot.read_text() if boot.exists() else os.uname().nodename}"
    with suppress(OSError):
        known += str(Path("/proc/self/ns/pid").stat().st_ino)
    return sha256(known.encode()).hexdigest()[:8]


def _start(process: int) -> str:
    """When a process started, in ticks from the boot on; "" where it has ended."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[19]
    except (OSError, IndexError):
        return ""


def _has_ended(owner: str) -> bool:
    """Whether the process of this machine that `_owner` named is gone."""
    here, _, rest = owner.partition(".")
    process, _, start = rest.partition(".")
    return here == _here() and process.isdecimal() and _start(int(process)) != start
