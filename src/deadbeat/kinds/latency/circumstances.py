"""What a machine did while a run was measured: read before, after and in between.

Reading is one round trip; parsing and comparing are pure. What cannot be read is in ``missing``
with the reason, never a zero. Keys: docs/reference/latency-files.md.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from attrs import field, frozen

from deadbeat.targets.base import Target
from deadbeat.targets.readings import Reading, Readings

_CPU = "/sys/devices/system/cpu"
_FREQUENCY = f"{_CPU}/cpu*/cpufreq/scaling_cur_freq"
_THROTTLE = f"{_CPU}/cpu*/thermal_throttle/*_throttle_count"
_LIMIT = f"{_CPU}/cpu*/cpufreq/scaling_max_freq"
_ZONES = "/sys/class/thermal/thermal_zone*/temp"
_COOLING = "/sys/class/thermal/cooling_device*/cur_state"
_COOLING_TYPES = "/sys/class/thermal/cooling_device*/type"
#: Read once before a run: they do not change.
_TRIPS = "/sys/class/thermal/thermal_zone*/trip_point_*_temp"
_TRIP_TYPES = "/sys/class/thermal/thermal_zone*/trip_point_*_type"
_CLOCK = "/sys/devices/system/clocksource/clocksource0/current_clocksource"
_PRESSURE = tuple(f"/proc/pressure/{name}" for name in ("cpu", "io", "memory"))
_FILES = (
    *("/proc/stat", "/proc/interrupts", _CLOCK, _FREQUENCY, _LIMIT, _THROTTLE, _ZONES),
    *(_COOLING, _COOLING_TYPES, *_PRESSURE),
)
#: Types of cooling devices that slow processors down: by frequency (Arm and others), by ACPI's
#: states, by forced idleness. Fans and what else there is do not.
_SLOWING = ("thermal-cpufreq", "cpufreq", "Processor", "thermal-idle", "idle", "intel_powerclamp")
#: Trip points from which on the kernel slows a processor down.
_SLOWED_FROM = ("passive", "hot", "critical")

#: Read before and after a run.
COMMANDS = {"log": "dmesg", "processes": "cat /proc/[0-9]*/stat 2>/dev/null; true"}
#: What processes of loads are called.
LOAD_NAMES = ("stress-ng",)
#: Read once before a run: these cost more.
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
#: Printed once a boot (printk_deferred_once): what was there before a run says nothing of it, and
#: hides what happens in it.
_THROTTLING = "RT throttling activated"
_LOG_BEGINS = "Linux version "
_STALLS_TOLD = 5
_INTERRUPTS_TOLD = 12
#: Of proc_pid_stat(5), counted from behind the name.
_RT_PRIORITY, _POLICY = 37, 38
#: Likewise: user and system time of a process, and of its children that have ended.
_TIMES = slice(11, 15)
_POLICIES = {1: "fifo", 2: "rr", 6: "deadline"}


@frozen(kw_only=True)
class Ticks:
    """Time of a CPU by /proc/stat, in its ticks."""

    busy: int
    steal: int
    total: int


@frozen(kw_only=True)
class Snapshot:
    """The machine at one moment; what could not be read is empty and has its reason.

    Attributes:
        ticks: CPU -> ticks since boot.
        interrupts: CPU -> name of a line of /proc/interrupts -> count.
        temperature_mc: Thermal zone -> thousandths of a degree Celsius.
        frequency_khz, throttled: CPU -> frequency now; times it was throttled since boot.
        limit_khz: CPU -> highest frequency that it may have now.
        cooling: Cooling device that slows processors down -> its state; 0: it does not.
        trip_mc: Thermal zone -> temperature from which on processors are slowed down.
        pressure_us: ``cpu``, ``io``, ``memory`` -> microseconds in which some task waited for it.
        clocksource: Name.
        load_ticks: CPU time of all processes of the load that run, and of their children that
            have ended; None: could not be read.
        log: Lines of the kernel's log that tell of a stall.
        log_whole: Whether the log reaches back to the boot; None: could not be read.
        realtime: Real-time tasks: ``task`` (number), ``name``, ``policy``, ``priority``; None: not
            asked, or not to be had.
        dma_latency_us: What /dev/cpu_dma_latency is held at; None: as ``realtime``.
        missing: What could not be read -> why.
    """

    ticks: Mapping[int, Ticks] = field(factory=dict)
    interrupts: Mapping[int, Mapping[str, int]] = field(factory=dict)
    temperature_mc: Mapping[str, int] = field(factory=dict)
    frequency_khz: Mapping[int, int] = field(factory=dict)
    throttled: Mapping[int, int] = field(factory=dict)
    limit_khz: Mapping[int, int] = field(factory=dict)
    cooling: Mapping[str, int] = field(factory=dict)
    trip_mc: Mapping[str, int] = field(factory=dict)
    pressure_us: Mapping[str, int] = field(factory=dict)
    clocksource: str = ""
    load_ticks: int | None = None
    log: tuple[str, ...] = ()
    log_whole: bool | None = None
    realtime: tuple[Mapping[str, Any], ...] | None = None
    dma_latency_us: int | None = None
    missing: Mapping[str, str] = field(factory=dict)


def take(target: Target, *, first: bool = False) -> Snapshot:
    """Reads a target; ``first``: also what costs more.

    Raises:
        TargetError: Nothing at all could be read.
    """
    if not first:
        return parse(target.read_many(_FILES, COMMANDS))
    return parse(target.read_many((*_FILES, _TRIPS, _TRIP_TYPES), {**COMMANDS, **FIRST_COMMANDS}))


def parse(readings: Readings) -> Snapshot:
    """What the readings of `take` say."""
    missing: dict[str, str] = {}

    def text(path: str, name: str) -> str:
        reading = readings.files.get(path, Reading(None, "not read"))
        if reading.text is None:
            missing[name] = f"{path}: {reading.reason}"
        return reading.text or ""

    def command(name: str, key: str) -> str | None:
        reading = readings.commands.get(name)
        if reading is None:
            return None
        if reading.text is None:
            missing[key] = reading.reason
        return reading.text

    def numbers(pattern: str, name: str) -> dict[str, int]:
        found = {
            path: int(value.strip())
            for path in readings.patterns.get(pattern, ())
            if (value := readings.files[path].text or "").strip().lstrip("-").isdigit()
        }
        if not found:
            missing[name] = f"{pattern}: no such file"
        return found

    pressure = {}
    for path in _PRESSURE:
        match = re.search(r"^some .*total=(\d+)", text(path, f"pressure {path[15:]}"), re.M)
        if match:
            pressure[path.rpartition("/")[2]] = int(match[1])
    throttled: dict[int, int] = {}
    for path, count in numbers(_THROTTLE, "throttling").items():
        throttled[_cpu_of(path)] = throttled.get(_cpu_of(path), 0) + count
    processes = command("processes", "processes")
    tasks, dma, log = (
        command("tasks", "tasks"),
        command("dma", "dma_latency"),
        command("log", "log"),
    )
    return Snapshot(
        ticks=ticks_of(text("/proc/stat", "ticks")),
        interrupts=_interrupts(text("/proc/interrupts", "interrupts")),
        temperature_mc={
            path.split("/")[-2]: value for path, value in numbers(_ZONES, "temperature").items()
        },
        frequency_khz={
            _cpu_of(path): value for path, value in numbers(_FREQUENCY, "frequency").items()
        },
        throttled=throttled,
        limit_khz={_cpu_of(path): value for path, value in numbers(_LIMIT, "limit").items()},
        cooling=_slowing(numbers(_COOLING, "cooling"), readings),
        trip_mc=_trips(readings),
        pressure_us=pressure,
        load_ticks=None if processes is None else load_ticks(processes),
        clocksource=text(_CLOCK, "clocksource").strip(),
        log=tuple(line for line in (log or "").splitlines() if _STALL.search(line)),
        log_whole=None if log is None else _LOG_BEGINS in log,
        realtime=None if tasks is None else realtime_tasks(tasks),
        dma_latency_us=int(dma) if dma and dma.strip().lstrip("-").isdigit() else None,
        missing=missing,
    )


def _cpu_of(path: str) -> int:
    match = re.search(r"/cpu(\d+)/", path)
    assert match is not None
    return int(match[1])


def _slowing(states: Mapping[str, int], readings: Readings) -> dict[str, int]:
    """States of the devices that slow processors down, by their names and types."""
    found = {}
    for path, state in states.items():
        kind = readings.files.get(path.replace("/cur_state", "/type"), Reading(None)).text or ""
        if kind.startswith(_SLOWING):
            found[f"{path.split('/')[-2]} {kind.strip()}"] = state
    return found


def _trips(readings: Readings) -> dict[str, int]:
    found: dict[str, int] = {}
    for path in readings.patterns.get(_TRIPS, ()):
        kind = readings.files.get(f"{path.removesuffix('_temp')}_type", Reading(None)).text or ""
        text = (readings.files[path].text or "").strip()
        # A trip point at 0 or below is one that is not set.
        if kind.strip() in _SLOWED_FROM and text.isdigit() and int(text):
            zone = path.split("/")[-2]
            found[zone] = min(int(text), found.get(zone, int(text)))
    return found


def ticks_of(text: str) -> dict[int, Ticks]:
    """proc_stat(5): user nice system idle iowait irq softirq steal guest guest_nice; the guests'
    time is in user and nice already."""
    found = {}
    for cpu, rest in re.findall(r"^cpu(\d+) (.*)$", text, re.M):
        values = [*map(int, rest.split()), *(0,) * 8][:8]
        user, nice, system, idle, waiting, irq, softirq, steal = values
        busy = user + nice + system + irq + softirq
        found[int(cpu)] = Ticks(busy=busy, steal=steal, total=busy + idle + waiting + steal)
    return found


def _interrupts(text: str) -> dict[int, dict[str, int]]:
    head, _, body = text.partition("\n")
    cpus = [int(word[3:]) for word in head.split() if word[3:].isdigit()]
    found: dict[int, dict[str, int]] = {cpu: {} for cpu in cpus}
    for line in body.splitlines():
        name, _, rest = line.partition(":")
        words = rest.split()
        counts = words[: len(cpus)]
        if len(counts) < len(cpus) or not all(word.isdigit() for word in counts):
            continue  # ERR and MIS have one number for all CPUs
        said = " ".join(words[len(cpus) :])
        label = f"{name.strip()} {said}".strip()
        for cpu, count in zip(cpus, counts, strict=True):
            found[cpu][label] = int(count)
    return found


def realtime_tasks(text: str) -> tuple[dict[str, Any], ...]:
    """Tasks with a real-time policy among lines of /proc/PID/task/TID/stat."""
    found = []
    for line in text.splitlines():
        number, _, rest = line.partition(" (")
        name, _, fields = rest.rpartition(") ")
        words = fields.split()
        if len(words) <= _POLICY or int(words[_POLICY]) not in _POLICIES:
            continue
        found.append(
            {
                "task": int(number),
                "name": name,
                "policy": _POLICIES[int(words[_POLICY])],
                "priority": int(words[_RT_PRIORITY]),
            }
        )
    return tuple(found)


def load_ticks(text: str) -> int:
    """CPU time of processes of a load among lines of /proc/PID/stat."""
    return sum(
        cpu_ticks(line)
        for line in text.splitlines()
        if line.partition(" (")[2].startswith(LOAD_NAMES)
    )


def cpu_ticks(line: str) -> int:
    """CPU time of a process, and of its children that have ended, by its /proc/PID/stat."""
    return sum(map(int, line.rpartition(") ")[2].split()[_TIMES]))


def compare(
    before: Snapshot, after: Snapshot, *, between: Sequence[Snapshot] = (), cpus: Sequence[int]
) -> dict[str, Any]:
    """What happened on ``cpus`` from one snapshot to another: `LatencyRun.circumstances`."""
    moments = (before, *between, after)
    seen: dict[str, Any] = {
        "busy_share": _shares(before, after, "busy", cpus),
        "load_share": _load_share(before, after, cpus),
        "steal_share": _shares(before, after, "steal", cpus),
        "temperature_mc": {
            zone: [
                moment.temperature_mc[zone] for moment in moments if zone in moment.temperature_mc
            ]
            for zone in before.temperature_mc
        },
        "frequency_khz": {
            str(cpu): [m.frequency_khz[cpu] for m in moments if cpu in m.frequency_khz]
            for cpu in cpus
            if cpu in before.frequency_khz
        },
        "trip_mc": dict(before.trip_mc),
        "limit_khz": {
            str(cpu): [m.limit_khz[cpu] for m in moments if cpu in m.limit_khz]
            for cpu in before.limit_khz
        },
        "cooling": {
            name: [moment.cooling[name] for moment in moments if name in moment.cooling]
            for name in before.cooling
        },
        "throttled": {
            str(cpu): after.throttled[cpu] - before.throttled[cpu]
            for cpu in before.throttled
            if cpu in after.throttled
        },
        "interrupts": {
            str(cpu): _most(before.interrupts[cpu], after.interrupts.get(cpu, {}))
            for cpu in cpus
            if cpu in before.interrupts
        },
        "pressure_us": {
            name: after.pressure_us[name] - value
            for name, value in before.pressure_us.items()
            if name in after.pressure_us
        },
        "clocksource": [before.clocksource, after.clocksource],
        "stalls": _new_lines(before.log, after.log)[:_STALLS_TOLD],
        "realtime_tasks": None if before.realtime is None else list(map(dict, before.realtime)),
        "dma_latency_us": before.dma_latency_us,
        "readings": len(moments),
        "missing": dict(before.missing) | dict(after.missing) | _unwitnessed(before),
    }
    return seen


def _unwitnessed(before: Snapshot) -> dict[str, str]:
    """Whether the kernel would have told of real-time throttling in a run; else why not."""
    if any(_THROTTLING in line for line in before.log):
        return {"rt throttling": "the kernel tells of it once a boot, and has: not known of a run"}
    if before.log_whole is False:
        reason = "the kernel tells of it once a boot, and the beginning of its log is gone"
        return {"rt throttling": reason}
    return {}


def shares(before: Snapshot, after: Snapshot, cpus: Sequence[int]) -> dict[str, float]:
    """Share of time each CPU was busy between two snapshots."""
    return _shares(before, after, "busy", cpus)


def _shares(before: Snapshot, after: Snapshot, what: str, cpus: Sequence[int]) -> dict[str, float]:
    found = {}
    for cpu in cpus:
        old, new = before.ticks.get(cpu), after.ticks.get(cpu)
        if old is None or new is None or new.total <= old.total:
            continue
        part = (getattr(new, what) - getattr(old, what)) / (new.total - old.total)
        found[str(cpu)] = round(min(max(part, 0.0), 1.0), 4)
    return found


def _load_share(before: Snapshot, after: Snapshot, cpus: Sequence[int]) -> float | None:
    """Share of the time of ``cpus`` that the load's own processes took; they run nowhere else."""
    both = [cpu for cpu in cpus if cpu in before.ticks and cpu in after.ticks]
    total = sum(after.ticks[cpu].total - before.ticks[cpu].total for cpu in both)
    if before.load_ticks is None or after.load_ticks is None or total <= 0:
        return None
    return round(min(max((after.load_ticks - before.load_ticks) / total, 0.0), 1.0), 4)


def _most(before: Mapping[str, int], after: Mapping[str, int]) -> dict[str, int]:
    """The lines that counted most, the busiest first; those that did not count are left out."""
    grown = {name: after[name] - count for name, count in before.items() if name in after}
    first = sorted(grown, key=lambda name: (-grown[name], name))[:_INTERRUPTS_TOLD]
    return {name: grown[name] for name in first if grown[name] > 0}


def _new_lines(before: Sequence[str], after: Sequence[str]) -> list[str]:
    known = set(before)
    return [line for line in after if line not in known]
