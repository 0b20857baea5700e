"""Observations 5 and 6: what random task sets show of one machine."""

from __future__ import annotations

from deadbeat import CellFigures, Evidence, all_hold
from deadbeat_papers.claims import claims
from deadbeat_papers.observations.base import Campaigns, PublishedObservation, undecided
from deadbeat_papers.observations.campaigns import CRITICAL_CORES, SHIELDED_CORES
from deadbeat_papers.observations.grid import value

#: Slowdown that `deadbeat selftest` accepts of tasks that share nothing. The campaign's own null
#: sets are no measure here: they are the sets that are judged.
BOUND = 1.02


def decide_5(given: Campaigns) -> list[Evidence]:
    result = given.results[0]
    shielded = [cell for cell in result.cells if cell.critical_cores]
    fitting = [cell for cell in shielded if cell.cores >= SHIELDED_CORES]
    if not fitting:
        because = f"{result.name} has no group with critical cores at M = {SHIELDED_CORES}"
        return undecided(f"{because} (stress --critical-cores)")
    cell = max(fitting, key=lambda one: (one.critical_cores == CRITICAL_CORES, one.cores))
    found = value(cell, "slowdown")
    if found is None:
        return undecided(f"{cell.group} has no task set")
    above = found.above(BOUND)
    contended = cell.value("contended_ratio_real") or 0.0
    if above and contended:
        because = f"slowdown {found} in {cell.group}, but its critical tasks contend with one"
        because += f" another (alpha = {contended:.2f}): run it with --contended-ratio 0"
        return undecided(because)
    return [
        Evidence(
            holds=above,
            figures=f"critical tasks on {cell.critical_cores} of {cell.cores} cores,"
            f" computation on the others: slowdown {found} against each of them alone",
            details=(
                ("smallest slowdown that counts", f"{BOUND:.3f}"),
                ("deadline misses of the critical tasks", _misses(cell)),
                *_without(result.cells, cell),
            ),
        )
    ]


def _misses(cell: CellFigures) -> str:
    ratio, high = cell.miss_ratio.value, cell.miss_ratio.high
    if ratio is None:
        return "not measured"
    return f"{100 * ratio:.2f} %" + (f" (at most {100 * high:.2f} %)" if high is not None else "")


def _without(cells: tuple[CellFigures, ...], shielded: CellFigures) -> tuple[tuple[str, str], ...]:
    """The same draws with contending tasks on all cores, where the campaign holds them."""
    for cell in cells:
        same = cell.cores == shielded.cores and not cell.critical_cores
        found = value(cell, "slowdown") if same else None
        if found is not None:
            return (("slowdown of the same draws without shielding", str(found)),)
    return ()


LEAST_SETS = 30
_QUANTITIES = ("delay_ratio_p50", "delay_ratio_p95", "slowdown_p50", "slowdown_p95")


def decide_6(given: Campaigns) -> list[Evidence]:
    result = given.results[0]
    cells = result.cells
    planned = [cell.task_sets for cell in cells]
    known = [all(cell.value(name) is not None for name in _QUANTITIES) for cell in cells]
    enough: bool | None = True if cells and min(planned) >= LEAST_SETS else None
    return [
        Evidence(
            holds=all_hold([enough, all(known)]),
            figures=f"{sum(planned)} task sets in {len(cells)} distribution"
            f"{'s' if len(cells) != 1 else ''}: {'; '.join(map(_words, cells))}",
            details=tuple(figure for cell in cells for figure in _figures(cell)),
        )
    ]


def _words(cell: CellFigures) -> str:
    return f"{cell.group} slowdown p50 {_text(cell, 'slowdown_p50')}"


def _figures(cell: CellFigures) -> tuple[tuple[str, str], ...]:
    group = cell.group
    return (
        (f"{group}: delay ratio p50, p95", _pair(cell, "delay_ratio")),
        (f"{group}: slowdown p50, p95", _pair(cell, "slowdown")),
        (f"{group}: deadline miss ratio", _text(cell, "deadline_miss_ratio", ".2%")),
        (f"{group}: sets that missed anything", _text(cell, "miss_set_share", ".0%")),
    )


def _pair(cell: CellFigures, metric: str) -> str:
    return f"{_text(cell, f'{metric}_p50')}, {_text(cell, f'{metric}_p95')}"


def _text(cell: CellFigures, column: str, form: str = ".3f") -> str:
    found = cell.value(column)
    return "not measured" if found is None else format(found, form)


OBSERVATIONS = claims(__file__, globals(), PublishedObservation)["observations"]
