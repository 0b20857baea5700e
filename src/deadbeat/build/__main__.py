"""``python -m deadbeat.build``: builds the native part ahead of its first use."""

from __future__ import annotations

import sys

from deadbeat.build.native import NO_TASK_SETS, Toolchain, link_program
from deadbeat.model.errors import DeadbeatError


def main() -> int:
    """Builds runtime, fragments and the program without task sets; prints what it built with."""
    try:
        toolchain = Toolchain.find()
        link_program(toolchain, NO_TASK_SETS)
    except DeadbeatError as error:
        print(f"deadbeat: error: {error}", file=sys.stderr)
        return error.exit_status
    print(f"runtime and fragments are built ({toolchain.identification})")
    return 0


if __name__ == "__main__":
    sys.exit(main())
