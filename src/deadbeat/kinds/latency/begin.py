"""Begins a latency matrix, or continues one: on which machine, with which engines and loads."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from functools import partial

import attrs

from deadbeat.executors.foreign import put_runtime
from deadbeat.executors.programs import toolchain_of
from deadbeat.experiment.folders import RunFolders
from deadbeat.host.environment import environment_of, name_of, platform_from_environment
from deadbeat.kinds.base import Begin, Begun
from deadbeat.kinds.latency.engines import ENGINES, SIMULATED, make_engine
from deadbeat.kinds.latency.imported import imported
from deadbeat.kinds.latency.loads import MadeUpLoads
from deadbeat.kinds.latency.runner import MatrixExperiment, MatrixMachine, try_engines
from deadbeat.kinds.latency.spec import (
    LatencySpec,
    estimate,
    keys,
    read_spec,
    resolve,
    spec_dict,
    specify,
)
from deadbeat.kinds.latency.stress import StressLoads, makers_of
from deadbeat.kinds.table import begun_store, opened
from deadbeat.model.errors import TargetError, UsageError
from deadbeat.model.examples import example_platform
from deadbeat.model.platform import LOADED_BY, Platform
from deadbeat.model.words import count_of
from deadbeat.settings.doctor import examine
from deadbeat.settings.doctor_summary import as_json
from deadbeat.settings.hardening import states_of
from deadbeat.settings.tune import with_tuning
from deadbeat.store.latency import LatencyStore
from deadbeat.store.place import MATRIX
from deadbeat.targets.base import Target, is_here
from deadbeat.targets.fake import FakeTarget

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
    if asked.given.get("imports") or asked.given.get("files"):
        return Begun(experiment=imported(asked))
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
    return Begun(experiment=experiment, beside=spec.beside)


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
