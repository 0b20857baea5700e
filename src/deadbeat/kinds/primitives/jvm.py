"""How a JVM is started, and what it must say of itself: the program under jvm/."""

from __future__ import annotations

import json

from attrs import evolve

from deadbeat.build.jvm import Jdk, agent_jar, jdks
from deadbeat.kinds.primitives.cases import PrimitiveCase, held_bytes
from deadbeat.kinds.primitives.runtimes import COLLECTORS, HEAP_TIMES, WHOLE, jvm_words
from deadbeat.kinds.primitives.spec import PrimitivesSpec
from deadbeat.model.errors import UsageError
from deadbeat.targets.base import Completed

_COLLECTOR = "G1"
#: Of a heap for memory; of every other.
_HEAP_LEAST, _HEAP_SMALL = 256 * 2**20, 64 * 2**20
#: Two histograms, and room.
_THREAD_BYTES = 2 * 2**20
#: Of a whole JVM that is real-time no threads come later: one that a timed thread started would
#: have its priority.
_STEADY_THREADS = ("-XX:-UseDynamicNumberOfCompilerThreads", "-XX:-UseDynamicNumberOfGCThreads")


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


def in_full(runtime: str) -> str:
    """With version and collector."""
    jvm = jvm_words(runtime)
    jdk = jdk_of(jvm.version)
    return evolve(jvm, version=jdk.feature, collector=jvm.collector or _COLLECTOR).text


def priority_of(runtime: str, spec: PrimitivesSpec) -> int:
    """Of its own threads under FIFO, below those that are timed; 0: they are ordinary ones."""
    whole = jvm_words(runtime).scheduling == WHOLE and spec.policy != "other"
    return spec.priority - 1 if whole else 0


def options(runtime: str, spec: PrimitivesSpec) -> dict[str, str]:
    """What only a JVM is told."""
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


def command(case: PrimitiveCase, threads: int, folder: str) -> tuple[str, ...]:
    """Starts the program with a heap that has all its pages from the start."""
    least = _HEAP_LEAST if case.size else _HEAP_SMALL
    heap = least + threads * _THREAD_BYTES + HEAP_TIMES * held_bytes(case, threads)
    sizes = (f"-Xms{heap}", f"-Xmx{heap}", "-XX:+AlwaysPreTouch", "-XX:MaxDirectMemorySize=8g")
    return _started(case.runtime, f"-Djava.io.tmpdir={folder}", *sizes)


def probe(runtime: str, spec: PrimitivesSpec) -> tuple[str, ...]:
    """Starts it, and lets it say what it is and what policies its threads have."""
    words = (word for pair in options(runtime, spec).items() for word in pair)
    return (*_started(runtime, f"-Xmx{_HEAP_SMALL}"), "probe", *words)


def understood(runtime: str, spec: PrimitivesSpec, said: str, done: Completed) -> None:
    """What a probe said.

    Raises:
        UsageError: It did not start, or has another collector or other policies.
    """
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
