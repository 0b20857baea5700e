"""``deadbeat selftest``: does deadbeat measure right on this machine, and how fine."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import attrs
import click

from deadbeat.cli._causes import selftest_causes
from deadbeat.cli._machine import make_catalog, make_executor
from deadbeat.cli._options import calibration_option, json_option, machine_options
from deadbeat.cli._output import print_json, print_table, say
from deadbeat.cli._run import Watch
from deadbeat.cli._signals import interruptible
from deadbeat.executors.base import SelftestResult
from deadbeat.kinds.contention.spec import specify
from deadbeat.store.serial import read_calibration


@click.command()
@click.option("--seconds", metavar="S", help="Time it may take.  [60]")
@click.option("--cpus", metavar="LIST", help="CPUs to use, in the order of the cores: 0-3.")
@click.option("--causes", is_flag=True, help="Make jobs late on purpose: is the cause named?")
@click.option(
    "--trials",
    type=click.IntRange(1, 1000),
    default=20,
    metavar="N",
    help="Of each cause, with --causes.  [20]",
)
@calibration_option
@machine_options
@json_option
def command(
    *,
    seconds: str | None,
    cpus: str | None,
    causes: bool,
    trials: int,
    calibration_file: Path | None,
    executor_text: str | None,
    simulated: bool,
    as_json: bool,
) -> int:
    """Run controls whose answer is known.

    Negative controls must show nothing, positive ones must be recovered. Exit status 1 when one
    fails; an undecided one (its interval is too wide) does not fail.

    With --causes only this: a hog, a lock holder, throttling and a migration are injected, and
    each must be named in 95 % of its trials; exit status 1 as well when that is undecided.
    """
    spec = specify(
        {"cpus": cpus, "calibration": {"seconds": 60 if seconds is None else seconds}},
        names={"calibration.seconds": "--seconds", "cpus": "--cpus"},
    )
    calibration = None if calibration_file is None else read_calibration(calibration_file)
    with (
        closing(make_executor(executor_text, simulated=simulated, cpus=spec.cpus)) as executor,
        interruptible(),
        Watch("selftest") as watch,
    ):
        kind = executor.describe().kind
        if kind == "simulated":
            say("SIMULATED: a made-up machine; nothing here says anything about this one")
        if causes:
            return selftest_causes(executor, trials=trials, progress=watch.share, as_json=as_json)
        outcome = executor.selftest(
            make_catalog(executor),
            calibration,
            seconds=spec.calibration.seconds,
            progress=watch.share,
        )
    if as_json:
        print_json({**attrs.asdict(outcome), "passed": outcome.passed, "platform": kind})
    else:
        _print(outcome)
    return 0 if outcome.passed else 1


_WORDS = {True: "passed", False: "FAILED", None: "undecided"}


def _print(outcome: SelftestResult) -> None:

    print_table(
        ["check", "kind", "result", "value", "accepted", "what it says"],
        (
            [
                check.name,
                check.kind,
                _WORDS[check.passed],
                _number(check.value),
                f"{_number(check.low)} to {_number(check.high)} {check.unit}".strip(),
                check.message,
            ]
            for check in outcome.checks
        ),
        numeric=["value"],
    )
    for core in outcome.cores:
        click.echo(
            f"core {core.core} (CPU {core.cpu}): {100 * core.lost_share:.2f} % of its time"
            f" lost in gaps, the longest {core.longest_gap_ns / 1000:.0f} us"
        )
    click.echo(_verdict(outcome))


def _verdict(outcome: SelftestResult) -> str:
    if not outcome.passed:
        return "FAILED"
    undecided = [check.name for check in outcome.checks if check.passed is None]
    if len(undecided) == len(outcome.checks):
        return "undecided: not one check could be decided"
    return f"passed, but undecided: {', '.join(undecided)}" if undecided else "passed"


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.4g}"
