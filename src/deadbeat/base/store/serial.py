"""Values of the model as plain JSON values and back, every wrong key named in one line.

A fraction is written ``"n/d"``.
"""

from __future__ import annotations

import functools
from fractions import Fraction
from pathlib import Path
from typing import Any, TypeVar, get_args, get_origin

from cattrs import Converter, override, transform_error
from cattrs.cols import homogenous_tuple_structure_factory
from cattrs.gen import make_dict_structure_fn

from deadbeat.base.model.errors import DataError
from deadbeat.base.model.histogram import Histogram, to_json

T = TypeVar("T")
#: No stored number is larger, but for the seed of a task set, of 64 bits: numpy counts with 63.
NUMBER_MAX = 2**63 - 1


def fraction_converter() -> Converter:
    """`exact_converter`, and fractions; unknown keys are errors."""
    made = exact_converter()
    made.register_unstructure_hook(Fraction, str)
    made.register_structure_hook(Fraction, lambda text, _: _fraction(text))
    return made


def exact_converter() -> Converter:
    """A converter that makes no number of a text, no text of a number, and no list of either."""
    made = Converter(forbid_extra_keys=True)
    for kind in (str, bool, int, float):
        made.register_structure_hook(kind, _exact)
    made.register_structure_hook_factory(_is_tuple, _tuple)
    made.register_unstructure_hook(Histogram, to_json)
    numbers = override(struct_hook=_numbers)
    hook = make_dict_structure_fn(Histogram, made, buckets=numbers, counts=numbers)
    made.register_structure_hook(Histogram, hook)
    return made


converter = functools.cache(fraction_converter)  # of all stored values
plain_converter = functools.cache(exact_converter)  # for what adds nothing to it


def _exact(value: Any, kind: type) -> Any:
    if type(value) is kind and kind in (str, bool):
        return value
    number = kind in (int, float) and type(value) in (int, float) and abs(value) <= NUMBER_MAX
    if number and kind(value) == value:  # 1 is a float, 1.0 whole
        return kind(value)
    raise ValueError(f"expected {kind.__name__}, found {value!r:.80}")


def _is_tuple(kind: Any) -> bool:
    return get_origin(kind) is tuple


def _tuple(kind: Any, made: Converter) -> Any:
    """Read a list alone: a text or an object has items, too."""
    alike, whole = get_args(kind)[-1] is ..., get_args(kind) == (int, ...)
    hook: Any = (
        homogenous_tuple_structure_factory(kind, made)
        if alike
        else made.gen_structure_hetero_tuple(kind)
    )

    def structured(value: Any, _: Any) -> Any:
        if not isinstance(value, list | tuple):
            raise ValueError(f"expected a list, found {value!r:.80}")
        if whole and {*map(type, value)} == {int} and max(map(abs, value)) <= NUMBER_MAX:
            return tuple(value)  # not number by number: there are many
        return hook(value, kind)

    return structured


def _numbers(items: Any, _: Any) -> list[int]:
    """Read a histogram, not number by number: there are many."""
    if type(items) is list and {*map(type, items)} <= {int}:
        return items
    raise ValueError(f"expected a list of whole numbers, found {items!r:.80}")


def _fraction(text: Any) -> Fraction:
    if not isinstance(text, str):
        raise ValueError(f"expected a fraction as text, found {text!r}")
    return Fraction(text)


def to_plain(value: Any) -> Any:
    """``value`` of the model as dicts, lists, numbers and text."""
    return converter().unstructure(value)


def structure(
    plain: Any, wanted: type[T], *, path: Path, what: str, hint: str, made: Converter | None = None
) -> T:
    """Value of type ``wanted`` from what was read of ``path``.

    Args:
        made: The converter; None: that of all stored values.

    Raises:
        DataError: Naming ``what`` it should have been and the first wrong key.
    """
    try:
        return (made or converter()).structure(plain, wanted)
    except Exception as error:  # cattrs groups whatever its hooks raise
        lines = transform_error(error, path="$") or [str(error)]
        more = f" (and {len(lines) - 1} more)" if len(lines) > 1 else ""
        raise DataError(f"{what} {path} is damaged: {lines[0]}{more}", hint) from error
