"""The kernel's source is fetched once, verified, and refused in a line where it can't be had."""

from __future__ import annotations

from pathlib import Path

import pytest

from deadbeat.build import freertos as kernel
from deadbeat.model.errors import BuildError


def fake_cargo(folder: Path, body: str) -> str:
    cargo = folder / "cargo"
    cargo.write_text(f"#!/bin/sh\n{body}\n")
    cargo.chmod(0o755)
    return str(cargo)


@pytest.fixture(autouse=True)
def _cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DEADBEAT_CACHE", str(tmp_path / "cache"))


def test_without_cargo_there_is_one_line_and_a_hint(tmp_path: Path) -> None:
    with pytest.raises(BuildError, match="no cargo") as caught:
        kernel.kernel_sources(cargo=str(tmp_path / "nothing"))
    assert "1.85" in caught.value.hint


def test_without_a_network_cargos_first_words_are_told(tmp_path: Path) -> None:
    cargo = fake_cargo(
        tmp_path, "echo 'error: could not resolve host' >&2; echo more >&2; exit 101"
    )
    with pytest.raises(BuildError, match=r"could not fetch .*: error: could not resolve host"):
        kernel.kernel_sources(cargo=cargo)


def test_another_kernel_than_expected_is_refused_and_not_kept(tmp_path: Path) -> None:
    folder = "vendor/freertos-next/FreeRTOS-Kernel"
    cargo = fake_cargo(tmp_path, f"mkdir -p {folder} && echo 'int x;' >{folder}/tasks.c")
    with pytest.raises(BuildError, match="holds another FreeRTOS kernel"):
        kernel.kernel_sources(cargo=cargo)
    assert list((tmp_path / "cache" / "freertos").iterdir()) == []


def test_a_kernel_in_the_cache_needs_no_cargo(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = "vendor/freertos-next/FreeRTOS-Kernel"
    cargo = fake_cargo(tmp_path, f"mkdir -p {folder} && printf 'int x;' >{folder}/tasks.c")
    source = tmp_path / "source"
    source.mkdir()
    (source / "tasks.c").write_text("int x;")
    monkeypatch.setattr(kernel, "DIGEST", kernel.digest_of(source))
    found = kernel.kernel_sources(cargo=cargo)
    assert (found / "tasks.c").read_text() == "int x;"
    assert kernel.kernel_sources(cargo="nothing") == found
