"""``deadbeat import``: results of other tools, and where other files belong."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from attrs import evolve

from deadbeat.base.kinds.base import Begin
from deadbeat.base.kinds.registry import kind_of
from deadbeat.base.kinds.shown import Shown
from deadbeat.base.model.errors import DeadbeatError, UsageError
from deadbeat.base.model.specification import Layer
from deadbeat.base.store.texts import shown
from deadbeat.cli._measure import carried_out, report
from deadbeat.cli._options import words_typed
from deadbeat.cli._output import say
from deadbeat.latencies.gaps import GapRun
from deadbeat.latencies.latency.foreign import UnknownFormatError
from deadbeat.sched.files import load_task_system

#: Loaded by name: it measures, too.
_LATENCY = "deadbeat.latencies.latency.kind"


def import_files(
    *,
    files: Sequence[str],
    load: str | None,
    unit: str | None,
    fresh: bool,
    runs: Path,
    figures: bool | None,
    **given: str | None,
) -> Shown:
    """Reads ``files``, or standard input, into one result."""
    if not files and sys.stdin is not None and sys.stdin.isatty():
        say("reading standard input; Ctrl-D ends it")
    asked = Layer()
    for key, value in given.items():
        if value is not None:
            asked.put("deadlines" if key == "limits" else key, value, f"--{key}")
    begin = Begin(
        runs=runs,
        typed=asked.values,
        names=asked.names,
        named="name" in asked.values,
        fresh=fresh,
        given={"files": files or ("-",), "load": load, "unit": unit},
        words=words_typed("import"),
        say=say,
    )
    latency = import_module(_LATENCY)
    try:
        brought = latency.bring(begin)
    except UnknownFormatError as error:
        if file := next(filter(_holds_tasks, map(Path, files)), None):
            command = f"deadbeat sched analyze {shlex.quote(shown(file))}"
            raise UsageError(f"{shown(file)} holds tasks, no result", command) from None
        raise error
    read: dict[str, Any] = {**begin.given, "brought": brought}
    kind = kind_of("latency")
    if brought[0].said.gaps is not None:
        kind = kind_of("noise")
        read |= {"brought": [*map(_gaps, brought)], "place": latency.place_of(begin, brought)}
    begun, _ = carried_out(kind, evolve(begin, given=read))
    return report(kind, begun, figures)


def _gaps(run: Any) -> GapRun:
    said = run.said
    return GapRun(
        file=run.file,
        load=run.key.load.text,
        tool=said.engine,
        repeat=run.key.repeat,
        started=said.started,
        version=said.version,
        gaps=said.gaps,
        notes=said.notes,
    )


def _holds_tasks(file: Path) -> bool:
    try:
        load_task_system(file, processors=1)
    except DeadbeatError:
        return False
    return True
