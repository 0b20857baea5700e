"""How the kernel was built, against its own documentation (core-api/real-time)."""

from collections.abc import Mapping

import pytest
from helpers.checks import Case, Cases, case, check_called, config, outcome

BOOTED = {"/proc/cmdline": "root=/dev/vda quiet", "/sys/devices/system/cpu/online": "0-1"}
DYNAMIC = {
    "/proc/version": "Linux version 6.18.44 (a@b) #1 SMP PREEMPT_DYNAMIC @0",
    "/proc/cmdline": "quiet",
}
WATCHDOG, ITS_CPUS = "/proc/sys/kernel/watchdog", "/proc/sys/kernel/watchdog_cpumask"
EFI = "/sys/firmware/efi/fw_platform_size"
EFI_CPUS = "/sys/devices/virtual/workqueue/efi_runtime/cpumask"


def option(good: tuple[str, ...], bad: tuple[str, ...], says: str = "") -> Mapping[str, Case]:
    """A check of build options alone."""
    return {
        "pass": case(outputs=config("A=y", *good)),
        "fail": case(outputs=config("A=y", *bad), says=says),
        "unknown": case(says="kernel-config: no such program"),
        "unknown empty": case(outputs=config(), says="no option is set"),
    }


CASES: Cases = {
    "kernel.debug": {"pass": case(outputs=config("DEBUG_FS=y", "DEBUG_INFO=y", "DEBUG_KERNEL=y"))},
    "kernel.preempt-rt": {
        "pass": case(outputs=config("PREEMPT_RT=y")),
        "pass version": case({"/proc/version": "Linux version 6.1.0 #1 SMP PREEMPT_RT Debian"}),
        "fail": case(outputs=config("PREEMPT=y")),
        "fail version": case(DYNAMIC, says="/proc/version"),
        "fail xenomai": case({**DYNAMIC, "/proc/xenomai/version": "3.2.4"}, says="XENOMAI"),
        "fail evl": case({**DYNAMIC, "/sys/class/evl/control/abi": "32"}, says="co-kernel EVL"),
    },
    "kernel.preemption": {
        "pass": case({**DYNAMIC, "/sys/kernel/debug/sched/preempt": "none voluntary (full)"}),
        "pass lazy": case(DYNAMIC, outputs={"dmesg": "[0.1] Dynamic Preempt: lazy"}, says="lazy"),
        "pass rt": case({"/sys/kernel/realtime": "1"}, says="rt"),
        "fail": case(
            DYNAMIC,
            outputs={**config("PREEMPT_NONE=y"), "dmesg": "[0.1] Dynamic Preempt: none"},
            says="as the kernel said at boot",
        ),
        "fail built": case(
            {"/proc/version": "Linux version 6.6.1 #1 SMP", "/proc/cmdline": "x"},
            outputs=config("PREEMPT_VOLUNTARY=y"),
            says="voluntary",
        ),
        "unknown": case(DYNAMIC, refused={"/sys/kernel/debug/sched/preempt": "denied: no"}),
    },
    "kernel.high-res-timers": {
        "pass": case(outputs={"timer-resolution": "  .resolution: 1 nsecs\n"}),
        "pass built": case(
            BOOTED, outputs=config("HIGH_RES_TIMERS=y"), says="/proc/timer_list does not say"
        ),
        "fail": case(outputs={"timer-resolution": "  .resolution: 4000000 nsecs\n"}),
        "fail off": case({"/proc/cmdline": "highres=off"}, outputs=config("HIGH_RES_TIMERS=y")),
        "unknown": case(BOOTED),
    },
    "kernel.default-governor": option(
        ("CPU_FREQ_DEFAULT_GOV_PERFORMANCE=y",), ("CPU_FREQ_DEFAULT_GOV_SCHEDUTIL=y",), "schedutil"
    ),
    "kernel.other-governors": option(
        ("CPU_FREQ_GOV_PERFORMANCE=y",),
        ("CPU_FREQ_GOV_ONDEMAND=m", "CPU_FREQ_GOV_USERSPACE=y"),
        "ondemand, userspace",
    ),
    "kernel.tick": {
        "pass": case(BOOTED, outputs=config("HZ_PERIODIC=y"), workload="periodic"),
        "pass off": case(
            {"/proc/cmdline": "nohz=off"}, outputs=config("NO_HZ_FULL=y"), workload="periodic"
        ),
        "pass compute": case(BOOTED, outputs=config("NO_HZ_FULL=y"), workload="compute"),
        "pass mixed, as built by default": case(BOOTED, outputs=config("NO_HZ_IDLE=y")),
        "fail": case(BOOTED, outputs=config("NO_HZ_IDLE=y"), workload="periodic"),
        "fail periodic": case(
            BOOTED, outputs=config("NO_HZ_FULL=y"), workload="periodic", says="avoid NO_HZ"
        ),
        "fail compute": case(
            BOOTED, outputs=config("HZ_PERIODIC=y"), workload="compute", says="wants NO_HZ_FULL"
        ),
        "unknown": case(BOOTED),
    },
    "kernel.lockup-detector": {
        "pass": case(outputs=config("HZ=250")),
        "pass off": case({WATCHDOG: "0"}, outputs=config("LOCKUP_DETECTOR=y")),
        "fail": case({WATCHDOG: "1", ITS_CPUS: "0-1"}, outputs=config("LOCKUP_DETECTOR=y")),
        "unknown": case(refused={WATCHDOG: "denied: no"}, outputs=config("LOCKUP_DETECTOR=y")),
    },
    "kernel.efi-runtime": {
        "pass": case(BOOTED, outputs=config("EFI=y"), says="not booted by EFI"),
        "pass word": case({EFI: "64", "/proc/cmdline": "efi=noruntime"}, outputs=config("EFI=y")),
        "pass built": case({EFI: "64", **BOOTED}, outputs=config("EFI=y", "EFI_DISABLE_RUNTIME=y")),
        "fail": case({EFI: "64", EFI_CPUS: "3\n", **BOOTED}, outputs=config("EFI=y")),
        "fail again": case(
            {EFI: "64", **BOOTED, "/proc/cmdline": "efi=runtime"},
            outputs=config("EFI=y", "EFI_DISABLE_RUNTIME=y"),
        ),
        "unknown": case(BOOTED),
    },
    "kernel.slub-partial": {
        "pass": case(outputs={**config("SLUB_CPU_PARTIAL=y"), "slab-partial": "0\n0\n"}),
        "pass built": case(outputs=config("HZ=250")),
        "fail": case(
            outputs={**config("SLUB_CPU_PARTIAL=y"), "slab-partial": "0\n30\n"}, says="1 of 2"
        ),
        "unknown": case(outputs=config("SLUB_CPU_PARTIAL=y")),
    },
    "kernel.rt-group-sched": {
        "pass": case(BOOTED, outputs=config("HZ=250")),
        "pass word": case(
            {"/proc/cmdline": "rt_group_sched=0"}, outputs=config("RT_GROUP_SCHED=y")
        ),
        "fail": case(BOOTED, outputs=config("RT_GROUP_SCHED=y")),
        "unknown": case(BOOTED),
    },
    "kernel.rcu-boost": {
        **option(("PREEMPT_RCU=y", "RCU_BOOST=y"), ("PREEMPT_RCU=y",)),
        "pass not preempted": case(outputs=config("TREE_RCU=y"), says="not preempted"),
    },
}


#: Linux Documentation/core-api/real-time/kernel-configuration.rst, "Severity" of each option.
DOCUMENTED = {
    "kernel.cpu-freq": "high",
    "kernel.default-governor": "high",
    "kernel.other-governors": "medium",
    "kernel.cpu-idle": "info",
    "kernel.efi-runtime": "medium",
    "kernel.tick": "medium",
    "kernel.preempt-rt": "fatal",
    "kernel.tracing": "info",
    "kernel.latency-tracers": "high",
    "kernel.lockup-detector": "high",
    "kernel.lockdep": "high",
}


@pytest.mark.parametrize("id", DOCUMENTED)
def test_severities_are_those_of_the_kernels_documentation(id: str) -> None:
    assert check_called(id).row.severity == DOCUMENTED[id]
    failing = CASES.get(id, {}).get("fail")
    assert failing is None or outcome(id, failing).severity == DOCUMENTED[id]
