"""Events per job. Truth: two tasks whose counts are divided by hand."""

import errno

import numpy as np
from attrs import evolve
from helpers.runs import RunTask, Slot, job_table, ran

from deadbeat.base.model import jobs as j
from deadbeat.base.model.jobs import JobTable
from deadbeat.base.model.traces import COUNTER_EVENTS
from deadbeat.tasksets.contention.run_parts import EventStates, counter_figures
from deadbeat.tasksets.model.figures import COUNTER_COLUMNS

SWITCHES, CYCLES = "counter_context_switches_per_job", "counter_cycles_per_job"


def counted(*rows: tuple[int, int, str, int, int]) -> JobTable:
    """Two tasks: a solo window of the first, a window together, and one off the quiet mode.

    A row is (task, window, event, status, value).
    """
    slots = (Slot(solo=0), Slot(), Slot())
    jobs = [
        [ran(0, 0, 10), ran(0, 0, 10, slot=1), ran(20, 20, 30, slot=1),
         ran(0, 0, 10, slot=2, counted=False)],
        [ran(0, 0, 10, slot=1, counted=False), ran(20, 20, 30, slot=1)],
    ]  # fmt: skip
    table = job_table([RunTask(), RunTask(core=1)], jobs, slots=slots)
    counters = np.zeros(len(rows), j.COUNTER_DTYPE)
    for place, (task, window, event, status, value) in enumerate(rows):
        number = COUNTER_EVENTS.index(event)
        counters[place] = (task, window, number, status, value, 1000, 1000)
    return evolve(table, counters=counters)


def test_totals_of_together_windows_are_divided_by_the_jobs_in_them():
    table = counted(
        (0, 0, "context_switches", j.COUNTER_COUNTED, 900),
        (0, 1, "context_switches", j.COUNTER_COUNTED, 6),
        (0, 2, "context_switches", j.COUNTER_COUNTED, 7000),
        (1, 1, "context_switches", j.COUNTER_COUNTED, 10),
    )
    # (6 + 10) over two jobs of each task; alone and off the quiet mode do not count.
    assert counter_figures(table)[SWITCHES] == 4.0
    assert counter_figures(table, tasks=np.array([False, True]))[SWITCHES] == 5.0


def test_what_was_not_counted_is_not_zero():
    table = counted(
        (0, 1, "context_switches", j.COUNTER_COUNTED, 0),
        (0, 1, "cycles", j.COUNTER_UNSUPPORTED, 0),
        (0, 1, "instructions", j.COUNTER_SCALED, 30),
    )
    figures = counter_figures(table)
    assert figures[SWITCHES] == 0.0
    assert figures[CYCLES] is None
    assert figures["counter_instructions_per_job"] == 15.0
    assert figures["counter_branches_per_job"] is None


def test_a_run_without_counters_has_no_figures():
    assert counter_figures(counted()) == dict.fromkeys(COUNTER_COLUMNS)


def test_states_over_runs_name_what_is_missing():
    states = EventStates()
    states.add(counted((0, 1, "context_switches", j.COUNTER_COUNTED, 1)))
    states.add(
        counted(
            (0, 1, "context_switches", j.COUNTER_REFUSED, 0),
            (0, 1, "cycles", j.COUNTER_UNSUPPORTED, 0),
            (0, 1, "instructions", j.COUNTER_REFUSED, 0),
        )
    )
    found = states.states()
    assert found["context_switches"] == "counted"
    assert found["cycles"] == "not supported here"
    assert found["instructions"].startswith("refused: kernel.perf_event_paranoid")
    assert EventStates().states() == {}


def test_an_event_that_failed_is_neither_unsupported_nor_half_a_figure():
    table = counted(
        (0, 1, "context_switches", j.COUNTER_COUNTED, 6),
        (0, 1, "cycles", j.COUNTER_FAILED, errno.EMFILE),
        (1, 1, "context_switches", j.COUNTER_FAILED, errno.EMFILE),
        (1, 1, "cycles", j.COUNTER_FAILED, errno.EMFILE),
    )
    assert counter_figures(table)[SWITCHES] is None
    assert counter_figures(table)[CYCLES] is None
    # of the task that was counted alone there is one
    assert counter_figures(table, tasks=np.array([True, False]))[SWITCHES] == 3.0
    states = EventStates()
    states.add(table)
    assert states.states() == {
        "context_switches": "failed in part: Too many open files",
        "cycles": "failed: Too many open files",
    }
