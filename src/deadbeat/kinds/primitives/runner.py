"""Carries out the runs a folder lacks."""

from __future__ import annotations

from collections.abc import Sequence

from attrs import define, evolve

from deadbeat.experiment.base import FolderExperiment
from deadbeat.kinds.primitives.cases import PrimitiveKey, part_of
from deadbeat.kinds.primitives.engine import PrimitiveEngine
from deadbeat.kinds.primitives.runs import PrimitiveRun
from deadbeat.kinds.primitives.spec import PrimitivesSpec
from deadbeat.model.finding import Finding, finding
from deadbeat.model.words import count_of
from deadbeat.pool import is_native

#: A run beside its own length: a process starts, warms up and writes its result.
_OVERHEAD_S, _JVM_OVERHEAD_S = 0.12, 2.6


def mean_seconds(spec: PrimitivesSpec, planned: Sequence[PrimitiveKey]) -> float:
    """Of a run."""
    jvms = sum(not is_native(key.case.runtime) for key in planned)
    more = _OVERHEAD_S + (_JVM_OVERHEAD_S - _OVERHEAD_S) * jvms / max(len(planned), 1)
    return spec.duration + more


def _few_samples(spec: PrimitivesSpec, run: PrimitiveRun) -> tuple[Finding, ...]:
    """Threads whose time was over before they had all; those that had none are told of already."""
    few = [each for each in run.threads if 0 < each.times.total < (spec.samples or 0)]
    if not few:
        return ()
    least = min(each.times.total for each in few)
    text = f"{run.key.text}: {count_of(len(few), 'thread')} of {len(run.threads)} had fewer than"
    text += f" {spec.samples:,} samples when the time was over, {least:,} at least"
    return (finding("few-samples", text),)


@define(eq=False, slots=False)
class PrimitivesExperiment(FolderExperiment[PrimitiveKey, PrimitiveRun]):
    """One process after the other, in the order of the plan."""

    _spec: PrimitivesSpec
    _engine: PrimitiveEngine

    def seconds(self, runs: int) -> float:
        return runs * mean_seconds(self._spec, self.planned)

    def one(self, key: PrimitiveKey) -> PrimitiveRun:
        part = part_of(self._spec, key.case, self._engine.topology())
        run = self._engine.run(part, key)
        return evolve(run, problems=(*run.problems, *_few_samples(part, run)))
