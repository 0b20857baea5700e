"""Primitives in a JVM: the program under jvm/, one guarded process a run."""

from __future__ import annotations

from datetime import UTC, datetime

from attrs import field, frozen

from deadbeat.build.jvm import FOREIGN_JAVA, Jdk, agent_jar, jdks
from deadbeat.executors.foreign import failure_of, guarded, put_runtime
from deadbeat.executors.hardware import LOCK_WAIT_S
from deadbeat.kinds.primitives.cases import PrimitiveCase, PrimitiveKey, held_bytes, placed
from deadbeat.kinds.primitives.engine import (
    HardwarePrimitives,
    PrimitiveEngine,
    options_of,
    parsed,
)
from deadbeat.kinds.primitives.pool import NATIVE, is_native
from deadbeat.kinds.primitives.results import PrimitiveRun
from deadbeat.kinds.primitives.runtimes import COLLECTORS, HEAP_TIMES, jvm_words
from deadbeat.kinds.primitives.spec import (
    PrimitivesSpec,
)
from deadbeat.kinds.primitives.topology import Topology
from deadbeat.model.errors import RunError, TargetError, UsageError
from deadbeat.model.platform import Platform
from deadbeat.targets.base import Target, is_here

_COLLECTOR = "G1"
#: Of every heap.
_HEAP_LEAST = 256 * 2**20
#: Beyond a run: a JVM starts, and warms up for 1.5 s at most.
_PATIENCE_S = 30.0


@frozen
class JvmPrimitives(PrimitiveEngine):
    """Runs in a JVM what is to run there; the rest it hands to ``native``."""

    native: HardwarePrimitives
    target: Target
    lock_wait: float = field(default=LOCK_WAIT_S, kw_only=True)

    def topology(self) -> Topology:
        return self.native.topology()

    def describe(self) -> Platform:
        return self.native.describe()

    def runtimes(self, wanted: tuple[str, ...]) -> tuple[str, ...]:
        others = [word for word in wanted if word != NATIVE]
        if others and not is_here(self.target):
            raise UsageError(f"{others[0]} runs on this machine only", "leave --target away")
        return tuple(dict.fromkeys(w if w == NATIVE else self._started(w) for w in wanted))

    def allocators(self, wanted: tuple[str, ...]) -> tuple[str, ...]:
        return self.native.allocators(wanted)

    def _started(self, runtime: str) -> str:
        """With version and collector, which were seen to start."""
        version, collector = jvm_words(runtime)
        jdk = jdk_of(version)
        collector = collector or _COLLECTOR
        done = self.target.run((jdk.java, *flags(collector), "-version"), timeout=_PATIENCE_S)
        if done.returncode != 0:
            lines = (done.stdout + done.stderr).strip().splitlines()
            words = lines[0] if lines else f"status {done.returncode}"
            raise UsageError(f"Java {jdk.version} does not start with {collector}: {words}", "")
        return f"jvm:{jdk.feature}:{collector}"

    def run(self, spec: PrimitivesSpec, key: PrimitiveKey) -> PrimitiveRun:
        if is_native(key.case.runtime):
            return self.native.run(spec, key)
        started = datetime.now(UTC).isoformat()
        out = f"{self.target.folder}/primitive-jvm"
        bound_s = spec.seconds + _PATIENCE_S
        options = options_of(spec, key, self.topology()) | {"--policy": spec.policy, "--out": out}
        argv = [*command(key.case, len(placed(key.case, spec, self.topology())))]
        argv[1:1] = [f"-Djava.io.tmpdir={self.target.folder}"]
        argv += [word for pair in options.items() for word in pair]
        runtime, wait_s = put_runtime(self.target), self.lock_wait
        words = guarded(runtime, argv, bound_s=bound_s, lock=True, lock_wait_s=wait_s)
        said = ""
        with self.target.start(words) as process:
            while (line := process.read_line(bound_s + wait_s + _PATIENCE_S)) is not None:
                said = said or line
            completed = process.close()
        if said.startswith("error "):
            raise _refused(said.removeprefix("error primitive "), key)
        if failure := failure_of(completed, "java"):
            raise failure
        return parsed(self.target.read_text(out) or "", key, started)


def _refused(why: str, key: PrimitiveKey) -> TargetError | RunError:
    if "SCHED_FIFO" in why:
        hint = "give CAP_SYS_NICE, or measure without it: --policy other marks every result"
        return TargetError(why, hint)
    return RunError(f"{key.case.runtime} gave up: {why}")


def jdk_of(version: int) -> Jdk:
    """The newest of a version; 0: of all.

    Raises:
        UsageError: There is none.
    """
    known = jdks()
    found = [jdk for jdk in known if version in (0, jdk.feature)]
    if not found:
        versions = ", ".join(sorted({str(jdk.feature) for jdk in known})) or "none"
        asked = f"Java {version}" if version else "a JVM from Java 17 on"
        raise UsageError(f"there is no {asked} here", f"found: {versions}; or set JAVA_HOME")
    return found[0]


def flags(collector: str) -> tuple[str, ...]:
    """Experimental ones are unlocked: which are is for each version to say."""
    return ("-XX:+UnlockExperimentalVMOptions", f"-XX:+{COLLECTORS[collector]}")


def command(case: PrimitiveCase, threads: int) -> tuple[str, ...]:
    """Starts the program with a heap that has all its pages from the start."""
    version, collector = jvm_words(case.runtime)
    jdk = jdk_of(version)
    heap = _HEAP_LEAST + HEAP_TIMES * held_bytes(case, threads)
    native = ("--enable-native-access=ALL-UNNAMED",) if jdk.feature >= FOREIGN_JAVA else ()
    sizes = (f"-Xms{heap}", f"-Xmx{heap}", "-XX:+AlwaysPreTouch", "-XX:-UsePerfData")
    return (jdk.java, *flags(collector), *sizes, *native, "-jar", str(agent_jar()))
