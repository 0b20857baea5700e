"""The tests of the core, under address and undefined-behaviour sanitizers.

The build is kept in build/, so only what changed is compiled again: about a minute of CPU the first
time, a few seconds after.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build" / "core-tests"

OPTIONS = {
    "DEADBEAT_BINDING": "OFF",
    "DEADBEAT_CORE_TESTS": "ON",
    "DEADBEAT_SANITIZE": "ON",
    # Compiling takes longer than running: no optimisation, no symbols; and assert() counts.
    "CMAKE_BUILD_TYPE": "Debug",
    "CMAKE_CXX_FLAGS_DEBUG": "-O0",
}


def tool(name: str) -> str:
    """``name`` of the virtual environment, else of PATH; skips the test where there is none."""
    beside = Path(sys.executable).parent
    found = shutil.which(name, path=os.pathsep.join([str(beside), os.environ.get("PATH", "")]))
    if found is None:
        pytest.skip(f"{name} is not installed")
    return found


def done(command: Sequence[str | Path]) -> str:
    """Output of a command that must succeed."""
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, f"{command[0]}: {(ran.stdout + ran.stderr)[-4000:]}"
    return ran.stdout


@pytest.fixture(scope="module")
def program() -> Path:
    """The built tests of the core."""
    if not Path("/usr/include/doctest/doctest.h").exists():
        pytest.skip("doctest is not installed (package doctest-dev)")
    options = dict(OPTIONS)
    if ccache := shutil.which("ccache"):
        options["CMAKE_CXX_COMPILER_LAUNCHER"] = ccache
    ninja = tool("ninja")
    define = [f"-D{name}={value}" for name, value in options.items()]
    done([tool("cmake"), "-S", ".", "-B", BUILD, "-G", "Ninja",
          f"-DCMAKE_MAKE_PROGRAM={ninja}", *define])  # fmt: skip
    done([ninja, "-C", str(BUILD), "core_tests"])
    return BUILD / "core" / "core_tests"


def test_core_tests_pass_under_sanitizers(program: Path) -> None:
    output = done([program, "--no-colors=true"])
    assert "SUCCESS!" in output


def test_sanitizers_are_linked_in(program: Path) -> None:
    symbols = program.read_bytes()
    assert b"__asan_init" in symbols
    assert b"__ubsan_handle" in symbols
