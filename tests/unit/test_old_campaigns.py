"""Truth: measurement.md: each planned window counts once, whatever the host did beside it."""

import json
import zlib
from collections.abc import Collection
from pathlib import Path

import numpy as np
import pytest
from helpers.campaigns import begin, tiny_spec
from helpers.rows import rows_of, sets_of
from helpers.runs import RunTask, Slot, calibration, job_table, key, ran, skip

from deadbeat.kinds.contention.place import choose
from deadbeat.kinds.contention.plan import plan
from deadbeat.kinds.contention.spec import read_spec
from deadbeat.kinds.contention.summarise import summarise
from deadbeat.model import jobs as j
from deadbeat.model.errors import UsageError
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


MS = 1_000_000
#: Together, alone, together again because the first was off, together: three planned windows.
WINDOWS = (
    Slot(start=0, end=50 * MS),
    Slot(start=100 * MS, end=150 * MS, solo=0),
    Slot(start=200 * MS, end=250 * MS),
    Slot(start=300 * MS, end=350 * MS),
)
#: The fourth window repeats the third.
OFF = (0, 2)


def attempt(*spans: int, late: int = 0) -> JobTable:
    """One task of C = 100 us, T = D = 1 ms; ten jobs a window. ``late`` of the first never run."""
    jobs = []
    for number, (window, span) in enumerate(zip(WINDOWS, spans, strict=True)):
        for i in range(10):
            at = window.start + i * MS
            missed = number == 0 and i < late
            jobs.append(skip(at) if missed else ran(at, at, at + span, slot=number))
    task = RunTask(wcet_ns=100_000, period_ns=MS, deadline_ns=MS)
    return job_table([task], [jobs], slots=WINDOWS)


@pytest.fixture
def store(tmp_path: Path) -> CampaignStore:
    """Three task sets: accepted at once, accepted as a second attempt, never accepted."""
    made = CampaignStore.create(tmp_path / "old", {"name": "old", **SPEC}, 5)
    made.save_calibration(calibration())
    keys = [key(cores=1, replica=replica) for replica in range(3)]
    commit_old(made, keys[0], version_2(attempt(120_000, 100_000, 140_000, 900_000), OFF))
    first = version_2(attempt(300_000, 100_000, 300_000, 100_000, late=5), OFF)
    reject_old(made, keys[1], 1, first)
    commit_old(made, keys[1], version_2(attempt(100_000, 100_000, 100_000, 100_000)))
    for number in (1, 2):
        data = version_2(attempt(200_000, 100_000, 200_000 * number, 100_000), OFF)
        reject_old(made, keys[2], number, data)
    made.fail(keys[2], "no quiet attempt in 2: yardstick off by up to +30.0 %")
    return CampaignStore.open(made.path)


def test_every_run_is_a_result_and_its_first_attempt_counts(store: CampaignStore) -> None:
    summary = summarise(store)
    (row,) = rows_of(summary)
    assert (row["task_sets"], row["slowdown_ci_basis"]) == (3, "sets")
    # The repeat of the third window (900 us) is left out; what was off is not.
    assert [item["slowdown_mean"] for item in sets_of(summary)] == pytest.approx([1.3, 3.0, 2.0])
    assert [item["file"].split("/")[0] for item in sets_of(summary)] == [
        "jobs",
        "rejected",
        "rejected",
    ]
    assert "failed-runs" not in {finding.id for finding in summary.findings}
    assert summary.meta["failed"] == {}


def test_the_misses_of_windows_that_were_set_aside_are_counted(store: CampaignStore) -> None:
    (row,) = rows_of(summarise(store))
    assert row["deadline_miss_ratio"] == pytest.approx(5 / 60)
    assert (row["miss_sets"], row["alone_miss_ratio"]) == (1, 0.0)
    assert row["miss_excess"] == pytest.approx(5 / 60)
    assert row["left_out"] == 0


def test_nothing_is_said_from_witnesses_of_another_length(store: CampaignStore) -> None:
    (row,) = rows_of(summarise(store))
    assert row["compute_ratio"] is row["slowdown_calm"] is None


def test_a_campaign_of_windows_is_not_continued_and_says_why(tmp_path: Path) -> None:
    spec = tiny_spec()
    made = begin(tmp_path, spec)
    plain = json.loads((made.path / "campaign.json").read_text())
    plain["spec"]["run"] |= SPEC["run"]
    plain["spec"]["quiet"] = SPEC["quiet"]
    (made.path / "campaign.json").write_text(json.dumps(plain))
    kept = read_spec(CampaignStore.open(made.path).spec)
    assert plan(kept) == plan(spec), "what it asked can still be read"
    with pytest.raises(UsageError, match="an earlier version, in windows instead of slots") as told:
        choose(tmp_path, spec)
    assert "--fresh" in told.value.hint
    assert choose(tmp_path, spec, fresh=True).path.name == "tiny-2"
