"""Makes what measures task sets: an executor, and the catalog of what it can run."""

from __future__ import annotations

import os
from collections.abc import Sequence

from deadbeat.catalog import Catalog, load_catalog
from deadbeat.executors.base import Executor
from deadbeat.executors.hardware import HardwareExecutor
from deadbeat.executors.simulated import parse_simulated
from deadbeat.model.errors import UsageError
from deadbeat.model.examples import example_fragments
from deadbeat.model.words import nearest, shown

_KINDS = ("hardware", "sim", "fake")


def make_executor(text: str | None, *, simulated: bool, cpus: Sequence[int] | None) -> Executor:
    """The executor that ``--executor`` and ``--simulated`` name.

    Args:
        text: None: not given, the hardware or with ``simulated`` the made-up machine.

    Raises:
        UsageError: An unknown executor, one that ``--simulated`` excludes, or a CPU this process
            may not use.
    """
    asked = text or ("fake" if simulated else "hardware")
    kind = asked.partition(":")[0]
    if kind not in _KINDS:
        raise UsageError(f"--executor: {shown(kind)} is unknown", nearest(kind, _KINDS))
    if simulated and kind != "fake":
        raise UsageError(f"--simulated and --executor {asked} exclude each other", "drop one")
    if kind in ("fake", "sim"):
        return parse_simulated(asked)
    allowed = sorted(os.sched_getaffinity(0))
    strange = [cpu for cpu in cpus or () if cpu not in allowed]
    if strange:
        known = ", ".join(map(str, allowed))
        raise UsageError(f"--cpus: there is no CPU {strange[0]} to use", f"use {known}")
    return HardwareExecutor(cpus=tuple(cpus) if cpus else None)


def make_catalog(executor: Executor) -> Catalog:
    """The fragments of this installation; a machine that is made up needs no files of them."""
    if executor.describe().kind == "simulated":
        return Catalog(fragments={each.name: each for each in example_fragments()})
    return load_catalog()
