"""Kernels that are to be had as packages of the host's own mirror.

What apt's lists say is kept in a small file of ours: listing needs neither network nor seconds.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Sequence

from attrs import frozen

from deadbeat.base.model.errors import DeadbeatError, TargetError, UsageError
from deadbeat.base.model.words import nearest, shown
from deadbeat.base.store.files import read_json, write_json
from deadbeat.base.store.serial import structure, to_plain
from deadbeat.lab.apt import (
    OFFLINE,
    SUITES,
    Apt,
    Lab,
    Package,
    debian_sources,
    host_sources,
    locked,
)

#: Machine -> what Debian calls it.
ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64", "arm": "armhf", "riscv64": "riscv64"}
#: Debian's word for an architecture, or for its kernels -> machine.
MACHINES = {**{debian: machine for machine, debian in ARCHITECTURES.items()}, "armmp": "arm"}
_FLAVOURS = "(?:cloud-|rt-)?amd64|(?:cloud-|rt-)?arm64(?:-16k)?|riscv64|(?:rt-)?armmp(?:-lpae)?"
#: Name of a kernel's packages. What Debian calls ``linux-image-6.12-amd64`` only names the newest.
_NAME = re.compile(rf"linux-(image|binary|base)-(\d+\.\S*?)-({_FLAVOURS})")
_AGE_SECONDS = 24 * 3600
#: Packages that hold no kernel are smaller, bytes.
_SMALLEST = 1 << 20


@frozen(kw_only=True)
class Offer:
    """A kernel that can be fetched.

    Attributes:
        name: Its release: what ``uname -r`` will say.
        version: Version of its packages. ``suite``: where.
        machine: A key of `ARCHITECTURES`; ``flavour``: ``amd64``, ``rt-amd64``.
        packages: What holds its image and, where that is to be had, its configuration.
    """

    name: str
    version: str
    suite: str
    machine: str
    flavour: str
    packages: tuple[Package, ...]

    @property
    def series(self) -> str:
        """Major and minor number: ``6.12``."""
        return series_of(self.name)

    @property
    def label(self) -> str:
        """Short name, which the newest of a series answers to: ``6.12-rt-amd64``."""
        return f"{self.series}-{self.flavour}"

    @property
    def size(self) -> int:
        """Bytes to download."""
        return sum(each.size for each in self.packages)


@frozen(kw_only=True)
class Offers:
    """Kernels for one machine.

    Attributes:
        kernels: Oldest first.
        refused: What apt could not read, a line each. ``time``: seconds since 1970.
    """

    kernels: tuple[Offer, ...] = ()
    refused: tuple[str, ...] = ()
    time: float = 0.0


def series_of(release: str) -> str:
    """Major and minor number of a release; all of it where it does not begin with them."""
    found = re.match(r"\d+\.\d+", release)
    return found[0] if found else release


def version_key(version: str) -> tuple[object, ...]:
    """Sorts versions as Debian does (deb-version(7)): numbers by value, ``~`` before all else."""
    epoch, _, rest = version.rpartition(":")
    upstream, _, revision = rest.rpartition("-") if "-" in rest else (rest, "", "0")

    def key(part: str) -> tuple[object, ...]:
        # Letters sort before other signs, the end of the text before both, a tilde before that.
        def weight(sign: str) -> int:
            return -1 if sign == "~" else ord(sign) if sign.isalpha() else ord(sign) + 256

        parts: list[object] = []
        for words, number in re.findall(r"([^0-9]*)([0-9]*)", part):
            parts += [(*map(weight, words), 0), int(number or 0)]
        return tuple(parts)

    return int(epoch or 0), key(upstream), key(revision)


def offers(
    machine: str,
    *,
    lab: Lab | None = None,
    now: float | None = None,
    say: Callable[[str], None] = lambda line: None,
) -> Offers:
    """Kernels to be had for ``machine``.

    The mirror is asked where the answer is older than a day; where it cannot be reached, the last
    answer counts.

    Args:
        now: Seconds since 1970.
        say: Gets a line when the mirror is asked, and for what it refuses.

    Raises:
        TargetError: There is no answer, because this is no Debian, or the mirror does not answer.
    """
    lab = lab or Lab()
    now = time.time() if now is None else now
    path = lab.folder / "kernels" / f"offers-{machine}.json"
    try:
        plain = read_json(path, what="list of kernels", hint="remove it and repeat")
        kept = structure(plain, Offers, path=path, what="list of kernels", hint="remove it")
    except DeadbeatError:
        kept = None  # it is made again
    if kept and now - kept.time < _AGE_SECONDS:
        return kept
    with locked(lab.folder):
        apt = kernel_apt(machine, lab)
        say(f"asking apt for kernels of {ARCHITECTURES[machine]}, once a day")
        refused = apt.update()
        for line in refused:
            say(line)
        found = Offers(kernels=_kernels(apt, machine), refused=refused, time=now)
        if not found.kernels and kept is None:
            raise TargetError(
                f"no kernel for {machine} is to be had"
                + (f": {refused[0]}" if refused else " from the sources of this machine's apt"),
                OFFLINE,
            )
        if kept and len(found.kernels) < len(kept.kernels) and refused:
            # Part of the mirror did not answer: what it offered last is asked for again later.
            return kept
        path.parent.mkdir(parents=True, exist_ok=True)
        write_json(path, to_plain(found))
    return found


def kernel_apt(machine: str, lab: Lab) -> Apt:
    """All suites that may hold kernels of ``machine``. Raises TargetError: this is no Debian."""
    sources = debian_sources(host_sources(lab.etc), SUITES)
    architecture = ARCHITECTURES[machine]
    return Apt(lab, f"kernels-{architecture}", sources, architecture)


def _kernels(apt: Apt, machine: str) -> tuple[Offer, ...]:
    parts = ("linux-image-", "linux-binary-", "linux-base-")
    names = [name for part in parts for name in apt.names(part) if _NAME.fullmatch(name)]
    by_release: dict[tuple[str, str], dict[str, Package]] = {}
    for package in apt.described(names):
        found = _NAME.fullmatch(package.name)
        if found:
            by_release.setdefault((found[2], found[3]), {})[found[1]] = package
    kernels = []
    for (release, flavour), have in by_release.items():
        image = have.get("binary") or have.get("image")
        if image is None or image.size < _SMALLEST:
            continue
        base = have.get("base") if "binary" in have else None
        kernels.append(
            Offer(
                name=f"{release}-{flavour}",
                version=image.version,
                suite=image.suite,
                machine=machine,
                flavour=flavour,
                packages=(image, base) if base else (image,),
            )
        )
    return tuple(sorted(kernels, key=lambda each: (version_key(each.version), each.name)))


def chosen(word: str, known: Sequence[Offer]) -> tuple[tuple[Offer, ...], ...]:
    """Kernels that ``word`` means, each with what stands in for it where it cannot be had.

    A series with a flavour (6.12-amd64, 6.12-rt-amd64) is the newest of it, else the one before; a
    release is that alone; ``all`` is every one.

    Raises:
        UsageError: It means none.
    """
    if word == "all":
        return tuple((each,) for each in known)
    series = tuple(each for each in reversed(known) if each.label == word)
    exact = tuple(each for each in known if each.name == word)
    if not series and not exact:
        words = {each.label: None for each in known} | {each.name: None for each in known}
        raise UsageError(f"no kernel {shown(word)} is to be had", nearest(word, words))
    return (series or exact,)


def newest(known: Iterable[Offer]) -> tuple[Offer, ...]:
    """The newest of each series and flavour."""
    return tuple({each.label: each for each in known}.values())
