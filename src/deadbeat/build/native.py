"""Compiles the runtime, the fragments and generated programs with direct compiler calls.

Every object, library and program is kept in a cache under a name that is a hash of all that went
into it (compiler identification, flags, source and headers), so nothing is ever stale and nothing
is built twice. Knows nothing of task sets: it gets C text.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from errno import ENOTEMPTY
from functools import cache
from pathlib import Path

from deadbeat.base.model.errors import BuildError
from deadbeat.base.model.refused import OTHER_TMPDIR, hint_in, refusal
from deadbeat.build.toolchain import STATIC, Toolchain, answer_of, check_static

WARNINGS = ("-Wall", "-Wextra", "-Wmissing-prototypes", "-Wshadow")
#: Functions start on lines of their own: a fragment's place in the cache does not depend on its
#: neighbours' lengths.
STANDARD = ("-std=c11", "-D_GNU_SOURCE", "-pthread", "-falign-functions=64")
#: Tables hold no code: there is nothing to optimise, and -O0 halves the time gcc takes.
TABLE_FLAGS = ("-O0", "-g0", "-w")


def native_root() -> Path:
    """Folder that holds ``runtime/`` and ``fragments/``: the clone's root, or the wheel's copy."""
    here = Path(__file__).resolve()
    for candidate in (here.parents[3], here.parents[1] / "_native"):
        if (candidate / "runtime" / "include" / "deadbeat" / "fragment.h").is_file():
            return candidate
    raise BuildError(
        "the sources of the runtime are missing from this installation",
        "install again from a clone with: make setup",
    )


def cache_root() -> Path:
    """Folder of the compile cache: DEADBEAT_CACHE, the clone's build/cache if it can be written, or
    the user's cache."""
    chosen = os.environ.get("DEADBEAT_CACHE")
    if chosen:
        return Path(chosen)
    build = native_root() / "build"
    if native_root().name != "_native" and os.access(
        build if build.exists() else build.parent, os.W_OK
    ):
        return build / "cache"
    home = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(home) / "deadbeat"


def fragment_sources(root: Path | None = None) -> tuple[Path, ...]:
    """All fragment files under ``root`` (a folder holding ``ns/`` and ``sy/``), sorted by name."""
    pools = root or native_root() / "fragments"
    found = [*pools.glob("ns/*.c"), *pools.glob("sy/*.c")]
    return tuple(sorted(found, key=lambda path: path.stem))


def primitive_sources() -> tuple[Path, ...]:
    """All files of primitives, sorted by name."""
    return tuple(sorted((native_root() / "runtime" / "primitives").glob("*.c")))


def index_source(names: Iterable[str], kind: str = "fragment", header: str = "tables.h") -> str:
    """C text that defines ``db_fragments[]`` and ``db_fragment_count`` for these fragments, or the
    same of another ``kind``."""
    ordered = sorted(names)
    lines = [f'#include "deadbeat/{header}"', ""]
    lines += [f"extern const struct db_{kind} db_{kind}_{name};" for name in ordered]
    lines += ["", f"const uint32_t db_{kind}_count = {len(ordered)};"]
    lines.append(f"const struct db_{kind} *const db_{kind}s[] = {{")
    lines += [f"    &db_{kind}_{name}," for name in ordered]
    lines += ["    0,", "};", ""]
    return "\n".join(lines)


#: Concurrency Kit: a primitive that has it installed is another than one that lacks it.
KEPT_HEADERS = Path("/usr/include/ck_spinlock.h")
#: A program without task sets: what calibration, probes and self-tests run.
NO_TASK_SETS = """#include "deadbeat/tables.h"
const uint32_t db_tables_version = DB_TABLES_VERSION;
const uint32_t db_task_set_count = 0;
const struct db_task_set *const db_task_sets[] = {0};
"""


def headers_hash() -> str:
    """Hash of all headers of the runtime."""
    return key_of(*contents_of(sorted((native_root() / "runtime").rglob("*.h"))))


def contents_of(files: Iterable[Path]) -> Iterator[str | bytes]:
    """Name and content of each: parts of a key."""
    return (part for path in files for part in (path.name, path.read_bytes()))


def key_of(*parts: str | bytes) -> str:
    """A name in the cache that differs where any part does."""
    digest = hashlib.sha256()
    for part in parts:
        data = part.encode() if isinstance(part, str) else part
        digest.update(len(data).to_bytes(8, "little"))
        digest.update(data)
    return digest.hexdigest()[:32]


def _call(argv: Sequence[str], what: str) -> None:
    done = answer_of(argv)
    if done.returncode != 0:
        text = (done.stderr or done.stdout).strip()
        hint = hint_in(text, "see its words above", OTHER_TMPDIR)
        raise BuildError(f"{argv[0]} could not build {what}: {text[:1500]}", hint)


def kept(path: Path, make: Callable[[Path], object], failing: str = "") -> Path:
    """``path`` of the cache; where it is not there, ``make`` makes it, whole or not at all.

    Args:
        make: Gets where to make it: alone in a temporary folder.
        failing: What fails where nothing can be written; "": that.
    """
    try:
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryDirectory(dir=path.parent) as folder:
                place = Path(folder) / path.name
                make(place)
                place.replace(path)
    except OSError as error:
        if error.errno == ENOTEMPTY:  # a folder that another process made meanwhile
            return path
        what = failing or f"cannot write {path.name} to the compile cache {cache_root()}"
        hint = "set DEADBEAT_CACHE to another folder"
        raise BuildError(*refusal(what, error, hint, hint)) from error
    return path


def made(path: Path, argv: Sequence[str], what: str, last: Sequence[str] = ("-o",)) -> Path:
    """``path`` of the cache, the output of ``argv`` and, after the words ``last``, its name."""
    return kept(path, lambda place: _call([*argv, *last, str(place)], what))


def _object(toolchain: Toolchain, source: Path, flags: Sequence[str], headers: str) -> Path:
    key = key_of(
        *identity_of(toolchain), " ".join(flags), headers, source.name, source.read_bytes()
    )
    out = cache_root() / "objects" / f"{source.stem}-{key}.o"
    return made(out, [*_command(toolchain, flags), "-c", str(source)], source.name)


def identity_of(toolchain: Toolchain) -> tuple[str, ...]:
    """What of a compiler goes into such a name."""
    words = "\0".join(toolchain.words)
    named = (toolchain.cc, toolchain.identification, toolchain.machine, toolchain.libc)
    return (*named, words, toolchain.ar)


def _command(toolchain: Toolchain, flags: Sequence[str]) -> list[str]:
    runtime = native_root() / "runtime"
    includes = [f"-I{runtime / 'include'}", f"-I{runtime / 'port' / 'linux'}"]
    # The folder of the clone must not find its way into objects: equal sources, equal bytes.
    prefix = f"-ffile-prefix-map={native_root()}=."
    return [toolchain.cc, *toolchain.words, *STANDARD, *WARNINGS, *flags, prefix, *includes]


def _objects(
    toolchain: Toolchain, sources: Sequence[Path], flags: Sequence[str], more: str = ""
) -> list[Path]:
    headers = headers_hash() + more
    with ThreadPoolExecutor(max_workers=os.cpu_count() or 1) as pool:
        return list(pool.map(lambda s: _object(toolchain, s, flags, headers), sources))


def object_of(toolchain: Toolchain, source: Path) -> Path:
    """One object of the runtime that is no part of its library."""
    return _object(toolchain, source, _flags(toolchain), headers_hash())


def _flags(toolchain: Toolchain) -> tuple[str, ...]:
    """Not position independent: const tables stay in read-only memory, calls stay direct."""
    return (*toolchain.flags, *(("-fno-pie",) if toolchain.static else ()))


def text_source(text: str, stem: str) -> Path:
    """A C file that holds ``text``, in the cache."""
    path = cache_root() / "sources" / f"{stem}-{key_of(text)}.c"
    return kept(path, lambda place: place.write_text(text))


def runtime_library(toolchain: Toolchain, *, fragments_root: Path | None = None) -> Path:
    """Static library of runtime, fragments and their index, built once per (toolchain, flags).
    Raises BuildError: the compiler is missing or refuses a source."""
    fragments = fragment_sources(fragments_root)
    index = text_source(index_source([p.stem for p in fragments]), "index")
    primitives = primitive_sources()
    text = index_source([p.stem for p in primitives], "primitive", "primitive.h")
    more = text_source(text, "primitives")
    runtime = native_root() / "runtime"  # its core and host parts and the Linux port, no program
    folders = ("src/core", "src/host", "port/linux")
    own = sorted(path for folder in folders for path in runtime.glob(f"{folder}/*.c"))
    sources = [*own, index, *fragments, more]
    if toolchain.static:
        check_static(toolchain)
    flags = _flags(toolchain)
    objects = _objects(toolchain, sources, flags)
    objects += _objects(toolchain, primitives, flags, str(KEPT_HEADERS.is_file()))
    path = cache_root() / "libraries" / f"libdeadbeat-{key_of(*[o.name for o in objects])}.a"
    return kept(path, lambda place: _archive(toolchain, place, objects))


def _archive(toolchain: Toolchain, path: Path, objects: Sequence[Path]) -> None:
    if not shutil.which(toolchain.ar):
        hint = "install it (Debian: apt-get install binutils)"
        raise BuildError(f"no archiver: {toolchain.ar} was not found on PATH", hint)
    _call([toolchain.ar, "rcsD", str(path), *map(str, objects)], path.name)


def link_program(
    toolchain: Toolchain,
    tables: str,
    *,
    fragments_root: Path | None = None,
    extra: Sequence[str] = (),
) -> Path:
    """Builds one static, non-relocatable program from the C text of tables.

    The archive is linked whole and first, so code lies at the same address in every program and
    code layout cannot pass for contention.

    Args:
        toolchain: What builds it.
        tables: C text.
        fragments_root: See `fragment_sources`.
        extra: More words of linking: archives and libraries behind the runtime.

    Returns:
        Path of the program in the cache.
    """
    library = runtime_library(toolchain, fragments_root=fragments_root)
    links = "\0".join((*extra, *toolchain.link_flags))
    key = key_of(library.name, tables, " ".join(TABLE_FLAGS), links, str(toolchain.static))
    path = cache_root() / "programs" / f"program-{key}"
    # sanitizers must be named when linking too, and do not mind being named for tables
    flags = TABLE_FLAGS if toolchain.static else (*toolchain.flags, *TABLE_FLAGS)
    argv = [*_command(toolchain, flags), *(STATIC if toolchain.static else ())]
    argv += ["-Wl,--whole-archive", str(library), "-Wl,--no-whole-archive"]
    ends = [*extra, "-lm", "-lrt", *toolchain.link_flags]

    def linked(place: Path) -> None:
        # large, and of no use afterwards: it is not shared
        source = place.with_name(f"tables-{key_of(tables)}.c")
        source.write_text(tables)
        _call([*argv, str(source), *ends, "-o", str(place)], "a generated program")

    return kept(path, linked)


#: Objects of a library that is preloaded, and how it is linked.
_PRELOADED = ("-fPIC", "-fvisibility=hidden", "-fexceptions", "-ftls-model=initial-exec")
_SHARED = ("-shared", "-Wl,-z,now")


def tool_program(toolchain: Toolchain, stem: str, *, preloaded: bool = False) -> Path:
    """A program of runtime/observe/STEM*.c alone, which needs nothing but the C library;
    ``preloaded``: a library."""
    sources = sorted((native_root() / "runtime/observe").glob(f"{stem}*.c"))
    flags = (*toolchain.flags, *_PRELOADED) if preloaded else _flags(toolchain)
    objects = _objects(toolchain, sources, flags)
    words = [*(_SHARED if preloaded else STATIC if toolchain.static else ()), *map(str, objects)]
    words += [*(("-ldl",) if preloaded else ()), *toolchain.link_flags]
    path = cache_root() / "programs" / f"{stem}-{key_of(*[o.name for o in objects])}"
    return made(path, [toolchain.cc, *toolchain.words, *words], stem)


def verb_program(
    toolchain: Toolchain, *, fragments_root: Path | None = None, extra: Sequence[str] = ()
) -> Path:
    """`link_program` without task sets: for the runtime's other verbs. What it is made of is
    looked at once a process, as a run of a verb is short."""
    return _verb_program(toolchain, fragments_root, tuple(extra), cache_root())


@cache
def _verb_program(
    toolchain: Toolchain, fragments_root: Path | None, extra: tuple[str, ...], _root: Path
) -> Path:
    return link_program(toolchain, NO_TASK_SETS, fragments_root=fragments_root, extra=extra)
