"""Each benchmark of bench/ in its quick form: it runs, and says figures as lines of JSON."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BENCHES = sorted(path.name for path in (ROOT / "bench").glob("bench_*.py"))


@pytest.mark.slow
@pytest.mark.hardware
@pytest.mark.parametrize("name", BENCHES)
def test_a_quick_form_says_figures(name: str) -> None:
    argv = (sys.executable, ROOT / "bench" / name, "--quick")
    done = subprocess.run(argv, capture_output=True, text=True, check=False, timeout=900)
    assert done.returncode == 0, done.stderr
    figures = [json.loads(line) for line in done.stdout.splitlines()]
    assert figures
    for each in figures:
        assert "not_measured" in each or each.keys() >= {"name", "goal", "measured", "unit"}


def test_each_is_named_with_what_it_shows() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text()
    assert [name for name in BENCHES if f"| `{name[6:-3]}` |" not in text] == []
