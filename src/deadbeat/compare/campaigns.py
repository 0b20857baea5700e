"""`deadbeat compare`: campaigns of the identical programs beside each other."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

import attrs
import numpy as np

from deadbeat.compare.decide import FALSE_ALARMS, Options, compare_sides
from deadbeat.compare.findings import lost_and_gated, no_repeat
from deadbeat.compare.identity import (
    name_of,
    platform_differences,
    platform_of,
    programs_from,
    require_identical,
    require_runs,
    unfinished,
)
from deadbeat.compare.sides import Cell, RunFigure, Side, log_witness_shift
from deadbeat.compare.standing import standing_of
from deadbeat.compare.vocabulary import CAMPAIGNS
from deadbeat.compare.words import (
    effect_text,
    words_list,
)
from deadbeat.kinds.contention.plan import group_of
from deadbeat.kinds.contention.spec import read_spec
from deadbeat.kinds.contention.summarise import factor_at
from deadbeat.kinds.contention.view import CampaignView
from deadbeat.model.comparison import Comparison, ComparisonResult
from deadbeat.model.errors import UsageError
from deadbeat.model.finding import Finding
from deadbeat.model.results import Point, RunKey
from deadbeat.store.keys import parse_run_key

MIXED_LABEL = "simulated beside measured"
UNGATED_LABEL = "ungated: no A/A repeats"
#: The verdict of several comparisons is the first of these that occurs.
_WORST_FIRST = ("worse", "undecided", "equal", "better")
#: Columns of sets.csv that are compared, by metric.
_COLUMNS = {
    "slowdown": "slowdown_mean",
    "delay_ratio": "delay_ratio_mean",
    "deadline_miss_ratio": "deadline_miss_ratio",
}
#: Witnesses further apart than this are worth a word.
_SHIFT_TOLD = 0.005


def compare(
    views: Sequence[CampaignView],
    repeats: Sequence[CampaignView] = (),
    *,
    options: Options,
    allow_mixed: bool = False,
    partial: bool = False,
) -> ComparisonResult:
    """Compares the first of ``views`` with each of the others.

    Args:
        views: Two or more campaigns; the first is the baseline.
        repeats: Further campaigns of the baseline's programs on its machine and kernel (A/A).
        allow_mixed: Compare a simulated campaign with a measured one; labelled everywhere.
        partial: Compare unfinished campaigns; labelled everywhere.

    Raises:
        UsageError: The programs are not identical, a campaign is empty, unfinished or named
            twice, or a simulated one is beside a measured one.
        DataError: A file of a campaign is damaged.
    """
    if len(views) < 2:
        raise ValueError("a comparison needs two campaigns")
    baseline, others = views[0], views[1:]
    _require_distinct([*views, *repeats])
    for view in [*views, *repeats]:
        require_runs(view)
    mixed = len({_simulated(view) for view in [*views, *repeats]}) > 1
    if mixed and not allow_mixed:
        simulated = ", ".join(name_of(view) for view in [*views, *repeats] if _simulated(view))
        raise UsageError(
            f"{simulated} is simulated, the other campaign is measured: they say nothing of each"
            " other's machine",
            "deadbeat sched predict shows predicted beside measured; --allow-mixed compares the two"
            " all the same, and labels it",
        )
    findings = list(_of_pairing(baseline, others, repeats, partial=partial))
    side, others_sides = side_of(baseline), [side_of(view) for view in others]
    repeat_sides = [side_of(view) for view in repeats]
    cells = sorted(set(planned_cells(baseline).values()))
    again = programs_from(baseline)
    comparisons: list[Comparison] = []
    ungated = False
    for view, other in zip(others, others_sides, strict=True):
        own = attrs.evolve(
            options,
            same_machine=_same_machine(baseline, view),
            simulated=_simulated(baseline) and _simulated(view),
        )
        wanted = _without(side, standing_of(view).unwanted)
        found = compare_sides(wanted, other, repeat_sides, options=own, planned=cells)
        comparisons.append(found)
        ungated |= own.ungated and not own.simulated and not repeats
        findings += _of_comparison(side, other, found, own, again="" if repeats else again)
    findings += _of_campaigns(views)
    verdicts = {comparison.verdict for comparison in comparisons}
    return ComparisonResult(
        campaigns=tuple(_facts(view) for view in views),
        comparisons=tuple(comparisons),
        differences=tuple(_differences(baseline, others)),
        findings=tuple(_with_weight(findings)),
        labels=tuple(_labels(views, repeats, mixed=mixed, ungated=ungated)),
        verdict=next(verdict for verdict in _WORST_FIRST if verdict in verdicts),
        parameters=_parameters(options, repeats),
    )


def _labels(
    views: Sequence[CampaignView], repeats: Sequence[CampaignView], *, mixed: bool, ungated: bool
) -> Iterator[str]:
    """What must show on every figure; with the names where it does not hold for all campaigns."""
    if mixed:
        yield MIXED_LABEL
    if ungated:
        yield UNGATED_LABEL
    every = [*views, *repeats]
    open_ = [name_of(view) for view in every if unfinished(view)]
    if open_:
        yield f"partial: {words_list(open_)} unfinished"
    for label in dict.fromkeys(label for view in every for label in view.summary.labels):
        own = [name_of(view) for view in every if label in view.summary.labels]
        yield label if len(own) == len(every) else f"{label} ({', '.join(own)})"


def _require_distinct(views: Sequence[CampaignView]) -> None:
    seen: set[str] = set()
    for view in views:
        path = str(view.store.path.resolve())
        if path in seen:
            raise UsageError(
                f"{name_of(view)} is named twice: a campaign compared with itself differs in"
                " nothing",
                "name another campaign of its programs",
            )
        seen.add(path)


def _of_pairing(
    baseline: CampaignView,
    others: Sequence[CampaignView],
    repeats: Sequence[CampaignView],
    *,
    partial: bool,
) -> Iterator[Finding]:
    found = [
        finding
        for view in (*others, *repeats)
        for finding in require_identical(baseline, view, partial=partial)
    ]
    yield from dict.fromkeys(found)  # of the baseline once
    for view in repeats:
        different = _elsewhere(baseline, view)
        if different:
            raise UsageError(
                f"--aa {name_of(view)} is no repeat of {name_of(baseline)}: another"
                f" {', another '.join(different)}",
                "run the baseline's programs once more where the baseline ran",
            )


def _elsewhere(baseline: CampaignView, view: CampaignView) -> list[str]:
    """What forbids that ``view`` is a repeat of ``baseline``, apart from its programs."""
    one, two = platform_of(baseline), platform_of(view)
    return [key for key in ("fingerprint", "kernel", "preemption") if one.get(key) != two.get(key)]


def repeats_among(
    baseline: CampaignView, views: Sequence[CampaignView]
) -> tuple[CampaignView, ...]:
    """Those of ``views`` that are repeats (A/A) of ``baseline``: its programs, where it ran."""
    found = []
    for view in views:
        if _elsewhere(baseline, view):
            continue
        try:
            require_identical(baseline, view)
        except UsageError:
            continue
        found.append(view)
    return tuple(found)


def _simulated(view: CampaignView) -> bool:
    """Of where it ran; where its costs are from does not matter here."""
    return platform_of(view).get("kind") == "simulated"


def _same_machine(baseline: CampaignView, other: CampaignView) -> bool:
    return platform_of(baseline).get("fingerprint") == platform_of(other).get("fingerprint")


# -- from a campaign to a side


def _without(side: Side, keys: Collection[RunKey]) -> Side:
    """Runs that the other never wanted (``--precision``) are not lost there."""
    names = {key.text for key in keys}
    kept = {key: run for key, run in side.runs.items() if key not in names}
    return attrs.evolve(side, runs=kept)


def side_of(view: CampaignView) -> Side:
    """The runs of a campaign as plain figures.

    Raises:
        DataError: A file of it is damaged.
    """
    rows = {row["key"]: row for row in view.summary.sets}
    cells = planned_cells(view)
    runs = {}
    for text, row in rows.items():
        key = parse_run_key(text)
        runs[text] = RunFigure(
            cell=cells[key],
            block=_block(row, key),
            values={metric: row.get(column) for metric, column in _COLUMNS.items()},
            at_ns=row["began_ns"],
            witness_ps=row["witness_ps"],
            lost=1 - row["jobs"] / row["released"] if row["released"] else None,
            starved=row["starved_tasks"],
        )
    return Side(name=name_of(view), runs=runs)


def planned_cells(view: CampaignView) -> dict[RunKey, Cell]:
    """Where every program of a campaign counts, also those without a result."""
    spec = read_spec(view.store.spec)
    keys = standing_of(view).planned
    found = {key: group_of(spec, key) for key in keys}
    cores: dict[str, set[int]] = {}
    for key, group in found.items():
        cores.setdefault(group.name if group else "", set()).add(key.point.cores)
    return {
        key: _cell(
            key.point,
            group.name if group else "",
            cores[group.name if group else ""],
            factor_at(spec, key.point) or 0.0,
        )
        for key, group in found.items()
    }


def _cell(point: Point, group: str, group_cores: set[int], factor: float) -> Cell:
    if group:
        only = next(iter(group_cores)) if len(group_cores) == 1 else 0
        return Cell(group, only, -1.0, -1.0, factor)
    return Cell("", point.cores, point.sync_share, point.contended_ratio, factor)


def _block(row: Mapping[str, Any], key: RunKey) -> str:
    """Runs that were measured next to each other: all alphas, all levels of the deadline factor."""
    if row.get("group"):
        return f"{key.replica}"
    loaded = f"/{key.point.per_core}" if key.point.per_core else ""
    return f"{key.point.cores}/{key.point.sync_share_milli}/{key.replica}{loaded}"


# -- what the reader must know


def _facts(view: CampaignView) -> dict[str, Any]:
    platform = platform_of(view)
    return {
        "name": name_of(view),
        "path": str(view.store.path),
        **{key: platform.get(key) for key in ("kernel", "preemption", "fingerprint")},
        "platform": platform.get("name"),
        "kind": platform.get("kind"),
        "labels": list(view.summary.labels),
        "runs": len(view.keys),
        "created_at": view.summary.meta.get("created_at"),
    }


def _differences(baseline: CampaignView, others: Sequence[CampaignView]) -> Iterator[str]:
    for view in others:
        prefix = f"{name_of(view)}: " if len(others) > 1 else ""
        yield from (prefix + line for line in platform_differences(baseline, view))


def _parameters(options: Options, repeats: Sequence[CampaignView]) -> dict[str, Any]:
    return {
        "metrics": list(options.metrics),
        "minimum_effect": options.minimum_effect,
        "minimum_miss": options.minimum_miss,
        "resamples": options.resamples,
        "seed": options.seed,
        "aa": [name_of(view) for view in repeats],
        "ungated": options.ungated,
        "false_alarms": FALSE_ALARMS,
        "metric_level": FALSE_ALARMS / 2,
        "cell_level": options.cell_level,
    }


def _of_comparison(
    side: Side, other: Side, comparison: Comparison, options: Options, *, again: str
) -> Iterator[Finding]:
    """``again``: the command that makes a repeat of the baseline; "": there is one."""
    where = comparison.other
    if again and not options.simulated:
        yield no_repeat(options, where=where, cure=f"{again}, then --aa NAME")
    shift = log_witness_shift(side, other)
    if shift is not None and abs(shift) > _SHIFT_TOLD and options.same_machine:
        yield Finding(
            id="host-state-differs",
            severity="warning",
            message=f"pure computation alone took {effect_text('delay_ratio', np.expm1(shift))} in"
            f" {where}: delay ratios move with it, slowdowns do not",
            cure="repeat both close together in time, or rely on the slowdown",
            where=where,
        )
    yield from lost_and_gated(comparison, CAMPAIGNS, more="task sets")


def _with_weight(findings: Sequence[Finding]) -> Iterator[Finding]:
    """Missing runs are more than a remark where they keep a verdict from being given."""
    weighty = any(finding.id == "survivors-differ" for finding in findings)
    for finding in findings:
        heavier = weighty and (finding.id, finding.severity) == ("unpaired-runs", "info")
        yield attrs.evolve(finding, severity="warning") if heavier else finding


def _of_campaigns(views: Sequence[CampaignView]) -> Iterator[Finding]:
    for view in views:
        serious = [item for item in view.summary.findings if item.severity == "serious"]
        if serious:
            yield Finding(
                id="campaign-doubtful",
                severity="warning",
                message=f"{name_of(view)} has {len(serious)} serious finding"
                f"{'s' if len(serious) != 1 else ''}, for example: {serious[0].message}",
                cure=serious[0].cure,
                where=name_of(view),
            )
