"""A stress campaign's Summary as one self-contained page. As page.py: all text is escaped."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from deadbeat.kinds.contention import cause_charts as causes
from deadbeat.kinds.contention.configurations import groups
from deadbeat.kinds.contention.counter_charts import counter_charts, counters_note
from deadbeat.kinds.contention.stress_charts import group_samples, stress_charts
from deadbeat.kinds.contention.stress_table import stress_sentence
from deadbeat.kinds.contention.stress_words import GroupAnswer, group_answers, group_table
from deadbeat.model.results import Summary
from deadbeat.report import facts, parts
from deadbeat.report.charts_html import Stamp, data_of, figures
from deadbeat.report.embed import document, encode, plain
from deadbeat.report.glossary import STRESS_TERMS, TERMS

#: Task sets in the table of each group: the worst. All are in sets.csv.
SETS_SHOWN = 100

#: Column of a task set, heading, kind of formatting.
_FIELDS: tuple[tuple[str, str, str], ...] = (
    ("group", "group", "text"),
    ("replica", "set", "identifier"),
    ("deadline_factor", "D/C", "identifier"),
    ("cores", "M", "identifier"),
    ("critical_cores", "critical cores", "identifier"),
    ("tasks", "tasks N", "integer"),
    ("seed", "seed", "identifier"),
    ("utilisation", "utilisation", "ratio"),
    ("jobs", "jobs", "integer"),
    ("slowdown_mean", "slowdown", "ratio"),
    ("delay_ratio_mean", "delay ratio", "ratio"),
    ("deadline_misses", "misses", "integer"),
    ("deadline_miss_ratio", "miss ratio", "percent"),
    ("sync_share_real", "ρ real", "share"),
    ("contended_ratio_real", "α real", "share"),
    ("overlap_real", "overlap", "percent"),
    ("file", "file", "text"),
)


def render_stress(summary: Summary) -> str:
    """The page as text; the same summary gives the same page."""
    name = facts.campaign_name(summary)
    stamp = Stamp(labels=facts.labels(summary), noise=facts.noise_floor(summary).text)
    own = stress_charts(summary)
    why = [*causes.split_charts(summary), *counter_charts(summary)]
    head, lines = group_table(summary)
    return document(
        "stress.html",
        title=f"{name} – deadbeat report",
        styles=("page.css", "charts.css"),
        scripts=("plots.js", "charts.js", "words.js", "sets.js"),
        fields={
            "name": escape(name),
            "banner": parts.banner(facts.labels(summary)),
            "head_facts": parts.definitions(facts.head_facts(summary)),
            "sentence": parts.together(stress_sentence(summary)),
            "answers": parts.listed(map(_answer, group_answers(summary)), "answers groups"),
            "noise": parts.noise(facts.noise_floor(summary)),
            "findings": parts.findings_list(summary.findings, summary.labels),
            "figures": figures(own, stamp) or "<p>Nothing was measured yet.</p>",
            "why": figures(why, stamp) + counters_note(summary) + causes.section(summary),
            "groups": parts.cell_table(head, lines, id="groups-table"),
            "sets_note": escape(_sets_note(summary)),
            "circumstances": parts.circumstances(summary),
            "glossary": parts.definitions((*STRESS_TERMS, *TERMS), "terms"),
            "data": encode(sets_data(summary)),
            "charts": data_of([*own, *why]),
        },
    )


def _answer(answer: GroupAnswer) -> str:
    lines = "".join(f'<span class="words">{parts.together(line)}</span>' for line in answer.lines)
    return f"<b>{escape(answer.group)}</b><span>{lines}</span>"


def _sets_note(summary: Summary) -> str:
    if len(summary.sets) <= SETS_SHOWN:
        return "Every task set; click a heading to sort. The same in full: sets.csv."
    return (
        f"The {SETS_SHOWN} most slowed down sets of each group, and as many with the highest miss"
        " ratio; click a heading to sort. Every task set: sets.csv."
    )


def sets_data(summary: Summary) -> dict[str, Any]:
    """The worst task sets of each group, as the table of the page shows them."""
    present = {key for item in summary.sets for key in item}
    fields = [field for field in _FIELDS if field[0] in present]
    columns = [column for column, _, _ in fields]
    shown = [item for factor in facts.factors(summary.rows) for item in _worst(summary, factor)]
    return {
        "format": 1,
        "fields": [{"heading": heading, "kind": kind} for _, heading, kind in fields],
        "group": columns.index("group") if "group" in columns else 0,
        "groups": list(groups(summary)),
        "sort": columns.index("slowdown_mean") if "slowdown_mean" in columns else 0,
        "sets": [[plain(item.get(column)) for column in columns] for item in shown],
        "total": len(summary.sets),
    }


def _worst(summary: Summary, factor: float) -> list[Mapping[str, Any]]:
    """Several factors share the room of one."""
    room = max(10, SETS_SHOWN // len(facts.factors(summary.rows)))
    found: list[Mapping[str, Any]] = []
    for sample in group_samples(summary, factor):
        kept = {}
        for column in ("slowdown_mean", "deadline_miss_ratio"):
            for place in _most(sample.sets, column)[:room]:
                kept[place] = sample.sets[place]
        found += kept.values()
    return found


def _most(sets: Sequence[Mapping[str, Any]], column: str) -> list[int]:
    def value(place: int) -> float:
        known = facts.number(sets[place].get(column))
        return float("-inf") if known is None else known

    return sorted(range(len(sets)), key=value, reverse=True)
