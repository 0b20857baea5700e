"""The twin of a measured program: its source, and how far it agrees."""

from __future__ import annotations

from pathlib import Path

from deadbeat.derive.tasks import derive
from deadbeat.derive.twin import Twin, twin_of
from deadbeat.kinds.program.results import ProgramStore, worst_run
from deadbeat.model.errors import UsageError


def twin(path: Path) -> Twin:
    """Of the run that `summarise` shows. Raises UsageError: no job or event of it is kept."""
    store = ProgramStore.open(path)
    run = worst_run(store)
    recording = store.events(run.key) if run else None
    if recording is None:
        raise UsageError(f"no events of {path.name} are kept", "deadbeat run -- PROGRAM keeps them")
    return twin_of(recording, derive(recording))
