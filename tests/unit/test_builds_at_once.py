"""Two builds of one program at once: each has its own sources, and both end with one program."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

from deadbeat.build.native import NO_TASK_SETS, link_program
from deadbeat.build.toolchain import Toolchain


def test_builds_of_one_program_at_once(tmp_path: Path) -> None:
    toolchain, tables = Toolchain.find(), f"{NO_TASK_SETS}/* {tmp_path} */\n"
    together = Barrier(4)

    def build(_: int) -> Path:
        together.wait()
        return link_program(toolchain, tables)

    with ThreadPoolExecutor(4) as pool:
        (program,) = set(pool.map(build, range(4)))
    assert program.is_file()
    assert not list(program.parent.glob(f"*/{program.name}"))
    assert not list(program.parent.glob("**/tables-*.c"))
    program.unlink()
