"""How settings are made where the files or the values depend on what the machine has.

A function under `makes` or `says` belongs to the knob it names, a ``set`` table of a row or a row
of ``settings/knobs.toml``; nothing else has to be told of it.
"""

from __future__ import annotations

from collections.abc import Iterator

from deadbeat.host.proc import INTERRUPTS, interrupts_of
from deadbeat.host.values import UnreadError, cpu_mask, cpus_text, mask_cpus, parse_cpu_list
from deadbeat.model.tuning import Setting
from deadbeat.settings.facts import Facts
from deadbeat.settings.knob import (
    NotHereError,
    housekeeping_list,
    housekeeping_mask,
    makes,
    of_cpus,
    present,
    says,
)
from deadbeat.settings.reading_interrupts import COMMANDS, MODES, managed_by_name, read_only
from deadbeat.settings.reading_values import ONLINE, housekeeping, release

_BUSY_POLL_PATHS = ("/proc/sys/net/core/busy_read", "/proc/sys/net/core/busy_poll")


@makes("busy-poll")
def busy_poll(facts: Facts, value: str) -> list[Setting]:
    return [Setting(each, value) for path in _BUSY_POLL_PATHS for each in present(facts, path)]


_CLOCKSOURCE_FOLDER = "/sys/devices/system/clocksource/clocksource0"

_CURRENT, _CLOCKSOURCE_AVAILABLE = (
    f"{_CLOCKSOURCE_FOLDER}/current_clocksource",
    f"{_CLOCKSOURCE_FOLDER}/available_clocksource",
)


@makes("clocksource")
def clocksource(facts: Facts, value: str) -> list[Setting]:
    offered = facts.text(_CLOCKSOURCE_AVAILABLE).split()
    if value not in offered:
        raise NotHereError(f"{_CLOCKSOURCE_AVAILABLE} offers {', '.join(offered)} only")
    return [Setting(path, value) for path in present(facts, _CURRENT)]


_DEFAULT_IRQ_AFFINITY_PATH = "/proc/irq/default_smp_affinity"


@makes("default-irq-affinity")
def default_irq_affinity(facts: Facts, _value: str) -> list[Setting]:
    return [
        Setting(each, housekeeping_mask(facts), "mask")
        for each in present(facts, _DEFAULT_IRQ_AFFINITY_PATH)
    ]


_FIXED_FREQUENCY_FOLDER = "/sys/devices/system/cpu/cpu[0-9]*/cpufreq"

_LEAST, _MOST = (
    f"{_FIXED_FREQUENCY_FOLDER}/scaling_min_freq",
    f"{_FIXED_FREQUENCY_FOLDER}/scaling_max_freq",
)


@makes("fixed-frequency")
def fixed_frequency(facts: Facts, _value: str) -> list[Setting]:
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


@makes("governor")
def governor(facts: Facts, value: str) -> list[Setting]:
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


@makes("idle-states")
def idle_states(facts: Facts, value: str) -> list[Setting]:
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


@makes("irq-affinity", fixed=_fixed, commands=COMMANDS)
def irq_affinity(facts: Facts, _value: str) -> list[Setting]:
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


@makes("machine-checks")
def machine_checks(facts: Facts, _value: str) -> list[Setting]:
    intervals = [Setting(path, "0") for path in present(facts, _INTERVAL)]
    return [*intervals, *(Setting(path, "1") for path in sorted(facts.matches(_IGNORE)))]


_RECEIVE = "/sys/class/net/*/queues/rx-*/rps_cpus"

_SEND = "/sys/class/net/*/queues/tx-*/xps_cpus"


@makes("packet-steering")
def packet_steering(facts: Facts, _value: str) -> list[Setting]:
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


@makes("resume-latency")
def resume_latency(facts: Facts, value: str) -> list[Setting]:
    return [Setting(path, value) for path in of_cpus(facts, _RESUME_LATENCY_PATH)]


_SIBLINGS = "/sys/devices/system/cpu/cpu[0-9]*/topology/thread_siblings_list"

_CONTROL = "/sys/devices/system/cpu/smt/control"


@makes("smt")
def smt(facts: Facts, value: str) -> list[Setting]:
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


@makes("turbo")
def turbo(facts: Facts, value: str) -> list[Setting]:
    if facts.get(_INTEL) is not None:
        return [Setting(_INTEL, "1" if value == "off" else "0")]
    if facts.get(_OTHER) is not None:
        return [Setting(_OTHER, "0" if value == "off" else "1")]
    raise NotHereError(f"neither {_INTEL} nor {_OTHER} is there")


_ALL = "/sys/devices/virtual/workqueue/cpumask"

_WRITEBACK = "/sys/devices/virtual/workqueue/writeback/cpumask"


@makes("workqueues")
def workqueues(facts: Facts, _value: str) -> list[Setting]:
    mask = housekeeping_mask(facts)
    made = [Setting(p, mask, "mask") for p in (_ALL, _WRITEBACK) if facts.get(p) is not None]
    if not made:
        raise NotHereError(f"{_ALL}: {facts.reading(_ALL).reason}")
    return made


_COMPACTION_PATHS = (
    "/proc/sys/vm/compaction_proactiveness",
    "/proc/sys/vm/compact_unevictable_allowed",
)


@makes("compaction")
def compaction(facts: Facts, _value: str) -> list[Setting]:
    made = [Setting(path, "0") for path in _COMPACTION_PATHS if facts.get(path) is not None]
    if not made:
        raise NotHereError(f"{_COMPACTION_PATHS[0]}: {facts.reading(_COMPACTION_PATHS[0]).reason}")
    return made


_CONSOLE_PATH = "/proc/sys/kernel/printk"


@makes("console")
def console(facts: Facts, value: str) -> list[Setting]:
    (path,) = present(facts, _CONSOLE_PATH)
    return [Setting(path, " ".join([value, *facts.text(path).split()[1:]]))]


_RATIO, _BACKGROUND = "/proc/sys/vm/dirty_ratio", "/proc/sys/vm/dirty_background_ratio"

_BYTES = ("/proc/sys/vm/dirty_bytes", "/proc/sys/vm/dirty_background_bytes")


@makes("dirty-pages")
def dirty_pages(facts: Facts, value: str) -> list[Setting]:
    # The kernel forgets the bytes when a ratio is written, so they could not be put back.
    if any(facts.get(path) not in (None, "0") for path in _BYTES):
        raise NotHereError("the limits are set in bytes here; writing shares would lose them")
    (ratio,), (background,) = present(facts, _RATIO), present(facts, _BACKGROUND)
    return [Setting(background, str(max(1, int(value) // 3))), Setting(ratio, value)]


_FAIR_SERVER_PATH = "/sys/kernel/debug/sched/fair_server/cpu[0-9]*/runtime"


@makes("fair-server")
def fair_server(facts: Facts, value: str) -> list[Setting]:
    try:
        return [Setting(path, value) for path in of_cpus(facts, _FAIR_SERVER_PATH)]
    except NotHereError:
        raise NotHereError(
            f"{_FAIR_SERVER_PATH} is not there: before Linux 6.12, debugfs not mounted, or the"
            " kernel"
            " locked down"
        ) from None


_HUGE_FOLDER = "/sys/kernel/mm/transparent_hugepage"

_ENABLED, _DEFRAG = f"{_HUGE_FOLDER}/enabled", f"{_HUGE_FOLDER}/defrag"

_DAEMON = f"{_HUGE_FOLDER}/khugepaged/defrag"


@makes("huge-pages")
def huge_pages(facts: Facts, value: str) -> list[Setting]:
    (enabled,) = present(facts, _ENABLED)
    made = [Setting(enabled, value, "selected")]
    if facts.get(_DEFRAG) is not None:
        made.append(Setting(_DEFRAG, value, "selected"))
    if facts.get(_DAEMON) is not None:
        made.append(Setting(_DAEMON, "0"))
    return made


_KFENCE_PATH = "/sys/module/kfence/parameters/sample_interval"


@makes("kfence")
def kfence(facts: Facts, _value: str) -> list[Setting]:
    (path,) = present(facts, _KFENCE_PATH)
    if facts.integer(path) != 0 and release(facts) < (5, 18):
        raise NotHereError(
            "before Linux 5.18 it cannot be turned on again: boot with kfence.sample_interval=0"
        )
    return [Setting(path, "0")]


_PREEMPTION_PATH = "/sys/kernel/debug/sched/preempt"


@makes("preemption")
def preemption(facts: Facts, value: str) -> list[Setting]:
    text = facts.get(_PREEMPTION_PATH)
    if text is None:
        raise NotHereError(
            f"{_PREEMPTION_PATH}: {facts.reading(_PREEMPTION_PATH).reason}; it takes"
            " PREEMPT_DYNAMIC, debugfs, and a"
            " kernel"
            " that is not locked down (boot-preempt otherwise)"
        )
    offered = text.replace("(", "").replace(")", "").split()
    if value not in offered:
        raise NotHereError(f"this kernel offers {', '.join(offered)}")
    return [Setting(_PREEMPTION_PATH, value, "selected")]


_RUNTIME, _PERIOD = (
    "/proc/sys/kernel/sched_rt_runtime_us",
    "/proc/sys/kernel/sched_rt_period_us",
)


@makes("rt-bandwidth")
def rt_bandwidth(facts: Facts, value: str) -> list[Setting]:
    if int(value) > facts.integer(_PERIOD):
        raise NotHereError(f"{value} us is more than the period, {facts.integer(_PERIOD)} us")
    return [Setting(path, value) for path in present(facts, _RUNTIME)]


_TRACE_FOLDERS = ("/sys/kernel/tracing", "/sys/kernel/tracing/instances/*")

_EVENTS = tuple(f"{folder}/set_event" for folder in _TRACE_FOLDERS)

_TRACERS = tuple(f"{folder}/current_tracer" for folder in _TRACE_FOLDERS)


# Not tracing_on, which only keeps events out of the buffer: they still happen, and cost nearly as
# much.
@makes("tracing")
def tracing(facts: Facts, _value: str) -> list[Setting]:
    for pattern in (_EVENTS[0], _TRACERS[0]):
        present(facts, pattern)
    made = [Setting(path, "") for path, text in _held(facts, _EVENTS) if text]
    made += [Setting(path, "nop") for path, text in _held(facts, _TRACERS) if text != "nop"]
    if not made:
        raise NotHereError("no event and no tracer is on")
    return made


def _held(facts: Facts, paths: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    yield paths[0], facts.text(paths[0])
    yield from facts.texts(paths[1]).items() if facts.matches(paths[1]) else ()


_WATCHDOG_CPUS_PATH = "/proc/sys/kernel/watchdog_cpumask"


@makes("watchdog-cpus")
def watchdog_cpus(facts: Facts, _value: str) -> list[Setting]:
    return [Setting(each, housekeeping_list(facts)) for each in present(facts, _WATCHDOG_CPUS_PATH)]


_SOFT, _HARD = "/proc/sys/kernel/soft_watchdog", "/proc/sys/kernel/nmi_watchdog"


# Not kernel.watchdog, which is both at once: 1 written back to it turns on one that was off before.
@makes("watchdogs")
def watchdogs(facts: Facts, _value: str) -> list[Setting]:
    found = {path: facts.get(path) for path in (_SOFT, _HARD)}
    made = [Setting(path, "0") for path, text in found.items() if text not in (None, "0")]
    if not made:
        raise NotHereError("no watchdog is on")
    return made


@says("boot-isolation")
def boot_isolation(facts: Facts, _value: str) -> list[str]:
    cpus, left = cpus_text(facts.rt_cpus), housekeeping_list(facts)
    return [f"isolcpus=managed_irq,domain,{cpus}", f"rcu_nocbs={cpus}", f"irqaffinity={left}"]


@says("boot-no-tick")
def boot_no_tick(facts: Facts, _value: str) -> list[str]:
    housekeeping_list(facts)  # one CPU must keep the time
    return [f"nohz_full={cpus_text(facts.rt_cpus)}"]
