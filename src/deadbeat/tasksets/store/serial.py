"""Task sets and what their fragments cost as plain JSON values and back.

An entry is written ``"name/size"`` and a use ``["name/size", repeats, resource]``: a batch holds
thousands of them and stays readable this way.
"""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any, TypeVar

from cattrs import Converter

from deadbeat.base.model.errors import DataError, UsageError
from deadbeat.base.store import serial
from deadbeat.base.store.files import followed, read_json, write_json
from deadbeat.tasksets.model.calibration import Calibration
from deadbeat.tasksets.model.tasks import Entry, FragmentUse, Kind, Seed, Segment

T = TypeVar("T")
#: What ``calibrate`` writes under the folder of results by default.
CALIBRATION_FILE = "calibration.json"
_SEGMENT_KEYS = {"kind", "budget_ps", "cost_ps", "uses"}
_CALIBRATION_HINT = "run `deadbeat contention --calibrate` again, or restore it from a backup"


@functools.cache
def converter() -> Converter:
    """The converter of all that a campaign stores; unknown keys are errors."""
    made = serial.fraction_converter()
    made.register_structure_hook_func(lambda kind: kind == Seed, _seed)
    made.register_unstructure_hook(Entry, str)
    made.register_structure_hook(Entry, lambda text, _: parse_entry(text))
    made.register_unstructure_hook(
        FragmentUse, lambda use: [str(use.entry), use.repeats, use.resource]
    )
    made.register_structure_hook(Segment, lambda item, _: _segment(item))
    return made


def to_plain(value: Any) -> Any:
    """``value`` of the model as dicts, lists, numbers and text."""
    return converter().unstructure(value)


def structure(
    plain: Any, wanted: type[T], *, path: Path, what: str, hint: str, made: Converter | None = None
) -> T:
    """See `deadbeat.base.store.serial.structure`."""
    return serial.structure(
        plain, wanted, path=path, what=what, hint=hint, made=made or converter()
    )


def _seed(value: Any, _: Any) -> int:
    if type(value) is int and 0 <= value < 1 << 64:
        return value
    raise ValueError(f"expected a seed of 64 bits, found {value!r:.80}")


@functools.lru_cache(maxsize=4096)
def _entry(text: str) -> Entry:
    """Cached `parse_entry`; a campaign names the same few hundred entries a million times."""
    name, slash, size = text.rpartition("/")
    if not (name and slash and size.isascii() and size.isdigit()):
        raise ValueError(f"expected name/size, found {text!r}")
    return Entry(name, int(size))


def parse_entry(text: Any) -> Entry:
    """Entry from ``name/size``; ValueError if it is not one."""
    if not isinstance(text, str):
        raise ValueError(f"expected name/size, found {text!r}")
    return _entry(text)


def _segment(item: Any) -> Segment:
    """By hand: a summary reads a million of them, and this is several times faster."""
    if not isinstance(item, dict) or item.keys() != _SEGMENT_KEYS:
        raise ValueError(f"expected a segment with {sorted(_SEGMENT_KEYS)}, found {item!r:.80}")
    budget, cost, uses = item["budget_ps"], item["cost_ps"], item["uses"]
    if type(budget) is not int or type(cost) is not int or not isinstance(uses, list):
        raise ValueError(f"expected whole picoseconds and a list of uses, found {item!r:.80}")
    return Segment(Kind(item["kind"]), budget, cost, tuple([_use(use) for use in uses]))


def _use(item: Any) -> FragmentUse:
    if isinstance(item, list) and len(item) == 3:
        entry, repeats, resource = item
        if type(repeats) is int and repeats >= 1 and (resource is None or type(resource) is int):
            return FragmentUse(parse_entry(entry), repeats, resource)
    raise ValueError(f"expected [entry, repeats >= 1, resource or null], found {item!r:.80}")


def write_calibration(path: Path, calibration: Calibration) -> None:
    """Write ``calibration`` as ``path``, atomically."""
    write_json(path, to_plain(calibration))


def given_calibration(path: Path | None) -> Calibration | None:
    """The calibration that ``--calibration`` names, if any.

    Raises:
        UsageError: There is no such file.
        DataError: It is damaged.
    """
    if path is not None and not path.exists():
        raise UsageError(
            f"--calibration: there is no file {path}", "contention --calibrate makes one"
        )
    return None if path is None else read_calibration(followed(path))


def read_calibration(path: Path) -> Calibration:
    """Calibration in ``path``. Raises DataError: unreadable, damaged or of another format."""
    plain = read_json(path, what="calibration", hint=_CALIBRATION_HINT)
    value = structure(plain, Calibration, path=path, what="calibration", hint=_CALIBRATION_HINT)
    problem = _find_problem(value)
    if problem:
        raise DataError(f"calibration {path} is damaged: {problem}", _CALIBRATION_HINT)
    return value


def _find_problem(calibration: Calibration) -> str:
    """What types alone do not catch, in words; "" if nothing."""
    for entry, costs in calibration.costs.items():
        try:
            parse_entry(entry)
        except ValueError as error:
            return str(error)
        if not costs:
            return f"{entry} has no cost"
        if any(min(cost.first_ps, cost.again_ps, cost.repeat_ps) < 1 for cost in costs):
            return f"{entry} costs less than 1 ps"
        if any(min(cost.samples, cost.rejected) < 0 for cost in costs):
            return f"{entry} rests on fewer than no samples"
    references = (*calibration.yardstick_ps, *calibration.cache_line_ps.values())
    if any(reference < 1 for reference in references):
        return "a host reference is less than 1 ps"
    return ""
