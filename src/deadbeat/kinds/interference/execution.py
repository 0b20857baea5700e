"""What kept a real-time thread back while it had a CPU: stopped, slowed down, moved; pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from attrs import frozen

from deadbeat.kinds.interference.lost import LostDifference, stopped_ns
from deadbeat.kinds.interference.scene import EXECUTION, LEAST_SHARE, NAMED, SLOWER, Scene
from deadbeat.model.load import PLAIN, LoadRun
from deadbeat.model.load_summary import Cause, LoadCell

#: As much slower execution differs from run to run anyway.
_LEAST_SLOWER = 0.01
#: A tick of /proc/stat, USER_HZ of proc_stat(5).
_TICK_NS = 10_000_000


# --- nothing moved ------------------------------------------------------------------------------


def stopped(scene: Scene) -> list[Cause]:
    """The host, as far as its ticks go; an interrupt or the host for the rest."""
    lost, here = scene.lost, scene.here
    if lost.stopped < LEAST_SHARE:
        return []
    shape = f"{lost.stopped * 1000:.1f} ms of every second it had the CPU and nothing moved"
    if lost.uncharged >= LEAST_SHARE:
        shape += (
            f", {lost.uncharged * 1000:.1f} ms of them in no account of any thread (the kernel"
            " itself puts them down to interrupts or the host)"
        )
    shape += _interrupts(scene.traced)
    seconds = sum(run.window_s for run in here)
    known = [(run, _stolen(run)) for run in here]
    ticks = sum(count for _, count in known if count is not None)
    by_host = sum(
        min(stopped_ns(run)[0], count * _TICK_NS) for run, count in known if count is not None
    )
    stolen = min(by_host / 1e9 / seconds, lost.stopped)
    found = []
    if stolen >= LEAST_SHARE:
        found.append(
            Cause(
                name="steal",
                title="the host took the CPU",
                share=scene.share(stolen),
                certainty="likely",
                evidence=f"{shape}; {ticks} stolen ticks of 10 ms on its own CPUs in {len(here)}"
                f" runs account for {stolen * 1000:.1f} ms of every second at most",
            )
        )
    rest = lost.stopped - stolen
    if rest >= LEAST_SHARE:
        found.append(_unexplained(scene, rest, shape, ticks, [count for _, count in known]))
    return found


def _unexplained(
    scene: Scene, rest: float, shape: str, ticks: int, known: Sequence[int | None]
) -> Cause:
    where = {True: "; a virtual machine", False: "; no virtual machine", None: ""}
    if ticks:
        told = f"{rest * 1000:.1f} ms of every second are more than its stolen ticks account for"
    elif any(count is None for count in known):
        told = f"{shape}; stolen ticks were not read"
    else:
        told = f"{shape}; no stolen ticks"
    return Cause(
        name="host-or-interrupt",
        title="an interrupt, the firmware or the host stopped the CPU",
        share=scene.share(rest),
        certainty="unknown",
        evidence=told + where[scene.machine.virtual],
    )


def _stolen(run: LoadRun) -> int | None:
    """Stolen ticks of the CPUs that the thread was on; None: not read."""
    by_cpu: dict[str, Any] | None = run.machine.get("steal_ticks_by_cpu")
    if by_cpu is None:
        whole = run.machine.get("steal_ticks")
        return whole if isinstance(whole, int) else None
    own = {*run.rounds.cpu_start.tolist(), *run.rounds.cpu_finish.tolist()}
    return sum(by_cpu.get(str(cpu)) or 0 for cpu in own)


def _interrupts(traced: LoadRun | None) -> str:
    """What interrupts took of its CPU in the traced run, in words."""
    spans: dict[str, int] = (traced.trace.get("interrupted_ns") or {}) if traced else {}
    if not spans or traced is None:
        return ""
    first = sorted(spans.items(), key=lambda each: -each[1])[:NAMED]
    named = ", ".join(f"{name} {ns / 1e6:.1f} ms" for name, ns in first)
    return f"; in {traced.window_s:g} s with events interrupts took {named}"


# --- slower -------------------------------------------------------------------------------------


@frozen(kw_only=True)
class _Slowing:
    """Something that slows execution down, and the experiment that shows it."""

    name: str
    title: str
    remedy: str
    #: What the remedy is compared with: the same without what it takes away.
    against: str


_SLOWING = (
    _Slowing(
        name="smt",
        title="threads on the sibling of its core slowed it down",
        remedy="smt",
        against="pin",  # the remedy binds the thread too
    ),
    _Slowing(
        name="frequency",
        title="the CPU ran at a lower frequency",
        remedy="governor",
        against=PLAIN,
    ),
)


def slower(scene: Scene) -> list[Cause]:
    """What each remedy takes back of it, as far as intervals show; the rest is unknown."""
    lost = scene.lost.slower
    if lost < _LEAST_SLOWER or not scene.compared:
        return []
    shape = f"{lost * 1000:.1f} ms of every second went into slower execution than alone"
    there = {
        "smt": any(count > 1 for count in scene.machine.siblings.values()),
        "frequency": scene.machine.scaling is True,
    }
    found, left, notes = [], lost, ""
    for each in _SLOWING:
        less = scene.less(each.against, each.remedy, SLOWER)
        if not there[each.name] or less is None:
            continue
        told = f"the remedy {each.remedy} takes {less.text(1000)} ms of every second back"
        told += "" if each.against == PLAIN else f", against {each.against}"
        if not less.above:
            notes += f"; {told}: not shown{_among(less)}"
            continue
        part = min(less.mean, left)
        left -= part
        found.append(
            Cause(
                name=each.name,
                title=each.title,
                share=scene.share(part),
                certainty="shown",
                evidence=f"{shape}; {told}",
            )
        )
    if left >= _LEAST_SLOWER:
        found.append(_unknown(scene, left, shape + notes, there, [each.name for each in found]))
    return [cause for cause in found if cause.share]


def _unknown(
    scene: Scene, left: float, shape: str, there: dict[str, bool], shown: Sequence[str]
) -> Cause:
    candidates = [
        word
        for word, possible in (
            ("an SMT sibling", there["smt"] and "smt" not in shown),
            (
                f"the frequency{_frequencies(scene.here)}",
                there["frequency"] and "frequency" not in shown,
            ),
            ("the host", scene.machine.virtual is True),
            ("the memory and caches that all CPUs share", True),
        )
        if possible
    ]
    rest = f"{left * 1000:.1f} ms of it are left; " if shown else ""
    return Cause(
        name="unknown",
        title="it ran slower, and why is not known",
        share=scene.share(left),
        certainty="unknown",
        evidence=f"{shape}; {rest}it may be {', '.join(candidates)}",
    )


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


# --- moves --------------------------------------------------------------------------------------


def moves(scene: Scene, cell: LoadCell) -> list[Cause]:
    """What moves between CPUs cost: of the remedy that prevents them. Rounds with a move are no
    measure of it: a long round has more chances to be moved."""
    if cell.moves_per_s is None or cell.moves_per_s.value <= 0:
        return []
    less = scene.less(PLAIN, "pin", EXECUTION)
    stayed = all(_moved(run) == 0 for run in scene.of("pin"))
    shape = f"{cell.moves_per_s.value:.2f} moves per second"
    return [
        Cause(
            name="migration",
            title="it moved between CPUs",
            share=None,
            certainty="shown" if less is not None and less.above and stayed else "unknown",
            evidence=f"{shape}; {_price(less, stayed=stayed)}",
        )
    ]


def _price(less: LostDifference | None, *, stayed: bool) -> str:
    if less is None:
        return "what they cost is not known: the remedy pin was not measured beside it"
    text = f"bound to one CPU a round takes {less.text(1e-3)} us of CPU time less"
    if not stayed:
        return f"{text}, but it was moved there too"
    return text if less.above else f"{text}: a cost is not shown{_among(less)}"


def _among(less: LostDifference) -> str:
    """Why an interval off zero shows nothing."""
    return " among all comparisons of the test" if less.low > 0 and not less.above else ""


def _moved(run: LoadRun) -> int:
    return int(run.rounds.moves.sum())
