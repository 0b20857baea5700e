"""How near a derived task set is to what programs of known truth say they did."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from common import asked, deadbeat, report
from helpers.programs import PROGRAMS, command_of, truth_in
from helpers.truth import Difference, differences

SECONDS = "5"


def main() -> None:
    """``bench_derive.py [blind] [busy] [PROGRAM ...]``; blind: programs do not read the CPU clock;
    busy: two loops that never sleep run beside."""
    quick, words = asked()
    blind = tuple(word for word in words if word == "blind")
    every = list(PROGRAMS)[: 2 if quick else None]
    names = [word for word in words if word not in ("blind", "busy")] or every
    rows = defaultdict(list)
    with TemporaryDirectory() as folder, ExitStack() as held:
        for _ in range(2 if "busy" in words else 0):
            loop = held.enter_context(subprocess.Popen((sys.executable, "-c", "while True: pass")))
            held.callback(loop.kill)
        for name in names:
            for row in _differences(name, Path(folder), blind):
                figure = row.figure.split(" of ")[0].split(" at ")[0]
                rows[figure].append((name, row))
    for figure, found in rows.items():
        off = [f"{name}: {row}" for name, row in found if not row.met]
        share = 100 * (1 - len(off) / len(found))
        largest = max((_off(row) for _, row in found), default=0.0)
        extra: Mapping[str, Any] = {"figures": len(found), "largest_off_%": largest, "off": off}
        report(f"{figure} of programs of known truth within its bar", "100 %", share, "%", extra)


def _off(row: Difference) -> float:
    """In percent of what is wanted; 0 where that is no number."""
    numbers = isinstance(row.wanted, int | float) and isinstance(row.found, int | float)
    return round(100 * abs(row.found / row.wanted - 1), 3) if numbers and row.wanted else 0.0


def _differences(name: str, folder: Path, words: tuple[str, ...]) -> Iterator[Difference]:
    command = (*command_of(PROGRAMS[name], folder), SECONDS, *words)
    done = deadbeat("run", "--json", "--", *command, cwd=folder)
    yield from differences(truth_in(done.stderr), json.loads(done.stdout)["results"])


if __name__ == "__main__":
    main()
