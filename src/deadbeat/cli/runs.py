"""``deadbeat runs``: the campaigns there are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from deadbeat.cli._options import json_option, runs_option


@click.command(short_help="List campaigns and how far they are.")
@runs_option
@json_option
def command(runs: Path, as_json: bool) -> None:
    """List campaigns: finished, measured (report missing), unfinished (resumable) or damaged."""
    from deadbeat.campaign.place import LATEST, CampaignState, survey  # noqa: PLC0415  heavy
    from deadbeat.cli._output import print_json, print_table, say  # noqa: PLC0415  heavy

    states = survey(runs)
    latest = (runs / LATEST).resolve().name

    def plain(state: CampaignState) -> dict[str, Any]:
        return {
            "name": state.name,
            "path": str(state.path),
            "state": state.state,
            "preset": state.preset,
            "programs_from": state.programs_from or None,
            "planned": state.planned,
            "done": state.done,
            "failed": state.failed,
            "rejected": state.rejected,
            "problem": state.problem,
            "latest": state.name == latest,
        }

    if as_json:
        print_json([plain(state) for state in states])
        return
    if not states:
        say(f"no campaign in {runs} yet: deadbeat profile --quick")
        return
    print_table(
        ["name", "state", "preset", "runs", "failed", "rejected"],
        (
            [
                state.name + (" (latest)" if state.name == latest else ""),
                state.state + (f": {state.problem}" if state.problem else ""),
                state.preset + (f", programs of {state.programs_from}" * bool(state.programs_from)),
                f"{state.done} of {state.planned}",
                str(state.failed),
                str(state.rejected),
            ]
            for state in states
        ),
        numeric=["runs", "failed", "rejected"],
    )
