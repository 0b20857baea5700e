"""Truth: an uninterrupted campaign. Real processes, killed, interrupted, out of disk, unread."""

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from helpers.campaigns import TINY_OPTIONS, deadbeat, essence, started
from helpers.processes import until

from deadbeat.tasksets.store.campaign import CampaignStore


def outcome(folder: Path) -> dict[str, Any]:
    return essence(CampaignStore.open(folder / "runs" / "tiny"))


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder = tmp_path_factory.mktemp("whole")
    assert deadbeat(*TINY_OPTIONS, cwd=folder).returncode == 0
    return outcome(folder)


@pytest.mark.parametrize("after", [0, 4, 7])
@pytest.mark.slow
def test_kill_9_loses_no_finished_run(tmp_path: Path, after: int, uninterrupted: dict[str, Any]):
    killed = deadbeat(*TINY_OPTIONS, "--executor", f"fake:kill-after={after}", cwd=tmp_path)
    assert killed.returncode == -signal.SIGKILL
    assert len(CampaignStore.open(tmp_path / "runs/tiny").committed()) == after
    assert deadbeat(*TINY_OPTIONS, cwd=tmp_path).returncode == 0
    assert outcome(tmp_path) == uninterrupted
    assert list(tmp_path.rglob("*.part")) == []


def test_a_folder_without_permission(tmp_path: Path) -> None:
    if os.geteuid() == 0:
        pytest.skip("root may write everywhere")
    tmp_path.chmod(0o555)
    done = deadbeat(*TINY_OPTIONS, cwd=tmp_path)
    tmp_path.chmod(0o755)
    assert done.returncode == 3
    assert "Permission denied (" in done.stderr.splitlines()[-1]


def test_two_at_once_do_not_mix(tmp_path: Path, uninterrupted: dict[str, Any]) -> None:
    """The second of two equal commands is refused, or continues what the first left: never both."""
    command = [sys.executable, "-m", "deadbeat", *TINY_OPTIONS]
    both = [
        subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        for _ in range(2)
    ]
    errors = [process.communicate(timeout=120)[1].decode() for process in both]
    assert all("Traceback" not in text for text in errors)
    assert sorted(process.returncode for process in both)[0] == 0
    assert outcome(tmp_path) == uninterrupted


def test_the_answer_is_text_where_letters_are_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONIOENCODING", "ascii")
    monkeypatch.setenv("PYTHONUTF8", "0")
    done = deadbeat(*TINY_OPTIONS, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "runs/tiny/report.html" in done.stdout


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
WORDS += [
    "--utilisations",
    "randfixedsum:lcm-limit=10000",
    "--policy",
    "g-edf,p-edf",
    "--set",
    "metrics=true",
]
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
