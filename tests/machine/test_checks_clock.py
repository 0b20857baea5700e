"""Clocks, timers and who corrects them, on machines made of files."""

from helpers.checks import Cases, Thread, case, window

SOURCES = "/sys/devices/system/clocksource/clocksource0"
CHRONY = "/etc/chrony/chrony.conf"
EVENT = "/sys/devices/system/clockevents/clockevent"
TSC = {"/proc/cpuinfo": "flags\t: fpu tsc constant_tsc nonstop_tsc\n"}
ARM = {"/proc/cpuinfo": "Features\t: fp asimd\n"}
CHRONYD = window(Thread(tid=900, name="chronyd"))
STAMPED = {CHRONY: "pool a iburst\nhwtimestamp *\nmakestep 1 3\n"}
LOG = {"dmesg": "[0.1] clocksource: Switched to clocksource kvm-clock"}
UNSTABLE = (
    "[  12.5] clocksource: timekeeping watchdog on CPU1: Marking clocksource 'tsc' as unstable"
)


def clocks(current: str, available: str = "") -> dict[str, str]:
    return {
        "/proc/cmdline": "quiet",
        f"{SOURCES}/current_clocksource": f"{current}\n",
        f"{SOURCES}/available_clocksource": f"{available or current} \n",
    }


CASES: Cases = {
    "clock.source": {
        "pass": case(clocks("tsc")),
        "pass guest": case(clocks("kvm-clock"), says="the host's page"),
        "fail": case(clocks("hpet", "hpet acpi_pm"), says="over a bus"),
        "fail chosen": case(clocks("acpi_pm", "tsc acpi_pm")),
    },
    "clock.stable": {
        "pass": case({**clocks("tsc"), **TSC}),
        "pass guest": case({**clocks("kvm-clock"), **TSC}, outputs=LOG),
        "fail": case({**clocks("hpet"), **TSC}, outputs={"dmesg": UNSTABLE}, says="Marking"),
    },
    "clock.user-space": {
        "pass": case(clocks("tsc")),
        "fail": case(clocks("hpet")),
        "fail off": case({**clocks("tsc"), "/proc/cmdline": "vdso=0"}),
        "unknown": case({"/proc/cmdline": ""}),
    },
    "clock.event-device": {
        "pass": case({f"{EVENT}0/current_device": "lapic-deadline\n"}),
        "fail": case(
            {f"{EVENT}0/current_device": "hpet\n", f"{EVENT}1/current_device": "dummy_timer\n"}
        ),
    },
    "clock.constant-rate": {
        "pass": case(TSC),
        "pass arm": case(ARM, says="x86 alone"),
        "fail": case({"/proc/cpuinfo": "flags\t: fpu tsc\n"}, says="constant_tsc, nonstop_tsc"),
    },
    "clock.time-stamping": {
        "pass": case(outputs=window()),
        "pass plain": case({CHRONY: "pool a\n#hwtimestamp *\n"}, outputs=CHRONYD),
        "pass kept on": case(
            STAMPED,
            outputs=window(Thread(tid=900, name="chronyd"), Thread(tid=901, name="realtime-entsk")),
        ),
        "fail": case(STAMPED, outputs=CHRONYD),
    },
    "clock.steps": {
        "pass": case(outputs=window(), says="no daemon"),
        "pass bounded": case(STAMPED, outputs=CHRONYD, says="makestep 1 3"),
        "fail": case({CHRONY: "makestep 0.1 -1\n"}, outputs=CHRONYD),
        "fail daemon": case(outputs=window(Thread(tid=900, name="systemd-timesyn"))),
        "pass never": case({CHRONY: "makestep 1 0\n"}, outputs=CHRONYD),
        "pass without": case({CHRONY: "pool a\n"}, outputs=CHRONYD, says="without makestep"),
    },
}
