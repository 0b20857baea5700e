"""Debian packages fetched and unpacked in a folder of our own, as an ordinary user.

A private configuration of apt: own state, cache and sources. The host's settings (proxy, keys, how
old a list may be) count; its lists, its cache and what is installed are never touched. Sources are
read in both formats of sources.list(5); no result holds what names the mirror.
"""

from __future__ import annotations

import fcntl
import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from importlib.resources import files
from pathlib import Path

from attrs import Factory, evolve, field, frozen

from deadbeat.base.model.errors import TargetError
from deadbeat.base.store.files import atomic_write, storing
from deadbeat.build.native import cache_root
from deadbeat.machine.targets.base import Completed, Target
from deadbeat.machine.targets.local import LocalTarget

#: What a person should do when apt could not reach anything.
OFFLINE = "is there a network? what was fetched before still works"
_UPDATE_SECONDS, _DOWNLOAD_SECONDS, _ASK_SECONDS = 300.0, 1800.0, 120.0


def lab_folder() -> Path:
    """Where the lab keeps what it fetched; made when it is not there."""
    folder = cache_root() / "lab"
    with storing(folder):
        folder.mkdir(parents=True, exist_ok=True)
    return folder


@frozen(kw_only=True)
class Lab:
    """Where the lab keeps what it fetches, and with what.

    Attributes:
        target: Runs apt, dpkg and emulators; this machine, or a script of it.
        etc: Folder of apt's configuration.
    """

    folder: Path = field(factory=lab_folder)
    target: Target = field(
        default=Factory(lambda self: LocalTarget(folder=self.folder), takes_self=True)
    )
    etc: Path = Path("/etc/apt")


@contextmanager
def replaced(home: Path) -> Iterator[Path]:
    """A new folder that is ``home`` once the block is over, in place of what was there."""
    new = home.with_name(f"{home.name}.new")
    with storing(home):
        shutil.rmtree(new, ignore_errors=True)
        new.mkdir(parents=True)
        yield new
        shutil.rmtree(home, ignore_errors=True)
        new.replace(home)


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Lock ``folder`` against other fetches; wait for one in progress."""
    with storing(folder), (folder / "lock").open("w") as stream:
        fcntl.flock(stream, fcntl.LOCK_EX)
        yield


SECURITY = "-security"
#: Releases from the one with the oldest kernel on, oldest first, and what each offers beside it.
RELEASES = {
    "bullseye": ("", SECURITY),
    "bookworm": ("", SECURITY, "-backports"),
    "trixie": ("", SECURITY, "-backports"),
    "forky": ("",),
    "sid": ("",),
    "experimental": ("",),
}
#: Every suite that may hold a kernel.
SUITES = tuple(name + part for name, parts in RELEASES.items() for part in parts)


@frozen
class AptSource:
    """One suite at one place.

    Attributes:
        uri: Where; ``suite``: a name as apt has it.
        signed_by: Key or path of it, as it was written; "" where every trusted key counts.
    """

    uri: str
    suite: str
    signed_by: str = ""

    def stanza(self, architecture: str) -> str:
        """It as a part of a file, for packages of ``architecture`` alone."""
        lines = [
            "Types: deb",
            f"URIs: {self.uri}",
            f"Suites: {self.suite}",
            "Components: main",
            f"Architectures: {architecture}",
            "Targets: Packages",
            *([f"Signed-By: {self.signed_by}"] if self.signed_by else []),
        ]
        return "\n".join(lines) + "\n"


@frozen(kw_only=True)
class Package:
    """A version of a package that is to be had.

    Attributes:
        name, version, architecture: Debian's (``amd64``).
        suite: Where; ``filename``: below the place of it.
        size: Size of the download, bytes. ``sha256``: its sum in the signed lists.
        depends: What it needs, in Debian's syntax.
    """

    name: str
    version: str
    architecture: str = ""
    suite: str = ""
    filename: str = ""
    size: int = 0
    sha256: str = ""
    depends: str = ""


class Apt:
    """The sources that are of use for one purpose; apt's answers about them.

    Args:
        lab: Where its files are, and what runs it.
        name: Name of the purpose; files of the configuration are named so.
        sources: Suites. ``architecture``: Debian's name of the packages' architecture.
        installed: Packages of this machine count as installed.
    """

    def __init__(
        self,
        lab: Lab,
        name: str,
        sources: Sequence[AptSource],
        architecture: str,
        *,
        installed: bool = False,
    ) -> None:
        self.sources, self.architecture = tuple(sources), architecture
        self.target, self._folder = lab.target, lab.folder / "apt"
        self._name, self._installed = name, installed

    @cached_property
    def _configuration(self) -> Path:
        home = self._folder
        with storing(home):
            for each in ("state/lists/partial", "cache/archives/partial"):
                (home / each).mkdir(parents=True, exist_ok=True)
        nothing = home / "status"
        atomic_write(nothing, "")
        sources = home / f"{self._name}.sources"
        atomic_write(sources, "\n".join(each.stanza(self.architecture) for each in self.sources))
        form = files("deadbeat.lab").joinpath("apt.conf").read_text(encoding="ascii")
        text = form.format(
            state=home / "state",
            status="/var/lib/dpkg/status" if self._installed else nothing,
            cache=home / "cache",
            sources=sources,
            name=self._name,
            architecture=self.architecture,
        )
        path = home / f"{self._name}.conf"
        atomic_write(path, text)
        return path

    def _run(self, program: str, *words: str, at: Path | None = None, timeout: float) -> Completed:
        place = ("-C", str(at)) if at else ()
        start = ("env", *place, "LC_ALL=C", "DEBIAN_FRONTEND=noninteractive")
        return self.target.run(
            [*start, program, "-c", str(self._configuration), *words], timeout=timeout
        )

    def update(self) -> tuple[str, ...]:
        """Renew the lists. What could not be had, a line each; the rest can be used.
        Raises TargetError: there is no apt, or it did not end within five minutes."""
        return complaints(self._run("apt-get", "update", timeout=_UPDATE_SECONDS))

    def versions(self, name: str) -> tuple[Package, ...]:
        """Versions of a package, newest first. Raises TargetError: there is no apt."""
        done = self._run("apt-cache", "madison", name, timeout=_ASK_SECONDS)
        return tuple(evolve(each, architecture=self.architecture) for each in _madison(done.stdout))

    def names(self, prefix: str) -> tuple[str, ...]:
        """Names of packages that begin with ``prefix``."""
        done = self._run("apt-cache", "pkgnames", prefix, timeout=_ASK_SECONDS)
        return tuple(sorted(done.stdout.split()))

    def described(self, names: Sequence[str]) -> tuple[Package, ...]:
        """The newest version of each of these packages; unknown ones are left out."""
        if not names:
            return ()
        show = self._run(
            "apt-cache", "show", "--no-all-versions", "--", *names, timeout=_ASK_SECONDS
        )
        done = self._run("apt-cache", "madison", "--", *names, timeout=_ASK_SECONDS)
        suites = {(each.name, each.version): each for each in reversed(_madison(done.stdout))}
        found = []
        for stanza in show.stdout.split("\n\n"):
            fields = dict(re.findall(r"^([\w-]+): (.*)$", stanza, re.M))
            known = suites.get((fields.get("Package", ""), fields.get("Version", "")))
            if known and fields.get("Filename") and fields.get("SHA256"):
                found.append(
                    evolve(
                        known,
                        architecture=fields["Architecture"],
                        size=int(fields["Size"]),
                        sha256=fields["SHA256"],
                        filename=fields["Filename"],
                        depends=fields.get("Depends", ""),
                    )
                )
        return tuple(found)

    def lacking(self, package: Package) -> tuple[Package, ...]:
        """The package and what it needs that is not installed here.
        Raises TargetError: it cannot be installed here."""
        wanted = f"{package.name}/{package.suite}"
        words = ("--simulate", "--no-install-recommends", "install", wanted)
        done = self._run("apt-get", *words, timeout=_ASK_SECONDS)
        inst = re.compile(r"^Inst (\S+) (?:\[[^\]]*\] )?\((\S+) [^)]*\[(\w+)\]\)", re.M)
        found = tuple(
            Package(name=name, version=version, architecture=architecture)
            for name, version, architecture in inst.findall(done.stdout)
        )
        if done.returncode or not found:
            raise TargetError(f"{package.name} does not go with this system: {_why(done)}")
        return found

    def download(self, packages: Sequence[Package], folder: Path) -> tuple[Path, ...]:
        """Fetch packages into ``folder``; apt checks them and continues what was interrupted.
        Raises TargetError: one of them cannot be had."""
        with storing(folder):
            folder.mkdir(parents=True, exist_ok=True)
        words = [f"{each.name}:{each.architecture}={each.version}" for each in packages]
        words = [word.replace(":all=", "=") for word in words]
        done = self._run("apt-get", "download", *words, at=folder, timeout=_DOWNLOAD_SECONDS)
        if done.returncode:
            names = ", ".join(each.name for each in packages)
            raise TargetError(f"{names} cannot be fetched: {_why(done)}", OFFLINE)
        return tuple(
            folder / f"{each.name}_{each.version.replace(':', '%3a')}_{each.architecture}.deb"
            for each in packages
        )

    def download_one(self, package: Package, path: Path) -> None:
        """Fetch a package that was `described` as ``path``, without reading apt's lists again; what
        is there of it already is not fetched again.

        Raises:
            TargetError: It cannot be had.
        """
        place = next((each.uri for each in self.sources if each.suite == package.suite), None)
        if place is None:
            raise TargetError(f"{package.name}: this machine's apt no longer has {package.suite}")
        words = (f"{place.rstrip('/')}/{package.filename}", str(path), f"SHA256:{package.sha256}")
        done = self._run(
            "/usr/lib/apt/apt-helper", "download-file", *words, timeout=_DOWNLOAD_SECONDS
        )
        if done.returncode or not path.is_file():
            raise TargetError(f"{package.name} cannot be fetched: {_why(done)}", OFFLINE)

    def unpack(self, package: Path, folder: Path, *patterns: str) -> None:
        """The files of a package below ``folder``; nothing of it is run.

        Args:
            patterns: The first file that matches each of these alone, as tar has them.

        Raises:
            TargetError: It is damaged, or ``folder`` cannot be written.
        """
        if patterns:
            # Ends as soon as all were found: modules, nine tenths of a kernel, stay packed.
            script = 'dpkg-deb --fsys-tarfile "$0" 2>/dev/null |'
            script += ' tar -x --wildcards --occurrence -C "$@"'
            words = ["sh", "-c", script, str(package), str(folder), *patterns]
        else:
            words = ["dpkg-deb", "-x", str(package), str(folder)]
        done = self.target.run(words, timeout=_DOWNLOAD_SECONDS)
        if done.returncode:
            raise TargetError(f"{package.name} cannot be unpacked: {done.stderr.strip()[:200]}")


def _madison(text: str) -> list[Package]:
    """Packages in lines like ``name | version | uri suite/main amd64 Packages``."""
    rows = ([cell.split() for cell in line.split("|")] for line in text.splitlines())
    return [
        Package(name=row[0][0], version=row[1][0], suite=row[2][1].rpartition("/")[0])
        for row in rows
        if len(row) == 3 and len(row[0]) == len(row[1]) == 1 and len(row[2]) == 4
    ]


def native_architecture(target: Target) -> str:
    """What Debian calls the machine's architecture. Raises TargetError: this is no Debian."""
    try:
        done = target.run(["dpkg", "--print-architecture"], timeout=_ASK_SECONDS)
    except TargetError:
        raise TargetError(
            "the kernel lab gets kernels and QEMU as Debian packages, and there is no dpkg here",
            "use a machine with Debian, or give a kernel as a file and install QEMU 10",
        ) from None
    return done.stdout.strip()


def _why(done: Completed) -> str:
    return next(iter(complaints(done)), "apt does not say why")


def complaints(done: Completed) -> tuple[str, ...]:
    """What apt could not do, a line each, without the name of the mirror."""
    text = re.sub(r"\b\w+://[^/\s]+/?| *\[IP: [^\]]*\]", "", done.stderr)
    found = re.findall(r"^E: (?!Some index files failed)(.*)$", text, re.M)
    refused = re.findall(r"^W: (Failed to fetch .*)$", text, re.M)
    return tuple(dict.fromkeys(re.sub(r"\s+", " ", line).strip() for line in (*found, *refused)))


# -- sources of this machine


def host_sources(etc: Path) -> tuple[AptSource, ...]:
    """Suites with a component ``main`` that the apt of this machine uses.

    Args:
        etc: Folder of its configuration.
    """
    folder = etc / "sources.list.d"
    single = [etc / "sources.list", *sorted(folder.glob("*.list"))]
    found = [each for path in single for each in _single_lines(_text(path))]
    for path in sorted(folder.glob("*.sources")):
        found += (each for stanza in _stanzas(_text(path)) for each in _of_stanza(stanza))
    return tuple(dict.fromkeys(found))


def debian_sources(host: tuple[AptSource, ...], suites: tuple[str, ...]) -> tuple[AptSource, ...]:
    """``suites`` at the places where ``host`` gets this Debian and its security updates.

    Suites of security are left out where the host has none.

    Raises:
        TargetError: The host has no Debian.
    """
    plain = [each for each in host if each.suite in RELEASES or each.suite in _ALIASES]
    if not plain:
        raise TargetError(
            "the kernel lab gets kernels and QEMU as Debian packages, and the apt of this machine"
            " has no Debian suite",
            "use a machine with Debian, or give a kernel as a file and install QEMU 10",
        )
    secure = [each for each in host if each.suite.endswith((SECURITY, "/updates"))]
    found = []
    for suite in suites:
        places = secure if suite.endswith(SECURITY) else plain
        if places:
            found.append(evolve(places[0], suite=suite))
    return tuple(found)


_ALIASES = ("oldoldstable", "oldstable", "stable", "testing", "unstable")


def _text(path: Path) -> str:
    try:
        return path.read_text(errors="replace")
    except OSError:
        return ""


def _single_lines(text: str) -> Iterator[AptSource]:
    line = re.compile(r"\s*deb\s+(?:\[(?P<options>[^\]]*)\]\s*)?(?P<uri>\S+)\s+(?P<rest>[^#]+)")
    for found in filter(None, map(line.match, text.splitlines())):
        suite, *components = found["rest"].split()
        options = dict(
            word.partition("=")[::2] for word in (found["options"] or "").lower().split()
        )
        signed = re.search(r"signed-by=(\S+)", found["options"] or "", re.I)
        if "main" in components and options.get("enabled", "yes") != "no":
            yield AptSource(found["uri"], suite, signed[1] if signed else "")


def _stanzas(text: str) -> Iterator[Mapping[str, str]]:
    """Fields of each stanza, names in lower case; lines that continue one keep their breaks."""
    lines = "\n".join(line for line in text.splitlines() if not line.startswith("#"))
    for stanza in re.split(r"\n[ \t]*\n", lines):
        found = re.findall(r"^([\w-]+):[ \t]*(.*(?:\n[ \t]+.*)*)", stanza, re.M)
        yield {name.lower(): value.rstrip() for name, value in found}


def _of_stanza(fields: Mapping[str, str]) -> Iterator[AptSource]:
    words = {name: fields.get(name, "").split() for name in ("types", "components")}
    if "deb" not in words["types"] or "main" not in words["components"]:
        return
    if fields.get("enabled", "yes").strip().lower() in ("no", "false", "0"):
        return
    for uri in fields.get("uris", "").split():
        for suite in fields.get("suites", "").split():
            yield AptSource(uri, suite, fields.get("signed-by", ""))
