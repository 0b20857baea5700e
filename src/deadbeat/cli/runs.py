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
    """List campaigns, latency matrices and load tests.

    Each is finished, measured (report missing), unfinished (resumable) or damaged.
    """
    from deadbeat.campaign.place import LATEST, CampaignState, survey  # noqa: PLC0415  heavy
    from deadbeat.cli._output import print_json, print_table, say  # noqa: PLC0415  heavy
    from deadbeat.latency.place import MatrixState, state_of  # noqa: PLC0415  heavy
    from deadbeat.latency.place import matrices as find_matrices  # noqa: PLC0415  heavy
    from deadbeat.loadtest.place import LoadState, load_tests  # noqa: PLC0415  heavy
    from deadbeat.loadtest.place import state_of as load_state  # noqa: PLC0415  heavy

    states = survey(runs)
    matrices = [state_of(path) for path in find_matrices(runs)]
    loads = [load_state(path) for path in load_tests(runs)]
    latest = (runs / LATEST).resolve().name

    def plain(state: CampaignState) -> dict[str, Any]:
        return {
            "kind": "campaign",
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

    def plain_other(kind: str, state: MatrixState | LoadState) -> dict[str, Any]:
        return {
            "kind": kind,
            "name": state.name,
            "path": str(state.path),
            "state": state.state,
            "preset": state.preset,
            "planned": state.planned,
            "done": state.done,
            "failed": state.failed,
            "problem": state.problem,
            "latest": state.name == latest,
        }

    if as_json:
        others = [{**plain_other("latency", state), "invalid": state.invalid} for state in matrices]
        others += [plain_other("load", state) for state in loads]
        print_json([*map(plain, states), *others])
        return
    if not states and not matrices and not loads:
        say(f"no campaign in {runs} yet: deadbeat profile --quick")
        return
    rows = [
        _row(
            state,
            state.preset + (f", programs of {state.programs_from}" * bool(state.programs_from)),
            rejected=str(state.rejected),
            latest=latest,
        )
        for state in states
    ]
    rows += [
        _row(
            state,
            f"latency {state.preset}".rstrip(),
            rejected=f"{state.invalid} invalid" if state.state != "damaged" else "",
            latest=latest,
        )
        for state in matrices
    ]
    rows += [_row(state, f"load {state.preset}", rejected="", latest=latest) for state in loads]
    print_table(
        ["name", "state", "preset", "runs", "failed", "rejected"],
        rows,
        numeric=["runs", "failed", "rejected"],
    )


def _row(state: Any, preset: str, *, rejected: str, latest: str) -> list[str]:
    return [
        state.name + (" (latest)" if state.name == latest else ""),
        state.state + (f": {state.problem}" if state.problem else ""),
        preset,
        f"{state.done} of {state.planned}",
        str(state.failed),
        rejected,
    ]
