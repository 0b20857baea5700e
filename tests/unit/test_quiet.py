"""Truth: measurement.md, host state: off the quiet mode is flagged, states are never averaged."""

from __future__ import annotations

import attrs
import pytest
from helpers.runs import RunTask, calibration, job_table, ran

from deadbeat.analysis.quiet import is_quiet
from deadbeat.model.jobs import PROBE_CACHE_LINE, PROBE_YARDSTICK, JobTable

QUIET_PS, LINE_PS = 1_000_000, 60_000


def run(*probes: tuple[int, int, int, int, int], cores: int = 2) -> JobTable:
    """Probes: (boundary, kind, core a, core b, ps)."""
    tasks = [RunTask(core=core) for core in range(cores)]
    return job_table(tasks, [[ran(0, 0, 100)]] * cores, probes=probes)


def yardstick(boundary: int, core: int, value_ps: int) -> tuple[int, int, int, int, int]:
    return boundary, PROBE_YARDSTICK, core, 0xFFFF, value_ps


def line(boundary: int, value_ps: int) -> tuple[int, int, int, int, int]:
    return boundary, PROBE_CACHE_LINE, 1, 0, value_ps


def test_probes_near_their_references_are_quiet() -> None:
    verdict = is_quiet(
        run(yardstick(0, 0, 1_010_000), yardstick(0, 1, 980_000), line(0, 85_000)), calibration()
    )
    assert verdict.quiet
    assert verdict.reasons == ()
    assert verdict.worst == pytest.approx(-0.02)
    assert verdict.share_off == 0


def test_one_slow_state_at_one_boundary_is_enough() -> None:
    # The mean of these four is within 3 %; the run is off its quiet mode all the same.
    probes = [yardstick(0, 0, QUIET_PS), yardstick(0, 1, QUIET_PS), yardstick(1, 0, 1_050_000),
              yardstick(1, 1, QUIET_PS)]  # fmt: skip
    verdict = is_quiet(run(*probes), calibration())
    assert not verdict.quiet
    assert verdict.share_off == 0.25
    assert verdict.worst == pytest.approx(0.05)
    assert verdict.reasons == ("yardstick of core 0 off by +5.0%",)
    assert is_quiet(run(*probes), calibration(), share_allowed=0.25).quiet
    assert is_quiet(run(*probes), calibration(), 0.06).quiet


def test_a_state_faster_than_the_reference_is_off_too() -> None:
    verdict = is_quiet(run(yardstick(0, 0, 900_000), cores=1), calibration())
    assert not verdict.quiet
    assert verdict.worst == pytest.approx(-0.1)


def test_the_other_state_of_a_cache_line_is_off() -> None:
    near = [yardstick(0, 0, QUIET_PS), yardstick(0, 1, QUIET_PS)]
    assert is_quiet(run(*near, line(0, 80_000)), calibration()).quiet
    verdict = is_quiet(run(*near, line(0, 325_000)), calibration())
    assert not verdict.quiet
    assert verdict.reasons == ("cache line of cores 0-1 off by +441.7%",)
    assert verdict.worst == 0


def test_a_core_without_a_probe_is_not_known_to_be_quiet() -> None:
    verdict = is_quiet(run(yardstick(0, 0, QUIET_PS)), calibration())
    assert not verdict.quiet
    assert verdict.reasons == ("core 1 was not probed",)


def test_a_core_without_a_reference_is_not_known_to_be_quiet() -> None:
    blind = attrs.evolve(calibration(), yardstick_ps=(QUIET_PS,))
    verdict = is_quiet(run(yardstick(0, 0, QUIET_PS), yardstick(0, 1, QUIET_PS)), blind)
    assert not verdict.quiet
    assert verdict.reasons == ("the calibration has no yardstick of core 1",)


def test_the_worst_reasons_come_first_and_are_few() -> None:
    probes = [yardstick(i, i % 2, 1_000_000 + 100_000 * i) for i in range(9)]
    table = job_table(
        [RunTask(core=0), RunTask(core=1)], [[ran(0, 0, 100)]] * 2,
        probes=[(0, *probe[1:]) for probe in probes],
    )  # fmt: skip
    verdict = is_quiet(table, calibration())
    assert len(verdict.reasons) == 5
    assert verdict.reasons[0] == "yardstick of core 0 off by +80.0%"
