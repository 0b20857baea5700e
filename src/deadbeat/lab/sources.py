"""Where this machine's apt gets its packages from, and other suites of the same archive.

Reads both formats of sources.list(5). Whatever names the mirror stays in apt's own files: no result
holds it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from attrs import evolve, frozen

from deadbeat.model.errors import TargetError

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
