"""Machines as dicts from path to text: what /proc and /sys of real ones hold, shortened."""

CPU = "/sys/devices/system/cpu"


def _cpu_files(
    cpu: int, *, package: str, siblings: str, caches: list[tuple[str, ...]]
) -> dict[str, str]:
    files = {
        f"{CPU}/cpu{cpu}/topology/core_id": f"{cpu}\n",
        f"{CPU}/cpu{cpu}/topology/physical_package_id": f"{package}\n",
        f"{CPU}/cpu{cpu}/topology/thread_siblings_list": f"{siblings}\n",
    }
    names = (
        "level",
        "type",
        "size",
        "coherency_line_size",
        "ways_of_associativity",
        "shared_cpu_list",
    )
    for index, cache in enumerate(caches):
        for name, text in zip(names, cache, strict=True):
            files[f"{CPU}/cpu{cpu}/cache/index{index}/{name}"] = f"{text}\n"
    return files


def _status(*, uid: int = 0, capabilities: int = 0, seccomp: int = 0, allowed: str = "0-1") -> str:
    return (
        f"Name:\tcat\nUid:\t{uid}\t{uid}\t{uid}\t{uid}\nCapEff:\t{capabilities:016x}\n"
        f"Seccomp:\t{seccomp}\nCpus_allowed:\t3\nCpus_allowed_list:\t{allowed}\n"
    )


def _limits(soft: str, hard: str) -> str:
    return (
        "Limit                     Soft Limit           Hard Limit           Units     \n"
        "Max locked memory         8388608              unlimited            bytes     \n"
        f"Max realtime priority     {soft:<20} {hard:<20}           \n"
        "Max realtime timeout      unlimited            unlimited            us        \n"
    )


ALL_CAPABILITIES = 0x1FFFFFFFFFF
SYS_NICE = 1 << 23

#: A KVM guest without cpufreq, with hybrid control groups and RT_GROUP_SCHED.
VIRTUAL_MACHINE = {
    "/proc/version": "Linux version 6.18.44 (x@y) (gcc (GCC) 15.3.0) #1 SMP PREEMPT_DYNAMIC @0\n",
    "/proc/sys/kernel/osrelease": "6.18.44\n",
    "/proc/sys/kernel/version": "#1 SMP PREEMPT_DYNAMIC @0\n",
    "/proc/sys/kernel/hostname": "vm\n",
    "/proc/sys/kernel/arch": "x86_64\n",
    "/proc/sys/kernel/sched_rt_runtime_us": "950000\n",
    "/proc/sys/kernel/sched_rt_period_us": "1000000\n",
    "/proc/config.gz": (
        "CONFIG_PREEMPT_BUILD=y\nCONFIG_PREEMPT_NONE=y\n# CONFIG_PREEMPT is not set\n"
        "CONFIG_PREEMPT_DYNAMIC=y\nCONFIG_RT_GROUP_SCHED=y\n"
    ),
    "/proc/cmdline": "mitigations=auto console=ttyS0 quiet psi=1\n",
    "/proc/cpuinfo": "".join(
        f"processor\t: {cpu}\nvendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 167\n"
        f"model name\t: Intel(R) Xeon(R) Processor\nstepping\t: 1\ncpu MHz\t\t: {mhz}\n"
        "flags\t\t: fpu lm constant_tsc hypervisor nonstop_tsc\n\n"
        for cpu, mhz in ((0, "2700.000"), (1, "2700.125"))
    ),
    "/proc/stat": (
        "cpu  9037 85 2068 250362 393 0 89 7 5 0\n"
        "cpu0 2283 48 713 127907 15 0 34 4 5 0\n"
        "cpu1 6754 37 1355 122454 377 0 54 3 0 0\nintr 1 2\n"
    ),
    "/proc/meminfo": "MemTotal:   24684096 kB\nMemAvailable: 24271524 kB\nSwapTotal:   0 kB\n",
    "/proc/loadavg": "0.06 0.10 0.07 2/95 11209\n",
    "/proc/self/status": _status(capabilities=ALL_CAPABILITIES),
    "/proc/self/limits": _limits("0", "0"),
    "/proc/self/uid_map": "         0          0 4294967295\n",
    "/proc/self/cgroup": "9:name=systemd:/\n3:cpuset:/\n1:cpu,cpuacct:/\n0::/\n",
    "/proc/self/mountinfo": (
        "31 23 0:28 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw,mode=755\n"
        "34 31 0:31 / /sys/fs/cgroup/cpuset rw,relatime - cgroup cgroup rw,cpuset\n"
        "32 31 0:29 / /sys/fs/cgroup/cpu rw,relatime shared:5 - cgroup cgroup rw,cpu,cpuacct\n"
        "41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw\n"
    ),
    "/sys/fs/cgroup/cpuset/cpuset.effective_cpus": "0-1\n",
    "/sys/fs/cgroup/cpu/cpu.rt_runtime_us": "950000\n",
    "/sys/fs/cgroup/cpu/cpu.rt_period_us": "1000000\n",
    "/sys/fs/cgroup/cpu/cpu.cfs_quota_us": "-1\n",
    "/sys/devices/system/clocksource/clocksource0/current_clocksource": "tsc\n",
    "/sys/kernel/mm/transparent_hugepage/enabled": "always [madvise] never\n",
    f"{CPU}/online": "0-1\n",
    f"{CPU}/isolated": "\n",
    f"{CPU}/vulnerabilities/meltdown": "Not affected\n",
    f"{CPU}/vulnerabilities/retbleed": "Mitigation: Enhanced IBRS\n",
    **_cpu_files(
        0, package="0", siblings="0",
        caches=[("1", "Data", "48K", "64", "12", "0"), ("3", "Unified", "480M", "64", "16", "0-1")],
    ),
    **_cpu_files(
        1, package="0", siblings="1",
        caches=[("1", "Data", "48K", "64", "12", "1"), ("3", "Unified", "480M", "64", "16", "0-1")],
    ),
}  # fmt: skip

#: A four-core Arm board: device tree, cpufreq, no DMI, a vendor kernel without dynamic preemption.
ARM_BOARD = {
    "/proc/version": "Linux version 5.15.32-v8+ (x@y) (gcc 11) #1538 SMP PREEMPT Thu Mar 31\n",
    "/proc/sys/kernel/osrelease": "5.15.32-v8+\n",
    "/proc/sys/kernel/version": "#1538 SMP PREEMPT Thu Mar 31\n",
    "/proc/sys/kernel/hostname": "board\n",
    "/proc/cmdline": "console=tty1 isolcpus=2,3 nohz_full=2,3\n",
    "/proc/cpuinfo": (
        "processor\t: 0\nBogoMIPS\t: 108.00\nFeatures\t: fp asimd\nCPU implementer\t: 0x41\n"
        "CPU architecture: 8\nCPU variant\t: 0x0\nCPU part\t: 0xd08\n\nHardware\t: BCM2835\n"
    ),
    "/proc/device-tree/model": "Raspberry Pi 4 Model B Rev 1.4\0",
    "/proc/device-tree/compatible": "raspberrypi,4-model-b\0brcm,bcm2711\0",
    "/proc/stat": "cpu  4 0 4 40 0 0 0 0 0 0\n"
    + "".join(f"cpu{cpu} 1 0 1 10 0 0 0 0 0 0\n" for cpu in range(4)),
    "/proc/self/status": _status(uid=1000, allowed="0-1"),
    "/proc/self/limits": _limits("0", "95"),
    f"{CPU}/online": "0-3\n",
    f"{CPU}/isolated": "2-3\n",
    f"{CPU}/nohz_full": "2-3\n",
    f"{CPU}/cpufreq/boost": "0\n",
    "/sys/class/thermal/thermal_zone0/type": "cpu-thermal\n",
    "/sys/class/thermal/thermal_zone0/temp": "48686\n",
    **{
        f"{CPU}/cpu{cpu}/cpufreq/{name}": f"{text}\n"
        for cpu in range(4)
        for name, text in (
            ("scaling_driver", "cpufreq-dt"),
            ("scaling_governor", "performance" if cpu < 3 else "ondemand"),
            ("scaling_min_freq", "600000"),
            ("scaling_max_freq", "1500000"),
            ("scaling_cur_freq", f"{1500000 - cpu}"),
        )
    },
    **{f"{CPU}/cpu{cpu}/regs/identification/midr_el1": "0x00000000410fd083\n" for cpu in range(4)},
    **_cpu_files(0, package="0", siblings="0", caches=[]),
}

#: A bare-metal PC with PREEMPT_RT, throttling counters, and control groups of version 2 only.
RT_KERNEL = {
    "/proc/version": "Linux version 6.1.0-53-rt-amd64 #1 SMP PREEMPT_RT Debian 6.1.1\n",
    "/proc/sys/kernel/osrelease": "6.1.0-53-rt-amd64\n",
    "/proc/sys/kernel/version": "#1 SMP PREEMPT_RT Debian 6.1.1 (2026-01-01)\n",
    "/proc/sys/kernel/sched_rt_runtime_us": "-1\n",
    "/sys/kernel/realtime": "1\n",
    "/proc/cpuinfo": (
        "processor\t: 0\ncpu family\t: 25\nmodel\t\t: 33\nmodel name\t: AMD Ryzen 9\n"
        "stepping\t: 0\nflags\t\t: fpu lm tsc\n"
    ),
    "/proc/self/status": _status(uid=1000, allowed="0"),
    "/proc/self/limits": _limits("95", "unlimited"),
    "/proc/self/cgroup": "0::/user.slice/session-1.scope\n",
    "/proc/self/mountinfo": "30 23 0:26 / /sys/fs/cgroup rw shared:9 - cgroup2 cgroup2 rw\n",
    "/sys/fs/cgroup/cgroup.controllers": "cpuset cpu io memory pids\n",
    "/sys/fs/cgroup/user.slice/cgroup.type": "domain\n",
    "/sys/fs/cgroup/user.slice/cgroup.controllers": "memory pids\n",
    "/sys/fs/cgroup/user.slice/session-1.scope/cgroup.type": "domain\n",
    "/sys/fs/cgroup/user.slice/session-1.scope/cpu.max": "max 100000\n",
    "/sys/fs/cgroup/user.slice/session-1.scope/cgroup.controllers": "cpu memory pids\n",
    "/sys/class/dmi/id/sys_vendor": "ASUS\n",
    f"{CPU}/online": "0\n",
    f"{CPU}/nohz_full": "(null)\n",
    f"{CPU}/cpu0/thermal_throttle/core_throttle_count": "7\n",
    f"{CPU}/cpu0/thermal_throttle/package_throttle_count": "9\n",
}


def changed(machine: dict[str, str], **texts: str | None) -> dict[str, str]:
    """A machine with other /proc/self files: ``status=...``, ``cgroup=...``; None removes one."""
    return replaced(machine, {f"/proc/self/{name}": text for name, text in texts.items()})


def replaced(machine: dict[str, str], texts: dict[str, str | None]) -> dict[str, str]:
    """A machine with other files; None removes one."""
    merged = {**machine, **texts}
    return {path: text for path, text in merged.items() if text is not None}


status = _status
limits = _limits
