"""Truth: whatever happens to a target in the middle of a campaign, finished runs stay.

The same command continues, and nothing is left on the target. ``DEADBEAT_FAULTS=20`` has each fault
so often, as the closing figures of a release do.
"""

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from random import Random

import pytest
from attrs import frozen
from helpers.campaigns import started
from helpers.kills import run_files
from helpers.processes import running
from helpers.sshd import Sshd, private_sshd

FAULTS = int(os.environ.get("DEADBEAT_FAULTS", "1"))
#: In the environment of all that runs on the board.
_TOKEN = "DEADBEAT_BOARD"
_BOARD_MB = 24
#: How long a board takes to answer again, s.
_REBOOT_S = 0.7
_LONGEST_S = 120.0
COMMANDS = {
    "latency": (
        *("latency", "--loads", "idle,50", "--engine", "prober", "--duration", "0.3"),
        *("--repeats", "4", "--no-figures"),
    ),
    "profile": (
        *("contention", "--quick", "--duration", "0.3", "--sets", "1", "--no-figures"),
        *("--calibration", "costs.json"),
    ),
}


@frozen(kw_only=True)
class Board:
    """A machine of this one's own: its files in a small file system, its processes marked."""

    server: Sshd
    files: str
    name: str

    def shell(self, words: str) -> str:
        """What a shell there says."""
        ssh = ("ssh", "-F", str(self.server.config), self.server.word, words)
        done = subprocess.run(ssh, capture_output=True, text=True, check=False, timeout=30)
        return done.stdout

    def processes(self) -> list[int]:
        """All that a login there started."""
        token = f"{_TOKEN}={self.name}".encode()
        return running(lambda entry: token in (entry / "environ").read_bytes().split(b"\0"))

    def kill_programs(self) -> None:
        """Ends what measures there, and nothing else."""
        for number in self.processes():
            with suppress(OSError):
                if Path(f"/proc/{number}/exe").readlink().name.startswith("program-"):
                    os.kill(number, signal.SIGKILL)

    def reboot(self) -> None:
        """All processes end, all files in memory are gone, nobody answers for a while."""
        os.kill(self.server.process, signal.SIGSTOP)
        self.server.cut()
        for number in self.processes():
            with suppress(OSError):
                os.kill(number, signal.SIGKILL)
        time.sleep(_REBOOT_S)
        os.kill(self.server.process, signal.SIGCONT)
        self.shell(f"rm -rf {self.files}/*")

    def fill(self) -> None:
        """No space is left until `empty`."""
        self.shell(f"cat /dev/zero >{self.files}/fill 2>&1")

    def empty(self) -> None:
        self.shell(f"rm -f {self.files}/fill")

    def left(self) -> list[str]:
        """What should not be there any more."""
        names = self.shell(f"ls -A {self.files}").split()
        return [*names, *(_command(number) for number in self.processes())]


def _command(number: int) -> str:
    try:
        words = Path(f"/proc/{number}/cmdline").read_bytes().split(b"\0")
    except OSError:
        return ""
    return f"process {number}: {b' '.join(words).decode(errors='replace')[:200]}"


@contextmanager
def board(folder: Path) -> Iterator[Board]:
    files = folder / "board"
    files.mkdir()
    keys = folder / "sshd"
    keys.mkdir()
    mount = f"mount -t tmpfs -o size={_BOARD_MB}m,mode=1777 none {files}"
    name = f"{os.getpid()}-{time.monotonic_ns()}"
    line = f"SetEnv TMPDIR={files} {_TOKEN}={name} SHLVL=1"
    with private_sshd(keys, line, before=(mount,)) as server:
        yield Board(server=server, files=str(files), name=name)


def start(kind: str, server: Sshd, folder: Path, *more: str) -> subprocess.Popen[str]:
    # What it says fits a pipe: nobody reads while it runs.
    own = {**os.environ, "DEADBEAT_SSH_CONFIG": str(server.config)}
    words = (*COMMANDS[kind], "--target", server.word, *more)
    return started(*words, cwd=folder, env=own, stderr=subprocess.STDOUT)


#: What happens -> what does it, and what ends it.
EVENTS = {
    "cut": (lambda it: it.server.cut(), None),
    "rebooted": (Board.reboot, None),
    "full": (Board.fill, Board.empty),
    "killed": (Board.kill_programs, None),
}


@pytest.fixture(scope="module")
def costs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("costs")
    words = (
        "contention",
        "--calibrate",
        "--pool",
        "quick",
        "--duration",
        "6",
        "--out",
        "costs.json",
    )
    subprocess.run([sys.executable, "-m", "deadbeat", *words], cwd=folder, check=True)
    return folder / "costs.json"


def check(kind: str, event: str, runs: int, after_s: float, folder: Path) -> str:
    """One campaign, something that happens ``after_s`` after the end of so many ``runs`` (or from
    its begin), and the same command again."""
    happen, end = EVENTS[event]
    with board(folder) as it:
        process = start(kind, it.server, folder)
        while process.poll() is None and len(run_files(folder)) < runs:
            time.sleep(0.01)
        try:
            process.wait(after_s)
        except subprocess.TimeoutExpired:
            happen(it)
        else:
            return f"{process.returncode}: it ended before anything happened"
        before = run_files(folder)
        said, _ = process.communicate(timeout=_LONGEST_S)
        if end is not None:
            end(it)
        where = f"{kind}, {event} {after_s:.2f} s after {runs} runs: {process.returncode}\n{said}"
        assert process.returncode in (0, 1, 3), where
        assert "Traceback" not in said and "unexpected" not in said, where
        retry = ("--retry",) if " --retry" in said else ()  # all others were measured
        again = start(kind, it.server, folder, *retry)
        said_again, _ = again.communicate(timeout=_LONGEST_S)
        where += f"\nagain: {said_again}"
        assert again.returncode == 0, where
        assert "have no result" not in said_again, where
        there = run_files(folder)
        lost = [name for name, facts in before.items() if there.get(name) != facts]
        if retry:  # asks for the invalid ones again, too
            invalid = re.findall(r"run (\S+) is invalid", said)
            lost = [name for name in lost if Path(name).stem not in invalid]
        assert lost == [], where
        assert it.left() == [], where
    return f"{process.returncode} {len(before)}"


def draws(kind: str, event: str) -> Iterator[tuple[int, float]]:
    """Moments: a number of finished runs, and seconds."""
    random = Random(f"{kind} {event}")
    for _ in range(FAULTS):
        runs = random.randrange(8)
        yield runs, random.uniform(0.0, 2.0 if runs else 5.0)


@pytest.mark.slow
@pytest.mark.hardware
@pytest.mark.xdist_group("hardware")
@pytest.mark.parametrize("event", EVENTS)
@pytest.mark.parametrize("kind", COMMANDS)
def test_no_finished_run_is_lost(kind, event, costs, tmp_path):
    ends = []
    for number, (runs, after_s) in enumerate(draws(kind, event)):
        folder = tmp_path / str(number)
        folder.mkdir()
        (folder / "costs.json").write_bytes(costs.read_bytes())
        ends.append(check(kind, event, runs, after_s, folder))
        print(f"{runs} + {after_s:.2f} s:", ends[-1], flush=True)
    assert not all("before anything" in each for each in ends)
