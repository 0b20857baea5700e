"""What pairs of runs cannot show because one side has no result: it may hide the harm.

A job that never finishes has no response time and a run that fails no slowdown: whatever is
averaged over what is left looks the better the more is lost (survivorship; A. Wald, "A method of
estimating plane vulnerability based on damage of survivors", 1943). So where one side lost more,
neither equality nor an advantage of that side is shown by what it kept. A disadvantage is.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from attrs import frozen

from deadbeat.compare.sides import RATIOS, Cell, Side, value_of
from deadbeat.compare.vocabulary import CAMPAIGNS, Vocabulary
from deadbeat.compare.words import metric_text, place_text

#: Share of the baseline's runs that the other side may lack.
LACKING_MAX = 0.2
#: The same of latencies, of either side: a run that does not count is seldom the best one.
_LACKING_CAUTIOUS = 0.1
_CELLS_NAMED = 3


@frozen
class Lost:
    """One program: what either side lost of it.

    Attributes:
        before, after: Whether the baseline and the other side have a value.
        ran: Whether both have a run.
        more: Share of jobs lost in the other, less that in the baseline; None: not known.
        starved: Tasks of which no job finished in the other, less those in the baseline.
    """

    cell: Cell
    before: bool
    after: bool
    ran: bool
    more: float | None
    starved: int


@frozen(kw_only=True)
class Hidden:
    """Reasons, a line each, why what is left of two sides does not show how they compare.

    Attributes:
        worse: The other may be worse than it looks: it is shown neither equal nor better.
        better: The baseline may be worse than it looks: the other is shown neither equal nor worse.
    """

    worse: tuple[str, ...] = ()
    better: tuple[str, ...] = ()

    @property
    def lines(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys((*self.worse, *self.better)))

    def allows(self, verdict: str) -> bool:
        """Whether ``verdict`` can be relied on all the same."""
        against = {"worse": self.better, "better": self.worse, "equal": self.lines}
        return not against.get(verdict)

    def joined(self, other: Hidden) -> Hidden:
        return Hidden(worse=(*self.worse, *other.worse), better=(*self.better, *other.better))


def lost_of(baseline: Side, other: Side, metric: str) -> tuple[Lost, ...]:
    """Of every program that has a run on either side."""
    found = []
    for key, place in sorted({**other.runs, **baseline.runs}.items(), key=lambda item: item[0]):
        one, two = baseline.runs.get(key), other.runs.get(key)
        values = [run is not None and value_of(run, metric) is not None for run in (one, two)]
        more, starved = None, 0
        if one is not None and two is not None:
            starved = two.starved - one.starved
            if one.lost is not None and two.lost is not None:
                more = two.lost - one.lost
        both = one is not None and two is not None
        found.append(Lost(place.cell, values[0], values[1], both, more, starved))
    return tuple(found)


def hidden_of(
    programs: Sequence[Lost], metric: str, *, tolerance: float, words: Vocabulary = CAMPAIGNS
) -> Hidden:
    """Of all ``programs`` together: those of a campaign, or of one cell.

    Args:
        tolerance: Difference of the shares of lost jobs that does not matter.
        words: For what is compared.
    """
    unequal = _unequal(programs, metric, tolerance=tolerance, words=words)
    unpaired = _unpaired(programs, words)
    if words.cautious:
        unpaired = unpaired.joined(_unpaired_of_baseline(programs, words))
    return unpaired.joined(unequal)


def _unpaired(programs: Sequence[Lost], words: Vocabulary) -> Hidden:
    """Runs that the baseline has and the other lacks."""
    had = [each for each in programs if each.before]
    lacking = [each for each in had if not each.after]
    paired = {each.cell for each in had if each.after}
    gone = sorted({each.cell for each in had} - paired)
    lines = []
    if gone:
        names = "; ".join(place_text(cell) for cell in gone[:_CELLS_NAMED])
        more = "; ..." if len(gone) > _CELLS_NAMED else ""
        lines.append(
            f"{len(gone)} of {len(gone) + len(paired)} cells of the baseline have no result in the"
            f" other ({names}{more})"
        )
    elif len(lacking) > (_LACKING_CAUTIOUS if words.cautious else LACKING_MAX) * len(had):
        lines.append(
            f"{len(lacking)} of the baseline's {len(had)} {words.units} have no result in the other"
        )
    return Hidden(worse=tuple(lines))


def _unpaired_of_baseline(programs: Sequence[Lost], words: Vocabulary) -> Hidden:
    """Runs that the other has and the baseline lacks: its bad ones may have been left out."""
    had = [each for each in programs if each.after]
    lacking = [each for each in had if not each.before]
    if len(lacking) <= _LACKING_CAUTIOUS * len(had):
        return Hidden()
    line = f"{len(lacking)} of the other's {len(had)} {words.units} have no result in the baseline"
    return Hidden(better=(line,))


def _unequal(
    programs: Sequence[Lost], metric: str, *, tolerance: float, words: Vocabulary
) -> Hidden:
    """Runs on both sides, with more jobs, tasks or ratios lost on one of them.

    A lost job is a miss, and counts among the misses: only ratios lose sight of it.
    """
    both = [each for each in programs if each.ran]
    if metric not in RATIOS or not both:
        return Hidden()
    worse: list[str] = []
    better: list[str] = []
    for lines, sign, side in ((worse, 1, "the other"), (better, -1, "the baseline")):
        starved = sum(max(0, sign * each.starved) for each in both)
        if starved:
            lines.append(
                f"{starved} task{'s' if starved != 1 else ''} never finished a job in {side} alone"
            )
        without = sum(1 for each in both if sign * (each.before - each.after) > 0)
        if without:
            lines.append(
                f"{without} {words.units if without != 1 else words.units.removesuffix('s')}"
                f" {'have' if without != 1 else 'has'} no {metric_text(metric)} in {side}"
                " alone"
            )
    more = _mean_of_cells(both)
    if more is not None and abs(more) > tolerance:
        side = "the other" if more > 0 else "the baseline"
        line = f"{100 * abs(more):.1f} % more {words.lost} in {side}"
        (worse if more > 0 else better).append(line)
    return Hidden(worse=tuple(worse), better=tuple(better))


def _mean_of_cells(programs: Sequence[Lost]) -> float | None:
    """Each cell counted once; None where nothing is known."""
    means = list(_cell_means(programs))
    return float(np.mean(means)) if means else None


def _cell_means(programs: Sequence[Lost]) -> Iterator[float]:
    for cell in sorted({each.cell for each in programs}):
        known = [each.more for each in programs if each.cell == cell and each.more is not None]
        if known:
            yield float(np.mean(known))
