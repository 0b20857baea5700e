"""Knobs of CPUs and interrupts whose files or values depend on what the machine has."""

from __future__ import annotations

from deadbeat.host.proc import INTERRUPTS, interrupts_of
from deadbeat.host.values import UnreadError, cpu_mask, cpus_text, mask_cpus, parse_cpu_list
from deadbeat.settings import sources
from deadbeat.settings.facts import Facts
from deadbeat.settings.knob import (
    ONLINE,
    Knob,
    NotHereError,
    Setting,
    Values,
    housekeeping_mask,
    of_cpus,
    one_of,
    present,
    whole,
)
from deadbeat.settings.reading_interrupts import COMMANDS, MODES, managed_by_name, read_only
from deadbeat.settings.reading_values import housekeeping

_PATHS = ("/proc/sys/net/core/busy_read", "/proc/sys/net/core/busy_poll")


def _busy_poll(facts: Facts, value: str) -> list[Setting]:
    return [Setting(each, value) for path in _PATHS for each in present(facts, path)]


_CLOCKSOURCE_FOLDER = "/sys/devices/system/clocksource/clocksource0"


_CURRENT, _CLOCKSOURCE_AVAILABLE = (
    f"{_CLOCKSOURCE_FOLDER}/current_clocksource",
    f"{_CLOCKSOURCE_FOLDER}/available_clocksource",
)


def _clocksource(facts: Facts, value: str) -> list[Setting]:
    offered = facts.text(_CLOCKSOURCE_AVAILABLE).split()
    if value not in offered:
        raise NotHereError(f"{_CLOCKSOURCE_AVAILABLE} offers {', '.join(offered)} only")
    return [Setting(path, value) for path in present(facts, _CURRENT)]


_DEFAULT_IRQ_AFFINITY_PATH = "/proc/irq/default_smp_affinity"


def _default_irq_affinity(facts: Facts, _value: str) -> list[Setting]:
    return [
        Setting(each, housekeeping_mask(facts), "mask")
        for each in present(facts, _DEFAULT_IRQ_AFFINITY_PATH)
    ]


_FIXED_FREQUENCY_FOLDER = "/sys/devices/system/cpu/cpu[0-9]*/cpufreq"


_LEAST, _MOST = (
    f"{_FIXED_FREQUENCY_FOLDER}/scaling_min_freq",
    f"{_FIXED_FREQUENCY_FOLDER}/scaling_max_freq",
)


def _fixed_frequency(facts: Facts, _value: str) -> list[Setting]:
    most = facts.matches(_MOST)
    made = []
    for path in present(facts, _LEAST):
        highest = most.get(path.replace("scaling_min_freq", "scaling_max_freq"))
        if highest is None or not (highest.text or "").strip().isdigit():
            raise NotHereError(f"the highest frequency beside {path} cannot be read")
        made.append(Setting(path, (highest.text or "").strip()))
    return made


_GOVERNOR = "/sys/devices/system/cpu/cpu[0-9]*/cpufreq/scaling_governor"


_GOVERNOR_AVAILABLE = "/sys/devices/system/cpu/cpu[0-9]*/cpufreq/scaling_available_governors"


def _governor(facts: Facts, value: str) -> list[Setting]:
    for path, reading in facts.matches(_GOVERNOR_AVAILABLE).items():
        offered = (reading.text or value).split()
        if value not in offered:
            raise NotHereError(f"{path} offers {', '.join(offered)} only")
    paths = present(facts, _GOVERNOR)
    if any((facts.get(path) or "") == "userspace" for path in paths):
        raise NotHereError("the governor is userspace: the frequency it was told would be lost")
    return [Setting(path, value) for path in paths]


_STATE = "/sys/devices/system/cpu/cpu[0-9]*/cpuidle/state[0-9]*"


_LATENCY, _DISABLE = f"{_STATE}/latency", f"{_STATE}/disable"


def _idle_states(facts: Facts, value: str) -> list[Setting]:
    latencies = facts.matches(_LATENCY)
    made = []
    for path in of_cpus(facts, _DISABLE):
        reading = latencies.get(path.replace("/disable", "/latency"))
        text = (reading.text or "").strip() if reading else ""
        if not text.isdigit():
            raise NotHereError(f"the exit latency beside {path} cannot be read")
        if int(text) > int(value):
            made.append(Setting(path, "1"))
    if not made:
        raise NotHereError(f"no sleep state takes longer than {value} us to leave")
    return made


_LISTS = "/proc/irq/[0-9]*/smp_affinity_list"


_MANAGED = (
    "managed: the kernel places it and refuses any other place; isolcpus=managed_irq moves it"
)


def _fixed(facts: Facts) -> dict[str, str]:
    numbers = managed_by_name(interrupts_of(facts.get(INTERRUPTS) or ""))
    if facts.get(MODES) is not None:
        numbers |= read_only(facts) or set()
    return {f"/proc/irq/{number}/smp_affinity_list": _MANAGED for number in numbers}


def _irq_affinity(facts: Facts, _value: str) -> list[Setting]:
    left = set(housekeeping(facts))
    made = []
    for path in present(facts, _LISTS):
        try:
            now = set(parse_cpu_list(facts.text(path)))
        except (UnreadError, ValueError):
            continue  # of an interrupt that has gone meanwhile
        if now & set(facts.rt_cpus):
            made.append(Setting(path, cpus_text(now & left or left)))
    if not made:
        raise NotHereError("no interrupt may go to the CPUs for real-time tasks")
    return made


_MACHINE_CHECKS_FOLDER = "/sys/devices/system/machinecheck/machinecheck[0-9]*"


_INTERVAL, _IGNORE = (
    f"{_MACHINE_CHECKS_FOLDER}/check_interval",
    f"{_MACHINE_CHECKS_FOLDER}/ignore_ce",
)


def _machine_checks(facts: Facts, _value: str) -> list[Setting]:
    intervals = [Setting(path, "0") for path in present(facts, _INTERVAL)]
    return [*intervals, *(Setting(path, "1") for path in sorted(facts.matches(_IGNORE)))]


_RECEIVE = "/sys/class/net/*/queues/rx-*/rps_cpus"


_SEND = "/sys/class/net/*/queues/tx-*/xps_cpus"


def _packet_steering(facts: Facts, _value: str) -> list[Setting]:
    left = set(housekeeping(facts))
    made = []
    for path in [*present(facts, _RECEIVE), *sorted(facts.matches(_SEND))]:
        try:
            now = set(mask_cpus(facts.text(path)))
        except UnreadError:
            continue  # a device without queues of its own refuses to tell
        if now & set(facts.rt_cpus):
            made.append(Setting(path, cpu_mask(now & left or left), "mask"))
    if not made:
        raise NotHereError("no queue of a network device steers to the CPUs for real-time tasks")
    return made


_RESUME_LATENCY_PATH = "/sys/devices/system/cpu/cpu[0-9]*/power/pm_qos_resume_latency_us"


def _resume_latency(facts: Facts, value: str) -> list[Setting]:
    return [Setting(path, value) for path in of_cpus(facts, _RESUME_LATENCY_PATH)]


_SIBLINGS = "/sys/devices/system/cpu/cpu[0-9]*/topology/thread_siblings_list"


_CONTROL = "/sys/devices/system/cpu/smt/control"


def _smt(facts: Facts, value: str) -> list[Setting]:
    if value == "off":
        return _off(facts)
    online = set(facts.cpu_list(ONLINE))
    cores = [set(parse_cpu_list(text)) for text in facts.texts(_SIBLINGS).values()]
    beside = {cpu for core in cores if core & set(facts.rt_cpus) for cpu in core & online}
    beside -= set(facts.rt_cpus)
    if not beside:
        raise NotHereError("no other hardware thread is beside the CPUs for real-time tasks")
    if 0 in beside:
        raise NotHereError("CPU 0 is a sibling and cannot go offline; choose others with --rt-cpus")
    return [Setting(f"/sys/devices/system/cpu/cpu{cpu}/online", "0") for cpu in sorted(beside)]


def _off(facts: Facts) -> list[Setting]:
    state = facts.get(_CONTROL)
    if state not in ("on", "off"):
        raise NotHereError(f"{_CONTROL}: {state or facts.reading(_CONTROL).reason}")
    return [Setting(_CONTROL, "off")]


_INTEL = "/sys/devices/system/cpu/intel_pstate/no_turbo"


_OTHER = "/sys/devices/system/cpu/cpufreq/boost"


def _turbo(facts: Facts, value: str) -> list[Setting]:
    if facts.get(_INTEL) is not None:
        return [Setting(_INTEL, "1" if value == "off" else "0")]
    if facts.get(_OTHER) is not None:
        return [Setting(_OTHER, "0" if value == "off" else "1")]
    raise NotHereError(f"neither {_INTEL} nor {_OTHER} is there")


_ALL = "/sys/devices/virtual/workqueue/cpumask"


_WRITEBACK = "/sys/devices/virtual/workqueue/writeback/cpumask"


def _workqueues(facts: Facts, _value: str) -> list[Setting]:
    mask = housekeeping_mask(facts)
    made = [Setting(p, mask, "mask") for p in (_ALL, _WRITEBACK) if facts.get(p) is not None]
    if not made:
        raise NotHereError(f"{_ALL}: {facts.reading(_ALL).reason}")
    return made


KNOBS = (
    Knob(
        name="busy-poll",
        title="how long a socket looks for packets before it waits",
        why="a packet that is looked for needs no interrupt and no wake-up",
        source=f"{sources.TUNED_REALTIME} (network-latency)",
        reads=_PATHS,
        values=whole(0, 1000, "us"),
        default="50",
        settings=_busy_poll,
        note="costs that much CPU time in each read and poll that finds nothing",
    ),
    Knob(
        name="clocksource",
        title="clock source",
        why="hpet and acpi_pm are devices: reading the time takes a microsecond, tsc some"
        " nanoseconds",
        source=sources.RHEL_REALTIME,
        cures=("clock.source",),
        reads=(_CURRENT, _CLOCKSOURCE_AVAILABLE),
        values=Values(
            "a clock source", lambda text: text.replace("-", "").replace("_", "").isalnum()
        ),
        default="tsc",
        settings=_clocksource,
        note="in a guest the host's clock source may be the right one: the kernel itself left tsc",
    ),
    Knob(
        name="default-irq-affinity",
        title="interrupts that are requested from now on go to the other CPUs",
        why="a driver that is loaded later would bring its interrupts to every CPU",
        source=sources.CPU_ISOLATION,
        cures=("interrupts.default-placement",),
        reads=(_DEFAULT_IRQ_AFFINITY_PATH, ONLINE),
        settings=_default_irq_affinity,
        note="an interrupt that is requested meanwhile keeps what it got",
    ),
    Knob(
        name="fixed-frequency",
        title="lowest frequency of every CPU as high as its highest",
        why="a frequency that changes makes the same work take different times",
        source=f"{sources.RHEL_REALTIME}; {sources.TUNED_REALTIME} (min_perf_pct=100)",
        cures=("power.fixed-frequency",),
        reads=(_LEAST, _MOST),
        settings=_fixed_frequency,
        note="turbo frequencies may still come and go; see turbo",
    ),
    Knob(
        name="governor",
        title="frequency governor of every CPU",
        why="a CPU that has slowed down needs time to speed up again, and runs slowly meanwhile",
        source=f"{sources.KERNEL_CONFIGURATION}; {sources.TUNED_REALTIME}",
        cures=("power.governor",),
        reads=(_GOVERNOR, _GOVERNOR_AVAILABLE),
        values=Values("the name of a governor", str.isidentifier),
        default="performance",
        settings=_governor,
        note="hotter: where that leads to thermal throttling, a fixed lower frequency is steadier",
    ),
    Knob(
        name="idle-states",
        title="sleep states that take longer to leave than this, off on the CPUs for real-time"
        " tasks",
        why="a CPU that sleeps deeply is late by the time it takes to wake up",
        source=(
            f"{sources.KERNEL_CONFIGURATION}; "
            f"{sources.CPU_ISOLATION}; "
            f"{sources.TUNED_REALTIME} (force_latency)"
        ),
        cures=("power.idle-states",),
        reads=(_LATENCY, _DISABLE),
        values=whole(0, 1_000_000, "us"),
        default="2",
        settings=_idle_states,
        note="for the time of one measurement: deadbeat latency --dma-latency hold",
    ),
    Knob(
        name="irq-affinity",
        title="interrupts of devices go to the other CPUs",
        why="an interrupt of a device takes its time from whatever runs on its CPU",
        source=f"{sources.CPU_ISOLATION}; {sources.RHEL_REALTIME}; {sources.INTEL_ECI}",
        cures=("interrupts.placement",),
        reads=(_LISTS, ONLINE, MODES, INTERRUPTS),
        commands=COMMANDS,
        settings=_irq_affinity,
        fixed=_fixed,
        irreversible="the masks come back exactly, but an interrupt may stay on the CPU it moved"
        " to:"
        " that is chosen anew only when it is next delivered, or not at all",
        keep=("/proc/irq/*/effective_affinity_list",),
        note="managed interrupts (of disks and network cards) would refuse it and are left alone;"
        " isolcpus=managed_irq (boot-isolation) moves them; irqbalance, where it runs, undoes it",
    ),
    Knob(
        name="machine-checks",
        title="no polling for corrected errors",
        why="every five minutes a timer on each CPU reads the error registers of all banks",
        source=f"{sources.TUNED_REALTIME}; {sources.TUNED_PARTITIONING}",
        cures=("watchdogs.machine-check",),
        reads=(_INTERVAL, _IGNORE),
        settings=_machine_checks,
        note="memory that begins to fail is noticed only when it has failed",
    ),
    Knob(
        name="packet-steering",
        title="packets that are steered in software go to the other CPUs",
        why="processing packets, the kernel holds the CPU in softirq for milliseconds",
        source=f"{sources.TUNED_REALTIME}; {sources.NET_SCALING}",
        cures=("interrupts.receive-steering", "interrupts.send-steering"),
        reads=(_RECEIVE, _SEND, ONLINE),
        settings=_packet_steering,
        note="where steering is off it stays off: packets are processed where their interrupt"
        " arrives",
    ),
    Knob(
        name="resume-latency",
        title="longest wake-up from sleep that the CPUs for real-time tasks may take",
        why="what holding /dev/cpu_dma_latency open does for all CPUs, this does for some, and it"
        " stays",
        source="Linux Documentation/admin-guide/pm/cpuidle.rst",
        cures=("power.resume-latency", "power.idle-states"),
        reads=(_RESUME_LATENCY_PATH,),
        values=Values(
            "n/a (none at all), 0 (any) or microseconds",
            lambda text: text == "n/a" or (text.isascii() and text.isdigit() and len(text) < 10),
        ),
        default="n/a",
        settings=_resume_latency,
        note="n/a makes an idle CPU spin: power, heat, and in a guest the host's time",
    ),
    Knob(
        name="smt",
        title="hardware threads beside the CPUs for real-time tasks offline, or SMT off altogether",
        why="two threads of a core share its execution units and its first caches",
        source=f"{sources.CPU_ISOLATION}; {sources.RHEL_REALTIME}",
        cures=("power.smt-siblings",),
        reads=(_SIBLINGS, _CONTROL, ONLINE),
        values=one_of("siblings", "off"),
        default="siblings",
        settings=_smt,
        irreversible="interrupts move away from a CPU that goes offline, and do not all move back"
        " when it"
        " returns: managed ones (of disks and network cards) stay until the next boot; so do"
        " shrunken"
        " affinities of tasks and cpusets",
        keep=("/proc/irq/*/effective_affinity_list", "/proc/irq/*/smp_affinity_list"),
        note="nosmt on the kernel's command line (boot-nosmt) has no such remains",
    ),
    Knob(
        name="turbo",
        title="frequencies above the nominal one",
        why="how long turbo lasts depends on heat and on the other cores: execution times vary"
        " with it",
        source=sources.CONGATEC,
        cures=("power.turbo",),
        reads=(_INTEL, _OTHER),
        values=one_of("on", "off"),
        default="off",
        settings=_turbo,
        note="off is steadier and slower; no profile turns it",
    ),
    Knob(
        name="workqueues",
        title="unbound kernel work and writeback on the other CPUs",
        why="kernel workers that may run anywhere also run on the CPUs for real-time tasks",
        source=f"{sources.TUNED_REALTIME}; {sources.PER_CPU_KTHREADS}",
        cures=("interrupts.workqueues", "interrupts.writeback"),
        reads=(_ALL, _WRITEBACK, ONLINE),
        settings=_workqueues,
    ),
)
