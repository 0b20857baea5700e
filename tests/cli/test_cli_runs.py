"""Where results go, and whose they are after sudo: a chown that only notes what it is given."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from deadbeat.cli._runs import caller, default_runs, handed_over

#: The user who runs the tests stands for root, and what they would be given goes to this one.
TO = (os.getuid(), 4711)
Given = tuple[Callable[[int, int, int], None], list[str]]


@pytest.fixture
def given(tmp_path: Path) -> Given:
    names: list[str] = []

    def chown(descriptor: int, user: int, group: int) -> None:
        assert (user, group) == TO
        place = Path(f"/proc/self/fd/{descriptor}").readlink()
        names.append(str(place.relative_to(tmp_path)))

    return chown, names


def test_all_that_a_block_makes_is_handed_over(tmp_path: Path, given: Given) -> None:
    chown, names = given
    runs = tmp_path / "here" / "runs"
    with handed_over(runs, to=TO, root=os.getuid(), chown=chown):
        (runs / "quick").mkdir(parents=True)
        (runs / "quick" / "summary.json").write_text("{}")
        (runs / "latest").symlink_to("quick")
    expected = ["here", "here/runs", "here/runs/quick", "here/runs/quick/summary.json"]
    assert sorted(names) == expected


def test_what_was_there_and_what_lies_elsewhere_stays(tmp_path: Path, given: Given) -> None:
    chown, names = given
    runs, other = tmp_path / "runs", tmp_path / "other"
    for folder in (runs / "old", other):
        folder.mkdir(parents=True)
        (folder / "file").write_text("before")
    with handed_over(runs, to=TO, root=os.getuid(), chown=chown):
        (runs / "link").symlink_to(other)
        (runs / "file-link").symlink_to(other / "file")
        os.link(other / "file", runs / "hard-link")
        os.mkfifo(runs / "pipe")
        (runs / "new").write_text("")
        (runs / "old" / "more").write_text("")
    assert sorted(names) == ["runs/new", "runs/old/more"]


def test_a_folder_swapped_for_a_link_is_not_followed(tmp_path: Path, given: Given) -> None:
    chown, names = given
    other = tmp_path / "other"
    other.mkdir()
    (other / "file").write_text("")
    with handed_over(tmp_path / "runs", to=TO, root=os.getuid(), chown=chown):
        (tmp_path / "runs").symlink_to(other)
    assert names == []


def test_nothing_is_handed_over_in_a_folder_of_somebody_else(tmp_path: Path, given: Given) -> None:
    chown, names = given
    tmp_path.chmod(0o755)
    with handed_over(tmp_path / "runs", to=(TO[0] + 1, 1), root=os.getuid(), chown=chown):
        (tmp_path / "runs").mkdir()
    assert names == []


def test_a_block_that_fails_hands_over_too(tmp_path: Path, given: Given) -> None:
    chown, names = given
    with (
        pytest.raises(KeyboardInterrupt),
        handed_over(tmp_path / "runs", to=TO, root=os.getuid(), chown=chown),
    ):
        (tmp_path / "runs").mkdir()
        raise KeyboardInterrupt
    assert names == ["runs"]


def test_only_root_under_sudo_has_a_caller(monkeypatch: pytest.MonkeyPatch) -> None:
    sudo = {"SUDO_UID": "1000", "SUDO_GID": "100"}
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    assert caller(sudo) == (1000, 100)
    assert caller({}) is None
    assert caller({**sudo, "SUDO_UID": "-1"}) is None
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert caller(sudo) is None


def test_results_go_to_the_users_data_where_nothing_can_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert default_runs() == Path("runs")
    monkeypatch.setattr(os, "access", lambda *_: False)
    monkeypatch.setenv("XDG_DATA_HOME", "/data")
    assert default_runs() == Path("/data/deadbeat/runs")
    monkeypatch.setenv("XDG_DATA_HOME", "not/absolute")
    assert default_runs() == Path.home() / ".local/share/deadbeat/runs"
    Path("runs").mkdir()
    assert default_runs() == Path("runs")
