"""``deadbeat explain``: what a finding means for the numbers."""

from __future__ import annotations

import attrs
import click

from deadbeat.cli._options import json_option
from deadbeat.cli._output import print_json
from deadbeat.model.errors import UsageError
from deadbeat.model.finding import explanations
from deadbeat.model.words import nearest, shown


@click.command()
@click.argument("finding", required=False)
@json_option
def command(finding: str | None, as_json: bool) -> int:
    """Say what FINDING (its identifier, as in reports and JSON) does to the numbers.

    Without FINDING: all that are known, a line each.
    """
    known = explanations()
    if finding is None:
        if as_json:
            print_json({"findings": [{"id": e.id, "title": e.title} for e in known.values()]})
        else:
            width = max(map(len, known))
            for each in known.values():
                click.echo(f"{each.id:<{width}}  {each.title}")
        return 0
    found = known.get(finding)
    if found is None:
        raise UsageError(f"there is no finding {shown(finding)}", nearest(finding, list(known)))
    if as_json:
        print_json(attrs.asdict(found))
    else:
        click.echo(f"{found.title} ({found.id})\n\n{found.wrong}\n\nWhat to do: {found.check}")
    return 0
