"""``deadbeat calibrate``: what every fragment costs here, into a file."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from deadbeat.cli._measure import Watch, say_simulated
from deadbeat.cli._signals import interruptible
from deadbeat.executors.made import make_catalog, make_executor
from deadbeat.kinds.base import Shown
from deadbeat.kinds.contention.spec import specify
from deadbeat.model.calibration import Calibration
from deadbeat.store.files import storing
from deadbeat.store.serial import (
    CALIBRATION_FILE,
    read_calibration,
    to_plain,
    write_calibration,
)


def calibrate(
    *,
    out: Path | None,
    pool: str,
    seconds: str | None,
    basis: str,
    cpus: str | None,
    policy: str,
    layout: str,
    runs: Path,
    executor: str | None,
    simulated: bool,
) -> Shown:
    asked = {"seconds": seconds} if seconds is not None else {}
    names = {"calibration.seconds": "--seconds", "cpus": "--cpus"}
    spec = specify({"cpus": cpus, "calibration": asked}, names=names)
    path = out or runs / CALIBRATION_FILE
    with storing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
    with (
        closing(make_executor(executor, simulated=simulated, cpus=spec.cpus)) as machine,
        interruptible(),
        Watch("calibration") as watch,
    ):
        say_simulated(machine.describe().kind)
        calibration = machine.calibrate(
            make_catalog(machine),
            seconds=spec.calibration.seconds,
            progress=watch.share,
            pool=pool,
            basis=basis,
            policy=policy,
            layout=layout,
        )
    write_calibration(path, calibration)
    calibration = read_calibration(path)
    plain = {**to_plain(calibration), "path": str(path)}
    return Shown(plain=plain, parts=[*_lines(calibration), f"calibration: {path}"])


def _lines(calibration: Calibration) -> Iterator[str]:
    for entry, reason in sorted(calibration.refused.items()):
        yield f"refused: {entry}: {reason}"
    for entry, costs in sorted(calibration.costs.items()):
        if any(cost.known_badly for cost in costs):
            share = max(cost.uncertainty for cost in costs)
            calm = "" if all(cost.calm for cost in costs) else ", from no calm machine"
            yield f"known badly: {entry}: a use of 10 us within {100 * share:.1f} %{calm}"
    for name, ratio in sorted(calibration.parallel_ratio.items()):
        if ratio.refutes:
            yield (
                f"not core-local: {name}: {ratio.ratio:.3f} times slower on all cores"
                f" ({ratio.low:.3f} to {ratio.high:.3f}, {ratio.rounds} rounds)"
            )
    cores = len(calibration.platform.cpus)
    yield (
        f"{len(calibration.costs)} entries on {cores} core{'s' if cores != 1 else ''},"
        f" {len(calibration.refused)} refused, {calibration.seconds:g} s"
    )
