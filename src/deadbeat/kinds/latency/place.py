"""Which folder a latency matrix lives in, and how far each is."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from deadbeat.kinds.latency.plan import keys
from deadbeat.kinds.latency.spec import LatencySpec, read_spec, spec_dict
from deadbeat.model.errors import DeadbeatError
from deadbeat.model.platform import Platform
from deadbeat.settings.standing import elsewhere
from deadbeat.store.latency import LatencyStore
from deadbeat.store.place import MATRIX, Place, State, choose_place, other_parameters, stage


def state_of(path: Path) -> State:
    """State of the matrix in ``path``; damage is a state, not an error."""
    try:
        store = LatencyStore.open(path)
        spec = read_spec(store.spec)
        done, failed, invalid = store.committed(), store.failed(), store.invalid()
    except DeadbeatError as error:
        return State(name=path.name, path=path, state="damaged", problem=str(error))
    planned = keys(spec)
    return State(
        name=path.name,
        path=path,
        state=stage(path, complete=all(key in done or key in failed for key in planned)),
        preset=spec.preset,
        planned=len(planned),
        done=len(done),
        failed=len(failed),
        invalid=len(invalid),
    )


def choose(
    runs: Path, spec: LatencySpec, platform: Platform, *, fresh: bool = False, retry: bool = False
) -> Place:
    """Where ``spec`` (resolved) is to be measured on ``platform``; as `choose_place`."""

    def differs(path: Path) -> Iterator[str]:
        store = LatencyStore.open(path)
        yield from other_parameters(spec_dict(read_spec(store.spec)), spec_dict(spec))
        yield from elsewhere(store.platform, platform)

    return choose_place(
        runs, spec.name, MATRIX, state_of=state_of, differs=differs, fresh=fresh, retry=retry
    )
