"""``deadbeat why``: the worst jobs of a campaign, and what each is put down to."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from deadbeat.cli._options import json_option, runs_option

if TYPE_CHECKING:
    from deadbeat.model.traces import LateJob


@click.command(short_help="Say why the worst jobs of a campaign were late.")
@click.argument("run", default="latest", metavar="[RUN]")
@click.option(
    "--worst", type=click.IntRange(1, 1000), default=20, metavar="K", help="So many jobs.  [20]"
)
@runs_option
@json_option
def command(run: str, *, worst: int, runs: Path, as_json: bool) -> int:
    """Say where the time of a campaign's worst jobs went, and who had it.

    RUN is a path, or a name under the folder of campaigns; the latest by default. It must have been
    run with --causes, or with --split: then there are no scheduling events, and no names.
    """
    import attrs  # noqa: PLC0415  --help must not import any of these

    from deadbeat.analysis.late import late_of  # noqa: PLC0415
    from deadbeat.cli._machine import open_campaign  # noqa: PLC0415
    from deadbeat.cli._output import print_json  # noqa: PLC0415
    from deadbeat.model.errors import UsageError  # noqa: PLC0415

    store = open_campaign(runs, run)
    jobs, unavailable = late_of(store, count=worst)
    if as_json:
        print_json({"causes": [attrs.asdict(job) for job in jobs], "unavailable": unavailable})
        return 0
    if not jobs:
        raise UsageError(
            f"{store.path.name} does not say where the time of its jobs went",
            "run it with --causes (or --split)",
        )
    _print(jobs)
    if unavailable:
        click.echo(f"no scheduling events: {unavailable}")
    return 0


def _print(jobs: list[LateJob]) -> None:
    from deadbeat.cli._output import print_table  # noqa: PLC0415  heavy
    from deadbeat.model.traces import PARTS  # noqa: PLC0415  heavy

    print_table(
        ["run", "job", "task", "response", "of D", *(_word(part) for part in PARTS), "cause"],
        (
            [
                job.run,
                str(job.job),
                f"t{job.task}",
                _us(job.response_ns),
                f"{job.response_ns / max(job.deadline_ns, 1):.0%}",
                *(_us(job.parts_ns[part]) for part in PARTS),
                job.cause + (f": {job.holder}" if job.holder else ""),
            ]
            for job in jobs
        ),
        title="the worst jobs, times in us",
        numeric=["job", "response", "of D", *(_word(part) for part in PARTS)],
    )
    for job in jobs:
        if job.evidence:
            click.echo(f"{job.run} job {job.job}: {job.cause}: {job.evidence}")


def _word(part: str) -> str:
    return part.replace("_", " ")


def _us(ns: int) -> str:
    return f"{ns / 1000:.0f}"
