"""Truth: docs/tutorial/first-program.md, word for word, with what was recorded of its programs."""

import re
import shlex
import shutil
from pathlib import Path

import numpy as np
import pytest
from helpers.answers import Capture

from deadbeat.build.toolchain import Toolchain
from deadbeat.cli.main import main
from deadbeat.kinds.program import kind
from deadbeat.kinds.program.results import FOLDERS, ProgramKey, ProgramStore
from deadbeat.kinds.program.spec import ProgramSpec
from deadbeat.kinds.program.tries import ProgramChange
from deadbeat.kinds.program.watching import Watched
from deadbeat.model.examples import example_platform
from deadbeat.targets.base import Target
from deadbeat.targets.marks import FIELDS, Marks

ROOT = Path(__file__).parents[2]
PARTS = (ROOT / "docs/tutorial/first-program.md").read_text().split("\n## ")[1:]


def recorded(
    spec: ProgramSpec, _output: int, _target: Target, _made: Toolchain, change: ProgramChange
) -> Watched:
    """In place of a run: tests/golden/examples has the same command's."""
    mends = change.inherit or "--inherit" in spec.command
    name = "mended" if mends else Path(spec.command[0]).name
    place = Path("kept", f"{spec.name}-{name}")
    known = place.exists()
    store = (
        ProgramStore.open(place)
        if known
        else ProgramStore.create(place, FOLDERS.plain(spec), example_platform())
    )
    (store.path / "events").mkdir(exist_ok=True)
    shutil.copy(ROOT / f"tests/golden/examples/{name}.npz", store.path / "events/0001.npz")
    recording = store.events(ProgramKey(1))
    assert recording is not None
    none = Marks(tasks=(), records=np.zeros(0, FIELDS), dropped=0)
    return Watched(recording=recording, marks=none, seconds=2.0, status=0)


@pytest.mark.usefixtures("in_a_folder")
@pytest.mark.parametrize("part", PARTS, ids=lambda part: part[0])
def test_a_walk_through_says_what_its_commands_print(
    part: str, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kind, "watched", recorded)
    Path("examples").symlink_to(ROOT / "examples")
    blocks = re.findall(r"^(>? {4,}.*(?:\n>? {4,}.*)*)", part, re.MULTILINE)
    assert len(blocks) >= 3
    out = ""
    for block in blocks:
        lines = [line.lstrip("> ") for line in block.splitlines()]
        if block.startswith(">"):
            assert [line for line in lines if line not in out] == [], out
            continue
        for line in lines:
            words = shlex.split(line.removeprefix("sudo "))
            if words[0] == "cc":
                source = Path(words[-3])
                assert source.is_file()
                shutil.copy("/bin/true", words[-1])
            else:
                assert words[0] == "deadbeat"
                assert main(words[1:]) == 0, line
                out += capsys.readouterr().out
