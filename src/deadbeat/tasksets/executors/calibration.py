"""From the samples of a calibration (runtime/include/deadbeat/samples.h) to costs with intervals.

Method. C is the cost of the calm machine, so that programs differ as little as possible between a
quiet and a busy hour. A visit is bracketed by two yardsticks. Visits beside which both are near the
fast mode of the kind of core count alone, if they come from at least ``LEAST_GROUPS`` groups. Else
the calmest quarter counts, else all visits do: the cost is marked, and its interval reaches down by
as much as the yardsticks were slower. No entry is refused for noise. Cores of a kind are pooled:
their visits give one cost, known as well on 64 cores as on two.

All costs are means of the middle half of the visits (repeats weighted by their number). A job's
span is a sum of many uses: its median follows the means of what varies a little in every use, but
not the rare stalls of the host, which lengthen a few jobs by much and shift a mean by percents.
The visits of one group are neighbours in time and correlated, so the interval comes from the means
of groups (Student's t), not from single visits.

Whether the cores slow each other down is a ratio of blocks on all cores at once to blocks alone,
beyond that of pure computation beside them. Host noise that meets both sides alike makes the log
ratio of a round symmetric about the truth, however long its tails are: the estimate is that of
Hodges and Lehmann (1963), the median of the means of all pairs of rounds, its interval that of the
signed-rank test (Wilcoxon 1945), which asks for symmetry alone. A ratio of minima would favour the
rounds that overlapped least, and a mean follows single stalls.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from time import monotonic
from typing import Any

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from deadbeat.base.model.errors import CalibrationError, DataError
from deadbeat.base.model.jobs import of, record
from deadbeat.base.model.platform import Platform
from deadbeat.base.stats.binomial import Z95
from deadbeat.base.stats.intervals import t_quantile
from deadbeat.tasksets.catalog import Catalog
from deadbeat.tasksets.executors.base import Costing
from deadbeat.tasksets.model.calibration import Calibration, Cost, ParallelRatio
from deadbeat.tasksets.model.tasks import Entry

QUIET_TOLERANCE = 0.02
#: Share cut off at either end: what is left is the middle half.
TRIM = 0.25
#: Calm visits count alone where they come from at least this number of groups.
LEAST_GROUPS = 6
#: Where they do not, this share of the visits counts, if it comes from as many.
CALMEST = 0.25
#: Visits of one core between two draws of a group: one that warms up, and four measured.
GROUP_VISITS = 5
#: Blocks ran at once where the other cores worked in this share of either, on average.
LEAST_OVERLAP = 0.8
#: From this number of rounds on, a ratio has an interval.
LEAST_ROUNDS = 10
#: At most this many cores of a kind are visited.
CORES_VISITED = 8
#: In virtual time an entry costs the same at every visit: a few are enough, s.
VIRTUAL_MOST_S = 3.0

CACHE_LINE_ENTRY = 0xFFFF

HEADER = record(
    *of("S8", "magic"),
    *of("<u4", "version entry_count"),
    *of("<u8", "sample_count parallel_count"),
    *of("<i8", "clock_cost_ps"),
    *of("V24", "reserved"),
)
ENTRY = record(
    *of("<u2", "entry core"),
    *of("<i4", "error wrong"),
    *of("<u4", "reserved"),
    *of("<u8", "estimate_ps"),
)
SAMPLE = record(
    *of("<u4", "visit"),
    *of("<u2", "entry core"),
    *of("<u4", "position repeats"),
    *of("<u8", "yardstick_before_ps yardstick_after_ps"),
    *of("<i8", "first_ns rest_ns again_ns"),
)
PARALLEL = record(
    *of("<u2", "entry core round together"),
    *of("<i8", "block_ns control_ns"),
    *of("<u4", "overlap_ppm reserved"),
)


@frozen(eq=False)
class Samples:
    """What one calibration run wrote; arrays of the dtypes above."""

    clock_cost_ps: int
    entries: NDArray[Any]
    samples: NDArray[Any]
    parallel: NDArray[Any]


def runnable(
    catalog: Catalog, asked: Costing, refused: Mapping[str, str]
) -> tuple[list[Entry], dict[str, str]]:
    """Entries of the pool that can be measured, and why the others cannot.

    Args:
        refused: Fragment -> why it cannot run there.
    """
    wanted = catalog.entries(asked.pool, mode=asked.layout)
    entries = [entry for entry in wanted if entry.fragment not in refused]
    return entries, {str(e): refused[e.fragment] for e in wanted if e.fragment in refused}


def read_samples(path: Path, *, cores: int) -> Samples:
    """Reads a samples file. Raises DataError: it is not one, is damaged, or of another version."""
    data = path.read_bytes()
    if len(data) < HEADER.itemsize + 4 or zlib.crc32(data[:-4]) != int.from_bytes(
        data[-4:], "little"
    ):
        raise DataError(f"{path.name}: the samples of a calibration are damaged", "calibrate again")
    header = np.frombuffer(data, HEADER, 1)[0]
    # numpy strips trailing NULs only; the magic has none
    if header["magic"] != b"DBCALS\r\n" or header["version"] != 2:
        raise DataError(f"{path.name}: not a samples file of version 2", "calibrate again")
    sizes = (int(header["entry_count"]) * cores, int(header["sample_count"]),
             int(header["parallel_count"]))  # fmt: skip
    parts, offset = [], HEADER.itemsize
    for dtype, count in zip((ENTRY, SAMPLE, PARALLEL), sizes, strict=True):
        if offset + count * dtype.itemsize > len(data) - 4:
            raise DataError(f"{path.name}: its counts exceed its length", "calibrate again")
        parts.append(np.frombuffer(data, dtype, count, offset))
        offset += count * dtype.itemsize
    return Samples(int(header["clock_cost_ps"]), *parts)


def visits_of(kinds: Sequence[int]) -> tuple[int, ...]:
    """Logical cores to visit by turns: at most CORES_VISITED of each kind, spread evenly, and all
    kinds equally often.

    Args:
        kinds: Kind of each logical core.
    """
    chosen = []
    for kind in sorted(set(kinds)):
        cores = [core for core, its in enumerate(kinds) if its == kind]
        count = min(len(cores), CORES_VISITED)
        chosen.append([cores[turn * len(cores) // count] for turn in range(count)])
    turns = max(map(len, chosen))
    return tuple(cores[turn % len(cores)] for turn in range(turns) for cores in chosen)


def _modes(samples: Samples, kinds: Sequence[int]) -> tuple[list[int], list[int]]:
    """Fast mode per logical core and per kind, ps; a kind's is that of its fastest core.

    A core's is the 10 % quantile of its yardsticks: a slow state only lengthens one, and the
    quantile holds as long as the fast state was met in a tenth of the visits; a minimum would
    follow one odd reading.

    Raises:
        CalibrationError: Nothing could be run on a kind of core.
    """
    rows = samples.samples
    of_core = {
        int(core): int(np.quantile(rows["yardstick_before_ps"][rows["core"] == core], 0.10))
        for core in np.unique(rows["core"])
    }
    of_kind = []
    for kind in range(max(kinds) + 1):
        found = [of_core[core] for core, its in enumerate(kinds) if its == kind and core in of_core]
        if not found:
            errors = sorted({int(error) for error in samples.entries["error"]} - {0})
            why = f"setting up an entry failed with errno {', '.join(map(str, errors))}"
            core = kinds.index(kind)
            raise CalibrationError(f"no entry can be used on core {core}", why if errors else "")
        of_kind.append(min(found))
    return [of_core.get(core, of_kind[kind]) for core, kind in enumerate(kinds)], of_kind


def _estimate(
    values: NDArray[Any], groups: NDArray[Any], weights: NDArray[Any]
) -> tuple[float, float]:
    """Weighted mean of the middle half, and the half-width of its 95 % interval.

    The spread is that of the winsorised values over (1 - 2 TRIM), as for any trimmed mean (Tukey
    and McLaughlin 1963), taken between groups; a group weighs as much as it was measured for. A
    single group says nothing of the spread: the half-width is the mean itself.
    """
    low, high = np.quantile(values, [TRIM, 1 - TRIM])
    kept = (values >= low) & (values <= high) if len(values) > 2 else np.ones(len(values), bool)
    mean = float(np.average(values[kept], weights=weights[kept]))
    _, index = np.unique(groups, return_inverse=True)
    share = np.bincount(index, weights=weights)
    if len(share) < 2:
        return mean, abs(mean)
    winsorised = np.clip(values, low, high)
    away = winsorised - np.average(winsorised, weights=weights)
    residual = np.bincount(index, weights=weights * away) / share.mean()
    error = float(residual.std(ddof=1)) / math.sqrt(len(share)) / (1 - 2 * TRIM)
    return mean, t_quantile(0.975, len(share) - 1) * error


def _counting(distances: NDArray[Any], groups: NDArray[Any]) -> tuple[NDArray[np.bool_], bool]:
    """Which visits count, and whether those are calm ones."""

    def enough(kept: NDArray[np.bool_]) -> bool:
        return len(np.unique(groups[kept])) >= LEAST_GROUPS

    calm = distances <= QUIET_TOLERANCE
    if enough(calm) or calm.all():
        return calm, True
    calmest = distances <= np.quantile(distances, CALMEST)
    return (calmest if enough(calmest) else np.ones(len(distances), dtype=bool)), False


def _cost(rows: NDArray[Any], distances: NDArray[Any], *, clock_ps: int, cold: bool) -> Cost | str:
    """Cost from the visits to one entry on one kind of core, or the reason why there is none."""
    if not len(rows):
        return "there was no time to visit it: calibrate for longer"
    groups = rows["core"].astype(np.int64) << 32 | rows["visit"] // (1 if cold else GROUP_VISITS)
    counting, calm = _counting(distances, groups)
    rows, groups = rows[counting], groups[counting]
    slower = 0.0 if calm else float(distances[counting].mean())
    first = _estimate(rows["first_ns"] * 1000.0 - clock_ps, groups, np.ones(len(rows)))
    again = repeat = first
    if not cold:
        again = _estimate(rows["again_ns"] * 1000.0 - clock_ps, groups, np.ones(len(rows)))
        per_repeat = (rows["rest_ns"] * 1000.0 - clock_ps) / rows["repeats"]
        repeat = _estimate(per_repeat, groups, rows["repeats"].astype(float))
    # a later use finds warm what the first found cold; more than the first is noise
    again = (min(again[0], first[0]), again[1])
    if min(first[0], again[0], repeat[0]) < 1:
        return "it costs less than reading the clock"
    values = {}
    for name, (mean, half) in (("first", first), ("again", again), ("repeat", repeat)):
        values[f"{name}_ps"] = round(mean)
        values[f"{name}_low_ps"] = max(round(mean * (1 - slower) - half), 0)
        values[f"{name}_high_ps"] = round(mean + half)
    return Cost(**values, samples=len(rows), rejected=len(counting) - len(rows), calm=calm)


def _interval(logs: NDArray[Any]) -> ParallelRatio | None:
    """Ratio from its logarithm in each round; None where these are too few."""
    count = len(logs)
    if count < LEAST_ROUNDS:
        return None
    first, second = np.triu_indices(count)
    means = np.sort((logs[first] + logs[second]) / 2)
    # the signed-rank statistic is normal enough from ten values on
    spread = math.sqrt(count * (count + 1) * (2 * count + 1) / 24)
    out = max(int(len(means) / 2 - Z95 * spread), 0)
    low, middle, high = np.exp([means[out], np.median(means), means[-1 - out]])
    return ParallelRatio(
        ratio=round(float(middle), 4),
        low=round(float(low), 4),
        high=round(float(high), 4),
        rounds=count,
    )


def _round_logs(rows: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """For one class, per round that overlapped: log of together over alone of the block beyond pure
    computation, and of pure computation; medians over the cores of the round."""
    rows = rows[np.lexsort((rows["together"], rows["core"], rows["round"]))]
    alone, beside = rows[rows["together"] == 0], rows[rows["together"] == 1]
    logs = {
        column: np.log(np.maximum(beside[column], 1) / np.maximum(alone[column], 1))
        for column in ("block_ns", "control_ns")
    }
    kept = beside["overlap_ppm"] >= LEAST_OVERLAP * 1e6
    rounds = [kept & (beside["round"] == number) for number in np.unique(beside["round"][kept])]
    beyond = logs["block_ns"] - logs["control_ns"]
    return (
        np.array([np.median(beyond[mine]) for mine in rounds]),
        np.array([np.median(logs["control_ns"][mine]) for mine in rounds]),
    )


def _parallel_ratios(
    samples: Samples, entries: Sequence[Entry]
) -> tuple[dict[str, ParallelRatio], ParallelRatio | None]:
    """Per class, all cores at once over alone beyond what pure computation beside it shows; and
    that of pure computation itself."""
    rows = samples.parallel[samples.parallel["entry"] != CACHE_LINE_ENTRY]
    ratios: dict[str, ParallelRatio] = {}
    computing = [np.zeros(0)]
    for number in np.unique(rows["entry"]):
        beyond, control = _round_logs(rows[rows["entry"] == number])
        computing.append(control)
        if (ratio := _interval(beyond)) is not None:
            ratios[entries[int(number)].fragment] = ratio
    return ratios, _interval(np.concatenate(computing))


def _cache_lines(samples: Samples) -> dict[str, int]:
    """Per pair, the lower quartile: the line has states, and the quiet one is among the fast."""
    rows = samples.parallel[samples.parallel["entry"] == CACHE_LINE_ENTRY]
    rows = rows[rows["block_ns"] > 0]
    return {
        f"{a}-{b}": int(np.quantile(rows["block_ns"][rows["core"] == a], 0.25))
        for a, b in sorted({(int(row["core"]), int(row["together"])) for row in rows})
    }


def calibration_of(
    samples: Samples,
    entries: Sequence[Entry],
    asked: Costing,
    *,
    kinds: Sequence[int],
    platform: Platform,
    refused: Mapping[str, str],
    began_s: float,
) -> Calibration:
    """Costs of all entries that can be used here: a calibration that ends now.

    Args:
        samples: What the runtime wrote.
        entries: The entries in the order they were given to it.
        kinds: Kind of each logical core, numbered from 0.
        refused: Entry -> why it was not measured.
        began_s: When it began, on `time.monotonic`.

    Raises:
        CalibrationError: Nothing could be run.
    """
    of_core, of_kind = _modes(samples, kinds)
    row_kinds = np.array(kinds)[samples.samples["core"]]
    # Relative distance of each visit's worse yardstick from the fast mode of its kind of core.
    before, after = (
        np.abs(samples.samples[f"yardstick_{when}_ps"] / np.array(of_kind)[row_kinds] - 1)
        for when in ("before", "after")
    )
    distances = np.maximum(before, after)
    costs: dict[str, tuple[Cost, ...]] = {}
    useless: dict[str, str] = {}
    for number, entry in enumerate(entries):
        found: list[Cost | str] = [_state(samples, number)]
        if not found[0]:
            mine = samples.samples["entry"] == number
            masks = [mine & (row_kinds == kind) for kind in range(len(of_kind))]
            found = [
                _cost(
                    samples.samples[mask],
                    distances[mask],
                    clock_ps=samples.clock_cost_ps,
                    cold=asked.basis == "cold",
                )
                for mask in masks
            ]
        known = [cost for cost in found if isinstance(cost, Cost)]
        if len(known) == len(of_kind):
            costs[str(entry)] = tuple(known[kind] for kind in kinds)
        else:
            useless[str(entry)] = next(reason for reason in found if isinstance(reason, str))
    if not costs:
        reasons = [f"{entry}: {reason}" for entry, reason in useless.items()]
        raise CalibrationError("no entry can be used here", "; ".join(reasons[:1]))
    parallel_ratio, compute_ratio = _parallel_ratios(samples, entries)
    return Calibration(
        platform=platform,
        basis=asked.basis,
        policy=asked.policy,
        pool=asked.pool,
        layout=asked.layout,
        costs=costs,
        refused={**refused, **useless},
        parallel_ratio=parallel_ratio,
        compute_parallel_ratio=compute_ratio,
        yardstick_ps=tuple(of_core),
        cache_line_ps=_cache_lines(samples),
        made_at=datetime.now(UTC).isoformat(timespec="seconds"),
        seconds=round(monotonic() - began_s, 1),
    )


def _state(samples: Samples, number: int) -> str:
    """Why entry ``number`` cannot be used on one of the cores; "" if it can on all."""
    for state in samples.entries[samples.entries["entry"] == number]:
        if state["error"]:
            return f"core {state['core']}: it cannot be set up (errno {state['error']})"
        if state["wrong"]:
            return f"core {state['core']}: its check failed: the work was not done right"
    return ""
