"""Truth: docs/howto/watch-a-run.md: a terminal shows what is measured so far."""

from __future__ import annotations

from pathlib import Path

import pytest
from rich.console import Console

from deadbeat.cli import _measure, _progress
from deadbeat.cli.main import main
from deadbeat.kinds.base import Begin, Begun, ExperimentKind
from deadbeat.model.errors import DataError
from deadbeat.report.document import CellMap

SIMULATED = ("--simulated", "--no-figures")
#: Verb and its words -> its title, and what the first picture of another call leaves out.
VERBS = {
    "profile": (("profile", "--quick", "--sets", "1", *SIMULATED), "mean slowdown so far"),
    "stress": (("stress", "--quick", "--sets", "2", *SIMULATED), "slowdown so far"),
    "latency": (("latency", "--quick", *SIMULATED), "latest wake-up so far"),
    "load": (("load", "--quick", *SIMULATED), "missed rounds so far"),
    "breakdown": (
        ("breakdown", "--quick", "--sets", "1", *SIMULATED),
        "met their deadlines so far",
    ),
    "study": (
        ("sched", "study", "thesis-fig1", "--sets", "4", "--no-figures"),
        "accepted so far",
    ),
    "run": (("run", "--repeats", "3", *SIMULATED, "--", "true"), "response times so far"),
}


def told(found: CellMap) -> dict[str, list[str]]:
    """By row; of a map that says what came last without that: it is another one after a pause."""
    kept = [name != "last" for name in found.columns]
    return {
        name: [text for text, keep in zip(row, kept, strict=True) if keep]
        for name, row in zip(found.rows, found.cells, strict=True)
    }


@pytest.mark.parametrize("verb", VERBS)
def test_a_picture_shows_all_that_is_measured_so_far(
    verb: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    words, title = VERBS[verb]
    pictures, begun = list[CellMap](), list[Begun]()

    def lines(found: CellMap, width: int) -> list[str]:
        pictures.append(found)
        return plain(found, width)

    def carried_out(kind: ExperimentKind, begin: Begin, **more: float) -> tuple[Begun, object]:
        found = whole(kind, begin, **more)
        begun.append(found[0])
        return found

    plain, whole = _progress.map_lines, _measure.carried_out
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(_progress, "map_lines", lines)
    monkeypatch.setattr(_measure, "carried_out", carried_out)
    monkeypatch.setattr(_progress, "_PICTURE_S", 0.0)
    monkeypatch.setattr(Console, "is_terminal", property(lambda console: True))
    assert main(words) == 0
    err = capsys.readouterr().err
    assert title in err
    assert pictures
    for line in plain(pictures[-1], 80):
        assert len(line) <= 80
        assert line.isprintable()
    (first,) = begun
    again = first.so_far
    assert again is not None
    if hasattr(again, "_seen"):  # as another call that continues begins
        again._seen = {} if verb == "study" else None
    if verb == "study":
        again._began = False  # type: ignore[attr-defined]
    assert told(again([])) == told(pictures[-1])


def test_no_picture_is_read_where_nobody_looks_and_a_damaged_run_ends_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked = list[int]()

    def broken(keys: object) -> CellMap:
        asked.append(1)
        raise DataError("a run is damaged", "restore it")

    event = _progress.RunDone(key=1, done=1, total=2, eta_s=1.0)
    with _progress.Watch("x", so_far=broken) as watch:
        watch(event)
    assert asked == []
    monkeypatch.setattr(Console, "is_terminal", property(lambda console: True))
    with _progress.Watch("x", so_far=broken) as watch:
        watch(event)
        watch(event)
    assert asked == [1]
