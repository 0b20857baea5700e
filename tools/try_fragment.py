#!/usr/bin/env python3
"""Tries one NS fragment: what each size costs here, and whether its check() can be trusted.

usage: .venv/bin/python tools/try_fragment.py NAME [FOLDER]

FOLDER holds ns/ and sy/ (default: the project's own fragments). The first column of times is the
fastest of 16 batches, the second their median: a first look on an unprepared machine, no
calibration. Then the trials of runtime/tests/ns_driver.c: a run() that does nothing and results of
an earlier call must be refused, data must be fresh at every call, and two threads must not meet.
Everything is tried twice, the second time under AddressSanitizer and UBSan (without times).
Exit status 0: all trials passed.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
from helpers.native import compile_program

from deadbeat.base.model.errors import DeadbeatError, UsageError
from deadbeat.build.native import index_source, native_root
from deadbeat.tasksets.catalog import load_catalog
from deadbeat.tasksets.model.tasks import Fragment, Kind

SANITIZED = ("-O1", "-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")
CALLS = "48"


def build_driver(fragment: Fragment, pools: Path, folder: Path, *, sanitized: bool) -> Path:
    """The driver with this one fragment, in ``folder``."""
    index = folder / "index.c"
    index.write_text(index_source([fragment.name]))
    sources = [index, native_root() / "runtime/tests/ns_driver.c", pools / fragment.path]
    if sanitized:
        return compile_program(sources, folder / "sanitized", flags=SANITIZED, static=False)
    return compile_program(sources, folder / "driver")


def trials(name: str, size: int) -> list[list[str]]:
    """Arguments of the driver for every trial of one entry."""
    return [
        [name, str(size), CALLS],
        ["emptied", name, str(size), "3"],
        ["stale", name, str(size), "3"],
        ["fresh", name, str(size), "3"],
        ["threads", name, str(size), "3", "2"],
    ]


def try_entry(driver: Path, fragment: Fragment, size: int, *, say: bool) -> bool:
    """Runs all trials; prints the outcome of all (``say``) or only of those that failed."""
    passed = True
    for arguments in trials(fragment.name, size):
        done = subprocess.run([driver, *arguments], capture_output=True, text=True, check=False)
        passed &= done.returncode == 0
        if say or done.returncode != 0:
            print((done.stdout or done.stderr).strip(), flush=True)
    return passed


def main(arguments: list[str]) -> int:
    if len(arguments) not in (1, 2) or arguments[0].startswith("-"):
        print(__doc__, file=sys.stderr)
        return 2
    pools = Path(arguments[1]) if len(arguments) == 2 else native_root() / "fragments"
    try:
        fragment = load_catalog(pools).fragment(arguments[0])
        if fragment.kind is not Kind.NS:
            raise UsageError(f"{fragment.name} is an SY fragment", "tests/tasksets tries those")
        with tempfile.TemporaryDirectory() as folder:
            plain = build_driver(fragment, pools, Path(folder), sanitized=False)
            sanitized = build_driver(fragment, pools, Path(folder), sanitized=True)
            outcomes = [try_entry(plain, fragment, size, say=True) for size in fragment.sizes]
            outcomes += [try_entry(sanitized, fragment, size, say=False) for size in fragment.sizes]
    except DeadbeatError as error:
        print(f"try_fragment: {error}", file=sys.stderr)
        return error.exit_status
    print("all trials passed" if all(outcomes) else "WRONG: see above")
    return 0 if all(outcomes) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
