"""Options of the command line at boot, and whether they still hold."""

from __future__ import annotations

import re
from collections.abc import Collection

from deadbeat.machine.host.cmdline import cpus_listed
from deadbeat.machine.host.proc import CPUINFO, colon_fields
from deadbeat.machine.host.recorded import NOT_GIVEN
from deadbeat.machine.host.values import UnreadError, cpus_text
from deadbeat.machine.settings.check import CheckVerdict, failed, none_of, passed, unknown, verdict
from deadbeat.machine.settings.facts import CONFIG, DMESG, ONLINE, Facts
from deadbeat.machine.settings.reading import (
    booted,
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
    switched_off,
    tickless,
)

_SERIAL = re.compile(r"tty(?:S|AMA|USB|PS|LP|mxc|SAC|MSM|STM|HS|GS|O|SC)\d")


def _said(facts: Facts, name: str, otherwise: str = "") -> str:
    """``name=value`` as on the command line; ``otherwise`` where it is not there."""
    value = facts.argument(name)
    return otherwise if value is None else f"{name}={value}" if value else name


def _bare(facts: Facts, cpus: Collection[int]) -> str:
    """CPUs meant for real-time tasks that are not among ``cpus``, in words; "" where all are."""
    if not facts.chosen_cpus and not cpus:
        return meant(facts)
    bare = set(facts.rt_cpus).difference(cpus)
    return meant(facts, bare) if bare else ""


def _list(facts: Facts) -> str:
    """CPUs meant for real-time tasks, as a word of the command line has them."""
    return cpus_text(facts.chosen_cpus) if facts.chosen_cpus else "LIST"


def _others(facts: Facts) -> str:
    """The other CPUs, likewise. UnreadError where none is left."""
    given = facts.reading(ONLINE).reason != NOT_GIVEN
    return cpus_text(housekeeping(facts)) if given else "LIST of the other CPUs"


def isolation(facts: Facts) -> CheckVerdict:
    found = isolated(facts)
    _others(facts)
    bare = _bare(facts, found)
    return verdict(
        not bare,
        cpus_text(found),
        why=f"other tasks may run on {bare}",
        cure=f"boot with isolcpus=managed_irq,domain,{_list(facts)}, or make an"
        " isolated cpuset partition",
    )


def managed_irq(facts: Facts) -> CheckVerdict:
    return verdict(
        not _bare(facts, booted(facts).managed),
        _said(facts, "isolcpus", "no isolcpus="),
        why=f"managed interrupts may be placed on {meant(facts)}",
        cure=f"boot with isolcpus=managed_irq,domain,{_list(facts)}",
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
    with_them, bare = found & set(facts.chosen_cpus), _bare(facts, found)
    if facts.workload == "periodic":
        well = "a periodic loop wants its ticks (kernel-configuration)"
        return verdict(not with_them, cpus_text(found), well=well)
    if facts.workload == "compute" and found and switched_off(facts, "nohz"):
        words = f"{cpus_text(found)}, nohz={facts.argument('nohz')}"
        return failed(words, "every CPU keeps its tick", cure="take nohz=off from the command line")
    if not bare:
        return passed(cpus_text(found), "for tasks that compute for long, alone on their CPU")
    if facts.workload == "compute":
        return failed(
            cpus_text(found),
            f"ticks interrupt computing on {bare}",
            cure=f"boot with nohz_full={_list(facts)} (built with NO_HZ_FULL)",
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
    bare = _bare(facts, found)
    return verdict(
        not bare,
        cpus_text(found),
        why=f"callbacks run on {bare}",
        cure=f"boot with rcu_nocbs={_list(facts)}",
    )


def rcu_nocb_poll(facts: Facts) -> CheckVerdict:
    if not offloaded(facts):
        return passed("nothing is offloaded", "there is nothing to poll for")
    return verdict(facts.argument("rcu_nocb_poll") is not None, "rcu_nocb_poll", "not polled")


def irqaffinity(facts: Facts) -> CheckVerdict:
    found = booted(facts).irqs
    on = (found or frozenset()).intersection(facts.chosen_cpus)
    if found and not on:
        return passed(_said(facts, "irqaffinity"), f"to CPU {cpus_text(found)}")
    return failed(
        _said(facts, "irqaffinity", "no irqaffinity="),
        f"interrupts may go to {meant(facts, on or None)}",
        cure=f"boot with irqaffinity={_others(facts)}",
    )


def skew_tick(facts: Facts) -> CheckVerdict:
    found = _said(facts, "skew_tick", "no skew_tick=")
    skewed = re.match(r"-?0*[1-9]|0[xX]0*[1-9a-fA-F]", facts.argument("skew_tick") or "")
    if not (skewed or isolated(facts) or tickless(facts)) and len(online(facts)) == 1:
        return passed("one CPU", "there are no other ticks")
    return verdict(skewed, found)


def tsc(facts: Facts) -> CheckVerdict:
    if {"reliable", "nowatchdog"}.intersection(facts.arguments("tsc")):
        return passed(_said(facts, "tsc"))
    flags = cpu_flags(facts)
    if "tsc" not in flags:
        return passed("no time stamp counter", "it concerns x86 alone")
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
    parts = {
        "nosoftlockup": facts.argument("nosoftlockup") is not None,
        "nmi_watchdog=0": facts.argument("nmi_watchdog") == "0",
    }
    missing = [word for word, there in parts.items() if not there]
    if missing and lacking(facts, watchdog):
        return passed("no lockup detector in this kernel")
    return verdict(not missing, " ".join(parts), f"lacks {', '.join(missing)}")


def max_cstate(facts: Facts, idle_driver: str) -> CheckVerdict:
    if facts.argument("idle") in ("poll", "halt") or facts.argument("cpuidle.off") == "1":
        return passed(_said(facts, "idle", "cpuidle.off=1"))
    driver = facts.text(idle_driver)
    if not re.fullmatch(r"[\w-]+", driver):
        raise UnreadError(f"{idle_driver} holds {driver[:20]!r}")
    if driver not in ("acpi_idle", "intel_idle"):
        return passed(f"driver {driver}", "these options apply to acpi_idle and intel_idle")
    word = "processor.max_cstate" if driver == "acpi_idle" else "intel_idle.max_cstate"
    cap = facts.argument(word)
    found = f"no {word}=" if cap is None else f"{word}={cap}"
    return verdict(cap in ("0", "1"), found, f"{driver}: {found}")


def idle_poll(facts: Facts) -> CheckVerdict:
    if facts.argument("idle") != "poll":
        return passed(_said(facts, "idle", "no idle="))
    if "hypervisor" in colon_fields(facts.get(CPUINFO) or "").get("flags", "").split():
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


def irqpoll(facts: Facts) -> CheckVerdict:
    found = [word for word in ("irqpoll", "irqfixup") if facts.argument(word) is not None]
    return none_of(found, "neither irqpoll nor irqfixup")


def kthread_cpus(facts: Facts) -> CheckVerdict:
    known = "kthread_cpus" not in _not_known(facts)
    found = cpus_listed(facts.argument("kthread_cpus") or "", last_cpu(facts) + 1).cpus
    if known and found and not found.intersection(facts.chosen_cpus):
        return passed(_said(facts, "kthread_cpus"))
    away = isolated(facts) | tickless(facts)
    if not _bare(facts, away):
        return passed(f"isolated: {cpus_text(away)}", "unbound threads keep out of isolated CPUs")
    words = _said(facts, "kthread_cpus", "no kthread_cpus=")
    words += "" if known else " (not known to this kernel)"
    return failed(
        words,
        f"unbound threads of the kernel may run on {meant(facts)}",
        cure=f"boot with isolcpus=managed_irq,domain,{_list(facts)} (Ubuntu:"
        f" kthread_cpus={_others(facts)})",
    )


def rcu_expedited(facts: Facts, after_boot: str, normal: str, expedited: str) -> CheckVerdict:
    if realtime(facts):
        return passed("PREEMPT_RT", "it uses normal grace periods once booted")
    for path in (after_boot, normal):
        if facts.get(path) == "1":
            return passed(f"{path.rpartition('/')[2]}=1")
    values = {path: facts.integer(path) for path in (after_boot, normal, expedited)}
    return failed(", ".join(f"{path.rpartition('/')[2]}={v}" for path, v in values.items()))


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


def lists_agree(facts: Facts) -> CheckVerdict:
    words = booted(facts)
    dropped = [(word, f"the kernel drops it: {why}") for word, why in words.dropped]
    if wrong := [*dropped, *words.changed]:
        named, why = zip(*wrong, strict=True)
        fix = "correct the words found: flags of isolcpus= first, then CPUs that are there"
        return failed(few(named), "; ".join(why), cure=fix, severity="high")
    lists = {"isolcpus": words.isolated or words.managed, "nohz_full": words.tickless}
    away = {name: cpus for name, cpus in lists.items() if cpus}
    offloaded = words.offloaded or frozenset()
    lists = away | ({"rcu_nocbs": offloaded} if facts.argument("rcu_nocbs") else {})
    found = ", ".join(f"{name}: {cpus_text(cpus)}" for name, cpus in lists.items())
    # CPUs without a tick are offloaded anyway
    covered = "rcu_nocbs" not in lists or all(cpus <= offloaded for cpus in away.values())
    return verdict(len({*away.values()}) < 2 and covered, found or "none is used")


def housekeeping_(facts: Facts) -> CheckVerdict:
    away, given = isolated(facts) | tickless(facts), facts.reading(ONLINE).reason != NOT_GIVEN
    found = f"isolated: {cpus_text(away)}"
    if given and not online(facts) - away:
        return failed(found, "no CPU is left for the rest of the system")
    if 0 in away:
        return failed(found, "CPU 0 has duties that cannot be moved")
    wanted = booted(facts).irqs or frozenset()
    left = cpus_text(online(facts) - away) if given else f"all but {cpus_text(away)}"
    words = f"{found}, {_said(facts, 'irqaffinity')}"
    if not wanted & away:
        return passed(f"housekeeping: {left}")
    why = f"interrupts are sent to isolated CPUs {cpus_text(wanted & away)}"
    return failed(words, why, cure=f"boot with irqaffinity={_others(facts)}")
