#!/usr/bin/env python3
"""The page of what the source documents ask, from docs/reference/seeds.toml.

tools/seedrows.py [TESTS...] runs the tests of the rows (tests/rows, or these of them) and writes
what they saw, and the day, into the file and the page.
"""

from __future__ import annotations

import datetime
import json
import os
import subprocess
import sys
import tempfile
import tomllib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SEEDS_PAGE = ROOT / "docs/reference/seeds.md"
SEEDS = SEEDS_PAGE.with_suffix(".toml")
#: What a state begins with.
STATES = ("works", "needs", "out of reach", "never run", "fails")
HEAD = """# What the source documents ask, row by row

[Sources](../sources.md). Of {rows} rows: {counts}. A test in `tests/rows` runs the command of a row
and reads its answer: on a made-up, replayed or lab machine where *needs* names what a measurement
takes. `tools/seedrows.py` writes state and day.
"""


def seeds(table: Callable[[str, Iterable[tuple[str, ...]]], str]) -> str:
    """Every row of the source documents, the command that shows it, its test and its state."""
    found = tomllib.loads(SEEDS.read_text(encoding="utf-8"))
    states = Counter(state_of(row[4]) for each in found.values() for row in each["rows"])
    counts = ", ".join(f"{states[state]} {state}" for state in STATES if states[state])
    text = HEAD.format(rows=states.total(), counts=counts)
    for each in found.values():
        cells = [
            (place, what, f"`deadbeat {command}`", test and f"`{test}`", state, day)
            for place, what, command, test, state, day in each["rows"]
        ]
        text += f"\n## {each['title']}\n\n`{each['tests']}`\n\n"
        text += table("place|what|command|test|state|seen", cells) + "\n"
    return text


def state_of(text: str) -> str:
    """What a state begins with, which is one of `STATES`."""
    (found,) = (each for each in STATES if text.partition(":")[0].startswith(each))
    return found


def renewed(lines: Iterator[str], seen: Mapping[str, str], day: str) -> Iterator[str]:
    """The lines of seeds.toml with what the tests saw: node of a test -> state."""
    tests = ""
    for line in lines:
        if line.startswith("tests = "):
            tests = json.loads(line.partition("= ")[2])
        if not line.startswith('  ["'):
            yield line
            continue
        place, what, command, test, state, last = json.loads(line.strip().rstrip(","))
        if not test:
            state, last = "never run", ""
        elif found := seen.get(f"{Path(tests).name}::{test}"):
            state, last = found, day
        row = [place, what, command, test, state, last]
        yield f"  {json.dumps(row, ensure_ascii=False)},\n"


def main(*tests: str) -> int:
    """Exit status of the tests."""
    with tempfile.TemporaryDirectory() as folder:
        argv = [sys.executable, "-m", "pytest", "-q", "-n", "2", "--dist", "loadgroup"]
        ran = subprocess.run(
            [*argv, *(tests or ["tests/rows"])],
            cwd=ROOT,
            env={**os.environ, "DEADBEAT_ROWS": folder},
            check=False,
        )
        kept = [json.loads(path.read_text(encoding="utf-8")) for path in Path(folder).iterdir()]
    seen = {each["test"]: each["state"] for each in kept}
    with SEEDS.open(encoding="utf-8") as file:
        text = "".join(renewed(file, seen, datetime.date.today().isoformat()))
    SEEDS.write_text(text, encoding="utf-8")
    subprocess.run([sys.executable, "tools/docs.py"], cwd=ROOT, check=True)
    return ran.returncode


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
