"""Task systems as people type them: other words for keys, other units, decimals, no heading.

Times are read exactly and come out in the coarsest unit in which all of them are whole.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any

from deadbeat.base.model.errors import UsageError
from deadbeat.sched.arrays import EXTRAS, FIELDS
from deadbeat.sched.documents import SYNONYMS, Literal, schema

#: ``C [us]``, ``C (us)``, ``C/us``, ``C_us``.
_UNIT = re.compile(r"(?:\s*[\[(/]\s*|_|\s+in\s+)(ns|us|µs|ms|s)\s*[\])]?\s*$")
_NS = {"s": Fraction(10**9), "ms": Fraction(10**6), "us": Fraction(1000), "ns": Fraction(1)}
_NS |= {"ps": Fraction(1, 1000)}
#: A number of JSON, and what people write for one.
_DECIMAL = re.compile(r"[+-]?(?:[0-9]{1,30}(?:\.[0-9]{0,30})?|\.[0-9]{1,30})")
#: Keys of a task that are times.
_TIMES = {*FIELDS, *EXTRAS, "bcet"} - {"priority", "home"}
_PLACES_MAX = 12
#: What 1 is of the file's unit, where that has no name.
_PARTS = {10: "tenths", 100: "hundredths", 1000: "thousandths"}
#: Characters of a word that can be a key and its unit.
_WORD_MAX = 100


def own_word(word: str, known: Iterable[str]) -> tuple[str, str]:
    """Our key for what was written, "" if none is known for it, and its unit."""
    if len(word) > _WORD_MAX:
        return "", ""
    found = _UNIT.search(word)
    unit = found[1].replace("µ", "u") if found else ""
    for text in (word, _UNIT.sub("", word)):
        plain = re.sub(r"[\s_-]+", "_", text.strip().lower())
        for key in (plain, SYNONYMS.get(plain, "")):
            if key in known:
                return key, unit if text != word else ""
    return "", ""


def own_keys(document: Any, source: str) -> tuple[Any, dict[str, str], list[str]]:
    """A document of JSON with our keys, units by key, and what was read as what."""
    rules, remarks, units = schema(), dict[str, None](), dict[str, str]()
    if isinstance(document, list):
        if document and all(isinstance(each, list) and each for each in document):
            words, said = ordered(document, source)
            remarks[said] = None
            document = [dict(zip(words, each, strict=True)) for each in document]
        document = {"tasks": document}
    if not isinstance(document, dict):
        return document, {}, []

    def renamed(entry: Any, known: Iterable[str]) -> Any:
        if not isinstance(entry, dict):
            return entry
        read = {key: (key, "") if key in known else own_word(key, known) for key in entry}
        names = Counter(name for name, _ in read.values())
        out = {}
        for key, value in entry.items():
            name, unit = read[key]
            sound = name and names[name] == 1 and unit in ("", units.get(name, unit))
            out[name if sound else key] = value
            if sound and name != key:
                remarks[f"{key} is read as {name}{f' in {unit}' if unit else ''}"] = None
                units.update({name: unit} if unit else {})
        return out

    document = renamed(document, rules["properties"])
    if isinstance(tasks := document.get("tasks"), list):
        known = [*rules["$defs"]["task"]["properties"]]
        document["tasks"] = [renamed(each, known) for each in tasks]
    return document, units, list(remarks)


def ordered(rows: Sequence[Sequence[Any]], source: str) -> tuple[list[str], str]:
    """Keys of columns without a heading, and what was assumed, in words.
    Raises UsageError: what they are can be read in several ways."""
    hint = "write one like: wcet,period,deadline"
    if len({len(row) for row in rows}) != 1:
        raise UsageError(f"{source}: no heading, and lines of several lengths", hint)
    columns = list(zip(*rows, strict=True))
    named = columns[0] and not any(_value(cell) is not None for cell in columns[0])
    numbers = [[_value(cell) for cell in column] for column in columns[1 if named else 0 :]]
    words = ("wcet", "period", "deadline")[: len(numbers)]
    if len(numbers) in (2, 3) and all(None not in column for column in numbers):
        for order in (words, ("period", "wcet")):
            found = dict(zip(order, numbers, strict=False))
            wcets, periods = found["wcet"], found["period"]
            deadlines = found.get("deadline", periods)
            rows_of = zip(wcets, deadlines, periods, strict=True)
            if len(order) == len(numbers) and all(c <= d <= t for c, d, t in rows_of):  # type: ignore[operator]
                said = f"no heading: columns are read as {', '.join(order)}"
                return [*(["name"] if named else []), *order], said
    raise UsageError(f"{source}: no heading, and it could be read in several ways", hint)


def _value(cell: Any) -> Fraction | None:
    """The exact value of a number, or None."""
    if isinstance(cell, int) and not isinstance(cell, bool):
        return Fraction(cell)
    if isinstance(cell, Fraction):
        return cell
    text = cell.text if isinstance(cell, Literal) else cell
    if isinstance(text, str) and _DECIMAL.fullmatch(text.strip()):
        return Fraction(text.strip())
    return None


def whole(document: Any, units: Mapping[str, str], source: str) -> tuple[Any, list[str]]:
    """The document with whole times, and in what unit they came out, in words.

    Args:
        document: As JSON has it; a time may be a Literal or a Fraction.
        units: Of the keys of tasks that say their own.

    Raises:
        UsageError: Some times say their unit and others do not.
    """
    if not isinstance(document, dict) or not isinstance(document.get("tasks"), list):
        return document, []
    values: list[tuple[str, Fraction]] = []

    def collect(key: str, value: Any) -> Any:
        if (number := _value(value)) is not None:
            values.append((key, number))
        return value

    _mapped(document, collect)
    if any(number < 0 for _, number in values):  # is refused, as it was written
        return document, []
    said = document.get("unit", "")
    every = dict.fromkeys([*units.values(), *([said] if said in _NS else [])])
    common = said if said in _NS else next(iter(every)) if len(every) == 1 else ""
    fractions = any(number.denominator != 1 for _, number in values)
    if not fractions and len(every) < 2:
        remark = [f"times are in {common}, by the headings"] if units else []
        document = _mapped(document, lambda _, v: int(v) if isinstance(v, Fraction) else v)
        return document | ({"unit": common} if common else {}), remark
    if every and not common and (bare := [key for key, _ in values if key not in units]):
        message = f"{source}: {bare[0]} has no unit, others are in {' and '.join(every)}"
        raise UsageError(message, "add it")
    scales = {key: _NS[units.get(key, common)] if every else Fraction(1) for key, _ in values}
    exact = [number * scales[key] for key, number in values]
    if every:
        found = [name for name, ns in _NS.items() if all((v / ns).denominator == 1 for v in exact)]
        if not found:
            return document, []
        unit, divisor = found[0], _NS[found[0]]
        said = f"times are in {unit}, exactly"
    else:
        places = [p for p in range(_PLACES_MAX) if all((v * 10**p).denominator == 1 for v in exact)]
        if not places:
            return document, []
        part = 10 ** places[0]
        unit, divisor = _PARTS.get(part, f"1/{part}"), Fraction(1, part)
        said = f"times are multiplied by {10 ** places[0]}, so that all are whole"

    def convert(key: str, value: Any) -> Any:
        number = _value(value)
        return value if number is None else int(number * scales[key] / divisor)

    return _mapped(document, convert) | {"unit": unit}, [said]


def _mapped(document: Any, to: Callable[[str, Any], Any]) -> Any:
    """The document with every time of a task passed through ``to``."""

    def nested(key: str, value: Any) -> Any:
        if key in _TIMES:
            return to(key, value)
        if key == "sections" and isinstance(value, list):
            return [_at(each, "length", lambda v: to(key, v)) for each in value]
        if key == "dag":
            return _at(value, "nodes", lambda v: [to(key, n) for n in v] if type(v) is list else v)
        if key == "arrivals":
            value = _at(value, "steps", steps)
            return _at(value, "horizon", lambda v: to(key, v))
        return value

    def steps(value: Any) -> Any:
        if not isinstance(value, list):
            return value
        return [[to("steps", e[0]), *e[1:]] if isinstance(e, list) and e else e for e in value]

    tasks = [
        {key: nested(key, value) for key, value in each.items()} if isinstance(each, dict) else each
        for each in document["tasks"]
    ]
    if isinstance(chains := document.get("chains"), list):
        due = [_at(each, "deadline", lambda v: to("deadline", v)) for each in chains]
        document = {**document, "chains": due}
    return {**document, "tasks": tasks}


def _at(entry: Any, key: str, to: Callable[[Any], Any]) -> Any:
    return {**entry, key: to(entry[key])} if isinstance(entry, dict) and key in entry else entry
