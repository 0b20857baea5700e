"""A comparison of campaigns as one self-contained page, and its figures on paper."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from pathlib import Path

from deadbeat.compare.charts import (
    NAMES,
    comparison_charts,
    factor_levels,
    interval_words,
)
from deadbeat.compare.words import (
    bound_text,
    cell_text,
    count_text,
    metric_text,
    value_text,
    verdict_text,
    words_list,
)
from deadbeat.kinds.interference.words import effects_beside, effects_beside_columns
from deadbeat.model.comparison import VERDICTS, Comparison, ComparisonResult, MetricComparison
from deadbeat.model.results import Summary
from deadbeat.report import facts, parts
from deadbeat.report.canvas import FORMATS, Words, printable
from deadbeat.report.charts import Chart
from deadbeat.report.charts_html import Stamp, data_of, figures
from deadbeat.report.charts_paper import draw_charts
from deadbeat.report.embed import document
from deadbeat.report.glossary import (
    COMPARISON_TERMS,
    LATENCY_COMPARISON_TERMS,
    LOAD_COMPARISON_TERMS,
)
from deadbeat.store.files import atomic_write, storing

COMPARE_FILE = "compare.html"
_CELLS_SHOWN = 40
#: Deadline factors with overlaid distributions on paper; the page has all, and says so.
_LEVELS = 2

_METRIC_COLUMNS = (
    *("metric", "verdict", "effect [95 %]", "p (Holm)", "minimum effect", "A/A gate"),
    *("could have shown", "cells"),
)
_CELL_COLUMNS = (
    *("cell", "metric", "verdict", "effect [95 %]", "p (Holm)", "baseline", "other", "pairs"),
)
#: Mode of what is compared -> what it is called, and the terms of its page.
_KINDS = {
    "latency": ("Latency matrices", LATENCY_COMPARISON_TERMS),
    "load": ("Load tests", LOAD_COMPARISON_TERMS),
}
_CAMPAIGN_COLUMNS = ("", "campaign", "kernel", "preemption", "platform", "runs", "labels", "folder")


def write_comparison(
    result: ComparisonResult,
    summaries: Sequence[Summary],
    out_dir: Path,
    *,
    formats: Sequence[str] = FORMATS,
    extra: Sequence[Chart] = (),
) -> Path:
    """Writes the figures and ``compare.html`` into ``out_dir`` and returns the page's path.

    Args:
        summaries: In the order of ``result.campaigns``.
        extra: Figures beside those of the comparison itself.
        formats: Of the figures on paper; none: only the page.

    Raises:
        DeadbeatError: The folder or a file cannot be written.
    """
    folder = Path(out_dir)
    with storing(folder):
        (folder / "figures" if formats else folder).mkdir(parents=True, exist_ok=True)
    if formats:
        charts = [*comparison_charts(result, summaries, levels=_LEVELS), *extra]
        for name, content in draw_charts(charts, _words(result, summaries), formats):
            atomic_write(folder / "figures" / name, content)
    path = folder / COMPARE_FILE
    text = render_comparison(result, summaries, papers=bool(formats), extra=extra)
    atomic_write(path, text.encode("utf-8", "xmlcharrefreplace"))
    return path


def render_comparison(
    result: ComparisonResult,
    summaries: Sequence[Summary],
    *,
    papers: bool = True,
    extra: Sequence[Chart] = (),
) -> str:
    """The page as text; the same values give the same page.

    Args:
        extra: Figures beside those of the comparison itself.
        papers: Whether the figures are in the folder ``figures`` too.
    """
    charts = [*comparison_charts(result, summaries), *extra]
    name = title(result)
    called, terms = _KINDS.get(_mode(summaries), ("Campaigns", COMPARISON_TERMS))
    stamp = Stamp(labels=_labels(result), noise=_noise(result, summaries))
    return document(
        "compare.html",
        title=f"{name} – deadbeat comparison",
        styles=("page.css", "charts.css"),
        scripts=("charts.js",),
        fields={
            "name": escape(name),
            "banner": parts.banner(_labels(result)),
            "verdicts": "".join(map(_verdict, result.comparisons)),
            "metrics": "".join(_metrics(item, result) for item in result.comparisons),
            "gates": _gates(result),
            "needs": _needs(result),
            "noise": escape(_noise(result, summaries)),
            "findings": parts.findings_list(result.findings, result.labels),
            "figures": (_left_out(summaries) if papers else "") + figures(charts, stamp),
            "cells": "".join(_cells(item, result) for item in result.comparisons),
            "campaigns": _campaigns(result),
            "differences": _differences(result),
            "parameters": parts.pairs_table(_parameters(result)),
            "remedies": _remedies(result),
            "glossary": parts.definitions(terms, "terms"),
            "results": called,
            "charts": data_of(charts),
        },
    )


def _mode(summaries: Sequence[Summary]) -> str:
    return next((summary.mode for summary in summaries), "")


def title(result: ComparisonResult) -> str:
    """``B, C against A``."""
    names = [str(campaign.get("name", "?")) for campaign in result.campaigns]
    return f"{', '.join(names[1:])} against {names[0]}" if names else "nothing"


def _labels(result: ComparisonResult) -> tuple[str, ...]:
    return tuple(
        label.upper() if label in {"simulated", "emulated"} else label
        for label in result.labels
        if label
    )


def _noise(result: ComparisonResult, summaries: Sequence[Summary]) -> str:
    """The smallest effect of each campaign by itself."""
    if _mode(summaries) in _KINDS:
        return "smallest effect visible: column “could have shown” of the verdict"
    prefix = "smallest effect visible here: "
    floors = [
        f"{campaign.get('name', '?')} {facts.noise_floor(summary).text.removeprefix(prefix)}"
        for campaign, summary in zip(result.campaigns, summaries, strict=True)
    ]
    return f"smallest effect visible: {', '.join(floors)}"


def _words(result: ComparisonResult, summaries: Sequence[Summary]) -> Words:
    noise = _noise(result, summaries)
    kernels = " / ".join(str(campaign.get("kernel") or "?") for campaign in result.campaigns)
    return Words(
        labels=printable(", ".join(_labels(result))),
        caption=printable(f"{noise[:1].upper()}{noise[1:]}.  {title(result)} · kernels {kernels}."),
    )


def _verdict(comparison: Comparison) -> str:
    kind = comparison.verdict if comparison.verdict in VERDICTS else "undecided"
    return (
        f'<p class="sentence"><span class="verdict {kind}">{escape(comparison.verdict)}</span> '
        f"{escape(comparison.other)} against {escape(comparison.baseline)}:"
        f" {parts.prose(comparison.reason)}.</p>"
    )


def _metrics(comparison: Comparison, result: ComparisonResult) -> str:
    heading = _heading(comparison, result)
    rows = [_metric_row(metric) for metric in comparison.metrics]
    kind = f"metrics-{result.comparisons.index(comparison) + 1}"
    return heading + parts.cell_table(_METRIC_COLUMNS, rows, id=kind, kind="verdicts")


def _heading(comparison: Comparison, result: ComparisonResult) -> str:
    if len(result.comparisons) < 2:
        return ""
    return f"<h3>{escape(comparison.other)} against {escape(comparison.baseline)}</h3>"


def _metric_row(metric: MetricComparison) -> tuple[str, ...]:
    return (
        NAMES.get(metric.metric, metric.metric),
        verdict_text(metric),
        interval_words(metric.metric, metric),
        _p(metric.p_holm if metric.p_holm is not None else metric.p),
        _size(metric.metric, metric.minimum),
        _size(metric.metric, metric.gate),
        _size(metric.metric, metric.smallest_effect),
        count_text(metric),
    )


def _size(metric: str, value: float | None) -> str:
    return bound_text(metric, value)


def _p(value: float | None) -> str:
    if value is None:
        return "–"
    return f"{value:.2g}" if value >= 1e-6 else "< 1e-06"


def _left_out(summaries: Sequence[Summary]) -> str:
    """Which figures are on this page only."""
    every, drawn = factor_levels(summaries, None), factor_levels(summaries, _LEVELS)
    if len(drawn) == len(every):
        return ""
    shown = words_list([f"{factor:g}" for factor in drawn])
    return (
        f'<p class="hint">Of {len(every)} deadline factors the folder figures/ has the'
        f" distributions over task sets at D/C = {shown} alone; here are all.</p>"
    )


def _gates(result: ComparisonResult) -> str:
    """What the gates rest on; of which, where it is not the same for all."""
    found: dict[str, dict[str, list[str]]] = {}
    for comparison in result.comparisons:
        for metric in comparison.metrics:
            if metric.gate_basis:
                own = found.setdefault(metric.gate_basis, {})
                own.setdefault(comparison.other, []).append(metric_text(metric.metric))
    several = len(result.comparisons) > 1
    lines = []
    for text, own in found.items():
        of = "; ".join(
            f"{f'{other}: ' if several else ''}{words_list(metrics)}"
            for other, metrics in own.items()
        )
        which = f" ({of})" if len(found) > 1 else ""
        said = parts.prose(text.removeprefix("A/A: "))
        lines.append(f'<p class="hint">A/A gate{escape(which)}: {said}.</p>')
    return "".join(lines)


def _needs(result: ComparisonResult) -> str:
    several = len(result.comparisons) > 1
    lines = [
        f"{comparison.other}: {line}" if several else line
        for comparison in result.comparisons
        for line in comparison.needs
    ]
    if not lines:
        return ""
    items = "".join(f"<li>{parts.prose(line)}</li>" for line in lines)
    return f"<h3>What would decide it</h3><ul>{items}</ul>"


def _cells(comparison: Comparison, result: ComparisonResult) -> str:
    """The largest differences; all cells are in the figures."""
    found = [
        cell
        for metric in comparison.metrics
        for cell in metric.cells
        if cell.verdict in ("worse", "better")
    ]
    heading = _heading(comparison, result)
    if not found:
        return f"{heading}<p>No single cell is better or worse.</p>"
    found.sort(key=lambda cell: -abs(cell.effect or 0.0))
    rows = []
    for cell in found[:_CELLS_SHOWN]:
        sides = (
            "–" if side is None else value_text(cell.metric, side)
            for side in (cell.baseline, cell.other)
        )
        factor = f", D/C = {cell.deadline_factor:g}" if cell.deadline_factor else ""
        rows.append(
            (
                cell_text(cell) + factor,
                NAMES.get(cell.metric, cell.metric),
                cell.verdict,
                interval_words(cell.metric, cell),
                _p(cell.p_holm),
                *sides,
                str(cell.pairs),
            )
        )
    kind = f"cells-{result.comparisons.index(comparison) + 1}"
    more = len(found) - len(rows)
    note = f'<p class="hint">And {more} more, in the figures.</p>' if more else ""
    table = parts.cell_table(_CELL_COLUMNS, rows, id=kind)
    return f'{heading}<div class="scroll" tabindex="0">{table}</div>{note}'


def _remedies(result: ComparisonResult) -> str:
    """The effects of remedies beside each other; "" where nobody tried any."""
    if not result.remedies:
        return ""
    names = [str(campaign.get("name", "?")) for campaign in result.campaigns]
    table = parts.cell_table(
        effects_beside_columns(names), effects_beside(result.remedies), id="remedies-table"
    )
    return (
        "<h3>Remedies on each side</h3>"
        '<p class="hint">What each changes, with 95 % intervals, against runs of its own load test'
        " without it; below 0 is better. No verdict compares the sides here.</p>"
        f'<div class="scroll" role="region" aria-label="Remedies" tabindex="0">{table}</div>'
    )


def _parameters(result: ComparisonResult) -> list[tuple[str, str]]:
    return [(key, value or "none") for key, value in facts.flatten(result.parameters)]


def _campaigns(result: ComparisonResult) -> str:
    rows = []
    for place, campaign in enumerate(result.campaigns):
        labels = campaign.get("labels") or ()
        rows.append(
            (
                "baseline" if place == 0 else "compared",
                *(
                    str(campaign.get(key) or facts.UNKNOWN)
                    for key in ("name", "kernel", "preemption", "platform", "runs")
                ),
                ", ".join(map(str, labels)) or "none",
                str(campaign.get("path") or "–"),
            )
        )
    return parts.cell_table(_CAMPAIGN_COLUMNS, rows, id="campaigns-table")


def _differences(result: ComparisonResult) -> str:
    """Lines ``what: A's value | B's value`` as a table for each campaign that differs."""
    if not result.differences:
        return "<p>Nothing that was recorded of the machines and kernels.</p>"
    several = len(result.comparisons) > 1
    made = []
    for number, comparison in enumerate(result.comparisons, 1):
        prefix = f"{comparison.other}: " if several else ""
        rows = [
            _difference(line.removeprefix(prefix))
            for line in result.differences
            if line.startswith(prefix)
        ]
        if rows:
            columns = ("what", comparison.baseline, comparison.other)
            table = parts.cell_table(columns, rows, id=f"differences-{number}", kind="plain")
            made.append(f'<div class="scroll" tabindex="0">{table}</div>')
    return "".join(made)


def _difference(line: str) -> tuple[str, str, str]:
    what, _, values = line.partition(": ")
    one, _, two = values.partition(" | ")
    return what, one, two
