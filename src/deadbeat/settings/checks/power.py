"""What the processor saves power with, and what its CPUs share."""

from __future__ import annotations

import re
from collections.abc import Iterable

from deadbeat.host.kernel import is_virtual
from deadbeat.host.proc import CPUINFO
from deadbeat.host.values import UnreadError, chosen, cpu_set, cpus_text
from deadbeat.settings.check import CheckVerdict, failed, passed, unknown, verdict
from deadbeat.settings.facts import Facts
from deadbeat.settings.reading import (
    ONLINE,
    cooling_of_cpus,
    cpu_of,
    few,
    is_x86,
    isolated,
    meant,
    numbers,
    online,
)

_CPU = "/sys/devices/system/cpu"
_EACH = f"{_CPU}/cpu[0-9]*"
_GOVERNORS = f"{_EACH}/cpufreq/scaling_governor"
_LOWEST = f"{_EACH}/cpufreq/scaling_min_freq"
_HIGHEST = f"{_EACH}/cpufreq/scaling_max_freq"
_TURBO = (f"{_CPU}/intel_pstate/no_turbo", f"{_CPU}/cpufreq/boost")
_PREFERENCES = f"{_EACH}/cpufreq/energy_performance_preference"
_BIASES = f"{_EACH}/power/energy_perf_bias"
_IDLE_DRIVER = f"{_CPU}/cpuidle/current_driver"
_EXITS = f"{_EACH}/cpuidle/state[0-9]*/latency"
_DISABLED = f"{_EACH}/cpuidle/state[0-9]*/disable"
_RESUME = f"{_EACH}/power/pm_qos_resume_latency_us"
_DMA_LATENCY = "command:dma-latency"
_SMT = (f"{_CPU}/smt/active", f"{_CPU}/smt/control")
_SIBLINGS = f"{_EACH}/topology/thread_siblings_list"
_LEVELS = f"{_EACH}/cache/index[0-9]*/level"
_SHARING = f"{_EACH}/cache/index[0-9]*/shared_cpu_list"
_NODES = "/sys/devices/system/node/node[0-9]*/cpulist"
_FILESYSTEMS = "/proc/filesystems"
_CACHE_GROUPS = "/sys/fs/resctrl/*/schemata"
_THROTTLED = f"{_EACH}/thermal_throttle/*_throttle_count"
_ZONES = "/sys/class/thermal/thermal_zone[0-9]*/temp"
_TRIPS = "/sys/class/thermal/thermal_zone[0-9]*/trip_point_[0-9]*_temp"
_TRIP_TYPES = "/sys/class/thermal/thermal_zone[0-9]*/trip_point_[0-9]*_type"
_CAPACITIES = f"{_EACH}/cpu_capacity"
_LINKS = "/sys/bus/pci/devices/*/link/*_aspm"
_ASPM = "/sys/module/pcie_aspm/parameters/policy"

COMMANDS = {
    # The limit in force, then the programs that hold one, if there is one.
    "dma-latency": r"""
file=/dev/cpu_dma_latency
[ -r $file ] || { cat $file; exit 1; }
limit=$(od -An -td4 -N4 $file || hexdump -n4 -e '"%d"' $file) && [ -n "$limit" ] || exit 1
echo $limit
[ $limit -ge 2000000000 ] && exit 0
ls -l /proc/[0-9]*/fd 2>/dev/null |
    awk -F/ '/^\/proc/ { pid = $3 } /cpu_dma_latency$/ { print pid }' |
    while read pid; do cat /proc/$pid/comm; done
:""",
}
#: Longest way out of an idle state that passes: C1 takes 1 to 2 us, C1E about 10 us.
BUDGET_US = 10
_NO_LIMIT_US = 2_000_000_000
#: Nearer than this to where the processor is slowed down, m°C.
_MARGIN_MC = 5_000
_HIDDEN_CORES = "a guest: two of its CPUs may be threads of one core of the host"
_NO_DRIVER = "no frequency driver: firmware or a host decides, and does not say how"


def _by_cpu(facts: Facts, pattern: str) -> dict[int, str]:
    """CPU -> text of its file. UnreadError as `Facts.texts`."""
    texts = facts.texts(pattern)
    return {cpu_of(path): text for path, text in sorted(texts.items(), key=lambda t: cpu_of(t[0]))}


def _grouped(values: dict[int, str]) -> str:
    """``performance: CPUs 0-3; powersave: CPUs 4-7``."""
    groups: dict[str, list[int]] = {}
    for cpu, value in values.items():
        groups.setdefault(value, []).append(cpu)
    if len(groups) == 1:
        return next(iter(groups))
    return "; ".join(f"{value}: CPUs {cpus_text(cpus)}" for value, cpus in groups.items())


def _guest(facts: Facts) -> bool:
    return is_virtual(facts.get)[0] is True


def governor(facts: Facts) -> CheckVerdict:
    if not facts.matches(_GOVERNORS):
        return unknown(_NO_DRIVER)
    found = _by_cpu(facts, _GOVERNORS)
    return verdict(set(found.values()) == {"performance"}, _grouped(found))


def fixed_frequency(facts: Facts) -> CheckVerdict:
    if not facts.matches(_LOWEST):
        return unknown(_NO_DRIVER)
    lowest, highest = numbers(facts, _LOWEST), numbers(facts, _HIGHEST)
    ranges = {
        cpu_of(path): f"{low // 1000}-{highest[top] // 1000} MHz"
        for path, low in lowest.items()
        if (top := path.replace("_min_", "_max_")) in highest and low != highest[top]
    }
    if ranges:
        return failed(_grouped(ranges))
    return passed(f"{min(highest.values()) // 1000} MHz")


def turbo(facts: Facts) -> CheckVerdict:
    switched = facts.get(_TURBO[0])
    off = facts.integer(_TURBO[1]) == 0 if switched is None else facts.integer(_TURBO[0]) == 1
    return verdict(off, "off" if off else "on")


def energy_preference(facts: Facts) -> CheckVerdict:
    pattern = _PREFERENCES if facts.matches(_PREFERENCES) else _BIASES
    if not facts.matches(pattern):
        return unknown("neither energy_performance_preference nor energy_perf_bias is there")
    found = _by_cpu(facts, pattern)
    return verdict(set(found.values()) <= {"performance", "0"}, _grouped(found))


def idle_states(facts: Facts) -> CheckVerdict:
    if not facts.matches(_EXITS):
        driver = facts.text(_IDLE_DRIVER)
        if _guest(facts):
            return unknown("the host's idle states cannot be seen from a guest", f"driver {driver}")
        return passed(f"driver {driver}", "CPUs only halt")
    exits, disabled = numbers(facts, _EXITS), numbers(facts, _DISABLED)
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
    """Longest exit that somebody's latency limit allows on ``cpu`` (cpuidle, PM QoS)."""
    held = _held_us(facts)
    own = next((r.text for p, r in facts.matches(_RESUME).items() if cpu_of(p) == cpu), None)
    limits = [_NO_LIMIT_US if held is None else held]
    word = (own or "").strip()
    limits.append(0 if word == "n/a" else int(word) if word.isdigit() and int(word) else limits[0])
    return min(limits)


def dma_latency(facts: Facts) -> CheckVerdict:
    held = _held_us(facts)
    if held is None:
        facts.text(_DMA_LATENCY)
        raise UnreadError("/dev/cpu_dma_latency holds no number")
    holders = sorted(set(facts.text(_DMA_LATENCY).split()[1:]))
    found = f"{held} us, held by {few(holders) if holders else 'a program that is hidden'}"
    if held <= BUDGET_US:
        return passed(found)
    found = "nobody holds it" if held >= _NO_LIMIT_US else found
    return failed(found)


def _held_us(facts: Facts) -> int | None:
    """The latency limit in force for all CPUs; None where it is not known."""
    words = (facts.get(_DMA_LATENCY) or "").split()
    return int(words[0]) if words and words[0].isdigit() else None


def resume_latency(facts: Facts) -> CheckVerdict:
    values = {cpu: v for cpu, v in _by_cpu(facts, _RESUME).items() if cpu in facts.rt_cpus}
    if not values or not all(re.fullmatch(r"n/a|\d+", v) for v in values.values()):
        raise UnreadError(f"{_RESUME} gives no limit for {meant(facts)}")
    exits = _numbers_or_none(facts, _EXITS)
    if all(cpu_of(p) not in facts.rt_cpus or us <= BUDGET_US for p, us in exits.items()):
        return passed(_grouped(values), "recorded; there is no deeper state to keep out of")
    bare = [
        cpu for cpu, v in values.items() if v != "n/a" and int(v) not in range(1, BUDGET_US + 1)
    ]
    return verdict(
        not bare,
        _grouped(values),
        why=f"no limit on {meant(facts, bare)}",
        cure=f"for c in {_words(bare)}; do echo n/a >"
        f" {_CPU}/cpu$c/power/pm_qos_resume_latency_us; done",
    )


def smt(facts: Facts) -> CheckVerdict:
    if facts.get(_SMT[0]) is None:
        active = any(len(cpu_set(text)) > 1 for text in _by_cpu(facts, _SIBLINGS).values())
    else:
        active = facts.integer(_SMT[0]) != 0
    if not active and _guest(facts):
        return unknown(_HIDDEN_CORES, facts.get(_SMT[1]) or "none is shown")
    if not active:
        return passed(facts.get(_SMT[1]) or "no two CPUs share a core")
    return failed("active")


def smt_siblings(facts: Facts) -> CheckVerdict:
    there, away = online(facts), isolated(facts)
    cores = {cpu: cpu_set(t) for cpu, t in _by_cpu(facts, _SIBLINGS).items()}
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


def shared_cache(facts: Facts) -> CheckVerdict:
    levels, sharing = facts.texts(_LEVELS), facts.texts(_SHARING)
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


def numa(facts: Facts) -> CheckVerdict:
    nodes = {path.split("/")[-2]: cpu_set(t) for path, t in facts.texts(_NODES).items()}
    used = sorted(node for node, cpus in nodes.items() if cpus & set(facts.rt_cpus))
    found = f"{meant(facts)} on {', '.join(used)} of {len(nodes)}"
    if not used:
        raise UnreadError(f"no node has {meant(facts)}")
    return verdict(len(used) == 1, found)


def cache_allocation(facts: Facts) -> CheckVerdict:
    known = facts.text(_FILESYSTEMS).split()
    if "proc" not in known:
        raise UnreadError(f"{_FILESYSTEMS} names no file systems")
    if "resctrl" not in known:
        return passed("not available", "neither processor nor kernel can divide the cache")
    groups = [path.split("/")[-2] for path in facts.matches(_CACHE_GROUPS)]
    if groups:
        return passed(f"groups: {few(groups)}")
    return failed("available, not used")


def throttling(facts: Facts) -> CheckVerdict:
    cooling = cooling_of_cpus(facts)
    slowed = [f"{name} = {state}" for name, state in cooling if state > 0]
    if slowed:
        return failed(few(slowed), "cooling devices slow it down now")
    if not facts.matches(_THROTTLED) and not is_x86(facts):
        if cooling:
            found = f"0 of {len(cooling)} cooling devices at work"
            return passed(found, "now; this processor does not count how often since the boot")
        why = "this processor has no counter, and the kernel no cooling device for its CPUs"
        return passed("not applicable", why, severity="info")
    counts = numbers(facts, _THROTTLED)
    hot = {path: count for path, count in counts.items() if count}
    if hot:
        worst = max(hot, key=lambda path: hot[path])
        where = f"cpu{cpu_of(worst)} {worst.rpartition('/')[2]}"
        return failed(f"{where} = {hot[worst]}")
    return passed(f"0 in {len(counts)} counters")


def temperature(facts: Facts) -> CheckVerdict:
    zones = {p: int(t) for p, r in facts.matches(_ZONES).items() if _whole(t := r.text or "")}
    if not zones:
        return unknown("no thermal zone can be read")
    hottest = max(zones, key=lambda path: zones[path])
    found = f"{zones[hottest] / 1000:.0f} °C in {hottest.split('/')[-2]}"
    near = [
        path.split("/")[-2]
        for path, at in zones.items()
        if any(at >= trip - _MARGIN_MC for trip in _trips(facts, path.removesuffix("/temp")))
    ]
    if near:
        return failed(f"{found}; near its limit: {few(near)}")
    return passed(found)


def _whole(text: str) -> bool:
    return re.fullmatch(r"-?\d+\s*", text) is not None


def _trips(facts: Facts, zone: str) -> list[int]:
    """Temperatures at which the processor is slowed or stopped."""
    kinds = {p: (r.text or "").strip() for p, r in facts.matches(_TRIP_TYPES).items()}
    at = {p: int(t) for p, r in facts.matches(_TRIPS).items() if _whole(t := r.text or "")}
    slow = ("passive", "hot", "critical")
    return [
        value
        for path, value in at.items()
        if path.startswith(f"{zone}/")
        and value > 0
        and kinds.get(path.removesuffix("_temp") + "_type") in slow
    ]


def all_online(facts: Facts) -> CheckVerdict:
    away = set(facts.cpu_list(f"{_CPU}/present")) - online(facts)
    if not away:
        return passed(facts.text(ONLINE))
    if (facts.get(_SMT[1]) or "") in ("off", "forceoff"):
        return passed(facts.text(ONLINE), f"CPUs {cpus_text(away)} are off with SMT")
    return failed(f"offline: {cpus_text(away)}")


def capacity(facts: Facts) -> CheckVerdict:
    every = {cpu_of(path): str(value) for path, value in numbers(facts, _CAPACITIES).items()}
    found = {cpu: text for cpu, text in every.items() if cpu in facts.rt_cpus}
    if not found:
        raise UnreadError(f"no capacity of {meant(facts)}")
    words = _grouped(found)
    if len(set(found.values())) > 1:
        return failed(words)
    rest = "" if len(set(every.values())) == 1 else f"; the others differ: {_grouped(every)}"
    return passed(words, f"recorded{rest}")


def processor(facts: Facts) -> CheckVerdict:
    text = facts.text(CPUINFO)
    fields = ("model name", "microcode", "CPU part", "uarch")
    rows = {
        name: list(dict.fromkeys(re.findall(rf"^{name}\s*:\s*(.*)$", text, re.M)))
        for name in fields
    }
    if not any(rows.values()):
        return unknown("/proc/cpuinfo names no processor")
    found = ", ".join(f"{n} {' / '.join(v)}" for n, v in rows.items() if v)
    return verdict(all(len(values) < 2 for values in rows.values()), found, well="recorded")


def pcie_aspm(facts: Facts) -> CheckVerdict:
    if facts.argument("pcie_aspm") == "off":
        return passed("pcie_aspm=off")
    policy = chosen(facts.text(_ASPM))
    if policy == "performance":
        return passed(policy)
    if policy not in ("default", "powersave", "powersupersave"):
        raise UnreadError(f"{_ASPM} holds {policy[:20]!r}")
    asleep = sorted({p.split("/")[-3] for p, on in _numbers_or_none(facts, _LINKS).items() if on})
    if not asleep:
        return passed(policy, "no device has a link that sleeps")
    return failed(f"{policy}: {few(asleep)}")


def _numbers_or_none(facts: Facts, pattern: str) -> dict[str, int]:
    """As `numbers`; nothing where no file is called so."""
    return numbers(facts, pattern) if facts.matches(pattern) else {}
