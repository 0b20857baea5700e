"""Truth: the structs of runtime/include/deadbeat/records.h, as the C compiler lays them out."""

import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from deadbeat.base.model import jobs as j
from deadbeat.base.model.traces import COUNTER_EVENTS
from deadbeat.tasksets.store.jobfile import read_job_table, write_job_table

HERE = Path(__file__).parent
GOLDEN = HERE / "records-v3.jobs"
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
    assert (tmp_path / "c.jobs").read_bytes() == GOLDEN.read_bytes()


def test_what_numpy_writes_is_the_golden_file(tmp_path: Path) -> None:
    write_job_table(tmp_path / "again.jobs", read_job_table(GOLDEN))
    assert (tmp_path / "again.jobs").read_bytes() == GOLDEN.read_bytes()


def test_details_and_counters_have_the_values_that_c_gave_them() -> None:
    table = read_job_table(GOLDEN)
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


def test_every_field_has_the_value_that_c_gave_it() -> None:
    table = read_job_table(GOLDEN)
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
    assert table.slots.tolist() == [
        (0, j.SLOT_TOGETHER, 65535, 3, 50, 100, 20000000),
        (1, j.SLOT_SOLO, 1, 4, 20000000, 20000100, 40000000),
    ]
    assert table.probes.tolist() == [
        (0, j.PROBE_WITNESS, 10, 0, 20000000, 61000000),
        (0, j.PROBE_WITNESS, 11, 1, 20000000, 55000),
        (1, j.PROBE_WITNESS, 11, 1, 40000000, 62000000),
    ]
    ran = j.JOB_COUNTED | j.JOB_STARTED | j.JOB_FINISHED | j.JOB_SPLIT
    assert table.jobs.tolist() == [
        (1000, 3000, 303000, 290000, 700, 800, 9, 11, 0, 0, ran),
        (3001000, j.NEVER, j.NEVER, 0, 0, 0, 0, 0, 0, 0, j.JOB_COUNTED | j.JOB_SKIPPED),
        (20001000, 20003000, j.NEVER, 0, 0, 0, 0, 0, 1, 1, j.JOB_SOLO | j.JOB_STARTED),
    ]


def test_arrays_of_a_read_table_cannot_be_changed() -> None:
    table = read_job_table(GOLDEN)
    with pytest.raises(ValueError, match="read-only"):
        table.jobs["release_ns"][0] = 1
    assert isinstance(table.jobs, np.ndarray)
