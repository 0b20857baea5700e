"""What a task set is asked to be."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable
from fractions import Fraction

from attrs import fields_dict, frozen

from deadbeat.model.errors import UsageError
from deadbeat.synthesis.distributions import DISTRIBUTIONS

PRIORITIES = ("uniform", "rate-monotonic", "random")
#: Tasks stay inside this band: ceilings are above it, the guardian above them (measurement.md).
PRIORITY_BAND = (60, 79)
CORES_LIMIT = 1024
TASKS_LIMIT = 4096
SEGMENTS_LIMIT = 1024
WCET_LIMIT_NS = 10_000_000_000
CLASSES_LIMIT = 64


@frozen(kw_only=True)
class SynthesisParameters:
    """Parameters of one task set; whatever is wrong with them is reported at once.

    Attributes:
        cores: Logical cores in use, M.
        tasks: Number of tasks, N >= M, bound to cores round robin.
        segments_max: Upper bound on the segments of a task.
        wcet_min_ns, wcet_max_ns: Bounds of a task's worst-case execution time C.
        distribution: How C is drawn between its bounds: ``uniform``, ``log-uniform``, ``normal``,
            ``exponential`` (see :mod:`deadbeat.synthesis.distributions`).
        sync_share: rho: share of C spent in SY segments.
        contended_ratio: alpha: share of that which is bound to contended objects.
        deadline_factor: T = D = this times C.
        classes_min, classes_max: How many SY fragments a task set draws its SY uses from.
        priorities: ``uniform`` (all at priority_high), ``rate-monotonic`` or ``random``.
        priority_low, priority_high: Band of SCHED_FIFO priorities.
        fragments: Names that may be used. A kind of which none is named is not restricted.

    Raises:
        UsageError: Naming every value that cannot be accepted.
    """

    cores: int
    tasks: int
    segments_max: int = 8
    wcet_min_ns: int = 100_000
    wcet_max_ns: int = 500_000
    distribution: str = "uniform"
    sync_share: Fraction
    contended_ratio: Fraction
    deadline_factor: Fraction = Fraction(10)
    classes_min: int = 1
    classes_max: int = 3
    priorities: str = "uniform"
    priority_low: int = PRIORITY_BAND[0]
    priority_high: int = PRIORITY_BAND[1]
    fragments: tuple[str, ...] = ()

    def __attrs_post_init__(self) -> None:
        errors = [*self._wrong_types()] or [*self._wrong_values()]
        if errors:
            raise UsageError(
                "; ".join(errors),
                "correct the value" if len(errors) == 1 else "correct all of them",
            )

    def _wrong_types(self) -> Iterable[str]:
        for name, attribute in fields_dict(type(self)).items():
            accepts, expected = _TYPES[str(attribute.type)]
            value = getattr(self, name)
            if not accepts(value):
                yield f"{name}: expected {expected}, found {value!r}"

    def _wrong_values(self) -> Iterable[str]:
        yield from _outside("cores", self.cores, 1, CORES_LIMIT)
        yield from _outside("tasks", self.tasks, self.cores, TASKS_LIMIT)
        mixed = 0 < self.sync_share < 1
        yield from _outside("segments_max", self.segments_max, 2 if mixed else 1, SEGMENTS_LIMIT)
        yield from _outside("wcet_min_ns", self.wcet_min_ns, 1, WCET_LIMIT_NS)
        yield from _outside("wcet_max_ns", self.wcet_max_ns, self.wcet_min_ns, WCET_LIMIT_NS)
        yield from _unknown("distribution", self.distribution, DISTRIBUTIONS)
        yield from _outside("sync_share", self.sync_share, 0, 1)
        yield from _outside("contended_ratio", self.contended_ratio, 0, 1)
        yield from _outside("deadline_factor", self.deadline_factor, 1, 1000)
        yield from _outside("classes_min", self.classes_min, 1, CLASSES_LIMIT)
        yield from _outside("classes_max", self.classes_max, self.classes_min, CLASSES_LIMIT)
        yield from _unknown("priorities", self.priorities, PRIORITIES)
        low, high = PRIORITY_BAND
        yield from _outside("priority_low", self.priority_low, low, high)
        yield from _outside("priority_high", self.priority_high, self.priority_low, high)


def _outside(
    name: str, value: int | Fraction, low: int | Fraction, high: int | Fraction
) -> Iterable[str]:
    if not low <= value <= high:
        yield f"{name}: expected {low} to {high}, found {value}"


def _unknown(name: str, value: str, known: Iterable[str]) -> Iterable[str]:
    names = list(known)
    if value not in names:
        nearest = difflib.get_close_matches(value, names, n=1)
        hint = f"did you mean {nearest[0]!r}?" if nearest else f"expected {', '.join(names)}"
        yield f"{name}: {value!r} is unknown; {hint}"


def _is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_names(value: object) -> bool:
    return isinstance(value, tuple) and all(isinstance(name, str) for name in value)


#: Annotation -> (test, what is expected). Floats are no fractions: 0.1 is not a tenth.
_TYPES: dict[str, tuple[Callable[[object], bool], str]] = {
    "int": (_is_whole, "a whole number"),
    "str": (lambda value: isinstance(value, str), "a word"),
    "Fraction": (
        lambda value: isinstance(value, Fraction) or _is_whole(value),
        "an exact fraction",
    ),
    "tuple[str, ...]": (_is_names, "a tuple of names"),
}
