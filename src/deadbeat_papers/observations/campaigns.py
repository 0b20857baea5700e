"""The campaigns that show the observations which one machine can show."""

from __future__ import annotations

#: The paper's Figure 4 shows these four of its sixteen surfaces.
GRID_CORES = (1, 4, 8, 16)
#: Observation 5: up to four cores for critical tasks, at least twelve compute.
CRITICAL_CORES, SHIELDED_CORES = 4, 16


def ask(campaign: str, *, cores: int, quick: bool) -> dict[str, object]:
    """What the campaign of that name (``grid``, ``shielding``, ``random``) asks on a machine of
    ``cores``.

    Args:
        quick: Few task sets on a coarse grid: some minutes, wide intervals.
    """
    name = {"grid": "observe", "shielding": "observe-shielding", "random": "observe-random"}
    return {**_LAYERS[campaign](cores, quick), "name": name[campaign] + "-quick" * quick}


def _grid(cores: int, quick: bool) -> dict[str, object]:
    """The paper's row alone, and its mix."""
    grid = {"mix": "random", "replicas": 6 if quick else 10}
    asked = {"preset": "quick" if quick else "default", "loaded": None, "grid": grid}
    return {**asked, "cores": [count for count in GRID_CORES if count <= cores]}


def _shielding(cores: int, quick: bool) -> dict[str, object]:
    """With shielding and without, on the same sets; rho is drawn.

    Nothing is contended (alpha = 0): otherwise the critical tasks would wait for one another, and
    nobody could tell that from what the computing cores do to them.
    """
    drawn = {
        "contended_ratio": 0,
        "cores": [SHIELDED_CORES],
        "critical_cores": [0, CRITICAL_CORES],
        "sets": 24 if quick else 200,
    }
    return {"mode": "stress", "preset": "quick" if quick else "random", "stress": drawn}


def _random(cores: int, quick: bool) -> dict[str, object]:
    sets = {} if quick else {"stress": {"sets": 1000}}
    return {"mode": "stress", "preset": "quick" if quick else "random", **sets}


_LAYERS = {"grid": _grid, "shielding": _shielding, "random": _random}
