#!/usr/bin/env python3
"""Writes what the functions of checks and knobs read, as their test cases show.

    tools/reads.py [--check]

src/deadbeat/machine/settings/reads.json    check or knob -> files, patterns, command:NAME

What stands there already keeps its place as long as a case asks for it. What is read of every
machine is added only where nothing else is asked for.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / each) for each in ("src", "tests", "tests/machine")]

from helpers.learning import learned  # noqa: E402  after the path

from deadbeat.machine.settings.facts import ALWAYS  # noqa: E402  after the path

FILE = ROOT / "src/deadbeat/machine/settings/reads.json"


def _row(name: str, reads: list[str], before: list[str]) -> str:
    kept = [each for each in before if each in reads]
    fresh = [each for each in reads if each not in kept]
    some = [*kept, *(each for each in fresh if each not in ALWAYS)]
    return f"  {json.dumps(name)}: {json.dumps(some or fresh)}"


def text(before: dict[str, dict[str, list[str]]]) -> str:
    parts = [
        f' "{kind}": {{\n'
        + ",\n".join(_row(n, r, before.get(kind, {}).get(n, [])) for n, r in own.items())
        + "\n }"
        for kind, own in learned().items()
    ]
    return "{\n" + ",\n".join(parts) + "\n}\n"


def main() -> int:
    now = FILE.read_text(encoding="utf-8") if FILE.exists() else "{}"
    new = text(json.loads(now))
    if "--check" in sys.argv[1:]:
        return int(new != now)
    FILE.write_text(new, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
