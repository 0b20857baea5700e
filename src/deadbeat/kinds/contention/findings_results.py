"""What makes the results of a campaign doubtful, or what their reader must know."""

from __future__ import annotations

from collections.abc import Iterator
from operator import attrgetter

import numpy as np

from deadbeat.executors.tables import LONG_PERIODS
from deadbeat.kinds.contention.evidence import CampaignEvidence, results
from deadbeat.kinds.contention.point import NULL_SETS_MIN
from deadbeat.model.finding import Finding
from deadbeat.store.origin import Origin

#: Share of left-out jobs from which on their number is worth a word.
LEFT_OUT_SHARE = 0.03
#: A host that is busy makes tasks alone slower than C by up to this much.
ALONE_TOLERANCE = 0.25
#: Fewer sets than this give an interval that mostly says how few they are.
SETS_MIN = 5
#: Five of so many sets lie beyond the 95 % quantile.
TAIL_SETS_MIN = 100


@results()
def _simulated(evidence: CampaignEvidence) -> Iterator[Finding]:
    if evidence.platform is not None and evidence.platform.kind != "hardware":
        yield Finding(
            id=evidence.platform.kind,
            severity="info",
            message="this campaign ran in virtual time: caches, the memory bus and cores that run"
            " at once are not in it"
            if evidence.platform.kind == "virtual-time"
            else f"this campaign was {evidence.platform.kind}, not measured on hardware",
        )


@results("no-calibration")
def _calibration_missing(evidence: CampaignEvidence) -> Iterator[str]:
    if evidence.calibration is None and evidence.sets:
        yield "the calibration is missing: platform and overlap are unknown"


@results("policy-other")
def _policy(evidence: CampaignEvidence) -> Iterator[str]:
    if ordinary := sum(not each.realtime for each in evidence.sets):
        yield (
            f"{ordinary} of {len(evidence.sets)} task sets ran without real-time policy:"
            " other programs preempted them at will"
        )


@results("failed-runs")
def _failed(evidence: CampaignEvidence) -> Iterator[tuple[str, str]]:
    if broken := sorted(evidence.failed):
        key, number = broken[0], len(broken)
        reason = evidence.failed[key].get("reason", "no reason recorded")
        runs = f"{number} run{'s' if number > 1 else ''}"
        yield f"{runs} failed; the first, {key.text}: {reason}", key.text


@results("left-out")
def _left_out(evidence: CampaignEvidence) -> Iterator[tuple[str, str]]:
    """Jobs that a job of an earlier slot overlaps do not count."""
    left_out = sum(each.left_out for each in evidence.sets)
    counted = sum(each.released + each.alone_released for each in evidence.sets)
    if left_out > LEFT_OUT_SHARE * (left_out + counted):
        worst = max(evidence.sets, key=attrgetter("left_out"))
        share = f"{100 * left_out / (left_out + counted):.0f} %"
        words = (
            f"{share} of the jobs do not count, because jobs of earlier slots were still running"
        )
        yield words, worst.key


def _cells_with(evidence: CampaignEvidence, least: int, end: int) -> int:
    """Points or groups with at least so many task sets, and fewer than ``end``."""
    return sum(least <= cell.task_sets < end for cell in evidence.cells)


@results("no-runs")
def _no_runs(evidence: CampaignEvidence) -> Iterator[str]:
    if _cells_with(evidence, 0, 1) and not (evidence.sets or evidence.failed):
        yield "the campaign has no runs: nothing is decided"


@results("undecided-points")
def _undecided(evidence: CampaignEvidence) -> Iterator[str]:
    undecided = _cells_with(evidence, 0, 1)
    if undecided and (evidence.sets or evidence.failed):
        yield f"{_share(evidence, undecided)} no task set: undecided"


@results("single-set", cure=attrgetter("more_sets"))
def _single_set(evidence: CampaignEvidence) -> Iterator[str]:
    if single := _cells_with(evidence, 1, 2):
        says = "its interval says" if single == 1 else "their intervals say"
        rest = _share(evidence, single, "rest")
        yield f"{rest} on one task set: {says} nothing about other sets"


@results("few-sets", cure=attrgetter("more_sets"))
def _few_sets(evidence: CampaignEvidence) -> Iterator[str]:
    if few := _cells_with(evidence, 2, SETS_MIN):
        what = "its interval is" if few == 1 else "their intervals are"
        rest = _share(evidence, few, "rest")
        yield f"{rest} on fewer than {SETS_MIN} task sets: {what} wide and approximate"


def _share(evidence: CampaignEvidence, count: int, verb: str = "have") -> str:
    """``1 of 3 groups has``, ``2 of 3 groups have``; of a single one ``the only group has``."""
    total = len(evidence.cells)
    of = f"{count} of {total} {evidence.places}"
    if total == 1:
        of = f"the only {evidence.places.removesuffix('s')}"
    if count > 1:
        return f"{of} {verb}"
    return f"{of} {'has' if verb == 'have' else verb + 's'}"


def _compare(evidence: CampaignEvidence) -> str:
    name = evidence.origin.name if evidence.origin else ""
    return f"compare it with {name}, program by program: deadbeat compare"


@results("foreign-programs", cure=_compare)
def _foreign_programs(evidence: CampaignEvidence) -> Iterator[str]:
    if evidence.origin is not None and evidence.origin.same_hardware:
        yield _programs_of(evidence.origin)


@results("foreign-costs")
def _foreign_costs(evidence: CampaignEvidence) -> Iterator[str]:
    if evidence.origin is not None and not evidence.origin.same_hardware:
        yield f"{_programs_of(evidence.origin)}: costs come from another platform"


def _programs_of(origin: Origin) -> str:
    made = origin.original
    return f"programs of {origin.name}, calibrated on {made.name} ({made.soc}, {made.kernel})"


@results("thin-tail")
def _thin_tail(evidence: CampaignEvidence) -> Iterator[str]:
    """A 95 % quantile over sets is one of the few sets beyond it."""
    thin = _cells_with(evidence, SETS_MIN, TAIL_SETS_MIN)
    if evidence.mode == "stress" and thin:
        yield (
            f"{thin} of {len(evidence.cells)} groups have fewer than {TAIL_SETS_MIN} task sets:"
            " their 95 % and 99 % quantiles rest on a handful"
        )


@results("no-unshielded-group")
def _no_unshielded_group(evidence: CampaignEvidence) -> Iterator[str]:
    if evidence.cells and all(cell.critical_cores for cell in evidence.cells):
        yield "every group is shielded: what shielding saves is unknown"


@results("overloaded")
def _overloaded(evidence: CampaignEvidence) -> Iterator[tuple[str, str]]:
    """The sum of C / T on a core above 1: it falls behind even where nothing interferes."""
    if found := evidence.overloaded:
        words = f"{len(found)} of {len(evidence.sets)} task sets ask more of a core than it has"
        words += " (C/T sums to more than 1): they miss without any interference"
        yield words, found[0].text


@results("long-slots")
def _long_slots(evidence: CampaignEvidence) -> Iterator[tuple[str, str]]:
    """What is released late piles up within a slot: short slots would measure their own length."""
    if found := evidence.long_slots:
        words = f"{len(found)} of {len(evidence.sets)} task sets ask more of a core than it has"
        words += f" under --overrun late: their slots last {LONG_PERIODS} periods, and their misses"
        yield f"{words} grow with that length", found[0].text


@results("critical-tasks-contend")
def _critical_contend(evidence: CampaignEvidence) -> Iterator[str]:
    """On several critical cores, critical tasks slow each other down as well."""
    for cell in evidence.cells:
        alpha = cell.value("contended_ratio_real")
        if cell.critical_cores > 1 and alpha:
            yield (
                f"the critical tasks of {cell.group} contend with one another (alpha ="
                f" {alpha:.2f}): other cores are not the only cause of"
                " their slowdown"
            )
            return


@results("calibration")
def _costs_disagree(evidence: CampaignEvidence) -> Iterator[str]:
    """Solo span against calibrated cost: the share of the delay ratio that is no contention."""
    if evidence.origin is not None:
        return  # the costs were measured elsewhere, see _foreign_programs
    ratios = np.concatenate([np.empty(0), *evidence.solo_cost_ratios.values()])
    off = float(np.median(ratios[~np.isnan(ratios)]) - 1) if not np.isnan(ratios).all() else 0.0
    if abs(off) > ALONE_TOLERANCE:
        yield (
            f"tasks alone took {100 * abs(off):.0f} % {'more' if off > 0 else 'less'}"
            " than their C (median): delay ratios are off by the same amount"
        )


@results("no-solo-reference")
def _no_solo(evidence: CampaignEvidence) -> Iterator[tuple[str, str]]:
    if found := [each for each in evidence.sets if each.tasks_without_solo]:
        tasks = sum(each.tasks_without_solo for each in found)
        words = f"{tasks} tasks of {len(found)} task sets never ran alone: they are left out of the"
        yield f"{words} slowdown", found[0].key


@results("no-program")
def _plan_missing(evidence: CampaignEvidence) -> Iterator[str]:
    if number := sum(each.sync_share_real is None for each in evidence.sets):
        yield (
            f"the task sets of {number} runs are not stored:"
            " realised shares and overlap are unknown"
        )


@results("noise-floor-undecided")
def _noise(evidence: CampaignEvidence) -> Iterator[str]:
    if evidence.sets and evidence.noise.smallest_effect is None:
        yield (
            "the smallest effect that a point can show is unknown: fewer than"
            f" {NULL_SETS_MIN} task sets share neither an object nor a core"
        )
