"""A study on a real Dask cluster: a scheduler and two worker processes on loopback."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from helpers.processes import until

from deadbeat.experiment.run import run as carry_out
from deadbeat.kinds.study import runner
from deadbeat.kinds.study.chunks import chunk_count
from deadbeat.kinds.study.preset import specify
from deadbeat.kinds.study.runner import Cluster, StudyExperiment, Threads, load
from deadbeat.kinds.study.spec import digest, spec_dict
from deadbeat.model.errors import TargetError, UsageError
from deadbeat.store.study import StudyStore

distributed = pytest.importorskip("distributed")

SPEC = specify(
    {
        "processors": "2,4",
        "tasks": "8..12:2",
        "utilisation": "0.6..0.9:0.1",
        "policies": "g-edf,p-edf",
        "tests": "gfb",
        "sets": 60,
        "metrics": True,
        "generator": {"lcm_limit": 5000},
    }
)


def _start(*words: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "distributed.cli." + words[0], *words[1:]],
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        text=True,
        # Dashboards and nannies would be further processes and ports.
        env={**os.environ, "DASK_DISTRIBUTED__WORKER__DAEMON": "False"},
    )


@contextmanager
def _cluster(tmp_path: Path, workers: int) -> Iterator[tuple[str, list[subprocess.Popen[str]]]]:
    """Address, and the processes: the scheduler first."""
    file = tmp_path / "scheduler.json"
    common = ["--scheduler-file", str(file)]
    processes = [
        _start("dask_scheduler", *common, "--host", "127.0.0.1", "--port", "0", "--no-dashboard")
    ]
    try:
        processes += [
            _start("dask_worker", *common, "--no-nanny", "--nthreads", "1", "--no-dashboard")
            for _ in range(workers)
        ]
        yield _address(file, processes, workers), processes
    finally:
        for process in processes:
            process.kill()
            process.communicate()


def _address(file: Path, processes: list[subprocess.Popen[str]], workers: int) -> str:
    until(lambda: processes[0].poll() is not None or (file.exists() and file.read_text()))
    assert processes[0].poll() is None
    with distributed.Client(scheduler_file=str(file), set_as_default=False) as client:
        if workers:
            client.wait_for_workers(workers, timeout=60)
        return str(client.scheduler.address)


def _store(path: Path) -> StudyStore:
    plain = spec_dict(SPEC)
    return StudyStore.create(path, plain, digest(plain))


@pytest.fixture(scope="module")
def local(tmp_path_factory: pytest.TempPathFactory) -> np.ndarray:
    store = _store(tmp_path_factory.mktemp("local") / "study")
    carry_out(StudyExperiment(SPEC, store, Threads(2)), on_event=lambda event: None)
    return load(SPEC, store)


def test_a_killed_worker_loses_nothing_and_results_are_the_local_ones(
    tmp_path: Path, local: np.ndarray
) -> None:
    store = _store(tmp_path / "study")
    with _cluster(tmp_path, workers=2) as (address, processes):
        seen: list[int] = []

        def kill_one_half_way(event) -> None:
            seen.append(event.done)
            if event.done >= SPEC.total // 2 and processes[-1].poll() is None:
                os.kill(processes[-1].pid, signal.SIGKILL)
                processes[-1].wait()

        carry_out(StudyExperiment(SPEC, store, Cluster(address)), on_event=kill_one_half_way)
        assert processes[-1].returncode == -signal.SIGKILL
    assert seen[-1] == SPEC.total
    assert len(seen) == chunk_count(SPEC) + 1
    assert load(SPEC, store).tobytes() == local.tobytes()


def test_a_lost_scheduler_keeps_what_is_stored_and_the_study_goes_on_locally(
    tmp_path: Path, local: np.ndarray
) -> None:
    store = _store(tmp_path / "study")
    with _cluster(tmp_path, workers=1) as (address, processes):

        def kill_the_scheduler(event) -> None:
            if event.done and processes[0].poll() is None:
                os.kill(processes[0].pid, signal.SIGKILL)
                processes[0].wait()

        with pytest.raises(TargetError, match=r"was lost.*kept"):
            carry_out(StudyExperiment(SPEC, store, Cluster(address)), on_event=kill_the_scheduler)
    assert 1 <= len(store.finished()) < chunk_count(SPEC)
    carry_out(StudyExperiment(SPEC, store, Threads(2)), on_event=lambda event: None)
    assert load(SPEC, store).tobytes() == local.tobytes()


def test_a_worker_that_computes_otherwise_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = _store(tmp_path / "study")
    monkeypatch.setattr(runner, "tool_version", lambda: "9.9.9")
    with (
        _cluster(tmp_path, workers=1) as (address, _),
        pytest.raises(UsageError, match=r"a worker has deadbeat .*, not 9\.9\.9"),
    ):
        carry_out(StudyExperiment(SPEC, store, Cluster(address)), on_event=lambda event: None)
    assert store.finished() == set()


def test_nobody_at_the_address_is_told_in_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runner, "_CONNECT_S", 1)
    with pytest.raises(TargetError, match="cannot reach a Dask scheduler") as caught:
        carry_out(
            StudyExperiment(SPEC, _store(tmp_path / "study"), Cluster("tcp://127.0.0.1:9")),
            on_event=lambda event: None,
        )
    assert "\n" not in str(caught.value)
