"""Truth: a package of one function, and cases of which one notices every change of it."""

import json
import subprocess
import sys
from pathlib import Path

TOOL = Path(__file__).parents[2] / "tools/mutate"
PACKAGE = "LIMIT = 3\n\n\ndef small(number):\n    return number < LIMIT and number != 7\n"
TESTS = """
import pytest
from tried import small

@pytest.mark.parametrize("number", [2, 3])
def test_small(number):
    assert small(number) == (number == 2)
"""


def test_changes_are_noticed_by_the_cases_that_notice_them(tmp_path: Path) -> None:
    (tmp_path / "tried.py").write_text(PACKAGE)
    (tmp_path / "test_tried.py").write_text(TESTS)
    done = subprocess.run(
        [sys.executable, TOOL, "tried", "test_tried.py", "--out", "found.json"],
        cwd=tmp_path, env={"PYTHONPATH": str(tmp_path)}, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert "5 mutants, 4 caught (digest " in done.stdout, done.stdout + done.stderr
    found = json.loads((tmp_path / "found.json").read_text())
    caught = {key.partition(": ")[2]: len(cases) for key, cases in found["caught"].items()}
    assert caught == {"3 + 1 #1": 1, "Lt to LtE #1": 1, "And to Or #1": 1, "NotEq to Eq #1": 1}
    assert [each.partition(": ")[2] for each in found["survivors"]] == ["7 + 1 #1 (line 5)"]
    assert len(found["cover"]) == 2
