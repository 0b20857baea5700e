"""Threads of rt-app as tasks: what a thread executes from one timer to the next is a job.

The grammar is that of scheduler-tools/rt-app, doc/tutorial.txt and src/rt-app_parse_config.c:
events are keys, known by how they begin, in their order, some of them twice; thread and phases say
how often they are run, and a phase may change what the thread has. Times are in us.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection
from itertools import zip_longest
from typing import Any

from attrs import define, field

from deadbeat.base.model.errors import UsageError
from deadbeat.base.model.words import Json, shown

#: A word that stands alone: rt-app ignores its value.
BARE = re.compile(r'([{,]\s*"(?:suspend|yield)\w*")(?=\s*[,}])')
#: The newer words, and those of 2014.
_RUN = ("run", "runtime", "exec")
#: Makes what a thread waits for the work of others: no release of its own.
_OTHERS = ("wait", "sync", "suspend", "barrier", "sem_wait")
#: Takes time that no file says.
_UNKNOWN = ("mem", "memrun", "iorun", "fork", "resources")
#: Theirs -> ours, the newer word last.
_WORDS = {
    "deadline": "deadline",
    "dl-deadline": "deadline",
    "dl-runtime": "budget",
    "delay": "offset",
}
_SERVER = {"dl-period": "server_period", "dl-deadline": "server_deadline"}
_EVENT = re.compile(r"(run|runtime|exec|sleep|timer|lock|unlock|wait|sync|suspend|barrier"
                    r"|sem_wait|mem|memrun|iorun|fork)(?:\d|_\w)*")  # fmt: skip

_TASKS_MAX = 65535  # of the schema
#: More than a job has in earnest.
_SECTIONS_MAX = 1_000_000

_Event = tuple[str, Any]


class Members(dict[str, Any]):
    """An object of JSON that knows all its members in their order, also those written again."""

    pairs: tuple[tuple[str, Any], ...] = ()

    @property
    def doubled(self) -> list[str]:
        """Keys that were written more than once."""
        return [key for key, count in Counter(key for key, _ in self.pairs).items() if count > 1]


def members(pairs: list[tuple[str, Any]]) -> Members:
    """For json.loads."""
    value = Members(pairs)
    value.pairs = tuple(pairs)
    return value


def is_rt_app(document: object) -> bool:
    """By its structure: threads by name."""
    tasks = document.get("tasks") if isinstance(document, dict) else None
    if not isinstance(tasks, dict) or not tasks:
        return False
    return all(isinstance(each, dict) for each in tasks.values())


@define
class _Stretch:
    """From one timer to the next."""

    run: int = 0
    sleep: int = 0
    sections: list[tuple[str, int]] = field(factory=list)


@define
class _Thread:
    """A thread as it is walked through, and what it was found to do."""

    where: str
    timed: bool
    job: _Stretch = field(factory=_Stretch)
    jobs: list[_Stretch] = field(factory=list)
    held: dict[str, int] = field(factory=dict)
    periods: list[int] = field(factory=list)
    left_out: dict[str, None] = field(factory=dict)

    def walk(self, phases: list[tuple[list[_Event], int]]) -> bool:
        """One round; false where it never ends."""
        for events, times in phases:
            before, start = len(self.jobs), _Stretch(self.job.run, self.job.sleep)
            sections = len(self.job.sections)
            for _ in range(2 if times < 0 else min(times, 2)):
                for word, value in events:
                    self._event(word, value)
                if len(self.jobs) == before:  # the job goes on: more of the same
                    more = max(times, 1) - 1  # without an end: a round is a job
                    self.job.run += more * (self.job.run - start.run)
                    self.job.sleep += more * (self.job.sleep - start.sleep)
                    if more * (len(self.job.sections) - sections) > _SECTIONS_MAX:
                        raise UsageError(
                            f"{self.where}: loop {times} with locks", "shorten the loop"
                        )
                    self.job.sections += more * self.job.sections[sections:]
                    break
            if times < 0:
                return False
        return True

    def _event(self, word: str, value: Any) -> None:
        time: Any = value.get("period") if word == "timer" and isinstance(value, dict) else value
        if word in ("timer", "sleep", *_RUN) and not (isinstance(time, int) and time >= 0):
            raise UsageError(f"{self.where}: {word} {time}", "write a time in whole us")
        if word in ("lock", "unlock") and not isinstance(value, str):
            raise UsageError(f"{self.where}: {word} {shown(value)}", "write the name of a mutex")
        if word in _RUN:
            self.job.run += time
            self.held = {lock: length + time for lock, length in self.held.items()}
        elif word == "sleep" and (self.timed or not self.job.run):
            self.job.sleep += time
        elif word in ("sleep", "timer"):
            self.periods.append(time + (self.job.run if word == "sleep" else 0))
            self.jobs.append(self.job)
            self.job = _Stretch()
        elif word == "lock":
            if self.held:
                self.left_out[f"lock {value} within lock {next(iter(self.held))}"] = None
            self.held[value] = 0
        elif word == "unlock":
            length = self.held.pop(value, 0)
            if length and not self.held:
                self.job.sections.append((value, length))
        elif word.startswith("resources"):
            self.left_out[word] = None

    def sections(self) -> list[dict[str, Json]]:
        """Sections of each lock: as many and as long as any job has."""
        by_lock: dict[str, list[int]] = {}
        for job in self.jobs:
            for lock in dict(job.sections):
                mine = sorted((n for name, n in job.sections if name == lock), reverse=True)
                pairs = zip_longest(by_lock.get(lock, []), mine, fillvalue=0)
                by_lock[lock] = [max(pair) for pair in pairs]
        found: list[dict[str, Json]] = []
        for lock, lengths in by_lock.items():
            for length, count in Counter(lengths).items():
                entry: dict[str, Json] = {"lock": lock, "length": length}
                found.append(entry | ({"count": count} if count > 1 else {}))
        return found


def _events(phase: Members) -> list[_Event]:
    found = []
    for key, value in phase.pairs:
        if key == "resources":
            found.append(
                (f"resources {', '.join(value)}" if isinstance(value, dict) else key, value)
            )
        elif match := _EVENT.fullmatch(key):
            found.append((match[1], value))
    return found


def from_rt_app(document: Any, source: str) -> tuple[dict[str, Json], list[str]]:
    """A document of ours, and what was assumed or left out, a line each.
    Raises UsageError: no thread is a periodic task, or one cannot be read as one."""
    remarks, cpus = ["times are in us, as rt-app has them"], [0]
    tasks: list[dict[str, Any]] = []
    common = document.get("global", {})
    common = common if isinstance(common, dict) else {}
    why: list[str] = []
    for name, thread in document["tasks"].items():
        entry, said = _task(thread, f"{source}: tasks.{name}", common.get("default_policy"))
        count = _whole(thread.get("instance", 1), f"{source}: tasks.{name}: instance")
        if len(tasks) + count > _TASKS_MAX:
            raise UsageError(f"{source}: more than {_TASKS_MAX} tasks", "fewer instances")
        remarks += [f"{name}: {line}" for line in said if entry and count]
        why += [f"{name}: {line}" for line in said if not entry]
        cpus += entry.get("affinity", [entry.get("home", 0)])
        tasks += [{"name": name, **entry}] * count if entry else []
    if not tasks:
        hint = "a task has run and a timer with a period, in us, or run and sleep"
        raise UsageError(f"{source}: no periodic task: {'; '.join(why)}", hint)
    found: dict[str, Any] = {"processors": max(cpus) + 1, "unit": "us", "tasks": tasks}
    users = Counter(
        lock for task in tasks for lock in {s["lock"] for s in task.get("sections", ())}
    )
    for task in tasks:  # a lock of one thread delays no other
        task["sections"] = [s for s in task.get("sections", ()) if users[s["lock"]] > 1]
    if locks := dict.fromkeys(each["lock"] for task in tasks for each in task["sections"]):
        inherits = common.get("pi_enabled") in (True, 1)
        protocol = "inherit" if inherits else "none"
        found["locks"] = [{"name": lock, "protocol": protocol} for lock in locks]
        if not inherits:
            remarks.append("its locks are plain mutexes, as pi_enabled is not true")
    return found, remarks + why


def _whole(value: Any, what: str) -> int:
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    raise UsageError(f"{what} {shown(value)}", "write a whole number")


def _task(thread: Members, where: str, default: Any) -> tuple[Any, list[str]]:
    """A task and remarks; or none, and why."""
    named = thread.get("phases")
    inner = [each for _, each in named.pairs] if isinstance(named, Members) else [thread]
    phases = [each for each in inner if isinstance(each, Members)]
    loops = [each.get("loop", 1) if each is not thread else 1 for each in phases]
    counts = [_whole(loop, f"{where}: loop") for loop in loops]
    bodies = list(zip(map(_events, phases), counts, strict=True))
    words = {word for events, _ in bodies for word, _ in events}

    def one(key: str) -> Any:
        """What thread or phases say: one value, or None."""
        values = {str(v): v for each in phases if (v := each.get(key, thread.get(key))) is not None}
        if len(values) > 1:
            raise UsageError(f"{where}: {key} {' and '.join(values)} in its phases", "choose one")
        return next(iter(values.values()), None)

    found = _Thread(where, timed="timer" in words)
    if found.walk(bodies) and found.periods and thread.get("loop", -1) != 1:
        found.walk(bodies)  # the first job of a round begins with what is left of the last one
    found.jobs.append(found.job)
    wcet = max(job.run for job in found.jobs)
    period, said = _period(found, one("period") or one("dl-period"), words)
    if not period or not wcet:
        return {}, [f"left out: {said if wcet else 'it executes nothing'}"]
    entry = {"wcet": wcet, "period": period, "deadline": period}
    if sections := found.sections():
        entry["sections"] = sections
    if found.timed and (suspension := max(job.sleep for job in found.jobs)):
        entry["suspension"] = suspension
    remarks = [said] if said else []
    nice = _attributes(entry, one, default)
    aside = [*found.left_out, *(word for word in (*_OTHERS, *_UNKNOWN) if word in words), *nice]
    return entry, remarks + ([f"{', '.join(dict.fromkeys(aside))} left out"] if aside else [])


def _period(found: _Thread, given: Any, words: Collection[str]) -> tuple[Any, str]:
    """The period and what it rests on; or None, and why."""
    if not found.timed and given:
        return given, ""
    if not found.timed and (waits := [word for word in _OTHERS if word in words]):
        return None, f"another thread releases it ({waits[0]})"
    periods = list(dict.fromkeys(found.periods))
    if not periods:
        return None, "it has neither timer nor sleep"
    if found.timed and len(periods) > 1:
        every = " and ".join(f"{period} us" for period in periods)
        raise UsageError(f"{found.where}: timers of {every}", "make a task of each")
    if found.timed:
        return periods[0], ""
    longest = max(job.run for job in found.jobs)
    if longest > min(periods):
        what = f"runs of up to {longest} us, and {min(periods)} us from run to run"
        raise UsageError(f"{found.where}: {what}, are no periodic task", "give it a timer")
    return min(periods), f"period of {min(periods)} us assumed: what it runs and sleeps"


def _attributes(entry: Any, one: Callable[[str], Any], default: Any) -> list[str]:
    """Adds what a thread has beside its times; what of it is left out."""
    policy, priority, allowed = one("policy") or default, one("priority"), one("cpus")
    entry |= {ours: v for theirs, ours in _WORDS.items() if (v := one(theirs)) is not None}
    if policy == "SCHED_DEADLINE":
        server = {ours: v for theirs, ours in _SERVER.items() if (v := one(theirs)) is not None}
        entry |= server if server.get("server_period", entry["period"]) != entry["period"] else {}
    else:
        entry.pop("budget", None)
    mine = [each for each in allowed if isinstance(each, int)] if type(allowed) is list else []
    if mine:
        entry |= {"home": mine[0]} if len(mine) == 1 else {"affinity": mine}
    if policy in ("SCHED_FIFO", "SCHED_RR"):
        entry["priority"] = 10 if priority is None else priority  # as rt-app has it
    elif priority is not None and policy != "SCHED_DEADLINE":
        return [f"priority {priority} (a nice value, without SCHED_FIFO)"]
    return []
