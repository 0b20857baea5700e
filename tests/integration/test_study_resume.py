"""A study that is interrupted or killed loses at most the chunks in flight."""

import os
import signal
import subprocess
from pathlib import Path

import pytest
from helpers.campaigns import started
from helpers.processes import until

WORDS = [
    "sched",
    "study",
    "--processors",
    "4",
    "--tasks",
    "8..16:4",
    "--utilisation",
    "0.6..0.9:0.1",
]
WORDS += ["--utilisations", "randfixedsum:lcm-limit=10000", "--policy", "g-edf,p-edf", "--metrics"]
WORDS += ["--sets", "70", "--no-figures", "--workers", "1", "--name", "s"]


def _start(runs: Path) -> subprocess.Popen[str]:
    return started(*WORDS, "--runs", str(runs), env={**os.environ, "PYTHONUNBUFFERED": "1"})


def _chunks(runs: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in (runs / "s" / "chunks").glob("*.rows")}


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    runs = tmp_path_factory.mktemp("whole")
    process = _start(runs)
    _, talk = process.communicate(timeout=120)
    assert process.returncode == 0, talk
    return _chunks(runs)


# What is said after a signal: test_every_kind, and an interrupt in every kind of run: test_kills.
@pytest.mark.parametrize(
    "how",
    [
        pytest.param(signal.SIGINT, marks=pytest.mark.slow),
        pytest.param(signal.SIGTERM, marks=pytest.mark.slow),
        signal.SIGKILL,
    ],
)
def test_what_was_stored_is_kept_and_the_same_command_continues(
    tmp_path: Path, whole: dict[str, bytes], how: signal.Signals
) -> None:
    process = _start(tmp_path)
    until(lambda: len(list((tmp_path / "s" / "chunks").glob("*.rows"))) >= 3)
    process.send_signal(how)
    _, talk = process.communicate(timeout=60)
    kept = _chunks(tmp_path)
    assert 3 <= len(kept) < len(whole), "it ended before it was interrupted"
    assert kept.items() <= whole.items()
    if how == signal.SIGKILL:
        assert process.returncode == -how
    else:
        assert process.returncode == 128 + how
        assert f"{len(kept)} of {len(whole)} chunks are kept" in talk
        assert "continue with: deadbeat sched study" in talk
    process = _start(tmp_path)
    _, talk = process.communicate(timeout=120)
    assert process.returncode == 0, talk
    assert f"{len(kept)} of {len(whole)} chunks done" in talk
    assert _chunks(tmp_path) == whole
