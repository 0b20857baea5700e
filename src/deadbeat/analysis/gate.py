"""How far two campaigns differ on this machine when nothing differs: the A/A gate.

Runs of one campaign share a session: what the host did in that hour moves all of them, and no test
on the runs alone can tell that from an effect. Repeats of the baseline (A/A) show it. Without them
the gate is guessed from the stretches of time within the two campaigns, and says so.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from attrs import frozen

from deadbeat.analysis.bootstrap import t_quantile
from deadbeat.analysis.sides import Cell, Floats, Pairs, Side, common, log_yardstick_shift, pair_up
from deadbeat.analysis.vocabulary import CAMPAIGNS, Vocabulary

#: Stretches of time that two campaigns are cut into, and the runs each needs at least.
STRETCHES, STRETCH_RUNS = 8, 3
_Z95 = 1.959963984540054


@frozen(kw_only=True)
class Gate:
    """Bound that 95 % of comparisons without a difference stay below.

    Attributes:
        size: In the scale of the differences (logarithm, or difference of miss ratios); None: not
            known, too few runs; infinite: no difference can be told from the host's.
        basis: One line: what it rests on.
        cell: The same of a single cell, any of them; None: as ``size``.
    """

    size: float | None
    basis: str
    cell: float | None = None


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
        margin: Minimum effect, as a logarithm: a yardstick that differs by more rules out any
            verdict on delay ratios that rests on the two campaigns alone.
        same_machine: Then a yardstick that differs is a state of the host, and moves every delay
            ratio by as much; between machines it is a part of what is compared.
        simulated: No side ran on a machine, so that only single runs scatter.
        words: For what is compared.
    """
    if repeats:
        return gate_from_repeats(baseline, repeats, metric, words=words)
    if simulated:
        size = _Z95 * _noise(pair_up(baseline, other, metric))
        return Gate(size=size, basis="simulated: there is no host that could drift")
    gate = gate_from_within(pair_up(baseline, other, metric), words=words)
    shift = log_yardstick_shift(baseline, other) if same_machine else None
    if metric != "delay_ratio" or gate.size is None or not shift:
        return gate
    told = f"the yardstick differs by {math.expm1(shift):+.2%}"
    if abs(shift) > margin:
        return Gate(
            size=math.inf,
            basis=f"not known: {told}, more than the minimum effect: another state of the host, in"
            " which delay ratios can differ by any amount",
        )
    return Gate(size=gate.size + abs(shift), basis=f"{gate.basis}; and {told}")


def gate_from_repeats(
    baseline: Side, repeats: Sequence[Side], metric: str, *, words: Vocabulary = CAMPAIGNS
) -> Gate:
    """Prediction bound of the difference of two further campaigns that differ in nothing.

    With m campaigns of standard deviation s, the next two differ by less than
    t(0.975, m - 1) s sqrt(2) in 95 % of cases (normal prediction interval); never less than what
    the scatter of single runs makes of it.
    """
    sides = common([baseline, *repeats])
    pairs = [pair_up(sides[0], repeat, metric) for repeat in sides[1:]]
    if any(len(pair.difference) < 2 for pair in pairs):
        return Gate(size=None, basis="A/A repeats have too few runs in common with the baseline")
    # The baseline itself is the origin: its own deviation from the mean of all is in the spread.
    levels = np.array([0.0, *(float((p.weights * p.difference).sum()) for p in pairs)])
    spread = float(levels.std(ddof=1))
    between = t_quantile(0.975, len(levels) - 1) * spread * math.sqrt(2)
    floor = math.sqrt(float(np.mean([_noise(pair) ** 2 for pair in pairs])))
    names = ", ".join(side.name for side in repeats)
    many = f"{len(repeats)} repeat{'s' if len(repeats) != 1 else ''}"
    return Gate(
        size=max(between, _Z95 * floor),
        basis=f"A/A: {many} of the baseline ({names}), {len(sides[0].runs)} {words.units} each",
        cell=_cell_gate(pairs) if words.cautious else None,
    )


def _cell_gate(pairs: Sequence[Pairs]) -> float | None:
    """Bound that 95 % of comparisons without a difference have all their cells below.

    A session moves cells in different ways: what averages out over all of them stays in full in
    one. The variance of a cell's level is that of the mean over the cells and that of a cell beside
    it, pooled over cells; degrees of freedom after F. E. Satterthwaite, Biometrics Bulletin 2,
    1946, rounded down; the level is divided by the number of cells (C. E. Bonferroni).
    """
    cells = sorted(set.intersection(*(set(pair.cells) for pair in pairs)))
    if len(cells) < 2:
        return None
    levels = np.array(
        [[0.0] * len(cells), *([_level(pair, cell) for cell in cells] for pair in pairs)]
    )
    many = len(levels) - 1
    common = levels.mean(axis=1)
    beside = levels - common[:, None]
    beside = beside - beside.mean(axis=0)
    own = float((beside**2).sum()) / (many * (len(cells) - 1)) * (1 - 1 / len(cells))
    mean = float(common.var(ddof=1))
    if not own + mean:
        return 0.0
    degrees = (own + mean) ** 2 / (own**2 / (many * (len(cells) - 1)) + mean**2 / many)
    t = t_quantile(1 - 0.025 / len(cells), max(1, math.floor(degrees)))
    return t * math.sqrt(2 * (own + mean))


def _level(pairs: Pairs, cell: Cell) -> float:
    return float(pairs.difference[pairs.cell == pairs.cells.index(cell)].mean())


def gate_from_within(pairs: Pairs, *, words: Vocabulary = CAMPAIGNS) -> Gate:
    """From stretches of time within the two results: what they differ beyond single runs."""
    several = np.bincount(pairs.cell, minlength=len(pairs.cells))[pairs.cell] > 1
    if not several.any():
        return Gate(size=None, basis="not known: one program a cell, and no A/A repeat (--aa)")
    residual = residuals(pairs)
    known = ~np.isnan(pairs.at_ns) & several
    count = min(STRETCHES, int(known.sum()) // STRETCH_RUNS)
    if count < 3:
        return Gate(size=None, basis="not known: too few runs, and no A/A repeat (--aa)")
    ordered = residual[known][np.argsort(pairs.at_ns[known], kind="stable")]
    stretches = np.array_split(ordered, count)
    means = np.array([part.mean() for part in stretches])
    runs = float(np.mean([1 / len(part) for part in stretches]))
    scatter = float(np.mean([part.var(ddof=1) for part in stretches if len(part) > 1]))
    drift = max(0.0, float(means.var(ddof=1)) - scatter * runs)
    size = math.hypot(t_quantile(0.975, count - 1) * math.sqrt(drift), _Z95 * _noise(pairs))
    return Gate(
        size=size,
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
