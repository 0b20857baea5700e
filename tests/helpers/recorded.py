"""Runs of programs that were recorded before."""

import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np

from deadbeat.base.model.platform import example_platform
from deadbeat.build.toolchain import Toolchain
from deadbeat.machine.targets.base import Target
from deadbeat.machine.targets.marks import FIELDS, Marks
from deadbeat.program.run.results import FOLDERS, ProgramKey, ProgramStore
from deadbeat.program.run.spec import ProgramSpec
from deadbeat.program.run.tries import ProgramChange
from deadbeat.program.run.watching import Watched

ROOT = Path(__file__).parents[2]


def recorded(folder: str, *, status: int = 0) -> Callable[..., Watched]:
    """In place of `watched`: tests/golden/FOLDER has a run of the same command."""

    def watched(
        spec: ProgramSpec, _output: int, _target: Target, _made: Toolchain, change: ProgramChange
    ) -> Watched:
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
        shutil.copy(ROOT / f"tests/golden/{folder}/{name}.npz", store.path / "events/0001.npz")
        recording = store.events(ProgramKey(1))
        assert recording is not None
        none = Marks(tasks=(), records=np.zeros(0, FIELDS), dropped=0)
        return Watched(recording=recording, marks=none, seconds=2.0, status=status)

    return watched
