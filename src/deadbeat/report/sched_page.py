"""A simulated task system as one self-contained page: verdict, chart, response times, tasks.

Names come from files: they are escaped, here and in the drawing. The policy of the page allows its
own script alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deadbeat.model.systems import TaskSystem
from deadbeat.report.document import (
    Column,
    Document,
    FactList,
    Markup,
    Note,
    Part,
    Section,
    Sentence,
    Table,
    said,
    texts_table,
)
from deadbeat.report.embed import asset
from deadbeat.report.html import page
from deadbeat.report.sched_gantt import caption, colour, gantt_svg, shown_time
from deadbeat.sched.answer import ScheduleAnswer
from deadbeat.sched.picture import Picture

_BINS = 28
#: Histograms on one page; a page with more is not read.
_HISTOGRAMS = 60
_PLOT_WIDTH, _PLOT_HEIGHT = 240, 78


def render_schedule(
    picture: Picture,
    answer: ScheduleAnswer,
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
    verdict = (
        f'<p class="sentence {answer["schedulable"]}" id="verdict-sentence">'
        f"{escape(_sentence(answer))}</p>"
    )
    drawn = (
        f'{asset("zoom.html")}<figure><div class="scroll sheet" id="gantt" tabindex="0"'
        ' role="region" aria-label="Gantt chart">'
        f"{gantt_svg(picture, title=title, interactive=True)}</div></figure>"
    )
    tasks = (
        tasks_table(picture.system, answer)
        if answer["jobs"]
        else Sentence("Nothing was simulated.")
    )
    note = f"{_capital(picture.note)}. " if picture.note else ""
    means = _capital(caption(picture.verdict).partition(": ")[2])
    return page(
        Document(
            title=title,
            kind="schedule",
            product="deadbeat schedule",
            labels=("Simulated, not measured",),
            about=f"All follows from the parameters of the tasks alone. {means}.",
            sections=(
                Section(
                    "verdict",
                    "Verdict",
                    (
                        Markup(verdict),
                        Sentence(f"{_capital(answer['because'])}."),
                        *_ties(answer),
                        FactList(_facts(answer, unit), grid=True),
                    ),
                ),
                Section(
                    "schedule",
                    "Schedule",
                    (
                        Markup(drawn),
                        Note(
                            f"Simulated. {note}Wheel: zoom; drag: move; double click: the whole"
                            " window. Point at a bar or an arrow for its instants."
                        ),
                    ),
                ),
                Section("responses", "Response times", (_histograms(picture, responses, answer),)),
                Section("tasks", "Tasks", (tasks,)),
            ),
            styles=("sched.css",),
            scripts=("sched.js",),
        )
    )


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _sentence(answer: ScheduleAnswer) -> str:
    found = answer["schedulable"]
    words = {"yes": "Schedulable", "no": "Not schedulable", "undecided": "Undecided"}[found]
    if "robustness" in answer:
        words += f" under every tie rule: {answer['robustness']}"
    if found != "undecided":
        words += ", proved" if answer["proved"] else ", not proved"
    return words + "."


def _facts(answer: ScheduleAnswer, unit: str) -> list[tuple[str, str]]:
    length = answer["hyperperiod"].bit_length()
    hyperperiod = shown_time(answer["hyperperiod"]) + unit if length <= 80 else f"2^{length - 1}.."
    options = "; ".join(
        f"{name.replace('_', ' ')}: {value}" for name, value in answer["options"].items()
    )
    return [
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


def _ties(answer: ScheduleAnswer) -> tuple[Part, ...]:
    if "by_ties" not in answer:
        return ()
    rows = [
        (rule, entry["schedulable"], entry["because"]) for rule, entry in answer["by_ties"].items()
    ]
    hint = f"The figures below are those of ties by {answer['shown_ties']}."
    heads = ("ties by", "schedulable", "because")
    return (texts_table("ties-table", heads, rows, hint=hint),)


def _histograms(
    picture: Picture, responses: Sequence[NDArray[np.int64]] | None, answer: ScheduleAnswer
) -> Part:
    if not answer["jobs"]:
        return Sentence("No job was simulated: the answer needed no schedule.")
    if responses is None:
        return Sentence("There are too many jobs to keep the response time of each.")
    shown = list(enumerate(responses))[:_HISTOGRAMS]
    rest = len(responses) - len(shown)
    note = f" The first {len(shown)} of {len(responses)} tasks." if rest else ""
    figures = "".join(_histogram(picture, task, values) for task, values in shown)
    return Markup(
        '<p class="hint">Simulated; jobs per bin, from 0 to the relative deadline D (dashed) or'
        f' the longest response.{note}</p><div class="histograms">{figures}</div>'
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


def tasks_table(system: TaskSystem, answer: ScheduleAnswer) -> Table:
    """A row per task."""

    def of_task(heading: str, name: str, **more: Any) -> Column:
        return said(
            heading, lambda row: getattr(system.tasks[row["task"]], name), format=_cell, **more
        )

    def rank(heading: str, name: str, **more: Any) -> Column:
        return said(
            heading,
            lambda row: (row["response_percentiles"] or {}).get(name),
            format=_cell,
            **more,
        )

    def own(heading: str, key: str, **more: Any) -> Column:
        return said(heading, lambda row: row[key], format=_cell, **more)

    def called(task: int) -> str:
        name = system.tasks[task].name
        return f"{task} {name}" if name else system.label(task)

    def swatch(task: int) -> str:
        return f'<span class="swatch" style="background:{colour(task)}"></span>'

    columns = (
        said("task", lambda row: called(row["task"]), markup=lambda row: swatch(row["task"])),
        of_task("C", "wcet"), of_task("T", "period"), of_task("D", "deadline"),
        of_task("O", "offset", terminal=any(task.offset for task in system.tasks)),
        own("jobs", "released"), own("missed", "missed"),
        own("R min", "response_min"), own("R mean", "response_mean"),
        rank("R p50", "p50", terminal=False),
        rank("R p95", "p95", terminal=any(row["response_percentiles"] for row in answer["tasks"])),
        rank("R p99", "p99", terminal=False),
        own("R max", "response_max"), own("tardy", "tardiness_max"), own("slack", "slack_min"),
        own("preempt", "preemptions"), own("migr", "migrations"),
        own("placed", "placed", terminal=bool(answer["placed"])),
    )  # fmt: skip
    unit = answer["unit"] or "units"
    return Table(
        name="tasks-table",
        title=f"Simulated, per task, in {unit}; R: response time, tardy: most, slack: least,"
        " preempt, migr: how often",
        columns=columns,
        rows=answer["tasks"],
        differs=lambda row: row["missed"],
        dense=True,
        terminal=True,
        hint=f"Simulated over [0, {shown_time(answer['until'])}) {unit}. R: response time, from"
        " release to completion; R p95: the least value that 95 % of the jobs do not exceed. Slack:"
        " deadline minus completion. Preempted: a running job left its processor before it was"
        " complete. Migrated: a job resumed on another processor. Marked: a deadline was missed.",
    )


def _cell(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else shown_time(value)
