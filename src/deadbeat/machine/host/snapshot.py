"""The machine at one moment, and what changed from one moment to another.

Reading is one round trip; parsing and comparing are pure. What is not known is `Unknown`, never a
zero.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from attrs import field, frozen

from deadbeat.base.model.words import Json
from deadbeat.machine.host.kernel import CLOCKSOURCE, RT_PERIOD, RT_RUNTIME
from deadbeat.machine.host.proc import (
    CPU_FOLDER,
    INTERRUPTS,
    PRESSURE,
    STAT,
    Interrupt,
    TaskState,
    Ticks,
    interrupts_of,
    running_of,
    tasks_of,
    ticks_of,
    waited_us,
)
from deadbeat.machine.host.values import NOT_ASKED, Unknown, understood
from deadbeat.machine.targets.base import Target
from deadbeat.machine.targets.readings import Reading, Readings

T = TypeVar("T")
U = TypeVar("U")

FREQUENCY = f"{CPU_FOLDER}/cpu*/cpufreq/scaling_cur_freq"
_LIMIT = f"{CPU_FOLDER}/cpu*/cpufreq/scaling_max_freq"
_THROTTLE = f"{CPU_FOLDER}/cpu*/thermal_throttle/*_throttle_count"
_ZONES = "/sys/class/thermal/thermal_zone*/temp"
_COOLING, _COOLING_TYPES = (
    f"/sys/class/thermal/cooling_device*/{name}" for name in ("cur_state", "type")
)
#: Read once before a run: they do not change.
_TRIPS, _TRIP_TYPES = (
    f"/sys/class/thermal/thermal_zone*/trip_point_*_{name}" for name in ("temp", "type")
)
#: Read before and after a run.
SNAPSHOT_FILES = (
    *(STAT, INTERRUPTS, CLOCKSOURCE, FREQUENCY, _LIMIT, _THROTTLE, _ZONES),
    *(_COOLING, _COOLING_TYPES, *PRESSURE.values()),
)
#: Types of cooling devices that slow processors down, and no fan: Linux cpufreq_cooling.c and
#: cpuidle_cooling.c (thermal-cpufreq-0, cpufreq-cpu0, thermal-idle-0), processor_thermal.c of ACPI,
#: intel_powerclamp.c (-1: not at work).
SLOWS_CPUS = re.compile(r"(thermal-)?(cpufreq|idle)-|Processor$|intel_powerclamp")
#: Trip points from which on the kernel slows a processor down.
SLOWED_FROM = ("passive", "hot", "critical")

#: Read before and after a run; and once before a run, as these cost more.
COMMANDS = {"log": "dmesg", "processes": "cat /proc/[0-9]*/stat 2>/dev/null; true"}
FIRST_COMMANDS = {
    "tasks": "cat /proc/[0-9]*/task/[0-9]*/stat 2>/dev/null; true",
    "dma": "od -An -td4 -N4 /dev/cpu_dma_latency",
}
#: Lines of the kernel's log that tell of a stall or of heat.
_STALL = re.compile(
    r"replenish lagged|rcu.*stall|soft lockup|hard LOCKUP|clocksource.*(unstable|skew)"
    r"|hrtimer: interrupt took|RT throttling|temperature above threshold|perf: interrupt took",
    re.I,
)


@frozen(kw_only=True)
class Snapshot:
    """The machine at one moment.

    Attributes:
        ticks: CPU -> ticks since boot.
        running: Threads that are ready or run.
        interrupts: Lines of /proc/interrupts.
        frequency_khz, limit_khz: CPU -> frequency now; the highest that it may have now.
        throttled: CPU -> times it was throttled since boot, by what counts (``core``, ``package``).
        temperature_mc: Thermal zone -> thousandths of a degree Celsius.
        trip_mc: Thermal zone -> temperature from which on processors are slowed down.
        cooling: Cooling device that slows processors down -> its state; 0: it does not.
        pressure_us: ``cpu``, ``io``, ``memory`` -> time in which some task waited for it.
        rt_runtime_us, rt_period_us: RT bandwidth.
        realtime: Real-time threads.
        dma_latency_us: What /dev/cpu_dma_latency is held at.
        log: Lines of the kernel's log that tell of a stall; ``log_whole``: whether the log reaches
            back to the boot.
    """

    ticks: Mapping[int, Ticks] | Unknown = NOT_ASKED
    running: int | Unknown = NOT_ASKED
    interrupts: Mapping[str, Interrupt] | Unknown = NOT_ASKED
    clocksource: str | Unknown = NOT_ASKED
    frequency_khz: Mapping[int, int] | Unknown = NOT_ASKED
    limit_khz: Mapping[int, int] | Unknown = NOT_ASKED
    throttled: Mapping[int, Mapping[str, int]] | Unknown = NOT_ASKED
    temperature_mc: Mapping[str, int] | Unknown = NOT_ASKED
    trip_mc: Mapping[str, int] | Unknown = NOT_ASKED
    cooling: Mapping[str, int] | Unknown = NOT_ASKED
    pressure_us: Mapping[str, int | Unknown] = field(factory=dict)
    rt_runtime_us: int | Unknown = NOT_ASKED
    rt_period_us: int | Unknown = NOT_ASKED
    processes: Sequence[TaskState] | Unknown = NOT_ASKED
    realtime: Sequence[TaskState] | Unknown = NOT_ASKED
    dma_latency_us: int | Unknown = NOT_ASKED
    log: tuple[str, ...] | Unknown = NOT_ASKED
    log_whole: bool | Unknown = NOT_ASKED


def take(target: Target, *, first: bool = False) -> Snapshot:
    """Reads a target; ``first``: also what costs more.
    Raises TargetError: nothing at all could be read, or what was makes no sense."""
    more = (_TRIPS, _TRIP_TYPES) if first else ()
    commands = {**COMMANDS, **FIRST_COMMANDS} if first else COMMANDS
    with understood(target):
        return parse(target.read_many((*SNAPSHOT_FILES, *more), commands))


def parse(readings: Readings) -> Snapshot:
    """What readings say, of whatever was asked for."""
    stat, log = _text(readings, STAT), _output(readings, "log")
    tasks = _then(_output(readings, "tasks"), tasks_of)
    numbers = _numbers(readings, _TRIPS)
    found: dict[str, int] = {}
    for path, number in given(numbers).items():
        kind = readings.files.get(f"{path.removesuffix('_temp')}_type", Reading(None)).text or ""
        # A trip point at 0 or below is one that is not set.
        if kind.strip() in SLOWED_FROM and number > 0:
            found[_folder(path)] = min(number, found.get(_folder(path), number))
    return Snapshot(
        ticks=_then(stat, ticks_of),
        running=_then(stat, running_of),
        interrupts=_then(_text(readings, INTERRUPTS), interrupts_of),
        clocksource=_then(_text(readings, CLOCKSOURCE), str.strip),
        frequency_khz=_then(_numbers(readings, FREQUENCY), _by_cpu),
        limit_khz=_then(_numbers(readings, _LIMIT), _by_cpu),
        throttled=_then(_numbers(readings, _THROTTLE), _counters),
        temperature_mc=_then(
            _numbers(readings, _ZONES), lambda n: {_folder(path): each for path, each in n.items()}
        ),
        trip_mc=found if not isinstance(numbers, Unknown) else numbers,
        cooling=_then(_numbers(readings, _COOLING), lambda n: _slowing(n, readings)),
        pressure_us={
            name: _then(_text(readings, path), waited_us) for name, path in PRESSURE.items()
        },
        rt_runtime_us=_then(_text(readings, RT_RUNTIME), _number),
        rt_period_us=_then(_text(readings, RT_PERIOD), _number),
        processes=_then(_output(readings, "processes"), tasks_of),
        realtime=_then(tasks, lambda every: [task for task in every if task.realtime]),
        dma_latency_us=_then(_output(readings, "dma"), _number),
        log=_then(log, lambda t: tuple(line for line in t.splitlines() if _STALL.search(line))),
        log_whole=_then(log, lambda text: "Linux version " in text),
    )


def recorded(environment: Mapping[str, Json]) -> Snapshot:
    """What a stored record of a machine's state tells of counters; see `read_environment`.

    Other sessions, machines and versions may have written it: what is missing or marked unknown is
    unknown.
    """
    steal, total = (_by_name(environment.get(key)) for key in ("steal_ticks", "total_ticks"))
    counts = _entries(environment.get("throttle_counts"))
    return Snapshot(
        ticks={int(c): Ticks(steal=n, total=total[c]) for c, n in steal.items() if c in total},
        throttled={
            # of some versions a number
            int(cpu): found
            for cpu, each in counts.items()
            if (found := _by_name(each) or _by_name({"": each}))
        }
        or Unknown("no counter of throttling was read"),
    )


def _entries(found: object) -> dict[str, Json]:
    if isinstance(found, Mapping):
        return {str(key): each for key, each in found.items()}
    return {str(i): each for i, each in enumerate(found)} if isinstance(found, list | tuple) else {}


def _by_name(found: object) -> dict[str, int]:
    """Whole numbers of a dict or a list, without those that are not known."""
    return {key: each for key, each in _entries(found).items() if type(each) is int}


def _then(found: T | Unknown, make: Callable[[T], U | Unknown]) -> U | Unknown:
    return found if isinstance(found, Unknown) else make(found)


def given(found: Mapping[T, U] | Unknown) -> Mapping[T, U]:
    """The mapping; an empty one where it is not known."""
    return {} if isinstance(found, Unknown) else found


def _text(readings: Readings, path: str) -> str | Unknown:
    reading = readings.files.get(path)
    if reading is None:
        return NOT_ASKED
    return Unknown(f"{path}: {reading.reason}") if reading.text is None else reading.text


def _output(readings: Readings, name: str) -> str | Unknown:
    reading = readings.commands.get(name)
    if reading is None:
        return NOT_ASKED
    return Unknown(reading.reason) if reading.text is None else reading.text


def _number(text: str) -> int | Unknown:
    found = text.strip()
    return int(found) if re.fullmatch(r"-?\d+", found) else Unknown(f"{found[:40]!r} is no number")


def _numbers(readings: Readings, pattern: str) -> dict[str, int] | Unknown:
    """Path -> number, of the files that a pattern matched."""
    if pattern not in readings.patterns:
        return NOT_ASKED
    found = {}
    for path in readings.patterns[pattern]:
        number = _number(readings.files[path].text or "")
        if not isinstance(number, Unknown):
            found[path] = number
    return found or Unknown(f"{pattern}: no such file")


def _cpu_of(path: str) -> int:
    return int(path.removeprefix(f"{CPU_FOLDER}/cpu").partition("/")[0])


def _folder(path: str) -> str:
    return path.split("/")[-2]


def _by_cpu(numbers: Mapping[str, int]) -> dict[int, int]:
    return {_cpu_of(path): number for path, number in numbers.items()}


def _counters(numbers: Mapping[str, int]) -> dict[int, dict[str, int]]:
    found: dict[int, dict[str, int]] = {}
    for path, count in numbers.items():
        part = path.rpartition("/")[2].removesuffix("_throttle_count")
        found.setdefault(_cpu_of(path), {})[part] = count
    return found


def _slowing(states: Mapping[str, int], readings: Readings) -> dict[str, int]:
    """States of the devices that slow processors down, by their names and types."""
    found = {}
    for path, state in states.items():
        kind = readings.files.get(path.replace("/cur_state", "/type"), Reading(None)).text or ""
        if SLOWS_CPUS.match(kind.strip()):
            found[f"{_folder(path)} {kind.strip()}"] = state
    return found


@frozen(kw_only=True)
class Difference:
    """What happened from one snapshot to another, as far as both know it.

    Attributes:
        interrupts: CPU -> ``36 PCI-MSIX virtio1-req.0`` -> how often.
        pressure_us: See `Snapshot`.
        log: New lines of the kernel's log that tell of a stall.
    """

    ticks: Mapping[int, Ticks]
    throttled: Mapping[int, int]
    interrupts: Mapping[int, Mapping[str, int]]
    pressure_us: Mapping[str, int]
    log: tuple[str, ...]

    def shares(self, ticks: Callable[[Ticks], int]) -> dict[int, float]:
        """CPU -> share of its time, between 0 and 1."""
        return {
            cpu: min(max(ticks(each) / each.total, 0.0), 1.0)
            for cpu, each in self.ticks.items()
            if each.total > 0
        }

    @property
    def busy(self) -> dict[int, float]:
        return self.shares(lambda ticks: ticks.busy)

    @property
    def stolen(self) -> dict[int, float]:
        return self.shares(lambda ticks: ticks.steal)


def diff(before: Snapshot, after: Snapshot) -> Difference:
    """What happened from ``before`` to ``after``."""
    interrupts: dict[int, dict[str, int]] = {}
    for label, (old, new) in _both(before.interrupts, after.interrupts).items():
        for cpu, (was, now) in _both(old.counts, new.counts).items():
            interrupts.setdefault(cpu, {})[f"{label} {new.about}".strip()] = now - was
    known = set(before.log) if not isinstance(before.log, Unknown) else set()
    log = after.log if not isinstance(after.log, Unknown) else ()
    return Difference(
        ticks={c: new.since(old) for c, (old, new) in _both(before.ticks, after.ticks).items()},
        throttled={
            cpu: sum(now - was for was, now in _both(old, new).values())
            for cpu, (old, new) in _both(before.throttled, after.throttled).items()
        },
        interrupts=interrupts,
        pressure_us={
            name: new - old
            for name, (old, new) in _both(before.pressure_us, after.pressure_us).items()
            if not isinstance(old, Unknown) and not isinstance(new, Unknown)
        },
        log=tuple(line for line in log if line not in known),
    )


def _both(before: Mapping[T, U] | Unknown, after: Mapping[T, U] | Unknown) -> dict[T, tuple[U, U]]:
    """What both have, in the order of the first."""
    old, new = given(before), given(after)
    return {key: (old[key], new[key]) for key in old if key in new}
