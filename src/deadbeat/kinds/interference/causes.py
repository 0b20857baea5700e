"""What took the real-time thread's time, from evidence; pure.

Three kinds of lost time are told apart exactly (`model.load_summary.Lost`): it waited although
ready, it had the CPU and nothing moved, it ran slower. Who did it is inferred:

* waiting of about the share that the kernel keeps for ordinary threads: RT bandwidth control
  (kernel.sched_rt_runtime_us; up to Linux 6.11, later only with RT_GROUP_SCHED) or the fair server
  (from 6.12 on, 50 ms of every second, also where that sysctl is -1: commits d741f297bcea and
  5f6bd380c7bd). Both are of one size; runs at -1 tell them apart;
* other waiting: a task of higher priority, named where the kernel's events were recorded;
* nothing moved: the host as far as stolen ticks go, else an interrupt or the host, which look alike
  from inside;
* slower: an SMT sibling, a frequency, a host. Named where the machine has one and a remedy against
  it helps; unknown otherwise.

Shown is only what differs between pairs of runs by more than they differ by anyway, allowing for
the number of such comparisons, or what the kernel's events say.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from attrs import evolve, frozen

from deadbeat.host.judgements import rt_kept
from deadbeat.kinds.interference.execution import moves, slower, stopped
from deadbeat.kinds.interference.lost import PAIRS_MIN, LostDifference
from deadbeat.kinds.interference.scene import (
    LEAST_SHARE,
    NAMED,
    WAITING,
    Scene,
    SceneMachine,
    waiting_share,
)
from deadbeat.model.load import ALL, PLAIN, LoadRun
from deadbeat.model.load_summary import Cause, LoadCell

#: Waiting between these multiples of what the kernel keeps is taken for that.
_KEPT_LOW, _KEPT_HIGH = 0.3, 1.4
#: Gaps closer than this belong to one episode.
_EPISODE_NS = 200_000_000
#: A shorter time between release and start is a wake-up.
_PAUSE_NS = 100_000
_SECOND_NS = 1_000_000_000
_SERVER_DEFAULT = 0.05
#: Share of the traced waiting that ordinary threads must have had for the kernel to have given it.
_MOSTLY = 0.5
#: A part of the kept time below this is noise unless it is shown.
_LEAST_PART = 0.05
#: Time without a limit that must have been measured, in windows this long: both come once a second.
_FREE_S, _FREE_WINDOW_S = 6.0, 2.0


def causes_of(
    runs: Sequence[LoadRun],
    cells: Sequence[LoadCell],
    machine: SceneMachine,
    traced: LoadRun | None = None,
    *,
    alone_ns: int | None = None,
) -> tuple[Cause, ...]:
    """Causes at the highest number of ordinary threads without a remedy, the greatest first.

    Args:
        runs: The valid ones.
        traced: The one with the kernel's events.
        alone_ns: CPU time that a round takes alone.
    """
    plain = [cell for cell in cells if cell.condition == PLAIN and cell.lost is not None]
    if not plain:
        return ()
    worst = max(plain, key=lambda cell: cell.normal)
    here = [run for run in runs if run.key.normal == worst.normal and run.key.condition == PLAIN]
    assert worst.lost is not None
    scene = Scene(
        lost=worst.lost,
        here=here,
        runs=[run for run in runs if run.key.normal == worst.normal],
        machine=machine,
        traced=traced,
        compared=min(cell.normal for cell in plain) < worst.normal,
        alone_ns=alone_ns,
    ).judged()
    found = [*_waiting(scene), *stopped(scene), *slower(scene), *moves(scene, worst)]
    told = [cause for cause in found if cause.share is None or cause.share >= _LEAST_PART / 10]
    return tuple(sorted(told, key=lambda cause: -(cause.share or 0.0)))


# --- waiting ------------------------------------------------------------------------------------


@frozen(kw_only=True)
class Episodes:
    """Stretches of waiting, runs of gaps joined.

    Attributes:
        count: How many.
        length_ns: Median of the waiting in one; 0 of none.
        period_ns: Median distance of two that follow one another in one run; None: no two do.
    """

    count: int
    length_ns: int
    period_ns: int | None


def episodes_of(runs: Sequence[LoadRun]) -> Episodes:
    """Of the times in which the thread was ready, those inside windows."""
    lengths: list[int] = []
    distances: list[int] = []
    for run in runs:
        starts: list[int] = []
        end = None
        for at, length in _waits(run):
            if not run.window_ns[0] <= at < run.window_ns[1]:
                continue
            if end is None or at - end > _EPISODE_NS:
                starts.append(at)
                lengths.append(0)
            lengths[-1] += length
            end = at + length
        distances += np.diff(starts).tolist()
    return Episodes(
        count=len(lengths),
        length_ns=int(np.median(lengths)) if lengths else 0,
        period_ns=int(np.median(distances)) if distances else None,
    )


def _waits(run: LoadRun) -> list[tuple[int, int]]:
    """When and how long the thread was ready and did not run: gaps in its work, and between a
    release and its start."""
    gaps, rounds = run.gaps, run.rounds
    inside = gaps.length_ns <= 2 * gaps.delay_ns
    found = list(zip(gaps.at_ns[inside].tolist(), gaps.length_ns[inside].tolist(), strict=True))
    pause = rounds.start_ns - rounds.release_ns
    # the scheduler's account is read after a round has finished, so a pause may be in either
    delay = rounds.delay_ns + np.append(0, rounds.delay_ns[:-1])[: len(rounds)]
    long = (pause > _PAUSE_NS) & (pause <= 2 * delay)
    found += zip(rounds.release_ns[long].tolist(), pause[long].tolist(), strict=True)
    return sorted(found)


def _kept_by_bandwidth(runs: Sequence[LoadRun], machine: SceneMachine) -> float | None:
    """Share of the time that RT bandwidth control keeps from real-time threads; None: none."""
    limits = ((run.machine.get("rt_runtime_us"), run.machine.get("rt_period_us")) for run in runs)
    kept = (rt_kept(*limit, machine.kernel, machine.group_sched) for limit in limits)
    return next((share for share in kept if share is not None), None)


def _kept_by_server(machine: SceneMachine) -> float | None:
    if machine.fair_server is not None:
        return machine.fair_server or None
    return _SERVER_DEFAULT if machine.kernel >= (6, 12) else None


def _waiting(scene: Scene) -> list[Cause]:
    lost = scene.lost
    if lost.waiting < LEAST_SHARE:
        return []
    seen = episodes_of(scene.here)
    every = f", {seen.period_ns / 1e6:.0f} ms apart (median)" if seen.period_ns is not None else ""
    shape = f"{lost.waiting * 1000:.1f} ms of every second the thread was ready and did not run"
    if seen.count:
        shape += f", in {seen.count} stretches of {seen.length_ns / 1e6:.1f} ms{every}"
    if all(run.policy == "other" for run in scene.here):
        return [
            Cause(
                name="fair-scheduling",
                title="it shares its CPU with other ordinary threads, being one itself",
                share=scene.share(lost.waiting),
                certainty="shown",
                evidence=shape,
            )
        ]
    bandwidth = _kept_by_bandwidth(scene.here, scene.machine)
    server = _kept_by_server(scene.machine)
    kept = max(bandwidth or 0.0, server or 0.0)
    told, ordinary = _seen_instead(scene.traced)
    fits = _KEPT_LOW * kept <= lost.waiting <= _KEPT_HIGH * kept
    by_kernel = fits if ordinary is None else ordinary >= _MOSTLY
    if not kept or not by_kernel:
        return [_other_task(scene, shape, kept)]
    found = _kept(scene, shape + told, bandwidth, server)
    one = len(found) == 1 and not (found[0].name != "bandwidth" and bandwidth and server)
    if ordinary is not None and one:
        # only the kernel lets them run while a real-time thread is ready; not: which part of it
        return [evolve(cause, certainty="shown") for cause in found]
    if _like_a_share(seen, kept):
        return found
    return [evolve(cause, certainty="likely") for cause in found]


def _like_a_share(seen: Episodes, kept: float) -> bool:
    """Whether stretches look like a share kept of every second: not many short ones."""
    longest = kept * _SECOND_NS
    return seen.count > 0 and 0.1 * longest <= seen.length_ns <= 1.5 * longest


def _seen_instead(traced: LoadRun | None) -> tuple[str, float | None]:
    """What the traced run says of who had the CPU: in words, and the share that ordinary threads
    had; None: it says nothing."""
    trace = traced.trace if traced is not None else {}
    if "unavailable" in trace:
        return f"; events were not recorded: {trace['unavailable']}", None
    waited: dict[str, int] = trace.get("waited_ns") or {}
    whole = sum(waited.values())
    if not whole:
        return "", None
    first = sorted(waited.items(), key=lambda each: -each[1])[:NAMED]
    named = ", ".join(f"{who} {ns / 1e6:.1f} ms" for who, ns in first)
    # nobody while a real-time thread is ready: only a throttled one is passed over so
    ordinary = sum(ns for who, ns in waited.items() if "ordinary" in who or "idle" in who)
    return f"; in the traced run its CPU had instead: {named}", ordinary / whole


def _other_task(scene: Scene, shape: str, kept: float) -> Cause:
    told, ordinary = _seen_instead(scene.traced)
    apart = f"; the {kept * 1000:.0f} ms that the kernel keeps for ordinary threads do not fit"
    return Cause(
        name="other-task",
        title="something else had its CPU (a task of its priority or above, or the kernel)",
        share=scene.share(scene.lost.waiting),
        certainty="unknown" if ordinary is None else "likely",
        evidence=shape + (apart if kept else "") + told,
    )


# --- who kept the time --------------------------------------------------------------------------


@frozen(kw_only=True)
class _Freed:
    """Runs without an RT bandwidth limit beside the same with it.

    Attributes:
        after, before: Their conditions.
        goes: Share of the window that waiting has less of.
        stays: Waiting that is left.
        part: What goes, of the waiting with the limit; 0 where that is within what runs differ by.
    """

    after: str
    before: str
    goes: LostDifference
    stays: LostDifference
    part: float

    @property
    def words(self) -> str:
        """Both figures."""
        return (
            f"{self.goes.text(1000)} ms go, {self.stays.text(1000)} ms stay"
            f" ({self.after} against {_called(self.before)})"
        )


def _called(condition: str) -> str:
    return "nothing done" if condition == PLAIN else condition


def _freed(scene: Scene) -> list[_Freed]:
    """Every condition that takes the limit off and leaves the fair server as it is, measured long
    enough, with the one it differs from by that most nearly."""
    bound = scene.bound()
    found = []
    for after, before in (("rt-bandwidth", PLAIN), (ALL, bound or PLAIN)):
        runs = scene.of(after)
        if not runs or any(run.machine.get("rt_runtime_us") != -1 for run in runs):
            continue
        if any("fair_server" in path for run in runs for path in run.applied):
            continue
        if sum(run.window_s for run in runs) < _FREE_S or runs[0].window_s < _FREE_WINDOW_S:
            continue
        if after == ALL and bound is None and any(run.cpu not in (None, -1) for run in runs):
            continue  # bound to a CPU, and nothing bound with the limit to compare it with
        goes, stays = scene.less(before, after, WAITING), scene.left(after, WAITING)
        whole = [waiting_share(run) for run in scene.of(before)]
        if goes is None or stays is None or goes.pairs < PAIRS_MIN:
            continue
        with_it = float(np.mean(whole))
        part = min(goes.mean / with_it, 1.0) if goes.above and with_it else 0.0
        found.append(_Freed(after=after, before=before, goes=goes, stays=stays, part=part))
    return found


def _kept(scene: Scene, shape: str, bandwidth: float | None, server: float | None) -> list[Cause]:
    """Who kept the time for ordinary threads: one of the two, or both by what goes without the
    limit. All that was measured without it is told; what differs between two such comparisons is
    not shown."""
    share = scene.share(scene.lost.waiting)
    freed = _freed(scene)
    if not (bandwidth and server):
        return [_only(share, shape, bandwidth, freed)]
    if not freed:
        return [_either(scene, share, shape)]
    told = "at sched_rt_runtime_us = -1, which leaves the fair server as it is, "
    told += "; ".join(each.words for each in freed)
    agree = _agree(freed)
    told += "" if agree else "; the two do not agree"
    # one that shows nothing, as its runs differ too much, takes nothing from one that does
    parts_shown = [each.part for each in freed if not agree or each.goes.above]
    part = float(np.mean(parts_shown or [0.0]))
    rt_shown = agree and any(each.goes.above for each in freed)
    server_shown = agree and any(
        each.stays.above and each.stays.mean >= LEAST_SHARE for each in freed
    )
    known = [
        ("rt-bandwidth", "RT bandwidth control throttled it", part, rt_shown),
        ("fair-server", "the fair server gave its CPU to ordinary threads", 1 - part, server_shown),
    ]
    # what is shown is named however small
    parts = [each for each in known if each[2] >= _LEAST_PART or (each[3] and each[2] > 0)]
    parts.sort(key=lambda each: -each[2])
    return [
        Cause(
            name=name,
            title=title,
            share=share * size,
            certainty="shown" if shown else "likely",
            # how it waited, and what shows it, is told once, with the greater of the two
            evidence=f"{shape}; {told}" if place == 0 else f"as told of the {parts[0][0]} above",
        )
        for place, (name, title, size, shown) in enumerate(parts)
    ]


def _agree(freed: Sequence[_Freed]) -> bool:
    """Whether no two contradict one another: intervals of what goes have something in common, and
    those of what stays."""
    return all(
        max(interval.low for interval in intervals) <= min(interval.high for interval in intervals)
        for intervals in ([each.goes for each in freed], [each.stays for each in freed])
    )


def _either(scene: Scene, share: float, shape: str) -> Cause:
    """Where nothing tells the two apart."""
    less = scene.less(PLAIN, "rt-bandwidth", WAITING)
    if less is None:
        told = "the remedy rt-bandwidth, in runs of 2 s and repeated, tells the two apart"
    else:
        told = f"{less.text(1000)} ms of it go with the remedy rt-bandwidth"
    return Cause(
        name="bandwidth",
        title="the kernel kept its CPU for ordinary threads (RT bandwidth or fair server)",
        share=share,
        certainty="shown" if less is not None and less.above else "likely",
        evidence=f"{shape}; {told}",
    )


def _only(share: float, shape: str, bandwidth: float | None, freed: Sequence[_Freed]) -> Cause:
    """Where one of the two is there, and the other is not: likely, as it fits and nothing else
    does; shown where it goes with the limit."""
    if bandwidth:
        told = "".join(f"; without it {each.words}" for each in freed)
        gone = bool(freed) and _agree(freed) and any(each.goes.above for each in freed)
        return Cause(
            name="rt-bandwidth",
            title="RT bandwidth control throttled it",
            share=share,
            certainty="shown" if gone else "likely",
            evidence=f"{shape}; sched_rt_runtime_us keeps {bandwidth * 1000:.0f} ms/s, and there is"
            f" no fair server{told}",
        )
    return Cause(
        name="fair-server",
        title="the fair server gave its CPU to ordinary threads",
        share=share,
        certainty="likely",
        evidence=f"{shape}; RT bandwidth control is off",
    )
