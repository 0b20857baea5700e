"""Truth: issue 47, part 2: `doctor --pid` of processes of this machine, by the command."""

import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from deadbeat.cli.main import main

NAMED = """
import ctypes, time
ctypes.CDLL(None).prctl(15, b"a\\nb) S 1\\x1b", 0, 0, 0)
print(flush=True)
time.sleep(100)
"""


@pytest.fixture
def child() -> Iterator[subprocess.Popen[bytes]]:
    found = subprocess.Popen([sys.executable, "-c", NAMED], stdout=subprocess.PIPE)
    assert found.stdout and found.stdout.readline()
    yield found
    found.kill()
    found.wait()


def test_a_process_is_examined_whatever_its_name(
    child: subprocess.Popen[bytes], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["doctor", "--pid", str(child.pid), "--all"]) == 0
    said = capsys.readouterr().out
    assert said.startswith(f"process {child.pid} (a?b) S 1?) of ")
    assert "process.policies" in said and "0 of 1 threads are real-time" in said
    assert "tasks.time-limit" in said and "virtualisation.quota" in said
    assert "/proc/self" not in said and "kernel.preempt-rt" not in said


def test_its_own_limits_count(
    child: subprocess.Popen[bytes], capsys: pytest.CaptureFixture[str]
) -> None:
    done = subprocess.run(["prlimit", f"--pid={child.pid}", "--rttime=200000"], check=False)
    assert done.returncode == 0
    assert main(["doctor", "--pid", str(child.pid), "--only", "tasks"]) == 0
    said = capsys.readouterr().out
    assert re.search(r"FAIL high +tasks.time-limit +200000 us", said)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--pid", "4194303"), "there is no process 4194303"),
        (("--pid", "0"), "--pid"),
        (("--pid", "1", "--cmdline", __file__), "exclude each other"),
        (("--only", "process"), "name it with --pid"),
    ],
)
def test_what_is_no_process_is_refused(
    capsys: pytest.CaptureFixture[str], words: tuple[str, ...], says: str
) -> None:
    assert main(["doctor", *words]) in (1, 2, 3)
    assert says in capsys.readouterr().err


def test_one_that_has_ended_has_no_threads(capsys: pytest.CaptureFixture[str]) -> None:
    ended = subprocess.Popen(["true"])
    while " Z " not in Path(f"/proc/{ended.pid}/stat").read_text():
        time.sleep(0.01)
    assert main(["doctor", "--pid", str(ended.pid)]) in (1, 2, 3)
    assert f"process {ended.pid} has ended" in capsys.readouterr().err
    ended.wait()
