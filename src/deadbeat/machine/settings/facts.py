"""What the checks know of a machine: every check says what it reads, all is read at once.

A check is a pure function of `Facts`; whoever tests it writes a `FakeTarget` with a few files.
What could not be read raises `UnreadError` where a check asks for it, and so becomes ``unknown``
with the reason: a check cannot pass on something that was not read.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from functools import cache, lru_cache
from importlib.resources import files
from types import MappingProxyType

from attrs import evolve, field, frozen

from deadbeat.machine.host.cmdline import arguments
from deadbeat.machine.host.kernel import CMDLINE, options_of
from deadbeat.machine.host.values import UnreadError, parse_cpu_list
from deadbeat.machine.targets.base import Target
from deadbeat.machine.targets.readings import Reading, Readings

#: Files that say how the running kernel was built; the first that can be read counts.
CONFIG = "command:kernel-config"
#: The kernel's messages.
DMESG = "command:dmesg"
ONLINE = "/sys/devices/system/cpu/online"
POSSIBLE = "/sys/devices/system/cpu/possible"
LOCKDOWN = "/sys/kernel/security/lockdown"
#: What is read of every machine, whoever asks.
ALWAYS = (
    *(ONLINE, POSSIBLE, LOCKDOWN, CMDLINE),
    *("/sys/devices/system/cpu/isolated", "/sys/devices/system/cpu/nohz_full"),
)
#: Files that are empty where there is nothing to list; any other one that is was masked.
_MAY_BE_EMPTY = {
    *("/sys/devices/system/cpu/isolated", "/sys/devices/system/cpu/nohz_full", CMDLINE),
    *(f"/sys/kernel/{each}tracing/set_event" for each in ("", "debug/")),
    *("/sys/class/tty/console/active", "/.dockerenv", "/run/.containerenv"),
    *("command:cpu-quota", "command:cpuset-partitions", "command:deadline-tasks"),
}


@frozen(kw_only=True)
class Facts:
    """A machine's state as read, and what it is for.

    Attributes:
        workload: ``periodic``, ``compute`` or ``mixed``.
        chosen_cpus: CPUs meant for real-time tasks; empty: none named, and none seen.
        asked_cpus: Whether the user named them; else they were taken from the machine's state.
    """

    readings: Readings = field(factory=Readings)
    workload: str = "mixed"
    chosen_cpus: tuple[int, ...] = ()
    asked_cpus: bool = False

    @property
    def rt_cpus(self) -> tuple[int, ...]:
        """CPUs meant for real-time tasks. UnreadError where there is none: nothing said of no CPU
        would be known of one."""
        if not self.chosen_cpus:
            raise UnreadError(f"no CPU is known: {self.reading(ONLINE).reason or ONLINE}")
        return self.chosen_cpus

    def reading(self, what: str) -> Reading:
        """A path, or ``command:NAME``; one that is not declared is a mistake (KeyError)."""
        name = what.removeprefix("command:")
        return self.readings.files[what] if name == what else self.readings.commands[name]

    def text(self, what: str) -> str:
        """Its content without blanks around it. UnreadError where there is none."""
        reading = self.reading(what)
        if reading.text is None:
            raise UnreadError(f"{what.removeprefix('command:')}: {reading.reason}")
        found = reading.text.strip(" \t\n\0")
        if not found and what not in _MAY_BE_EMPTY:
            raise UnreadError(f"{what} is empty")
        return found

    def get(self, what: str) -> str | None:
        """`text`; None where there is none, for a caller to which that says something."""
        with suppress(UnreadError):
            return self.text(what)
        return None

    def integer(self, what: str) -> int:
        """A whole number. UnreadError where it is none."""
        text = self.text(what)
        if not re.fullmatch(r"[+-]?\d+", text):
            raise UnreadError(f"{what} holds {text[:40]!r}, not a number")
        return int(text)

    def cpu_list(self, what: str) -> list[int]:
        """CPUs of the kernel's list format. UnreadError where it is none."""
        text = self.text(what)
        try:
            return parse_cpu_list(text)
        except ValueError:
            raise UnreadError(f"{what} holds no list of CPUs") from None

    def matches(self, pattern: str) -> dict[str, Reading]:
        """Every path that ``pattern`` matched, with what it held."""
        paths = self.readings.patterns[pattern]
        return {p: self.readings.files[p] for p in paths if p in self.readings.files}

    def texts(self, pattern: str) -> dict[str, str]:
        """Every path that ``pattern`` matched, with its text.

        UnreadError where there is none, or one is unread."""
        found = self.matches(pattern)
        if not found:
            raise UnreadError(f"not found: {pattern}")
        for path, reading in found.items():
            if reading.text is None:
                raise UnreadError(f"{path}: {reading.reason}")
        return {path: (reading.text or "").strip(" \t\n\0") for path, reading in found.items()}

    def option(self, name: str) -> str:
        """CONFIG_name of the kernel: ``y``, ``m``, a value, or ``n``.

        UnreadError without a config.
        """
        return self.config().get(name, "n")

    def config(self) -> Mapping[str, str]:
        """The kernel's build options that are set, without CONFIG_. As `option`."""
        found = _options(self.text(CONFIG))
        if not found:
            raise UnreadError("kernel-config: no option is set in what was read")
        return found

    def argument(self, name: str) -> str | None:
        """The last value of a word of the kernel's command line; "" where it has none; None: it is
        not there. Dashes and underscores are alike, as to the kernel."""
        found = self.arguments(name)
        return found[-1] if found else None

    def arguments(self, name: str) -> list[str]:
        """Every value of a word of the kernel's command line, in order. As `argument`."""
        return arguments(self.text(CMDLINE), name)


@lru_cache(maxsize=2)
def _options(text: str) -> Mapping[str, str]:
    """A configuration is long, and half of the checks ask for an option of it."""
    return MappingProxyType(options_of(text))


@cache
def commands() -> Mapping[str, str]:
    """What a shell runs for ``command:NAME``: ``settings/commands/NAME.sh``."""
    folder = files("deadbeat.machine.settings").joinpath("commands")
    return {
        each.name.removesuffix(".sh"): each.read_text("ascii").rstrip("\n")
        for each in folder.iterdir()
    }


def _read(target: Target, paths: list[str], scripts: Mapping[str, str], process: str) -> Readings:
    """What ``target`` gives, where /proc/self is ``process``."""
    own, there = "/proc/self/", f"/proc/{process}/"
    asked = [path.replace(own, there) for path in paths]
    found = target.read_many(asked, {n: text.replace(own, there) for n, text in scripts.items()})
    if process == "self":
        return found
    return Readings(
        files={path.replace(there, own): each for path, each in found.files.items()},
        commands=found.commands,
        patterns={
            pattern.replace(there, own): tuple(path.replace(there, own) for path in paths)
            for pattern, paths in found.patterns.items()
        },
    )


def gather(
    target: Target,
    reads: Iterable[str],
    *,
    workload: str = "mixed",
    rt_cpus: Sequence[int] | None = None,
    pid: int | None = None,
) -> Facts:
    """Reads everything in ``reads`` (paths, patterns, ``command:NAME``) in one go.

    Args:
        pid: Process that is meant by /proc/self; None: the one that reads.
        rt_cpus: None: the isolated CPUs, else all that are online but the first, else all.

    Raises:
        TargetError: The target gave nothing at all.
    """
    wanted = dict.fromkeys((*ALWAYS, *reads))
    names = [each.removeprefix("command:") for each in wanted if each.startswith("command:")]
    paths = [each for each in wanted if not each.startswith("command:")]
    scripts = {name: commands()[name] for name in names}
    readings = _read(target, paths, scripts, "self" if pid is None else str(pid))
    facts = Facts(readings=readings, workload=workload, asked_cpus=rt_cpus is not None)
    if rt_cpus is None:

        def listed(path: str) -> list[int]:
            try:
                return facts.cpu_list(path)
            except UnreadError:
                return []

        online = listed(ONLINE)
        cpus = listed("/sys/devices/system/cpu/isolated") or online[1:] or online
        chosen_cpus = tuple(cpus or listed("/sys/devices/system/cpu/nohz_full"))
    else:
        chosen_cpus = tuple(rt_cpus)
    return evolve(facts, chosen_cpus=chosen_cpus)
