"""From the samples of a calibration (runtime/include/deadbeat/samples.h) to costs with intervals.

Method. A visit is bracketed by a yardstick; only visits whose two yardsticks are within
``QUIET_TOLERANCE`` of the core's quiet mode count, so that states of the host are never averaged.
All costs are means of the middle half of the visits (repeats weighted by their number). A job's
span is a sum of many uses: its median follows the means of what varies a little in every use, but
not the rare stalls of the host, which lengthen a few jobs by much and shift a mean by percents.
The visits of one group are neighbours in time and correlated, so the interval comes from the means
of groups (Student's t), not from single visits.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from deadbeat.executors.student import t_quantile_975
from deadbeat.model.calibration import Cost
from deadbeat.model.errors import CalibrationError, DataError
from deadbeat.model.tasks import Entry

QUIET_TOLERANCE = 0.02
#: Share cut off at either end: what is left is the middle half.
TRIM = 0.25
#: Fewer groups than this give no interval worth printing.
LEAST_GROUPS = 6
#: A use of this length must be known to within LARGEST_UNCERTAINTY of itself.
REFERENCE_USE_PS = 10_000_000
LARGEST_UNCERTAINTY = 0.10
#: When less than this share of visits is quiet, even the mode is a guess.
LEAST_QUIET_SHARE = 0.02

CACHE_LINE_ENTRY = 0xFFFF

HEADER = np.dtype(
    [
        ("magic", "S8"),
        ("version", "<u4"),
        ("entry_count", "<u4"),
        ("sample_count", "<u8"),
        ("parallel_count", "<u8"),
        ("clock_cost_ps", "<i8"),
        ("reserved", "V24"),
    ]
)
ENTRY = np.dtype(
    [
        ("entry", "<u2"),
        ("core", "<u2"),
        ("error", "<i4"),
        ("wrong", "<i4"),
        ("reserved", "<u4"),
        ("estimate_ps", "<u8"),
    ]
)
SAMPLE = np.dtype(
    [
        ("visit", "<u4"),
        ("entry", "<u2"),
        ("core", "<u2"),
        ("position", "<u4"),
        ("repeats", "<u4"),
        ("yardstick_before_ps", "<u8"),
        ("yardstick_after_ps", "<u8"),
        ("first_ns", "<i8"),
        ("rest_ns", "<i8"),
        ("again_ns", "<i8"),
    ]
)
PARALLEL = np.dtype(
    [
        ("entry", "<u2"),
        ("core", "<u2"),
        ("round", "<u2"),
        ("together", "<u2"),
        ("block_ns", "<i8"),
        ("control_ns", "<i8"),
    ]
)


@frozen(kw_only=True, eq=False)
class Samples:
    """What one calibration run wrote; arrays of the dtypes above."""

    clock_cost_ps: int
    entries: NDArray[Any]
    samples: NDArray[Any]
    parallel: NDArray[Any]


@frozen(kw_only=True)
class Estimates:
    """What the samples say.

    Attributes:
        costs: entry -> one Cost per core.
        refused: entry -> reason.
        parallel_ratio: fragment -> all cores at once over alone, beyond pure computation.
        compute_parallel_ratio: The same of pure computation; None on one core.
        yardstick_ps: Quiet mode per core.
        cache_line_ps: Quiet round trip of a cache line per pair of neighbours "a-b".
        quiet_share: Share of visits that were quiet, over all cores.
    """

    costs: dict[str, tuple[Cost, ...]]
    refused: dict[str, str]
    parallel_ratio: dict[str, float]
    compute_parallel_ratio: float | None
    yardstick_ps: tuple[int, ...]
    cache_line_ps: dict[str, int]
    quiet_share: float


def read_samples(path: Path, *, cores: int) -> Samples:
    """Reads a samples file.

    Raises:
        DataError: It is not one, is damaged, or of another version.
    """
    data = path.read_bytes()
    if len(data) < HEADER.itemsize + 4 or zlib.crc32(data[:-4]) != int.from_bytes(
        data[-4:], "little"
    ):
        raise DataError(f"{path.name}: the samples of a calibration are damaged", "calibrate again")
    header = np.frombuffer(data, HEADER, 1)[0]
    # numpy strips trailing NULs only; the magic has none
    if header["magic"] != b"DBCALS\r\n" or header["version"] != 1:
        raise DataError(f"{path.name}: not a samples file of version 1", "calibrate again")
    sizes = (int(header["entry_count"]) * cores, int(header["sample_count"]),
             int(header["parallel_count"]))  # fmt: skip
    parts, offset = [], HEADER.itemsize
    for dtype, count in zip((ENTRY, SAMPLE, PARALLEL), sizes, strict=True):
        if offset + count * dtype.itemsize > len(data) - 4:
            raise DataError(f"{path.name}: its counts exceed its length", "calibrate again")
        parts.append(np.frombuffer(data, dtype, count, offset))
        offset += count * dtype.itemsize
    return Samples(
        clock_cost_ps=int(header["clock_cost_ps"]),
        entries=parts[0],
        samples=parts[1],
        parallel=parts[2],
    )


def quiet_mode_ps(values: NDArray[Any]) -> int:
    """The fast mode of a core's yardsticks, ps: their 10 % quantile.

    A slow state only lengthens a yardstick, and the quantile holds as long as the fast state was
    met in a tenth of the visits; a minimum would follow one odd reading.
    """
    return int(np.quantile(values, 0.10))


def _estimate(
    values: NDArray[Any], groups: NDArray[Any], weights: NDArray[Any]
) -> tuple[float, float]:
    """Weighted mean of the middle half, and the half-width of its 95 % interval.

    The spread is that of the winsorised values over (1 - 2 TRIM), as for any trimmed mean (Tukey
    and McLaughlin 1963), taken between groups; a group weighs as much as it was measured for.
    """
    low, high = np.quantile(values, [TRIM, 1 - TRIM])
    kept = (values >= low) & (values <= high)
    mean = float(np.average(values[kept], weights=weights[kept]))
    _, index = np.unique(groups, return_inverse=True)
    share = np.bincount(index, weights=weights)
    if len(share) < LEAST_GROUPS:
        return mean, math.inf
    winsorised = np.clip(values, low, high)
    away = winsorised - np.average(winsorised, weights=weights)
    residual = np.bincount(index, weights=weights * away) / share.mean()
    error = float(residual.std(ddof=1)) / math.sqrt(len(share)) / (1 - 2 * TRIM)
    return mean, t_quantile_975(len(share) - 1) * error


def _cost(rows: NDArray[Any], *, quiet: NDArray[Any], clock_ps: int, cold: bool) -> Cost | str:
    """Cost from the visits to one entry on one core, or the reason why there is none."""
    rejected = int(len(rows) - quiet.sum())
    kept = rows[quiet]
    groups = kept["visit"] // (1 if cold else 5)
    if len(np.unique(groups)) < LEAST_GROUPS:
        return f"only {len(np.unique(groups))} quiet groups of visits ({rejected} visits rejected)"
    firsts = kept["first_ns"] * 1000.0 - clock_ps
    first, first_half = _estimate(firsts, groups, np.ones(len(kept)))
    if cold:
        again, again_half = repeat, repeat_half = first, first_half
    else:
        agains = kept["again_ns"] * 1000.0 - clock_ps
        again, again_half = _estimate(agains, groups, np.ones(len(kept)))
        per_repeat = (kept["rest_ns"] * 1000.0 - clock_ps) / kept["repeats"]
        repeat, repeat_half = _estimate(per_repeat, groups, kept["repeats"].astype(float))
    # a later use finds warm what the first found cold; more than the first is noise
    again = min(again, first)
    if min(first, again, repeat) <= 0:
        return "it costs less than reading the clock"
    repeats = max(REFERENCE_USE_PS / repeat, 1.0)
    uncertainty = (first_half + (repeats - 1) * repeat_half) / (first + (repeats - 1) * repeat)
    if uncertainty > LARGEST_UNCERTAINTY:
        return f"noise: a use of 10 us is only known to within {100 * uncertainty:.1f} %"
    return Cost(
        first_ps=round(first),
        first_low_ps=round(first - first_half),
        first_high_ps=round(first + first_half),
        again_ps=round(again),
        again_low_ps=round(again - again_half),
        again_high_ps=round(again + again_half),
        repeat_ps=round(repeat),
        repeat_low_ps=round(repeat - repeat_half),
        repeat_high_ps=round(repeat + repeat_half),
        samples=len(kept),
        rejected=rejected,
    )


def _together_over_alone(rows: NDArray[Any], column: str, cores: int) -> NDArray[Any]:
    """One ratio a core, by the fastest rounds: what cores really do to one another is there in
    every round, what the host does only in some."""
    ratios = []
    for core in range(cores):
        mine = rows[rows["core"] == core]
        alone = mine[mine["together"] == 0][column].min()
        ratios.append(float(mine[mine["together"] == 1][column].min() / alone))
    return np.array(ratios)


def _parallel_ratios(
    samples: Samples, entries: Sequence[Entry], cores: int
) -> tuple[dict[str, float], float | None]:
    """Per class, all cores at once over alone beyond what pure computation beside it shows; and
    that of pure computation itself."""
    rows = samples.parallel[samples.parallel["entry"] != CACHE_LINE_ENTRY]
    ratios: dict[str, float] = {}
    for number in np.unique(rows["entry"]):
        mine = rows[rows["entry"] == number]
        blocks = _together_over_alone(mine, "block_ns", cores)
        control = _together_over_alone(mine, "control_ns", cores)
        ratios[entries[int(number)].fragment] = round(float((blocks / control).max()), 4)
    if not len(rows):
        return ratios, None
    return ratios, round(float(_together_over_alone(rows, "control_ns", cores).max()), 4)


def _cache_lines(samples: Samples) -> dict[str, int]:
    """Per pair, the lower quartile: the line has states, and the quiet one is among the fast."""
    rows = samples.parallel[samples.parallel["entry"] == CACHE_LINE_ENTRY]
    rows = rows[rows["block_ns"] > 0]
    return {
        f"{a}-{b}": int(np.quantile(rows["block_ns"][rows["core"] == a], 0.25))
        for a, b in sorted({(int(row["core"]), int(row["together"])) for row in rows})
    }


def _quiet_visits(samples: Samples, cores: int) -> tuple[list[int], NDArray[np.bool_]]:
    """Quiet mode of each core's yardstick, ps, and which visits were within it.

    Raises:
        CalibrationError: The machine was too seldom quiet for any answer.
    """
    rows = samples.samples
    modes, quiet = [], np.zeros(len(rows), dtype=bool)
    for core in range(cores):
        mine = rows["core"] == core
        if not mine.any():
            raise CalibrationError(f"no visits on logical core {core}", "calibrate for longer")
        mode = quiet_mode_ps(rows["yardstick_before_ps"][mine])
        near = [
            np.abs(rows[column] / mode - 1) <= QUIET_TOLERANCE
            for column in ("yardstick_before_ps", "yardstick_after_ps")
        ]
        quiet |= mine & near[0] & near[1]
        modes.append(mode)
    share = float(quiet.mean())
    if share < LEAST_QUIET_SHARE:
        raise CalibrationError(
            f"the machine was quiet in only {100 * share:.0f} % of the visits",
            "stop other load, or calibrate for longer (--calibration-seconds 60, or --seconds)",
        )
    return modes, quiet


def estimate_references(samples: Samples, *, cores: int) -> tuple[tuple[int, ...], dict[str, int]]:
    """Quiet yardstick per core and quiet round trip per pair "a-b", ps; no costs are needed.

    Raises:
        CalibrationError: The machine was too seldom quiet for any answer.
    """
    modes, _ = _quiet_visits(samples, cores)
    return tuple(modes), _cache_lines(samples)


def estimate_costs(
    samples: Samples, entries: Sequence[Entry], *, cores: int, cold: bool
) -> Estimates:
    """Costs of all entries, or why not.

    Args:
        samples: What the runtime wrote.
        entries: The entries in the order they were given to it.
        cores: Number of logical cores visited.
        cold: Caches were emptied before every use: only first uses were measured.

    Raises:
        CalibrationError: The machine was too seldom quiet for any answer.
    """
    modes, quiet = _quiet_visits(samples, cores)
    share = float(quiet.mean())
    costs: dict[str, tuple[Cost, ...]] = {}
    refused: dict[str, str] = {}
    for number, entry in enumerate(entries):
        found = [
            _core_cost(samples, quiet, number, core, len(entries), cold=cold)
            for core in range(cores)
        ]
        reasons = [f"core {core}: {x}" for core, x in enumerate(found) if isinstance(x, str)]
        if reasons:
            refused[str(entry)] = "; ".join(reasons)
        else:
            costs[str(entry)] = tuple(x for x in found if isinstance(x, Cost))
    # with more refusals than answers, what is left is not the pool that was asked for
    if len(costs) < len(entries) / 2:
        raise CalibrationError(
            f"only {len(costs)} of {len(entries)} entries got an answer; the machine was quiet in"
            f" {100 * share:.0f} % of the visits",
            "stop other load, or calibrate for longer (--calibration-seconds 60, or --seconds)",
        )
    parallel_ratio, compute_ratio = _parallel_ratios(samples, entries, cores)
    return Estimates(
        costs=costs,
        refused=refused,
        parallel_ratio=parallel_ratio,
        compute_parallel_ratio=compute_ratio,
        yardstick_ps=tuple(modes),
        cache_line_ps=_cache_lines(samples),
        quiet_share=share,
    )


def _core_cost(
    samples: Samples, quiet: NDArray[Any], number: int, core: int, entries: int, *, cold: bool
) -> Cost | str:
    state = samples.entries[core * entries + number]
    if state["error"]:
        return f"it cannot be set up here (errno {int(state['error'])})"
    if state["wrong"]:
        return "its check failed: the work was not done right"
    mask = (samples.samples["entry"] == number) & (samples.samples["core"] == core)
    rows = samples.samples[mask]
    return _cost(rows, quiet=quiet[mask], clock_ps=samples.clock_cost_ps, cold=cold)
