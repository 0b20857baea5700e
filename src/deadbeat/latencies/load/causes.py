"""What took the real-time thread's time, from evidence; pure.

Three kinds of lost time are known exactly (`model.load.LostTime`): it waited although ready,
it had the CPU and nothing moved, it ran slower. Who did it is inferred:

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

The first cause is the one without which most misses end: what took most time may make no round
miss.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from attrs import evolve, frozen

from deadbeat.base.model.histogram import Integers
from deadbeat.base.model.lateness import (
    EITHER,
    FREQUENCY,
    KEPT,
    MIGRATED,
    NOT_SEEN,
    PREEMPTED,
    SIBLING,
    SLOWER,
    STOLEN,
    STOPPED,
    WAITING,
    cause_named,
)
from deadbeat.latencies.load.lost import (
    EXECUTION,
    LEAST_PART,
    LEAST_SHARE,
    Scene,
    SceneMachine,
    cause_of,
    kept_by,
    parts_of,
    stopped_ns,
)
from deadbeat.latencies.load.model import PLAIN, Cause, LoadCell, LoadKey, LoadRun
from deadbeat.machine.host.judgements import rt_kept
from deadbeat.machine.trace.paths import Takers

#: Slower execution up to this share is within what runs differ by anyway.
_LEAST_SLOWER = 0.01
#: Number of threads named that had the CPU instead.
_NAMED = 4
#: Waiting between these multiples of what the kernel keeps is taken for that.
_KEPT_LOW, _KEPT_HIGH = 0.3, 1.4
#: Gaps closer than this belong to one episode.
_EPISODE_NS = 200_000_000
#: A shorter time between release and start is a wake-up.
_PAUSE_NS = 100_000
_SECOND_NS = 1_000_000_000
#: A tick of /proc/stat, USER_HZ of proc_stat(5).
_TICK_NS = 10_000_000
_SERVER_DEFAULT = 0.05
#: Share of the traced waiting that ordinary threads must have had for the kernel to have given it.
_MOSTLY = 0.5


def causes_of(
    runs: Sequence[LoadRun],
    cells: Sequence[LoadCell],
    machine: SceneMachine,
    traced: LoadRun | None,
    *,
    failures: Mapping[LoadKey, Integers],
    alone_ns: int | None,
    deadline_ns: int,
) -> tuple[Cause, ...]:
    """Causes at the highest number of ordinary threads without a remedy; first those without which
    most misses end, then the greatest.

    Args:
        runs: The valid ones.
        traced: The one with the kernel's events.
        failures: Failures of every round of each run.
        alone_ns: CPU time that a round takes alone.
    """
    plain = [cell for cell in cells if cell.condition == PLAIN and cell.lost is not None]
    if not plain:
        return ()
    worst = max(plain, key=lambda cell: cell.normal)
    assert worst.lost is not None
    crowded = [run for run in runs if run.key.normal == worst.normal]
    scene = Scene(
        lost=worst.lost,
        here=[run for run in crowded if run.key.condition == PLAIN],
        runs=crowded,
        machine=machine,
        traced=traced,
        compared=min(cell.normal for cell in plain) < worst.normal,
        alone_ns=alone_ns,
    ).judged()
    found = [*_waiting(scene), *_stopped(scene), *_slower(scene), *_moves(scene, worst)]
    large = [cause for cause in found if cause.share is None or cause.share >= LEAST_PART / 10]
    causes = sorted(large, key=lambda cause: -(cause.share or 0.0))
    if not any(failures[run.key].any() for run in scene.here):
        return tuple(causes)
    parts = {part: max(getattr(scene.lost, part), 0.0) for part in (WAITING, STOPPED, SLOWER)}
    times = [(run, failures[run.key], parts_of(run, alone_ns)) for run in scene.here]

    def ended(cause: Cause) -> int | None:
        part = cause_named(cause.name).takes
        if cause.share is None or not part:
            return None
        taken = min(cause.share * sum(parts.values()) / parts[part], 1.0)
        return sum(
            int(failed[run.rounds.response_ns - taken * took[part] <= deadline_ns].sum())
            for run, failed, took in times
        )

    known = [evolve(cause, misses=ended(cause)) for cause in causes]
    return tuple(sorted(known, key=lambda each: -(each.misses or 0)))


# ---------- waiting ----------


@frozen(kw_only=True)
class Episodes:
    """How many stretches of waiting, gaps joined; the median of the waiting in one, and of the
    distance of two that follow one another in one run (None: no two do)."""

    count: int
    length_ns: int
    period_ns: int | None


def episodes_of(runs: Sequence[LoadRun]) -> Episodes:
    """Times inside windows in which the thread was ready."""
    lengths: list[int] = []
    distances: list[int] = []
    for run in runs:
        starts: list[int] = []
        end = None
        # When and how long the thread was ready and did not run: gaps in its work, and between a
        # release and its start.
        gaps, rounds = run.gaps, run.rounds
        inside = gaps.length_ns <= 2 * gaps.delay_ns
        found = list(zip(gaps.at_ns[inside].tolist(), gaps.length_ns[inside].tolist(), strict=True))
        pause = rounds.start_ns - rounds.release_ns
        # the scheduler's account is read after a round has finished, so a pause may be in either
        delay = rounds.delay_ns + np.append(0, rounds.delay_ns[:-1])[: len(rounds)]
        long = (pause > _PAUSE_NS) & (pause <= 2 * delay)
        found += zip(rounds.release_ns[long].tolist(), pause[long].tolist(), strict=True)
        for at, length in sorted(found):
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


def _waiting(scene: Scene) -> list[Cause]:
    waiting, machine = scene.lost.waiting, scene.machine
    if waiting < LEAST_SHARE:
        return []
    share, seen = scene.share(waiting), episodes_of(scene.here)
    shape = f"{waiting * 1000:.1f} ms of every second the thread was ready and did not run"
    if seen.count:
        shape += f", in {seen.count} stretches of {seen.length_ns / 1e6:.1f} ms"
        if seen.period_ns is not None:
            shape += f", {seen.period_ns / 1e6:.0f} ms apart (median)"
    if all(run.policy == "other" for run in scene.here):
        return [cause_of(PREEMPTED, share, "shown", f"{shape}; it is an ordinary thread")]
    limits = ((run.machine.get("rt_runtime_us"), run.machine.get("rt_period_us"))
              for run in scene.here)  # fmt: skip
    limited = (rt_kept(*limit, machine.kernel, None) for limit in limits)
    bandwidth = next((kept for kept in limited if kept is not None), None)
    server = machine.fair_server
    if server is None and machine.kernel >= (6, 12):
        server = _SERVER_DEFAULT
    kept = max(bandwidth or 0.0, server or 0.0)
    text, ordinary = _seen_instead(scene.traced)
    fits = _KEPT_LOW * kept <= waiting <= _KEPT_HIGH * kept
    if not kept or not (fits if ordinary is None else ordinary >= _MOSTLY):
        apart = f"; the {kept * 1000:.0f} ms that the kernel keeps for ordinary threads do not fit"
        certainty = "unknown" if ordinary is None else "likely"
        return [cause_of(PREEMPTED, share, certainty, shape + (apart if kept else "") + text)]
    found = kept_by(scene, share, shape + text, bandwidth, server)
    if ordinary is not None and len(found) == 1 and (
        found[0].name == KEPT or not (bandwidth and server)
    ):  # fmt: skip
        # only the kernel lets them run while a real-time thread is ready; not: which part of it
        return [evolve(cause, certainty="shown") for cause in found]
    # a share kept of every second is not many short stretches
    longest = kept * _SECOND_NS
    if seen.count > 0 and 0.1 * longest <= seen.length_ns <= 1.5 * longest:
        return found
    return [evolve(cause, certainty="likely") for cause in found]


def _seen_instead(traced: LoadRun | None) -> tuple[str, float | None]:
    """What the traced run says of who had the CPU: in words, and the share that ordinary threads
    had; None: it says nothing."""
    trace = traced.trace if traced is not None else Takers()
    if "unavailable" in trace:
        return f"; events were not recorded: {trace['unavailable']}", None
    waited = trace.get("waited_ns", {})
    whole = sum(waited.values())
    if not whole:
        return "", None
    # idle while a real-time thread is ready: only a throttled one is passed over so
    ordinary = sum(ns for who, ns in waited.items() if "ordinary" in who or "idle" in who)
    return f"; in the traced run its CPU had instead: {_first(waited)}", ordinary / whole


def _first(spans_ns: dict[str, int]) -> str:
    """The longest of them: ``sh (ordinary) 9.0 ms, no thread (idle) 0.1 ms``."""
    first = sorted(spans_ns.items(), key=lambda each: -each[1])[:_NAMED]
    return ", ".join(f"{name} {ns / 1e6:.1f} ms" for name, ns in first)


# ---------- nothing moved ----------


def _stopped(scene: Scene) -> Iterator[Cause]:
    """The host, as far as its ticks go; an interrupt or the host for the rest."""
    lost, here = scene.lost, scene.here
    if lost.stopped < LEAST_SHARE:
        return
    shape = f"{lost.stopped * 1000:.1f} ms of every second it had the CPU and nothing moved"
    if lost.uncharged >= LEAST_SHARE:
        shape += (
            f", {lost.uncharged * 1000:.1f} ms of them in no account of any thread (the kernel"
            " itself puts them down to interrupts or the host)"
        )
    traced = scene.traced
    if traced is not None and (spans := traced.trace.get("interrupted_ns")):
        shape += f"; in {traced.window_s:g} s with events interrupts took {_first(spans)}"
    known = [_stolen(run) for run in here]
    ticks = sum(count or 0 for count in known)
    by_host = sum(
        min(stopped_ns(run)[0], (count or 0) * _TICK_NS)
        for run, count in zip(here, known, strict=True)
    )
    stolen = min(by_host / 1e9 / sum(run.window_s for run in here), lost.stopped)
    if stolen >= LEAST_SHARE:
        text = (
            f"{shape}; {ticks} stolen ticks of 10 ms on its own CPUs in {len(here)} runs account"
            f" for {stolen * 1000:.1f} ms of every second at most"
        )
        yield cause_of(STOLEN, scene.share(stolen), "likely", text)
    rest = lost.stopped - stolen
    if rest >= LEAST_SHARE:
        if ticks:
            text = (
                f"{rest * 1000:.1f} ms of every second are more than its stolen ticks account for"
            )
        elif None in known:
            text = f"{shape}; stolen ticks were not read"
        else:
            text = f"{shape}; no stolen ticks"
        where = {True: "; a virtual machine", False: "; no virtual machine", None: ""}
        text += where[scene.machine.virtual]
        yield cause_of(EITHER, scene.share(rest), "unknown", text)


def _stolen(run: LoadRun) -> int | None:
    """Stolen ticks of the CPUs that the thread was on; None: not read."""
    by_cpu = run.machine.get("steal_ticks_by_cpu")
    if by_cpu is None:
        whole = run.machine.get("steal_ticks")
        return whole if isinstance(whole, int) else None
    own = {*run.rounds.cpu_start.tolist(), *run.rounds.cpu_finish.tolist()}
    return sum(by_cpu.get(str(cpu)) or 0 for cpu in own)


# ---------- slower ----------


def _slower(scene: Scene) -> Iterator[Cause]:
    """What each remedy takes back of it, as far as intervals show; the rest is unknown."""
    lost, machine = scene.lost.slower, scene.machine
    if lost < _LEAST_SLOWER or not scene.compared:
        return
    shape = f"{lost * 1000:.1f} ms of every second went into slower execution than alone"
    # cause -> its remedy, and the same without what that takes away: smt binds the thread too
    slowing = {SIBLING: ("smt", "pin"), FREQUENCY: ("governor", PLAIN)}
    there = {
        SIBLING: any(count > 1 for count in machine.siblings.values()),
        FREQUENCY: machine.scaling is True,
    }
    left, notes, shown = lost, "", []
    for name, (remedy, against) in slowing.items():
        less = scene.less(against, remedy, SLOWER)
        if not there[name] or less is None:
            continue
        text = f"the remedy {remedy} takes {less.text(1000)} ms of every second back"
        text += "" if against == PLAIN else f", against {against}"
        if not less.above:
            notes += f"; {text}: not shown{less.among}"
            continue
        shown.append(name)
        part = min(less.mean, left)
        left -= part
        if part:
            yield cause_of(name, scene.share(part), "shown", f"{shape}; {text}")
    if left >= _LEAST_SLOWER:
        open_ones = [name for name in slowing if there[name] and name not in shown]
        seen = [
            khz
            for run in scene.here
            for pair in (run.machine.get("frequency_khz") or {}).values()
            for khz in pair
            if isinstance(khz, int)
        ]
        ends = f" ({min(seen) / 1e6:.2f} to {max(seen) / 1e6:.2f} GHz)" if seen else ""
        words = {SIBLING: "an SMT sibling", FREQUENCY: f"the frequency{ends}"}
        host = ["the host"] if machine.virtual is True else []
        rest = f"{left * 1000:.1f} ms of it are left; " if shown else ""
        maybe = [*(words[name] for name in open_ones), *host,
                 "the memory and caches that all CPUs share"]  # fmt: skip
        text = f"{shape}{notes}; {rest}it may be {', '.join(maybe)}"
        yield cause_of(NOT_SEEN, scene.share(left), "unknown", text)


# ---------- moves ----------


def _moves(scene: Scene, cell: LoadCell) -> list[Cause]:
    """What moves between CPUs cost, by the remedy that prevents them. Rounds with a move are no
    measure of it: a long round has more chances to be moved."""
    if cell.moves_per_s is None or cell.moves_per_s.value <= 0:
        return []
    less = scene.less(PLAIN, "pin", EXECUTION)
    stayed = not any(run.rounds.moves.any() for run in scene.of("pin"))
    if less is None:
        price = "what they cost is unknown: the remedy pin was not measured with it"
    else:
        price = f"bound to one CPU a round takes {less.text(1e-3)} us of CPU time less"
        if not stayed:
            price += ", but it was moved there too"
        elif not less.above:
            price += f": a cost is not shown{less.among}"
    certainty = "shown" if less is not None and less.above and stayed else "unknown"
    evidence = f"{cell.moves_per_s.value:.2f} moves per second; {price}"
    return [cause_of(MIGRATED, None, certainty, evidence)]
