"""Truth: issue 27: looking at a stranger's folder changes no byte in it, nor what it leads to."""

import os
import shutil
from itertools import cycle
from pathlib import Path

import pytest
from helpers import seldom
from helpers.kinds import every_folder
from helpers.strangers import MAKES, QUIET, READS, ask, replaced

PRECIOUS = b"years of work"
State = dict[str, tuple[object, ...]]


def snapshot(*roots: Path) -> State:
    """Name -> mode, inode, time of change and content of everything, no link followed."""
    found: State = {}
    for path in (each for root in roots for each in (root, *root.rglob("*"))):
        status = path.lstat()
        content: object = path.readlink() if path.is_symlink() else None
        if path.is_file() and not path.is_symlink() and status.st_size < 1 << 30:
            content = path.read_bytes()
        found[str(path)] = status.st_mode, status.st_ino, status.st_mtime_ns, content
    return found


def _linked(path: Path, outside: Path) -> None:
    """A folder moved outside, with a link to it."""
    shutil.move(path, outside / path.name)
    (outside / path.name / "half.json.77.part").write_bytes(PRECIOUS)
    path.symlink_to(outside / path.name)


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return every_folder(tmp_path_factory.mktemp("stored"))


@pytest.fixture
def work(tmp_path: Path) -> Path:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside/precious").write_bytes(PRECIOUS)
    (tmp_path / "outside/half.77.part").write_bytes(PRECIOUS)
    (tmp_path / "out").mkdir()
    return tmp_path


def placed(stored: Path, work: Path) -> Path:
    shutil.rmtree(work / "runs", ignore_errors=True)
    for name in "XY":
        shutil.copytree(stored, work / "runs" / name, symlinks=True)
    return work / "runs" / "X"


def asked(words: tuple[str, ...], work: Path) -> str:
    """What a command says on stderr; it ends with an answer or a line."""
    wrong, told = ask(words, work)
    assert wrong == "", (words, wrong)
    return told


def read_everywhere(work: Path) -> None:
    """Every reading verb, the page that is followed, and Python."""
    for words in READS:
        shutil.rmtree(work / "out", ignore_errors=True)
        (work / "out").mkdir()
        asked(words, work)


#: What a stranger adds beside whole results, and leaves every answer as it is.
ADDED = (".lock", "x.json.77.part", "report.html", "figures", "beside.log", "runs.txt", "jobs.part")


@pytest.mark.parametrize(
    ("number", "step"), [(0, 4), *seldom(*((n, 1) for n in range(len(MAKES))))]
)
def test_what_lies_beside_results_is_left_alone(
    number: int, step: int, stored: dict[str, Path], work: Path
) -> None:
    """Each kind of result with its share of additions: all pairs over the parameters."""
    for place, (kind, folder) in [*enumerate(sorted(stored.items()))][::step]:
        path = placed(folder, work)
        for at, name in enumerate(ADDED):
            replaced(path / name, work / "outside", list(MAKES)[(at + place + number) % len(MAKES)])
        for inner in (each for each in path.iterdir() if each.is_dir() and not each.is_symlink()):
            (inner / "half.json.77.part").write_bytes(PRECIOUS)
        before = snapshot(work / "runs", work / "outside")
        read_everywhere(work)
        assert snapshot(work / "runs", work / "outside") == before, kind
        asked(("page", "X", "--no-figures", *QUIET), work)
        assert (work / "outside/precious").read_bytes() == PRECIOUS
        assert sorted(p.name for p in (work / "outside").iterdir()) == ["half.77.part", "precious"]


def test_a_folder_inside_that_is_a_link_is_refused_by_name(stored: dict[str, Path], work: Path):
    for kind, folder in stored.items():
        names = [path.name for path in folder.iterdir() if path.is_dir() and path.name != "figures"]
        for name in names:
            path = placed(folder, work)
            _linked(path / name, work / "outside")
            before = snapshot(work / "runs", work / "outside")
            for words in (("show", "X", *QUIET), ("page", "X", "--no-figures", *QUIET)):
                told = asked(words, work)
                assert f"runs/X/{name} is a link" in told and told.count("\n") == 1, (kind, told)
            assert snapshot(work / "runs", work / "outside") == before, (kind, name)
            shutil.rmtree(work / "outside" / name)


@pytest.mark.slow
def test_a_file_of_a_result_that_is_none_is_refused_or_missing(stored: dict[str, Path], work: Path):
    """The head and one file of every folder inside, in one way each."""
    makes = cycle(MAKES)
    for kind, folder in stored.items():
        inner = {path.parent: path for path in sorted(folder.rglob("*")) if path.is_file()}
        tops = [path for path in folder.iterdir() if path.suffix in (".json", ".sha256")]
        for file in sorted({*tops, *inner.values()}):
            path = placed(folder, work)
            replaced(path / file.relative_to(folder), work / "outside", next(makes))
            before = snapshot(work / "runs", work / "outside")
            asked(READS[0], work)
            asked(("list", *QUIET), work)
            assert snapshot(work / "runs", work / "outside") == before, (kind, file)


@pytest.mark.slow
@pytest.mark.parametrize("make", MAKES)
def test_every_verb_on_every_damaged_file(make: str, stored: dict[str, Path], work: Path) -> None:
    for kind, folder in stored.items():
        for file in sorted(each for each in folder.rglob("*") if each.is_file()):
            path = placed(folder, work)
            replaced(path / file.relative_to(folder), work / "outside", make)
            before = snapshot(work / "runs", work / "outside")
            read_everywhere(work)
            assert snapshot(work / "runs", work / "outside") == before, (kind, file)


def test_only_a_folder_of_ones_own_is_reported(stored: dict[str, Path], work: Path) -> None:
    path = placed(stored["latency"], work)
    try:
        os.chown(path, 12345, -1)
    except PermissionError:
        pytest.skip("only root gives folders away")
    before = snapshot(path)
    told = asked(("page", "X", *QUIET), work)
    assert "belongs to another user" in told and "cp -r" in told
    assert snapshot(path) == before


def test_a_writer_takes_only_a_regular_file_for_its_lock(stored: dict[str, Path], work: Path):
    for make in ("link", "dangling", "pipe", "folder"):
        path = placed(stored["latency"], work)
        replaced(path / ".lock", work / "outside", make)
        before = snapshot(work / "outside")
        told = asked(("page", "X", "--no-figures", *QUIET), work)
        assert "runs/X/.lock" in told and told.count("\n") == 1, told
        assert snapshot(work / "outside") == before
