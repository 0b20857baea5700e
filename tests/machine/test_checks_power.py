"""What the processor saves power with, on machines made of files."""

from helpers.checks import Cases, case

CPU = "/sys/devices/system/cpu"
ZONE = "/sys/class/thermal/thermal_zone0"
LINK = "/sys/bus/pci/devices/0000:00:01.0/link/l1_aspm"
ASPM = "/sys/module/pcie_aspm/parameters/policy"
BOOTED = {"/proc/cmdline": "quiet", f"{CPU}/online": "0-1", f"{CPU}/isolated": ""}
GUEST = {"/proc/cpuinfo": "flags : tsc hypervisor\n"}
NONE = {"dma-latency": "  2000000000\n"}


def each(name: str, *values: str) -> dict[str, str]:
    """A file of CPU 0, of CPU 1, and so on."""
    return {f"{CPU}/cpu{cpu}/{name}": f"{value}\n" for cpu, value in enumerate(values)}


def states(*exits: int, disabled: str = "0") -> dict[str, str]:
    """The idle states of CPU 1, deeper ones behind."""
    return {
        **{f"{CPU}/cpu1/cpuidle/state{n}/latency": f"{us}" for n, us in enumerate(exits)},
        **{f"{CPU}/cpu1/cpuidle/state{n}/disable": disabled for n in range(len(exits))},
    }


def caches(near: str, last: str) -> dict[str, str]:
    """Level 2 and 3 of CPU 1 and who else has them, among four CPUs."""
    rows = (("2", near), ("3", last))
    return {
        f"{CPU}/online": "0-3",
        **{f"{CPU}/cpu1/cache/index{level}/level": level for level, _ in rows},
        **{f"{CPU}/cpu1/cache/index{level}/shared_cpu_list": cpus for level, cpus in rows},
    }


def zone(temp: str, kind: str = "passive") -> dict[str, str]:
    return {
        f"{ZONE}/temp": temp,
        f"{ZONE}/trip_point_0_temp": "90000\n",
        f"{ZONE}/trip_point_0_type": f"{kind}\n",
        f"{ZONE}/trip_point_1_temp": "-274000\n",
        f"{ZONE}/trip_point_1_type": "critical\n",
    }


ARM = {"/proc/cpuinfo": "processor : 0\nFeatures : half thumb\nCPU implementer : 0x41\n"}
COOLING = "/sys/class/thermal/cooling_device"


def cooling(*devices: tuple[str, str]) -> dict[str, str]:
    """Cooling devices: type and state of each (drivers/thermal/cpufreq_cooling.c)."""
    return {
        f"{COOLING}{n}/{name}": f"{text}\n"
        for n, device in enumerate(devices)
        for name, text in zip(("type", "cur_state"), device, strict=True)
    }


def board(*states: str) -> dict[str, str]:
    """One whose drivers slow the CPUs down."""
    return {**ARM, **cooling(*((f"cpufreq-cpu{2 * n}", s) for n, s in enumerate(states)))}


def frequencies(least: str, most: str) -> dict[str, str]:
    return each("cpufreq/scaling_min_freq", least) | each("cpufreq/scaling_max_freq", most)


def nodes(*cpus: str, kilobytes: tuple[int, ...] = ()) -> dict[str, str]:
    """Memory nodes with their CPUs."""
    folder = "/sys/devices/system/node/node"
    sizes = {
        f"{folder}{n}/meminfo": f"Node {n} MemTotal:  {size:7} kB\n"
        for n, size in enumerate(kilobytes)
    }
    return {f"{folder}{n}/cpulist": f"{own}\n" for n, own in enumerate(cpus)} | sizes


SIBLINGS = each("topology/thread_siblings_list", "0-1", "0-1")
APART = each("topology/thread_siblings_list", "0", "1")
RESCTRL = {"/proc/filesystems": "nodev\tproc\nnodev\tresctrl\n"}
ASPM_DEFAULT = {**BOOTED, ASPM: "[default] performance powersave\n"}


CASES: Cases = {
    "power.energy-preference": {
        "fail bias": case(
            {f"{CPU}/cpu{c}/power/energy_perf_bias": f"{6 * c}\n" for c in (0, 1)}, says="6: CPUs 1"
        )
    },
    "power.fixed-frequency": {
        "pass": case(frequencies("2000000", "2000000"), says="2000 MHz"),
        "fail": case(frequencies("800000", "2000000"), says="800-2000 MHz"),
    },
    "power.turbo": {
        "pass": case({f"{CPU}/intel_pstate/no_turbo": "1"}),
        "pass boost": case({f"{CPU}/cpufreq/boost": "0"}),
        "fail": case({f"{CPU}/intel_pstate/no_turbo": "0"}),
    },
    "power.idle-states": {
        "pass": case(states(0, 2), outputs=NONE),
        "pass held": case(states(0, 120), outputs={"dma-latency": "0"}, says="ruled out"),
        "pass limit": case(
            states(0, 120) | each("power/pm_qos_resume_latency_us", "0", "n/a"), outputs=NONE
        ),
        "pass halt": case({f"{CPU}/cpuidle/current_driver": "none"}, outputs=NONE),
        "fail": case(states(0, 2, 120), outputs=NONE, says="up to 120 us on CPU 1"),
        "pass 10 us": case(states(0, 10), outputs=NONE),
        "fail as long as the limit": case(states(0, 120), outputs={"dma-latency": "120"}),
    },
    "power.dma-latency": {
        "pass": case(
            outputs={"dma-latency": "0\ncyclictest\ncyclictest\n"}, says="by cyclictest |"
        ),
        "fail": case(outputs=NONE, says="no program holds it"),
        "pass 10 us": case(outputs={"dma-latency": "10"}),
    },
    "power.resume-latency": {
        "pass": case(each("power/pm_qos_resume_latency_us", "0", "n/a") | states(0, 120)),
        "fail": case(each("power/pm_qos_resume_latency_us", "n/a", "0") | states(0, 120)),
        "unknown words": case(each("power/pm_qos_resume_latency_us", "0", "?")),
        "pass 10 us": case(each("power/pm_qos_resume_latency_us", "0", "10") | states(0, 11)),
        "pass 1 us": case(each("power/pm_qos_resume_latency_us", "0", "1") | states(0, 11)),
        "fail 11 us": case(each("power/pm_qos_resume_latency_us", "0", "11") | states(0, 11)),
        "pass short states": case(each("power/pm_qos_resume_latency_us", "0", "0") | states(0, 10)),
    },
    "power.smt": {
        "pass": case({f"{CPU}/smt/active": "0", f"{CPU}/smt/control": "off"}, says="off"),
        "pass arm": case(APART),
        "fail": case({f"{CPU}/smt/active": "1"}),
        "fail guest": case({f"{CPU}/smt/active": "1", **GUEST}),
        "fail siblings": case(SIBLINGS),
    },
    "power.smt-siblings": {
        "pass": case(BOOTED | APART),
        "pass idle": case(BOOTED | SIBLINGS | {f"{CPU}/isolated": "0-1"}, says="keep them idle"),
        "fail": case(BOOTED | SIBLINGS),
        "fail both": case(
            BOOTED | SIBLINGS | {f"{CPU}/isolated": "0-1"},
            rt_cpus=(0, 1),
            says="another real-time task's",
        ),
        "unknown": case(BOOTED),
        "unknown guest": case(BOOTED | APART | GUEST),
    },
    "power.shared-cache": {
        "pass": case(caches("1", "1")),
        "fail": case(caches("0-1", "0-3"), says="also near caches"),
        "fail last": case(caches("1", "0-3"), says="L3: CPUs 0,2-3"),
        "unknown": case({f"{CPU}/online": "0-3"}),
        "fail two levels": case(
            {
                f"{CPU}/online": "0-3",
                f"{CPU}/cpu1/cache/index2/level": "2",
                f"{CPU}/cpu1/cache/index2/shared_cpu_list": "0-3",
            },
            says="also near caches",
        ),
    },
    "power.numa": {
        "pass": case(nodes("0-3")),
        "fail": case(nodes("0-1", "2-3"), rt_cpus=(1, 2), says="node0, node1 of 2"),
        "fail empty": case(
            nodes("0-1", "2-3", kilobytes=(8000000, 0)),
            rt_cpus=(2, 3),
            says="node1 has no memory: every access of CPUs 2-3 is remote",
        ),
        "pass memory alone": case(nodes("0-3", "", kilobytes=(8000000, 8000000))),
        "pass none": case({f"{CPU}/online": "0-3"}, says="no memory nodes"),
    },
    "power.cache-allocation": {
        "pass": case({"/proc/filesystems": "nodev\tproc\n\text4\n"}, says="not available"),
        "pass used": case(
            {**RESCTRL, "/sys/fs/resctrl/rt/schemata": "L3:0=f\n"}, says="groups: rt"
        ),
        "fail": case(RESCTRL),
    },
    "power.throttling": {
        "pass": case(each("thermal_throttle/core_throttle_count", "0", "0")),
        "fail": case(
            each("thermal_throttle/core_throttle_count", "0", "12"),
            says="cpu1 core_throttle_count = 12",
        ),
        "pass board": case(board("0", "0"), says="0 of 2 cooling devices"),
        "pass no cooling": case(ARM, says="not applicable"),
        "fail PC": case(
            each("thermal_throttle/core_throttle_count", "0", "0")
            | cooling(("Processor", "1"), ("Processor", "0"), ("intel_powerclamp", "-1")),
            says="Processor = 1 |",
        ),
        "unknown state": case(board("0", "?")),
    },
    "power.temperature": {
        "pass": case(zone("45000"), says="45 °C"),
        "fail": case(zone("87000"), says="thermal_zone0"),
        "pass 5 degrees below": case(zone("84999"), says="85 °C in thermal_zone0"),
        "fail 5 degrees below": case(zone("85000")),
        "pass no trip point": case({**zone("45000"), f"{ZONE}/trip_point_0_temp": "0\n"}),
        "pass another zone": case({**zone("45000"), ZONE.replace("0", "1") + "/temp": "words\n"}),
    },
    "power.capacity": {
        "pass": case(each("cpu_capacity", "1024", "1024")),
        "pass kinds": case(each("cpu_capacity", "446", "1024"), says="the others differ"),
        "fail": case(each("cpu_capacity", "446", "1024"), rt_cpus=(0, 1)),
    },
    "power.pcie-aspm": {
        "pass": case({**BOOTED, ASPM: "default [performance] powersave\n"}),
        "pass off": case({"/proc/cmdline": "pcie_aspm=off"}),
        "pass awake": case({**ASPM_DEFAULT, LINK: "0\n"}),
        "fail": case({**ASPM_DEFAULT, LINK: "1\n"}, says="0000:00:01.0"),
        "unknown": case(BOOTED),
    },
}
