"""``deadbeat breakdown``: up to which utilisation task sets meet their deadlines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import closing
from typing import Any

import click

from deadbeat.cli._campaign import asked_of
from deadbeat.cli._machine import given_calibration, make_catalog, make_executor
from deadbeat.cli._options import (
    calibration_option,
    experiment_options,
    file_option,
    machine_options,
    to_repeat,
    value_options,
)
from deadbeat.cli._output import duration, print_shown, say
from deadbeat.cli._run import carry_out, tell_failed, written
from deadbeat.experiment.base import Outcome
from deadbeat.experiment.programs import check_calibration
from deadbeat.kinds.breakdown.kind import choose, write
from deadbeat.kinds.breakdown.search import BreakdownExperiment, estimate_seconds, lacking, planned
from deadbeat.kinds.breakdown.spec import BreakdownSpec, resolve, specify, to_plain
from deadbeat.model.errors import UsageError
from deadbeat.model.results import RunKey
from deadbeat.model.specification import layered, options_of
from deadbeat.store.campaign import BreakdownStore, CampaignStore
from deadbeat.store.latest import point_latest
from deadbeat.store.place import Place

#: T = D is what the search varies; a job that comes too late would not be judged like the others.
_NOT_HERE = (
    *("tasks.deadline_factor", "run.overrun"),
    *("run.split", "run.causes", "run.counters"),
)
_VALUES = options_of(BreakdownSpec, without=_NOT_HERE, first="breakdown")


@click.command()
@click.option("--quick", is_flag=True, help="Under five minutes: preset quick.")
@click.option("--preset", metavar="NAME", help="default or quick.")
@file_option
@value_options(_VALUES)
@calibration_option
@machine_options
@experiment_options(budget=True)
@click.pass_context
def command(ctx: click.Context, /, **options: Any) -> int:
    """Find the breakdown utilisation: up to which utilisation task sets meet their deadlines, over
    cores, rho, alpha, tasks per core and priority rule.

    Every task set is one program, whose T = D is shrunk between runs, by bisection, until it begins
    to miss. Beside it: what the schedulability lab predicts for the same sets from their calibrated
    C, and from C inflated by what their jobs really took.

    Searches live in RUNS/NAME; the same command continues one that was interrupted, or lost a run.
    """
    asked, names = asked_of(options, _VALUES)
    said, called = written(options["campaign_file"], "breakdown", "breakdown search")
    layer = layered(BreakdownSpec, said, asked)
    words = ctx.find_root().obj or ["breakdown"]
    return run_breakdown(options, layer=layer, names={**called, **names}, words=words)


def run_breakdown(
    options: Mapping[str, Any],
    *,
    layer: Mapping[str, Any],
    names: Mapping[str, str],
    words: Sequence[str],
) -> int:
    """Runs the search the command line asks for; returns the exit status.

    Args:
        options: Those that are no part of the specification.
        layer, names: Those that are, and what they are called.
        words: The command as typed, to be named where it can be repeated.
    """
    if options["quick"] and options["preset"] not in (None, "quick"):
        raise UsageError(f"--quick and --preset {options['preset']} exclude each other", "drop one")
    asked = specify(layer, names=names)
    make = options["executor_text"], options["simulated"]
    with closing(make_executor(make[0], simulated=make[1], cpus=asked.cpus)) as executor:
        spec = resolve(asked, executor.describe(), names=names)
        catalog = make_catalog(executor)
        for name in spec.tasks.fragments:
            catalog.fragment(name)
        file = options["calibration_file"]
        given = None if file is None else given_calibration(file)
        if given is not None:
            called = f"the calibration in {file}"
            check_calibration(given, spec, executor, called=called)
        place = choose(options["runs"], spec, fresh=options["fresh"])
        if executor.describe().kind == "simulated":
            say("SIMULATED: a made-up machine; nothing here says anything about this one")

        def begin() -> BreakdownExperiment:
            store = _begin(place, spec)
            return BreakdownExperiment(spec, executor, store, catalog, calibration=given)

        def answer(experiment: BreakdownExperiment, outcome: Outcome[RunKey]) -> int:
            return _answer(experiment.store, outcome, to_repeat(words), options)

        return carry_out(begin, answer, options, words)


def _begin(place: Place, spec: BreakdownSpec) -> BreakdownStore:
    """Says what will happen, and makes the search's folder unless it is there."""
    if not place.resumed:
        BreakdownStore.create(place.path, to_plain(spec), spec.seed)
    store = BreakdownStore.open(place.path)
    point_latest(place.path.parent, place.path.name)
    left = lacking(spec, store)
    seconds = estimate_seconds(spec) * left / planned(spec)
    if store.load_calibration() is None:
        seconds += spec.calibration.seconds
    verb = "continue" if place.resumed else "begin"
    say(f"{verb} {store.path}: {left} of {planned(spec)} runs, about {duration(seconds)}")
    return store


def _answer(
    store: CampaignStore, outcome: Outcome[RunKey], again: str, options: Mapping[str, Any]
) -> int:
    found, shown = write(store, figures=options["figures"])
    print_shown(shown, as_json=options["as_json"])
    tell_failed(outcome, again, say if options["as_json"] else click.echo)
    return int(not found.cells)
