"""What a person wrote, on the command line or in a file, as a study."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

import attrs
from cattrs import Converter

from deadbeat.kinds.study.preset import Preset, presets
from deadbeat.kinds.study.spec import SETS_MAX, Source, StudySpec, SweepCell
from deadbeat.model.errors import UsageError
from deadbeat.model.rules import Flag, Name, Problem, RefusedError, Whole, refuse
from deadbeat.model.specification import usage
from deadbeat.model.words import nearest, shown
from deadbeat.sched import Costs, Scheduler

_LIMIT = 10_000
T = TypeVar("T")

_DEFAULTS: dict[str, Any] = {
    "name": "study",
    "seed": 1,
    "sets": 100,
    "distribution": ["randfixedsum"],
    "ties": ["index"],
    "policies": [],
    "tests": [],
    "metrics": False,
    "budget": 5_000_000,
    "generator": {},
    "scheduler": {},
}
#: Keys that may be given beside a preset; everything else makes a sweep of its own.
PRESET_KEYS = ("preset", "name", "seed", "sets", "ties", "budget")
_RANGE = re.compile(r"\s*([0-9.]{1,12})\s*\.\.\s*([0-9.]{1,12})\s*(?::\s*([0-9.]{1,12})\s*)?")


def specify(*layers: Mapping[str, Any], names: Mapping[str, str] | None = None) -> StudySpec:
    """The study that the layers describe, later ones winning key by key.

    Args:
        names: What a key is called where it was written (``tasks`` -> ``--tasks``).

    Raises:
        UsageError: Naming every problem.
    """
    asked: dict[str, Any] = {}
    for layer in layers:
        for key, value in layer.items():
            old = asked.get(key)
            both = isinstance(value, Mapping) and isinstance(old, Mapping)
            asked[key] = {**old, **value} if both else value  # type: ignore[dict-item]
    reader = _Reader(names or {})
    spec = _preset(asked, reader) if asked.get("preset") is not None else _sweep(asked, reader)
    if reader.problems or spec is None:
        raise usage(tuple(reader.problems))
    return spec.checked()


class _Reader:
    """Collects problems under the names a person used."""

    def __init__(self, names: Mapping[str, str]) -> None:
        self._names = names
        self.problems: list[Problem] = []

    def called(self, key: str) -> str:
        return self._names.get(key, key)

    def add(self, key: str, found: str, hint: str = "") -> None:
        self.problems.append(Problem(self.called(key), found, hint))

    def read(self, key: str, value: Any, parse: Callable[[Any], T]) -> T | None:
        try:
            return parse(value)
        except RefusedError as error:
            self.problems += [
                Problem(self.called(key) + p.path, p.found, p.hint) for p in error.problems
            ]
            return None


def _preset(asked: Mapping[str, Any], reader: _Reader) -> StudySpec | None:
    preset = find_preset(str(asked["preset"]))
    for key in asked:
        if key not in PRESET_KEYS:
            reader.add(
                key, f"cannot change the preset {preset.name}", "leave out the one or the other"
            )
    spec = preset.build()
    changes: dict[str, Any] = {}
    for key, parse in _NUMBERS.items():
        if key in asked and key in PRESET_KEYS:
            changes[key] = reader.read(key, asked[key], parse)
    if "ties" in asked:
        rules = reader.read("ties", asked["ties"], _words)
        changes["contenders"] = _other_ties(spec, rules or [])
    return None if reader.problems else attrs.evolve(spec, **changes)


def find_preset(name: str) -> Preset:
    """Raises UsageError with the nearest name."""
    if name not in presets():
        raise UsageError(f'there is no preset "{name}"', nearest(name, list(presets())))
    return presets()[name]


def _other_ties(spec: StudySpec, rules: Iterable[str]) -> dict[str, Scheduler]:
    """The preset's contenders, each under every rule instead of its own."""
    plain = {attrs.evolve(it, ties=""): re.sub(r" \([^)]*\)$", "", label)
             for label, it in reversed(list(spec.contenders.items()))}  # fmt: skip
    rules = list(rules)
    return {
        base if len(rules) == 1 else f"{base} ({rule})": attrs.evolve(it, ties=rule)
        for it, base in reversed(plain.items())
        for rule in rules
    }


def _sweep(asked: Mapping[str, Any], reader: _Reader) -> StudySpec | None:
    known = {*_DEFAULTS, "processors", "tasks", "utilisation"}
    for key in asked:
        if key not in known:
            reader.add(key, "unknown key", nearest(key, sorted(known)))
    for key in ("processors", "tasks", "utilisation"):
        if key not in asked:
            reader.add(key, "missing", f"for example {_EXAMPLES[key]}")
    values = {**_DEFAULTS, **asked}
    read = {key: reader.read(key, values[key], parse) for key, parse in _NUMBERS.items()}
    axes = [
        reader.read(key, values[key], parse) if key in values else None
        for key, parse in (("processors", _whole), ("tasks", _whole), ("utilisation", _thousandths))
    ]
    tests = reader.read("tests", values["tests"], _words)
    sources = _variants(reader, values, ("distribution", "generator", "utilisations"), Source)
    schedulers = _variants(reader, values, ("policies", "scheduler", "policy"), Scheduler)
    ties = reader.read("ties", values["ties"], _words)
    if reader.problems:
        return None
    processors, tasks, loads = (axis or [] for axis in axes)
    return StudySpec(
        **read,  # type: ignore[arg-type]
        title="Sweep",
        sources=sources,
        cells=tuple(
            SweepCell(m, n, load, source)
            for source in sources
            for m in processors
            for n in tasks
            for load in loads
        ),
        contenders=_with_ties(schedulers, ties or []),
        tests=tuple(tests or ()),
    )


def _with_ties(schedulers: Mapping[str, Scheduler], rules: list[str]) -> dict[str, Scheduler]:
    """Every scheduler under every rule, unless it names its own."""
    made = {}
    for label, scheduler in schedulers.items():
        if ":ties=" in label:
            made[label] = scheduler
            continue
        for rule in rules:
            made[f"{label} ({rule})" if len(rules) > 1 else label] = attrs.evolve(
                scheduler, ties=rule
            )
    return made


def _variants(
    reader: _Reader, values: Mapping[str, Any], keys: tuple[str, str, str], kind: type[T]
) -> dict[str, T]:
    """Label -> value of ``kind``: NAME or NAME:KEY=VALUE:KEY=VALUE over the keys of a section.

    Args:
        keys: Where the names stand, the section, and the field that takes a name.
    """
    key, section, word = keys
    common = values[section]
    if not isinstance(common, Mapping):
        reader.add(section, f"{shown(common)} is not a table", f"write a section [{section}]")
        return {}
    made: dict[str, T] = {}
    for label in reader.read(key, values[key], _words) or []:
        name, *pairs = label.split(":")
        own: dict[str, Any] = {}
        for pair in pairs:
            option, equals, text = pair.partition("=")
            if not equals:
                reader.add(key, f"{shown(pair)} is not KEY=VALUE", f"write it like {name}:low=0.1")
            own[option.replace("-", "_")] = text
        if label in made:
            reader.add(key, f"{shown(label)} is listed twice", "list it once")
        built = _built(reader, key, section, {**common, **own, word: name}, kind)
        if built is not None:
            made[label] = built
    return made


def _built(
    reader: _Reader, key: str, section: str, fields: Mapping[str, Any], kind: type[T]
) -> T | None:
    """An attrs value from words and numbers; each wrong one is a problem."""
    declared = attrs.fields_dict(kind)  # type: ignore[arg-type]
    parsed: dict[str, Any] = {}
    before = len(reader.problems)
    for name, value in fields.items():
        if name not in declared or (name == "ties" and kind is not Scheduler):
            reader.add(section, f"unknown key {shown(name)}", nearest(str(name), list(declared)))
            continue
        try:
            parsed[name] = _field(value, declared[name].default)
        except (ValueError, TypeError):
            reader.add(
                f"{key}", f"{name} = {shown(value)} is not a value of it", "see the reference"
            )
    return kind(**parsed) if len(reader.problems) == before else None


def _field(value: Any, default: Any) -> Any:
    """``value`` in the type of the field's default."""
    if default is None:
        numerator, slash, denominator = str(value).partition("/")
        return (int(numerator), int(denominator)) if slash else float(value)
    if isinstance(default, int):
        if float(value) != int(float(value)):
            raise ValueError
        return int(float(value))
    if isinstance(default, float):
        return float(value)
    if isinstance(default, str):
        if not isinstance(value, str):
            raise TypeError
        return value
    return _COSTS.structure(value, Costs)


_COSTS = Converter(forbid_extra_keys=True)


def _words(value: Any) -> list[str]:
    """A TOML list of words, or text with commas."""
    if isinstance(value, str):
        value = [part.strip() for part in value.split(",") if part.strip()]
    if not isinstance(value, (list, tuple)) or not all(isinstance(word, str) for word in value):
        raise refuse(f"{shown(value)} is not a list of names", "write it like g-edf,p-edf")
    return list(dict.fromkeys(value))


def _numbers(value: Any, step: float, example: str) -> list[float]:
    """``8..20``, ``8..20:4``, ``1,2,4``, or a list; ranges include their end when they hit it."""
    pieces = value if isinstance(value, (list, tuple)) else [value]
    found: list[float] = []
    for piece in pieces:
        for part in piece.split(",") if isinstance(piece, str) else [piece]:
            found += _part(part, step, example)
    if not 0 < len(found) <= _LIMIT:
        raise refuse(f"{len(found)} values found", f"1 to {_LIMIT} values, like {example}")
    return found


def _part(part: Any, step: float, example: str) -> list[float]:
    try:
        if not isinstance(part, str):
            return [_finite(part)]
        match = _RANGE.fullmatch(part)
        if match is None:
            return [_finite(part)]
        low, high = float(match[1]), float(match[2])
        by = float(match[3]) if match[3] else step
        if not (low <= high and by > 0):
            raise ValueError
        count = int((high - low) / by + 1e-9) + 1
        if count > _LIMIT:
            raise refuse(f"{shown(part)} holds {count} values", f"{_LIMIT} at most")
        return [low + by * k for k in range(count)]
    except (ValueError, TypeError, OverflowError):
        raise refuse(
            f"{shown(part)} is not a number or range", f"write it like {example}"
        ) from None


def _finite(part: Any) -> float:
    number = float(part)
    if not math.isfinite(number):
        raise ValueError
    return number


def _whole(value: Any) -> list[int]:
    found = _numbers(value, 1.0, "8..20, 8..20:4 or 2,4,8")
    odd = [number for number in found if not number.is_integer()]
    if odd:
        raise refuse(f"{odd[0]:g} is not a whole number", "write it like 8..20")
    return sorted({int(number) for number in found})


def _thousandths(value: Any) -> list[int]:
    found = _numbers(value, 0.05, "0.5..0.95:0.05 or 0.6,0.8")
    fine = [number for number in found if abs(number * 1000 - round(number * 1000)) > 1e-6]
    if fine:
        raise refuse(f"{fine[0]:g} is finer than a thousandth", "round it to 0.001")
    return sorted({round(number * 1000) for number in found})


_NUMBERS: dict[str, Callable[[Any], Any]] = {
    "name": Name().parse,
    "seed": Whole(0, 2**63 - 1).parse,
    "sets": Whole(1, SETS_MAX).parse,
    "budget": Whole(1, 10**15).parse,
    "metrics": Flag().parse,
}
_EXAMPLES = {
    "processors": "--processors 4",
    "tasks": "--tasks 8..20",
    "utilisation": "--utilisation 0.5..0.95:0.05",
}
