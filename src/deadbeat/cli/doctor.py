"""``deadbeat doctor``: is this machine ready for real-time work, and what to change."""

from __future__ import annotations

import click

from deadbeat.cli._options import json_option


@click.command(short_help="Check whether this machine is ready for real-time work.")
@click.option(
    "--workload",
    metavar="KIND",
    help="periodic, compute or mixed: where the sources disagree by it.  [mixed]",
)
@json_option
def command(*, workload: str | None, as_json: bool) -> int:
    """Check whether this machine is ready for real-time work, and say what to change."""
    import attrs  # noqa: PLC0415  --help must not import any of these

    from deadbeat.cli._options import choice  # noqa: PLC0415
    from deadbeat.cli._output import print_json  # noqa: PLC0415
    from deadbeat.model.readiness import WORKLOADS  # noqa: PLC0415
    from deadbeat.readiness.doctor import examine  # noqa: PLC0415
    from deadbeat.targets.local import LocalTarget  # noqa: PLC0415

    kind = choice("--workload", workload, WORKLOADS, "mixed")
    with LocalTarget() as target:
        diagnosis = examine(target, workload=kind)
    if as_json:
        print_json({"checks": [attrs.asdict(result) for result in diagnosis.results]})
        return 0
    for result in diagnosis.results:
        click.echo(f"{result.status:8}{result.severity:8}{result.id}: {result.reason}")
    return 0
