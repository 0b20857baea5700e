"""What the kernel does to memory behind a task: page faults, pages that are moved or given up."""

from __future__ import annotations

from deadbeat.host.proc import MEMINFO, TaskState, colon_fields, limit, status_field
from deadbeat.host.values import Unknown, UnreadError, chosen
from deadbeat.settings.check import CheckVerdict, failed, judged, none_of, passed, unknown, verdict
from deadbeat.settings.facts import Facts
from deadbeat.settings.reading import ONLINE, absent, few
from deadbeat.settings.reading_window import (
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


def swap(facts: Facts) -> CheckVerdict:
    devices = [line.split()[0] for line in facts.text("/proc/swaps").splitlines()[1:] if line]
    if not devices:
        return passed("no swap")
    value = facts.integer(SWAPPINESS)
    found = f"{few(devices)}, swappiness {value}"
    return verdict(value <= 10, found, well="swap is there, and hardly used")


def khugepaged(facts: Facts) -> CheckVerdict:
    if absent(facts, f"{HUGE}/enabled") and facts.option("TRANSPARENT_HUGEPAGE") == "n":
        return passed("CONFIG_TRANSPARENT_HUGEPAGE is not set")
    if chosen(facts.text(f"{HUGE}/enabled")) == "never":
        return passed("enabled = never")
    return judged(
        facts, f"{HUGE}/khugepaged/defrag", lambda value: value == 0,
        why="khugepaged moves pages; every CPU that used them is interrupted",
    )  # fmt: skip


def lock_limit(facts: Facts) -> CheckVerdict:
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
    return failed(f"{soft // 1024} kB")


def dirty(facts: Facts) -> CheckVerdict:
    size, ratio = facts.integer("/proc/sys/vm/dirty_bytes"), "/proc/sys/vm/dirty_ratio"
    if size:
        return passed(f"vm.dirty_bytes = {size}")
    return judged(
        facts, ratio, lambda value: value <= _DIRTY_MAX,
        why="writing is put off until it comes in long bursts",
    )  # fmt: skip


def reserved_huge_pages(facts: Facts) -> CheckVerdict:
    numbers = colon_fields(facts.text(MEMINFO))
    if not numbers.get("HugePages_Total", "").isdigit():
        return unknown(f"{MEMINFO} does not count huge pages")
    total, free = int(numbers["HugePages_Total"]), int(numbers.get("HugePages_Free", "0"))
    if total and not free:
        return failed(f"{total} pages, none free")
    return passed(f"{total} pages, {free} free", "recorded")


def balloon(facts: Facts) -> CheckVerdict:
    facts.text(ONLINE)  # /sys is there
    found = [path for pattern in BALLOONS for path in facts.readings.patterns[pattern]]
    return none_of(found, "none")


def page_reporting(facts: Facts) -> CheckVerdict:
    facts.text(ONLINE)
    if not facts.matches(FEATURES):
        return passed("no balloon")
    bits = facts.texts(FEATURES)
    reporting = [path for path, text in bits.items() if text[_REPORTING : _REPORTING + 1] == "1"]
    if reporting:
        return failed("negotiated")
    return passed("not negotiated")


def hot_plug(facts: Facts) -> CheckVerdict:
    facts.text(ONLINE)
    found = facts.readings.patterns[VIRTIO_MEM]
    return none_of(found, "none")


def access_monitor(facts: Facts) -> CheckVerdict:
    running = [
        task.name for task in tasks(facts) if task.kernel and task.name.startswith("kdamond")
    ]
    states = [r.text.strip() for r in facts.matches(DAMON).values() if r.text]
    if running or "on" in states:
        return failed(few(running) or "on")
    return passed("none runs")


def locked_tasks(facts: Facts) -> CheckVerdict:
    where = places(facts)
    found = [task for task in _some_realtime(facts) if task.tid in where]
    loose = [task.words for task in found if not where[task.tid].locked_kb]
    return none_of(loose, few([task.words for task in found]))


def faults(facts: Facts) -> CheckVerdict:
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
