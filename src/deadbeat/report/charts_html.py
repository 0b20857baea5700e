"""Charts as elements of a page: places that charts.js draws into, and the data it draws."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any

from attrs import frozen

from deadbeat.report.charts import OPTION, Chart, chart_data
from deadbeat.report.embed import encode


@frozen(kw_only=True)
class Stamp:
    """What stands on every figure of a page: ``labels`` in its title, ``noise`` in its caption
    ("": a kind of page without one)."""

    labels: Sequence[str]
    noise: str


def figures(charts: Sequence[Chart], stamp: Stamp) -> str:
    """All charts in order; those of a family behind one choice, the first of them shown."""
    made, families = [], set()
    for chart in charts:
        if chart.family and chart.family not in families:
            families.add(chart.family)
            made.append(_choice([c for c in charts if c.family == chart.family]))
            made.append(_figure(chart, stamp))
        else:
            made.append(_figure(chart, stamp, hidden=bool(chart.family)))
    return "".join(made)


def data_of(charts: Iterable[Chart]) -> str:
    """What stands in the page's ``deadbeat-charts`` element."""
    data: Mapping[str, Any] = {"format": 1, "charts": chart_data(charts)}
    return encode(data)


def _choice(family: Sequence[Chart]) -> str:
    """A box for each part of the options; the first of a family has the first of each."""
    parts = zip(*(chart.option.split(OPTION) for chart in family), strict=True)
    boxes = "".join(
        f' <select data-family="{escape(family[0].family)}" autocomplete="off"'
        f' aria-label="{escape(family[0].title)}">'
        + "".join(
            f'<option value="{escape(text)}">{escape(text)}</option>'
            for text in dict.fromkeys(part)
        )
        + "</select>"
        for part in parts
    )
    return f'<div class="controls"><label>{escape(family[0].title)}: show</label>{boxes}</div>'


def _figure(chart: Chart, stamp: Stamp, *, hidden: bool = False) -> str:
    title = chart.whole_title
    marked = f"{title} — {', '.join(stamp.labels)}" if stamp.labels else title
    plots = "".join(
        f'<div><h4 id="{chart.name}-{k}-title">{escape(panel.title)}</h4>'
        f'<div class="plot" id="{chart.name}-{k}" role="img"'
        f' aria-labelledby="chart-{chart.name}-title {chart.name}-{k}-title"></div></div>'
        for k, panel in enumerate(chart.panels)
    )
    family = (
        f' data-family="{escape(chart.family)}" data-option="{escape(chart.option)}"'
        if chart.family
        else ""
    )
    noise = f"{stamp.noise[:1].upper()}{stamp.noise[1:]}. " if stamp.noise else ""
    return (
        f'<figure class="chart" id="chart-{chart.name}"{family}{" hidden" if hidden else ""}>'
        f'<h3 class="figure-title" id="chart-{chart.name}-title">{escape(marked)}</h3>'
        f'<div class="panels of-{len(chart.panels)}">{plots}</div>'
        f"<figcaption>{escape(noise)}{escape(chart.caption)}</figcaption></figure>"
    )
