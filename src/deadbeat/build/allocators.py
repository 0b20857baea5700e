"""Memory allocators that a program may have in place of the C library's.

Programs are static: an allocator is an archive that the compiler finds. What a program then has,
it finds out itself and writes into its result (runtime/src/host/allocator.c).
"""

from __future__ import annotations

import subprocess
from functools import cache
from pathlib import Path

from deadbeat.build.toolchain import Toolchain

#: The C library's own.
LIBC = "libc"
#: Archive of each, and Debian's package that has it.
ALLOCATORS = {
    "jemalloc": ("libjemalloc.a", "libjemalloc-dev"),
    "tcmalloc": ("libtcmalloc_minimal.a", "libgoogle-perftools-dev"),
    "mimalloc": ("libmimalloc.a", "none has it: libmimalloc-dev is a shared library"),
}


@cache
def archive_of(toolchain: Toolchain, allocator: str) -> Path | None:
    """Where the compiler finds it; None: it does not."""
    asked = f"-print-file-name={ALLOCATORS[allocator][0]}"
    argv = [toolchain.cc, *toolchain.words, asked]
    done = subprocess.run(
        argv, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL
    )
    path = Path(done.stdout.strip())
    return path.resolve() if path.is_absolute() else None


def lacking(allocator: str) -> str:
    """What is said of one that is not found."""
    return f"{allocator} is not installed (Debian: {ALLOCATORS[allocator][1]})"


def link_words(toolchain: Toolchain, allocator: str) -> tuple[str, ...]:
    """What a program that has it is linked with."""
    archive = None if allocator == LIBC else archive_of(toolchain, allocator)
    return (str(archive), "-lstdc++") if archive else ()
