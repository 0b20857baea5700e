"""Answers of the lab for people: a short verdict first, then a table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

from deadbeat.cli._output import print_table
from deadbeat.model.systems import TaskSystem

#: Digits of a hyper-period that are worth reading.
_DIGITS = 24

_EXECUTION = {
    "up-to-wcet": "for all execution times up to C",
    "exactly-wcet": "for execution times of exactly C",
}


def print_answer(system: TaskSystem, answer: Mapping[str, Any], written: Mapping[str, str]) -> None:
    """The verdict, what it rests on, what was simulated, and a row per task."""
    for line in verdict_lines(answer):
        click.echo(line)
    for line in circumstances(system, answer):
        click.echo(line)
    for remark in answer["remarks"]:
        click.echo(f"remark: {remark}")
    if answer["tasks"]:
        click.echo()
        _print_tasks(system, answer)
    for kind, path in written.items():
        click.echo(f"{kind}: {path}")


def verdict_lines(answer: Mapping[str, Any]) -> list[str]:
    """The answer, and the argument for it."""
    found, proved = answer["schedulable"], answer["proved"]
    how = "" if found == "undecided" else ", proved" if proved else ", not proved"
    if "robustness" in answer:
        rules = answer["by_ties"]
        lines = [f"schedulable under every tie rule: {found}{how} ({answer['robustness']})"]
        width = max(map(len, rules))
        lines += [
            f"  {rule:<{width}}  {entry['schedulable']}: {entry['because']}"
            for rule, entry in rules.items()
        ]
        return lines
    lines = [f"schedulable: {found}{how} ({answer['because']})"]
    execution = _EXECUTION.get(answer["execution"], answer["execution"])
    if found == "yes" and execution not in answer["because"]:
        lines[0] += f", {execution}"
    if answer["pattern"] and answer["pattern"] not in answer["because"]:
        lines.append(f"releases that miss: {answer['pattern']}")
    return lines


def circumstances(system: TaskSystem, answer: Mapping[str, Any]) -> list[str]:
    ties = answer["ties"]
    if ties == "all":
        ties = f"every rule; figures below: {answer['shown_ties']}"
    options = "".join(
        f", {name.replace('_', ' ')} {_option(value)}" for name, value in answer["options"].items()
    )
    unit = f" {answer['unit']}" if answer["unit"] else ""
    lines = [
        f"policy: {answer['policy_title']} ({answer['policy']}), ties by {ties}{options}",
        f"model: {answer['model']}, method {answer['method']}, {_count(answer['processors'])},"
        f" utilisation {answer['utilisation']:.4g}, hyper-period"
        f" {short(answer['hyperperiod'])}{unit}",
        f"reference: {answer['reference']}",
    ]
    if answer["jobs"] == 0:
        lines.append("simulated: nothing, the answer needed no schedule")
    else:
        ratio = answer["miss_ratio"]
        missed = f"{answer['misses']} of {answer['judged']} deadlines missed" + (
            f" ({100 * ratio:.3f} %)" if ratio else ""
        )
        lines.append(
            f"simulated: [0, {answer['until']}){unit}, {answer['jobs']} jobs, {missed},"
            f" {answer['events']} scheduling points"
        )
        lines.append(
            f"simulated: {answer['preemptions']} preemptions, {answer['migrations']} migrations"
            f" of jobs ({answer['cross_cluster']} across clusters), {answer['task_migrations']}"
            " of tasks"
        )
    return lines


def _count(processors: int) -> str:
    return "1 processor" if processors == 1 else f"{processors} processors"


def _option(value: Any) -> str:
    if isinstance(value, dict):
        return " ".join(f"{name.replace('_', ' ')} {cost}" for name, cost in value.items())
    return str(value)


def short(value: int) -> str:
    """An integer, or its size where nobody reads so many digits."""
    # 2^80 has 25 digits; longer ones are not made into text at all, which is slow.
    if value.bit_length() <= 80:
        return str(value)
    return f"of about {value.bit_length() * 0.30103:.0f} digits"


def _print_tasks(system: TaskSystem, answer: Mapping[str, Any]) -> None:
    unit = answer["unit"] or "units"
    rows = answer["tasks"]
    offsets = any(task.offset for task in system.tasks)
    percentiles = any(row["response_percentiles"] for row in rows)
    placed = bool(answer["placed"])
    columns = ["task", "C", "T", "D", *["O"] * offsets, *["cluster"] * placed, "jobs", "missed"]
    columns += ["R min", "R mean", *["R p95"] * percentiles, "R max"]
    columns += ["tardy", "slack", "preempt", "migr"]
    lines = []
    for row, task in zip(rows, system.tasks, strict=True):
        line = [row["label"], task.wcet, task.period, task.deadline]
        line += [task.offset] * offsets + [row["placed"]] * placed
        line += [row["released"], row["missed"], row["response_min"], row["response_mean"]]
        line += [(row["response_percentiles"] or {}).get("p95")] * percentiles
        line += [row["response_max"], row["tardiness_max"], row["slack_min"]]
        line += [row["preemptions"], row["migrations"]]
        lines.append([_cell(value) for value in line])
    title = (
        f"Simulated, per task, in {unit}; R: response time, tardy: most, slack: least,"
        " preempt, migr: how often"
    )
    print_table(columns, lines, title=title, numeric=columns[1:])


def _cell(value: Any) -> str:
    if value is None:
        return "-"
    return f"{value:.6g}" if isinstance(value, float) else str(value)
