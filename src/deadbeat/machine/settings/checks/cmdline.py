"""Options of the command line at boot, and whether they still hold."""

from __future__ import annotations

import re

from deadbeat.machine.host.kernel import BootCpus, boot_cpus
from deadbeat.machine.host.proc import CPUINFO
from deadbeat.machine.host.values import UnreadError, cpus_text
from deadbeat.machine.settings.check import CheckVerdict, failed, passed, unknown, verdict
from deadbeat.machine.settings.facts import CONFIG, DMESG, Facts
from deadbeat.machine.settings.reading import (
    argument_cpus,
    cpu_flags,
    few,
    housekeeping,
    isolated,
    lacking,
    last_cpu,
    meant,
    offloaded,
    online,
    realtime,
    release,
    tickless,
)

_SERIAL = re.compile(r"tty(?:S|AMA|USB|PS|LP|mxc|SAC|MSM|STM|HS|GS|O|SC)\d")


def _said(facts: Facts, name: str, otherwise: str = "") -> str:
    """``name=value`` as on the command line; ``otherwise`` where it is not there."""
    value = facts.argument(name)
    return otherwise if value is None else f"{name}={value}" if value else name


def _uncovered(facts: Facts, cpus: set[int]) -> set[int]:
    """CPUs meant for real-time tasks that are not among ``cpus``."""
    return set(facts.rt_cpus) - cpus


def isolation(facts: Facts) -> CheckVerdict:
    found = isolated(facts)
    housekeeping(facts)
    bare = _uncovered(facts, found)
    return verdict(
        not bare,
        cpus_text(found),
        why=f"other tasks may run on {meant(facts, bare)}",
        cure=f"boot with isolcpus=managed_irq,domain,{cpus_text(facts.rt_cpus)}, or make an"
        " isolated cpuset partition",
    )


def managed_irq(facts: Facts) -> CheckVerdict:
    flagged = "managed_irq" in (facts.argument("isolcpus") or "").split(",")
    return verdict(
        flagged and not _uncovered(facts, argument_cpus(facts, "isolcpus")),
        _said(facts, "isolcpus", "no isolcpus="),
        why=f"managed interrupts may be placed on {meant(facts)}",
        cure=f"boot with isolcpus=managed_irq,domain,{cpus_text(facts.rt_cpus)}",
    )


def _ignored(facts: Facts, name: str, option: str) -> CheckVerdict | None:
    """A word that the kernel does not know, as it was built; None: it does, or cannot be asked."""
    if facts.argument(name) is None or facts.get(CONFIG) is None or facts.option(option) != "n":
        return None
    why = f"ignored: the kernel is built without {option}"
    cure = f"build the kernel with CONFIG_{option}, or drop {name}="
    return failed(_said(facts, name), why, cure=cure)


def nohz_full(facts: Facts) -> CheckVerdict:
    if ignored := _ignored(facts, "nohz_full", "NO_HZ_FULL"):
        return ignored
    found = tickless(facts)
    with_them, bare = found & set(facts.rt_cpus), _uncovered(facts, found)
    if facts.workload == "periodic":
        well = "a periodic loop wants its ticks (kernel-configuration)"
        return verdict(not with_them, cpus_text(found), well=well)
    if not bare:
        return passed(cpus_text(found), "for tasks that compute for long, alone on their CPU")
    if facts.workload == "compute":
        return failed(
            cpus_text(found),
            f"ticks interrupt computing on {meant(facts, bare)}",
            cure=f"boot with nohz_full={cpus_text(facts.rt_cpus)} (built with NO_HZ_FULL)",
        )
    return verdict(
        not with_them,
        cpus_text(found),
        why="some real-time CPUs have a tick and some have none",
        well="computing tasks would want it, periodic ones do not",
    )


def rcu_nocbs(facts: Facts) -> CheckVerdict:
    if ignored := _ignored(facts, "rcu_nocbs", "RCU_NOCB_CPU"):
        return ignored
    found = offloaded(facts)
    bare = _uncovered(facts, found)
    return verdict(
        not bare,
        cpus_text(found),
        why=f"callbacks run on {meant(facts, bare)}",
        cure=f"boot with rcu_nocbs={cpus_text(facts.rt_cpus)}",
    )


def rcu_nocb_poll(facts: Facts) -> CheckVerdict:
    if not offloaded(facts):
        return passed("nothing is offloaded", "there is nothing to poll for")
    return verdict(facts.argument("rcu_nocb_poll") is not None, "rcu_nocb_poll", "not polled")


def irqaffinity(facts: Facts) -> CheckVerdict:
    found = argument_cpus(facts, "irqaffinity")
    on = found & set(facts.rt_cpus)
    if found and not on:
        return passed(_said(facts, "irqaffinity"))
    return failed(
        _said(facts, "irqaffinity", "no irqaffinity="),
        f"interrupts may go to {meant(facts, on or None)}",
        cure=f"boot with irqaffinity={cpus_text(housekeeping(facts))}",
    )


def skew_tick(facts: Facts) -> CheckVerdict:
    if len(online(facts)) == 1:
        return passed("one CPU", "there are no other ticks")
    return verdict(facts.argument("skew_tick") == "1", _said(facts, "skew_tick", "no skew_tick="))


def tsc(facts: Facts) -> CheckVerdict:
    flags = cpu_flags(facts)
    if "tsc" not in flags:
        return passed("no time stamp counter", "it concerns x86 alone")
    asked = {word for value in facts.arguments("tsc") for word in value.split(",")}
    if asked & {"reliable", "nowatchdog"}:
        return passed(_said(facts, "tsc"))
    steady = {"constant_tsc", "nonstop_tsc", "tsc_adjust"} <= flags
    sockets = set(re.findall(r"^physical id\s*:\s*(\d+)", facts.text(CPUINFO), re.M))
    if steady:
        kernel = release(facts)
        # Up to this number of sockets (nodes of memory before Linux 6.12) it checks nothing.
        trusted = -1 if kernel < (5, 16) else 2 if kernel < (6, 6) else 4
        if len(sockets) <= trusted:
            return passed("constant_tsc nonstop_tsc tsc_adjust", "this kernel does not check it")
    return failed(_said(facts, "tsc", "no tsc="))


def watchdogs(facts: Facts, watchdog: str) -> CheckVerdict:
    if facts.argument("nowatchdog") is not None:
        return passed("nowatchdog")
    if lacking(facts, watchdog):
        return passed("no lockup detector in this kernel")
    parts = {
        "nosoftlockup": facts.argument("nosoftlockup") is not None,
        "nmi_watchdog=0": facts.argument("nmi_watchdog") == "0",
    }
    missing = [word for word, there in parts.items() if not there]
    return verdict(not missing, " ".join(parts), f"lacks {', '.join(missing)}")


def max_cstate(facts: Facts, idle_driver: str) -> CheckVerdict:
    driver = facts.text(idle_driver)
    if not re.fullmatch(r"[\w-]+", driver):
        raise UnreadError(f"{idle_driver} holds {driver[:20]!r}")
    if driver not in ("acpi_idle", "intel_idle"):
        return passed(f"driver {driver}", "these options apply to acpi_idle and intel_idle")
    if facts.argument("idle") in ("poll", "halt") or facts.argument("cpuidle.off") == "1":
        return passed(
            f"idle={facts.argument('idle')}" if facts.argument("idle") else "cpuidle.off=1"
        )
    word = "processor.max_cstate" if driver == "acpi_idle" else "intel_idle.max_cstate"
    cap = facts.argument(word)
    found = f"no {word}=" if cap is None else f"{word}={cap}"
    return verdict(cap in ("0", "1"), found, f"{driver}: {found}")


def idle_poll(facts: Facts) -> CheckVerdict:
    if facts.argument("idle") != "poll":
        return passed(_said(facts, "idle", "no idle="))
    if "hypervisor" in cpu_flags(facts):
        return failed("idle=poll in a guest", severity="medium")
    return failed("idle=poll", "heat, a lower turbo, and a slower SMT sibling")


def pstate(facts: Facts, drivers: str, intel: str, amd: str) -> CheckVerdict:
    for path in (intel, amd):
        status = facts.get(path)
        if status in ("active", "guided"):
            name = path.split("/")[-2]
            return failed(f"{name} {status}")
    asked = _said(facts, "intel_pstate") or _said(facts, "amd_pstate")
    if asked.partition("=")[2] in ("disable", "passive"):
        return passed(asked)
    found = sorted({r.text.strip() for r in facts.matches(drivers).values() if r.text})
    if not found:
        return unknown("no frequency driver: firmware or a host decides, and does not say how")
    return passed(f"driver {', '.join(found)}")


def threadirqs(facts: Facts) -> CheckVerdict:
    if realtime(facts):
        return passed("PREEMPT_RT", "all handlers are threads")
    return verdict(facts.argument("threadirqs") is not None, "threadirqs", "no threadirqs")


def kthread_cpus(facts: Facts) -> CheckVerdict:
    known = "kthread_cpus" not in _not_known(facts)
    found = argument_cpus(facts, "kthread_cpus") if known else set()
    if found and not found & set(facts.rt_cpus):
        return passed(_said(facts, "kthread_cpus"))
    away = isolated(facts) | tickless(facts)
    if not _uncovered(facts, away):
        return passed(f"isolated: {cpus_text(away)}", "unbound threads keep out of isolated CPUs")
    words = _said(facts, "kthread_cpus", "no kthread_cpus=")
    words += "" if known else " (not known to this kernel)"
    return failed(
        words,
        f"unbound threads of the kernel may run on {meant(facts)}",
        cure=f"boot with isolcpus=managed_irq,domain,{cpus_text(facts.rt_cpus)} (Ubuntu:"
        f" kthread_cpus={cpus_text(housekeeping(facts))})",
    )


def rcu_expedited(facts: Facts, after_boot: str, normal: str, expedited: str) -> CheckVerdict:
    if realtime(facts):
        return passed("PREEMPT_RT", "it uses normal grace periods once booted")
    values = {path: facts.integer(path) for path in (after_boot, normal, expedited)}
    found = ", ".join(f"{path.rpartition('/')[2]}={value}" for path, value in values.items())
    return verdict(1 in (values[after_boot], values[normal]), found)


def rcu_patience(facts: Facts, patience: str) -> CheckVerdict:
    if not tickless(facts):
        return passed("no CPU without a tick", "it concerns nohz_full= alone")
    value = facts.integer(patience)
    return verdict(value >= 1000, f"{value} ms")


def serial_console(facts: Facts, console: str) -> CheckVerdict:
    active = facts.get(console)
    names = facts.arguments("console") if active is None else active.split()
    serial = [name for name in names if _SERIAL.match(name)]
    if not serial:
        return passed(", ".join(names) or "none is named")
    found, word = ", ".join(serial), _quiet(facts)
    return verdict(word, f"{found}, {word}", found, well="few messages go there")


def _quiet(facts: Facts) -> str:
    """The words that keep kernel messages off the console; "" where there is none."""
    level = facts.argument("loglevel")
    if level is not None and level.isdigit():
        return f"loglevel={level}" if int(level) <= 4 else ""
    return "quiet" if facts.argument("quiet") is not None else ""


def quiet(facts: Facts) -> CheckVerdict:
    word = _quiet(facts)
    return verdict(word, word, _said(facts, "loglevel", "neither quiet nor loglevel="))


def _not_known(facts: Facts) -> str:
    """What the kernel's log says it did not know; "" also where there is no log."""
    found = re.search(r'Unknown kernel command line parameters "(.*?)"', facts.get(DMESG) or "")
    return found[1] if found else ""


def unknown_(facts: Facts) -> CheckVerdict:
    log, words = facts.text(DMESG), _not_known(facts)
    if words:
        return failed(few(words.split()))
    if release(facts) < (5, 14):
        raise UnreadError("kernels before 5.14 do not say what they did not know")
    if not re.search(r"(?:Kernel c|C)ommand line:", log):
        raise UnreadError("the log no longer holds the messages of the boot")
    return passed("none")


_LISTS = ("isolcpus", "nohz_full", "rcu_nocbs", "irqaffinity")


def lists_agree(facts: Facts) -> CheckVerdict:
    last = last_cpu(facts)
    lists = {name: boot_cpus(value, last) for name in _LISTS if (value := facts.argument(name))}
    if beyond := {name: each.beyond for name, each in lists.items() if each.beyond}:
        cpus = ", ".join(dict.fromkeys(beyond.values()))
        nothing = not any(each.cpus for name, each in lists.items() if name != "irqaffinity")
        why = f"there is no CPU {cpus} (the last is {last}){': nothing is isolated' * nothing}"
        return failed(
            " ".join(_said(facts, name) for name in beyond),
            why,
            cure=f"name CPUs up to {last}",
            severity="high",
        )
    lists.pop("irqaffinity", None)
    found = ", ".join(f"{name}: {cpus_text(each.cpus)}" for name, each in lists.items())
    away = {name: each.cpus for name, each in lists.items() if name != "rcu_nocbs"}
    # CPUs without a tick are offloaded anyway
    offloaded = lists.get("rcu_nocbs", BootCpus()).cpus | away.get("nohz_full", frozenset())
    covered = "rcu_nocbs" not in lists or all(cpus <= offloaded for cpus in away.values())
    return verdict(len({*away.values()}) < 2 and covered, found or "none is used")


def housekeeping_(facts: Facts) -> CheckVerdict:
    away = isolated(facts) | tickless(facts)
    left, found = online(facts) - away, f"isolated: {cpus_text(away)}"
    if not left:
        return failed(found, "no CPU is left for the rest of the system")
    if 0 in away:
        return failed(found, "CPU 0 has duties that cannot be moved")
    wanted = argument_cpus(facts, "irqaffinity")
    words = f"{found}, {_said(facts, 'irqaffinity')}"
    return verdict(not wanted or not wanted <= away, f"housekeeping: {cpus_text(left)}", words)
