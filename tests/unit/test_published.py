"""Truth: the reference page on studies, followed word for word in a package of its own."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs/reference/studies.md"


def blocks(language: str) -> list[str]:
    text = PAGE.read_text(encoding="utf-8").partition("## A preset of yours")[2]
    return re.findall(rf"```{language}\n(.*?)```", text, re.S)


def test_a_preset_is_one_file_of_an_installed_package(tmp_path: Path) -> None:
    (source,), (project,) = blocks("python"), blocks("toml")
    (tmp_path / "mine.py").write_text(source, encoding="utf-8")
    ((group, entries),) = tomllib.loads(project)["project"]["entry-points"].items()
    lines = [f"[{group}]", *(f"{name} = {module}" for name, module in entries.items())]
    metadata = tmp_path / "mine-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: mine\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text("\n".join(lines))

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
