"""What ``deadbeat load`` does; apart from its options: ``--help`` imports none of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import closing
from typing import Any

import click

from deadbeat.cli._load_results import FAIL_ON, report_load, status_of
from deadbeat.cli._options import choice, to_repeat
from deadbeat.cli._output import Watch, duration, say
from deadbeat.cli._signals import interruptible
from deadbeat.kinds.interference.engine import LoadEngine
from deadbeat.kinds.interference.hardware import HardwareLoad
from deadbeat.kinds.interference.place import choose, lacking
from deadbeat.kinds.interference.plan import plan, seconds_of
from deadbeat.kinds.interference.runner import Possible, Progress, look, run_load
from deadbeat.kinds.interference.simulated import SimulatedLoad
from deadbeat.kinds.interference.spec import LoadSpec, read_spec, resolve, spec_dict, specify
from deadbeat.model.errors import DeadbeatError
from deadbeat.model.load import LoadKey
from deadbeat.model.load_summary import LoadSummary
from deadbeat.store.campaign import free_bytes
from deadbeat.store.latest import point_latest
from deadbeat.store.load import LoadStore
from deadbeat.store.place import Place

_INTERRUPTED = 130


def run(
    options: Mapping[str, Any],
    *,
    layer: Mapping[str, Any],
    names: Mapping[str, str],
    words: Sequence[str],
) -> int:
    """Runs the load test the command line asks for; returns the exit status.

    Args:
        options: Those that are no part of the specification.
        layer, names: Those that are, and what they are called.
        words: The command as typed, to be named where it can be repeated.
    """
    fail_on = choice("--fail-on", options["fail_on"], FAIL_ON, "")
    asked = specify(layer, names)
    with closing(_engine(simulated=options["simulated"])) as engine, interruptible():
        spec = resolve(asked, engine.cpus())
        possible = look(spec, engine)
        place = _place(options, spec, engine, possible)
        store = None
        try:
            store = _begin(place, spec, engine, possible, options)
            failed = _measure(spec, engine, store, possible, options)
        except KeyboardInterrupt:
            return _interrupted(store, to_repeat(words, retrying=True), options)
    summary = _answer(store, failed, to_repeat(words), options)
    return status_of(summary, failed=len(failed), fail_on=fail_on)


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
            spec_dict(spec),
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


def _measure(
    spec: LoadSpec,
    engine: LoadEngine,
    store: LoadStore,
    possible: Possible,
    options: Mapping[str, Any],
) -> dict[LoadKey, str]:
    with Watch(store.path.name) as watch:

        def tell(progress: Progress) -> None:
            watch.count(progress.done, progress.total, progress.eta_s, unit="runs")

        return run_load(
            spec,
            engine,
            store,
            possible.changes,
            on_progress=tell,
            retry_invalid=options["retry_invalid"],
        )


def _answer(
    store: LoadStore, failed: Mapping[LoadKey, str], again: str, options: Mapping[str, Any]
) -> LoadSummary:
    if not store.committed():
        key, reason = min(failed.items())
        raise DeadbeatError(f"no run has a result, for example {key.text}: {reason}", "")
    texts = {key.text: reason for key, reason in failed.items()}
    summary = report_load(
        store.path, figures=options["figures"], as_json=options["as_json"], failed=texts
    )
    if failed and not options["as_json"]:
        key, reason = min(failed.items())
        click.echo(
            f"{len(failed)} runs have no result, for example {key.text}: {reason};"
            f" measure them with: {again}"
        )
    if not options["as_json"] and store.invalid():
        click.echo(f"measure the invalid ones again: {again} --retry-invalid")
    return summary


def _interrupted(store: LoadStore | None, again: str, options: Mapping[str, Any]) -> int:
    if store is None:
        say("interrupted before anything was begun")
        return _INTERRUPTED
    planned = lacking(store) + len(store.committed())
    left = lacking(store, retry_invalid=options["retry_invalid"])
    spec = read_spec(store.spec)
    say(
        f"interrupted: {planned - left} of {planned} runs are kept in {store.path};"
        f" continue with ({_time(spec, left)}): {again}"
    )
    return _INTERRUPTED
