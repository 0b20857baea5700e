"""Memory allocators that a program may have in place of the C library's.

Programs are static: an allocator is an archive or an object that is linked before the C library.
Which a program then has, it finds out itself and writes into its result
(runtime/src/host/allocator.c).
"""

from __future__ import annotations

import platform
import shutil
from collections.abc import Callable, Mapping
from functools import cache, partial
from pathlib import Path

from attrs import frozen

from deadbeat.build.native import (
    cache_root,
    call_cargo,
    contents_of,
    identity_of,
    kept,
    key_of,
    native_root,
    object_of,
)
from deadbeat.build.toolchain import Toolchain, answer_of, machine_word
from deadbeat.model.errors import BuildError

#: The C library's own.
LIBC = "libc"


@frozen
class Allocator:
    """One that is not the C library's as it is.

    Attributes:
        words: What a program that has it is linked with; raises BuildError where it is not to be
            had.
        where: Where it comes from, for one who lacks it.
        installed: Whether it is used unasked where it is there: nothing is built for it.
    """

    words: Callable[[Toolchain], tuple[str, ...]]
    where: str
    installed: bool = False


@cache
def _from_package(toolchain: Toolchain, archive: str, package: str) -> tuple[str, ...]:
    argv = [toolchain.cc, *toolchain.words, f"-print-file-name={archive}"]
    path = Path(answer_of(argv).stdout.strip())
    if not path.is_absolute():
        raise BuildError(f"{archive} is not installed", f"Debian: apt-get install {package}")
    return str(path.resolve()), "-lstdc++"


def folder_of(name: str) -> Path:
    """Folder of an allocator's source."""
    return native_root() / "runtime" / "allocators" / name


def _from_crate(toolchain: Toolchain, *, name: str, cargo: str = "cargo") -> tuple[str, ...]:
    """Built once into the cache; cargo checks what it fetches against our Cargo.lock."""
    here = machine_word(platform.machine())
    if toolchain.machine != here or "glibc" not in toolchain.libc:
        raise BuildError(
            f"{name} is built for this machine's own C library alone, not for"
            f" {toolchain.machine} with {toolchain.libc}",
            "leave --cross away",
        )
    source = folder_of(name)
    files = sorted(each for each in source.iterdir() if each.is_file())
    key = key_of(*identity_of(toolchain), *contents_of(files))
    path = cache_root() / "allocators" / f"lib{name}-{key}.a"

    def build(place: Path) -> None:
        work = place.parent
        for each in files:
            shutil.copy(each, work)
        call_cargo(
            ("build", "--quiet", "--release", "--locked"),
            work,
            f"build {name}",
            hint=_CARGO,
            cargo=cargo,
            environment={"CARGO_TARGET_DIR": str(work / "target")},
        )
        (work / "target" / "release" / f"lib{name}.a").replace(place)

    return (str(kept(path, build, f"cannot keep {name} in {path.parent}")),)


def _tuned(toolchain: Toolchain) -> tuple[str, ...]:
    if "glibc" not in toolchain.libc:
        raise BuildError(f"only glibc's malloc is tuned, not that of {toolchain.libc}", "")
    return (str(object_of(toolchain, folder_of("tuned.c"))),)


_CARGO = "cargo (rustup, or Debian's package) and a network are needed, once"


def _packaged(archive: str, package: str) -> Allocator:
    words = partial(_from_package, archive=archive, package=package)
    return Allocator(words, f"Debian: {package}", installed=True)


def _crate(name: str) -> Allocator:
    return Allocator(partial(_from_crate, name=name), "built by cargo when asked for")


#: All but the C library's, by name.
ALLOCATORS: Mapping[str, Allocator] = {
    "tuned": Allocator(_tuned, "glibc's: one arena, kept memory"),
    "jemalloc": _packaged("libjemalloc.a", "libjemalloc-dev"),
    "tcmalloc": _packaged("libtcmalloc_minimal.a", "libgoogle-perftools-dev"),
    "mimalloc": _crate("mimalloc"),
    "tlsf": _crate("tlsf"),
}


def link_words(toolchain: Toolchain, allocator: str) -> tuple[str, ...]:
    """What a program that has it is linked with.
    Raises BuildError: it is not to be had; one line says why."""
    return () if allocator == LIBC else ALLOCATORS[allocator].words(toolchain)


def installed(toolchain: Toolchain) -> tuple[str, ...]:
    """The C library's, and those that are there without building anything."""
    return (
        LIBC,
        *(name for name, each in ALLOCATORS.items() if each.installed and _is_had(toolchain, each)),
    )


def _is_had(toolchain: Toolchain, allocator: Allocator) -> bool:
    try:
        return bool(allocator.words(toolchain))
    except BuildError:
        return False


def others(used: tuple[str, ...]) -> str:
    """What is said of those that are not used."""
    return ", ".join(f"{n} ({each.where})" for n, each in ALLOCATORS.items() if n not in used)
