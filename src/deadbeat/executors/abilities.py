"""What a target can and cannot do, found out in seconds; nothing is measured or changed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from shlex import quote
from statistics import median
from time import perf_counter
from typing import TypeVar

from attrs import define, field, frozen

from deadbeat.build.toolchain import Toolchain
from deadbeat.catalog import Catalog
from deadbeat.executors.hardware import HardwareExecutor
from deadbeat.executors.programs import usable_on
from deadbeat.executors.toolchains import machine_of, toolchain_of
from deadbeat.host.kernel import CLOCKSOURCE
from deadbeat.host.proc import CGROUP, LIMITS, STATUS, limit, status_field
from deadbeat.host.realtime import permission
from deadbeat.host.values import cpus_text, gathered
from deadbeat.model.errors import DeadbeatError, TargetError, UnreachableError
from deadbeat.targets.base import Target
from deadbeat.targets.readings import Readings
from deadbeat.trace.session import Tracer

T = TypeVar("T")
#: As runtime/src/main.c asks for.
_PRIORITY = 90
#: A program, a result and the batches of a campaign; more is better.
_LEAST_KB = 16 << 10
_ROUND_TRIPS = 5
_CAP_IPC_LOCK, _CAP_SYS_NICE = 14, 23  # linux/capability.h
_TIMERS = "/proc/timer_list"
_PROGRAMS = {"cyclictest": "rt-tests", "stress-ng": "stress-ng"}
#: How the program runs there; the policy follows.
RUNS_AS = "as policy "
_NAMESPACE = "needs a private IPC namespace"


@frozen(kw_only=True)
class Ability:
    """One thing that a target can do or not.

    Attributes:
        what: It.
        can: None: that is not known.
        found: What was found, or why not; one line.
        cure: How to mend it; "" where nothing is to be done.
        needed: Whether nothing can be measured without.
    """

    what: str
    can: bool | None
    found: str
    cure: str = ""
    needed: bool = False


def abilities(target: Target, catalog: Catalog, *, cross: str | None = None) -> list[Ability]:
    """Everything that a measurement may want of ``target``.

    Args:
        cross: What builds its programs; None: as found for it.

    Raises:
        UnreachableError: It cannot be reached any more.
    """
    return list(_Look(target, catalog, cross).all())


@define
class _Look:
    _target: Target
    _catalog: Catalog
    _cross: str | None
    _readings: Readings = field(factory=Readings)

    def all(self) -> Iterator[Ability]:
        yield self._shell()
        words = {name: f"command -v {name}" for name in _PROGRAMS}
        words["free"] = f"df -Pk {quote(self._target.folder)}"
        self._readings = self._target.read_many([CLOCKSOURCE, _TIMERS], words)
        yield self._folder()
        toolchain, builds = _tried("programs for it", self._toolchain)
        yield builds
        cpus, may_use = _tried("CPUs", self._cpus)
        yield may_use
        yield from gathered(self._target, _rights, (STATUS, LIMITS, CGROUP))
        if toolchain is not None and cpus is not None:
            yield from self._program(toolchain, cpus)
        yield self._clock()
        yield from self._others(cpus or ())

    def _shell(self) -> Ability:
        times = []
        for _ in range(_ROUND_TRIPS):
            began = perf_counter()
            done = self._target.run(("sh", "-c", "exit 0"))
            times.append(perf_counter() - began)
        can = done.returncode == 0
        found = f"answers within {1000 * median(times):.1f} ms"
        return Ability(what="shell", can=can, found=found, needed=True)

    def _folder(self) -> Ability:
        folder, text = self._target.folder, self._readings.commands["free"].text or ""
        words = text.splitlines()[-1].split() if text.strip() else []
        if len(words) < 4 or not words[3].isdecimal():
            found = f"{folder}, free space is not told (df -Pk)"
            return Ability(what="writable folder", can=None, found=found)
        free = int(words[3])
        found = f"{folder}, {free // 1024} MB free"
        cure = "" if free >= _LEAST_KB else f"free some: {_LEAST_KB // 1024} MB are wanted"
        return Ability(what="writable folder", can=not cure, found=found, cure=cure, needed=True)

    def _toolchain(self) -> tuple[Toolchain, str]:
        machine = machine_of(self._target)
        toolchain = toolchain_of(self._target, cross=self._cross)
        return toolchain, f"{machine}: {toolchain.cc}, {toolchain.identification}"

    def _cpus(self) -> tuple[tuple[int, ...], str]:
        cpus = usable_on(self._target)
        return cpus, f"{cpus_text(cpus)} may be used"

    def _program(self, toolchain: Toolchain, cpus: tuple[int, ...]) -> Iterator[Ability]:
        """Whether the program runs there as it measures, and which fragments it can."""
        machine = HardwareExecutor(target=self._target, cpus=cpus, toolchain=toolchain)
        problem: TargetError | None = None
        for policy in ("fifo", "other"):
            try:
                refused = machine.unavailable(self._catalog, policy=policy)
            except UnreachableError:
                raise
            except TargetError as error:
                problem = problem or error
            else:
                measures = f"{RUNS_AS}{policy}"
                cure = "" if problem is None else f"{problem.message}: {problem.hint}"
                yield Ability(what="program runs", can=True, found=measures, cure=cure, needed=True)
                yield from self._fragments(refused)
                return
        assert problem is not None
        busy = problem.message.startswith("another deadbeat measurement")
        yield Ability(
            what="program runs",
            can=None if busy else False,
            found=problem.message,
            cure=problem.hint,
            needed=True,
        )

    def _fragments(self, refused: Mapping[str, str]) -> Iterator[Ability]:
        leaky = any(reason.startswith(_NAMESPACE) for reason in refused.values())
        yield Ability(
            what="private IPC namespace",
            can=not leaky,
            found="objects of System V end with a run" if not leaky else "shared with all others",
            cure="run as root" if leaky else "",
        )
        many = len(self._catalog.fragments)
        found = f"{many - len(refused)} of {many}"
        yield Ability(what="fragments", can=len(refused) < many, found=found, needed=True)
        for name, reason in sorted(refused.items()):
            yield Ability(what=f"fragment {name}", can=False, found=reason)

    def _clock(self) -> Ability:
        source = (self._readings.files[CLOCKSOURCE].text or "").strip()
        timers = self._readings.files[_TIMERS].text or ""
        steps = [line.split()[1] for line in timers.splitlines() if ".resolution:" in line]
        coarse = [step for step in steps if step.isdecimal() and int(step) > 1]
        step = f"{max(map(int, coarse))} ns" if coarse else "1 ns" if steps else "not told"
        return Ability(
            what="high-resolution clock",
            can=None if not steps else not coarse,
            found=f"source {source or 'not told'}, resolution of timers {step}",
            cure="boot a kernel with CONFIG_HIGH_RES_TIMERS, without highres=off" if coarse else "",
        )

    def _others(self, cpus: tuple[int, ...]) -> Iterator[Ability]:
        with Tracer(self._target, cpus=cpus, buffer_kb=256) as tracer:
            why = tracer.unavailable
        yield Ability(
            what="event tracing",
            can=not why,
            found=why or "causes of late jobs and wake-ups can be told",
            cure="as root, with a kernel that has tracefs" if why else "",
        )
        for name, package in _PROGRAMS.items():
            path = (self._readings.commands[name].text or "").strip()
            found = path or "not installed; deadbeat brings its own"
            cure = "" if path else f"Debian: apt-get install {package}"
            yield Ability(what=name, can=bool(path), found=found, cure=cure)


def _tried(what: str, look: Callable[[], tuple[T, str]]) -> tuple[T | None, Ability]:
    """What is needed, and whether it is to be had."""
    try:
        found, words = look()
    except UnreachableError:
        raise
    except DeadbeatError as error:
        return None, Ability(
            what=what, can=False, found=error.message, cure=error.hint, needed=True
        )
    return found, Ability(what=what, can=True, found=words, needed=True)


def _rights(read: Callable[[str], str | None]) -> tuple[Ability, ...]:
    """What the kernel lets whoever logs in there do."""
    held = int(status_field(read, "CapEff") or "0", 16)
    refusal = permission(read, _PRIORITY)
    fifo = Ability(
        what="SCHED_FIFO",
        can=refusal is None,
        found=f"priority {_PRIORITY}" if refusal is None else refusal.cause,
        cure="" if refusal is None else f"{refusal.cure}; or --policy other, which marks results",
    )
    can = bool(held >> _CAP_SYS_NICE & 1)
    deadline = Ability(
        what="SCHED_DEADLINE",
        can=can,
        found="CAP_SYS_NICE is there" if can else "it needs CAP_SYS_NICE",
        cure="" if can else "log in as root",
    )
    locked = limit(read, "Max locked memory")["soft"]
    free = bool(held >> _CAP_IPC_LOCK & 1) or locked == -1
    memory = Ability(
        what="memory lock",
        can=free,
        found="without a limit" if free else f"at most {locked} bytes",
        cure="" if free else "ulimit -l unlimited, or log in as root",
    )
    return fifo, deadline, memory
