"""One figure of the jobs of a program, for who runs it again and again."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from deadbeat.base.model.errors import RunError
from deadbeat.base.model.words import shown
from deadbeat.base.store.files import output_file
from deadbeat.build.programs import toolchain_of
from deadbeat.machine.targets.guarded import ended_words, said
from deadbeat.machine.targets.local import LocalTarget
from deadbeat.program.derive.tasks import derive
from deadbeat.program.run.spec import ProgramSpec
from deadbeat.program.run.watching import watched

#: Figure -> where a thread has it.
_PARTS = {"response": "response_p99_ns", "cost": "c_mean_ns"}


def figure(
    target: LocalTarget, command: Sequence[str], seconds: float | None, metric: str, output: Path
) -> float:
    """Runs it on ``target``, one for all runs, as recording takes a while to know its own cost.
    ``metric``: a figure of a thread (``response:THREAD``), ns; of none: the largest of all. What it
    prints goes to ``output``. Raises RunError: there is none."""
    word, _, name = metric.partition(":")
    spec = ProgramSpec(command=tuple(command), duration=seconds)
    with output_file(output) as file:
        seen = watched(spec, file.fileno(), target, toolchain_of(target))
    if seen.stopped is not None:
        raise seen.stopped
    if seen.status:
        raise RunError(f"it ended {ended_words(seen.status)}{said(output)}")
    tasks = [task for task in derive(seen.recording, deadlines={}).tasks if task.jobs]
    values = [getattr(task, _PARTS[word]) for task in tasks if name in ("", task.name)]
    if not (known := [value for value in values if value]):
        raise RunError(f"no job of {shown(name) if name else 'it'} was seen")
    return float(max(known))
