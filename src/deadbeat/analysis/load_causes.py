"""What took the real-time thread's time, from evidence; pure.

Three kinds of lost time are told apart exactly (`model.load_summary.Lost`): it waited although
ready, it had the CPU and nothing moved, it ran slower. Who did it is inferred:

* waiting of about the share that the kernel keeps for ordinary threads: RT bandwidth control
  (kernel.sched_rt_runtime_us; up to Linux 6.11, later only with RT_GROUP_SCHED) or the fair server
  (from 6.12 on, 50 ms of every second, also where that sysctl is -1: commits d741f297bcea and
  5f6bd380c7bd). Both are of one size; a run at -1 tells them apart;
* other waiting: a task of higher priority, named where the kernel's events were recorded;
* nothing moved: stolen ticks, else an interrupt or the host, which look alike from inside;
* slower: an SMT sibling, a frequency, a host. Named where the machine has one and a remedy against
  it helps; unknown otherwise.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from attrs import evolve, field, frozen

from deadbeat.analysis.bootstrap import student_half_width
from deadbeat.model.load import ALL, PLAIN, LoadRun
from deadbeat.model.load_summary import Cause, LoadCell, Lost

#: Lost time below this share of the window is not worth a cause.
_LEAST_SHARE = 0.0005
#: As much slower execution differs from run to run anyway.
_LEAST_SLOWER = 0.01
#: Waiting between these multiples of what the kernel keeps is taken for that.
_KEPT_LOW, _KEPT_HIGH = 0.3, 1.4
#: Gaps closer than this belong to one episode.
_EPISODE_NS = 200_000_000
#: A shorter time between release and start is a wake-up.
_PAUSE_NS = 100_000
_SECOND_NS = 1_000_000_000
#: Slower execution that a remedy takes back to this share of it was due to what it removes.
_TAKEN_BACK = 0.5
_SERVER_DEFAULT = 0.05
#: Share of the traced waiting that ordinary threads must have had for the kernel to have given it.
_MOSTLY = 0.5
#: Who had the CPU instead: as many are named.
_NAMED = 4
#: A part of the kept time below this is noise.
_LEAST_PART = 0.05
#: Time without a limit that must have been measured, in windows this long: both come once a second.
_FREE_S, _FREE_WINDOW_S = 6.0, 2.0
#: Pairs of runs that a difference needs.
_PAIRS = 3


@frozen(kw_only=True)
class Machine:
    """What of a platform causes are inferred from.

    Attributes:
        kernel: Major and minor number; (0, 0): not known.
        group_sched: Whether RT_GROUP_SCHED is built in; None: not known.
        fair_server: Share that each CPU keeps for ordinary threads, where it can be read.
        siblings: CPU -> number of CPUs of its core; empty: not known.
        scaling: Whether frequencies change (there is a cpufreq driver); None: not known.
        virtual: Whether it is a virtual machine; None: not known.
    """

    kernel: tuple[int, int] = (0, 0)
    group_sched: bool | None = None
    fair_server: float | None = None
    siblings: Mapping[str, int] = field(factory=dict)
    scaling: bool | None = None
    virtual: bool | None = None


@frozen(kw_only=True)
class _Scene:
    """What one question is answered from.

    Attributes:
        lost: Of the cell in question.
        here: Its runs.
        runs: All valid runs.
        others: Cells with as many ordinary threads, by condition.
        traced: The run with the kernel's events.
        compared: Whether what a round takes alone is of fewer ordinary threads.
    """

    lost: Lost
    here: Sequence[LoadRun]
    runs: Sequence[LoadRun]
    machine: Machine
    others: Mapping[str, LoadCell]
    traced: LoadRun | None
    compared: bool

    def share(self, part: float) -> float:
        """Of all lost time."""
        parts = (self.lost.waiting, self.lost.stopped, self.lost.slower)
        return part / sum(max(each, 0.0) for each in parts)


def causes_of(
    runs: Sequence[LoadRun],
    cells: Sequence[LoadCell],
    machine: Machine,
    traced: LoadRun | None = None,
) -> tuple[Cause, ...]:
    """Causes at the highest number of ordinary threads without a remedy, the greatest first.

    Args:
        runs: The valid ones.
        traced: The one with the kernel's events.
    """
    plain = [cell for cell in cells if cell.condition == PLAIN and cell.lost is not None]
    if not plain:
        return ()
    worst = max(plain, key=lambda cell: cell.normal)
    here = [run for run in runs if run.key.normal == worst.normal and run.key.condition == PLAIN]
    assert worst.lost is not None
    scene = _Scene(
        lost=worst.lost,
        here=here,
        runs=runs,
        machine=machine,
        others={cell.condition: cell for cell in cells if cell.normal == worst.normal},
        traced=traced,
        compared=min(cell.normal for cell in plain) < worst.normal,
    )
    found = [*_waiting(scene), *_stopped(scene), *_slower(scene), *_moves(worst, here)]
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


def _kept_by_bandwidth(runs: Sequence[LoadRun], machine: Machine) -> float | None:
    """Share of the time that RT bandwidth control keeps from real-time threads; None: none."""
    if machine.kernel >= (6, 12) and machine.group_sched is False:
        return None
    for run in runs:
        runtime, period = run.machine.get("rt_runtime_us"), run.machine.get("rt_period_us")
        if isinstance(runtime, int) and isinstance(period, int) and 0 <= runtime < period:
            return 1 - runtime / period
    return None


def _kept_by_server(machine: Machine) -> float | None:
    if machine.fair_server is not None:
        return machine.fair_server or None
    return _SERVER_DEFAULT if machine.kernel >= (6, 12) else None


def _waiting(scene: _Scene) -> list[Cause]:
    lost = scene.lost
    if lost.waiting < _LEAST_SHARE:
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
    if ordinary is not None:  # only the kernel lets them run while a real-time thread is ready
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
    first = sorted(waited.items(), key=lambda each: -each[1])[:_NAMED]
    named = ", ".join(f"{who} {ns / 1e6:.1f} ms" for who, ns in first)
    # nobody while a real-time thread is ready: only a throttled one is passed over so
    ordinary = sum(ns for who, ns in waited.items() if "ordinary" in who or "idle" in who)
    return f"; in the traced run its CPU had instead: {named}", ordinary / whole


def _other_task(scene: _Scene, shape: str, kept: float) -> Cause:
    told, ordinary = _seen_instead(scene.traced)
    apart = f"; the {kept * 1000:.0f} ms that the kernel keeps for ordinary threads do not fit"
    return Cause(
        name="other-task",
        title="something else had its CPU (a task of its priority or above, or the kernel)",
        share=scene.share(scene.lost.waiting),
        certainty="unknown" if ordinary is None else "likely",
        evidence=shape + (apart if kept else "") + told,
    )


def _kept(scene: _Scene, shape: str, bandwidth: float | None, server: float | None) -> list[Cause]:
    """Who kept the time for ordinary threads: one of the two, or both by what stays at -1."""
    share = scene.share(scene.lost.waiting)
    if not (bandwidth and server):
        return [_only(share, shape, bandwidth)]
    free = _unlimited(scene)
    if free is None or free.lost is None:
        return [_either(scene, share, shape)]
    stays = min(free.lost.waiting / scene.lost.waiting, 1.0) if _goes(scene, free) else 1.0
    goes_ms = (1 - stays) * scene.lost.waiting * 1000
    known = [
        (
            "rt-bandwidth",
            "RT bandwidth control throttled it",
            1 - stays,
            f"{goes_ms:.1f} ms of the waiting go at sched_rt_runtime_us = -1",
        ),
        (
            "fair-server",
            "the fair server gave its CPU to ordinary threads",
            stays,
            f"{free.lost.waiting * 1000:.1f} ms stay at sched_rt_runtime_us = -1, which leaves the"
            " fair server as it is",
        ),
    ]
    parts = sorted((each for each in known if each[2] >= _LEAST_PART), key=lambda each: -each[2])
    return [
        Cause(
            name=name,
            title=title,
            share=share * part,
            certainty="shown",
            # how it waited is told once, with the greater of the two
            evidence=f"{shape}; {told}" if place == 0 else told,
        )
        for place, (name, title, part, told) in enumerate(parts)
    ]


def _either(scene: _Scene, share: float, shape: str) -> Cause:
    """Where nothing tells the two apart."""
    cell = scene.others.get("rt-bandwidth")
    left = cell.lost.waiting if cell is not None and cell.lost is not None else None
    gone = left is not None and left <= _TAKEN_BACK * scene.lost.waiting
    told = "the remedy rt-bandwidth, in runs of 2 s, tells the two apart"
    if gone and left is not None:
        told = f"{left * 1000:.1f} ms with the remedy rt-bandwidth"
    return Cause(
        name="bandwidth",
        title="the kernel kept its CPU for ordinary threads (RT bandwidth or fair server)",
        share=share,
        certainty="shown" if gone else "likely",
        evidence=f"{shape}; {told}",
    )


def _only(share: float, shape: str, bandwidth: float | None) -> Cause:
    """Where one of the two is there, and the other is not."""
    if bandwidth:
        return Cause(
            name="rt-bandwidth",
            title="RT bandwidth control throttled it",
            share=share,
            certainty="shown",
            evidence=f"{shape}; sched_rt_runtime_us keeps {bandwidth * 1000:.0f} ms/s, and there is"
            " no fair server",
        )
    return Cause(
        name="fair-server",
        title="the fair server gave its CPU to ordinary threads",
        share=share,
        certainty="shown",
        evidence=f"{shape}; RT bandwidth control is off",
    )


def _goes(scene: _Scene, free: LoadCell) -> bool:
    """Whether some of the waiting goes without the limit, beyond what runs differ by: the interval
    of the difference, of pairs of runs of one repeat, lies above 0."""
    key = free.normal, free.condition
    without = {
        run.key.repeat: _waiting_share(run)
        for run in scene.runs
        if (run.key.normal, run.key.condition) == key
    }
    differences = np.array(
        [
            _waiting_share(run) - without[run.key.repeat]
            for run in scene.here
            if run.key.repeat in without
        ],
        np.float64,
    )
    if len(differences) < _PAIRS:
        return False
    return float(differences.mean()) > student_half_width(differences)


def _waiting_share(run: LoadRun) -> float:
    """Share of the window in which the thread was ready and did not run."""
    low, high = run.window_ns
    inside = (run.rounds.release_ns >= low) & (run.rounds.release_ns < high)
    return float(run.rounds.delay_ns[inside].sum()) / (high - low)


def _unlimited(scene: _Scene) -> LoadCell | None:
    """The cell without an RT bandwidth limit, the fair server as it was, where that was
    measured long enough; None: it was not."""
    for condition in ("rt-bandwidth", ALL):
        cell = scene.others.get(condition)
        key = (cell.normal, condition) if cell else None
        own = [run for run in scene.runs if (run.key.normal, run.key.condition) == key]
        long = sum(run.window_s for run in own) >= _FREE_S
        off = own and all(run.machine.get("rt_runtime_us") == -1 for run in own)
        served = any("fair_server" in path for run in own for path in run.applied)
        if cell is not None and long and off and not served and own[0].window_s >= _FREE_WINDOW_S:
            return cell
    return None


# --- nothing moved, and slower ------------------------------------------------------------------


def _stopped(scene: _Scene) -> list[Cause]:
    lost, here = scene.lost, scene.here
    if lost.stopped < _LEAST_SHARE:
        return []
    share = scene.share(lost.stopped)
    shape = f"{lost.stopped * 1000:.1f} ms of every second it had the CPU and nothing moved"
    shape += _interrupts(scene.traced)
    ticks = [run.machine.get("steal_ticks") for run in here]
    stolen = sum(tick for tick in ticks if isinstance(tick, int))
    if stolen:
        return [
            Cause(
                name="steal",
                title="the host took the CPU",
                share=share,
                certainty="likely",
                evidence=f"{shape}; {stolen} stolen ticks in {len(here)} runs",
            )
        ]
    where = {True: "; a virtual machine", False: "; no virtual machine", None: ""}[
        scene.machine.virtual
    ]
    return [
        Cause(
            name="host-or-interrupt",
            title="an interrupt, the firmware or the host stopped the CPU",
            share=share,
            certainty="unknown",
            evidence=f"{shape}; no stolen ticks{where}",
        )
    ]


def _frequencies(runs: Sequence[LoadRun]) -> str:
    """The range of frequencies that were read around runs, in words; "" where none were."""
    seen = [
        khz
        for run in runs
        for pair in (run.machine.get("frequency_khz") or {}).values()
        for khz in pair
        if isinstance(khz, int)
    ]
    return f" ({min(seen) / 1e6:.2f} to {max(seen) / 1e6:.2f} GHz)" if seen else ""


def _interrupts(traced: LoadRun | None) -> str:
    """What interrupts took of its CPU in the traced run, in words."""
    spans: dict[str, int] = (traced.trace.get("interrupted_ns") or {}) if traced else {}
    if not spans or traced is None:
        return ""
    first = sorted(spans.items(), key=lambda each: -each[1])[:_NAMED]
    named = ", ".join(f"{name} {ns / 1e6:.1f} ms" for name, ns in first)
    return f"; in {traced.window_s:g} s with events interrupts took {named}"


def _slower(scene: _Scene) -> list[Cause]:
    lost, machine = scene.lost, scene.machine
    if lost.slower < _LEAST_SLOWER or not scene.compared:
        return []
    share = scene.share(lost.slower)
    shape = f"{lost.slower * 1000:.1f} ms of every second went into slower execution than alone"
    shared = any(count > 1 for count in machine.siblings.values())
    for name, title, there in (
        ("smt", "threads on the sibling of its core slowed it down", shared),
        ("frequency", "the CPU ran at a lower frequency", machine.scaling is True),
    ):
        remedy = "smt" if name == "smt" else "governor"
        cell = scene.others.get(remedy)
        if not there or cell is None or cell.lost is None:
            continue
        if cell.lost.slower <= _TAKEN_BACK * lost.slower:
            evidence = f"{shape}; {cell.lost.slower * 1000:.1f} ms with the remedy {remedy}"
            return [
                Cause(name=name, title=title, share=share, certainty="shown", evidence=evidence)
            ]
    candidates = [
        word
        for word, there in (
            ("an SMT sibling", shared),
            (f"the frequency{_frequencies(scene.here)}", machine.scaling is True),
            ("the host", machine.virtual is True),
            ("the memory and caches that all CPUs share", True),
        )
        if there
    ]
    return [
        Cause(
            name="unknown",
            title="it ran slower, and why is not known",
            share=share,
            certainty="unknown",
            evidence=f"{shape}; it may be {', '.join(candidates)}",
        )
    ]


def _moves(cell: LoadCell, here: Sequence[LoadRun]) -> list[Cause]:
    """What moves between CPUs go with: rounds that have one against rounds that have none."""
    if cell.moves_per_s is None or cell.moves_per_s.value <= 0:
        return []
    moved, stayed = [], []
    for run in here:
        own = run.rounds.cpu_ns.astype(np.float64)
        moved += own[run.rounds.moves > 0].tolist()
        stayed += own[run.rounds.moves == 0].tolist()
    if not moved or not stayed:
        return []
    more = float(np.median(moved) - np.median(stayed))
    return [
        Cause(
            name="migration",
            title="it moved between CPUs",
            share=None,
            certainty="shown",
            evidence=f"{cell.moves_per_s.value:.2f} moves per second; rounds with one took"
            f" {more / 1000:+.0f} us of CPU time (medians, {len(moved)} against {len(stayed)})",
        )
    ]
