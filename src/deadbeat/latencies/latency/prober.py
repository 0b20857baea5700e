"""deadbeat's own engine: the runtime's verb ``probe`` (runtime/src/host/wakeup.c)."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import ClassVar, NotRequired, TypedDict, cast

from attrs import define, evolve, frozen

from deadbeat.base.model.errors import DataError, DeadbeatError, TargetError, UnreachableError
from deadbeat.base.model.finding import Finding
from deadbeat.base.model.histogram import HistogramCounts, from_counts
from deadbeat.base.store.files import tool_version
from deadbeat.build.native import verb_program
from deadbeat.build.programs import LOCK_WAIT_S, ProgramMachine
from deadbeat.build.toolchain import Toolchain
from deadbeat.latencies.latency.engines import TRACE_S, Measured, Request, unsplit, untraced
from deadbeat.latencies.latency.model import CpuLatency, LateWakeUp
from deadbeat.latencies.validity import problem
from deadbeat.machine.host.machine import Machine, read_machine
from deadbeat.machine.host.values import understood
from deadbeat.machine.targets.base import Process, Target
from deadbeat.machine.trace import session
from deadbeat.machine.trace.paths import PathSplit
from deadbeat.machine.trace.session import Tracer
from deadbeat.machine.trace.wakeups import EVENTS, Traced, kept_worst, split_path

#: Latest wake-ups that are kept of every CPU.
WORST = 20
#: Beyond the guardian's own bound of a minute, so that it has the first word.
PATIENCE_S = 90.0
#: Buffer of each CPU for a traced run, and for the trace of one wake-up.
TRACE_KB, KEPT_KB = 4096, 1024
_RECORDED = (*session.EVENTS, *EVENTS)
_VERSION = 1
_HINT = "a defect: the runtime wrote it"


class ProbedCpu(TypedDict):
    """What a measuring thread wrote (runtime/src/host/wakeup.c)."""

    cpu: int
    thread: int
    start_ns: int
    expected: int
    cycles: int
    missed: int
    early: int
    raw: HistogramCounts
    omitted: HistogramCounts
    worst: list[tuple[int, int, int]]
    block_periods: int
    blocks: list[int]
    policy: str
    priority: int
    placed: int
    voluntary: int
    involuntary: int
    clock_cost_ps: int
    cpu_ns: int


class Probed(TypedDict):
    """What the program wrote."""

    version: int
    interval_ns: int
    held: NotRequired[str]
    stopped: NotRequired[int]
    cpus: list[ProbedCpu]


@frozen(kw_only=True)
class ProberEngine:
    """Measures with the static program that task sets run in; see `Engine`.

    Nothing of it depends on how long it measures: a histogram without a loss per CPU, the latest
    wake-ups with their times, and the largest latency of up to 4096 stretches.

    Args:
        toolchain: Compiler; None: the one found.
        lock_wait: Seconds to wait while another measurement has the machine.
        worst: How many of the latest wake-ups are kept per CPU, at most 1024.
        one_process: Whether the measuring threads share a process, as cyclictest's do; else every
            CPU has a process of its own, as the tasks of deadbeat's task sets have.
    """

    name: ClassVar[str] = "prober"
    kind: ClassVar[str] = "hardware"
    words: ClassVar[Mapping[str, str]] = {}
    toolchain: Toolchain | None = None
    lock_wait: float = LOCK_WAIT_S
    worst: int = WORST
    one_process: bool = False

    def unavailable(self, target: Target) -> str:
        """Why it cannot run there: no compiler."""
        try:
            self._program()
        except DeadbeatError as error:
            return str(error)
        return ""

    def version(self, target: Target) -> str:
        """Version of deadbeat and build of its runtime."""
        return f"deadbeat {tool_version()} ({self._program().name})"

    def measure(self, target: Target, request: Request) -> Measured:
        if request.break_ns:
            return self._kept(target, request)
        plain = self._run(target, request)
        with understood(target):
            return measured_of(plain)

    def trace(self, target: Target, request: Request, measured: Measured) -> Measured:
        """Splits the path; see the protocol. What `measure` kept of its worst wake-up stays."""
        try:
            split = self._split(target, request)
        except UnreachableError:
            raise
        except TargetError as error:
            split = untraced(request.cpus, str(error))
        return evolve(measured, split=with_worst(split, measured.split))

    def _split(self, target: Target, request: Request) -> tuple[PathSplit, ...]:
        """A run of its own with the kernel's events, for no longer than its buffers can hold."""
        short = evolve(request, seconds=min(request.seconds, TRACE_S))
        machine = read_machine(target)
        cpus = machine.timer_cpus(request.cpus)
        with Tracer(target, cpus=cpus, events=_RECORDED, buffer_kb=TRACE_KB) as tracer:
            tracer.start()
            if not tracer.unavailable:
                plain = self._run(target, short, _marks(tracer))
            tracer.stop()
            text = tracer.text()
            if tracer.unavailable:
                return untraced(request.cpus, tracer.unavailable)
            with understood(target):
                return split_path(text, traced_threads(plain), lost=tracer.lost, machine=machine)

    def _kept(self, target: Target, request: Request) -> Measured:
        """The run that counts, with the kernel's events, and why its worst wake-up was late."""
        machine = read_machine(target)
        cpus = machine.timer_cpus(request.cpus)
        with Tracer(target, cpus=cpus, events=_RECORDED, buffer_kb=KEPT_KB) as tracer:
            tracer.start()
            if tracer.unavailable:
                split = untraced(request.cpus, tracer.unavailable)
                return measured_of(self._run(target, request), split=split)
            keeper = _Keeper(tracer, machine)
            options = _marks(tracer) | {"--break-ns": str(request.break_ns)}
            plain = self._run(target, request, options, keeper.hear)
            text = tracer.saved()
        with understood(target):
            return measured_of(plain, split=keeper.split(plain, request, text), traced=True)

    def _program(self) -> Path:
        return verb_program(self.toolchain or Toolchain.find())

    def _run(
        self,
        target: Target,
        request: Request,
        more: Mapping[str, str] | None = None,
        hear: Callable[[str], None] = lambda line: None,
    ) -> Probed:
        """What the program wrote; ``hear`` gets what it says meanwhile."""
        machine = ProgramMachine(
            target=target, cpus=request.cpus, toolchain=self.toolchain, lock_wait=self.lock_wait
        )
        out = f"{target.folder}/wake-ups"
        own = {"--one-process": str(int(self.one_process)), "--until-eof": "1", "--out": out}
        options = {**probe_options(request, self.worst), **own, **self.words, **(more or {})}
        with machine.start_program(self._program(), "probe", options) as process:
            patience = request.seconds + self.lock_wait + PATIENCE_S
            with understood(target):
                _listen(machine, process, patience, hear, priority=request.priority)
        return parsed(target.read_text(out) or "")


def probe_options(request: Request, worst: int = WORST) -> dict[str, str]:
    """Words of the verb for a run, wherever it runs."""
    return {
        "--policy": request.policy,
        "--priority": str(request.priority if request.policy == "fifo" else 0),
        "--seconds-ns": str(round(request.seconds * 1e9)),
        "--interval-ns": str(request.interval_ns),
        "--dma-latency": str(int(request.dma_latency == "hold")),
        "--worst": str(worst),
    }


def _listen(
    machine: ProgramMachine,
    process: Process,
    patience: float,
    hear: Callable[[str], None],
    *,
    priority: int,
) -> None:
    while (line := process.read_line(patience)) is not None:
        if line.startswith("error "):
            raise machine.explain(line, priority=priority)
        if line.startswith("done "):
            process.close(PATIENCE_S)
            return
        hear(line)
    words = process.stderr().strip().splitlines()
    raise TargetError(
        "the measuring program ended in the middle of a run", words[-1] if words else ""
    )


# --- traced runs --------------------------------------------------------------------------------


def _marks(tracer: Tracer) -> dict[str, str]:
    """The program marks every wake-up, and stops the trace when it is done."""
    return {
        "--mark-file": f"{tracer.folder}/trace_marker",
        "--break-file": f"{tracer.folder}/tracing_on",
    }


def traced_threads(plain: Probed) -> list[Traced]:
    """The measuring threads of a result."""
    return [Traced(cpu=c["cpu"], thread=c["thread"], start_ns=c["start_ns"]) for c in plain["cpus"]]


@define
class _Keeper:
    """Keeps the trace that the program stopped, and lets the next one begin.

    It stays on the target, unread, until the run is over: to read it would keep the machine, and
    the network to another one, busy in the run.
    """

    _tracer: Tracer
    _machine: Machine
    _last: tuple[int, int, int] | None = None

    def hear(self, line: str) -> None:
        """``late PLACE DUE_NS LATENCY_NS``."""
        word, *rest = line.split()
        if word == "late":
            place, due_ns, latency_ns = map(int, rest)
            if self._last is None or latency_ns > self._last[2]:  # two at once come in any order
                self._tracer.stop()
                self._tracer.save()
                self._last = (place, due_ns, latency_ns)
            self._tracer.start()

    def split(self, plain: Probed, request: Request, text: str) -> tuple[PathSplit, ...]:
        """The worst wake-up with its cause, on its CPU, from the trace that was kept."""
        why = f"no wake-up was later than {request.break_ns / 1000:.0f} us"
        if self._last is None:
            return untraced(request.cpus, why)
        place, due_ns, latency_ns = self._last
        thread = traced_threads(plain)[place]
        worst = kept_worst(text, thread, due_ns, latency_ns, self._machine)
        return tuple(
            PathSplit(cpu=cpu, worst=worst)
            if cpu == thread.cpu
            else PathSplit(cpu=cpu, unavailable="the worst wake-up was on another CPU")
            for cpu in request.cpus
        )


def with_worst(split: Sequence[PathSplit], kept: Sequence[PathSplit]) -> tuple[PathSplit, ...]:
    """``split`` with the worst wake-ups that were ``kept`` of the run that counts."""
    worst = {one.cpu: one.worst for one in kept if one.worst.total_ns}
    return tuple(
        evolve(one, worst=worst[one.cpu], unavailable="") if one.cpu in worst else one
        for one in split
    )


# --- what the program wrote ---------------------------------------------------------------------


def parsed(text: str) -> Probed:
    """JSON values of a result file. DataError where it is none."""
    try:
        plain = json.loads(text)
    except ValueError as error:
        raise DataError(f"the result of the prober is damaged: {error}", _HINT) from error
    if not isinstance(plain, dict) or plain.get("version") != _VERSION:
        raise DataError("the result of the prober is of another version", _HINT)
    return cast(Probed, plain)  # a key that is missing or wrong is an error where it is read


def measured_of(
    plain: Probed, *, split: tuple[PathSplit, ...] = (), traced: bool = False
) -> Measured:
    return Measured(
        cpus=tuple(cpu_latency(cpu, int(plain["interval_ns"])) for cpu in plain["cpus"]),
        split=split,
        problems=tuple(problems_of(plain, traced=traced)),
    )


def cpu_latency(plain: ProbedCpu, interval_ns: int) -> CpuLatency:
    """What one measuring thread wrote. DataError where a key is missing or wrong."""
    try:
        raw, omitted = from_counts(plain["raw"]), from_counts(plain["omitted"])
        return CpuLatency(
            cpu=int(plain["cpu"]),
            expected=int(plain["expected"]),
            cycles=int(plain["cycles"]),
            missed=int(plain["missed"]),
            raw=raw,
            corrected=raw + omitted,
            worst=tuple(
                LateWakeUp(due_ns=int(due), latency_ns=int(latency), missed=int(missed))
                for due, latency, missed in plain["worst"]
            ),
            block_ns=int(plain["block_periods"]) * interval_ns,
            block_maxima=tuple(map(int, plain["blocks"])),
            policy=str(plain["policy"]),
            priority=int(plain["priority"]),
            placed=int(plain["placed"]),
            switches=(int(plain["voluntary"]), int(plain["involuntary"])),
            clock_cost_ps=int(plain["clock_cost_ps"]),
            cpu_ns=int(plain["cpu_ns"]),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise DataError(f"the result of the prober is damaged: {error!r}", _HINT) from error


def problems_of(plain: Probed, *, traced: bool = False) -> Iterator[Finding]:
    """What the program itself saw go wrong."""
    held = str(plain.get("held", ""))
    if held.startswith("refused"):
        why = held.removeprefix("refused: ")
        yield problem("idle-not-held", f"/dev/cpu_dma_latency could not be held at 0 ({why})")
    for cpu in plain["cpus"]:
        if cpu["early"]:
            text = f"CPU {cpu['cpu']}: {cpu['early']} wake-ups before their time, counted as 0 ns"
            yield problem("clock-behind", text)
    if traced:
        text = "kernel events were recorded during the measurement, which takes time itself"
        yield problem("traced", text)
    if plain.get("stopped"):
        yield problem("ended-early", "it was asked to end before its time")


@frozen(kw_only=True)
class HpetEngine(ProberEngine):
    """Waits for the interrupt of a comparator of the HPET; late by the HPET's own counter. (The RTC
    is no such device: the kernel makes its periodic interrupts by an hrtimer.)"""

    name: ClassVar[str] = "hpet"
    words: ClassVar[Mapping[str, str]] = {"--hpet": "1"}

    def unavailable(self, target: Target) -> str:
        if target.read_text("/proc/sys/dev/hpet/max-user-freq") is None:
            return "no /dev/hpet: the machine has no HPET, or its kernel no driver"
        return super().unavailable(target)

    def measure(self, target: Target, request: Request) -> Measured:
        return super().measure(target, evolve(request, break_ns=0))

    def trace(self, target: Target, request: Request, measured: Measured) -> Measured:
        return unsplit(measured, "the path from the HPET is not split")
