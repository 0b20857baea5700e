"""``deadbeat tune revert``: everything as it was."""

from __future__ import annotations

from pathlib import Path

import attrs
import click

from deadbeat.cli._options import json_option
from deadbeat.cli._output import print_json, print_table, say
from deadbeat.cli.tune._machine import opened, root_option
from deadbeat.settings.owner import refuse_held

_COLUMNS = ("file", "before", "now", "result")


@click.command()
@click.option(
    "--force",
    is_flag=True,
    help="Also what somebody else has changed since, or a restart, or what a running measurement"
    " holds; forget what no longer exists.",
)
@root_option
@json_option
def command(*, force: bool, root: Path | None, as_json: bool) -> int:
    """Put back every setting that deadbeat changed, last first, to exactly what it was.

    What a restart has reset already is left as the restart made it; what somebody else has changed
    since is left alone and reported. While a measurement holds settings nothing is put back.

    Exit status 1: something is not back.
    """
    with opened(root) as (_, journal):
        if not force:
            refuse_held(journal.status())
        returned = journal.revert(force=force)
    status = int(any(not each.settled and each.result != "moved" for each in returned))
    if as_json:
        print_json({"changes": [attrs.asdict(each) for each in returned]})
        return status
    if returned:
        rows = [
            (
                each.path,
                each.old,
                each.now,
                f"{each.result}: {each.reason}" if each.reason else each.result,
            )
            for each in returned
        ]
        print_table(_COLUMNS, rows, whole=("file",))
    results = [each.result for each in returned]
    words = ", ".join(f"{results.count(each)} {each}" for each in dict.fromkeys(results))
    say(words or "nothing was changed: there is nothing to put back")
    return status
