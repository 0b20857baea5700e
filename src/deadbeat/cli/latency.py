"""``deadbeat latency``: how late a real-time task wakes up, beside every load."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from contextlib import closing
from datetime import UTC, datetime
from typing import Any

import attrs
import click

from deadbeat.cli._latency_import import import_files, status_of
from deadbeat.cli._options import (
    choice,
    experiment_options,
    file_option,
    simulated_option,
    to_repeat,
    typed,
    value_options,
)
from deadbeat.cli._output import duration, print_shown, say, size
from deadbeat.cli._run import carry_out, tell_failed, written
from deadbeat.experiment.base import Outcome
from deadbeat.host.environment import environment_of, platform_from_environment
from deadbeat.kinds.latency.document import latency_document
from deadbeat.kinds.latency.engines import ENGINES, SIMULATED, make_engine
from deadbeat.kinds.latency.kind import choose, write
from deadbeat.kinds.latency.loads import MadeUpLoads
from deadbeat.kinds.latency.plan import estimate, keys
from deadbeat.kinds.latency.runner import MatrixExperiment, MatrixMachine, try_engines
from deadbeat.kinds.latency.spec import LatencySpec, resolve, spec_dict, specify
from deadbeat.kinds.latency.stress import StressLoads
from deadbeat.model.errors import DeadbeatError, TargetError, UsageError
from deadbeat.model.examples import example_platform
from deadbeat.model.latency import LatencyKey
from deadbeat.model.latency_summary import LatencySummary
from deadbeat.model.platform import Platform
from deadbeat.model.specification import options_of
from deadbeat.report.terminal import print_document
from deadbeat.settings.doctor import examine
from deadbeat.settings.doctor_words import as_json
from deadbeat.settings.hardening import states_of
from deadbeat.settings.standing import with_tuning
from deadbeat.store.campaign import free_bytes
from deadbeat.store.latency import LatencyStore
from deadbeat.store.latest import point_latest
from deadbeat.targets.base import Target
from deadbeat.targets.fake import FakeTarget
from deadbeat.targets.local import LocalTarget

_VALUES = options_of(LatencySpec)


@click.command()
@click.option("--quick", is_flag=True, help="Under one minute: preset quick.")
@file_option
@value_options(_VALUES)
@click.option("--trace", is_flag=True, help="Also split the path of wake-ups by kernel events.")
@click.option(
    "--import",
    "imports",
    multiple=True,
    metavar="[LOAD=]FILE",
    help="Measure nothing: read results of cyclictest (JSON, text), jitterdebugger or OSADL.",
)
@click.option("--retry-failed", is_flag=True, help="Measure again what failed in the last matrix.")
@click.option(
    "--retry-invalid",
    is_flag=True,
    help="Measure again what is invalid in the last matrix.",
)
@click.option("--fail-on", metavar="invalid", help="Exit status 1 when a run is invalid.")
@simulated_option
@experiment_options(budget=True)
@click.pass_context
def command(ctx: click.Context, /, **options: Any) -> int:
    """Measure wake-up latency: how late a periodic real-time task gets its CPU.

    A thread on every CPU sleeps until a moment and looks how much later it is awake; that is
    repeated beside every background load. Two engines take turns: deadbeat's own prober, and
    cyclictest where it is installed (Debian: rt-tests). Loads are stress-ng's.

    Results live in RUNS/NAME. The same command continues what was interrupted, and begins anew
    (NAME-2, ...) once all is finished. A run beside which something else ran, or from which
    the host took time, counts, and says so. One that did not measure what it claims (another
    priority, a load that never ran) is kept, called invalid with the reason, and counted nowhere;
    --retry-invalid measures such runs again.
    """
    layer, names = typed(_VALUES, options)
    if options["quick"]:
        layer["preset"], names["preset"] = "quick", "--quick"
    if options["trace"]:
        layer["trace"], names["trace"] = True, "--trace"
    if options["imports"]:
        return import_files(options, layer=layer, names=names)

    words = ctx.find_root().obj or ["latency"]
    return _run(options, layer, names, words)


def _run(
    options: Mapping[str, Any],
    layer: Mapping[str, Any],
    names: Mapping[str, str],
    words: Sequence[str],
) -> int:
    strict = bool(choice("--fail-on", options["fail_on"], ("invalid",), ""))
    file, called = written(options["campaign_file"], "latency", "latency matrix")
    asked = specify(file, layer, names={**called, **names})
    with closing(_target(simulated=options["simulated"])) as target:

        def begin() -> MatrixExperiment:
            machine, spec, platform = _fit(asked, target, options, names=names, words=words)
            store = _begin(spec, machine, platform, options)
            retry = options["retry_invalid"]
            return MatrixExperiment(spec, store, machine, retry_invalid=retry)

        def answer(experiment: MatrixExperiment, outcome: Outcome[LatencyKey]) -> int:
            store = LatencyStore.open(experiment.store.path)
            summary = _answer(store, outcome, options, to_repeat(words))
            return status_of(summary, strict=strict)

        return carry_out(begin, answer, options, words)


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
) -> tuple[MatrixMachine, LatencySpec, Platform]:
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
        return MatrixMachine(target=target, engines=engines, loads=loads), spec, platform
    strange = [name for name in asked.engines or () if name not in ENGINES]
    if strange:
        called = names.get("engines", "engines")
        raise UsageError(f"{called}: {strange[0]} measures nothing here", "its results: --import")
    platform, usable = _look(target)
    wanted = asked.engines or ENGINES
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
    return MatrixMachine(target=target, engines=engines, loads=stress), spec, platform


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
    spec: LatencySpec, machine: MatrixMachine, platform: Platform, options: Mapping[str, Any]
) -> LatencyStore:
    """Says what will happen, and makes the folder unless it is there."""
    retry_invalid = options["retry_invalid"]
    retry = options["retry_failed"] or retry_invalid
    place = choose(options["runs"], spec, platform, fresh=options["fresh"], retry=retry)
    if options["simulated"]:
        say("SIMULATED: a made-up machine; nothing here says anything about this one")
    store = LatencyStore.open(place.path) if place.resumed else None
    runs = keys(spec)
    planned = len(runs)
    left = len(store.lacking(runs, retry_invalid=retry_invalid)) if store else planned
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


def _answer(
    store: LatencyStore, result: Outcome[LatencyKey], options: Mapping[str, Any], again: str
) -> LatencySummary:
    say("summarise and draw")
    report, shown = write(store, figures=options["figures"])
    if not options["as_json"]:
        print_document(latency_document(report.summary))
        tell_failed(result, f"{again} --retry-failed")
        if report.summary.invalid_runs:
            click.echo(f"measure the invalid ones again: {again} --retry-invalid")
    print_shown(shown, as_json=options["as_json"])
    return report.summary
