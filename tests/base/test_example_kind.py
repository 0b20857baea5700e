"""Truth: docs/examples/naps.py says what a new kind takes: one module, and one row."""

import signal
from pathlib import Path

import pytest
from helpers.answers import Capture, answer_of

import deadbeat
from deadbeat.base.kinds import KINDS
from deadbeat.cli.main import main

EXAMPLES = Path(__file__).parents[2] / "docs" / "examples"
WORDS = ["naps", "--naps", "100us,200us", "--repeats", "3"]


@pytest.fixture(autouse=True)
def _kind(monkeypatch: pytest.MonkeyPatch, in_a_folder: None) -> None:
    monkeypatch.syspath_prepend(EXAMPLES)
    monkeypatch.setitem(
        KINDS, "naps", ("naps", "experiment.json", "Measure how late a sleep ends.")
    )


def answer(capsys: Capture, *words: str) -> str:
    assert main(words) == 0
    return capsys.readouterr().out


def test_a_row_and_a_module_are_a_whole_kind(capsys: Capture) -> None:
    assert "Lengths of sleeps" in answer(capsys, "naps", "--help")
    assert "Measure how late a sleep ends." in answer(capsys, "--help")
    assert "The latest of all sleeps" in answer(capsys, *WORDS)
    (row,) = answer_of(answer(capsys, "list", "--json"))
    assert (row["kind"], row["state"], row["done"], row["planned"]) == ("naps", "finished", 6, 6)
    assert [row["runs"] for row in answer_of(answer(capsys, "show", "--json"))["rows"]] == [3, 3]
    assert "page: " in answer(capsys, "page", "naps")
    found = deadbeat.open("runs/naps")
    assert found.columns["nap_ns"].tolist() == [100_000, 200_000]
    assert len(list(found.store.runs())) == 6


def test_two_of_its_results_are_compared(capsys: Capture) -> None:
    for name in ("a", "b"):
        answer(capsys, *WORDS, "--name", name)
    found = answer_of(answer(capsys, "compare", "a", "b", "--json"))
    (comparison,) = found["comparisons"]
    (metric,) = comparison["metrics"]
    assert (metric["metric"], len(metric["cells"])) == ("late", 2)
    assert [cell["group"] for cell in metric["cells"]] == ["100us", "200us"]
    page = Path(found["report"]).read_text(encoding="utf-8")
    assert "Nap experiments" in page and "By length" in page


def test_it_resumes_as_every_kind_does(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    import naps  # type: ignore[import-not-found]  # noqa: PLC0415  of the examples

    real, left = naps.time.sleep, [2]

    def sleep(seconds: float) -> None:
        if not left[0]:
            signal.raise_signal(signal.SIGTERM)
        left[0] -= 1
        real(seconds)

    monkeypatch.setattr(naps.time, "sleep", sleep)
    assert main(WORDS) == 128 + signal.SIGTERM
    assert "interrupted: 2 of 6 runs are kept in runs/naps; continue with: deadbeat naps" in (
        capsys.readouterr().err
    )
    kept = {path: path.read_bytes() for path in Path("runs/naps/runs").iterdir()}
    left[0] = 99
    assert main([*WORDS, "--time-budget", "10m"]) == 0
    assert all(path.read_bytes() == data for path, data in kept.items())
    assert not Path("runs/naps-2").exists()


def test_wrong_values_are_told_by_option(capsys: Capture) -> None:
    assert main(["naps", "--naps", "1 parsec", "--repeats", "0"]) == 2
    told = capsys.readouterr().err
    assert "--naps" in told and "--repeats" in told
