"""The findings of a campaign: checks of its machine and of its results.

Environment keys are read as other sessions, machines and versions may have written them: what is
missing or marked unknown is reported as not known, never taken as good.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from operator import attrgetter
from typing import Any

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from deadbeat.base.model.finding import Finding, finding, ordered
from deadbeat.base.model.platform import UNDISTURBED, Platform
from deadbeat.base.model.words import Json
from deadbeat.machine.host.environment import core_kinds
from deadbeat.machine.host.judgements import rt_kept, slow_clock, slow_governors, stolen, throttled
from deadbeat.machine.host.kernel import release_of
from deadbeat.machine.host.snapshot import diff, recorded
from deadbeat.machine.host.values import Unknown, is_unknown
from deadbeat.tasksets.contention.point import NULL_SETS_MIN
from deadbeat.tasksets.executors.tables import LONG_PERIODS
from deadbeat.tasksets.model.calibration import Calibration
from deadbeat.tasksets.model.figures import CellFigures, SetFigures
from deadbeat.tasksets.model.results import NoiseFacts, RunKey
from deadbeat.tasksets.store.campaign import SessionRecord
from deadbeat.tasksets.store.origin import Origin


def where_it_ran(calibration: Calibration | None, origin: Origin | None) -> Platform | None:
    """The platform of a campaign: that of its calibration, unless its programs are another's."""
    if origin is not None:
        return origin.platform
    return calibration.platform if calibration else None


@frozen(kw_only=True)
class CampaignEvidence:
    """What the checks look at.

    Attributes:
        sessions: Environments before and after each invocation.
        failed: Runs that failed, and why.
        solo_cost_ratios: Run -> per task, median solo span / C (NaN: not known).
        overloaded: Runs of task sets that ask more of a core than it has.
        long_slots: Overloaded runs that kept their slots long (policy late).
        origin: Owner of the programs that ran; None: the campaign's own.
    """

    calibration: Calibration | None
    sessions: Sequence[SessionRecord]
    cells: Sequence[CellFigures]
    sets: Sequence[SetFigures]
    failed: Mapping[RunKey, Mapping[str, Any]]
    solo_cost_ratios: Mapping[RunKey, NDArray[np.float64]]
    noise: NoiseFacts
    mode: str = "profile"
    overloaded: Sequence[RunKey] = ()
    long_slots: Sequence[RunKey] = ()
    origin: Origin | None = None

    @property
    def most_cores(self) -> int:
        """The largest M; a group that draws its own is known by its sets."""
        known = [*(cell.cores for cell in self.cells), *(each.cores for each in self.sets)]
        return max(known, default=0)

    @property
    def platform(self) -> Platform | None:
        return where_it_ran(self.calibration, self.origin)

    @property
    def undisturbed(self) -> bool:
        """Whether no host had a part in it: there is no machine to doubt."""
        return self.platform is not None and self.platform.kind in UNDISTURBED

    @property
    def last(self) -> Mapping[str, Json]:
        """The latest recorded environment; empty if none."""
        known = (record.after or record.before for record in reversed(self.sessions))
        return next(filter(None, known), {})


# -- of the machine


def _sessions(evidence: CampaignEvidence) -> Iterator[Finding]:
    if not evidence.sessions:
        message = "the state of the machine was not recorded"
        yield finding("environment-not-recorded", message)
    for record in evidence.sessions:
        if record.after is None:
            message = f"session {record.number} ended without its closing record (killed?): steal"
            yield finding("session-not-closed", f"{message} and throttling during it are unknown")
    missing = [text for key, text in _FACTS.items() if not _known(key, evidence.last.get(key))]
    if evidence.sessions and missing:
        yield finding("environment-unknown", f"could not be read: {', '.join(missing)}")


_FACTS = {
    "steal_ticks": "steal",
    "throttle_counts": "throttling",
    "rt_runtime_us": "RT bandwidth",
    "governor": "governor",
    "clocksource": "clock source",
    "virtual": "whether it is a virtual machine",
    "preemption": "preemption model",
    "cpus_online": "online CPUs",
}


def _known(key: str, value: Json) -> bool:
    if key == "throttle_counts":
        return not isinstance(recorded({key: value}).throttled, Unknown)
    return value is not None and not is_unknown(value)


def _disturbances(evidence: CampaignEvidence) -> Iterator[Finding]:
    changes = {
        record.number: diff(recorded(record.before or {}), recorded(record.after or {}))
        for record in evidence.sessions
    }
    found = {
        (share, -number): f"CPU {cpu} in session {number}"
        for number, change in changes.items()
        for cpu, share in stolen(change.stolen).items()
    }
    if found:
        worst = max(found)
        taken = f"{100 * worst[0]:.1f} % of the time of {found[worst]}"
        yield finding("steal", f"the hypervisor took {taken}, from jobs together and alone")
    for number, change in changes.items():
        if events := sum(throttled(change.throttled).values()):
            message = f"the processor throttled {events} times in session {number}"
            yield finding("throttled", message)


def _scheduling(evidence: CampaignEvidence) -> Iterator[Finding]:
    last, cores = evidence.last, evidence.most_cores
    runtime, period = last.get("rt_runtime_us"), last.get("rt_period_us")
    if rt_kept(runtime, period, release_of(str(last.get("kernel"))), None) is not None:
        every = f"every {period / 1000:g} ms" if type(period) is int else "each period"
        after = f"{runtime / 1000:g} ms" if type(runtime) is int else f"{runtime} µs"
        message = f"RT throttling is on: real-time tasks are stopped after {after} of {every}"
        yield finding("rt-bandwidth", message)
    online = last.get("cpus_online")
    count = len(online) if isinstance(online, list | tuple) else online
    if type(count) is int and 0 < count <= cores:
        yield finding(
            "no-housekeeping-core",
            f"M = {cores} uses all {count} online CPUs: interrupts and kernel threads"
            " share them with the tasks",
            cure=f"measure at most M = {count - 1} here, or read M = {cores} with this in mind",
        )


def _platform(evidence: CampaignEvidence) -> Iterator[Finding]:
    last = evidence.last
    governor, virtual, clock = (last.get(key) for key in ("governor", "virtual", "clocksource"))
    if slow := slow_governors(governor.values() if isinstance(governor, Mapping) else [governor]):
        message = f"the frequency governor is {', '.join(slow)}, not performance"
        yield finding("governor", message)
    named = isinstance(virtual, str) and not is_unknown(virtual) and not virtual.startswith("none")
    if virtual is True or named:
        message = "this is a virtual machine: its host decides when its CPUs run"
        yield finding("virtual-machine", message)
    kernels = {
        str(environment["kernel"])
        for record in evidence.sessions
        for environment in (record.before, record.after)
        if environment and _known("kernel", environment.get("kernel"))
    }
    if len(kernels) > 1:
        message = f"the kernel changed during the campaign: {'; '.join(sorted(kernels))}"
        yield finding("kernel-changed", message)
    if slow_clock(clock):
        message = f"the clock source is {clock}: reading it may take a system call or a device"
        yield finding("clocksource", message)


# -- of what was run and found

#: Share of left-out jobs from which on their number is worth a word.
LEFT_OUT_SHARE = 0.03
#: A host that is busy makes tasks alone slower than C by up to this much.
ALONE_TOLERANCE = 0.25
#: Fewer sets than this give an interval that mostly says how few they are.
SETS_MIN = 5
#: Number of sets of which five lie beyond the 95 % quantile.
TAIL_SETS_MIN = 100


_IN_LAB = {
    "virtual-time": "ran in virtual time: caches, the memory bus and cores that run at once are not"
    " in it",
    "parallel-time": "ran in parallel time: caches, the memory bus and waits shorter than a turn"
    " are not in it",
}


def _basis(evidence: CampaignEvidence) -> Iterator[Finding]:
    platform, sets = evidence.platform, evidence.sets
    if platform is not None and platform.kind != "hardware":
        message = _IN_LAB.get(platform.kind, f"was {platform.kind}, not measured on hardware")
        message = f"this campaign {message}"
        yield Finding(id=platform.kind, severity="info", message=message)
    kinds = core_kinds(platform.details, platform.cpus[: evidence.most_cores]) if platform else ()
    if len(set(kinds)) > 1:
        message = f"its CPUs are of {len(set(kinds))} kinds, by core {', '.join(map(str, kinds))}:"
        message += " C is of each kind, prices and slowdowns are of all of them together"
        yield finding("unlike-cores", message)
    if evidence.calibration is None and sets:
        message = "the calibration is missing: platform and overlap are unknown"
        yield finding("no-calibration", message)
    if ordinary := sum(not each.realtime for each in sets):
        message = f"{ordinary} of {len(sets)} task sets ran without real-time policy: other"
        yield finding("policy-other", f"{message} programs preempted them at will")
    if broken := sorted(evidence.failed):
        key, number = broken[0], len(broken)
        reason = evidence.failed[key].get("reason", "no reason recorded")
        message = f"{number} run{'s' if number > 1 else ''} failed; the first, {key.text}: {reason}"
        yield finding("failed-runs", message, where=key.text)
    # jobs that a job of an earlier slot overlaps do not count
    left_out = sum(each.left_out for each in sets)
    every = left_out + sum(each.released + each.alone_released for each in sets)
    if left_out > LEFT_OUT_SHARE * every:
        yield finding(
            "left-out",
            f"{100 * left_out / every:.0f} % of the jobs do not count, because jobs of earlier"
            " slots were still running",
            where=max(sets, key=attrgetter("left_out")).key,
        )


def _cells_with(evidence: CampaignEvidence, least: int, end: int) -> int:
    """Points or groups with ``least`` task sets or more, and fewer than ``end``."""
    return sum(least <= cell.task_sets < end for cell in evidence.cells)


def _numbers(evidence: CampaignEvidence) -> Iterator[Finding]:
    tried = evidence.sets or evidence.failed
    if undecided := _cells_with(evidence, 0, 1):
        if tried:
            message = f"{_share(evidence, undecided)} no task set: undecided"
            yield finding("undecided-points", message)
        else:
            yield finding("no-runs", "the campaign has no runs: nothing is decided")
    more = "draw more sets" if evidence.mode == "stress" else "measure more replicas"
    if single := _cells_with(evidence, 1, 2):
        says = "its interval says" if single == 1 else "their intervals say"
        message = f"{_share(evidence, single, 'rest')} on one task set: {says} nothing about"
        yield finding("single-set", f"{message} other sets", cure=more)
    if few := _cells_with(evidence, 2, SETS_MIN):
        what = "its interval is" if few == 1 else "their intervals are"
        message = f"{_share(evidence, few, 'rest')} on fewer than {SETS_MIN} task sets: {what}"
        yield finding("few-sets", f"{message} wide and approximate", cure=more)


def _share(evidence: CampaignEvidence, count: int, verb: str = "have") -> str:
    """``1 of 3 groups has``, ``2 of 3 groups have``; of a single one ``the only group has``."""
    total, place = len(evidence.cells), "group" if evidence.mode == "stress" else "point"
    of = f"the only {place}" if total == 1 else f"{count} of {total} {place}s"
    if count > 1:
        return f"{of} {verb}"
    return f"{of} {'has' if verb == 'have' else verb + 's'}"


def _programs(evidence: CampaignEvidence) -> Iterator[Finding]:
    if (origin := evidence.origin) is not None:
        made = origin.original
        message = f"programs of {origin.name}, calibrated on {made.name} ({made.soc},"
        message += f" {made.kernel})"
        if origin.same_hardware:
            cure = f"compare it with {origin.name}, program by program: deadbeat compare"
            yield finding("foreign-programs", message, cure=cure)
        else:
            yield finding("foreign-costs", f"{message}: costs come from another platform")


def _groups(evidence: CampaignEvidence) -> Iterator[Finding]:
    # a 95 % quantile over sets is one of the few sets beyond it
    thin = _cells_with(evidence, SETS_MIN, TAIL_SETS_MIN)
    if evidence.mode == "stress" and thin:
        message = f"{thin} of {len(evidence.cells)} groups have fewer than {TAIL_SETS_MIN} task"
        message += " sets: their 95 % and 99 % quantiles rest on a handful"
        yield finding("thin-tail", message)
    if evidence.cells and all(cell.critical_cores for cell in evidence.cells):
        message = "every group is shielded: what shielding saves is unknown"
        yield finding("no-unshielded-group", message)


def _loads(evidence: CampaignEvidence) -> Iterator[Finding]:
    """The sum of C / T on a core above 1: it falls behind even where nothing interferes, and what
    is released late piles up within a slot: short slots would measure their own length."""
    many = f"of {len(evidence.sets)} task sets ask for more than a core has"
    if found := evidence.overloaded:
        message = f"{len(found)} {many} (C/T sums to more than 1): they miss without any"
        yield finding("overloaded", f"{message} interference", where=found[0].text)
    if found := evidence.long_slots:
        message = f"{len(found)} {many} under --set overrun=late: their slots last {LONG_PERIODS}"
        message += " periods, and their misses grow with that length"
        yield finding("long-slots", message, where=found[0].text)
    several = ((c, c.value("contended_ratio_real")) for c in evidence.cells if c.critical_cores > 1)
    for cell, alpha in [each for each in several if each[1]][:1]:
        message = f"the critical tasks of {cell.group} contend with one another (alpha ="
        message += f" {alpha:.2f}): other cores are not the only cause of their slowdown"
        yield finding("critical-tasks-contend", message)


def _references(evidence: CampaignEvidence) -> Iterator[Finding]:
    """Solo span against calibrated cost, unless that was measured elsewhere: the share of the delay
    ratio that is no contention; and what has no reference."""
    ratios = np.concatenate([np.empty(0), *evidence.solo_cost_ratios.values()])
    known = ratios[~np.isnan(ratios)]
    off = float(np.median(known) - 1) if len(known) and evidence.origin is None else 0.0
    if abs(off) > ALONE_TOLERANCE:
        message = f"tasks alone took {100 * abs(off):.0f} % {'more' if off > 0 else 'less'} than"
        message += " their C (median): delay ratios are off by the same amount"
        yield finding("calibration", message)
    if found := [each for each in evidence.sets if each.tasks_without_solo]:
        tasks = sum(each.tasks_without_solo for each in found)
        message = f"{tasks} tasks of {len(found)} task sets never ran alone: they are left out of"
        yield finding("no-solo-reference", f"{message} the slowdown", where=found[0].key)
    if number := sum(each.sync_share_real is None for each in evidence.sets):
        message = f"the task sets of {number} runs are not stored: realised shares and overlap are"
        yield finding("no-program", f"{message} unknown")
    if evidence.sets and evidence.noise.smallest_effect is None:
        message = "the smallest effect that a point can show is unknown: fewer than"
        message += f" {NULL_SETS_MIN} task sets share neither an object nor a core"
        yield finding("noise-floor-undecided", message)


#: Findings of the machine, which one that nothing disturbs does not need; and of the results.
_MACHINE = (_sessions, _disturbances, _scheduling, _platform)
_RESULTS = (_basis, _numbers, _programs, _groups, _loads, _references)


def collect_findings(evidence: CampaignEvidence) -> tuple[Finding, ...]:
    checks = (*(() if evidence.undisturbed else _MACHINE), *_RESULTS)
    return tuple(ordered(found for check in checks for found in check(evidence)))
