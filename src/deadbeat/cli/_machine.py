"""Makes what the verbs work on: an executor, the catalog, a calibration, a summary."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from deadbeat.catalog import Catalog, load_catalog
from deadbeat.executors.base import Executor
from deadbeat.executors.hardware import HardwareExecutor
from deadbeat.executors.simulated import parse_simulated
from deadbeat.kinds.base import ExperimentKind
from deadbeat.kinds.contention.place import LATEST, find_campaign, survey
from deadbeat.kinds.registry import find
from deadbeat.model.calibration import Calibration
from deadbeat.model.errors import UsageError
from deadbeat.model.examples import example_fragments
from deadbeat.model.words import nearest, shown
from deadbeat.store.serial import read_calibration

#: What ``calibrate`` writes under the folder of campaigns unless told otherwise.
CALIBRATION_FILE = "calibration.json"
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


def find_any(runs: Path, text: str) -> tuple[ExperimentKind, Path]:
    """The folder that ``text`` names, and its kind.

    Raises:
        UsageError: There is none.
    """
    found = find(runs, text)
    if found is None:
        find_campaign(runs, text)
        raise AssertionError(text)
    return found


def given_calibration(file: Path) -> Calibration:
    """The calibration that ``--calibration`` names.

    Raises:
        UsageError: There is no such file.
        DataError: It is damaged.
    """
    if not file.exists():
        raise UsageError(f"--calibration: there is no file {file}", "deadbeat calibrate makes one")
    return read_calibration(file)


def known_calibration(runs: Path, file: Path | None) -> tuple[Calibration, Path] | None:
    """The calibration in ``file``, else the latest campaign's, else the one ``calibrate`` wrote."""
    if file is not None:
        return given_calibration(file), file
    candidates = [runs / LATEST / CALIBRATION_FILE, runs / CALIBRATION_FILE]
    candidates += [state.path / CALIBRATION_FILE for state in reversed(survey(runs))]
    path = next((path for path in candidates if path.is_file()), None)
    return None if path is None else (read_calibration(path), path)
