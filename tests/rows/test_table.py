"""The table of rows is whole: each names a test that there is, and the page counts what it has."""

import re
import subprocess
import sys
from collections import Counter
from datetime import date

from helpers.seed_rows import ROOT, SOURCES

STATES = ("works", "needs ", "out of reach: ", "never run")
ROWS = [(part["tests"], row) for part in SOURCES.values() for row in part["rows"]]


def test_every_row_has_a_state_that_its_test_saw() -> None:
    for _, (*row, test, state, day) in ROWS:
        assert state.startswith(STATES), row
        assert (state != "never run") == bool(day) <= bool(test), row
        assert not day or date.fromisoformat(day) <= date.today(), row


def test_the_tests_are_those_of_the_rows() -> None:
    asked = (sys.executable, "-m", "pytest", "--collect-only", "-q", "tests/rows")
    found = subprocess.run(asked, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    here = {line for line in found.splitlines() if "::" in line and "test_table.py" not in line}
    assert here == {f"{file}::{row[3]}" for file, row in ROWS if row[3]}


def test_the_page_counts_what_it_has() -> None:
    page = (ROOT / "docs/reference/seeds.md").read_text(encoding="utf-8")
    states = [
        line.split(" | ")[-2] for line in page.splitlines() if re.match(r"\| (?!place)", line)
    ]
    counted = Counter(state.split(":")[0].split(",")[0].split(" ")[0] for state in states)
    said = re.search(r"Of (\d+) rows: ([^.]*)\.", page)
    assert said and int(said[1]) == len(ROWS) == counted.total()
    words = dict(reversed(each.split(" ", 1)) for each in said[2].split(", "))
    assert {state.split()[0]: int(number) for state, number in words.items()} == counted
