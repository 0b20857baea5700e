"""A profile's Summary as one self-contained HTML page.

All text of a campaign is untrusted: it is escaped here, or embedded as data and only ever set as
text. The page's Content-Security-Policy allows nothing but the scripts that are written into it, by
their hash, so neither a name with markup nor the plotting library can load or run anything else.
"""

from __future__ import annotations

from html import escape

from deadbeat.model.results import Summary
from deadbeat.report import causes, facts, parts, predicted
from deadbeat.report.charts_html import Stamp, data_of, figures
from deadbeat.report.counters import counter_charts, counters_note
from deadbeat.report.data import encode, page_data
from deadbeat.report.embed import document
from deadbeat.report.glossary import TERMS
from deadbeat.report.headline import CoreAnswer, headline
from deadbeat.report.profile_charts import profile_charts


def render(summary: Summary) -> str:
    """The page as text; the same summary gives the same page."""
    answer = headline(summary)
    name = facts.campaign_name(summary)
    stamp = Stamp(labels=facts.labels(summary), noise=facts.noise_floor(summary).text)
    factor_charts = profile_charts(summary)
    why = [*causes.split_charts(summary), *counter_charts(summary)]
    return document(
        "page.html",
        title=f"{name} – deadbeat report",
        styles=("page.css", "charts.css"),
        scripts=("plots.js", "words.js", "page.js", "charts.js"),
        fields={
            "name": escape(name),
            "banner": parts.banner(facts.labels(summary)),
            "head_facts": parts.definitions(facts.head_facts(summary)),
            "sentence": parts.together(answer.sentence),
            "answers": parts.listed(
                (
                    f"<b>M = {item.cores}</b><span>{_lines(item)}</span>"
                    for item in answer.per_cores
                ),
                "answers",
            ),
            "noise": parts.noise(facts.noise_floor(summary)),
            "findings": parts.findings_list(summary.findings, summary.labels),
            "factor_figures": figures(factor_charts, stamp),
            "why": figures(why, stamp) + counters_note(summary) + causes.section(summary),
            "charts": data_of([*factor_charts, *why]),
            "predicted_title": predicted.title(summary),
            "predicted": predicted.section(summary),
            "circumstances": parts.circumstances(summary),
            "glossary": parts.definitions(TERMS, "terms"),
            "data": encode(page_data(summary)),
        },
    )


def _lines(answer: CoreAnswer) -> str:
    texts = (answer.slowdown, answer.misses, answer.open_points)
    return "".join(f'<span class="words">{parts.together(text)}</span>' for text in texts if text)
