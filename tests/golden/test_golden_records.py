"""Truth: the structs of runtime/include/deadbeat/records.h, as the C compiler lays them out."""

import shutil
import struct
import subprocess
import zlib
from pathlib import Path

import numpy as np
import pytest

from deadbeat.model import jobs as j
from deadbeat.model.traces import COUNTER_EVENTS
from deadbeat.store.jobfile import parse_job_table, read_job_table, write_job_table

HERE = Path(__file__).parent
GOLDEN = {version: HERE / f"records-v{version}.jobs" for version in (1, 2, 3)}
INCLUDE = HERE.parents[1] / "runtime" / "include"


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    compiler = shutil.which("gcc") or shutil.which("cc")
    assert compiler, "a C compiler is needed"
    made = tmp_path_factory.mktemp("records") / "records"
    flags = ["-std=c11", "-O2", "-Wall", "-Wextra", "-Werror", "-Wmissing-prototypes", "-Wshadow"]
    subprocess.run([compiler, *flags, "-I", INCLUDE, HERE / "records.c", "-o", made], check=True)
    return made


def test_what_c_writes_today_is_the_golden_file(program: Path, tmp_path: Path) -> None:
    subprocess.run([program, tmp_path / "c.jobs"], check=True)
    assert (tmp_path / "c.jobs").read_bytes() == GOLDEN[3].read_bytes()


def test_what_numpy_writes_is_the_golden_file(tmp_path: Path) -> None:
    write_job_table(tmp_path / "again.jobs", read_job_table(GOLDEN[3]))
    assert (tmp_path / "again.jobs").read_bytes() == GOLDEN[3].read_bytes()


def test_a_file_of_version_1_has_no_details_and_no_counters() -> None:
    table = read_job_table(GOLDEN[1])
    assert len(table.jobs) == 3
    assert (len(table.details), len(table.counters)) == (0, 0)
    assert table.details.dtype == j.DETAIL_DTYPE
    assert table.counters.dtype == j.COUNTER_DTYPE


@pytest.mark.parametrize("version", [2, 3])
def test_details_and_counters_have_the_values_that_c_gave_them(version: int) -> None:
    table = read_job_table(GOLDEN[version])
    assert int(table.header["wall_ns"]) == 6000006
    assert table.details.tolist() == [
        (70001, 80002, 4003, 5, 6, 7, j.DETAIL_SY),
        (0, 0, 0, j.NO_USE, 0, 0, 0),
        (0, 0, 0, j.NO_USE, 8, 0, 0),
    ]
    number = COUNTER_EVENTS.index
    assert table.counters.tolist() == [
        (0, 0, number("context_switches"), j.COUNTER_COUNTED, 11, 12, 12),
        (0, 0, number("cycles"), j.COUNTER_SCALED, 21, 22, 20),
        (0, 0, number("branch_misses"), j.COUNTER_REFUSED, 0, 0, 0),
        (1, 1, number("cycles"), j.COUNTER_UNSUPPORTED, 0, 0, 0),
    ]


#: The windows of earlier versions are slots without a warm-up; both are of one round.
WINDOWS = [
    (0, j.SLOT_TOGETHER, 65535, 0, 100, 100, 20000000),
    (1, j.SLOT_SOLO, 1, 0, 20000100, 20000100, 40000000),
]
BOUNDARIES = [
    (0, j.PROBE_YARDSTICK, 0, 65535, -5, 61000000),
    (1, j.PROBE_CACHE_LINE, 0, 1, 20000050, 55000),
    (2, j.PROBE_YARDSTICK, 1, 65535, 40000050, 62000000),
]
SLOTS = {
    1: WINDOWS,
    2: WINDOWS,
    3: [
        (0, j.SLOT_TOGETHER, 65535, 3, 50, 100, 20000000),
        (1, j.SLOT_SOLO, 1, 4, 20000000, 20000100, 40000000),
    ],
}
PROBES = {
    1: BOUNDARIES,
    2: BOUNDARIES,
    3: [
        (0, j.PROBE_WITNESS, 10, 0, 20000000, 61000000),
        (0, j.PROBE_WITNESS, 11, 1, 20000000, 55000),
        (1, j.PROBE_WITNESS, 11, 1, 40000000, 62000000),
    ],
}


@pytest.mark.parametrize("version", GOLDEN)
def test_every_field_has_the_value_that_c_gave_it(version: int) -> None:
    table = read_job_table(GOLDEN[version])
    header = table.header
    assert int(header["flags"]) == 31
    times = ("epoch_ns", "epoch_realtime_ns", "clock_cost_ps", "measured_ns", "setup_ns")
    assert [int(header[name]) for name in times] == [
        1000000000001,
        1700000000000000002,
        20003,
        40000004,
        5000005,
    ]
    assert table.set_id == "".join("0123456789abcdef"[i * 7 % 16] for i in range(64))
    assert table.tasks.tolist() == [
        (0, 10, 20, 1, 60, 300000, 3000000, 2900000, 1000, 0, 2),
        (1, 11, 21, 1, 61, 300001, 3000001, 2900001, 1001, 2, 1),
    ]
    assert table.slots.tolist() == SLOTS[version]
    assert table.probes.tolist() == PROBES[version]
    ran = j.JOB_COUNTED | j.JOB_STARTED | j.JOB_FINISHED | j.JOB_SPLIT
    assert table.jobs.tolist() == [
        (1000, 3000, 303000, 290000, 700, 800, 9, 11, 0, 0, ran),
        (3001000, j.NEVER, j.NEVER, 0, 0, 0, 0, 0, 0, 0, j.JOB_COUNTED | j.JOB_SKIPPED),
        (20001000, 20003000, j.NEVER, 0, 0, 0, 0, 0, 1, 1, j.JOB_SOLO | j.JOB_STARTED),
    ]


def test_of_a_repeated_window_the_first_attempt_counts(tmp_path: Path) -> None:
    """Truth: decision 0016: a repeat was chosen by its outcome. Flags of the windows are patched in
    the golden file: two of a kind, the first off the quiet mode."""
    data = bytearray(GOLDEN[1].read_bytes())
    windows = 256 + 2 * 64
    for row, (kind, task, off) in enumerate([(0, 0xFFFF, 1), (0, 0xFFFF, 0)]):
        data[windows + row * 24 + 2 : windows + row * 24 + 8] = struct.pack("<HHH", kind, task, off)
    data[-4 - 4 : -4] = struct.pack("<I", j.JOB_COUNTED | j.JOB_STARTED)  # of the last job
    data[-4:] = struct.pack("<I", zlib.crc32(bytes(data[:-4])))
    table = parse_job_table(bytes(data), name="x.jobs")
    assert (table.jobs["flags"] & j.JOB_COUNTED != 0).tolist() == [True, True, False]


def test_arrays_of_a_read_table_cannot_be_changed() -> None:
    table = read_job_table(GOLDEN[3])
    with pytest.raises(ValueError, match="read-only"):
        table.jobs["release_ns"][0] = 1
    assert isinstance(table.jobs, np.ndarray)
