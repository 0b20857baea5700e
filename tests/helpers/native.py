"""Programs of any C files, built as those that measure are."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

from deadbeat.build.native import object_of
from deadbeat.build.toolchain import STATIC, Toolchain, answer_of


def compile_program(
    sources: Sequence[Path],
    output: Path,
    *,
    flags: Sequence[str] = ("-O2",),
    static: bool = True,
    cross: str | None = None,
) -> Path:
    """Builds ``output`` from ``sources``; sanitizers need ``static`` False."""
    toolchain = Toolchain.find(cross=cross, flags=flags, static=static)
    with ThreadPoolExecutor() as pool:
        objects = list(pool.map(partial(object_of, toolchain), sources))
    argv = [toolchain.cc, *toolchain.words, "-pthread", *flags, *(STATIC if static else ())]
    argv += [*map(str, objects), "-o", str(output), "-lm", "-lrt", *toolchain.link_flags]
    done = answer_of(argv)
    assert done.returncode == 0, done.stderr
    return output
