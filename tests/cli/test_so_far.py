"""Truth: docs/howto/read-a-report.md: a terminal shows what is measured so far."""

import re
from pathlib import Path

import pytest
from rich.console import Console

from deadbeat.base.experiment.base import RunDone
from deadbeat.base.model.errors import DataError
from deadbeat.base.report.document import CellMap, Table
from deadbeat.base.report.terminal import picture_lines
from deadbeat.cli import _progress, results
from deadbeat.cli.main import main

SIMULATED = ("--simulated", "--no-figures")
#: Verb -> its words, and what its picture says.
VERBS = {
    "profile": (
        ("contention", "--quick", "--sets", "1", *SIMULATED),
        r"mean slowdown so far, M = 2.*ρ \\ α .* 1\.\d\d",
    ),
    "stress": (
        ("contention", "--random", "--quick", "--sets", "2", *SIMULATED),
        r"slowdown so far.*group +sets +mean +worst.*random +2 +1\.\d\d",
    ),
    "latency": (
        ("latency", "--quick", *SIMULATED),
        r"so far: µs; the latest.*CPU +load +engine +wake-ups.*0 +idle",
    ),
    "load": (("load", "--quick", *SIMULATED), r"so far:.*failures/s.*as it is +\d"),
    "breakdown": (("breakdown", "--quick", "--sets", "1", *SIMULATED), "so far:"),
    "study": (("sched", "study", "thesis-fig1", "--sets", "4", "--no-figures"), "so far:"),
    "run": (("run", "--repeats", "3", *SIMULATED, "--", "true"), "so far:"),
    "primitives": (("primitives", "--tests", "event", "--repeats", "2", *SIMULATED), "so far:"),
}
#: Verb -> what its first line says that it will run.
BEGINS = {
    "profile": "task sets: on 1, 2 cores",
    "stress": "task sets: on 1, 2 cores",
    "latency": "9 runs: 3 loads, simulated, 3 times 1 s",
    "load": r"runs: 0, .* ordinary threads, 5 of the remedies\n",
    "breakdown": "runs: .* task sets, each made faster until it misses",
    "study": "task sets in",
    "run": "3 runs: true, each until it ends",
    "primitives": "runs: event; each 2 times",
}


@pytest.mark.parametrize(
    "verb",
    [
        pytest.param(verb, marks=[pytest.mark.slow] * (verb not in ("profile", "latency")))
        for verb in VERBS
    ],
)
def test_a_picture_shows_all_that_is_measured_so_far(
    verb: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    words, title = VERBS[verb]
    pictures, failed = list[list[str]](), list[Exception]()

    def lines(found: Table | CellMap | None, width: int, **more: int) -> list[str]:
        pictures.append(picture_lines(found, width, **more))
        return pictures[-1]

    class Loud(_progress.suppress):
        def __exit__(self, kind: object, error: object, trace: object) -> bool:
            failed.extend([error] if isinstance(error, Exception) else [])
            return True

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(_progress, "picture_lines", lines)
    monkeypatch.setattr(_progress, "suppress", Loud)
    monkeypatch.setattr(_progress, "_PICTURE_S", 0.0)
    monkeypatch.setattr(_progress, "_PICTURE_PAUSE", 0.0)
    monkeypatch.setattr(Console, "is_terminal", property(lambda console: True))
    assert main(words) == 0
    assert failed == []
    err = capsys.readouterr().err
    assert re.search(title, err, re.DOTALL)
    assert re.search(f"begin .*{BEGINS[verb]}", err)
    assert all(line.isprintable() for line in pictures[-1])


def test_no_picture_is_read_where_nobody_looks_and_a_damaged_run_ends_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked, now = list[float](), 0.0

    def broken() -> CellMap:
        nonlocal now
        asked.append(now)
        now += 2.0
        raise DataError("a run is damaged", "restore it")

    event = RunDone(key=1, done=1, total=2, eta_s=1.0)
    with _progress.Watch("x", so_far=broken, clock=lambda: now) as watch:
        watch(event)
    assert asked == []
    monkeypatch.setattr(Console, "is_terminal", property(lambda console: True))
    with _progress.Watch("x", so_far=broken, clock=lambda: now) as watch:
        for moment in (0.0, 10.0, 41.9, 42.0):  # a picture of two seconds takes a twentieth
            now = moment
            watch(event)
    assert asked == [0.0, 42.0]


MADE = ("latency", "--simulated", "--no-figures", "--loads", "idle", "--duration", "0.2s")
RELOAD = f'http-equiv="refresh" content="{results.PAUSE_S}"'


def test_a_page_is_written_again_after_a_run_until_all_are_there(
    in_a_folder: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert main((*MADE, "--name", "tiny", "--repeats", "3")) == 0
    page = Path("runs/tiny/report.html")
    assert RELOAD not in page.read_text(encoding="utf-8")
    away = sorted(Path("runs/tiny/runs").iterdir())[1:]
    kept = {run: run.read_bytes() for run in away}
    for run in away:
        run.unlink()
    seen: list[str] = []

    def sleep(_: float) -> None:
        seen.append(page.read_text(encoding="utf-8"))
        if len(seen) != 2:  # after the second pause nothing is new
            run = away.pop()
            run.write_bytes(kept[run])

    monkeypatch.setattr("time.sleep", sleep)
    monkeypatch.setattr("os.sched_setscheduler", lambda *_: None)
    assert main(("page", "tiny", "--follow")) == 0
    first, second, third = seen
    assert RELOAD in first and RELOAD in third
    assert first != second and second == third
    assert RELOAD not in page.read_text(encoding="utf-8")


def test_ctrl_c_ends_the_page_alone(in_a_folder: None, monkeypatch: pytest.MonkeyPatch) -> None:
    assert main((*MADE, "--name", "tiny", "--repeats", "2")) == 0
    next(Path("runs/tiny/runs").iterdir()).unlink()

    def interrupt(_: float) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("time.sleep", interrupt)
    monkeypatch.setattr("os.sched_setscheduler", lambda *_: None)
    assert main(("page", "tiny", "--follow")) == 0
    assert RELOAD not in Path("runs/tiny/report.html").read_text(encoding="utf-8")
