"""Truth: the shell's conventions. Streams closed, full, left; limits; Ctrl-C at any moment."""

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from deadbeat.cli.main import BROKEN_PIPE, TROUBLE, main

LATENCY = ("latency", "--simulated", "--quick", "--no-figures", "--name")
VERBS = [
    ("show", "a"),
    *(
        pytest.param(words, marks=pytest.mark.slow)
        for words in (
            ("list",), ("page", "a", "--no-figures"), ("compare", "a", "z"), ("list", "findings",),
            ("doctor", "--only", "hardening"), ("--version",), ("--help",),
            (*LATENCY, "b", "--fresh"),
        )
    ),
]  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("streams")
    for name in ("a", "z"):
        assert main((*LATENCY, name, "--runs", str(made / "runs"))) == 0
    return made


def shell(folder: Path, line: str, *words: str) -> tuple[int, str, str]:
    """Status, output, errors of a line of the shell, in which ``"$@"`` is the command."""
    done = subprocess.run(
        ["sh", "-c", line, "sh", sys.executable, "-m", "deadbeat", *words],
        cwd=folder, capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip
    assert "unexpected" not in done.stderr and "Traceback" not in done.stderr, done.stderr
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize("words", VERBS, ids=lambda words: words[0])
def test_streams_that_take_nothing(folder: Path, words: tuple[str, ...]) -> None:
    usual = shell(folder, '"$@"', *words)[0]
    assert shell(folder, '"$@" >&-', *words)[0] == usual
    assert shell(folder, '"$@" 2>&- <&-', *words)[:1] == (usual,)
    assert shell(folder, '"$@" 2>/dev/full', *words)[0] == usual
    status, _, said = shell(folder, '"$@" >/dev/full', *words)
    (line,) = [each for each in said.splitlines() if "error" in each]
    assert status == TROUBLE and "cannot write standard output: No space left" in line
    gone = 'exec 3>&1; { "$@"; echo $? >&3; } | :'  # the reader ends at once
    assert shell(folder, f"sleep 9 & {gone}; kill $!", *words)[1].strip() == str(BROKEN_PIPE)


def test_a_folder_that_was_removed_is_named(tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    said = shell(tmp_path, 'cd gone; rmdir ../gone; "$@"', "list")
    assert said[0] == TROUBLE and "current folder was removed" in said[2]


@pytest.mark.parametrize(
    ("limit", "words", "named"),
    [
        ("-f 1", (*LATENCY, "c"), "ulimit -f"),
        pytest.param("-v 200000", (*LATENCY, "d"), "ulimit -v", marks=pytest.mark.slow),
        pytest.param("-n 9", ("doctor",), "ulimit -n", marks=pytest.mark.slow),
    ],
)
def test_a_limit_is_named(tmp_path: Path, limit: str, words: tuple[str, ...], named: str) -> None:
    status, _, said = shell(tmp_path, f'ulimit {limit}; "$@"', *words)
    assert status == TROUBLE and named in said, said


def strike(folder: Path, number: signal.Signals, seconds: float) -> None:
    words = ["env", "--block-signal=INT", sys.executable, "-m", "deadbeat", "show", "a"]
    with subprocess.Popen(
        words, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    ) as process:
        time.sleep(seconds)  # any moment is as good: nothing is waited for
        process.send_signal(number)
        said = process.communicate(timeout=60)[1]
    assert process.returncode in (0, -number, 128 + number)
    assert said in ("", "deadbeat: interrupted\n"), f"{seconds} s: {said}"


@pytest.mark.parametrize("times", [6, pytest.param(60, marks=pytest.mark.slow)])
def test_ctrl_c_at_any_moment_leaves_no_traceback(folder: Path, times: int) -> None:
    moments = random.Random(times)
    for number in (signal.SIGINT, signal.SIGTERM):
        for _ in range(times):
            strike(folder, number, moments.uniform(0, 0.6))


def test_names_that_are_not_utf_8_are_stored_escaped(tmp_path: Path) -> None:
    script = os.fsencode(tmp_path) + b"/\xff.py"
    Path(os.fsdecode(script)).write_text("pass\n")
    line = f"\"$@\" run --runs runs --name u -- {sys.executable} '{os.fsdecode(script)}'"
    assert "no job was found" in shell(tmp_path, line)[2]
    status, _, said = shell(tmp_path, '"$@"', "show", "u", "--json")
    assert status == 0, said


def test_the_plain_locale_gets_plain_characters(folder: Path) -> None:
    for words in (("show", "a"), ("show", "a", "--json"), ("doctor", "--all"), ("--help",)):
        status, out, err = shell(folder, 'LC_ALL=C "$@"', *words)
        assert status == 0 and out.isascii() and err.isascii() and "?" not in out[:60]
    assert " us" in shell(folder, 'LC_ALL=C "$@"', "show", "a")[1]
    assert " µs" in shell(folder, 'LC_ALL=C.UTF-8 "$@"', "show", "a")[1]
