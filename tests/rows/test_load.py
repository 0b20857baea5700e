"""Rows of the load paper: a real-time loop among ordinary ones, on a made-up machine."""

from pathlib import Path
from typing import Any

import pytest
from helpers.seed_rows import Row, says, statements

QUICK = ("--simulated", "--no-figures", "--quick")


def cells(answer: Any) -> dict[tuple[str, int], Any]:
    return {(each["condition"], each["normal"]): each for each in answer["cells"]}


def test_load(row: Row) -> None:
    """FIFO 99 beside 0 to 7 loops of load.c; failures a second of each; what all remedies leave;
    what ordinary threads lose."""
    found = row.answer("--simulated", "--no-figures", "--preset", "paper", "--repeats", "2",
                       "--duration", "4")  # fmt: skip
    seen = cells(found)
    assert {normal for name, normal in seen if name == "plain"} >= {*range(8)}
    assert (found["spec"]["priority"], found["spec"]["policy"]) == (99, "fifo")
    tight = cells(row.answer(*QUICK, "--name", "tight"))
    rate = {key: each["failures_per_s"] for key, each in tight.items()}
    assert rate["plain", 0]["high"] < rate["plain", 8]["low"]
    assert rate["all", 8]["high"] < rate["plain", 8]["low"]
    assert tight["plain", 8]["work_lost"]["value"] == pytest.approx(0.25, abs=0.03)  # a CPU of 4


def test_hardware(row: Row) -> None:
    row.main("load", *QUICK, "--name", "l")
    row.run("--no-figures", RUN="l")
    page = Path("runs/l/report.html").read_text(encoding="utf-8")
    known = {"processor": "formula", "kernel": "6.12.0 simulated", "governor": "schedutil",
             "CPUs": "0, 1, 2, 3"}  # fmt: skip
    says(page, *(f'<th scope="row">{name}</th><td>{text}<' for name, text in known.items()))


@pytest.mark.parametrize("remedy", ["pin", "smt", "governor", "preemption"])
def test_remedy(row: Row, remedy: str) -> None:
    """The change is made, and its failures stand beside those without."""
    found = row.answer(*QUICK, "--name", "l")
    (change,) = (each for each in found["changes"] if remedy in str(each))
    assert change
    seen = cells(found)
    assert (remedy, 8) in seen and ("plain", 8) in seen
    needs = {"smt": "needs SMT", "governor": "needs cpufreq",
             "preemption": "needs PREEMPT_DYNAMIC and debugfs"}  # fmt: skip
    row.seen = needs.get(remedy, "works")


test_statement = statements({"threads-exceed-cores": "", "all-remedies": "pinned"})


def test_realtime_threads(row: Row) -> None:
    """Failures of each of them, and the work of ordinary threads that they leave."""
    found = row.answer("--simulated", "--no-figures", "--remedies", "none", "--repeats", "2",
                       "--set", "normal=4", "--priority", "98")["cells"]  # fmt: skip
    seen = {each["condition"]: each for each in found}
    assert {name: len(each["failures_each"]) for name, each in seen.items()} == {
        "plain": 0, "realtime-2": 2, "realtime-4": 4, "reference": 0,
    }  # fmt: skip
    lost = [seen[name]["work_lost"]["value"] for name in ("plain", "realtime-2", "realtime-4")]
    assert lost == sorted(lost) and lost[0] < lost[2]
