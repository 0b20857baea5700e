"""Truth: compilers and cargo, written here as scripts; folders as of Yocto and Buildroot."""

import os
import platform
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import pytest
from helpers.processes import script

from deadbeat.base.model.errors import BuildError, DeadbeatError, UsageError
from deadbeat.build.native import NO_TASK_SETS, link_program, runtime_library
from deadbeat.build.toolchain import Toolchain, check_static, machine_word, toolchain_for

LITTLE = ("__BYTE_ORDER__ __ORDER_LITTLE_ENDIAN__", "__linux__ 1", "__SIZEOF_POINTER__ 8")
SWAPS = tuple(f"__GCC_HAVE_SYNC_COMPARE_AND_SWAP_{size} 1" for size in (4, 8))
GLIBC = ("__GLIBC__ 2", "__GLIBC_MINOR__ 36", "DB_KERNEL_HEADERS 1")
ARM64 = (*LITTLE, *SWAPS, *GLIBC, "__aarch64__ 1")
ARM = (
    "__BYTE_ORDER__ __ORDER_LITTLE_ENDIAN__", "__linux__ 1", "__SIZEOF_POINTER__ 4", "__arm__ 1",
)  # fmt: skip


def compiler(path: Path, macros: tuple[str, ...], *, link: str = "exit 0") -> Path:
    """A compiler that defines these macros, and runs ``link`` for anything else."""
    path.parent.mkdir(parents=True, exist_ok=True)
    defined = " ".join(f"'{each}'" for each in macros)
    path.write_text(
        f"""#!/bin/sh
echo "$@" >> {path.name}.log
[ "$1" = --version ] && echo "{path.name} 1.0" && exit
for word; do case $word in
-E) printf '#define %s\\n' {defined}; exit ;;
-print-prog-name=ar) echo own-ar; exit ;;
esac; done
{link}
"""
    )
    path.chmod(0o755)
    return path


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", f"{tmp_path}/path:/usr/bin:/bin")
    monkeypatch.delenv("DEADBEAT_CC", raising=False)


@pytest.mark.parametrize("word", ["board-linux-gnu", "board-linux-gnu-", "board-linux-gnu-gcc"])
def test_a_prefix_names_a_compiler_on_path(tmp_path: Path, word: str) -> None:
    compiler(tmp_path / "path" / "board-linux-gnu-gcc", ARM64)
    found = Toolchain.find(cross=word)
    assert (found.cc, found.machine, found.libc) == ("board-linux-gnu-gcc", "aarch64", "glibc 2.36")
    assert (found.ar, found.words, found.link_flags) == ("own-ar", (), ())
    assert found.identification == "board-linux-gnu-gcc 1.0"


def test_time_has_64_bits_on_32_bit_machines_and_words_are_atomic(tmp_path: Path) -> None:
    compiler(tmp_path / "path" / "old-gcc", (*ARM, *GLIBC))
    old = Toolchain.find(cross="old")
    assert old.words == ("-D_FILE_OFFSET_BITS=64", "-D_TIME_BITS=64")
    assert old.link_flags == ("-latomic",)
    assert "-D_TIME_BITS=64 -O2" in " ".join(old.all_flags)
    compiler(tmp_path / "path" / "new-gcc", (*ARM, *SWAPS, "DB_KERNEL_HEADERS 1"))
    new = Toolchain.find(cross="new")
    assert (new.words, new.link_flags, new.libc) == ((), (), "musl")
    assert new.identification == "new-gcc 1.0, musl", "two C libraries are two programs"


def test_an_sdks_script_is_read_as_its_user_reads_it(tmp_path: Path) -> None:
    # quotes, spaces and $() in the path itself: none of it is shell
    sdk = tmp_path / "my 'SDK' $(touch ran); x"
    compiler(sdk / "usr bin" / "poky-gcc", ARM64)
    compiler(sdk / "usr bin" / "poky-ar", ())
    script = sdk / "environment-setup-cortexa72-poky-linux"
    script.write_text(
        'export PATH="$(dirname "$1")/usr bin:$PATH"\n'
        'export CC="poky-gcc -mcpu=cortex-a72 --sysroot=\\"/opt/a b\\""\n'
        'export AR="poky-ar"\necho welcome\n'
    )
    for word in (str(sdk), str(script)):
        found = Toolchain.find(cross=word)
        assert found.cc == str(sdk / "usr bin" / "poky-gcc")
        assert found.ar == str(sdk / "usr bin" / "poky-ar")
        assert found.words == ("-mcpu=cortex-a72", "--sysroot=/opt/a b")
    assert not (tmp_path / "ran").exists()


def test_buildroots_host_folder_and_its_output_folder(tmp_path: Path) -> None:
    # one wrapper that looks at the name it is called by, and links to it
    bin = tmp_path / "output" / "host" / "bin"
    compiler(bin / "toolchain-wrapper", ARM64)
    for name in ("aarch64-buildroot-linux-gnu-gcc", "aarch64-linux-gcc"):
        (bin / name).symlink_to("toolchain-wrapper")
    for word in ("output/host", "./output"):
        cc = Path(Toolchain.find(cross=word).cc)
        assert cc.resolve() == (bin / "toolchain-wrapper").resolve()
        assert cc.name.endswith("linux-gcc") or cc.name.endswith("gnu-gcc")


def test_a_description_in_a_file(tmp_path: Path) -> None:
    compiler(tmp_path / "path" / "board-gcc", ARM64)
    (tmp_path / "board.toml").write_text(
        'cc = "board-gcc"\nar = "board-ar"\nsysroot = "/opt/root"\n'
        'flags = ["-mcpu=cortex-a53"]\nlink_flags = ["-latomic"]\n'
    )
    found = Toolchain.find(cross="board.toml")
    assert (found.cc, found.ar) == ("board-gcc", "board-ar")
    assert found.words == ("--sysroot=/opt/root", "-mcpu=cortex-a53")
    assert found.link_flags == ("-latomic",)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "cc is missing"),
        ('cc = "x"\nlinkflags = []', "did you mean link_flags"),
        ('cc = 3\nflags = "-O3"', "cc is not text; flags is not a list of texts"),
        ('cc = "x', "not TOML"),
        ('cc = "no-such-gcc"', 'no compiler "no-such-gcc" was found'),
    ],
)
def test_a_wrong_description_says_what_is_wrong(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "board.toml").write_text(text)
    with pytest.raises(DeadbeatError) as caught:
        Toolchain.find(cross="board.toml")
    assert said in caught.value.message and "\n" not in caught.value.message
    assert caught.value.hint


def test_what_is_no_toolchain_says_so_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "text").write_text("hello")
    two = tmp_path / "two"
    two.mkdir()
    (two / "environment-setup-a").write_text("export CC=\n")
    (tmp_path / "environment-setup-b").write_text("exit 3")
    said = {
        "nothing-linux-gnu": 'no cross compiler: "nothing-linux-gnu-gcc" was not found on PATH',
        "alpha-linux-musl": "no cross compiler",
        "./nothing": "no such file or folder",
        "empty/": "holds no cross compiler",
        "./text": "neither a compiler nor a toolchain's description",
        "./two": "sets no CC",
        "./environment-setup-b": "sets no CC",
        "": "no cross compiler",
        "a\nb": 'no cross compiler: "a?b-gcc"',
    }
    for word, message in said.items():
        with pytest.raises((BuildError, UsageError)) as caught:
            Toolchain.find(cross=word)
        assert message in caught.value.message and "\n" not in str(caught.value)
        assert "musl-tools" not in caught.value.hint  # of this machine's own alone
    (two / "environment-setup-c").touch()
    with pytest.raises(BuildError, match="holds 2 environment scripts: environment-setup-a, "):
        Toolchain.find(cross="./two")


@pytest.mark.parametrize(
    ("macros", "said"),
    [
        (LITTLE[:1], "does not make programs for Linux"),
        (("__linux__ 1", "__s390x__ 1"), "a machine that is not supported"),
        (("__linux__ 1", "__aarch64__ 1", "__BYTE_ORDER__ __ORDER_BIG_ENDIAN__"), "not supported"),
        ((*LITTLE, "__aarch64__ 1"), "no headers of the Linux kernel"),
    ],
)
def test_a_compiler_that_cannot_make_our_programs(
    tmp_path: Path, macros: tuple[str, ...], said: str
) -> None:
    compiler(tmp_path / "path" / "odd-gcc", macros)
    with pytest.raises(BuildError, match=said):
        Toolchain.find(cross="odd")


def test_a_compiler_without_static_libc_names_the_package(tmp_path: Path) -> None:
    fails = "echo 'ld: cannot find -lpthread: No such file' >&2; exit 1"
    compiler(tmp_path / "path" / "riscv64-linux-gnu-gcc", ARM64, link=fails)
    with pytest.raises(BuildError) as caught:
        check_static(Toolchain.find(cross="riscv64-linux-gnu"))
    assert "cannot link static programs: -lpthread is missing" in caught.value.message
    assert "libc6-dev-riscv64-cross" in caught.value.hint
    compiler(tmp_path / "path" / "poky-gcc", ARM64, link=fails)
    (tmp_path / "sdk.toml").write_text('cc = "poky-gcc"\nsysroot = "/opt/root"\n')
    with pytest.raises(BuildError) as caught:
        check_static(Toolchain.find(cross="sdk.toml"))
    assert "libc-staticdev" in caught.value.hint


def test_the_native_compiler_serves_targets_like_this_machine() -> None:
    assert toolchain_for(platform.machine()) == Toolchain.find()
    assert machine_word("armv7l") == "arm" and machine_word("arm64") == "aarch64"


def test_another_machine_takes_an_installed_cross_compiler_or_names_its_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "path").mkdir()
    monkeypatch.setattr(platform, "machine", lambda: "x86_64")
    monkeypatch.setenv("PATH", f"{tmp_path}/path")
    (tmp_path / "path" / "sh").symlink_to(shutil.which("sh", path="/bin") or "/bin/sh")
    with pytest.raises(BuildError) as caught:
        toolchain_for("aarch64")
    assert "aarch64-linux-gnu-gcc" in caught.value.message
    assert "gcc-aarch64-linux-gnu libc6-dev-arm64-cross" in caught.value.hint
    for machine in ("armv6l", "mips"):
        with pytest.raises(BuildError, match="no compiler is known for a target that is"):
            toolchain_for(machine)
    compiler(tmp_path / "path" / "aarch64-none-linux-gnu-gcc", ARM64)
    assert toolchain_for("arm64").cc == "aarch64-none-linux-gnu-gcc"
    with pytest.raises(BuildError, match="makes programs for aarch64, the target is riscv64"):
        toolchain_for("riscv64", cross="aarch64-none-linux-gnu")


#: Makes an empty file of whatever it is to compile.
CC = """
[ "$1" = --version ] && echo "cc 1.0" && exit
[ "$1" = -E ] && printf '#define %s\n' '__linux__ 1' '__x86_64__ 1' 'DB_KERNEL_HEADERS 1' \\
    '__BYTE_ORDER__ __ORDER_LITTLE_ENDIAN__' && exit
while [ $# -gt 0 ]; do [ "$1" = -o ] && : > "$2"; shift; done
"""


def test_a_missing_archiver_is_named_with_its_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiler = script(tmp_path / "bin" / "cc", CC)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setenv("DEADBEAT_CACHE", str(tmp_path / "cache"))
    with pytest.raises(BuildError) as caught:
        runtime_library(Toolchain.find(compiler))
    assert caught.value.message == "no archiver: ar was not found on PATH"
    assert "apt-get install binutils" in caught.value.hint
    assert caught.value.details == ()


def test_a_cache_that_cannot_be_reached_is_named_with_the_way_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # too long a name fails already where a file is looked for, as a folder without permission does
    folder = tmp_path / ("x" * 300)
    monkeypatch.setenv("DEADBEAT_CACHE", str(folder))
    with pytest.raises(BuildError) as caught:
        runtime_library(Toolchain("cc"))
    assert f"to the compile cache {folder}: File name too long" in caught.value.message
    assert "set DEADBEAT_CACHE to another folder" in caught.value.hint


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


@pytest.mark.slow
@pytest.mark.parametrize("words", ["-Wpadded -Wconversion", "-Werror"])
def test_a_warning_fails_no_build_and_ours_has_none(tmp_path: Path, words: str) -> None:
    """A newer compiler knows more warnings."""
    more = script(tmp_path / "gcc-more", f'exec gcc "$@" {words}')
    env = {**os.environ, "DEADBEAT_CC": more, "DEADBEAT_CACHE": str(tmp_path / "cache")}
    argv = [sys.executable, "-m", "deadbeat.build"]
    done = subprocess.run(argv, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
