"""A machine of which only files are left that were read in it, or only its kernel's: what to read,
and how to look at it.

A virtual machine of the lab is one: it runs without a connection.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Mapping, Sequence

from deadbeat.base.model.words import Json
from deadbeat.machine.host.cmdline import boot_cpus, boot_words, numbered_by_the_machine
from deadbeat.machine.host.environment import PLATFORM_FILES
from deadbeat.machine.host.kernel import CMDLINE, options_of
from deadbeat.machine.host.proc import CPU_FOLDER, tasks_of
from deadbeat.machine.host.snapshot import SNAPSHOT_FILES
from deadbeat.machine.host.values import CPU_MAX, cpus_text
from deadbeat.machine.targets.fake import FakeTarget
from deadbeat.machine.targets.readings import MISSING, NO_PROGRAM, Reading, Readings

#: Files that tell a platform; for hardening, its options that are files.
PLATFORM = (
    *PLATFORM_FILES,
    *("/proc/sys/kernel/kptr_restrict", "/proc/sys/net/core/bpf_jit_harden"),
    *("/sys/devices/system/cpu/smt/control", "/sys/kernel/security/lockdown"),
    *("/sys/module/kfence/parameters/sample_interval", "/sys/module/page_alloc/parameters/shuffle"),
    "/proc/config.gz",
)
_PROCESSES, _THREADS = "/proc/[0-9]*/stat", "/proc/[0-9]*/task/[0-9]*/stat"
_LATENCY = "/dev/cpu_dma_latency"
#: Files that `deadbeat.machine.host.snapshot.take` reads: with ``first`` or without.
SNAPSHOT = (*SNAPSHOT_FILES, _PROCESSES)
FIRST_SNAPSHOT = (*SNAPSHOT, _THREADS, _LATENCY)
_SERVICE = "/sys/fs/cgroup/system.slice/{}.service/cgroup.procs"
#: Files that `inventory_of` reads.
INVENTORY = (_PROCESSES, "/proc/modules", "/proc/timer_list", _SERVICE.format("*"))
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


def inventory_of(target: FakeTarget) -> dict[str, Json]:
    """Counts of a machine of which `INVENTORY` was read; services by systemd's groups with a
    process, else as children of process 1 that are neither a prompt nor ours."""
    tasks = tasks_of(target.outputs["processes"].text or "")
    own = [each for each in tasks if not each.kernel]
    served = [each.name for each in own if each.parent == 1 and each.name not in ("init", "getty")]
    there = "\n".join(path for path, text in target.files.items() if text)
    units = re.findall(_SERVICE.format("(.*)"), there)
    modules, timers = (target.read_text(path) or "" for path in INVENTORY[1:3])
    return {
        "processes": len(own),
        "kernel_threads": len(tasks) - len(own),
        "services": sorted(units or served),
        "timers": len(re.findall(r"^ #\d+:", timers, re.M)),
        "modules": modules.count("\n"),
    }


#: Why nothing else is known of a machine that is a kernel's files.
NOT_GIVEN = "not known: only files of the kernel were given"


class KernelFiles(FakeTarget):
    """A machine of which the build configuration or command line of the kernel is known, no more.

    Args:
        config, cmdline: What these hold; None: not given.
    """

    def __init__(self, config: str | None, cmdline: str | None, *, name: str) -> None:
        files = {} if cmdline is None else {CMDLINE: cmdline, **_booted(config, cmdline)}
        outputs = {} if config is None else {"kernel-config": config}
        super().__init__(name=name, kind="files", address="files", files=files, outputs=outputs)

    def read_many(
        self, paths: Sequence[str], commands: Mapping[str, str] | None = None
    ) -> Readings:
        """Answer like `FakeTarget`; what was not given is unknown, not absent."""
        found = super().read_many(paths, commands)

        def known(reading: Reading) -> Reading:
            return Reading(None, NOT_GIVEN) if reading.reason in (MISSING, NO_PROGRAM) else reading

        return Readings(
            files={path: known(each) for path, each in found.files.items()},
            commands={name: known(each) for name, each in found.commands.items()},
            patterns=found.patterns,
        )


def _booted(config: str | None, cmdline: str) -> dict[str, str]:
    """Files in which a running kernel shows what it makes of its command line."""
    found = {
        f"/sys/module/{module}/parameters/{parameter}": value
        for name, value in boot_words(cmdline)
        for module, dot, parameter in [name.partition(".")]
        if dot and value and re.fullmatch(r"[+-]?\d+", value)
    }
    if not numbered_by_the_machine(cmdline):
        made = boot_cpus(cmdline, CPU_MAX + 1, None if config is None else options_of(config))
        for name, cpus in (("isolated", made.isolated), ("nohz_full", made.tickless)):
            found[f"{CPU_FOLDER}/{name}"] = cpus_text(cpus) if cpus else ""
    return found
