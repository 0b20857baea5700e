"""Truth: when the trials of an injected cause decide anything (docs/explanation/why-late.md)."""

import pytest
from helpers.runs import RunTask, job_table, ran, skip
from trials import CONTROLS, TrialOutcome, trial_set, verdict

from deadbeat.kinds.contention.blame import BlamedRun
from deadbeat.model import jobs as j


def outcome(named: int, trials: int, without_effect: int = 0, untraced: str = "") -> TrialOutcome:
    return TrialOutcome(
        name="hog", trials=trials, named=named,
        without_effect=without_effect, untraced=untraced,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("found", "passed"),
    [
        (outcome(19, 20), True),
        (outcome(18, 20), False),
        (outcome(0, 0, 20), None),
        (outcome(0, 0), None),
        # too few in which it showed
        (outcome(9, 9, 11), None),
        (outcome(10, 10, 10), True),
        # without events nobody could have been named; a migration shows without them
        (outcome(0, 20, untraced="no tracefs"), None),
        (outcome(20, 20, untraced="no tracefs"), True),
    ],
)
def test_what_trials_decide(found: TrialOutcome, passed: bool | None) -> None:
    assert found.passed is passed


def test_a_trial_is_judged_by_a_job_that_finished() -> None:
    """Throttling keeps its task for so long that most releases are skipped."""
    control = next(one for one in CONTROLS if one.name == "throttling")
    ms = 1_000_000
    usual = [ran(i * ms, i * ms, i * ms + ms // 2) for i in range(5)]
    long = ran(10 * ms, 10 * ms, 70 * ms, counted=False)
    jobs = [*usual, long, *(skip(i * ms) for i in range(11, 70))]
    table = job_table([RunTask(period_ns=ms, deadline_ns=ms)], [jobs], flags=j.RUN_SPLIT)
    table.jobs["flags"][:6] |= j.JOB_SPLIT
    assert verdict(BlamedRun("r", table), control) is None


def test_tasks_of_a_trial_share_one_object_on_their_own_cores() -> None:
    for control in CONTROLS:
        made = trial_set(control.tasks, dict.fromkeys((w.entry for w in control.tasks), 1000.0))
        assert made.cores == 2
        assert {task.core for task in made.tasks} == {0, 1}
        assert len(made.resources) == len({w.entry for w in control.tasks if w.locks})
