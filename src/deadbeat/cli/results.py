"""``show``, ``page``, ``why``: what is stored."""

from __future__ import annotations

import os
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attrs import evolve

from deadbeat.base.kinds.registry import find
from deadbeat.base.kinds.shown import Shown
from deadbeat.base.model.errors import UsageError
from deadbeat.base.model.lazy import Later
from deadbeat.base.store.place import REPORT_FILE
from deadbeat.cli._output import say, table
from deadbeat.cli._runs import check_own, drawn
from deadbeat.cli.derived import found
from deadbeat.cli.listing import named, names

if TYPE_CHECKING:
    from deadbeat.base.kinds.base import ExperimentKind
    from deadbeat.base.report import html, machines
    from deadbeat.tasksets.contention import drawn_set, emitting
else:  # few of them are shown
    html, machines = map(Later, ("deadbeat.base.report.html", "deadbeat.base.report.machines"))
    drawn_set = Later("deadbeat.tasksets.contention.drawn_set")
    emitting = Later("deadbeat.tasksets.contention.emitting")

#: Least time between two pages of a result that is followed.
PAUSE_S = 10


def show(run: str, runs: Path, task_set: str = "") -> Shown:
    if task_set:
        return drawn_set.drawn_set(runs, run, task_set)
    if run.endswith(".jobs"):
        return _show_jobs(Path(run))
    if (derived := found(runs, run)) is not None:
        return derived
    try:
        kind, path = find(runs, run, names)
    except UsageError:
        if (by_name := named(run)) is None:
            raise
        return by_name
    return kind.show(path)


def _show_jobs(path: Path) -> Shown:
    found: Any = emitting.read_run(path)
    rows = [
        [
            "-" if value is None else f"{value:.3f}" if isinstance(value, float) else str(value)
            for value in each.values()
        ]
        for each in found["tasks"]
    ]
    counted, missed = (sum(each[key] for each in found["tasks"]) for key in ("jobs", "missed"))
    text = "unknown" if found["slowdown"] is None else f"{found['slowdown']:.3f}"
    headline = f"slowdown {text}, {missed} of {counted} deadlines missed"
    if not found["realtime"]:
        headline += "; measured without real-time priorities"
    columns = [name.replace("_us", " [us]").replace("_", " ") for name in emitting.OF_TASK]
    parts = [table(columns, rows, numeric=columns), headline]
    return Shown(plain=found, headline=headline, parts=parts)


def metrics_of(kind: ExperimentKind, path: Path) -> str:
    found = kind.open(path)
    labels = {"run": path.name, "simulated": str(found.simulated).lower()}
    labels |= {"extrapolated": "true"} if "EXTRAPOLATED" in found.labels else {}
    return machines.openmetrics(found.shown.kind or kind.name, found.rows, kind.keys, labels)


def report(run: str, runs: Path, figures: bool | None, follow: bool) -> Shown:
    kind, path = find(runs, run)
    check_own(path)
    if follow:
        # Writes the page again after each new run, until all are there or Ctrl-C.
        with suppress(OSError):
            os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
        file, seen = (path / REPORT_FILE).absolute(), -1
        say(f"{file.as_uri()} (Ctrl-C ends this page, not the measurement)")
        with suppress(KeyboardInterrupt):
            while (state := kind.state_of(path)).state == "unfinished":
                if state.done != seen and (document := kind.show(path).document) is not None:
                    html.write_page(file, document, reload_s=PAUSE_S)
                    seen = state.done
                time.sleep(PAUSE_S)
        last = kind.show(path)
        if last.document is not None:
            html.write_page(file, last.document)
        return last
    draw = drawn(path, figures)
    if draw:
        say(f"draw the figures of {path.name} on paper, too")
    return kind.report(path, draw)


def why(run: str, runs: Path, worst: int) -> Shown:
    kind, path = find(runs, run)
    if kind.why is None:
        raise kind.folder.no_campaign(path)
    said = kind.why(path, worst)
    if said.document is None:
        return said
    others = [step for step in said.document.steps if not step[0].startswith("deadbeat why ")]
    return evolve(said, document=evolve(said.document, steps=others))
