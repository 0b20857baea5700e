"""Programs that are FreeRTOS, the runtime's core, fragments and task sets in one, for a board."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from attrs import frozen

from deadbeat import C_STANDARD as STANDARD
from deadbeat import C_WARNINGS as WARNINGS
from deadbeat import STATIC_LINKS as STATIC
from deadbeat import (
    BuildError,
    Toolchain,
    cache_root,
    headers_hash,
    index_source,
    native_root,
    text_source,
)
from deadbeat import cache_key as key_of
from deadbeat import compiler_identity as identity_of
from deadbeat import kept_in_cache as kept
from deadbeat import made_by_compiler as made
from deadbeat import program_answer as answer_of

#: The runtime's port to FreeRTOS.
PORT = Path(__file__).with_name("port")
#: The program of task sets; a test has one of its own.
_JOB = "job"
#: The program of an emitted tree.
_ALONE = "alone"
#: More do not get equal shares of QEMU's time.
MOST_HARTS = 2
#: Of the board's time; port/riscv64_virt/board_config.h.
TURNS_NS = 2000
_TURNS = (f"-DBOARD_HARTS={MOST_HARTS}", f"-DBOARD_TURN={TURNS_NS // 100}")
_KERNEL = ("tasks.c", "list.c", "queue.c")


@frozen(kw_only=True)
class Board:
    """What a FreeRTOS program runs on.

    Attributes:
        name: Name for users.
        folder: Below ``port``.
        kernel: Files of the kernel's port, below the kernel.
        includes: Folders of the kernel's port.
        cross: Compiler, as `Toolchain.find`; None: this machine's own.
        harts: Processors, each with a copy of the program (at most `MOST_HARTS`).
        words: Words of every call. ``links``: Words of linking, before the libraries.
        libraries: Last words of linking.
    """

    name: str
    folder: str
    kernel: tuple[str, ...]
    includes: tuple[str, ...]
    cross: str | None = None
    harts: int = 1
    words: tuple[str, ...] = ()
    links: tuple[str, ...] = ()
    libraries: tuple[str, ...] = ()

    @property
    def sources(self) -> tuple[Path, ...]:
        """Our side of the port."""
        ours = (each for each in PORT.glob("*.c") if each.stem not in (_JOB, _ALONE))
        return tuple(
            sorted([*ours, *(PORT / self.folder).glob("*.c"),
                    *(PORT / self.folder).glob("*.S")])
        )  # fmt: skip


VIRT = Board(
    name="riscv64 virt",
    folder="riscv64_virt",
    kernel=("portable/GCC/RISC-V/port.c", "portable/GCC/RISC-V/portASM.S"),
    includes=("portable/GCC/RISC-V",),
    cross="riscv64-linux-gnu",
    # code as in a Linux program, at an address that needs the larger model
    words=("-fno-pie", "-mcmodel=medany", "-fno-stack-protector"),
    links=(
        "-static",
        "-no-pie",
        "-nostdlib",
        "-nostartfiles",
        "-Wl,--no-warn-rwx-segments",
        "-Wl,--build-id=none",
    ),
    libraries=("-lm", "-lc", "-lgcc"),
)

HOSTED = Board(
    name="POSIX",
    folder="hosted",
    kernel=(
        "portable/ThirdParty/GCC/Posix/port.c",
        "portable/ThirdParty/GCC/Posix/utils/wait_for_event.c",
    ),
    includes=("portable/ThirdParty/GCC/Posix", "portable/ThirdParty/GCC/Posix/utils"),
    words=("-fno-pie",),
    links=STATIC,
    libraries=("-pthread", "-lm", "-lrt"),
)


def toolchain_of(board: Board) -> Toolchain:
    """The compiler of a board's programs. Raises BuildError where there is none."""
    return Toolchain.find(cross=board.cross)


def kernel_words() -> str:
    """The kernel as results name it."""
    return f"FreeRTOS {VERSION}"


def task_set_program(board: Board, tables: str, fragments: Sequence[Path]) -> Path:
    """Builds the program of a batch.

    Args:
        tables: C text of its task sets. ``fragments``: the fragments it has, by file.
    """
    index = index_source([each.stem for each in fragments])
    runtime = native_root() / "runtime" / "src"
    core = [*runtime.glob("core/*.c"), *runtime.glob("program/*.c"), PORT / f"{_JOB}.c"]
    texts = (text_source(index, "index"), text_source(tables, "tables"))
    return freertos_program(board, [*sorted(core), *sorted(fragments), *texts])


def freertos_program(board: Board, sources: Sequence[Path]) -> Path:
    """Builds one program of a board, the kernel and ``sources``; kept in the cache.

    Raises:
        BuildError: The compiler or the kernel's source is not to be had, or a source is refused.
    """
    toolchain, kernel = toolchain_of(board), kernel_sources()
    runtime = native_root() / "runtime"
    includes = [
        *(runtime / "include", runtime / "src", PORT, PORT / board.folder),
        *(kernel / each for each in ("include", *board.includes)),
    ]
    words = [
        *toolchain.words,
        *STANDARD,
        *toolchain.flags,
        *board.words,
        *(_TURNS if board.harts > 1 else ()),
        *(f"-I{each}" for each in includes),
    ]
    ours = [*board.sources, *sources]
    theirs = [kernel / each for each in (*_KERNEL, *board.kernel)]
    headers = key_of(headers_hash(), *(each.read_bytes() for each in sorted(PORT.rglob("*.h"))))

    def compiled(source: Path) -> Path:
        # the kernel's own style is not ours; it is compiled as it came
        judged = ("-w",) if kernel in source.parents else WARNINGS
        flags = (*words, *judged, f"-ffile-prefix-map={native_root()}=.")
        key = key_of(*identity_of(toolchain), " ".join(flags), headers, source.name,
                     source.read_bytes())  # fmt: skip
        out = cache_root() / "objects" / f"freertos-{source.stem}-{key}.o"
        return made(out, [toolchain.cc, *flags, "-c", str(source)], source.name)

    with ThreadPoolExecutor(max_workers=os.cpu_count() or 1) as pool:
        objects = list(pool.map(compiled, [*ours, *theirs]))
    if board.harts > 1:
        objects = _copies(toolchain, objects, board.harts)
    script = sorted((PORT / board.folder).glob("*.ld"))
    link = [*board.links, *(f"-Wl,-T,{each}" for each in script), "-Wl,-z,noexecstack"]
    scripts = b"".join(each.read_bytes() for each in script)
    key = key_of(*[each.name for each in objects], *board.links, *board.libraries, scripts)
    path = cache_root() / "programs" / f"freertos-{key}"
    argv = [toolchain.cc, *link, *map(str, objects), *board.libraries]
    return made(path, argv, f"a FreeRTOS program for {board.name}")


def _copies(toolchain: Toolchain, objects: Sequence[Path], harts: int) -> list[Path]:
    """The whole of ``objects`` once for each hart; of the copies only the entry has a name."""
    stem = f"freertos-whole-{key_of(*[each.name for each in objects])}"
    place = cache_root() / "objects"
    words = [toolchain.cc, *toolchain.words, "-r", "-nostdlib", *map(str, objects)]
    whole = made(place / f"{stem}.o", words, "FreeRTOS")
    copies = [whole]
    for hart in range(1, harts):
        entry = f"hart{hart}_start"
        words = [toolchain.ar.removesuffix("ar") + "objcopy", f"--redefine-sym=hart_start={entry}",
                 f"--keep-global-symbol={entry}", str(whole)]  # fmt: skip
        copies.append(made(place / f"{stem}-{hart}.o", words, f"FreeRTOS of hart {hart}", last=()))
    return copies


VERSION = "V11.2.0"
CRATE, CRATE_VERSION = "freertos-next", "0.12.0"
#: SHA-256 over names and contents of the files below its FreeRTOS-Kernel folder, its first half.
DIGEST = "519f18fde1c5662504f07939123f6fc7"
_FOLDER = "FreeRTOS-Kernel"
_HINT = "cargo 1.85 or newer (rustup, or Debian 13's) and a network are needed, once"
_MANIFEST = f"""[package]
name = "deadbeat-kernel"
version = "0.0.0"
edition = "2021"
[lib]
path = "lib.rs"
[dependencies]
{CRATE} = "={CRATE_VERSION}"
"""


def kernel_sources(*, cargo: str = "cargo") -> Path:
    """Folder of the kernel's source (with ``tasks.c``), in the cache; fetched where it is not.
    Raises BuildError: there is no cargo, no network, or what came is not what is expected."""
    place = cache_root() / "freertos" / f"{VERSION}-{DIGEST[:16]}"
    failing = f"the FreeRTOS kernel cannot be kept in {place.parent}"
    return kept(place, lambda made: _fetched(made.parent, cargo).replace(made), failing)


def _fetched(folder: Path, cargo: str) -> Path:
    """The kernel as it came into ``folder``, verified."""
    (folder / "Cargo.toml").write_text(_MANIFEST)
    (folder / "lib.rs").touch()
    what = f"fetch the FreeRTOS kernel (crate {CRATE} {CRATE_VERSION})"
    call_cargo(("vendor", "--quiet", "vendor"), folder, what, hint=_HINT, cargo=cargo)
    fetched = folder / "vendor" / CRATE / _FOLDER
    if not fetched.is_dir():
        raise BuildError(f"crate {CRATE} {CRATE_VERSION} came without the kernel", _HINT)
    found = digest_of(fetched)
    if found != DIGEST:
        raise BuildError(
            f"crate {CRATE} {CRATE_VERSION} holds another FreeRTOS kernel than expected"
            f" ({found[:16]} instead of {DIGEST[:16]})",
            "its registry changed what must not change: find out why before you use it",
        )
    return fetched


def digest_of(folder: Path) -> str:
    """See `DIGEST`, of all files below ``folder``."""
    files = sorted(each for each in folder.rglob("*") if each.is_file())
    named = ((path.relative_to(folder).as_posix(), path.read_bytes()) for path in files)
    return key_of(*(part for pair in named for part in pair))


#: What cargo may take to fetch.
_CARGO_S = 300


def call_cargo(
    words: Sequence[str],
    folder: Path,
    what: str,
    *,
    hint: str,
    cargo: str = "cargo",
) -> None:
    """Calls cargo in ``folder`` to ``what``; ``hint``: what that needs.
    Raises BuildError: there is no cargo, it did not end, or it failed."""
    if shutil.which(cargo) is None:
        raise BuildError(f"there is no cargo to {what} with", hint)
    env = {"CARGO_TERM_COLOR": "never"}
    try:
        done = answer_of([cargo, *words], folder=folder, environment=env, timeout_s=_CARGO_S)
    except subprocess.TimeoutExpired:
        raise BuildError(
            f"cargo did not {what} within {_CARGO_S} s", "is there a network?"
        ) from None
    if done.returncode != 0:
        lines = done.stderr.strip().splitlines() or [f"status {done.returncode}"]
        faults = [line for line in lines if line.startswith("error")] or lines
        raise BuildError(f"cargo could not {what}: {faults[0][:200]}", hint)
