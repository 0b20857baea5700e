"""How far two campaigns differ on this machine when nothing differs: the A/A gate.

Runs of one campaign share a session: what the host did in that hour moves all of them, and no test
on the runs alone can tell that from an effect. Repeats of the baseline (A/A) show it. Without them
the gate is guessed from the stretches of time within the two campaigns, and says so.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
from attrs import evolve, frozen

from deadbeat.compare.sides import Cell, Floats, Pairs, Side, common, log_witness_shift, pair_up
from deadbeat.compare.vocabulary import CAMPAIGNS, Vocabulary
from deadbeat.stats.bootstrap import t_quantile

#: Stretches of time that two campaigns are cut into, and the runs each needs at least.
STRETCHES, STRETCH_RUNS = 8, 3
_Z95 = 1.959963984540054
#: One cell in so many may drift so much more than the others that their pool says nothing of it.
#: With more of them the pool is the wider: simulated for 3 to 24 cells of which 1 to all drift
#: 10 or 1000 times as much as the rest, the bound at a level is exceeded at most at that level.
_CELLS_APART = 8


@frozen(kw_only=True)
class Drift:
    """How far sessions that differ in nothing move a single cell apart.

    Attributes:
        own: Standard deviation of the difference of two sessions, from this cell alone.
        degrees: Of freedom of ``own``: repeats that have the cell.
        pooled: The same from all cells, as if they drifted alike; 0: no repeat has all of them.
        pooled_degrees: Of freedom of ``pooled``.
        cells: Number of cells.
        least: What single runs make of it: the bound is never less.
    """

    own: float
    degrees: int
    pooled: float
    pooled_degrees: int
    cells: int
    least: float

    def at(self, level: float) -> float:
        """Bound that 1 - ``level`` of comparisons without a difference have all cells below.

        Cells drift by different amounts, and few repeats do not tell which of them are alike. The
        pooled bound (level divided by the number of cells, C. E. Bonferroni) holds where most
        drift alike, and is too low for the few that drift more; the own bound holds for each. Of
        the few in eight that can lie above the pool it is divided by their number alone.
        """
        some = max(1.0, self.cells / _CELLS_APART)
        return self._bound(own=level / some, pooled=level / self.cells)

    def alone(self, level: float) -> float:
        """The same bound for this cell alone, whatever the others do."""
        return self._bound(own=level, pooled=level)

    def _bound(self, *, own: float, pooled: float) -> float:
        return max(
            self.least,
            t_quantile(1 - own / 2, self.degrees) * self.own,
            t_quantile(1 - pooled / 2, self.pooled_degrees) * self.pooled,
        )


@frozen(kw_only=True)
class Gate:
    """How far two sessions differ where nothing differs, over all cells and in each.

    Attributes:
        error: Standard deviation of the difference of two sessions, in the scale of the
            differences (logarithm, or difference of miss ratios).
        degrees: Of freedom of ``error``.
        least: The bound is never less; infinite: no difference can be told from the host's. None:
            nothing is known, too few runs.
        basis: One line: what it rests on.
        cells: Of each cell that a repeat has; None: cells are judged as all together are.
    """

    basis: str
    error: float = 0.0
    degrees: int = 1
    least: float | None = 0.0
    cells: Mapping[Cell, Drift] | None = None

    def at(self, level: float) -> float | None:
        """Bound that 1 - ``level`` of comparisons without a difference stay below over all cells;
        None: not known."""
        if self.least is None:
            return None
        return max(self.least, t_quantile(1 - level / 2, self.degrees) * self.error)

    @property
    def size(self) -> float | None:
        """The bound of 95 %."""
        return self.at(0.05)


def gate_of(
    baseline: Side,
    other: Side,
    repeats: Sequence[Side],
    metric: str,
    *,
    margin: float = math.inf,
    same_machine: bool = True,
    simulated: bool = False,
    words: Vocabulary = CAMPAIGNS,
) -> Gate:
    """The gate for ``metric``: from ``repeats`` of the baseline where there are any.

    Args:
        margin: Minimum effect, as a logarithm: a witness that differs by more rules out any
            verdict on delay ratios that rests on the two campaigns alone.
        same_machine: Then a witness that differs is a state of the host, and moves every delay
            ratio by as much; between machines it is a part of what is compared.
        simulated: No side ran on a machine, so that only single runs scatter.
        words: For what is compared.
    """
    if repeats:
        cells = pair_up(baseline, other, metric).cells
        return gate_from_repeats(baseline, repeats, metric, cells=cells, words=words)
    if simulated:
        least = _Z95 * _noise(pair_up(baseline, other, metric))
        return Gate(least=least, basis="simulated: there is no host that could drift")
    gate = gate_from_within(pair_up(baseline, other, metric), words=words)
    shift = log_witness_shift(baseline, other) if same_machine else None
    if metric != "delay_ratio" or gate.least is None or not shift:
        return gate
    told = f"pure computation differs by {math.expm1(shift):+.2%}"
    if abs(shift) > margin:
        return Gate(
            least=math.inf,
            basis=f"not known: {told}, more than the minimum effect: another state of the host, in"
            " which delay ratios can differ by any amount",
        )
    return Gate(least=gate.least + abs(shift), basis=f"{gate.basis}; and {told}")


def gate_from_repeats(
    baseline: Side,
    repeats: Sequence[Side],
    metric: str,
    *,
    cells: Sequence[Cell] = (),
    words: Vocabulary = CAMPAIGNS,
) -> Gate:
    """Prediction bound of the difference of two further campaigns that differ in nothing.

    With m campaigns of standard deviation s, the next two differ by less than
    t(0.975, m - 1) s sqrt(2) in 95 % of cases (normal prediction interval); never less than what
    the scatter of single runs makes of it.

    Args:
        cells: Those compared: where cells have gates of their own, a repeat that lacks one of
            them says nothing on all together, and a cell that no repeat has is not known.
    """
    if not words.cautious:
        return _over_all(baseline, repeats, metric, words)
    pairs = {repeat.name: pair_up(baseline, repeat, metric) for repeat in repeats}
    lacking = {name: [c for c in cells if c not in pair.cells] for name, pair in pairs.items()}
    full = [repeat for repeat in repeats if not lacking[repeat.name]]
    told = _lacking_text(lacking, len(cells))
    own = _drifts(list(pairs.values()), [pairs[repeat.name] for repeat in full], cells)
    if not full:
        return Gate(least=None, cells=own, basis=f"not known over all cells: {told}")
    found = _over_all(baseline, full, metric, words, cells)
    hardly = "one repeat hardly tells the scatter of a single cell" if len(repeats) == 1 else ""
    basis = "; ".join(filter(None, [found.basis, told, hardly]))
    return evolve(found, basis=basis, cells=own)


def _over_all(
    baseline: Side,
    repeats: Sequence[Side],
    metric: str,
    words: Vocabulary,
    cells: Sequence[Cell] = (),
) -> Gate:
    sides = common([baseline, *repeats])
    pairs = [pair_up(sides[0], repeat, metric) for repeat in sides[1:]]
    few = any(len(pair.difference) < 2 or set(cells) - set(pair.cells) for pair in pairs)
    if few:
        return Gate(least=None, basis="A/A repeats have too few runs in common with the baseline")
    # The baseline itself is the origin: its own deviation from the mean of all is in the spread.
    levels = np.array([0.0, *(float((p.weights * p.difference).sum()) for p in pairs)])
    floor = math.sqrt(float(np.mean([_noise(pair) ** 2 for pair in pairs])))
    names = ", ".join(side.name for side in repeats)
    many = f"{len(repeats)} repeat{'s' if len(repeats) != 1 else ''}"
    return Gate(
        error=float(levels.std(ddof=1)) * math.sqrt(2),
        degrees=len(levels) - 1,
        least=_Z95 * floor,
        basis=f"A/A: {many} of the baseline ({names}), {len(sides[0].runs)} {words.units} each",
    )


def _lacking_text(lacking: Mapping[str, Sequence[Cell]], cells: int) -> str:
    """``aa lacks 4 of 5 cells (cpu:50 prober, ...)``; "" where no repeat lacks any."""
    return "; ".join(
        f"{name} lacks {len(some)} of {cells} cells"
        f" ({', '.join(cell.group for cell in some[:2])}{', ...' if len(some) > 2 else ''})"
        for name, some in lacking.items()
        if some
    )


def _drifts(
    pairs: Sequence[Pairs], full: Sequence[Pairs], cells: Sequence[Cell]
) -> dict[Cell, Drift]:
    """Of every cell that a repeat has; those of ``full`` make the pool."""
    pooled, degrees = _pooled(full, cells) if full and len(cells) > 1 else (0.0, 1)
    found = {}
    for cell in cells:
        runs = [_runs(pair, cell) for pair in pairs if cell in pair.cells]
        if not runs:
            continue
        levels = np.array([0.0, *(float(values.mean()) for values in runs)])
        within = [float(values.var(ddof=1)) / len(values) for values in runs if len(values) > 1]
        found[cell] = Drift(
            own=float(levels.std(ddof=1)) * math.sqrt(2),
            degrees=len(runs),
            pooled=pooled,
            pooled_degrees=degrees,
            cells=len(cells),
            least=_Z95 * math.sqrt(float(np.mean(within))) if within else 0.0,
        )
    return found


def _pooled(pairs: Sequence[Pairs], cells: Sequence[Cell]) -> tuple[float, int]:
    """Standard deviation of the difference of two sessions in a cell, as if all drifted alike.

    A session moves cells in different ways: what averages out over all of them stays in full in
    one. The variance of a cell's level is that of the mean over the cells and that of a cell beside
    it, pooled over cells; degrees of freedom after F. E. Satterthwaite, Biometrics Bulletin 2,
    1946, rounded down.
    """
    levels = np.array(
        [
            [0.0] * len(cells),
            *([float(_runs(pair, cell).mean()) for cell in cells] for pair in pairs),
        ]
    )
    many = len(levels) - 1
    mean = levels.mean(axis=1)
    beside = levels - mean[:, None]
    beside = beside - beside.mean(axis=0)
    own = float((beside**2).sum()) / (many * (len(cells) - 1)) * (1 - 1 / len(cells))
    shared = float(mean.var(ddof=1))
    if not own + shared:
        return 0.0, 1
    degrees = (own + shared) ** 2 / (own**2 / (many * (len(cells) - 1)) + shared**2 / many)
    return math.sqrt(2 * (own + shared)), max(1, math.floor(degrees))


def _runs(pairs: Pairs, cell: Cell) -> Floats:
    return np.asarray(pairs.difference[pairs.cell == pairs.cells.index(cell)], dtype=np.float64)


def gate_from_within(pairs: Pairs, *, words: Vocabulary = CAMPAIGNS) -> Gate:
    """From stretches of time within the two results: what they differ beyond single runs."""
    several = np.bincount(pairs.cell, minlength=len(pairs.cells))[pairs.cell] > 1
    if not several.any():
        return Gate(least=None, basis="not known: one program a cell, and no A/A repeat (--aa)")
    residual = residuals(pairs)
    known = ~np.isnan(pairs.at_ns) & several
    count = min(STRETCHES, int(known.sum()) // STRETCH_RUNS)
    if count < 3:
        return Gate(least=None, basis="not known: too few runs, and no A/A repeat (--aa)")
    ordered = residual[known][np.argsort(pairs.at_ns[known], kind="stable")]
    stretches = np.array_split(ordered, count)
    means = np.array([part.mean() for part in stretches])
    runs = float(np.mean([1 / len(part) for part in stretches]))
    scatter = float(np.mean([part.var(ddof=1) for part in stretches if len(part) > 1]))
    drift = max(0.0, float(means.var(ddof=1)) - scatter * runs)
    size = math.hypot(t_quantile(0.975, count - 1) * math.sqrt(drift), _Z95 * _noise(pairs))
    return Gate(
        least=size,
        basis=f"guessed from {count} stretches of time within the two {words.results}: no A/A"
        " repeat was given (--aa), so what differs from one session to the next is not in it",
    )


def residuals(pairs: Pairs) -> Floats:
    """Differences less the mean of their cell, lengthened by sqrt(n / (n - 1)) for that mean.

    0 where a cell has one pair alone: it does not tell its scatter.
    """
    counts = np.bincount(pairs.cell, minlength=len(pairs.cells))
    sums = np.bincount(pairs.cell, weights=pairs.difference, minlength=len(pairs.cells))
    left = pairs.difference - (sums / counts)[pairs.cell]
    n = counts[pairs.cell]
    return np.asarray(left * np.sqrt(n / np.maximum(n - 1, 1)), dtype=np.float64)


def _noise(pairs: Pairs) -> float:
    """Standard error of the mean over the cells that the scatter within cells makes.

    A pair that is alone in its cell is taken to scatter as the others do; 0 where all are.
    """
    square, weights = residuals(pairs) ** 2, pairs.weights
    alone = np.bincount(pairs.cell, minlength=len(pairs.cells))[pairs.cell] < 2
    if alone.any() and not alone.all():
        square[alone] = square[~alone].mean()
    return math.sqrt(float((weights**2 * square).sum()))
