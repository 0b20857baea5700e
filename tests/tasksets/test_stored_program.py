"""Truth: a program that was built once runs again as it is, nothing built, nothing changed."""

import shutil
from pathlib import Path

import pytest
from helpers.hardware import LOCK_WAIT, POOLS, executor, keys, settings, table_of, task, task_set

from deadbeat.base.model.errors import BuildError, UsageError
from deadbeat.build.toolchain import Toolchain
from deadbeat.tasksets.emit import task_set_id
from deadbeat.tasksets.executors.base import RunRequest
from deadbeat.tasksets.executors.hardware import HardwareExecutor

pytestmark = pytest.mark.hardware


def test_a_stored_program_runs_without_a_compiler(tmp_path: Path) -> None:
    sets = [task_set(task("busy", 100)), task_set(task("busy", 200))]
    requests = [RunRequest(key, one) for key, one in zip(keys(2), sets, strict=True)]
    stored = tmp_path / "batch-000.elf"
    with executor() as machine, machine.open(requests, settings()) as session:
        assert session.program is not None
        shutil.copy2(session.program, stored)
    nobody = HardwareExecutor(
        toolchain=Toolchain("/does/not/exist/cc"), pools=POOLS, lock_wait=LOCK_WAIT
    )
    try:
        with pytest.raises(BuildError):
            nobody.open(requests, settings())
        with nobody.open(requests, settings(), program=stored) as session:
            tables = [table_of(session.run(request.key)) for request in requests]
            assert session.program == stored
    finally:
        nobody.close()
    assert [table.set_id for table in tables] == [task_set_id(one) for one in sets]


def test_sets_for_more_cores_than_are_given_keep_their_number_and_are_not_run(tmp_path: Path):
    sets = [task_set(task("busy", 100), task("busy", 100, core=1)), task_set(task("busy", 200))]
    requests = [RunRequest(key, one) for key, one in zip(keys(2), sets, strict=True)]
    stored = tmp_path / "batch-000.elf"
    with executor() as machine:
        built = machine.open(requests, settings()).program
        shutil.copy2(built, stored)
        one_core = HardwareExecutor(cpus=machine.cpus[:1], pools=POOLS, lock_wait=LOCK_WAIT)
    try:
        with pytest.raises(UsageError, match="needs 2 cores"):
            one_core.open(requests, settings())
        with one_core.open(requests, settings(), program=stored) as session:
            with pytest.raises(UsageError, match="not in this session"):
                session.run(requests[0].key)
            table = table_of(session.run(requests[1].key))
    finally:
        one_core.close()
    assert table.set_id == task_set_id(sets[1])
