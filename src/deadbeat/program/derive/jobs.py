"""Jobs of a thread: from one return of its job site to its next entry."""

from __future__ import annotations

import numpy as np
from attrs import evolve, frozen
from numpy.typing import NDArray

from deadbeat.base.model.words import time_text
from deadbeat.program.derive.arrivals import Grid, fit
from deadbeat.program.derive.records import IN_INTERRUPT, NEXT, RecordKind
from deadbeat.program.derive.switches import OWN, Times, place_in
from deadbeat.program.derive.tracks import NEVER, PARKED, POLLS, SENDS, Site, Track

#: Jobs below this number leave the kind of arrival unsure, and a thread that ended is not judged.
SURE_JOBS = 10
#: A thread that waits so seldom at a site is no task, nor one that waits there in a part of its
#: life only.
JOBS_MIN, LIFE_MIN = 3, 0.5
#: A program does not begin with this many jobs: a thread that never waits again hangs.
_HANGS = 100
#: A shorter sleep is a pause of a thread that looks for work, where it waits for other things too.
NAP_NS = 100_000
#: Waits off the grid before a loop begins.
_STARTS = 3
#: A sleep until an instant so shortly before it began asks for no time, or its job is just late.
_NO_TIME_NS = 50_000
#: Naps are such a share of waits at least, and work is so much longer than what follows a nap;
#: gaps that are as even are equal. Who looks whether it is time does so again after less: event
#: loops count in ms.
_NAPS, _CLEAR, EVEN, _LOOK_NS = 0.1, 3, 0.2, 2_500_000
#: What a thread does in a job, as far as it is recorded.
_ACTS = (RecordKind.ENTER, *(kind for kind in RecordKind if kind >= RecordKind.INIT))
#: A few waits at a site, at most this share of those at another, are of no loop.
_SELDOM = 0.05
#: Most waits of a kind.
MOST = 0.8
#: So much longer than jobs that are merged are they at most, as work varies.
_AS_LONG = 1.05
#: A cold cache makes a shorter job as long as several.
_TELLS_NS = 20_000
#: A call that waited and has nothing.
_TIMEOUTS = (-110, -62, -11)

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
    job). ``doubt``: why jobs may be others; "": none is known. ``slept``: in the wait after the
    last one."""

    site: Site
    what: str
    rows: NDArray[np.void]
    sleep: NDArray[np.float64]
    doubt: str = ""
    slept: bool = True


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
        within = track.thread.sleeps_in == NEXT and site.what != "unknown"  # a job
        if within or site.what in ("lock", "call") or len(blocked) < JOBS_MIN:
            continue
        last = min(int(mine["exit"][-1]), track.end)
        lived = int(ends[-1]) if len(ends) and len(blocked) >= SURE_JOBS else until
        if len(blocked) >= _HANGS and len(track.blocks):
            lived = int(track.blocks["enter"][-1])
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
            event_ends = [*_TIMEOUTS, *[0] * (site.call in POLLS)]
            expired = (blocked["timer"] != 0) & (blocked["wake"] >= blocked["timer"])
            if (np.isin(blocked["ret"], event_ends) | expired).mean() >= MOST:
                what = "relative"
            elif ((blocked["flags"] & IN_INTERRUPT) > 0).mean() >= MOST:
                grid = fit(blocked["wake"])
                what = "timer" if grid and grid.fits else "event"
            else:
                what = "event"
            if what == "event" and _answers(track, blocked, wakers) >= MOST:
                found.append((len(order), -len(blocked), place, what))
                continue
        found.append((order.index(what), -len(blocked), place, what))
    if not found:
        return None
    most = min(count for _, count, _, _ in found)  # they are below 0
    often = [each for each in found if -each[1] >= SURE_JOBS or each[1] < most * _SELDOM]
    _, _, place, what = min(often or found)
    return place, what


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
    timed &= ~first["blocked"] | (first["wake"] >= first["timer"])  # else another woke it
    rows["release"] = np.where(
        timed, first["timer"], np.where(first["blocked"], first["wake"], first["enter"])
    )
    none = (what == "absolute") & timed & (first["enter"] - first["timer"] < _NO_TIME_NS)
    none &= first["timer"] <= first["enter"]
    rows["exact"] = (timed | first["blocked"]) & ~none
    rows["waited"] = first["blocked"]
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
    away = blocks[place_in(blocks["enter"], held["enter"], held["exit"]) < 0]
    rows["suspension"] = _sums(away["enter"], away["wake"] - away["enter"], rows)
    sleep = np.where(timed, rows["release"] - rows["before"], 0).astype(float)
    whole = rows["begin"] <= rows["end"]
    slept = bool(mine["blocked"][-1] or mine["exit"][-1] == NEVER)
    return ThreadJobs(site=site, what=what, rows=rows[whole], sleep=sleep[whole], slept=slept)


def _sums(
    at: NDArray[np.int64], amounts: NDArray[np.int64], rows: NDArray[np.void]
) -> NDArray[np.float64]:
    """Per job the sum of ``amounts`` at instants within it."""
    sums = np.append(0, np.cumsum(amounts, dtype=np.float64))
    begin, end = (np.searchsorted(at, rows[name], "left") for name in ("begin", "end"))
    return np.asarray(sums[np.maximum(begin, end)] - sums[begin])


def released(jobs: ThreadJobs, tracks: dict[int, Track], tid: int) -> ThreadJobs:
    """With what released each job, as far as it is known."""
    pair(jobs, tracks)
    freshest(jobs)
    return without_naps(backlog(jobs), tracks[tid])


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


def backlog(jobs: ThreadJobs) -> ThreadJobs:
    """Releases of jobs that did not wait, where the grid has a place for each. Those without one
    are the work of the job before: the loop found more to do."""
    rows = jobs.rows
    exact = np.flatnonzero(rows["exact"])
    if len(exact) == len(rows) or len(exact) < JOBS_MIN:
        return jobs
    if jobs.what == "relative":
        return _joined(jobs, exact)
    grid = fit(rows["release"][exact])
    if grid is None or not grid.fits:
        return jobs
    for left, right, before, after in zip(
        exact[:-1], exact[1:], grid.numbers[:-1], grid.numbers[1:], strict=True
    ):
        if right - left > 1 and after - before == right - left:
            places = before + np.arange(1, right - left)
            rows["release"][left + 1 : right] = np.rint(grid.offset + places * grid.period)
            rows["exact"][left + 1 : right] = True
    ticks = grid.offset + np.floor((rows["begin"] - grid.offset) / grid.period) * grid.period
    first = rows["exact"].copy()
    after = np.append(rows["release"][exact], NEVER)[np.searchsorted(exact, np.arange(len(rows)))]
    free = ticks < after - grid.period / 2
    for place in np.flatnonzero(~rows["exact"] & free):  # the last tick before it
        if place == 0 or ticks[place] > rows["release"][place - 1] + grid.period / 2:
            rows["release"][place], first[place] = round(ticks[place]), True
    known = jobs.site.call in ("semaphore", "condition", "barrier")
    return jobs if known else _joined(jobs, np.flatnonzero(first))


def _joined(jobs: ThreadJobs, first: NDArray[np.int64]) -> ThreadJobs:
    """With each row that is not among the ``first`` ones in the row before it, which ends with the
    last of them that worked."""
    rows, kept = jobs.rows, jobs.rows[first]
    worked = np.where(rows["c"] >= _TELLS_NS, np.arange(len(rows)), 0)
    kept["end"] = rows["end"][np.maximum(np.maximum.reduceat(worked, first), first)]
    for name in ("c", "charged", "suspension", "lock_wait"):
        kept[name] = np.add.reduceat(rows[name], first)
    return evolve(jobs, rows=kept, sleep=jobs.sleep[first])


def freshest(jobs: ThreadJobs) -> None:
    """A read of a timer is of its last expiry: after a late one the next one waits."""
    rows = jobs.rows
    grid = fit(rows["release"]) if jobs.what == "timer" and jobs.site.call == "read" else None
    if grid and grid.fits:
        over = np.floor((rows["begin"] - rows["release"]) / grid.period) * rows["waited"]
        after = rows["waited"][1:][over[:-1] > 0]
        if len(after) and after.mean() > 1 / 2:
            rows["release"] += np.rint(over * grid.period).astype(np.int64)


def started(jobs: ThreadJobs) -> int:
    """The first job of its loop. Before it are jobs of unknown release, and, where a grid fits,
    some that are off it: a few, or as many as came at once."""
    rows = jobs.rows
    known = int(rows["exact"].argmax())
    grid = fit(rows["release"][known:])
    off = int(grid.near.argmax()) if grid and grid.fits else 0
    gaps = np.diff(rows["release"][known : known + off + 1])
    if off > _STARTS and grid and np.median(gaps) > grid.period / 2:
        off = _STARTS
    return known + off


def without_naps(jobs: ThreadJobs, track: Track) -> ThreadJobs:
    """Without the waits of a loop that looks again and again whether it is time: after them it does
    clearly less than after others, which come in equal gaps, and soon looks again."""
    rows, records = jobs.rows, track.of(*_ACTS)["ns"]
    if jobs.what != "relative" or len(rows) < SURE_JOBS:
        return jobs
    acts = np.searchsorted(records, rows["end"]) - np.searchsorted(records, rows["begin"], "right")
    least, most = np.maximum(np.quantile(rows["c"], [0.02, 0.995]), 1.0)
    light = (acts <= np.quantile(acts, 0.02)) & (rows["c"] <= np.sqrt(least * most))
    heavy = rows[~light]
    if len(heavy) < SURE_JOBS or light.mean() < _NAPS:
        return jobs
    gaps, grid = np.diff(heavy["release"]), fit(heavy["release"])
    even = np.abs(np.append(gaps, gaps.mean()) / np.median(gaps) - 1) < EVEN
    clear = np.median(heavy["c"]) >= _CLEAR * np.median(rows["c"][light])
    many, every = int(light.sum()) / len(heavy), time_text(round(gaps.mean()))
    looks = np.median(np.append(jobs.sleep[1:], 0)[light]) <= _LOOK_NS
    if not (clear and even[-1] and even.mean() > 1 / 2):
        return jobs
    if not looks or even.mean() < MOST:
        doubt = f"{len(heavy):,} of {len(rows):,} jobs do more, one every {every}: naps?"
        return evolve(jobs, doubt=doubt)
    sleep = jobs.sleep[~light] * (not (grid and grid.fits))  # until an instant, if they do
    doubt = f"it naps, {many:.3g} times a job: jobs by their work"
    return evolve(jobs, rows=heavy, sleep=sleep, doubt=doubt)


def merge(jobs: ThreadJobs, grid: Grid | None) -> None:
    """Finds jobs that nothing separates: the loop skipped its wait since it was late. Such a job
    reaches into k periods and took at most k times as long as the longest single one. A loop makes
    up for what it is late, or skips it: what they took together tells, if one is long enough."""
    rows = jobs.rows
    if grid is None or not grid.fits or len(rows) < JOBS_MIN:
        return
    late = np.floor((rows["end"] - rows["release"]) / grid.period).astype(np.int64)
    gap = np.append(np.diff(grid.numbers), late[-1] + 1)
    slept = np.append(rows["waited"][1:], jobs.slept)  # else the next wait separates the jobs
    near = np.append(grid.near[1:], True) & grid.near & ~np.append(grid.in_mode, False)
    # the first one of several was late: it worked until the next release, or stood still
    stood = rows["end"] - rows["release"] - rows["c"]
    single = rows["c"][late == 0]  # a late one may be several, or the long one
    several = stood + _AS_LONG * single.max(initial=0) >= grid.period
    several &= (late > 0) & (gap > 1) & slept & rows["exact"] & near
    pieces = np.where(several, np.minimum(late + 1, gap), 1)
    if len(single) and (typical := float(np.median(single))) >= _TELLS_NS:
        several &= rows["c"] <= _AS_LONG * pieces * single.max()
        more, most = ((each[several] - 1).sum() for each in (rows["c"] / typical, pieces))
        rows["pieces"] = np.where(several & (more > most / 2), pieces, 1)


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


def bursts(release: Times, end: Times, late: NDArray[np.bool_]) -> tuple[int, ...]:
    """Sizes of the bursts of late jobs: those between which there is less than the longest of them
    took are of one busy period."""
    at, ends = release[late], end[late]
    if not len(at):
        return ()
    apart = np.flatnonzero(at[1:] - ends[:-1] > (ends - at).max()) + 1
    return tuple(np.diff([0, *apart, len(at)]).tolist())


def events_of(tracks: dict[int, Track], kinds: tuple[RecordKind, ...]) -> NDArray[np.void]:
    """Records of all threads, in order of time."""
    found = np.concatenate([np.zeros(0, OWN), *(track.of(*kinds) for track in tracks.values())])
    ordered: NDArray[np.void] = found[np.argsort(found["ns"], kind="stable")]
    return ordered
