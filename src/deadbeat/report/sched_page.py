"""A simulated task system as one self-contained page: verdict, chart, response times, tasks.

Names come from files: they are escaped, here and in the drawing. The policy of the page allows its
own script alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import methodcaller
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from deadbeat.model.systems import TaskSystem
from deadbeat.model.words import escape
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
    as_text,
    texts_table,
)
from deadbeat.report.html import asset, page
from deadbeat.report.sched_drawing import caption, colour, gantt_svg, tag
from deadbeat.sched.answer import ScheduleAnswer
from deadbeat.sched.picture import Picture

_BINS = 28
#: Histograms on one page; a page with more is not read.
_HISTOGRAMS = 60
_PLOT_WIDTH, _PLOT_HEIGHT = 240, 78


#: Headings of the tasks' table, and keys of its rows.
_TASK_COLUMNS = (
    *(("task", "name"), ("C", "wcet"), ("T", "period"), ("D", "deadline"), ("O", "offset")),
    *(("jobs", "released"), ("missed", "missed")),
    *(("R min", "response_min"), ("R mean", "response_mean")),
    *(("R p50", "p50"), ("R p95", "p95"), ("R p99", "p99"), ("R max", "response_max")),
    *(("tardy", "tardiness_max"), ("slack", "slack_min")),
    *(("preempt", "preemptions"), ("migr", "migrations"), ("placed", "placed")),
)


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
                        FactList(
                            [(_capital(name), told) for name, told in schedule_facts(answer)],
                            grid=True,
                        ),
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


def schedule_facts(answer: ScheduleAnswer) -> list[tuple[str, str]]:
    """What the verdict holds for, and what was simulated."""
    unit = f" {answer['unit']}" if answer["unit"] else ""
    many = f"{answer['processors']} processor{'s' * (answer['processors'] != 1)}"
    ties = answer["ties"]
    if ties == "all":
        ties = f"every rule; figures below: {answer['shown_ties']}"
    options = "".join(f", {_words(name)} {_option(x)}" for name, x in answer["options"].items())
    facts = [
        ("policy", f"{answer['policy_title']} ({answer['policy']}), ties by {ties}{options}"),
        ("defined in", answer["policy_reference"]),
        (
            "model",
            f"{answer['model']}, method {answer['method']}, execution {answer['execution']},"
            f" {many}, utilisation {answer['utilisation']:.4g}, hyper-period"
            f" {short(answer['hyperperiod'])}{unit}",
        ),
        ("proof", answer["proof"] or "none"),
        ("reference", answer["reference"]),
    ]
    if not answer["jobs"]:
        return [*facts, ("simulated", "nothing, the answer needed no schedule"), *_remarks(answer)]
    ratio = f" ({100 * answer['miss_ratio']:.3f} %)" if answer["miss_ratio"] else ""
    return [
        *facts,
        (
            "simulated",
            f"[0, {answer['until']}){unit}, {answer['jobs']} jobs, {answer['misses']} of"
            f" {answer['judged']} deadlines missed{ratio}, {answer['events']} scheduling points"
            f" (budget {answer['budget']})",
        ),
        (
            "simulated",
            f"{answer['preemptions']} preemptions, {answer['migrations']} migrations of jobs"
            f" ({answer['cross_cluster']} across clusters), {answer['task_migrations']} of tasks",
        ),
        *_remarks(answer),
    ]


def _remarks(answer: ScheduleAnswer) -> list[tuple[str, str]]:
    return [("remark", remark) for remark in answer["remarks"]]


def _words(name: str) -> str:
    return name.replace("_", " ")


def _option(value: Any) -> str:
    if isinstance(value, dict):
        return " ".join(f"{_words(name)} {cost}" for name, cost in value.items())
    return str(value)


def short(value: int) -> str:
    """An integer, or its size where nobody reads so many digits."""
    # 2^80 has 25 digits; longer ones are not made into text at all, which is slow.
    if value.bit_length() <= 80:
        return str(value)
    return f"of about {value.bit_length() * 0.30103:.0f} digits"


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
    longest, high = int(values[-1]), _PLOT_HEIGHT
    top = max(task.deadline, longest)
    counts, _ = np.histogram(values.astype(np.float64), bins=_BINS, range=(0.0, float(top)))
    step, scale = _PLOT_WIDTH / _BINS, (high - 12) / int(counts.max())
    bars = [
        tag("rect", tip=f"{count} jobs", class_="bar", x=i * step, width=step - 0.6,
            fill=colour(index), y=high - count * scale, height=count * scale)
        for i, count in enumerate(map(int, counts))
        if count
    ]  # fmt: skip
    x = task.deadline / top * _PLOT_WIDTH
    words = f"{len(values)} jobs, longest {as_text(longest)}, D {as_text(task.deadline)}"
    drawing = tag(
        "svg", *bars,
        tag("line", class_="base", x1=0, x2=_PLOT_WIDTH, y1=high, y2=high),
        tag("line", class_="deadline", x1=x, x2=x, y1=0, y2=high),
        tag("text", "0", x=0, y=high + 13),
        tag("text", as_text(top), x=_PLOT_WIDTH, y=high + 13, text_anchor="end"),
        viewBox=f"-2 -2 {_PLOT_WIDTH + 4} {high + 18}", role="img",
        aria_label=f"Response times of {picture.system.label(index)}, simulated: {words}",
    )  # fmt: skip
    return tag("figure", drawing, tag("figcaption", f"{label}: {words}"))


def tasks_table(system: TaskSystem, answer: ScheduleAnswer) -> Table:
    """A row per task."""
    rows = []
    for row in answer["tasks"]:
        index = row["task"]
        task, ranks = system.tasks[index], row["response_percentiles"] or {}
        name = f"{index} {task.name}" if task.name else system.label(index)
        rows.append({**attrs.asdict(task), **ranks, **row, "name": name})
    printed = {
        "offset": any(task.offset for task in system.tasks),
        "p95": any(row["response_percentiles"] for row in answer["tasks"]),
        "placed": bool(answer["placed"]),
        **dict.fromkeys(("p50", "p99"), False),
    }
    columns = [
        Column(
            key=key,
            heading=heading,
            value=methodcaller("get", key),
            format=_cell,
            terminal=printed.get(key, True),
            markup=_swatch if key == "name" else None,
        )
        for heading, key in _TASK_COLUMNS
    ]
    unit = answer["unit"] or "units"
    return Table(
        name="tasks-table",
        title=f"Simulated, per task, in {unit}; R: response time, tardy: most, slack: least,"
        " preempt, migr: how often",
        columns=columns,
        rows=rows,
        differs=lambda row: row["missed"],
        dense=True,
        terminal=True,
        hint=f"Simulated over [0, {as_text(answer['until'])}) {unit}. R: response time, from"
        " release to completion; R p95: the least value that 95 % of the jobs do not exceed. Slack:"
        " deadline minus completion. Preempted: a running job left its processor before it was"
        " complete. Migrated: a job resumed on another processor. Marked: a deadline was missed.",
    )


def _swatch(row: Any) -> str:
    return f'<span class="swatch" style="background:{colour(row["task"])}"></span>'


def _cell(value: Any) -> str:
    if isinstance(value, int):
        return as_text(value)
    return f"{value:.6g}" if isinstance(value, float) else str(value)
