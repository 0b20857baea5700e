"""Which folder a load test lives in, and how far each is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from deadbeat.kinds.interference.plan import plan
from deadbeat.kinds.interference.remedy import Change
from deadbeat.kinds.interference.spec import LoadSpec, read_spec, spec_dict
from deadbeat.model.errors import DeadbeatError
from deadbeat.model.load import LoadKey
from deadbeat.model.platform import Platform
from deadbeat.settings.standing import elsewhere
from deadbeat.store.load import LoadStore
from deadbeat.store.place import LOAD_TEST, Place, State, choose_place, other_parameters, stage


def state_of(path: Path) -> State:
    """State of the load test in ``path``; damage is a state, not an error. A run that failed is
    measured again with the same command, so none counts as failed for good."""
    try:
        store = LoadStore.open(path)
        left, spec = lacking(store), read_spec(store.spec)
        done, invalid = len(store.committed()), len(store.invalid())
    except DeadbeatError as error:
        return State(name=path.name, path=path, state="damaged", problem=str(error))
    return State(
        name=path.name,
        path=path,
        state=stage(path, complete=not left),
        preset=spec.form,
        planned=done + left,
        done=done,
        invalid=invalid,
    )


def planned_keys(store: LoadStore) -> tuple[LoadKey, ...]:
    """Every run that a load test should have."""
    changes = {name: Change(words=words) for name, words in store.changes.items()}
    return plan(read_spec(store.spec), changes)


def lacking(store: LoadStore, *, retry_invalid: bool = False) -> int:
    """Runs of a load test that have no result yet; or an invalid one, where that is retried."""
    return len(store.lacking(planned_keys(store), retry_invalid=retry_invalid))


def choose(
    runs: Path,
    spec: LoadSpec,
    platform: Platform,
    changes: Mapping[str, str],
    *,
    fresh: bool = False,
    retry: bool = False,
) -> Place:
    """Where ``spec`` (resolved) is to be run on ``platform`` with these remedies; as
    `choose_place`."""

    def differs(path: Path) -> Iterator[str]:
        store = LoadStore.open(path)
        yield from other_parameters(spec_dict(read_spec(store.spec)), spec_dict(spec))
        yield from elsewhere(store.platform, platform)
        gone, new = sorted({*store.changes} - {*changes}), sorted({*changes} - {*store.changes})
        words = [f"{', '.join(gone)} no longer"] if gone else []
        words += [f"{', '.join(new)} now"] if new else []
        if words:
            yield f"was begun where other remedies were possible: {'; '.join(words)}"

    return choose_place(
        runs, spec.name, LOAD_TEST, state_of=state_of, differs=differs, fresh=fresh, retry=retry
    )
