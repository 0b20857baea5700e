"""Primitives in runtimes that are programs of their own: one guarded process a run."""

from __future__ import annotations

import json
from datetime import UTC, datetime

from attrs import evolve

from deadbeat.base.model.errors import RunError, TargetError, UsageError
from deadbeat.build.jvm import Jdk, agent_jar, jdks
from deadbeat.build.pool import NATIVE, is_native
from deadbeat.build.programs import failure_of, guarded, put_runtime
from deadbeat.latencies.primitives.cases import PrimitiveCase, PrimitiveKey, held_bytes
from deadbeat.latencies.primitives.engine import HardwarePrimitives, options_of, parsed, wanted_of
from deadbeat.latencies.primitives.runs import PrimitiveRun
from deadbeat.latencies.primitives.runtimes import (
    COLLECTORS,
    EXTERNAL,
    HEAP_TIMES,
    WHOLE,
    External,
    external_name,
    jvm_words,
    known_to_external,
)
from deadbeat.latencies.primitives.spec import PrimitivesSpec
from deadbeat.machine.host.kernel import counter_lacks
from deadbeat.machine.targets.base import Completed, is_here

_COLLECTOR = "G1"
#: Size of a heap for memory; of every other.
_HEAP_LEAST, _HEAP_SMALL = 256 * 2**20, 64 * 2**20
#: Two histograms, and room.
_THREAD_BYTES = 2 * 2**20
#: A whole JVM that is real-time has no later threads: one that a timed thread started would
#: have its priority.
_STEADY_THREADS = ("-XX:-UseDynamicNumberOfCompilerThreads", "-XX:-UseDynamicNumberOfGCThreads")


def jdk_of(version: int) -> Jdk:
    """The newest JDK of a version; 0: of all. Raises UsageError: there is none."""
    known = jdks()
    found = [jdk for jdk in known if version in (0, jdk.feature)]
    if not found:
        versions = ", ".join(sorted({str(jdk.feature) for jdk in known})) or "none"
        asked = f"Java {version}" if version else "a JVM from Java 17 on"
        raise UsageError(f"there is no {asked} here", f"found: {versions}; or set JAVA_HOME")
    return found[0]


def priority_of(runtime: str, spec: PrimitivesSpec) -> int:
    """Priority of its own threads under FIFO, below the timed ones; 0: they are ordinary."""
    whole = jvm_words(runtime).scheduling == WHOLE and spec.policy != "other"
    return spec.priority - 1 if whole else 0


def jvm_options(runtime: str, spec: PrimitivesSpec) -> dict[str, str]:
    return {
        "--vm-priority": str(priority_of(runtime, spec)),
        "--lock-memory": str(int(spec.policy != "other")),
    }


def _started(runtime: str, *more: str) -> tuple[str, ...]:
    """Experimental collectors are unlocked: which are is for each version to say."""
    jvm = jvm_words(runtime)
    jdk = jdk_of(jvm.version)
    return (
        jdk.java,
        "-XX:+UnlockExperimentalVMOptions",
        f"-XX:+{COLLECTORS[jvm.collector]}",
        *(_STEADY_THREADS if jvm.scheduling == WHOLE else ()),
        *more,
        "-XX:-UsePerfData",
        *("-jar", str(agent_jar())),
    )


def jvm_command(case: PrimitiveCase, threads: int, folder: str) -> tuple[str, ...]:
    least = _HEAP_LEAST if case.size else _HEAP_SMALL
    heap = least + threads * _THREAD_BYTES + HEAP_TIMES * held_bytes(case, threads)
    sizes = (f"-Xms{heap}", f"-Xmx{heap}", "-XX:+AlwaysPreTouch", "-XX:MaxDirectMemorySize=8g")
    return _started(case.runtime, f"-Djava.io.tmpdir={folder}", *sizes)


def probe(runtime: str, spec: PrimitivesSpec) -> tuple[str, ...]:
    words = (word for pair in jvm_options(runtime, spec).items() for word in pair)
    return (*_started(runtime, f"-Xmx{_HEAP_SMALL}"), "probe", *words)


def understood(runtime: str, spec: PrimitivesSpec, said: str, done: Completed) -> None:
    """What a probe said.
    Raises UsageError: it did not start, or has another collector or other policies."""
    who = f"{runtime} does not start"
    if done.returncode != 0:
        words = [said.removeprefix("error primitive "), *done.stderr.strip().splitlines()]
        first = next(filter(None, words), f"status {done.returncode}")
        raise UsageError(f"{who}: {first[:200]}", "see deadbeat primitives --help")
    try:
        threads = json.loads(said)["threads"]
    except (KeyError, TypeError, ValueError) as error:
        raise UsageError(f"{who}: {said[:200]}", "") from error
    priority = priority_of(runtime, spec)
    wanted = ["fifo" if priority else "other", priority]
    if any(row[:2] != wanted for row in threads):
        raise UsageError(f"{who} with its threads under {wanted[0]} {priority}: {threads}", "")


#: Beyond a run: a JVM starts, and warms up for 4 s at most.
_PATIENCE_S = 30.0
#: What a JVM prints before it ends with status 3.
_FULL = "OutOfMemoryError"
#: Version of the format that external commands speak (docs/reference/primitives-format.md).
_VERSION, _PROBE_S = 1, 60.0


class ForeignPrimitives(HardwarePrimitives):
    def probed(self, spec: PrimitivesSpec) -> PrimitivesSpec:
        if spec.clock == "tsc" and (why := counter_lacks(self._target.read_text)):
            raise UsageError(f"clock tsc: {why}", "leave it at clock=system")
        named = [f"{EXTERNAL}:{each.name}" for each in spec.external]
        wanted = tuple(dict.fromkeys([*spec.runtimes, *named]))
        others = [word for word in wanted if word != NATIVE]
        if others and not is_here(self._target):
            raise UsageError(f"{others[0]} runs on this machine only", "leave --target away")
        for name in filter(None, map(external_name, wanted)):
            _named(spec, name)
        found = []
        for each in spec.external:
            # With what it does, as it lists itself. Raises UsageError: it does not start, or its
            # list is not understood.
            who = f"{EXTERNAL}:{each.name}"
            done = self._target.run((*each.argv, "--list"), timeout=_PROBE_S)
            if done.returncode != 0:
                lines = (done.stderr or done.stdout).strip().splitlines()
                words = lines[-1] if lines else "it said nothing"
                hint = f"try it: {each.command} --list"
                raise UsageError(f"{who} ended with status {done.returncode}: {words[:200]}", hint)
            try:
                plain = json.loads(done.stdout)
                if plain["version"] != _VERSION:
                    raise ValueError(f"version {plain['version']}, not {_VERSION}")
                probed = evolve(each, does=known_to_external(plain["primitives"]))
            except (AttributeError, KeyError, TypeError, ValueError) as error:
                hint = "see docs/reference/primitives-format.md"
                raise UsageError(
                    f"{who}: what it lists is not understood: {error}", hint
                ) from error
            found.append(probed)
        return evolve(
            spec,
            runtimes=tuple(dict.fromkeys(self._in_full(word, spec) for word in wanted)),
            external=tuple(found),
        )

    def _in_full(self, runtime: str, spec: PrimitivesSpec) -> str:
        if is_native(runtime) or external_name(runtime):
            return runtime
        asked = jvm_words(runtime)
        made = evolve(asked, version=jdk_of(asked.version).feature)
        full = evolve(made, collector=asked.collector or _COLLECTOR).text
        argv, fifo = probe(full, spec), priority_of(full, spec)
        said, completed = self._guarded(argv, fifo, bound_s=_PATIENCE_S, lock=False)
        understood(full, spec, said, completed)
        return full

    def run(self, spec: PrimitivesSpec, key: PrimitiveKey) -> PrimitiveRun:
        runtime = key.case.runtime
        if is_native(runtime):
            return super().run(spec, key)
        started = datetime.now(UTC).isoformat()
        out, topology = f"{self._target.folder}/primitive-foreign", self.topology
        wanted = wanted_of(spec, key.case, topology)
        options = options_of(spec, key, topology) | {"--policy": spec.policy, "--out": out}
        name = external_name(runtime)
        if name:
            argv, fifo = _named(spec, name).argv, 0
        else:
            argv = jvm_command(key.case, len(wanted), self._target.folder)
            options |= jvm_options(runtime, spec)
            fifo = priority_of(runtime, spec)
        argv += tuple(word for pair in options.items() for word in pair)
        self._target.run(("rm", "-f", out))  # what an earlier run wrote is not this one's
        said, completed = self._guarded(argv, fifo, bound_s=spec.duration + _PATIENCE_S)
        if said.startswith("error "):
            why = said.removeprefix("error primitive ")
            if "SCHED_" in why:
                hint = "give CAP_SYS_NICE, or measure without it: --policy other marks every result"
                raise TargetError(why, hint)
            raise RunError(f"{key.case.runtime} gave up: {why}")
        if _FULL in said:
            hint = "fewer --samples, smaller --sizes, or a collector that frees memory"
            raise RunError(f"{key.case.runtime} gave up: its heap was full", hint)
        if failure := failure_of(completed, argv[0]):
            raise failure
        return parsed(self._target.read_text(out) or "", key, started, wanted)

    def _guarded(
        self, argv: tuple[str, ...], fifo: int, *, bound_s: float, lock: bool = True
    ) -> tuple[str, Completed]:
        """Its first line, or that its heap was full, and how it ended."""
        runtime, wait_s = put_runtime(self._target), self._lock_wait
        words = guarded(runtime, argv, bound_s=bound_s, lock=lock, lock_wait_s=wait_s, fifo=fifo)
        said = ""
        with self._target.start(words) as process:
            while (line := process.read_line(bound_s + wait_s + _PATIENCE_S)) is not None:
                said = line if _FULL in line else said or line
            completed = process.close()
        return said, completed


def _named(spec: PrimitivesSpec, name: str) -> External:
    """The one of that name. Raises UsageError: there is none."""
    for each in spec.external:
        if each.name == name:
            return each
    raise UsageError(f"{EXTERNAL}:{name} has no command", f"give --set external={name}=COMMAND")
