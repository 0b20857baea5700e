"""Primitives in runtimes that are programs of their own: one guarded process a run."""

from __future__ import annotations

import json
from datetime import UTC, datetime

from attrs import evolve

from deadbeat.executors.programs import failure_of, guarded, put_runtime
from deadbeat.kinds.primitives import jvm
from deadbeat.kinds.primitives.cases import PrimitiveKey
from deadbeat.kinds.primitives.engine import HardwarePrimitives, options_of, parsed, wanted_of
from deadbeat.kinds.primitives.runs import PrimitiveRun
from deadbeat.kinds.primitives.runtimes import EXTERNAL, External, external_name, known_to_external
from deadbeat.kinds.primitives.spec import PrimitivesSpec
from deadbeat.model.errors import RunError, TargetError, UsageError
from deadbeat.pool import NATIVE, is_native
from deadbeat.targets.base import Completed, Target, is_here

#: Beyond a run: a JVM starts, and warms up for 4 s at most.
_PATIENCE_S = 30.0
#: Of the format that external commands speak (docs/reference/primitives-format.md).
_VERSION, _PROBE_S = 1, 60.0


class ForeignPrimitives(HardwarePrimitives):
    """Runs JVMs and external commands as well."""

    def probed(self, spec: PrimitivesSpec) -> PrimitivesSpec:
        named = [f"{EXTERNAL}:{each.name}" for each in spec.external]
        wanted = tuple(dict.fromkeys([*spec.runtimes, *named]))
        others = [word for word in wanted if word != NATIVE]
        if others and not is_here(self._target):
            raise UsageError(f"{others[0]} runs on this machine only", "leave --target away")
        for name in filter(None, map(external_name, wanted)):
            _named(spec, name)
        return evolve(
            spec,
            runtimes=tuple(dict.fromkeys(self._in_full(word, spec) for word in wanted)),
            external=tuple(_probed(each, self._target) for each in spec.external),
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
            argv, fifo = _named(spec, name).argv, 0
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


def _named(spec: PrimitivesSpec, name: str) -> External:
    """The one of that name.

    Raises:
        UsageError: There is none.
    """
    for each in spec.external:
        if each.name == name:
            return each
    raise UsageError(f"nobody says what {EXTERNAL}:{name} is", f"give --external {name}=COMMAND")


def _probed(external: External, target: Target) -> External:
    """With what it does, as it lists itself.

    Raises:
        UsageError: It does not start, or its list is not understood.
    """
    who = f"{EXTERNAL}:{external.name}"
    done = target.run((*external.argv, "--list"), timeout=_PROBE_S)
    if done.returncode != 0:
        lines = (done.stderr or done.stdout).strip().splitlines()
        words = lines[-1] if lines else "it said nothing"
        hint = f"try it: {external.command} --list"
        raise UsageError(f"{who} ended with status {done.returncode}: {words[:200]}", hint)
    try:
        plain = json.loads(done.stdout)
        if plain["version"] != _VERSION:
            raise ValueError(f"version {plain['version']}, not {_VERSION}")
        return evolve(external, does=known_to_external(plain["primitives"]))
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        hint = "see docs/reference/primitives-format.md"
        raise UsageError(f"{who}: what it lists is not understood: {error}", hint) from error
