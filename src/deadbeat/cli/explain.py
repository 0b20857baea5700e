"""``deadbeat explain``: what a finding means for the numbers."""

from __future__ import annotations

import click

from deadbeat.cli._options import json_option


@click.command(short_help="What a finding means for the numbers.")
@click.argument("finding", required=False)
@json_option
def command(finding: str | None, as_json: bool) -> int:
    """Say what FINDING (its identifier, as in reports and JSON) does to the numbers.

    Without FINDING: all that are known, a line each.
    """
    from deadbeat.cli._output import print_json  # noqa: PLC0415  heavy
    from deadbeat.model.doubts import DOUBTS, doubt_of  # noqa: PLC0415  heavy
    from deadbeat.model.errors import UsageError  # noqa: PLC0415  heavy
    from deadbeat.model.words import nearest, shown  # noqa: PLC0415  heavy

    if finding is None:
        if as_json:
            print_json({"findings": [{"id": d.id, "title": d.title} for d in DOUBTS]})
        else:
            width = max(len(d.id) for d in DOUBTS)
            for each in DOUBTS:
                click.echo(f"{each.id:<{width}}  {each.title}")
        return 0
    doubt = doubt_of(finding)
    if doubt is None:
        raise UsageError(
            f"there is no finding {shown(finding)}", nearest(finding, [d.id for d in DOUBTS])
        )
    if as_json:
        plain = {"id": doubt.id, "title": doubt.title, "wrong": doubt.wrong, "check": doubt.check}
        print_json(plain)
    else:
        click.echo(f"{doubt.title} ({doubt.id})\n\n{doubt.wrong}\n\nWhat to do: {doubt.check}")
    return 0
