"""The wheel of this clone, and environments outside it that hold the wheel and what it asks for.

Nothing is fetched: what the wheel requires is linked from the environment of the tests.
"""

import json
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


def build_wheel(folder: Path, project: Path = ROOT) -> Path:
    """Builds the wheel with the tools of this environment; takes a minute."""
    pip = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation"]
    options = ["-C", f"build-dir={folder / 'build'}", "--wheel-dir", str(folder)]
    subprocess.run([*pip, *options, str(project)], check=True, env=_with_tools())
    (wheel,) = folder.glob("deadbeat*.whl")
    return wheel


def install(wheel: Path, folder: Path, *, extras: Iterable[str] = ()) -> Path:
    """Adds the wheel and what it requires to the environment in ``folder``, made where there is
    none; returns its ``bin``."""
    if not folder.exists():
        venv.create(folder, with_pip=False, symlinks=True)
    pip(folder, "install", "--no-deps", "--no-index", str(wheel))
    (packages,) = folder.glob("lib/python*/site-packages")
    (found,) = Distribution.discover(name=wheel.name.partition("-")[0], path=[str(packages)])
    link(folder, *_names(found, set(extras)))
    return folder / "bin"


def pip(folder: Path, *words: str) -> None:
    """Runs pip for the environment in ``folder``."""
    python = str(folder / "bin" / "python")
    command = [sys.executable, "-m", "pip", "-q", "--python", python, *words]
    subprocess.run(command, check=True, env=_with_tools())


def _with_tools() -> dict[str, str]:
    """With cmake and ninja on the path."""
    return {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}


def link(folder: Path, *names: str) -> None:
    """Adds distributions of the tests' environment, and what they require."""
    (packages,) = folder.glob("lib/python*/site-packages")
    for required in _closure(names):
        for file in {file.parts[0] for file in required.files or () if file.parts[0] != ".."}:
            target = packages / file
            if not target.exists():
                target.symlink_to(str(required.locate_file(file)))


def run(tool: Path, folder: Path, *words: str) -> str:
    """What an installed deadbeat says, run in ``folder`` without a trace of this clone."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    done = subprocess.run(
        [str(tool), *words],
        cwd=folder,
        env={**kept, "DEADBEAT_CACHE": str(folder / "cache")},
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    assert done.returncode in (0, 1), done.stderr
    assert "Traceback" not in done.stderr
    return done.stdout


def measure_simulated(tool: Path, folder: Path, *words: str) -> None:
    run(tool, folder, "latency", "--quick", "--simulated", *words)
    assert (folder / "runs/latest/report.html").is_file()
    assert "g-edf" in run(tool, folder, "list", "policies")  # the core is in it


def measure_really(tool: Path, folder: Path) -> None:
    words = "latency --loads idle --engine prober --policy other --duration 1 --cpus 0 --json"
    assert json.loads(run(tool, folder, *words.split()))
    assert (folder / "runs/latest/report.html").is_file()


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
