"""What reaches the real-time CPUs: interrupts, their threads, deferred and network work."""

from __future__ import annotations

import re
from collections.abc import Iterable

from deadbeat.host.proc import Interrupt
from deadbeat.host.values import UnreadError, cpu_set, cpus_text, mask_cpus
from deadbeat.settings import sources
from deadbeat.settings.check import Verdict, check, failed, passed, unknown
from deadbeat.settings.facts import DMESG, Facts
from deadbeat.settings.reading_interrupts import COMMANDS as IRQ_COMMANDS
from deadbeat.settings.reading_interrupts import MODES, managed_by_name, read_only
from deadbeat.settings.reading_values import ONLINE, few, housekeeping, shared
from deadbeat.settings.reading_window import (
    AFFINITIES,
    WINDOW,
    places,
    realtime_tasks,
    tasks,
    window,
)

EFFECTIVE = "/proc/irq/*/effective_affinity_list"
ASKED = "/proc/irq/*/smp_affinity_list"
BALANCER = ("/etc/default/irqbalance", "/etc/sysconfig/irqbalance")
ISOLATED = "/sys/devices/system/cpu/isolated"
WORKQUEUES = "/sys/devices/virtual/workqueue/cpumask"
WRITEBACK = "/sys/devices/virtual/workqueue/writeback/cpumask"
RECEIVE = "/sys/class/net/*/queues/rx-*/rps_cpus"
SEND = "/sys/class/net/*/queues/tx-*/xps_cpus"
THREADED = "/sys/class/net/*/threaded"
COMPLETION = "/sys/block/*/queue/rq_affinity"
UNHANDLED = "/sys/module/spurious/parameters/noirqdebug"

COMMANDS = IRQ_COMMANDS
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


@check(
    "interrupts.on-rt-cpus",
    "device interrupts that reach the real-time CPUs",
    severity="high",
    source=f"{sources.CPU_ISOLATION}; {sources.RHEL_REALTIME}",
    wanted="none within half a second",
    reads=(WINDOW,),
    cure="echo LIST > /proc/irq/N/smp_affinity_list, with the other CPUs",
)
def on_rt_cpus(facts: Facts) -> Verdict:
    """Every interrupt stops what its CPU does, of whatever priority."""
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


@check(
    "interrupts.placement",
    "interrupts that are directed to the real-time CPUs",
    severity="medium",
    source=f"{sources.CPU_ISOLATION}; {sources.INTEL_ECI}",
    wanted="the effective affinity of no interrupt has a real-time CPU",
    reads=(EFFECTIVE, ASKED, WINDOW, ONLINE),
    cure="echo LIST > /proc/irq/N/smp_affinity_list, with the other CPUs",
)
def placement(facts: Facts) -> Verdict:
    """An interrupt that is silent now still comes where it is directed."""
    housekeeping(facts)
    here = _directed_here(facts)
    if here:
        return failed(few(here), f"{len(here)} interrupts go to CPU {cpus_text(facts.rt_cpus)}")
    return passed(f"none to CPU {cpus_text(facts.rt_cpus)}")


@check(
    "interrupts.managed",
    "interrupts that cannot be moved",
    severity="medium",
    source=f"{sources.KERNEL_PARAMETERS} (isolcpus=managed_irq); kernel/irq/manage.c",
    wanted="no managed interrupt is directed to a real-time CPU",
    reads=(MODES, EFFECTIVE, ASKED, WINDOW),
    cure="boot with isolcpus=managed_irq,domain,LIST",
)
def managed(facts: Facts) -> Verdict:
    """The kernel places the interrupts of a device's queues itself, and refuses any other place."""
    closed = read_only(facts)
    if closed is None:
        return unknown("ls shows no /proc/irq/N/smp_affinity")
    fixed = closed | managed_by_name(window(facts).after.interrupts)
    here = [name for number, name in _directed(facts) if number in fixed]
    if here:
        return failed(few(here), f"they stay on CPU {cpus_text(facts.rt_cpus)}")
    return passed(f"{len(fixed)} managed, none on CPU {cpus_text(facts.rt_cpus)}")


@check(
    "interrupts.balancing",
    "irqbalance moves interrupts",
    severity="high",
    source=f"irqbalance(1); {sources.RHEL_REALTIME}",
    wanted="irqbalance does not run, or is kept from the real-time CPUs",
    reads=(WINDOW, *BALANCER, ISOLATED),
    cure="systemctl disable --now irqbalance, or IRQBALANCE_BANNED_CPULIST=LIST in its file",
)
def balancing(facts: Facts) -> Verdict:
    """It undoes a placement by hand within seconds."""
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
    return failed(
        f"it runs, banned: {cpus_text(banned)}", "it may move any interrupt to a real-time CPU"
    )


@check(
    "interrupts.default-placement",
    "where new interrupts go",
    severity="medium",
    source=f"Linux Documentation/core-api/irq/irq-affinity.rst; {sources.KERNEL_PARAMETERS}",
    wanted="default_smp_affinity without the real-time CPUs",
    reads=("/proc/irq/default_smp_affinity", ONLINE),
    cure="echo MASK > /proc/irq/default_smp_affinity, or boot with irqaffinity=LIST",
)
def default_placement(facts: Facts) -> Verdict:
    """A driver that is loaded later, or a device that comes back, gets this placement."""
    housekeeping(facts)
    return _kept_out(facts, mask_cpus(facts.text("/proc/irq/default_smp_affinity")))


@check(
    "interrupts.thread-priority",
    "interrupt threads against real-time tasks",
    severity="medium",
    source="rtirq; Linux Documentation/core-api/real-time/differences.rst",
    wanted="no interrupt thread above 50, no real-time task at or below one unless meant",
    reads=(WINDOW,),
    cure="chrt -f -p PRIORITY TID: tasks that need a device below its thread, others above",
)
def thread_priority(facts: Facts) -> Verdict:
    """Threaded handlers run at SCHED_FIFO 50: a task at 50 or below waits for all of them."""
    threads = [task for task in tasks(facts) if task.kernel and task.name.startswith("irq/")]
    raised = [task.words for task in threads if task.priority > _IRQ_THREAD_PRIORITY]
    if raised:
        return failed(few(raised), "raised above the default of 50", severity="low")
    if not threads:
        return passed("no interrupt thread runs")
    top = max(task.priority for task in threads)
    below = [task.words for task in realtime_tasks(facts) if 0 < task.priority <= top]
    if below:
        return failed(few(below), f"interrupt threads at {top} come before these tasks")
    return passed(f"{len(threads)} interrupt threads at most at {top}")


@check(
    "interrupts.workqueues",
    "unbound kernel work",
    severity="medium",
    source=f"{sources.TUNED_REALTIME}; Linux Documentation/core-api/workqueue.rst",
    wanted="workqueue/cpumask without the real-time CPUs",
    reads=(WORKQUEUES, ONLINE),
    cure=f"echo MASK > {WORKQUEUES}",
)
def workqueues(facts: Facts) -> Verdict:
    """Work that may run anywhere otherwise also runs on the real-time CPUs."""
    housekeeping(facts)
    return _kept_out(facts, mask_cpus(facts.text(WORKQUEUES)))


@check(
    "interrupts.writeback",
    "writing of dirty pages",
    severity="medium",
    source=f"{sources.TUNED_REALTIME}; {sources.PER_CPU_KTHREADS}",
    wanted="workqueue/writeback/cpumask without the real-time CPUs",
    reads=(WRITEBACK, ONLINE),
    cure=f"echo MASK > {WRITEBACK}",
)
def writeback(facts: Facts) -> Verdict:
    """Writing back is long kernel work, and has a mask of its own."""
    housekeeping(facts)
    return _kept_out(facts, mask_cpus(facts.text(WRITEBACK)))


@check(
    "interrupts.kernel-threads",
    "kernel threads that may run anywhere",
    severity="low",
    source=f"{sources.PER_CPU_KTHREADS}; {sources.TUNED_PARTITIONING}; tuna(8)",
    wanted="threads of the kernel that are not of one CPU are kept from the real-time CPUs",
    reads=(WINDOW, AFFINITIES, ONLINE),
    cure="taskset -p -c LIST TID for each, or boot with kthread_cpus=LIST",
)
def kernel_threads(facts: Facts) -> Verdict:
    """khugepaged, kcompactd, rcu threads and the like run where there is room."""
    other = {*housekeeping(facts)}
    where = places(facts)
    loose = [
        task.name
        for task in tasks(facts)
        if task.kernel and task.tid in where
        if shared(facts, where[task.tid].cpus) and other & {*where[task.tid].cpus}
    ]
    if loose:
        return failed(f"{len(loose)}: {few(loose)}", "they may run on the real-time CPUs too")
    return passed("every one is placed")


@check(
    "interrupts.softirqs",
    "deferred work of devices on the real-time CPUs",
    severity="medium",
    source=sources.PER_CPU_KTHREADS,
    wanted="none within half a second (HI, NET_TX, NET_RX, BLOCK, IRQ_POLL, TASKLET)",
    reads=(WINDOW,),
    cure="move the interrupt that causes it: it is deferred on the CPU that took that",
)
def softirqs(facts: Facts) -> Verdict:
    """Softirqs run before any task; on PREEMPT_RT in the context of who raised them."""
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


@check(
    "interrupts.softirq-threads",
    "ksoftirqd runs on the real-time CPUs",
    severity="medium",
    source=sources.PER_CPU_KTHREADS,
    wanted="no CPU time within half a second",
    reads=(WINDOW,),
    cure="move the interrupts that keep it busy to the other CPUs",
)
def softirq_threads(facts: Facts) -> Verdict:
    """It takes over where softirqs come faster than they are done: a sign of overload."""
    seen = window(facts)
    tasks(facts)
    names = {f"ksoftirqd/{cpu}" for cpu in facts.rt_cpus}
    there = [task for task in seen.after.tasks.values() if task.name in names]
    if not there:
        return unknown(f"no {few(sorted(names))} is to be seen")
    before = seen.before.tasks
    busy = {t.name: t.ticks - before[t.tid].ticks for t in there if t.tid in before}
    running = [f"{name}: {ticks} ticks" for name, ticks in busy.items() if ticks > 0]
    if running:
        return failed(few(running), f"within {seen.seconds:.1f} s")
    return passed("no tick of CPU time")


@check(
    "interrupts.receive-steering",
    "received packets handed to real-time CPUs",
    severity="medium",
    source=sources.NET_SCALING,
    wanted="rps_cpus of no queue has a real-time CPU",
    reads=(RECEIVE, ONLINE),
    cure="echo MASK > /sys/class/net/DEVICE/queues/rx-N/rps_cpus",
)
def receive_steering(facts: Facts) -> Verdict:
    """RPS spreads the work of packets over the CPUs of the mask, by an interrupt each."""
    housekeeping(facts)
    queues = facts.texts(RECEIVE)
    here = [_queue(path) for path, text in queues.items() if shared(facts, mask_cpus(text))]
    if here:
        return failed(few(here), f"packets are handed to CPU {cpus_text(facts.rt_cpus)}")
    return passed(f"{len(queues)} queues, none to CPU {cpus_text(facts.rt_cpus)}")


@check(
    "interrupts.send-steering",
    "send queues shared by real-time and other CPUs",
    severity="low",
    source=sources.NET_SCALING,
    wanted="no queue has both kinds of CPUs in xps_cpus",
    reads=(SEND, ONLINE),
    cure="echo MASK > /sys/class/net/DEVICE/queues/tx-N/xps_cpus",
)
def send_steering(facts: Facts) -> Verdict:
    """CPUs of one queue wait for its lock; and its completions come to one of them."""
    other = {*housekeeping(facts)}
    found = facts.matches(SEND)
    refused = [f"{p}: {r.reason}" for p, r in found.items() if "denied" in r.reason]
    if refused:
        return unknown(refused[0])
    # A device of one queue has the file, and reading it says that there is none.
    masks = {path: set(mask_cpus(r.text.strip())) for path, r in found.items() if r.text}
    both = [_queue(p) for p, mask in masks.items() if mask & {*facts.rt_cpus} and mask & other]
    if both:
        return failed(few(both), "real-time and other CPUs send through the same queue")
    return passed(f"{len(masks)} queues with a mask, none of both kinds")


@check(
    "interrupts.packet-threads",
    "packets handled by threads",
    severity="info",
    source="Linux Documentation/networking/napi.rst (threaded)",
    wanted="threaded = 1 where network traffic has to leave real-time CPUs alone",
    reads=(THREADED,),
    cure="echo 1 > /sys/class/net/DEVICE/threaded; then place and rank napi/DEVICE-N",
)
def packet_threads(facts: Facts) -> Verdict:
    """A thread for each queue can be placed and given a priority; a softirq cannot."""
    found = {path.split("/")[4]: text for path, text in facts.texts(THREADED).items()}
    devices = [name for name in found if name != "lo"]
    plain = [name for name in devices if found[name] == "0"]
    if plain:
        return failed(
            few([f"{name} = 0" for name in plain]), "packets are handled by whoever is interrupted"
        )
    return passed(few([f"{name} = {found[name]}" for name in devices]) or "no device but lo")


@check(
    "interrupts.network-queues",
    "queues of network devices",
    severity="low",
    source="tuned, plugin net (channels); Linux Documentation/networking/scaling.rst",
    wanted="no device has more queues than there are CPUs for the rest",
    reads=(RECEIVE, ONLINE),
    cure="ethtool -L DEVICE combined N",
)
def network_queues(facts: Facts) -> Verdict:
    """Each queue has an interrupt; more queues than other CPUs put some on the real-time ones."""
    room = len(housekeeping(facts))
    counts: dict[str, int] = {}
    for path in facts.texts(RECEIVE):
        device = path.split("/")[4]
        counts[device] = counts.get(device, 0) + 1
    over = [f"{device}: {count}" for device, count in counts.items() if count > room]
    if over:
        return failed(few(over), f"{room} CPUs are left for the rest")
    return passed(few([f"{device}: {count}" for device, count in counts.items()]))


@check(
    "interrupts.disk-completion",
    "where requests of disks are completed",
    severity="low",
    source="Linux Documentation/ABI/stable/sysfs-block (rq_affinity)",
    wanted="rq_affinity = 2: on the CPU that asked",
    reads=(COMPLETION,),
    cure="echo 2 > /sys/block/DEVICE/queue/rq_affinity",
)
def disk_completion(facts: Facts) -> Verdict:
    """With 1 a CPU that shares the cache completes it, with 0 whoever takes the interrupt."""
    real = {
        path.split("/")[3]: text
        for path, text in facts.texts(COMPLETION).items()
        if not re.match(r"/sys/block/(loop|ram|zram|dm-|md)", path)
    }
    if not real:
        return passed("no disk")
    shown = few([f"{device} = {value}" for device, value in real.items()])
    if any(value != "2" for value in real.values()):
        return failed(shown, "requests of others may be completed on a real-time CPU")
    return passed(shown)


@check(
    "interrupts.between-cpus",
    "interrupts from other CPUs",
    severity="medium",
    source=f"{sources.HARDWARE}; {sources.CPU_ISOLATION}",
    wanted=f"at most {_IPIS_PER_S} a second on each real-time CPU",
    reads=(WINDOW,),
    cure="keep tasks that share memory or a queue with the real-time ones off, or on, their CPUs",
)
def between_cpus(facts: Facts) -> Verdict:
    """Munmap and mprotect of a shared address space, static keys, wake-ups from afar."""
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


@check(
    "interrupts.timer-tick",
    "the timer's interrupts on the real-time CPUs",
    severity="medium",
    source=f"{sources.NO_HZ}; {sources.CPU_ISOLATION}",
    wanted=f"with --workload compute at most {_TICKS_PER_S} a second, else recorded",
    reads=(WINDOW,),
    cure="boot with nohz_full=LIST, and run one task a CPU",
)
def timer_tick(facts: Facts) -> Verdict:
    """A task that computes is stopped at each tick; one that waits for a timer needs them."""
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
        return failed(found, "each tick stops a task that would compute without a pause")
    return passed(found, "" if facts.workload == "compute" else "recorded; it depends on the tasks")


@check(
    "interrupts.unhandled",
    "interrupts that nobody handled",
    severity="info",
    source="Linux Documentation/PCI/boot-interrupts.rst; kernel/irq/spurious.c;"
    f" {sources.KERNEL_PARAMETERS} (noirqdebug)",
    wanted="no line was switched off since the boot; noirqdebug is recorded",
    reads=(UNHANDLED, DMESG),
    cure="mend the driver of the line or what the firmware routes to it (lines before it in dmesg)",
)
def unhandled(facts: Facts) -> Verdict:
    """The kernel switches a line off after a hundred thousand interrupts that nobody handles, and
    polls it; with noirqdebug it does not, and a line that is stuck takes its CPU for good."""
    found, log = f"noirqdebug = {facts.text(UNHANDLED)}", facts.text(DMESG)
    off = list(dict.fromkeys(re.findall(r"Disabling IRQ #(\d+)", log)))
    if off:
        return failed(
            f"{found}, IRQ {few(off)} off", "its devices wait for a poll, ten times a second"
        )
    if "Linux version " not in log:
        return unknown("none in the log, whose beginning is gone", found)
    return passed(found, "recorded; no line was switched off")


def _kept_out(facts: Facts, cpus: Iterable[int]) -> Verdict:
    found = cpus_text(cpus)
    if here := shared(facts, cpus):
        return failed(f"CPU {found}", f"real-time CPU {cpus_text(here)} is among them")
    return passed(f"CPU {found}")


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


def _directed_here(facts: Facts) -> list[str]:
    return [name for _, name in _directed(facts)]
