"""Truth: sides from which runs, tasks or jobs are taken by hand."""

import attrs
from helpers.aa import RunFigure, Side
from helpers.judges import compare_sides, options_of
from helpers.runs import Job, RunTask, Slot, job_table, ran, skip
from helpers.sides import made_up

from deadbeat.base.model.comparison import Comparison
from deadbeat.base.model.observations import Cell
from deadbeat.tasksets.contention.figures import run_figures
from deadbeat.tasksets.executors.metrics import job_columns

OPTIONS = options_of("contention", simulated=True)
FASTER, SLOWER = made_up(11, effect=lambda cell: -0.2), made_up(11, effect=lambda cell: 0.2)
BASE = made_up(10)


def compared(one: Side, two: Side) -> Comparison:
    return compare_sides(one, two, options=OPTIONS)


def changed(side: Side, count: int, **figures: float) -> Side:
    """The first ``count`` runs with other figures."""
    runs = {
        key: attrs.evolve(run, **figures) if index < count else run
        for index, (key, run) in enumerate(sorted(side.runs.items()))
    }
    return attrs.evolve(side, runs=runs)


def known(side: Side, **figures: float) -> Side:
    return changed(side, len(side.runs), **{"lost": 0.0, **figures})


def test_a_task_that_never_finishes_is_no_advantage() -> None:
    """The slowest task of a set starves: what is left of the set is faster."""
    assert compared(BASE, FASTER).verdict == "better"
    found = compared(known(BASE), changed(known(FASTER), 1, starved=1))
    assert found.verdict == "undecided"
    assert "0.9 % more of the jobs never finished in the other" in found.reason
    assert found.metrics[0].cells[0].verdict == "undecided"
    assert found.metrics[0].cells[1].verdict == "better"  # nothing was lost there


def test_more_lost_jobs_are_no_advantage_and_no_excuse() -> None:
    for side, verdict in ((FASTER, "undecided"), (made_up(11), "undecided"), (SLOWER, "worse")):
        found = compared(known(BASE), known(side, lost=0.01))
        assert found.verdict == verdict
        assert found.metrics[0].capped == ("1.0 % more of the jobs never finished in the other",)
        assert found.metrics[2].capped == ()  # each of them is a miss
        assert not found.metrics[0].no_worse


def test_jobs_lost_in_the_baseline_are_no_disadvantage_of_the_other() -> None:
    for side, verdict in ((FASTER, "better"), (made_up(11), "undecided"), (SLOWER, "undecided")):
        assert compared(known(BASE, lost=0.01), known(side)).verdict == verdict


def test_a_few_lost_jobs_do_not_matter() -> None:
    assert compared(known(BASE), known(made_up(11), lost=0.004)).verdict == "equal"


def test_a_ratio_on_one_side_alone_counts_as_lost() -> None:
    run = BASE.runs[min(BASE.runs)]
    without = {"slowdown": None, "delay_ratio": None, "deadline_miss_ratio": 1.0}
    other = changed(FASTER, 1, values=without)
    assert run.values["slowdown"] is not None
    found = compared(BASE, other)
    assert found.verdict == "undecided"
    assert "0.9 % more of the jobs never finished in the other" in found.reason


def test_cells_without_a_pair_forbid_equality() -> None:
    def hard(cell: Cell) -> bool:
        return cell.cores == 2 and cell.contended_ratio == 1

    for side, verdict in ((FASTER, "undecided"), (made_up(11), "undecided"), (SLOWER, "worse")):
        kept = {key: run for key, run in side.runs.items() if not hard(run.cell)}
        found = compared(BASE, attrs.evolve(side, runs=kept))
        assert found.verdict == verdict
        assert found.metrics[0].capped == (
            "3 of 18 cells of the baseline have no result in the other (M = 2, rho = 0, alpha = 1;"
            " M = 2, rho = 0.5, alpha = 1; M = 2, rho = 1, alpha = 1)",
        )


def test_a_fifth_of_the_runs_may_lack() -> None:
    def lacking(replicas: set[int]) -> Comparison:
        side = made_up(11, replicas=10)
        kept = {key: run for key, run in side.runs.items() if int(key[-3:]) not in replicas}
        return compared(made_up(10, replicas=10), attrs.evolve(side, runs=kept))

    assert lacking({3, 7}).verdict == "equal"
    found = lacking({3, 7, 8})
    assert found.verdict == "undecided"
    assert found.reason == "54 of the 180 programs of the baseline have no result in the other"


def test_a_metric_that_the_other_lacks_altogether() -> None:
    def without(side: Side) -> Side:
        runs = {
            key: attrs.evolve(run, values={**run.values, "delay_ratio": None})
            for key, run in side.runs.items()
        }
        return attrs.evolve(side, runs=runs)

    assert compared(BASE, without(made_up(11))).verdict == "undecided"
    both = compared(without(BASE), without(made_up(11)))
    assert both.verdict == "equal"  # nobody measured it
    assert not both.metrics[1].vote


def test_tasks_without_a_finished_job_are_counted() -> None:
    jobs = [
        [ran(0, 5, 100), Job(release=1000, start=1005, finish=None)],
        [Job(release=0, start=5, finish=None), skip(1000)],
        [ran(0, 5, 50, slot=1)],  # alone: nothing was asked of it together
        [skip(0, counted=False)],
    ]
    table = job_table([RunTask()] * 4, jobs, slots=(Slot(), Slot(solo=2)))
    assert run_figures(table, job_columns(table)).of_set.starved_tasks == 1


def test_runs_without_such_figures_are_compared_all_the_same() -> None:
    assert {(run.lost, run.starved) for run in BASE.runs.values()} == {(None, 0)}
    assert isinstance(next(iter(BASE.runs.values())), RunFigure)
    assert compared(BASE, made_up(11)).verdict == "equal"
