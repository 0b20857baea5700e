"""Truth: docs/howto/read-a-report.md: the page is written again as runs are added."""

from pathlib import Path

import pytest

from deadbeat.cli import results
from deadbeat.cli.main import main

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
