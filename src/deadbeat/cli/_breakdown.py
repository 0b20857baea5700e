"""What ``deadbeat breakdown`` does, and what ``show``, ``report`` and ``runs`` ask of a search."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import click

from deadbeat.cli._machine import given_calibration, make_catalog, make_executor
from deadbeat.cli._options import to_repeat
from deadbeat.cli._output import duration, print_json, say
from deadbeat.cli._run import carry_out, tell_failed
from deadbeat.experiment.base import Outcome
from deadbeat.kinds.breakdown.document import breakdown_document, summary_dict, write_breakdown
from deadbeat.kinds.breakdown.results import Breakdown, summarise
from deadbeat.kinds.breakdown.search import BreakdownExperiment, estimate_seconds, lacking, planned
from deadbeat.kinds.breakdown.spec import BreakdownSpec, from_plain, resolve, specify, to_plain
from deadbeat.kinds.contention.runner import check_calibration
from deadbeat.model.errors import DeadbeatError, UsageError
from deadbeat.model.results import RunKey
from deadbeat.report.terminal import print_document
from deadbeat.store.campaign import BreakdownStore
from deadbeat.store.latest import point_latest
from deadbeat.store.place import (
    BREAKDOWN,
    REPORT_FILE,
    Place,
    State,
    choose_place,
    other_parameters,
    stage,
)


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
    with closing(make_executor(make[0], simulated=make[1], cpus=asked.campaign.cpus)) as executor:
        spec = resolve(asked, executor.describe(), names=names)
        catalog = make_catalog(executor)
        for name in spec.campaign.tasks.fragments:
            catalog.fragment(name)
        file = options["calibration_file"]
        given = None if file is None else given_calibration(file)
        if given is not None:
            called = f"the calibration in {file}"
            check_calibration(given, spec.campaign, executor, called=called)
        place = _choose(options["runs"], spec, fresh=options["fresh"])
        if executor.describe().kind == "simulated":
            say("SIMULATED: a made-up machine; nothing here says anything about this one")

        def begin() -> BreakdownExperiment:
            store = _begin(place, spec)
            return BreakdownExperiment(spec, executor, store, catalog, calibration=given)

        def answer(path: Path, outcome: Outcome[RunKey]) -> int:
            return _answer(path, outcome, to_repeat(words), options)

        return carry_out(begin, answer, options, words)


def _choose(runs: Path, spec: BreakdownSpec, *, fresh: bool) -> Place:
    def differs(path: Path) -> Iterator[str]:
        kept = to_plain(from_plain(BreakdownStore.open(path).spec))
        yield from other_parameters(kept, to_plain(spec))

    name = spec.campaign.name
    return choose_place(runs, name, BREAKDOWN, state_of=state_of, differs=differs, fresh=fresh)


def _begin(place: Place, spec: BreakdownSpec) -> BreakdownStore:
    """Says what will happen, and makes the search's folder unless it is there."""
    if not place.resumed:
        BreakdownStore.create(place.path, to_plain(spec), spec.campaign.seed)
    store = BreakdownStore.open(place.path)
    point_latest(place.path.parent, place.path.name)
    left = lacking(spec, store)
    seconds = estimate_seconds(spec) * left / planned(spec)
    if store.load_calibration() is None:
        seconds += spec.campaign.calibration.seconds
    verb = "continue" if place.resumed else "begin"
    say(f"{verb} {store.path}: {left} of {planned(spec)} runs, about {duration(seconds)}")
    return store


def _answer(path: Path, outcome: Outcome[RunKey], again: str, options: Mapping[str, Any]) -> int:
    found = report_breakdown(path, figures=options["figures"], as_json=options["as_json"])
    tell_failed(outcome, again, say if options["as_json"] else click.echo)
    return int(not found.cells)


def report_breakdown(path: Path, *, figures: bool, as_json: bool) -> Breakdown:
    """Writes everything derived, and prints the answer."""
    found, page = write_breakdown(BreakdownStore.open(path), draw=figures)
    _print(found, path, as_json=as_json)
    if not as_json:
        click.echo(f"report: {page}")
    return found


def show_breakdown(path: Path, *, as_json: bool) -> None:
    """The answer of what is stored."""
    _print(summarise(BreakdownStore.open(path)), path, as_json=as_json)


def _print(found: Breakdown, path: Path, *, as_json: bool) -> None:
    if as_json:
        page = str(path / REPORT_FILE)
        print_json({**summary_dict(found), "path": str(path), "report": page})
        return
    print_document(breakdown_document(found))


def state_of(path: Path) -> State:
    """State of the search in ``path``; damage is a state, not an error."""
    try:
        store = BreakdownStore.open(path)
        spec = from_plain(store.spec)
        left, failed, harm = lacking(spec, store), store.failed(), store.damaged_run()
    except DeadbeatError as error:
        return State(name=path.name, path=path, state="damaged", problem=str(error))
    return State(
        name=path.name,
        path=path,
        state="damaged" if harm else stage(path, complete=not left),
        preset=spec.campaign.preset,
        planned=planned(spec),
        done=planned(spec) - left,
        failed=len(failed),
        problem=harm.message if harm else "",
        cure=harm.hint if harm else "",
    )
