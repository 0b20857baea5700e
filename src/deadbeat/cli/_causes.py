"""``deadbeat selftest --causes``: causes made on purpose, and how often they are named rightly."""

from __future__ import annotations

from collections.abc import Callable

import click

from deadbeat.analysis.trials import Outcome, outcome_facts, try_causes
from deadbeat.cli._output import print_json, print_table
from deadbeat.executors.base import Executor
from deadbeat.executors.hardware import HardwareExecutor
from deadbeat.model.errors import UsageError

_WORDS = {True: "passed", False: "FAILED", None: "undecided"}


def selftest_causes(
    executor: Executor, *, trials: int, progress: Callable[[float], None], as_json: bool
) -> int:
    """Runs and prints the trials; returns the exit status.

    Raises:
        UsageError: A made-up machine, or one CPU.
    """
    if not isinstance(executor, HardwareExecutor):
        raise UsageError(
            "--causes: a made-up machine is late for no cause", "leave out --simulated"
        )
    if len(executor.cpus) < 2:
        raise UsageError("--causes needs two CPUs", "give two: --cpus 0,1")
    outcomes = try_causes(executor, trials=trials, progress=progress)
    failed = any(one.passed is False for one in outcomes)
    if as_json:
        print_json({"passed": not failed, "causes": outcome_facts(outcomes)})
        return int(failed)
    print_table(
        ["injected", "to be named", "result", "trials", "named rightly", "without effect"],
        (
            [
                one.name,
                one.cause,
                _WORDS[one.passed],
                str(one.trials),
                f"{one.named} ({one.named / one.trials:.0%})" if one.trials else "-",
                str(one.without_effect),
            ]
            for one in outcomes
        ),
        numeric=["trials", "named rightly", "without effect"],
    )
    _tell(outcomes)
    click.echo("FAILED" if failed else "passed")
    return int(failed)


def _tell(outcomes: list[Outcome]) -> None:
    for one in outcomes:
        for words, count in sorted(one.otherwise.items()):
            click.echo(f"{one.name}: {count} x {words}")
    if reason := next((one.untraced for one in outcomes if one.untraced), ""):
        click.echo(f"no scheduling events: {reason}")
