"""What commands do with the folder of a measured program."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

from attrs import evolve

from deadbeat.host.environment import environment_of, platform_from_environment
from deadbeat.kinds.base import Begin, Begun
from deadbeat.kinds.program.document import COLUMNS, UNTRACED, answer, document, rows, summary_dict
from deadbeat.kinds.program.results import FOLDERS, plan, summarise
from deadbeat.kinds.program.runner import ProgramExperiment
from deadbeat.kinds.program.spec import ProgramSpec
from deadbeat.kinds.table import TableKind, begun_store
from deadbeat.model.errors import UsageError
from deadbeat.model.examples import example_platform
from deadbeat.model.platform import Platform
from deadbeat.model.specification import read
from deadbeat.settings.tune import with_tuning
from deadbeat.targets.base import LOCAL
from deadbeat.targets.guarded import found
from deadbeat.targets.local import LocalTarget


def begin(asked: Begin) -> Begun:
    """Makes the folder of a measured program, or finds the one to continue."""
    spec = read(ProgramSpec, asked.written, asked.typed, names=asked.names)
    if asked.target not in (None, LOCAL):
        raise UsageError(
            f"--target {asked.target}: deadbeat run measures a program on this machine alone",
            "run deadbeat there",
        )
    if not asked.simulated:
        found(spec.command[0])
    if "name" not in {*asked.written, *asked.typed}:
        spec = evolve(spec, name=_named(spec.command))
    platform = example_platform() if asked.simulated else _here()
    runs = plan(spec)
    each_s = None if asked.simulated else spec.duration
    store = begun_store(
        FOLDERS,
        asked,
        spec,
        platform,
        runs,
        seconds=lambda left: None if each_s is None else left * each_s,
        details="" if spec.duration else "each until the program ends",
    )
    retry = asked.retry_invalid
    experiment = ProgramExperiment(
        spec, asked.simulated, store=store, planned=runs, retry_invalid=retry
    )
    return Begun(experiment=experiment)


def _named(command: Sequence[str]) -> str:
    """After the last word that is a file: the script, not the interpreter or ``chrt`` before it."""
    files = [word for word in command if Path(word).is_file()]
    name = Path((files or command)[-1 if files else 0]).stem
    plain = re.sub(r"[^A-Za-z0-9_-]+", "-", name).strip("-_")[:64]
    return "program" if plain in ("", "latest") else plain


def _here() -> Platform:
    with closing(LocalTarget()) as target:
        environment = environment_of(target, now=datetime.now(UTC), more={})
        online = environment["cpus_online"]
        cpus = online if isinstance(online, list) else []
        made = platform_from_environment(environment, cpus=cpus, kind=target.kind, name=target.name)
        return with_tuning(made, target)


KIND = TableKind(
    name="program",
    folders=FOLDERS,
    summarise=summarise,
    answer=answer,
    document=lambda found, store: document(found, store.platform),
    plain=summary_dict,
    rows=rows,
    columns=COLUMNS,
    fails=lambda found: frozenset(["misses"] * any(cell.misses for cell in found.cells)),
    lines=(UNTRACED,),
).kind(begin)
