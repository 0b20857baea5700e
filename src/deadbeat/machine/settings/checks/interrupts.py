"""What reaches the real-time CPUs: interrupts, their threads, deferred and network work."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from deadbeat.machine.host.proc import Interrupt
from deadbeat.machine.host.values import UnreadError, cpu_set, cpus_text, mask_cpus
from deadbeat.machine.settings.check import CheckVerdict, failed, none_of, passed, unknown, verdict
from deadbeat.machine.settings.facts import Facts
from deadbeat.machine.settings.reading import few, housekeeping, managed_by_name, read_only, shared
from deadbeat.machine.settings.reading_window import (
    programs,
    realtime_tasks,
    roaming,
    tasks,
    window,
)

_EFFECTIVE = "/proc/irq/*/effective_affinity_list"
_ASKED = "/proc/irq/*/smp_affinity_list"

#: Softirqs that go with a device's work; the others go with the tick.
_DEVICE_SOFTIRQS = ("HI", "NET_TX", "NET_RX", "BLOCK", "IRQ_POLL", "TASKLET")
#: Interrupts between CPUs, by what /proc/interrupts calls them.
_BETWEEN_CPUS = ("Rescheduling interrupts", "Function call interrupts", "TLB shootdowns")
#: Timers by the names that their drivers give (Linux drivers/clocksource, arch/*/kernel/time.c):
#: arch_timer, riscv-timer, i.MX Timer Tick, mct_tick0, ttc_clockevent; twd, of each Arm core.
_TIMER = re.compile(r"timer|tick|clockevent|\btwd\b|\bhpet|\bkvm guest ", re.I)
#: A CPU's own, which go nowhere else: counters of its events, KVM's notifications, and what an Arm
#: interrupt controller numbers 16 to 31 (private peripheral interrupts).
_OF_THE_CPU = re.compile(r"\b(arm[-_]pmu|\w*-pmu|vgic)\b|^GIC\S* (1[6-9]|2\d|3[01]) ")
_IPIS_PER_S, _TICKS_PER_S = 10, 10
#: Longest that a device may gather packets, us.
_GATHERED_US = 10
_IRQ_THREAD_PRIORITY = 50


def on_rt_cpus(facts: Facts) -> CheckVerdict:
    seen = window(facts)
    counted = [
        f"{_device(label, row)}: {count} on CPU {cpu}"
        for cpu, label, row, count in _reached(facts)
        if _is_device(label, row)
    ]
    cpus, seconds = cpus_text(facts.rt_cpus), f"{seen.seconds:.1f} s"
    return none_of(counted, f"none on CPU {cpus} in {seconds}", why=f"within {seconds}")


def placement(facts: Facts) -> CheckVerdict:
    housekeeping(facts)
    here, cpus = [name for _, name in _directed(facts)], cpus_text(facts.rt_cpus)
    return none_of(here, f"none to CPU {cpus}", why=f"{len(here)} interrupts go to CPU {cpus}")


def managed(facts: Facts) -> CheckVerdict:
    closed = read_only(facts)
    if closed is None:
        return unknown("ls shows no /proc/irq/N/smp_affinity")
    fixed = closed | managed_by_name(window(facts).after.interrupts)
    here = [name for number, name in _directed(facts) if number in fixed]
    cpus = cpus_text(facts.rt_cpus)
    found = f"{len(fixed)} managed, none on CPU {cpus}"
    return none_of(here, found, why=f"they stay on CPU {cpus}")


def balancing(facts: Facts, debian: str, others: str, isolated: str) -> CheckVerdict:
    if "irqbalance" not in programs(facts):
        return passed("it does not run")
    # Since version 1.8 it leaves out isolated CPUs by itself.
    banned = cpu_set(facts.get(isolated) or "")
    for path in (debian, others):
        text = facts.get(path) or ""
        for value in re.findall(r"^\s*IRQBALANCE_BANNED_CPULIST=[\"']?([\d,-]+)", text, re.M):
            banned |= cpu_set(value)
        for value in re.findall(r"^\s*IRQBALANCE_BANNED_CPUS=[\"']?([\da-fA-F,]+)", text, re.M):
            banned |= set(mask_cpus(value))
    found = f"it runs, banned: {cpus_text(banned)}"
    return verdict(set(facts.rt_cpus) <= banned, f"it runs without CPU {cpus_text(banned)}", found)


def thread_priority(facts: Facts) -> CheckVerdict:
    threads = [task for task in tasks(facts) if task.kernel and task.name.startswith("irq/")]
    raised = [task.words for task in threads if task.priority > _IRQ_THREAD_PRIORITY]
    if raised:
        return failed(few(raised), severity="low")
    if not threads:
        return passed("no interrupt thread runs")
    top = max(task.priority for task in threads)
    below = [task.words for task in realtime_tasks(facts) if 0 < task.priority <= top]
    why = f"interrupt threads at {top} come before these tasks"
    return none_of(below, f"{len(threads)} interrupt threads at most at {top}", why=why)


def kernel_threads(facts: Facts) -> CheckVerdict:
    loose = [task.name for task in roaming(facts) if task.kernel]
    return verdict(not loose, "every one is placed", f"{len(loose)}: {few(loose)}")


def softirqs(facts: Facts) -> CheckVerdict:
    seen = window(facts)
    counted = [
        f"{name}: {count} on CPU {cpu}"
        for cpu in facts.rt_cpus
        for name, count in seen.softirqs(cpu).items()
        if name in _DEVICE_SOFTIRQS
    ]
    found = f"none on CPU {cpus_text(facts.rt_cpus)}"
    return none_of(counted, found, why=f"within {seen.seconds:.1f} s")


def softirq_threads(facts: Facts) -> CheckVerdict:
    seen = window(facts)
    tasks(facts)
    names = {f"ksoftirqd/{cpu}" for cpu in facts.rt_cpus}
    there = [task for task in seen.after.tasks.values() if task.name in names]
    if not there:
        return unknown(f"no {few(sorted(names))} is visible")
    before = seen.before.tasks
    busy = {t.name: t.ticks - before[t.tid].ticks for t in there if t.tid in before}
    running = [f"{name}: {ticks} ticks" for name, ticks in busy.items() if ticks > 0]
    return none_of(running, "no tick of CPU time", why=f"within {seen.seconds:.1f} s")


def receive_steering(facts: Facts, masks: str) -> CheckVerdict:
    housekeeping(facts)
    queues, cpus = facts.texts(masks), cpus_text(facts.rt_cpus)
    here = [_queue(path) for path, text in queues.items() if shared(facts, mask_cpus(text))]
    found = f"{len(queues)} queues, none to CPU {cpus}"
    return none_of(here, found, why=f"packets are handed to CPU {cpus}")


def send_steering(facts: Facts, files: str) -> CheckVerdict:
    other = {*housekeeping(facts)}
    found = facts.matches(files)
    refused = [f"{p}: {r.reason}" for p, r in found.items() if "denied" in r.reason]
    if refused:
        return unknown(refused[0])
    # A device of one queue has the file, and reading it says that there is none.
    masks = {path: set(mask_cpus(r.text.strip())) for path, r in found.items() if r.text}
    both = [_queue(p) for p, mask in masks.items() if mask & {*facts.rt_cpus} and mask & other]
    return none_of(both, f"{len(masks)} queues with a mask, none of both kinds")


def network_queues(facts: Facts, masks: str) -> CheckVerdict:
    room = len(housekeeping(facts))
    counts = Counter(path.split("/")[4] for path in facts.texts(masks))
    over = [f"{device}: {count}" for device, count in counts.items() if count > room]
    found = few([f"{device}: {count}" for device, count in counts.items()])
    return none_of(over, found, why=f"{room} CPUs are left for the rest")


def _devices(text: str) -> dict[str, str]:
    """Device -> what ethtool says of it."""
    return dict(re.findall(r"^==(\S+)\n(.*?)(?=^==|\Z)", text, re.M | re.S))


def coalescing(facts: Facts, network: str) -> CheckVerdict:
    found = []
    for name, text in _devices(facts.text(network)).items():
        waits = re.search(r"^rx-usecs:\s*(\d+)$", text, re.M)
        adapts = re.search(r"^Adaptive RX: on\b", text, re.M)
        if adapts or (waits and int(waits[1]) > _GATHERED_US):
            us = f"rx-usecs {waits[1]}" if waits else "rx-usecs unknown"
            found.append(f"{name}: {us}{', adaptive' * bool(adapts)}")
    return none_of(found, f"no device waits longer than {_GATHERED_US} us")


def eee(facts: Facts, network: str) -> CheckVerdict:
    devices = _devices(facts.text(network))
    on = [n for n, text in devices.items() if re.search(r"EEE status: enabled\b", text)]
    return none_of(on, "no link sleeps")


def between_cpus(facts: Facts) -> CheckVerdict:
    seen = window(facts)
    counted = [
        f"{row.about} on CPU {cpu}: {count / seen.seconds:.0f}/s"
        for cpu, _, row, count in _reached(facts)
        if row.about in _BETWEEN_CPUS and count > _IPIS_PER_S * seen.seconds
    ]
    found = f"fewer on CPU {cpus_text(facts.rt_cpus)}"
    return none_of(counted, found, why=f"counted for {seen.seconds:.1f} s")


def timer_tick(facts: Facts) -> CheckVerdict:
    seen = window(facts)
    ticks = dict.fromkeys(facts.rt_cpus, 0)
    for cpu, label, row, count in _reached(facts):
        ticks[cpu] += count * _is_timer(label, row)
    rates = {cpu: count / seen.seconds for cpu, count in ticks.items()}
    if not any(_is_timer(k, row) for k, row in seen.after.interrupts.items()):
        return unknown("/proc/interrupts names no timer")
    found = few([f"CPU {cpu}: {rate:.0f}/s" for cpu, rate in rates.items()])
    if facts.workload != "compute":
        return passed(found, "recorded; it depends on the tasks")
    return verdict(max(rates.values(), default=0) <= _TICKS_PER_S, found)


def _reached(facts: Facts) -> Iterator[tuple[int, str, Interrupt, int]]:
    """CPU, label, line and count of what came to the CPUs for real-time tasks in the window."""
    seen = window(facts)
    for cpu in facts.rt_cpus:
        for label, count in seen.interrupts(cpu).items():
            yield cpu, label, seen.after.interrupts[label], count


def _is_timer(label: str, row: Interrupt) -> bool:
    return label == "LOC" or _TIMER.search(row.about) is not None


def _is_device(label: str, row: Interrupt) -> bool:
    return label.isdigit() and not _is_timer(label, row) and _OF_THE_CPU.search(row.about) is None


def _device(label: str, row: Interrupt) -> str:
    """``36 (virtio1-req.0)``: the name stands last."""
    return f"{label} ({row.about.split()[-1] if row.about else '?'})"


def _queue(path: str) -> str:
    """``eth0 rx-0``."""
    words = path.split("/")
    return f"{words[4]} {words[6]}"


def _directed(facts: Facts) -> list[tuple[str, str]]:
    """Number and name of every interrupt that goes to a real-time CPU."""
    # Where the kernel keeps no effective affinity, what was asked for is it.
    found = facts.matches(_EFFECTIVE) or facts.matches(_ASKED)
    if not found:
        raise UnreadError("/proc/irq has no interrupt with an affinity")
    rows = window(facts).after.interrupts
    here = []
    for path, reading in found.items():
        number = path.split("/")[3]
        if reading.text is None:
            raise UnreadError(f"{path}: {reading.reason}")
        row, cpus = rows.get(number), cpu_set(reading.text.strip())
        if row is not None and _is_device(number, row) and shared(facts, cpus):
            here.append((number, _device(number, row)))
    return here
