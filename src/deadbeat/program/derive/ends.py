"""End-to-end times of chains of tasks."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from attrs import frozen

from deadbeat.program.derive.tasks import DerivedRun


@frozen(kw_only=True)
class EndToEnd:
    """Chain that no other task begins or goes on: of ``jobs`` of its last task, which are this
    ``share`` of them, the time from the release of the first to their end."""

    tasks: tuple[str, ...]
    jobs: int
    share: float
    mean_ns: float | None = None
    max_ns: int | None = None


def end_to_end(derived: DerivedRun) -> tuple[EndToEnd, ...]:
    """All such chains, in which a job is released by one of the task before it."""
    links = [(link.from_, link.to) for link in derived.chains]
    first = {name: 1 for name, _ in links if name not in {to for _, to in links}}
    made = []
    for name in first:
        for path in _paths(links, (name,)):
            tids = {task.name: task.tid for task in derived.tasks}
            last = derived.rows[path[-1]]
            place, ends = np.arange(len(last)), last["end"]  # of the job of the task in turn
            for later, before in zip(path[:0:-1], path[-2::-1], strict=True):
                mine, earlier = derived.rows[later][place], derived.rows[before]
                found = np.searchsorted(earlier["begin"], mine["release"], "right") - 1
                there = (mine["waker"] == tids[before]) & (found >= 0)
                there &= mine["release"] <= earlier["end"][np.maximum(found, 0)]
                place, ends = found[there], ends[there]
            times = ends - derived.rows[path[0]]["release"][place]
            mean, most = (float(times.mean()), int(times.max())) if len(times) else (None, None)
            share = len(times) / len(last)
            measured = EndToEnd(tasks=path, jobs=len(times), share=share, mean_ns=mean, max_ns=most)
            made.append(measured)
    return tuple(made)


def _paths(links: list[tuple[str, str]], path: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    further = [to for name, to in links if name == path[-1] and to not in path]
    yield from [] if further else [path]
    for name in further:
        yield from _paths(links, (*path, name))
