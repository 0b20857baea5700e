"""Figure 6 of the thesis: how much time is left before deadlines under each approach."""

from collections.abc import Iterator

from deadbeat.kinds.study.judge import Conclusion, Evidence
from deadbeat.kinds.study.presets import Preset
from deadbeat.kinds.study.presets._approaches import (
    ABOUT,
    CLUSTERED,
    GLOBAL,
    LOOSE,
    MEANS,
    PARTITIONED,
    all_of,
    more_slack,
    spec,
)
from deadbeat.kinds.study.results import Results

_TITLE = "Figure 6: average slack by approach, 4 processors"
_SLACK = f"slack in periods, mean over jobs and then over sets, is larger; {MEANS}"


def _only_loose(results: Results) -> Iterator[Evidence]:
    """Loose above global above 80 %; partitioned and clustered not told to be."""
    others = [list(more_slack(x, GLOBAL, low=800)(results)) for x in (PARTITIONED, CLUSTERED)]
    for item in more_slack(LOOSE, GLOBAL, low=800)(results):
        also = [
            next(one for one in other if one.variant.items() <= item.variant.items())
            for other in others
        ]
        yield Evidence(
            variant=item.variant,
            holds=item.holds and not any(one.holds for one in also),
            figures="; ".join(one.figures for one in (item, *also)),
        )


PRESET = Preset(
    name="thesis-fig6",
    title=_TITLE,
    about=ABOUT,
    build=lambda: spec("thesis-fig6", _TITLE, metrics=True),
    charts=("slack",),
    conclusions=(
        Conclusion(
            id="partitioned-least-slack",
            says="The average slack of the partitioned approach is the smallest",
            confirmed=f"against each of the three others, theirs: {_SLACK}",
            check=all_of(*(more_slack(x, PARTITIONED) for x in (GLOBAL, CLUSTERED, LOOSE))),
        ),
        Conclusion(
            id="global-among-the-largest",
            says="The average slack of the global approach is one of the largest",
            confirmed=f"larger than that of partitioned and of clustered: {_SLACK}",
            check=all_of(*(more_slack(GLOBAL, x) for x in (PARTITIONED, CLUSTERED))),
        ),
        Conclusion(
            id="only-loose-above-global",
            says="Only loose clustered has a larger slack than global, above 80 % utilisation",
            confirmed=f"above 80 %, {_SLACK}; and that of neither other approach is",
            check=_only_loose,
        ),
        Conclusion(
            id="clustered-below-global",
            says="The average slack of clustered is less than that of global",
            confirmed=f"that of global: {_SLACK}",
            check=more_slack(GLOBAL, CLUSTERED),
        ),
        Conclusion(
            id="loose-among-the-largest",
            says="The average slack of loose clustered is one of the highest",
            confirmed=f"larger than that of partitioned and of clustered: {_SLACK}",
            check=all_of(*(more_slack(LOOSE, x) for x in (PARTITIONED, CLUSTERED))),
        ),
    ),
)
