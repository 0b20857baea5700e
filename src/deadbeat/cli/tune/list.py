"""``deadbeat tune list``: the profiles and the knobs."""

from __future__ import annotations

import attrs
import click

from deadbeat.cli._options import json_option
from deadbeat.cli._output import print_json
from deadbeat.settings.knob import all_knobs
from deadbeat.settings.profile import all_profiles


@click.command()
@json_option
def command(*, as_json: bool) -> int:
    """List the profiles and the knobs: what each does, who advises it, and what it costs."""
    profiles, knobs = all_profiles().values(), all_knobs().values()
    if as_json:
        rows = [
            {
                "name": knob.name,
                "title": knob.title,
                "why": knob.why,
                "source": knob.source,
                "values": knob.values.words,
                "default": knob.default,
                "at_boot": knob.boot is not None,
                "irreversible": knob.irreversible,
                "note": knob.note,
            }
            for knob in knobs
        ]
        print_json({"profiles": [attrs.asdict(each) for each in profiles], "knobs": rows})
        return 0
    for profile in profiles:
        click.echo(f"profile {profile.name}: {profile.title}\n    {', '.join(profile.words)}")
    for knob in knobs:
        takes = f"  [{knob.default}; {knob.values.words}]" if knob.default else ""
        click.echo(f"{knob.name}: {knob.title}{takes}\n    {knob.why} ({knob.source})")
        if knob.note:
            click.echo(f"    note: {knob.note}")
        if knob.irreversible:
            click.echo(f"    needs --accept-irreversible: {knob.irreversible}")
    return 0
