"""Truth: measurement.md, host state: off the quiet mode is flagged, states are never averaged."""

from __future__ import annotations

import attrs
import numpy as np
import pytest
from helpers.runs import Job, RunTask, Window, calibration, job_table, ran

from deadbeat.analysis.quiet import is_quiet, only_quiet, window_states
from deadbeat.model.jobs import (
    JOB_COUNTED,
    PROBE_CACHE_LINE,
    PROBE_WITNESS,
    PROBE_YARDSTICK,
    JobTable,
)

QUIET_PS, LINE_PS = 1_000_000, 60_000
Probe = tuple[int, int, int, int, int]

#: Together, both alone, together: what a run of two tasks on two cores is made of.
WINDOWS = (
    Window(start=0, end=1000),
    Window(start=2000, end=3000, solo=0),
    Window(start=4000, end=5000, solo=1),
    Window(start=6000, end=7000),
)
JOBS: tuple[list[Job], list[Job]] = (
    [ran(0, 0, 100), ran(2000, 2000, 2100, window=1), ran(6000, 6000, 6100, window=3)],
    [ran(0, 0, 100), ran(4000, 4000, 4100, window=2), ran(6000, 6000, 6100, window=3)],
)


def yardstick(boundary: int, core: int, value_ps: int = QUIET_PS) -> Probe:
    return boundary, PROBE_YARDSTICK, core, core, value_ps


def line(boundary: int, value_ps: int) -> Probe:
    return boundary, PROBE_CACHE_LINE, 0, 1, value_ps


def probes(*changed: Probe) -> list[Probe]:
    """Quiet yardsticks of both cores at all five boundaries, but for those given."""
    given = {probe[:3] for probe in changed}
    quiet = [yardstick(b, c) for b in range(5) for c in range(2)]
    return [probe for probe in quiet if probe[:3] not in given] + list(changed)


def run(*changed: Probe) -> JobTable:
    return job_table(
        [RunTask(core=0), RunTask(core=1)], JOBS, windows=WINDOWS, probes=probes(*changed)
    )


def quiet_windows(table: JobTable, **how: float) -> list[bool]:
    return window_states(table, calibration(), **how).quiet.tolist()


def test_probes_near_their_references_are_quiet() -> None:
    table = run(yardstick(0, 0, 1_010_000), yardstick(4, 1, 985_000), line(1, 85_000))
    verdict = is_quiet(table, calibration())
    assert verdict.quiet
    assert verdict.reasons == ()
    assert verdict.worst == pytest.approx(-0.015)
    assert verdict.share_off == 0


def test_a_boundary_off_takes_both_windows_beside_it() -> None:
    # The mean of all probes is well within 3 %; two windows are off all the same.
    assert quiet_windows(run(yardstick(1, 0, 1_050_000))) == [False, False, True, True]


def test_a_window_alone_does_not_care_for_other_cores() -> None:
    assert quiet_windows(run(yardstick(2, 0, 1_050_000))) == [True, False, True, True]
    assert quiet_windows(run(yardstick(2, 1, 1_050_000))) == [True, True, False, True]


def test_a_state_faster_than_the_reference_is_off_too() -> None:
    assert quiet_windows(run(yardstick(4, 0, 900_000))) == [True, True, True, False]


def test_the_tolerance_is_the_callers() -> None:
    assert quiet_windows(run(yardstick(4, 0, 900_000)), tolerance=0.11) == [True] * 4


def test_where_the_runtime_waited_the_first_probe_ends_a_window_and_the_last_begins_one() -> None:
    waited = [p for p in probes() if p[:3] != (3, PROBE_YARDSTICK, 1)]
    waited += [yardstick(3, 1, 1_200_000), yardstick(3, 1, QUIET_PS)]
    table = job_table([RunTask(core=0), RunTask(core=1)], JOBS, windows=WINDOWS, probes=waited)
    assert quiet_windows(table) == [True, True, False, True]


def test_the_other_state_of_a_cache_line_matters_to_windows_together() -> None:
    assert quiet_windows(run(line(1, 80_000), line(0, 325_000))) == [False, True, True, True]
    assert quiet_windows(run(line(2, 325_000))) == [True] * 4


def test_a_burst_inside_a_window_is_seen_by_its_witness() -> None:
    # a sixteenth of a yardstick is 62.5 ns; tables of this helper have a free clock
    calm, busy = (1, PROBE_WITNESS, 0, 0, 66_000), (3, PROBE_WITNESS, 1, 1, 100_000)
    assert quiet_windows(run(calm, busy)) == [True, True, True, False]
    states = window_states(run(calm, busy), calibration())
    np.testing.assert_allclose(states.inside, [0, 0.056, 0, 0.6])


def test_a_run_counts_while_every_task_has_a_quiet_window_alone_and_together() -> None:
    assert is_quiet(run(yardstick(0, 0, 1_050_000)), calibration()).quiet
    lost_solo = is_quiet(run(yardstick(2, 1, 1_050_000)), calibration())
    assert not lost_solo.quiet
    assert lost_solo.share_off == 0.25
    assert lost_solo.reasons == ("no quiet window of task 1 alone", "yardstick off by up to +5.0 %")
    both = run(yardstick(0, 0, 1_050_000), yardstick(4, 0, 950_000))
    assert is_quiet(both, calibration()).reasons[0] == "no quiet window together"


def test_a_core_without_a_probe_is_not_known_to_be_quiet() -> None:
    table = run()
    blind = attrs.evolve(table, probes=table.probes[table.probes["core_a"] == 0])
    assert quiet_windows(blind) == [False, True, False, False]
    assert any("not probed" in reason for reason in is_quiet(blind, calibration()).reasons)


def test_a_core_without_a_reference_is_not_known_to_be_quiet() -> None:
    short = attrs.evolve(calibration(), yardstick_ps=(QUIET_PS,))
    assert window_states(run(), short).quiet.tolist() == [False, True, False, False]


def test_jobs_of_windows_that_were_off_are_not_counted() -> None:
    table, off = only_quiet(run(yardstick(4, 0, 1_100_000)), calibration())
    assert off == 1
    counted = (table.jobs["flags"] & JOB_COUNTED) != 0
    assert counted.tolist() == (table.jobs["window"] != 3).tolist()
    assert counted.sum() == 4


def test_a_quiet_run_is_left_as_it_is() -> None:
    table = run()
    assert only_quiet(table, calibration()) == (table, 0)


def test_without_any_knowledge_of_the_host_nothing_is_left_out() -> None:
    table = run(yardstick(0, 0, 2_000_000))
    assert only_quiet(table, None) == (table, 0)
    blind = attrs.evolve(table, probes=table.probes[:0])
    assert only_quiet(blind, calibration()) == (blind, 0)


def test_states_say_how_far_off_each_window_was() -> None:
    states = window_states(run(yardstick(4, 1, 1_100_000), line(4, 90_000)), calibration())
    np.testing.assert_allclose(states.worst, [0, 0, 0, 0.1])
    np.testing.assert_allclose(states.line, [0, 0, 0, 0.5])
