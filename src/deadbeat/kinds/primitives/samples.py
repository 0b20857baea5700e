"""Samples that were kept as RTSJMcBench leaves them: a file a thread, and all of them side by side.

The thesis, section 4.1: "Each thread reports the time values in a separate file. A separate tool
merges the individual result files into a CSV file where each column represents the values of a
single thread."
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from deadbeat.kinds.primitives.runs import NONE, Integers, PrimitivesStore
from deadbeat.model.errors import UsageError
from deadbeat.store.files import atomic_write, storing


def thread_files(samples: Integers) -> Iterator[str]:
    """The file of each thread: a time in ns a line."""
    for column in samples.T:
        yield "".join(f"{value}\n" for value in column[column != NONE].tolist())


def merged(samples: Integers) -> str:
    """A column a thread under its number, a row an iteration, ns; empty where there was none."""
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
