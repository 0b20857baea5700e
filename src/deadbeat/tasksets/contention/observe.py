"""Campaigns as tables of observations.

A cell is a point of the grid, or a group at one deadline factor; an observation is a run of one
program. Runs of one task set, which were measured next to each other, are a block.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from operator import attrgetter, methodcaller
from pathlib import Path
from statistics import median
from typing import Any

from attrs import evolve, field, frozen

from deadbeat.base.model.comparison import (
    Aligned,
    Comparable,
    ComparedLook,
    Lineup,
    Subject,
    Vocabulary,
)
from deadbeat.base.model.errors import UsageError
from deadbeat.base.model.finding import Finding, finding
from deadbeat.base.model.observations import (
    MISS_RATIO,
    Cell,
    Metric,
    Observation,
    Observations,
    observed,
)
from deadbeat.base.model.words import count_of
from deadbeat.tasksets.contention import facts
from deadbeat.tasksets.contention.plan import group_of
from deadbeat.tasksets.contention.run_reader import factor_at, spec_of
from deadbeat.tasksets.contention.spec import read_spec
from deadbeat.tasksets.contention.stress import Group
from deadbeat.tasksets.contention.view import (
    CampaignView,
    ProgramStanding,
    name_of,
    open_campaign,
    overhead_lines,
    require_identical,
    standing_of,
)
from deadbeat.tasksets.model.figures import MEASURES
from deadbeat.tasksets.model.results import PointFigures, RunKey
from deadbeat.tasksets.prices.compared import price_metric, with_prices

METRICS = (
    Metric(
        name="slowdown", title="Slowdown", minimum=0.02, of=methodcaller("column", "slowdown_mean")
    ),
    Metric(
        name="delay_ratio",
        title="Delay ratio",
        text="delay ratio",
        minimum=0.02,
        of=methodcaller("column", "delay_ratio_mean"),
    ),
    evolve(MISS_RATIO, of=methodcaller("column", "deadline_miss_ratio")),
    *(
        Metric(
            name=each.name,
            title=each.title,
            text=each.title,
            minimum=each.minimum,
            of=methodcaller("column", each.name),
        )
        for each in MEASURES
        if each.minimum is not None
    ),
)
WORDS = Vocabulary(
    units="programs",
    results="campaigns",
    one="campaign",
    once_more="run the baseline's programs once more where it ran (--programs-from) and name the"
    " repeat with --aa",
    find_lost="see what was lost and why (deadbeat show), repeat what failed with --retry;"
    " a task that never finishes shows in the misses",
    lost="of the jobs never finished",
    more="task sets (--sets)",
    rare="a shorter deadline (--set deadline-factor=2) or more task sets would show more",
    finish="finish the campaigns, or repeat their commands with --retry",
    mixed="deadbeat predict compares predicted with measured; ",
)
#: Witnesses further apart than this are worth a word.
_SHIFT_SHOWN = 0.005
#: The same of shares of slots in which the CPUs were far from each other.
_FAR_SHOWN = 0.1
_POINT = attrgetter("cores", "sync_share", "contended_ratio", "deadline_factor", "tasks_per_core")


@frozen(kw_only=True)
class CampaignSubject(Subject):
    view: CampaignView = field(repr=False)
    standing: ProgramStanding = field(repr=False)


def read_campaign(path: Path) -> CampaignSubject:
    """The campaign in ``path``. Raises DataError: it is damaged, or no campaign."""
    return campaign_of(open_campaign(path))


def campaign_of(view: CampaignView) -> CampaignSubject:
    platform, standing = facts.platform(view.summary), standing_of(view)
    return CampaignSubject(
        view=view,
        standing=standing,
        name=name_of(view),
        path=str(view.store.path),
        platform=platform,
        kind=str(platform.get("kind")),
        counted=len(view.keys),
        stored=len(view.keys),
        left=standing.left_text,
        created_at=view.summary.meta.get("created_at") if view.keys else None,
        labels=tuple(view.summary.labels),
        beside=getattr(spec_of(view.store), "beside", ()),
    )


def repeats_among(
    baseline: CampaignSubject, others: Iterable[CampaignSubject]
) -> tuple[CampaignSubject, ...]:
    """Repeats (A/A) of ``baseline`` among ``others``: its programs, where it ran."""

    def is_repeat(campaign: CampaignSubject) -> bool:
        if campaign.elsewhere(baseline):
            return False
        try:
            require_identical(baseline.view, campaign.view)
        except UsageError:
            return False
        return True

    return tuple(filter(is_repeat, others))


def align(lineup: Lineup) -> Aligned:
    baseline, *rest = lineup.every
    found = [each for c in rest for each in require_identical(baseline.view, c.view)]
    tables = []
    for campaign in lineup.every:
        shift = 0.0 if campaign in lineup.repeats else _host_state(baseline, campaign)
        if abs(shift) > _SHIFT_SHOWN:
            message = f"pure computation alone took {100 * math.expm1(shift):+.1f} % in"
            message += f" {campaign.name}: delay ratios move with it, slowdowns do not"
            found.append(finding("host-state-differs", message, where=campaign.name))
        tables.append(evolve(observe(campaign), doubts=host_doubts(shift)))
    priced, lacking = with_prices(lineup, tables)
    found += lacking
    for campaign in lineup.subjects[1:]:
        points = (each.view.summary.points for each in (baseline, campaign))
        found += other_states(*points, where=campaign.name)
    found += [each for subject in lineup.subjects for each in _doubtful(subject)]
    others = lineup.subjects[1:]
    named = {each.name: f"{each.name}: " if len(others) > 1 else "" for each in others}
    lines = [
        named[each.name] + line
        for each in others
        for line in overhead_lines(baseline.view, each.view)
    ]
    return Aligned(tables=priced, findings=tuple(dict.fromkeys(found)), differences=tuple(lines))


def observe(campaign: CampaignSubject) -> Observations:
    cells = planned_cells(campaign)

    def rows() -> Iterator[Observation]:
        for own in campaign.view.summary.sets:
            key, released = RunKey.parse(own.key), own.released
            lost = 1 - own.jobs / released if released else 0.0
            # Runs that were measured next to each other: all alphas, all levels of the deadline
            # factor.
            if own.group:
                block = f"{key.replica}"
            else:
                loaded = f"/{key.point.per_core}" if key.point.per_core else ""
                block = f"{key.point.cores}/{key.point.sync_share_milli}/{key.replica}{loaded}"
            yield from observed(
                METRICS,
                own,
                run=key.text,
                cell=cells[key],
                block=block,
                # No ratio knows of a task that never finished a job.
                censored=1.0 if own.starved_tasks else lost,
                at=own.began_ns / 1e9 if own.began_ns else None,
            )

    return Observations(
        name=campaign.name,
        rows=rows(),
        cells=cells.values(),
        unwanted=(key.text for key in campaign.standing.unwanted),
    )


def planned_cells(campaign: CampaignSubject) -> dict[RunKey, Cell]:
    """Where every program of a campaign counts, also those without a result."""
    spec = read_spec(campaign.view.store.spec)
    groups = {key: group_of(spec, key) for key in campaign.standing.planned}
    cores: dict[Group | None, set[int]] = defaultdict(set)
    for key, group in groups.items():
        cores[group].add(key.point.cores)
    found = {}
    for key, group in groups.items():
        factor = factor_at(spec, key.point) or 0.0
        point = key.point
        found[key] = Cell("", point.cores, point.sync_share, point.contended_ratio, factor)
        if group:
            only = point.cores if len(cores[group]) == 1 else 0
            found[key] = Cell(group.name, only, -1.0, -1.0, factor)
    return found


def _host_state(baseline: CampaignSubject, other: CampaignSubject) -> float:
    """How much longer pure computation took on the same machine, as a logarithm."""
    if baseline.platform.get("fingerprint") != other.platform.get("fingerprint"):
        return 0.0
    one, two = (
        {each.key: each.witness_ps for each in campaign.view.summary.sets}
        for campaign in (baseline, other)
    )
    return log_shift((one[key], two[key]) for key in one.keys() & two.keys())


def log_shift(pairs: Iterable[tuple[float | None, float | None]]) -> float:
    """Median logarithm of the second over the first of what is known; 0 where nothing is."""
    shifts = [math.log(two / one) for one, two in pairs if one and two]
    return median(shifts) if shifts else 0.0


def host_doubts(shift: float) -> dict[str, str]:
    """Delay ratios move with the host: where it moved by more than matters they tell nothing."""
    metric = next(metric for metric in METRICS if metric.name == "delay_ratio")
    if abs(shift) <= math.log1p(metric.minimum):
        return {}
    text = f"pure computation alone differs by {100 * math.expm1(shift):+.1f} %"
    return {metric.name: f"the host was in another state: {text}, and delay ratios with it"}


def other_states(
    one: Sequence[PointFigures], two: Sequence[PointFigures], *, where: str
) -> Iterator[Finding]:
    """Points of two summaries with CPUs far from each other for another share of slots."""
    sides = [{_POINT(point): point.far_share for point in points} for points in (one, two)]
    both = sides[0].keys() & sides[1].keys()
    apart = [
        point
        for point in both
        for pairs in [zip(*(side[point].values() for side in sides), strict=True)]
        if any(None not in pair and abs(pair[1] - pair[0]) > _FAR_SHOWN for pair in pairs)
    ]
    if apart:
        yield finding(
            "host-state-differs",
            f"the host was in another state at {len(apart)} of {len(both)} points: the"
            f" share of slots with far CPUs differs by more than {_FAR_SHOWN:g}",
            cure="repeat both close together in time, or rely on the prices of each state",
            where=where,
        )


def _doubtful(campaign: CampaignSubject) -> Iterator[Finding]:
    serious = [each for each in campaign.view.summary.findings if each.severity == "serious"]
    if serious:
        message = f"{campaign.name} has {count_of(len(serious), 'serious finding')}, for example:"
        message += f" {serious[0].message}"
        cure, name = serious[0].cure, campaign.name
        yield finding("campaign-doubtful", message, cure=cure, where=name)


def _overlays(subjects: Sequence[CampaignSubject], levels: int | None) -> list[Any]:
    from deadbeat.tasksets.contention.stress_charts import overlay_charts  # noqa: PLC0415  heavy

    names = [subject.name for subject in subjects]
    return overlay_charts(names, [subject.view.summary for subject in subjects], levels)


COMPARABLE = Comparable(
    of="",
    noun="campaign",
    words=WORDS,
    look=ComparedLook(called="Campaigns", terms="compare", groups=("By group", "task sets of")),
    metrics=(*METRICS, price_metric("--price-seconds")),
    read=read_campaign,
    align=align,
    overlays=_overlays,
    cells_alike=True,
    lacking_max=0.2,
)
