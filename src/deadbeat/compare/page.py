"""A comparison as one self-contained page, and its figures on paper."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from html import escape
from pathlib import Path

from deadbeat.compare.charts import comparison_charts
from deadbeat.compare.words import (
    bound_text,
    cell_text,
    count_text,
    interval_text,
    p_text,
    value_text,
    verdict_text,
    words_list,
)
from deadbeat.kinds.interference.words import effects_beside, effects_beside_columns
from deadbeat.model.comparison import VERDICTS, Comparison, ComparisonResult, MetricComparison
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
_NOISE = "smallest effect visible: column “could have shown” of the verdict"
#: Figures of the subjects over each other; see `Comparable.overlays`.
Overlays = Callable[[int | None], list[Chart]]

_METRIC_COLUMNS = (
    *("metric", "verdict", "effect [95 %]", "p (Holm)", "minimum effect", "A/A gate"),
    *("could have shown", "cells"),
)
_CELL_COLUMNS = (
    *("cell", "metric", "verdict", "effect [95 %]", "p (Holm)", "baseline", "other", "pairs"),
)
_CAMPAIGN_COLUMNS = ("", "campaign", "kernel", "preemption", "platform", "runs", "labels", "folder")
#: What is compared -> what it is called, and the terms of its page.
_KINDS = {
    "": ("Campaigns", COMPARISON_TERMS),
    "latency": ("Latency matrices", LATENCY_COMPARISON_TERMS),
    "load": ("Load tests", LOAD_COMPARISON_TERMS),
}


def _nothing(_levels: int | None) -> list[Chart]:
    return []


def write_comparison(
    result: ComparisonResult,
    out_dir: Path,
    *,
    formats: Sequence[str] = FORMATS,
    overlays: Overlays = _nothing,
) -> Path:
    """Writes the figures and ``compare.html`` into ``out_dir`` and returns the page's path.

    Args:
        formats: Of the figures on paper; none: only the page.

    Raises:
        DeadbeatError: The folder or a file cannot be written.
    """
    folder = Path(out_dir)
    with storing(folder):
        (folder / "figures" if formats else folder).mkdir(parents=True, exist_ok=True)
    drawn: list[Chart] = []
    if formats:
        drawn = [*comparison_charts(result), *overlays(_LEVELS)]
        for name, content in draw_charts(drawn, _words(result), formats):
            atomic_write(folder / "figures" / name, content)
    path = folder / COMPARE_FILE
    text = render_comparison(result, overlays=overlays, papers=len(drawn))
    atomic_write(path, text.encode("utf-8", "xmlcharrefreplace"))
    return path


def render_comparison(
    result: ComparisonResult, *, overlays: Overlays = _nothing, papers: int = 0
) -> str:
    """The page as text; the same values give the same page.

    Args:
        papers: How many figures the folder ``figures`` has.
    """
    charts = [*comparison_charts(result), *overlays(None)]
    name = title(result)
    called, terms = _KINDS[str(result.parameters.get("of", ""))]
    several = len(result.comparisons) > 1
    return document(
        "compare.html",
        title=f"{name} – deadbeat comparison",
        styles=("page.css", "charts.css"),
        scripts=("charts.js",),
        fields={
            "name": escape(name),
            "banner": parts.banner(_labels(result)),
            "verdicts": "".join(map(_verdict, result.comparisons)),
            "metrics": "".join(
                _heading(each, several) + _metrics(each, number)
                for number, each in enumerate(result.comparisons, 1)
            ),
            "gates": _gates(result),
            "needs": _needs(result),
            "noise": escape(_NOISE),
            "findings": parts.findings_list(result.findings, result.labels),
            "figures": _left_out(len(charts), papers)
            + figures(charts, Stamp(labels=_labels(result), noise=_NOISE)),
            "cells": "".join(
                _heading(each, several) + _cells(each, number)
                for number, each in enumerate(result.comparisons, 1)
            ),
            "campaigns": _campaigns(result),
            "differences": _differences(result),
            "parameters": parts.pairs_table(
                [(key, value or "none") for key, value in facts.flatten(result.parameters)]
            ),
            "remedies": _remedies(result),
            "glossary": parts.definitions(terms, "terms"),
            "results": called,
            "charts": data_of(charts),
        },
    )


def title(result: ComparisonResult) -> str:
    """``B, C against A``."""
    names = [str(campaign.get("name", "?")) for campaign in result.campaigns]
    return f"{', '.join(names[1:])} against {names[0]}" if names else "nothing"


def _labels(result: ComparisonResult) -> tuple[str, ...]:
    loud = {"simulated", "emulated"}
    return tuple(label.upper() if label in loud else label for label in result.labels if label)


def _words(result: ComparisonResult) -> Words:
    kernels = " / ".join(str(campaign.get("kernel") or "?") for campaign in result.campaigns)
    return Words(
        labels=printable(", ".join(_labels(result))),
        caption=printable(f"{title(result)} · kernels {kernels}."),
    )


def _verdict(comparison: Comparison) -> str:
    kind = comparison.verdict if comparison.verdict in VERDICTS else "undecided"
    return (
        f'<p class="sentence"><span class="verdict {kind}">{escape(comparison.verdict)}</span> '
        f"{escape(comparison.other)} against {escape(comparison.baseline)}:"
        f" {parts.prose(comparison.reason)}.</p>"
    )


def _heading(comparison: Comparison, several: bool) -> str:
    names = f"{escape(comparison.other)} against {escape(comparison.baseline)}"
    return f"<h3>{names}</h3>" if several else ""


def _metrics(comparison: Comparison, number: int) -> str:
    rows = [_metric_row(metric) for metric in comparison.metrics]
    return parts.cell_table(_METRIC_COLUMNS, rows, id=f"metrics-{number}", kind="verdicts")


def _metric_row(metric: MetricComparison) -> tuple[str, ...]:
    sizes = (metric.minimum, metric.gate, metric.smallest_effect)
    return (
        metric.metric.title,
        verdict_text(metric),
        interval_text(metric, none="not defined"),
        p_text(metric.p_holm if metric.p_holm is not None else metric.p),
        *(bound_text(metric.metric, size) for size in sizes),
        count_text(metric),
    )


def _left_out(charts: int, papers: int) -> str:
    """Which figures are on this page only."""
    if not 0 < papers < charts:
        return ""
    return (
        f'<p class="hint">The folder figures/ has {papers} of these {charts} figures: distributions'
        " over task sets at the shortest and the longest deadline factor alone.</p>"
    )


def _gates(result: ComparisonResult) -> str:
    """What the gates rest on; of which, where it is not the same for all."""
    found: dict[str, dict[str, list[str]]] = {}
    for comparison in result.comparisons:
        for metric in comparison.metrics:
            if metric.gate_basis:
                own = found.setdefault(metric.gate_basis, {})
                own.setdefault(comparison.other, []).append(metric.metric.words)
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
    items = "".join(f"<li>{parts.prose(line)}</li>" for line in lines)
    return f"<h3>What would decide it</h3><ul>{items}</ul>" if lines else ""


def _cells(comparison: Comparison, number: int) -> str:
    """The largest differences; all cells are in the figures."""
    every = (cell for metric in comparison.metrics for cell in metric.cells)
    found = [cell for cell in every if cell.verdict in ("worse", "better")]
    if not found:
        return "<p>No single cell is better or worse.</p>"
    found.sort(key=lambda cell: -abs(cell.effect or 0.0))
    rows = [
        (
            cell_text(cell) + (f", D/C = {cell.deadline_factor:g}" if cell.deadline_factor else ""),
            cell.metric.title,
            cell.verdict,
            interval_text(cell),
            p_text(cell.p_holm),
            *(
                "–" if v is None else value_text(cell.metric, v)
                for v in (cell.baseline, cell.other)
            ),
            str(cell.pairs),
        )
        for cell in found[:_CELLS_SHOWN]
    ]
    more = len(found) - len(rows)
    note = f'<p class="hint">And {more} more, in the figures.</p>' if more else ""
    return (
        parts.scrolled(parts.cell_table(_CELL_COLUMNS, rows, id=f"cells-{number}"), "Cells") + note
    )


def _remedies(result: ComparisonResult) -> str:
    """The effects of remedies beside each other; "" where nobody tried any."""
    if not result.remedies:
        return ""
    names = [str(campaign.get("name", "?")) for campaign in result.campaigns]
    rows = effects_beside(result.remedies)
    table = parts.cell_table(effects_beside_columns(names), rows, id="remedies-table")
    return (
        "<h3>Remedies on each side</h3>"
        '<p class="hint">What each changes, with 95 % intervals, against runs of its own load test'
        " without it; below 0 is better. No verdict compares the sides here.</p>"
        + parts.scrolled(table, "Remedies")
    )


def _campaigns(result: ComparisonResult) -> str:
    keys = ("name", "kernel", "preemption", "platform", "runs")
    rows = [
        (
            "compared" if place else "baseline",
            *(str(campaign.get(key) or facts.UNKNOWN) for key in keys),
            ", ".join(map(str, campaign.get("labels") or ())) or "none",
            str(campaign.get("path") or "–"),
        )
        for place, campaign in enumerate(result.campaigns)
    ]
    return parts.cell_table(_CAMPAIGN_COLUMNS, rows, id="campaigns-table")


def _differences(result: ComparisonResult) -> str:
    """Lines ``what: A's value | B's value`` as a table for each campaign that differs."""
    if not result.differences:
        return "<p>Nothing that was recorded of the machines and kernels.</p>"
    several = len(result.comparisons) > 1
    made = []
    for number, comparison in enumerate(result.comparisons, 1):
        prefix = f"{comparison.other}: " if several else ""
        own = [line for line in result.differences if line.startswith(prefix)]
        if own:
            columns = ("what", comparison.baseline, comparison.other)
            rows = [difference_row(line.removeprefix(prefix)) for line in own]
            table = parts.cell_table(columns, rows, id=f"differences-{number}", kind="plain")
            made.append(parts.scrolled(table, "What differs"))
    return "".join(made)


def difference_row(line: str) -> tuple[str, str, str]:
    """``what: A's value | B's value`` in three."""
    what, _, values = line.partition(": ")
    one, _, two = values.partition(" | ")
    return what, one, two
