"""A load test's summary as one self-contained page, and its figures on paper; text is escaped."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from pathlib import Path

from deadbeat.kinds.interference.charts import load_charts
from deadbeat.kinds.interference.words import (
    EFFECT_COLUMNS,
    TABLE_COLUMNS,
    effect_rows,
    headline,
    label_of,
    labels,
    open_lines,
    parameter_rows,
    table_rows,
    threshold,
    without_causes,
)
from deadbeat.model.load_summary import Cause, LoadSummary
from deadbeat.report import parts
from deadbeat.report.canvas import FORMATS, Words
from deadbeat.report.charts_html import Stamp, data_of, figures
from deadbeat.report.charts_paper import draw_charts
from deadbeat.report.embed import document
from deadbeat.store.files import atomic_write, storing

TERMS = (
    ("round", "One run of the same computation by the real-time thread; its release is when it was"
     " due, back to back when the one before finished."),
    ("failure", "A round whose response time (finish - release) is longer than the deadline, or a"
     " release that passed while the round before still ran."),
    ("ordinary thread", "A thread of SCHED_OTHER, nice 0, that computes without end."),
    ("ready, and not running", "The kernel's run_delay: the thread could run, and another did."),
    ("running, and nothing moved", "A stretch of about 20 us of work took over 100 us longer"
     " although the thread kept its CPU: an interrupt, the firmware or the host."),
    ("slower execution", "What is left of its CPU time beyond the median at the fewest ordinary"
     " threads: a shared core, a frequency, shared memory, or the host."),
    ("involuntary", "Context switches by which the kernel took the CPU from the thread."),
    ("moves", "Times it found itself on another CPU."),
    ("work lost", "Share of the ordinary threads' work that they do without the real-time thread"
     " and not beside it."),
    ("all remedies", "All that are possible on this machine, at once."),
)  # fmt: skip


def render_load(summary: LoadSummary) -> str:
    """The page as text; the same summary gives the same page."""
    charts = load_charts(summary)
    return document(
        "load.html",
        title=f"{summary.name} – deadbeat load",
        styles=("page.css", "charts.css"),
        scripts=("plots.js", "charts.js"),
        fields={
            "name": escape(summary.name),
            "banner": parts.banner(labels(summary)),
            "head_facts": parts.definitions(_head(summary)),
            "sentence": parts.together(f"{headline(summary)} {threshold(summary)}"),
            "problems": parts.listed(map(escape, open_lines(summary)), "findings"),
            "causes": _causes(summary),
            "table": parts.cell_table(TABLE_COLUMNS, table_rows(summary), id="load-table"),
            "effects": _effects(summary),
            "impossible": parts.pairs_table(summary.impossible.items())
            if summary.impossible
            else "<p>Every remedy was tried.</p>",
            "figures": figures(charts, _stamp(summary)),
            "charts": data_of(charts),
            "platform": parts.pairs_table(summary.platform.items()),
            "parameters": parts.pairs_table(parameter_rows(summary)),
            "glossary": parts.definitions(TERMS, "terms"),
        },
    )


def write_figures(summary: LoadSummary, folder: Path, formats: Sequence[str] = FORMATS) -> None:
    """Every figure in every format."""
    with storing(folder):
        folder.mkdir(exist_ok=True)
    form = label_of(summary).split("   ", maxsplit=1)[0]
    caption = f"{form} · {summary.platform['processor']} · {summary.platform['kernel']}"
    words = Words(labels=" · ".join(labels(summary)), caption=caption)
    for name, content in draw_charts(load_charts(summary), words, formats):
        atomic_write(folder / name, content)


def _stamp(summary: LoadSummary) -> Stamp:
    return Stamp(labels=labels(summary), noise=label_of(summary).split("   ", maxsplit=1)[0])


def _head(summary: LoadSummary) -> list[tuple[str, str]]:
    return [
        ("Machine", summary.platform["machine"]),
        ("Processor", summary.platform["processor"]),
        ("Kernel", summary.platform["kernel"]),
        ("Preemption model", summary.platform["preemption model"]),
        ("Real-time thread", label_of(summary).split("   ", maxsplit=1)[0]),
        ("Runs", f"{summary.done} of {summary.planned}"),
    ]


def _causes(summary: LoadSummary) -> str:
    if not summary.causes:
        return f"<p>{escape(without_causes(summary))}</p>"
    return f'<ul class="findings">{"".join(map(_cause, summary.causes))}</ul>'


def _cause(cause: Cause) -> str:
    kind = {"shown": "warning", "likely": "warning"}.get(cause.certainty, "info")
    share = "" if cause.share is None else f" — {cause.share * 100:.0f} % of the lost time"
    return (
        f'<li class="{kind}"><span class="severity">{escape(cause.certainty.capitalize())}:'
        f"</span> {parts.together(cause.title + share)}."
        f' <span class="where">{parts.together(cause.evidence)}.</span></li>'
    )


_EFFECTS_NOTE = (
    "Verdicts err in 5 % of tests, all of a test together. Where no difference is shown there"
    " may be one. Found with 80 %: the smallest change of failures per second that so many pairs"
    " would have shown in four tests of five; not even: the end of all failures would not."
    " Occasions: where neither side has a failure, either has fewer occasions of them per second"
    " (95 %); how many failures one brings is not known."
)


def _effects(summary: LoadSummary) -> str:
    if not summary.effects:
        return "<p>No remedy was tried.</p>"
    table = parts.cell_table(EFFECT_COLUMNS, effect_rows(summary), id="effects-table")
    done = parts.pairs_table(sorted(summary.changes.items()))
    return (
        f'<div class="scroll" role="region" aria-label="Remedies" tabindex="0">{table}</div>'
        f"<p>{escape(_EFFECTS_NOTE)}</p>"
        f"<h3>What each did</h3>{done}"
    )
