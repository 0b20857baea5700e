"""What a target can and cannot do, found out in seconds; nothing is measured or changed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from shlex import quote
from statistics import median
from time import perf_counter
from typing import TypeVar

from attrs import field, frozen

from deadbeat.base.model.errors import DeadbeatError, TargetError, UnreachableError
from deadbeat.build.programs import machine_of, toolchain_of, usable_on
from deadbeat.build.toolchain import Toolchain
from deadbeat.machine.host.kernel import CLOCKSOURCE
from deadbeat.machine.host.proc import CGROUP, LIMITS, STATUS, limit, status_field
from deadbeat.machine.host.realtime import permission
from deadbeat.machine.host.values import cpus_text, gathered
from deadbeat.machine.targets.base import Target
from deadbeat.machine.trace.session import Tracer
from deadbeat.tasksets.catalog import Catalog
from deadbeat.tasksets.executors.hardware import HardwareExecutor

T = TypeVar("T")
#: Priority that runtime/src/main.c asks for.
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


@frozen
class Ability:
    """One thing that a target can do or not.

    Attributes:
        can: None: that is not known.
        found: What was found, or why not; one line.
        cure: How to mend it; "" where nothing is to be done.
        needed: Whether nothing can be measured without.
    """

    what: str
    can: bool | None
    found: str
    cure: str = ""
    needed: bool = field(default=False, kw_only=True)


def abilities(target: Target, catalog: Catalog, *, cross: str | None = None) -> list[Ability]:
    """Everything that a measurement may want of ``target``.

    Args:
        cross: What builds its programs; None: the one found for it.

    Raises:
        UnreachableError: It cannot be reached any more.
    """
    return list(_all(target, catalog, cross))


def _all(target: Target, catalog: Catalog, cross: str | None) -> Iterator[Ability]:
    times = []
    for _ in range(_ROUND_TRIPS):
        began = perf_counter()
        done = target.run(("sh", "-c", "exit 0"))
        times.append(perf_counter() - began)
    shell_found = f"answers within {1000 * median(times):.1f} ms"
    yield Ability("shell", done.returncode == 0, shell_found, needed=True)
    words = {name: f"command -v {name}" for name in _PROGRAMS}
    words["free"] = f"df -Pk {quote(target.folder)}"
    readings = target.read_many([CLOCKSOURCE, _TIMERS], words)
    yield _folder(target.folder, readings.commands["free"].text or "")

    def build() -> tuple[Toolchain, str]:
        machine, toolchain = machine_of(target), toolchain_of(target, cross=cross)
        return toolchain, f"{machine}: {toolchain.cc}, {toolchain.identification}"

    def usable() -> tuple[tuple[int, ...], str]:
        found = usable_on(target)
        return found, f"{cpus_text(found)} may be used"

    toolchain, builds = _tried("programs for it", build)
    yield builds
    cpus, may_use = _tried("CPUs", usable)
    yield may_use
    yield from gathered(target, _rights, (STATUS, LIMITS, CGROUP))
    if toolchain is not None and cpus is not None:
        machine = HardwareExecutor(target=target, cpus=cpus, toolchain=toolchain)
        yield from _program(machine, catalog)
    source = (readings.files[CLOCKSOURCE].text or "").strip()
    timers = readings.files[_TIMERS].text or ""
    steps = [line.split()[1] for line in timers.splitlines() if ".resolution:" in line]
    coarse = [step for step in steps if step.isdecimal() and int(step) > 1]
    step = f"{max(map(int, coarse))} ns" if coarse else "1 ns" if steps else "unknown"
    clock = Ability(
        "high-resolution clock",
        None if not steps else not coarse,
        f"source {source or 'unknown'}, resolution of timers {step}",
        "boot a kernel with CONFIG_HIGH_RES_TIMERS, without highres=off" if coarse else "",
    )
    yield clock
    with Tracer(target, cpus=cpus or (), buffer_kb=256) as tracer:
        why = tracer.unavailable
    found = why or "causes of late jobs and wake-ups can be found"
    cure = "as root, with a kernel that has tracefs" if why else ""
    yield Ability("event tracing", not why, found, cure)
    for name, package in _PROGRAMS.items():
        path = (readings.commands[name].text or "").strip()
        cure = "" if path else f"Debian: apt-get install {package}"
        yield Ability(name, bool(path), path or "not installed; deadbeat brings its own", cure)


def _folder(folder: str, text: str) -> Ability:
    words = text.splitlines()[-1].split() if text.strip() else []
    if len(words) < 4 or not words[3].isdecimal():
        return Ability("writable folder", None, f"{folder}, free space unknown (df -Pk)")
    free = int(words[3])
    cure = "" if free >= _LEAST_KB else f"free some: {_LEAST_KB // 1024} MB are wanted"
    found = f"{folder}, {free // 1024} MB free"
    return Ability("writable folder", not cure, found, cure, needed=True)


def _program(machine: HardwareExecutor, catalog: Catalog) -> Iterator[Ability]:
    """Whether the program runs there as it measures, and which fragments it can."""
    problem: TargetError | None = None
    for policy in ("fifo", "other"):
        try:
            refused = machine.unavailable(catalog, policy=policy)
        except UnreachableError:
            raise
        except TargetError as error:
            problem = problem or error
        else:
            cure = "" if problem is None else f"{problem.message}: {problem.hint}"
            yield Ability("program runs", True, f"{RUNS_AS}{policy}", cure, needed=True)
            leaky = any(reason.startswith(_NAMESPACE) for reason in refused.values())
            found = "shared with all others" if leaky else "objects of System V end with a run"
            yield Ability("private IPC namespace", not leaky, found, "run as root" if leaky else "")
            many = len(catalog.fragments)
            found = f"{many - len(refused)} of {many}"
            yield Ability("fragments", len(refused) < many, found, needed=True)
            for name, reason in sorted(refused.items()):
                yield Ability(f"fragment {name}", False, reason)
            return
    assert problem is not None
    busy = problem.message.startswith("another deadbeat measurement")
    can = None if busy else False
    yield Ability("program runs", can, problem.message, problem.hint, needed=True)


def _tried(what: str, look: Callable[[], tuple[T, str]]) -> tuple[T | None, Ability]:
    """What is needed, and whether it is to be had."""
    try:
        found, words = look()
    except UnreachableError:
        raise
    except DeadbeatError as error:
        return None, Ability(what, False, error.message, error.hint, needed=True)
    return found, Ability(what, True, words, needed=True)


def _rights(read: Callable[[str], str | None]) -> tuple[Ability, ...]:
    """What the kernel lets whoever logs in there do."""
    held = int(status_field(read, "CapEff") or "0", 16)
    refusal = permission(read, _PRIORITY)
    fifo = Ability("SCHED_FIFO", True, f"priority {_PRIORITY}")
    if refusal is not None:
        cure = f"{refusal.cure}; or --policy other, which marks results"
        fifo = Ability("SCHED_FIFO", False, refusal.cause, cure)
    nice = bool(held >> _CAP_SYS_NICE & 1)
    found = "CAP_SYS_NICE is there" if nice else "it needs CAP_SYS_NICE"
    deadline = Ability("SCHED_DEADLINE", nice, found, "" if nice else "log in as root")
    locked = limit(read, "Max locked memory")["soft"]
    free = bool(held >> _CAP_IPC_LOCK & 1) or locked == -1
    found = "without a limit" if free else f"at most {locked} bytes"
    cure = "" if free else "ulimit -l unlimited, or log in as root"
    return fifo, deadline, Ability("memory lock", free, found, cure)
