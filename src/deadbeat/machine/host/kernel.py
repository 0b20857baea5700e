"""The kernel: release, build, command line, preemption model; and whether it is a guest's."""

from __future__ import annotations

import re
from collections.abc import Mapping

from deadbeat.machine.host.cmdline import arguments
from deadbeat.machine.host.proc import CPUINFO, colon_fields
from deadbeat.machine.host.values import Read, Unknown, stripped

CMDLINE, VERSION = "/proc/cmdline", "/proc/version"
REALTIME = "/sys/kernel/realtime"
PREEMPT = "/sys/kernel/debug/sched/preempt"
CLOCKSOURCE = "/sys/devices/system/clocksource/clocksource0/current_clocksource"
RT_RUNTIME, RT_PERIOD = (f"/proc/sys/kernel/sched_rt_{name}_us" for name in ("runtime", "period"))
_RELEASE = "/proc/sys/kernel/osrelease"


def kernel_release(read: Read) -> tuple[int, int]:
    """Major and minor number of the kernel; (0, 0) when not known."""
    return release_of(read(VERSION) or "")


def release_of(text: str) -> tuple[int, int]:
    """Major and minor number in a text that names a kernel; (0, 0) when there is none."""
    found = re.search(r"\b(\d+)\.(\d+)", text)
    return (int(found[1]), int(found[2])) if found else (0, 0)


def options_of(text: str) -> dict[str, str]:
    """Build options that are set, without CONFIG_."""
    return dict(re.findall(r"^CONFIG_(\w+)=(.*)$", text, re.M))


def kernel_config(read: Read) -> tuple[dict[str, str], str | Unknown]:
    """Build configuration of the running kernel and the file it came from; empty, with a reason in
    place of the file, where the kernel does not show it."""
    release = stripped(read, _RELEASE) or "unknown"
    paths = ("/proc/config.gz", f"/boot/config-{release}", f"/lib/modules/{release}/config")
    for path in paths:
        text = read(path)
        if text is not None:
            return options_of(text), path
    return {}, Unknown(f"none of {', '.join(paths)} can be read")


Answer = tuple[str | Unknown, str]


def preemption_model(read: Read) -> Answer:
    """none, voluntary, full, lazy or rt; and what the answer rests on."""
    return realtime_model(read) or _switchable_now(read) or _dynamic(read) or _built_in(read)


def realtime_model(read: Read) -> Answer | None:
    """`preemption_model` of a PREEMPT_RT kernel; None: it is none, or does not say so."""
    if stripped(read, REALTIME) == "1":
        return "rt", f"{REALTIME} is 1"
    if re.search(r"\bPREEMPT[_ ]RT\b", read(VERSION) or ""):
        return "rt", f"PREEMPT_RT in {VERSION}"
    return None


def _switchable_now(read: Read) -> Answer | None:
    found = re.search(r"\((\w+)\)", read(PREEMPT) or "")
    return (found[1], PREEMPT) if found else None


def _dynamic(read: Read) -> Answer | None:
    if "PREEMPT_DYNAMIC" not in (read(VERSION) or ""):
        return None
    doubt = "PREEMPT_DYNAMIC, and debugfs does not show whether it was switched since the boot"
    words = arguments(read(CMDLINE) or "", "preempt")
    asked = [word for word in words if word in ("none", "voluntary", "full", "lazy")]
    if asked:
        return asked[-1], f"preempt={asked[-1]} on the command line; {doubt}"
    config, source = kernel_config(read)
    chosen = configured(config)
    if chosen:
        return chosen, f"default of {source}; {doubt}"
    return Unknown(
        "PREEMPT_DYNAMIC, and neither debugfs nor a kernel configuration says which"
    ), doubt


def _built_in(read: Read) -> Answer:
    config, source = kernel_config(read)
    chosen = configured(config)
    if chosen:
        return chosen, str(source)
    # From 6.13 on a lazy kernel also calls itself PREEMPT, so the word alone no longer decides.
    preemptible = re.search(r"\bPREEMPT\b", read(VERSION) or "")
    if preemptible and (0, 0) < kernel_release(read) < (6, 13):
        return "full", f"PREEMPT in {VERSION}"
    reason = source.reason if isinstance(source, Unknown) else f"{source} names none"
    return Unknown(f"{VERSION} does not decide it, and {reason}"), reason


def configured(config: Mapping[str, str]) -> str | None:
    """`preemption_model` by a build configuration; None: it does not say. The patches for real time
    said PREEMPT_RT_FULL until Linux 5.2."""
    words = {
        "_RT": "rt",
        "_RT_FULL": "rt",
        "_LAZY": "lazy",
        "": "full",
        "_VOLUNTARY": "voluntary",
        "_NONE": "none",
    }
    return next((word for end, word in words.items() if config.get(f"PREEMPT{end}") == "y"), None)


def counter_lacks(read: Read) -> str:
    """Why the processor's counter is no clock; "" where the kernel itself uses it as one."""
    source = stripped(read, CLOCKSOURCE)
    if source not in ("tsc", "arch_sys_counter", "riscv_clocksource"):
        return f"the kernel's clock source is {source}, not the processor's counter"
    flags = colon_fields(read(CPUINFO) or "").get("flags", "").split()
    lacking = {"constant_tsc", "nonstop_tsc"}.difference(flags) if source == "tsc" else ()
    return f"the processor's counter varies: no {' and no '.join(sorted(lacking))}" * bool(lacking)


#: Files that the answer rests on.
VIRTUAL_FILES = (
    *(CPUINFO, "/sys/hypervisor/type"),
    *("/sys/class/dmi/id/sys_vendor", "/sys/class/dmi/id/product_name"),
    *("/proc/device-tree/model", "/proc/device-tree/compatible"),
)
#: Vendors and products that firmware tables (DMI) give only to virtual machines.
_VIRTUAL_NAMES = (
    *("qemu", "kvm", "vmware", "virtualbox", "xen", "bochs", "virtual machine", "dummy-virt"),
)


def is_virtual(read: Read) -> tuple[bool | Unknown, str]:
    """Whether this is a virtual machine, and what that answer rests on."""
    fields = colon_fields(read(CPUINFO) or "")
    if "hypervisor" in fields.get("flags", "").split():
        return True, f"hypervisor flag in {CPUINFO}"
    hypervisor = stripped(read, VIRTUAL_FILES[1])
    if hypervisor:
        return True, f"{VIRTUAL_FILES[1]} is {hypervisor}"
    names = {
        path: text.replace("\0", " ")
        for path in VIRTUAL_FILES[2:]
        if (text := stripped(read, path))
    }
    for path, text in names.items():
        if any(name in text.lower() for name in _VIRTUAL_NAMES):
            return True, f"{path} is {text}"
    if "flags" in fields:
        return False, f"no hypervisor flag in {CPUINFO}"
    if names:
        path, text = next(iter(names.items()))
        return False, f"{path} is {text}"
    reason = "no processor flags, firmware tables or device tree"
    return Unknown(reason), reason
