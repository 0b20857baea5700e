"""``show``, ``page``, ``why``, ``list``: what is stored; ``version``."""

from __future__ import annotations

import os
import platform
import time
from contextlib import suppress
from datetime import datetime
from functools import partial
from importlib.metadata import version as version_of
from importlib.util import find_spec
from operator import itemgetter
from pathlib import Path
from typing import Any

from deadbeat.base.kinds.base import ExperimentKind, Shown
from deadbeat.base.kinds.registry import all_kinds, find
from deadbeat.base.model.errors import UsageError
from deadbeat.base.model.words import Json
from deadbeat.base.report.html import write_page
from deadbeat.base.report.machines import openmetrics
from deadbeat.base.store.derived import DERIVED, state_of
from deadbeat.base.store.place import REPORT_FILE, FolderState, beheaded
from deadbeat.cli._output import say, table
from deadbeat.cli._runs import check_own
from deadbeat.cli.derived import found
from deadbeat.cli.listing import named, names
from deadbeat.tasksets.contention.drawn_set import drawn_set
from deadbeat.tasksets.contention.emitting import OF_TASK, SUFFIX, read_run
from deadbeat.tasksets.contention.place import LATEST

#: Least time between two pages of a result that is followed.
PAUSE_S = 10


def show(run: str, runs: Path, task_set: str = "") -> Shown:
    if task_set:
        return drawn_set(runs, run, task_set)
    if run.endswith(SUFFIX):
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
    found: Any = read_run(path)
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
    columns = [name.replace("_us", " [us]").replace("_", " ") for name in OF_TASK]
    parts = [table(columns, rows, numeric=columns), headline]
    return Shown(plain=found, headline=headline, parts=parts)


def metrics_of(kind: ExperimentKind, path: Path) -> str:
    found = kind.open(path)
    labels = {"run": path.name, "simulated": str(found.simulated).lower()}
    labels |= {"extrapolated": "true"} if "EXTRAPOLATED" in found.labels else {}
    return openmetrics(found.shown.kind or kind.name, found.rows, kind.keys, labels)


def report(run: str, runs: Path, figures: bool, follow: bool) -> Shown:
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
                    write_page(file, document, reload_s=PAUSE_S)
                    seen = state.done
                time.sleep(PAUSE_S)
        last = kind.show(path)
        if last.document is not None:
            write_page(file, last.document)
        return last
    return kind.report(path, figures)


def why(run: str, runs: Path, worst: int) -> Shown:
    kind, path = find(runs, run)
    if kind.why is None:
        raise kind.folder.no_campaign(path)
    return kind.why(path, worst)


def runs(runs: Path) -> Shown:
    latest = (runs / LATEST).resolve().name
    known = [
        (kind.name, state)
        for kind in all_kinds()
        for state in map(kind.state_of, kind.folder.folders(runs))
    ]
    known += map(state_of, DERIVED.folders(runs))
    plain = [{**_plain(kind, state, latest), **state.facts()} for kind, state in known]
    for state in beheaded(runs):
        plain.append(_plain("unknown", state, latest))
        known.append(("", state))
    headline = f"{len(plain):,} result{'s' * (len(plain) != 1)}"
    if not known:
        nothing = partial(say, f"nothing in {runs} yet: deadbeat latency --quick")
        return Shown(plain=plain, headline=headline, parts=[nothing])
    dated = []
    for kind, state in known:
        # When a folder was written last, as a list shows it; "": it is gone.
        try:
            begun = f"{datetime.fromtimestamp(state.path.stat().st_mtime):%Y-%m-%d %H:%M}"
        except OSError:
            begun = ""
        dated.append((begun, kind, state))
    dated.sort(key=itemgetter(0), reverse=True)
    rows = []
    for date, kind, state in dated:
        damaged = state.state == "damaged"  # then how much there is of it is unknown
        lost = {"failed": state.failed, "invalid": state.invalid} if not damaged else {}
        row = [
            state.name + " (latest)" * (state.name == latest),
            state.words(kind) if kind else "",
            date,
            state.state + (f": {state.problem}" if state.problem else ""),
            "" if damaged or not state.planned else f"{state.done} of {state.planned}",
            ", ".join(f"{count} {word}" for word, count in lost.items() if count),
        ]
        rows.append(row)
    columns = ["name", "kind", "date", "state", "runs", "note"]
    parts = [table(columns, rows, numeric=["runs"])]
    return Shown(plain=plain, headline=headline, parts=parts)


def _plain(kind: str, state: FolderState, latest: str) -> dict[str, Json]:
    """What all kinds have."""
    names = ("name", "state", "preset", "planned", "done", "failed", "problem")
    return {
        "kind": kind,
        "path": str(state.path),
        "latest": state.name == latest,
        **{name: getattr(state, name) for name in names},
    }


def version() -> Shown:
    packages = ("attrs", "cattrs", "click", "matplotlib", "numpy", "rich")
    plain = {
        "deadbeat": version_of("deadbeat"),
        "python": platform.python_version(),
        "packages": {name: version_of(name) for name in packages if find_spec(name)},
    }
    return Shown(plain=plain, parts=[f"deadbeat {version_of('deadbeat')}"])
