"""Makes what measures task sets: an executor, and the catalog of what it can run."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path

from deadbeat.base.model.errors import UsageError
from deadbeat.base.model.published import offered
from deadbeat.base.model.words import nearest, shown
from deadbeat.build.programs import toolchain_of, usable_on
from deadbeat.machine.host.environment import environment_of, require_usable
from deadbeat.machine.targets.opening import open_target, refuse_made_up
from deadbeat.tasksets.catalog import Catalog, load_catalog
from deadbeat.tasksets.executors.base import Executor
from deadbeat.tasksets.executors.hardware import HardwareExecutor
from deadbeat.tasksets.executors.scheduled import parse_simulated
from deadbeat.tasksets.model.examples import example_fragments

_KINDS = ("hardware", "sim", "fake", "freertos", "lab", "replay")
#: Rests on results, which rest on executors: loaded by name.
_REPLAY = "deadbeat.tasksets.prediction.replayed"
_LAB = "deadbeat.lab.executor"


def make_executor(
    cpus: Sequence[int] | None,
    *,
    executor: str | None,
    simulated: bool,
    target: str | None,
    cross: str | None,
    runs: Path | None = None,
) -> Executor:
    """The executor that ``--executor``, ``--simulated`` and ``--target`` name.

    Args:
        executor: None: not given, the hardware or with ``simulated`` the made-up machine.
        runs: Folder of results, for ``replay``.
        cross: What builds its programs; None: the one found for the target.

    Raises:
        UsageError: An unknown executor, one that ``--simulated`` or ``--target`` excludes, or a CPU
            that may not be used.
        TargetError: The target cannot be reached.
    """
    if executor is None and (target or "").startswith("lab:"):
        executor, target = target, None
    asked = executor or ("fake" if simulated else "hardware")
    kind = asked.partition(":")[0]
    if kind not in _KINDS:
        raise UsageError(f"--executor: {shown(kind)} is unknown", nearest(kind, _KINDS))
    if simulated and kind != "fake":
        raise UsageError(f"--simulated and --executor {asked} exclude each other", "drop one")
    if kind == "hardware":
        opened = open_target(target)
        try:
            allowed = usable_on(opened)
            if not {*(cpus or ())} <= {*allowed}:
                details = environment_of(opened, now=datetime.now(UTC))
                require_usable(cpus or (), allowed, details)
            toolchain = toolchain_of(opened, cross=cross)
            return HardwareExecutor(target=opened, cpus=tuple(cpus or allowed), toolchain=toolchain)
        except BaseException:
            opened.close()
            raise
    builds = kind in ("freertos", "lab")
    named = target if builds else target or cross
    refuse_made_up(named, "--simulated" if simulated else f"--executor {asked}")
    if kind == "lab":
        found: HardwareExecutor = import_module(_LAB).lab_executor(asked)
        if cpus and tuple(cpus) != found.cpus:
            raise UsageError("--cpus: the machine of the lab has its own", "lab:KERNEL,cores=2")
        return found
    options = asked.partition(":")[2]
    if kind == "freertos":
        board: Executor = offered("freertos", "executors").make(options, cpus=cpus)
        return board
    if kind == "replay":
        made: Executor = import_module(_REPLAY).replay_executor(options, runs or Path("runs"))
        return made
    return parse_simulated(asked)


def make_catalog(executor: Executor) -> Catalog:
    """The fragments of this installation; a machine that is made up needs no files of them."""
    if executor.describe().kind == "simulated":
        return Catalog(fragments={each.name: each for each in example_fragments()})
    return load_catalog()
