"""Jobs of a thread: from one return of its job site to its next entry."""

from __future__ import annotations

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from deadbeat.derive.arrivals import Grid, fit
from deadbeat.derive.records import IN_INTERRUPT, RecordKind
from deadbeat.derive.switches import OWN, Times
from deadbeat.derive.tracks import (
    NEVER,
    PARKED,
    POLLS,
    SENDS,
    Site,
    Track,
)

#: Jobs below this number leave the kind of arrival unsure, and a thread that ended is not judged.
SURE_JOBS = 10
#: A thread that waits so seldom at a site is no task, nor one that waits there in a part of its
#: life only.
JOBS_MIN, LIFE_MIN = 3, 0.5
#: A shorter sleep is a pause of a thread that looks for work, where it waits for other things too.
NAP_NS = 100_000
#: Most waits of a kind.
MOST = 0.8
#: So much longer than jobs that are merged are they at most, as work varies.
_AS_LONG = 1.05
_TIMEOUTS = (-110, -62)

#: ``before``: when the wait for it began; ``c``: CPU time from begin to end; ``charged``: with that
#: of the wait before; ``pieces``: jobs that nothing separates, 1 or more; ``exact``: the release
#: was seen; ``waited``: the thread slept until then; ``waker``: who released it (0: a timer, a
#: device, or not known).
JOB = np.dtype(
    [
        *((name, "<i8") for name in ("before", "release", "begin", "end")),
        *((name, "<f8") for name in ("c", "charged", "suspension", "lock_wait")),
        *(("pieces", "<i8"), ("exact", "?"), ("waited", "?"), ("waker", "<i8")),
    ]
)


@frozen(kw_only=True, eq=False)
class ThreadJobs:
    """Jobs of a thread at a site. ``sleep``: what is asked of a sleep, ns (of each but the first
    job)."""

    site: Site
    what: str
    rows: NDArray[np.void]
    sleep: NDArray[np.float64]


def job_site(track: Track, wakers: dict[int, Track]) -> tuple[int, str] | None:
    """Place of the site that a job begins after, and what it is: yield, absolute, timer,
    relative, event or unknown, the first of these that there is; None: no task."""
    waits = track.waits
    if len(waits) < JOBS_MIN:
        return None
    begins = max(int(track.on[0]) if len(track.on) else 0, track.became, 0)
    ends = track.of(RecordKind.END)["ns"]
    until = track.end if track.stopped is None else track.stopped
    found: list[tuple[int, int, int, str]] = []
    order = ("yield", "absolute", "timer", "relative", "event", "unknown")
    for place, site in enumerate(track.sites):
        mine = waits[waits["site"] == place]
        # a sleep until an instant that is past is one of a thread that is late
        due = site.what == "sleep" and bool(site.object) and mine["timer"] != 0
        blocked = mine[mine["blocked"] | (site.what == "yield") | due]
        if site.what in ("lock", "call") or len(blocked) < JOBS_MIN:
            continue
        last = min(int(mine["exit"][-1]), track.end)
        lived = int(ends[-1]) if len(ends) and len(blocked) >= SURE_JOBS else until
        if last - int(mine["enter"][0]) < LIFE_MIN * (lived - begins):
            continue
        what = site.what
        if what == "sleep":
            what = "absolute" if site.object else "relative"
            asked = (blocked["timer"] - blocked["enter"])[blocked["timer"] != 0]
            if what == "relative" and len(asked) and np.median(asked) < NAP_NS:
                found.append((order.index("event"), 0, place, what))
                continue
        elif what == "event":
            what = _event(blocked, site)
            if what == "event" and _answers(track, blocked, wakers) >= MOST:
                found.append((len(order), -len(blocked), place, what))
                continue
        found.append((order.index(what), -len(blocked), place, what))
    if not found:
        return None
    _, _, place, what = min(found)
    return place, what


def _event(waits: NDArray[np.void], site: Site) -> str:
    ends = [*_TIMEOUTS, *[0] * (site.call in POLLS)]
    expired = (waits["timer"] != 0) & (waits["wake"] >= waits["timer"])
    if (np.isin(waits["ret"], ends) | expired).mean() >= MOST:
        return "relative"
    if ((waits["flags"] & IN_INTERRUPT) > 0).mean() >= MOST:
        grid = fit(waits["wake"])
        return "timer" if grid and grid.fits else "event"
    return "event"


def _answers(track: Track, waits: NDArray[np.void], others: dict[int, Track]) -> float:
    """Share of waits that end by a thread which this one woke since the wait before."""
    since = np.append(0, waits["wake"][:-1])
    found = np.zeros(len(waits), bool)
    for waker in {int(tid) for tid in waits["waker"]} & {*others} - {track.thread.tid}:
        wakes = others[waker].wakes
        asked = wakes["ns"][wakes["a"] == track.thread.tid]
        between = np.searchsorted(asked, waits["wake"]) > np.searchsorted(asked, since)
        found |= between & (waits["waker"] == waker)
    return float(found.mean())


def jobs_of(track: Track, place: int, what: str) -> ThreadJobs:
    """Complete jobs: those in progress at either end of the recording are left out."""
    site, waits = track.sites[place], track.waits
    mine = waits[waits["site"] == place]
    if what in ("event", "timer") and site.call in ("futex", PARKED):
        mine = mine[mine["blocked"]]  # who finds the word changed goes round again
    elif site.call not in ("condition", "semaphore", "barrier"):
        least = 1 if site.call in POLLS else 0
        mine = mine[mine["blocked"] | (mine["ret"] >= least)]  # there was nothing: no job
        if site.what == "event" and len(mine):  # another file had this number before it blocked
            mine = mine[int(mine["blocked"].argmax()) :]
    rows = np.zeros(max(len(mine) - 1, 0), JOB)
    if not len(rows):
        return ThreadJobs(site=site, what=what, rows=rows, sleep=np.zeros(0))
    ends = np.minimum(mine["enter"][1:], track.end)
    rows["before"], rows["begin"], rows["end"] = mine["enter"][:-1], mine["exit"][:-1], ends
    first = mine[:-1]
    timed = (first["timer"] != 0) & (what in ("yield", "absolute", "relative"))
    rows["release"] = np.where(
        timed, first["timer"], np.where(first["blocked"], first["wake"], first["enter"])
    )
    rows["exact"], rows["waited"] = timed | first["blocked"], first["blocked"]
    by_thread = first["blocked"] & ((first["flags"] & IN_INTERRUPT) == 0)
    rows["waker"] = np.where(by_thread, first["waker"], 0)
    leave, end = (track.cpu_time(rows[name]) for name in ("begin", "end"))
    before, after = (track.cpu_time(rows[n], stolen=True) for n in ("before", "end"))
    rows["c"], rows["charged"], rows["pieces"] = end - leave, after - before, 1
    inside = waits[(waits["site"] != place) & (waits["exit"] != NEVER)]
    locks = np.isin(inside["site"], [n for n, s in enumerate(track.sites) if s.what == "lock"])
    lengths = np.where(locks, inside["exit"] - inside["enter"], 0)
    rows["lock_wait"] = _sums(inside["enter"], lengths, rows)
    blocks = track.blocks
    held = inside[locks]
    free = np.ones(len(blocks), bool)
    if len(held):
        last = np.searchsorted(held["enter"], blocks["enter"], "right") - 1
        free = (last < 0) | (blocks["enter"] > held["exit"][np.maximum(last, 0)])
    away = blocks[free]
    rows["suspension"] = _sums(away["enter"], away["wake"] - away["enter"], rows)
    sleep = np.where(timed, rows["release"] - rows["before"], 0).astype(float)
    whole = rows["begin"] <= rows["end"]
    return ThreadJobs(site=site, what=what, rows=rows[whole], sleep=sleep[whole])


def _sums(
    at: NDArray[np.int64], amounts: NDArray[np.int64], rows: NDArray[np.void]
) -> NDArray[np.float64]:
    """Per job the sum of ``amounts`` at instants within it."""
    sums = np.append(0, np.cumsum(amounts, dtype=np.float64))
    begin, end = (np.searchsorted(at, rows[name], "left") for name in ("begin", "end"))
    return np.asarray(sums[np.maximum(begin, end)] - sums[begin])


def pair(jobs: ThreadJobs, tracks: dict[int, Track]) -> None:
    """Releases of jobs taken without waiting: the n-th trigger releases the n-th job, counted from
    the last job that waited."""
    rows, triggers = jobs.rows, _triggers(jobs, tracks)
    if not len(triggers) or rows["exact"].all():
        return
    at = triggers["ns"]
    number = np.searchsorted(at, rows["release"], "right") - 1  # it is recorded before it wakes
    last = -1
    for place in range(len(rows)):
        if rows["exact"][place]:
            last = int(number[place])
        elif 0 <= last < len(at) - 1 and at[last + 1] <= rows["begin"][place]:
            last += 1
            rows["release"][place], rows["exact"][place] = at[last], True
            rows["waker"][place] = triggers["tid"][last]
        else:
            last = -1


def _triggers(jobs: ThreadJobs, tracks: dict[int, Track]) -> NDArray[np.void]:
    """What releases the jobs: posts or signals of the object, or the calls of others in which they
    were woken."""
    kinds = {"semaphore": RecordKind.POST, "condition": RecordKind.SIGNAL}
    if jobs.site.call in kinds:
        found = events_of(tracks, (kinds[jobs.site.call],))
        return np.compress(found["a"] == jobs.site.object, found)
    parts = [np.zeros(0, OWN)]
    for tid in {int(waker) for waker in jobs.rows["waker"]} & {*tracks}:
        calls = tracks[tid].of(RecordKind.ENTER)
        woken = jobs.rows["release"][jobs.rows["waker"] == tid]
        within = (
            calls[np.maximum(np.searchsorted(calls["ns"], woken) - 1, 0)] if len(calls) else calls
        )
        keys = {(int(a), int(b)) for a, b in within[["a", "b"]]}
        names = tracks[tid].names
        keys = {key for key in keys if names.get(key[0], "").removesuffix("_time64") in SENDS}
        parts += [calls[(calls["a"] == a) & (calls["b"] == b)] for a, b in keys]
    found = np.concatenate(parts)
    ordered: NDArray[np.void] = found[np.argsort(found["ns"], kind="stable")]
    return ordered


def backlog(jobs: ThreadJobs) -> None:
    """Releases of jobs that did not wait, where the grid has a place for each."""
    rows = jobs.rows
    exact = np.flatnonzero(rows["exact"])
    if len(exact) == len(rows) or len(exact) < JOBS_MIN:
        return
    grid = fit(rows["release"][exact])
    if grid is None or not grid.fits:
        return
    for left, right, before, after in zip(
        exact[:-1], exact[1:], grid.numbers[:-1], grid.numbers[1:], strict=True
    ):
        if right - left > 1 and after - before == right - left:
            places = before + np.arange(1, right - left)
            rows["release"][left + 1 : right] = np.rint(grid.offset + places * grid.period)
            rows["exact"][left + 1 : right] = True
    ticks = grid.offset + np.floor((rows["begin"] - grid.offset) / grid.period) * grid.period
    for place in np.flatnonzero(~rows["exact"]):  # the last tick before it
        if place == 0 or ticks[place] > rows["release"][place - 1] + grid.period / 2:
            rows["release"][place] = round(ticks[place])


def merge(jobs: ThreadJobs, grid: Grid | None) -> None:
    """Finds jobs that nothing separates: the loop skipped its wait since it was late. Such a job
    reaches into k periods and took at most k times as long as the longest single one; it is as many
    as it took typical ones."""
    rows = jobs.rows
    if grid is None or not grid.fits or len(rows) < JOBS_MIN:
        return
    late = np.floor((rows["end"] - rows["release"]) / grid.period).astype(np.int64)
    gap = np.append(np.diff(grid.numbers), late[-1] + 1)
    slept = np.append(rows["waited"][1:], True)  # else the next wait separates the jobs
    near = np.append(grid.near[1:], True) & grid.near & ~np.append(grid.in_mode, False)
    several = (late > 0) & (gap > 1) & slept & rows["exact"] & near
    pieces = np.where(several, np.minimum(late + 1, gap), 1)
    single = rows["c"][late == 0]  # a late one may be several, or the long one
    if len(single):
        like = np.clip(np.rint(rows["c"] / max(float(np.median(single)), 1.0)), 1, pieces)
        rows["pieces"] = np.where(rows["c"] <= _AS_LONG * pieces * single.max(), like, 1)


def single_jobs(jobs: ThreadJobs, period: float) -> tuple[Times, Times, Times]:
    """Release and end of every job, and which is the first of each row. Those that nothing
    separates are released a ``period`` after one another, and follow on; one that another followed
    had not ended before that was due."""
    rows = jobs.rows
    pieces = rows["pieces"]
    if not period or (pieces == 1).all():
        return rows["release"], rows["end"], np.arange(len(rows))
    first = np.cumsum(pieces) - pieces
    row = np.repeat(np.arange(len(rows)), pieces)
    place = np.arange(len(row)) - first[row]
    later = pieces[row] - 1 - place
    release = rows["release"][row] + np.rint(place * period).astype(np.int64)
    single = rows["c"][pieces == 1]
    each = float(np.median(single)) if len(single) else 0.0
    end = rows["end"][row] - np.rint(later * each).astype(np.int64)
    due = release + np.rint(period).astype(np.int64) + 1
    return release, np.where(later > 0, np.maximum(end, due), end), first


def events_of(tracks: dict[int, Track], kinds: tuple[RecordKind, ...]) -> NDArray[np.void]:
    """Records of all threads, in order of time."""
    found = np.concatenate([np.zeros(0, OWN), *(track.of(*kinds) for track in tracks.values())])
    ordered: NDArray[np.void] = found[np.argsort(found["ns"], kind="stable")]
    return ordered
