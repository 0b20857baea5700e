"""A study in chunks: each a function of the specification and its number, nothing else."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from deadbeat.base.model.errors import SynthesisError
from deadbeat.base.model.words import count_of
from deadbeat.sched import TaskBatch, simulate_batch
from deadbeat.sched.analysis import test_batch
from deadbeat.sched.generators import Recipe, generate
from deadbeat.sched.simulator import Model
from deadbeat.sched.study.spec import BINS, WITHOUT_LOCKS, StudySpec, cell_seed
from deadbeat.sched.study.sweep import HELD_MAX

Rows = NDArray[Any]

#: Sets that are computed together, and most sets of a chunk of a study of up to `HELD_MAX` sets:
#: enough that writing it costs little beside computing it.
CHUNK_SETS = 240
#: Chunks a small study is cut in, so that an interrupt loses little of it; and a larger one than
#: `HELD_MAX`: a folder holds no more files with ease.
_CHUNKS_WANTED, _CHUNKS_MOST = 24, 4_000
#: Numbers of parts that are tried to say what is lacking.
_PARTS_TRIED, _SHOWN_MAX = 1_000, 8

#: Answers of a scheduler, as ``Answer`` of the core; NOT_GENERATED where there was no set.
NO, YES, UNDECIDED, NOT_GENERATED = 0, 1, 2, -1
#: Answers of a test, as ``TestAnswer`` of the core.
ACCEPTED, REFUTED, NOT_APPLICABLE, TEST_UNDECIDED = 1, 2, 3, 4

_COUNTS = ("jobs", "preemptions", "migrations", "cross_cluster", "task_migrations")
_MEANS = ("slack_mean", "slack_share_mean")
_RUN_ON = (
    *(("judged", "<i8"), ("missed", "<i8"), ("response_max", "<i8"), ("tardiness_max", "<i8")),
    *(("response_mean", "<f8"), ("tardiness_mean", "<f8")),
)


class StoppedError(Exception):
    """The chunk was given up because no process waits for it any more."""


@frozen
class Piece:
    cell: int
    first: int
    count: int


def row_type(spec: StudySpec) -> np.dtype[Any]:
    """Columns of a chunk, a row per task set asked for.

    Contender k has the columns ``s{k}.answer``, ``s{k}.placed`` and its figures; test k ``t{k}``.
    Text keys would not fit: a column must not depend on what a label looks like.
    """
    fields: list[tuple[Any, ...]] = [
        ("cell", "<i4"),
        ("index", "<i4"),
        ("generated", "?"),
        ("utilisation", "<f8"),
        ("largest", "<f8"),
        ("bins", "<u2", (BINS,)),
    ]
    for k in range(len(spec.contenders)):
        fields += [(f"s{k}.answer", "i1"), (f"s{k}.placed", "?")]
        if spec.metrics:
            fields += [(f"s{k}.{name}", "<i8") for name in _COUNTS]
            fields += [(f"s{k}.{name}", "<f8") for name in _MEANS]
        if spec.run_on:
            fields += [(f"s{k}.{name}", kind) for name, kind in _RUN_ON]
    fields += [(f"t{k}", "i1") for k in range(len(spec.tests))]
    return np.dtype(fields)


def chunk_sets(spec: StudySpec) -> int:
    if spec.total > HELD_MAX:
        return math.ceil(spec.total / _CHUNKS_MOST)
    return min(CHUNK_SETS, max(1, math.ceil(spec.total / _CHUNKS_WANTED)))


def chunk_count(spec: StudySpec) -> int:
    return math.ceil(spec.total / chunk_sets(spec))


def bounds(spec: StudySpec, chunk: int) -> range:
    """The task sets of chunk ``chunk``, numbered in the order of cells."""
    size = chunk_sets(spec)
    return range(chunk * size, min((chunk + 1) * size, spec.total))


def lacking_words(lacking: Sequence[int], chunks: int, parts: int = 0) -> str:
    """``lacking`` of a number of chunks, as parts: of ``parts``, or of the fewest that are lacking
    whole; as chunks where these are too many. Part k of n has the chunks k - 1, k - 1 + n, ...."""
    numbers, of = np.array(lacking), f"{len(lacking):,} of {count_of(chunks, 'chunk')}"
    if len(lacking) == chunks and not parts:
        return of
    noun, named, whole = "chunk", numbers, ""
    for count in (parts,) if parts else range(2, min(chunks, _PARTS_TRIED) + 1):
        found = np.unique(numbers % count)
        if parts or len(numbers) == sum(len(range(k, chunks, count)) for k in found):
            noun, named, whole = "part", found + 1, f" of {count}"
            break
    runs = np.split(named, np.flatnonzero(np.diff(named) > 1) + 1)
    words = ", ".join(f"{x[0]}-{x[-1]}" if len(x) > 1 else f"{x[0]}" for x in runs[:_SHOWN_MAX])
    more = f" and {sum(map(len, runs[_SHOWN_MAX:]))} more" if len(runs) > _SHOWN_MAX else ""
    return f"{of}: {noun}{'s' * (len(named) > 1)} {words}{more}{whole}"


def pieces(spec: StudySpec, at: int, end: int) -> list[Piece]:
    """The task sets from ``at`` up to ``end`` by their cells."""
    found = []
    while at < end:
        cell, first = divmod(at, spec.sets)
        count = min(spec.sets - first, end - at)
        found.append(Piece(cell, first, count))
        at += count
    return found


def compute(
    spec: StudySpec, parts: Sequence[Piece], *, wanted: Callable[[], bool] = lambda: True
) -> Rows:
    """The rows of ``parts``. ``wanted`` is asked between steps; work ends with StoppedError when it
    says no."""
    rows = np.zeros(sum(part.count for part in parts), dtype=row_type(spec))
    for name in rows.dtype.names or ():
        if name.endswith(".answer") or name.startswith("t"):
            rows[name] = NOT_GENERATED
    batches, at = [], 0
    for part in parts:
        here = rows[at : at + part.count]
        here["cell"], here["index"] = part.cell, np.arange(part.first, part.first + part.count)
        cell = spec.cells[part.cell]
        recipe, seed = spec.sources[cell.source].recipe(cell), cell_seed(spec, cell)
        try:
            draw_batch = generate(recipe, seed=seed, count=part.count, first=part.first)
            here["generated"] = True
        except SynthesisError:
            draw_batch = _draw_each(recipe, seed, part, here)
        if len(draw_batch):
            there = here["generated"]
            shares = (draw_batch.tasks[:, 0] / draw_batch.tasks[:, 1]).reshape(-1, cell.tasks)
            here["utilisation"][there] = shares.sum(axis=1)
            here["largest"][there] = shares.max(axis=1)
            bins = np.minimum((shares * BINS).astype(np.int64), BINS - 1)
            counts = np.zeros((len(draw_batch), BINS), dtype=np.uint16)
            np.add.at(counts, (np.arange(len(draw_batch))[:, None], bins), 1)
            here["bins"][there] = counts
        batches.append(draw_batch)
        at += part.count
    batch = TaskBatch.concatenate(batches)
    if not len(batch):
        return rows
    there = np.flatnonzero(rows["generated"])
    offsets = any(source.offsets != "zero" for source in spec.sources.values())
    model: Model = "periodic-offset" if offsets else "periodic-sync"
    names = ["answer", "placed", *((*_COUNTS, *_MEANS) if spec.metrics else ())]
    names += [name for name, _ in _RUN_ON if spec.run_on]
    counted = {"metrics": spec.metrics or spec.run_on, "run_on": spec.run_on}
    for k, scheduler in enumerate(spec.contenders.values()):
        if not wanted():
            raise StoppedError
        found = simulate_batch(batch, scheduler, model=model, budget=spec.budget, **counted)
        for name in names:
            rows[f"s{k}.{name}"][there] = found[name]
    for k, label in enumerate(spec.tests):
        if not wanted():
            raise StoppedError
        name, settings = spec.test(label)
        asked = batch.independent() if WITHOUT_LOCKS in label else batch
        rows[f"t{k}"][there] = test_batch(asked, [name], **settings)[:, 0]
    return rows


#: Columns that differ from set to set.
_OWN = ("index", "utilisation", "largest", "bins")


def counted(rows: Rows) -> Rows:
    """A row for ``sets`` task sets of one cell and the same answers, with their total utilisation.

    What is only counted then takes as much memory for a million sets as for a thousand.
    """
    names = [name for name in rows.dtype.names or () if name not in _OWN]
    keys = np.stack([rows[name].astype(np.int32) for name in names], axis=1)
    known, place = np.unique(keys, axis=0, return_inverse=True)
    kind = [(name, rows.dtype[name]) for name in names]
    found = np.zeros(len(known), dtype=[*kind, ("utilisation", "<f8"), ("sets", "<i8")])
    for name, values in zip(names, known.T, strict=True):
        found[name] = values
    found["utilisation"] = np.bincount(place.ravel(), weights=rows["utilisation"])
    found["sets"] = np.bincount(place.ravel())
    return found


def compute_chunk(
    spec: StudySpec, chunk: int, *, wanted: Callable[[], bool] = lambda: True
) -> Rows:
    sets = bounds(spec, chunk)
    steps = (sets[at : at + CHUNK_SETS] for at in range(0, len(sets), CHUNK_SETS))
    found = (compute(spec, pieces(spec, it.start, it.stop), wanted=wanted) for it in steps)
    return np.concatenate([*found])


def _draw_each(recipe: Recipe, seed: int, part: Piece, rows: Rows) -> TaskBatch:
    """Systems that can be drawn: one that is not found does not cost the others."""
    found = [TaskBatch.of(())]
    for k in range(part.count):
        try:
            found.append(generate(recipe, seed=seed, count=1, first=part.first + k))
        except SynthesisError:
            continue
        rows["generated"][k] = True
    return TaskBatch.concatenate(found)
