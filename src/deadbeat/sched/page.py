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
from attrs import evolve
from numpy.typing import NDArray

from deadbeat.base.model.systems import TaskSystem
from deadbeat.base.model.words import capital, count_of
from deadbeat.base.report.building import histogram
from deadbeat.base.report.charts import Chart, Mark, Panel
from deadbeat.base.report.document import (
    Column,
    Document,
    FactList,
    Figures,
    Part,
    Section,
    Sentence,
    Table,
    as_text,
    texts_table,
)
from deadbeat.base.report.html import page
from deadbeat.sched.answer import ChainFigures, ScheduleAnswer
from deadbeat.sched.drawing import LABEL, row_name, schedule_chart, unit_words
from deadbeat.sched.picture import Picture

_BINS = 28
#: Histograms on one page; a page with more is not read.
_HISTOGRAMS = 60


#: Headings of the tasks' table, and keys of its rows.
_TASK_COLUMNS = (
    *(("task", "name"), ("C", "wcet"), ("T", "period"), ("D", "deadline"), ("O", "offset")),
    *(("jobs", "released"), ("missed", "missed")),
    *(("R min", "response_min"), ("R mean", "response_mean")),
    *(("R p50", "p50"), ("R p95", "p95"), ("R p99", "p99"), ("R max", "response_max")),
    *(("tardy", "tardiness_max"), ("slack", "slack_min")),
    *(("preempt", "preemptions"), ("migr", "migrations"), ("placed", "placed")),
)


#: Of them, those beside the verdict.
_LEAST = ("name", "deadline", "response_max", "slack_min", "missed")

#: What a narrow terminal leaves out, the last first.
_SPARE = ("O", "R min", "R mean", "R p95", "tardy", "slack", "preempt", "migr", "placed")


def render_schedule(
    picture: Picture,
    answer: ScheduleAnswer,
    responses: Sequence[NDArray[np.int64]] | None,
    *,
    title: str,
) -> str:
    """The page as text; the same values give the same page.

    Args:
        answer: From ``deadbeat.sched.answer.answer_of``.
        responses: Response times of each task, ascending; None where they were not recorded.
    """
    tasks = tasks_table(picture.system, answer) if answer["jobs"] else None
    drawn = schedule_chart(picture, title=title)
    note = "Drag: zoom; double click: the whole window. Point at a bar or a mark for its instants."
    return page(
        Document(
            title=title,
            kind="schedule",
            product="deadbeat sched simulate",
            labels=(LABEL,),
            answer=(_sentence(answer), f"{capital(answer['because'])}."),
            picture=tasks and _least(tasks),
            sections=(
                Section(
                    "verdict",
                    "What the verdict holds for",
                    (
                        Figures([evolve(drawn, caption=f"{drawn.caption} {note}")]),
                        Sentence("All follows from the parameters of the tasks alone."),
                        *_ties(answer),
                        FactList(
                            [(capital(name), value) for name, value in schedule_facts(answer)],
                            grid=True,
                        ),
                    ),
                    "Verdict",
                ),
                Section("responses", "Response times", (_histograms(picture, responses, answer),)),
                Section(
                    "tasks",
                    "Tasks",
                    (tasks or Sentence("Nothing was simulated."),),
                ),
                *(
                    Section("chains", "Chains", (chains_table(chains, answer["unit"]),))
                    for chains in [answer.get("chains")]
                    if chains
                ),
            ),
        )
    )


def _least(tasks: Table) -> Table:
    """Tasks that missed, then by slack, the least first."""
    rows = sorted(tasks.rows, key=lambda row: (not row["missed"], row["slack_min"] or 0))
    title = "The tasks with the least slack; R max: the longest response time"
    return evolve(tasks, rows=rows, order=_LEAST, title=title)


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
    many = count_of(answer["processors"], "processor")
    ties = answer["ties"]
    if ties == "all":
        ties = f"every rule; figures below: {answer['shown_ties']}"
    found = []
    for name, x in answer["options"].items():
        if isinstance(x, dict):
            option = " ".join(f"{_words(name)} {cost}" for name, cost in x.items())
        else:
            option = str(x)
        found.append(f", {_words(name)} {option}")
    options = "".join(found)
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
    remarks = [("remark", remark) for remark in answer["remarks"]]
    if not answer["jobs"]:
        return [*facts, ("simulated", "nothing, the answer needed no schedule"), *remarks]
    ratio = f" ({100 * answer['miss_ratio']:.3f} %)" if answer["miss_ratio"] else ""
    return [
        *facts,
        (
            "simulated",
            f"[0, {as_text(answer['until'])}){unit}, {count_of(answer['jobs'], 'job')},"
            f" {answer['misses']:,} of"
            f" {answer['judged']:,} deadlines missed{ratio}, {answer['events']:,} scheduling points"
            f" (budget {answer['budget']:,})",
        ),
        (
            "simulated",
            f"{count_of(answer['preemptions'], 'preemption')},"
            f" {count_of(answer['migrations'], 'migration')} of jobs"
            f" ({answer['cross_cluster']:,} across clusters), {answer['task_migrations']:,} of"
            " tasks",
        ),
        *remarks,
    ]


def _words(name: str) -> str:
    return name.replace("_", " ")


def short(value: int) -> str:
    """An integer, or its size where the digits are too many to read."""
    # 2^80 has 25 digits; longer ones are not made into text at all, which is slow.
    if value.bit_length() <= 80:
        return f"{value:,}"
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
    caption = f"Jobs per bin, from 0 to the relative deadline D or the longest response.{note}"
    charts = [_histogram(picture, task, values, caption) for task, values in shown]
    return Figures([chart for chart in charts if chart is not None])


def _histogram(
    picture: Picture, index: int, values: NDArray[np.int64], caption: str
) -> Chart | None:
    """None of a task of which no job completed."""
    task, longest = picture.system.tasks[index], int(max(values, default=0))
    if not len(values):
        return None
    edges = np.linspace(0.0, float(max(task.deadline, longest)), _BINS + 1)
    return Chart(
        name=f"responses-{index}",
        title="Response times of a task",
        caption=f"{len(values)} jobs, longest {as_text(longest)}. {caption}",
        family="responses",
        option=f"{index} {picture.system.label(index)}",
        panels=(
            Panel(
                title="",
                x_label=f"response time in {unit_words(picture.system)}",
                y_label="jobs (%)",
                curves=(histogram(values.tolist(), edges.tolist()),),
                marks=(Mark(axis="x", at=task.deadline, label=f"D = {as_text(task.deadline)}"),),
            ),
        ),
    )


def tasks_table(system: TaskSystem, answer: ScheduleAnswer) -> Table:
    rows = []
    for row in answer["tasks"]:
        index = row["task"]
        task, ranks = system.tasks[index], row["response_percentiles"] or {}
        rows.append({**attrs.asdict(task), **ranks, **row, "name": row_name(system, index)})
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
            spare=heading in _SPARE,
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


def chains_table(chains: Sequence[ChainFigures], unit: str) -> Table:
    """``chains``: of an answer, as is its ``unit``."""
    keys = ("age_mean", "age_max", "reaction_mean", "reaction_max", "from_event_max", "deadline")
    heads = [("chain", "name"), *((key.replace("_", " "), key) for key in keys), ("jobs", "jobs")]
    rows = [{**row, "name": row["name"] or " > ".join(row["tasks"])} for row in chains]
    return Table(
        name="chains-table",
        title=f"Simulated, per chain, in {unit or 'units'}: age of data, and reaction, from an"
        " event one period longer",
        columns=[
            Column(key=key, heading=head, value=methodcaller("get", key), format=_cell)
            for head, key in heads
        ],
        rows=rows,
        differs=lambda row: row["late"],
        dense=True,
        terminal=True,
        hint="Age: from the arrival of the first task's job to the end of the last task's job that"
        " uses its data. Reaction: to the first such end, with its data or newer. Marked: late.",
    )


def _cell(value: Any) -> str:
    if isinstance(value, int):
        return as_text(value)
    return f"{value:,.6g}" if isinstance(value, float) else str(value)
