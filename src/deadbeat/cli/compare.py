"""``deadbeat compare``: campaigns of the identical programs, latencies or load tests together."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from deadbeat.cli._compare import compare
from deadbeat.cli._options import figures_option, json_option, runs_option


@click.command()
@click.argument("campaigns", nargs=-1, metavar="A B [C...]")
@click.option(
    "--aa",
    multiple=True,
    metavar="RUN",
    help="A repeat of A on its machine: shows what differs without a reason. May be repeated.",
)
@click.option(
    "--metric",
    multiple=True,
    metavar="NAME",
    help="slowdown, delay_ratio or deadline_miss_ratio; of latencies p50, mean, p99, p99.9, max or"
    " missed_ratio; of load tests deadline_miss_ratio, response_p50, response_p99, response_max or"
    " work_lost; may be repeated.  [all]",
)
@click.option(
    "--minimum-effect",
    metavar="X",
    help="Smallest relative difference of ratios, latencies or response times, and of shares of"
    " work, that matters.  [0.02; latencies 0.1; load tests 0.05]",
)
@click.option(
    "--minimum-miss",
    metavar="X",
    help="Smallest difference of miss ratios that matters.  [0.005; latencies 0.001]",
)
@click.option(
    "--fail-on",
    multiple=True,
    metavar="VERDICT",
    help="Exit status 1 when the verdict is worse; different: worse or better; undecided: worse,"
    " or any metric undecided.",
)
# Without effect since no test draws random signs; scripts may still give them.
@click.option("--seed", type=click.IntRange(min=0), expose_value=False, hidden=True)
@click.option("--resamples", type=click.IntRange(999, 1_000_000), expose_value=False, hidden=True)
@click.option(
    "--ungated",
    is_flag=True,
    help="Decide what was measured without --aa: how far sessions drift is guessed; labelled.",
)
@click.option("--per-cpu", is_flag=True, help="Latencies: each CPU is a cell of its own.")
@click.option("--allow-mixed", is_flag=True, help="Also simulated beside measured; labelled.")
@click.option(
    "--partial", is_flag=True, help="Also what is unfinished: what is there so far; labelled."
)
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Folder for page and figures.  [RUNS/compare-A-B]",
)
@figures_option
@runs_option
@json_option
def command(**options: Any) -> int:
    """Compare campaigns of the identical programs, latency matrices, or load tests.

    A is the baseline; each is a path, or a name under the folder of campaigns. B must have run A's
    own programs (deadbeat profile --programs-from A, or deadbeat stress --programs-from A for a
    stress campaign): anything else is refused, with what differs. Latency matrices must have been
    measured alike (interval, priority, policy, length); a cell is a load measured by an engine.
    Load tests must have asked the same (form, round, deadline, period, priority, policy, length,
    numbers of ordinary threads); a cell is such a number, without a remedy.

    The verdict is better, worse, equal or undecided: of every cell, of every metric over all cells,
    and overall. A difference is called one when chance, the smallest effect that matters, and what
    this machine shows without a reason (--aa) are all ruled out; measured campaigns are undecided
    without --aa.
    """
    return compare(options)
