"""Task sets of other tools: SimSo's XML files, times in ms read exactly, and rt-app's JSON, in us.

SimSo's format is that of simso/configuration/parser.py (Cheramy, Hladik and Deplanche, WATERS
2014), rt-app's that of scheduler-tools/rt-app, doc/tutorial.txt. What a question of schedulability
does not use is named in a remark; what would change the answer is refused.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from fractions import Fraction
from itertools import count
from typing import Any
from xml.etree import ElementTree

from attrs import frozen

from deadbeat.base.model.errors import UsageError
from deadbeat.base.model.words import Json, shown
from deadbeat.sched.documents import path_text, refusal

#: Attribute of a task -> our key.
_TIMES = {"WCET": "wcet", "period": "period", "deadline": "deadline", "activationDate": "offset"}
_UNITS = ((0, "ms"), (3, "us"), (6, "ns"), (9, "ps"))
_DECIMAL = re.compile(
    r"[+-]?(?:[0-9]{1,30}(?:\.[0-9]{0,30})?|\.[0-9]{1,30})(?:[eE][+-]?[0-9]{1,2})?"
)
#: Attributes that a file of SimSo has and that do not change its periodic tasks.
_UNUSED = ("preemption_cost", "ACET", "et_stddev")

Place = Callable[[tuple[str | int, ...]], str]


@frozen
class _Found:
    errors: list[str]
    remarks: list[str]


def read_simso(
    text: str, *, source: str, whole_cycles: bool = False
) -> tuple[dict[str, Json], tuple[str, ...], Place]:
    """A document for `documents.build`, remarks, and how places of the document are called.

    Raises:
        UsageError: Not XML, not SimSo's, or with what has no counterpart here: all of it named.
    """
    # Entities can expand without bound; no file of SimSo has a document type.
    if "<!DOCTYPE" in text:
        raise UsageError(f"{source}: it has a DOCTYPE, files of SimSo have none", "remove it")
    try:
        root = ElementTree.fromstring(text)
    except (ElementTree.ParseError, ValueError) as error:
        raise UsageError(f"{source}: not XML: {error}", "export it from SimSo again") from None
    if root.tag != "simulation":
        hint = "a file of SimSo starts with <simulation>"
        raise UsageError(f"{source}: {shown(root.tag)} is not a file of SimSo", hint)
    found = _Found([], [])
    processors = _processors(root, found)
    tasks = root.findall("./tasks/task")
    if not tasks:
        found.errors.append("tasks: no task (a file of SimSo has <tasks><task .../></tasks>)")
    times = [_simso_times(index, task, found) for index, task in enumerate(tasks)]
    if root.get("etm", "wcet") != "wcet" or root.get("use_wcet", "yes") not in ("true", "yes"):
        etm = shown(root.get("etm", "cache"))
        found.remarks.append(f"execution-time model {etm} is left out: every job executes its WCET")
    scheduler = root.find("./sched")
    if scheduler is not None and any(
        _decimal(scheduler.get(key, "0"))
        for key in ("overhead", "overhead_activate", "overhead_terminate")
    ):
        found.remarks.append("overheads of the scheduler are left out")
    chosen = "" if scheduler is None else scheduler.get("class") or scheduler.get("className") or ""
    if chosen:
        found.remarks.append(f"the scheduler {shown(chosen)} is left out: choose with --policy")
    if found.errors:
        raise refusal(source, found.errors)
    scale, unit = _scale(root, times, found, whole_cycles=whole_cycles)
    if found.errors:
        raise refusal(source, found.errors)
    entries = []
    for task, values in zip(tasks, times, strict=True):
        entry: dict[str, Any] = {key: int(value * scale) for key, value in values.items()}
        entry["name"] = task.get("name", "")
        entries.append(entry)
    document: dict[str, Json] = {"processors": processors, "unit": unit, "tasks": entries}
    return document, tuple(dict.fromkeys(found.remarks)), _place


def _place(path: tuple[str | int, ...]) -> str:
    names = {ours: theirs for theirs, ours in _TIMES.items()}
    match path:
        case ("tasks", int(index), str(key)):
            return f"tasks[{index}].{names.get(key, key)}"
    return path_text(path)


def _processors(root: ElementTree.Element, found: _Found) -> int:
    processors = root.findall("./processors/processor")
    if not processors:
        found.errors.append("processors: no processor (add <processor .../> in <processors>)")
    for index, processor in enumerate(processors):
        if _decimal(processor.get("speed", "1")) != 1:
            speed = shown(processor.get("speed"))
            found.errors.append(
                f"processors[{index}].speed: {speed} (only identical processors, of speed 1)"
            )
        if any(_decimal(processor.get(key, "0")) for key in ("cs_overhead", "cl_overhead")):
            found.remarks.append("overheads of processors are left out: --set cost-context-switch")
    return len(processors)


def _simso_times(index: int, task: ElementTree.Element, found: _Found) -> dict[str, Fraction]:
    """Times of a task in ms; what cannot be used is added to ``found``."""
    here = f"tasks[{index}]"
    kind = task.get("task_type") or ("APeriodic" if task.get("periodic") == "no" else "Periodic")
    if kind != "Periodic":
        found.errors.append(
            f"{here}.task_type: {shown(kind)} (only Periodic tasks; a sporadic task is a periodic"
            " one under --model sporadic)"
        )
    if task.get("followed_by"):
        successor = shown(task.get("followed_by"))
        found.errors.append(f"{here}.followed_by: {successor} (tasks are independent here)")
    for key in _UNUSED:
        if _decimal(task.get(key, "0")):
            found.remarks.append(f"{key} is left out: every job executes its WCET")
    if task.get("abort_on_miss", "yes") == "yes":
        found.remarks.append("abort_on_miss is left out: a late job ends the simulation or runs on")
    values = {}
    for theirs, ours in _TIMES.items():
        text = task.get(theirs)
        if text is None and theirs == "activationDate":
            continue
        value = None if text is None else _decimal(text)
        if text is None:
            found.errors.append(f"{here}.{theirs}: missing (a time in ms)")
        elif value is None:
            found.errors.append(f"{here}.{theirs}: {shown(text)} is no time in ms (like 2.5)")
        else:
            values[ours] = value
    return values


def _decimal(text: str) -> Fraction | None:
    """The exact value of a decimal number, or None."""
    return Fraction(text) if _DECIMAL.fullmatch(text.strip()) else None


def _scale(
    root: ElementTree.Element,
    times: list[dict[str, Fraction]],
    found: _Found,
    *,
    whole_cycles: bool,
) -> tuple[int, str]:
    """How many units a ms has, and the unit's name: the coarsest in which every time is whole."""
    if whole_cycles:
        cycles = _decimal(root.get("cycles_per_ms", "1000000"))
        if cycles is None or cycles.denominator != 1 or cycles < 1:
            wrong = shown(root.get("cycles_per_ms"))
            found.errors.append(f"cycles_per_ms: {wrong} is not a whole number (like 1000)")
            return 1, ""
        if any((value * cycles).denominator != 1 for task in times for value in task.values()):
            found.remarks.append("times were cut to whole cycles, as SimSo does")
        return int(cycles), f"1/{int(cycles)} ms"
    # Decimals of exact decimal numbers.
    decimals = [
        next(places for places in count() if (value * 10**places).denominator == 1)
        for task in times
        for value in task.values()
    ]
    digits = max(decimals, default=0)
    for places, name in _UNITS:
        if digits <= places:
            return 10**places, name
    found.remarks.append(
        f"times have {digits} decimals: convert --set whole-cycles=true reads them as SimSo does"
    )
    return 10**digits, f"1e-{digits} ms"


#: What a thread does for a while, in the words of all versions.
_RUN = re.compile(r"(run|runtime|exec)\d*")
_TIMER = re.compile(r"timer\d*")
#: What makes the time of a job depend on others.
_WAITS = re.compile(r"(lock|wait|sync|suspend|barrier|sleep|fork|iorun|mem)\d*")
#: Theirs -> ours, the newer word last.
_WORDS = {
    "deadline": "deadline",
    "dl-deadline": "deadline",
    "dl-runtime": "budget",
    "delay": "offset",
}


def is_rt_app(document: object) -> bool:
    """By its structure: threads by name."""
    tasks = document.get("tasks") if isinstance(document, dict) else None
    if not isinstance(tasks, dict) or not tasks:
        return False
    return all(isinstance(each, dict) for each in tasks.values())


def from_rt_app(
    document: Mapping[str, Mapping[str, Json]], source: str
) -> tuple[dict[str, Json], list[str]]:
    """A document of ours, and what was assumed, a line each.
    Raises UsageError: a thread is no periodic task."""
    tasks, remarks, cpus = [], ["times are in us, as rt-app has them"], [0]
    for name, plain in document["tasks"].items():
        thread: Any = plain
        # A thread's own, and those of its phases.
        phases = thread.get("phases", {})
        inner = phases.values() if isinstance(phases, dict) else ()
        parts = [thread, *(each for each in inner if isinstance(each, dict))]
        items = [item for part in parts for item in part.items()]
        allowed, many = thread.get("cpus", []), thread.get("instance", 1)
        mine = [each for each in allowed if isinstance(each, int)] if type(allowed) is list else []
        cpus += mine
        where = f"{source}: tasks.{name}"
        runs = [value for key, value in items if _RUN.fullmatch(key)]
        timers = [v for key, v in items if _TIMER.fullmatch(key) and isinstance(v, dict)]
        periods = [timer.get("period") for timer in timers]
        periods = periods or [v for key, v in items if key in ("period", "dl-period")]
        if not runs or len(periods) != 1 or not all(isinstance(run, int) for run in runs):
            what = f"{len(runs)} runs and {len(periods)} timers"
            message = f"{where}: {what} are no periodic task"
            raise UsageError(message, "a task needs run, in us, and one timer with a period")
        times = {"wcet": sum(runs), "period": periods[0], "deadline": periods[0]}
        found = {"name": name, **times}
        found |= {ours: thread[key] for key, ours in _WORDS.items() if key in thread}
        if len(mine) == 1:
            found["home"] = mine[0]
        elif mine:
            found["affinity"] = mine
        if thread.get("policy") != "SCHED_DEADLINE" and "priority" in thread:
            found["priority"] = thread["priority"]
        tasks += [found] * (many if isinstance(many, int) else 1)
        if waits := sorted(key for key, _ in items if _WAITS.fullmatch(key)):
            remarks.append(f"{name}: {', '.join(waits)} left out")
    return {"processors": max(cpus) + 1, "unit": "us", "tasks": tasks}, remarks
