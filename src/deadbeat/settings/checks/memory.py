"""What the kernel does to memory behind a task: page faults, pages that are moved or given up."""

from __future__ import annotations

import re

from deadbeat.host.proc import TaskState, limit, status_field
from deadbeat.host.values import Unknown, UnreadError, chosen
from deadbeat.settings import sources
from deadbeat.settings.check import Verdict, check, failed, passed, unknown
from deadbeat.settings.facts import CONFIG, Facts
from deadbeat.settings.reading_values import ONLINE, absent, few, judged
from deadbeat.settings.reading_window import (
    AFFINITIES,
    WINDOW,
    places,
    realtime_tasks,
    tasks,
    window,
)

SWAPPINESS = "/proc/sys/vm/swappiness"
HUGE = "/sys/kernel/mm/transparent_hugepage"
BALLOONS = (
    "/sys/bus/virtio/drivers/virtio_balloon/virtio*",
    "/sys/bus/vmbus/drivers/hv_balloon/*-*-*",
    "/sys/devices/system/xen_memory/xen_memory*",
)
FEATURES = "/sys/bus/virtio/drivers/virtio_balloon/virtio*/features"
#: VIRTIO_BALLOON_F_REPORTING (linux/virtio_balloon.h): place in the file of features.
_REPORTING = 5
VIRTIO_MEM = "/sys/bus/virtio/drivers/virtio_mem/virtio*"
DAMON = "/sys/kernel/mm/damon/admin/kdamonds/*/state"
_CAP_IPC_LOCK = 14
#: Share of memory that may be dirty before writers are held up (tuned, latency-performance).
_DIRTY_MAX = 10


@check(
    "memory.swap",
    "swapping",
    severity="high",
    source=f"{sources.TUNED_REALTIME}; {sources.SYSCTL_VM}",
    wanted="no swap, or vm.swappiness at most 10",
    reads=("/proc/swaps", SWAPPINESS),
    cure="swapoff -a, or sysctl -w vm.swappiness=10",
)
def swap(facts: Facts) -> Verdict:
    """A page that was swapped out costs a disk access when a task touches it."""
    devices = [line.split()[0] for line in facts.text("/proc/swaps").splitlines()[1:] if line]
    if not devices:
        return passed("no swap")
    value = facts.integer(SWAPPINESS)
    found = f"{few(devices)}, swappiness {value}"
    if value <= 10:
        return passed(found, "swap is there, and hardly used")
    return failed(found, "pages of tasks that do not lock them are swapped out")


@check(
    "memory.huge-pages",
    "transparent huge pages",
    severity="medium",
    source=f"{sources.TUNED_REALTIME}; Linux Documentation/admin-guide/mm/transhuge.rst",
    wanted="never, or madvise",
    reads=(f"{HUGE}/enabled", CONFIG),
    cure=f"echo madvise > {HUGE}/enabled",
)
def huge_pages(facts: Facts) -> Verdict:
    """A huge page is cleared, and may be made by moving others, within one page fault."""
    if _no_huge_pages(facts):
        return passed("CONFIG_TRANSPARENT_HUGEPAGE is not set")
    found = chosen(facts.text(f"{HUGE}/enabled"))
    if found in ("never", "madvise"):
        return passed(found)
    return failed(found, "any page fault may clear, and first gather, 2 MB")


@check(
    "memory.huge-page-defrag",
    "page faults that gather huge pages",
    severity="medium",
    source=f"{sources.TUNED_REALTIME}; Linux Documentation/admin-guide/mm/transhuge.rst",
    wanted="never, madvise, or defer",
    reads=(f"{HUGE}/enabled", f"{HUGE}/defrag", CONFIG),
    cure=f"echo never > {HUGE}/defrag",
)
def huge_page_defrag(facts: Facts) -> Verdict:
    """A fault that finds no huge page may move other pages until there is one."""
    if _no_huge_pages(facts):
        return passed("CONFIG_TRANSPARENT_HUGEPAGE is not set")
    found = chosen(facts.text(f"{HUGE}/defrag"))
    if found in ("never", "madvise", "defer"):
        return passed(found)
    return failed(found, "page faults wait until other pages were moved")


@check(
    "memory.khugepaged",
    "gathering of huge pages in the background",
    severity="medium",
    source=f"{sources.TUNED_REALTIME}; Linux Documentation/admin-guide/mm/transhuge.rst",
    wanted="khugepaged does not defragment, or there are no huge pages",
    reads=(f"{HUGE}/khugepaged/defrag", f"{HUGE}/enabled", CONFIG),
    cure=f"echo 0 > {HUGE}/khugepaged/defrag",
)
def khugepaged(facts: Facts) -> Verdict:
    """It moves pages under their users, and tells every CPU to forget the old ones."""
    if _no_huge_pages(facts):
        return passed("CONFIG_TRANSPARENT_HUGEPAGE is not set")
    if chosen(facts.text(f"{HUGE}/enabled")) == "never":
        return passed("enabled = never")
    return judged(
        facts, f"{HUGE}/khugepaged/defrag", lambda value: value == 0,
        why="khugepaged moves pages; every CPU that used them is interrupted",
    )  # fmt: skip


def _no_huge_pages(facts: Facts) -> bool:
    return absent(facts, f"{HUGE}/enabled") and facts.option("TRANSPARENT_HUGEPAGE") == "n"


@check(
    "memory.merging",
    "merging of equal pages (KSM)",
    severity="medium",
    source=f"{sources.TUNED_PARTITIONING}; Linux Documentation/admin-guide/mm/ksm.rst",
    wanted="run = 0",
    reads=("/sys/kernel/mm/ksm/run", CONFIG),
    cure="echo 2 > /sys/kernel/mm/ksm/run",
)
def merging(facts: Facts) -> Verdict:
    """A merged page faults and is copied at its next write."""
    path = "/sys/kernel/mm/ksm/run"
    if absent(facts, path) and facts.option("KSM") == "n":
        return passed("CONFIG_KSM is not set")
    return judged(facts, path, lambda v: v in (0, 2), why="ksmd scans and merges pages")


@check(
    "memory.compaction",
    "compaction ahead of need",
    severity="medium",
    source=sources.SYSCTL_VM,
    wanted="vm.compaction_proactiveness = 0",
    reads=("/proc/sys/vm/compaction_proactiveness", CONFIG),
    cure="sysctl -w vm.compaction_proactiveness=0",
)
def compaction(facts: Facts) -> Verdict:
    """kcompactd moves pages in use, on every CPU's behalf."""
    path = "/proc/sys/vm/compaction_proactiveness"
    if absent(facts, path) and facts.option("COMPACTION") == "n":
        return passed("CONFIG_COMPACTION is not set")
    return judged(
        facts, path, lambda value: value == 0,
        why="pages are moved in the background; a task that touches one meanwhile waits",
    )  # fmt: skip


@check(
    "memory.compaction-of-locked",
    "locked pages that are moved",
    severity="high",
    source=sources.SYSCTL_VM,
    wanted="vm.compact_unevictable_allowed = 0",
    reads=("/proc/sys/vm/compact_unevictable_allowed", CONFIG),
    cure="sysctl -w vm.compact_unevictable_allowed=0",
)
def compaction_of_locked(facts: Facts) -> Verdict:
    """mlock keeps a page in memory, not in its place: touching one that is moved is a fault."""
    path = "/proc/sys/vm/compact_unevictable_allowed"
    if absent(facts, path) and facts.option("COMPACTION") == "n":
        return passed("CONFIG_COMPACTION is not set")
    return judged(
        facts, path, lambda value: value == 0,
        why="a real-time task that locked its memory still takes page faults when it is moved",
    )  # fmt: skip


@check(
    "memory.lock-limit",
    "how much memory may be locked",
    severity="high",
    source="getrlimit(2), mlock(2); realtime-setup (limits.d)",
    wanted="RLIMIT_MEMLOCK unlimited, or CAP_IPC_LOCK",
    reads=("/proc/self/limits", "/proc/self/status"),
    cure="YOU - memlock unlimited in /etc/security/limits.d/realtime.conf, and log in again",
)
def lock_limit(facts: Facts) -> Verdict:
    """mlockall fails above the limit, and the task runs on with page faults."""
    capabilities = status_field(facts.text, "CapEff")
    if capabilities and int(capabilities, 16) >> _CAP_IPC_LOCK & 1:
        return passed("CAP_IPC_LOCK")
    soft = limit(facts.text, "Max locked memory")["soft"]
    if soft == -1:
        return passed("unlimited")
    if isinstance(soft, Unknown):
        return unknown(soft.reason)
    if capabilities is None:
        return unknown("/proc/self/status has no CapEff")
    return failed(f"{soft // 1024} kB", "mlockall fails as soon as a task is larger than that")


@check(
    "memory.dirty",
    "memory that waits to be written",
    severity="low",
    source=f"{sources.TUNED_REALTIME} (vm.dirty_ratio 10); {sources.SYSCTL_VM}",
    wanted="vm.dirty_bytes set, or vm.dirty_ratio at most 10",
    reads=("/proc/sys/vm/dirty_bytes", "/proc/sys/vm/dirty_ratio"),
    cure="sysctl -w vm.dirty_ratio=10 vm.dirty_background_ratio=3",
)
def dirty(facts: Facts) -> Verdict:
    """Much of it is written at once, and whoever writes more is held up until then."""
    size, ratio = facts.integer("/proc/sys/vm/dirty_bytes"), "/proc/sys/vm/dirty_ratio"
    if size:
        return passed(f"vm.dirty_bytes = {size}")
    return judged(
        facts, ratio, lambda value: value <= _DIRTY_MAX,
        why="writing is put off until it comes in long bursts",
    )  # fmt: skip


@check(
    "memory.zone-reclaim",
    "reclaim before memory of another node is used",
    severity="medium",
    source=sources.SYSCTL_VM,
    wanted="vm.zone_reclaim_mode = 0",
    reads=("/proc/sys/vm/zone_reclaim_mode", CONFIG),
    cure="sysctl -w vm.zone_reclaim_mode=0",
)
def zone_reclaim(facts: Facts) -> Verdict:
    """An allocation cleans up its own node first, for as long as that takes."""
    path = "/proc/sys/vm/zone_reclaim_mode"
    if absent(facts, path) and facts.option("NUMA") == "n":
        return passed("CONFIG_NUMA is not set")
    return judged(facts, path, lambda v: v == 0, why="allocations reclaim memory of their node")


@check(
    "memory.reserved-huge-pages",
    "huge pages that are reserved",
    severity="info",
    source="Linux Documentation/admin-guide/mm/hugetlbpage.rst",
    wanted="recorded; free ones where any are reserved",
    reads=("/proc/meminfo",),
    cure="sysctl -w vm.nr_hugepages=N",
)
def reserved_huge_pages(facts: Facts) -> Verdict:
    """Fewer misses of the TLB for a task that maps them; memory lost where none does."""
    numbers = dict(re.findall(r"^(HugePages_\w+):\s+(\d+)", facts.text("/proc/meminfo"), re.M))
    if "HugePages_Total" not in numbers:
        return unknown("/proc/meminfo does not count huge pages")
    total, free = int(numbers["HugePages_Total"]), int(numbers.get("HugePages_Free", "0"))
    if total and not free:
        return failed(f"{total} pages, none free", "a task that asks for one more gets none")
    return passed(f"{total} pages, {free} free", "recorded")


@check(
    "memory.balloon",
    "a memory balloon of the host",
    severity="medium",
    source="Linux Documentation/driver-api/virtio; Red Hat, Virtualization tuning guide",
    wanted="no balloon device",
    reads=(*BALLOONS, ONLINE),
    cure="start the guest without a balloon device (QEMU: leave out virtio-balloon)",
)
def balloon(facts: Facts) -> Verdict:
    """The host takes memory back while tasks run, and gives it back as a page fault."""
    facts.text(ONLINE)  # /sys is there
    found = [path for pattern in BALLOONS for path in facts.readings.patterns[pattern]]
    if found:
        return failed(few(found), "the host may take memory away, and a later access waits for it")
    return passed("none")


@check(
    "memory.page-reporting",
    "free pages that are given to the host",
    severity="medium",
    source="Linux Documentation/mm/free_page_reporting.rst",
    wanted="the balloon has no page reporting",
    reads=(FEATURES, ONLINE),
    cure="start the guest with free-page-reporting=off",
)
def page_reporting(facts: Facts) -> Verdict:
    """A page that was given to the host is a fault of the host's at its next use."""
    facts.text(ONLINE)
    if not facts.matches(FEATURES):
        return passed("no balloon")
    bits = facts.texts(FEATURES)
    reporting = [path for path, text in bits.items() if text[_REPORTING : _REPORTING + 1] == "1"]
    if reporting:
        return failed(
            "negotiated", "free pages are reported; their next use is a fault in the host"
        )
    return passed("not negotiated")


@check(
    "memory.hot-plug",
    "memory that comes and goes (virtio-mem)",
    severity="low",
    source="QEMU, virtio-mem",
    wanted="no virtio-mem device",
    reads=(VIRTIO_MEM, ONLINE),
    cure="start the guest without a virtio-mem device",
)
def hot_plug(facts: Facts) -> Verdict:
    """Unplugging a block moves every page in it."""
    facts.text(ONLINE)
    found = facts.readings.patterns[VIRTIO_MEM]
    if found:
        return failed(few(found), "the host may unplug memory, whose pages are then moved")
    return passed("none")


@check(
    "memory.access-monitor",
    "monitoring of memory accesses (DAMON)",
    severity="medium",
    source="Linux Documentation/admin-guide/mm/damon",
    wanted="no kdamond thread runs",
    reads=(WINDOW, DAMON),
    cure="echo off > /sys/kernel/mm/damon/admin/kdamonds/0/state",
)
def access_monitor(facts: Facts) -> Verdict:
    """It clears the accessed bits of pages all the time, and may reclaim them on its own."""
    running = [
        task.name for task in tasks(facts) if task.kernel and task.name.startswith("kdamond")
    ]
    states = [r.text.strip() for r in facts.matches(DAMON).values() if r.text]
    if running or "on" in states:
        return failed(few(running) or "on", "pages are sampled, and may be reclaimed, all the time")
    return passed("none runs")


@check(
    "memory.locked-tasks",
    "real-time tasks lock their memory",
    severity="high",
    source="Linux Documentation/trace/rv/monitor_rtapp.rst; mlockall(2)",
    wanted="VmLck of every real-time process is above 0",
    reads=(WINDOW, AFFINITIES),
    cure="call mlockall(MCL_CURRENT | MCL_FUTURE) at the start of the task",
)
def locked_tasks(facts: Facts) -> Verdict:
    """Memory that is not locked faults at first use, and again after it was reclaimed."""
    where = places(facts)
    found = [task for task in _some_realtime(facts) if task.tid in where]
    loose = [task.words for task in found if not where[task.tid].locked_kb]
    if loose:
        return failed(few(loose), "they have no locked memory: each may wait for a page")
    return passed(few([task.words for task in found]))


@check(
    "memory.faults",
    "page faults of real-time tasks",
    severity="high",
    source="Linux Documentation/trace/rv/monitor_rtapp.rst (rtapp: no page faults)",
    wanted="none within half a second",
    reads=(WINDOW,),
    cure="lock and touch all memory, stacks too, before the first release",
)
def faults(facts: Facts) -> Verdict:
    """A fault costs microseconds at best, a disk access at worst."""
    before = window(facts).before.tasks
    grown = {
        task.words: task.faults - before[task.tid].faults
        for task in _some_realtime(facts)
        if task.tid in before and task.faults > before[task.tid].faults
    }
    if grown:
        told = few([f"{words}: {count}" for words, count in grown.items()])
        return failed(told, f"page faults within {window(facts).seconds:.1f} s")
    return passed("none")


def _some_realtime(facts: Facts) -> list[TaskState]:
    found = realtime_tasks(facts)
    if not found:
        raise UnreadError("no real-time task of a user runs: start yours, and ask again")
    return found
