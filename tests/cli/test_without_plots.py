"""What works without the packages that draw: everything but pictures, and one line says so.

The packages are blocked in a process of its own: nothing that was imported before is found there.
"""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from helpers.answers import answer_of

BLOCKED = """
import io, json, sys
from contextlib import redirect_stderr, redirect_stdout
sys.modules.update(matplotlib=None)
from deadbeat.cli.main import main
for line in sys.stdin.read().splitlines():
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        status = main(line.split())
    print(json.dumps([status, out.getvalue(), err.getvalue()]))
"""
SMALL = "--simulated --loads idle --duration 1s --repeats 2"


def run(folder: Path, *commands: str) -> list[tuple[str, str]]:
    """What each of ``commands`` wrote to stdout and stderr, one after the other in one process."""
    argv = [sys.executable, "-c", BLOCKED]
    done = subprocess.run(
        argv, cwd=folder, input="\n".join(commands), capture_output=True, text=True, check=True
    )
    told = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(told) == len(commands)
    assert all(status in (0, 1) and "error" not in err for status, _, err in told), told
    return [(out, err) for _, out, err in told]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("without")


def test_latency_is_measured_and_told_and_one_line_says_what_is_lacking(folder: Path) -> None:
    latency = f"latency {SMALL} --fresh --figures"
    *both, shown, compared = run(
        folder, latency, latency, "show latency", "compare latency latency-2 --figures"
    )
    for place, (out, err) in zip(("latency", "latency-2"), both, strict=True):
        lines = [line for line in err.splitlines() if "not drawn" in line]
        assert lines == [
            "deadbeat: figures are not drawn without matplotlib: pip install matplotlib"
        ]
        assert out
        page = (folder / "runs" / place / "report.html").read_text()
        assert "const plotlyReady" in page and len(page) < 1_000_000
        assert not (folder / "runs" / place / "figures").exists()
    assert shown[0] and compared[0]
    assert "picture:" not in compared[0]


@pytest.mark.slow
@pytest.mark.parametrize("words", ["contention --quick", "load --quick", "breakdown --quick"])
def test_other_kinds_are_measured(folder: Path, words: str) -> None:
    ((out, err),) = run(folder, f"{words} --simulated --figures")
    assert out
    assert err.count("not drawn") == 1


@pytest.mark.slow
def test_the_machine_and_the_lab_need_no_pictures(folder: Path) -> None:
    checks, lines, lab = run(folder, "doctor --json", "doctor", "list kernels --json")
    assert answer_of(checks[0])["checks"] and answer_of(lab[0])
    assert "not drawn" not in lines[1]
