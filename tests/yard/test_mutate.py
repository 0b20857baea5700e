"""Truth: a package of one function, and cases of which one notices every change of it."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

TOOLS = Path(__file__).parents[2] / "tools"
PACKAGE = "LIMIT = 3\n\n\ndef small(number):\n    return number < LIMIT and number != 7\n"
TESTS = """
import pytest
from tried import small

@pytest.mark.parametrize("number", [2, 3])
def test_small(number):
    assert small(number) == (number == 2)
"""


class Tree:
    """A clone with nothing but the tool, and ``tried`` with its tests."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "tools").mkdir()
        for name in ("mutate.py", "houses.py"):
            (folder / "tools" / name).write_text((TOOLS / name).read_text())
        (folder / "tests/quality").mkdir(parents=True)
        (folder / "tried.py").write_text(PACKAGE)
        (folder / "test_tried.py").write_text(TESTS)

    def mutate(self, *options: str, status: int = 0) -> str:
        done = subprocess.run(
            [sys.executable, "tools/mutate.py", "tried", "test_tried.py", *options],
            cwd=self.folder,
            env={"PYTHONPATH": str(self.folder), "PYTHONDONTWRITEBYTECODE": "1"},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == status, done.stdout + done.stderr
        return done.stdout

    def rows(self, kind: str) -> dict[str, list[str]]:
        text = (self.folder / f"build/mutate/tried.{kind}.jsonl").read_text()
        found = {"cases": "calls", "mutants": "caught"}[kind]
        rows = [json.loads(line) for line in text.splitlines()]
        return {each["name"].rpartition(": ")[2]: each[found] for each in rows}


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    return Tree(tmp_path)


def test_changes_are_noticed_by_the_cases_that_notice_them(tree: Tree) -> None:
    said = tree.mutate()
    assert "5 mutants, 4 caught (digest " in said
    assert "survives  tried:small(): 7 + 1 #1 (line 5)" in said
    assert "2 cases catch as many" in said
    assert {name: len(cases) for name, cases in tree.rows("mutants").items()} == {
        "3 + 1 #1": 1,
        "Lt to LtE #1": 1,
        "And to Or #1": 1,
        "NotEq to Eq #1": 1,
        "7 + 1 #1": 0,
    }


def test_what_is_known_is_not_tried_again(tree: Tree) -> None:
    assert len(re.findall("^(?:caught|missed) ", tree.mutate("--most", "2"), re.M)) == 2
    assert len(re.findall("^(?:caught|missed) ", tree.mutate(), re.M)) == 3
    assert "caught tried" not in tree.mutate()
    (tree.folder / "tried.py").write_text(PACKAGE.replace("7", "8"))
    assert "caught tried:small(): Lt to LtE" in tree.mutate()


def test_no_time_is_said_and_more_time_goes_on(tree: Tree) -> None:
    assert "2 cases are not asked yet" in tree.mutate("--seconds", "0", status=3)
    assert "5 mutants" in tree.mutate("--seconds", "60")


def test_a_kept_set_is_held_against_fewer_tests(tree: Tree) -> None:
    tree.mutate("--keep")
    kept = (tree.folder / "tests/quality/caught/tried.txt").read_text().splitlines()
    assert kept[1] == "# 4 of 5 mutants caught"
    assert "caught tried:small(): Lt to LtE #1" in kept
    tree.mutate("--again")
    (tree.folder / "test_tried.py").write_text(TESTS.replace("[2, 3]", "[2]"))
    said = tree.mutate("--again", status=1)
    assert "no more caught  tried:small(): Lt to LtE #1" in said
