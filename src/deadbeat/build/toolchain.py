"""C compilers: this machine's own and those that make programs for another.

One value says all that a build needs to know of a compiler. It comes from this machine, from a
prefix (``aarch64-linux-gnu``), a compiler's path, a folder (of Yocto's SDK, of Buildroot, or any
with ``bin/PREFIX-gcc``), Yocto's ``environment-setup-*`` script or a TOML file.
"""

from __future__ import annotations

import os
import platform
import re
import shlex
import shutil
import subprocess
import tempfile
import tomllib
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

from attrs import evolve, field, frozen

from deadbeat.base.model.errors import BuildError, UsageError
from deadbeat.base.model.refused import OTHER_TMPDIR, hint_in, refusal
from deadbeat.base.model.words import nearest, shown

OPTIMISED = ("-O2",)
STATIC = ("-static", "-no-pie", "-fno-pie")

#: Debian's names by machine: prefix of the compiler, and architecture of the C library's package.
_DEBIAN = {
    "x86_64": ("x86_64-linux-gnu", "amd64"),
    "aarch64": ("aarch64-linux-gnu", "arm64"),
    "arm": ("arm-linux-gnueabihf", "armhf"),
    "riscv64": ("riscv64-linux-gnu", "riscv64"),
}
#: Other usual prefixes, looked for after Debian's.
_USUAL = ("{}-linux-musl", "{}-none-linux-gnu", "{}-unknown-linux-gnu", "{}-buildroot-linux-gnu")
_USUAL_ARM = ("arm-linux-musleabihf", "arm-none-linux-gnueabihf", "arm-buildroot-linux-gnueabihf")
#: What ``uname -m`` says, where it is not our word.
_SAME = {"amd64": "x86_64", "arm64": "aarch64", "armv7l": "arm", "armv8l": "arm"}
#: Programs that a kernel of this machine runs as well.
_ALSO_RUNS = {"aarch64": ("arm",), "x86_64": ("i686",), "armv6l": ("arm",), "armv5tel": ("arm",)}
_KEYS = ("cc", "ar", "sysroot", "flags", "link_flags")
_FILE_LIMIT = 1 << 16
_SCRIPT_SECONDS = 30

_PROBE = """#include <features.h>
#if __has_include(<linux/futex.h>)
#define DB_KERNEL_HEADERS 1
#endif
"""
#: Folders of the kernel's headers, for a musl-gcc that does not look there by itself.
_KERNEL_HEADERS = ("-idirafter", "/usr/include", "-idirafter", "/usr/include/{}-linux-gnu")


@frozen
class Toolchain:
    """A C compiler with the flags of runtime and fragments.

    Attributes:
        cc: Compiler: a name on PATH, or a path.
        flags: Optimisation and other flags of runtime and fragments (not of tables).
        words: Words of every call: sysroot, processor, width of time.
        ar: Archiver; "": not asked.
        link_flags: Last words of linking a program.
        machine: What programs run on: ``x86_64``, ``aarch64``, ``arm``, ``riscv64``; "": not asked.
        libc: ``glibc 2.36``, ``musl``; "": not asked.
        identification: First line of ``cc --version``, with the C library where it is not glibc.
        static: Static, non-relocatable programs, as all measured ones are; sanitizers need False.
    """

    cc: str
    flags: tuple[str, ...] = OPTIMISED
    words: tuple[str, ...] = field(default=(), kw_only=True)
    ar: str = field(default="", kw_only=True)
    link_flags: tuple[str, ...] = field(default=(), kw_only=True)
    machine: str = field(default="", kw_only=True)
    libc: str = field(default="", kw_only=True)
    identification: str = field(default="", kw_only=True)
    static: bool = field(default=True, kw_only=True)

    @staticmethod
    def find(
        cc: str | None = None,
        *,
        cross: str | None = None,
        flags: Sequence[str] = OPTIMISED,
        static: bool = True,
    ) -> Toolchain:
        """The compiler to use: ``cross``, the argument, DEADBEAT_CC, gcc or cc.

        Args:
            cc: A compiler's name or path.
            cross: A prefix, ``musl``, or the path of a compiler, toolchain folder, SDK environment
                script or description; see docs/howto/build-for-another-architecture.md.
            flags: Flags of runtime and fragments.
            static: Whether programs are static.

        Raises:
            BuildError: There is no such compiler, or it cannot make our programs.
            UsageError: The description is not one.
        """
        given = _described(cross) if cross is not None else _native(cc)
        path = shutil.which(given.cc) or given.cc
        macros = _macros(path, given.words)
        if "__linux__" not in macros:
            raise BuildError(
                f"{path} does not make programs for Linux", "name another with --cross"
            )
        names = {
            "__x86_64__": "x86_64",
            "__aarch64__": "aarch64",
            "__arm__": "arm",
            "__i386__": "i686",
        }
        machine = next((word for macro, word in names.items() if macro in macros), "")
        if "__riscv" in macros:
            machine = f"riscv{macros.get('__riscv_xlen', '')}"
        if not machine or "LITTLE" not in macros.get("__BYTE_ORDER__", ""):
            raise BuildError(
                f"{path} makes programs for a machine that is not supported",
                f"supported are {', '.join(_DEBIAN)}; records are little-endian",
            )
        if "__UCLIBC__" in macros:
            libc = "uClibc"
        elif "__GLIBC__" in macros:
            libc = f"glibc {macros['__GLIBC__']}.{macros.get('__GLIBC_MINOR__', '?')}"
        else:
            libc = "musl"
        # Where a word of 4 or 8 bytes is not atomic by itself (Arm before v7), a library does it.
        atomic = all(f"__GCC_HAVE_SYNC_COMPARE_AND_SWAP_{size}" in macros for size in (4, 8))
        return evolve(
            given,
            flags=tuple(flags),
            words=(*given.words, *_needed_words(path, machine, libc, macros)),
            ar=given.ar or _archiver_of(path, given.words),
            link_flags=(*given.link_flags, *(() if atomic else ("-latomic",))),
            machine=machine,
            libc=libc,
            identification=_identify(path) + ("" if "glibc" in libc else f", {libc}"),
            static=static,
        )

    @property
    def all_flags(self) -> tuple[str, ...]:
        """What a record names: the words of every call, then the flags."""
        return (*self.words, *self.flags)


def machine_word(text: str) -> str:
    """Our word for what ``uname -m`` says."""
    return _SAME.get(text, text)


def toolchain_for(machine: str, *, cross: str | None = None) -> Toolchain:
    """The compiler of programs that run on a target.

    Args:
        machine: What the target's ``uname -m`` says.
        cross: See :meth:`Toolchain.find`; None: this machine's own compiler where the target is
            like it, else an installed cross compiler.

    Raises:
        BuildError: There is none, or it makes programs for another machine.
    """
    wanted = machine_word(machine)
    if cross is not None:
        found = Toolchain.find(cross=cross)
        if found.machine not in (wanted, *_ALSO_RUNS.get(wanted, ())):
            raise BuildError(
                f"{shown(cross)} makes programs for {found.machine}, the target is {machine}",
                "give --cross a compiler for the target, or leave it away",
            )
        return found
    if wanted == machine_word(platform.machine()):
        return Toolchain.find()
    if wanted not in _DEBIAN:
        raise BuildError(
            f"no compiler is known for a target that is {shown(machine)}",
            "name one with --cross PREFIX, or a toolchain's path",
        )
    usual = _USUAL_ARM if wanted == "arm" else tuple(each.format(wanted) for each in _USUAL)
    for prefix in (_DEBIAN[wanted][0], *usual):
        if shutil.which(f"{prefix}-gcc"):
            return Toolchain.find(cross=prefix)
    return Toolchain.find(cross=_DEBIAN[wanted][0])


def check_static(toolchain: Toolchain) -> None:
    """Links an empty program as ours are linked.
    Raises BuildError: it cannot be: mostly there is no static C library."""
    with tempfile.TemporaryDirectory(prefix="deadbeat-") as folder:
        source = Path(folder) / "empty.c"
        source.write_text("int main(void) { return 0; }\n")
        argv = [toolchain.cc, *toolchain.words, "-pthread", *STATIC, str(source)]
        argv += ["-o", f"{folder}/empty", "-lm", "-lrt", *toolchain.link_flags]
        done = answer_of(argv)
    if done.returncode == 0:
        return
    lacking = re.search(r"cannot find (-l\w+|\S+\.[ao])", done.stderr)
    if lacking:
        libc = lacking[1] in ("-lc", "-lm", "-lrt", "-lpthread")
        raise BuildError(
            f"{toolchain.cc} cannot link static programs: {lacking[1]} is missing",
            _static_hint(toolchain) if libc else "install it, or check link_flags",
        )
    said = " ".join(done.stderr.split())[:300] or f"exit status {done.returncode}"
    hint = hint_in(said, "check the compiler", OTHER_TMPDIR)
    raise BuildError(f"{toolchain.cc} cannot link a program: {said}", hint)


def _static_hint(toolchain: Toolchain) -> str:
    if any(word.startswith("--sysroot=") for word in toolchain.words):
        return (
            "add libc-staticdev to the SDK (Yocto: TOOLCHAIN_TARGET_TASK), or use a musl compiler"
        )
    return f"install the static C library{_libc_package(toolchain.cc)}"


def _libc_package(cc: str) -> str:
    name = Path(cc).name
    packages = ("libc6-dev",) if name in ("gcc", "cc") else _packages(name.removesuffix("-gcc"))
    return f" (Debian: apt-get install {packages[-1]})" if packages else ""


# --- where a compiler is named; the rest is asked of it ------------------------------------------


def _native(cc: str | None) -> Toolchain:
    wanted = cc or os.environ.get("DEADBEAT_CC")
    for candidate in (wanted,) if wanted else ("gcc", "cc"):
        if shutil.which(candidate):
            return Toolchain(candidate)
    raise BuildError(
        f"no C compiler: {wanted or 'gcc'} was not found on PATH",
        "install one (Debian: apt-get install gcc libc6-dev) or set DEADBEAT_CC",
    )


def _described(word: str) -> Toolchain:
    path = Path(word)
    if "/" not in word and not word.endswith(".toml"):
        stem = word.removesuffix("-gcc").removesuffix("-") or word
        name = "musl-gcc" if stem == "musl" else f"{stem}-gcc"
        for candidate in (name, word):
            if candidate and shutil.which(candidate):
                return Toolchain(candidate)
        hint = f"install one (Debian: apt-get install {' '.join(_packages(stem))})"
        if not _packages(stem):
            usual = ", ".join(prefix for prefix, _ in _DEBIAN.values())
            hint = f"--cross takes {usual}, musl, another prefix on PATH, or a toolchain's path"
        raise BuildError(f"no cross compiler: {shown(name)} was not found on PATH", hint)
    try:
        if path.is_dir():
            return _by_folder(path)
        if not path.is_file():
            raise BuildError(f"--cross {shown(word)}: no such file or folder", "check the path")
        if path.suffix == ".toml":
            return _by_file(path)
    except OSError as error:
        raise BuildError(*refusal(f"--cross {shown(word)}", error, "check the path")) from error
    if path.name.startswith("environment-setup"):
        return _by_script(path)
    if os.access(path, os.X_OK):
        return Toolchain(str(path))
    raise BuildError(
        f"--cross {shown(word)}: neither a compiler nor a toolchain's description",
        "give a prefix, a compiler, an SDK's folder or environment-setup-* script, or a .toml file",
    )


def _packages(stem: str) -> tuple[str, ...]:
    """Debian's packages of the compiler with this prefix, its C library's last; (): unknown."""
    if stem in ("musl", f"{os.uname().machine}-linux-musl"):
        return ("musl-tools",)
    for prefix, architecture in _DEBIAN.values():
        if stem == prefix:
            return (f"gcc-{prefix.replace('_', '-')}", f"libc6-dev-{architecture}-cross")
    return ()


def _by_folder(folder: Path) -> Toolchain:
    scripts = sorted(folder.glob("environment-setup-*"))
    if scripts:
        return _by_script(_only(scripts, folder, "environment scripts"))
    bins = (folder / "bin", folder / "host" / "bin", folder / "usr" / "bin")
    found = [each for bin in bins for each in sorted(bin.glob("*-gcc"))]
    # Buildroot's compilers are links to one wrapper, which looks at the name it is called by
    different = {path.resolve(): path for path in reversed(found)}
    if not different:
        raise BuildError(
            f"{folder} holds no cross compiler",
            "give the folder that has bin/PREFIX-gcc (Buildroot: output/host) or an SDK's"
            " environment-setup-*",
        )
    return Toolchain(str(_only(sorted(different.values()), folder, "compilers")))


def _only(paths: Sequence[Path], folder: Path, what: str) -> Path:
    if len(paths) == 1:
        return paths[0]
    names = ", ".join(path.name for path in paths[:6])
    raise BuildError(f"{folder} holds {len(paths)} {what}: {names}", "give the path of one")


def _by_script(path: Path) -> Toolchain:
    """What an SDK's script sets. It is run, as every user of such an SDK does, with a bare
    environment and its path as an argument: no word of the path is ever read as shell."""
    text = 'printf \'%s\\0\' "${CC-}" "${AR-}" "${PATH-}"'
    argv = ["/bin/sh", "-c", f'. "$1" >/dev/null </dev/null; {text}', "sh", str(path.resolve())]
    bare = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    try:
        done = subprocess.run(
            argv, env=bare, capture_output=True, check=False, stdin=subprocess.DEVNULL,
            timeout=_SCRIPT_SECONDS,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        raise BuildError(f"{path} does not end", "is it an SDK's environment script?") from None
    fields = done.stdout.decode(errors="replace").split("\0")
    words = _split(fields[0]) if done.returncode == 0 and len(fields) == 4 else []
    if not words:
        said = " ".join(done.stderr.decode(errors="replace").split())[:200]
        raise BuildError(
            f"{path} sets no CC" + (f": {said}" if said else ""),
            "is it an SDK's environment script?",
        )
    cc = shutil.which(words[0], path=fields[2])
    if cc is None:
        raise BuildError(
            f"{path} names the compiler {shown(words[0])}, which is not on its PATH",
            "was the SDK moved? Install it again, or run its relocate_sdk.sh",
        )
    archiver = _split(fields[1])
    ar = shutil.which(archiver[0], path=fields[2]) if archiver else None
    return Toolchain(cc, words=tuple(words[1:]), ar=ar or "")


def _split(text: str) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError:
        return []


def _by_file(path: Path) -> Toolchain:
    if path.stat().st_size > _FILE_LIMIT:
        raise UsageError(f"{path}: larger than {_FILE_LIMIT} bytes", "is it a toolchain?")
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise UsageError(" ".join(f"{path}: not TOML: {error}".split()), _HINT) from None
    faults = [
        f"{shown(key)} is unknown: {nearest(key, _KEYS)}" for key in table if key not in _KEYS
    ]
    faults += [] if "cc" in table else ["cc is missing"]
    for key in ("cc", "ar", "sysroot"):
        value = table.get(key, "-")
        if not isinstance(value, str) or not value or "\0" in value:
            faults.append(f"{key} is not text")
    for key in ("flags", "link_flags"):
        value = table.get(key, [])
        if not isinstance(value, list) or not all(
            isinstance(word, str) and "\0" not in word for word in value
        ):
            faults.append(f"{key} is not a list of texts")
    if faults:
        raise UsageError(f"{path}: {'; '.join(faults)}", _HINT)
    sysroot = (f"--sysroot={table['sysroot']}",) if "sysroot" in table else ()
    cc = str(table["cc"])
    if not shutil.which(cc):
        raise BuildError(f"{path}: no compiler {shown(cc)} was found", "give cc its full path")
    return Toolchain(
        cc,
        words=(*sysroot, *table.get("flags", ())),
        ar=str(table.get("ar", "")),
        link_flags=tuple(table.get("link_flags", ())),
    )


_HINT = "docs/howto/build-for-another-architecture.md shows one"


# --- what a compiler says of itself ---------------------------------------------------------------


def answer_of(
    argv: Sequence[str],
    text: str = "",
    *,
    folder: Path | None = None,
    environment: Mapping[str, str] | None = None,
    timeout_s: float | None = None,
) -> subprocess.CompletedProcess[str]:
    """What ``argv``, given ``text``, says to its end. BuildError where it cannot be started."""
    # A compiler would go on with a full TMPDIR, where Python takes another.
    env = {**os.environ, "TMPDIR": tempfile.gettempdir(), **(environment or {})}
    try:
        return subprocess.run(
            argv, input=text, capture_output=True, text=True, errors="replace", check=False,
            cwd=folder, env=env, timeout=timeout_s,
        )  # fmt: skip
    except OSError as error:
        what = f"{argv[0]} cannot be started"
        raise BuildError(*refusal(what, error, "check the compiler")) from error


@cache
def _identify(cc: str) -> str:
    done = answer_of([cc, "--version"])
    if done.returncode != 0 or not done.stdout.strip():
        raise BuildError(
            f"{cc} --version failed: {done.stderr.strip()[:200]}", "check the compiler"
        )
    return done.stdout.splitlines()[0]


@cache
def _macros(cc: str, words: tuple[str, ...]) -> Mapping[str, str]:
    """What the compiler and the C library define before the first line of a source."""
    _identify(cc)
    done = answer_of([cc, *words, "-E", "-dM", "-x", "c", "-"], _PROBE)
    if done.returncode != 0:
        said = " ".join(done.stderr.split())[:200]
        if "features.h" in said:
            foreign = any(word.startswith("--sysroot=") for word in words)
            hint = "check the sysroot" if foreign else f"install them{_libc_package(cc)}"
            raise BuildError(f"{cc} has no headers of a Linux C library", hint)
        raise BuildError(f"{cc} refuses an empty source: {said}", "check its flags")
    return dict(re.findall(r"^#define (\w+) ?(.*)$", done.stdout, re.MULTILINE))


def _needed_words(cc: str, machine: str, libc: str, macros: Mapping[str, str]) -> tuple[str, ...]:
    words: list[str] = []
    if macros.get("__SIZEOF_POINTER__") == "4" and libc != "musl":
        words += ["-D_FILE_OFFSET_BITS=64", "-D_TIME_BITS=64"]
    if "DB_KERNEL_HEADERS" not in macros:
        folders = [word.format(machine) for word in _KERNEL_HEADERS]
        if machine != machine_word(platform.machine()) or not Path("/usr/include/linux").is_dir():
            raise BuildError(
                f"{cc} has no headers of the Linux kernel (linux/futex.h)",
                "install them (Debian: apt-get install linux-libc-dev)",
            )
        words += folders
    return tuple(words)


@cache
def _archiver_of(cc: str, words: tuple[str, ...]) -> str:
    return answer_of([cc, *words, "-print-prog-name=ar"]).stdout.strip() or "ar"
