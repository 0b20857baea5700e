"""Truth: every program that is missing is named in one line, with its Debian package."""

from __future__ import annotations

from pathlib import Path

import pytest

from deadbeat.build.native import runtime_library
from deadbeat.build.toolchain import Toolchain
from deadbeat.model.errors import BuildError

#: Makes an empty file of whatever it is to compile.
CC = """#!/bin/sh
[ "$1" = --version ] && echo "cc 1.0" && exit
[ "$1" = -E ] && printf '#define %s\n' '__linux__ 1' '__x86_64__ 1' 'DB_KERNEL_HEADERS 1' \\
    '__BYTE_ORDER__ __ORDER_LITTLE_ENDIAN__' && exit
while [ $# -gt 0 ]; do [ "$1" = -o ] && : > "$2"; shift; done
"""


def test_a_missing_archiver_is_named_with_its_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiler = tmp_path / "bin" / "cc"
    compiler.parent.mkdir()
    compiler.write_text(CC)
    compiler.chmod(0o755)
    monkeypatch.setenv("PATH", str(compiler.parent))
    monkeypatch.setenv("DEADBEAT_CACHE", str(tmp_path / "cache"))
    with pytest.raises(BuildError) as caught:
        runtime_library(Toolchain.find(str(compiler)))
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
