"""Truth: small campaigns written out by hand, and the table of files in docs/reference/files.md."""

import ast
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import attrs
import numpy as np
import pytest
from helpers.rows import rows_of, sets_from, sets_of
from helpers.runs import (
    SET_ID,
    PlannedTask,
    RunTask,
    Slot,
    calibration,
    job_table,
    key,
    new_store,
    ran,
    skip,
    task_set,
)

import deadbeat
from deadbeat.base.model import jobs as j
from deadbeat.base.model.errors import DataError, UsageError
from deadbeat.base.model.jobs import JobTable
from deadbeat.base.store.files import cell
from deadbeat.tasksets.contention.point import point_cell
from deadbeat.tasksets.contention.summarise import summarise
from deadbeat.tasksets.model.figures import SUMMARY_COLUMNS, CellFigures, SetFigures
from deadbeat.tasksets.model.results import Point, RunKey
from deadbeat.tasksets.model.tasks import Resource
from deadbeat.tasksets.store.campaign import CampaignStore
from deadbeat.tasksets.store.summary import read_summary, write_summary

SLOTS = (Slot(), Slot(solo=0), Slot(solo=1))


def run(span: int, *, misses: int = 0, flags: int = j.RUN_REALTIME) -> JobTable:
    """Two tasks of C = 100 on two cores; ``span`` together, 100 alone; four jobs each."""
    tables = []
    for task in range(2):
        together = [ran(1000 * i, 1000 * i, 1000 * i + span) for i in range(4 - misses)]
        together += [skip(1000 * (4 - misses + i)) for i in range(misses)]
        alone = 9000 + 1000 * task
        tables.append([*together, ran(alone, alone, alone + 100, slot=1 + task)])
    tasks = [RunTask(core=0), RunTask(core=1)]
    return job_table(tasks, tables, slots=SLOTS, flags=flags)


def plan(con: bool = True) -> Any:
    resources = [Resource("lock", None), Resource("lock", 0), Resource("lock", 1)]
    tasks = [
        PlannedTask(core=core, uses=[("work", 50, None), ("lock", 50, 0 if con else 1 + core)])
        for core in (0, 1)
    ]
    return task_set(tasks, resources, contended_ratio_real=1.0 if con else 0.0)


@pytest.fixture
def store(tmp_path: Path) -> CampaignStore:
    """Two sets at one point (slowdowns 1.2 and 1.4), one at another, a third without a run."""
    made = new_store(tmp_path / "demo")
    made.save_calibration(calibration())
    keys = [key(replica=0), key(replica=1), key(contended_ratio=0), key(contended_ratio=500)]
    made.programs.save(
        "b0", "", [(k, plan(k.point.contended_ratio_milli > 0)) for k in keys],
        set_ids=[SET_ID] * 4,
    )  # fmt: skip
    made.commit(key(replica=0), run(120))
    made.commit(key(replica=1), run(140, misses=1))
    made.commit(key(contended_ratio=0), run(100))
    made.save_session(1, "before", {"time": "2026-01-01T00:00:00+00:00"})
    return made


def row_of(store: CampaignStore, contended_ratio: float) -> dict[str, Any]:
    (row,) = [row for row in rows_of(summarise(store)) if row["contended_ratio"] == contended_ratio]
    assert tuple(row) == SUMMARY_COLUMNS
    return row


def test_a_point_by_hand(store: CampaignStore) -> None:
    row, none = row_of(store, 1.0), row_of(store, 0.0)
    assert (row["cores"], row["sync_share"], row["task_sets"]) == (2, 0.5, 2)
    # Two of sixteen jobs never ran: there is no mean, but what it is at least.
    assert (row["jobs"], row["released"], row["slowdown_ci_basis"]) == (14, 16, "bound")
    for metric in ("slowdown", "delay_ratio"):
        assert row[f"{metric}_mean"] is row[f"{metric}_ci_high"] is None
        assert row[f"{metric}_bound"] == pytest.approx((1.2 + 1.4) / 2)
        assert row[f"{metric}_ci_low"] == row[f"{metric}_bound_ci_low"] < 1.2
    assert row["response_ratio_mean"] is None
    assert none["slowdown_mean"] == none["response_ratio_mean"] == 1.0
    # One round says nothing of its error.
    assert none["slowdown_ci_low"] is none["slowdown_ci_basis"] is None
    # Eight jobs of 1.2, six of 1.4 and two above all: the median lies between the kinds.
    assert row["delay_ratio_p50"] == row["slowdown_p50"] == pytest.approx(1.3)
    assert row["delay_ratio_p95"] is row["delay_ratio_max"] is None
    # What the plan says
    assert (row["sync_share_real"], row["contended_ratio_real"]) == (0.5, 1.0)
    assert row["overlap_real"] == 1.0
    assert none["contended_ratio_real"] == 0.0
    assert none["overlap_real"] is None


def test_misses_and_needed_deadlines_by_hand(store: CampaignStore) -> None:
    row, none = row_of(store, 1.0), row_of(store, 0.0)
    assert row["deadline_miss_ratio"] == row["miss_excess"] == pytest.approx(2 / 16)
    assert (row["miss_episodes"], row["overruns"], row["miss_sets"]) == (2, 2, 1)
    assert 0 <= row["deadline_miss_ci_low"] < 2 / 16 < row["deadline_miss_ci_high"] <= 1
    # Clopper and Pearson: one of two.
    ends = (row["miss_sets_ci_low"], row["miss_sets_ci_high"])
    assert ends == pytest.approx((0.0126, 0.9874), abs=1e-4)
    # Two sets of one round each.
    assert row["alone_miss_ratio"] == 0.0
    assert row["alone_miss_ci_high"] == pytest.approx(1 - 0.05**0.5)
    assert row["miss_excess_ci_low"] < 0 < row["miss_excess"] < row["miss_excess_ci_high"]
    # Two of sixteen jobs never ran: no deadline is long enough for all but one in a hundred.
    assert row["deadline_needed_p99"] is row["deadline_needed_all"] is None
    assert row["deadline_needed_p99_low"] == pytest.approx(1.2)
    assert row["deadline_needed_p99_high"] is none["deadline_needed_p999_high"] is None
    assert none["deadline_needed_p999"] == none["deadline_needed_all"] == pytest.approx(1.0)
    assert none["alone_deadline_needed_p99"] == pytest.approx(1.0)


def in_rounds(slots: int = 4) -> JobTable:
    """Two tasks, ``slots`` rounds; together they take 110, 120, ... and 100 alone."""
    table, jobs = [], []
    for number in range(slots):
        table += [Slot(round=number), Slot(round=number, solo=0), Slot(round=number, solo=1)]
    for task in range(2):
        own = []
        for number in range(slots):
            at = 3000 * number
            own += [
                ran(at, at, at + 110 + 10 * number, slot=3 * number),
                ran(at + 1000, at + 1000, at + 1100, slot=3 * number + 1 + task),
            ]
        jobs.append(own)
    return job_table([RunTask(core=0), RunTask(core=1)], jobs, slots=table)


def test_one_set_has_the_interval_of_its_rounds(tmp_path: Path) -> None:
    store = new_store(tmp_path)
    store.commit(key(), in_rounds())
    (row,) = rows_of(summarise(store))
    assert (row["task_sets"], row["slowdown_ci_basis"]) == (1, "rounds")
    # Of 1.1, 1.2, 1.3 and 1.4 that of the mean: t(3) 0.129 / 2.
    assert row["slowdown_mean"] == pytest.approx(1.25)
    assert row["slowdown_ci_high"] == pytest.approx(1.25 + 3.1824 * 0.1290994 / 2, rel=1e-4)
    assert row["delay_ratio_ci_basis"] == "rounds"
    assert row["delay_ratio_ci_low"] == pytest.approx(1.25 - 3.1824 * 0.1290994 / 2, rel=1e-4)
    assert (row["deadline_miss_ratio"], row["deadline_miss_ci_low"]) == (0.0, 0.0)
    assert row["deadline_miss_ci_high"] == pytest.approx(1 - 0.05**0.25)
    assert (row["miss_sets"], row["miss_sets_ci_high"]) == (0, pytest.approx(0.95))


def test_a_delay_ratio_is_known_no_better_than_its_costs(store: CampaignStore) -> None:
    sets = [row | {"jobs": row["released"]} for row in sets_of(summarise(store))[1:]]
    row, plain = (
        point_cell(CellFigures(), sets_from([own | more for own in sets]), ()).row("profile")
        for more in ({"cost_half_width": 0.2}, {})
    )
    arms = [1.3 - one["delay_ratio_ci_low"] for one in (row, plain)]
    assert arms[0] ** 2 == pytest.approx(arms[1] ** 2 + (0.2 * 1.3) ** 2)
    assert row["slowdown_ci_low"] == plain["slowdown_ci_low"]


def test_a_point_without_a_run_is_undecided(store: CampaignStore) -> None:
    row = row_of(store, 0.5)
    assert (row["task_sets"], row["jobs"]) == (0, 0)
    known = {"cores", "sync_share", "contended_ratio", "task_sets", "jobs"}
    assert all(row[column] is None for column in SUMMARY_COLUMNS if column not in known)


def on_one_core(span: int) -> JobTable:
    jobs = [ran(0, 0, span), ran(9000, 9000, 9100, slot=1)]
    return job_table([RunTask()], [jobs], slots=SLOTS[:2])


def test_what_shows_without_an_effect_is_the_noise_floor(tmp_path: Path) -> None:
    store = new_store(tmp_path)
    for replica, span in enumerate((99, 101, 103)):
        store.commit(key(contended_ratio=0, replica=replica), run(span))
    for replica, span in enumerate((100, 102)):
        store.commit(key(cores=1, replica=replica), on_one_core(span))
    # What contends has an effect, and two tasks on one core preempt one another.
    store.commit(key(replica=0), run(300))
    store.commit(key(cores=1, contended_ratio=0), run(400))
    found = summarise(store).noise_floor
    assert (found.sets, found.mean) == (5, pytest.approx(1.01))
    assert found.sd == pytest.approx((0.001 / 3) ** 0.5)
    # Points have 3, 2, 1 and 1 sets.
    assert found.smallest_effect == pytest.approx(3.1824 * found.sd / 1.5**0.5, rel=1e-4)


def test_what_the_machine_does_under_load_is_no_noise(tmp_path: Path) -> None:
    store = new_store(tmp_path)
    for replica in range(3):
        store.commit(key(cores=1, replica=replica), on_one_core(100 + replica))
        store.commit(key(contended_ratio=0, replica=replica), run(200 + replica))
    assert summarise(store).noise_floor.smallest_effect < 0.05


def test_few_sets_without_an_effect_leave_the_smallest_one_undecided(store: CampaignStore) -> None:
    found = summarise(store).noise_floor
    assert (found.smallest_effect, found.sets) == (None, 1)
    assert "noise-floor-undecided" in {finding.id for finding in summarise(store).findings}


def test_sets_are_reported_one_by_one(store: CampaignStore) -> None:
    sets = sets_of(summarise(store))
    assert [item["slowdown_mean"] for item in sets] == pytest.approx([1.0, 1.2, 1.4])
    assert all(tuple(item) == SetFigures.columns("profile") for item in sets)
    last = sets[-1]
    assert (last["key"], last["replica"], last["seed"]) == (key(replica=1).text, 1, 77)
    assert (last["left_out"], last["deadline_misses"], last["skipped"]) == (0, 2, 2)
    assert (store.path / last["file"]).is_file()


def test_distributions_hold_every_job(store: CampaignStore) -> None:
    items = summarise(store).distributions
    (slow,) = [d for d in items if d["metric"] == "slowdown" and d["contended_ratio"] == 1.0]
    assert sum(slow["counts"]) == 14
    assert len(slow["edges"]) == len(slow["counts"]) + 1
    assert slow["edges"][0] <= 1.2 < slow["edges"][1]
    assert slow["edges"][-2] <= 1.4 < slow["edges"][-1]
    assert (slow["counts"][0], slow["counts"][-1]) == (8, 6)


def test_labels_say_what_kind_of_run_it_was(tmp_path: Path) -> None:
    store = new_store(tmp_path)
    assert summarise(store).labels == ()
    store.save_calibration(calibration(kind="simulated", policy="other", basis="cold"))
    assert summarise(store).labels == ("simulated", "policy other", "cold costs")


def test_one_run_without_real_time_policy_labels_the_campaign(store: CampaignStore) -> None:
    store.commit(key(replica=2), run(100, flags=0))
    assert summarise(store).labels == ("policy other",)


def test_an_empty_campaign_has_an_empty_summary(tmp_path: Path) -> None:
    summary = summarise(new_store(tmp_path))
    assert summary.cells == summary.sets == summary.distributions == ()
    assert summary.meta["name"] == tmp_path.name


def test_runs_without_their_plan_have_figures_without_it(tmp_path: Path) -> None:
    store = new_store(tmp_path)
    store.commit(key(), run(120))
    (row,) = rows_of(summarise(store))
    assert row["slowdown_mean"] == pytest.approx(1.2)
    assert row["sync_share_real"] is row["overlap_real"] is None


def test_a_run_of_another_task_set_is_refused(store: CampaignStore) -> None:
    store.programs.save("b1", "", [(key(replica=1), plan())], set_ids=["f" * 64])
    with pytest.raises(DataError, match=r"r0001\.jobs belongs to another task set than batch b1"):
        summarise(store)


def test_a_damaged_run_is_named(store: CampaignStore) -> None:
    path = store.jobs_path(key(replica=1))
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(DataError, match=r"r0001\.jobs is truncated") as caught:
        summarise(store)
    assert "measured again" in caught.value.hint


def test_a_calibration_that_does_not_fit_is_named(store: CampaignStore) -> None:
    path = store.path / "calibration.json"
    plain = json.loads(path.read_text())
    del plain["costs"]["lock/1"]
    path.write_text(json.dumps(plain))
    with pytest.raises(DataError, match="has no cost of lock/1, which"):
        summarise(store)


def test_points_are_in_order(tmp_path: Path) -> None:
    store = new_store(tmp_path)
    points = [Point(2, 0, 0), Point(1, 500, 0), Point(1, 0, 500), Point(1, 0, 0)]
    for point in points:
        store.fail(RunKey(point, 0), "x")
    rows = rows_of(summarise(store))
    found = [(row["cores"], row["sync_share"], row["contended_ratio"]) for row in rows]
    assert found == sorted(found)
    assert len(found) == 4


# -- derived files


def test_the_stored_summary_is_the_summary(store: CampaignStore) -> None:
    summary = summarise(store)
    assert read_summary(store) is None
    write_summary(store, summary)
    assert read_summary(store) == summary


@pytest.mark.parametrize("name", ["summary.json", "sets.json"])
def test_a_damaged_summary_is_made_again(store: CampaignStore, name: str) -> None:
    write_summary(store, summarise(store))
    (store.path / name).write_text("{}")
    assert read_summary(store) is None
    assert deadbeat.open(store.path).summary == summarise(store)


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, ""), (3, "3"), (0.1 + 0.2, "0.3"), (1 / 3, "0.333333333"), (2.0, "2"), (1e-12, "1e-12"),
     (True, "true"), ("a", "a")],
)  # fmt: skip
def test_cells_are_short(value: object, text: str) -> None:
    assert cell(value) == text


# -- deadbeat.open


def test_open_gives_the_summary_and_numpy_columns(store: CampaignStore) -> None:
    view = deadbeat.open(store.path)
    assert view.summary == summarise(store)
    assert view.keys == tuple(sorted(store.committed()))
    jobs = view.jobs(key(replica=1).text)
    assert jobs["delay_ratio"][:3].tolist() == pytest.approx([1.4] * 3)
    assert jobs["missed"].tolist() == [False, False, False, True, False] * 2
    assert jobs["core"].tolist() == [0] * 5 + [1] * 5
    assert "cpu_ns" not in jobs
    assert view.task_set(key()).seed == 77
    with pytest.raises(UsageError, match="has no run"):
        view.jobs(key(replica=9))


def test_all_jobs_are_the_counted_ones_with_their_point(store: CampaignStore) -> None:
    jobs = deadbeat.open(store.path).all_jobs()
    assert len(jobs["cores"]) == 3 * 8
    assert set(jobs["replica"]) == {0, 1}
    assert np.nanmean(jobs["slowdown"][jobs["contended_ratio"] == 1.0]) == pytest.approx(
        (8 * 1.2 + 6 * 1.4) / 14
    )


def test_a_stored_summary_is_used_until_a_run_is_added(store: CampaignStore) -> None:
    write_summary(store, attrs.evolve(summarise(store), labels=("from the file",)))
    assert deadbeat.open(store.path).summary.labels == ("from the file",)
    store.commit(key(replica=7), run(100))
    assert deadbeat.open(store.path).summary.labels == ()
    assert rows_of(deadbeat.open(store.path).summary)[-1]["task_sets"] == 3


def test_split_columns_appear_where_they_were_recorded(tmp_path: Path) -> None:
    table = run(120)
    split = table.jobs.copy()
    split["flags"] |= j.JOB_SPLIT
    split["cpu_ns"], split["run_delay_within_ns"] = 70, 20
    store = new_store(tmp_path)
    store.commit(
        key(),
        JobTable(header=table.header, tasks=table.tasks, slots=table.slots,
                 probes=table.probes, jobs=split),
    )  # fmt: skip
    jobs = deadbeat.open(tmp_path).jobs(key())
    assert jobs["blocked_ns"][0] == 120 - 70 - 20


def test_pandas_gets_the_same_numbers(store: CampaignStore) -> None:
    pytest.importorskip("pandas")
    view = deadbeat.open(store.path)
    frame = view.to_pandas()
    assert tuple(frame.columns) == SUMMARY_COLUMNS
    assert frame["slowdown_bound"].iloc[-1] == pytest.approx(1.3)
    assert tuple(view.sets_to_pandas().columns) == SetFigures.columns("profile")
    assert len(view.jobs(key()).to_pandas()) == 10


def python(code: str, *arguments: str) -> str:
    return subprocess.run(
        [sys.executable, "-c", code, *arguments], check=True, capture_output=True, text=True
    ).stdout


def test_without_pandas_there_is_a_clear_error(store: CampaignStore) -> None:
    code = """
import sys
sys.modules["pandas"] = None  # as where it is not installed
import deadbeat
try:
    deadbeat.open(sys.argv[1]).to_pandas()
except deadbeat.base.model.errors.DeadbeatError as error:
    print(error)
"""
    assert python(code, str(store.path)).startswith("pandas is not installed (pip install pandas")


def test_import_deadbeat_is_light() -> None:
    code = "import sys, deadbeat; print({'numpy', 'attrs', 'cattrs'} & set(sys.modules))"
    assert python(code) == "set()\n"


def test_the_public_names_are_there() -> None:
    assert sorted(deadbeat.__all__) == dir(deadbeat)
    assert deadbeat.__version__
    stub = ast.parse(Path(deadbeat.__file__).with_suffix(".pyi").read_text(encoding="utf-8"))
    (typed,) = (ast.literal_eval(n.value) for n in stub.body if isinstance(n, ast.Assign))
    assert sorted(typed) == deadbeat.__all__
    assert all(getattr(deadbeat, name) is not None for name in typed)
    with pytest.raises(AttributeError, match="no attribute 'close'"):
        deadbeat.close  # noqa: B018  (looked up on purpose)
