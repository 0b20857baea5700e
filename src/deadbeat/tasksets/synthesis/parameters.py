"""What a task set is asked to be."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable
from fractions import Fraction

from attrs import fields_dict, frozen

from deadbeat.base.model.errors import UsageError
from deadbeat.tasksets.synthesis.distributions import (
    DISTRIBUTIONS,
    PERIODS,
    UTILISATION_METHODS,
    Weighted,
)

DEFAULT_DISTRIBUTION = "uniform"
PRIORITIES = ("uniform", "rate-monotonic", "random")
#: Tasks stay inside this band: ceilings are above it, the guardian above them (measurement.md).
PRIORITY_BAND = (60, 79)
CORES_LIMIT = 1024
TASKS_LIMIT = 4096
SEGMENTS_LIMIT = 1024
WCET_LIMIT_NS = 10_000_000_000
CLASSES_LIMIT = 64
PERIOD_LIMIT_NS = 10_000_000_000
#: Tasks of one core that ``fixed-sum`` divides among: its tables grow with the cube.
FIXED_SUM_LIMIT = 128
_LEAST_UTILISATION = Fraction(1, 1000)
#: Only with ``utilisation`` do these say anything.
_OF_UTILISATION = (
    "utilisation_method",
    "utilisation_min",
    "utilisation_max",
    "utilisation_mins",
    "utilisation_maxs",
    "periods",
    "period_min_ns",
    "period_max_ns",
)


@frozen(kw_only=True)
class SynthesisParameters:
    """Parameters of one task set; whatever is wrong with them is reported at once.

    Attributes:
        cores: Logical cores in use, M.
        tasks: Number of tasks, N >= M, bound to cores round robin: task i to core i mod M.
        segments_max: Upper bound on the segments of a task.
        wcet_min_ns, wcet_max_ns: Bounds of a task's worst-case execution time C.
        distribution: How C is drawn between its bounds: ``uniform``, ``log-uniform``, ``normal``,
            ``exponential`` (see :mod:`tasksets.synthesis.distributions`), or the user's own. With
            ``utilisation`` only of tasks that fill a core.
        sync_share: rho: share of C spent in SY segments.
        contended_ratio: alpha: share of that which is bound to contended objects.
        sync_shares, contended_ratios: The same for each task by its index, instead of the common
            one; empty, or one for each task. Those of tasks that fill a core say nothing.
        ns_memory_share: Share of computation in fragments of class ``memory``; None: as drawn.
        deadline_factor: T = D = this times C. Not with ``utilisation``.
        critical_cores: Tasks on the first cores, up to this number, are critical; others only
            compute and fill their core. 0: all tasks are critical.
        fill_utilisation: Sum of C/T on a core that is filled.
        utilisation: Sum of C/T on each core of critical tasks, which have D = T; None: C is drawn
            and T follows by ``deadline_factor``.
        utilisation_method: ``uunifast-discard`` or ``fixed-sum``: how it is divided among the tasks
            of a core (see :mod:`deadbeat.tasksets.synthesis.distributions`).
        utilisation_min, utilisation_max: Bounds of a task's utilisation.
        utilisation_mins, utilisation_maxs: The same for each task by its index, instead of the
            common one; empty, or one for each task.
        periods: ``log-uniform`` or ``harmonic``: how T is drawn, given ``utilisation``.
        period_min_ns, period_max_ns: Bounds of T, given ``utilisation``.
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
    distribution: str | Weighted = DEFAULT_DISTRIBUTION
    sync_share: Fraction
    contended_ratio: Fraction
    sync_shares: tuple[Fraction, ...] = ()
    contended_ratios: tuple[Fraction, ...] = ()
    ns_memory_share: Fraction | None = None
    deadline_factor: Fraction = Fraction(10)
    critical_cores: int = 0
    fill_utilisation: Fraction = Fraction(9, 10)
    utilisation: Fraction | None = None
    utilisation_method: str = "uunifast-discard"
    utilisation_min: Fraction = Fraction(0)
    utilisation_max: Fraction = Fraction(1)
    utilisation_mins: tuple[Fraction, ...] = ()
    utilisation_maxs: tuple[Fraction, ...] = ()
    periods: str = "log-uniform"
    period_min_ns: int = 500_000
    period_max_ns: int = 10_000_000
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

    def is_critical(self, core: int) -> bool:
        """Whether the tasks of ``core`` are those that a set is about."""
        return self.critical_cores == 0 or core < self.critical_cores

    def share_of(self, task: int) -> Fraction:
        """rho of a task; 0 of one that fills a core."""
        if not self.is_critical(task % self.cores):
            return Fraction(0)
        return Fraction(self.sync_shares[task] if self.sync_shares else self.sync_share)

    def ratio_of(self, task: int) -> Fraction:
        """alpha of a task."""
        return Fraction(
            self.contended_ratios[task] if self.contended_ratios else self.contended_ratio
        )

    def tasks_on(self, core: int) -> range:
        """Indexes of the tasks of ``core``."""
        return range(core, self.tasks, self.cores)

    def utilisation_bounds(self, task: int) -> tuple[Fraction, Fraction]:
        """Least and greatest C/T of a critical task: its own bounds, and those that the bounds of
        C and T leave."""
        low = self.utilisation_mins[task] if self.utilisation_mins else self.utilisation_min
        high = self.utilisation_maxs[task] if self.utilisation_maxs else self.utilisation_max
        least = Fraction(self.wcet_min_ns, self.period_max_ns)
        most = Fraction(self.wcet_max_ns, self.period_min_ns)
        return max(Fraction(low), least), min(Fraction(high), most)

    def _wrong_types(self) -> Iterable[str]:
        for name, attribute in fields_dict(type(self)).items():
            accepts, expected = _TYPES[str(attribute.type)]
            value = getattr(self, name)
            if not accepts(value):
                yield f"{name}: expected {expected}, found {value!r}"

    def _wrong_values(self) -> Iterable[str]:
        sizes = [
            *_outside("cores", self.cores, 1, CORES_LIMIT),
            *_outside("tasks", self.tasks, self.cores, TASKS_LIMIT),
        ]
        yield from sizes
        shares = self.sync_shares or (self.sync_share,)
        mixed = any(0 < share < 1 for share in shares)
        yield from _outside("segments_max", self.segments_max, 2 if mixed else 1, SEGMENTS_LIMIT)
        yield from _outside("wcet_min_ns", self.wcet_min_ns, 1, WCET_LIMIT_NS)
        yield from _outside("wcet_max_ns", self.wcet_max_ns, self.wcet_min_ns, WCET_LIMIT_NS)
        if isinstance(self.distribution, str):
            yield from _unknown("distribution", self.distribution, DISTRIBUTIONS)
        for value in getattr(self.distribution, "values_ns", ()):
            yield from _outside("distribution", value, self.wcet_min_ns, self.wcet_max_ns)
        yield from _outside("sync_share", self.sync_share, 0, 1)
        yield from _outside("contended_ratio", self.contended_ratio, 0, 1)
        yield from _outside("ns_memory_share", self.ns_memory_share or 0, 0, 1)
        lists = [
            error
            for name in ("sync_shares", "contended_ratios", "utilisation_mins", "utilisation_maxs")
            for error in self._wrong_list(name)
        ]
        yield from lists
        yield from _outside("deadline_factor", self.deadline_factor, 1, 1000)
        yield from _outside("critical_cores", self.critical_cores, 0, self.cores)
        yield from _outside("fill_utilisation", self.fill_utilisation, _LEAST_UTILISATION, 1)
        yield from _outside("classes_min", self.classes_min, 1, CLASSES_LIMIT)
        yield from _outside("classes_max", self.classes_max, self.classes_min, CLASSES_LIMIT)
        yield from _unknown("priorities", self.priorities, PRIORITIES)
        low, high = PRIORITY_BAND
        yield from _outside("priority_low", self.priority_low, low, high)
        yield from _outside("priority_high", self.priority_high, self.priority_low, high)
        if self.utilisation is None:
            own = [name for name in _OF_UTILISATION if getattr(self, name) != _default(name)]
            yield from (f"{name}: only works with a utilisation" for name in own)
        else:
            own = [*self._wrong_utilisation(self.utilisation)]
            yield from own
            bounded = 1 <= self.wcet_min_ns <= self.wcet_max_ns
            if bounded and not (own or sizes or lists):
                asked = Fraction(self.utilisation)
                critical = filter(self.is_critical, range(self.cores))
                yield from dict.fromkeys(e for c in critical for e in self._unreachable(c, asked))

    def _wrong_list(self, name: str) -> Iterable[str]:
        values = getattr(self, name)
        if values and len(values) != self.tasks:
            yield f"{name}: expected one for each of {self.tasks} tasks, found {len(values)}"
        for index, value in enumerate(values):
            yield from _outside(f"{name}[{index}]", value, 0, 1)

    def _wrong_utilisation(self, utilisation: Fraction) -> Iterable[str]:
        yield from _outside("utilisation", utilisation, _LEAST_UTILISATION, 1)
        yield from _unknown("utilisation_method", self.utilisation_method, UTILISATION_METHODS)
        yield from _outside("utilisation_max", self.utilisation_max, _LEAST_UTILISATION, 1)
        yield from _outside("utilisation_min", self.utilisation_min, 0, self.utilisation_max)
        yield from _unknown("periods", self.periods, PERIODS)
        yield from _outside("period_min_ns", self.period_min_ns, 1, PERIOD_LIMIT_NS)
        yield from _outside(
            "period_max_ns", self.period_max_ns, self.period_min_ns, PERIOD_LIMIT_NS
        )
        if self.deadline_factor != _default("deadline_factor"):
            yield (
                "deadline_factor: with utilisation T is drawn, C = u T and D = T; "
                "leave one of the two out"
            )
        filled = 0 < self.critical_cores < self.cores
        if self.distribution != DEFAULT_DISTRIBUTION and not filled:
            yield "distribution: with utilisation C follows from u and T; leave one of the two out"

    def _unreachable(self, core: int, utilisation: Fraction) -> Iterable[str]:
        """Why no utilisations of a core within the bounds sum to the one asked for; equal words
        where cores are alike."""
        own = bool(self.utilisation_mins or self.utilisation_maxs)
        tasks = self.tasks_on(core)
        bounds = [self.utilisation_bounds(task) for task in tasks]
        below = f"utilisation_min{'s' * bool(self.utilisation_mins)} or wcet_min_ns / period_max_ns"
        above = f"utilisation_max{'s' * bool(self.utilisation_maxs)} or wcet_max_ns / period_min_ns"
        empty = [
            (task, *pair) for task, pair in zip(tasks, bounds, strict=True) if pair[0] > pair[1]
        ]
        if empty:
            task, low, high = empty[0]
            which = f"task {task}" if own else "a task"
            yield (
                f"utilisation: {which} must have at least {_decimal(low)} and at most"
                f" {_decimal(high)}; lower {below}, or raise {above}"
            )
            return
        lowest, highest = (sum(ends, Fraction(0)) for ends in zip(*bounds, strict=True))
        if not lowest <= utilisation <= highest:
            number = "1 task" if len(tasks) == 1 else f"{len(tasks)} tasks"
            cure = (
                f"raise utilisation, lower {below}, or have fewer tasks"
                if utilisation < lowest
                else f"lower utilisation, raise {above}, or have more tasks"
            )
            yield (
                f"utilisation: {number} on {f'core {core}' if own else 'a core'} reach "
                f"{_decimal(lowest)} to {_decimal(highest)}, found {_decimal(utilisation)}; {cure}"
            )
        if self.utilisation_method == "fixed-sum" and len(tasks) > FIXED_SUM_LIMIT:
            yield f"tasks: fixed-sum is for up to {FIXED_SUM_LIMIT} on a core, found {len(tasks)}"


def _default(name: str) -> object:
    return fields_dict(SynthesisParameters)[name].default


def _decimal(number: Fraction) -> str:
    return f"{float(number):.6g}"


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


def _is_exact(value: object) -> bool:
    return isinstance(value, Fraction) or _is_whole(value)


#: Annotation -> (test, what is expected). Floats are no fractions: 0.1 is not a tenth.
_TYPES: dict[str, tuple[Callable[[object], bool], str]] = {
    "int": (_is_whole, "a whole number"),
    "str": (lambda value: isinstance(value, str), "a word"),
    "str | Weighted": (lambda value: isinstance(value, str | Weighted), "a distribution"),
    "Fraction": (_is_exact, "an exact fraction"),
    "Fraction | None": (lambda value: value is None or _is_exact(value), "an exact fraction"),
    "tuple[Fraction, ...]": (
        lambda value: isinstance(value, tuple) and all(map(_is_exact, value)),
        "a tuple of exact fractions",
    ),
    "tuple[str, ...]": (
        lambda value: isinstance(value, tuple) and all(isinstance(name, str) for name in value),
        "a tuple of names",
    ),
}
