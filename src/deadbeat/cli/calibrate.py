"""``deadbeat calibrate``: what every fragment costs here, into a file."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import click

from deadbeat.cli._machine import CALIBRATION_FILE, make_catalog, make_executor
from deadbeat.cli._options import (
    choice,
    json_option,
    machine_options,
    policy_option,
    runs_option,
)
from deadbeat.cli._output import print_json, say
from deadbeat.cli._run import Watch
from deadbeat.cli._signals import interruptible
from deadbeat.experiment.tasksets import POOLS
from deadbeat.kinds.contention.spec import specify
from deadbeat.store.files import storing
from deadbeat.store.serial import read_calibration, to_plain, write_calibration


@click.command()
@click.option(
    "--out",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Where to write it.  [RUNS/calibration.json]",
)
@click.option("--pool", metavar="full|quick", help="Which entries.  [full]")
@click.option("--seconds", metavar="S", help="Time it may take.  [100]")
@click.option("--cost-basis", "basis", metavar="warm|cold", help="Cost of a first use.  [warm]")
@click.option("--cpus", metavar="LIST", help="CPUs to use, in the order of the cores: 0-3.")
@policy_option
@click.option(
    "--layout", metavar="NAME", help="default, or shared-address-space: one process for all cores."
)
@runs_option
@machine_options
@json_option
def command(
    *,
    out: Path | None,
    pool: str | None,
    seconds: str | None,
    basis: str | None,
    cpus: str | None,
    policy: str | None,
    layout: str | None,
    runs: Path,
    executor_text: str | None,
    simulated: bool,
    as_json: bool,
) -> None:
    """Measure what every entry of a pool costs on every core.

    deadbeat profile makes its own; use this to share one between campaigns (--calibration FILE). A
    calibration belongs to hardware, frequency policy and toolchain, and is refused elsewhere.
    """
    asked = {"seconds": seconds} if seconds is not None else {}
    names = {"calibration.seconds": "--seconds", "cpus": "--cpus"}
    spec = specify({"cpus": cpus, "calibration": asked}, names=names)
    pool = choice("--pool", pool, POOLS, "full")
    basis = choice("--cost-basis", basis, ("warm", "cold"), "warm")
    policy = choice("--policy", policy, ("fifo", "other"), "fifo")
    layout = choice("--layout", layout, ("default", "shared-address-space"), "default")
    path = out or runs / CALIBRATION_FILE
    with storing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
    with (
        closing(make_executor(executor_text, simulated=simulated, cpus=spec.cpus)) as executor,
        interruptible(),
        Watch("calibration") as watch,
    ):
        if executor.describe().kind == "simulated":
            say("SIMULATED: a made-up machine; nothing here says anything about this one")
        calibration = executor.calibrate(
            make_catalog(executor),
            seconds=spec.calibration.seconds,
            progress=watch.share,
            pool=pool,
            basis=basis,
            policy=policy,
            layout=layout,
        )
    write_calibration(path, calibration)
    _answer(path, as_json=as_json)


def _answer(path: Path, *, as_json: bool) -> None:

    calibration = read_calibration(path)
    if as_json:
        print_json({**to_plain(calibration), "path": str(path)})
        return
    for entry, reason in sorted(calibration.refused.items()):
        click.echo(f"refused: {entry}: {reason}")
    for entry, costs in sorted(calibration.costs.items()):
        if any(cost.known_badly for cost in costs):
            share = max(cost.uncertainty for cost in costs)
            calm = "" if all(cost.calm for cost in costs) else ", from no calm machine"
            click.echo(f"known badly: {entry}: a use of 10 us within {100 * share:.1f} %{calm}")
    for name, ratio in sorted(calibration.parallel_ratio.items()):
        if ratio.refutes:
            click.echo(
                f"not core-local: {name}: {ratio.ratio:.3f} times slower on all cores"
                f" ({ratio.low:.3f} to {ratio.high:.3f}, {ratio.rounds} rounds)"
            )
    cores = len(calibration.platform.cpus)
    click.echo(
        f"{len(calibration.costs)} entries on {cores} core{'s' if cores != 1 else ''},"
        f" {len(calibration.refused)} refused, {calibration.seconds:g} s"
    )
    click.echo(f"calibration: {path}")
