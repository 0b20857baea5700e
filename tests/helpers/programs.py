"""Programs of known truth (tests/programs): built once, run, and what they say they did."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from tempfile import gettempdir
from typing import Any

import pytest

ROOT = Path(__file__).parents[1] / "programs"
#: How a program of each language is built, before its file and ``-o PROGRAM``.
COMPILERS: Mapping[str, tuple[str, ...]] = {
    ".c": ("gcc", "-g", "-O2", "-pthread", "-Wall", "-Wextra", "-Werror", "-Wno-unused-function"),
    ".cpp": ("g++", "-g", "-O2", "-pthread", "-std=c++20", "-Wall", "-Wno-unused-function"),
    ".rs": ("rustc", "-g", "-O", "--edition=2021"),
    ".go": ("go", "build"),
}
PROGRAMS = {
    path.stem: path for path in sorted(ROOT.iterdir()) if path.suffix in (*COMPILERS, ".py")
}


def command_of(name: str, folder: Path | None = None) -> tuple[str, ...]:
    """The command of a program; skips the test where its compiler is missing."""
    source = PROGRAMS[name]
    if source.suffix == ".py":
        return (sys.executable, str(source))
    compiler = COMPILERS[source.suffix]
    if shutil.which(compiler[0]) is None:
        pytest.skip(f"no {compiler[0]} here")
    program = (folder or Path(gettempdir())) / name
    output = ("-o", str(program))
    words = (str(source), *output) if source.suffix != ".go" else (*output, str(source))
    built = subprocess.run((*compiler, *words), capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr
    return (str(program),)


def truth_in(output: str) -> dict[str, Any]:
    """What a program says of itself: the last line that is such an object."""
    lines = [line for line in output.splitlines() if line.startswith('{"measured"')]
    truth: dict[str, Any] = json.loads(lines[-1])
    return truth
