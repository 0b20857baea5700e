"""``deadbeat doctor``: is this machine ready for real-time work, and what to change."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from deadbeat.cli._doctor import doctor
from deadbeat.cli._options import json_option, runs_option


@click.command()
@click.option(
    "--workload",
    metavar="KIND",
    help="periodic, compute or mixed: where the sources disagree by it.  [mixed]",
)
@click.option(
    "--rt-cpus",
    metavar="LIST",
    help="CPUs meant for real-time tasks: 2-3.  [the isolated ones, else all but the first]",
)
@click.option("--only", multiple=True, metavar="FAMILY", help="Only these checks: kernel, memory,"
              " ...; may be repeated.")  # fmt: skip
@click.option("--all", "show_all", is_flag=True, help="Also print what passes.")
@click.option(
    "--fail-on",
    metavar="SEVERITY",
    help="Exit status 1 when a check of fatal, high, medium, low or info, or a graver one, fails.",
)
@click.option("--html", is_flag=True, help="Also write a page.")
@click.option(
    "--out",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Where the page goes; also --html.  [doctor.html]",
)
@click.option(
    "--hardening-cost",
    nargs=2,
    metavar="A B",
    help="What the hardening that differs between two latency matrices cost: without it, with it.",
)
@runs_option
@json_option
def command(**options: Any) -> int:
    """Check whether this machine is ready for real-time work, and say what to change.

    Each check passes, fails, or is unknown with the reason (missing, denied, locked down): unknown
    is never a pass. Nothing is changed; an ordinary user sees less, and is told what.

    With --hardening-cost nothing is checked: two matrices of deadbeat latency are compared.
    """
    return doctor(options)
