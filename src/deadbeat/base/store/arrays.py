"""Whole numbers in numpy's own files (.npy): a header with type and shape, then the numbers."""

from __future__ import annotations

import io
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from deadbeat.base.model.errors import DataError
from deadbeat.base.store.files import atomic_write, read_bytes


def write_array(path: Path, numbers: NDArray[np.int64]) -> None:
    """Writes it atomically. Raises DeadbeatError: see `atomic_write`."""
    made = io.BytesIO()
    np.save(made, numbers, allow_pickle=False)
    atomic_write(path, made.getvalue())


def read_array(path: Path, *, what: str, hint: str) -> NDArray[np.int64]:
    """What `write_array` wrote. Raises DataError: it cannot be read, or holds something else."""
    data = read_bytes(path, what=what, hint=hint)
    try:
        found = np.load(io.BytesIO(data), allow_pickle=False)
    except (ValueError, EOFError, OSError, SyntaxError, MemoryError) as error:
        raise DataError(f"{what} {path} are damaged: {error!s:.80}", hint) from error
    if not isinstance(found, np.ndarray) or found.dtype != np.int64 or found.ndim != 2:
        raise DataError(f"{what} {path} are damaged: no table of whole numbers", hint)
    return found


def write_columns(path: Path, columns: Mapping[str, NDArray[Any]]) -> None:
    """Writes them compressed, atomically. Raises DeadbeatError: see `atomic_write`."""
    made = io.BytesIO()
    np.savez_compressed(made, allow_pickle=False, **columns)
    atomic_write(path, made.getvalue())


def read_columns(path: Path, *, what: str, hint: str) -> dict[str, NDArray[Any]]:
    """What `write_columns` wrote. Raises DataError: it cannot be read."""
    data = read_bytes(path, what=what, hint=hint)
    try:
        with np.load(io.BytesIO(data), allow_pickle=False) as found:
            return dict(found)
    except (ValueError, EOFError, OSError, SyntaxError, MemoryError, BadZipFile, zlib.error) as e:
        raise DataError(f"{what} {path} are damaged: {e!s:.80}", hint) from e
