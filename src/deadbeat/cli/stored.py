"""``list``: the results that are stored."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from functools import partial
from importlib import import_module
from operator import itemgetter
from pathlib import Path

from deadbeat.base.kinds import KINDS
from deadbeat.base.kinds.registry import folders_of, kind_of
from deadbeat.base.kinds.shown import Shown
from deadbeat.base.model.words import Json
from deadbeat.base.store.place import DERIVED, LATEST, FolderState, beheaded, entries
from deadbeat.base.store.standing import kept_state
from deadbeat.cli._output import say, table


def runs(runs: Path) -> Shown:
    latest = (runs / LATEST).resolve().name
    known = [*_known(runs)]
    plain = [{**_plain(kind, state, latest), **state.facts()} for kind, state in known]
    for state in beheaded(entries(runs)):
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
            written = state.path.stat().st_mtime
        except OSError:
            written = 0.0
        dated.append((written, kind, state))
    dated.sort(key=itemgetter(0), reverse=True)
    rows = []
    for written, kind, state in dated:
        date = f"{datetime.fromtimestamp(written):%Y-%m-%d %H:%M}" if written else ""
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


def _known(runs: Path) -> Iterator[tuple[str, FolderState]]:
    """Kind and state of every result. A kind is imported where nothing is kept of a state."""
    for name in KINDS:
        for path in folders_of(name).folders(runs):
            yield name, kept_state(name, path) or kind_of(name).state_of(path)
    for path in DERIVED.folders(runs):
        yield import_module("deadbeat.base.store.derived").state_of(path)


def _plain(kind: str, state: FolderState, latest: str) -> dict[str, Json]:
    """What all kinds have."""
    names = ("name", "state", "preset", "planned", "done", "failed", "problem")
    return {
        "kind": kind,
        "path": str(state.path),
        "latest": state.name == latest,
        **{name: getattr(state, name) for name in names},
    }
