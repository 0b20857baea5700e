"""From a specification to an ordered list of runs, and what that list will take.

Order is by hashes of the seed, so that it is the same on every machine and Python version. Blocks
(M, rho, replica) come in random order; inside a block the same programs run under every alpha, next
to each other in time, in random order too (measurement.md, "Design of an experiment").
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import lru_cache
from hashlib import sha256
from itertools import groupby, pairwise, product
from operator import attrgetter

import attrs
from attrs import frozen

from deadbeat.base.model.platform import Platform
from deadbeat.base.model.rules import Problem
from deadbeat.base.model.specification import usage
from deadbeat.tasksets.contention.spec import CampaignSpec, LoadedSpec
from deadbeat.tasksets.contention.stress import (
    PRESETS,
    CoresRule,
    Group,
    draw_set,
    draw_tasks,
    group_at,
    groups,
    leave_none,
    mean_milli,
)
from deadbeat.tasksets.executors.tasksets import (
    BATCH_LIMIT,
    GridSpec,
    check_utilisations,
    checked_again,
    cores_hint,
    fitted,
    usable_cpus,
)
from deadbeat.tasksets.model.results import Point, RunKey, point_text
from deadbeat.tasksets.model.tasks import TaskSet
from deadbeat.tasksets.store.campaign import CampaignStore
from deadbeat.tasksets.synthesis import Synthesiser, SynthesisParameters, seed_for
from deadbeat.tasksets.synthesis.stream import Stream


@frozen(kw_only=True)
class Resolved:
    """A specification that fits a machine. ``spec``: with cores and cpus filled in.
    ``missing_cores``: core counts the preset names that do not exist here; they are left out."""

    spec: CampaignSpec
    missing_cores: tuple[int, ...] = ()


def resolve(
    spec: CampaignSpec,
    platform: Platform,
    *,
    names: Mapping[str, str] | None = None,
    classes: Callable[[CampaignSpec], Sequence[str]] = lambda _: (),
) -> Resolved:
    """Fills in what depends on the machine, and refuses what it does not have. ``classes``: the
    objects of a balanced mix that can run there. ``names``: what a path is called where it was
    written (``cores`` -> ``--cores``). Raises UsageError: a CPU or a core count that does not exist
    here."""
    names = names or {}
    if spec.stress is not None:
        whole, missing = _resolve_stress(spec, usable_cpus(spec, platform, names), names)
    else:
        few, lenient = spec.preset == "quick", spec.preset == "paper"
        whole, missing = fitted(spec, platform, names, few=few, lenient=lenient)
        if whole.grid is not None and whole.grid.balanced and not whole.grid.classes:
            grid = attrs.evolve(whole.grid, classes=tuple(classes(whole)))
            whole = checked_again(attrs.evolve(whole, grid=grid), names)
    if whole.by_utilisation:
        where = "tasks.utilisation" if spec.tasks.utilisation else "stress.utilisation"
        check_utilisations((parameters(whole, key) for key in plan(whole)), names, where=where)
    return Resolved(spec=whole, missing_cores=missing)


def _resolve_stress(
    spec: CampaignSpec, cpus: tuple[int, ...], names: Mapping[str, str]
) -> tuple[CampaignSpec, tuple[int, ...]]:
    """Core counts that exist here: a preset's others are left out, those asked for are refused."""
    stress, available = spec.stress, len(cpus)
    assert stress is not None
    counts = stress.cores
    own = PRESETS.get(spec.preset, {}).get("stress", {}).get("cores")
    from_preset = own is not None and counts == CoresRule().parse(own)
    where = names.get("stress.cores", "preset" if from_preset else "stress.cores")
    where = names.get(where, where)
    least = max(stress.critical_cores) + 1
    fixed = tuple(range(least, available + 1)) if counts.fixed is None else counts.fixed
    missing = tuple(count for count in fixed if count > available)
    wanted = max([counts.high or 0, *missing])
    if wanted > available and not (missing and from_preset):
        raise usage((Problem(where, f"{wanted} asked", cores_hint(available)),))
    fitting = tuple(count for count in fixed if count <= available)
    if not fitting and not counts.drawn:
        text = f"none of M = {', '.join(map(str, fixed))} exists" if fixed else "no M is left"
        raise usage((Problem(where, text, cores_hint(available)),))
    chosen = attrs.evolve(counts, fixed=fitting)
    if counts.drawn and counts.high is None:
        if least > available:
            text = f"{leave_none(least - 1)} of {available} to be filled"
            place = names.get("stress.critical_cores", "stress.critical_cores")
            raise usage((Problem(place, text, "fewer critical cores"),))
        chosen = attrs.evolve(chosen, low=least, high=available)
    whole = attrs.evolve(spec, stress=attrs.evolve(stress, cores=chosen), cpus=cpus)
    return checked_again(whole, names), missing


@lru_cache(maxsize=4)
def plan(spec: CampaignSpec) -> tuple[RunKey, ...]:
    """All runs of a resolved specification, in the order in which they are to be run."""
    if spec.stress is not None:
        # Sets in random order; those of groups that differ in k alone are next to each other.
        stress_blocks: dict[tuple[str, int], list[int]] = {}
        for group in groups(spec.stress):
            for index in range(group.sets):
                stress_blocks.setdefault((group.base, index), []).append(group.first + index)
        order = sorted(stress_blocks.values(), key=lambda block: _rank(spec.seed, *block))
        return tuple(
            RunKey(attrs.evolve(point, deadline_factor_milli=level), replica)
            for block in order
            for replica in sorted(block, key=lambda replica: _rank(spec.seed, 0, replica))
            for point in (_stress_point(spec, replica),)
            for level in _levels(spec, replica)
        )
    blocks = [
        (cores, share, replica, *([per_core] if per_core else []))
        for row, per_core in _rows(spec)
        for cores in spec.cores or ()
        for share in row.sync_share
        for replica in range(max(_sets_at(spec, cores, share, r) for r in row.contended_ratio))
    ]
    blocks.sort(key=lambda block: _rank(spec.seed, *block))
    return tuple(key for block in blocks for key in _block_keys(spec, block))


def _rows(spec: CampaignSpec) -> list[tuple[GridSpec | LoadedSpec, int]]:
    """The rows of a profile, each with its own number of tasks a core; 0: the campaign's."""
    assert spec.grid is not None
    more = [] if spec.loaded is None else [(spec.loaded, spec.loaded.per_core)]
    return [(spec.grid, 0), *more]


def shares_objects(cores: int, share_milli: int, ratio_milli: int) -> bool:
    """Whether cores share objects at such a point."""
    return cores > 1 and share_milli > 0 and ratio_milli > 0


def class_of(spec: CampaignSpec, key: RunKey) -> str:
    """The object that the set of ``key`` draws in a balanced mix; "": any, or none."""
    if spec.grid is None or not spec.grid.classes:
        return ""
    return spec.grid.classes[key.replica % len(spec.grid.classes)]


@lru_cache(maxsize=8)
def _plain_sets(spec: CampaignSpec) -> int:
    """Sets of a point that shares nothing: all of them are a quarter of the sets, or two each."""
    assert spec.grid is not None
    mean = (spec.precision and spec.precision.sets_mean) or spec.grid.replicas
    places = [
        shares_objects(cores, share, ratio)
        for row, _ in _rows(spec)
        for cores in spec.cores or ()
        for share in row.sync_share
        for ratio in row.contended_ratio
    ]
    sharing = sum(places) * len(spec.grid.classes) * mean
    if not sharing:
        return mean
    return max(2, sharing // 3 // max(1, len(places) - sum(places)))


def _sets_at(spec: CampaignSpec, cores: int, share: int, ratio: int) -> int:
    """Sets of a point at most."""
    assert spec.grid is not None
    if not _is_balanced(spec):
        return spec.grid.replicas
    if shares_objects(cores, share, ratio):
        return spec.grid.replicas * len(spec.grid.classes)
    return _plain_sets(spec)


def _block_keys(spec: CampaignSpec, block: Sequence[int]) -> Iterator[RunKey]:
    """The runs of one block: the same programs under every alpha and deadline."""
    cores, share, replica, *loaded = block
    row, per_core = (spec.loaded, loaded[0]) if loaded else (spec.grid, 0)
    assert row is not None
    for ratio in sorted(row.contended_ratio, key=lambda r: _rank(spec.seed, *block, r)):
        if replica >= _sets_at(spec, cores, share, ratio):
            continue
        levels = _levels(spec, cores, share, replica, ratio)
        if isinstance(row, LoadedSpec):
            levels = [int(row.deadline_factor * 1000)]
        for level in levels:
            yield RunKey(Point(cores, share, ratio, level, per_core), replica)


def _levels(spec: CampaignSpec, *place: int) -> list[int]:
    """Deadline factors of one task set in thousandths, in random order; 0 where there is one."""
    factors = spec.tasks.deadline_factor
    levels = [int(factor * 1000) for factor in factors] if len(factors) > 1 else [0]
    return sorted(levels, key=lambda level: _rank(spec.seed, *place, level))


def _stress_point(spec: CampaignSpec, replica: int) -> Point:
    assert spec.stress is not None
    drawn = draw_set(spec.stress, spec.seed, replica)
    if not spec.stress.per_task:
        return Point(drawn.cores, drawn.sync_milli, drawn.contended_milli)
    tasks = _tasks_of(spec, drawn.seed, drawn.cores, drawn.tasks)
    shares, ratios = draw_tasks(spec.stress, spec.seed, replica, tasks)
    most = drawn.group.critical_cores or drawn.cores
    counted = [index for index in range(tasks) if index % drawn.cores < most]
    return Point(
        drawn.cores,
        mean_milli(tuple(shares[index] for index in counted)),
        mean_milli(tuple(ratios[index] for index in counted)),
    )


def _tasks_of(spec: CampaignSpec, seed: int, cores: int, own: int | None) -> int:
    """N of the set of ``seed``; ``own``: where it is not free of M and not as [tasks] says."""
    if spec.task_count is not None:
        return int(spec.task_count.draw(Stream(seed, "task count")))
    return cores * spec.tasks.per_core if own is None else own


def _rank(seed: int, *place: int) -> bytes:
    return sha256(f"order {seed} {place}".encode()).digest()


def batches(keys: Sequence[RunKey], limit: int = BATCH_LIMIT) -> tuple[tuple[RunKey, ...], ...]:
    """``keys`` cut into programs of at most ``limit`` sets; only a longer block is cut itself."""
    found: list[list[RunKey]] = [[]]
    for _, block in groupby(keys, key=_BLOCK):
        new = list(block)
        if found[-1] and len(found[-1]) + len(new) > limit:
            found.append([])
        found[-1] += new
        while len(found[-1]) > limit:
            found[-1:] = [found[-1][:limit], found[-1][limit:]]
    return tuple(tuple(batch) for batch in found if batch)


_BLOCK = attrgetter("point.cores", "point.sync_share_milli", "replica", "point.per_core")


def set_seed(spec: CampaignSpec, key: RunKey) -> int:
    """Seed of the task set of ``key``: common to all rho and alpha of one M and replica.

    In a stress campaign it is common to all deadline factors, and to groups that differ in their
    critical cores alone.
    """
    if spec.stress is not None:
        return draw_set(spec.stress, spec.seed, key.replica).seed
    return seed_for(spec.seed, key.point.cores, key.replica)


def group_of(spec: CampaignSpec, key: RunKey) -> Group | None:
    """The group of a run; None in a profile, which has points."""
    return None if spec.stress is None else group_at(spec.stress, key.replica)


def deadline_factor(spec: CampaignSpec, key: RunKey) -> Fraction | None:
    """T / C that is asked of the task set of ``key``; None where T is drawn."""
    if spec.by_utilisation:
        return None
    level = key.point.deadline_factor_milli
    return Fraction(level, 1000) if level else spec.tasks.deadline_factor[0]


def parameters(spec: CampaignSpec, key: RunKey) -> SynthesisParameters:
    """What the task set of ``key`` is asked to be."""
    point, factor = key.point, deadline_factor(spec, key)
    if spec.stress is None:
        loaded = point.cores * point.per_core or None
        tasks = _tasks_of(spec, set_seed(spec, key), point.cores, loaded)
        only = class_of(spec, key)
        if not only:
            return spec.tasks.parameters(point, tasks=tasks, factor=factor)
        assert spec.grid is not None
        kept = [name for name in spec.tasks.fragments if name not in spec.grid.classes]
        one = {"fragments": (*kept, only), "classes_min": 1, "classes_max": 1}
        return spec.tasks.parameters(point, tasks=tasks, factor=factor, **one)
    drawn = draw_set(spec.stress, spec.seed, key.replica)
    tasks = _tasks_of(spec, drawn.seed, drawn.cores, drawn.tasks)
    values = drawn.values
    if "utilisation" in values:
        values = {**values, "utilisation": Fraction(values["utilisation"], 1000)}
    per_task = spec.stress.per_task
    own = draw_tasks(spec.stress, spec.seed, key.replica, tasks) if per_task else ((), ())
    shares, ratios = (tuple(Fraction(milli, 1000) for milli in each) for each in own)
    return attrs.evolve(
        spec.tasks.parameters(point, tasks=tasks, factor=factor, **values),
        sync_shares=shares,
        contended_ratios=ratios,
        critical_cores=drawn.group.critical_cores,
        fill_utilisation=spec.stress.fill_utilisation,
    )


def synthesised(spec: CampaignSpec, synthesiser: Synthesiser, key: RunKey) -> TaskSet:
    """The task set of ``key``."""
    return synthesiser.synthesise(parameters(spec, key), set_seed(spec, key))


def most_runs(spec: CampaignSpec) -> int:
    """Runs of a resolved specification, where points stop when they are known at most."""
    keys = plan(spec)
    mean = None if spec.precision is None else spec.precision.sets_mean
    if spec.precision is None or mean is None:
        return len(keys)
    aimed = [key for key in keys if class_unit(spec, key)] if _is_balanced(spec) else keys
    return len(keys) - len(aimed) + len(aimed) // spec.precision.sets_max * mean


def _is_balanced(spec: CampaignSpec) -> bool:
    return spec.grid is not None and spec.grid.balanced and bool(spec.grid.classes)


def class_unit(spec: CampaignSpec, key: RunKey) -> str:
    """The class that ``key`` adds to at a point that shares; "" elsewhere."""
    point = key.point
    place = point.cores, point.sync_share_milli, point.contended_ratio_milli
    return class_of(spec, key) if _is_balanced(spec) and shares_objects(*place) else ""


# ---------- in rounds, where points stop when they are known ----------

#: Round r holds the set numbered r of every point, in the random order of the plan, so that each
#: point is visited again and again over the whole campaign, and the host's drift meets all of them
#: alike. Programs hold whole rounds: the first all that every point gets, the next half as many as
#: all before, so that little is built that is not wanted.


def offered(spec: CampaignSpec, held: frozenset[RunKey] | None) -> tuple[RunKey, ...]:
    """The runs in the order in which they are offered. ``held``: runs that programs exist of where
    none is built; None: all can be. A campaign that stopped when it was known built no more than it
    wanted."""
    if spec.precision is None:
        return plan(spec)
    keys = tuple(sorted(plan(spec), key=lambda key: round_of(spec, key)))
    return keys if held is None else tuple(key for key in keys if key in held)


def corners_first(spec: CampaignSpec, keys: Sequence[RunKey]) -> list[RunKey]:
    """``keys`` with the ends of the axes at the most cores before all others: they answer most."""
    grid = spec.grid
    if grid is None:
        return list(keys)
    shares, ratios = ({min(axis), max(axis)} for axis in (grid.sync_share, grid.contended_ratio))
    places = set(product({max(spec.cores or (0,))}, shares, ratios))
    place = attrgetter("cores", "sync_share_milli", "contended_ratio_milli")
    return sorted(keys, key=lambda key: place(key.point) not in places)


def programs_of(spec: CampaignSpec, keys: Sequence[RunKey]) -> tuple[tuple[RunKey, ...], ...]:
    """``keys``, as they are offered, by program."""
    if spec.precision is None:
        return batches(keys)
    found: list[tuple[RunKey, ...]] = []
    last = max(round_of(spec, key) for key in keys) + 1
    cuts = [0, min(spec.precision.sets_min, last)]
    while cuts[-1] < last:
        cuts.append(min(last, cuts[-1] + max(1, cuts[-1] // 2)))
    for first, end in pairwise(cuts):
        found += batches([key for key in keys if first <= round_of(spec, key) < end])
    return tuple(found)


def round_of(spec: CampaignSpec, key: RunKey) -> int:
    """How many sets of its group, point, or class at a point come before ``key``."""
    group = group_of(spec, key)
    if class_unit(spec, key):
        assert spec.grid is not None
        return key.replica // len(spec.grid.classes)
    return key.replica if group is None else key.replica - group.first


def unit_of(spec: CampaignSpec, key: RunKey) -> str:
    """Name of what ``key`` adds to: its point, or its group at its deadline factor."""
    group = group_of(spec, key)
    if group is None:
        return point_text(key.point)
    factor = deadline_factor(spec, key)
    return group_text(group, None if factor is None else float(factor), spec)


def group_text(group: Group, factor: float | None, spec: CampaignSpec) -> str:
    """Name of a group; with the deadline factor where the campaign has several."""
    several = factor is not None and len(spec.tasks.deadline_factor) > 1
    return group.name + (f" D={factor:g}" if several else "")


def planned_runs(spec: CampaignSpec, store: CampaignStore) -> int:
    """Runs the campaign in ``store`` consists of: at most, until all its points are decided."""
    record = store.load_precision()
    decided = spec.precision is not None and record is not None and record.complete
    return record.planned if decided and record is not None else most_runs(spec)


def is_complete(spec: CampaignSpec, store: CampaignStore) -> bool:
    """Whether nothing is left to run in ``store``: what is not wanted is not lacking."""
    if spec.precision is not None and (record := store.load_precision()) and record.complete:
        return True
    done, failed = store.committed(), store.failed()
    return all(key in done or key in failed for key in plan(spec))
