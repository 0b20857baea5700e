"""Runs what a study still lacks, in the folder it lives in. What is stored is never computed again.

The studies of one name are ``NAME``, ``NAME-2``, ...: one with the same specification is continued,
or shown when it is complete; another specification begins the next once the last is complete.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Generator, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import closing
from pathlib import Path

import numpy as np

from deadbeat.base.experiment.base import Experiment, Kept, Todo, Watcher
from deadbeat.base.model.errors import DataError, UsageError
from deadbeat.base.store.files import tool_version
from deadbeat.base.store.place import (
    CONTINUE_HINT,
    STUDY,
    STUDY_FILE,
    Place,
    family,
    numbered,
    other_parameters,
)
from deadbeat.sched.study.chunks import Rows, chunk_count, compute_chunk, counted, pieces, row_type
from deadbeat.sched.study.spec import StudySpec, digest, identity, read_spec, spec_dict
from deadbeat.sched.study.store import StudyStore


class Threads:
    """Computes on threads of this process: the core releases the interpreter's lock.

    Whoever is interrupted waits for the step each thread is at (one scheduler on one chunk): a
    thread that is left in native code at the end of the process aborts it.
    """

    def __init__(self, workers: int | None = None) -> None:
        self._workers = workers or len(os.sched_getaffinity(0))

    def chunks(self, spec: StudySpec, numbers: Sequence[int]) -> Generator[tuple[int, Rows]]:
        """Yields every chunk of ``numbers`` as it is done, in no order."""
        stop = threading.Event()
        pool = ThreadPoolExecutor(self._workers)

        def wanted() -> bool:
            return not stop.is_set()

        try:
            work = {pool.submit(compute_chunk, spec, n, wanted=wanted): n for n in numbers}
            for future in as_completed(list(work)):
                yield work.pop(future), future.result()
        finally:
            stop.set()
            pool.shutdown(cancel_futures=True)


class StudyExperiment(Experiment[int, tuple[int, Rows]]):
    unit = "task sets"

    def __init__(self, spec: StudySpec, store: StudyStore, computer: Threads) -> None:
        self._spec, self._store, self._computer = spec, store, computer
        self._sizes = [sum(p.count for p in pieces(spec, i)) for i in range(chunk_count(spec))]
        self._lacking: list[int] = []

    @property
    def store(self) -> StudyStore:
        return self._store

    def todo(self) -> Todo:
        stored = self._store.finished()
        self._lacking = [i for i in range(len(self._sizes)) if i not in stored]
        left = sum(self._sizes[i] for i in self._lacking)
        return Todo(total=self._spec.total, done=self._spec.total - left, left=left)

    def seconds(self, runs: int) -> float:
        """The time of a policy is unknown before it has run."""
        return 0.0

    def measure(self, tell: Watcher) -> Generator[tuple[int, Rows]]:
        if self._lacking:
            with closing(self._computer.chunks(self._spec, self._lacking)) as chunks:
                yield from chunks

    def kept(self) -> str:
        return f"{len(self._store.finished())} of {len(self._sizes)} chunks"

    def keep(self, result: tuple[int, Rows]) -> Kept[int]:
        number, rows = result
        self._store.commit(number, rows)
        return Kept(number, size=self._sizes[number])


def load(spec: StudySpec, store: StudyStore, chunks: Iterable[int] | None = None) -> Rows:
    """Every row of a complete study, in the order of cells; or of some ``chunks``. A sweep that
    only counts has a row per cell and combination of answers, of a chunk. Raises DataError: a chunk
    is missing or damaged."""
    kind, every = row_type(spec), range(chunk_count(spec))
    counts = not (spec.preset or spec.metrics or spec.run_on)
    found = (store.rows(i, kind) for i in (every if chunks is None else chunks))
    return np.concatenate([counted(rows) if counts else rows for rows in found])


def choose(runs: Path, spec: StudySpec, *, fresh: bool = False) -> Place:
    """Where ``spec`` is to be run. Raises UsageError: the last of its name is unfinished and was
    begun with another specification, or by another version; DataError: it is no study, or damaged.
    """
    known, asked = family(runs, spec.name), spec_dict(spec)
    last = max(known, default=0)
    begin = Place(path=runs / numbered(spec.name, last + 1), resumed=False)
    for number in () if fresh else sorted(known, reverse=True):
        if number != last and not STUDY.holds(known[number]):
            continue
        store = StudyStore.open(known[number])
        if store.digest == digest(asked) and store.tool == tool_version():
            return Place(path=known[number], resumed=True)
        if number == last and len(store.finished()) < chunk_count(
            read_spec(store.spec, store.path / STUDY_FILE)
        ):
            why = [f"of deadbeat {store.tool}"]
            if store.tool == tool_version():
                why = list(other_parameters(identity(store.spec), identity(asked)))
            raise UsageError(f"{store.path} is unfinished and {''.join(why)}", CONTINUE_HINT)
    return begin


def open_store(place: Place, spec: StudySpec) -> StudyStore:
    """The store at ``place``, made when it is new. Raises DataError: its specification is not what
    its digest says."""
    if not place.resumed:
        return StudyStore.create(place.path, plain := spec_dict(spec), digest(plain))
    store = StudyStore.open(place.path)
    if digest(store.spec) != store.digest:
        raise DataError(
            f"{place.path / 'study.json'} is damaged: its digest is not that of its specification",
            "restore it from a backup, or start again with --fresh",
        )
    return store
