"""How far the twin of a measured program agrees with it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from attrs import frozen

from deadbeat.base.model.words import time_text
from deadbeat.base.report.document import Column, Table
from deadbeat.build.native import STANDARD, cache_root, key_of, made, text_source
from deadbeat.build.toolchain import Toolchain
from deadbeat.program.derive.system import RESOLUTION_NS
from deadbeat.program.derive.tasks import DerivedSet, DerivedTask
from deadbeat.program.derive.twin import Twin, c_source, short

LACKS = "twin-lacks"


def built(twin: Twin, toolchain: Toolchain) -> Path:
    """The program, with what says who holds its locks (it is not static)."""
    source = text_source(c_source(twin), "twin")
    argv = [toolchain.cc, *toolchain.words, *STANDARD, "-O2", "-g", str(source)]
    path = cache_root() / "programs" / f"twin-{key_of(*argv, toolchain.identification)}"
    return made(path, argv, "the twin", (*toolchain.link_flags, "-o"))


@frozen(kw_only=True)
class Agreed:
    """A figure of a thread of both programs, ns, or a number of jobs or sections."""

    thread: str
    figure: str
    original: float
    twin: float

    @property
    def ratio(self) -> float | None:
        return self.twin / self.original if self.original else None

    @property
    def apart(self) -> float:
        """Share; 0: by less than tracing resolves."""
        near = self.figure == "period" or abs(self.twin - self.original) > RESOLUTION_NS
        return abs((self.ratio or 1) - 1) if near else 0.0


#: Figure -> the words for those of its sort.
_SORTS = {"period": "period", "C mean": "C", "C max": "C", "section mean": "sections",
          "response p50": "responses", "response p99": "responses"}  # fmt: skip


def agreed(original: DerivedSet, twin: DerivedSet) -> tuple[Agreed, ...]:
    """A row for each thread that has jobs in both, by name."""
    theirs = {task.name: dict(_figures(task)) for task in twin.tasks if task.jobs}
    return tuple(
        Agreed(thread=task.name, figure=figure, original=value, twin=theirs[name][figure])
        for task in original.tasks
        if (name := short(task.name)) in theirs
        for figure, value in _figures(task)
        if figure in theirs[name]
    )


def _figures(task: DerivedTask) -> Iterator[tuple[str, float]]:
    count = sum(each.count for each in task.sections)
    mean = sum(each.count * each.mean_ns for each in task.sections) / max(count, 1)
    period = task.period_ns if task.kind == "periodic" else None
    most = max(task.c_max_ns or 0, task.warm_up_max_ns) or None
    known = {"period": period, "jobs": task.jobs, "C mean": task.c_mean_ns, "C max": most,
             "sections": count or None, "section mean": mean or None,
             "response p50": task.response_p50_ns,
             "response p99": task.response_p99_ns}  # fmt: skip
    yield from ((name, float(value)) for name, value in known.items() if value is not None)


def sentence(found: tuple[Agreed, ...], original: str | None) -> str:
    """How far they agree, and the worst figure."""
    judged = [each for each in found if each.figure in _SORTS]
    if not judged:
        return f"No thread of {original} has jobs here, or it is gone."
    most: dict[str, float] = {}
    for each in judged:
        sort = _SORTS[each.figure]
        most[sort] = max(most.get(sort, 0.0), each.apart)
    words = ", ".join(f"{100 * share:.1f} % in {sort}" for sort, share in most.items())
    worst = max(judged, key=lambda each: each.apart)
    return (
        f"The twin agrees with {original} within {words} ({time_text(RESOLUTION_NS)} count as"
        f" nothing); worst: {worst.figure} of {worst.thread}, {time_text(worst.twin)} for"
        f" {time_text(worst.original)}."
    )


def table(found: tuple[Agreed, ...]) -> Table:
    words = [Column(key=key, heading=key, words=True) for key in ("thread", "figure")]
    numbers = [
        Column(key=key, heading=f"{key}, ns", format="{:,.0f}".format)
        for key in ("original", "twin")
    ]
    columns = (*words, *numbers, Column(key="ratio", heading="ratio", format="{:.3f}".format))
    title = "The original and its twin; jobs and sections are numbers"
    return Table(name="twin", columns=columns, rows=found, terminal=True, title=title)
