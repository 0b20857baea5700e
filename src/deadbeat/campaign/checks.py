"""What can be wrong with a campaign though each of its values is right."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

from deadbeat.campaign.stress import groups
from deadbeat.model.rules import Problem
from deadbeat.model.words import nearest

if TYPE_CHECKING:
    from deadbeat.campaign.spec import CampaignSpec

#: Twenty times the paper's grid: more would take months and gigabytes of plan.
RUNS_MAX = 400_000
#: Jobs of the slowest task that a window must be able to count.
_JOBS_MIN = 2
#: Windows are numbered in 16 bits (runtime/include/deadbeat/records.h).
WINDOWS_MAX = 65_535
_DEFAULT_FACTORS = (Fraction(10),)
#: What says something only where there is a utilisation.
_OF_UTILISATION = {
    "utilisation_method": "uunifast-discard",
    "utilisation_min": 0,
    "utilisation_max": 1,
    "periods": "log-uniform",
    "period_min": 500_000,
    "period_max": 10_000_000,
}


def between_sections(spec: CampaignSpec, *, presets: Sequence[str]) -> list[Problem]:
    """All that is wrong between the sections of ``spec``.

    Args:
        presets: Those of its mode.
    """
    return [
        *_wrong_mode(spec, presets),
        *_wrong_name(spec),
        *_too_few_segments(spec),
        *_too_many_runs(spec),
        *_crossed_bounds(spec),
        *_wrong_timing(spec),
        *_short_windows(spec),
        *_too_many_windows(spec),
    ]


def _wrong_mode(spec: CampaignSpec, presets: Sequence[str]) -> Iterator[Problem]:
    profile = spec.mode == "profile"
    if (spec.grid is None) == profile:
        hint = "a profile has a grid" if profile else "a stress campaign has none"
        yield Problem("grid", "missing" if profile else f"mode is {spec.mode}", hint)
    if (spec.stress is None) != profile:
        hint = "a profile has none" if profile else "a stress campaign has one"
        yield Problem("stress", f"mode is {spec.mode}" if profile else "missing", hint)
    if spec.preset not in presets:
        text = f"{spec.preset} is no preset of a {'profile' if profile else 'stress campaign'}"
        yield Problem("preset", text, nearest(spec.preset, presets))
    if not profile and spec.cores is not None:
        yield Problem("cores", "a stress campaign has its own", "write them in [stress]")


def _wrong_name(spec: CampaignSpec) -> Iterator[Problem]:
    if spec.name == "latest":
        yield Problem("name", "latest is the link to the last campaign", "choose another")


def _too_few_segments(spec: CampaignSpec) -> Iterator[Problem]:
    if spec.grid is not None:
        mixed = any(0 < share < 1000 for share in spec.grid.sync_share)
        where, least = "tasks.segments_max", spec.tasks.segments_max
    elif spec.stress is not None:
        rho, drawn = spec.stress.sync_share, spec.stress.segments_max
        mixed = rho.ranged or any(option not in (0, 1000) for option in rho.options)
        where = "tasks.segments_max" if drawn is None else "stress.segments_max"
        least = spec.tasks.segments_max if drawn is None else drawn.smallest
    else:
        return
    if mixed and least < 2:
        hint = "a share between 0 and 1 needs a segment of each kind: 2 or more"
        yield Problem(where, "1 is too low for the grid" if spec.grid else "1 is too low", hint)


def _too_many_runs(spec: CampaignSpec) -> Iterator[Problem]:
    levels = len(spec.tasks.deadline_factor)
    if spec.grid is not None:
        cores, grid = len(spec.cores or (1,)), spec.grid
        runs = cores * len(grid.sync_share) * len(grid.contended_ratio) * grid.replicas * levels
        where, hint = "grid", "a coarser grid, fewer replicas or fewer cores"
    elif spec.stress is not None:
        runs = levels * sum(group.sets for group in groups(spec.stress))
        where, hint = "stress.sets", "fewer sets or fewer groups"
    else:
        return
    if runs > RUNS_MAX:
        yield Problem(where, f"{runs} runs are more than {RUNS_MAX}", hint)


def _crossed_bounds(spec: CampaignSpec) -> Iterator[Problem]:
    """A drawn lower bound must not exceed its upper one, whichever section has it."""
    if spec.stress is None:
        return
    for low, high in (("wcet_min", "wcet_max"), ("classes_min", "classes_max")):
        a, b = getattr(spec.stress, low), getattr(spec.stress, high)
        most = getattr(spec.tasks, low) if a is None else a.largest
        least = getattr(spec.tasks, high) if b is None else b.smallest
        if (a is not None or b is not None) and most > least:
            where = f"stress.{low if a is not None else high}"
            unit = " ns" if low == "wcet_min" else ""
            text = f"{low} up to {most}{unit} is above {high} from {least}{unit}"
            yield Problem(where, text, f"keep every {low} below every {high}")


def _too_many_windows(spec: CampaignSpec) -> Iterator[Problem]:
    """Of one run: together, solo for each task in each round between those, and done again."""
    if spec.stress is not None and spec.cpus is None:
        return  # a preset's core counts are not those of this machine before ``resolve``
    tasks = spec.most_tasks(max(spec.core_counts, default=1))
    together = spec.run.windows
    windows = together + max(1, together - 1) * tasks + spec.quiet.extra_windows
    if windows > WINDOWS_MAX:
        text = f"{windows} windows in a run of {tasks} tasks are more than {WINDOWS_MAX}"
        yield Problem("run.windows", text, "fewer windows, or fewer tasks per core")


def _short_windows(spec: CampaignSpec) -> Iterator[Problem]:
    """Windows must be long enough to count jobs of the slowest task."""
    longest_ns = spec.longest_period_ns
    jobs = spec.run.warmup_jobs + _JOBS_MIN
    lengths = {"seconds": spec.run.seconds / spec.run.windows}
    # Core counts of a preset for random sets are not those of this machine before ``resolve``.
    if spec.run.solo_seconds is not None and (spec.stress is None or spec.cpus is not None):
        tasks = spec.most_tasks(max(spec.core_counts, default=1))
        lengths["solo_seconds"] = spec.run.solo_seconds / tasks
    for name, seconds in lengths.items():
        if seconds * 1e9 < jobs * longest_ns:
            yield Problem(
                f"run.{name}",
                f"a window of {seconds * 1e3:.3g} ms holds fewer than {jobs} jobs of a task"
                f" with T = {float(longest_ns) / 1e6:.3g} ms",
                f"raise it {jobs * longest_ns / (seconds * 10**9):.2g} times or more"
                if seconds
                else "raise it",
            )


def _wrong_timing(spec: CampaignSpec) -> Iterator[Problem]:
    """T follows from C, or C from T: not both."""
    tasks = spec.tasks
    if not spec.by_utilisation:
        for name, default in _OF_UTILISATION.items():
            if getattr(tasks, name) != default:
                hint = "give a utilisation, or drop it"
                yield Problem(f"tasks.{name}", "says something only with a utilisation", hint)
        return
    if tasks.deadline_factor != _DEFAULT_FACTORS:
        text = "with a utilisation T is drawn, C = u T and D = T"
        yield Problem("tasks.deadline_factor", text, "leave one of the two out")
    shielded = spec.stress is not None and any(spec.stress.critical_cores)
    drawn = None if spec.stress is None else spec.stress.distribution
    if not shielded and (tasks.distribution != "uniform" or drawn is not None):
        where = "tasks.distribution" if drawn is None else "stress.distribution"
        text = "with a utilisation C follows from u and T"
        yield Problem(where, text, "leave one of the two out")
