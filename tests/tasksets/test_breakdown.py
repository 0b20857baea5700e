"""Truth: response-time analysis and the simulator's own searches, worked by hand where small."""

import json
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import attrs
import pytest

from deadbeat.base.experiment.base import Event, RunDone, RunFailed
from deadbeat.base.model.errors import UsageError
from deadbeat.base.report import html
from deadbeat.cli.main import main
from deadbeat.machine.targets.run import run as carry_out
from deadbeat.tasksets.breakdown import predict
from deadbeat.tasksets.breakdown.document import breakdown_document, charts, doubts, sentence
from deadbeat.tasksets.breakdown.kind import KIND
from deadbeat.tasksets.breakdown.results import Breakdown, summarise
from deadbeat.tasksets.breakdown.search import BreakdownExperiment, Walk, lacking, planned, walk
from deadbeat.tasksets.breakdown.spec import (
    BreakdownSpec,
    from_plain,
    keys,
    resolve,
    run_key,
    set_seed,
    specify,
    to_plain,
    utilisation,
)
from deadbeat.tasksets.catalog import Catalog
from deadbeat.tasksets.executors.scheduled import SimExecutor
from deadbeat.tasksets.executors.simulated import FakeExecutor, Faults
from deadbeat.tasksets.model.examples import example_fragments
from deadbeat.tasksets.store.campaign import BreakdownStore

#: One set a cell: 4 cells, 3 steps and the last run each.
TINY: dict[str, Any] = {
    "preset": "quick",
    "grid": {"replicas": 1},
    "run": {"seconds": 0.1},
    "breakdown": {"steps": 3},
}


def tiny(**more: dict[str, Any]) -> BreakdownSpec:
    layer = {key: {**TINY.get(key, {}), **value} for key, value in more.items()}
    return resolve(specify({**TINY, **layer}, names={}), FakeExecutor().describe(), names={})


def begin(folder: Path, spec: BreakdownSpec) -> BreakdownStore:
    return BreakdownStore.create(folder / "breakdown", to_plain(spec), spec.seed)


def run(
    store: BreakdownStore,
    executor: Any = None,
    on_event: Callable[[Event], None] = lambda event: None,
) -> dict[Any, str]:
    catalog = Catalog(fragments={each.name: each for each in example_fragments()})
    spec = from_plain(store.spec)
    experiment = BreakdownExperiment(spec, executor or FakeExecutor(), store, catalog)
    return dict(carry_out(experiment, on_event=on_event).failed)


def found(folder: Path, spec: BreakdownSpec, executor: Any = None) -> Breakdown:
    store = begin(folder, spec)
    assert run(store, executor) == {}
    return summarise(store)


def job_files(store: BreakdownStore) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in (store.path / "jobs").iterdir()}


# ---------- the bisection ----------


def test_the_bisection_ends_beside_the_turn_whatever_it_is() -> None:
    search = tiny(breakdown={"steps": 5}).breakdown
    for turn in range(65):
        at = walk(search, lambda level, turn=turn: level <= turn)
        assert at.ends
        assert at.low <= turn < at.high or (at.high == 64 and turn == 64)


def test_a_stated_share_of_spare_time_passes_fails_or_is_undecided(tmp_path: Path, capsys: Any):
    # the made-up machine breaks down at 75 % and, contended, at 49 %, of which six sets say little
    verdicts = {"5%": "undecided fail", "0.7": "pass undecided"}
    for spare, expected in verdicts.items():
        words = ("--cores=2", "--sets=6", "--duration=100ms", "--set=breakdown.steps=3", "--json")
        asked = ("breakdown", "--quick", "--simulated", f"--spare={spare}", "--fail-on=misses")
        assert main((*asked, *words, f"--runs={tmp_path}")) == ("fail" in expected)
        answer = json.loads(capsys.readouterr().out)
        assert " ".join(row["spare"] for row in answer["results"]["rows"]) == expected


def test_the_bisection_stops_at_what_is_not_known() -> None:
    search = tiny().breakdown
    assert walk(search, lambda _: None) == Walk(0, 16)
    assert walk(search, {8: True}.get) == Walk(8, 16)
    assert walk(search, {8: True, 12: False}.get) == Walk(8, 12)
    assert walk(search, {8: True, 12: False, 10: False}.get).level == 9


def test_levels_reach_from_low_to_high_and_each_has_a_name_of_its_own() -> None:
    for steps, high in ((8, "1.1"), (7, "2"), (10, "0.25")):
        spec = tiny(breakdown={"steps": steps, "high": high, "tasks_per_core": 1})
        levels = range(2 ** (steps + 1) + 1)
        assert utilisation(spec.breakdown, 0) == Fraction(5, 100)
        assert utilisation(spec.breakdown, levels[-1]) == Fraction(high)
        names = {run_key(spec, keys(spec)[0], level).text for level in levels}
        assert len(names) == len(levels)


def test_periods_are_scaled_to_the_utilisation(tmp_path: Path) -> None:
    store = begin(tmp_path, tiny())
    run(store)
    for key in store.committed():
        table = store.table(key)
        load = table.tasks["wcet_ns"] / table.tasks["period_ns"]
        fullest = max(load[table.tasks["core"] == core].sum() for core in range(2))
        # the name holds n / U in thousandths; a program's costs are within 1 % of its C
        assert fullest == pytest.approx(2000 / key.point.deadline_factor_milli, rel=0.011)
        assert (table.tasks["period_ns"] == table.tasks["deadline_ns"]).all()


# ---------- predictions ----------


def test_a_simulated_machine_breaks_down_where_it_is_predicted(tmp_path: Path) -> None:
    spec = tiny(grid={"replicas": 3}, run={"seconds": 0.4}, breakdown={"steps": 6})
    result = found(tmp_path, spec, SimExecutor())
    assert len(result.sets) == 12
    for each in result.sets:
        assert each.predicted == pytest.approx(each.breakdown, abs=1.1 * result.resolution)
        assert each.inflation == pytest.approx(1, abs=1e-3)
        # the share of jobs that may miss allows a little more than a proof does
        assert each.predicted_inflated == pytest.approx(each.proved, abs=2e-3)
        assert -0.01 <= each.predicted_calm - each.proved < 0.03
    assert (result.wake_up_ns, result.switch_ns) == (0, 0)
    assert result.pace == pytest.approx((1, 1), abs=1e-3)
    assert [(cell.parted, cell.agrees, cell.within) for cell in result.cells] == [("", True, 3)] * 4
    assert "agree at 4 of 4 points (intervals overlap) and for 12 of 12 sets" in sentence(result)


@pytest.mark.slow
def test_contention_that_is_simulated_is_predicted_from_prices(tmp_path: Path) -> None:
    """The executor replays its own prices, the prediction those that it measured: one model."""
    spec = tiny(
        grid={"replicas": 6, "contended_ratio": [1]}, run={"seconds": 0.2}, breakdown={"steps": 5}
    )
    spec = attrs.evolve(spec, cores=(2,))
    result = found(tmp_path, spec, SimExecutor(contention=1.0))
    assert result.pace == ()
    assert "All task sets share objects" in doubts(result)[0]
    for each in result.sets:
        assert each.predicted == pytest.approx(each.breakdown, abs=1.1 * result.resolution)
        assert each.proved is not None
        assert each.predicted < 0.8 * each.proved
    (tmp_path / "breakdown/prices.json").unlink()
    plain = summarise(BreakdownStore.open(tmp_path / "breakdown"))
    assert not plain.priced
    assert any("predictions hold without contention" in each for each in doubts(plain))
    (unpriced,) = plain.cells
    assert unpriced.predicted > result.cells[0].predicted + 0.2
    assert unpriced.parted == "below"


@pytest.mark.slow
def test_contention_parts_machine_and_analysis_and_inflated_costs_explain_it(tmp_path: Path):
    spec = tiny(grid={"replicas": 4}, run={"seconds": 0.3}, breakdown={"steps": 5})
    free, contended = [
        cell for cell in found(tmp_path, spec, FakeExecutor()).cells if cell.cell.cores == 2
    ]
    assert contended.inflation == pytest.approx(1.61, abs=0.01)
    assert contended.breakdown < 0.75 * free.breakdown
    # it slows tasks by a formula, whoever meets: prices know that they are slowed, not how much
    assert contended.predicted < 0.8 * free.predicted
    assert contended.proved == pytest.approx(free.proved, abs=1e-9)
    assert contended.proved is not None
    assert contended.predicted_inflated == pytest.approx(contended.proved / 1.61, rel=0.02)


def test_two_tasks_of_one_core_reach_what_the_textbook_says(tmp_path: Path) -> None:
    # u = 1/2 each, T2 = sqrt(2) T1: the worst case of Liu and Layland (1973), 82.8 %
    store = begin(tmp_path, tiny())
    run(store)
    task_set = store.programs.task_set(keys(from_plain(store.spec))[0])
    first, second = task_set.tasks
    tasks = (
        attrs.evolve(first, wcet_ns=1, period_ns=1_000_000, deadline_ns=1_000_000, priority=79),
        attrs.evolve(second, wcet_ns=1, period_ns=1_414_214, deadline_ns=1_414_214, priority=78),
    )
    segments = [
        (attrs.evolve(task.segments[0], cost_ps=1000 * cost_ns),)
        for task, cost_ns in zip(tasks, (200_000, 282_843), strict=True)
    ]
    worst = attrs.evolve(
        task_set,
        tasks=tuple(
            attrs.evolve(task, segments=own, core=0)
            for task, own in zip(tasks, segments, strict=True)
        ),
    )
    search = from_plain(store.spec).breakdown
    assert predict.proved(worst, search) == pytest.approx(2 * (2**0.5 - 1), abs=0.001)
    same = attrs.evolve(worst, tasks=tuple(attrs.evolve(task, priority=79) for task in worst.tasks))
    assert predict.proved(same, search) is None


# ---------- design ----------


def test_rho_alpha_and_priority_rule_share_their_random_numbers() -> None:
    spec = tiny(
        grid={"replicas": 2, "sync_share": [0.5, 1]},
        breakdown={"priorities": ["rate-monotonic", "uniform"], "tasks_per_core": [1, 2]},
    )
    seeds: dict[tuple[int, int], set[int]] = {}
    for key in keys(spec):
        seeds.setdefault((key.point.cores, key.replica % 2), set()).add(set_seed(spec, key))
    assert len(keys(spec)) == 2 * 2 * 2 * 4 * 2
    assert [len(each) for each in seeds.values()] == [1] * 4
    assert len(set.union(*seeds.values())) == 4


def test_cells_of_every_variant_have_their_own_rows(tmp_path: Path) -> None:
    spec = tiny(breakdown={"priorities": ["rate-monotonic", "uniform"], "tasks_per_core": [1, 2]})
    result = found(tmp_path, spec)
    assert len(result.cells) == 16
    assert len({each.cell for each in result.cells}) == 16
    assert {each.proved is None for each in result.cells if each.cell.priorities == "uniform"} == {
        True,
        False,
    }
    assert len(charts(result)[0].panels) == 4


def test_a_plain_form_gives_the_same_specification() -> None:
    spec = tiny(breakdown={"tasks_per_core": "1..3", "miss_share": "0.003"})
    assert from_plain(json.loads(json.dumps(to_plain(spec)))) == spec


# ---------- resuming ----------


class Crash(BaseException):
    """Ends a session as abruptly as it can without ending the test."""


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> BreakdownStore:
    store = begin(tmp_path_factory.mktemp("whole"), tiny())
    run(store)
    return store


# A set has four runs: here it is broken off after each of them.
@pytest.mark.parametrize("after", [0, 7, 15])
def test_a_search_that_is_broken_off_goes_on_the_same_way(
    tmp_path: Path, whole: BreakdownStore, after: int
) -> None:
    broken = begin(tmp_path / "broken", tiny())
    left = [after]

    def crash(event: Event) -> None:
        if isinstance(event, RunDone):
            if left[0] == 0:
                raise Crash
            left[0] -= 1

    with pytest.raises(Crash):
        run(broken, on_event=crash)
    assert len(broken.committed()) == after + 1
    assert lacking(tiny(), broken) == planned(tiny()) - after - 1
    reopened = BreakdownStore.open(broken.path)
    run(reopened)
    assert job_files(reopened) == job_files(whole)
    assert summarise(reopened).cells == summarise(whole).cells
    # nothing is left to run: the machine is not asked again
    run(reopened, FakeExecutor(faults=Faults(lose_after=0)))


def test_a_run_that_fails_stops_its_set_until_the_command_is_repeated(tmp_path: Path) -> None:
    store = begin(tmp_path, tiny())
    key = keys(tiny())[1]
    executor = FakeExecutor(faults=Faults(fail={key.text: 1}))
    events: list[Event] = []
    failed = run(store, executor, events.append)
    assert len([event for event in events if isinstance(event, RunFailed)]) == len(failed) == 1
    assert lacking(tiny(), store) == 4
    partial = summarise(store)
    assert (partial.done, partial.planned, len(partial.cells)) == (12, 16, 3)
    assert "12 of 16 runs" in doubts(partial)[0]
    assert run(store, executor) == {}
    assert len(summarise(store).cells) == 4


# ---------- the verb ----------


@pytest.mark.slow
def test_files_and_figures_are_of_the_same_results(tmp_path: Path) -> None:
    store = begin(tmp_path, tiny())
    run(store)
    KIND.report(store.path, True)
    page = (store.path / "report.html").read_text()
    stored = BreakdownStore.open(store.path)
    assert page == html.page(breakdown_document(summarise(stored)))
    assert len((store.path / "summary.csv").read_text().splitlines()) == 5
    assert len((store.path / "sets.csv").read_text().splitlines()) == 5
    names = {path.name for path in (store.path / "figures").iterdir()}
    assert {"breakdown-cores.svg", "breakdown-contended-ratio.svg"} <= names


def test_a_search_without_a_result_has_no_answer(tmp_path: Path) -> None:
    store = begin(tmp_path, tiny())
    result = summarise(store)
    assert sentence(result) == "No task set has a result yet."
    assert "0 of 16" in html.page(breakdown_document(result))


def test_more_sets_than_a_program_holds_are_refused() -> None:
    with pytest.raises(UsageError, match="one program holds 1000"):
        tiny(grid={"replicas": 300})
