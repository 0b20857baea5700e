"""Who kept its CPU for ordinary threads: RT bandwidth control or the fair server; pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from attrs import frozen

from deadbeat.kinds.load.lost import PAIRS_MIN, WAITING, LostDifference, Scene, lost_of
from deadbeat.model.load import ALL, PLAIN, Cause

#: Lost time below this share of the window is not worth a cause.
LEAST_SHARE = 0.0005
#: A part of the kept time below this is noise unless it is shown.
LEAST_PART = 0.05
#: Time without a limit that must have been measured, in windows this long: both come once a second.
_FREE_S, _FREE_WINDOW_S = 6.0, 2.0

TITLES = {
    "rt-bandwidth": "RT bandwidth control throttled it",
    "fair-server": "the fair server gave its CPU to ordinary threads",
    "bandwidth": "the kernel kept its CPU for ordinary threads (RT bandwidth or fair server)",
    "fair-scheduling": "it is an ordinary thread and shares its CPU with others",
    "other-task": "something else had its CPU (a task of its priority or above, or the kernel)",
    "steal": "the host took the CPU",
    "host-or-interrupt": "an interrupt, the firmware or the host stopped the CPU",
    "smt": "threads on the sibling of its core slowed it down",
    "frequency": "the CPU ran at a lower frequency",
    "unknown": "it ran slower, for an unknown reason",
    "migration": "it moved between CPUs",
}


def cause_of(name: str, share: float | None, certainty: str, evidence: str) -> Cause:
    title = TITLES[name]
    return Cause(name=name, title=title, share=share, certainty=certainty, evidence=evidence)


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
        before = "nothing done" if self.before == PLAIN else self.before
        return (
            f"{self.goes.text(1000)} ms disappear, {self.stays.text(1000)} ms remain"
            f" ({self.after} against {before})"
        )


def _freed(scene: Scene) -> Iterator[_Freed]:
    """Every condition that takes the limit off and leaves the fair server as it is, measured long
    enough, with the one it differs from by that most nearly."""
    bound = scene.bound()
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
        goes, stays = scene.less(before, after, WAITING), scene.less("", after, WAITING)
        if goes is None or stays is None or goes.pairs < PAIRS_MIN:
            continue
        with_it = float(np.mean([lost_of(run, None).waiting for run in scene.of(before)]))
        part = min(goes.mean / with_it, 1.0) if goes.above and with_it else 0.0
        yield _Freed(after=after, before=before, goes=goes, stays=stays, part=part)


def kept_by(
    scene: Scene, share: float, shape: str, bandwidth: float | None, server: float | None
) -> list[Cause]:
    """Who kept the time for ordinary threads: one of the two, or both by what goes without the
    limit. All that was measured without it is told; what differs between two such comparisons is
    not shown."""
    freed = list(_freed(scene))
    agree = _agree(freed)
    rt_shown = agree and any(each.goes.above for each in freed)
    if not bandwidth:
        return [cause_of("fair-server", share, "likely", f"{shape}; RT bandwidth control is off")]
    if not server:
        told = "".join(f"; without it {each.words}" for each in freed)
        evidence = (
            f"{shape}; sched_rt_runtime_us keeps {bandwidth * 1000:.0f} ms/s, and there is no fair"
            f" server{told}"
        )
        return [cause_of("rt-bandwidth", share, "shown" if rt_shown else "likely", evidence)]
    if not freed:
        return [_either(scene, share, shape)]
    told = "at sched_rt_runtime_us = -1, which leaves the fair server as it is, "
    told += "; ".join(each.words for each in freed)
    told += "" if agree else "; the two do not agree"
    # one that shows nothing, as its runs differ too much, takes nothing from one that does
    parts_shown = [each.part for each in freed if not agree or each.goes.above]
    part = float(np.mean(parts_shown or [0.0]))
    server_shown = agree and any(
        each.stays.above and each.stays.mean >= LEAST_SHARE for each in freed
    )
    known = [("rt-bandwidth", part, rt_shown), ("fair-server", 1 - part, server_shown)]
    # what is shown is named however small
    parts = [each for each in known if each[1] >= LEAST_PART or (each[2] and each[1] > 0)]
    parts.sort(key=lambda each: -each[1])
    # how it waited, and what shows it, is told once, with the greater of the two
    evidences = (f"{shape}; {told}", f"as said of the {parts[0][0]} above")
    return [
        cause_of(name, share * size, "shown" if shown else "likely", evidence)
        for (name, size, shown), evidence in zip(parts, evidences, strict=False)
    ]


def _agree(freed: Sequence[_Freed]) -> bool:
    """Whether no two contradict one another: intervals of what goes have something in common, and
    those of what stays."""
    return all(
        max(interval.low for interval in intervals) <= min(interval.high for interval in intervals)
        for intervals in ([each.goes for each in freed], [each.stays for each in freed])
        if intervals
    )


def _either(scene: Scene, share: float, shape: str) -> Cause:
    """Where nothing tells the two apart."""
    less = scene.less(PLAIN, "rt-bandwidth", WAITING)
    if less is None:
        told = "the remedy rt-bandwidth, in runs of 2 s and repeated, distinguishes the two"
    else:
        told = f"{less.text(1000)} ms of it go with the remedy rt-bandwidth"
    certainty = "shown" if less is not None and less.above else "likely"
    return cause_of("bandwidth", share, certainty, f"{shape}; {told}")
