"""What can be wrong with a campaign though each of its values is right."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

from deadbeat.executors.tables import SLOT_MIN_NS
from deadbeat.kinds.contention.stress import groups
from deadbeat.model.rules import Problem
from deadbeat.model.words import nearest

if TYPE_CHECKING:
    from deadbeat.kinds.contention.spec import CampaignSpec

#: Twenty times the paper's grid: more would take months and gigabytes of plan.
RUNS_MAX = 400_000
#: Slots are numbered in 16 bits (runtime/include/deadbeat/records.h).
SLOTS_MAX = 65_535
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
        *_too_many_slots(spec),
        *_shared_cpus(spec),
    ]


def _wrong_mode(spec: CampaignSpec, presets: Sequence[str]) -> Iterator[Problem]:
    profile = spec.mode == "profile"
    if (spec.grid is None) == profile:
        hint = "a profile has a grid" if profile else "a stress campaign has none"
        yield Problem("grid", "missing" if profile else f"mode is {spec.mode}", hint)
    if (spec.stress is None) != profile:
        hint = "a profile has none" if profile else "a stress campaign has one"
        yield Problem("stress", f"mode is {spec.mode}" if profile else "missing", hint)
    if spec.loaded is not None and not profile:
        yield Problem("loaded", f"mode is {spec.mode}", "only a profile has such a row")
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
        loaded = () if spec.loaded is None else spec.loaded.sync_share
        mixed = any(0 < share < 1000 for share in (*spec.grid.sync_share, *loaded))
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
        points = len(grid.sync_share) * len(grid.contended_ratio) * levels
        if spec.loaded is not None:
            points += len(spec.loaded.sync_share) * len(spec.loaded.contended_ratio)
        runs = cores * points * grid.replicas
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


def _too_many_slots(spec: CampaignSpec) -> Iterator[Problem]:
    """Slots of a run are numbered in 16 bits; by the rule none is shorter than SLOT_MIN_NS."""
    most_s = SLOTS_MAX * SLOT_MIN_NS / 1e9
    if spec.run.seconds > most_s and not spec.run.slot_periods:
        text = f"a run of {spec.run.seconds:g} s can have more than {SLOTS_MAX} slots"
        yield Problem("run.seconds", text, f"at most {most_s:.0f}; or longer slots: slot_periods")


def _shared_cpus(spec: CampaignSpec) -> Iterator[Problem]:
    """Several logical cores on one CPU try the runtime at a scale; they measure nothing."""
    if spec.cpus and len(set(spec.cpus)) < len(spec.cpus) and spec.run.policy != "other":
        text = "several cores share a CPU: each would wait for the others"
        yield Problem("cpus", text, "list each CPU once, or try it with --policy other")


def _wrong_timing(spec: CampaignSpec) -> Iterator[Problem]:
    """T follows from C, or C from T: not both."""
    tasks = spec.tasks
    if not spec.by_utilisation:
        for name, default in _OF_UTILISATION.items():
            if getattr(tasks, name) != default:
                hint = "give a utilisation, or drop it"
                yield Problem(f"tasks.{name}", "says something only with a utilisation", hint)
        return
    if spec.loaded is not None:
        text = "with a utilisation T is drawn, not C times its deadline_factor"
        yield Problem("loaded", text, "leave one of the two out")
    if tasks.deadline_factor != _DEFAULT_FACTORS:
        text = "with a utilisation T is drawn, C = u T and D = T"
        yield Problem("tasks.deadline_factor", text, "leave one of the two out")
    shielded = spec.stress is not None and any(spec.stress.critical_cores)
    drawn = None if spec.stress is None else spec.stress.distribution
    if not shielded and (tasks.distribution != "uniform" or drawn is not None):
        where = "tasks.distribution" if drawn is None else "stress.distribution"
        text = "with a utilisation C follows from u and T"
        yield Problem(where, text, "leave one of the two out")
