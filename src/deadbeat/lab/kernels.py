"""Kernels to boot: fetched from Debian's packages, or a file of the user's own."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from functools import partial
from pathlib import Path

from attrs import evolve, field, frozen

from deadbeat.base.model.errors import DataError, DeadbeatError
from deadbeat.base.model.words import Json
from deadbeat.base.model.words import size as size_text
from deadbeat.base.store.files import atomic_write, free_bytes, read_json, storing, write_json
from deadbeat.base.store.serial import structure, to_plain
from deadbeat.lab.apt import Apt, Lab, Package, lab_folder, locked, replaced
from deadbeat.lab.offers import Offer, kernel_apt, series_of, version_key
from deadbeat.lab.vmlinux import BootImage, boot_image
from deadbeat.machine.host.kernel import configured, options_of, release_of
from deadbeat.machine.targets.local import LocalTarget

#: Files of a kernel's folder.
IMAGE, CONFIG, FACTS = "image", "config", "kernel.json"
#: Size of an uncompressed image with its configuration, bytes; the largest seen is 72 MB.
_UNPACKED = 80 << 20
_LOOK_SECONDS = 0.2


#: From the first version on that takes the word (Linux: kernel/sched/core.c, sched_dynamic_mode).
_DYNAMIC, _LAZY, _RESTRICTED = (5, 12), (6, 13), (7, 0)


@frozen(kw_only=True)
class Preemption:
    """Preemption models of a kernel, as ``preempt=`` takes them; "rt": it is built with PREEMPT_RT.

    Attributes:
        default: Without a word on its command line; "" where unknown.
        choices: What ``preempt=`` takes; none where the model is built in.
    """

    default: str = ""
    choices: tuple[str, ...] = ()

    @property
    def models(self) -> tuple[str, ...]:
        """All that it can run with."""
        if self.default == "rt":
            return ("rt",)
        return self.choices or ((self.default,) if self.default else ())


@frozen(kw_only=True)
class Kernel:
    """A kernel that can be booted.

    Attributes:
        name: Its release, as ``uname -r`` says it: ``6.12.117+deb12-rt-amd64``.
        machine: A key of `offers.ARCHITECTURES`.
        flavour: ``amd64``, ``rt-amd64``, ``cloud-amd64``; "own" for a file of the user's.
        version: Version of its packages; "" for a file. ``suite``: where they are.
        packages: What it comes from: name, version, suite and sha256.
        banner: What it says of its build.
        sha256: Sum of its image.
        image: What the emulator gets. ``config``: build configuration; None where there is none.
        preemption: Its models.
    """

    name: str
    machine: str
    flavour: str
    version: str = ""
    suite: str = ""
    packages: tuple[Package, ...] = ()
    banner: str = ""
    sha256: str = ""
    image: Path = Path()
    config: Path | None = None
    preemption: Preemption = field(factory=Preemption)

    @property
    def series(self) -> str:
        """Major and minor number: ``6.12``."""
        return series_of(self.name)

    @property
    def label(self) -> str:
        """Short name: ``6.12-rt-amd64``; of a user's file its release."""
        return self.name if self.flavour == "own" else f"{self.series}-{self.flavour}"

    @property
    def facts(self) -> Mapping[str, Json]:
        """What results record of it; neither a path nor a mirror."""
        return {
            "version": self.version,
            "suite": self.suite,
            "packages": [
                {"name": each.name, "version": each.version, "sha256": each.sha256}
                for each in self.packages
            ],
            "banner": self.banner,
            "sha256": self.sha256,
        }

    @classmethod
    def of_file(cls, path: Path, *, folder: Path | None = None) -> Kernel:
        """A kernel of the user's: machine and version are read from the image.

        Args:
            folder: Folder of the lab, where its uncompressed image is kept.

        Raises:
            DataError: It is no kernel of a machine that the lab emulates.
            TargetError: It needs a tool that is missing.
        """
        folder = folder or lab_folder()
        found = boot_image(path, LocalTarget(folder=folder))
        sha256 = hashlib.sha256(found.data).hexdigest()
        home = folder / "own" / sha256[:16]
        return _kept(home, found, cls(name=found.release, machine=found.machine, flavour="own"))


def fetched(machine: str | None = None, *, folder: Path | None = None) -> tuple[Kernel, ...]:
    """Kernels that are here, oldest first.

    Args:
        machine: Only kernels for it. ``folder``: of the lab.
    """
    home = (folder or lab_folder()) / "kernels"
    found = [kernel for path in sorted(home.glob(f"*/{FACTS}")) if (kernel := _read(path))]
    wanted = [each for each in found if machine in (None, each.machine)]
    return tuple(sorted(wanted, key=lambda each: (version_key(each.version), each.name)))


def here(word: str, *, folder: Path | None = None) -> Kernel | None:
    """The kernel of a word that is here: ``6.12-amd64`` is the newest of its series, else a
    release."""
    found = [each for each in fetched(folder=folder) if word in (each.label, each.name)]
    return found[-1] if found else None


def _read(path: Path) -> Kernel | None:
    """The kernel of a folder; None where it is not whole."""
    try:
        plain = read_json(path, what="kernel", hint="fetch it again")
        kernel = structure(plain, Kernel, path=path, what="kernel", hint="fetch it again")
    except DeadbeatError:
        return None
    config = path.with_name(CONFIG)
    image = path.with_name(IMAGE)
    if not image.is_file():
        return None
    return evolve(kernel, image=image, config=config if config.is_file() else None)


def _kept(home: Path, found: BootImage, kernel: Kernel) -> Kernel:
    """``kernel`` with what was found in its image, kept in the folder ``home``."""
    kernel = evolve(
        kernel,
        banner=found.banner,
        sha256=hashlib.sha256(found.data).hexdigest(),
        preemption=preemption(options_of(found.config), release_of(found.release), found.banner),
    )
    with replaced(home) as new:
        atomic_write(new / IMAGE, found.data)
        if found.config:
            atomic_write(new / CONFIG, found.config)
        write_json(new / FACTS, to_plain(evolve(kernel, image=Path(IMAGE), config=None)))
    return evolve(kernel, image=home / IMAGE, config=home / CONFIG if found.config else None)


@frozen(kw_only=True)
class Fetched:
    """What a call of `fetch` gave.

    Attributes:
        kernels: The kernels that were asked for and are here now.
        refused: Kernel -> why it is not.
    """

    kernels: tuple[Kernel, ...] = ()
    refused: Mapping[str, str] = field(factory=dict)


def disk_needed(
    wanted: Sequence[Sequence[Offer]], *, folder: Path | None = None
) -> tuple[int, int]:
    """Bytes to download and bytes that stay, of those that are not here."""
    home = (folder or lab_folder()) / "kernels"
    lacking = _lacking(wanted, home)
    return sum(each[0].size for each in lacking), _UNPACKED * len(lacking)


def _lacking(wanted: Sequence[Sequence[Offer]], home: Path) -> list[Sequence[Offer]]:
    return [each for each in wanted if _read(home / each[0].name / FACTS) is None]


def fetch(
    wanted: Sequence[Sequence[Offer]],
    *,
    report: Callable[[float, str], None] = lambda share, words: None,
    lab: Lab | None = None,
) -> Fetched:
    """Gets kernels; those that are here already cost nothing, and a cut download continues.

    What cannot be had does not stop the others.

    Args:
        wanted: Each with what stands in for it where it cannot be had; see `offers.chosen`.
        report: Called some times a second with the share that is here, and how far that is.

    Raises:
        DeadbeatError: The disk has no room for them.
        TargetError: This is no Debian.
    """
    lab = lab or Lab()
    folder, home = lab.folder, lab.folder / "kernels"
    lacking = _lacking(wanted, home)
    need = _UNPACKED * len(lacking) + max((each[0].size for each in lacking), default=0)
    free = free_bytes(folder)
    if need > free:
        raise DeadbeatError(
            f"{len(lacking)} kernels take {size_text(need)}, and {folder} has {size_text(free)}",
            "fetch fewer, or set DEADBEAT_CACHE to a folder with more room",
        )
    total, done = sum(each[0].size for each in lacking), 0
    refused: dict[str, str] = {}
    got: dict[str, Kernel] = {}

    def step(number: int, before: int, name: str, more: int) -> None:
        words = f"{name}, {number} of {len(lacking)}, {size_text(before + more)}"
        report((before + more) / total, f"{words} of {size_text(total)}")

    for number, choices in enumerate(lacking, 1):
        tell = partial(step, number, done)
        for offer in choices:
            kernel = _read(home / offer.name / FACTS)
            try:
                if kernel is None:
                    with locked(folder):
                        apt = kernel_apt(offer.machine, lab)
                        kernel = _watched(offer, partial(tell, offer.name), apt, folder)
            except DeadbeatError as error:
                refused[offer.name] = error.message
                continue
            got[choices[0].name] = kernel
            break
        tell(choices[0].name, choices[0].size)
        done += choices[0].size
    have = [got.get(each[0].name) or _read(home / each[0].name / FACTS) for each in wanted]
    return Fetched(kernels=tuple(each for each in have if each), refused=refused)


def _watched(offer: Offer, tell: Callable[[int], None], apt: Apt, folder: Path) -> Kernel:
    """Fetches one and meanwhile tells how far it is."""
    packages, home = folder / "packages", folder / "kernels" / offer.name
    with storing(packages):
        packages.mkdir(parents=True, exist_ok=True)
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(_one, apt, offer, home, packages)
        while not wait([waiting], timeout=_LOOK_SECONDS).done:
            size = sum(path.stat().st_size for path in _downloads(offer, packages))
            tell(min(size, offer.size))
    return waiting.result()


def _downloads(offer: Offer, packages: Path) -> list[Path]:
    paths = [packages / Path(each.filename).name for each in offer.packages]
    return [path for path in paths if path.is_file()]


def _one(apt: Apt, offer: Offer, home: Path, packages: Path) -> Kernel:
    with storing(home):
        root = home.with_name(f"{home.name}.files")
        shutil.rmtree(root, ignore_errors=True)
        root.mkdir(parents=True)
    config = ""
    try:
        for package in offer.packages:
            path = packages / Path(package.filename).name
            apt.download_one(package, path)
            # What a package holds of a kernel: image, configuration or both.
            if package.name.startswith("linux-base-"):
                patterns: tuple[str, ...] = (f"*/{offer.name}/config",)
            elif package.name.startswith("linux-binary-"):
                patterns = ("*/vmlinu[xz]*",)
            else:
                patterns = ("./boot/config-*", "./boot/vmlinu[xz]-*")
            apt.unpack(path, root, *patterns)
        images = [path for pattern in ("vmlinuz*", "vmlinux*") for path in root.rglob(pattern)]
        if not images:
            raise DataError(f"{offer.packages[0].name} holds no kernel", "fetch another one")
        for path in root.rglob("config*"):
            config = path.read_text(errors="replace")
        found = boot_image(images[0], apt.target)
    finally:
        shutil.rmtree(root, ignore_errors=True)
    if found.release != offer.name or found.machine != offer.machine:
        raise DataError(
            f"{offer.packages[0].name} holds {found.release} for {found.machine}", "fetch another"
        )
    made = Kernel(
        name=offer.name,
        machine=offer.machine,
        flavour=offer.flavour,
        version=offer.version,
        suite=offer.suite,
        packages=offer.packages,
    )
    kernel = _kept(home, evolve(found, config=config or found.config), made)
    for path in _downloads(offer, packages):
        path.unlink()
    return kernel


# -- preemption models by the build configuration


def preemption(
    options: Mapping[str, str], version: tuple[int, int], banner: str = ""
) -> Preemption:
    """Models of a kernel.

    Args:
        options: Its configuration, without ``CONFIG_``; empty where it is not known.
        version: Major and minor number.
        banner: What it says of its build, for what a missing configuration does not say.
    """
    known = dict(options)
    for word in ("PREEMPT_RT", "PREEMPT_DYNAMIC"):
        if word in banner.replace("PREEMPT RT", "PREEMPT_RT"):
            known.setdefault(word, "y")
    if not options and version >= _LAZY and "x86" in banner:
        known["ARCH_HAS_PREEMPT_LAZY"] = "y"
    default = configured(known) or ""
    if known.get("PREEMPT_DYNAMIC") != "y" or version < _DYNAMIC:
        return Preemption(default=default)
    realtime = known.get("PREEMPT_RT") == "y"
    lazy = known.get("ARCH_HAS_PREEMPT_LAZY") == "y"
    old = () if realtime or (lazy and version >= _RESTRICTED) else ("none", "voluntary")
    return Preemption(default=default, choices=(*old, "full", *(("lazy",) if lazy else ())))


def expected(flavour: str, release: str) -> Preemption:
    """Models of a Debian kernel that is not here, as its neighbours have them.

    Args:
        flavour: ``rt-amd64``. ``release``: begins with its version.
    """
    version = release_of(release)
    x86 = "amd64" in flavour
    lazy = version >= _LAZY
    options = {
        "PREEMPT_RT": "y" if flavour.startswith("rt-") else "",
        "PREEMPT_DYNAMIC": "y" if x86 and version > (5, 10) else "",
        "ARCH_HAS_PREEMPT_LAZY": "y" if lazy else "",
        "PREEMPT_LAZY": "y" if lazy else "",
        "PREEMPT_VOLUNTARY": "y",
    }
    return preemption(options, version)
