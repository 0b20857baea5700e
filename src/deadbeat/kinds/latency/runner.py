"""Measures what a matrix still lacks. What is stored is never measured again.

This process sleeps while a run is in progress; what it does not itself need it reads between runs,
and once a minute of a long one.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

import attrs
from attrs import frozen

from deadbeat.kinds.latency.circumstances import Snapshot, compare, take
from deadbeat.kinds.latency.engine import Engine, Measured, Request
from deadbeat.kinds.latency.judge import Evidence, judge
from deadbeat.kinds.latency.load import Loads, RunningLoad
from deadbeat.kinds.latency.plan import Visit, estimate, keys, seed_of, visits
from deadbeat.kinds.latency.spec import LatencySpec
from deadbeat.model.errors import DeadbeatError, TargetError
from deadbeat.model.latency import CpuLatency, LatencyKey, LatencyRun, LoadPoint
from deadbeat.store.latency import LatencyStore
from deadbeat.targets.base import Target

#: How often a long run is looked at, s.
_LOOK_S = 60.0
#: A load outlives the runs beside it by so much at most, s.
_LOAD_MARGIN_S = 60.0
#: How long a trial of an engine measures, s.
_TRIAL_S = 1.0


@frozen(kw_only=True)
class Progress:
    """``done`` of ``total`` runs are stored or failed."""

    done: int
    total: int
    eta_s: float


@frozen(kw_only=True)
class Lost:
    """A run has no result; the others go on."""

    key: LatencyKey
    reason: str


@frozen(kw_only=True)
class Doubted:
    """A run was stored and is invalid."""

    key: LatencyKey
    reason: str


Event = Progress | Lost | Doubted
Watcher = Callable[[Event], None]


@frozen(kw_only=True)
class MatrixResult:
    """What a call of `run_matrix` left.

    Attributes:
        planned, done: Runs in all, and stored.
        invalid: Those stored in this call that are invalid.
        failed: Runs without a result -> why.
    """

    planned: int
    done: int
    invalid: int
    failed: Mapping[LatencyKey, str]


@frozen(kw_only=True)
class Machine:
    """What a matrix is measured with: a target, engines by name, and loads."""

    target: Target
    engines: Mapping[str, Engine]
    loads: Loads


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


def try_engines(spec: LatencySpec, machine: Machine) -> None:
    """Measures a moment with every engine: what is refused is refused before a matrix is begun.

    Raises:
        TargetError: Permission, a program that died, a machine that is in use.
    """
    for name in spec.engines or ():
        request = request_of(spec, LatencyKey(spec.loads[0], name, 0))
        short = min(_TRIAL_S, spec.seconds)
        machine.engines[name].measure(machine.target, attrs.evolve(request, seconds=short))


def lacking(
    spec: LatencySpec,
    store: LatencyStore,
    *,
    retry_failed: bool = True,
    retry_invalid: bool = False,
) -> list[Visit]:
    """Visits with only those runs that are to be measured; the others are left out."""
    known = store.settled(retry_invalid=retry_invalid)
    known |= set() if retry_failed else set(store.failed())
    left = [
        Visit(visit.load, tuple(key for key in visit.keys if key not in known))
        for visit in visits(spec)
    ]
    return [visit for visit in left if visit.keys]


def run_matrix(
    spec: LatencySpec,
    store: LatencyStore,
    machine: Machine,
    *,
    on_event: Watcher,
    retry_failed: bool = True,
    retry_invalid: bool = False,
    clock: Callable[[], float] = time.monotonic,
) -> MatrixResult:
    """Measures and stores every run of ``spec`` (resolved) that ``store`` lacks.

    Args:
        retry_failed: Whether runs that failed before are measured again.
        retry_invalid: Whether stored runs that are invalid are measured again, and replaced.

    Raises:
        DataError: A run that is to be replaced is damaged.
        DeadbeatError: Nothing more can be stored; what is stored stays.
        KeyboardInterrupt: Passed on, after everything that was started is gone.
    """
    session = _Session(spec, store, machine, on_event, clock)
    with store.lock():
        todo = lacking(spec, store, retry_failed=retry_failed, retry_invalid=retry_invalid)
        session.begin(sum(len(visit.keys) for visit in todo))
        for visit in todo:
            session.visit(visit)
    return MatrixResult(
        planned=session.total,
        done=len(store.committed()),
        invalid=session.invalid,
        failed=store.failed(),
    )


class _Session:
    """One call of `run_matrix`."""

    def __init__(
        self,
        spec: LatencySpec,
        store: LatencyStore,
        machine: Machine,
        on_event: Watcher,
        clock: Callable[[], float],
    ) -> None:
        self.total = len(keys(spec))
        self.invalid = 0
        self._spec = spec
        self._store = store
        self._machine = machine
        self._tell = on_event
        self._clock = clock
        self._began = clock()
        self._todo = self._left = 0
        self._versions: dict[str, str] = {}

    def begin(self, todo: int) -> None:
        self._todo = self._left = todo
        ahead = estimate(self._spec, runs=todo).seconds
        self._tell(Progress(done=self.total - todo, total=self.total, eta_s=ahead))

    def visit(self, visit: Visit) -> None:
        """All runs beside one load; after a load has died it is started anew for the rest."""
        left = list(visit.keys)
        while left:
            try:
                with self._load(visit.load, runs=len(left)) as load:
                    while left:
                        key = left[0]
                        died = self._run(key, load)
                        left.pop(0)
                        if died:
                            break
            except TargetError as error:
                for key in left:
                    self._lost(key, error)
                left = []

    @contextmanager
    def _load(self, point: LoadPoint, *, runs: int) -> Iterator[RunningLoad]:
        bound = runs * (self._spec.seconds + _LOAD_MARGIN_S)
        load = self._machine.loads.start(self._machine.target, point, seconds=bound)
        try:
            yield load
        finally:
            load.stop()

    def _run(self, key: LatencyKey, load: RunningLoad) -> bool:
        """Measures and stores one run, or why it has no result; returns whether its load died."""
        engine, target = self._machine.engines[key.engine], self._machine.target
        request = request_of(self._spec, key)
        started = datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
        before = take(target, first=True)
        load.begin()
        measured: Measured | None = None
        failure: DeadbeatError | None = None
        with looking(target, seconds=request.seconds) as between:
            try:
                measured = engine.measure(target, request)
            except DeadbeatError as error:
                failure = error
        load_said = load.end()
        died = bool(load_said.get("died"))
        if measured is None:
            assert failure is not None
            self._lost(key, failure)
            return died
        load_said = without_engine(load_said, measured.cpus, seconds=request.seconds)
        seen = compare(before, take(target), between=between, cpus=request.cpus)
        if request.trace and not died:
            measured = engine.trace(target, request, measured)
        evidence = Evidence(request=request, cpus=measured.cpus, load=load_said, circumstances=seen)
        run = LatencyRun(
            key=key,
            started=started,
            seconds=request.seconds,
            interval_ns=request.interval_ns,
            priority=request.priority,
            policy=request.policy,
            cpus=measured.cpus,
            load=load_said,
            circumstances=seen,
            problems=(*measured.problems, *judge(evidence)),
            split=measured.split,
            kind="simulated" if engine.kind == "simulated" else target.kind,
            engine_version=self._version(key.engine),
        )
        self._store.keep(run)
        if not run.valid:
            self.invalid += 1
            worst = next(p for p in run.problems if p.severity == "invalid")
            self._tell(Doubted(key=key, reason=worst.message))
        self._advance()
        return died

    def _version(self, name: str) -> str:
        if name not in self._versions:
            engine = self._machine.engines[name]
            self._versions[name] = engine.version(self._machine.target)
        return self._versions[name]

    def _lost(self, key: LatencyKey, error: DeadbeatError) -> None:
        self._store.fail(key, str(error))
        self._tell(Lost(key=key, reason=str(error)))
        self._advance()

    def _advance(self) -> None:
        self._left -= 1
        pace = (self._clock() - self._began) / (self._todo - self._left)
        done = self.total - self._left
        self._tell(Progress(done=done, total=self.total, eta_s=pace * self._left))


def without_engine(
    load: Mapping[str, Any], cpus: Sequence[CpuLatency], *, seconds: float
) -> dict[str, Any]:
    """``load`` with what it achieved less the time of the measuring threads, where they tell it."""
    own = {str(cpu.cpu): cpu.cpu_ns / (seconds * 1e9) for cpu in cpus if cpu.cpu_ns is not None}
    achieved = {
        cpu: round(max(share - own.get(cpu, 0.0), 0.0), 4)
        for cpu, share in (load.get("achieved") or {}).items()
    }
    return {**load, "achieved": achieved}


@contextmanager
def looking(
    target: Target, *, seconds: float, every_s: float = _LOOK_S
) -> Iterator[list[Snapshot]]:
    """Looks at the machine once a minute while the block runs; a short one is left alone."""
    seen: list[Snapshot] = []
    if seconds <= every_s:
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
