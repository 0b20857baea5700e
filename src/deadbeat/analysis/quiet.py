"""Which windows of a run the host was quiet beside, and whether enough of them are left.

A virtual or throttled host has states that last milliseconds to seconds; a window that met another
state is not an imprecise measurement of the quiet machine but a precise one of another machine. So
every window is judged by the probes next before and next after it, those off the calibration's
references are left out of all figures, and states are never averaged. A run counts when every task
is left with a quiet window alone and a quiet window together with the others.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any

import attrs
import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from deadbeat.model import jobs as j
from deadbeat.model.calibration import Calibration
from deadbeat.model.jobs import JobTable

TOLERANCE = 0.02
#: A witness lasts half a microsecond, in which a clock tick of 10 to 20 ns is 4 %.
WITNESS_TOLERANCE = 0.10
#: A cache-line round trip is tens of nanoseconds and so rough; its other state is six times slower.
LINE_TOLERANCE = 1.0
_REASONS_MAX = 5


@frozen(kw_only=True)
class QuietVerdict:
    """What the probes of a run say.

    Attributes:
        quiet: Every task has a quiet window together and, if solo windows were run, one alone.
        worst: Yardstick furthest from its reference, as value / reference - 1 (signed).
        share_off: Share of the windows that were off.
        reasons: Why the run does not count, a line each, the worst first; at most five.
    """

    quiet: bool
    worst: float
    share_off: float
    reasons: tuple[str, ...]


@frozen(kw_only=True, eq=False)
class WindowStates:
    """How far off the host was beside each window.

    Attributes:
        quiet: One truth value a window.
        worst: Per window, the yardstick furthest from its reference, as value / reference - 1;
            NaN where a core in use was not probed.
        line: Per window, the same of the cache-line round trips; 0 where there are none.
        inside: Per window, the slowest witness inside it, as value / expected - 1; 0 without one.
    """

    quiet: NDArray[np.bool_]
    worst: NDArray[np.float64]
    line: NDArray[np.float64]
    inside: NDArray[np.float64]


def window_states(
    table: JobTable,
    calibration: Calibration,
    tolerance: float = TOLERANCE,
    *,
    line_tolerance: float = LINE_TOLERANCE,
) -> WindowStates:
    """Judges every window of ``table`` by the probes beside it.

    Args:
        tolerance: Accepted relative deviation of a yardstick.
        line_tolerance: Accepted relative deviation of a cache-line round trip; slower only.
    """
    cores = np.unique(table.tasks["core"]).astype(np.int64)
    before, after = _yardsticks(table, calibration, cores)
    away = np.where(np.abs(before) >= np.abs(after), before, after)
    away[np.isnan(before) | np.isnan(after)] = np.nan
    in_use = _in_use(table, cores)
    known = np.where(in_use, away, 0.0)
    worst = np.take_along_axis(known, np.abs(known).argmax(axis=1)[:, None], axis=1)[:, 0]
    together = table.windows["kind"] == j.WINDOW_TOGETHER
    line = np.where(together, _lines(table, calibration, cores), 0.0)
    inside = _witnesses(table, calibration)
    with np.errstate(invalid="ignore"):
        quiet = (np.abs(worst) <= tolerance) & (line <= line_tolerance)
    return WindowStates(
        quiet=quiet & (inside <= WITNESS_TOLERANCE), worst=worst, line=line, inside=inside
    )


def is_quiet(
    table: JobTable,
    calibration: Calibration,
    tolerance: float = TOLERANCE,
    *,
    line_tolerance: float = LINE_TOLERANCE,
) -> QuietVerdict:
    """Whether enough quiet windows are left of a run; arguments as for `window_states`."""
    states = window_states(table, calibration, tolerance, line_tolerance=line_tolerance)
    reasons = [*_without_window(table, states.quiet)]
    known = states.worst[~np.isnan(states.worst)]
    return QuietVerdict(
        quiet=not reasons,
        worst=float(known[np.argmax(np.abs(known))]) if len(known) else 0.0,
        share_off=float(np.mean(~states.quiet)) if len(states.quiet) else 0.0,
        reasons=tuple([*reasons, *_why(states)][:_REASONS_MAX]) if reasons else (),
    )


def only_quiet(
    table: JobTable, calibration: Calibration | None, tolerance: float = TOLERANCE
) -> tuple[JobTable, int]:
    """The table with no job counted in a window that was off, and the number of such windows.

    Without a calibration or any probe nothing is known of the host, and nothing is left out.
    """
    if calibration is None or not len(table.probes):
        return table, 0
    states = window_states(table, calibration, tolerance)
    if states.quiet.all():
        return table, 0
    jobs = table.jobs.copy()
    off = ~states.quiet[jobs["window"]]
    jobs["flags"][off] &= ~np.uint32(j.JOB_COUNTED)
    return attrs.evolve(table, jobs=jobs), int((~states.quiet).sum())


def tolerance_of(spec: Mapping[str, Any]) -> float:
    """The tolerance a campaign was run with, from its stored specification."""
    quiet = spec.get("quiet")
    known = quiet.get("tolerance") if isinstance(quiet, Mapping) else None
    return float(known) if isinstance(known, int | float) else TOLERANCE


def _in_use(table: JobTable, cores: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Windows x cores: whether a task of the core runs in the window."""
    together = table.windows["kind"] == j.WINDOW_TOGETHER
    task = np.where(together, 0, table.windows["task"])
    core_of = np.zeros(int(table.tasks["task"].max()) + 1, np.int64)
    core_of[table.tasks["task"]] = table.tasks["core"]
    mine = core_of[task][:, None] == cores[None, :]
    return np.asarray(mine | together[:, None], dtype=np.bool_)


def _beside(
    probes: NDArray[Any], values: NDArray[np.float64], windows: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Per window the last value at the boundary before it and the first at the one after it; NaN
    where there is none. At a boundary where the runtime waited, these differ (records.h)."""
    boundary = probes["boundary"].astype(np.int64)
    last, first = np.full(windows + 1, np.nan), np.full(windows + 1, np.nan)
    last[boundary] = values
    first[boundary[::-1]] = values[::-1]
    return last[:-1], first[1:]


def _yardsticks(
    table: JobTable, calibration: Calibration, cores: NDArray[np.int64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Windows x cores: value / reference - 1 before and after; NaN where either is not known."""
    probes = table.probes[table.probes["kind"] == j.PROBE_YARDSTICK]
    windows = len(table.windows)
    before = np.full((windows, len(cores)), np.nan)
    after = before.copy()
    for column, core in enumerate(cores):
        if core < len(calibration.yardstick_ps):
            mine = probes[probes["core_a"] == core]
            values = mine["value_ps"] / calibration.yardstick_ps[core] - 1
            before[:, column], after[:, column] = _beside(mine, values, windows)
    return before, after


def _lines(
    table: JobTable, calibration: Calibration, cores: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Per window, the slowest round trip beside it between neighbours, as value / reference - 1;
    0 where no pair with a reference was probed."""
    probes = table.probes[table.probes["kind"] == j.PROBE_CACHE_LINE]
    slowest = np.zeros(len(table.windows))
    for a, b in itertools.pairwise(cores.tolist()):
        reference = calibration.cache_line_ps.get(f"{a}-{b}")
        low, high = (
            np.minimum(probes["core_a"], probes["core_b"]),
            np.maximum(probes["core_a"], probes["core_b"]),
        )
        mine = probes[(low == a) & (high == b)]
        if reference is not None and len(mine):
            # 0: the other core did not play in time
            values = np.where(mine["value_ps"] > 0, mine["value_ps"] / reference - 1, np.inf)
            beside = _beside(mine, values, len(table.windows))
            slowest = np.fmax(slowest, np.fmax(*beside))
    return slowest


def _witnesses(table: JobTable, calibration: Calibration) -> NDArray[np.float64]:
    """Per window, the slowest of the tasks' witnesses; 0 without one or without a reference."""
    slowest = np.zeros(len(table.windows))
    clock_ps = int(table.header["clock_cost_ps"])
    for probe in table.probes[table.probes["kind"] == j.PROBE_WITNESS]:
        core, window = int(probe["core_a"]), int(probe["boundary"])
        if core < len(calibration.yardstick_ps) and window < len(slowest):
            expected = calibration.yardstick_ps[core] / j.WITNESS_PART + clock_ps
            slowest[window] = max(slowest[window], int(probe["value_ps"]) / expected - 1)
    return slowest


def _without_window(table: JobTable, quiet: NDArray[np.bool_]) -> list[str]:
    """What the run lacks to count, in words."""
    kinds, tasks = table.windows["kind"], table.windows["task"]
    lacking = []
    if not quiet[kinds == j.WINDOW_TOGETHER].any():
        lacking.append("no quiet window together")
    solo = kinds == j.WINDOW_SOLO
    lacking += [
        f"no quiet window of task {int(task)} alone"
        for task in np.unique(tasks[solo])
        if not quiet[solo & (tasks == task)].any()
    ]
    return lacking


def _why(states: WindowStates) -> list[str]:
    reasons = []
    if np.isnan(states.worst).any():
        reasons.append("a core was not probed, or the calibration has no yardstick of it")
    known = states.worst[~np.isnan(states.worst)]
    if len(known):
        furthest = float(known[np.argmax(np.abs(known))])
        reasons.append(f"yardstick off by up to {100 * furthest:+.1f} %")
    if len(states.inside) and states.inside.max() > WITNESS_TOLERANCE:
        reasons.append(f"slower by up to {100 * states.inside.max():.0f} % inside a window")
    if len(states.line) and states.line.max() > 0:
        reasons.append(f"cache line slower by up to {100 * states.line.max():.0f} %")
    return reasons
