"""What makes the results of a campaign doubtful, or what their reader must know."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from deadbeat.executors.tables import LONG_PERIODS
from deadbeat.kinds.contention.evidence import CampaignEvidence, results
from deadbeat.kinds.contention.point import NULL_SETS_MIN
from deadbeat.model.finding import Finding

#: Share of left-out jobs from which on their number is worth a word.
LEFT_OUT_SHARE = 0.03
#: A host that is busy makes tasks alone slower than C by up to this much.
ALONE_TOLERANCE = 0.25
#: Fewer sets than this give an interval that mostly says how few they are.
SETS_MIN = 5
#: Five of so many sets lie beyond the 95 % quantile.
TAIL_SETS_MIN = 100


@results
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


@results
def _calibration_missing(evidence: CampaignEvidence) -> Iterator[Finding]:
    if evidence.calibration is None and evidence.sets:
        yield Finding(
            id="no-calibration",
            severity="warning",
            message="the calibration is missing: platform and overlap are unknown",
            cure="put back the calibration with which it was generated",
        )


@results
def _policy(evidence: CampaignEvidence) -> Iterator[Finding]:
    ordinary = sum(not row["realtime"] for row in evidence.sets)
    if ordinary:
        yield Finding(
            id="policy-other",
            severity="warning",
            message=f"{ordinary} of {len(evidence.sets)} task sets ran without real-time policy:"
            " other programs preempted them at will",
            cure="run as root, or grant RLIMIT_RTPRIO, and use --policy fifo",
        )


@results
def _failed(evidence: CampaignEvidence) -> Iterator[Finding]:
    if broken := sorted(evidence.failed):
        key, number = broken[0], len(broken)
        yield Finding(
            id="failed-runs",
            severity="serious",
            message=f"{number} run{'s' if number > 1 else ''} failed; the first, {key.text}:"
            f" {evidence.failed[key].get('reason', 'no reason recorded')}",
            cure="repeat the command with --retry",
            where=key.text,
        )


@results
def _left_out(evidence: CampaignEvidence) -> Iterator[Finding]:
    """Jobs that a job of an earlier slot overlaps do not count."""
    left_out, counted = (
        sum(row[column] for row in evidence.sets for column in columns)
        for columns in (("left_out",), ("released", "alone_released"))
    )
    if left_out > LEFT_OUT_SHARE * (left_out + counted):
        worst = max(evidence.sets, key=lambda row: int(row["left_out"]))
        yield Finding(
            id="left-out",
            severity="warning",
            message=f"{100 * left_out / (left_out + counted):.0f} % of the jobs do not count,"
            " because jobs of earlier slots were still running",
            cure="use a larger --deadline-factor, or longer slots (--slot-periods)",
            where=str(worst["key"]),
        )


@results
def _few_sets(evidence: CampaignEvidence) -> Iterator[Finding]:
    counts = [int(row["task_sets"]) for row in evidence.rows]
    undecided = sum(count == 0 for count in counts)
    single = sum(count == 1 for count in counts)
    few = sum(2 <= count < SETS_MIN for count in counts)
    if undecided and not (evidence.sets or evidence.failed):
        yield Finding(
            id="no-runs",
            severity="serious",
            message="the campaign has no runs: nothing is decided",
            cure="repeat its command: it measures what is missing",
        )
    elif undecided:
        yield Finding(
            id="undecided-points",
            severity="warning",
            message=f"{_share(evidence, undecided)} no task set: undecided",
            cure="repeat the command: it measures what is missing; add --retry if runs failed",
        )
    if single:
        yield Finding(
            id="single-set",
            severity="warning",
            message=f"{_share(evidence, single, 'rest')} on one task set:"
            f" {'its interval says' if single == 1 else 'their intervals say'} nothing about other"
            " sets",
            cure=evidence.more_sets,
        )
    if few:
        what = "its interval is" if few == 1 else "their intervals are"
        yield Finding(
            id="few-sets",
            severity="info",
            message=f"{_share(evidence, few, 'rest')} on fewer than {SETS_MIN} task sets:"
            f" {what} wide and approximate",
            cure=evidence.more_sets,
        )


def _share(evidence: CampaignEvidence, count: int, verb: str = "have") -> str:
    """``1 of 3 groups has``, ``2 of 3 groups have``; of a single one ``the only group has``."""
    total = len(evidence.rows)
    of = f"{count} of {total} {evidence.places}"
    if total == 1:
        of = f"the only {evidence.places.removesuffix('s')}"
    if count > 1:
        return f"{of} {verb}"
    return f"{of} {'has' if verb == 'have' else verb + 's'}"


@results
def _foreign_programs(evidence: CampaignEvidence) -> Iterator[Finding]:
    origin = evidence.origin
    if origin is None:
        return
    made = origin.original
    text = f"programs of {origin.name}, calibrated on {made.name} ({made.soc}, {made.kernel})"
    if origin.same_hardware:
        yield Finding(
            id="foreign-programs",
            severity="info",
            message=text,
            cure=f"compare it with {origin.name}, program by program: deadbeat compare",
        )
    else:
        yield Finding(
            id="foreign-costs",
            severity="info",
            message=f"{text}: costs come from another platform",
            cure="read the slowdown instead of delay ratios: C is not what the work takes here",
        )


@results
def _thin_tail(evidence: CampaignEvidence) -> Iterator[Finding]:
    """A 95 % quantile over sets is one of the few sets beyond it."""
    thin = [row for row in evidence.rows if SETS_MIN <= row["task_sets"] < TAIL_SETS_MIN]
    if evidence.mode == "stress" and thin:
        yield Finding(
            id="thin-tail",
            severity="info",
            message=f"{len(thin)} of {len(evidence.rows)} groups have fewer than {TAIL_SETS_MIN}"
            " task sets: their 95 % and 99 % quantiles rest on a handful",
            cure="draw more sets before comparing tails",
        )


@results
def _no_unshielded_group(evidence: CampaignEvidence) -> Iterator[Finding]:
    shielded = [row for row in evidence.rows if row.get("critical_cores")]
    if shielded and len(shielded) == len(evidence.rows):
        yield Finding(
            id="no-unshielded-group",
            severity="info",
            message="every group is shielded: what shielding saves is unknown",
            cure="measure the same sets unshielded too: --critical-cores 0,1",
        )


@results
def _overloaded(evidence: CampaignEvidence) -> Iterator[Finding]:
    """The sum of C / T on a core above 1: it falls behind even where nothing interferes."""
    if evidence.overloaded:
        yield Finding(
            id="overloaded",
            severity="warning",
            message=f"{len(evidence.overloaded)} of {len(evidence.sets)} task sets ask more of a"
            " core than it has (C/T sums to more than 1): they miss without any interference",
            cure="use a larger --deadline-factor, or fewer tasks on a core",
            where=evidence.overloaded[0].text,
        )


@results
def _long_slots(evidence: CampaignEvidence) -> Iterator[Finding]:
    """What is released late piles up within a slot: short slots would measure their own length."""
    if evidence.long_slots:
        yield Finding(
            id="long-slots",
            severity="info",
            message=f"{len(evidence.long_slots)} of {len(evidence.sets)} task sets ask more of a"
            f" core than it has under --overrun late: their slots last {LONG_PERIODS} periods, and"
            " their misses grow with that length",
            cure="use a larger --deadline-factor, or --overrun skip",
            where=evidence.long_slots[0].text,
        )


@results
def _critical_contend(evidence: CampaignEvidence) -> Iterator[Finding]:
    """On several critical cores, critical tasks slow each other down as well."""
    for row in evidence.rows:
        if (row.get("critical_cores") or 0) > 1 and row.get("contended_ratio_real"):
            yield Finding(
                id="critical-tasks-contend",
                severity="info",
                message=f"the critical tasks of {row['group']} contend with one another (alpha ="
                f" {row['contended_ratio_real']:.2f}): other cores are not the only cause of"
                " their slowdown",
                cure="use --contended-ratio 0, or --critical-cores 1, to see the other cores alone",
            )
            return


@results
def _costs_disagree(evidence: CampaignEvidence) -> Iterator[Finding]:
    """Solo span against calibrated cost: the share of the delay ratio that is no contention."""
    if evidence.origin is not None:
        return  # the costs were measured elsewhere, see _foreign_programs
    ratios = np.concatenate([np.empty(0), *evidence.solo_cost_ratios.values()])
    off = float(np.median(ratios[~np.isnan(ratios)]) - 1) if not np.isnan(ratios).all() else 0.0
    if abs(off) > ALONE_TOLERANCE:
        yield Finding(
            id="calibration",
            severity="warning",
            message=f"tasks alone took {100 * abs(off):.0f} % {'more' if off > 0 else 'less'}"
            " than their C (median): delay ratios are off by the same amount",
            cure="calibrate again; read the slowdown, which does not depend on calibration",
        )


@results
def _no_solo(evidence: CampaignEvidence) -> Iterator[Finding]:
    rows = [row for row in evidence.sets if row["tasks_without_solo"]]
    if rows:
        tasks = sum(row["tasks_without_solo"] for row in rows)
        yield Finding(
            id="no-solo-reference",
            severity="warning",
            message=f"{tasks} tasks of {len(rows)} task sets never ran alone:"
            " they are left out of the slowdown",
            cure="lengthen the runs with --duration",
            where=str(rows[0]["key"]),
        )


@results
def _plan_missing(evidence: CampaignEvidence) -> Iterator[Finding]:
    number = sum(row["sync_share_real"] is None for row in evidence.sets)
    if number:
        yield Finding(
            id="no-program",
            severity="info",
            message=f"the task sets of {number} runs are not stored:"
            " realised shares and overlap are unknown",
        )


@results
def _noise(evidence: CampaignEvidence) -> Iterator[Finding]:
    if evidence.sets and evidence.noise.get("smallest_effect") is None:
        yield Finding(
            id="noise-floor-undecided",
            severity="info",
            message="the smallest effect that a point can show is unknown: fewer than"
            f" {NULL_SETS_MIN} task sets share neither an object nor a core",
            cure="measure M = 1 or alpha = 0 as well, with one task a core",
        )
