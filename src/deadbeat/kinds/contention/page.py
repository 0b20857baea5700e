"""A profile's Summary as one self-contained HTML page.

All text of a campaign is untrusted: it is escaped here, or embedded as data and only ever set as
text. The page's Content-Security-Policy allows nothing but the scripts that are written into it, by
their hash, so neither a name with markup nor the plotting library can load or run anything else.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from deadbeat.kinds.contention import cause_charts as causes
from deadbeat.kinds.contention import predicted
from deadbeat.kinds.contention.counter_charts import counter_charts, counters_note
from deadbeat.kinds.contention.headline import CoreAnswer, headline, load_words, needed_text, place
from deadbeat.kinds.contention.page_data import page_data
from deadbeat.kinds.contention.profile_charts import (
    grid_charts,
    predicted_charts,
    profile_charts,
)
from deadbeat.kinds.contention.stress_words import interval_text
from deadbeat.kinds.contention.table import NOTE, TERMINAL_COLUMNS, loaded_sections
from deadbeat.model.results import Summary
from deadbeat.report import facts, parts
from deadbeat.report.charts_html import Stamp, data_of, figures
from deadbeat.report.embed import document, encode
from deadbeat.report.facts import number
from deadbeat.report.glossary import TERMS


def render(summary: Summary) -> str:
    """The page as text; the same summary gives the same page."""
    answer, own = headline(summary), facts.grid_of(summary)
    name = facts.campaign_name(summary)
    stamp = Stamp(labels=facts.labels(summary), noise=facts.noise_floor(summary).text)
    grids, over_factors = [*grid_charts(own)], profile_charts(own)
    foreseen = predicted_charts(own)
    why = [*causes.split_charts(own), *counter_charts(summary)]
    return document(
        "page.html",
        title=f"{name} – deadbeat report",
        styles=("page.css", "charts.css"),
        scripts=("plots.js", "charts.js", "words.js", "page.js"),
        fields={
            "name": escape(name),
            "banner": parts.banner(facts.labels(summary)),
            "head_facts": parts.definitions(facts.head_facts(summary)),
            "sentence": _lines(answer.lines),
            "answers": _answers(answer.per_cores),
            "loaded": _loaded(summary),
            "further": _further(summary),
            "noise": parts.noise(facts.noise_floor(summary)),
            "findings": parts.findings_list(summary.findings, summary.labels),
            "grid_figures": figures(grids, stamp) or "<p>Nothing was measured yet.</p>",
            "factor_figures": figures(over_factors, stamp),
            "why": figures(why, stamp) + counters_note(summary) + causes.section(summary),
            "charts": data_of([*grids, *over_factors, *why, *foreseen]),
            "predicted_title": predicted.title(summary),
            "predicted": figures(foreseen, stamp) + predicted.section(summary),
            "circumstances": parts.circumstances(summary),
            "glossary": parts.definitions(TERMS, "terms"),
            "data": encode(page_data(summary)),
        },
    )


def _lines(lines: Sequence[str]) -> str:
    return "".join(f'<span class="words">{parts.together(line)}</span>' for line in lines)


def _answers(per_cores: Sequence[CoreAnswer]) -> str:
    items = (f"<b>M = {item.cores}</b><span>{_lines(item.lines)}</span>" for item in per_cores)
    listed = parts.listed(items, "answers")
    return f"<details><summary>For each M</summary>{listed}</details>" if listed else ""


def _loaded(summary: Summary) -> str:
    """The points with a number of tasks a core of their own: a table, and no part of the grid."""
    sections = loaded_sections(summary)
    if not sections:
        return ""
    head = [heading.replace("\n", " ") for _, heading in TERMINAL_COLUMNS]
    note = escape(NOTE).replace("\n", "; ")
    tables = "".join(
        f"<h3>{parts.together(section.title)}</h3>"
        + parts.scrolled(
            parts.cell_table(
                head, [tuple(row.values()) for row in section.rows], id=f"loaded-{place}"
            ),
            section.title,
        )
        for place, section in enumerate(sections)
    )
    return (
        '<section id="loaded" aria-labelledby="loaded-title"><h2 id="loaded-title">Loaded cores'
        "</h2><p>Points with more tasks a core and shorter deadlines. They are no part of the"
        f' figures above.</p>{tables}<p class="hint">{note}.</p></section>'
    )


#: Heading of a column of the folded table, column of a row, its interval's, scale.
_FURTHER: tuple[tuple[str, str, str, float], ...] = (
    ("compute ratio", "compute_ratio", "compute_ratio_ci", 1.0),
    ("slowdown, calm half", "slowdown_calm", "", 1.0),
    ("slowdown, rough half", "slowdown_rough", "", 1.0),
    ("misses alone %", "alone_miss_ratio", "alone_miss_ci", 100.0),
    ("misses beyond those %", "miss_excess", "miss_excess_ci", 100.0),
    ("sets that miss", "miss_sets", "", 0.0),
)
#: The same of needed deadlines: at least the low end where the high end is not known.
_NEEDED = tuple(
    (f"needed{words}, 1 in {of}", f"{side}deadline_needed_{name}")
    for name, of in (("p99", 100), ("p999", 1000))
    for side, words in (("", ""), ("alone_", " alone"))
)


def _further(summary: Summary) -> str:
    """What explains a point without being its answer, folded away: a line per point."""
    if not summary.rows:
        return ""
    head = ("point", *(heading for heading, *_ in _FURTHER), *(heading for heading, _ in _NEEDED))
    lines = [
        (
            f"M = {row['cores']}, {place(row)}; {load_words(row, ', ')}",
            *(_value(row, *entry[1:]) for entry in _FURTHER),
            *(needed_text(row, column, "≥ ") or "–" for _, column in _NEEDED),
        )
        for row in (*facts.grid_of(summary).rows, *facts.loaded_rows(summary))
    ]
    table = parts.cell_table(head, lines, id="further-table")
    return (
        "<details><summary>Compute ratio, calm and rough half, misses alone, needed deadlines"
        f"</summary>{parts.scrolled(table, 'More of each point')}</details>"
    )


def _value(row: Mapping[str, Any], column: str, ends: str, scale: float) -> str:
    if number(row.get(column)) is None:
        return "–"
    return str(row[column]) if scale == 0 else interval_text(row, column, ends, scale)
