"""Truth: the worked example in docs/reference/campaign.md, and that parts sum to the response."""

from pathlib import Path

import attrs
import numpy as np
import pytest
from helpers.rows import rows_of, sets_of
from helpers.runs import RunTask, Slot, job_table, key, new_store, ran, skip
from helpers.trials import CONTROLS, TrialOutcome, trial_set, verdict
from hypothesis import given
from hypothesis import strategies as st

from deadbeat.base.model import jobs as j
from deadbeat.base.model.jobs import JobTable
from deadbeat.base.model.traces import PARTS
from deadbeat.tasksets.contention.blame import BlamedRun
from deadbeat.tasksets.contention.figures import run_figures
from deadbeat.tasksets.contention.run_parts import has_split, part_figures, split_parts
from deadbeat.tasksets.contention.summarise import summarise
from deadbeat.tasksets.executors.metrics import job_columns
from deadbeat.tasksets.model.figures import PART_COLUMNS


def with_split(table: JobTable, **columns: list[int]) -> JobTable:
    """The table, its finished jobs marked as split, with these accounts."""
    finished = table.jobs["flags"] & j.JOB_FINISHED != 0
    table.jobs["flags"][finished] |= j.JOB_SPLIT
    for name, values in columns.items():
        table.jobs[name] = values
    return table


def worked_example() -> JobTable:
    table = job_table([RunTask()], [[ran(0, 50, 250), skip(1000)]])
    return with_split(
        table,
        run_delay_before_ns=[20, 0],
        run_delay_within_ns=[40, 0],
        cpu_ns=[100, 0],
        voluntary_switches=[1, 0],
    )


def test_worked_example() -> None:
    table = worked_example()
    columns = job_columns(table)
    parts = split_parts(table, columns)
    assert {part: values.tolist() for part, values in parts.items()} == {
        "wake_up": [30, 0],
        "core_wait": [60, 0],
        "resource_wait": [60, 0],
        "execution": [100, 0],
        "stall": [0, 0],
    }
    assert part_figures(table, columns) == dict(
        zip(PART_COLUMNS, [0.3, 0.6, 0.6, 1.0, 0.0], strict=True)
    )


def test_without_the_split_nothing_is_claimed() -> None:
    table = job_table([RunTask()], [[ran(0, 50, 250)]])
    columns = job_columns(table)
    assert not has_split(table, columns).any()
    assert part_figures(table, columns) == dict.fromkeys(PART_COLUMNS)


def test_ratios_sum_to_the_response_ratio_of_together_jobs() -> None:
    slots = (Slot(), Slot(solo=0))
    jobs = [ran(0, 10, 130), ran(1000, 1100, 1350), ran(9000, 9000, 9100, slot=1)]
    table = with_split(
        job_table([RunTask()], [jobs], slots=slots),
        cpu_ns=[100, 200, 100],
        run_delay_before_ns=[0, 90, 0],
    )
    columns = job_columns(table)
    found = part_figures(table, columns)
    total = run_figures(table, columns).of_set.response_ratio_mean
    assert sum(found.values()) == pytest.approx(total)  # type: ignore[arg-type]


#: What no clock should say, and what a torn read could.
account = st.one_of(
    st.integers(-10, 2_000), st.sampled_from([np.iinfo(np.int64).min, np.iinfo(np.int64).max])
)
job = st.tuples(
    st.integers(0, 500), st.integers(0, 500), account, account, account, account, st.integers(0, 2)
)


@given(st.lists(job, min_size=1, max_size=8), st.booleans())
def test_parts_are_never_negative_and_sum_to_the_response(
    drawn: list[tuple[int, int, int, int, int, int, int]], details: bool
) -> None:
    made = [
        ran(1000 * i, 1000 * i + wake, 1000 * i + wake + span)
        for i, (wake, span, *_) in enumerate(drawn)
    ]
    table = with_split(
        job_table([RunTask()], [made]),
        cpu_ns=[one[2] for one in drawn],
        run_delay_before_ns=[one[3] for one in drawn],
        run_delay_within_ns=[one[4] for one in drawn],
        voluntary_switches=[one[6] for one in drawn],
    )
    if details:
        recorded = np.zeros(len(drawn), j.DETAIL_DTYPE)
        recorded["stall_ns"] = [one[5] for one in drawn]
        table = attrs.evolve(table, details=recorded)
    columns = job_columns(table)
    parts = split_parts(table, columns)
    assert tuple(parts) == PARTS
    assert all((values >= 0).all() for values in parts.values())
    assert (sum(parts.values()) == columns.finish_ns - columns.release_ns).all()


def test_a_thread_that_never_slept_waited_for_no_resource() -> None:
    """What no account of it holds was taken by the host (stolen time) or an interrupt."""
    table = with_split(job_table([RunTask()], [[ran(0, 0, 300)]]), cpu_ns=[100])
    parts = split_parts(table, job_columns(table))
    assert {part: int(values[0]) for part, values in parts.items() if values[0]} == {
        "execution": 100,
        "stall": 200,
    }


def test_a_stall_is_taken_from_what_lies_beyond_the_cost() -> None:
    table = with_split(job_table([RunTask()], [[ran(0, 0, 300)]]), cpu_ns=[300])
    details = np.zeros(1, j.DETAIL_DTYPE)
    details["stall_ns"] = 250
    table = attrs.evolve(table, details=details)
    parts = split_parts(table, job_columns(table))
    assert (int(parts["execution"][0]), int(parts["stall"][0])) == (100, 200)


def test_a_start_before_the_release_still_sums() -> None:
    """A clock that steps back: whatever the parts are, nothing is lost or made up."""
    table = with_split(job_table([RunTask()], [[ran(100, 90, 200)]]), run_delay_before_ns=[5])
    columns = job_columns(table)
    parts = split_parts(table, columns)
    assert sum(int(values[0]) for values in parts.values()) == 100


def test_summary_has_the_parts_of_a_split_campaign(tmp_path: Path) -> None:
    store = new_store(tmp_path / "split")
    store.commit(key(replica=0), worked_example())
    store.commit(key(contended_ratio=0), job_table([RunTask()], [[ran(0, 50, 250)]]))
    summary = summarise(store)
    unsplit, split = rows_of(summary)
    assert [split[column] for column in PART_COLUMNS] == [0.3, 0.6, 0.6, 1.0, 0.0]
    assert [unsplit[column] for column in PART_COLUMNS] == [None] * 5
    assert [row["core_wait_ratio"] for row in sets_of(summary)] == [None, 0.6]


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
