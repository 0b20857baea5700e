"""Primitives in runtimes that are programs of their own: one guarded process a run."""

from __future__ import annotations

from datetime import UTC, datetime

from attrs import evolve

from deadbeat.executors.foreign import failure_of, guarded, put_runtime
from deadbeat.kinds.primitives import external, jvm
from deadbeat.kinds.primitives.cases import PrimitiveKey
from deadbeat.kinds.primitives.engine import (
    HardwarePrimitives,
    options_of,
    parsed,
    wanted_of,
)
from deadbeat.kinds.primitives.results import PrimitiveRun
from deadbeat.kinds.primitives.runtimes import EXTERNAL, external_name
from deadbeat.kinds.primitives.spec import PrimitivesSpec
from deadbeat.model.errors import RunError, TargetError, UsageError
from deadbeat.pool import NATIVE, is_native
from deadbeat.targets.base import Completed, is_here

#: Beyond a run: a JVM starts, and warms up for 4 s at most.
_PATIENCE_S = 30.0


class ForeignPrimitives(HardwarePrimitives):
    """Runs JVMs and external commands as well."""

    def probed(self, spec: PrimitivesSpec) -> PrimitivesSpec:
        named = [f"{EXTERNAL}:{each.name}" for each in spec.external]
        wanted = tuple(dict.fromkeys([*spec.runtimes, *named]))
        others = [word for word in wanted if word != NATIVE]
        if others and not is_here(self._target):
            raise UsageError(f"{others[0]} runs on this machine only", "leave --target away")
        for name in filter(None, map(external_name, wanted)):
            external.of(spec, name)
        return evolve(
            spec,
            runtimes=tuple(dict.fromkeys(self._in_full(word, spec) for word in wanted)),
            external=tuple(external.probed(each, self._target) for each in spec.external),
        )

    def _in_full(self, runtime: str, spec: PrimitivesSpec) -> str:
        if is_native(runtime) or external_name(runtime):
            return runtime
        full = jvm.in_full(runtime)
        argv, fifo = jvm.probe(full, spec), jvm.priority_of(full, spec)
        said, completed = self._guarded(argv, fifo, bound_s=_PATIENCE_S, lock=False)
        jvm.understood(full, spec, said, completed)
        return full

    def run(self, spec: PrimitivesSpec, key: PrimitiveKey) -> PrimitiveRun:
        runtime = key.case.runtime
        if is_native(runtime):
            return super().run(spec, key)
        started = datetime.now(UTC).isoformat()
        out, topology = f"{self._target.folder}/primitive-foreign", self.topology()
        wanted = wanted_of(spec, key.case, topology)
        options = options_of(spec, key, topology) | {"--policy": spec.policy, "--out": out}
        name = external_name(runtime)
        if name:
            argv, fifo = external.of(spec, name).argv, 0
        else:
            argv = jvm.command(key.case, len(wanted), self._target.folder)
            options |= jvm.options(runtime, spec)
            fifo = jvm.priority_of(runtime, spec)
        argv += tuple(word for pair in options.items() for word in pair)
        self._target.run(("rm", "-f", out))  # what an earlier run wrote is not this one's
        said, completed = self._guarded(argv, fifo, bound_s=spec.duration + _PATIENCE_S)
        if said.startswith("error "):
            raise _refused(said.removeprefix("error primitive "), key)
        if failure := failure_of(completed, argv[0]):
            raise failure
        return parsed(self._target.read_text(out) or "", key, started, wanted)

    def _guarded(
        self, argv: tuple[str, ...], fifo: int, *, bound_s: float, lock: bool = True
    ) -> tuple[str, Completed]:
        """Its first line, and how it ended."""
        runtime, wait_s = put_runtime(self._target), self._lock_wait
        words = guarded(runtime, argv, bound_s=bound_s, lock=lock, lock_wait_s=wait_s, fifo=fifo)
        said = ""
        with self._target.start(words) as process:
            while (line := process.read_line(bound_s + wait_s + _PATIENCE_S)) is not None:
                said = said or line
            completed = process.close()
        return said, completed


def _refused(why: str, key: PrimitiveKey) -> TargetError | RunError:
    if "SCHED_" in why:
        hint = "give CAP_SYS_NICE, or measure without it: --policy other marks every result"
        return TargetError(why, hint)
    return RunError(f"{key.case.runtime} gave up: {why}")
