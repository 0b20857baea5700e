"""What a system consists of: processes, services, packages, image size, time to boot, processor.

The table with which Savoir-faire Linux compares a minimal system with a vendor's, with systemd or
without it; every line says how it was counted, or why it is not known. A fact that one file or
build option tells is a row of ``inventory.toml``: nothing is wanted of it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial

from attrs import frozen

from deadbeat.base.model.words import size
from deadbeat.machine.host.values import UnreadError
from deadbeat.machine.settings.checks.tasks import SERVICES
from deadbeat.machine.settings.facts import CONFIG, DMESG, ONLINE, Facts
from deadbeat.machine.settings.reading import few, part_of
from deadbeat.machine.settings.reading_window import AFFINITIES, WINDOW, places, tasks, window
from deadbeat.machine.settings.rows import FactRow, read_rows
from deadbeat.machine.targets.readings import is_pattern

PACKAGES = "command:packages"
ROOT_SIZE = "command:root-size"
STARTUP = "command:startup"
STARTED = "command:started"
#: Who shows a prompt, on a screen or a serial line.
_PROMPTS = ("getty", "agetty", "login", "mingetty", "askfirst", "sulogin", "gdm", "sddm", "weston")
_TICKS_PER_S = 100  # USER_HZ of /proc, on every architecture that Linux still has

_FACTS = tuple(read_rows(FactRow, "inventory.toml"))
READS = (
    *(WINDOW, AFFINITIES, SERVICES, PACKAGES, ROOT_SIZE, STARTUP, STARTED, DMESG, CONFIG),
    *(row.path for row in _FACTS if row.path),
)


@frozen(kw_only=True)
class Item:
    """One line of the inventory.

    Attributes:
        value: A number, or what a file says; None: not known, and ``basis`` says why.
        unit: ``""``, ``s`` or ``kB``.
        basis: How it was counted, or why not.
    """

    name: str
    title: str
    value: float | str | None
    unit: str
    basis: str

    @property
    def known(self) -> bool:
        return self.value is not None

    @property
    def text(self) -> str:
        """``171``, ``12.4 s``, ``16 MB``, ``not known``."""
        if self.value is None:
            return "not known"
        if isinstance(self.value, str):
            return self.value
        if self.unit == "kB":
            return size(1000 * self.value)
        return f"{self.value:.1f} s" if self.unit == "s" else f"{self.value:.0f}"


Counted = tuple[float | str, str]


def inventory(facts: Facts) -> tuple[Item, ...]:
    """Every line; ``facts`` must have `READS`."""
    rows: tuple[tuple[str, str, str, Callable[[Facts], Counted]], ...] = (
        ("processes", "processes, threads of the kernel among them", "", _processes),
        ("kernel-threads", "threads of the kernel", "", partial(_threads, kernel=True)),
        ("threads", "threads of users", "", partial(_threads, kernel=False)),
        ("services-active", "services, active", "", _active),
        ("services-running", "services, running", "", _running),
        ("packages", "packages, installed", "", _packages),
        ("image", "root file system, used", "kB", _image),
        ("boot", "boot to the prompt", "s", _boot),
        ("uptime", "up since", "s", lambda facts: (window(facts).after.uptime_s, "/proc/uptime")),
        *((row.name, row.title, "", partial(_fact, row=row)) for row in _FACTS),
    )
    return tuple(_item(facts, *row) for row in rows)


def _item(
    facts: Facts, name: str, title: str, unit: str, count: Callable[[Facts], Counted]
) -> Item:
    value: float | str | None = None
    try:
        value, basis = count(facts)
    except ValueError as error:
        basis = str(error)
    return Item(name=name, title=title, value=value, unit=unit, basis=basis)


def _fact(facts: Facts, row: FactRow) -> Counted:
    if row.option:
        return facts.option(row.option), f"CONFIG_{row.option}"
    if is_pattern(row.path):
        facts.text(ONLINE)  # /sys is there
        files = sorted(facts.matches(row.path).items())
        there = [p for p, reading in files if re.search(row.pattern, reading.text or "")]
        return few([part_of(path, row.path) for path in there]) or "none", row.path
    found = re.findall(row.pattern or "(?s).+", facts.text(row.path), re.M)
    if not found:
        raise UnreadError(f"{row.path} does not say")
    return " / ".join(dict.fromkeys(" ".join(each.split()) for each in found)), row.path


def _processes(facts: Facts) -> Counted:
    tasks(facts)
    return len({place.pid for place in places(facts).values()}), "folders of /proc, as ps -e counts"


def _threads(facts: Facts, *, kernel: bool) -> Counted:
    basis = "flag PF_KTHREAD in /proc/PID/stat" if kernel else "folders of /proc/PID/task"
    return sum(task.kernel == kernel for task in tasks(facts)), basis


def _active(facts: Facts) -> Counted:
    if facts.get(SERVICES) is not None:
        return _of_systemd(facts, "active"), "systemctl list-units --type=service --state=active"
    if facts.get(STARTED) is None:
        raise UnreadError(f"{_why(facts, SERVICES)}; {_why(facts, STARTED)}")
    place, _, count = facts.text(STARTED).rpartition(" ")
    return _number(count, "started"), f"started at boot by {place}; systemd does not run"


def _running(facts: Facts) -> Counted:
    if facts.get(SERVICES) is not None:
        return _of_systemd(facts, "running"), "systemctl list-units --type=service --state=running"
    # Whoever detaches itself is adopted by process 1: a service, in a system without a manager.
    children = [
        t for t in tasks(facts) if t.parent == 1 and not t.kernel and t.name not in _PROMPTS
    ]
    own = {tid: place.pid for tid, place in places(facts).items()}
    count = len({own.get(task.tid, task.tid) for task in children})
    return count, "children of process 1 without a prompt, as systemd does not run"


def _of_systemd(facts: Facts, state: str) -> float:
    found = re.search(rf"^{state} (\d+)$", facts.text(SERVICES), re.M)
    if found is None:
        raise UnreadError(f"systemctl gave no count of {state} services")
    return int(found[1])


def _packages(facts: Facts) -> Counted:
    manager, _, count = facts.text(PACKAGES).partition(" ")
    return _number(count, "packages"), f"records of {manager}"


def _image(facts: Facts) -> Counted:
    words = facts.text(ROOT_SIZE).splitlines()[-1].split()
    if len(words) < 6:
        raise UnreadError("df gave no line for /")
    return _number(words[2], "df"), "used blocks of /, data of its users too (df -k)"


def _boot(facts: Facts) -> Counted:
    if facts.get(STARTUP) is not None:
        found = re.search(r"= (?:(\d+)min )?([\d.]+)(m?)s", facts.text(STARTUP))
        if found is None:
            raise UnreadError("systemd-analyze gave no time")
        seconds = float(found[2]) / (1000 if found[3] else 1)
        return int(found[1] or 0) * 60 + seconds, "systemd-analyze, kernel and users"
    prompts = [t for t in tasks(facts) if t.name in _PROMPTS]
    if prompts:
        first = min(prompts, key=lambda task: task.started_ticks)
        return first.started_ticks / _TICKS_PER_S, f"start of {first.name} after the kernel's"
    found = re.search(r"^\[\s*([\d.]+)\] Run (\S+) as init", facts.get(DMESG) or "", re.M)
    if found:
        return float(found[1]), f"until the kernel started {found[2]}: there is no prompt"
    raise UnreadError(f"{_why(facts, STARTUP)}, no prompt waits, and the log does not say")


def _number(text: str, what: str) -> int:
    if not text.strip().isdigit():
        raise UnreadError(f"{what} gave {text[:40]!r}, not a number")
    return int(text)


def _why(facts: Facts, what: str) -> str:
    return facts.reading(what).reason.removeprefix("failed: ")
