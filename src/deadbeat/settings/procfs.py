"""What Linux says about itself under /proc and /sys, parsed from texts that a reader fetches.

A reader is a function from a path to the file's text, or None where it is missing or unreadable:
``LocalTarget().read_text``, a board's over SSH, or ``dict.get`` in a test.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any

from attrs import frozen

Read = Callable[[str], str | None]

CPU_FOLDER = "/sys/devices/system/cpu"


def unknown(reason: str) -> str:
    """What a key holds when its value cannot be told: never a guess, never a silent gap."""
    return f"unknown: {reason}"


def is_unknown(value: Any) -> bool:
    """Whether ``value`` was made by :func:`unknown`."""
    return isinstance(value, str) and value.startswith("unknown: ")


def stripped(read: Read, path: str) -> str | None:
    """Text of a file without surrounding blanks and NUL bytes (device tree strings end in one)."""
    text = read(path)
    return None if text is None else text.strip(" \t\n\0")


def value(read: Read, path: str) -> str:
    """Text of a file, or why it is not known."""
    text = stripped(read, path)
    return unknown(f"{path} cannot be read") if text is None else text


def integer(read: Read, path: str) -> int | str:
    """Integer in a file, or why it is not known."""
    text = value(read, path)
    if is_unknown(text):
        return text
    return int(text) if re.fullmatch(r"-?\d+", text) else unknown(f"{path} holds {text!r}")


def cpu_mask(cpus: Iterable[int]) -> str:
    """CPUs as the kernel reads a mask: ``3,ffffffff``.

    It takes words of 32 bits with commas between; more digits in one, or more words than it has
    CPUs for, are an overflow to it (lib/bitmap-str.c, bitmap_parse)."""
    mask = sum(1 << cpu for cpu in set(cpus))
    words = []
    while mask >> 32:
        words.append(f"{mask & 0xFFFFFFFF:08x}")
        mask >>= 32
    return ",".join([f"{mask:x}", *reversed(words)])


#: No kernel has more CPUs; a larger number in a file is damage.
CPU_MAX = 65535


def parse_cpu_list(text: str) -> list[int]:
    """CPU numbers of the kernel's list format, ``0-2,5``; ``(null)`` and "" are none.

    ValueError where it is no such list.
    """
    cpus: list[int] = []
    for part in text.replace("(null)", "").split(","):
        if part.strip():
            first, _, last = part.partition("-")
            if int(last or first) > CPU_MAX:
                raise ValueError(f"there is no CPU {last or first}")
            cpus += range(int(first), int(last or first) + 1)
    return cpus


def cpu_list(read: Read, path: str) -> list[int] | str:
    """CPU numbers listed in a file, or why they are not known."""
    text = value(read, path)
    if is_unknown(text):
        return text
    try:
        return parse_cpu_list(text)
    except ValueError:
        return unknown(f"{path} holds {text!r}")


def online_cpus(read: Read) -> list[int]:
    """CPUs that are online, from sysfs or else from the per-CPU lines of /proc/stat."""
    cpus = cpu_list(read, f"{CPU_FOLDER}/online")
    if isinstance(cpus, list):
        return cpus
    return [int(number) for number in re.findall(r"^cpu(\d+) ", read("/proc/stat") or "", re.M)]


def colon_fields(text: str) -> dict[str, str]:
    """``name: value`` lines as a dict; the first of equal names wins."""
    fields: dict[str, str] = {}
    for line in text.splitlines():
        name, colon, rest = line.partition(":")
        if colon:
            fields.setdefault(name.strip(), rest.strip())
    return fields


def status_field(read: Read, name: str) -> str | None:
    """A field of /proc/self/status."""
    return colon_fields(read("/proc/self/status") or "").get(name)


def limit(read: Read, name: str) -> dict[str, int | str]:
    """Soft and hard limit of the process, as /proc/self/limits names it; -1 is unlimited."""
    path = "/proc/self/limits"
    text = read(path)
    if text is None:
        reason = unknown(f"{path} cannot be read")
        return {"soft": reason, "hard": reason}
    found = re.search(rf"^{re.escape(name)}\s+(\S+)\s+(\S+)", text, re.M)
    if found is None:
        reason = unknown(f"{path} has no line {name!r}")
        return {"soft": reason, "hard": reason}
    soft, hard = (-1 if word == "unlimited" else int(word) for word in found.groups())
    return {"soft": soft, "hard": hard}


def kernel_config(read: Read) -> tuple[dict[str, str], str]:
    """Build configuration of the running kernel (without CONFIG_) and the file it came from.

    Empty, with a reason in place of the file, where the kernel does not show it.
    """
    release = stripped(read, "/proc/sys/kernel/osrelease") or "unknown"
    paths = ("/proc/config.gz", f"/boot/config-{release}", f"/lib/modules/{release}/config")
    for path in paths:
        text = read(path)
        if text is not None:
            return dict(re.findall(r"^CONFIG_(\w+)=(.*)$", text, re.M)), path
    return {}, unknown(f"none of {', '.join(paths)} can be read")


@frozen(kw_only=True)
class Cgroup:
    """Where the process sits in the hierarchy that controls its CPU time.

    Attributes:
        version: 1 or 2.
        path: The group's path inside the hierarchy, as the process sees it.
        folder: Its folder in the file system.
        mount: Folder of the hierarchy's root.
    """

    version: int
    path: str
    folder: str
    mount: str


def cpu_cgroup(read: Read) -> Cgroup | None:
    """Control group of the process for CPU time: v1 if its ``cpu`` controller is there, else v2."""
    memberships = [line.split(":", 2) for line in (read("/proc/self/cgroup") or "").splitlines()]
    mounts = [_cgroup_mount(line) for line in (read("/proc/self/mountinfo") or "").splitlines()]
    for version in (1, 2):
        paths = [
            path
            for hierarchy, controllers, path in (row for row in memberships if len(row) == 3)
            if ("cpu" in controllers.split(",") if version == 1 else hierarchy == "0")
        ]
        places = [(root, point) for kind, root, point in mounts if kind == version]
        if paths and places:
            root, point = places[0]
            # In a container the mount shows only a part of the hierarchy, the process all of it.
            inside = paths[0].removeprefix(root.rstrip("/")) if root != "/" else paths[0]
            folder = f"{point}{inside}".rstrip("/")
            return Cgroup(version=version, path=paths[0], folder=folder, mount=point)
    return None


def _cgroup_mount(line: str) -> tuple[int, str, str]:
    """Version, root and mount point of a line of mountinfo; version 0: not a hierarchy of CPU time.

    Fields: proc_pid_mountinfo(5).
    """
    left, _, right = line.partition(" - ")
    fields, kind = left.split(), right.split()
    if len(fields) < 5 or len(kind) < 3:
        return 0, "", ""
    if kind[0] == "cgroup2":
        return 2, fields[3], fields[4]
    if kind[0] == "cgroup" and "cpu" in kind[2].split(","):
        return 1, fields[3], fields[4]
    return 0, "", ""
