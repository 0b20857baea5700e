"""Which folder a study lives in.

The studies of one name are ``NAME``, ``NAME-2``, ...: one with the same specification is continued,
or shown when it is complete; another specification begins the next once the last is complete.
"""

from __future__ import annotations

import re
from pathlib import Path

from attrs import frozen

from deadbeat.campaign.spec import differences
from deadbeat.model.errors import DataError, UsageError
from deadbeat.store.files import PART_SUFFIX, tool_version
from deadbeat.store.study import StudyStore
from deadbeat.studies.chunks import chunk_count
from deadbeat.studies.spec import StudySpec, digest, read_spec, spec_dict


@frozen(kw_only=True)
class Place:
    """The folder to work in; ``resumed``: it holds chunks of this study already, or may."""

    path: Path
    resumed: bool


def choose(runs: Path, spec: StudySpec, *, fresh: bool = False) -> Place:
    """Where ``spec`` is to be run.

    Raises:
        UsageError: The last of its name is unfinished and was begun with another specification, or
            by another version.
        DataError: The last of its name is no study, or damaged.
    """
    family = _family(runs, spec.name)
    wanted = digest(spec_dict(spec))
    last = max(family, default=0)
    begin = Place(path=runs / _numbered(spec.name, last + 1), resumed=False)
    if fresh or not last:
        return begin
    for number in sorted(family, reverse=True):
        if number != last and not (family[number] / "study.json").is_file():
            continue
        store = StudyStore.open(family[number])
        complete = len(store.finished()) >= chunk_count(read_spec(store.spec))
        if store.digest == wanted and store.tool == tool_version():
            return Place(path=family[number], resumed=True)
        if number == last and not complete:
            raise _other(store, spec)
    return begin


def open_store(place: Place, spec: StudySpec) -> StudyStore:
    """The store at ``place``, made when it is new.

    Raises:
        DataError: Its specification is not what its digest says.
    """
    if not place.resumed:
        plain = spec_dict(spec)
        return StudyStore.create(place.path, plain, digest(plain))
    store = StudyStore.open(place.path)
    if digest(store.spec) != store.digest:
        raise DataError(
            f"{place.path / 'study.json'} is damaged: its digest is not that of its specification",
            "put a good copy back, or begin anew with --fresh",
        )
    return store


def _other(store: StudyStore, spec: StudySpec) -> UsageError:
    hint = "repeat its command to continue it, or choose --name NAME, or --fresh"
    if store.tool != tool_version():
        return UsageError(f"{store.path} is unfinished and of deadbeat {store.tool}", hint)
    changed = [
        text
        for text in differences(store.spec, spec_dict(spec))
        if not text.startswith(("name ", "title "))
    ]
    return UsageError(
        f"{store.path} is unfinished and was begun with other parameters: {', '.join(changed)}",
        hint,
    )


def _family(runs: Path, name: str) -> dict[int, Path]:
    """Number -> folder of everything that bears the name; an unused folder is nothing."""
    pattern = re.compile(re.escape(name) + r"(?:-([1-9][0-9]{0,8}))?")
    found: dict[int, Path] = {}
    try:
        entries = [entry for entry in runs.iterdir() if entry.is_dir() and not entry.is_symlink()]
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise DataError(f"cannot read {runs}: {error.strerror}", "choose another --runs") from None
    for path in entries:
        match = pattern.fullmatch(path.name)
        if match and (match[1] is None or int(match[1]) > 1) and not _unused(path):
            found[int(match[1] or 1)] = path
    return found


def _unused(path: Path) -> bool:
    """Whether nothing lies there but what a kill at birth leaves."""
    return not any(
        entry.is_file() and not entry.name.startswith(".") and entry.suffix != PART_SUFFIX
        for entry in path.rglob("*")
    )


def _numbered(name: str, number: int) -> str:
    return name if number == 1 else f"{name}-{number}"
