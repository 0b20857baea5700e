"""What reaches the real-time CPUs: interrupts, their threads, deferred and network work."""

from __future__ import annotations

import re

from deadbeat.host.proc import Interrupt
from deadbeat.host.values import UnreadError, cpu_set, cpus_text, mask_cpus
from deadbeat.settings.check import CheckVerdict, failed, none_of, passed, unknown, verdict
from deadbeat.settings.facts import DMESG, Facts
from deadbeat.settings.reading import few, housekeeping, managed_by_name, read_only, shared
from deadbeat.settings.reading_window import (
    places,
    realtime_tasks,
    tasks,
    window,
)

EFFECTIVE = "/proc/irq/*/effective_affinity_list"
ASKED = "/proc/irq/*/smp_affinity_list"
BALANCER = ("/etc/default/irqbalance", "/etc/sysconfig/irqbalance")
ISOLATED = "/sys/devices/system/cpu/isolated"
RECEIVE = "/sys/class/net/*/queues/rx-*/rps_cpus"
SEND = "/sys/class/net/*/queues/tx-*/xps_cpus"
THREADED = "/sys/class/net/*/threaded"
COMPLETION = "/sys/block/*/queue/rq_affinity"
UNHANDLED = "/sys/module/spurious/parameters/noirqdebug"

#: Softirqs that go with a device's work; the others go with the tick.
_DEVICE_SOFTIRQS = ("HI", "NET_TX", "NET_RX", "BLOCK", "IRQ_POLL", "TASKLET")
#: Interrupts between CPUs, by what /proc/interrupts calls them.
_BETWEEN_CPUS = ("Rescheduling interrupts", "Function call interrupts", "TLB shootdowns")
#: Timers by the names that their drivers give (Linux drivers/clocksource, arch/*/kernel/time.c):
#: arch_timer, riscv-timer, i.MX Timer Tick, mct_tick0, ttc_clockevent; twd, of each Arm core.
_TIMER = re.compile(r"timer|tick|clockevent|\btwd\b|\bhpet|\bkvm guest ", re.I)
#: A CPU's own, which go nowhere else: counters of its events, what KVM is told by, and what an Arm
#: interrupt controller numbers 16 to 31 (private peripheral interrupts).
_OF_THE_CPU = re.compile(r"\b(arm[-_]pmu|\w*-pmu|vgic)\b|^GIC\S* (1[6-9]|2\d|3[01]) ")
_IPIS_PER_S, _TICKS_PER_S = 10, 10
_IRQ_THREAD_PRIORITY = 50


def on_rt_cpus(facts: Facts) -> CheckVerdict:
    seen = window(facts)
    counted = [
        f"{_device(label, seen.after.interrupts[label])}: {count} on CPU {cpu}"
        for cpu in facts.rt_cpus
        for label, count in seen.interrupts(cpu).items()
        if _is_device(label, seen.after.interrupts[label])
    ]
    if counted:
        return failed(few(counted), f"within {seen.seconds:.1f} s")
    return passed(f"none on CPU {cpus_text(facts.rt_cpus)} in {seen.seconds:.1f} s")


def placement(facts: Facts) -> CheckVerdict:
    housekeeping(facts)
    here = [name for _, name in _directed(facts)]
    if here:
        return failed(few(here), f"{len(here)} interrupts go to CPU {cpus_text(facts.rt_cpus)}")
    return passed(f"none to CPU {cpus_text(facts.rt_cpus)}")


def managed(facts: Facts) -> CheckVerdict:
    closed = read_only(facts)
    if closed is None:
        return unknown("ls shows no /proc/irq/N/smp_affinity")
    fixed = closed | managed_by_name(window(facts).after.interrupts)
    here = [name for number, name in _directed(facts) if number in fixed]
    if here:
        return failed(few(here), f"they stay on CPU {cpus_text(facts.rt_cpus)}")
    return passed(f"{len(fixed)} managed, none on CPU {cpus_text(facts.rt_cpus)}")


def balancing(facts: Facts) -> CheckVerdict:
    if not any(task.name == "irqbalance" for task in tasks(facts)):
        return passed("it does not run")
    banned: set[int] = set()
    for path in BALANCER:
        text = facts.get(path) or ""
        for value in re.findall(r"^\s*IRQBALANCE_BANNED_CPULIST=[\"']?([\d,-]+)", text, re.M):
            banned |= cpu_set(value)
        for value in re.findall(r"^\s*IRQBALANCE_BANNED_CPUS=[\"']?([\da-fA-F,]+)", text, re.M):
            banned |= set(mask_cpus(value))
    # Since version 1.8 it leaves out isolated CPUs by itself.
    banned |= cpu_set(facts.get(ISOLATED) or "")
    if set(facts.rt_cpus) <= banned:
        return passed(f"it runs without CPU {cpus_text(banned)}")
    return failed(f"it runs, banned: {cpus_text(banned)}")


def thread_priority(facts: Facts) -> CheckVerdict:
    threads = [task for task in tasks(facts) if task.kernel and task.name.startswith("irq/")]
    raised = [task.words for task in threads if task.priority > _IRQ_THREAD_PRIORITY]
    if raised:
        return failed(few(raised), severity="low")
    if not threads:
        return passed("no interrupt thread runs")
    top = max(task.priority for task in threads)
    below = [task.words for task in realtime_tasks(facts) if 0 < task.priority <= top]
    if below:
        return failed(few(below), f"interrupt threads at {top} come before these tasks")
    return passed(f"{len(threads)} interrupt threads at most at {top}")


def kernel_threads(facts: Facts) -> CheckVerdict:
    other = {*housekeeping(facts)}
    where = places(facts)
    loose = [
        task.name
        for task in tasks(facts)
        if task.kernel and task.tid in where
        if shared(facts, where[task.tid].cpus) and other & {*where[task.tid].cpus}
    ]
    if loose:
        return failed(f"{len(loose)}: {few(loose)}")
    return passed("every one is placed")


def softirqs(facts: Facts) -> CheckVerdict:
    seen = window(facts)
    counted = [
        f"{name}: {count} on CPU {cpu}"
        for cpu in facts.rt_cpus
        for name, count in seen.softirqs(cpu).items()
        if name in _DEVICE_SOFTIRQS
    ]
    if counted:
        return failed(few(counted), f"within {seen.seconds:.1f} s")
    return passed(f"none on CPU {cpus_text(facts.rt_cpus)}")


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


def receive_steering(facts: Facts) -> CheckVerdict:
    housekeeping(facts)
    queues = facts.texts(RECEIVE)
    here = [_queue(path) for path, text in queues.items() if shared(facts, mask_cpus(text))]
    if here:
        return failed(few(here), f"packets are handed to CPU {cpus_text(facts.rt_cpus)}")
    return passed(f"{len(queues)} queues, none to CPU {cpus_text(facts.rt_cpus)}")


def send_steering(facts: Facts) -> CheckVerdict:
    other = {*housekeeping(facts)}
    found = facts.matches(SEND)
    refused = [f"{p}: {r.reason}" for p, r in found.items() if "denied" in r.reason]
    if refused:
        return unknown(refused[0])
    # A device of one queue has the file, and reading it says that there is none.
    masks = {path: set(mask_cpus(r.text.strip())) for path, r in found.items() if r.text}
    both = [_queue(p) for p, mask in masks.items() if mask & {*facts.rt_cpus} and mask & other]
    return none_of(both, f"{len(masks)} queues with a mask, none of both kinds")


def packet_threads(facts: Facts) -> CheckVerdict:
    found = {path.split("/")[4]: text for path, text in facts.texts(THREADED).items()}
    devices = [name for name in found if name != "lo"]
    plain = [name for name in devices if found[name] == "0"]
    if plain:
        return failed(few([f"{name} = 0" for name in plain]))
    return passed(few([f"{name} = {found[name]}" for name in devices]) or "no device but lo")


def network_queues(facts: Facts) -> CheckVerdict:
    room = len(housekeeping(facts))
    counts: dict[str, int] = {}
    for path in facts.texts(RECEIVE):
        device = path.split("/")[4]
        counts[device] = counts.get(device, 0) + 1
    over = [f"{device}: {count}" for device, count in counts.items() if count > room]
    if over:
        return failed(few(over), f"{room} CPUs are left for the rest")
    return passed(few([f"{device}: {count}" for device, count in counts.items()]))


def disk_completion(facts: Facts) -> CheckVerdict:
    real = {
        path.split("/")[3]: text
        for path, text in facts.texts(COMPLETION).items()
        if not re.match(r"/sys/block/(loop|ram|zram|dm-|md)", path)
    }
    if not real:
        return passed("no disk")
    shown = few([f"{device} = {value}" for device, value in real.items()])
    return verdict(all(value == "2" for value in real.values()), shown)


def between_cpus(facts: Facts) -> CheckVerdict:
    seen = window(facts)
    counted = []
    for cpu in facts.rt_cpus:
        for label, count in seen.interrupts(cpu).items():
            about = seen.after.interrupts[label].about
            if about in _BETWEEN_CPUS and count > _IPIS_PER_S * seen.seconds:
                counted.append(f"{about} on CPU {cpu}: {count / seen.seconds:.0f}/s")
    if counted:
        return failed(few(counted), f"counted for {seen.seconds:.1f} s")
    return passed(f"fewer on CPU {cpus_text(facts.rt_cpus)}")


def timer_tick(facts: Facts) -> CheckVerdict:
    seen = window(facts)
    rates = {
        cpu: sum(
            n for k, n in seen.interrupts(cpu).items() if _is_timer(k, seen.after.interrupts[k])
        )
        / seen.seconds
        for cpu in facts.rt_cpus
    }
    if not any(_is_timer(k, row) for k, row in seen.after.interrupts.items()):
        return unknown("/proc/interrupts names no timer")
    found = few([f"CPU {cpu}: {rate:.0f}/s" for cpu, rate in rates.items()])
    if facts.workload == "compute" and max(rates.values(), default=0) > _TICKS_PER_S:
        return failed(found)
    return passed(found, "" if facts.workload == "compute" else "recorded; it depends on the tasks")


def unhandled(facts: Facts) -> CheckVerdict:
    found, log = f"noirqdebug = {facts.text(UNHANDLED)}", facts.text(DMESG)
    off = list(dict.fromkeys(re.findall(r"Disabling IRQ #(\d+)", log)))
    if off:
        return failed(f"{found}, IRQ {few(off)} off")
    if "Linux version " not in log:
        return unknown("none in the log, but its beginning is lost", found)
    return passed(found, "recorded; no line was switched off")


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
    found = facts.matches(EFFECTIVE) or facts.matches(ASKED)
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
