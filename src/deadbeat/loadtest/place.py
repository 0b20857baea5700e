"""Which folder a load test lives in: continued while it lacks runs, else the next of its name."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from attrs import frozen

from deadbeat.loadtest.plan import plan
from deadbeat.loadtest.remedy import Change
from deadbeat.loadtest.spec import LoadSpec, read_spec, spec_dict
from deadbeat.model.errors import UsageError
from deadbeat.model.platform import Platform
from deadbeat.model.specification import differences
from deadbeat.store.family import family, numbered
from deadbeat.store.load import LOAD_FILE, LoadStore


@frozen(kw_only=True)
class Place:
    """The folder to work in; ``store``: what is to be continued there."""

    path: Path
    store: LoadStore | None


def lacking(store: LoadStore) -> int:
    """Runs of a load test that have no result yet."""
    spec = read_spec(store.spec)
    changes = {name: Change(words=words) for name, words in store.changes.items()}
    return len(set(plan(spec, changes)) - store.committed())


def choose(
    runs: Path,
    spec: LoadSpec,
    platform: Platform,
    changes: Mapping[str, str],
    *,
    fresh: bool = False,
) -> Place:
    """Where ``spec`` (resolved) is to be run on a platform with these remedies.

    Raises:
        UsageError: The last of its name is unfinished, and was begun with other parameters, on
            another machine, or where other remedies were possible.
    """
    known = family(runs, spec.name)
    last = max(known, default=0)
    begin = Place(path=runs / numbered(spec.name, last + 1), store=None)
    if fresh or not last or not (known[last] / LOAD_FILE).is_file():
        return begin
    store = LoadStore.open(known[last])
    if not lacking(store):
        return begin
    hint = "repeat its command to continue it, or choose --name NAME, or --fresh"
    changed = differences(store.spec, spec_dict(spec))
    if changed:
        raise UsageError(
            f"{store.path} is unfinished and was begun with other parameters: {', '.join(changed)}",
            hint,
        )
    here = (platform.fingerprint, platform.kernel, sorted(changes))
    if (store.platform.fingerprint, store.platform.kernel, sorted(store.changes)) != here:
        raise UsageError(f"{store.path} is unfinished and was begun on another machine", hint)
    return Place(path=known[last], store=store)
