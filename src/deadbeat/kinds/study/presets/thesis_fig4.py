"""Figure 4 of the thesis: which approach schedules most of the same 450 sets."""

from collections.abc import Iterator

from deadbeat.kinds.study.judge import Conclusion, Evidence
from deadbeat.kinds.study.presets import Preset
from deadbeat.kinds.study.presets._approaches import (
    ABOUT,
    CLUSTERED,
    GLOBAL,
    LOOSE,
    PARTITIONED,
    SIGN_TEST,
    all_of,
    gains_mainly_above,
    more_schedulable,
    spec,
)
from deadbeat.kinds.study.results import Results

_TITLE = "Figure 4: share of schedulable sets by approach, 4 processors"


def _only_above_70(results: Results) -> Iterator[Evidence]:
    """Clustered over global above 70 %, and not below."""
    above = more_schedulable(CLUSTERED, GLOBAL, low=700)(results)
    below = more_schedulable(CLUSTERED, GLOBAL, high=700)(results)
    for high, low in zip(above, below, strict=True):
        yield Evidence(
            variant=high.variant,
            holds=high.holds and not low.holds,
            figures=f"above 70 %: {high.figures}; up to 70 %: {low.figures}",
        )


PRESET = Preset(
    name="thesis-fig4",
    title=_TITLE,
    about=ABOUT,
    build=lambda: spec("thesis-fig4", _TITLE, metrics=False),
    charts=("approaches",),
    conclusions=(
        Conclusion(
            id="partitioned-most",
            says="The partitioned approach finds the most feasible schedules",
            confirmed=f"against each of the three others, {SIGN_TEST}",
            check=all_of(*(more_schedulable(PARTITIONED, x) for x in (GLOBAL, CLUSTERED, LOOSE))),
        ),
        Conclusion(
            id="global-fewest",
            says="The global approach finds the fewest feasible schedules",
            confirmed=f"each of the three others schedules {SIGN_TEST}",
            check=all_of(*(more_schedulable(x, GLOBAL) for x in (PARTITIONED, CLUSTERED, LOOSE))),
        ),
        Conclusion(
            id="clustered-over-global-above-70",
            says="Clustered finds more feasible schedules than global, but only above 70 %",
            confirmed=f"clustered schedules {SIGN_TEST} above 70 %, and not up to 70 %",
            check=_only_above_70,
        ),
        Conclusion(
            id="loose-over-clustered",
            says="Loose clustered finds more schedulable sets than clustered",
            confirmed=f"loose clustered schedules {SIGN_TEST}",
            check=more_schedulable(LOOSE, CLUSTERED),
        ),
        Conclusion(
            id="loose-helps-at-high-load",
            says="Loose clustered improves the schedulability rate mainly for large utilisations",
            confirmed=f"above 80 % loose clustered schedules {SIGN_TEST} than clustered, and the"
            " share of sets that it alone schedules is larger than up to 80 % (Newcombe)",
            check=gains_mainly_above(LOOSE, CLUSTERED, 800),
        ),
    ),
)
