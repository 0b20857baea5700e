"""Results for whoever analyses them in Python: numpy columns by name, and pandas frames of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deadbeat.base.model.errors import DeadbeatError
from deadbeat.base.model.words import Json


class Columns(dict[str, NDArray[Any]]):
    """Equally long numpy columns by name."""

    @classmethod
    def of(cls, rows: Iterable[Mapping[str, Json]]) -> Columns:
        """The columns of rows that have the same keys."""
        listed = list(rows)
        return cls(
            {name: np.array([row[name] for row in listed]) for name in listed[0]} if listed else {}
        )

    def __repr__(self) -> str:
        return f"Columns({len(next(iter(self.values()), ()))} rows: {', '.join(self)})"

    def to_pandas(self) -> Any:
        """The columns as a pandas DataFrame.

        Raises:
            DeadbeatError: pandas is not installed.
        """
        return pandas().DataFrame({**self})


def pandas() -> Any:
    """The module, where it is installed."""
    try:
        return import_module("pandas")
    except ImportError as error:
        raise DeadbeatError(
            "pandas is not installed", "pip install pandas, or use the numpy columns"
        ) from error
