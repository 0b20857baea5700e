"""Campaigns as versions with windows left them: job files of version 2, rejected attempts."""

from __future__ import annotations

import zlib
from collections.abc import Collection
from pathlib import Path

import numpy as np

from deadbeat.model import jobs as j
from deadbeat.model.jobs import JobTable
from deadbeat.model.results import RunKey
from deadbeat.store.campaign import CampaignStore
from deadbeat.store.jobfile import MAGIC

#: What their specifications had and today's have not.
SPEC = {
    "run": {"windows": 4, "solo_seconds": 0.2},
    "quiet": {"tolerance": 0.02, "extra_windows": 4, "repeats": 2, "repeat_share": 0.1},
}


def version_2(table: JobTable, off: Collection[int] = ()) -> bytes:
    """``table`` as a file of version 2, its slots as windows; ``off``: those off the quiet mode."""
    windows = np.zeros(len(table.slots), j.WINDOW_DTYPE)
    windows["window"] = table.slots["slot"]
    for name in ("kind", "task", "start_ns", "end_ns"):
        windows[name] = table.slots[name]
    windows["flags"][list(off)] = j.WINDOW_OFF
    sections = {
        "task": (table.tasks, j.TASK_DTYPE),
        "slot": (windows, j.WINDOW_DTYPE),
        "probe": (table.probes, j.PROBE_DTYPE),
        "job": (table.jobs, j.JOB_DTYPE),
        "detail": (table.details, j.DETAIL_DTYPE),
        "counter": (table.counters, j.COUNTER_DTYPE),
    }
    header = np.array(table.header, j.HEADER_DTYPE)
    header["magic"], header["version"] = MAGIC, 2
    header["header_bytes"] = j.HEADER_DTYPE.itemsize
    for name, (rows, dtype) in sections.items():
        header["record_bytes" if name == "job" else f"{name}_bytes"] = dtype.itemsize
        header[f"{name}_count"] = len(rows)
    body = header.tobytes() + b"".join(
        np.ascontiguousarray(rows, dtype).tobytes() for rows, dtype in sections.values()
    )
    return body + zlib.crc32(body).to_bytes(4, "little")


def commit_old(store: CampaignStore, key: RunKey, data: bytes) -> Path:
    """A run whose attempt the earlier version accepted."""
    path = store.path / "jobs" / f"{key.text}.jobs"
    path.write_bytes(data)
    return path


def reject_old(store: CampaignStore, key: RunKey, attempt: int, data: bytes) -> Path:
    """An attempt that the earlier version set aside."""
    (store.path / "rejected").mkdir(exist_ok=True)
    path = store.path / "rejected" / f"{key.text}.{attempt}.jobs"
    path.write_bytes(data)
    return path
