"""What the files of a machine say of it, a function for each fact."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import takewhile

from deadbeat.machine.host.kernel import VERSION, kernel_release
from deadbeat.machine.host.proc import (
    CPU_FOLDER,
    CPUINFO,
    LOADAVG,
    MEMINFO,
    colon_fields,
    cpu_cgroup,
)
from deadbeat.machine.host.values import (
    Fact,
    Read,
    Unknown,
    chosen,
    cpu_list,
    integer,
    stripped,
    value,
)

HUGE_PAGES = "/sys/kernel/mm/transparent_hugepage/enabled"

#: Files of /sys/devices/system/cpu/vulnerabilities up to Linux 6.18.
_VULNERABILITIES = (
    "gather_data_sampling", "ghostwrite", "indirect_target_selection", "itlb_multihit", "l1tf",
    "mds", "meltdown", "mmio_stale_data", "old_microcode", "reg_file_data_sampling", "retbleed",
    "spec_rstack_overflow", "spec_store_bypass", "spectre_v1", "spectre_v2", "srbds", "tsa",
    "tsx_async_abort", "vmscape",
)  # fmt: skip

_THERMAL_ZONES_MAX, _CACHES_MAX = 64, 10
_DEVICE_TREE = "/proc/device-tree/model"


def machine(read: Read) -> str | Unknown:
    arch = stripped(read, "/proc/sys/kernel/arch")  # since Linux 6.1
    if arch:
        return arch
    fields = colon_fields(read(CPUINFO) or "")
    if "flags" in fields:
        return "x86_64" if "lm" in fields["flags"].split() else "i686"
    if "CPU architecture" in fields:
        return "aarch64" if fields["CPU architecture"] in ("8", "AArch64") else "arm"
    return Unknown("neither /proc/sys/kernel/arch nor /proc/cpuinfo names the architecture")


def soc(read: Read) -> str | Unknown:
    fields = colon_fields(read(CPUINFO) or "")
    if "model name" in fields and "cpu family" in fields:
        numbers = [fields.get(key, "?") for key in ("cpu family", "model", "stepping")]
        return (
            f"{fields['model name']} (family {numbers[0]} model {numbers[1]} stepping {numbers[2]})"
        )
    named = stripped(read, _DEVICE_TREE) or fields.get("model name") or fields.get("Hardware")
    if named:
        return named
    if "CPU implementer" in fields:
        return f"implementer {fields['CPU implementer']} part {fields.get('CPU part', '?')}"
    return Unknown("/proc/cpuinfo and /proc/device-tree/model name no processor")


def kernel(read: Read) -> str | Unknown:
    release = stripped(read, "/proc/sys/kernel/osrelease")
    version = stripped(read, "/proc/sys/kernel/version")
    if release and version:
        return f"{release} {version}"
    return value(read, VERSION)


def topology(read: Read, cpu: int) -> dict[str, Fact]:
    folder = f"{CPU_FOLDER}/cpu{cpu}/topology"
    # Arm: cores of one chip differ; where they do not, these files say so too.
    kind = {"capacity": "cpu_capacity", "midr": "regs/identification/midr_el1"}
    caches: list[dict[str, Fact]] = []
    for index in range(_CACHES_MAX):
        cache = f"{CPU_FOLDER}/cpu{cpu}/cache/index{index}"
        if read(f"{cache}/level") is None:
            break
        caches.append(
            {
                "level": integer(read, f"{cache}/level"),
                "type": value(read, f"{cache}/type"),
                "size_bytes": _size_bytes(value(read, f"{cache}/size")),
                "line_bytes": integer(read, f"{cache}/coherency_line_size"),
                "ways": integer(read, f"{cache}/ways_of_associativity"),
                "shared_cpus": cpu_list(read, f"{cache}/shared_cpu_list"),
            }
        )
    known = caches or Unknown(f"{CPU_FOLDER}/cpu{cpu}/cache cannot be read")
    return {
        "core": integer(read, f"{folder}/core_id"),
        "package": integer(read, f"{folder}/physical_package_id"),
        "siblings": cpu_list(read, f"{folder}/thread_siblings_list"),
        "caches": known,
        **_there(read, f"{CPU_FOLDER}/cpu{cpu}", kind),
    }


def _there(read: Read, folder: str, names: Mapping[str, str]) -> dict[str, str]:
    """Key -> text of its file below a folder, of those that there are."""
    texts = {key: stripped(read, f"{folder}/{name}") for key, name in names.items()}
    return {key: text for key, text in texts.items() if text is not None}


def _size_bytes(text: str | Unknown) -> int | Unknown:
    if isinstance(text, Unknown):
        return text
    found = re.fullmatch(r"(\d+)([KMG]?)", text)
    if found is None:
        return Unknown(f"cache size {text!r}")
    return int(found[1]) << {"": 0, "K": 10, "M": 20, "G": 30}[found[2]]


def governor(read: Read, cpus: Sequence[int]) -> dict[str, str] | str | Unknown:
    found = {
        str(cpu): stripped(read, f"{CPU_FOLDER}/cpu{cpu}/cpufreq/scaling_governor") for cpu in cpus
    }
    if not any(found.values()):
        return "none: no cpufreq driver" if cpus else Unknown("no CPUs are named")
    return {cpu: name or "none" for cpu, name in found.items()}


def frequency_policy(read: Read, cpus: Sequence[int]) -> dict[str, Fact]:
    """What decides at which frequency a CPU runs; never a frequency of the moment."""
    files = ("scaling_driver", "scaling_governor", "scaling_min_freq", "scaling_max_freq")
    names = {name: f"cpufreq/{name}" for name in files}
    by_cpu = {str(cpu): _there(read, f"{CPU_FOLDER}/cpu{cpu}", names) for cpu in cpus}
    whole = {"boost": "cpufreq/boost", "no_turbo": "intel_pstate/no_turbo"}
    return {**by_cpu, **_there(read, CPU_FOLDER, whole)}


def frequency_khz(read: Read, cpu: int) -> int | Unknown:
    current = integer(read, f"{CPU_FOLDER}/cpu{cpu}/cpufreq/scaling_cur_freq")
    if isinstance(current, int):
        return current
    block = re.search(rf"^processor\s*:\s*{cpu}$(.*?)(?:^$|\Z)", read(CPUINFO) or "", re.M | re.S)
    megahertz = re.search(r"^cpu MHz\s*:\s*([\d.]+)", block[1], re.M) if block else None
    if megahertz:
        return round(float(megahertz[1]) * 1000)
    return Unknown("no cpufreq driver, and /proc/cpuinfo shows no frequency")


def fair_server(read: Read, cpu: int) -> int | Unknown:
    """Time per second that ordinary tasks may take from real-time ones (Linux 6.12 and later)."""
    path = f"/sys/kernel/debug/sched/fair_server/cpu{cpu}/runtime"
    found = integer(read, path)
    if isinstance(found, int) or kernel_release(read) < (6, 12):
        return found
    return Unknown(f"{path} cannot be read; the kernel's default is 50 ms per second")


def throttle(read: Read, cpu: int) -> dict[str, int | Unknown]:
    folder = f"{CPU_FOLDER}/cpu{cpu}/thermal_throttle"
    return {part: integer(read, f"{folder}/{part}_throttle_count") for part in ("core", "package")}


def thermal(read: Read) -> list[dict[str, Fact]] | Unknown:
    folders = (f"/sys/class/thermal/thermal_zone{index}" for index in range(_THERMAL_ZONES_MAX))
    zones: list[dict[str, Fact]] = [
        {"zone": value(read, f"{each}/type"), "millidegrees": integer(read, f"{each}/temp")}
        for each in takewhile(lambda folder: read(f"{folder}/type") is not None, folders)
    ]
    return zones or Unknown("there is no /sys/class/thermal/thermal_zone0")


def mitigations(read: Read) -> dict[str, str] | str | Unknown:
    folder = f"{CPU_FOLDER}/vulnerabilities"
    return _there(read, folder, {name: name for name in _VULNERABILITIES}) or Unknown(
        f"{folder} cannot be read"
    )


def memory(read: Read) -> dict[str, Fact]:
    fields = colon_fields(read(MEMINFO) or "")

    def kilobytes(name: str) -> int | Unknown:
        words = fields.get(name, "").split()
        return int(words[0]) if words else Unknown(f"{MEMINFO} has no {name}")

    pages = value(read, HUGE_PAGES)
    return {
        "total_kb": kilobytes("MemTotal"),
        "available_kb": kilobytes("MemAvailable"),
        "swap_total_kb": kilobytes("SwapTotal"),
        "transparent_hugepage": pages if isinstance(pages, Unknown) else chosen(pages),
    }


def loadavg(read: Read) -> list[float] | Unknown:
    words = (stripped(read, LOADAVG) or "").split()[:3]
    if len(words) < 3:
        return Unknown(f"{LOADAVG} cannot be read")
    return [float(word) for word in words]


def cgroup(read: Read) -> dict[str, Fact] | Unknown:
    group = cpu_cgroup(read)
    if group is None:
        return Unknown("/proc/self/cgroup and /proc/self/mountinfo show no group for CPU time")
    found: dict[str, Fact] = {key: getattr(group, key) for key in ("version", "path", "folder")}
    if group.version == 1:
        for key in ("cpu.rt_runtime_us", "cpu.rt_period_us", "cpu.cfs_quota_us"):
            found[key.replace("cpu.", "")] = integer(read, f"{group.folder}/{key}")
    else:
        at_root = group.folder == group.mount
        found["cpu_max"] = "none: root group" if at_root else value(read, f"{group.folder}/cpu.max")
    return found
