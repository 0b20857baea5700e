"""The order of a matrix's runs: randomised blocks, engines in turn.

Every repeat is a block that visits each load once, in an order of its own; within a visit the
engines follow one another beside the same load, and change their order from block to block (ABBA),
so that what drifts slowly falls on all alike.
"""

from __future__ import annotations

import hashlib

from attrs import frozen

from deadbeat.kinds.latency.engines import SIMULATED, TRACE_S
from deadbeat.kinds.latency.spec import LatencySpec
from deadbeat.model.latency import LatencyKey, LoadPoint

#: What one run costs beside its measuring time, and one visit beside its runs, s: reading the
#: circumstances; a load that starts, settles and ends.
_RUN_S, _VISIT_S = 0.4, 1.3
#: What making a run up costs, and one of its wake-ups on one CPU, s (on a slow machine).
_MADE_UP_RUN_S, _MADE_UP_S = 0.02, 0.4e-6
#: Beside the measuring time of a traced run: tracing begins and ends, the trace is copied and read.
_TRACE_S = 1.5
#: Of a stored run: a histogram of some hundred buckets twice, the worst, the circumstances.
_RUN_BYTES = 40_000


@frozen
class Visit:
    """One load in one block, and the runs beside it in order."""

    load: LoadPoint
    keys: tuple[LatencyKey, ...]


@frozen(kw_only=True)
class MatrixCost:
    """What a matrix takes."""

    runs: int
    seconds: float
    bytes: int


def visits(spec: LatencySpec) -> tuple[Visit, ...]:
    """All visits of ``spec`` (resolved) in order; none where its runs were imported."""
    if spec.imported:
        return ()
    return tuple(
        Visit(
            load, tuple(LatencyKey(load, engine, block) for engine in _engines(spec, load, block))
        )
        for block in range(spec.blocks)
        for load in sorted(spec.loads, key=lambda load: _digest(spec, block, load.text))
    )


def keys(spec: LatencySpec) -> tuple[LatencyKey, ...]:
    """All runs of ``spec`` (resolved) in order."""
    if spec.imported:
        return tuple(LatencyKey.parse(text) for text in spec.imported)
    return tuple(key for visit in visits(spec) for key in visit.keys)


def seed_of(spec: LatencySpec, key: LatencyKey) -> int:
    """Seed of what is made up in one run."""
    return int.from_bytes(_digest(spec, "run", key.text)[:6], "little")


def estimate(spec: LatencySpec, *, runs: int) -> MatrixCost:
    """What ``runs`` runs of ``spec`` take."""
    cpus = max(len(spec.cpus or ()), 1)
    # Histograms grow with the logarithm of what is measured.
    return MatrixCost(
        runs=runs,
        seconds=_made_up(spec, runs, cpus) if spec.engines == (SIMULATED,) else _real(spec, runs),
        bytes=runs * _RUN_BYTES * cpus,
    )


def _made_up(spec: LatencySpec, runs: int, cpus: int) -> float:
    """Nothing is waited for, but all is drawn."""
    wake_ups = spec.seconds * 1e9 / spec.interval * cpus
    return runs * (_MADE_UP_RUN_S + wake_ups * _MADE_UP_S)


def _real(spec: LatencySpec, runs: int) -> float:
    visited = -(-runs // max(len(spec.engines or ()), 1))
    return runs * (spec.seconds + _RUN_S) + visited * _VISIT_S + _traced(spec, runs)


def _traced(spec: LatencySpec, runs: int) -> float:
    """What the traced runs take, s."""
    if not spec.trace or "prober" not in (spec.engines or ()):
        return 0.0
    return runs / len(spec.engines or ()) * (min(spec.seconds, TRACE_S) + _TRACE_S)


def _engines(spec: LatencySpec, load: LoadPoint, block: int) -> tuple[str, ...]:
    first = sorted(spec.engines or (), key=lambda name: _digest(spec, load.text, name))
    return tuple(first if block % 2 == 0 else reversed(first))


def _digest(spec: LatencySpec, *parts: object) -> bytes:
    return hashlib.sha256("/".join(map(str, (spec.seed, *parts))).encode()).digest()
