"""Truth: what was missed. A program's threads beside each other, from stored turns to the answer.

Each case: turns of the original and of the change, the misses of each thread in 100 jobs.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from helpers.answers import Capture, answer_of

from deadbeat.base.model.histogram import Histogram
from deadbeat.base.model.platform import example_platform
from deadbeat.cli.main import main
from deadbeat.program.run.results import FOLDERS, ProgramKey, ProgramRun, ProgramStore, TaskRun
from deadbeat.program.run.spec import ProgramSpec

pytestmark = pytest.mark.usefixtures("in_a_folder")
MS = 1_000_000
Turns = Sequence[Sequence[int]]


def turn(misses: Sequence[int]) -> tuple[TaskRun, ...]:
    calm = Histogram.of(np.full(100, 5 * MS))
    return tuple(
        TaskRun(task=n, name=f"t{n}", cpu=0, period_ns=10 * MS, deadline_ns=10 * MS, skipped=0,
                response=calm, wait=calm, misses=each)
        for n, each in enumerate(misses)
    )  # fmt: skip


def stored(sides: dict[str, Turns]) -> None:
    many = len(sides[""])
    spec = ProgramSpec(name="a", command=("x",), repeats=many, tries=("inherit",))
    store = ProgramStore.create(Path("runs/a"), FOLDERS.plain(spec), example_platform())
    for change, turns in sides.items():
        for number, misses in enumerate(turns, 1):
            key = ProgramKey(number, change)
            store.keep(ProgramRun(key=key, started="", seconds=1, status=0, tasks=turn(misses)))


def repeated(*misses: int, turns: int = 5) -> Turns:
    return [misses] * turns


NOISE = [[0, 2, 1], [1, 0, 0], [2, 1, 0], [0, 0, 2], [0, 1, 0]]
FEWER = [[1, 0, 0], [0, 0, 1], [0, 2, 0], [1, 0, 0], [2, 0, 1]]


@pytest.mark.parametrize(
    ("before", "after", "verdict", "said"),
    [
        (repeated(0, 0), repeated(0, 9), "worse",
         "WORSE: a:inherit against a: miss ratio worse: +9.00 points at t1 (1 of 2 cells)"),
        (repeated(9, 0), repeated(0, 9), "worse", "t1 (1 of 2 cells); miss ratio better: -9.00"),
        (repeated(0, 0), [[0, n] for n in (5, 12, 9, 7, 12)], "worse", "at t1 (1 of 2 cells)"),
        (repeated(0, 9), repeated(0, 0), "better", "miss ratio better: -9.00 points at t1"),
        (repeated(*[0] * 20), repeated(*[0] * 19, 9), "worse", "points at t19 (1 of 20 cells)"),
        (repeated(0, 0, turns=3), repeated(0, 9, turns=3), "worse", "+9.00 points at t1"),
        (repeated(0, 0, turns=3), repeated(0, 1, turns=3), "undecided", "known of miss ratio"),
        (NOISE, FEWER, "undecided", "EQUAL IN PART: a:inherit against a: longest response"),
        (repeated(0, 0), [[0, 0]] * 4 + [[0, 45]], "undecided", "known of miss ratio"),
    ],
)  # fmt: skip
def test_one_thread_that_begins_to_miss_leads(
    before: Turns, after: Turns, verdict: str, said: str, capsys: Capture
) -> None:
    stored({"": before, "inherit": after})
    assert main(("compare", "a", "--no-figures", "--json")) == 0
    answer = answer_of(capsys.readouterr().out)
    assert answer["verdict"] == verdict
    assert main(("compare", "a", "--no-figures")) == 0
    assert said in " ".join(capsys.readouterr().out.split())
