"""``deadbeat runs``: the campaigns there are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from deadbeat.cli._options import json_option, runs_option
from deadbeat.cli._output import print_json, print_table, say
from deadbeat.kinds.contention.place import LATEST
from deadbeat.kinds.registry import all_kinds
from deadbeat.store.place import FolderState, beheaded


@click.command()
@runs_option
@json_option
def command(runs: Path, as_json: bool) -> None:
    """List campaigns, latency matrices, load tests and searches for the breakdown utilisation.

    Each is finished, measured (report missing), unfinished (resumable) or damaged; a folder that
    holds runs, but not the file that says whose, is damaged too.
    """
    latest = (runs / LATEST).resolve().name
    rows: list[tuple[dict[str, Any], str, str]] = [
        (
            {**_plain(kind.name, state, latest), **state.facts()},
            state.words(kind.name),
            f"{state.invalid} invalid" if _tells_invalid(state) else "",
        )
        for kind in all_kinds()
        if kind.listed
        for state in map(kind.state_of, kind.folder.folders(runs))
    ]
    rows += [({**_plain("unknown", state, latest)}, "", "") for state in beheaded(runs)]
    if as_json:
        print_json([plain for plain, _, _ in rows])
    elif not rows:
        say(f"no campaign in {runs} yet: deadbeat profile --quick")
    else:
        print_table(
            ["name", "state", "preset", "runs", "failed", "note"],
            [_row(*row) for row in rows],
            numeric=["runs", "failed", "note"],
        )


def _tells_invalid(state: FolderState) -> bool:
    return state.state != "damaged" and "invalid" in state.facts()


def _plain(kind: str, state: FolderState, latest: str) -> dict[str, Any]:
    """What all kinds have."""
    names = ("name", "state", "preset", "planned", "done", "failed", "problem")
    return {
        "kind": kind,
        "path": str(state.path),
        "latest": state.name == latest,
        **{name: getattr(state, name) for name in names},
    }


def _row(plain: dict[str, Any], preset: str, left_out: str) -> list[str]:
    damaged = plain["state"] == "damaged"  # of such a one nobody knows how much there is
    return [
        plain["name"] + (" (latest)" if plain["latest"] else ""),
        plain["state"] + (f": {plain['problem']}" if plain["problem"] else ""),
        preset,
        "" if damaged else f"{plain['done']} of {plain['planned']}",
        "" if damaged else str(plain["failed"]),
        left_out,
    ]
