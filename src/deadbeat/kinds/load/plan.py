"""Which runs a load test has, in which order, and what each asks for."""

from __future__ import annotations

import random
from collections.abc import Collection

from deadbeat.kinds.load.spec import LoadSpec, read_spec
from deadbeat.model.errors import DataError
from deadbeat.model.load import ALL, PLAIN, REFERENCE, TRACED, LoadKey
from deadbeat.store.folder import HEAD_HINT
from deadbeat.store.load import LoadStore

#: Beside its window a run takes about so long: start-up, calibration, warm-up, files.
OVERHEAD_S = 0.4


def cells(spec: LoadSpec, possible: Collection[str]) -> list[tuple[int, str]]:
    """Ordinary threads and condition of the cells of a resolved specification, with these remedies.

    Without a remedy, and with all that are possible, at every number of ordinary threads; each
    alone at the highest; and the ordinary threads without the real-time one.
    """
    counts = spec.normal
    if not counts:
        raise DataError(
            "the specification of the load test names no number of ordinary threads", HEAD_HINT
        )
    found = [(count, PLAIN) for count in counts]
    if len(possible) > 1:
        found += [(count, ALL) for count in counts]
    elif possible:
        found += [(count, name) for count in counts[:-1] for name in possible]
    found += [(max(counts), name) for name in possible]
    return found + [(count, REFERENCE) for count in counts if count]


def plan(spec: LoadSpec, possible: Collection[str]) -> tuple[LoadKey, ...]:
    """All runs in order: blocks, each in a random order of its own, in which a cell stands once and
    one where remedies are told apart as many times as it has more repeats, so that all of them
    spread over the whole time; the run that is traced is the last."""
    keys = []
    for block in range(1, spec.repeats + 1):
        runs = [
            LoadKey(normal, condition, repeat)
            for normal, condition in cells(spec, possible)
            for repeat in _repeats_in(spec, normal, block)
        ]
        random.Random(f"{spec.seed} {block}").shuffle(runs)
        keys += runs
    if spec.trace and spec.normal:
        keys.append(LoadKey(max(spec.normal), TRACED, 1))
    return tuple(keys)


def planned_keys(store: LoadStore) -> tuple[LoadKey, ...]:
    """Every run that a stored load test should have."""
    return plan(read_spec(store.spec), store.changes)


def _repeats_in(spec: LoadSpec, normal: int, block: int) -> range:
    """Repeats of a cell in a block, of 1 to the number of repeats."""
    if normal != max(spec.normal or ()):
        return range(block, block + 1)
    all_of_them = spec.remedy_repeats or spec.repeats
    first, last = (all_of_them * number // spec.repeats for number in (block - 1, block))
    return range(first + 1, last + 1)


def block_of(spec: LoadSpec, key: LoadKey) -> int:
    """The block that a run of `plan` stands in: those of one were measured close together."""
    if key.normal != max(spec.normal or ()):
        return key.repeat
    return -(-key.repeat * spec.repeats // (spec.remedy_repeats or spec.repeats))


def seconds_of(spec: LoadSpec, runs: int) -> float:
    """About how long so many runs take."""
    return runs * (spec.seconds + OVERHEAD_S)
