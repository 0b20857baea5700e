"""What a run of primitives showed, and where it is stored."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from attrs import field, frozen, validators
from cattrs import override
from cattrs.gen import make_dict_structure_fn, make_dict_unstructure_fn
from numpy.typing import NDArray

from deadbeat.base.model.errors import UsageError
from deadbeat.base.model.histogram import Histogram
from deadbeat.base.model.run import StoredRun
from deadbeat.base.store.arrays import read_array, write_array
from deadbeat.base.store.files import atomic_write, storing
from deadbeat.base.store.runfolder import RUN_HINT, RunFolder, run_converter
from deadbeat.latencies.primitives.cases import PrimitiveKey

Integers = NDArray[np.int64]

#: Folder of the samples that are kept, and what stands where a thread had none any more.
SAMPLES, NONE = "samples", -1
#: Bits of a sample's tags (runtime/include/deadbeat/primitive.h).
TAGS = {1: "preempted", 2: "migrated", 4: "waited for its CPU"}


@frozen(kw_only=True)
class LateSample:
    """One of the longest samples or gaps; ``moment_ns`` since the start of its run."""

    moment_ns: int
    value_ns: int
    tags: int
    cause: str = ""

    @property
    def words(self) -> str:
        """What happened to its thread meanwhile; "": nothing that is known."""
        known = [word for bit, word in TAGS.items() if self.tags & bit]
        return ", ".join([*known, *filter(None, [self.cause])])


@frozen(kw_only=True)
class ThreadRun:
    """What one thread saw.

    Attributes:
        times: Time of every sample. ``gaps``: from the end of each to the start of the next.
        samples: All of them in their order, where they are kept: beside the run, in `SAMPLES`.
        looked: Samples longer than ``watch_ns``, of which it was asked what happened meanwhile:
            how many were ``preempted``, ``migrated`` or ``waited`` for their CPU.
        partner: CPU of the other of a pair.
        after: How often it got what all want right after each thread. ``longest_row``: so often in
            a row, at most.
        first_faults: Page faults before the first sample that counts: what is touched once.
            ``minor_faults``, ``major_faults``: While it was measured. None: the runtime does not
            know its threads' own.
        allocated_bytes: On the heap of its runtime, if that has one.
    """

    thread: int
    cpu: int
    policy: str
    priority: int
    looked: int
    preempted: int
    migrated: int
    waited: int
    watch_ns: int
    times: Histogram
    gaps: Histogram
    late_times: tuple[LateSample, ...] = ()
    late_gaps: tuple[LateSample, ...] = ()
    partner: int | None = None
    after: tuple[int, ...] = ()
    longest_row: int = 0
    first_faults: int | None = None
    minor_faults: int | None = None
    major_faults: int | None = None
    allocated_bytes: int | None = None
    samples: Integers | None = field(default=None, eq=False, repr=False)


@frozen(kw_only=True)
class WarmUp:
    """Windows that ran before the one that counts, and whether the last of them were alike."""

    windows: int
    steady: bool


@frozen(kw_only=True)
class MemoryFacts:
    """Memory of a process; -1: the kernel does not say. ``faults``: of its pages, in the run."""

    locked: bool
    resident_bytes: int
    locked_bytes: int
    faults: int

    @property
    def words(self) -> str:
        """What of it cannot be locked belongs to the kernel, or to files that others map."""
        locked = f"{self.locked_bytes >> 20} locked" if self.locked else "not locked"
        return f"memory: {self.resident_bytes >> 20} MiB, {locked}, {self.faults} page faults"


@frozen(kw_only=True)
class RuntimeFacts:
    """What a runtime says that it is. ``calls``: by what it calls the C library. ``threads``: how
    many of its threads the kernel has under which policy and priority."""

    name: str
    version: str
    gc: str
    flags: str
    calls: str = ""
    threads: tuple[tuple[str, int, int], ...] = ()
    memory: MemoryFacts | None = None

    @property
    def words(self) -> str:
        threads = ", ".join(f"{n} {word} {p or ''}".strip() for word, p, n in self.threads)
        parts = [
            f"{self.name} {self.version}",
            *filter(None, (self.gc, self.calls, self.flags)),
            *([f"threads: {threads}"] if threads else []),
            *([self.memory.words] if self.memory else []),
        ]
        return "; ".join(parts)


@frozen(kw_only=True)
class PrimitiveRun(StoredRun):
    """One process.

    Attributes:
        batch: Operations of a sample.
        clock_cost_ps: Cost of a reading. ``sample_cost_ps``: keeping a sample beyond the two
            readings around it. ``resolution_ns``: between two readings that differ, at least.
        memory_locked: Whether all pages stay in memory; None: the runtime does not say.
    """

    key: PrimitiveKey
    batch: int = field(validator=validators.ge(1))
    clock_cost_ps: int
    sample_cost_ps: int
    resolution_ns: int
    measured_ns: int
    threads: tuple[ThreadRun, ...]
    warm_up: WarmUp | None = None
    runtime: RuntimeFacts | None = None
    memory_locked: bool | None = None


class PrimitivesStore(RunFolder[PrimitiveKey, PrimitiveRun]):
    KIND, NOUN = "primitives", "measurement of primitives"
    FOLDERS = (*RunFolder.FOLDERS, SAMPLES)
    KEY, RUN = PrimitiveKey, PrimitiveRun
    CONVERTER = run_converter(PrimitiveKey)

    def keep(self, run: PrimitiveRun) -> Path:
        """Its samples first: a run that is stored has them."""
        kept = [each.samples for each in run.threads if each.samples is not None]
        if kept:
            with self.lock():
                write_array(self._samples_path(run.key), columns_of(kept))
        return super().keep(run)

    def _samples_path(self, key: PrimitiveKey) -> Path:
        return self.path / SAMPLES / f"{key.text}.npy"

    def samples(self, key: PrimitiveKey) -> Integers | None:
        """A column a thread, a row an iteration, in ns; below 0 where a thread had none any more.
        None: they were not kept.

        Raises:
            DataError: The file is damaged.
        """
        path = self._samples_path(key)
        return read_array(path, what="samples", hint=RUN_HINT) if path.exists() else None


def columns_of(threads: Sequence[Integers]) -> Integers:
    made = np.full((max(map(len, threads)), len(threads)), NONE, np.int64)
    for column, each in enumerate(threads):
        made[: len(each), column] = each
    return made


_WITHOUT: dict[str, Any] = {"samples": override(omit=True)}
PrimitivesStore.CONVERTER.register_unstructure_hook(
    ThreadRun, make_dict_unstructure_fn(ThreadRun, PrimitivesStore.CONVERTER, **_WITHOUT)
)
PrimitivesStore.CONVERTER.register_structure_hook(
    ThreadRun, make_dict_structure_fn(ThreadRun, PrimitivesStore.CONVERTER, **_WITHOUT)
)


def thread_files(samples: Integers) -> Iterator[str]:
    """The file of each thread: a time in ns a line."""
    for column in samples.T:
        yield "".join(f"{value}\n" for value in column[column != NONE].tolist())


def merged(samples: Integers) -> str:
    """Text like RTSJMcBench's (the thesis, section 4.1): a column a thread under its number, a
    row an iteration, ns; empty where there was none."""
    heads = ",".join(f"Thread {number + 1}" for number in range(samples.shape[1]))
    texts = np.where(samples == NONE, "", samples.astype(str))
    return "".join(f"{row}\n" for row in (heads, *(",".join(each) for each in texts.tolist())))


def export(store: PrimitivesStore, folder: Path) -> list[Path]:
    """Writes the samples of every run into ``folder``; returns the merged files.

    Raises:
        UsageError: None were kept.
        DataError: Some are damaged.
        DeadbeatError: They cannot be written.
    """
    keys = sorted(store.committed())
    found = [(key, samples) for key in keys if (samples := store.samples(key)) is not None]
    if not found:
        hint = "measure with --keep and --samples"
        raise UsageError(f"{store.path} holds no single samples", hint)
    with storing(folder):
        folder.mkdir(parents=True, exist_ok=True)
    made = []
    for key, samples in found:
        for number, text in enumerate(thread_files(samples), start=1):
            atomic_write(folder / f"{key.text}.thread-{number}.txt", text)
        made.append(folder / f"{key.text}.csv")
        atomic_write(made[-1], merged(samples))
    return made
