"""Runs what a study still lacks. What is stored is never computed again."""

from __future__ import annotations

import os
import queue
import threading
from collections.abc import Generator, Sequence
from contextlib import closing
from typing import Protocol

import numpy as np

from deadbeat.experiment.base import Experiment, Kept, Todo, Watcher
from deadbeat.kinds.study.chunks import (
    Rows,
    StoppedError,
    chunk_count,
    compute_chunk,
    pieces,
    row_type,
)
from deadbeat.kinds.study.spec import StudySpec
from deadbeat.store.study import StudyStore


class Computer(Protocol):
    """What computes chunks: threads of this process, or a cluster."""

    def chunks(self, spec: StudySpec, numbers: Sequence[int]) -> Generator[tuple[int, Rows]]:
        """Yields every chunk of ``numbers`` as it is done, in no order."""
        ...


def local_workers() -> int:
    """CPUs that this process may use."""
    return len(os.sched_getaffinity(0))


class Threads:
    """Computes on threads of this process: the core releases the interpreter's lock.

    Whoever is interrupted waits for the step each thread is at (one scheduler on one chunk): a
    thread that is left in native code at the end of the process aborts it.
    """

    def __init__(self, workers: int | None = None) -> None:
        self._workers = workers or local_workers()

    def chunks(self, spec: StudySpec, numbers: Sequence[int]) -> Generator[tuple[int, Rows]]:
        todo: queue.SimpleQueue[int] = queue.SimpleQueue()
        done: queue.SimpleQueue[tuple[int, Rows | BaseException]] = queue.SimpleQueue()
        stop = threading.Event()
        for number in numbers:
            todo.put(number)

        def work() -> None:
            while not stop.is_set():
                try:
                    number = todo.get_nowait()
                except queue.Empty:
                    return
                try:
                    done.put(
                        (number, compute_chunk(spec, number, wanted=lambda: not stop.is_set()))
                    )
                except StoppedError:
                    return
                except BaseException as error:  # to be raised where somebody listens
                    done.put((number, error))
                    return

        threads = [
            threading.Thread(target=work, daemon=True)
            for _ in range(min(self._workers, len(numbers)))
        ]
        try:
            for thread in threads:
                thread.start()
            for _ in numbers:
                number, found = _next(done)
                if isinstance(found, BaseException):
                    raise found
                yield number, found
        finally:
            stop.set()
            for thread in threads:
                if thread.ident is not None:
                    thread.join()


def _next(
    done: queue.SimpleQueue[tuple[int, Rows | BaseException]],
) -> tuple[int, Rows | BaseException]:
    """Waits in steps: a signal is only handled between them."""
    while True:
        try:
            return done.get(timeout=0.2)
        except queue.Empty:
            continue


class StudyExperiment(Experiment[int, tuple[int, Rows]]):
    """What ``store`` lacks of a study: its chunks."""

    unit = "task sets"

    def __init__(self, spec: StudySpec, store: StudyStore, computer: Computer) -> None:
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
        """Nobody knows how long a policy takes before it has."""
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


def load(spec: StudySpec, store: StudyStore) -> Rows:
    """Every row of a complete study, in the order of cells.

    Raises:
        DataError: A chunk is missing or damaged.
    """
    kind = row_type(spec)
    return np.concatenate([store.rows(i, kind) for i in range(chunk_count(spec))])
