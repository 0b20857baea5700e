"""A time budget is kept, and spent on what answers most. Truth: a clock that the runs turn."""

import re
from collections.abc import Generator
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from attrs import evolve
from helpers.campaigns import tiny_spec

from deadbeat.base.experiment.base import Experiment, Kept, RunDone, Started, Todo, Watcher
from deadbeat.base.kinds.base import Begin
from deadbeat.base.store.place import Place
from deadbeat.cli.main import main
from deadbeat.machine.targets.run import run
from deadbeat.tasksets.contention.plan import corners_first, plan


class Timed(Experiment[int, int]):
    """Ten runs that were to take 10 s each, and take ``real`` on a clock of their own."""

    def __init__(self, real: float, before: float) -> None:
        self.now, self._real, self._before = 0.0, real, before
        self.ends: list[float] = []

    @property
    def store(self) -> Any:
        return SimpleNamespace(path=Path(), lock=nullcontext, clean=lambda: None)

    def prepared(self, tell: Watcher) -> AbstractContextManager[None]:
        self.now += self._before
        return nullcontext()

    def todo(self) -> Todo:
        return Todo(total=10, done=0, left=10)

    def seconds(self, runs: int) -> float:
        return 10.0 * runs

    def measure(self, tell: Watcher) -> Generator[int]:
        for number in range(10):
            self.now += self._real
            self.ends.append(self.now)
            yield number

    def keep(self, result: int) -> Kept[int]:
        return Kept(result)


@pytest.mark.parametrize(
    ("real", "before", "budget", "runs"),
    [
        (10.0, 0.0, None, 10),
        (10.0, 0.0, 200.0, 10),
        (10.0, 0.0, 60.0, 5),  # 5 % are left for the summary
        (20.0, 0.0, 60.0, 2),  # twice as slow as planned: the pace counts, not the plan
        (5.0, 20.0, 60.0, 7),  # what comes before counts
        (10.0, 70.0, 60.0, 0),
    ],
)
def test_no_run_begins_that_would_end_too_late(
    real: float, before: float, budget: float | None, runs: int
) -> None:
    experiment, left = Timed(real, before), list[float]()

    def watch(event: object) -> None:
        if isinstance(event, Started | RunDone):
            left.append(event.eta_s)

    found = run(experiment, on_event=watch, budget_s=budget, clock=lambda: experiment.now)
    assert (found.done, found.complete) == (runs, runs == 10)
    assert not experiment.ends or experiment.ends[-1] <= (budget or 1000)
    assert max(left) <= (budget or 1000)


@pytest.mark.parametrize(
    ("seconds", "budget", "said"),
    [
        (40.0, None, "about 40 s"),
        (40.0, 60.0, "about 40 s"),
        (55.0, 60.0, "at most 1 min"),
        (None, 60.0, "at most 1 min"),
        (None, None, ""),
    ],
)
def test_the_begin_line_says_what_holds(
    seconds: float | None, budget: float | None, said: str, tmp_path: Path
) -> None:
    lines: list[str] = []
    asked = Begin(runs=tmp_path, budget_s=budget, say=lines.append)
    asked.announce(Place(path=tmp_path / "a", resumed=False), total=3, left=3, seconds=seconds)
    assert lines == [f"begin {tmp_path / 'a'}, 3 runs{': ' * bool(said)}{said}"]


def test_what_is_left_of_a_budget_is_counted_from_the_command_on() -> None:
    asked = Begin(runs=Path(), budget_s=60.0)
    assert Begin(runs=Path()).left_s is None
    later = evolve(asked, started=asked.started - 50)
    assert 9.0 < (later.left_s or 0) <= 10.0
    assert evolve(asked, started=asked.started - 70).left_s == 0.0


def test_the_corner_points_come_first() -> None:
    keys = plan(tiny_spec())
    found = corners_first(tiny_spec(), keys)
    assert sorted(found) == sorted(keys)
    most = max(key.point.cores for key in keys)
    shares = [key.point.sync_share_milli for key in keys]
    ratios = [key.point.contended_ratio_milli for key in keys]
    corner = [
        key.point.cores == most
        and key.point.sync_share_milli in (min(shares), max(shares))
        and key.point.contended_ratio_milli in (min(ratios), max(ratios))
        for key in found
    ]
    assert corner == sorted(corner, reverse=True) and 0 < sum(corner) < len(keys)


def test_a_campaign_whose_time_is_over_before_any_point_has_an_answer_ends_with_status_3(
    capsys: pytest.CaptureFixture[str],
) -> None:
    words = ["contention", "--simulated", "--no-figures", "--quick"]
    assert main([*words, "--time-budget", "0.001s"]) == 3
    said = capsys.readouterr()
    assert re.search(
        r"^the time is over, \d+ of \d+ runs are kept; continue with: ", said.out, re.M
    )
    assert "at most" in said.err
