"""Truth: the sources of each allocator, and what cargo and the compiler say where they lack one."""

from functools import partial
from pathlib import Path

import pytest
from attrs import evolve
from helpers.processes import script

from deadbeat.build import allocators
from deadbeat.build.allocators import (
    ALLOCATORS,
    Allocator,
    folder_of,
    installed,
    link_words,
    others,
)
from deadbeat.build.toolchain import Toolchain
from deadbeat.model.errors import BuildError

CRATES = ("mimalloc", "tlsf")


@pytest.fixture(autouse=True)
def _cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DEADBEAT_CACHE", str(tmp_path / "cache"))


@pytest.fixture(scope="module")
def toolchain() -> Toolchain:
    return Toolchain.find()


def crate(toolchain: Toolchain, cargo: str, name: str = "tlsf") -> tuple[str, ...]:
    return allocators._from_crate(toolchain, name=name, cargo=cargo)


def test_without_cargo_one_line_says_what_is_needed(toolchain: Toolchain, tmp_path: Path) -> None:
    with pytest.raises(BuildError, match="there is no cargo to build tlsf with") as caught:
        crate(toolchain, str(tmp_path / "nothing"))
    assert "cargo" in caught.value.hint


def test_a_cargo_that_is_too_old_is_told_in_its_own_words(toolchain: Toolchain, tmp_path: Path):
    said = "error: package `rlsf v0.2.3` cannot be built because it requires rustc 1.61"
    cargo = script(tmp_path / "cargo", f"echo warning: x >&2; echo '{said}' >&2; exit 101")
    with pytest.raises(BuildError, match="could not build tlsf: error: package `rlsf"):
        crate(toolchain, cargo)
    assert not list((tmp_path / "cache" / "allocators").iterdir())


def test_what_is_built_once_is_kept_and_belongs_to_its_source_and_compiler(
    toolchain: Toolchain, tmp_path: Path
) -> None:
    cargo = script(
        tmp_path / "cargo",
        'test -f Cargo.lock -a -f lib.rs && case "$*" in *--locked*) ;; *) exit 1 ;; esac\n'
        'mkdir -p "$CARGO_TARGET_DIR/release" && echo made >"$CARGO_TARGET_DIR/release/libtlsf.a"',
    )
    (path,) = crate(toolchain, cargo)
    assert Path(path).read_text() == "made\n"
    assert crate(toolchain, "nothing") == (path,)
    with pytest.raises(BuildError, match="no cargo"):
        crate(evolve(toolchain, identification="another"), "nothing")


def test_a_crate_is_not_built_for_another_machine_or_c_library(toolchain: Toolchain) -> None:
    for other in (evolve(toolchain, machine="riscv64"), evolve(toolchain, libc="musl")):
        with pytest.raises(BuildError, match="this machine's own C library alone"):
            crate(other, "cargo")
    with pytest.raises(BuildError, match="only glibc's malloc is tuned, not that of musl"):
        link_words(evolve(toolchain, libc="musl"), "tuned")


@pytest.mark.parametrize("name", CRATES)
def test_every_crate_is_pinned_with_its_checksum(name: str) -> None:
    locked = (folder_of(name) / "Cargo.lock").read_text()
    packages = locked.count("[[package]]")
    # all but the one that is ours
    assert locked.count("checksum = ") == packages - 1 > 0
    # a cargo of 2021 reads it
    assert "\nversion = 3\n" in locked


def test_an_archive_that_the_compiler_does_not_find_is_named_with_its_package(
    toolchain: Toolchain, tmp_path: Path
) -> None:
    # gcc answers with the bare name
    other = evolve(toolchain, cc=script(tmp_path / "cc", 'echo "${1#-print-file-name=}"'), words=())
    with pytest.raises(BuildError, match=r"libjemalloc\.a is not installed") as caught:
        link_words(other, "jemalloc")
    assert "libjemalloc-dev" in caught.value.hint
    assert installed(other) == ("libc",)


def test_what_is_there_is_used_unasked_and_nothing_is_built_for_that(
    toolchain: Toolchain, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    archive = tmp_path / "libx.a"
    archive.touch()
    found = script(tmp_path / "cc", f"echo {archive}")
    refused = Allocator(partial(_must_not_be_asked), "nowhere")
    monkeypatch.setattr(allocators, "ALLOCATORS", {**ALLOCATORS, "tlsf": refused})
    assert installed(evolve(toolchain, cc=found, words=())) == ("libc", "jemalloc", "tcmalloc")


def _must_not_be_asked(_: Toolchain) -> tuple[str, ...]:
    raise AssertionError("it would be built")


def test_those_that_are_left_are_named_with_where_they_come_from() -> None:
    said = others(("libc", "tuned", "mimalloc", "tlsf"))
    assert said == "jemalloc (Debian: libjemalloc-dev), tcmalloc (Debian: libgoogle-perftools-dev)"
    assert not others(tuple(ALLOCATORS))
