"""cyclictest of rt-tests: the accepted measure of wake-up latency.

It tells neither policy nor priority nor place of its threads: a shell on the target reads those of
the one process that writes to our file from /proc, once, while it measures; nothing is started for
those that are not.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, ClassVar
from weakref import WeakKeyDictionary

from attrs import evolve, field, frozen

from deadbeat.base.model.errors import DataError, TargetError
from deadbeat.build.programs import failure_of, guarded, put_runtime
from deadbeat.latencies.latency.engines import Measured, Request, unsplit
from deadbeat.latencies.latency.foreign import ForeignFile, expecting
from deadbeat.latencies.latency.formats.cyclictest_json import IMPORTER as CYCLICTEST
from deadbeat.latencies.latency.model import CpuLatency
from deadbeat.machine.host.proc import TaskState, task_of
from deadbeat.machine.host.realtime import refusal_of_realtime
from deadbeat.machine.host.values import cpu_set, understood
from deadbeat.machine.targets.base import Process, Target, is_here
from deadbeat.machine.targets.readings import script

if TYPE_CHECKING:
    from deadbeat.build.toolchain import Toolchain

PACKAGE = "rt-tests"
#: Its histogram's range, us. A latency above is counted, but in no bucket: a second is far above
#: what any schedulable period survives.
RANGE_US = 1_000_000
#: Beyond the measuring time: waiting for the machine's lock, start, writing the results, s.
_MARGIN_S = 30.0
#: Its threads are looked at so long after its start, s, or at half of a shorter run; so often at
#: most, each time after twice as long: it may wait for the machine's lock.
_LOOK_S, _LOOKS = 0.5, 5
#: A measuring thread, and the one CPU that it may run on; -1 for several.
Thread = tuple[TaskState, int]


@frozen(eq=False)
class CyclictestEngine:
    """See `Engine`; ``program`` puts the runtime's program on a target, and tells where."""

    name: ClassVar[str] = "cyclictest"
    kind: ClassVar[str] = "hardware"
    program: Callable[[Target], str] = field(default=put_runtime, kw_only=True)
    _programs: WeakKeyDictionary[Target, str] = field(factory=WeakKeyDictionary, init=False)

    def unavailable(self, target: Target) -> str:
        """Whether it is installed."""
        if target.run(("sh", "-c", "command -v cyclictest")).returncode == 0:
            return ""
        return f"it is not installed (Debian: apt-get install {PACKAGE}); the prober needs nothing"

    def version(self, target: Target) -> str:
        """``cyclictest V 2.40``."""
        lines = target.run(("cyclictest", "--help")).stdout.splitlines()
        return lines[0].strip() if lines else "cyclictest"

    def measure(self, target: Target, request: Request) -> Measured:
        """Runs it once, under the runtime's guard and the machine's lock; what its threads really
        have is read from /proc meanwhile: one short look."""
        if not self._programs.get(target, "").startswith(f"{target.folder}/"):
            self._programs[target] = self.program(target)
        out = f"{target.folder}/cyclictest.json"
        target.run(("rm", "-f", out))
        bound = request.seconds * 1.05 + _MARGIN_S
        argv = guarded(self._programs[target], command(request, out), bound_s=bound, lock=True)
        with _looking(target, request, out) as look, target.start(argv) as process:
            threads = look(process)
            done = process.close(bound + _MARGIN_S)
            threads = threads or look(None)
        if "change scheduling policy" in done.stderr and done.returncode != 0:
            if request.policy == "other":
                text = "cyclictest wants the permission for SCHED_FIFO also for policy other"
                raise TargetError(text, "--engine prober does without")
            diagnosis = refusal_of_realtime(target.read_text, priority=request.priority)
            raise TargetError(
                f"SCHED_FIFO was refused: {diagnosis.cause}",
                f"{diagnosis.cure}; or measure without it: --policy other marks every result",
            )
        # What it always says is not what it failed of.
        said = [line for line in done.stderr.splitlines() if not line.startswith("WARN")]
        if failure := failure_of(
            evolve(done, stderr="\n".join(said)), "cyclictest", package=PACKAGE
        ):
            raise failure
        try:
            written = ForeignFile.of(target.read_text(out) or "")
            result = CYCLICTEST.take(written, "what cyclictest wrote")
        except DataError as error:
            hint = "is it cyclictest of rt-tests 2.0 or later?"
            raise TargetError(error.message, hint) from error
        seconds, interval_ns = request.seconds, request.interval_ns
        cpus = [expecting(cpu, seconds=seconds, interval_ns=interval_ns) for cpu in result.cpus]
        return Measured(cpus=as_seen(cpus, threads))

    def trace(self, target: Target, request: Request, measured: Measured) -> Measured:
        """It does not write into the trace when its threads read the clock."""
        return unsplit(measured, "cyclictest splits no path; the prober does")


def command(request: Request, out: str) -> tuple[str, ...]:
    """Its command line; whole seconds and microseconds (a `LatencySpec` sees to that)."""
    fifo = request.policy == "fifo"
    return (
        "cyclictest",
        "--quiet",
        # The text has a line for every bucket; the JSON only those with a count.
        "--histfile=/dev/null",
        f"--json={out}",
        f"--histogram={RANGE_US}",
        f"--affinity={','.join(map(str, request.cpus))}",
        f"--threads={len(request.cpus)}",
        f"--interval={request.interval_ns // 1000}",
        "--distance=0",
        # All threads at once, as the prober's: alone, one after the other as they were started.
        "--aligned=0",
        f"--duration={round(request.seconds)}",
        *(("--mlockall", f"--priority={request.priority}") if fifo else ("--policy=other",)),
        *(("--default-system",) if request.dma_latency == "system" else ()),
    )


def _look(target: Target, process: Process, request: Request, out: str) -> tuple[Thread, ...]:
    """What its threads have while it measures; looked at again only while they are not what was
    asked for, as before they have begun. Empty: they could not be seen."""
    threads: tuple[Thread, ...] = ()
    wait = min(_LOOK_S, request.seconds / 2)
    for _ in range(_LOOKS):
        # Waits; whether it ended meanwhile.
        try:
            over = process.read_line(wait) is None
        except TargetError:
            over = False
        if over:
            break
        try:
            said = target.read_many((), {"threads": threads_command(out)}).commands["threads"].text
        except TargetError:
            break
        with understood(target):
            threads = threads_of(said or "") or threads
        had = {(task.policy_name, task.priority, placed) for task, placed in threads}
        if had == {(request.policy, request.priority, cpu) for cpu in request.cpus}:
            break
        wait *= 2
    return threads


@contextmanager
def _looking(
    target: Target, request: Request, out: str
) -> Iterator[Callable[[Process | None], tuple[Thread, ...]]]:
    """Gives what tells its threads while ``process`` measures; asked with None, when it has ended.

    Another machine looks by itself, as nothing is sent to it while it measures.
    """
    if is_here(target):
        yield lambda process: () if process is None else _look(target, process, request, out)
        return
    seen, wait = f"{out}.threads", min(_LOOK_S, request.seconds / 2)
    words = (seen, threads_command(out), str(wait), str(_LOOKS))
    with target.start(("sh", "-c", script("looks.sh", __package__), "sh", *words)):

        def threads(process: Process | None) -> tuple[Thread, ...]:
            with understood(target):
                return () if process else threads_of(target.read_text(seen) or "")

        yield threads
    target.run(("rm", "-f", seen))


# ---------- its threads ----------


def threads_command(out: str) -> str:
    """Words for a target's shell that print the threads of the cyclictest that writes ``out``."""
    return script("threads.sh", __package__).replace("{out}", out)


def threads_of(text: str) -> tuple[Thread, ...]:
    """The threads in what `threads_command` printed, in the order of their numbers."""
    seen = re.findall(r"^(.*)\nallowed (.*)$", text, re.M)
    found = [(task_of(line), cpu_set(allowed)) for line, allowed in seen]
    threads = [
        (task, min(cpus) if len(cpus) == 1 else -1)
        for task, cpus in found
        if task is not None and task.policy >= 0
    ]
    return tuple(sorted(threads, key=lambda thread: thread[0].tid))


def as_seen(cpus: Sequence[CpuLatency], threads: Sequence[Thread]) -> tuple[CpuLatency, ...]:
    """``cpus`` with what their threads had; unchanged where not every thread was seen.

    A thread that may run on one CPU alone is that CPU's; others are given out in the order in which
    they were begun, as cyclictest numbers them, and are placed on several (-1).
    """
    wanted = {cpu.cpu for cpu in cpus}
    if len(threads) != len(wanted):
        return tuple(cpus)
    own = {placed: (task, placed) for task, placed in threads if placed in wanted}
    rest = [thread for thread in threads if thread not in own.values()]
    own |= dict(zip(sorted(wanted - set(own)), rest, strict=True))
    return tuple(
        evolve(cpu, policy=task.policy_name, priority=task.priority, placed=placed)
        for cpu in cpus
        for task, placed in [own[cpu.cpu]]
    )


def make(toolchain: Toolchain | None = None) -> CyclictestEngine:
    """The engine, with a guard built by ``toolchain``."""
    return CyclictestEngine(program=partial(put_runtime, toolchain=toolchain))
