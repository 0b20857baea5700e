"""``deadbeat selftest --causes``: causes made on purpose, and how often they are named rightly."""

from __future__ import annotations

from collections.abc import Callable

import click

from deadbeat.cli._output import print_json, print_table
from deadbeat.executors.base import Executor
from deadbeat.executors.hardware import HardwareExecutor
from deadbeat.kinds.contention.trials import TrialOutcome, all_passed, outcome_facts, try_causes
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
    passed = all_passed(outcomes)
    if as_json:
        print_json({"passed": passed, "causes": outcome_facts(outcomes)})
        return 0 if passed else 1
    print_table(
        ["injected", "to be named", "result", "trials", "named rightly", "without effect"],
        (
            [
                one.name,
                one.cause,
                _WORDS[one.passed],
                str(one.trials),
                f"{one.named} ({100 * one.named / one.trials:.0f} %)" if one.trials else "-",
                str(one.without_effect),
            ]
            for one in outcomes
        ),
        numeric=["trials", "named rightly", "without effect"],
    )
    _tell(outcomes)
    click.echo(_WORDS[passed])
    return 0 if passed else 1


def _tell(outcomes: list[TrialOutcome]) -> None:
    for one in outcomes:
        for words, count in sorted(one.otherwise.items()):
            click.echo(f"{one.name}: {count} x {words}")
    undecided = [one for one in outcomes if one.passed is None]
    if reason := next((one.untraced for one in outcomes if one.untraced), ""):
        click.echo(f"no scheduling events: {reason}")
        if undecided:
            click.echo(
                f"undecided without them: {_names(undecided)}; allow tracing (root, tracefs:"
                " docs/howto/find-out-why.md) and try again"
            )
    elif undecided:
        click.echo(
            f"undecided, as too few trials were late of what was injected: {_names(undecided)};"
            " try again with nothing else running, or with more --trials"
        )


def _names(outcomes: list[TrialOutcome]) -> str:
    return ", ".join(one.name for one in outcomes)
