"""``deadbeat version``."""

from __future__ import annotations

import platform
from importlib.metadata import version

import click

from deadbeat.cli._options import json_option
from deadbeat.cli._output import print_json


@click.command()
@json_option
def command(as_json: bool) -> None:
    """Show the version of deadbeat, and of what it stands on."""
    if not as_json:
        click.echo(f"deadbeat {version('deadbeat')}")
        return

    parts = ("attrs", "cattrs", "click", "matplotlib", "numpy", "plotly", "rich")
    print_json(
        {
            "deadbeat": version("deadbeat"),
            "python": platform.python_version(),
            "packages": {name: version(name) for name in parts},
        }
    )
