"""What a search shows while it runs: task sets that met their deadlines, by utilisation."""

from __future__ import annotations

from collections.abc import Sequence

from attrs import define

from deadbeat.kinds.breakdown.search import SearchResults, Walk
from deadbeat.kinds.breakdown.spec import SearchCell, cell_of, keys, utilisation
from deadbeat.model.results import RunKey
from deadbeat.report.document import CellMap

#: Levels of a curve: eighths of the way from the lowest utilisation to the highest.
_PARTS = 8


@define
class BreakdownSoFar:
    """Reads nothing: the search knows what its runs said."""

    results: SearchResults

    def __call__(self, keys_done: Sequence[RunKey]) -> CellMap:
        spec = self.results.spec
        search, top = spec.breakdown, 2 ** (spec.breakdown.steps + 1)
        levels = sorted({max(2, round(top * k / _PARTS / 2) * 2) for k in range(1, _PARTS)})
        cells: dict[SearchCell, list[Walk]] = {}
        for key in keys(spec):
            cells.setdefault(cell_of(spec, key), []).append(self.results.walk(key))
        curves = [[_share(walks, level) for level in levels] for walks in cells.values()]
        return CellMap(
            title="task sets that met their deadlines so far, of those known at a utilisation U",
            corner="cell \\ U",
            columns=[f"{float(utilisation(search, level)):.2f}" for level in levels],
            rows=list(map(_words, cells)),
            cells=[[f"{yes}/{known}" if known else "·" for yes, known in each] for each in curves],
            strength=[
                [round(4 * (1 - yes / known)) if known else 0 for yes, known in each]
                for each in curves
            ],
        )


def _share(walks: Sequence[Walk], level: int) -> tuple[int, int]:
    """Sets that met their deadlines at ``level`` or above, and sets of which that is known."""
    yes = sum(level <= each.low for each in walks)
    return yes, yes + sum(level >= each.high for each in walks)


def _words(cell: SearchCell) -> str:
    rest = f"{cell.tasks_per_core}/core {cell.priorities}"
    return f"M{cell.cores} ρ{cell.sync_share:g} α{cell.contended_ratio:g} {rest}"
