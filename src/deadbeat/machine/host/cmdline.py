"""The kernel's command line by the kernel's own grammar: words, lists of CPUs, and what the words
that keep CPUs free come to.

Sources (Linux 7.0): lib/cmdline.c (next_arg), lib/bitmap-str.c (bitmap_parselist),
kernel/sched/isolation.c, kernel/rcu/tree_nocb.h, kernel/irq/irqdesc.c, kernel/time/tick-sched.c.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from attrs import define, field, frozen

#: The kernel's isspace(), which knows bytes alone: the second one of a no-break space divides.
_BLANK = r" \t-\r\xa0"
_UINT_MAX = 0xFFFFFFFF


def command_words(line: str) -> list[str]:
    """Words of a command line; blanks between double quotes belong to theirs."""
    return re.findall(rf'(?:[^{_BLANK}"]|"[^"]*"?)+', line)


def boot_words(line: str) -> list[tuple[str, str | None]]:
    """Name, with ``_`` for ``-``, and value of every word; None: it has no ``=``.

    What follows ``--`` is for the first process.
    """
    found: list[tuple[str, str | None]] = []
    for word in command_words(line.encode("utf-8", "surrogateescape").decode("latin-1")):
        bare = word.removeprefix('"')
        name, equals, value = bare[:1] + bare[1:].partition("=")[0], *bare[1:].partition("=")[1:]
        if bare != word or value.startswith('"'):
            value = value.removeprefix('"')
            name, value = (name, value.removesuffix('"')) if equals else (name.rstrip('"'), value)
        if name == "--" and not equals:
            break
        found.append((name.replace("-", "_"), value if equals else None))
    return found


def arguments(line: str, name: str) -> list[str]:
    """Every value of a word of the kernel's command line, in order; "" where it has none."""
    return [value or "" for own, value in boot_words(line) if own == name.replace("-", "_")]


def truth(text: str) -> bool | None:
    """What a word that is on or off says; None: nothing that the kernel takes (kstrtobool)."""
    found = re.match(r"(?i)([yt1]|on)|[nf0]|of", text)
    return found and found[1] is not None


@frozen
class CpusListed:
    """CPUs of a list, up to what is ``wrong`` in it; "" where all of it was read."""

    cpus: frozenset[int] = frozenset()
    wrong: str = ""


_NUMBER = r"(N|\d+)"
_REGION = re.compile(
    rf"(?:(?i:(all))|{_NUMBER}(?:-{_NUMBER})?(?!:)|{_NUMBER}-{_NUMBER})"
    rf"(?::{_NUMBER}/{_NUMBER}|(?=[,{_BLANK}]|$))"
)


def cpus_listed(text: str, cpus: int) -> CpusListed:
    """A list on the command line: ``N`` is the last CPU, ``a-b:used/group`` the first ``used`` of
    each ``group``, ``all`` every one. A CPU that is not there makes all of it wrong.

    Args:
        cpus: How many there may be.
    """
    found: set[int] = set()
    at = 0
    while rest := text[at:].lstrip(", \t\n\v\f\r\xa0"):
        at = len(text) - len(rest)
        match = _REGION.match(text, at)
        if match is None:
            return CpusListed(frozenset(found), f"{rest!r} is no list of CPUs")

        def number(group: int, otherwise: int, match: re.Match[str] = match) -> int:
            word = match[group]
            return otherwise if word is None else cpus - 1 if word == "N" else int(word)

        first = 0 if match[1] else number(2, number(4, 0))
        last = cpus - 1 if match[1] else number(3, number(5, first))
        used, size = number(6, last + 1), number(7, last + 1)
        if first > last or used > size or not 0 < size <= _UINT_MAX:
            return CpusListed(frozenset(found), f"{match[0]!r} is no range of CPUs")
        if last >= cpus:
            beyond = str(last) if max(first, cpus) == last else f"{max(first, cpus)}-{last}"
            return CpusListed(
                frozenset(found), f"there is no CPU {beyond} (the last is {cpus - 1})"
            )
        found |= {cpu for cpu in range(first, last + 1) if (cpu - first) % size < used}
        at = match.end()
    return CpusListed(frozenset(found))


def numbered_by_the_machine(line: str) -> bool:
    """Whether a list of CPUs on ``line`` depends on how many there are."""
    lists = ("isolcpus", "nohz_full", "rcu_nocbs", "irqaffinity")
    return any(re.search(r"\bN\b|(?i:\ball\b)", v or "") for n, v in boot_words(line) if n in lists)


@frozen(kw_only=True)
class BootCpus:
    """What the words of a command line make of the CPUs.

    Attributes:
        isolated, tickless: As /sys/devices/system/cpu shows them after the boot.
        managed: Those that managed interrupts keep out of.
        offloaded: Those with RCU callbacks elsewhere; None: no word asks for any.
        irqs: Those that interrupts go to; None: no word says so.
        dropped: Words without effect. ``changed``: with another one than they say; each with why.
    """

    isolated: frozenset[int]
    tickless: frozenset[int]
    managed: frozenset[int]
    offloaded: frozenset[int] | None
    irqs: frozenset[int] | None
    dropped: tuple[tuple[str, str], ...]
    changed: tuple[tuple[str, str], ...]


_FLAGS = ("domain", "managed_irq", "nohz")


def boot_cpus(line: str, cpus: int, config: Mapping[str, str] | None = None) -> BootCpus:
    """What a kernel makes of ``line``; CPU 0 is the one that it boots on.

    Args:
        cpus: How many CPUs there may be (nr_cpu_ids), without a word that lowers it.
        config: Its build options; None: with NO_HZ_FULL and PM_SLEEP_SMP, as distributions do.
    """
    options = {"NO_HZ_FULL": "y", "PM_SLEEP_SMP": "y"} if config is None else config
    words = boot_words(line)
    cpus, started = _lowered(words, min(cpus, int(options.get("NR_CPUS", cpus))))
    kept = _Kept(frozenset(range(cpus)), frozenset(range(min(cpus, started))), options)
    offloaded = irqs = None
    dropped: list[tuple[str, str]] = []
    changed: list[tuple[str, str]] = []
    for name, value in words:
        text = name if value is None else f"{name}={value}"
        word = text.encode("latin-1").decode(errors="replace")
        if name in ("isolcpus", "nohz_full") and value is not None:
            flags, rest, why = _flags(value) if name == "isolcpus" else ({"nohz"}, value, "")
            listed = cpus_listed(rest, cpus)
            if why := why or kept.refuses(flags) or listed.wrong or kept.keep(flags, listed.cpus):
                dropped.append((word, why))
            elif 0 in listed.cpus and any(0 not in kept.away(flag) for flag in flags):
                changed.append((word, "CPU 0, which boots, stays for the system"))
        elif name == "rcu_nocbs":
            listed = cpus_listed(value or "", cpus)
            offloaded = kept.everyone if listed.wrong else listed.cpus
            if listed.wrong:
                changed.append((word, f"{listed.wrong}: every CPU is offloaded"))
        elif name == "irqaffinity" and value is not None:
            listed = cpus_listed(value, cpus)
            irqs = listed.cpus | {0}
            if listed.wrong:
                changed.append((word, f"{listed.wrong}: only what stands before it counts"))
    if tickless := kept.away("nohz"):
        offloaded = (offloaded or frozenset()) | tickless
    return BootCpus(
        isolated=kept.away("domain"),
        tickless=tickless,
        managed=kept.away("managed_irq"),
        offloaded=offloaded,
        irqs=irqs,
        dropped=tuple(dropped),
        changed=tuple(changed),
    )


def _lowered(words: Iterable[tuple[str, str | None]], cpus: int) -> tuple[int, int]:
    """How many CPUs there may be, and how many are started: these words are read before others."""
    started = cpus
    for name, value in words:
        number = re.match(r"\d+", value or "")
        if name in ("nr_cpus", "possible_cpus") and number and int(number[0]):
            cpus = min(cpus, int(number[0]))
        elif name == "maxcpus" and number:
            started = int(number[0])
        elif name == "nosmp":
            started = 0
    return cpus, started


def _flags(text: str) -> tuple[set[str], str, str]:
    """Flags of isolcpus=, the list behind them, and what is wrong with them."""
    flags: set[str] = set()
    while text[:1].isalpha():
        flag, comma, text = text.partition(",")
        if comma and flag in _FLAGS:
            flags.add(flag)
        elif not all(each.isalpha() or each == "_" for each in flag):
            return flags, text, f"its flag {flag!r} is none: flags stand before the list"
    return flags or {"domain"}, text, ""


@define
class _Kept:
    """What isolcpus= and nohz_full= come to, word by word (housekeeping_setup).

    Attributes:
        everyone, started: CPUs that there may be, and those of them that start.
        stay: Flag -> CPUs that it leaves to the system.
    """

    everyone: frozenset[int]
    started: frozenset[int]
    options: Mapping[str, str]
    stay: dict[str, frozenset[int]] = field(factory=dict)

    def away(self, flag: str) -> frozenset[int]:
        """CPUs that are kept free. The one that boots keeps its tick where the machine sleeps."""
        found = self.everyone - self.stay.get(flag, self.everyone)
        sleeps = self.options.get("PM_SLEEP_SMP") == "y"
        return found - {0} if flag == "nohz" and sleeps else found

    def refuses(self, flags: set[str]) -> str:
        lacks = "nohz" in flags and self.options.get("NO_HZ_FULL") != "y"
        return "the kernel is built without NO_HZ_FULL" if lacks else ""

    def keep(self, flags: set[str], cpus: frozenset[int]) -> str:
        """Keep ``cpus`` free; why they are not, else ""."""
        if not cpus:
            return "it names no CPU"
        stay = self.everyone - cpus
        if not stay & self.started:
            stay, cpus = stay | {0}, cpus - {0}
        if not cpus:
            return "it names no CPU but the one that boots"
        if any(self.stay[flag] != stay for flag in flags & self.stay.keys()):
            return "an earlier word names other CPUs, and that one holds"
        if self.stay:
            first = self.stay.get("domain", self.stay.get("nohz", self.everyone))
            both = stay & first if flags & {"domain", "nohz"} else {0}
            if not self.started.intersection(both):
                return "together with an earlier word it leaves no CPU for the system"
        self.stay.update(dict.fromkeys(flags - self.stay.keys(), stay))
        return ""
