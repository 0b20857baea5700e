"""Truth: jobs written out by hand, of which the kernel says what strangers took."""

from pathlib import Path

import pytest
from helpers.answers import Capture, answer
from helpers.runs import RunTask, Slot, job_table, key, new_store, ran, skip

from deadbeat.model import jobs as j
from deadbeat.model.jobs import JobTable

SLOTS = (Slot(end=9_000), Slot(solo=0, start=10_000, end=19_000), Slot(solo=1, start=20_000))


def disturbed(*, known: bool = True, busy: int = 600) -> JobTable:
    """Of 100 ns of a task with another, more urgent one on its core, which takes 50 ns of each of
    its jobs together; a stranger takes ``busy`` ns of one job, which skips a release by that."""
    least = [
        ran(0, 0, 150 + busy), skip(200), ran(1000, 1000, 1150), ran(2000, 2000, 2150),
        ran(10_000, 10_000, 10_100, slot=1), ran(11_000, 11_000, 11_100, slot=1),
    ]  # fmt: skip
    urgent = [ran(at, at + 20, at + 70) for at in (0, 1000, 2000)]
    tasks = (RunTask(period_ns=700), RunTask(wcet_ns=50))
    table = job_table(tasks, [least, [*urgent, ran(20_000, 20_000, 20_050, slot=2)]], slots=SLOTS)
    table.tasks["priority"][1] = 61
    jobs = table.jobs
    jobs["cpu_ns"] = [100, 0, *[100] * 4, *[50] * 4]
    jobs["run_delay_within_ns"][:4] = 50 + busy, 0, 50, 50
    if known:
        jobs["flags"][jobs["flags"] & j.JOB_FINISHED != 0] |= j.JOB_SPLIT
    return table


@pytest.mark.parametrize("known", [True, False])
def test_what_strangers_took_stands_beside_the_slowdown(
    known: bool, tmp_path: Path, capsys: Capture
) -> None:
    store = new_store(tmp_path / "beside")
    for replica in range(2):
        store.commit(key(1, 500, 0, replica=replica), disturbed(known=known))
    found = answer(capsys, "show", str(store.path))
    (row,), said = found["rows"], found["headline"]
    # the first task: a mean span of (750 + 150 + 150) / 3 of 100; the other: 1
    mean = row["slowdown_mean" if known else "slowdown_bound"]
    assert mean == pytest.approx((3.5 + 1) / 2)
    # one job in seven did not finish in time, by which a stranger is known to be the reason or not
    assert (row["slowdown_mean"] is None) is not known
    # its own, more urgent task stays in
    assert row["slowdown_undisturbed"] == (pytest.approx((1.5 + 1) / 2) if known else None)
    assert row["others_share"] == (pytest.approx(600 / (1050 + 200 + 150 + 50)) if known else None)
    assert ("too few task sets for an upper end" in said) is known  # two
    assert ("Others took 41 % of the jobs' time" in said) is known
    assert ("slowdown is 1.25 to 1.25 at M = 1" in said) is known
