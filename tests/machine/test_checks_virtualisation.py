"""What is below the kernel: made-up machines for every check of the family."""

from helpers.checks import Cases, case, config, window

GUEST = {"/proc/cpuinfo": "vendor_id : AuthenticAMD\nflags : fpu hypervisor lm\n"}
METAL = {"/proc/cpuinfo": "vendor_id : GenuineIntel\nflags : fpu lm\n"}
BOARD = {"/proc/device-tree/model": "Toradex Apalis iMX6Q\0"}
POLL = "/sys/module/haltpoll/parameters/guest_halt_poll_ns"
DRIVER = "/sys/devices/system/cpu/cpuidle/current_driver"
CLOCK = "/sys/devices/system/clocksource/clocksource0/{}_clocksource"
LOCKDOWN = "/sys/kernel/security/lockdown"
MAX = "/sys/fs/cgroup/a/cpu.max"


def clocks(now: str) -> dict[str, str]:
    return {CLOCK.format("current"): f"{now}\n", CLOCK.format("available"): "kvm-clock tsc hpet\n"}


CASES: Cases = {
    "virtualisation.hypervisor": {
        "pass": case(METAL),
        "fail": case(GUEST, says="hypervisor flag"),
    },
    "virtualisation.steal": {
        "pass": case(outputs=window(steal=(7, 7)), says="since the boot"),
        "fail": case(outputs=window(steal=(7, 9)), says="CPU 1: 2 ticks"),
        "unknown": case(outputs={"window": window()["window"].replace("cpu0", "x").replace(
            "cpu1", "x")}),
        "fail one": case(outputs=window(steal=(7, 8)), says="CPU 1: 1 ticks; 2."),
    },
    "virtualisation.gaps": {
        "pass": case(outputs={"gaps": "gap 5 4 39000000\nend 30\n"}, says="300 ms"),
        "fail": case(outputs={"gaps": "gap 5 4 1000000\nend 30\n"}, says="40 ms at 50 ms"),
        "unknown": case(outputs={"gaps": "gap 5 4 0\n"}),
        "fail 15 ms": case(outputs={"gaps": "gap 5 4 25000000\nend 30\n"}),
        "fail nearly regularly": case(
            outputs={"gaps": "gap 3 4 0\ngap 13 4 0\ngap 25 5 0\nend 30\n"}, says="a quota"
        ),
    },
    "virtualisation.quota": {
        "pass": case(outputs={"cpu-quota": f"{MAX} max 100000\n"}, says="no limit"),
        "fail": case(outputs={"cpu-quota": f"{MAX} 50000 100000\n"}, says="50000 of 100000 us"),
        "fail stopped": case(
            outputs={
                "cpu-quota": "/g/cpu.max 20000 100000\n/g/cpu.stat nr_periods 40\n"
                "/g/cpu.stat nr_throttled 12\n/g/cpu.stat throttled_usec 350000\n"
            },
            says="stopped in 12 of 40 periods, 350 ms",
        ),
        "fail version 1": case(
            outputs={
                "cpu-quota": "/g/cpu.cfs_quota_us 20000 100000\n/g/cpu.stat nr_periods 9\n"
                "/g/cpu.stat nr_throttled 1\n/g/cpu.stat throttled_time 5000000\n"
            },
            says="stopped in 1 of 9 periods, 5 ms",
        ),
    },
    "virtualisation.guest-polling": {
        "pass": case({**GUEST, POLL: "200000\n", DRIVER: "haltpoll\n"}),
        "pass no guest": case(METAL),
        "fail": case({**GUEST, POLL: "0\n", DRIVER: "haltpoll\n"}),
        "unknown": case(GUEST),
    },
    "virtualisation.clock": {
        "pass": case(clocks("tsc")),
        "fail": case(clocks("kvm-clock")),
        "unknown": case({CLOCK.format("current"): "tsc\n"}),
    },
    "virtualisation.smi": {
        "pass": case(METAL, outputs=window(smi=(4, 4)), says="4 since the boot"),
        "fail": case(METAL, outputs=window(smi=(4, 6)), says="2 in 0.5 s"),
        "unknown": case(METAL, outputs=window(), says="msr-tools"),
    },
    "virtualisation.firmware": {
        "pass": case(BOARD, says="no setup program"),
        "fail": case({**METAL, "/sys/devices/system/cpu/smt/active": "1\n",
                      "/sys/module/pcie_aspm/parameters/policy": "[default] performance\n"},
                     says="hyper-threading on, ASPM [default]"),
        "unknown": case({**METAL, "/sys/class/dmi/id/bios_version": "1.2\n"}, says="C1E"),
    },
    "virtualisation.lockdown": {
        "pass": case({LOCKDOWN: "[none] integrity confidentiality\n"}),
        "pass not built": case(outputs=config("SMP=y")),
        "fail": case({LOCKDOWN: "none [integrity] confidentiality\n"}, says="integrity |"),
        "unknown": case(outputs=config("SECURITY_LOCKDOWN_LSM=y"), says="no such file"),
    },
}  # fmt: skip
