"""What a command answers of each of several machines, where nothing is compared."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from attrs import evolve

from deadbeat.base.kinds.shown import Shown
from deadbeat.base.model.errors import UsageError
from deadbeat.base.report.machines import Verdicted
from deadbeat.cli._output import Part, print_shown
from deadbeat.machine.targets.opening import slug, targets_in
from deadbeat.tasksets.store.serial import CALIBRATION_FILE


def on_each(
    does: Callable[..., Shown], *, target: str, openmetrics: bool = False, **options: Any
) -> Shown:
    """What a command answers on each machine of ``--target``, under its name.
    Raises UsageError: its figures alone are asked for."""
    if openmetrics:
        raise UsageError("--openmetrics prints the figures of one machine", "ask one by one")
    found: dict[str, Shown] = {}
    for word in targets_in(target):
        found[word] = does(**{**options, "target": word, **_file_of(word, **options)})
    return Shown(
        headline=" ".join(f"{word}: {each.headline}" for word, each in found.items()),
        doubts=[doubt for each in found.values() for doubt in each.doubts],
        plain={"targets": {word: each.plain for word, each in found.items()}},
        parts=under(found),
        cases=[named(slug(word), case) for word, each in found.items() for case in each.cases],
        status=max(each.status for each in found.values()),
    )


def under(found: Mapping[str, Shown]) -> list[Part]:
    """Answers under their names, an empty line between two."""
    parts: list[Part] = []
    for name, each in found.items():
        parts += ["", f"{name}:", partial(print_shown, each)]
    return parts[1:]


def _file_of(
    word: str,
    *,
    out: Path | None = None,
    html: bool = False,
    pool: str = "",
    runs: Path = Path(),
    **_: object,
) -> dict[str, Path]:
    """The file that a command writes of a machine: where it would write it, with its name."""
    file = out or (Path("doctor.html") if html else runs / CALIBRATION_FILE if pool else None)
    return {"out": file.with_stem(f"{file.stem}-{slug(word)}")} if file else {}


def named(name: str, case: Verdicted) -> Verdicted:
    """A verdict as one of ``name``."""
    return evolve(case, group=".".join(filter(None, [name, case.group])))
