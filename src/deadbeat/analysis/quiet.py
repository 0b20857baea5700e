"""Whether the host was in its quiet mode during a run.

A virtual or throttled host has states that last seconds; a run that met another one is not an
imprecise measurement of the quiet machine but a precise measurement of another machine. So states
are compared with the calibration's references and never averaged: one probe that is off makes the
run not quiet.
"""

from __future__ import annotations

from collections.abc import Iterator

from attrs import frozen

from deadbeat.model import jobs as j
from deadbeat.model.calibration import Calibration
from deadbeat.model.jobs import JobTable

#: A cache-line round trip is tens of nanoseconds and so rough; its other state is six times slower.
LINE_TOLERANCE = 0.5
_REASONS_MAX = 5


@frozen(kw_only=True)
class QuietVerdict:
    """What the probes of a run say.

    Attributes:
        quiet: Every probe was near its reference, and every core of the run was probed.
        worst: Yardstick furthest from its reference, as value / reference - 1 (signed).
        share_off: Share of the probes that were off.
        reasons: Why not quiet, one line each, the worst first; at most five.
    """

    quiet: bool
    worst: float
    share_off: float
    reasons: tuple[str, ...]


def is_quiet(
    table: JobTable,
    calibration: Calibration,
    tolerance: float = 0.03,
    *,
    line_tolerance: float = LINE_TOLERANCE,
    share_allowed: float = 0.0,
) -> QuietVerdict:
    """Compare the probes of ``table`` with the quiet references of ``calibration``.

    Args:
        tolerance: Accepted relative deviation of a yardstick.
        line_tolerance: Accepted relative deviation of a cache-line round trip.
        share_allowed: Share of the probes that may be off.
    """
    deviations = list(_deviations(table, calibration))
    off: list[tuple[float, str]] = []
    for kind, where, deviation in deviations:
        limit = tolerance if kind == "yardstick" else line_tolerance
        if abs(deviation) > limit:
            off.append((abs(deviation) / limit, f"{kind} of {where} off by {deviation:+.1%}"))
    off.sort(reverse=True)
    missing = _unprobed(table, calibration)
    share_off = len(off) / len(deviations) if deviations else 0.0
    yardsticks = [deviation for kind, _, deviation in deviations if kind == "yardstick"]
    reasons = (*missing, *dict.fromkeys(text for _, text in off))
    quiet = not missing and share_off <= share_allowed
    return QuietVerdict(
        quiet=quiet,
        worst=max(yardsticks, key=abs, default=0.0),
        share_off=share_off,
        reasons=() if quiet else reasons[:_REASONS_MAX],
    )


def _deviations(table: JobTable, calibration: Calibration) -> Iterator[tuple[str, str, float]]:
    """Kind, place and relative deviation of every probe that has a reference."""
    for probe in table.probes:
        a, b, value = int(probe["core_a"]), int(probe["core_b"]), int(probe["value_ps"])
        if probe["kind"] == j.PROBE_YARDSTICK:
            if a < len(calibration.yardstick_ps):
                yield "yardstick", f"core {a}", value / calibration.yardstick_ps[a] - 1
        else:
            pair = f"{min(a, b)}-{max(a, b)}"
            if pair in calibration.cache_line_ps:
                reference = calibration.cache_line_ps[pair]
                yield "cache line", f"cores {pair}", value / reference - 1


def _unprobed(table: JobTable, calibration: Calibration) -> tuple[str, ...]:
    """Cores of the run without a yardstick or without a reference: nothing is known of them."""
    yardsticks = table.probes[table.probes["kind"] == j.PROBE_YARDSTICK]
    probed = {int(core) for core in yardsticks["core_a"]}
    used = sorted({int(core) for core in table.tasks["core"]})
    missing = [f"core {core} was not probed" for core in used if core not in probed]
    missing += [
        f"the calibration has no yardstick of core {core}"
        for core in used
        if core in probed and core >= len(calibration.yardstick_ps)
    ]
    return tuple(missing)
