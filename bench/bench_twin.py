"""How near twins of programs are to their originals, and twins of twins to twins; the original run
once more says how far the host alone moves each figure."""

from __future__ import annotations

import os
from collections import defaultdict
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

from common import asked, report, results
from helpers.programs import PROGRAMS, ROOT, command_of

EXAMPLES = {path.stem: path for path in sorted((ROOT / "examples/program").glob("*.c"))}
NAMES = ("absolute", "conditions", "mqueue", "sections", "suspending")
SECONDS, ROUNDS = "2", 3
#: Figure -> goal in words, as a share, and what is no difference, ns.
BARS = {"period": ("0.1 %", 0.001, 0), "C mean": ("5 % or 20 us", 0.05, 20_000),
        "C max": ("5 % or 20 us", 0.05, 20_000), "section mean": ("5 % or 10 us", 0.05, 10_000),
        "response p50": ("15 % or 50 us", 0.15, 50_000),
        "response p99": ("15 % or 50 us", 0.15, 50_000)}  # fmt: skip


def main() -> None:
    """``bench_twin.py [PROGRAM ...]``: figures of each thread, in medians over rounds."""
    sources = {**EXAMPLES, **{name: PROGRAMS[name] for name in NAMES}}
    quick, words = asked()
    names = words or list(sources)[: 1 if quick else None]
    found: dict[tuple[str, str], list[list[dict[str, Any]]]] = defaultdict(list)
    with TemporaryDirectory() as folder:
        for turn in range(1 if quick else ROUNDS):
            for name in names:
                command = command_of(sources[name], Path(folder))
                first = f"{name}-{turn}"
                results("run", "--set", f"name={first}", "--", *command, SECONDS, cwd=folder)
                again = ("--set", f"twin-of={first}", "--set", f"name={first}-again")
                made = results("run", *again, "--", *command, SECONDS, cwd=folder)
                found["original once more", name].append(made["twin"])
                for what, of in (("twin", first), ("twin of the twin", f"{first}-twin")):
                    made = results("contention", "--programs-from", of, cwd=folder)
                    found[what, name].append(made["twin"])
    load = round(os.getloadavg()[1], 1)
    for what in ("original once more", "twin", "twin of the twin"):
        for figure, (goal, share, near) in BARS.items():
            rows = [
                row
                for (sort, name), rounds in found.items()
                if sort == what
                for row in _medians(name, figure, rounds)
            ]
            off = [
                f"{name}: {b:,.0f} for {a:,.0f}"
                for name, a, b in rows
                if abs(b - a) > max(share * a, near)
            ]
            extra = {"bar": goal, "figures": len(rows), "off": off, "load": load}
            extra["largest_%"] = round(
                max((100 * abs(b / a - 1) for _, a, b in rows), default=0), 2
            )
            met = 100 * (1 - len(off) / max(len(rows), 1))
            report(f"{figure} of the {what} within its bar", "100 %", met, "%", extra)


def _medians(
    name: str, figure: str, rounds: list[list[dict[str, Any]]]
) -> list[tuple[str, float, float]]:
    """Of each thread: name, original, twin."""
    threads = dict.fromkeys(row["thread"] for each in rounds for row in each)
    made = []
    for thread in threads:
        mine = [
            r for each in rounds for r in each if (r["thread"], r["figure"]) == (thread, figure)
        ]
        if mine:
            first, second = (median(row[key] for row in mine) for key in ("original", "twin"))
            made.append((f"{name}, {thread}", first, second))
    return made


if __name__ == "__main__":
    main()
