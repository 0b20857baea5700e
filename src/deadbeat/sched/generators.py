"""Random task systems: what to draw, and the systems drawn. The laws are in generators.md."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from random import Random
from typing import TYPE_CHECKING

import numpy as np
from attrs import fields, frozen
from numpy.typing import NDArray

from deadbeat.base.model.errors import SynthesisError, UsageError
from deadbeat.base.model.systems import PROTOCOLS, Chain, Lock
from deadbeat.sched.arrays import TaskBatch

if TYPE_CHECKING:
    from deadbeat.sched import _core
else:
    from deadbeat.sched.core import lazy as _core

#: Allowed distance of the utilisation from the one asked for, per processor, unless given.
TOLERANCE_PER_PROCESSOR = 0.02

#: Fields of a recipe that say how sections are drawn: the tasks do not depend on them.
OF_LOCKS = ("locks", "lock_share", "requests", "section_low", "section_high", "protocol")

#: Fields that the core does not look at.
OF_CHAINS = ("chains", "chain_low", "chain_high")

_SEEDS = 1 << 64
_HINT = "deadbeat sched generate --list"


@frozen(kw_only=True)
class SamplerFacts:
    """What a distribution says of itself.

    Attributes:
        fixed_sum: The sum of utilisations is the one asked for, not only within the tolerance.
    """

    name: str
    title: str
    reference: str
    fixed_sum: bool


@frozen(kw_only=True)
class Laws:
    """How random task systems are drawn, whatever their size.

    Attributes:
        utilisations: Distribution of the tasks' utilisations: ``utilisation_samplers()``.
        low, high: Bounds of each task's utilisation, within [0, 1].
        mean: For ``exponential``; None: utilisation / tasks.
        heavy_share, split: For ``bimodal``: a task is heavy, uniform in [split, high], with this
            probability, else light, uniform in [low, split).
        periods: Distribution of the periods: ``period_samplers()``.
        period_low, period_high: Bounds of T, whole numbers.
        granularity: Every T is a multiple of it.
        lcm_limit: The hyper-period stays below it (``lcm-limited`` and ``goossens-macq``).
        deadlines: ``implicit`` D = T; ``constrained`` uniform in [C, T]; ``arbitrary`` uniform in
            [C, deadline_high T].
        deadline_low, deadline_high: Place of D between C (0) and T (1), or, where arbitrary,
            factors of T; None: 0 and 1, or 0 and 2.
        offsets: ``zero``, or ``uniform`` over the integers of [0, T).
        locks: Number of locks; 0: tasks are independent.
        lock_share: Probability that a task uses a lock.
        requests: Most requests of a lock by a job: uniform in [1, requests].
        section_low, section_high: Bounds of the length of a section. A task's are shortened alike
            where they are longer than its C together.
        protocol: How locks are taken: of PROTOCOLS.
        tolerance: Allowed |sum of C/T - utilisation| once C is whole; None:
            ``TOLERANCE_PER_PROCESSOR`` times processors.
        attempts: Draws of utilisations before a system is given up.
    """

    utilisations: str = "randfixedsum"
    low: float = 0.0
    high: float = 1.0
    mean: float | None = None
    heavy_share: float = 0.33
    split: float = 0.5
    periods: str = "lcm-limited"
    period_low: int = 10
    period_high: int = 250
    granularity: int = 1
    lcm_limit: int = 100_000
    deadlines: str = "implicit"
    deadline_low: float | None = None
    deadline_high: float | None = None
    offsets: str = "zero"
    locks: int = 0
    lock_share: float = 0.5
    requests: int = 1
    section_low: int = 1
    section_high: int = 15
    protocol: str = "any"
    tolerance: float | None = None
    attempts: int = 100_000


@frozen(kw_only=True)
class Recipe(Laws):
    """What random task systems are drawn from; refused whole when a field is wrong.

    Attributes:
        processors: m.
        tasks: n, of every system.
        utilisation: Sum of C/T aimed at.
        chains: Number of chains that `draw_chains` draws of a system.
        chain_low, chain_high: Bounds of their length, at least 2 and at most n.

    Raises:
        UsageError: See the constructor; names every wrong field.
    """

    processors: int = 4
    tasks: int = 10
    utilisation: float = 2.0
    chains: int = 0
    chain_low: int = 2
    chain_high: int = 5

    def __attrs_post_init__(self) -> None:
        # Fields that the core cannot even hold, and what is wrong with each.
        foreign = {}
        for attribute in fields(Recipe):
            name, value = attribute.name, getattr(self, attribute.name)
            kind, wanted = _KINDS[str(attribute.type)]
            if not isinstance(value, kind) or isinstance(value, bool):
                foreign[name] = f"{name} is {value!r}, must be {wanted}"
            elif isinstance(value, str) and not value.isascii():
                foreign[name] = f"{name} is {value!a}, must be {wanted}"
            elif isinstance(value, int) and abs(value) > _WIDTHS.get(name, _INT64):
                foreign[name] = f"{name} is {value}, which is too large"
        wrong = [*foreign.values(), *_core.recipe_defects(_spec(self, without=foreign))]
        if self.protocol not in PROTOCOLS:
            wrong.append(f'protocol is "{self.protocol}", must be one of {", ".join(PROTOCOLS)}')
        if not foreign and self.chains:
            least, most = self.chain_low, self.chain_high
            if not (0 < self.chains <= 1024 and 2 <= least <= most <= self.tasks):
                found = f"{self.chains} chains of {least} to {most} of {self.tasks} tasks"
                wrong.append(f"{found}: at most 1024, of 2 or more, each task once")
        if len(wrong) == 1:
            raise UsageError(wrong[0], _HINT)
        if wrong:
            raise UsageError(f"{len(wrong)} parameters are wrong", _HINT, tuple(wrong))

    @property
    def sum_tolerance(self) -> float:
        if self.tolerance is not None:
            return self.tolerance
        return TOLERANCE_PER_PROCESSOR * self.processors


def generate(recipe: Recipe, *, seed: int, count: int, first: int = 0) -> TaskBatch:
    """Systems ``first`` to ``first + count - 1`` of ``recipe`` and ``seed``.

    System i is a function of the recipe, the seed and i: the same whatever else is drawn, and on
    every machine.

    Raises:
        SynthesisError: No system of the recipe exists, or one was not found; says why.
        UsageError: A number is out of range.
    """
    with _drawing(seed, count, first):
        tasks, sections, starts = _core.generate(_spec(recipe), seed, first, count)
    locks = (Lock(name=f"lock{i}", protocol=recipe.protocol) for i in range(recipe.locks))
    return TaskBatch.uniform(
        tasks,
        count=recipe.tasks,
        processors=recipe.processors,
        locks=tuple(locks),
        sections=sections,
        section_starts=starts,
    )


def draw_chains(recipe: Recipe, *, seed: int, number: int) -> tuple[Chain, ...]:
    """Chains of system ``number``: lengths uniform, any tasks in any order, all links sampled."""
    rng = Random(f"chains {seed} {number}")
    lengths = (rng.randint(recipe.chain_low, recipe.chain_high) for _ in range(recipe.chains))
    return tuple(
        Chain(tasks=tuple(rng.sample(range(recipe.tasks), length)), name=f"chain{place}")
        for place, length in enumerate(lengths)
    )


def sample_utilisations(recipe: Recipe, *, seed: int, count: int) -> NDArray[np.float64]:
    """The utilisations alone, before there are periods; shape (count, tasks). Raises as above."""
    with _drawing(seed, count, 0):
        drawn: NDArray[np.float64] = _core.sample_utilisations(_spec(recipe), seed, 0, count)
    return drawn


def sample_cfs(
    lower: Sequence[float],
    upper: Sequence[float],
    total: float,
    *,
    seed: int,
    count: int,
    first: int = 0,
) -> NDArray[np.float64]:
    """Vectors uniform over {x: lower <= x <= upper, sum of x = total}; shape (count, tasks).

    Bounds may be any finite numbers, of up to 128 tasks (common ones: of about 500).

    Raises:
        SynthesisError: There is no such vector; says why.
    """
    with _drawing(seed, count, first):
        drawn: NDArray[np.float64] = _core.sample_cfs(
            list(lower), list(upper), total, seed, count, first
        )
    return drawn


@cache
def utilisation_samplers() -> Mapping[str, SamplerFacts]:
    """Every distribution of utilisations by name."""
    return {entry["name"]: SamplerFacts(**entry) for entry in _core.utilisation_samplers()}


@cache
def period_samplers() -> Mapping[str, SamplerFacts]:
    """Every distribution of periods by name."""
    return {entry["name"]: SamplerFacts(**entry) for entry in _core.period_samplers()}


_KINDS: dict[str, tuple[type | tuple[type, ...], str]] = {
    "int": (int, "a whole number"),
    "float": ((int, float), "a number"),
    "float | None": ((int, float, type(None)), "a number"),
    "str": (str, "a word"),
}
_INT64 = (1 << 63) - 1
#: What the core's field holds, where it is no 64-bit integer; its bounds are tighter.
_WIDTHS = {"processors": (1 << 31) - 1, "tasks": (1 << 31) - 1}


def _spec(recipe: Recipe, *, without: Collection[str] = ()) -> _core.GeneratorSpec:
    """The core's spec; fields of ``without`` keep its defaults."""
    spec = _core.GeneratorSpec()
    values = {attribute.name: getattr(recipe, attribute.name) for attribute in fields(Recipe)}
    if recipe.deadlines == "arbitrary" and recipe.deadline_high is None:
        values["deadline_high"] = 2.0
    if recipe.tolerance is None and "processors" not in without:
        values["tolerance"] = recipe.sum_tolerance
    for name, value in values.items():
        if value is not None and name not in (*without, "protocol", *OF_CHAINS):
            setattr(spec, name, value)
    return spec


@contextmanager
def _drawing(seed: int, count: int, first: int) -> Iterator[None]:
    if not 0 <= seed < _SEEDS:
        raise UsageError(f"seed is {seed}, must be 0 to 2^64 - 1")
    if count < 0 or first < 0 or first + count > _SEEDS:
        raise UsageError(f"systems {first} to {first} + {count} cannot be numbered")
    try:
        yield
    except ValueError as error:
        raise SynthesisError(str(error), _HINT) from error
