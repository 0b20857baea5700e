"""Single figures of a campaign on paper, and the words that stand on them."""

import xml.etree.ElementTree as ET

from deadbeat.base.report.paper import draw_charts
from deadbeat.tasksets.contention.facts import grid_of
from deadbeat.tasksets.contention.kind import _charts, words_of
from deadbeat.tasksets.model.results import Summary


def chart_names(summary: Summary) -> set[str]:
    """Names of all figures of a campaign; none is drawn."""
    return {chart.name for chart in _charts(grid_of(summary))}


def figures(summary: Summary, kind: str, *starts: str) -> dict[str, bytes]:
    """Of all that ``draw_figures`` draws those whose names begin so."""
    charts = [chart for chart in _charts(grid_of(summary)) if chart.name.startswith(starts)]
    return dict(draw_charts(charts, words_of(summary), (kind,)))


def svg_words(content: bytes) -> str:
    root = ET.fromstring(content)
    return "\n".join(
        "".join(element.itertext()) for element in root.iter("{http://www.w3.org/2000/svg}text")
    )
