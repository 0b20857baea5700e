"""Which folder a study lives in.

The studies of one name are ``NAME``, ``NAME-2``, ...: one with the same specification is continued,
or shown when it is complete; another specification begins the next once the last is complete.
"""

from __future__ import annotations

from pathlib import Path

from deadbeat.kinds.study.chunks import chunk_count
from deadbeat.kinds.study.spec import StudySpec, digest, read_spec, spec_dict
from deadbeat.model.errors import DataError, UsageError
from deadbeat.store.files import tool_version
from deadbeat.store.place import CONTINUE_HINT, STUDY, Place, family, numbered, other_parameters
from deadbeat.store.study import StudyStore


def choose(runs: Path, spec: StudySpec, *, fresh: bool = False) -> Place:
    """Where ``spec`` is to be run.

    Raises:
        UsageError: The last of its name is unfinished and was begun with another specification, or
            by another version.
        DataError: The last of its name is no study, or damaged.
    """
    known = family(runs, spec.name)
    wanted = digest(spec_dict(spec))
    last = max(known, default=0)
    begin = Place(path=runs / numbered(spec.name, last + 1), resumed=False)
    if fresh or not last:
        return begin
    for number in sorted(known, reverse=True):
        if number != last and not STUDY.holds(known[number]):
            continue
        store = StudyStore.open(known[number])
        complete = len(store.finished()) >= chunk_count(read_spec(store.spec))
        if store.digest == wanted and store.tool == tool_version():
            return Place(path=known[number], resumed=True)
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
            "restore it from a backup, or begin anew with --fresh",
        )
    return store


def _other(store: StudyStore, spec: StudySpec) -> UsageError:
    if store.tool != tool_version():
        why = [f"of deadbeat {store.tool}"]
    else:
        there, now = (
            {key: value for key, value in plain.items() if key not in ("name", "title")}
            for plain in (store.spec, spec_dict(spec))
        )
        why = list(other_parameters(there, now))
    return UsageError(f"{store.path} is unfinished and {''.join(why)}", CONTINUE_HINT)
