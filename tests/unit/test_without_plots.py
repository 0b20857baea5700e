"""What works without matplotlib: everything but figures as files, and one line says so.

It is blocked in a process of its own: nothing that was imported before is found there.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from helpers.answers import answer_of

BLOCKED = """
import sys
sys.modules.update(matplotlib=None)
from deadbeat.cli.main import main
sys.exit(main(sys.argv[1:]))
"""
SMALL = ("--simulated", "--loads", "idle", "--duration", "1s", "--repeats", "2")


def run(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    argv = [sys.executable, "-c", BLOCKED, *words]
    done = subprocess.run(argv, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode in (0, 1), done.stderr
    assert "error" not in done.stderr
    return done


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("without")


def test_latency_is_measured_and_told_and_one_line_says_what_is_lacking(folder: Path) -> None:
    for place in ("latency", "latency-2"):
        done = run(folder, "latency", *SMALL, "--fresh")
        lines = [line for line in done.stderr.splitlines() if "not drawn" in line]
        assert lines == [
            "deadbeat: figures are not drawn without matplotlib: pip install matplotlib"
        ]
        assert done.stdout
        page = (folder / "runs" / place / "report.html").read_text()
        assert "const plotlyReady" in page and len(page) < 1_000_000
        assert not (folder / "runs" / place / "figures").exists()
    assert run(folder, "show", "latency").stdout
    assert run(folder, "compare", "latency", "latency-2").stdout
    assert "picture:" not in run(folder, "plot", "preemption", "latency", "latency-2").stdout


@pytest.mark.slow
@pytest.mark.parametrize("words", ["profile --quick", "load --quick", "breakdown --quick"])
def test_other_kinds_are_measured(folder: Path, words: str) -> None:
    done = run(folder, *words.split(), "--simulated")
    assert done.stdout
    assert done.stderr.count("not drawn") == 1


def test_the_machine_and_the_lab_need_no_pictures(folder: Path) -> None:
    done = run(folder, "doctor", "--json")
    assert answer_of(done.stdout)["checks"]
    assert "not drawn" not in done.stderr
