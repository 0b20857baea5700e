"""``deadbeat why``: the worst jobs of a campaign, and what each is put down to."""

from __future__ import annotations

from pathlib import Path

import attrs
import click

from deadbeat.cli._latency_causes import why_matrix
from deadbeat.cli._machine import open_campaign
from deadbeat.cli._options import json_option, runs_option
from deadbeat.cli._output import print_json, print_table
from deadbeat.kinds.contention.late import late_of
from deadbeat.model.errors import UsageError
from deadbeat.model.traces import PARTS, LateJob
from deadbeat.report.times import time_text
from deadbeat.store.place import MATRIX


@click.command()
@click.argument("run", default="latest", metavar="[RUN]")
@click.option(
    "--worst", type=click.IntRange(1, 1000), default=20, metavar="K", help="So many jobs.  [20]"
)
@runs_option
@json_option
def command(run: str, *, worst: int, runs: Path, as_json: bool) -> int:
    """Say where the time of a campaign's worst jobs went, and who had it; of a latency matrix the
    same of its worst traced wake-ups.

    RUN is a path, or a name under the folder of campaigns; the latest by default. A campaign must
    have been run with --causes, or with --split: then there are no scheduling events, and no names.
    A matrix must have been measured with --trace or --keep-above. What took the time in a load test
    is part of deadbeat show.
    """
    matrix = MATRIX.find(runs, run)
    if matrix is not None:
        why_matrix(matrix, count=worst, as_json=as_json)
        return 0
    store = open_campaign(runs, run)
    late = late_of(store, count=worst)
    if as_json:
        print_json(
            {
                "causes": [attrs.asdict(job) for job in late.jobs],
                "unavailable": late.unavailable,
                "notes": list(late.notes),
            }
        )
        return 0
    if not late.jobs:
        raise UsageError(
            f"{store.path.name} does not say where the time of its jobs went",
            "run it with --causes (or --split)",
        )
    _print(late.jobs)
    for note in late.notes:
        click.echo(note)
    if late.unavailable:
        click.echo(f"no scheduling events: {late.unavailable}")
    return 0


def _print(jobs: list[LateJob]) -> None:

    print_table(
        ["run", "job", "response", "late by", "parts of the response", "cause"],
        (
            [
                job.run,
                f"t{job.task} {job.job}",
                _time(job, job.response_ns),
                _time(job, job.lateness_ns) if job.lateness_ns > 0 else "-",
                _parts(job),
                job.cause + (f": {job.holder}" if job.holder else ""),
            ]
            for job in jobs
        ),
        title="the worst jobs; late by: response beyond the deadline",
        numeric=["response", "late by"],
        whole=["run", "job", "response", "late by"],
    )
    for job in jobs:
        if job.evidence:
            click.echo(f"{job.run} job {job.job}: {job.cause}: {job.evidence}")


def _parts(job: LateJob) -> str:

    known = ((part.replace("_", " "), job.parts_ns.get(part)) for part in PARTS)
    return ", ".join(f"{name} {_time(job, ns)}" for name, ns in known if ns) or "not known"


def _time(job: LateJob, ns: int) -> str:
    """Of a job that never finished: at least."""
    return ("" if job.finished else "≥ ") + time_text(ns)
