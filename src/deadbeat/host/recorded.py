"""A machine of which only files are left that were read in it: what to read, and how to look at it.

A virtual machine of the lab is one: nobody talks to it while it runs.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping

from deadbeat.host.environment import PLATFORM_FILES
from deadbeat.host.snapshot import SNAPSHOT_FILES
from deadbeat.targets.fake import FakeTarget

#: What a platform is told from; of hardening what is a file.
PLATFORM = (
    *PLATFORM_FILES,
    *("/proc/sys/kernel/kptr_restrict", "/proc/sys/net/core/bpf_jit_harden"),
    *("/sys/devices/system/cpu/smt/control", "/sys/kernel/security/lockdown"),
    *("/sys/module/kfence/parameters/sample_interval", "/sys/module/page_alloc/parameters/shuffle"),
    "/proc/config.gz",
)
_PROCESSES, _THREADS = "/proc/[0-9]*/stat", "/proc/[0-9]*/task/[0-9]*/stat"
_LATENCY = "/dev/cpu_dma_latency"
#: What a `deadbeat.host.snapshot.take` is told from: with ``first`` or without.
SNAPSHOT = (*SNAPSHOT_FILES, _PROCESSES)
FIRST_SNAPSHOT = (*SNAPSHOT, _THREADS, _LATENCY)
#: Name of the kernel's messages, under the prefix.
LOG = "log"


def recorded_target(files: Mapping[str, bytes], prefix: str, *, name: str, kind: str) -> FakeTarget:
    """The machine as files called ``prefix`` and their path show it; it can only be read."""
    own = {
        path.removeprefix(prefix): content
        for path, content in files.items()
        if path.startswith(f"{prefix}/")
    }
    log = own.pop(f"/{LOG}", None)
    outputs = {
        "processes": _texts(own, depth=3),
        "tasks": _texts(own, depth=5),
        **({} if log is None else {"log": log.decode(errors="replace")}),
    }
    held = own.get(_LATENCY, b"")
    if len(held) == 4:
        outputs["dma"] = f"{struct.unpack('<i', held)[0]}\n"
    return FakeTarget(name=name, kind=kind, address=f"lab:{name}", files=own, outputs=outputs)


def _texts(files: Mapping[str, bytes], *, depth: int) -> str:
    """The files ``/proc/NUMBER/stat``, or those of threads, that lie so deep."""
    return "".join(
        content.decode(errors="replace")
        for path, content in files.items()
        if path.startswith("/proc/")
        and path.endswith("/stat")
        and path.count("/") == depth
        and path.split("/")[2].isdigit()
    )
