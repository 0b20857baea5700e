"""What the processor saves power with, and what its CPUs share."""

from __future__ import annotations

import re
from collections.abc import Iterable

from deadbeat.machine.host.kernel import is_virtual
from deadbeat.machine.host.snapshot import SLOWED_FROM
from deadbeat.machine.host.values import UnreadError, chosen, cpu_set, cpus_text
from deadbeat.machine.settings.check import CheckVerdict, failed, passed, unknown, verdict
from deadbeat.machine.settings.facts import ONLINE, Facts
from deadbeat.machine.settings.reading import (
    by_cpu,
    cooling_of_cpus,
    cpu_of,
    few,
    grouped,
    is_x86,
    isolated,
    meant,
    numbers,
    online,
)

_CPU = "/sys/devices/system/cpu"
_DMA_LATENCY = "command:dma-latency"
_RESUME = "/sys/devices/system/cpu/cpu[0-9]*/power/pm_qos_resume_latency_us"

#: Longest way out of an idle state that passes: C1 takes 1 to 2 us, C1E about 10 us.
BUDGET_US = 10
_NO_LIMIT_US = 2_000_000_000
#: Nearer than this to where the processor is slowed down, m°C.
_MARGIN_MC = 5_000
_HIDDEN_CORES = "a guest: two of its CPUs may be threads of one core of the host"


def _guest(facts: Facts) -> bool:
    return is_virtual(facts.get)[0] is True


def fixed_frequency(facts: Facts, bottom: str, top: str) -> CheckVerdict:
    if not facts.matches(bottom):
        return unknown("no frequency driver: firmware or a host decides, and does not say how")
    lowest, highest = numbers(facts, bottom), numbers(facts, top)
    ranges = {
        cpu_of(path): f"{low // 1000}-{highest[most] // 1000} MHz"
        for path, low in lowest.items()
        if (most := path.replace("_min_", "_max_")) in highest and low != highest[most]
    }
    return verdict(not ranges, f"{min(highest.values()) // 1000} MHz", grouped(ranges))


def turbo(facts: Facts, no_turbo: str, boost: str) -> CheckVerdict:
    switched = facts.get(no_turbo)
    off = facts.integer(boost) == 0 if switched is None else facts.integer(no_turbo) == 1
    return verdict(off, "off", "on")


def idle_states(facts: Facts, latencies: str, switches: str, idle_driver: str) -> CheckVerdict:
    if not facts.matches(latencies):
        driver = facts.text(idle_driver)
        if _guest(facts):
            return unknown("the host's idle states cannot be seen from a guest", f"driver {driver}")
        return passed(f"driver {driver}", "CPUs only halt")
    exits, disabled = numbers(facts, latencies), numbers(facts, switches)
    deep = {
        path: us
        for path, us in exits.items()
        if cpu_of(path) in facts.rt_cpus
        and BUDGET_US < us <= _limit_us(facts, cpu_of(path))
        and not disabled.get(path.replace("/latency", "/disable"), 0)
    }
    if deep:
        cpus = {cpu_of(path) for path in deep}
        states = " ".join(sorted({path.split("/")[-2] for path in deep}))
        return failed(
            f"up to {max(deep.values())} us on {meant(facts, cpus)}",
            cure=f"for c in {_words(cpus)}; do for s in {states}; do echo 1 >"
            f" {_CPU}/cpu$c/cpuidle/$s/disable; done; done; or hold /dev/cpu_dma_latency at 0",
        )
    if _guest(facts):
        return unknown("the host's idle states cannot be seen from a guest", "none of the guest's")
    return passed(f"none on {meant(facts)}", "disabled, short, or ruled out by a latency limit")


def _words(cpus: Iterable[int]) -> str:
    """CPUs as a shell counts them up."""
    return " ".join(str(cpu) for cpu in sorted(cpus))


def _limit_us(facts: Facts, cpu: int) -> int:
    """Longest exit that the latency limits of programs allow on ``cpu`` (cpuidle, PM QoS)."""
    held = _held_us(facts)
    own = next((r.text for p, r in facts.matches(_RESUME).items() if cpu_of(p) == cpu), None)
    limits = [_NO_LIMIT_US if held is None else held]
    word = (own or "").strip()
    limits.append(0 if word == "n/a" else int(word) if word.isdigit() and int(word) else limits[0])
    return min(limits)


def dma_latency(facts: Facts) -> CheckVerdict:
    _, *programs = facts.text(_DMA_LATENCY).split() or [""]
    held = _held_us(facts)
    if held is None:
        raise UnreadError("/dev/cpu_dma_latency holds no number")
    holders = few(sorted({*programs})) or "a program that is hidden"
    bad = "no program holds it" if held >= _NO_LIMIT_US else ""
    return verdict(held <= BUDGET_US, f"{held} us, held by {holders}", bad)


def _held_us(facts: Facts) -> int | None:
    """The latency limit in force for all CPUs; None where it is not known."""
    words = (facts.get(_DMA_LATENCY) or "").split()
    return int(words[0]) if words and words[0].isdigit() else None


def resume_latency(facts: Facts, limits: str, latencies: str) -> CheckVerdict:
    values = {cpu: v for cpu, v in by_cpu(facts.texts(limits)).items() if cpu in facts.rt_cpus}
    if not values or not all(re.fullmatch(r"n/a|\d+", v) for v in values.values()):
        raise UnreadError(f"{limits} gives no limit for {meant(facts)}")
    exits = _numbers_or_none(facts, latencies)
    if all(cpu_of(p) not in facts.rt_cpus or us <= BUDGET_US for p, us in exits.items()):
        return passed(grouped(values), "recorded; there is no deeper state to keep out of")
    bare = [
        cpu for cpu, v in values.items() if v != "n/a" and int(v) not in range(1, BUDGET_US + 1)
    ]
    return verdict(
        not bare,
        grouped(values),
        why=f"no limit on {meant(facts, bare)}",
        cure=f"for c in {_words(bare)}; do echo n/a >"
        f" {_CPU}/cpu$c/power/pm_qos_resume_latency_us; done",
    )


def smt(facts: Facts, state: str, control: str, siblings: str) -> CheckVerdict:
    if facts.get(state) is None:
        active = any(len(cpu_set(text)) > 1 for text in facts.texts(siblings).values())
    else:
        active = facts.integer(state) != 0
    if not active and _guest(facts):
        return unknown(_HIDDEN_CORES, facts.get(control) or "none is shown")
    return verdict(not active, facts.get(control) or "no two CPUs share a core", "active")


def smt_siblings(facts: Facts, lists: str) -> CheckVerdict:
    there, away = online(facts), isolated(facts)
    cores = {cpu: cpu_set(t) for cpu, t in by_cpu(facts.texts(lists)).items()}
    rt = set(facts.rt_cpus)
    if not all(cpu in cores.get(cpu, ()) for cpu in rt):
        raise UnreadError(f"no topology of {meant(facts)}")
    siblings = {s for cpu in rt for s in cores[cpu] if s != cpu} & there
    busy = siblings - (away - rt)
    if busy:
        words = "another real-time task's" if busy <= rt else "other tasks'"
        return failed(
            f"CPUs {cpus_text(siblings)}",
            f"a core is shared with {words} CPU",
            cure=None
            if busy & rt
            else f"for c in {_words(busy)}; do echo 0 > {_CPU}/cpu$c/online; done (their interrupts"
            " do not all come back), or boot with nosmt",
        )
    if siblings:
        return passed(f"CPUs {cpus_text(siblings)}", "isolated; keep them idle")
    if _guest(facts):
        return unknown(_HIDDEN_CORES, "none is shown")
    return passed("none online")


def shared_cache(facts: Facts, numbers: str, lists: str) -> CheckVerdict:
    levels, sharing = facts.texts(numbers), facts.texts(lists)
    others = online(facts) - set(facts.rt_cpus)
    shared: dict[str, set[int]] = {}
    for path, level in levels.items():
        there = cpu_set(sharing.get(path.replace("/level", "/shared_cpu_list"), ""))
        if cpu_of(path) in facts.rt_cpus and others & there:
            shared.setdefault(f"L{level}", set()).update(others & there)
    if not shared:
        return passed("none")
    found = "; ".join(f"{name}: CPUs {cpus_text(cpus)}" for name, cpus in sorted(shared.items()))
    last = max(levels.values())
    only_last = set(shared) == {f"L{last}"} and last.isdigit() and int(last) > 2
    return failed(
        found,
        "the last level is shared, as on most processors" if only_last else "also near caches are",
        severity="info" if only_last else "low",
    )


def numa(facts: Facts, lists: str, memory: str) -> CheckVerdict:
    if not facts.matches(lists) and facts.get(ONLINE):
        return passed("no memory nodes", "this kernel knows of one memory")
    nodes = {path.split("/")[-2]: cpu_set(t) for path, t in facts.texts(lists).items()}
    used = sorted(node for node, cpus in nodes.items() if cpus & set(facts.rt_cpus))
    found = f"{meant(facts)} on {', '.join(used)} of {len(nodes)}"
    if not used:
        raise UnreadError(f"no node has {meant(facts)}")
    sizes = {
        path.split("/")[-2]: reading.text or "" for path, reading in facts.matches(memory).items()
    }
    empty = [n for n in used if re.search(r"MemTotal:\s+0 kB", sizes.get(n, ""))]
    if empty:
        cpus = cpus_text(set().union(*(nodes[n] for n in empty)) & set(facts.rt_cpus))
        return failed(found, f"{few(empty)} has no memory: every access of CPUs {cpus} is remote")
    return verdict(len(used) == 1, found)


def cache_allocation(facts: Facts, filesystems: str, schemata: str) -> CheckVerdict:
    known = facts.text(filesystems).split()
    if "proc" not in known:
        raise UnreadError(f"{filesystems} names no file systems")
    if "resctrl" not in known:
        return passed("not available", "neither processor nor kernel can divide the cache")
    groups = [path.split("/")[-2] for path in facts.matches(schemata)]
    return verdict(groups, f"groups: {few(groups)}", "available, not used")


def throttling(facts: Facts, counters: str) -> CheckVerdict:
    cooling = cooling_of_cpus(facts)
    slowed = [f"{name} = {state}" for name, state in cooling if state > 0]
    if slowed:
        return failed(few(slowed), "cooling devices slow it down now")
    if not facts.matches(counters) and not is_x86(facts):
        if cooling:
            found = f"0 of {len(cooling)} cooling devices active"
            return passed(found, "now; this processor does not count how often since the boot")
        why = "this processor has no counter, and the kernel no cooling device for its CPUs"
        return passed("not applicable", why, severity="info")
    counts = numbers(facts, counters)
    hot = {path: count for path, count in counts.items() if count}
    if hot:
        worst = max(hot, key=lambda path: hot[path])
        return failed(f"cpu{cpu_of(worst)} {worst.rpartition('/')[2]} = {hot[worst]}")
    return passed(f"0 in {len(counts)} counters")


def temperature(facts: Facts, temperatures: str, trips: str, kinds: str) -> CheckVerdict:
    zones = _whole_numbers(facts, temperatures)
    if not zones:
        return unknown("no thermal zone can be read")
    hottest = max(zones, key=lambda path: zones[path])
    found = f"{zones[hottest] / 1000:.0f} °C in {hottest.split('/')[-2]}"
    types = {p: (r.text or "").strip() for p, r in facts.matches(kinds).items()}
    # Where the processor is slowed or stopped; a trip point at 0 or below is one that is not set.
    slowed = {
        (path.rpartition("/")[0], limit)
        for path, limit in _whole_numbers(facts, trips).items()
        if limit > 0 and types.get(path.removesuffix("_temp") + "_type") in SLOWED_FROM
    }
    near = [
        path.split("/")[-2]
        for path, at in zones.items()
        if any(f"{zone}/temp" == path and at >= limit - _MARGIN_MC for zone, limit in slowed)
    ]
    return verdict(not near, found, f"{found}; near its limit: {few(near)}")


def _whole_numbers(facts: Facts, pattern: str) -> dict[str, int]:
    """`numbers` without files that hold none."""
    texts = {path: reading.text or "" for path, reading in facts.matches(pattern).items()}
    return {path: int(t) for path, t in texts.items() if re.fullmatch(r"-?\d+\s*", t)}


def capacity(facts: Facts, capacities: str) -> CheckVerdict:
    every = {cpu_of(path): str(value) for path, value in numbers(facts, capacities).items()}
    found = {cpu: text for cpu, text in every.items() if cpu in facts.rt_cpus}
    if not found:
        raise UnreadError(f"no capacity of {meant(facts)}")
    rest = "" if len(set(every.values())) == 1 else f"; the others differ: {grouped(every)}"
    return verdict(len(set(found.values())) == 1, grouped(found), well=f"recorded{rest}")


def pcie_aspm(facts: Facts, policies: str, links: str) -> CheckVerdict:
    if facts.argument("pcie_aspm") == "off":
        return passed("pcie_aspm=off")
    policy = chosen(facts.text(policies))
    if policy == "performance":
        return passed(policy)
    if policy not in ("default", "powersave", "powersupersave"):
        raise UnreadError(f"{policies} holds {policy[:20]!r}")
    asleep = sorted({p.split("/")[-3] for p, on in _numbers_or_none(facts, links).items() if on})
    well = "no device has a link that sleeps"
    return verdict(not asleep, policy, f"{policy}: {few(asleep)}", well=well)


def _numbers_or_none(facts: Facts, pattern: str) -> dict[str, int]:
    """`numbers`; empty where no file has such a name."""
    return numbers(facts, pattern) if facts.matches(pattern) else {}
