"""What ``deadbeat doctor --hardening-cost A B`` does."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import click

from deadbeat.cli._output import print_json, print_table, say
from deadbeat.compare.hardening_cost import HardeningCost, hardening_cost
from deadbeat.compare.kinds import found
from deadbeat.compare.page import metrics_table
from deadbeat.compare.words import cell_text, interval_text, value_text
from deadbeat.kinds.latency.observe import COMPARABLE
from deadbeat.model.errors import UsageError
from deadbeat.report.terminal import print_part

#: What the comparisons of hardening in the literature show: the average, and the worst.
_TOLD = ("mean", "max")
_ALONE = ("workload", "rt_cpus", "only", "show_all", "fail_on", "html", "out")


def print_cost(options: Mapping[str, Any]) -> int:
    """Compares the two matrices; returns the exit status."""
    beside = [
        f"--{name.replace('show_', '').replace('_', '-')}" for name in _ALONE if options[name]
    ]
    if beside:
        raise UsageError(
            f"--hardening-cost compares two matrices and checks nothing: leave out {beside[0]}"
        )
    sides = []
    for name in options["hardening_cost"]:
        kind, path = found(options["runs"], name)
        if kind is not COMPARABLE:
            raise UsageError(
                f"{name} is a {kind.noun}: --hardening-cost compares latency matrices",
                "name matrices (deadbeat latency); deadbeat runs lists them",
            )
        sides.append(COMPARABLE.read(path))
    cost = hardening_cost(*sides)
    if options["as_json"]:
        print_json(cost.plain())
    else:
        _print(cost, *(side.name for side in sides))
    return 0


def _print(cost: HardeningCost, one: str, two: str) -> None:
    for label in cost.result.labels:
        click.echo(label.upper())
    print_table(
        ("hardening that differs", one, two, "expected"),
        [(e.option.title, *e.states, e.option.expected) for e in cost.differences.known],
    )
    if cost.differences.unknown:
        click.echo(f"not known on one side at least: {', '.join(cost.differences.unknown)}")
    for line in cost.beside:
        click.echo(f"differs too: {line}")
    print_part(metrics_table(cost.comparison))
    columns = ("load and engine", "latency", one, two, "difference [95 %]")
    print_table(columns, list(_cells(cost)), numeric=(one, two))
    click.echo(f"{cost.comparison.verdict}: {cost.comparison.reason}")
    click.echo(f"cost of {cost.attribution}")
    for finding in cost.result.findings:
        say(f"{finding.severity}: {finding.message} ({finding.cure})")


def _cells(cost: HardeningCost) -> Iterator[tuple[str, ...]]:
    for metric in cost.comparison.metrics:
        for cell in metric.cells if metric.metric.name in _TOLD else ():
            sides = (cell.baseline, cell.other)
            values = ("–" if v is None else value_text(metric.metric, v) for v in sides)
            difference = interval_text(cell, none="not defined")
            yield (cell_text(cell), metric.metric.words, *values, difference)
