"""The tests of the core, under address and undefined-behaviour sanitizers.

The build is kept in build/, so only what changed is compiled again: about a minute of CPU the first
time, a few seconds after.
"""

import os
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build" / "core-tests"
DOCTEST = Path("/usr/include/doctest/doctest.h")

OPTIONS = {
    "DEADBEAT_BINDING": "OFF",
    "DEADBEAT_CORE_TESTS": "ON",
    "DEADBEAT_SANITIZE": "ON",
    "CMAKE_COMPILE_WARNING_AS_ERROR": "ON",
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
    if not DOCTEST.exists():
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


@pytest.mark.slow
def test_core_tests_pass_under_sanitizers(program: Path) -> None:
    assert "SUCCESS!" in done([program, "--no-colors=true"])


@pytest.mark.slow
def test_sanitizers_are_linked_in(program: Path) -> None:
    symbols = program.read_bytes()
    assert b"__asan_init" in symbols
    assert b"__ubsan_handle" in symbols


#: Tests of packing that ask for no policy: those are files of their own.
EXACT = "signs of sums*,exact admission*,an exact admission*,Lehoczky*,Liu*"


def test_packing_passes_under_sanitizers(tmp_path: Path) -> None:
    """What packing needs alone, a quarter of the build above, stands for it in ``make test``."""
    if not DOCTEST.exists():
        pytest.skip("doctest is not installed (package doctest-dev)")
    names = ("partition", "shares", "system", "options", "registry", "uniprocessor", "ties")
    whole = tmp_path / "whole.cpp"
    files = [ROOT / "core/tests" / name for name in ("main.cpp", "test_partition.cpp")]
    files += [ROOT / "core/src" / f"{name}.cpp" for name in names]
    whole.write_text("".join(f'#include "{file}"\n' for file in files))
    flags = ("-std=gnu++20", "-O0", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")
    done([tool("g++"), *flags, f"-I{ROOT / 'core/include'}", whole, "-o", tmp_path / "tests"])
    assert "SUCCESS!" in done([tmp_path / "tests", "--no-colors=true", f"--test-case={EXACT}"])


@pytest.mark.parametrize("dev", [False, True])
def test_a_user_builds_the_lanes_of_this_machine_and_no_warning_stops_it(
    dev: bool, tmp_path: Path
) -> None:
    chosen = [f"-D{name}=ON" for name in ("DEADBEAT_ALL_LANES", "CMAKE_COMPILE_WARNING_AS_ERROR")]
    done([tool("cmake"), "-S", ".", "-B", tmp_path, "-G", "Ninja", "-DDEADBEAT_BINDING=OFF",
          f"-DCMAKE_MAKE_PROGRAM={tool('ninja')}", "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON",
          *(chosen if dev else ())])  # fmt: skip
    commands = (tmp_path / "compile_commands.json").read_text()
    assert ("-Werror" in commands) is dev
    built = set(re.findall(r"/fast/lanes_(\w+)\.cpp\.o", commands))
    every = {"baseline"} | ({"avx2", "avx512"} if platform.machine() == "x86_64" else set())
    flags = Path("/proc/cpuinfo").read_text()
    widest = next((name for name in ("avx512", "avx2") if f" {name}" in flags), "baseline")
    assert built == (every if dev else {widest})
