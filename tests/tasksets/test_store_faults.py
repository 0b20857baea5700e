"""Truth: the promises of store.files under a full disk, a second writer and kill -9."""

import os
import signal
from pathlib import Path

import pytest
from helpers.processes import names, other_process_holding, python
from helpers.runs import RunTask, job_table, key, new_store, ran

from deadbeat.base.model.errors import DataError, DeadbeatError
from deadbeat.base.store.files import atomic_write, followed, read_bytes
from deadbeat.tasksets.model.results import PrecisionRecord
from deadbeat.tasksets.store.campaign import CampaignStore

TABLE = job_table([RunTask()], [[ran(0, 10, 110)]])

CHILD_FULL = """
import resource, sys
from pathlib import Path
from deadbeat.base.model.errors import DeadbeatError
from deadbeat.tasksets.store.campaign import CampaignStore
from helpers.runs import RunTask, job_table, key, ran
store = CampaignStore.open(Path(sys.argv[1]))
table = job_table([RunTask()], [[ran(i * 1000, i * 1000, i * 1000 + 9) for i in range(500)]])
resource.setrlimit(resource.RLIMIT_FSIZE, (8192, 8192))
try:
    store.commit(key(), table)
except DeadbeatError as error:
    print(error.message)
    print(error.hint)
"""


def test_a_disk_that_fills_up_leaves_nothing_half_written(tmp_path: Path) -> None:
    new_store(tmp_path)
    output, _ = python(CHILD_FULL, str(tmp_path)).communicate()
    message, hint = output.splitlines()
    assert "cannot write" in message
    assert "ulimit -f" in hint
    assert names(tmp_path / "jobs") == []
    store = CampaignStore.open(tmp_path)
    store.commit(key(), TABLE)


def test_a_file_that_cannot_be_written_keeps_its_old_content(tmp_path: Path) -> None:
    blocked = tmp_path / "folder"
    blocked.mkdir()
    (blocked / "inside").write_text("")
    with pytest.raises(DeadbeatError, match="cannot write"):
        atomic_write(blocked, "new")
    assert names(tmp_path) == ["folder"]
    with pytest.raises(DeadbeatError, match=r"Not a directory|exists"):
        atomic_write(blocked / "inside" / "x", "new")


def test_two_processes_never_write_one_campaign(tmp_path: Path) -> None:
    store = new_store(tmp_path)
    with other_process_holding(tmp_path) as child:
        with pytest.raises(DeadbeatError, match=f"process {child.pid}") as caught:
            store.commit(key(), TABLE)
        assert "is writing" in caught.value.message
        assert store.committed() == set()
    store.commit(key(), TABLE)


def test_the_lock_nests_within_a_process(tmp_path: Path) -> None:
    store = new_store(tmp_path)
    with store.lock(), CampaignStore.open(tmp_path).lock():
        store.commit(key(), TABLE)
    with other_process_holding(tmp_path):
        pass


CHILD_COMMITS = """
import itertools, sys
from pathlib import Path
from deadbeat.tasksets.model.results import KnownPoint, PrecisionRecord
from deadbeat.tasksets.store.campaign import CampaignStore
from helpers.runs import RunTask, job_table, key, ran
store = CampaignStore.open(Path(sys.argv[1]))
jobs = [ran(i * 1000, i * 1000, i * 1000 + 9) for i in range(200)]
table = job_table([RunTask()], [jobs])
first = len(store.committed())
with store.lock():
    for replica in itertools.count(first):
        print(replica, flush=True)
        store.commit(key(replica=replica), table)
        points = {"x" * 5000: KnownPoint(stopped="not finished")}
        store.save_precision(
            PrecisionRecord(metric="slowdown", target=0.1, points=points, planned=replica)
        )
"""


def test_kill_9_leaves_whole_files_only(tmp_path: Path) -> None:
    begun = PrecisionRecord(metric="slowdown", target=0.1, points={}, planned=-1)
    new_store(tmp_path).save_precision(begun)
    announced = -1
    for round_ in range(0, 8, 2):
        child = python(CHILD_COMMITS, str(tmp_path))
        for _ in range(1 + round_):
            announced = int(child.stdout.readline())
        child.send_signal(signal.SIGKILL)
        rest, _ = child.communicate()
        announced = max([announced, *map(int, rest.split())])
        store = CampaignStore.open(tmp_path)
        done = store.committed()
        assert {made.replica for made in done} >= set(range(announced))
        assert all(len(store.table(made).jobs) == 200 for made in done)
        record = store.load_precision()
        assert record.planned >= announced - 2
        with store.lock():
            store.clean()
        assert not list(tmp_path.rglob("*.part"))


# --- a pipe has no end, a device no size: only regular files are opened


@pytest.mark.parametrize("kind", ["pipe", "device", "folder", "loop"])
def test_what_is_no_regular_file_is_refused_at_once(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    else:
        path.symlink_to("/dev/zero" if kind == "device" else path)
    with pytest.raises(DataError) as caught:
        read_bytes(path, what="run", hint="delete it")
    assert str(path) in caught.value.message and caught.value.hint == "delete it"


def test_a_link_is_followed_only_where_a_person_names_it(tmp_path: Path) -> None:
    path, link = tmp_path / "a", tmp_path / "b"
    path.write_bytes(b"content")
    link.symlink_to(path)
    assert read_bytes(path, what="run", hint="") == b"content"
    assert read_bytes(followed(link), what="run", hint="") == b"content"
    with pytest.raises(DataError, match="it is a link"):
        read_bytes(link, what="run", hint="")


def test_a_file_that_would_fill_the_memory_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    path.touch()
    os.truncate(path, 1 << 40)
    with pytest.raises(DataError, match="longer than"):
        read_bytes(path, what="run", hint="delete it")
