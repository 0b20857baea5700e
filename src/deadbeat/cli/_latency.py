"""What ``deadbeat latency`` does; apart from its options: ``--help`` imports none of it."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import attrs
import click

from deadbeat.cli._latency_results import answer_dict, finding_counts, status_of
from deadbeat.cli._options import choice, to_repeat
from deadbeat.cli._output import Watch, duration, print_json, say, size
from deadbeat.cli._signals import interruptible
from deadbeat.host.environment import environment_of, platform_from_environment
from deadbeat.kinds.latency.document import latency_document, write_latency
from deadbeat.kinds.latency.made_up import MadeUpLoads
from deadbeat.kinds.latency.place import choose, state_of
from deadbeat.kinds.latency.plan import estimate
from deadbeat.kinds.latency.registry import SIMULATED, engine_names, make_engine
from deadbeat.kinds.latency.runner import (
    Doubted,
    Event,
    Lost,
    Machine,
    MatrixResult,
    Progress,
    lacking,
    run_matrix,
    try_engines,
)
from deadbeat.kinds.latency.spec import LatencySpec, read_spec, resolve, spec_dict, specify
from deadbeat.kinds.latency.stress import StressLoads
from deadbeat.model.errors import DeadbeatError, TargetError, UsageError
from deadbeat.model.examples import example_platform
from deadbeat.model.latency_summary import LatencySummary
from deadbeat.model.platform import Platform
from deadbeat.report.terminal import print_document
from deadbeat.settings.doctor import examine
from deadbeat.settings.doctor_words import as_json
from deadbeat.settings.hardening import states_of
from deadbeat.settings.standing import with_tuning
from deadbeat.store.campaign import free_bytes
from deadbeat.store.latency import LatencyStore
from deadbeat.store.latest import point_latest
from deadbeat.store.tomlfile import read_toml
from deadbeat.targets.base import Target
from deadbeat.targets.fake import FakeTarget
from deadbeat.targets.local import LocalTarget

_INTERRUPTED = 130


def run_latency(
    options: Mapping[str, Any],
    *,
    layer: Mapping[str, Any],
    names: Mapping[str, str],
    words: Sequence[str],
) -> int:
    """Measures the matrix the command line asks for; returns the exit status.

    Args:
        options: The options that are no part of the specification.
        layer, names: Those that are, and what they are called.
        words: The command as typed, to be named where it can be repeated.
    """
    fail_on = choice("--fail-on", options["fail_on"], ("invalid",), "")
    asked = _specify(options["campaign_file"], layer, names)
    target = _target(simulated=options["simulated"])
    with closing(target), interruptible():
        store = None
        try:
            machine, spec, platform = _fit(asked, target, options, names=names, words=words)
            store = _begin(spec, machine, platform, options)
            summary = _answer(
                store, _measure(spec, store, machine, options), options, to_repeat(words)
            )
        except KeyboardInterrupt:
            return _interrupted(store, to_repeat(words, retrying=True))
    return status_of(summary, strict=bool(fail_on))


def _specify(file: Path | None, layer: Mapping[str, Any], names: Mapping[str, str]) -> LatencySpec:
    if file is None:
        return specify(layer, names=names)
    written = read_toml(file)
    mode = written.get("mode", "latency")
    if mode != "latency" and isinstance(mode, str):
        hint = f"deadbeat {mode} --campaign {shlex.quote(str(file))}"
        raise UsageError(f"{file} is a {mode} campaign, not a latency matrix", hint)
    called = {key: f"{file}: {key}" for key in written}
    return specify(written, layer, names={**called, **names})


def _target(*, simulated: bool) -> Target:
    if simulated:
        return FakeTarget()

    return LocalTarget()


def _fit(
    asked: LatencySpec,
    target: Target,
    options: Mapping[str, Any],
    *,
    names: Mapping[str, str],
    words: Sequence[str],
) -> tuple[Machine, LatencySpec, Platform]:
    """The specification on the machine; whatever can be refused is refused here."""
    if options["simulated"]:
        platform = example_platform()
        known = {SIMULATED: ""}
        if asked.engines not in (None, (SIMULATED,)):
            raise UsageError("--simulated and --engine exclude each other", "drop one")
        spec = resolve(asked, engines=known, cpus=platform.cpus, names=names)
        platform = attrs.evolve(platform, cpus=spec.cpus or ())
        loads = MadeUpLoads(spec.cpus or ())
        engines = {SIMULATED: make_engine(SIMULATED)}
        return Machine(target=target, engines=engines, loads=loads), spec, platform
    strange = [name for name in asked.engines or () if name not in engine_names()]
    if strange:
        called = names.get("engines", "engines")
        raise UsageError(f"{called}: {strange[0]} measures nothing here", "its results: --import")
    platform, usable = _look(target)
    wanted = asked.engines or engine_names()
    engines = {name: make_engine(name) for name in wanted}
    why = {name: engine.unavailable(target) for name, engine in engines.items()}
    spec = resolve(asked, engines=why, cpus=usable, names=names)
    stress = StressLoads(spec.cpus or ())
    lacking_loads = {stress.unavailable(target, point) for point in spec.loads} - {""}
    if lacking_loads:
        again = shlex.join(idle_only(words))
        raise TargetError(f"{'; '.join(sorted(lacking_loads))}; works without: {again}")
    if asked.engines is None and any(why.values()):
        for name, reason in why.items():
            if reason:
                say(f"without {name}: {reason}")
    platform = attrs.evolve(platform, cpus=spec.cpus or ())
    return Machine(target=target, engines=engines, loads=stress), spec, platform


def idle_only(words: Sequence[str]) -> list[str]:
    """The same command for the idle machine alone."""
    kept, after = ["deadbeat"], False
    for word in words:
        if not after and word != "--loads" and not word.startswith("--loads="):
            kept.append(word)
        after = word == "--loads"
    return [*kept, "--loads", "idle"]


def _look(target: Target) -> tuple[Platform, tuple[int, ...]]:
    """The platform, and the CPUs that may be used."""
    more = {"hardening": states_of(target)}
    environment = environment_of(target, now=datetime.now(UTC), more=more)
    online, allowed = environment["cpus_online"], environment["cpus_allowed"]
    if not isinstance(online, list):
        raise TargetError(f"the CPUs of {target.name} cannot be told: {online}")
    usable = [cpu for cpu in online if not isinstance(allowed, list) or cpu in allowed]
    platform = platform_from_environment(
        environment, cpus=usable, toolchain="", flags="", kind=target.kind, name=target.name
    )
    return with_tuning(platform, target), tuple(usable)


def _begin(
    spec: LatencySpec, machine: Machine, platform: Platform, options: Mapping[str, Any]
) -> LatencyStore:
    """Says what will happen, and makes the folder unless it is there."""
    retry_invalid = options["retry_invalid"]
    retry = options["retry_failed"] or retry_invalid
    place = choose(options["runs"], spec, platform, fresh=options["fresh"], retry=retry)
    if options["simulated"]:
        say("SIMULATED: a made-up machine; nothing here says anything about this one")
    store = LatencyStore.open(place.path) if place.resumed else None
    todo = lacking(spec, store, retry_invalid=retry_invalid) if store else None
    planned = len(spec.loads) * spec.blocks * len(spec.engines or ())
    left = planned if todo is None else sum(len(visit.keys) for visit in todo)
    need = estimate(spec, runs=left)
    free = free_bytes(place.path)
    if need.bytes > free:
        raise DeadbeatError(
            f"{place.path} may need {size(need.bytes)}, only {size(free)} are free",
            "free space, choose another --runs, or fewer --repeats",
        )
    if left:
        try_engines(spec, machine)
    done = f"{planned - left} of " if place.resumed else ""
    say(
        f"{'continue' if place.resumed else 'begin'} {place.path}, {done}{_count(planned, 'run')}"
        f"{' done' if place.resumed else ''}: {_count(len(spec.loads), 'load')}, {_engines(spec)},"
        f" {_count(spec.blocks, 'time')} {spec.seconds:g} s: about {duration(need.seconds)}"
        f" and {size(need.bytes)} of disk ({size(free)} free)"
    )
    if store is None:
        store = LatencyStore.create(place.path, spec_dict(spec), platform)
        if not options["simulated"]:
            _examine(machine.target, spec, store)
    point_latest(place.path.parent, place.path.name)
    return LatencyStore.open(place.path)


def _count(number: int, what: str) -> str:
    """``1 run``, ``12 runs``."""
    return f"{number} {what}{'' if number == 1 else 's'}"


def _examine(target: Target, spec: LatencySpec, store: LatencyStore) -> None:
    """Keeps what the machine is like: its readiness, its inventory, which hardening is on."""
    try:
        store.save_doctor(as_json(examine(target, rt_cpus=spec.cpus)))
    except TargetError as error:
        say(f"what the machine is like could not be recorded: {error}")


def _engines(spec: LatencySpec) -> str:
    names = spec.engines or ()
    return f"{' and '.join(names)} in turn" if len(names) > 1 else "".join(names)


def _measure(
    spec: LatencySpec, store: LatencyStore, machine: Machine, options: Mapping[str, Any]
) -> MatrixResult:
    with Watch(store.path.name) as watch:

        def on_event(event: Event) -> None:
            match event:
                case Progress(done=done, total=total, eta_s=eta):
                    watch.count(done, total, eta, unit="runs")
                case Lost(key=key, reason=reason):
                    watch.note(f"run {key.text} has no result: {reason}")
                case Doubted(key=key, reason=reason):
                    watch.note(f"run {key.text} is invalid: {reason}")

        retry_invalid = options["retry_invalid"]
        return run_matrix(spec, store, machine, on_event=on_event, retry_invalid=retry_invalid)


def _answer(
    store: LatencyStore, result: MatrixResult, options: Mapping[str, Any], again: str
) -> LatencySummary:
    say("summarise and draw")
    deadlines = read_spec(store.spec).deadlines
    report = write_latency(store, deadlines_ns=deadlines, figures=options["figures"])
    if options["as_json"]:
        print_json(answer_dict(store, report.summary))
        return report.summary
    print_document(latency_document(report.summary))
    if result.failed:
        key, reason = min((key.text, reason) for key, reason in result.failed.items())
        click.echo(
            f"{len(result.failed)} of {result.planned} runs have no result, for example {key}:"
            f" {reason}"
        )
        click.echo(f"measure them again: {again} --retry-failed")
    if report.summary.invalid_runs:
        click.echo(f"measure the invalid ones again: {again} --retry-invalid")
    click.echo(f"findings: {finding_counts(report.summary)}")
    click.echo(f"report: {report.page}")
    return report.summary


def _interrupted(store: LatencyStore | None, again: str) -> int:
    if store is None:
        say("interrupted before anything was begun")
        return _INTERRUPTED
    state = state_of(store.path)
    say(
        f"interrupted: {state.done} of {state.planned} runs are kept in {store.path};"
        f" continue with: {again}"
    )
    return _INTERRUPTED
