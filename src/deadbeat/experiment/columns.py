"""Results for whoever analyses them in Python: numpy columns by name, and pandas frames of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deadbeat.model.errors import DeadbeatError
from deadbeat.model.words import Json


class Columns(Mapping[str, NDArray[Any]]):
    """Equally long numpy columns by name."""

    def __init__(self, columns: dict[str, NDArray[Any]]) -> None:
        self._columns = columns

    @classmethod
    def of(cls, rows: Iterable[Mapping[str, Json]]) -> Columns:
        """The columns of rows that have the same keys."""
        listed = list(rows)
        return cls(
            {name: np.array([row[name] for row in listed]) for name in listed[0]} if listed else {}
        )

    def __getitem__(self, name: str) -> NDArray[Any]:
        return self._columns[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns)

    def __len__(self) -> int:
        return len(self._columns)

    def __repr__(self) -> str:
        rows = len(next(iter(self._columns.values()), ()))
        return f"Columns({rows} rows: {', '.join(self._columns)})"

    def to_pandas(self) -> Any:
        """The columns as a pandas DataFrame.

        Raises:
            DeadbeatError: pandas is not installed.
        """
        return pandas().DataFrame(self._columns)


def pandas() -> Any:
    """The module, where it is installed."""
    try:
        return import_module("pandas")
    except ImportError as error:
        raise DeadbeatError(
            "pandas is not installed", "pip install pandas, or use the numpy columns"
        ) from error
