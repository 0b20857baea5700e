"""``deadbeat tune status``: what is changed right now."""

from __future__ import annotations

from pathlib import Path

import attrs
import click

from deadbeat.cli._options import json_option
from deadbeat.cli._output import print_json, print_table, say
from deadbeat.cli.tune._machine import opened, root_option
from deadbeat.settings.owner import owner_of

_COLUMNS = ("file", "before", "now", "state", "since", "by")


@click.command()
@root_option
@json_option
def command(*, root: Path | None, as_json: bool) -> int:
    """Show what is changed and not yet put back, for whom, and whether somebody else changed it
    since."""
    with opened(root) as (_, journal):
        standing = journal.status()
    if as_json:
        changes = [
            {**attrs.asdict(each), "reason": owner.reason}
            | {"process": owner.process, "running": owner.lives}
            for each in standing
            for owner in (owner_of(each.reason),)
        ]
        print_json({"journal": journal.folder, "changes": changes})
        return 0
    if standing:
        rows = [
            (each.path, each.old, each.now, each.stand, each.time, owner_of(each.reason).words)
            for each in standing
        ]
        print_table(_COLUMNS, rows, whole=("file",))
    changes_word = "change" if len(standing) == 1 else "changes"
    say(f"{len(standing)} {changes_word} in the journal {journal.folder}")
    return 0
