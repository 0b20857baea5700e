"""Task sets of other tools as XML: SimSo's, SchedCAT's and Cheddar's.

SimSo's format is that of simso/configuration/parser.py (Cheramy, Hladik and Deplanche, WATERS
2014), times in ms, read exactly; SchedCAT's that of schedcat/model/serialize.py; Cheddar's that of
its exports (Singhoff, Legrand, Nana and Marce, SIGAda 2004). Both have no unit. What a question of
schedulability does not use is named in a remark; what would change the answer is refused.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import count
from typing import Any
from xml.etree import ElementTree

from attrs import frozen

from deadbeat.base.model.errors import UsageError
from deadbeat.base.model.words import Json, shown
from deadbeat.sched.documents import decimal, exact, number, path_text, refusal

#: Attribute of a task -> our key.
_TIMES = {"WCET": "wcet", "period": "period", "deadline": "deadline", "activationDate": "offset"}
_UNITS = ((0, "ms"), (3, "us"), (6, "ns"), (9, "ps"))
#: Attributes that a file of SimSo has and that do not change its periodic tasks.
_UNUSED = ("preemption_cost", "ACET", "et_stddev")

Place = Callable[[tuple[str | int, ...]], str]


@frozen
class _Found:
    errors: list[str]
    remarks: list[str]


def read_xml(
    text: str, *, source: str, whole_cycles: bool = False
) -> tuple[dict[str, Json], tuple[str, ...], Place]:
    """A document for `documents.build`, remarks, and how places of the document are called.

    Raises:
        UsageError: Not XML, of no tool known here, or with what has no counterpart here: all of it
            named.
    """
    # Entities can expand without bound; no file of these tools has a document type.
    if "<!DOCTYPE" in text:
        raise UsageError(f"{source}: it has a DOCTYPE, files of SimSo have none", "remove it")
    try:
        root = ElementTree.fromstring(text)
    except (ElementTree.ParseError, ValueError) as error:
        raise UsageError(f"{source}: not XML: {error}", "export it again") from None
    found = _Found([], [])
    if root.tag == "simulation":
        document = _simso(root, found, source, whole_cycles=whole_cycles)
        return document, tuple(dict.fromkeys(found.remarks)), _place
    if read := {"taskset": _schedcat, "ts": _schedcat, "cheddar": _cheddar}.get(root.tag):
        document = read(root, found)
        if not document["tasks"]:
            found.errors.append(f"tasks: no task in <{root.tag}>")
        if found.errors:
            raise refusal(source, found.errors)
        return document, tuple(dict.fromkeys(found.remarks)), path_text
    if root.tag == "testpoint":
        count = len(root.findall("taskset"))
        raise UsageError(f"{source}: {count} task sets of SchedCAT", "write each to its own file")
    hint = "known are <simulation> of SimSo, <taskset> of SchedCAT, <cheddar> and MAST's text"
    raise UsageError(f"{source}: {shown(root.tag)} is not a file of SimSo", hint)


def _schedcat(root: ElementTree.Element, found: _Found) -> Any:
    tasks, homes = [], [0]
    for task in root.iter("task"):
        times = {key: exact(task.get(key)) for key in ("wcet", "period", "deadline")}
        entry: dict[str, Any] = {key: value for key, value in times.items() if value is not None}
        entry["name"] = task.get("id", "")
        if (partition := task.get("partition")) is not None:
            entry["home"] = number(partition)
        sections = []
        for each in task.iter("requirement"):
            for kind in ("read", "write"):
                count = number(each.get(f"max_{kind}s", "1" if kind == "write" else "0"))
                length = exact(each.get(f"max_{kind}_length", "1" if kind == "write" else "0"))
                if count and length:
                    lock = f"r{each.get('res_id', 0)}"
                    sections.append({"lock": lock, "length": length, "count": count})
                    if kind == "read":
                        found.remarks.append("reads are taken for exclusive sections")
        if sections:
            entry["sections"] = sections
        if task.get("wss"):
            found.remarks.append("wss, the working set, is left out")
        homes += [home] if isinstance(home := entry.get("home"), int) else []
        tasks.append(entry)
    found.remarks.append("times have no unit in files of SchedCAT")
    return {"tasks": tasks} | ({"processors": max(homes) + 1} if max(homes) else {})


def _cheddar(root: ElementTree.Element, found: _Found) -> Any:
    keys = {"capacity": "wcet", "period": "period", "deadline": "deadline", "start_time": "offset"}
    keys |= {"jitter": "jitter"}
    places: dict[str, int] = {}
    for place in root.iterfind("./processors/*"):
        places.setdefault((place.findtext("name") or "").strip(), len(places))
    tasks = []
    for index, task in enumerate(root.iterfind("./tasks/*")):
        kind = (task.findtext("task_type") or task.tag).strip().removesuffix("_TYPE")
        if kind.lower().removesuffix("_task") not in ("periodic", "sporadic"):
            found.errors.append(f"tasks[{index}].task_type: {shown(kind)} (periodic or sporadic)")
        fields = {each.tag.strip(): (each.text or "").strip() for each in task}
        entry: dict[str, Any] = {
            ours: exact(fields[theirs]) for theirs, ours in keys.items() if theirs in fields
        }
        entry |= {"name": fields.get("name", ""), "priority": number(fields.get("priority", "0"))}
        if fields.get("cpu_name") in places:
            entry["home"] = places[fields["cpu_name"]]
        for key in ("blocking_time", "context_switch_overhead"):
            if exact(fields.get(key, "0")):
                found.remarks.append(f"{key} is left out")
        tasks.append(entry)
    for kind in ("resources", "dependencies", "messages", "buffers"):
        if root.find(f"./{kind}/*") is not None:
            found.remarks.append(f"{kind} are left out: they may delay tasks")
    found.remarks.append("times have no unit in files of Cheddar")
    return {"processors": max(len(places), 1), "tasks": tasks}


def _simso(
    root: ElementTree.Element, found: _Found, source: str, *, whole_cycles: bool
) -> dict[str, Json]:
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
        decimal(scheduler.get(key, "0"))
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
    return {"processors": processors, "unit": unit, "tasks": entries}


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
        if decimal(processor.get("speed", "1")) != 1:
            speed = shown(processor.get("speed"))
            found.errors.append(
                f"processors[{index}].speed: {speed} (only identical processors, of speed 1)"
            )
        if any(decimal(processor.get(key, "0")) for key in ("cs_overhead", "cl_overhead")):
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
        if decimal(task.get(key, "0")):
            found.remarks.append(f"{key} is left out: every job executes its WCET")
    if task.get("abort_on_miss", "yes") == "yes":
        found.remarks.append("abort_on_miss is left out: a late job ends the simulation or runs on")
    values = {}
    for theirs, ours in _TIMES.items():
        text = task.get(theirs)
        if text is None and theirs == "activationDate":
            continue
        value = None if text is None else decimal(text)
        if text is None:
            found.errors.append(f"{here}.{theirs}: missing (a time in ms)")
        elif value is None:
            found.errors.append(f"{here}.{theirs}: {shown(text)} is no time in ms (like 2.5)")
        else:
            values[ours] = value
    return values


def _scale(
    root: ElementTree.Element,
    times: list[dict[str, Fraction]],
    found: _Found,
    *,
    whole_cycles: bool,
) -> tuple[int, str]:
    """How many units a ms has, and the unit's name: the coarsest in which every time is whole."""
    if whole_cycles:
        cycles = decimal(root.get("cycles_per_ms", "1000000"))
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
