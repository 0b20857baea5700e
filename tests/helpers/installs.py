"""The wheel of this clone, and environments outside it that hold the wheel and what it asks for.

Nothing is fetched: what the wheel requires is linked from the environment of the tests.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import venv
from collections.abc import Iterable, Iterator
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
_REQUIRED = re.compile(r"([A-Za-z0-9._-]+)[^;]*(?:;(.*))?")


def build_wheel(folder: Path) -> Path:
    """Builds the wheel with the tools of this environment; takes a minute."""
    pip = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation"]
    options = ["-C", f"build-dir={folder / 'build'}", "--wheel-dir", str(folder)]
    tools = f"{Path(sys.executable).parent}:{os.environ['PATH']}"  # cmake and ninja
    subprocess.run([*pip, *options, str(ROOT)], check=True, env={**os.environ, "PATH": tools})
    (wheel,) = folder.glob("deadbeat-*.whl")
    return wheel


def install(wheel: Path, folder: Path, *, extras: Iterable[str] = ()) -> Path:
    """An environment in ``folder`` with the wheel and what it requires; returns its ``bin``."""
    venv.create(folder, with_pip=False, symlinks=True)
    python = folder / "bin" / "python"
    pip = [sys.executable, "-m", "pip", "--quiet", "--python", str(python), "install"]
    subprocess.run([*pip, "--no-deps", "--no-index", str(wheel)], check=True)
    (packages,) = folder.glob("lib/python*/site-packages")
    for required in _closure(_requirements(packages, extras)):
        for file in {file.parts[0] for file in required.files or () if file.parts[0] != ".."}:
            link = packages / file
            if not link.exists():
                link.symlink_to(str(required.locate_file(file)))
    return folder / "bin"


def _requirements(packages: Path, extras: Iterable[str]) -> Iterator[str]:
    (found,) = Distribution.discover(name="deadbeat", path=[str(packages)])
    yield from _names(found, set(extras))


def _names(found: Distribution, extras: set[str]) -> Iterator[str]:
    for line in found.requires or ():
        match = _REQUIRED.match(line)
        assert match, line
        extra = re.search(r"extra == ['\"]([^'\"]+)", match[2] or "")
        if not extra or extra[1] in extras:
            yield match[1]


def _closure(names: Iterable[str]) -> Iterator[Distribution]:
    waiting, seen = list(names), set[str]()
    while waiting:
        name = waiting.pop()
        if name in seen:
            continue
        seen.add(name)
        try:
            found = distribution(name)
        except PackageNotFoundError:  # required on other systems or Pythons only
            continue
        yield found
        waiting.extend(_names(found, set()))
