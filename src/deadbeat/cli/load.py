"""``deadbeat load``: how many deadlines a real-time thread misses among ordinary ones, and why."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import closing
from typing import Any

import click

from deadbeat.cli._options import (
    choice,
    experiment_options,
    file_option,
    simulated_option,
    to_repeat,
    typed,
    value_options,
)
from deadbeat.cli._output import duration, print_shown, say
from deadbeat.cli._run import carry_out, tell_failed, written
from deadbeat.experiment.base import Outcome
from deadbeat.kinds.interference.engine import LoadEngine
from deadbeat.kinds.interference.hardware import HardwareLoad
from deadbeat.kinds.interference.kind import choose, lacking, write
from deadbeat.kinds.interference.plan import plan, seconds_of
from deadbeat.kinds.interference.runner import LoadExperiment, Possible, look
from deadbeat.kinds.interference.simulated import SimulatedLoad
from deadbeat.kinds.interference.spec import LoadSpec, preset, resolve, specify
from deadbeat.model.errors import DeadbeatError, UsageError
from deadbeat.model.load import PLAIN, LoadKey, LoadSummary
from deadbeat.model.specification import options_of, plain_of
from deadbeat.store.campaign import free_bytes
from deadbeat.store.latest import point_latest
from deadbeat.store.load import LoadStore
from deadbeat.store.place import Place

#: What --fail-on may name.
_FAIL_ON = ("misses", "invalid")
_VALUES = options_of(LoadSpec)


@click.command()
@click.option("--quick", is_flag=True, help="Fewer counts and repeats: under two minutes.")
@click.option(
    "--preset",
    metavar="NAME",
    help="quick, or paper: the paper's own round (900 million additions) and limit (2 s).",
)
@file_option
@value_options(_VALUES)
@click.option(
    "--retry-invalid",
    is_flag=True,
    help="Measure again what is invalid in the last test.",
)
@click.option(
    "--trace/--no-trace",
    default=True,
    help="Also one run, counted nowhere, in which the kernel's events say who had the CPU.  [yes]",
)
@click.option(
    "--fail-on",
    metavar="WHAT",
    help="Exit status 1 also on: misses (a deadline was missed without a remedy), invalid (a run"
    " is invalid or has no result).",
)
@simulated_option
@experiment_options()
@click.pass_context
def command(ctx: click.Context, /, **options: Any) -> int:
    """Count missed deadlines of a real-time thread among k ordinary, computing threads.

    The real-time thread computes in rounds, SCHED_FIFO 99 by default; a round that takes longer
    than its deadline is a failure. Shown are failures per second, response times, context switches,
    moves between CPUs, the work that the ordinary threads lose, and what took the real-time
    thread's time.

    Remedies are then tried one at a time and all together: each is applied, verified, measured in
    turn with runs without it, and put back (deadbeat tune status shows what a kill left behind).

    Results live in RUNS/NAME. The same command continues what was interrupted, and begins anew
    (NAME-2, ...) once all is finished. A run beside which something else ran, or from which
    the host took time, counts, and says so. One that did not measure what it claims (another
    priority, a remedy that no longer held) is called invalid with the reason, and counted nowhere;
    --retry-invalid measures such runs again. Exit status 1 where no run without a remedy counts.
    """
    if options["quick"] and options["preset"] not in (None, "quick"):
        raise UsageError("--quick and --preset exclude each other", "drop one")
    said, called = written(options["campaign_file"], "load", "load test")
    layer, names = typed(_VALUES, options)
    _right_word(layer.get("form", said.get("form", "back-to-back")), names.get("round"))
    named = "quick" if options["quick"] else options["preset"] or said.pop("preset", None)
    layer, names = {**said, **layer}, {**called, **names}
    if not options["trace"]:
        layer["trace"], names["trace"] = False, "--no-trace"
    layer.pop("preset", None)
    if named is not None:
        layer = preset(named, layer)
    words = ctx.find_root().obj or ["load"]
    return _run(options, layer, names, words)


def _right_word(form: str, option: str | None) -> None:
    """The work of a round by the option of the other form is taken for a mistake in the form."""
    if (form, option) == ("back-to-back", "--budget"):
        raise UsageError("--budget: rounds back to back have none", "--form periodic, or --round")
    if (form, option) == ("periodic", "--round"):
        raise UsageError("--round: the periodic form has a budget", "--budget")


def _run(
    options: Mapping[str, Any],
    layer: Mapping[str, Any],
    names: Mapping[str, str],
    words: Sequence[str],
) -> int:
    fail_on = choice("--fail-on", options["fail_on"], _FAIL_ON, "")
    asked = specify(layer, names)
    with closing(_engine(simulated=options["simulated"])) as engine:
        spec = resolve(asked, engine.cpus())
        possible = look(spec, engine)
        place = _place(options, spec, engine, possible)

        def begin() -> LoadExperiment:
            store = _begin(place, spec, engine, possible, options)
            retry = options["retry_invalid"]
            return LoadExperiment(spec, engine, store, possible.changes, retry_invalid=retry)

        def answer(experiment: LoadExperiment, outcome: Outcome[LoadKey]) -> int:
            store = LoadStore.open(experiment.store.path)
            summary = _answer(store, outcome, to_repeat(words), options)
            return status_of(summary, failed=len(outcome.failed), fail_on=fail_on)

        return carry_out(begin, answer, options, words)


def _engine(*, simulated: bool) -> LoadEngine:
    if simulated:
        return SimulatedLoad()

    return HardwareLoad()


def _place(
    options: Mapping[str, Any], spec: LoadSpec, engine: LoadEngine, possible: Possible
) -> Place:
    words = {name: change.words for name, change in possible.changes.items()}
    return choose(
        options["runs"],
        spec,
        engine.describe(),
        words,
        fresh=options["fresh"],
        retry=options["retry_invalid"],
    )


def _begin(
    place: Place,
    spec: LoadSpec,
    engine: LoadEngine,
    possible: Possible,
    options: Mapping[str, Any],
) -> LoadStore:
    """Says what will happen, and makes the folder unless it is there; what the machine or the disk
    refuses is refused before."""
    free_bytes(place.path)
    runs = len(plan(spec, possible.changes))
    store = LoadStore.open(place.path) if place.resumed else None
    left = lacking(store, retry_invalid=options["retry_invalid"]) if store else runs
    unit_ps = _unit_ps(spec, engine) if left else 0
    if engine.kind == "simulated":
        say("SIMULATED: a made-up machine; nothing here says anything about this one")
    for name, reason in possible.impossible.items():
        say(f"remedy {name} is not possible here: {reason}")
    ahead = "" if engine.kind == "simulated" else f": {_time(spec, left)}"
    if store:
        say(f"continue {place.path}, {runs - left} of {runs} runs done{ahead}")
    else:
        say(f"begin {place.path}, {runs} runs{ahead}")
        store = LoadStore.create(
            place.path,
            plain_of(spec),
            engine.describe(),
            unit_ps=unit_ps,
            changes={name: change.words for name, change in possible.changes.items()},
            impossible=possible.impossible,
        )
    point_latest(place.path.parent, place.path.name)
    return store


def _unit_ps(spec: LoadSpec, engine: LoadEngine) -> int:
    cpus = spec.cpus or engine.cpus()
    return engine.unit_ps(cpus, policy=spec.policy, priority=spec.priority)


def _time(spec: LoadSpec, runs: int) -> str:
    return f"about {duration(seconds_of(spec, runs))}"


def _answer(
    store: LoadStore, outcome: Outcome[LoadKey], again: str, options: Mapping[str, Any]
) -> LoadSummary:
    texts = {key.text: reason for key, reason in outcome.failed.items()}
    if not store.committed():
        if not texts:
            raise DeadbeatError("the time was over before a run was finished", f"again: {again}")
        key, reason = min(texts.items())
        raise DeadbeatError(f"no run has a result, for example {key}: {reason}", "")
    summary, shown = write(store, figures=options["figures"], failed=texts)
    print_shown(shown, as_json=options["as_json"])
    if not options["as_json"]:
        tell_failed(outcome, again)
        if store.invalid():
            click.echo(f"measure the invalid ones again: {again} --retry-invalid")
    return summary


def status_of(summary: LoadSummary, *, failed: int = 0, fail_on: str = "") -> int:
    """Exit status: 1 where no run without a remedy counts, so that the question has no answer.

    Args:
        failed: Runs without a result.
        fail_on: 1 also where a deadline was missed without a remedy (``misses``), or where a run is
            invalid or has no result (``invalid``).
    """
    plain = [cell for cell in summary.cells if cell.condition == PLAIN and cell.runs]
    missed = any(cell.failures for cell in plain)
    lost = failed > 0 or any(cell.invalid for cell in summary.cells)
    fails = {"misses": missed, "invalid": lost}.get(fail_on, False)
    return int(not plain or fails)
