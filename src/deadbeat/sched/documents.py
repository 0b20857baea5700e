"""From a document (what JSON can say) to a task system: every defect found, in words for people.

The rules are those of ``task-system.schema.json``; what a schema cannot say is checked after it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator
from fractions import Fraction
from functools import cache
from importlib import resources
from itertools import pairwise
from typing import Any, TypedDict

from attrs import frozen

from deadbeat.base.model.errors import UsageError
from deadbeat.base.model.systems import Chain, CriticalSection, Dag, Lock, TaskSystem, TimedTask
from deadbeat.base.model.words import Json, nearest, shown
from deadbeat.sched.arrays import EXTRAS, FIELDS
from deadbeat.sched.simulator import TIME_MAX

#: Most defects shown of one file; a file with more is of another kind altogether.
_DEFECTS_SHOWN = 1000

#: Unknown keys of one object that are named; one with more is no task.
_KEYS_SHOWN = 100

#: Of few digits: 1e999999999 would fill the memory.
_DECIMAL = re.compile(
    r"[+-]?(?:[0-9]{1,30}(?:\.[0-9]{0,30})?|\.[0-9]{1,30})(?:[eE][+-]?[0-9]{1,2})?"
)

#: Of an arrival curve in its period, as the core has it.
_ARRIVALS_MAX = 10**6

_TASKS = 'write "tasks": [{"wcet": 1, "period": 3}]'

#: What people write for our keys: the field's letters and other tools' words.
SYNONYMS = {
    **dict.fromkeys(("c", "ci", "execution", "execution_time", "exec_time", "cost", "e"), "wcet"),
    **dict.fromkeys(("computation", "computation_time", "worst_case_execution_time"), "wcet"),
    **dict.fromkeys(("t", "ti", "p", "interarrival", "min_interarrival", "mit"), "period"),
    **dict.fromkeys(("d", "di", "relative_deadline"), "deadline"),
    **dict.fromkeys(("o", "phase", "release", "activation_date"), "offset"),
    **dict.fromkeys(("cluster", "processor", "cpu", "core", "partition"), "home"),
    **dict.fromkeys(("cpus_allowed", "cpu_affinity", "affinities"), "affinity"),
    **dict.fromkeys(("best_case", "bc", "min_execution", "best_case_execution_time"), "bcet"),
    **dict.fromkeys(("runtime", "q"), "budget"),
    **dict.fromkeys(("m", "cores", "cpus", "processor_count"), "processors"),
    **dict.fromkeys(("taskset", "task_set"), "tasks"),
    **dict.fromkeys(("task", "id", "task_id", "task_name"), "name"),
    "prio": "priority",
}


#: What follows from our keys.
_DERIVED = dict.fromkeys(("u", "ui", "util", "utilisation", "utilization"), "wcet / period")
Path = tuple[str | int, ...]
#: A rule of the schema, of what JSON Schema has.
Rule = TypedDict(
    "Rule",
    {
        "$ref": str,
        "type": str,
        "minimum": int,
        "maximum": int,
        "maxLength": int,
        "pattern": str,
        "enum": list[str],
        "examples": list[Json],
        "minItems": int,
        "maxItems": int,
        "not": dict[str, str],
        "items": "Rule",
        "required": list[str],
        "properties": dict[str, "Rule"],
        "$defs": dict[str, "Rule"],
    },
)


@frozen
class Defect:
    """One thing wrong: where in the document, what was found, what to do."""

    path: Path
    found: str
    hint: str = ""


@frozen(repr=False)
class Literal:
    """A number that no integer can stand for, as it was written."""

    text: str
    found: str
    hint: str

    def __repr__(self) -> str:
        return self.text


Where = Callable[[Path], str]


def path_text(path: Path) -> str:
    """``tasks[3].period``."""
    parts = (f"[{part}]" if isinstance(part, int) else f".{shown(part)[1:-1]}" for part in path)
    return "".join(parts).removeprefix(".")


@cache
def schema() -> Rule:
    """The published schema, JSON Schema 2020-12."""
    file = resources.files("deadbeat.sched").joinpath("task-system.schema.json")
    value: Rule = json.loads(file.read_text("utf-8"))
    return value


def number(text: str) -> int | Literal:
    """The integer that ``text`` (of a JSON number) is, exactly, or why it is none.

    ``3.0`` and ``3e2`` are integers; ``1e999`` is one that no time can be.
    """
    match = re.fullmatch(r"([+-]?)([0-9]*)(?:\.([0-9]*))?(?:[eE]([+-]?[0-9]+))?", text.strip())
    if match is None or not (match[2] or match[3]):
        return Literal(text, f"{shown(text)} is not a whole number", number_hint(text))
    digits = (match[2] + (match[3] or "")).lstrip("0") or "0"
    written = (match[4] or "0").lstrip("+")
    exponent = int(written) if len(written) < 8 else 10**7 * (-1 if written[0] == "-" else 1)
    exponent -= len(match[3] or "")
    while exponent < 0 and digits.endswith("0") and digits != "0":
        kept = digits.rstrip("0")
        dropped = min(len(digits) - len(kept), -exponent)
        digits, exponent = digits[: len(digits) - dropped], exponent + dropped
    if digits == "0":
        return 0
    if exponent < 0:
        hint = "choose a finer unit, so that every time is a whole number"
        return Literal(text, f"{shown(text)[1:-1]} is not a whole number", hint)
    if len(digits) + exponent > 40:
        above = "below every minimum" if match[1] == "-" else "above the maximum of 2^60"
        return Literal(text, f"{shown(text)[1:-1]} is {above}", "choose a coarser unit")
    return int(digits + "0" * exponent) * (-1 if match[1] == "-" else 1)


def number_hint(value: Any) -> str:
    """How to write what is no number: of a time with its unit, where that stands."""
    found = re.fullmatch(
        r"\s*([0-9.,]{1,30})\s*(ns|us|µs|ms|s)\s*", value if isinstance(value, str) else ""
    )
    if not found:
        return "write it like 250"
    number_of, unit = found[1], found[2].replace("µ", "u")
    return (
        f'write {number_of}, and the unit once: "unit": "{unit}", in CSV a heading like T [{unit}]'
    )


def decimal(text: str) -> Fraction | None:
    """The exact value of a decimal number, or None."""
    return Fraction(text) if _DECIMAL.fullmatch(text.strip()) else None


def exact(value: Any) -> Any:
    """The same of any value; what is no number stays as it is, for `build` to name."""
    return value if not isinstance(value, str) or (found := decimal(value)) is None else found


def build(
    document: Any,
    *,
    source: str,
    where: Where = path_text,
    found: Iterable[Defect] = (),
    processors: int | None = None,
) -> TaskSystem:
    """The task system that ``document`` describes.

    Args:
        source: Name of the file, for messages.
        where: How a path in the document is shown: a CSV file has lines and columns.
        found: Defects known already; others at their paths are not repeated.
        processors: Wins over the document's.

    Raises:
        UsageError: All defects, a line each.
    """
    if processors is not None and isinstance(document, dict):
        document = {**document, "processors": processors}
    defects = list(found)
    known = {defect.path for defect in defects}
    document = _plain(document, (), defects)
    known |= {defect.path for defect in defects}
    for defect in _schema_defects(document, schema()):
        if defect.path not in known:
            known.add(defect.path)
            defects.append(defect)
    defects += [defect for defect in _other_defects(document) if defect.path not in known]
    if not defects:
        defects += [*_lock_defects(document), *_model_defects(document)]
    if defects:
        # In the order of the tasks; of equal paths in the order of finding.
        def key(defect: Defect) -> tuple[tuple[int, int, str], ...]:
            return tuple(
                (1, part, "") if isinstance(part, int) else (2 if part else 0, 0, part)
                for part in defect.path
            )

        raise refusal(source, [_line(defect, where) for defect in sorted(defects, key=key)])
    return _system(document)


def refusal(source: str, lines: list[str]) -> UsageError:
    """The error of a file with these defects, each a line."""
    if len(lines) == 1:
        return UsageError(f"{source}: {lines[0]}")
    more = len(lines) - _DEFECTS_SHOWN
    first = (*lines[:_DEFECTS_SHOWN], f"and {more} more") if more > 0 else tuple(lines)
    return UsageError(f"{source}: {len(lines)} errors", details=first)


def _line(defect: Defect, where: Where) -> str:
    place = where(defect.path)
    text = f"{place}: {defect.found}" if place else defect.found
    return f"{text} ({defect.hint})" if defect.hint else text


def _plain(value: Any, path: Path, defects: list[Defect]) -> Any:
    """``value`` with every Literal reported and replaced by a number."""
    if isinstance(value, Literal):
        defects.append(Defect(path, value.found, value.hint))
        return 1
    if isinstance(value, dict):
        return {key: _plain(item, (*path, key), defects) for key, item in value.items()}
    if isinstance(value, list):
        return [_plain(item, (*path, index), defects) for index, item in enumerate(value)]
    return value


# --- errors of the schema, in our words -----------------------------------------------------------


def _schema_defects(value: Any, rule: Rule, path: Path = ()) -> Iterator[Defect]:
    """What ``rule`` of the schema says against ``value``."""
    if "$ref" in rule:
        rule = schema()["$defs"][rule["$ref"].rpartition("/")[2]]
    python, words, check = _TYPES[rule["type"]]
    if not isinstance(value, python) or isinstance(value, bool):
        if isinstance(value, bool):
            kind = str(value).lower()
        elif value is None:
            kind = "null"
        elif isinstance(value, dict):
            kind = "an object"
        else:
            kind = "a list" if isinstance(value, list) else shown(value)
        wanted = rule["type"]
        if value is None:
            hint = "leave the key out, or write a value"
        elif "examples" in rule:
            hint = f"write {json.dumps(rule['examples'][0])}"
        elif wanted == "integer":
            is_digits = isinstance(value, str) and re.fullmatch(r"[0-9]{1,19}", value)
            hint = f"write {value}, without quotes" if is_digits else number_hint(value)
        elif wanted == "object":
            task = '{"wcet": 1, "period": 3}'
            hint = f"write {task}" if path else f'write {{"processors": 2, "tasks": [{task}]}}'
        else:
            hint = _TASKS if wanted == "array" else ""
        yield Defect(path, f"{kind} is not {words}", hint)
    else:
        yield from check(value, rule, path)


def _integer(value: int, rule: Rule, path: Path) -> Iterator[Defect]:
    low, high = rule["minimum"], rule["maximum"]
    if low <= value <= high:
        return
    bound, side = (low, "below the minimum") if value < low else (high, "above the maximum")
    amount = {TIME_MAX: "2^60", -TIME_MAX: "-2^60"}.get(bound, str(bound))
    hint = f"{bound} or more" if value < low else ""
    if bound == TIME_MAX:
        hint = "choose a coarser unit" if path[-1] != "priority" else "choose smaller numbers"
    elif path == ("processors",):
        hint = "1 to 1024 processors"
    yield Defect(path, f"{shown(value)} is {side} of {amount}", hint)


def _string(value: str, rule: Rule, path: Path) -> Iterator[Defect]:
    if len(value) > (most := rule.get("maxLength", len(value))):
        yield Defect(path, f"{len(value)} characters", f"{most} at most")
    if value not in (words := rule.get("enum", [value])):
        yield Defect(path, f"{shown(value)} is not a choice", nearest(value, words))
    if not re.match(rule.get("pattern", ""), value):
        hint = 'write "measured: how", for example'
        yield Defect(path, f"{shown(value)} is not given, measured or derived", hint)
    if "not" in rule and re.search(rule["not"]["pattern"], value):
        yield Defect(path, f"{shown(value)} holds a control character", "write it in one line")


def _array(value: list[Any], rule: Rule, path: Path) -> Iterator[Defect]:
    if len(value) < (least := rule.get("minItems", 0)):
        few = (
            ("no task", _TASKS)
            if path == ("tasks",)
            else (f"{len(value)} of them", f"{least} or more")
        )
        yield Defect(path, *few)
    elif len(value) > rule["maxItems"]:
        yield Defect(path, f"{len(value)} {path[-1]}", f"{rule['maxItems']} at most")
    for index, item in enumerate(value):
        yield from _schema_defects(item, rule["items"], (*path, index))


def _object(value: dict[str, Json], rule: Rule, path: Path) -> Iterator[Defect]:
    required, known = rule["required"], rule["properties"]
    if (unknown := len(value.keys() - known.keys())) > _KEYS_SHOWN:
        yield Defect(path, f"{unknown} unknown keys", f"known are {', '.join(known)}")
        return
    near = {_near(str(other), required) for other in value if other not in required}
    hints = {
        "processors": 'write "processors": 4, or give --processors 4',
        "tasks": _TASKS,
        **dict.fromkeys(("lock", "length"), "every section has a lock and a length"),
        "name": "every lock has a name",
        "steps": "every arrival curve has a horizon and steps",
        "nodes": "every DAG has nodes",
    }
    for key in required:
        if key not in value and key not in near:
            hint = hints.get(key, "every task has a wcet and a period")
            yield Defect((*path, key), "missing", hint)
    for key, item in value.items():
        if key in known:
            yield from _schema_defects(item, known[key], (*path, key))
        else:
            meant = _near(key, known)
            hint = f"did you mean {meant}?" if meant else unknown_hint(key, known)
            if key == "sections":
                hint = "no section lies within another here: no analysis has that"
            yield Defect((*path, key), "unknown key", hint)


_TYPES: dict[str, tuple[type, str, Callable[..., Iterator[Defect]]]] = {
    "integer": (int, "a whole number", _integer),
    "string": (str, "text", _string),
    "array": (list, "a list", _array),
    "object": (dict, "an object", _object),
}


def unknown_hint(key: str, known: Iterable[str]) -> str:
    """What a key may have been meant for, or that it says nothing of its own."""
    follows = _DERIVED.get(key.lower().strip())
    return f"leave it out: it is {follows}" if follows else nearest(key, known)


def _near(key: str, known: Iterable[str]) -> str:
    """The known key that ``key`` may have been meant for, or ""."""
    words = list(known)
    synonym = SYNONYMS.get(key.lower().strip())
    if synonym in words:
        return synonym
    text = nearest(key, words)
    return text[len("did you mean ") : -1] if text.startswith("did you mean ") else ""


# --- what a schema cannot say ---------------------------------------------------------------------


def _other_defects(document: Any) -> Iterator[Defect]:
    """Check what the schema finds no fault with."""
    if not isinstance(document, dict) or not isinstance(document.get("tasks"), list):
        return
    processors = document.get("processors")
    for index, task in enumerate(document["tasks"]):
        home = task.get("home") if isinstance(task, dict) else None
        if type(home) is int and type(processors) is int and home >= processors > 0:
            yield Defect(
                ("tasks", index, "home"),
                f"{home} with processors = {processors}",
                f"clusters are counted from 0: at most {processors - 1}",
            )


def _lock_defects(document: Any) -> Iterator[Defect]:
    """Sections longer than their task, locks that are there twice, or unused."""
    used = set()
    for index, task in enumerate(document["tasks"]):
        sections = task.get("sections", []) if isinstance(task, dict) else []
        used |= {each["lock"] for each in sections}
        held = sum(each["length"] * each.get("count", 1) for each in sections)
        if held > task["wcet"]:
            hint = "count times length of all sections is part of the wcet"
            yield Defect(("tasks", index, "sections"), f"{held} of a wcet of {task['wcet']}", hint)
        for key in ("np_max", "np_last"):
            if task.get(key, 0) > task["wcet"]:
                where = ("tasks", index, key)
                yield Defect(where, f"{task[key]} of a wcet of {task['wcet']}", "part of the wcet")
    names = [lock["name"] for lock in document.get("locks", [])]
    for index, lock in enumerate(document.get("locks", [])):
        if lock.get("processor", 0) >= document["processors"]:
            found = f"{lock['processor']} with processors = {document['processors']}"
            hint = f"counted from 0: at most {document['processors'] - 1}"
            yield Defect(("locks", index, "processor"), found, hint)
    for index, name in enumerate(names):
        if name in names[:index]:
            yield Defect(("locks", index), f"a second lock {shown(name)}", "keep one")
        elif name not in used:
            yield Defect(("locks", index), f"no task uses {shown(name)}", "remove it")


def _model_defects(document: Any) -> Iterator[Defect]:
    """Numbers of a curve, a DAG, an affinity set or a chain that do not fit the rest."""
    tasks, processors = document["tasks"], document["processors"]
    for index, task in enumerate(tasks):
        path, wcet, cpus = ("tasks", index), task["wcet"], task.get("affinity", ())
        if "arrivals" in task:
            yield from _curve_defects(task["arrivals"], task["period"], (*path, "arrivals"))
        if "dag" in task:
            yield from _dag_defects(task["dag"], wcet, (*path, "dag"))
        for place, cpu in enumerate(cpus):
            if cpu >= processors:
                hint = f"counted from 0: at most {processors - 1}"
                where = (*path, "affinity", place)
                yield Defect(where, f"{cpu} with processors = {processors}", hint)
        if cpus and task.get("home", cpus[0]) not in cpus:
            yield Defect((*path, "home"), f"{task['home']} is not in its affinity", "add it there")
        if task.get("bcet", 0) > wcet:
            yield Defect((*path, "bcet"), f"{task['bcet']} of a wcet of {wcet}", "at most the wcet")
    yield from _chain_defects(document.get("chains", ()), tasks)


def _chain_defects(chains: Any, tasks: Any) -> Iterator[Defect]:
    releases: dict[int, int] = {}
    for number, chain in enumerate(chains):
        path, places, links = ("chains", number), chain["tasks"], chain.get("links", ())
        if "links" in chain and len(links) != len(places) - 1:
            hint = "one of each task but the first"
            yield Defect((*path, "links"), f"{len(links)} links of {len(places)} tasks", hint)
        for place, task in enumerate(places):
            if task >= len(tasks):
                hint = f"the first is 0, the last {len(tasks) - 1}"
                yield Defect((*path, "tasks", place), f"there is no task {task}", hint)
            elif task in places[:place]:
                found = f"task {task} is in this chain twice"
                yield Defect((*path, "tasks", place), found, "once")
            elif links[:place][place - 1 :] == ["triggered"] and places[place - 1] < len(tasks):
                yield from _trigger_defects(places[place - 1], task, tasks, releases)


def _trigger_defects(
    before: int, task: int, tasks: Any, releases: dict[int, int]
) -> Iterator[Defect]:
    """What a task can't have that ``before`` releases. ``releases``: those so far."""
    path, root, own = ("tasks", task), tasks[before], tasks[task]
    if releases.setdefault(task, before) != before:
        found = f"task {releases[task]} and task {before} release it"
        yield Defect(path, found, "one: let it sample the other")
    at, seen = before, {task}
    while at in releases and at not in seen:
        seen.add(at)
        at = releases[at]
    if at == task:
        yield Defect(path, "it releases itself, by way of others", "let one of them sample")
    if own["period"] != root["period"]:
        found = f"{own['period']}, and task {before}, which releases it, has {root['period']}"
        yield Defect((*path, "period"), found, "write the same")
    for key in ("offset", "jitter", "arrivals"):
        if own.get(key):
            hint = f"leave it out: task {before} releases it"
            yield Defect((*path, key), f"{own[key]}" if key != "arrivals" else "a curve", hint)
    if root.get("arrivals"):
        hint = "a task that releases others comes once a period"
        yield Defect(("tasks", before, "arrivals"), "a curve", hint)


def _curve_defects(curve: Any, period: int, path: Path) -> Iterator[Defect]:
    steps = curve["steps"]
    if curve["horizon"] != period:
        found = f"{curve['horizon']} with a period of {period}"
        yield Defect((*path, "horizon"), found, "write the same")
    for place, (one, other) in enumerate(pairwise([[0, 0], *steps])):
        grows = one[0] < other[0] <= period and one[1] < other[1] <= _ARRIVALS_MAX
        if not grows or (place == 0 and other[0] != 1):
            hint = "the first d is 1; d and k grow, up to the horizon and 1000000"
            yield Defect((*path, "steps", place), f"{other} after {one}", hint)


def _dag_defects(dag: Any, wcet: int, path: Path) -> Iterator[Defect]:
    if (volume := sum(dag["nodes"])) != wcet:
        yield Defect((*path, "nodes"), f"{volume} of a wcet of {wcet}", "write the same")
    for place, (a, b) in enumerate(dag.get("edges", ())):
        if not a < b < len(dag["nodes"]):
            hint = f"from a node to a later one, counted from 0: at most {len(dag['nodes']) - 1}"
            yield Defect((*path, "edges", place), f"[{a}, {b}]", hint)


def _pairs(values: Any) -> tuple[tuple[int, int], ...]:
    return tuple((int(a), int(b)) for a, b in values)


def _system(document: Any) -> TaskSystem:
    tasks = []
    locks = {each["name"]: Lock(**each) for each in document.get("locks", [])}
    for entry in document["tasks"]:
        values = {key: int(entry[key]) for key in (*FIELDS, *EXTRAS, "bcet") if key in entry}
        values.setdefault("deadline", values["period"])
        sections = tuple(CriticalSection(**each) for each in entry.get("sections", []))
        locks |= {each.lock: Lock(name=each.lock) for each in sections if each.lock not in locks}
        if "dag" in entry:
            graph = entry["dag"]
            dag = Dag(nodes=tuple(graph["nodes"]), edges=_pairs(graph.get("edges", ())))
        else:
            dag = None
        tasks.append(
            TimedTask(
                name=entry.get("name", ""),
                sections=sections,
                arrivals=_pairs(entry.get("arrivals", {"steps": ()})["steps"]),
                dag=dag,
                affinity=tuple(sorted(set(entry.get("affinity", ())))),
                source=entry.get("source", ""),
                **values,
            )
        )
    return TaskSystem(
        locks=tuple(locks.values()),
        chains=tuple(
            Chain(**{**each, "tasks": tuple(each["tasks"]), "links": tuple(each.get("links", ()))})
            for each in document.get("chains", ())
        ),
        processors=int(document["processors"]),
        tasks=tuple(tasks),
        name=document.get("name", ""),
        unit=document.get("unit", ""),
    )
