"""The cause of a refused SCHED_FIFO, against the checks in the kernel's sched_setscheduler."""

import pytest
from machines import RT_KERNEL, SYS_NICE, VIRTUAL_MACHINE, changed, limits, replaced, status

from deadbeat.machine.host.realtime import refusal_of_realtime
from deadbeat.machine.targets.fake import FakeTarget
from deadbeat.tasksets.executors.hardware import HardwareExecutor

GROUP = "/sys/fs/cgroup/cpu/job"
IN_A_GROUP = VIRTUAL_MACHINE | {
    "/proc/self/cgroup": "1:cpu,cpuacct:/job\n0::/\n",
    f"{GROUP}/cpu.rt_runtime_us": "0\n",
}
CAPABLE_V2 = RT_KERNEL | {
    "/proc/self/status": status(uid=0, capabilities=SYS_NICE),
    "/proc/config.gz": "CONFIG_RT_GROUP_SCHED=y\n",
}


def diagnose(files, priority=90):
    return refusal_of_realtime(files.get, priority=priority)


USER = status(uid=1000)
OFF = "CONFIG_RT_GROUP_SCHED=y\nCONFIG_RT_GROUP_SCHED_DEFAULT_DISABLED=y\n"


@pytest.mark.parametrize(
    ("files", "cause", "cure"),
    [
        (changed(VIRTUAL_MACHINE, status=USER),
         "CAP_SYS_NICE is missing and RLIMIT_RTPRIO is 0, below 90",
         "rtprio 90' into /etc/security/limits.d"),
        (changed(VIRTUAL_MACHINE, status=status(uid=0, capabilities=SYS_NICE - 1)),
         "root has no CAP_SYS_NICE", "--cap-add=SYS_NICE"),
        (changed(VIRTUAL_MACHINE, status=USER, limits=limits("10", "95")),
         "RLIMIT_RTPRIO is 10, below 90", "ulimit -r 90"),
        (changed(VIRTUAL_MACHINE, uid_map="         0       1000          1\n"),
         "user namespace", "--ulimit rtprio=90"),
        (IN_A_GROUP, f"control group /job has no RT bandwidth ({GROUP}/cpu.rt_runtime_us is 0)",
         "echo $$ > /sys/fs/cgroup/cpu/tasks"),
        (replaced(VIRTUAL_MACHINE, {"/proc/sys/kernel/sched_rt_runtime_us": "0\n"}),
         "kernel.sched_rt_runtime_us is 0", "sysctl -w kernel.sched_rt_runtime_us=950000"),
        (CAPABLE_V2, "/sys/fs/cgroup/user.slice/session-1.scope (v2) no RT bandwidth",
         "echo $$ > /sys/fs/cgroup/cgroup.procs"),
        (changed(VIRTUAL_MACHINE, status=status(capabilities=SYS_NICE, seccomp=2)),
         "seccomp", "--cap-add=SYS_NICE"),
        (VIRTUAL_MACHINE, "although permission, control group and RT bandwidth allow it", "dmesg"),
    ],
)  # fmt: skip
def test_causes(files, cause, cure):
    found = diagnose(files)
    assert cause in found.cause
    assert cure in found.cure


def test_permission_is_checked_before_bandwidth_and_bandwidth_before_seccomp():
    both = changed(IN_A_GROUP, status=USER)
    assert "CAP_SYS_NICE" in diagnose(both).cause
    filtered = changed(IN_A_GROUP, status=status(capabilities=SYS_NICE, seccomp=2))
    assert "RT bandwidth" in diagnose(filtered).cause


@pytest.mark.parametrize(("soft", "allowed"), [("89", False), ("90", True), ("unlimited", True)])
def test_the_limit_is_enough_from_the_priority_on(soft, allowed):
    files = changed(VIRTUAL_MACHINE, status=USER, limits=limits(soft, "unlimited"))
    assert ("RLIMIT_RTPRIO" not in diagnose(files).cause) is allowed


def test_a_lower_priority_needs_a_lower_limit():
    files = changed(VIRTUAL_MACHINE, status=USER, limits=limits("60", "60"))
    assert "RLIMIT_RTPRIO" not in diagnose(files, priority=60).cause


@pytest.mark.parametrize(
    "files",
    [
        {"/proc/config.gz": "# CONFIG_RT_GROUP_SCHED is not set\n"},
        {"/proc/cmdline": "rt_group_sched=0\n"},
        {"/proc/config.gz": OFF},
        {"/proc/self/cgroup": "0::/\n"},
        {"/sys/fs/cgroup/user.slice/session-1.scope/cgroup.controllers": "memory pids\n"},
    ],
)
def test_version_2_is_not_blamed_without_reason(files):
    assert "RT bandwidth allow it" in diagnose(replaced(CAPABLE_V2, files)).cause


SCOPE = "/sys/fs/cgroup/user.slice"
#: What a container with a control group namespace of its own sees as the root.
CONTAINER = {"/proc/self/cgroup": "0::/\n", "/sys/fs/cgroup/cgroup.type": "domain\n"}


@pytest.mark.parametrize(
    ("files", "cause"),
    [
        # a group without the controller belongs to the nearest above that has it
        ({f"{SCOPE}/session-1.scope/cgroup.controllers": "memory pids\n",
          f"{SCOPE}/cgroup.controllers": "cpu memory pids\n"},
         f"the control group {SCOPE} (v2) no RT bandwidth"),
        # the root of a container is no root group, and what is above it is out of sight
        (CONTAINER, "the control group /sys/fs/cgroup (v2) no RT bandwidth"),
        ({**CONTAINER, "/sys/fs/cgroup/cgroup.controllers": "memory pids\n"},
         "cannot be seen from here"),
        # groups switched on at boot
        ({"/proc/config.gz": OFF, "/proc/cmdline": "rt_group_sched=1\n"}, "(v2) no RT bandwidth"),
    ],
)  # fmt: skip
def test_the_group_of_version_2_that_is_blamed(files, cause):
    assert cause in diagnose(replaced(CAPABLE_V2, files)).cause


def test_where_nothing_can_be_read_the_missing_permission_is_named():
    assert "CAP_SYS_NICE is missing and RLIMIT_RTPRIO is unknown" in diagnose({}).cause


@pytest.mark.parametrize(("priority", "needed"), [(0, 90), (80, 90), (95, 96), (99, 99)])
def test_a_refusal_names_the_priority_that_the_guardian_needs(priority: int, needed: int) -> None:
    files = changed(VIRTUAL_MACHINE, status=USER)
    machine = HardwareExecutor(target=FakeTarget(files=files))
    error = machine.explain("error realtime-refused no", priority=priority)
    assert f"below {needed}" in error.message
    assert f"rtprio {needed}" in error.hint
