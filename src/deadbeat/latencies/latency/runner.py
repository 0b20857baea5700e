"""How the runs of a latency matrix are measured.

This process sleeps while a run is in progress; what it does not itself need it reads between runs,
and once a minute of a long one.
"""

from __future__ import annotations

import threading
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from typing import Any

import attrs
from attrs import Factory, define, field, frozen

from deadbeat.base.experiment.base import FolderExperiment, Lost, Outcome, Watcher
from deadbeat.base.experiment.folders import RunFolders
from deadbeat.base.model.errors import DeadbeatError, TargetError, UnreachableError
from deadbeat.base.store.place import MATRIX
from deadbeat.latencies.latency.circumstances import circumstances, judge
from deadbeat.latencies.latency.engines import Engine, Measured, Request
from deadbeat.latencies.latency.loads import MadeUpLoads
from deadbeat.latencies.latency.model import CpuLatency, LatencyKey, LatencyRun, LoadReport
from deadbeat.latencies.latency.spec import (
    LatencySpec,
    estimate,
    keys,
    read_spec,
    seed_of,
    spec_dict,
    visits,
)
from deadbeat.latencies.latency.store import LatencyStore
from deadbeat.latencies.latency.stress import RunningStress, StressLoads
from deadbeat.machine.host.snapshot import Snapshot, take
from deadbeat.machine.targets.base import Target, is_here, require_connected

#: How often a long run is looked at, s.
_LOOK_S = 60.0
#: A load outlives the runs beside it by so much at most, s.
_LOAD_MARGIN_S = 60.0
#: How long a trial of an engine measures, s.
_TRIAL_S = 1.0
FOLDERS = RunFolders(
    kind=MATRIX,
    store=LatencyStore,
    read=read_spec,
    planned=lambda store: keys(read_spec(store.spec)),
    asked_for=lambda spec: spec.preset,
    plain=spec_dict,
)


@frozen(kw_only=True)
class MatrixMachine:
    """What a matrix is measured with: a target, engines by name, and loads."""

    target: Target
    engines: Mapping[str, Engine]
    loads: StressLoads | MadeUpLoads


def request_of(spec: LatencySpec, key: LatencyKey) -> Request:
    """How the run ``key`` of ``spec`` (resolved) is measured."""
    return Request(
        cpus=spec.cpus or (),
        seconds=spec.seconds,
        interval_ns=spec.interval,
        priority=spec.real_priority,
        policy=spec.policy,
        dma_latency=spec.dma_latency,
        trace=spec.trace,
        break_ns=spec.keep_above,
        load=key.load,
        seed=seed_of(spec, key),
    )


def try_engines(spec: LatencySpec, machine: MatrixMachine) -> None:
    """Measures a moment with every engine: what is refused is refused before a matrix is begun."""
    for name in spec.engines or ():
        request = request_of(spec, LatencyKey(spec.loads[0], name, 0))
        short = min(_TRIAL_S, spec.seconds)
        machine.engines[name].measure(machine.target, attrs.evolve(request, seconds=short))


@define(eq=False, slots=False)
class MatrixExperiment(FolderExperiment[LatencyKey, LatencyRun]):
    """What ``store`` lacks of a matrix of ``spec`` (resolved)."""

    _spec: LatencySpec
    _machine: MatrixMachine
    planned: Sequence[LatencyKey] = field(
        init=False, default=Factory(lambda self: keys(self._spec), takes_self=True)
    )
    _versions: dict[str, str] = field(factory=dict, init=False)

    def seconds(self, runs: int) -> float:
        return estimate(self._spec, runs=runs).seconds

    def measure(self, tell: Watcher) -> Generator[LatencyRun | Lost[LatencyKey]]:
        """All runs beside one load after the other; a load that has died is started again for the
        rest."""
        wanted = set(self.lacking)
        for visit in visits(self._spec):
            left = [key for key in visit if key in wanted]
            while left:
                folder = self._machine.target.folder
                try:
                    with ExitStack() as held:
                        bound = len(left) * (self._spec.seconds + _LOAD_MARGIN_S)
                        load = self._machine.loads.start(
                            self._machine.target, left[0].load, seconds=bound
                        )
                        held.callback(load.stop)
                        died = False
                        while left and not died:
                            result, died = self._run(left[0], load)
                            left.pop(0)
                            yield result
                except UnreachableError:  # no other load has a better chance
                    raise
                except TargetError as error:
                    require_connected(self._machine.target, folder)
                    yield from (Lost(key, error) for key in left)
                    left = []

    def outcome(self, found: Outcome[LatencyKey]) -> Outcome[LatencyKey]:
        done, failed = len(self._folder.committed()), self._folder.failed()
        return attrs.evolve(found, done=done, failed=failed)

    def _run(
        self, key: LatencyKey, load: RunningStress | MadeUpLoads
    ) -> tuple[LatencyRun | Lost[LatencyKey], bool]:
        """Measures one run; and whether its load died."""
        engine, target = self._machine.engines[key.engine], self._machine.target
        request, folder = request_of(self._spec, key), target.folder
        started = datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
        before = take(target, first=True)
        load.begin()
        with looking(target, seconds=request.seconds) as between:
            try:
                measured: Measured | DeadbeatError = engine.measure(target, request)
            except UnreachableError:
                raise
            except DeadbeatError as error:
                measured = error
        if isinstance(measured, DeadbeatError):
            require_connected(target, folder)
        did = load.end()
        if isinstance(measured, DeadbeatError):
            return Lost(key, measured), bool(did.died)
        seen = circumstances(before, take(target), between=between, cpus=request.cpus)
        if isinstance(load, MadeUpLoads):
            seen = attrs.evolve(seen, load_share=load.point.percent / 100)
        if request.trace and not did.died:
            measured = engine.trace(target, request, measured)
        run = judged_run(
            key,
            request,
            measured,
            did,
            started=started,
            circumstances=seen,
            kind="simulated" if engine.kind == "simulated" else target.kind,
            engine_version=self._version(engine),
        )
        return run, bool(did.died)

    def _version(self, engine: Engine) -> str:
        if engine.name not in self._versions:
            self._versions[engine.name] = engine.version(self._machine.target)
        return self._versions[engine.name]


def judged_run(
    key: LatencyKey, request: Request, measured: Measured, load: LoadReport, **circumstances: Any
) -> LatencyRun:
    """What was measured as it was asked for, beside ``load``, with all its problems.

    Args:
        circumstances: The other attributes of the run.
    """
    run = LatencyRun(
        key=key,
        seconds=request.seconds,
        interval_ns=request.interval_ns,
        priority=request.priority,
        policy=request.policy,
        cpus=measured.cpus,
        split=measured.split,
        load=without_engine(load, measured.cpus, seconds=request.seconds),
        **circumstances,
    )
    return attrs.evolve(run, problems=(*measured.problems, *judge(run, request)))


def without_engine(load: LoadReport, cpus: Sequence[CpuLatency], *, seconds: float) -> LoadReport:
    """``load`` with what it achieved less the time of the measuring threads, where they tell it."""
    own = {str(cpu.cpu): cpu.cpu_ns / (seconds * 1e9) for cpu in cpus if cpu.cpu_ns is not None}
    achieved = {
        cpu: round(max(share - own.get(cpu, 0.0), 0.0), 4) for cpu, share in load.achieved.items()
    }
    return attrs.evolve(load, achieved=achieved)


@contextmanager
def looking(
    target: Target, *, seconds: float, every_s: float = _LOOK_S
) -> Iterator[list[Snapshot]]:
    """Looks at the machine once a minute while the block runs; a short one is left alone, and
    another machine, which would have to answer over its network."""
    seen: list[Snapshot] = []
    if seconds <= every_s or not is_here(target):
        yield seen
        return
    stop = threading.Event()

    def look() -> None:
        while not stop.wait(every_s):
            try:
                seen.append(take(target))
            except TargetError:
                return  # what follows the run will say it

    thread = threading.Thread(target=look, daemon=True)
    thread.start()
    try:
        yield seen
    finally:
        stop.set()
        thread.join()
