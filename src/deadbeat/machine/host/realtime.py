"""Why SCHED_FIFO was refused, and what to type."""

from __future__ import annotations

from attrs import frozen

from deadbeat.machine.host.cmdline import arguments
from deadbeat.machine.host.kernel import CMDLINE, RT_RUNTIME, kernel_config
from deadbeat.machine.host.proc import Cgroup, cpu_cgroup, limit, status_field
from deadbeat.machine.host.values import Read, Unknown, integer, stripped

_CAP_SYS_NICE = 23  # linux/capability.h
_SECCOMP_FILTER = "2"  # proc_pid_status(5)


@frozen
class RealtimeRefusal:
    """The most likely cause of a refusal and its cure, a line each."""

    cause: str
    cure: str


def refusal_of_realtime(read: Read, *, priority: int = 90) -> RealtimeRefusal:
    """Why ``sched_setscheduler(SCHED_FIFO, priority)`` gives EPERM to the process behind ``read``.

    The order is the kernel's own (kernel/sched/syscalls.c): permission of the process first, then
    the RT bandwidth of its control group; a seccomp filter is blamed only when both allow it.
    """
    return (
        permission(read, priority)
        or _bandwidth(read)
        or _seccomp(read)
        or RealtimeRefusal(
            "SCHED_FIFO was refused although permission, control group and RT bandwidth allow it",
            "ask the kernel's log (dmesg) or a security module; --policy other measures without it",
        )
    )


def permission(read: Read, priority: int) -> RealtimeRefusal | None:
    """What of capabilities and limits forbids ``priority``; None: nothing does."""
    capable = int(status_field(read, "CapEff") or "0", 16) >> _CAP_SYS_NICE & 1
    # The kernel asks for the capability in the first user namespace; a nested one does not count.
    nested = (stripped(read, "/proc/self/uid_map") or "0 0 4294967295").split() != [
        "0",
        "0",
        "4294967295",
    ]
    rtprio = limit(read, "Max realtime priority")
    if (capable and not nested) or _allows(rtprio["soft"], priority):
        return None
    if capable:
        return RealtimeRefusal(
            "CAP_SYS_NICE of a user namespace (a rootless container) does not allow SCHED_FIFO",
            f"run outside of it as root, or with RLIMIT_RTPRIO: --ulimit rtprio={priority}",
        )
    if _allows(rtprio["hard"], priority):
        return RealtimeRefusal(
            f"RLIMIT_RTPRIO is {rtprio['soft']}, below {priority}, and CAP_SYS_NICE is missing",
            f"the hard limit allows it; type: ulimit -r {priority}",
        )
    if (status_field(read, "Uid") or "").split()[:1] == ["0"]:
        return RealtimeRefusal(
            "root has no CAP_SYS_NICE here: a container or service manager took it away",
            "start the container with --cap-add=SYS_NICE, or the service with that capability",
        )
    return RealtimeRefusal(
        f"CAP_SYS_NICE is missing and RLIMIT_RTPRIO is {rtprio['soft']}, below {priority}",
        f"run as root (sudo; over SSH, log in as root), or put 'YOU - rtprio"
        f" {priority}' into /etc/security/limits.d/realtime.conf and log in again",
    )


def _allows(rtprio: int | Unknown, priority: int) -> bool:
    return isinstance(rtprio, int) and (rtprio == -1 or rtprio >= priority)


def _bandwidth(read: Read) -> RealtimeRefusal | None:
    if integer(read, RT_RUNTIME) == 0:
        return RealtimeRefusal(
            "kernel.sched_rt_runtime_us is 0: no time is granted to real-time tasks",
            "type: sysctl -w kernel.sched_rt_runtime_us=950000",
        )
    group = cpu_cgroup(read)
    if group is None:
        return None
    if group.version == 1:
        file = f"{group.folder}/cpu.rt_runtime_us"
        if integer(read, file) != 0:
            return None
        return RealtimeRefusal(
            f"the control group {group.path} has no RT bandwidth ({file} is 0)",
            f"type: echo $$ > {group.mount}/tasks (the root group), or: echo 100000 > {file}"
            " (its parents first)",
        )
    found = controlling_group(read, group)
    if found == ROOT_GROUP or not _groups_realtime(read):
        return None
    lacks = (
        f"the control group {found} (v2) no RT bandwidth"
        if found is not None
        else f"perhaps a control group above {group.mount} (v2), which cannot be seen from here, no"
        " RT bandwidth"
    )
    return RealtimeRefusal(
        f"the kernel has RT_GROUP_SCHED and {lacks}",
        f"type: echo $$ > {group.mount}/cgroup.procs, or boot with rt_group_sched=0 (Linux 6.16)",
    )


#: What `controlling_group` calls the group that has the machine's whole RT bandwidth.
ROOT_GROUP = ""


def controlling_group(read: Read, group: Cgroup) -> str | None:
    """Group of version 2 that limits the CPU time of ``group``: the nearest folder, upwards, for
    which the ``cpu`` controller is enabled; `ROOT_GROUP`; None: it is above what can be seen.

    With RT_GROUP_SCHED there is no file that grants RT bandwidth below the root group. What a
    container sees as ``/`` need not be that: the root alone has no ``cgroup.type``
    (Documentation/admin-guide/cgroup-v2.rst).
    """
    folder = group.folder
    while True:
        controllers = stripped(read, f"{folder}/cgroup.controllers")
        top = folder == group.mount or not folder.startswith(f"{group.mount}/")
        if top and controllers is not None and read(f"{folder}/cgroup.type") is None:
            return ROOT_GROUP
        if "cpu" in (controllers or "").split():
            return folder
        if top:
            return None
        folder = folder.rpartition("/")[0]


def _groups_realtime(read: Read) -> bool:
    config = kernel_config(read)[0]
    default = "0" if config.get("RT_GROUP_SCHED_DEFAULT_DISABLED") == "y" else "1"
    asked = arguments(read(CMDLINE) or "", "rt_group_sched")
    return config.get("RT_GROUP_SCHED") == "y" and [default, *asked][-1] == "1"


def _seccomp(read: Read) -> RealtimeRefusal | None:
    if status_field(read, "Seccomp") != _SECCOMP_FILTER:
        return None
    return RealtimeRefusal(
        "a seccomp filter (a container's) is likely to refuse sched_setscheduler",
        "start the container with --cap-add=SYS_NICE or --security-opt seccomp=unconfined",
    )
