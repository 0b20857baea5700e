"""Threads that are no tasks of a program, and why: they begin and end, or serve its runtime."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

import numpy as np

from deadbeat.program.derive import arrivals
from deadbeat.program.derive.jobs import JOBS_MIN, NAP_NS, SURE_JOBS, ThreadJobs
from deadbeat.program.derive.records import REAL_TIME, RecordedThread, RecordKind
from deadbeat.program.derive.tracks import Track

#: A thread without a name or a period that works for less is a helper.
HELPER_NS = 100_000
#: So does one that has less than this share of what the thread that works most has.
HELPER_SHARE = 0.1
#: What starts other programs, and waits for them.
FRONTS = {"bash", "dash", "doas", "sh", "su", "sudo", "time", "timeout", "watch", "xargs", "zsh"}
#: A thread without jobs that works for this share of the time is named, of so much at least.
BUSY, BUSY_NS = 0.05, 1_000_000_000
#: Begin and end of a program are such shares of the time.
_EDGE = 0.1


def naps(track: Track) -> bool:
    """Whether it looks after other threads of a runtime: it pauses by a call that no C library of
    today makes."""
    sites = [place for place, site in enumerate(track.sites) if site.call == "nanosleep"]
    waits = track.waits[np.isin(track.waits["site"], sites) & (track.waits["timer"] != 0)]
    return int((waits["timer"] - waits["enter"] < NAP_NS).sum()) >= JOBS_MIN


def jobless(track: Track, blind: bool) -> str:
    """Why a thread without jobs is no task; "": it hardly runs, or only begins and ends. ``blind``:
    without events of the kernel, where it seems to run on."""
    ran = float(track.thread.cpu_ns if blind else track.on_cpu(np.array([track.end]))[0])
    share = ran / max(track.end, 1)
    away = (track.blocks["wake"] - track.blocks["enter"]).max(initial=0)  # as in a join
    idle = away > track.end / 2 or (rests(track) and not len(track.of(RecordKind.END)))
    if ran < HELPER_NS or idle:
        return ""
    if share >= BUSY and track.end > BUSY_NS and not rests(track):
        why = "it hardly waits: it spins, is always late, or has no jobs"
        return f"{why}; it runs {share:.0%} of the time"
    waits = track.waits[track.waits["blocked"]]
    count = np.bincount(waits["site"], minlength=1)
    if track.sites and track.sites[int(count.argmax())].what == "lock" and count.max() >= SURE_JOBS:
        return "it waits for locks alone"
    return "too few jobs" if count.max() >= JOBS_MIN or track.thread.policy in REAL_TIME else ""


def computed(track: Track) -> float:
    """CPU time since its last wait, ns."""
    last = track.blocks["exit"][-1] if len(track.blocks) else 0
    return float(np.diff(track.on_cpu(np.array([last, track.end])))[0])


def rests(track: Track) -> bool:
    """Whether it hardly runs between the first tenth of the time and the last."""
    return bool(np.diff(track.on_cpu(np.array([_EDGE, 1 - _EDGE]) * track.end))[0] < HELPER_NS)


def helpers_of(
    found: Mapping[int, ThreadJobs], threads: Mapping[int, RecordedThread], moving: set[int]
) -> set[int]:
    """Threads that serve a runtime: with little work, and without a name of their own (the
    process's, or a shared one where the runtime moves work), or a period."""
    names = Counter((thread.pid, thread.name) for thread in threads.values())
    work = {tid: float(jobs.rows["charged"].sum()) for tid, jobs in found.items()}
    helpers = set()
    for tid, jobs in found.items():
        thread, grid = threads[tid], arrivals.fit(jobs.rows["release"])
        if tid == thread.pid and thread.name in FRONTS:
            helpers.add(tid)
        main = thread.pid in threads and threads[thread.pid].name == thread.name
        main &= not thread.start or ".so" in thread.start  # else its author's
        shared = thread.pid in moving and names[thread.pid, thread.name] > 1
        timed = jobs.what == "absolute" or (jobs.site.what == "sleep" and thread.pid not in moving)
        if tid == thread.pid or not (main or shared) or timed or thread.policy in REAL_TIME:
            continue
        most = max(work[other] for other in found if threads[other].pid == thread.pid)
        little = thread.pid in moving and work[tid] < HELPER_SHARE * most
        little |= not (grid and grid.fits)
        if little and np.median(jobs.rows["charged"]) < HELPER_NS:
            helpers.add(tid)
    return helpers
