"""Chunks on a Dask cluster: the same function, the same bits, on other machines.

``distributed`` is imported when a cluster is asked for. Dask runs a chunk again whose worker died;
a lost scheduler ends the study with what is stored.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from deadbeat.kinds.study.chunks import Piece, Rows, compute, compute_chunk
from deadbeat.kinds.study.spec import StudySpec, read_spec, spec_dict
from deadbeat.model.errors import TargetError, UsageError
from deadbeat.model.words import Json
from deadbeat.store.files import tool_version

#: Times a chunk is begun again after the worker that had it died.
_RETRIES = 5
_CONNECT_S = 10
_KEEP = "the chunks stored so far are kept; repeat the command to continue"


class ForeignWorkerError(Exception):
    """A worker has another version, or computes other results."""


class Cluster:
    """Computes on the workers of the Dask scheduler at ``address``.

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
        self._address = address

    def chunks(self, spec: StudySpec, numbers: Sequence[int]) -> Generator[tuple[int, Rows]]:
        """As ``Threads.chunks``.

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
            except (asyncio.CancelledError, OSError, TimeoutError) as error:
                raise TargetError(f"the scheduler {self._address} was lost", _KEEP) from error
            finally:
                if client.status == "running":
                    client.cancel(list(futures))

    def _result(self, future: Any) -> Rows:
        """What a worker made; or what went wrong, in words."""
        try:
            rows: Rows = future.result(timeout=_CONNECT_S)
        except ForeignWorkerError as error:
            raise UsageError(
                str(error), f"install deadbeat {tool_version()} of the same build on all workers"
            ) from None
        except (
            self._distributed.client.FutureCancelledError,
            asyncio.CancelledError,
            OSError,
            TimeoutError,
        ) as error:
            raise TargetError(f"the scheduler {self._address} was lost", _KEEP) from error
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
    """A chunk, on a worker.

    Raises:
        ForeignWorkerError: Its deadbeat is not the one that asks.
    """
    version, digest = wanted
    if tool_version() != version:
        raise ForeignWorkerError(f"a worker has deadbeat {tool_version()}, not {version}")
    spec = read_spec(plain)
    if fingerprint(spec) != digest:
        raise ForeignWorkerError(f"a worker's deadbeat {version} gives other results than this one")
    return compute_chunk(spec, number)


@contextmanager
def _quiet() -> Generator[None]:
    """What ``distributed`` would log about a lost worker or scheduler is told in one line here."""
    logger = logging.getLogger("distributed")
    before = logger.level
    logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        logger.setLevel(before)
