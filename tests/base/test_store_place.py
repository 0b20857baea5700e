"""Truth: store/place.py: what a folder is, which is continued, and what refuses to be."""

from collections.abc import Callable, Iterable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import attrs
import pytest

from deadbeat.base.experiment.folders import Folders
from deadbeat.base.model.errors import DataError, UsageError
from deadbeat.base.model.platform import elsewhere, example_platform
from deadbeat.base.model.rules import duration_words
from deadbeat.base.model.specification import differences
from deadbeat.base.store.place import (
    CAMPAIGN,
    LOAD_TEST,
    MATRIX,
    FolderKind,
    FolderState,
    Place,
    beheaded,
    stage,
)


def make(runs: Path, name: str, kind: FolderKind, *, state: str = "finished") -> Path:
    """A folder of ``kind``; its file says its state."""
    (runs / name).mkdir()
    (runs / name / kind.file).write_text(state)
    return runs / name


def choose(
    runs: Path,
    kind: FolderKind,
    differs: Callable[[Path], Iterable[str]] = lambda _: (),
    **options: bool,
) -> Place:
    def state_of(path: Path) -> FolderState:
        file = path / kind.file
        text = file.read_text() if file.is_file() else "damaged"
        return FolderState(
            name=path.name, path=path, state=text, problem="it is torn", cure="mend it"
        )

    store = SimpleNamespace(open=lambda path: path)
    folders: Any = Folders(kind=kind, store=store, stand=state_of)  # type: ignore[arg-type]
    return folders.place(runs, "x", differs, **options)


@pytest.mark.parametrize("kind", [CAMPAIGN, MATRIX, LOAD_TEST])
def test_every_kind_is_placed_alike(tmp_path: Path, kind: FolderKind) -> None:
    assert choose(tmp_path, kind) == Place(path=tmp_path / "x", resumed=False)
    first = make(tmp_path, "x", kind, state="unfinished")
    assert choose(tmp_path, kind) == Place(path=first, resumed=True)
    assert choose(tmp_path, kind, fresh=True).path.name == "x-2"
    (first / kind.file).write_text("finished")
    assert choose(tmp_path, kind) == Place(path=tmp_path / "x-2", resumed=False)
    assert choose(tmp_path, kind, retry=True) == Place(path=first, resumed=True)
    second = make(tmp_path, "x-2", kind, state="measured")
    assert choose(tmp_path, kind) == Place(path=second, resumed=True)


def test_folders_of_another_kind_are_passed_over(tmp_path: Path) -> None:
    first = make(tmp_path, "x", LOAD_TEST, state="unfinished")
    make(tmp_path, "x-2", MATRIX)
    assert choose(tmp_path, LOAD_TEST) == Place(path=first, resumed=True)
    assert choose(tmp_path, CAMPAIGN) == Place(path=tmp_path / "x-3", resumed=False)
    with pytest.raises(UsageError, match=r"there is no campaign x in .* to retry"):
        choose(tmp_path, CAMPAIGN, retry=True)


def test_what_is_of_no_kind_is_neither_used_nor_passed_over(tmp_path: Path) -> None:
    (tmp_path / "x").mkdir()
    (tmp_path / "x" / "thesis.tex").write_text("years of work")
    with pytest.raises(DataError, match="cannot be continued: it is torn") as caught:
        choose(tmp_path, MATRIX)
    assert caught.value.hint == "mend it; or start again with --fresh"


def test_an_earlier_one_goes_on_only_where_the_same_is_asked(tmp_path: Path) -> None:
    first = make(tmp_path, "x", MATRIX, state="unfinished")
    make(tmp_path, "x-2", MATRIX)
    assert choose(tmp_path, MATRIX) == Place(path=first, resumed=True)
    other = choose(tmp_path, MATRIX, lambda path: ["was begun otherwise"] * (path == first))
    assert other.path.name == "x-3"


def test_every_reason_is_told_at_once(tmp_path: Path) -> None:
    path = make(tmp_path, "x", MATRIX, state="unfinished")
    with pytest.raises(UsageError) as caught:
        choose(tmp_path, MATRIX, lambda _: ("was begun there", "was begun so"))
    told = f"{path} is unfinished and was begun there; it was begun so"
    assert caught.value.message == told and "--fresh" in caught.value.hint


def test_a_report_makes_what_is_measured_finished(tmp_path: Path) -> None:
    assert [stage(tmp_path, complete=whole) for whole in (False, True)] == [
        "unfinished", "measured"
    ]  # fmt: skip
    (tmp_path / "report.html").touch()
    assert stage(tmp_path, complete=True) == "finished"


def test_a_kind_is_found_by_name_path_and_link(tmp_path: Path) -> None:
    path = make(tmp_path, "x", MATRIX)
    (tmp_path / "latest").symlink_to("x")
    for text in ("x", str(path), "latest"):
        assert MATRIX.find(tmp_path, text) == path
        assert LOAD_TEST.find(tmp_path, text) is None
    assert MATRIX.folders(tmp_path) == [path] and MATRIX.folders(tmp_path / "none") == []


def test_another_machine_or_its_settings_are_named() -> None:
    here = example_platform()
    assert list(elsewhere(here, here)) == []
    for change, told in [
        ({"kernel": "9.9"}, "was begun on another machine or kernel: example, none"),
        ({"fingerprint": "y"}, "was begun with other hardware, frequency policy or toolchain"),
    ]:
        assert list(elsewhere(here, attrs.evolve(here, **change))) == [told]


@pytest.mark.parametrize(
    ("value_ns", "text"),
    [(3_000_000, "3 ms"), (1_500_000, "1.5 ms"), (1_500, "1.5 us"), (0, "0 ns"), (7, "7 ns"),
     (100 * 10**9, "100 s"), (90 * 10**9, "1.5 min"), (1_234_567, "1234.567 us")],
)  # fmt: skip
def test_a_length_is_told_exactly_in_a_unit_that_suits_it(value_ns: int, text: str) -> None:
    assert duration_words(value_ns) == text


def test_differences_are_told_in_words_and_units() -> None:
    there = {"deadline": "3000000ns", "cpus": None, "trace": True, "a": ["idle", "cpu:50"], "n": ""}
    now = {"deadline": "2ms", "cpus": [0, 1], "trace": False, "a": ["idle"], "n": "m"}
    assert differences(there, now) == [
        "a ([idle, cpu:50] there, [idle] now)",
        "cpus (not set there, [0, 1] now)",
        "deadline (3 ms there, 2 ms now)",
        'n ("" there, m now)',
        "trace (yes there, no now)",
    ]


def test_runs_without_the_file_that_says_whose_are_damaged(tmp_path: Path) -> None:
    make(tmp_path, "whole", LOAD_TEST)
    for name in ("x", "empty"):
        (tmp_path / name / "runs").mkdir(parents=True)
    (tmp_path / "x" / "runs" / "0004.plain.0001.json").write_text("{}")
    (found,) = beheaded(tmp_path.iterdir())
    assert (found.name, found.state) == ("x", "damaged")
    assert "holds runs, but none of campaign.json, latency.json, load.json" in found.problem
