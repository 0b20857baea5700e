"""``python -m deadbeat.build [--cross WORD]``: builds the native part ahead of its first use."""

from __future__ import annotations

import argparse
import sys

from deadbeat.base.model.errors import DeadbeatError
from deadbeat.build.native import NO_TASK_SETS, link_program
from deadbeat.build.toolchain import Toolchain


def main() -> int:
    """Builds runtime, fragments and the program without task sets; prints what it built with."""
    parser = argparse.ArgumentParser(prog="deadbeat.build", description=main.__doc__)
    parser.add_argument("--cross", metavar="WORD", help="a cross compiler; default: the native one")
    asked = parser.parse_args()
    try:
        toolchain = Toolchain.find(cross=asked.cross)
        program = link_program(toolchain, NO_TASK_SETS)
    except DeadbeatError as error:
        print(f"deadbeat: error: {error}", file=sys.stderr)
        return error.exit_status
    print(f"runtime and fragments are built ({toolchain.identification})")
    if asked.cross:
        size = program.stat().st_size
        print(f"{toolchain.machine}, {toolchain.libc}, {size} bytes: {program}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
