"""Runs what a study still lacks, in the folder it lives in. What is stored is never computed again.

The studies of one name are ``NAME``, ``NAME-2``, ...: one with the same specification is continued,
or shown when it is complete; another specification begins the next once the last is complete.
"""

from __future__ import annotations

import math
import os
import threading
import time
from collections.abc import Generator, Iterable
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import closing
from itertools import count, islice
from pathlib import Path

import numpy as np

from deadbeat.base.experiment.base import Experiment, Kept, Todo, Watcher
from deadbeat.base.model.errors import DataError, UsageError
from deadbeat.base.store.files import tool_version
from deadbeat.base.store.place import (
    CONTINUE_HINT,
    REPLACE_HINT,
    STUDY,
    STUDY_FILE,
    Place,
    family,
    given_place,
    numbered,
    other_parameters,
)
from deadbeat.sched.study.chunks import (
    Rows,
    bounds,
    chunk_count,
    compute_chunk,
    counted,
    lacking_words,
    row_type,
)
from deadbeat.sched.study.spec import StudySpec, digest, identity, read_spec, spec_dict
from deadbeat.sched.study.store import StudyStore

#: Chunks of a thread that are begun or wait for it.
_WINDOW = 2
#: Number of chunks that tell the time of the others; the golden ratio spreads them evenly.
_PACED, _GOLDEN = 10, (math.sqrt(5) - 1) / 2


class Threads:
    """Computes on threads of this process: the core releases the interpreter's lock.

    Whoever is interrupted waits for the step each thread is at (one scheduler on one chunk): a
    thread that is left in native code at the end of the process aborts it.
    """

    def __init__(self, workers: int | None = None) -> None:
        self.workers = workers or len(os.sched_getaffinity(0))
        #: Chunk -> the time it took its thread.
        self.took_s: dict[int, float] = {}

    def chunks(self, spec: StudySpec, numbers: Iterable[int]) -> Generator[tuple[int, Rows]]:
        """Yields every chunk of ``numbers`` as it is done, in about their order."""
        stop, left = threading.Event(), iter(numbers)
        pool = ThreadPoolExecutor(self.workers)
        work: dict[Future[tuple[Rows, float]], int] = {}

        def wanted() -> bool:
            return not stop.is_set()

        def timed(number: int) -> tuple[Rows, float]:
            began = time.monotonic()
            return compute_chunk(spec, number, wanted=wanted), time.monotonic() - began

        try:
            while True:
                for number in islice(left, _WINDOW * self.workers - len(work)):
                    work[pool.submit(timed, number)] = number
                if not work:
                    return
                for future in wait(work, return_when=FIRST_COMPLETED).done:
                    number = work.pop(future)
                    rows, self.took_s[number] = future.result()
                    yield number, rows
        finally:
            stop.set()
            pool.shutdown(cancel_futures=True)


class StudyExperiment(Experiment[int, tuple[int, Rows]]):
    """``part``: number k of n; of the chunks k - 1, k - 1 + n, ... alone."""

    unit, paced = "task sets", True

    def __init__(
        self, spec: StudySpec, store: StudyStore, computer: Threads, part: tuple[int, int] = (1, 1)
    ) -> None:
        self._spec, self._store, self._computer = spec, store, computer
        self._mine = range(part[0] - 1, chunk_count(spec), part[1])
        self._lacking: list[int] = []

    @property
    def store(self) -> StudyStore:
        return self._store

    def chunks(self) -> tuple[int, int]:
        """How many there are, and how many of them are left."""
        stored = self._store.finished()
        return len(self._mine), sum(i not in stored for i in self._mine)

    def todo(self) -> Todo:
        stored = self._store.finished()
        self._lacking = [i for i in self._mine if i not in stored]
        total, left = (
            sum(len(bounds(self._spec, i)) for i in of) for of in (self._mine, self._lacking)
        )
        return Todo(total=total, done=total - left, left=left)

    def seconds(self, runs: int) -> float:
        """By the chunks computed on both sides of each that is left; the time of a policy is
        unknown before it has run."""
        took = self._computer.took_s
        left = [number for number in self._lacking if number not in took]
        if left and len(took) < _PACED:
            return math.inf
        known = sorted(took)
        all_s = float(np.interp(left, known, [took[it] for it in known]).sum()) if left else 0.0
        sets = max(1, sum(len(bounds(self._spec, number)) for number in left))
        return all_s / max(1, min(self._computer.workers, len(left))) * runs / sets

    def measure(self, tell: Watcher) -> Generator[tuple[int, Rows]]:
        if self._lacking:
            many = len(self._lacking)
            step = next(k for k in count(max(1, round(_GOLDEN * many))) if math.gcd(k, many) == 1)
            order = (self._lacking[k * step % many] for k in range(many))
            with closing(self._computer.chunks(self._spec, order)) as chunks:
                yield from chunks

    def kept(self) -> str:
        total, left = self.chunks()
        return f"{total - left} of {total} chunks"

    def keep(self, result: tuple[int, Rows]) -> Kept[int]:
        number, rows = result
        self._store.commit(number, rows)
        return Kept(number, size=len(bounds(self._spec, number)))


def lacking(spec: StudySpec, store: StudyStore) -> list[int]:
    """The chunks that are not stored."""
    return sorted({*range(chunk_count(spec))} - store.finished())


def load(spec: StudySpec, store: StudyStore, chunks: Iterable[int] | None = None) -> Rows:
    """Every row of a complete study, in the order of cells; or of some ``chunks``. A sweep that
    only counts has a row per cell and combination of answers, of a chunk. Raises DataError: a chunk
    is missing or damaged."""
    if chunks is None and (open_ones := lacking(spec, store)):
        raise DataError(
            f"{store.path} lacks {lacking_words(open_ones, chunk_count(spec))}",
            "copy them there, or repeat its command, with --part for one part alone",
        )
    kind, every = row_type(spec), range(chunk_count(spec))
    found = (store.rows(i, kind) for i in (every if chunks is None else chunks))
    return np.concatenate([counted(rows) if spec.counts else rows for rows in found])


def choose(runs: Path, spec: StudySpec, *, given: bool = False, fresh: bool = False) -> Place:
    """Where ``spec`` is to be run, as `Folders.place`. Raises UsageError: the last of its name, or
    of a name that was given the one, was begun with another specification, or by another version,
    and is unfinished, or its name was given; DataError: it is no study, or damaged.
    """
    if given and (place := given_place(runs, spec.name, fresh, STUDY.holds)):
        return place
    known = {n: path for n, path in family(runs, spec.name).items() if n == 1 or not given}
    asked = spec_dict(spec)
    last = max(known, default=0)
    begin = Place(path=runs / numbered(spec.name, last + 1), resumed=False)
    for number in () if fresh else sorted(known, reverse=True):
        if number != last and not STUDY.holds(known[number]):
            continue
        store = StudyStore.open(known[number])
        if store.digest == digest(asked) and store.tool == tool_version():
            return Place(path=known[number], resumed=True)
        whole = chunk_count(read_spec(store.spec, store.path / STUDY_FILE))
        lacks = len(store.finished()) < whole
        if number == last and (given or lacks):
            why = [f"of deadbeat {store.tool}"]
            if store.tool == tool_version():
                why = list(other_parameters(identity(store.spec), identity(asked)))
            state = "unfinished" if lacks else "finished"
            hint = CONTINUE_HINT if lacks else REPLACE_HINT
            raise UsageError(f"{store.path} is {state} and {''.join(why)}", hint)
    return begin


def open_store(place: Place, spec: StudySpec) -> StudyStore:
    """The store at ``place``, made when it is new. Raises DataError: its specification is not what
    its digest says."""
    if not place.resumed:
        return StudyStore.create(place.emptied(), plain := spec_dict(spec), digest(plain))
    store = StudyStore.open(place.path)
    if digest(store.spec) != store.digest:
        raise DataError(
            f"{place.path / 'study.json'} is damaged: its digest is not that of its specification",
            "restore it from a backup, or start again with --fresh",
        )
    return store
