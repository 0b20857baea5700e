"""A simulated task system as one self-contained page: verdict, chart, response times, tasks.

Names come from files: they are escaped, here and in the drawing. The policy of the page allows its
own script alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deadbeat.report.embed import document
from deadbeat.report.sched_gantt import caption, colour, gantt_svg, shown_time
from deadbeat.sched.picture import Picture

_BINS = 28
#: Histograms on one page; a page with more is not read.
_HISTOGRAMS = 60
_PLOT_WIDTH, _PLOT_HEIGHT = 240, 78

_COLUMNS = (
    *("task", "C", "T", "D", "O", "jobs", "missed", "R min", "R mean", "R p50", "R p95", "R p99"),
    *("R max", "tardiness max", "slack min", "preempted", "migrated", "placed"),
)


def render_schedule(
    picture: Picture,
    answer: Mapping[str, Any],
    responses: Sequence[NDArray[np.int64]] | None,
    *,
    title: str,
) -> str:
    """The page as text; the same values give the same page.

    Args:
        answer: As ``deadbeat.sched.answer.answer_of`` gives it.
        responses: Response times of each task, ascending; None where they were not recorded.
    """
    unit = f" {answer['unit']}" if answer["unit"] else ""
    return document(
        "sched.html",
        title=f"{title} – deadbeat schedule",
        styles=("page.css", "sched.css"),
        scripts=("sched.js",),
        plots=False,
        fields={
            "name": escape(title),
            "caption": escape(_capital(caption(picture.verdict).partition(": ")[2])) + ".",
            "kind": answer["schedulable"],
            "sentence": escape(_sentence(answer)),
            "argument": escape(_capital(answer["because"])) + ".",
            "ties": _ties(answer),
            "facts": _facts(answer, unit),
            "gantt": gantt_svg(picture, title=title, interactive=True),
            "note": escape(f"{_capital(picture.note)}." if picture.note else ""),
            "histograms": _histograms(picture, responses, jobs=answer["jobs"]),
            "table": _table(picture, answer),
            "until": shown_time(answer["until"]),
            "unit": escape(unit),
        },
    )


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _sentence(answer: Mapping[str, Any]) -> str:
    found = answer["schedulable"]
    words = {"yes": "Schedulable", "no": "Not schedulable", "undecided": "Undecided"}[found]
    if "robustness" in answer:
        words += f" under every tie rule: {answer['robustness']}"
    if found != "undecided":
        words += ", proved" if answer["proved"] else ", not proved"
    return words + "."


def _facts(answer: Mapping[str, Any], unit: str) -> str:
    length = answer["hyperperiod"].bit_length()
    hyperperiod = shown_time(answer["hyperperiod"]) + unit if length <= 80 else f"2^{length - 1}.."
    options = "; ".join(
        f"{name.replace('_', ' ')}: {value}" for name, value in answer["options"].items()
    )
    pairs = [
        ("Policy", f"{answer['policy_title']} ({answer['policy']})"),
        ("Defined in", answer["policy_reference"]),
        ("Options", options or "none that it looks at"),
        ("Ties", answer["ties"]),
        ("Model", answer["model"]),
        ("Holds for", f"execution {answer['execution']}"),
        ("Method", answer["method"]),
        ("Proof", f"{answer['proof'] or 'none'}; {answer['reference']}"),
        ("Processors", str(answer["processors"])),
        ("Utilisation", f"{answer['utilisation']:.4g}"),
        ("Hyper-period", hyperperiod),
        ("Simulated", f"[0, {shown_time(answer['until'])}){unit}"),
        ("Jobs", f"{answer['jobs']}, {answer['misses']} of {answer['judged']} late"),
        ("Scheduling points", f"{answer['events']}, the budget is {answer['budget']}"),
        ("Preemptions", str(answer["preemptions"])),
        (
            "Migrations",
            f"{answer['migrations']} of jobs ({answer['cross_cluster']} across clusters),"
            f" {answer['task_migrations']} of tasks",
        ),
        *(("Remark", remark) for remark in answer["remarks"]),
    ]
    items = "".join(f"<div><dt>{escape(a)}</dt><dd>{escape(b)}</dd></div>" for a, b in pairs)
    return f'<dl class="facts">{items}</dl>'


def _ties(answer: Mapping[str, Any]) -> str:
    if "by_ties" not in answer:
        return ""
    head = "".join(f'<th scope="col">{word}</th>' for word in ("ties by", "schedulable", "because"))
    lines = "".join(
        f'<tr><th scope="row">{escape(rule)}</th><td>{escape(entry["schedulable"])}</td>'
        f"<td>{escape(entry['because'])}</td></tr>"
        for rule, entry in answer["by_ties"].items()
    )
    shown = escape(answer["shown_ties"])
    return (
        f'<table class="plain"><thead><tr>{head}</tr></thead><tbody>{lines}</tbody></table>'
        f'<p class="hint">The figures below are those of ties by {shown}.</p>'
    )


def _histograms(
    picture: Picture, responses: Sequence[NDArray[np.int64]] | None, *, jobs: int
) -> str:
    if not jobs:
        return "<p>No job was simulated: the answer needed no schedule.</p>"
    if responses is None:
        return "<p>There are too many jobs to keep the response time of each.</p>"
    shown = list(enumerate(responses))[:_HISTOGRAMS]
    rest = len(responses) - len(shown)
    note = f'<p class="hint">The first {len(shown)} of {len(responses)} tasks.</p>' if rest else ""
    figures = "".join(_histogram(picture, task, values) for task, values in shown)
    return (
        '<p class="hint">Simulated; jobs per bin, from 0 to the relative deadline D (dashed) or'
        f' the longest response.</p>{note}<div class="histograms">{figures}</div>'
    )


def _histogram(picture: Picture, index: int, values: NDArray[np.int64]) -> str:
    task = picture.system.tasks[index]
    label = escape(picture.system.label(index))
    if not len(values):
        return f"<figure><figcaption>{label}: no job completed</figcaption></figure>"
    top = max(task.deadline, int(values[-1]))
    counts, _ = np.histogram(values.astype(np.float64), bins=_BINS, range=(0.0, float(top)))
    width, most = _PLOT_WIDTH / _BINS, int(counts.max())
    bars = "".join(
        f'<rect class="bar" x="{i * width:.2f}" width="{width - 0.6:.2f}" fill="{colour(index)}"'
        f' y="{_PLOT_HEIGHT - h:.2f}" height="{h:.2f}"><title>{int(count)} jobs</title></rect>'
        for i, count in enumerate(counts)
        if (h := int(count) / most * (_PLOT_HEIGHT - 12)) > 0
    )
    x = task.deadline / top * _PLOT_WIDTH
    words = (
        f"{len(values)} jobs, longest {shown_time(int(values[-1]))}, D {shown_time(task.deadline)}"
    )
    return (
        f'<figure><svg viewBox="-2 -2 {_PLOT_WIDTH + 4} {_PLOT_HEIGHT + 18}" role="img"'
        f' aria-label="Response times of {label}, simulated: {words}">{bars}'
        f'<line class="base" x1="0" x2="{_PLOT_WIDTH}" y1="{_PLOT_HEIGHT}" y2="{_PLOT_HEIGHT}"/>'
        f'<line class="deadline" x1="{x:.2f}" x2="{x:.2f}" y1="0" y2="{_PLOT_HEIGHT}"/>'
        f'<text x="0" y="{_PLOT_HEIGHT + 13}">0</text>'
        f'<text x="{_PLOT_WIDTH}" y="{_PLOT_HEIGHT + 13}" text-anchor="end">{shown_time(top)}'
        f"</text></svg><figcaption>{label}: {words}</figcaption></figure>"
    )


def _table(picture: Picture, answer: Mapping[str, Any]) -> str:
    if not answer["jobs"]:
        return "<p>Nothing was simulated.</p>"
    head = "".join(f'<th scope="col">{column}</th>' for column in _COLUMNS)
    lines = "".join(_row(picture, row) for row in answer["tasks"])
    return f'<table id="tasks-table"><thead><tr>{head}</tr></thead><tbody>{lines}</tbody></table>'


def _row(picture: Picture, row: Mapping[str, Any]) -> str:
    task = picture.system.tasks[row["task"]]
    ranks = row["response_percentiles"] or {}
    swatch = f'<span class="swatch" style="background:{colour(row["task"])}"></span>'
    cells: Iterable[Any] = (
        *(task.wcet, task.period, task.deadline, task.offset, row["released"], row["missed"]),
        *(row["response_min"], row["response_mean"], ranks.get("p50"), ranks.get("p95")),
        *(ranks.get("p99"), row["response_max"], row["tardiness_max"], row["slack_min"]),
        *(row["preemptions"], row["migrations"], row["placed"]),
    )
    texts = [_cell(cell) for cell in cells]
    missed = ' class="miss"' if row["missed"] else ""
    tail = "".join(
        f"<td{missed if column == 'missed' else ''}>{text}</td>"
        for column, text in zip(_COLUMNS[1:], texts, strict=True)
    )
    name = escape(f"{row['task']} {task.name}" if task.name else row["label"])
    return f"<tr><td>{swatch}{name}</td>{tail}</tr>"


def _cell(value: Any) -> str:
    if value is None:
        return "–"
    return f"{value:.6g}" if isinstance(value, float) else shown_time(value)
