"""Truth: docs/reference/files.md: the layout, and what a damaged or foreign file leads to."""

import json
import os
from collections.abc import Callable
from pathlib import Path

import attrs
import numpy as np
import pytest
from helpers.latencies import made_up_runs
from helpers.processes import names
from helpers.runs import PlannedTask, RunTask, calibration, job_table, key, new_store, ran, task_set

from deadbeat.base.model import jobs as j
from deadbeat.base.model.errors import DataError, DeadbeatError, UsageError
from deadbeat.base.model.finding import Finding
from deadbeat.base.model.platform import example_platform
from deadbeat.base.model.traces import COUNTER_EVENTS
from deadbeat.base.store.files import free_bytes, move_file, tool_version
from deadbeat.base.store.place import point_latest
from deadbeat.latencies.latency.model import IDLE, Circumstances, LatencyKey
from deadbeat.latencies.latency.store import LatencyStore
from deadbeat.machine.trace.paths import PathSplit, WorstTraced
from deadbeat.tasksets.model.results import Point, RunKey
from deadbeat.tasksets.model.tasks import Resource
from deadbeat.tasksets.store.campaign import CampaignStore, estimate_bytes
from deadbeat.tasksets.store.jobfile import read_job_table, write_job_table
from deadbeat.tasksets.store.serial import read_calibration, write_calibration

TABLE = job_table([RunTask()], [[ran(0, 10, 110)]])
OTHER = job_table([RunTask()], [[ran(0, 10, 120)]])


# -- life of the directory


def test_what_was_created_is_what_is_opened(tmp_path: Path) -> None:
    CampaignStore.create(tmp_path / "a" / "b", {"grid": [1, 2], "name": "é"}, 2**63)
    store = CampaignStore.open(tmp_path / "a" / "b")
    assert store.spec == {"grid": [1, 2], "name": "é"}
    assert store.seed == 2**63


def test_a_campaign_is_not_started_among_other_things(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("precious")
    with pytest.raises(UsageError, match=r"not empty: it holds thesis\.tex"):
        new_store(tmp_path)
    assert names(tmp_path) == ["thesis.tex"]


def test_a_campaign_that_was_killed_while_it_began_can_begin_again(tmp_path: Path) -> None:
    (tmp_path / "jobs").mkdir()
    (tmp_path / "campaign.json.77.part").write_text('{"for')
    new_store(tmp_path)
    assert not list(tmp_path.glob("*.part"))


def test_left_over_parts_are_neither_read_nor_kept(tmp_path: Path) -> None:
    store = new_store(tmp_path)
    store.commit(key(), TABLE)
    part = tmp_path / "jobs" / f"{key(replica=1).text}.jobs.1234.part"
    part.write_bytes(b"half")
    opened = CampaignStore.open(tmp_path)
    assert opened.committed() == {key()}
    assert part.exists()  # whoever only reads removes nothing
    with opened.lock():
        opened.clean()
    assert not part.exists()


# -- runs


def test_a_committed_run_is_immutable(tmp_path: Path) -> None:
    store = new_store(tmp_path)
    path = store.commit(key(), TABLE)
    before = path.read_bytes()
    write_job_table(tmp_path / "other.jobs", OTHER)
    with pytest.raises(DeadbeatError, match="committed already"):
        store.commit(key(), OTHER)
    with pytest.raises(DeadbeatError, match="committed already"):
        store.commit(key(), OTHER, tmp_path / "other.jobs")
    assert path.read_bytes() == before
    assert (tmp_path / "other.jobs").exists()


def test_a_file_is_committed_by_moving_it(tmp_path: Path) -> None:
    store = new_store(tmp_path / "c")
    write_job_table(tmp_path / "made.jobs", TABLE)
    store.commit(key(), TABLE, tmp_path / "made.jobs")
    assert not (tmp_path / "made.jobs").exists()
    assert store.committed() == {key()}


def test_an_inconsistent_table_is_not_committed(tmp_path: Path) -> None:
    backwards = job_table([RunTask()], [[ran(0, 10, 5)]])
    store = new_store(tmp_path)
    with pytest.raises(DataError, match="finishes before it starts"):
        store.commit(key(), backwards)
    assert store.committed() == set()


@pytest.mark.skipif(not Path("/dev/shm").is_dir(), reason="no second file system")
def test_a_file_of_another_file_system_is_copied_whole(tmp_path: Path) -> None:
    source = Path(f"/dev/shm/deadbeat-test-{os.getpid()}.jobs")
    write_job_table(source, TABLE)
    try:
        assert source.stat().st_dev != tmp_path.stat().st_dev
        move_file(source, tmp_path / "moved.jobs")
        assert not source.exists()
    finally:
        source.unlink(missing_ok=True)
    assert read_job_table(tmp_path / "moved.jobs").jobs.tobytes() == TABLE.jobs.tobytes()
    assert names(tmp_path) == ["moved.jobs"]


def test_failures_are_counted_until_the_run_succeeds(tmp_path: Path) -> None:
    store = new_store(tmp_path)
    store.fail(key(), "guardian stopped it")
    store.fail(key(), "out of memory")
    store.fail(key(replica=1), "lost")
    assert store.failed()[key()] == {"key": key().text, "reason": "out of memory", "attempt": 2}
    store.clear_failed(key(replica=1))
    assert set(store.failed()) == {key()}
    store.commit(key(), TABLE)
    assert store.failed() == {}


def test_a_run_that_is_not_there_is_a_usage_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="has no run m002"):
        new_store(tmp_path).table(key())


# -- keys


def test_keys_survive_their_text() -> None:
    for made in (key(), RunKey(Point(128, 0, 0), 9999), RunKey(Point(1, 1000, 1000), 12345)):
        assert RunKey.parse(made.text) == made


@pytest.mark.parametrize(
    "text",
    ["", "m2-s0500-c1000-r0007", "m002-s0500-c1000-r0007.1", "m002-s1001-c1000-r0007",
     "m000-s0000-c0000-r0000", "m0002-s0500-c1000-r0007", "m002-s0500-c1000-r0007\n"],
)  # fmt: skip
def test_a_text_that_is_no_key_is_refused(text: str) -> None:
    with pytest.raises(DataError, match="is not a run key"):
        RunKey.parse(text)


# -- programs


def test_task_sets_are_read_back_run_by_run(tmp_path: Path) -> None:
    first = task_set([PlannedTask(core=0, uses=[("work", 3, None), ("lock", 2, 0)])],
                     [Resource("lock", None), Resource("lock", 0)])  # fmt: skip
    second = task_set([PlannedTask(core=1)])
    store = new_store(tmp_path / "c")
    (tmp_path / "made.elf").write_bytes(b"\x7fELF")
    stored = store.programs.save(
        "b0", "int x;\n", [(key(), first), (key(replica=1), second)], tmp_path / "made.elf",
        set_ids=["a" * 64, "b" * 64],
    )  # fmt: skip
    again = CampaignStore.open(tmp_path / "c")
    assert again.programs.task_set(key()) == first
    assert again.programs.task_set(key(replica=1)) == second
    assert again.programs.keys() == {key(), key(replica=1)}
    (program,) = again.programs.all()
    assert (program.batch, program.elf, program.keys) == ("b0", stored, (key(), key(replica=1)))
    assert program.source.read_text() == "int x;\n"
    planned = again.programs.planned(key(replica=1))
    assert (planned.index, planned.set_id) == (1, "b" * 64)
    assert again.programs.planned(key(replica=2)) is None
    with pytest.raises(DataError, match="no program"):
        again.programs.task_set(key(replica=2))


def test_a_batch_without_its_index_does_not_exist(tmp_path: Path) -> None:
    store = new_store(tmp_path)
    (tmp_path / "programs" / "b0.c").write_text("int x;")
    assert store.programs.all() == ()


def test_a_batch_name_cannot_leave_its_folder(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot name a batch"):
        new_store(tmp_path).programs.save("../b", "", [])


# -- sessions, calibration


def test_sessions_are_numbered_and_paired(tmp_path: Path) -> None:
    store = new_store(tmp_path)
    assert store.next_session() == 1
    store.save_session(1, "before", {"kernel": "a"})
    store.save_session(1, "after", {"kernel": "b"})
    store.save_session(2, "before", {"kernel": "c"})
    assert store.next_session() == 3
    one, two = store.sessions()
    assert (one.before, one.after) == ({"kernel": "a"}, {"kernel": "b"})
    assert (two.number, two.before, two.after) == (2, {"kernel": "c"}, None)


def test_latest_follows_the_last_campaign(tmp_path: Path) -> None:
    new_store(tmp_path / "a")
    new_store(tmp_path / "b")
    point_latest(tmp_path, "a")
    assert CampaignStore.open(point_latest(tmp_path, "b")).path.resolve() == tmp_path / "b"
    assert names(tmp_path) == ["a", "b", "latest"]


def test_latest_does_not_replace_a_folder(tmp_path: Path) -> None:
    (tmp_path / "latest").mkdir()
    with pytest.raises(UsageError, match="is not a link"):
        point_latest(tmp_path, "a")


def test_the_estimate_is_what_the_files_take(tmp_path: Path) -> None:
    """Also of round trips between cores, details and counters."""
    alone = [(0, 2, 0, 0, 1)]
    trips = [*alone, *((slot, 3, 0, 1 + b, 1) for slot in (0, 1) for b in range(7))]
    plain = job_table([RunTask()], [[ran(0, 10, 110)] * 5], probes=alone)
    counters = np.zeros(len(COUNTER_EVENTS), j.COUNTER_DTYPE)
    for table, asked in (
        (job_table([RunTask()] * 2, [[ran(0, 10, 110)] * 5] * 2, probes=alone * 2),
         {"jobs": 10, "tasks": 2, "slots": 1}),
        (job_table([RunTask()], [[]], probes=trips), {"jobs": 0, "cores": 9}),
        (attrs.evolve(plain, details=np.zeros(5, j.DETAIL_DTYPE), counters=counters),
         {"jobs": 5, "details": True, "counted": 1}),
    ):  # fmt: skip
        write_job_table(tmp_path / "x.jobs", table)
        assert estimate_bytes(runs=3, **asked) == 3 * (tmp_path / "x.jobs").stat().st_size
    assert free_bytes(tmp_path / "not" / "yet") > 0


# -- damaged and foreign files


DAMAGES = {
    "cut": lambda data: data[:-3],
    "bytes": lambda _: b"\xff\xfe{}",
    "shape": lambda _: b"[1, 2]\n",
    "nesting": lambda _: b"[" * 100_000,
    "emptied": lambda _: b"",
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
@pytest.mark.parametrize(
    "name",
    ["campaign.json", "calibration.json", "sessions/001-before.json",
     "programs/b0.json", "failed/m002-s0500-c1000-r0000.json"],
)  # fmt: skip
def test_a_damaged_file_is_one_line_that_names_it(
    tmp_path: Path, name: str, damage: Callable[[bytes], bytes]
) -> None:
    store = new_store(tmp_path)
    store.save_calibration(calibration())
    store.save_session(1, "before", {})
    store.programs.save("b0", "", [(key(), task_set([PlannedTask(core=0)]))])
    store.fail(key(), "x")
    (tmp_path / name).write_bytes(damage((tmp_path / name).read_bytes()))
    with pytest.raises(DataError) as caught:
        again = CampaignStore.open(tmp_path)
        again.load_calibration()
        again.sessions()
        again.programs.task_set(key())
        again.failed()
    assert str(tmp_path / name) in caught.value.message
    assert "\n" not in str(caught.value)
    assert caught.value.hint


@pytest.mark.parametrize("name", ["campaign.json", "calibration.json"])
def test_a_foreign_format_names_the_version_that_wrote_it(tmp_path: Path, name: str) -> None:
    store = new_store(tmp_path)
    store.save_calibration(calibration())
    path = tmp_path / name
    path.write_text(json.dumps(json.loads(path.read_text()) | {"format": 2, "tool": "9.1"}))
    with pytest.raises(DataError, match=r"has format 2, written by deadbeat 9\.1") as caught:
        again = CampaignStore.open(tmp_path)
        again.load_calibration()
    assert f"deadbeat {tool_version()} reads format 1" in caught.value.message
    assert caught.value.hint == "open it with deadbeat 9.1"


@pytest.mark.parametrize(
    ("change", "part"),
    [
        ({"costs": {"work": []}}, "expected name/size"),
        ({"costs": {"work/1": []}}, "work/1 has no cost"),
        ({"yardstick_ps": [0]}, "less than 1 ps"),
        ({"yardstick_ps": "fast"}, "yardstick_ps"),
        ({"surprise": 1}, "surprise"),
        ({"platform": None}, "platform"),
    ],
)
def test_a_calibration_with_a_wrong_key_names_it(
    tmp_path: Path, change: dict[str, object], part: str
) -> None:
    path = tmp_path / "calibration.json"
    write_calibration(path, calibration())
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    with pytest.raises(DataError, match=part) as caught:
        read_calibration(path)
    assert str(path) in caught.value.message


def test_a_folder_that_is_no_campaign_says_so(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"has no campaign\.json"):
        CampaignStore.open(tmp_path)


@pytest.fixture
def store(tmp_path: Path) -> LatencyStore:
    return LatencyStore.create(tmp_path / "m", {"name": "m"}, example_platform())


def test_a_run_comes_back_as_it_went(store: LatencyStore) -> None:
    (run,) = made_up_runs(loads=[IDLE], repeats=1)
    split = PathSplit(
        cpu=0, parts={"interrupt": run.cpus[0].raw}, worst=WorstTraced(cause="x", exit=3)
    )
    run = attrs.evolve(
        run,
        split=(split,),
        problems=(Finding(id="steal", severity="warning", message="2 %"),),
        circumstances=Circumstances(missing={"temperature": "no such file"}),
    )
    store.keep(run)
    again = LatencyStore.open(store.path)
    assert (again.spec, again.platform) == ({"name": "m"}, example_platform())
    (found,) = again.runs()
    assert found == run
    assert found.cpus[0].raw.counts.tolist() == run.cpus[0].raw.counts.tolist()
    assert found.split[0].parts["interrupt"].buckets.tolist() == run.cpus[0].raw.buckets.tolist()


def test_a_run_is_never_replaced_and_a_failure_is_forgotten_once_it_is_measured(
    store: LatencyStore,
) -> None:
    (run,) = made_up_runs(loads=[IDLE], repeats=1)
    store.fail(run.key, "busy")
    other = LatencyKey(IDLE, "prober", 7)
    store.fail(other, "lost")
    store.keep(run)
    assert store.failed() == {other: "lost"}
    with pytest.raises(DeadbeatError, match="counts: it is not measured again"):
        store.keep(run)
