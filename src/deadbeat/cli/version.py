"""``deadbeat version``."""

from __future__ import annotations

import platform

import click

from deadbeat.cli._options import json_option


@click.command(short_help="Show the version.")
@json_option
def command(as_json: bool) -> None:
    """Show the version of deadbeat, and of what it stands on."""
    from importlib.metadata import version  # noqa: PLC0415  slow

    if not as_json:
        click.echo(f"deadbeat {version('deadbeat')}")
        return
    from deadbeat.cli._output import print_json  # noqa: PLC0415  heavy

    parts = ("attrs", "cattrs", "click", "matplotlib", "numpy", "plotly", "rich")
    print_json(
        {
            "deadbeat": version("deadbeat"),
            "python": platform.python_version(),
            "packages": {name: version(name) for name in parts},
        }
    )
