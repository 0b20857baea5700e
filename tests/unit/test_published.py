"""Truth: the reference page on studies, followed word for word in a package of its own."""

import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from deadbeat.kinds.study.preset import Preset
from deadbeat.model.errors import DeadbeatError
from deadbeat.model.published import nearest_preset, published

PAGE = Path(__file__).parents[2] / "docs/reference/studies.md"


def blocks(language: str) -> list[str]:
    text = PAGE.read_text(encoding="utf-8").partition("## A preset of yours")[2]
    return re.findall(rf"```{language}\n(.*?)```", text, re.S)


def installed(folder: Path, entries: str) -> None:
    """What makes a package of ``folder`` an installed one."""
    metadata = folder / "mine-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: mine\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text(entries)


def test_a_preset_is_one_file_of_an_installed_package(tmp_path: Path) -> None:
    (source,), (project,) = blocks("python"), blocks("toml")
    (tmp_path / "mine.py").write_text(source, encoding="utf-8")
    ((group, entries),) = tomllib.loads(project)["project"]["entry-points"].items()
    lines = [f"[{group}]", *(f"{name} = {module}" for name, module in entries.items())]
    installed(tmp_path, "\n".join(lines))

    def deadbeat(*words: str) -> dict[str, object]:
        done = subprocess.run(
            [sys.executable, "-m", "deadbeat", "sched", "study", *words, "--json"],
            env=os.environ | {"PYTHONPATH": str(tmp_path)}, cwd=tmp_path,
            capture_output=True, text=True, check=True,
        )  # fmt: skip
        found: dict[str, object] = json.loads(done.stdout)
        return found

    assert "mine" in json.dumps(deadbeat("--list"))
    told = json.dumps(deadbeat("mine", "--no-figures", "--runs", str(tmp_path / "runs")))
    assert '"decided"' in told
    assert "confirmed" in told


def test_a_package_that_cannot_be_imported_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed(tmp_path, "[deadbeat.of-a-test]\nmine = broken_presets")
    (tmp_path / "broken_presets.py").write_text("import not_there_at_all")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(DeadbeatError, match="presets of broken_presets cannot be loaded: Module"):
        published("of-a-test", Preset)


def test_an_installation_without_presets_says_so() -> None:
    assert published("of-nobody", Preset) == {}
    assert nearest_preset("x", ()) == "none is installed: set up again with make setup"
    assert nearest_preset("x", ("y",)) == "one of y"
