"""The region between sufficient and necessary tests of global EDF (section 2.2)."""

from __future__ import annotations

from collections.abc import Iterator

from deadbeat import Conclusion, Evidence, Preset, StudyResults, study_curves, study_region
from deadbeat_papers.claims import claims
from deadbeat_papers.thesis.grid import on_grid
from deadbeat_papers.thesis.telling import falling

#: From far below where the region starts, in thousandths of m.
LOADS = (*range(300, 951, 50), 990)
PROCESSORS = (2, 4, 6, 8)
#: All sufficient tests of global EDF that deadbeat has, and what no scheduler can do without.
TESTS = ("gfb", "bcl", "bak", "bcl-iter", "rta-edf", "load", "ff-dbf", "bar", "necessary")
#: The source says "starts", not how many sets are undecided there.
STARTS = {"5 % are undecided": 0.05, "half are undecided": 0.5}


def grows(results: StudyResults) -> Iterator[Evidence]:
    counts = {f"m = {it.processors}": it.share for it in results.regions()}
    yield falling(counts, {}, rising=True)


def starts(
    results: StudyResults, *, processors: int, low: float, high: float
) -> Iterator[Evidence]:
    """Its edge lies in [low, high] of m: the whole interval, or none of it."""
    for it in results.regions():
        if it.processors == processors:
            for words, share in STARTS.items():
                least, most = it.edge(share)[1]
                inside, outside = low <= least and most <= high, most < low or least > high
                yield Evidence(
                    variant={"starts where": words},
                    holds=inside if inside or outside else None,
                    figures=f"U/m = {it.edge_text(share)}",
                )


def schedulable(results: StudyResults, *, share: float) -> Iterator[Evidence]:
    for it in results.regions():
        least, most = it.schedulable.interval
        yield Evidence(
            variant={"m": str(it.processors)},
            holds=least > share if least > share or most < share else None,
            figures=f"{it.schedulable.text()} undecided sets",
        )


_CLAIMS = claims(__file__, globals(), Conclusion)
_TITLE = "The region that tests of global EDF leave undecided, on 2 to 8 processors"

PRESETS = (
    Preset(
        name="thesis-region",
        title=_TITLE,
        about="The grid of Figures 2 and 3 from U = 0.3 m on, m = 2, 4, 6 and 8, 30 sets a cell;"
        " all eight sufficient tests of global EDF, the necessary conditions, simulation.",
        build=lambda: on_grid("thesis-region", _TITLE, (PROCESSORS, LOADS), ("index",), TESTS),
        charts=(study_region, study_curves),
        conclusions=_CLAIMS["region"],
    ),
)
