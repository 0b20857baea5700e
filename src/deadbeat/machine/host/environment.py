"""The state of a machine, as records of campaigns and platforms keep it, and its platform.

Works over a reader of file contents alone, so that the same code reads this machine, a board behind
a Target and a dict in a test. What cannot be read is recorded as ``unknown: REASON``.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime

from deadbeat.base.model.platform import TARGET, Platform
from deadbeat.base.model.rules import Problem
from deadbeat.base.model.specification import usage
from deadbeat.base.model.words import Json, inside
from deadbeat.machine.host import reading
from deadbeat.machine.host.kernel import (
    CLOCKSOURCE,
    CMDLINE,
    PREEMPT,
    REALTIME,
    RT_PERIOD,
    RT_RUNTIME,
    VERSION,
    VIRTUAL_FILES,
    is_virtual,
    kernel_config,
    preemption_model,
)
from deadbeat.machine.host.proc import (
    CGROUP,
    CPU_FOLDER,
    CPUINFO,
    LIMITS,
    LOADAVG,
    MEMINFO,
    MOUNTS,
    STAT,
    STATUS,
    TRIED,
    allowed_cpus,
    limit,
    online_cpus,
    ticks_of,
)
from deadbeat.machine.host.values import (
    Fact,
    Read,
    Unknown,
    cpu_list,
    cpus_text,
    gathered,
    integer,
    is_unknown,
    value,
)
from deadbeat.machine.targets.base import Target, is_here

#: Asked for in one go; what depends on what these hold is asked for in a second.
_FIRST = (
    *(f"{CPU_FOLDER}/cpu[0-9]*/topology/{name}" for name in (
        "core_id", "physical_package_id", "thread_siblings_list")),
    *(f"{CPU_FOLDER}/cpu[0-9]*/cache/index[0-9]*/{name}" for name in (
        "level", "type", "size", "coherency_line_size", "ways_of_associativity",
        "shared_cpu_list")),
    *(f"{CPU_FOLDER}/cpu[0-9]*/{name}" for name in (
        "cpu_capacity", "regs/identification/midr_el1", "cpufreq/scaling_*",
        "thermal_throttle/*_throttle_count")),
    f"{CPU_FOLDER}/vulnerabilities/*",
    "/sys/kernel/debug/sched/fair_server/cpu[0-9]*/runtime",
    *(f"/sys/class/thermal/thermal_zone[0-9]*/{name}" for name in ("type", "temp")),
)  # fmt: skip
#: All files it is read from, for a caller that can read only once; with patterns of `_FIRST`.
PLATFORM_FILES = (
    *(*_FIRST, CPUINFO, MEMINFO, LOADAVG, STAT, STATUS, LIMITS, CGROUP, MOUNTS),
    *(CMDLINE, VERSION, CLOCKSOURCE, RT_PERIOD, RT_RUNTIME, REALTIME, PREEMPT, *VIRTUAL_FILES),
    *(f"/proc/sys/kernel/{name}" for name in ("arch", "hostname", "osrelease", "version")),
    *(f"{CPU_FOLDER}/{name}" for name in (
        "online", "present", "isolated", "nohz_full", "cpufreq/boost", "intel_pstate/no_turbo")),
    reading.HUGE_PAGES,
)  # fmt: skip


def environment_of(
    target: Target, *, now: datetime, more: Mapping[str, Json] | None = None
) -> dict[str, Json]:
    """`read_environment` of a target, in few round trips.
    Raises TargetError: nothing at all could be read."""
    where = {} if is_here(target) else {TARGET: target.address}
    also = {**where, **(more or {})}
    first = (*_FIRST, TRIED)
    return gathered(target, lambda read: read_environment(read, now=now, more=also), first)


def read_environment(
    read: Read, *, now: datetime, more: Mapping[str, Json] | None = None
) -> dict[str, Json]:
    """State of the machine behind ``read``, as values that JSON can hold.

    Dicts by CPU have the CPU number, as text, for a key. The unit is in the key where there is one;
    ticks are those of /proc/stat (USER_HZ, 10 ms nearly everywhere).

    Args:
        read: Files of the process; its rights and limits are recorded.
        now: The moment, with its time zone.
    """
    cpus = online_cpus(read)
    preemption, basis = preemption_model(read)
    virtual, virtual_basis = is_virtual(read)
    config, source = kernel_config(read)
    ticks = {str(c): t for c, t in ticks_of(read(STAT) or "").items() if c in cpus}
    no_ticks = Unknown(f"{STAT} has no ticks by CPU")
    found: dict[str, Fact] = {
        "time": now.isoformat(timespec="milliseconds"),
        "hostname": value(read, "/proc/sys/kernel/hostname"),
        "machine": reading.machine(read),
        "soc": reading.soc(read),
        "kernel": reading.kernel(read),
        "preemption": preemption,
        "preemption_basis": basis,
        "cmdline": value(read, CMDLINE),
        "cpus_online": cpus or Unknown("neither sysfs nor /proc/stat names the CPUs"),
        "cpus_present": cpu_list(read, f"{CPU_FOLDER}/present"),
        "cpus_allowed": allowed_cpus(read),
        "isolated": cpu_list(read, f"{CPU_FOLDER}/isolated"),
        "nohz_full": cpu_list(read, f"{CPU_FOLDER}/nohz_full"),
        "topology": {str(cpu): reading.topology(read, cpu) for cpu in cpus},
        "governor": reading.governor(read, cpus),
        "frequency_policy": reading.frequency_policy(read, cpus),
        "frequency_khz": {str(cpu): reading.frequency_khz(read, cpu) for cpu in cpus},
        "clocksource": value(read, CLOCKSOURCE),
        "steal_ticks": {cpu: each.steal for cpu, each in ticks.items()} or no_ticks,
        "total_ticks": {cpu: each.total for cpu, each in ticks.items()} or no_ticks,
        "rt_runtime_us": integer(read, RT_RUNTIME),
        "rt_period_us": integer(read, RT_PERIOD),
        "rt_group_sched": config.get("RT_GROUP_SCHED") == "y" if config else source,
        "fair_server_runtime_ns": {str(cpu): reading.fair_server(read, cpu) for cpu in cpus},
        "throttle_counts": {str(cpu): reading.throttle(read, cpu) for cpu in cpus},
        "thermal": reading.thermal(read),
        "mitigations": reading.mitigations(read),
        "virtual": virtual,
        "virtual_basis": virtual_basis,
        "memory": reading.memory(read),
        "loadavg": reading.loadavg(read),
        "limits": {
            "rtprio": limit(read, "Max realtime priority"),
            "memlock_bytes": limit(read, "Max locked memory"),
            "rttime_us": limit(read, "Max realtime timeout"),
        },
        "cgroup": reading.cgroup(read),
        **(more or {}),
    }
    return {key: _plain(entry) for key, entry in found.items()}


def _plain(entry: Fact) -> Json:
    if isinstance(entry, Unknown):
        return str(entry)
    if isinstance(entry, Mapping):
        return {key: _plain(part) for key, part in entry.items()}
    if isinstance(entry, Sequence) and not isinstance(entry, str):
        return [_plain(part) for part in entry]
    return entry


#: Record of CPUs -> why one that is not in it cannot be used; a machine that keeps none is made up.
_WITHHELD = {
    "cpus_present": "does not exist",
    "cpus_online": "is offline",
    "cpus_allowed": "is outside the cpuset of this shell (a container's, a service's)",
}


def _withheld(cpu: int, details: Mapping[str, Json]) -> str:
    """Why a CPU of a machine cannot be used; "": unknown."""
    records = ((details.get(key), why) for key, why in _WITHHELD.items())
    return next((why for cpus, why in records if isinstance(cpus, list) and cpu not in cpus), "")


def unusable(
    asked: Iterable[int], usable: Sequence[int], details: Mapping[str, Json], path: str
) -> Iterator[Problem]:
    """A problem of the first CPU that is asked for under ``path`` and not ``usable``.

    Args:
        details: From :func:`read_environment`, or none.
    """
    for cpu in asked:
        if cpu not in usable:
            why = _withheld(cpu, details) or "cannot be used"
            hint = f"use {', '.join(map(str, usable))}"
            yield Problem(path, f"CPU {cpu} {why}", hint)
            return


def require_usable(
    asked: Iterable[int],
    usable: Sequence[int],
    details: Mapping[str, Json] | None = None,
    path: str = "--cpus",
) -> None:
    """Raises UsageError for what `unusable` finds."""
    if problems := list(unusable(asked, usable, details or {}, path)):
        raise usage(problems)


def left_out(cpus: Iterable[int], details: Mapping[str, Json]) -> str:
    """``2-3, 5 (is offline)``: the CPUs of a machine that are not among ``cpus``, and why."""
    there = details.get("cpus_present")
    reasons: dict[str, list[int]] = {}
    for cpu in sorted({*(there if isinstance(there, list) else ())} - {*cpus}):
        reasons.setdefault(_withheld(cpu, details), []).append(cpu)
    groups = ((cpus_text(found), why) for why, found in reasons.items())
    return ", ".join(f"{text} ({why})" if why else text for text, why in groups)


def name_of(environment: Mapping[str, Json], target: Target) -> str:
    """What a machine calls itself; of one that does not, the target's name."""
    name = environment["hostname"]
    unnamed = is_unknown(name) or name == "(none)"  # the kernel's own word
    return target.name if is_here(target) or unnamed else str(name)


def platform_from_environment(
    environment: dict[str, Json],
    *,
    cpus: Sequence[int] | None = None,
    kind: str,
    toolchain: str = "",
    flags: str = "",
    name: str | None = None,
) -> Platform:
    """The platform an environment describes.

    The fingerprint covers hardware (processor, topology, caches), frequency policy and toolchain
    with its flags; not the kernel, which is recorded only, so that a stored program may be compared
    between kernels.

    Args:
        environment: From :func:`read_environment`.
        cpus: CPU number of each logical core; None: those that are online.
        toolchain, flags: Compiler identification, and the flags of runtime and fragments.
        name: Label; None takes the host name.
    """
    if cpus is None:
        online = environment["cpus_online"]
        cpus = online if isinstance(online, list) else []
    keys = ("machine", "soc", "topology", "frequency_policy")
    identity = {key: environment[key] for key in keys} | {"toolchain": toolchain, "flags": flags}
    preemption = environment["preemption"]
    canonical = json.dumps(identity, sort_keys=True, separators=(",", ":"))
    governor = environment["governor"]
    if not isinstance(governor, dict):
        governor_words = "none" if str(governor).startswith("none: ") else "unknown"
    elif len(set(governor.values())) == 1:
        governor_words = str(next(iter(governor.values())))
    else:
        governor_words = ", ".join(f"cpu{cpu} {name}" for cpu, name in governor.items())
    return Platform(
        name=name or str(environment["hostname"]),
        kind=kind,
        machine=str(environment["machine"]),
        soc=str(environment["soc"]),
        cpus=tuple(cpus),
        kernel=str(environment["kernel"]),
        preemption="unknown" if is_unknown(preemption) else str(preemption),
        governor=governor_words,
        toolchain=toolchain,
        flags=flags,
        fingerprint=hashlib.sha256(canonical.encode()).hexdigest(),
        details=dict(environment),
    )


def core_kinds(environment: Mapping[str, Json], cpus: Sequence[int]) -> tuple[int, ...]:
    """Kind of each of ``cpus``, numbered from 0 in their order: cores of a kind have the same
    highest frequency, capacity, identification register and cache sizes, as far as these are known.
    """
    kinds: dict[str, int] = {}
    found = []
    for cpu in cpus:
        number = str(cpu)
        policy, topology = (
            inside(environment, n, number) for n in ("frequency_policy", "topology")
        )
        caches = topology.get("caches")
        sizes = [
            (cache["level"], cache["type"], cache["size_bytes"])
            for cache in (caches if isinstance(caches, list) else ())
        ]
        frequency = policy.get("scaling_max_freq")
        kind = repr((frequency, topology.get("capacity"), topology.get("midr"), sizes))
        found.append(kinds.setdefault(kind, len(kinds)))
    return tuple(found)
