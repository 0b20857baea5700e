"""Truth: what cargo fetches, as scripts that stand for it, and what is kept of that."""

from pathlib import Path

import pytest
from helpers.processes import script

from deadbeat.base.model.errors import BuildError
from deadbeat_freertos import build as kernel


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DEADBEAT_CACHE", str(tmp_path / "cache"))


@pytest.mark.usefixtures("cache")
def test_without_cargo_there_is_one_line_and_a_hint(tmp_path: Path) -> None:
    with pytest.raises(BuildError, match="no cargo") as caught:
        kernel.kernel_sources(cargo=str(tmp_path / "nothing"))
    assert "1.85" in caught.value.hint


@pytest.mark.usefixtures("cache")
def test_without_a_network_cargos_first_words_are_told(tmp_path: Path) -> None:
    said = "echo 'error: could not resolve host' >&2; echo more >&2; exit 101"
    cargo = script(tmp_path / "cargo", said)
    with pytest.raises(BuildError, match=r"could not fetch .*: error: could not resolve host"):
        kernel.kernel_sources(cargo=cargo)


@pytest.mark.usefixtures("cache")
def test_another_kernel_than_expected_is_refused_and_not_kept(tmp_path: Path) -> None:
    folder = "vendor/freertos-next/FreeRTOS-Kernel"
    cargo = script(tmp_path / "cargo", f"mkdir -p {folder} && echo 'int x;' >{folder}/tasks.c")
    with pytest.raises(BuildError, match="holds another FreeRTOS kernel"):
        kernel.kernel_sources(cargo=cargo)
    assert list((tmp_path / "cache" / "freertos").iterdir()) == []


@pytest.mark.usefixtures("cache")
def test_a_kernel_in_the_cache_needs_no_cargo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    folder = "vendor/freertos-next/FreeRTOS-Kernel"
    cargo = script(tmp_path / "cargo", f"mkdir -p {folder} && printf 'int x;' >{folder}/tasks.c")
    source = tmp_path / "source"
    source.mkdir()
    (source / "tasks.c").write_text("int x;")
    monkeypatch.setattr(kernel, "DIGEST", kernel.digest_of(source))
    found = kernel.kernel_sources(cargo=cargo)
    assert (found / "tasks.c").read_text() == "int x;"
    assert kernel.kernel_sources(cargo="nothing") == found
