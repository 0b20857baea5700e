"""Truth: docs/reference/files.md, "Promises": what every kind of experiment does alike."""

import signal
import sys
from itertools import cycle
from pathlib import Path

import pytest
from helpers.answers import Capture, answer
from helpers.kinds import KINDS, MORE_KINDS
from helpers.terminal import Terminal

from deadbeat.base.experiment.base import Event, RunDone
from deadbeat.cli._progress import Watch
from deadbeat.cli.main import main

OTHERS = (signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)


pytestmark = pytest.mark.usefixtures("in_a_folder")


def derived(folder: Path) -> dict[str, bytes]:
    names = ("summary.csv", "summary.json", "sets.csv", "latency.csv", "cells.csv", "report.html")
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.name in names}


@pytest.mark.parametrize("kind", KINDS)
def test_a_folder_is_listed_shown_and_made_again(kind: str, capsys: Capture) -> None:
    assert main(KINDS[kind][0]) == 0
    out = capsys.readouterr().out
    assert out.splitlines()[-1] == "page: runs/tiny/report.html"
    assert "SIMULATED" in out
    (row,) = answer(capsys, "list")
    assert (row["name"], row["state"], row["latest"]) == ("tiny", "finished", True)
    assert row["kind"] == {"profile": "contention", "stress": "contention"}.get(kind, kind)
    assert row["done"] == row["planned"]
    before = derived(Path("runs/tiny"))
    assert len(before) >= 2
    for name in before:
        Path("runs/tiny", name).unlink()
    assert answer(capsys, "list")[0]["state"] == "measured"
    assert main(("page", "tiny", "--no-figures")) == 0
    assert derived(Path("runs/tiny")) == before
    shown, latest = answer(capsys, "show", "tiny"), answer(capsys, "show")
    assert all(shown[key] == latest[key] for key in shown.keys() - {"report", "path"})
    assert main(("show", "tinny")) == 2
    assert "did you mean tiny?" in capsys.readouterr().err
    if kind == "breakdown":
        assert main(("why", "tiny")) == 2
        assert "tiny is a breakdown search, not a campaign" in capsys.readouterr().err
    Path("runs/empty").mkdir()
    assert main(("show", "empty")) == 2
    assert "no campaign.json, latency.json" in capsys.readouterr().err


@pytest.mark.parametrize("kind", KINDS)
def test_a_name_that_is_given_is_one_result(kind: str, capsys: Capture) -> None:
    words, _ = KINDS[kind]
    place = words.index("--name")
    unnamed = (*words[:place], *words[place + 2 :])
    assert main(words) == 0
    tiny = Path("runs/tiny")
    before = derived(tiny), {path: path.stat().st_mtime_ns for path in tiny.rglob("*.json")}
    capsys.readouterr()
    if kind == "study":  # which is the same whenever it is computed
        assert main(words) == 0
    else:
        assert main(words) == 2
        assert "runs/tiny is finished (--fresh replaces it" in capsys.readouterr().err
        assert {path: path.stat().st_mtime_ns for path in tiny.rglob("*.json")} == before[1]
    assert main((*words, "--fresh")) == 0
    assert [path.name for path in Path("runs").iterdir() if not path.is_symlink()] == ["tiny"]
    assert {path: path.stat().st_mtime_ns for path in tiny.rglob("*.json")} != before[1]
    for _ in range(2):
        assert main(unnamed) == 0
    first, second, third = answer(capsys, "list")
    assert (first["name"], third["name"]) == ("tiny", f"{second['name']}-2")
    assert (first["latest"], second["latest"], third["latest"]) == (False, False, True)
    assert first["done"] == second["done"] == first["planned"]
    both = [derived(Path("runs", each["name"])) for each in (second, third)]
    assert both[0].keys() == both[1].keys() == before[0].keys()
    assert all(both[0][name] == both[1][name] for name in both[0] if name.endswith(".csv"))


@pytest.mark.parametrize(
    ("kind", "number"),
    [
        (kind, number)
        for kind, other in zip(KINDS, cycle(OTHERS))
        for number in (signal.SIGINT, other)
    ],
)
def test_a_signal_keeps_what_is_done_and_the_same_command_continues(
    kind: str, number: signal.Signals, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    words, other = KINDS[kind]
    told = Watch.__call__

    def ended(watch: Watch, event: Event) -> None:
        told(watch, event)
        if isinstance(event, RunDone) and event.done == 3:
            signal.raise_signal(number)

    with monkeypatch.context() as patch:
        patch.setattr(Watch, "__call__", ended)
        assert main(words) == 128 + number
    out, err = capsys.readouterr()
    assert out == ""
    (row,) = answer(capsys, "list")
    assert (row["state"], row["done"]) == ("unfinished", 3)
    of = f"3 of {row['planned']}"
    assert (
        f"interrupted: {of} runs are kept in runs/tiny; continue with: deadbeat {words[0]}"
        in (err.splitlines()[-1])
    )
    assert main((*words, *other)) == 2
    assert "other parameters" in capsys.readouterr().err
    folders = [Path("runs/tiny", name) for name in ("jobs", "runs")]
    files = [path for folder in folders if folder.is_dir() for path in folder.iterdir()]
    kept = {path: path.read_bytes() for path in files}
    assert len(kept) == 3
    assert main(words) == 0
    assert f"continue runs/tiny, {of} " in capsys.readouterr().err
    assert [each["done"] for each in answer(capsys, "list")] == [row["planned"]]
    assert all(path.read_bytes() == data for path, data in kept.items())


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("text", ["", "{}", "[1]", '{"format": 1}'])
def test_a_damaged_head_is_a_state_and_one_line(kind: str, text: str, capsys: Capture) -> None:
    words = KINDS[kind][0]
    folder = Path("runs/tiny")
    folder.mkdir(parents=True)
    heads = {"breakdown": "breakdown.json", "latency": "latency.json", "load": "load.json"}
    heads["run"] = "program.json"
    (folder / heads.get(kind, "campaign.json")).write_text(text)
    assert answer(capsys, "list")[0]["state"] == "damaged"
    for command in (words, ("show", "tiny"), ("page", "tiny")):
        assert main(command) == 3
        (line,) = capsys.readouterr().err.splitlines()
        assert line.startswith("deadbeat: error: ") and "damaged" in line


@pytest.mark.parametrize("kind", KINDS)
def test_a_folder_that_holds_no_files_is_refused_at_once(kind: str, capsys: Capture) -> None:
    assert main((*KINDS[kind][0], "--runs", "/proc")) == 3
    out, err = capsys.readouterr()
    assert (out, len(err.splitlines())) == ("", 1)
    assert "/proc holds no files (choose another --runs)" in err


@pytest.mark.parametrize("kind", KINDS)
def test_the_answer_and_its_picture_fit_a_screen(kind: str, monkeypatch: pytest.MonkeyPatch):
    assert main((*KINDS[kind][0], "--json")) == 0
    for columns, rows in ((80, 24), (40, 48)):
        terminal = Terminal()
        with monkeypatch.context() as patch:
            patch.setenv("COLUMNS", str(columns))
            patch.setenv("TERM", "xterm")
            patch.setattr(sys, "stdout", terminal)
            assert main(("page", "tiny", "--no-figures")) == 0
        shown = terminal.screen(columns, rows)
        assert shown[0].startswith("tiny   SIMULATED")
        told = " ".join(" ".join(shown).split())
        assert "deadbeat show tiny" in told and "page: runs/tiny/report.html" in told
        assert "…" not in told
        # no word or number of the table is cut by the edge: as wide as a page has it, it is there
        wide = Terminal()
        with monkeypatch.context() as patch:
            patch.setenv("COLUMNS", "300")
            patch.setattr(sys, "stdout", wide)
            assert main(("page", "tiny", "--no-figures")) == 0
        words = set(" ".join(wide.screen(300, 60)).translate(_FRAMES).split())
        assert set(told.translate(_FRAMES).replace(",", "").split()) - {"room", "here", "for:"} <= {
            *words, *(word.rstrip(",") for word in words),
            *(word.replace(",", "") for word in words), "no"
        }  # fmt: skip


_FRAMES = str.maketrans(dict.fromkeys("━─│┃┏┓┗┛┡┩╇╈└┘┴┬┳╋┼┤├╰╯╭╮", " "))


IMPORTED = str(Path(__file__).parents[1] / "pools/foreign" / "29-long-and-steady-1.json")
IMPORT = ("import", IMPORTED, "--no-figures", "--name", "tiny")


@pytest.mark.parametrize("kind", [*KINDS, *MORE_KINDS, "import"])
def test_a_summary_that_fails_loses_nothing_and_says_how_to_repeat_it(
    kind: str, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = KINDS[kind][0] if kind in KINDS else MORE_KINDS.get(kind, IMPORT)

    def page(_: object, **_options: object) -> str:
        raise OverflowError("made up")

    with monkeypatch.context() as patch:
        patch.setattr("deadbeat.base.report.html.page", page)
        assert main(words) == 3
    out, err = capsys.readouterr()
    assert out == ""
    *_, last = err.splitlines()
    assert last == (
        "deadbeat: error: all runs are kept in runs/tiny, but their summary failed: unexpected:"
        " OverflowError: made up (a defect: repeat with --debug and report it; summarise them"
        " with: deadbeat page runs/tiny)"
    )
    (row,) = answer(capsys, "list")
    assert (row["state"], row["done"]) == ("measured", row["planned"])
    assert main(("page", "runs/tiny", "--no-figures")) == 0
    assert answer(capsys, "list")[0]["state"] == "finished"


#: Kind -> its first metric.
COMPARED = {
    "profile": "slowdown", "breakdown": "breakdown", "latency": "p50",
    "load": "deadline_miss_ratio",
    "run": "deadline_miss_ratio", "interfere": "slowdown", "primitives": "mean",
    "study": "schedulable",
}  # fmt: skip


@pytest.mark.parametrize("kind", COMPARED)
def test_two_results_of_any_kind_are_compared(kind: str, capsys: Capture) -> None:
    words = KINDS[kind][0] if kind in KINDS else MORE_KINDS[kind]
    assert main(words) == 0
    assert main((*words, "--name", "again")) == 0
    capsys.readouterr()
    found = answer(capsys, "compare", "tiny", "again", "--no-figures")
    (comparison,) = found["comparisons"]
    first = comparison["metrics"][0]
    assert first["metric"] == COMPARED[kind] and first["cells"]
    # the same seeds on the same made-up machine
    assert {cell["effect"] for cell in first["cells"]} <= {0.0, None}
    assert found["verdict"] in ("equal", "undecided")
    assert main(("compare", "tiny", "again", "--no-figures")) == 0
    assert "again against tiny" in capsys.readouterr().out


def test_what_fresh_was_killed_over_is_no_result_and_a_name_may_end_as_it_does(
    capsys: Capture,
) -> None:
    words = ("latency", "--simulated", "--quick", "--no-figures", "--name", "x.part")
    assert main(words) == 0
    Path("runs/x.part").rename("runs/.x.part.part")
    assert main(words) == 0
    capsys.readouterr()
    assert [each["name"] for each in answer(capsys, "list")] == ["x.part"]
    assert main((*words, "--fresh")) == 0
    assert not Path("runs/.x.part.part").exists()
