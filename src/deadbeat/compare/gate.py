"""How far two results differ where nothing differs: the A/A gate.

Runs of one result share a session: what the host did in that hour moves all of them, and no test on
the runs alone can tell that from an effect. Repeats of the baseline (A/A) show it. Without them the
gate is guessed from the stretches of time within the two results, and says so.
"""

from __future__ import annotations

import math

import numpy as np
from attrs import evolve, frozen

from deadbeat.compare.pairs import PairedRuns
from deadbeat.compare.words import cell_text
from deadbeat.model.observations import Floats
from deadbeat.stats.intervals import t_quantile

#: One cell in so many may drift so much more than the others that their pool says nothing of it.
_CELLS_APART = 8
#: Stretches of time that two results are cut into, and the runs each needs at least.
STRETCHES, STRETCH_RUNS = 8, 3
_HARDLY = "one repeat hardly tells the scatter of a single cell"


@frozen(kw_only=True)
class Drift:
    """How far the level of another session lies from the mean of the baseline's.

    Attributes:
        own: Standard deviation, from ``degrees`` repeats.
        pooled: The same of a single cell as if all drifted alike; 0: nothing is known.
        cells: Number of cells that share the pool.
    """

    own: float
    degrees: int
    pooled: float = 0.0
    pooled_degrees: int = 1
    cells: int = 1

    def at(self, level: float) -> float:
        """Bound that 1 - ``level`` of comparisons without a difference have all cells below.

        Cells drift by different amounts, and few repeats do not tell which of them are alike. The
        pooled bound (level divided by the number of cells, C. E. Bonferroni) holds where most
        drift alike, and is too low for the few that drift more; the own bound holds for each. Of
        the few in eight that can lie above the pool it is divided by their number alone.
        """
        some = max(1.0, self.cells / _CELLS_APART)
        return max(
            t_quantile(1 - level / some / 2, self.degrees) * self.own,
            t_quantile(1 - level / self.cells / 2, self.pooled_degrees) * self.pooled,
        )

    def alone(self, level: float) -> float:
        """The same bound for this one alone."""
        return evolve(self, cells=1).at(level)


@frozen(kw_only=True)
class Gate:
    """Attributes: ``whole``: over all cells; ``cells``: of each that a repeat has; None of either:
    not known."""

    basis: str
    whole: Drift | None = None
    cells: tuple[Drift | None, ...] = ()


STILL = Drift(own=0.0, degrees=1)


def gate_of(
    sample: PairedRuns, *, results: str, simulated: bool, ungated: bool, alike: bool
) -> Gate:
    """From the repeats of the baseline."""
    many = len(sample.cells)
    if simulated and not sample.repeats:
        basis = "simulated: there is no host that could drift"
        return Gate(basis=basis, whole=STILL, cells=(STILL,) * many)
    if not sample.repeats:
        return _guess(sample, results, ungated=ungated)
    sessions = sample.values[:-1]
    full = [0, *(n for n in range(1, len(sessions)) if sample.planned[n].all())]
    pooled, degrees, whole = 0.0, 1, None
    levels = _levels(sample, sessions[full])
    known = np.isfinite(levels).all(axis=0)
    if len(full) > 1 and known.any():
        whole = Drift(own=_deviation(levels[:, known].mean(axis=1)), degrees=len(full) - 1)
        pooled, degrees = _pooled(levels[:, known])
    cells: list[Drift | None] = []
    for cell in range(many):
        some = [
            n for n in range(len(sessions)) if np.isfinite(sessions[n][sample.cell == cell]).any()
        ]
        own = _levels(sample, sessions[some])[:, cell] if len(some) > 1 else np.array([np.nan])
        if not np.isfinite(own).all() or (alike and whole is None):
            cells.append(None)
            continue
        cells.append(
            Drift(
                own=0.0 if alike and pooled else _deviation(own),
                degrees=len(some) - 1,
                pooled=pooled,
                pooled_degrees=degrees,
                cells=int(known.sum()) if pooled else 1,
            )
        )
    told = _lacking_text(sample)
    names = ", ".join(sample.repeats[n - 1] for n in full[1:])
    if ungated:
        whole, cells = whole or STILL, [drift or STILL for drift in cells]
    if whole is None:
        few = "A/A repeats have too few runs in common with the baseline"
        basis = f"not known over all cells: {told}" if told else few
        return Gate(basis=basis, cells=tuple(cells))
    count = f"{len(full) - 1} repeat{'s' if len(full) > 2 else ''}"
    hardly = "" if alike or len(sessions) > 2 else _HARDLY
    basis = f"A/A: {count} of the baseline ({names})"
    return Gate(
        basis="; ".join(filter(None, [basis, told, hardly])), whole=whole, cells=tuple(cells)
    )


def _guess(sample: PairedRuns, results: str, *, ungated: bool) -> Gate:
    """From stretches of time within the two results: what differs between sessions is not in it."""
    difference = sample.difference
    known = np.isfinite(difference) & np.isfinite(sample.at)
    count = min(STRETCHES, int(known.sum()) // STRETCH_RUNS)
    if count < 3:
        still = STILL if ungated else None
        basis = "not known: too few runs, and no A/A repeat (--aa)"
        return Gate(basis=basis, whole=still, cells=(still,) * len(sample.cells))
    cell = sample.cell[known]
    counts = np.maximum(np.bincount(cell), 1)
    residual = difference[known] - (np.bincount(cell, difference[known]) / counts)[cell]
    ordered = np.array_split(residual[np.argsort(sample.at[known], kind="stable")], count)
    means = np.array([part.mean() for part in ordered])
    runs = float(np.mean([part.var(ddof=1) / len(part) for part in ordered]))
    own = math.sqrt(max(0.0, float(means.var(ddof=1)) - runs))
    drift = Drift(own=own, degrees=count - 1)
    basis = (
        f"guessed from {count} stretches of time within the two {results}: no A/A"
        " repeat was given (--aa), so what differs from one session to the next is not in it"
    )
    return Gate(basis=basis, whole=drift, cells=(drift,) * len(sample.cells))


def _levels(sample: PairedRuns, sessions: Floats) -> Floats:
    """[session, cell] means of the runs that all sessions have; NaN where a cell has none."""
    common = np.isfinite(sessions).all(axis=0)
    cell, many = sample.cell[common], len(sample.cells)
    counts = np.bincount(cell, minlength=many)
    sums = [np.bincount(cell, own[common], minlength=many) for own in sessions]
    return np.where(counts > 0, np.array(sums) / np.maximum(counts, 1), np.nan)


def _deviation(levels: Floats) -> float:
    """Of a further session from the mean of these (normal prediction)."""
    return float(levels.std(ddof=1)) * math.sqrt(1 + 1 / len(levels))


def _pooled(levels: Floats) -> tuple[float, int]:
    """The deviation of a single cell as if all cells drifted alike, and its degrees of freedom.

    What averages out over the cells stays in full in one. The variance of a cell's level is that of
    the mean over the cells and that of a cell beside it, pooled over cells; degrees of freedom
    after F. E. Satterthwaite, Biometrics Bulletin 2, 1946, rounded down.
    """
    sessions, cells = levels.shape
    if cells < 2:
        return 0.0, 1
    many, mean = sessions - 1, levels.mean(axis=1)
    beside = levels - mean[:, None]
    beside = beside - beside.mean(axis=0)
    own = float((beside**2).sum()) / (many * (cells - 1)) * (1 - 1 / cells)
    shared = float(mean.var(ddof=1))
    if not own + shared:
        return 0.0, 1
    degrees = (own + shared) ** 2 / (own**2 / (many * (cells - 1)) + shared**2 / many)
    return math.sqrt((own + shared) * (1 + 1 / sessions)), max(1, math.floor(degrees))


def _lacking_text(sample: PairedRuns) -> str:
    """``aa lacks 4 of 5 cells (cpu:50 prober, ...)``; "" where no repeat lacks any."""
    told = []
    for name, planned in zip(sample.repeats, sample.planned[1:], strict=False):
        lacking = [sample.cells[n] for n in np.flatnonzero(~planned)]
        if lacking:
            some = ", ".join(cell_text(cell) for cell in lacking[:2])
            more = ", ..." if len(lacking) > 2 else ""
            told.append(f"{name} lacks {len(lacking)} of {len(planned)} cells ({some}{more})")
    return "; ".join(told)
