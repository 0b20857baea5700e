"""Knobs of the kernel whose files or values depend on what the machine has."""

from __future__ import annotations

from collections.abc import Iterator

from deadbeat.host.kernel import VERSION
from deadbeat.settings import sources
from deadbeat.settings.facts import Facts
from deadbeat.settings.knob import (
    ONLINE,
    Knob,
    NotHereError,
    Setting,
    at_most,
    housekeeping_list,
    of_cpus,
    one_of,
    present,
    whole,
)
from deadbeat.settings.reading_values import release

_PATHS = ("/proc/sys/vm/compaction_proactiveness", "/proc/sys/vm/compact_unevictable_allowed")


def _compaction(facts: Facts, _value: str) -> list[Setting]:
    made = [Setting(path, "0") for path in _PATHS if facts.get(path) is not None]
    if not made:
        raise NotHereError(f"{_PATHS[0]}: {facts.reading(_PATHS[0]).reason}")
    return made


_CONSOLE_PATH = "/proc/sys/kernel/printk"


def _console(facts: Facts, value: str) -> list[Setting]:
    (path,) = present(facts, _CONSOLE_PATH)
    return [Setting(path, " ".join([value, *facts.text(path).split()[1:]]))]


_RATIO, _BACKGROUND = "/proc/sys/vm/dirty_ratio", "/proc/sys/vm/dirty_background_ratio"


_BYTES = ("/proc/sys/vm/dirty_bytes", "/proc/sys/vm/dirty_background_bytes")


def _dirty_pages(facts: Facts, value: str) -> list[Setting]:
    # The kernel forgets the bytes when a ratio is written, so they could not be put back.
    if any(facts.get(path) not in (None, "0") for path in _BYTES):
        raise NotHereError("the limits are set in bytes here; writing shares would lose them")
    (ratio,), (background,) = present(facts, _RATIO), present(facts, _BACKGROUND)
    return [Setting(background, str(max(1, int(value) // 3))), Setting(ratio, value)]


_FAIR_SERVER_PATH = "/sys/kernel/debug/sched/fair_server/cpu[0-9]*/runtime"


def _fair_server(facts: Facts, value: str) -> list[Setting]:
    try:
        return [Setting(path, value) for path in of_cpus(facts, _FAIR_SERVER_PATH)]
    except NotHereError:
        raise NotHereError(
            f"{_FAIR_SERVER_PATH} is not there: before Linux 6.12, debugfs not mounted, or the"
            " kernel"
            " locked down"
        ) from None


_FOLDER = "/sys/kernel/mm/transparent_hugepage"


_ENABLED, _DEFRAG = f"{_FOLDER}/enabled", f"{_FOLDER}/defrag"


_DAEMON = f"{_FOLDER}/khugepaged/defrag"


def _huge_pages(facts: Facts, value: str) -> list[Setting]:
    (enabled,) = present(facts, _ENABLED)
    made = [Setting(enabled, value, "selected")]
    if facts.get(_DEFRAG) is not None:
        made.append(Setting(_DEFRAG, value, "selected"))
    if facts.get(_DAEMON) is not None:
        made.append(Setting(_DAEMON, "0"))
    return made


_KFENCE_PATH = "/sys/module/kfence/parameters/sample_interval"


def _kfence(facts: Facts, _value: str) -> list[Setting]:
    (path,) = present(facts, _KFENCE_PATH)
    if facts.integer(path) != 0 and release(facts) < (5, 18):
        raise NotHereError(
            "before Linux 5.18 it cannot be turned on again: boot with kfence.sample_interval=0"
        )
    return [Setting(path, "0")]


_PREEMPTION_PATH = "/sys/kernel/debug/sched/preempt"


def _preemption(facts: Facts, value: str) -> list[Setting]:
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


def _rt_bandwidth(facts: Facts, value: str) -> list[Setting]:
    if int(value) > facts.integer(_PERIOD):
        raise NotHereError(f"{value} us is more than the period, {facts.integer(_PERIOD)} us")
    return [Setting(path, value) for path in present(facts, _RUNTIME)]


_FOLDERS = ("/sys/kernel/tracing", "/sys/kernel/tracing/instances/*")


_EVENTS = tuple(f"{folder}/set_event" for folder in _FOLDERS)


_TRACERS = tuple(f"{folder}/current_tracer" for folder in _FOLDERS)


# Not tracing_on, which only keeps events out of the buffer: they still happen, and cost nearly as
# much.
def _tracing(facts: Facts, _value: str) -> list[Setting]:
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


def _watchdog_cpus(facts: Facts, _value: str) -> list[Setting]:
    return [Setting(each, housekeeping_list(facts)) for each in present(facts, _WATCHDOG_CPUS_PATH)]


_SOFT, _HARD = "/proc/sys/kernel/soft_watchdog", "/proc/sys/kernel/nmi_watchdog"


# Not kernel.watchdog, which is both at once: 1 written back to it turns on one that was off before.
def _watchdogs(facts: Facts, _value: str) -> list[Setting]:
    found = {path: facts.get(path) for path in (_SOFT, _HARD)}
    made = [Setting(path, "0") for path, text in found.items() if text not in (None, "0")]
    if not made:
        raise NotHereError("no watchdog is on")
    return made


KNOBS = (
    Knob(
        name="compaction",
        title="no compaction in advance, and none of locked memory",
        why="a page that is being moved is unmapped: touching it waits, also where it was locked",
        source=sources.SYSCTL_VM,
        cures=("memory.compaction", "memory.compaction-of-locked"),
        reads=_PATHS,
        settings=_compaction,
    ),
    Knob(
        name="console",
        title="least grave message that the console does not show",
        why="a message on a serial console is written with interrupts off, 87 us a letter at 115200"
        " baud",
        source=sources.RHEL_REALTIME,
        cures=("watchdogs.console-level",),
        reads=(_CONSOLE_PATH,),
        values=whole(1, 8),
        default="3",
        enough=at_most,
        settings=_console,
        note="dmesg and the log still have them",
    ),
    Knob(
        name="dirty-pages",
        title="share of memory that may wait to be written; a third of it starts the writing",
        why="the more waits, the longer the burst of writing that a task may be made to wait for",
        source=sources.TUNED_REALTIME,
        cures=("memory.dirty",),
        reads=(_RATIO, _BACKGROUND, *_BYTES),
        values=whole(3, 100, "%"),
        default="10",
        enough=at_most,
        settings=_dirty_pages,
    ),
    Knob(
        name="fair-server",
        title="time of each second kept for normal tasks, on the CPUs for real-time tasks",
        why="beside a normal task that waits, a real-time task is stopped for 50 ms of every"
        " second",
        source="Linux commits d741f297bcea, 5f6bd380c7bd",
        cures=("scheduler.fair-server",),
        reads=(_FAIR_SERVER_PATH,),
        values=whole(0, 1_000_000_000, "ns"),
        default="0",
        settings=_fair_server,
        note="with 0 a real-time task that never sleeps starves everything else on its CPU, kernel"
        " threads"
        " too; no profile turns it",
    ),
    Knob(
        name="huge-pages",
        title="transparent huge pages, and memory moved about to make some",
        why="a page fault may have to gather 2 MB, and a daemon locks the memory of tasks to merge"
        " pages",
        source=sources.TUNED_REALTIME,
        cures=("memory.huge-pages", "memory.huge-page-defrag", "memory.khugepaged"),
        reads=(_ENABLED, _DEFRAG, _DAEMON),
        values=one_of("never", "madvise"),
        default="never",
        settings=_huge_pages,
        note="a compute task that lives on huge pages gets slower: madvise keeps them for who asks",
    ),
    Knob(
        name="kfence",
        title="no sampling for memory errors",
        why="ten times a second by default a timer makes the next allocation a guarded one; only a"
        " kernel built with KFENCE_STATIC_KEYS (the default before Linux 5.16) changes its code for"
        " that, which interrupts every CPU",
        source="Linux Documentation/dev-tools/kfence.rst; commit 4f612ed3f748",
        cures=("hardening.kfence",),
        reads=(_KFENCE_PATH, VERSION),
        settings=_kfence,
        note="a safety net of the kernel's own memory is gone meanwhile",
    ),
    Knob(
        name="preemption",
        title="preemption model of a kernel that has several",
        why="under none and voluntary the kernel finishes what it does for a normal task first",
        source=f"{sources.KERNEL_PARAMETERS} (preempt=)",
        cures=("kernel.preemption",),
        reads=(_PREEMPTION_PATH,),
        values=one_of("none", "voluntary", "full", "lazy"),
        default="full",
        settings=_preemption,
    ),
    Knob(
        name="rt-bandwidth",
        title="time of each period that real-time tasks may take, -1: all of it",
        why="a task that computes for longer is stopped for the rest of the period",
        source=f"{sources.TUNED_REALTIME}; Linux Documentation/scheduler/sched-rt-group.rst",
        cures=("scheduler.rt-bandwidth",),
        reads=(_RUNTIME, _PERIOD),
        values=whole(-1, 10_000_000, "us"),
        default="-1",
        settings=_rt_bandwidth,
        note="from Linux 6.12 on -1 does not stop the 50 ms of every second: see fair-server; with"
        " -1 and"
        " without a fair server a loop of a real-time task locks the CPU up; no profile turns it",
    ),
    Knob(
        name="tracing",
        title="every event and tracer of the kernel off, in every instance",
        why="an event or tracer that is on costs time on every path that it watches, also where"
        " nothing"
        " is recorded",
        source=f"{sources.KERNEL_CONFIGURATION}; Linux Documentation/trace/ftrace.rst",
        cures=("watchdogs.tracing",),
        reads=(*_EVENTS, *_TRACERS),
        settings=_tracing,
        note="whoever is tracing right now gets no more events, rasdaemon too; what a tracer has"
        " recorded is lost; events and tracers come back, filters and triggers were never"
        " touched; no"
        " profile turns it",
    ),
    Knob(
        name="watchdog-cpus",
        title="only the other CPUs are watched",
        why="the watchdog runs a thread of the highest priority on each CPU that it watches",
        source="Linux Documentation/admin-guide/lockup-watchdogs.rst",
        cures=("kernel.lockup-detector", "watchdogs.soft-lockup"),
        reads=(_WATCHDOG_CPUS_PATH, ONLINE),
        settings=_watchdog_cpus,
    ),
    Knob(
        name="watchdogs",
        title="watchdogs of stuck CPUs off",
        why="each runs a thread of the highest priority, and a timer, on every CPU every few"
        " seconds",
        source=f"{sources.KERNEL_CONFIGURATION}; {sources.TUNED_REALTIME}; {sources.INTEL_ECI}",
        cures=("kernel.lockup-detector", "watchdogs.soft-lockup", "watchdogs.nmi"),
        reads=(_SOFT, _HARD),
        settings=_watchdogs,
        note="a CPU that hangs is then not reported; watchdog-cpus only takes it off some CPUs",
    ),
)
