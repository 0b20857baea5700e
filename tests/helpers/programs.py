"""Programs of known truth (tests/programs): how each is built, and what it says it did."""

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
_C = ("-g", "-O2", "-pthread", "-Wall", "-Wextra", "-Werror", "-Wno-unused-function", "-o")
#: How a file of each language becomes a program, which stands before it.
COMPILERS = {
    ".c": ("gcc", *_C),
    ".cpp": ("g++", "-std=c++20", *_C),
    ".rs": ("rustc", "-g", "-O", "--edition=2021", "-o"),
    ".go": ("go", "build", "-o"),
}
PROGRAMS = {
    path.stem: path
    for path in sorted((ROOT / "tests/programs").iterdir())
    if path.suffix in (*COMPILERS, ".py")
}


def command_of(source: Path, folder: Path, *more: str) -> tuple[str, ...]:
    """Builds a program, of ``more`` files too, in ``folder``; skips where there is no compiler."""
    if source.suffix == ".py":
        return (sys.executable, str(source))
    compiler = COMPILERS[source.suffix]
    if shutil.which(compiler[0]) is None:
        pytest.skip(f"no {compiler[0]} here")
    argv = (*compiler, str(folder / source.stem), str(source), *more)
    built = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr
    return (str(folder / source.stem),)


def truth_in(output: str) -> dict[str, Any]:
    """What a program says of itself: its last line."""
    lines = [line for line in output.splitlines() if line.startswith('{"measured"')]
    truth: dict[str, Any] = json.loads(lines[-1])
    return truth
