"""``deadbeat observe``: the paper's nine observations on this machine, or on stored campaigns."""

from __future__ import annotations

from pathlib import Path

import click

from deadbeat.cli._observe import ObserveQuestion, observe
from deadbeat.cli._options import figures_option, json_option, machine_options, runs_option


@click.command()
@click.argument("what", nargs=-1, metavar="[1..9|all]...")
@click.option(
    "--from",
    "sources",
    multiple=True,
    metavar="RUN...",
    help="Judge these stored campaigns; run nothing. 7 to 9 need the same programs on two kernels.",
)
@click.option("--quick", is_flag=True, help="Few task sets on a coarse grid: wide intervals.")
@click.option("--fresh", is_flag=True, help="Begin anew, also where a campaign answers it already.")
@figures_option
@runs_option
@machine_options
@json_option
@click.pass_context
def command(
    ctx: click.Context,
    *,
    what: tuple[str, ...],
    sources: tuple[str, ...],
    quick: bool,
    fresh: bool,
    figures: bool,
    runs: Path,
    executor_text: str | None,
    simulated: bool,
    as_json: bool,
) -> int:
    """Check the paper's observations: confirmed, not confirmed, undecided, or what they need.

    Exit status 2 where --from gives nothing that any of them could be judged from.

    Each names its criterion and the numbers it rests on. Without --from the campaigns that are
    lacking are run: one profile serves 1 to 4, a stress campaign with critical cores 5, a random
    one 6. A campaign that was finished here before, with the same parameters and on the same
    kernel, is not run again.

    \b
    deadbeat observe 1 2              run what is lacking, judge
    deadbeat observe 1..4 --from paper
    deadbeat observe 7 8 --from A B   B ran the programs of A: --programs-from
    """
    question = ObserveQuestion.parse(
        what,
        sources,
        quick=quick,
        options={
            "fresh": fresh,
            "figures": figures,
            "runs": runs,
            "executor_text": executor_text,
            "simulated": simulated,
            "as_json": as_json,
        },
        words=tuple(ctx.find_root().obj or ("observe",)),
    )
    return observe(question)
