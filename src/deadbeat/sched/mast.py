"""Models of MAST 1.x as text: the linear transactions of one activity each.

The grammar is that of the MAST manual (Gonzalez Harbour, Gutierrez, Palencia and Drake, ECRTS
2001): ``Kind (Key => value, ...);``, words in any case, times in the user's unit. A transaction of
several activities is a chain, not a task, and is refused by name.
"""

from __future__ import annotations

import re
from typing import Any

from deadbeat.base.model.errors import UsageError
from deadbeat.base.model.words import shown
from deadbeat.sched.documents import exact, number, refusal

_TOKEN = re.compile(r'--[^\n]*|=>|[(),;]|"[^"]*"|(?:(?!--)[^\s(),;=>])+|\S')
_SIGNS = ("=>", "=", ">", ")", ",", ";")
_KINDS = (
    r"model|processing_resource|scheduler|scheduling_server|operation|shared_resource|transaction"
)
_BEGIN = re.compile(rf"\s*(?:--[^\n]*\n\s*)*(?:{_KINDS})\s*\(", re.IGNORECASE)


def is_mast(text: str) -> bool:
    """By how it begins."""
    return _BEGIN.match(text) is not None


def read_mast(text: str, source: str) -> tuple[Any, list[str]]:
    """A document for `documents.build` and remarks.
    Raises UsageError: not MAST's grammar, or what has no counterpart here: all of it named."""
    try:
        statements = _statements(text, source)
    except RecursionError:
        raise UsageError(f"{source}: nested too deeply", "export it again") from None
    kinds: dict[str, dict[str, Any]] = {}
    for kind, value in statements:
        kinds.setdefault(kind, {})[str(value.get("name", "")).lower()] = value
    processors = kinds.get("processing_resource", {})
    errors = [
        f"processing_resource {name}: speed_factor {shown(each['speed_factor'])} (only speed 1)"
        for name, each in processors.items()
        if exact(each.get("speed_factor", "1")) != 1
    ]
    places = {name: place for place, name in enumerate(processors)}
    tasks = []
    for kind, value in statements:
        if kind == "transaction":
            entry = _task(value, kinds, places)
            if isinstance(entry, str):
                errors.append(f"transaction {value.get('name', '')}: {entry}")
            else:
                tasks.append(entry)
    if errors:
        raise refusal(source, errors)
    costs = set()
    for each in (each for named in kinds.values() for each in named.values()):
        policy = each.get("policy")
        for key, cost in {**each, **(policy if isinstance(policy, dict) else {})}.items():
            if re.fullmatch("worst_.*(switch|overhead)", key) and exact(cost):
                costs.add(key)
    remarks = [f"{key} is left out: --set cost-context-switch" for key in sorted(costs)]
    found = {"processors": max(len(places), 1), "tasks": tasks}
    return found, ["times have no unit in files of MAST", *remarks]


def _task(value: Any, kinds: Any, places: Any) -> Any:
    """A transaction as a task; or why it is none."""
    events, handlers = _objects(value, "external_events"), _objects(value, "event_handlers")
    kind = str(handlers[0].get("type", "")).lower() if handlers else ""
    if len(events) != 1 or len(handlers) != 1 or kind != "activity":
        count = f"{len(events)} external events and {len(handlers)} event handlers"
        return f"{count} (a task has one activity of one event)"
    (event,) = events
    server = _named(kinds, "scheduling_server", handlers[0].get("activity_server"))
    operation = _named(kinds, "operation", handlers[0].get("activity_operation"))
    period = event.get("period", event.get("min_interarrival"))
    wcet = operation.get("worst_case_execution_time")
    if period is None or wcet is None:
        return f"{'a period' if period is None else 'a Worst_Case_Execution_Time'} is missing"
    deadlines = [
        each["deadline"]
        for inner in _objects(value, "internal_events")
        for each in _objects(inner, "timing_requirements")
        if "deadline" in each
    ]
    times = {
        "wcet": wcet,
        "period": period,
        "deadline": (*deadlines, period)[0],
        "jitter": event.get("max_jitter"),
        "offset": event.get("phase"),
    }
    entry = {key: exact(each) for key, each in times.items() if each is not None}
    entry["name"] = value.get("name", "")
    policies = _objects(server, "server_sched_parameters")
    if policies and isinstance(priority := policies[0].get("the_priority"), str):
        entry["priority"] = number(priority)
    scheduler = _named(kinds, "scheduler", server.get("scheduler"))
    host = str(server.get("server_processing_resource") or scheduler.get("host", "")).lower()
    if host in places:
        entry["home"] = places[host]
    locks = operation.get("shared_resources_list", [])
    locks = locks if isinstance(locks, list) else [locks]
    if len(locks) > 1:
        return f"{', '.join(map(str, locks))} are held together (a task holds one lock)"
    if locks:  # for all of the operation
        entry["sections"] = [{"lock": locks[0], "length": exact(wcet)}]
    return entry


def _named(kinds: Any, kind: str, name: Any) -> Any:
    found = kinds.get(kind, {}).get(str(name or "").lower(), {})
    return found if isinstance(found, dict) else {}


def _objects(entry: Any, key: str) -> list[Any]:
    """One or several."""
    value = entry.get(key, [])
    return [
        each for each in (value if isinstance(value, list) else [value]) if isinstance(each, dict)
    ]


def _statements(text: str, source: str) -> list[tuple[str, Any]]:
    tokens = [(m[0], m.start()) for m in _TOKEN.finditer(text) if not m[0].startswith("--")]
    place = 0

    def wrong() -> UsageError:
        word, at = tokens[place] if place < len(tokens) else ("the end", len(text))
        line = text.count("\n", 0, at) + 1
        return UsageError(
            f"{source}: {shown(word)} at line {line} is not MAST's grammar", "export it again"
        )

    def take(word: str = "") -> str:
        nonlocal place
        if place >= len(tokens) or (word and tokens[place][0] != word):
            raise wrong()
        place += 1
        return tokens[place - 1][0]

    def value() -> Any:
        nonlocal place
        if place < len(tokens) and tokens[place][0] == "(":
            return group()
        if place < len(tokens) and tokens[place][0] in _SIGNS:
            raise wrong()
        return take().strip('"')

    def group() -> Any:
        """An object, or a list."""
        nonlocal place
        take("(")
        pairs, items = {}, []
        while tokens[place : place + 1] and tokens[place][0] != ")":
            if place + 1 < len(tokens) and tokens[place + 1][0] == "=>":
                key = take().lower()
                take("=>")
                pairs[key] = value()
            else:
                items.append(value())
            if (pairs and items) or not tokens[place : place + 1] or tokens[place][0] != ",":
                break
            take(",")
        if pairs and items:
            raise wrong()
        take(")")
        return pairs or items

    found = []
    while place < len(tokens):
        kind = take().lower()
        entry = group()
        take(";")
        if not isinstance(entry, dict):
            raise wrong()
        found.append((kind, entry))
    return found
