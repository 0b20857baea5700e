"""Whether a machine is a virtual one, from what it shows to a process."""

from __future__ import annotations

from deadbeat.settings.procfs import Read, colon_fields, stripped, unknown

#: Files that the answer rests on.
VIRTUAL_FILES = (
    "/proc/cpuinfo",
    "/sys/hypervisor/type",
    "/sys/class/dmi/id/sys_vendor",
    "/sys/class/dmi/id/product_name",
    "/proc/device-tree/model",
    "/proc/device-tree/compatible",
)
#: Vendors and products that firmware tables (DMI) give only to virtual machines.
_VIRTUAL_NAMES = (
    "qemu",
    "kvm",
    "vmware",
    "virtualbox",
    "xen",
    "bochs",
    "virtual machine",
    "dummy-virt",
)


def is_virtual(read: Read) -> tuple[bool | str, str]:
    """Whether this is a virtual machine, and what that answer rests on."""
    fields = colon_fields(read("/proc/cpuinfo") or "")
    if "hypervisor" in fields.get("flags", "").split():
        return True, "hypervisor flag in /proc/cpuinfo"
    hypervisor = stripped(read, "/sys/hypervisor/type")
    if hypervisor:
        return True, f"/sys/hypervisor/type is {hypervisor}"
    names = {
        path: text.replace("\0", " ")
        for path in VIRTUAL_FILES[2:]
        if (text := stripped(read, path))
    }
    for path, text in names.items():
        if any(name in text.lower() for name in _VIRTUAL_NAMES):
            return True, f"{path} is {text}"
    if "flags" in fields:
        return False, "no hypervisor flag in /proc/cpuinfo"
    if names:
        path, text = next(iter(names.items()))
        return False, f"{path} is {text}"
    reason = "no processor flags, firmware tables or device tree"
    return unknown(reason), reason
