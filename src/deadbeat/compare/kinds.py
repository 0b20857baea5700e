"""What can be compared: a kind of results a row."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from deadbeat.kinds.contention import observe as contention
from deadbeat.kinds.contention.place import find_campaign
from deadbeat.kinds.interference import observe as interference
from deadbeat.kinds.latency import observe as latency
from deadbeat.model.comparison import Comparable
from deadbeat.model.errors import UsageError
from deadbeat.store.place import FolderKind

#: The first that finds a folder is its kind; the last says what there is instead.
KINDS: tuple[Comparable[Any], ...] = (
    latency.COMPARABLE,
    interference.COMPARABLE,
    contention.COMPARABLE,
)


def found(runs: Path, name: str) -> tuple[Comparable[Any], Path]:
    """The kind and the folder of what ``name`` means; UsageError where it means nothing."""
    for kind in KINDS[:-1]:
        path = FolderKind(kind.file, kind.noun).find(runs, name)
        if path is not None:
            return kind, path
    return KINDS[-1], find_campaign(runs, name)


def all_found(runs: Path, names: Sequence[str]) -> tuple[Comparable[Any], tuple[Path, ...]]:
    """The kind that all ``names`` are of, and their folders; campaigns where there is no name.

    Raises:
        UsageError: One means nothing, or is of another kind.
    """
    places = [found(runs, name) for name in names]
    first = places[0][0] if places else KINDS[-1]
    for name, (kind, _) in zip(names, places, strict=True):
        if kind is not first:
            raise UsageError(
                f"{name} is a {kind.noun}, beside it a {first.noun} is named: they have nothing in"
                " common",
                "compare campaigns with campaigns (deadbeat profile, stress), matrices with"
                " matrices (deadbeat latency), load tests with load tests (deadbeat load)",
            )
    return first, tuple(path for _, path in places)
