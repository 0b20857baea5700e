"""What a terminal shows of a campaign on one screen: answer, map, and what to do next."""

from __future__ import annotations

import shlex

from deadbeat.kinds.contention import facts
from deadbeat.kinds.contention.facts import grid_of, levels, listed_prices
from deadbeat.kinds.contention.grids import at_places, axis_of, cores_of, milli
from deadbeat.kinds.contention.headline import headline, slows
from deadbeat.model.figures import CellFigures
from deadbeat.model.results import Summary
from deadbeat.report.document import CellMap

#: From which slowdown on a cell is drawn stronger.
_STEPS = (1.1, 1.25, 1.5)


def short_answer(summary: Summary) -> tuple[str, ...]:
    """What stands above the picture: above prices the dearest one; above a map all of it."""
    lines = headline(summary)
    return lines[:1] if listed_prices(summary) else (*lines, *facts.about(summary))


def below_prices(summary: Summary) -> tuple[str, ...]:
    """What stands below the list of prices, where that is the picture."""
    if not listed_prices(summary):
        return ()
    return (*headline(summary)[1:], *facts.about(summary))


def slowdown_map(summary: Summary) -> CellMap | None:
    """Slowdown of the M with the largest one, by rho (rows) and alpha (columns); None: no point has
    an answer. Only what lies surely beyond the noise has a block, a point that misses has a ``+``.
    """
    own = grid_of(summary)
    points = levels(own.cells)[0].of(own.cells)
    known = [point for point in points if point.slowdown.value is not None]
    if not known:
        return None
    cores = facts.most(known, "slowdown_mean").cores
    shares, ratios = axis_of(own, "sync_share"), axis_of(own, "contended_ratio")
    floor = facts.noise_floor(summary).share
    places = at_places(points, cores)
    cells = [[places.get((milli(share), milli(ratio))) for ratio in ratios] for share in shares]
    every = cores_of(own)
    missing = (
        "; +: certainly more misses than alone"
        if any(point.misses for point in places.values())
        else ""
    )
    of = f" (the worst of M = {', '.join(map(str, every))})" if len(every) > 1 else ""
    return CellMap(
        title=(
            f"slowdown with M = {cores} cores{of}; ρ: share of synchronisation, α: of it on shared"
            f" objects{missing}"
        ),
        corner="ρ \\ α",
        columns=[f"{ratio:g}" for ratio in ratios],
        rows=[f"{share:g}" for share in shares],
        cells=[[_text(cell) for cell in line] for line in cells],
        strength=[[_strength(cell, floor) for cell in line] for line in cells],
    )


def _text(cell: CellFigures | None) -> str:
    value = cell and cell.slowdown.value
    return "?" if cell is None or value is None else f"{value:.2f}" + "+" * cell.misses


def _strength(cell: CellFigures | None, floor: float | None) -> int:
    return strength_of(cell.slowdown.value or 0.0) if cell and slows(cell, floor) else 0


def strength_of(slowdown: float) -> int:
    """How strong the cell of a slowdown beyond the noise is drawn, 1 to 4."""
    return 1 + sum(slowdown >= step for step in _STEPS)


def next_steps(summary: Summary) -> list[tuple[str, str]]:
    """What to do next, the best first."""
    verb = "stress" if summary.mode == "stress" else "profile"
    name = shlex.quote(facts.campaign_name(summary))
    if any(label.lower() == "simulated" for label in facts.labels(summary)):
        return [(f"deadbeat {verb} --quick", "measure this machine")]
    steps = []
    if summary.meta.get("failed"):
        steps.append((f"deadbeat {verb} --retry", "measure again what has no result"))
    if summary.meta.get("causes"):
        steps.append((f"deadbeat why {name}", "why the worst jobs were late"))
    elif facts.platform(summary).get("kind") == "hardware":
        steps.append((f"deadbeat {verb} --quick --causes", "find out who had the core or the lock"))
    again = f"deadbeat {verb} --programs-from {name}"
    return [*steps, (again, "the same programs on another kernel")]
