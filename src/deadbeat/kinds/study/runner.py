"""Runs what a study still lacks, in the folder it lives in. What is stored is never computed again.

The studies of one name are ``NAME``, ``NAME-2``, ...: one with the same specification is continued,
or shown when it is complete; another specification begins the next once the last is complete.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import os
import threading
from collections.abc import Generator, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from deadbeat.experiment.base import Experiment, Kept, Todo, Watcher
from deadbeat.kinds.study.chunks import (
    Piece,
    Rows,
    chunk_count,
    compute,
    compute_chunk,
    counted,
    pieces,
    row_type,
)
from deadbeat.kinds.study.spec import StudySpec, digest, identity, read_spec, spec_dict
from deadbeat.model.errors import DataError, TargetError, UsageError
from deadbeat.model.words import Json
from deadbeat.store.files import tool_version
from deadbeat.store.place import CONTINUE_HINT, STUDY, Place, family, numbered, other_parameters
from deadbeat.store.study import STUDY_FILE, StudyStore


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

    def __init__(self, spec: StudySpec, store: StudyStore, computer: Threads | Cluster) -> None:
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


#: Times a chunk is begun again after the worker that had it died.
_RETRIES = 5
_CONNECT_S = 10
_KEEP = "the chunks stored so far are kept; repeat the command to continue"


class ForeignWorkerError(Exception):
    """A worker has another version, or computes other results."""


class Cluster:
    """Computes the same, bit by bit, on the workers of the Dask scheduler at ``address``. Dask runs
    a chunk again after its worker died; a lost scheduler ends the study with what is stored.

    Raises:
        UsageError: ``distributed`` is not installed.
    """

    def __init__(self, address: str) -> None:
        try:
            import distributed  # noqa: PLC0415  optional, and slow to import
        except ImportError:
            raise UsageError(
                "--dask needs the package distributed", "pip install -e '.[cluster]' in the clone"
            ) from None
        self._distributed: Any = distributed
        self._lost = (asyncio.CancelledError, distributed.client.FutureCancelledError)
        self._address = address

    def chunks(self, spec: StudySpec, numbers: Sequence[int]) -> Generator[tuple[int, Rows]]:
        """Yield chunks as they end, like ``Threads.chunks``.

        Raises:
            TargetError: The scheduler cannot be reached, has no workers, or was lost.
            UsageError: A worker has another version of deadbeat or gives other results.
        """
        plain = spec_dict(spec)
        with _quiet(), self._client() as client:
            wanted = (tool_version(), fingerprint(spec))
            futures = {
                client.submit(
                    chunk_there, plain, number, wanted, pure=False, retries=_RETRIES
                ): number
                for number in numbers
            }
            try:
                for future in self._distributed.as_completed(list(futures), loop=client.loop):
                    yield futures[future], self._result(future)
                    future.release()
            except (*self._lost, OSError) as error:
                raise TargetError(f"the scheduler {self._address} was lost", _KEEP) from error
            finally:
                if client.status == "running":
                    client.cancel(list(futures))

    def _result(self, future: Any) -> Rows:
        try:
            rows: Rows = future.result(timeout=_CONNECT_S)
        except ForeignWorkerError as error:
            raise UsageError(
                str(error), f"install deadbeat {tool_version()} of the same build on all workers"
            ) from None
        except self._distributed.scheduler.KilledWorker as error:
            raise TargetError(
                f"workers of {self._address} die: {error}".splitlines()[0], _KEEP
            ) from None
        except (ImportError, AttributeError) as error:
            raise UsageError(
                f"a worker of {self._address} cannot import deadbeat: {error}",
                f"install deadbeat {tool_version()} on all workers",
            ) from None
        return rows

    @contextmanager
    def _client(self) -> Generator[Any]:
        try:
            client = self._distributed.Client(
                self._address, timeout=_CONNECT_S, set_as_default=False, name="deadbeat"
            )
        except (OSError, TimeoutError, ValueError) as error:
            raise TargetError(
                f"cannot reach a Dask scheduler at {self._address}: {error}".splitlines()[0],
                "start one with: dask scheduler, and workers with: dask worker ADDRESS",
            ) from None
        try:
            if not client.scheduler_info(n_workers=-1)["workers"]:
                raise TargetError(
                    f"the scheduler {self._address} has no workers",
                    "start some with: dask worker ADDRESS",
                )
            yield client
        finally:
            client.close(timeout=2)


def fingerprint(spec: StudySpec) -> str:
    """Digest of the study's first set: a build that computes differently shows it."""
    return hashlib.sha256(compute(spec, [Piece(0, 0, 1)]).tobytes()).hexdigest()


def chunk_there(plain: Mapping[str, Json], number: int, wanted: tuple[str, str]) -> Rows:
    """A chunk, on a worker. Raises ForeignWorkerError: its deadbeat is not the one that asks."""
    version, digest = wanted
    if tool_version() != version:
        raise ForeignWorkerError(f"a worker has deadbeat {tool_version()}, not {version}")
    spec = read_spec(plain)
    if fingerprint(spec) != digest:
        raise ForeignWorkerError(f"a worker's deadbeat {version} gives other results than this one")
    return compute_chunk(spec, number)


@contextmanager
def _quiet() -> Generator[None]:
    """What ``distributed`` would log about a lost worker or scheduler is one line here."""
    with ExitStack() as stack:
        logger = logging.getLogger("distributed")
        stack.callback(logger.setLevel, logger.level)
        logger.setLevel(logging.CRITICAL)
        yield
