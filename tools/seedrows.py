"""The page of what the source documents ask, from docs/reference/seeds.toml."""

from __future__ import annotations

import tomllib
from collections import Counter
from collections.abc import Callable
from pathlib import Path

SEEDS_PAGE = Path(__file__).parents[1] / "docs/reference/seeds.md"
HEAD = """# What the source documents ask, row by row

[Sources](../sources.md). Of {rows} rows: {counts}. *here*: works on a machine
that has the hardware; *partly* and *no* say why.
"""


def seeds(table: Callable[[str, list[tuple[str, ...]]], str]) -> str:
    """Every row of the source documents, the command that shows it, and its state."""
    found = tomllib.loads(SEEDS_PAGE.with_suffix(".toml").read_text(encoding="utf-8"))
    rows = [row for each in found.values() for row in each["rows"]]
    states = Counter(state.partition(",")[0].partition(":")[0] for *_, state in rows)
    counts = ", ".join(f"{count} {state}" for state, count in states.items())
    text = HEAD.format(rows=len(rows), counts=counts)
    for each in found.values():
        cells = [
            (place, what, f"`deadbeat {command}`", state)
            for place, what, command, state in each["rows"]
        ]
        text += f"\n## {each['title']}\n\n" + table("place|what|command|state", cells)
        text += "\n"
    return text
