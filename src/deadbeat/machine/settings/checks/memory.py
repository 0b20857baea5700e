"""What the kernel does to memory behind a task: page faults, pages that are moved or given up."""

from __future__ import annotations

from deadbeat.machine.host.proc import TaskState, limit, status_field
from deadbeat.machine.host.values import UnreadError, chosen, known
from deadbeat.machine.settings.check import (
    CheckVerdict,
    failed,
    judged,
    none_of,
    passed,
    unknown,
    verdict,
)
from deadbeat.machine.settings.facts import ONLINE, Facts
from deadbeat.machine.settings.reading import absent, few
from deadbeat.machine.settings.reading_window import places, realtime_tasks, tasks, window

#: VIRTIO_BALLOON_F_REPORTING (linux/virtio_balloon.h): place in the file of features.
_REPORTING = 5
_CAP_IPC_LOCK = 14
#: Share of memory that may be dirty before writers are held up (tuned, latency-performance).
_DIRTY_MAX = 10


def swap(facts: Facts, swaps: str, swappiness: str) -> CheckVerdict:
    devices = [line.split()[0] for line in facts.text(swaps).splitlines()[1:] if line]
    if not devices:
        return passed("no swap")
    value = facts.integer(swappiness)
    found = f"{few(devices)}, swappiness {value}"
    return verdict(value <= 10, found, well="swap is there, and hardly used")


def khugepaged(facts: Facts, defrag: str, enabled: str) -> CheckVerdict:
    if absent(facts, enabled) and facts.option("TRANSPARENT_HUGEPAGE") == "n":
        return passed("CONFIG_TRANSPARENT_HUGEPAGE is not set")
    if chosen(facts.text(enabled)) == "never":
        return passed("enabled = never")
    why = "khugepaged moves pages; every CPU that used them is interrupted"
    return judged(facts, defrag, "0", why=why)


def lock_limit(facts: Facts) -> CheckVerdict:
    capabilities = status_field(facts.text, "CapEff")
    if capabilities and int(capabilities, 16) >> _CAP_IPC_LOCK & 1:
        return passed("CAP_IPC_LOCK")
    soft = limit(facts.text, "Max locked memory")["soft"]
    if soft == -1:
        return passed("unlimited")
    found = f"{known(soft) // 1024} kB"
    if capabilities is None:
        return unknown("/proc/self/status has no CapEff")
    return failed(found)


def dirty(facts: Facts, limit: str, ratio: str) -> CheckVerdict:
    size = facts.integer(limit)
    if size:
        return passed(f"vm.dirty_bytes = {size}")
    why = "writing is put off until it comes in long bursts"
    return judged(facts, ratio, f"<= {_DIRTY_MAX}", why=why)


def page_reporting(facts: Facts, features: str) -> CheckVerdict:
    facts.text(ONLINE)
    if not facts.matches(features):
        return passed("no balloon")
    bits = facts.texts(features).values()
    reporting = any(text[_REPORTING : _REPORTING + 1] == "1" for text in bits)
    return verdict(not reporting, "not negotiated", "negotiated")


def access_monitor(facts: Facts, damon: str) -> CheckVerdict:
    running = [
        task.name for task in tasks(facts) if task.kernel and task.name.startswith("kdamond")
    ]
    states = [r.text.strip() for r in facts.matches(damon).values() if r.text]
    return verdict(not running and "on" not in states, "none runs", few(running) or "on")


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
    parts = [f"{words}: {count}" for words, count in grown.items()]
    return none_of(parts, "none", why=f"page faults within {window(facts).seconds:.1f} s")


def _some_realtime(facts: Facts) -> list[TaskState]:
    found = realtime_tasks(facts)
    if not found:
        raise UnreadError("no real-time task of a user runs: start yours, and ask again")
    return found
