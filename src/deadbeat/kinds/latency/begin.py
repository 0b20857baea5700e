"""Begins a latency matrix, or continues one: on which machine, with which engines and loads."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from itertools import count
from pathlib import Path

import attrs

from deadbeat.executors.foreign import put_runtime
from deadbeat.executors.toolchains import toolchain_of
from deadbeat.experiment.folders import RunFolders
from deadbeat.host.environment import environment_of, name_of, platform_from_environment
from deadbeat.kinds.base import Begin, Begun
from deadbeat.kinds.latency.engines import ENGINES, SIMULATED, make_engine
from deadbeat.kinds.latency.importers import Foreign, as_run, read_foreign
from deadbeat.kinds.latency.loads import MadeUpLoads
from deadbeat.kinds.latency.runner import MatrixExperiment, MatrixMachine, try_engines
from deadbeat.kinds.latency.spec import (
    LOADS_RULE,
    LatencySpec,
    estimate,
    keys,
    load_word,
    read_spec,
    resolve,
    spec_dict,
    specify,
)
from deadbeat.kinds.latency.stress import StressLoads, makers_of
from deadbeat.kinds.latency.words import load_order, load_words
from deadbeat.kinds.table import SoFar, begun_store, opened
from deadbeat.model.errors import TargetError, UsageError
from deadbeat.model.examples import example_platform
from deadbeat.model.latency import IDLE, LatencyRun, LoadPoint
from deadbeat.model.platform import LOADED_BY, Platform
from deadbeat.model.rules import RefusedError
from deadbeat.model.words import count_of
from deadbeat.settings.doctor import examine
from deadbeat.settings.doctor_summary import as_json
from deadbeat.settings.hardening import states_of
from deadbeat.settings.tune import with_tuning
from deadbeat.store.files import read_bytes
from deadbeat.store.latency import LatencyStore
from deadbeat.store.place import MATRIX, family, numbered
from deadbeat.targets.base import Target, is_here
from deadbeat.targets.fake import FakeTarget

_NOT_KNOWN = "unknown: read from a file"
#: What a person may say of files that do not.
_TELLING = ("name", "interval", "duration", "priority", "deadlines")


FOLDERS = RunFolders(
    kind=MATRIX,
    store=LatencyStore,
    read=read_spec,
    planned=lambda store: keys(read_spec(store.spec)),
    asked_for=lambda spec: spec.preset,
    plain=spec_dict,
)


def begin(asked: Begin) -> Begun:
    """Makes the folder of a matrix, or finds the one to continue."""
    if asked.given.get("imports"):
        return Begun(experiment=_imported(asked))
    target = opened(asked) or FakeTarget()
    machine, spec, platform = _fit(asked, target)

    def ready(left: int) -> dict[str, object]:
        if left:
            try_engines(spec, machine)
        return {}

    engines = " and ".join(spec.engines or ()) + " in turn" * (len(spec.engines or ()) > 1)
    store = begun_store(
        FOLDERS,
        asked,
        spec,
        platform,
        keys(spec),
        details=f"{count_of(len(spec.loads), 'load')}, {engines},"
        f" {count_of(spec.blocks, 'time')} {spec.seconds:g} s",
        seconds=lambda left: estimate(spec, runs=left).seconds,
        need=lambda left: estimate(spec, runs=left).bytes,
        differs=lambda store: loaded_otherwise(store.platform, platform),
        ready=ready,
        made=partial(_examine, asked, target, spec),
    )
    retry = asked.retry_invalid
    experiment = MatrixExperiment(spec, machine, store=store, retry_invalid=retry)
    return Begun(experiment=experiment, beside=spec.beside, so_far=so_far(store))


def so_far(store: LatencyStore) -> SoFar:
    """The latest maximum beside every load."""

    def values(run: LatencyRun) -> Iterator[tuple[LoadPoint, int]]:
        if run.valid:
            yield run.key.load, max(cpu.honest.max_ns or 0 for cpu in run.cpus)

    return SoFar(
        store=store,
        title="latest wake-up so far, µs",
        corner="load",
        values=values,
        columns={
            "runs": lambda tops: str(len(tops)),
            "max": lambda tops: f"{max(tops) / 1000:,.1f}",
            "last": lambda tops: f"{tops[-1] / 1000:,.1f}",
        },
        name=load_words,
        order=load_order,
    )


def _fit(asked: Begin, target: Target) -> tuple[MatrixMachine, LatencySpec, Platform]:
    """What is asked on a machine: with what it is measured, resolved, and where."""
    names = asked.names
    wanted = specify(asked.written, asked.typed, names=names)
    if asked.simulated:
        platform = example_platform()
        if wanted.engines and wanted.engines != (SIMULATED,):
            raise UsageError("--simulated and --engine exclude each other", "drop one")
        spec = resolve(wanted, engines={SIMULATED: ""}, cpus=platform.cpus, names=names)
        platform = attrs.evolve(platform, cpus=spec.cpus or ())
        engines = {SIMULATED: make_engine(SIMULATED)}
        loads = MadeUpLoads(spec.cpus or ())
        return MatrixMachine(target=target, engines=engines, loads=loads), spec, platform
    strange = [name for name in wanted.engines or () if name not in ENGINES]
    if strange:
        called = names.get("engines", "engines")
        raise UsageError(f"{called}: {strange[0]} measures nothing here", "its results: --import")
    platform, usable = _look(target)
    found = is_here(target) and asked.cross is None  # then by whoever needs it
    toolchain = None if found else toolchain_of(target, cross=asked.cross)
    engines = {name: make_engine(name, toolchain) for name in wanted.engines or ENGINES}
    why = {name: engine.unavailable(target) for name, engine in engines.items()}
    spec = resolve(wanted, engines=why, cpus=usable, details=platform.details, names=names)
    maker = makers_of(target, spec.loads_by)
    put = partial(put_runtime, toolchain=toolchain)
    stress = StressLoads(spec.cpus or (), maker, program=put)
    for name, reason in why.items():
        if wanted.engines is None and reason:
            asked.say(f"without {name}: {reason}")
    details = platform.details | ({LOADED_BY: maker} if any(p.percent for p in spec.loads) else {})
    platform = attrs.evolve(platform, cpus=spec.cpus or (), details=details)
    return MatrixMachine(target=target, engines=engines, loads=stress), spec, platform


def loaded_otherwise(there: Platform, here: Platform) -> Iterator[str]:
    """Loads of another program are other loads; older folders do not say."""
    begun, now = (str(each.details.get(LOADED_BY, "")).partition(" ")[0] for each in (there, here))
    if begun and now and begun != now:
        yield f"was begun with loads by {begun}"


def _look(target: Target) -> tuple[Platform, tuple[int, ...]]:
    """The platform, and the CPUs that may be used."""
    more = {"hardening": states_of(target)}
    environment = environment_of(target, now=datetime.now(UTC), more=more)
    online, allowed = environment["cpus_online"], environment["cpus_allowed"]
    if not isinstance(online, list):
        raise TargetError(f"the CPUs of {target.name} cannot be read: {online}")
    usable = [cpu for cpu in online if not isinstance(allowed, list) or cpu in allowed]
    platform = platform_from_environment(
        environment,
        cpus=usable,
        kind=target.kind,
        name=name_of(environment, target),
    )
    return with_tuning(platform, target), tuple(usable)


def _examine(asked: Begin, target: Target, spec: LatencySpec, store: LatencyStore) -> None:
    """Keeps what the machine is like: its readiness, its inventory, which hardening is on."""
    if asked.simulated:
        return
    try:
        store.save_doctor(as_json(examine(target, rt_cpus=spec.cpus)))
    except TargetError as error:
        asked.say(f"the machine's properties could not be recorded: {error}")


# -- results of other tools as a matrix of their own


def _imported(asked: Begin) -> MatrixExperiment:
    """The files that ``--import`` names, in a new folder."""
    layer, names = asked.typed, asked.names
    wanted = specify(layer, names=names)
    odd = sorted(names[key] for key in layer if key not in _TELLING)
    odd += ["--target"] * (asked.target is not None)
    odd += ["--retry"] * (asked.retry_failed or asked.retry_invalid)
    if odd:
        raise UsageError(f"{odd[0]} says nothing about files that are imported", "leave it out")
    told = Foreign(
        interval_ns=wanted.interval if "interval" in layer else None,
        seconds=wanted.duration if "duration" in layer else None,
        priority=wanted.priority if "priority" in layer else None,
    )
    runs, said = _runs(asked.given["imports"], told)
    platform = _platform(said)
    spec = _spec(runs, platform, layer)
    path = asked.runs / numbered(spec.name, max(family(asked.runs, spec.name), default=0) + 1)
    store = LatencyStore.create(path, spec_dict(spec), platform)
    for run in runs:
        store.keep(run)
    asked.say(f"{len(runs)} results are in {path}")
    nothing = MatrixMachine(target=FakeTarget(), engines={}, loads=MadeUpLoads(()))
    return MatrixExperiment(spec, nothing, store=store)  # which lacks no run


def _spec(
    runs: Sequence[LatencyRun], platform: Platform, layer: Mapping[str, object]
) -> LatencySpec:
    """What would have been asked to get these runs."""
    first = runs[0]
    return specify(
        {
            "name": layer.get("name", "latency-imported"),
            "loads": [load_word(load) for load in dict.fromkeys(run.key.load for run in runs)],
            "engines": list(dict.fromkeys(run.key.engine for run in runs)),
            "cpus": list(platform.cpus),
            "duration": min(max(first.seconds, 0.1), 30 * 86400.0),
            "interval": f"{first.interval_ns}ns",
            "priority": first.priority or 1,
            "policy": "other" if first.policy == "other" else "fifo",
            "deadlines": layer.get("deadlines", []),
            "imported": [run.key.text for run in runs],
        }
    )


def _runs(words: Sequence[str], told: Foreign) -> tuple[list[LatencyRun], list[Foreign]]:
    """A run per file; those of one load and engine are its repeats."""
    repeats: defaultdict[tuple[LoadPoint, str], count[int]] = defaultdict(count)
    runs, said = [], []
    hint = "--import takes files of cyclictest, jitterdebugger or OSADL"
    for word in words:
        load, file = _split(word)
        data = read_bytes(file, what="result", hint=hint, piped=True)
        foreign = read_foreign(data.decode("utf-8", errors="replace"), str(file))
        repeat = next(repeats[load, foreign.engine])
        runs.append(as_run(foreign, load, repeat, name=str(file), told=told))
        said.append(foreign)
    return runs, said


def _split(word: str) -> tuple[LoadPoint, Path]:
    """``cpu:50=FILE``; without a load it is taken for the idle machine."""
    text, equals, file = word.partition("=")
    if not equals or Path(word).is_file():
        file = word
        if file:
            return IDLE, Path(file)
    if not file:
        raise UsageError(
            f"--import{' ' * bool(word)}{word}: no file is named", "write it cpu:50=FILE"
        )
    try:
        (load,) = LOADS_RULE.parse(text)
    except RefusedError as error:
        problem = error.problems[0]
        raise UsageError(f"--import {word}: {problem.found}", problem.hint) from None
    except ValueError:
        raise UsageError(f"--import {word}: one load a file", "write it cpu:50=FILE") from None
    return load, Path(file)


def _platform(said: Sequence[Foreign]) -> Platform:
    """Where the files come from; those of several kernels or machines do not belong together."""

    def said_by_all(what: str) -> str:
        found = sorted({getattr(foreign, what) for foreign in said} - {""})
        if len(found) > 1 and what != "cmdline":
            raise UsageError(
                f"the files are of several {what}s: {', '.join(found)}",
                "import those of each with a --name of their own, then deadbeat compare",
            )
        return str(found[0]) if found else _NOT_KNOWN

    host = said_by_all("host")
    return Platform(
        name=host,
        kind="hardware",
        machine=_NOT_KNOWN,
        soc=_NOT_KNOWN,
        cpus=tuple(sorted({cpu.cpu for foreign in said for cpu in foreign.cpus})),
        kernel=said_by_all("kernel"),
        preemption="unknown",
        governor="unknown",
        toolchain="",
        flags="",
        fingerprint=f"imported:{host}",
        details={"cmdline": said_by_all("cmdline")},
    )
