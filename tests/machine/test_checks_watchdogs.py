"""What watches the system, on machines made of files."""

from helpers.checks import Case, Cases, Thread, case, config, window

KERNEL = "/proc/sys/kernel"
RCU = "/sys/module/rcupdate/parameters"
MACHINE_CHECK = "/sys/devices/system/machinecheck/machinecheck"
TRACING = "/sys/kernel/tracing"
SCRUB = "/sys/devices/system/edac/mc/mc0/sdram_scrub_rate"
SOFT, ITS_CPUS = f"{KERNEL}/soft_watchdog", f"{KERNEL}/watchdog_cpumask"
BOOTED = {"/proc/cmdline": "quiet"}
JOURNALD = window(Thread(tid=300, name="systemd-journal"))
JOURNAL = "/etc/systemd/journald.conf"
PROGRAMS = "3: cgroup_device  name sd_devices  tag ab\n\tloaded_at 2026\n"


def stalls(
    panic: int = 0, suppress: int = 0, timeout: int = 21, expedited: int | None = 0, says: str = ""
) -> Case:
    values = {
        f"{KERNEL}/panic_on_rcu_stall": panic,
        f"{RCU}/rcu_cpu_stall_suppress": suppress,
        f"{RCU}/rcu_cpu_stall_timeout": timeout,
        f"{RCU}/rcu_exp_cpu_stall_timeout": expedited,
    }
    there = {path: f"{value}\n" for path, value in values.items() if value is not None}
    return case(there, says=says)


def traced(tracer: str = "nop", events: str = "", folder: str = TRACING, **instances: str) -> Case:
    files = {f"{folder}/current_tracer": tracer, f"{folder}/set_event": events}
    files |= {f"{folder}/instances/{name}/set_event": text for name, text in instances.items()}
    return case(files)


def machine_checks(interval: str, ignore: str) -> dict[str, str]:
    return {
        **{f"{MACHINE_CHECK}{cpu}/check_interval": interval for cpu in (0, 1)},
        **{f"{MACHINE_CHECK}{cpu}/ignore_ce": ignore for cpu in (0, 1)},
    }


def running(*names: str) -> dict[str, str]:
    return window(*(Thread(tid=800 + n, name=name) for n, name in enumerate(names)))


CASES: Cases = {
    "watchdogs.soft-lockup": {
        "pass": case({**BOOTED, SOFT: "0"}),
        "pass not built": case(BOOTED),
        "fail": case({**BOOTED, SOFT: "1", ITS_CPUS: "0-1"}, says="on CPU 1"),
        "unknown": case({**BOOTED, SOFT: "1"}),
    },
    "watchdogs.rcu-stall": {
        "pass": stalls(),
        "pass suppressed": stalls(suppress=1, expedited=20),
        "pass before 5.19": stalls(expedited=None, says="before Linux 5.19"),
        "fail": stalls(panic=1),
        "pass a second": stalls(expedited=1000),
        "fail 1 ms": stalls(expedited=1),
    },
    "watchdogs.tracing": {
        "pass": traced(),
        "pass debugfs": traced(folder="/sys/kernel/debug/tracing"),
        "fail": traced("function"),
        "fail events": traced(events="sched:sched_switch\nirq:irq_handler_entry\n"),
        "fail instance": traced(mine="sched:sched_switch\n"),
        "fail tracer of an instance": case(
            {
                f"{TRACING}/current_tracer": "nop",
                f"{TRACING}/set_event": "",
                f"{TRACING}/instances/mine/set_event": "",
                f"{TRACING}/instances/mine/current_tracer": "function\n",
            },
            says="tracer function in mine",
        ),
    },
    "watchdogs.bpf": {
        "pass": case(outputs={"bpf-programs": PROGRAMS}, says="0 of 1"),
        "fail": case(
            outputs={"bpf-programs": f"{PROGRAMS}9: kprobe  name a  tag x\n12: kprobe  name b\n"},
            says="2 kprobe",
        ),
        "unknown": case(says="no such program"),
    },
    "watchdogs.profilers": {
        "pass": case(outputs=running("sshd", "performer")),
        "fail": case(outputs=running("perf", "bpftrace"), says="bpftrace, perf"),
    },
    "watchdogs.machine-check": {
        "pass": case(machine_checks("0", "0")),
        "pass ignored": case(machine_checks("300", "1")),
        "pass elsewhere": case(
            {**machine_checks("0", "0"), f"{MACHINE_CHECK}0/check_interval": "300"}
        ),
        "fail": case(machine_checks("300", "0"), says="every 300 s"),
        "pass board": case(
            {"/proc/cpuinfo": "processor : 0\nCPU implementer : 0x41\n"}, says="not applicable"
        ),
        "unknown other": case(machine_checks("0", "0"), rt_cpus=(7,)),
    },
    "watchdogs.scrubbing": {
        "pass": case({SCRUB: "0"}),
        "fail": case({SCRUB: "5120000"}),
        "unknown words": case({SCRUB: "?"}),
    },
    "watchdogs.audit": {
        "pass": case(BOOTED, outputs=running("sshd")),
        "pass off": case({"/proc/cmdline": "audit=0"}, outputs=running("auditd")),
        "fail": case(BOOTED, outputs=running("auditd")),
        "fail word": case({"/proc/cmdline": "audit=1"}, outputs=running("sshd")),
        "unknown": case(BOOTED),
    },
    "watchdogs.journal": {
        "pass": case(BOOTED, outputs=running("sshd")),
        "fail": case({**BOOTED, JOURNAL: "[Journal]\nRateLimitBurst=0\n"}, outputs=JOURNALD),
        "unknown": case(BOOTED),
    },
    "watchdogs.psi": {
        "pass": case({"/proc/cmdline": "psi=0"}, outputs=config("PSI=y")),
        "pass not built": case(BOOTED, outputs=config("HZ=250")),
        "pass default": case(BOOTED, outputs=config("PSI=y", "PSI_DEFAULT_DISABLED=y")),
        "fail": case({**BOOTED, "/proc/pressure/cpu": "some avg10=0.00"}),
        "fail word": case({"/proc/cmdline": "psi=1", "/proc/pressure/cpu": ""}, says="psi=1"),
        "unknown": case(BOOTED),
        "unknown why": case(BOOTED, outputs=config("PSI=y"), says="is not there"),
    },
}
