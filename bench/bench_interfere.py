"""One matrix of the default works: how long it takes, what its control says, and a memory hog."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from time import monotonic
from typing import Any

from common import report

import deadbeat
from deadbeat.kinds.interfere.results import InterfereSummary
from deadbeat.kinds.interfere.sharing import levels


def control(found: InterfereSummary) -> None:
    """Every victim beside threads that sleep; the farthest from 1 is the figure."""
    values = {cell.victim.text: cell.value for cell in found.cells if cell.aggressor is None}
    farthest = max(values.values(), key=lambda value: abs(value - 1))
    more: dict[str, Any] = {"least": min(values.values()), "largest": max(values.values())}
    report("A/A: beside threads that sleep", "0.99 to 1.01", farthest, "ratio", more | values)


def hog(found: InterfereSummary) -> None:
    """The largest copy beside what goes through memory too."""
    copies = [w for w in found.footprints if w.primitive is not None and w.primitive.touches]
    largest = max(copies, key=lambda work: found.footprints[work])
    lost = levels(found).lost
    streams = [w for w in found.footprints if w in copies and found.footprints[w] >= lost > 0]
    cells = [cell for work in streams if (cell := found.cell(work, largest)) and cell.interval]
    worst = max(cells, key=lambda cell: cell.value)
    more = {
        "victim": worst.victim.text,
        "hog": largest.text,
        "interval": worst.interval,
        "found": worst.shows,
    }
    report("a memory hog on a streaming victim", "interval above 1", worst.value, "ratio", more)


def main() -> None:
    """DEADBEAT_MATRIX is the folder of a matrix measured before: how long it took is not known."""
    given = os.environ.get("DEADBEAT_MATRIX")
    with tempfile.TemporaryDirectory() as folder:
        began = monotonic()
        stored = deadbeat.open(given) if given else deadbeat.interfere(runs=Path(folder))
        if not given:
            took = round(monotonic() - began, 1)
            report("interference matrix of 12 x 12 on two cores", "<= 240 s", took, "s")
        control(stored.summary)
        hog(stored.summary)


if __name__ == "__main__":
    main()
