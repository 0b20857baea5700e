"""Truth: a second replay, written from the definition: time in small steps, one task a core."""

import csv
import json
import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers import seldom
from helpers.answers import Capture, answer

from deadbeat.base.model import jobs as j
from deadbeat.base.model.platform import example_platform
from deadbeat.base.stats.intervals import Interval
from deadbeat.cli.main import main
from deadbeat.tasksets.catalog import load_catalog
from deadbeat.tasksets.contention.facts import ratio
from deadbeat.tasksets.contention.figures import run_figures
from deadbeat.tasksets.executors.base import RunSettings
from deadbeat.tasksets.executors.metrics import job_columns
from deadbeat.tasksets.model.examples import example_calibration, example_entries
from deadbeat.tasksets.model.tasks import Access, TaskSet
from deadbeat.tasksets.prediction.engine import PricedMatrices
from deadbeat.tasksets.prediction.replayed import ReplayExecutor
from deadbeat.tasksets.prices.rates import PairMatrix, PairSlowdown, SizedWork
from deadbeat.tasksets.prices.topology import read_topology
from deadbeat.tasksets.synthesis import SynthesisParameters, synthesise

#: Slowdown of an object beside one rival at it.
PRICES = {"mutex_normal": 3.0, "pipe": 2.2, "futex": 1.5}
STEP_NS = 1_000


def matrix(width: float = 0.1) -> PricedMatrices:
    works = tuple(SizedWork(name, 1, shared=True) for name in PRICES)
    pairs = {
        (at, at): PairSlowdown(
            value=price, interval=Interval(price * (1 - width), price * (1 + width))
        )
        for at, price in enumerate(PRICES.values())
    }
    made = PairMatrix(works=works, computes=(False,) * 3, memory=(False,) * 3, pairs=pairs)
    platform = example_platform(2)
    return PricedMatrices(name="m", matrices=(made,), platform=platform, labels=())


def drawn(cores: int, share: float, seed: int) -> TaskSet:
    catalog = load_catalog()
    costs = example_calibration(example_entries(catalog.fragments.values()), cores=cores)
    asked = SynthesisParameters(
        cores=cores,
        tasks=cores,
        sync_share=Fraction(share),
        contended_ratio=Fraction(share),
        fragments=tuple(PRICES),
    )
    return synthesise(asked, catalog, costs, seed)


# ---------- the second replay ----------


def cycle(customers: int, share: float) -> float:
    """Mean cycle of a closed queue, by its states: customers think, or wait for one server; the
    stationary distribution of the birth-death chain gives the throughput."""
    if share >= 1:
        return float(customers)
    think, hold = 1 - share, share
    weights = [1.0]
    for queued in range(customers):
        weights.append(weights[-1] * (customers - queued) * hold / think)
    busy = 1 - weights[0] / sum(weights)
    return customers * hold / busy


def beside(price: float, rivals: int) -> float:
    """Slowdown beside ``rivals``, of a price beside one: what two that queue cannot explain is the
    price of sharing."""
    if price >= 2:
        return price / 2 * (rivals + 1)
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if cycle(2, middle) < price else (low, middle)
    return cycle(rivals + 1, low)


def jobs_of(task_set: TaskSet) -> list[list[tuple[str | None, float]]]:
    """Uses of a job of each task: the shared object, and ns alone."""
    entries = example_entries(load_catalog().fragments.values())
    costs = example_calibration(entries, cores=task_set.cores)
    found = []
    for task in task_set.tasks:
        uses: list[tuple[str | None, float]] = []
        for segment, spent in zip(task.segments, costs.job_costs_ps(task), strict=True):
            for use, ps in zip(segment.uses, spent, strict=True):
                resource = None if use.resource is None else task_set.resources[use.resource]
                shared = resource is not None and resource.access is Access.CON
                uses.append((use.entry.fragment if shared else None, ps / 1000))
        found.append(uses)
    return found


def second_replay(task_set: TaskSet, periods: int = 30) -> float:
    """Mean over tasks of a job's span over its C. In a step a core goes on with what it worked at,
    at the rate that the others' work at its beginning leaves."""
    jobs = jobs_of(task_set)
    slow = {name: [beside(p, n) for n in range(task_set.cores)] for name, p in PRICES.items()}
    state = [(-1, 0.0, 0)] * task_set.cores  # use, ns left of it, start of the job
    spans: list[list[float]] = [[] for _ in jobs]
    due = [task.offset_ns for task in task_set.tasks]
    longest = max(task.period_ns for task in task_set.tasks)
    for now in range(0, periods * longest, STEP_NS):
        at = [jobs[core][use][0] if use >= 0 else None for core, (use, _, _) in enumerate(state)]
        for core, uses in enumerate(jobs):
            use, left, start = state[core]
            if now >= due[core]:
                due[core] += task_set.tasks[core].period_ns
                if use < 0:
                    state[core] = (0, uses[0][1], now)
                continue
            name = at[core]
            left -= STEP_NS / (slow[name][at.count(name) - 1] if name else 1.0)
            while use >= 0 and left <= 0:
                use = use + 1 if use + 1 < len(uses) else -1
                if use < 0:
                    spans[core].append(now + STEP_NS - start)
                else:
                    left += uses[use][1]
            state[core] = (use, left, start)
    costs = [sum(ns for _, ns in uses) for uses in jobs]
    return float(np.mean([np.mean(own) / c for own, c in zip(spans, costs, strict=True) if own]))


def replayed(executor: ReplayExecutor, task_set: TaskSet) -> float:
    table = executor.jobs(task_set, RunSettings(seconds=0.3), 1_000_000)
    found = table.jobs
    wanted = (found["flags"] & j.JOB_FINISHED > 0) & (found["flags"] & j.JOB_SOLO == 0)
    spans = found["finish_ns"] - found["start_ns"]
    return float(
        np.mean(
            [
                spans[wanted & (found["task"] == task)].mean() / (own.cost_ps / 1000)
                for task, own in enumerate(task_set.tasks)
                if (wanted & (found["task"] == task)).any()
            ]
        )
    )


@pytest.mark.parametrize(("cores", "share"), [(4, 1.0), *seldom((8, 0.5), (8, 1.0), (16, 0.5))])
def test_a_surface_agrees_with_the_second_replay(cores: int, share: float) -> None:
    executor = ReplayExecutor(stored=matrix(), cores=cores)
    sets = [drawn(cores, share, seed) for seed in range(4)]
    mine = np.mean([replayed(executor, each) for each in sets])
    other = np.mean([second_replay(each) for each in sets])
    assert mine == pytest.approx(other, rel=0.10)
    assert mine > 1.02


def test_a_range_holds_the_middle_and_grows_with_its_price() -> None:
    task_set = drawn(8, 1.0, seed=1)
    executor = ReplayExecutor(stored=matrix(0.2), cores=8)
    table = executor.jobs(task_set, RunSettings(seconds=0.3), 1_000_000)
    found = run_figures(table, job_columns(table)).of_set
    dearer = replayed(ReplayExecutor(stored=matrix(0.2), cores=8, growth=1.5), task_set)
    middle = found.slowdown_mean
    assert found.slowdown_low < middle < dearer < (found.slowdown_high or math.inf)
    # beyond the two cores that were measured alone: a pair costs what it cost
    pair = drawn(2, 1.0, seed=1)
    same = [
        replayed(ReplayExecutor(stored=matrix(), cores=2, growth=growth), pair)
        for growth in (1.0, 3.0)
    ]
    assert same[0] == same[1]


@pytest.mark.usefixtures("in_a_folder")
def test_cores_held_back_say_how_far_a_range_holds(capsys: Capture) -> None:
    """A made-up machine with a known price of sharing, predicted from its pairs alone."""
    words = ("contention", "--quick", "--no-figures", "--executor", "sim:cores=8,contention=0.6")
    drawn = ("--cores", "2,4", "--sync-share", "1", "--contended-ratio", "1", "--sets", "3")
    assert main((*words, *drawn, "--set", "grid.mix=random", "--name", "known")) == 0
    capsys.readouterr()
    found = answer(capsys, "predict", "known", "--set", "hold-cores=2")
    further = [row for row in found["rows"] if row["cores"] > 2]
    assert found["ranged"] == len(further) == 3
    for row in further:
        low, high = row["range"]
        assert low <= row["predicted"] <= high
        assert low - 0.1 <= row["measured"] <= high + 0.1 and row["measured"] > 1.02
    assert main(("predict", "known", "--set", "hold-cores=2")) == 0
    assert "Measured on more than 2 cores: 3 of 3" in capsys.readouterr().out
    assert main(("predict", "known", "--set", "hold-cores=8")) == 2
    assert "known has no set on more than 8 cores" in capsys.readouterr().err


def grid_of(capsys: Capture, contention: float, seed: int) -> dict[tuple[float, ...], Any]:
    """Rows of a replay of a made-up machine whose operations take 1 + ``contention`` times as long
    beside one other core, by (M, rho, alpha)."""
    name = f"made-{contention}"
    small = ("contention", "--quick", "--no-figures", "--sets", "2", "--set", "grid.mix=random")
    if not Path("runs", name).exists():
        made = f"sim:cores=2,contention={contention}"
        assert main((*small, "--executor", made, "--cores", "2", "--name", name)) == 0
    asked = (*small, "--executor", f"replay:{name},cores=16", "--cores", "4,8,16")
    axes = ("--sync-share", "0.5,1", "--contended-ratio", "0.5,1", "--sets", "6")
    assert main((*asked, *axes, "--seed", f"{seed}", "--name", f"replay-{seed}")) == 0
    capsys.readouterr()
    rows = answer(capsys, "show", f"replay-{seed}")["rows"]
    return {(row["cores"], row["sync_share"], row["contended_ratio"]): row for row in rows}


def rises(rows: dict[tuple[float, ...], Any], figure: str = "slowdown_bound") -> bool:
    """Whether no point lies below one with no more of any axis, beyond their intervals."""
    return all(
        row[figure] >= rows[lower][f"{figure}_ci_low"]
        for place, row in rows.items()
        for lower in rows
        if all(one <= other for one, other in zip(lower, place, strict=True))
    )


@pytest.mark.statistical
@pytest.mark.usefixtures("in_a_folder")
def test_surfaces_of_a_monotone_machine_rise(capsys: Capture) -> None:
    one, other = (grid_of(capsys, 0.3, seed) for seed in (1, 2))
    assert rises(one) and rises(other)
    for place, row in one.items():
        assert row["slowdown_mean"] == pytest.approx(other[place]["slowdown_mean"], rel=0.10)


@pytest.mark.statistical
@pytest.mark.usefixtures("in_a_folder")
def test_a_saturated_point_has_a_bound_that_rises_too(capsys: Capture) -> None:
    rows = grid_of(capsys, 30.0, 3)
    assert rises(rows)
    ends = [rows[cores, 1.0, 1.0] for cores in (4, 8, 16)]
    assert all(row["slowdown_mean"] is None for row in ends)
    assert ends[0]["slowdown_bound"] < ends[1]["slowdown_bound"] < ends[2]["slowdown_bound"]
    assert main(("show", "replay-3")) == 0
    shown = capsys.readouterr().out
    assert f"at least {ratio(ends[2]['slowdown_bound'])}" in shown
    with Path("runs/replay-3/summary.csv").open() as file:
        written = {row["cores"]: row for row in csv.DictReader(file) if row["slowdown_mean"] == ""}
    assert written["16"]["slowdown_ci_basis"] == "bound"
    assert "≥" in Path("runs/replay-3/report.html").read_text()


#: lscpu -e -J of two sockets of two cores of two threads, siblings 4 apart, as a list of places.
_CPUS = [(cpu, cpu % 4, cpu % 4 // 2) for cpu in range(8)]
_FORMS = {
    "e.json": json.dumps(
        {"cpus": [
            {"cpu": cpu, "node": at, "socket": at, "core": core,
             "l1d:l1i:l2:l3": f"{core}:{core}:{core}:{at}", "online": True}
            for cpu, core, at in _CPUS
        ]}
    ),
    "p.csv": "# The following is the parsable format\n# CPU,Core,Socket,Node,,L1d,L1i,L2,L3\n"
    + "".join(f"{cpu},{core},{at},{at},,{core},{core},{core},{at}\n" for cpu, core, at in _CPUS),
    "e.txt": "CPU NODE SOCKET CORE L1d:L1i:L2:L3 ONLINE\n"
    + "".join(f"{cpu} {at} {at} {core} {core}:{core}:{core}:{at} yes\n" for cpu, core, at in _CPUS)
    + "  8    -      -    - -             no\n",
}  # fmt: skip


@pytest.mark.usefixtures("in_a_folder")
@pytest.mark.parametrize("form", _FORMS)
def test_a_table_by_lscpu_says_what_cpus_share(form: str) -> None:
    Path(form).write_text(_FORMS[form])
    found = read_topology(form)
    assert [found.level(0, cpu) for cpu in range(1, 8)] == [1, 3, 3, 0, 1, 3, 3]
    # of the first four CPUs two pairs share a cache, four nothing
    border = found.factor(2), found.factor(4)
    assert border[0] == 1.0
    assert border[1] == pytest.approx((2 + 4 * 2.72) / 6, rel=0.15), "2.72: median of 12 machines"


@pytest.mark.usefixtures("in_a_folder")
def test_prices_step_with_the_topology_and_every_form_says_that_it_is_a_replay(
    capsys: Capture,
) -> None:
    small = ("contention", "--quick", "--no-figures", "--sets", "2", "--set", "grid.mix=random")
    axes = ("--sync-share", "1", "--contended-ratio", "0.5")
    made = ("--executor", "sim:cores=2,contention=0.6", "--cores", "2", "--name", "two")
    assert main((*small, *axes, *made)) == 0
    capsys.readouterr()
    found = {}
    for name in ("Graviton3", "7773X"):
        again = ("--executor", "replay:two,cores=16", "--cores", "16", "--name", name)
        assert main((*small, *axes, *again, "--set", f"topology={name}")) == 0
        out = capsys.readouterr().out
        assert "Replayed with the prices of two (topology of " in out and name in out
        assert "an operation" not in out and " ns" not in out, "no absolute price"
        (found[name],) = answer(capsys, "show", name)["rows"]
    flat, stepped = (found[name]["slowdown_bound"] for name in ("Graviton3", "7773X"))
    assert stepped - 1 > 1.5 * (flat - 1)
    assert found["Graviton3"]["slowdown_ci_basis"] == "range"
    assert main(("list", "results")) == 0
    assert "contention quick, EXTRAPOLATED" in capsys.readouterr().out
    assert main(("export", "7773X", "--as", "openmetrics")) == 0
    figures = [line for line in capsys.readouterr().out.splitlines() if line[:1] not in "#"]
    assert all('extrapolated="true"' in line for line in figures)
    assert main(("export", "7773X", "--as", "csv", "--out", "tables")) == 0
    rows = csv.DictReader(Path("tables/sets.csv").read_text().splitlines())
    assert {row["label"] for row in rows} == {"EXTRAPOLATED SIMULATED"}
    assert main((*small, *axes, *made, "--set", "topology=7773X")) == 2
    assert "topology is of --executor replay" in capsys.readouterr().err
