"""A QEMU that is new enough: the host's, or one of Debian's packages in a folder of our own.

Version 7.2 stands still with instruction counting, several CPUs and kernels before 6.12.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path

from attrs import evolve, field, frozen

from deadbeat.base.model.errors import TargetError, UsageError
from deadbeat.base.model.words import nearest
from deadbeat.lab.apt import (
    OFFLINE,
    Apt,
    Lab,
    Package,
    debian_sources,
    host_sources,
    locked,
    native_architecture,
    replaced,
)
from deadbeat.machine.targets.base import Target

OLDEST = 10
#: Machine -> packages that may hold its emulator.
PACKAGES = {
    "x86_64": ("qemu-system-x86",),
    "aarch64": ("qemu-system-arm",),
    "arm": ("qemu-system-arm",),
    "riscv64": ("qemu-system-riscv", "qemu-system-misc"),
}
#: Folders of firmware below the root of the packages.
_FIRMWARE = ("usr/share/qemu", "usr/share/seabios", "usr/lib/ipxe/qemu")
_START_SECONDS = 60.0


@frozen(kw_only=True)
class Qemu:
    """An emulator of one machine.

    Attributes:
        machine: What it emulates: a key of `PACKAGES`.
        program: Its path. ``version``: its numbers.
        environment: Variables it needs. ``options``: words it needs first.
    """

    machine: str
    program: Path
    version: tuple[int, int, int] = (0, 0, 0)
    environment: Mapping[str, str] = field(factory=dict)
    options: tuple[str, ...] = ()

    @property
    def command(self) -> tuple[str, ...]:
        """Words that start it, without a shell; those of a machine follow."""
        words = (f"{name}={value}" for name, value in self.environment.items())
        env = ("env", *words) if self.environment else ()
        return (*env, str(self.program), *self.options)

    @property
    def identification(self) -> str:
        """Its version in words, for results."""
        return "QEMU " + ".".join(map(str, self.version))


def find_qemu(
    machine: str,
    *,
    oldest: int = OLDEST,
    lab: Lab | None = None,
    say: Callable[[str], None] = lambda line: None,
) -> Qemu:
    """The emulator of ``machine``: the host's where it is new enough, else one that was fetched.

    Args:
        oldest: Version that is new enough.
        say: Gets a line for what is fetched.

    Raises:
        UsageError: There is no such machine.
        TargetError: None is to be had.
    """
    if machine not in PACKAGES:
        raise UsageError(f"the lab emulates no {machine}", nearest(machine, PACKAGES))
    lab = lab or Lab()
    target, home = lab.target, lab.folder / "qemu" / machine
    host = Qemu(machine=machine, program=Path(f"qemu-system-{machine}"))
    found = _tried(target, host, oldest) or _of_folder(target, machine, home)
    if found is None:
        with locked(lab.folder):
            found = _of_folder(target, machine, home) or _fetch(lab, machine, home, say)
    return found


def _of_folder(target: Target, machine: str, home: Path) -> Qemu | None:
    """The emulator with packages unpacked in ``home``; None where it is not, or not whole."""
    program = home / "usr/bin" / f"qemu-system-{machine}"
    if not program.is_file():
        return None
    environment = {}
    if modules := sorted(home.glob("usr/lib/*/qemu")):
        environment["QEMU_MODULE_DIR"] = str(modules[0])
    libraries = {path.parent for at in ("usr/lib", "lib") for path in home.glob(f"{at}/*/*.so*")}
    if libraries:
        environment["LD_LIBRARY_PATH"] = ":".join(sorted(map(str, libraries)))
    firmware = [home / each for each in _FIRMWARE]
    options = [word for path in firmware if path.is_dir() for word in ("-L", str(path))]
    found = Qemu(machine=machine, program=program, environment=environment, options=tuple(options))
    return _tried(target, found)


def _tried(target: Target, qemu: Qemu, oldest: int = OLDEST) -> Qemu | None:
    """It with the version that it gives; None where it does not start or is too old."""
    try:
        done = target.run([*qemu.command, "--version"], timeout=_START_SECONDS)
    except TargetError:
        return None
    found = re.search(r"version (\d+)\.(\d+)\.(\d+)", done.stdout)
    if found is None or int(found[1]) < oldest:
        return None
    return evolve(qemu, version=(int(found[1]), int(found[2]), int(found[3])))


def _fetch(lab: Lab, machine: str, home: Path, say: Callable[[str], None]) -> Qemu:
    host = host_sources(lab.etc)
    suites = tuple(f"{each.suite}-backports" for each in host if "-" not in each.suite)
    apt = Apt(
        lab,
        "qemu",
        tuple(dict.fromkeys((*host, *debian_sources(host, suites)))),
        native_architecture(lab.target),
        installed=True,
    )
    refused = apt.update()
    offered = [each for name in PACKAGES[machine] for each in apt.versions(name)]
    package = next((each for each in offered if _major(each) >= OLDEST), None)
    if package is None:
        have = f"; the newest is {offered[0].version}" if offered else ""
        raise TargetError(
            f"no QEMU {OLDEST} or newer for {machine} in the packages of this Debian{have}",
            refused[0] if refused else OFFLINE,
        )
    wanted = apt.lacking(package)
    say(f"fetching QEMU {package.version} for {machine}: {len(wanted)} packages")
    with replaced(home) as new:
        for deb in apt.download(wanted, home.parent / "packages"):
            apt.unpack(deb, new)
            deb.unlink()
        # A package holds several emulators.
        for path in (new / "usr/bin").iterdir():
            if path.name != f"qemu-system-{machine}":
                path.unlink()
        for each in ("usr/share/doc", "usr/share/man"):
            shutil.rmtree(new / each, ignore_errors=True)
    found = _of_folder(lab.target, machine, home)
    if found is None:
        raise TargetError(
            f"{home}: the QEMU that was fetched does not start", "remove the folder and repeat"
        )
    return found


def _major(package: Package) -> int:
    """First number of a version: 10 of ``1:10.0.2+ds-2``."""
    found = re.match(r"(?:\d+:)?(\d+)", package.version)
    return int(found[1]) if found else 0
