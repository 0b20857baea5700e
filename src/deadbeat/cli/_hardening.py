"""What ``deadbeat doctor --hardening-cost A B`` does."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import attrs
import click

from deadbeat.cli._compare import find_matrix
from deadbeat.cli._output import print_json, print_table, say
from deadbeat.compare.charts import interval_words
from deadbeat.compare.hardening_cost import HardeningCost, hardening_cost
from deadbeat.compare.latency import latency_options, read_matrix
from deadbeat.compare.words import cell_text, metric_text, value_text
from deadbeat.model.errors import UsageError

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
    without, hardened = (
        read_matrix(find_matrix(options["runs"], name)) for name in options["hardening_cost"]
    )
    cost = hardening_cost(without, hardened, options=latency_options())
    if options["as_json"]:
        print_json(_plain(cost))
        return 0
    for label in cost.result.labels:
        click.echo(label.upper())
    _print_differences(cost, without.name, hardened.name)
    print_table(
        ("latency", f"{hardened.name} against {without.name} [95 %]", "verdict"),
        [
            (metric_text(each.metric), interval_words(each.metric, each), each.verdict)
            for each in cost.comparison.metrics
        ],
    )
    print_table(
        ("load and engine", "latency", without.name, hardened.name, "difference [95 %]"),
        list(_cells(cost)),
        numeric=(without.name, hardened.name),
    )
    click.echo(f"{cost.comparison.verdict}: {cost.comparison.reason}")
    click.echo(f"cost of {cost.attribution}")
    for finding in cost.result.findings:
        say(f"{finding.severity}: {finding.message} ({finding.cure})")
    return 0


def _print_differences(cost: HardeningCost, one: str, two: str) -> None:
    print_table(
        ("hardening that differs", one, two, "expected"),
        [
            (each.option.title, *each.states, each.option.expected)
            for each in cost.differences.known
        ],
    )
    if cost.differences.unknown:
        names = ", ".join(cost.differences.unknown)
        click.echo(f"not known on one side at least: {names}")
    for line in cost.beside:
        click.echo(f"differs too: {line}")


def _cells(cost: HardeningCost) -> Iterator[tuple[str, ...]]:
    for metric in cost.comparison.metrics:
        if metric.metric not in _TOLD:
            continue
        for cell in metric.cells:
            sides = (cell.baseline, cell.other)
            values = ("–" if v is None else value_text(metric.metric, v) for v in sides)
            yield (
                cell_text(cell), metric_text(metric.metric), *values,
                interval_words(metric.metric, cell),
            )  # fmt: skip


def _plain(cost: HardeningCost) -> dict[str, Any]:
    return {
        "differs": [
            {
                "name": each.option.name,
                "title": each.option.title,
                "expected": each.option.expected,
                "states": list(each.states),
            }
            for each in cost.differences.known
        ],
        "unknown": list(cost.differences.unknown),
        "beside": list(cost.beside),
        "attribution": cost.attribution,
        "comparison": attrs.asdict(cost.result),
    }
