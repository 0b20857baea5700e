"""Finds JDKs, and builds with one and Maven what times primitives in a JVM."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

from attrs import frozen

from deadbeat.base.model.errors import BuildError
from deadbeat.build.native import cache_root, contents_of, kept, key_of, native_root
from deadbeat.build.toolchain import answer_of

#: Where Debian, Fedora and Arch keep them.
_FOLDERS = Path("/usr/lib/jvm")
_VERSION = re.compile(r'^JAVA_VERSION="(?:1\.)?(\d+)([^"]*)"', re.MULTILINE)
#: What the build leaves; the second is what Java before 22 calls the C library with.
_JARS = ("deadbeat-jvm.jar", "jna.jar")
#: Java of the source; Java that calls the C library without another library.
LEAST_JAVA, FOREIGN_JAVA = 17, 22
_MAVEN_S = 600


@frozen(order=True)
class Jdk:
    """An installed Java; ``feature``: 17 of 17.0.15."""

    feature: int
    version: str
    home: Path

    @property
    def java(self) -> str:
        return str(self.home / "bin" / "java")

    @property
    def compiles(self) -> bool:
        return (self.home / "bin" / "javac").exists()


def _homes() -> Iterator[Path]:
    if home := os.environ.get("JAVA_HOME"):
        yield Path(home)
    if java := shutil.which("java"):
        yield Path(java).resolve().parents[1]
    if _FOLDERS.is_dir():
        yield from sorted(_FOLDERS.iterdir())


def jdks() -> tuple[Jdk, ...]:
    """JDKs of JAVA_HOME, of PATH and of /usr/lib/jvm, the newest first; each once."""
    found: dict[Path, Jdk] = {}
    for home in _homes():
        real = home.resolve()
        release = real / "release"
        if not os.access(real / "bin" / "java", os.X_OK) or not release.is_file():
            continue
        match = _VERSION.search(release.read_text(encoding="utf-8", errors="replace"))
        if match and int(match[1]) >= LEAST_JAVA:
            found.setdefault(real, Jdk(int(match[1]), match[1] + match[2], real))
    return tuple(sorted(found.values(), reverse=True))


def jvm_sources() -> tuple[Path, ...]:
    """All files of primitives of a JVM, sorted by name."""
    folder = native_root() / "jvm" / "src" / "main" / "java" / "deadbeat" / "primitives"
    return tuple(sorted(folder.glob("*.java")))


def agent_jar() -> Path:
    """The program that times primitives in a JVM; built once by the newest JDK.
    Raises BuildError: there is no JDK or no Maven, or with their own words."""
    compilers = [jdk for jdk in jdks() if jdk.compiles]
    if not compilers:
        raise BuildError("no JDK is installed", "install default-jdk-headless, or set JAVA_HOME")
    project = native_root() / "jvm"
    files = [project / "pom.xml", *sorted((project / "src").rglob("*.java"))]
    folder = cache_root() / "jvm" / key_of(compilers[0].version, *contents_of(files))
    failing = f"cannot write to the compile cache {cache_root()}"
    return kept(folder, lambda made: _build(project, made, compilers[0]), failing) / _JARS[0]


def _build(project: Path, made: Path, jdk: Jdk) -> None:
    if shutil.which("mvn") is None:
        raise BuildError("Maven is not installed", "install the package maven")
    work = made.parent / "jvm"
    shutil.copytree(project, work, ignore=shutil.ignore_patterns("target"))
    argv = ["mvn", "-B", "-q", "-f", str(work / "pom.xml"), "-Dstyle.color=never", "package"]
    try:
        done = answer_of(argv, environment={"JAVA_HOME": str(jdk.home)}, timeout_s=_MAVEN_S)
    except subprocess.TimeoutExpired as error:
        hint = "does it reach its repository? call: mvn -f jvm/pom.xml package"
        raise BuildError(f"mvn did not end in {_MAVEN_S} s", hint) from error
    if done.returncode != 0:
        said = [line for line in done.stdout.splitlines() if line.startswith("[ERROR]")]
        text = "\n".join(said) or done.stderr
        raise BuildError(f"mvn could not build jvm/pom.xml: {text[:1500]}", "see its words above")
    made.mkdir()
    for jar in _JARS:
        shutil.copy(work / "target" / jar, made / jar)
