"""What the commands that run a campaign do."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import click
from attrs import define

from deadbeat.catalog import Catalog
from deadbeat.cli._machine import (
    CALIBRATION_FILE,
    given_calibration,
    make_catalog,
    make_executor,
)
from deadbeat.cli._options import to_repeat
from deadbeat.cli._output import duration, print_json, say, size
from deadbeat.cli._programs import (
    Borrowed,
    announce,
    borrow,
    check_options,
    choose_cpus,
    open_source,
)
from deadbeat.cli._run import carry_out, interrupted, tell_failed, watched
from deadbeat.executors.base import Executor
from deadbeat.experiment.base import Outcome
from deadbeat.experiment.programs import check_calibration
from deadbeat.kinds.contention.document import campaign_document
from deadbeat.kinds.contention.kind import plain, write
from deadbeat.kinds.contention.place import choose, finished_like
from deadbeat.kinds.contention.plan import Resolved, estimate, resolve
from deadbeat.kinds.contention.runner import CampaignExperiment, standing
from deadbeat.kinds.contention.spec import MODES, CampaignSpec, spec_dict, specify
from deadbeat.model.calibration import Calibration
from deadbeat.model.errors import DeadbeatError, UsageError
from deadbeat.model.finding import counts_text
from deadbeat.model.results import RunKey, Summary
from deadbeat.model.specification import names_in_file
from deadbeat.report.terminal import print_document, print_findings
from deadbeat.store.campaign import CampaignStore, free_bytes
from deadbeat.store.latest import point_latest
from deadbeat.store.place import Place
from deadbeat.store.tomlfile import read_toml


class Told(KeyboardInterrupt):
    """An interrupt of which the person has been told what is kept."""


def run_session(
    options: Mapping[str, Any],
    *,
    layer: Mapping[str, Any],
    names: Mapping[str, str],
    words: Sequence[str],
) -> int:
    """Runs the campaign the command line asks for; returns the exit status.

    Args:
        options: The options that are no part of the specification.
        layer, names: Those that are, and what they are called.
        words: The command as typed, to be named where it can be repeated.
    """
    make = partial(make_executor, options["executor_text"], simulated=options["simulated"])
    asked = _ask(options, layer, names, make)
    with closing(make(cpus=asked.cpus)) as executor:
        session = _prepare(options, asked, executor)

        def answer(experiment: CampaignExperiment, outcome: Outcome[RunKey]) -> int:
            return _answer(session, experiment.store, outcome, to_repeat(words))

        return carry_out(lambda: _begin(session), answer, options, words)


def run_to_end(
    options: Mapping[str, Any], *, layer: Mapping[str, Any], executor: Executor, again: str
) -> Path:
    """Runs the campaign of ``layer`` on ``executor``, or finds one that answers it already.

    Args:
        options: As for `run_session`.
        again: The command that continues it.

    Returns:
        The folder of the finished campaign.

    Raises:
        Told: It was interrupted, after it was said what is kept.
        DeadbeatError: Nothing of it has a result.
    """
    asked = _Asked(spec=specify(layer), source=None, cpus=None, layer=layer, names={})
    resolved, _ = asked.fit(executor)
    known = None if options["fresh"] else finished_like(options["runs"], resolved.spec, executor)
    if known is not None:
        say(f"{known} answers it already: it is not run again (--fresh)")
        return known
    session = _prepare(options, asked, executor)
    experiment = None
    try:
        experiment = _begin(session)
        result = watched(experiment)
        say("summarise and draw")
        write(experiment.store, figures=options["figures"])
    except KeyboardInterrupt:
        interrupted(experiment, again)
        raise Told from None
    path = experiment.store.path
    if not result.done:
        _, reason = min((key.text, reason) for key, reason in result.failed.items())
        raise DeadbeatError(f"{path}: no run has a result: {reason}", "see deadbeat show")
    return path


@define(kw_only=True)
class _Asked:
    """What the command line asks for: a specification, or the programs of ``source``."""

    spec: CampaignSpec | None
    source: CampaignStore | None
    cpus: tuple[int, ...] | None
    layer: Mapping[str, Any]
    names: Mapping[str, str]

    def fit(self, executor: Executor) -> tuple[Resolved, Borrowed | None]:
        """It on a machine; refused where it does not fit."""
        if self.source is not None:
            borrowed = borrow(self.source, executor, self.layer, self.cpus or ())
            return borrowed.resolved, borrowed
        assert self.spec is not None
        return resolve(self.spec, executor.describe(), names=self.names), None


@define(kw_only=True)
class _Session:
    """One invocation: what was asked, where it is kept, and with what it runs."""

    options: Mapping[str, Any]
    resolved: Resolved
    executor: Executor
    catalog: Catalog
    calibration: Calibration | None
    borrowed: Borrowed | None
    place: Place

    @property
    def spec(self) -> CampaignSpec:
        return self.resolved.spec


def _ask(
    options: Mapping[str, Any],
    layer: Mapping[str, Any],
    names: Mapping[str, str],
    make: Callable[..., Executor],
) -> _Asked:
    if options["programs_from"] is None:
        spec, source = _specify(options, layer, names), None
        cpus = spec.cpus
    else:
        check_options(options, names)
        mode = str(layer.get("mode", "profile"))
        source, spec = open_source(options["runs"], options["programs_from"], mode), None
        cpus = choose_cpus(source, layer, lambda: make(cpus=None))
    return _Asked(spec=spec, source=source, cpus=cpus, layer=layer, names=names)


def _specify(
    options: Mapping[str, Any], layer: Mapping[str, Any], names: Mapping[str, str]
) -> CampaignSpec:
    if options["quick"] and options["preset"] not in (None, "quick"):
        raise UsageError(f"--quick and --preset {options['preset']} exclude each other", "drop one")
    file = options["campaign_file"]
    if file is None:
        return specify(layer, names=names)
    written = read_toml(file)
    mode, verb = _mode_of(written), str(layer.get("mode", "profile"))
    if mode is not None and mode != verb:
        hint = f"deadbeat {mode} --campaign {shlex.quote(str(file))}"
        raise UsageError(f"{file} is a {mode} campaign, not a {verb}", hint)
    return specify(written, layer, names={**names_in_file(file, written), **names})


def _mode_of(written: Mapping[str, Any]) -> str | None:
    """Whose campaign a file is: what it says, or what it has a section of; None: anybody's."""
    if "mode" in written:
        mode = written["mode"]
        return mode if mode in MODES else None
    own = {"profile": "grid", "stress": "stress"}
    found = [mode for mode, section in own.items() if section in written]
    return found[0] if len(found) == 1 else None


def _prepare(options: Mapping[str, Any], asked: _Asked, executor: Executor) -> _Session:
    """Whatever can be refused is refused before a folder is made."""
    resolved, borrowed = asked.fit(executor)
    catalog = make_catalog(executor)
    file = options["calibration_file"]
    calibration = None if file is None else given_calibration(file)
    if calibration is not None:
        called = f"the calibration in {file}"
        check_calibration(calibration, resolved.spec, executor, called=called)
    for name in resolved.spec.tasks.fragments:
        catalog.fragment(name)
    place = choose(
        options["runs"],
        resolved.spec,
        fresh=options["fresh"],
        retry_failed=options["retry_failed"],
        origin=borrowed.origin if borrowed else None,
        source=borrowed.source.path if borrowed else None,
    )
    return _Session(
        options=options,
        resolved=resolved,
        executor=executor,
        catalog=catalog,
        calibration=calibration,
        borrowed=borrowed,
        place=place,
    )


def _begin(session: _Session) -> CampaignExperiment:
    """Says what will happen, and makes the campaign's folder unless it is there."""
    path, spec = session.place.path, session.spec
    if session.executor.describe().kind == "simulated":
        say("SIMULATED: a made-up machine; nothing here says anything about this one")
    if session.borrowed is not None:
        announce(session.borrowed)
    if session.resolved.missing_cores:
        counts = ", ".join(map(str, session.resolved.missing_cores))
        say(
            f"WARNING: preset {spec.preset} names core counts that do not exist here:"
            f" M = {counts} are left out"
        )
    store = CampaignStore.open(path) if session.place.resumed else None
    _announce(session, done=standing(spec, store).done if store else 0)
    if store is None:
        origin = session.borrowed.origin if session.borrowed else None
        CampaignStore.create(path, spec_dict(spec), spec.seed, origin=origin)
    point_latest(path.parent, path.name)
    return CampaignExperiment(
        spec,
        session.executor,
        # Opened also when new: what is shown of it must not depend on which command reads it.
        CampaignStore.open(path),
        session.catalog,
        calibration=session.calibration,
        retry_failed=session.options["retry_failed"],
        source=session.borrowed.source if session.borrowed else None,
    )


def _announce(session: _Session, *, done: int) -> None:
    """Time and disk the campaign needs; refuses when the disk cannot hold it."""
    path, spec = session.place.path, session.spec
    calibrated = (path / CALIBRATION_FILE).is_file() or session.calibration is not None
    calibrated = calibrated or session.borrowed is not None
    simulated = session.executor.describe().kind == "simulated"
    whole = estimate(spec, calibrated=calibrated, simulated=simulated)
    free = free_bytes(path)
    left = 1 - done / whole.runs
    need = left * whole.bytes
    verb = f"continue {path}, {done} of" if session.place.resumed else f"begin {path},"
    say(
        f"{verb} {whole.runs} task sets{' done' if done else ''}: at most"
        f" {duration(left * whole.seconds)} and {size(need)} of disk ({size(free)} free)"
    )
    if need > free:
        raise DeadbeatError(
            f"{path} may need {size(need)}, only {size(free)} are free",
            "free space, choose another --runs, or lower --seconds, or the number of task sets",
        )


def _answer(session: _Session, store: CampaignStore, result: Outcome[RunKey], again: str) -> int:
    """Report, figures and table; exit status 1 only when not one run has a result."""
    say("summarise and draw")
    summary, report = write(
        store, figures=session.options["figures"], worst=session.options["worst"]
    )
    if session.options["as_json"]:
        missing = list(session.resolved.missing_cores)
        print_json({**plain(summary, store.path), "missing_cores": missing})
    else:
        print_document(campaign_document(summary))
        _tell(summary, result, report, again)
    return 1 if not result.done else 0


def _tell(summary: Summary, result: Outcome[RunKey], report: Path, again: str) -> None:
    tell_failed(result, f"{again} --retry-failed")
    print_findings(summary.findings, ("serious",))
    click.echo(f"findings: {counts_text(summary.findings)} (deadbeat show {report.parent})")
    click.echo(f"report: {report}")
