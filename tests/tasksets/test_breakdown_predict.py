"""Truth: two tasks at one object by hand, the replay itself, bisections drawn at random."""

import random
from types import SimpleNamespace
from typing import Any

import attrs
import numpy as np
import pytest
from helpers.runs import made_set, made_task

from deadbeat.base.model import jobs as j
from deadbeat.tasksets.breakdown import predict
from deadbeat.tasksets.breakdown.predict import Host, MissCurve, Model, host_of, miss_curve
from deadbeat.tasksets.breakdown.search import walk
from deadbeat.tasksets.breakdown.spec import built_utilisation, specify, utilisation
from deadbeat.tasksets.model.examples import example_calibration, example_entries, example_fragments
from deadbeat.tasksets.model.results import Point, RunKey
from deadbeat.tasksets.model.tasks import Entry, FragmentUse, Kind, Resource, Segment, Task, TaskSet
from deadbeat.tasksets.prices.rates import RatesByRivals, prepared, priced_matrices, scaled
from deadbeat.tasksets.prices.replay import Overheads, replay
from deadbeat.tasksets.prices.table import Price, PriceTable

SEARCH = specify({"preset": "quick", "breakdown": {"steps": 6}}, names={}).breakdown
CALIBRATION = example_calibration(example_entries(example_fragments()))
MUTEX, MATMUL = Entry("mutex", 4), Entry("matmul", 32)
PRICES = PriceTable(
    prices=(
        Price(
            object="mutex",
            size=4,
            others=1,
            alone_ns=100.0,
            shared_ns=200.0,
            ratio=2.0,
            cpus=(0, 1),
            state="steady",
            slots=20,
            share=1.0,
        ),
    )
)
BOTH, ONE = RunKey(Point(2, 1000, 1000), 0), RunKey(Point(1, 1000, 0), 0)
CALM = Host(overheads=Overheads(), paces={})


def made(core: int, *uses: FragmentUse, period_ns: int = 1_000_000) -> Task:
    """A task that is released at 0."""
    segment = Segment(kind=Kind.SY, budget_ps=0, cost_ps=0, uses=uses)
    bare = made_task(segment, core=core, wcet_ns=1, period_ns=period_ns)
    (costs,) = CALIBRATION.job_costs_ps(bare)
    segment = attrs.evolve(segment, cost_ps=sum(costs))
    return attrs.evolve(bare, segments=(segment,), wcet_ns=sum(costs) // 1000)


def two_cores() -> TaskSet:
    """Core 0 computes, then takes the mutex; core 1 takes it all the time."""
    tasks = (
        made(0, FragmentUse(MATMUL, 5), FragmentUse(MUTEX, 200, 0)),
        made(1, FragmentUse(MUTEX, 300, 0)),
    )
    return made_set(tasks, (Resource("mutex", None),), sync_share_real=1.0)


def model(**more: Any) -> Model:
    given = {"prices": PRICES, "host": CALM, "task_sets": {BOTH: two_cores()}, **more}
    return Model(search=SEARCH, calibration=CALIBRATION, **given)


# ---------- by hand ----------


def test_two_cores_at_one_object_break_down_where_the_price_says() -> None:
    """Core 0 computes for p while core 1 has the mutex alone. Then both want it, for s and r = b -
    p: each is half as fast until the shorter one is done, and the other one is alone again."""
    first, second = two_cores().tasks
    p, s = (ns / 1000 for ns in CALIBRATION.job_costs_ps(first)[0])
    b = second.cost_ps / 1000
    both = min(s, b - p)
    assert both > 0
    longest = max(p + both + s, p + both + (b - p))
    expected = max(p + s, b) / longest
    assert 0.3 < expected < 0.9
    found = model().predict(BOTH, np.zeros(0))
    assert found["predicted_calm"] == pytest.approx(expected, abs=0.005)
    half = float(SEARCH.resolution) / 2
    assert found["predicted"] == pytest.approx(expected, abs=half + 0.005)
    assert found["predicted_low"] == found["predicted_high"]
    plain = model(prices=None).predict(BOTH, np.zeros(0))
    assert plain["predicted_calm"] == pytest.approx(1.0, abs=0.005)


def test_overheads_lower_it_and_a_slow_host_divides_it() -> None:
    wake_ns = two_cores().tasks[1].cost_ps / 1000 / 10
    late = attrs.evolve(CALM, overheads=Overheads(wake_up_ns=wake_ns))
    cost_ns = max(task.cost_ps for task in two_cores().tasks) / 1000
    before = model().predict(BOTH, np.zeros(0))["predicted_calm"]
    after = model(host=late).predict(BOTH, np.zeros(0))["predicted_calm"]
    assert 1 / after == pytest.approx(1 / before + wake_ns / cost_ns, abs=0.02)
    alone = attrs.evolve(two_cores(), cores=1, tasks=two_cores().tasks[1:])
    alone = attrs.evolve(alone, tasks=(attrs.evolve(alone.tasks[0], core=0),))
    sets = {BOTH: two_cores(), ONE: alone}
    slow = attrs.evolve(CALM, paces={ONE: [np.full(50, 1.25)] * 6})
    found = model(host=slow, task_sets=sets).predict(BOTH, np.zeros(0))
    assert found["predicted_calm"] == before
    half = float(SEARCH.resolution) / 2
    assert found["predicted"] == pytest.approx(before / 1.25, abs=half + 0.005)
    # of its own runs a set learns nothing
    own = model(host=slow, task_sets=sets).predict(ONE, np.zeros(0))
    assert own["predicted"] == pytest.approx(1.0, abs=2 * half)


def test_it_is_the_replay() -> None:
    rates = RatesByRivals(priced_matrices(PRICES.prices))
    tasks, _ = prepared(two_cores(), CALIBRATION, rates.matrices[0])
    built, overheads = built_utilisation(two_cores()), Overheads(wake_up_ns=500, switch_ns=300)
    curve = miss_curve(tasks, built, rates, SEARCH, overheads)
    for used, missed in zip(curve.used[:-1], curve.missed[:-1], strict=True):
        at = scaled(tasks, float(built) / used)
        horizon_ns = predict._JOBS / sum(1 / task.period_ns for task in at)
        found = replay(at, rates, horizon_ns=horizon_ns, overheads=overheads)
        assert missed == sum(each.missed for each in found) / sum(each.jobs for each in found)
        assert (missed <= SEARCH.miss_share) == (used <= curve.breakdown)


# ---------- a host whose pace varies ----------


def test_a_run_meets_its_deadlines_up_to_what_its_slots_allow() -> None:
    curve = MissCurve(np.array([0.1, 0.6, 0.604, 2.2]), np.array([0.0, 0.0, 0.5, 1.0]), 0.602)
    calm, slow = np.ones(100), np.full(100, 2.0)
    stalled, rarely = np.ones(100), np.ones(1000)
    stalled[:2] = rarely[:5] = 100.0
    limits = curve.limits([calm, slow, stalled, rarely], SEARCH)
    assert limits == pytest.approx([0.6, 0.3, float(SEARCH.low), 0.6], abs=0.003)


def test_what_a_search_finds_is_what_bisections_drawn_at_random_find() -> None:
    draw = random.Random(7)
    values = np.array([0.2, 0.5, 0.55, 0.7, 0.9])
    chances = np.array([0.1, 0.2, 0.3, 0.3, 0.1])
    expected = predict._outlook(SEARCH, [(chances, values)])

    def passes(level: int) -> bool:
        (limit,) = draw.choices(values, chances)
        return bool(limit >= float(utilisation(SEARCH, level)))

    found = [float(utilisation(SEARCH, walk(SEARCH, passes).level)) for _ in range(4000)]
    deviation = expected["predicted_deviation"]
    assert np.std(found) == pytest.approx(deviation, rel=0.05)
    assert np.mean(found) == pytest.approx(expected["predicted"], abs=4 * deviation / 4000**0.5)
    low, high = expected["predicted_low"], expected["predicted_high"]
    assert 0.94 <= np.mean([low <= each <= high for each in found]) <= 0.99


def test_overheads_and_pace_are_those_of_jobs_that_share_nothing() -> None:
    """Task 1 is preempted once, and waits once. Task 0, the urgent one, takes 108 and 112 ns from
    its releases, where C and wake-up are 110."""
    rows = [(0, 50, 58, 158), (0, 400, 412, 512), (1, 0, 10, 310), (1, 450, 520, 720)]
    jobs = np.zeros(len(rows), dtype=j.JOB_DTYPE)
    for row, (task, release, start, finish) in zip(jobs, rows, strict=True):
        row["task"], row["release_ns"] = task, release
        row["start_ns"], row["finish_ns"] = start, finish
        row["flags"] = j.JOB_COUNTED | j.JOB_STARTED | j.JOB_FINISHED
    tasks = np.zeros(2, dtype=j.TASK_DTYPE)
    tasks["wcet_ns"], tasks["priority"] = (100, 200), (79, 78)
    table = j.JobTable(
        header=np.zeros(1, j.HEADER_DTYPE)[0],
        tasks=tasks,
        slots=np.zeros(1, j.SLOT_DTYPE),
        probes=np.zeros(0, j.PROBE_DTYPE),
        jobs=jobs,
    )
    runs = {RunKey(attrs.evolve(key.point, deadline_factor_milli=2000), 0) for key in (ONE, BOTH)}
    results: Any = SimpleNamespace(stored=runs, store=SimpleNamespace(table=lambda _: table))
    host = host_of(results)
    assert host.overheads == Overheads(wake_up_ns=10, switch_ns=8)
    assert {key: [run.tolist() for run in own] for key, own in host.paces.items()} == {ONE: [[1.0]]}
