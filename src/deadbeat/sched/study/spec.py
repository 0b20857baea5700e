"""What a study is: task systems by the cell, and who is asked about each of them.

A specification is complete: its results are a function of it alone, so that two machines, two
orders of work or a resumed study give the same bits.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from functools import cache, partial
from pathlib import Path
from typing import Any

import attrs
from attrs import frozen
from cattrs import Converter

from deadbeat.base.model.errors import DataError, UsageError
from deadbeat.base.model.rules import Problem
from deadbeat.base.model.specification import usage
from deadbeat.base.model.systems import CriticalSection, Lock, TaskSystem, TimedTask
from deadbeat.base.model.words import Json, nearest, shown
from deadbeat.base.store.folder import HEAD_HINT
from deadbeat.base.store.place import STUDY_FILE
from deadbeat.base.store.serial import exact_converter, structure
from deadbeat.sched import Scheduler, policies, simulate, tie_rules
from deadbeat.sched.analysis import TestSettings, placements
from deadbeat.sched.analysis import tests as known_tests
from deadbeat.sched.generators import OF_LOCKS, Laws, Recipe
from deadbeat.sched.simulator import option_words
from deadbeat.sched.study.sweep import HELD_MAX, SETS_MAX

#: Bins of the histogram of task utilisations: twentieths of 1.
BINS = 20
#: Scheduling points of a verdict.
BUDGET = 5_000_000

#: Laws of periods that look at ``lcm_limit``.
_BOUNDED = ("lcm-limited", "goossens-macq")

#: Different refusals of the generator that are named at once.
_SHOWN_MAX = 5
#: Settings of the tests that a study varies.
TEST_WORDS = ("partition", "order", "admission", "priorities")
#: How the label of a test begins, where a contender has its name.
TEST = "test "
#: Of a test: it is asked about the tasks without their locks.
WITHOUT_LOCKS = "without=locks"
#: How names of policies and tests begin that place tasks.
_PLACING = ("p-", "c-", "lc-")


@frozen(kw_only=True)
class Source(Laws):
    """How task systems are drawn: what does not vary over the cells."""

    @property
    def bound(self) -> int | None:
        """Bound of the hyper-period; None where the law of periods has none."""
        return self.lcm_limit if self.periods in _BOUNDED else None

    def recipe(self, cell: SweepCell) -> Recipe:
        return Recipe(
            processors=cell.processors,
            tasks=cell.tasks,
            utilisation=cell.utilisation,
            **attrs.asdict(self),
        )


@frozen
class SweepCell:
    """One scenario. ``load``: utilisation by processor in thousandths; ``source``: its label."""

    processors: int
    tasks: int
    load: int
    source: str

    @property
    def utilisation(self) -> float:
        """U, the sum of C/T aimed at."""
        return self.processors * self.load / 1000


@frozen(kw_only=True)
class StudySpec:
    """A study, whole.

    Attributes:
        preset: What it was made from; "" for a free-form sweep.
        seed: Everything random derives from it.
        sets: Task systems per cell.
        sources: Label -> how its task systems are drawn.
        cells: Scenarios, in the order of work.
        contenders: Label -> scheduler to simulate.
        tests: Names of schedulability tests, with settings of their own: ``p-fp:order=file``;
            ``p-fp:without=locks`` is asked about the same tasks without their locks.
        partition, order, admission, priorities: For the tests that place tasks or rank them.
        metrics: Whether migrations and slack are counted, of the whole hyper-period.
        run_on: Whether response, tardiness and misses are, also past a miss.
        budget: Scheduling points after which a verdict is ``undecided``.
    """

    name: str
    preset: str = ""
    title: str = ""
    seed: int = 1
    sets: int
    sources: Mapping[str, Source]
    cells: tuple[SweepCell, ...]
    contenders: Mapping[str, Scheduler]
    tests: tuple[str, ...] = ()
    partition: str = "first-fit"
    order: str = "utilisation-desc"
    admission: str = "auto"
    priorities: str = "rm"
    metrics: bool = False
    run_on: bool = False
    budget: int = BUDGET

    @property
    def total(self) -> int:
        return len(self.cells) * self.sets

    @property
    def counts(self) -> bool:
        """Whether its sets are only counted."""
        return not (self.preset or self.metrics or self.run_on)

    @property
    def test_labels(self) -> tuple[str, ...]:
        """Labels of ``tests``, in their order; none is that of a contender."""
        return tuple(TEST * (name in self.contenders) + name for name in self.tests)

    def test(self, label: str) -> tuple[str, TestSettings]:
        """Name and settings of one of ``tests``."""
        name, *pairs = label.removeprefix(TEST).split(":")
        own: Any = dict(pair.partition("=")[::2] for pair in pairs if pair != WITHOUT_LOCKS)
        return name, {word: getattr(self, word) for word in TEST_WORDS} | own

    @property
    def locks(self) -> bool:
        """Whether the tasks of all sources share locks."""
        return all(source.locks for source in self.sources.values())

    def problems(self) -> list[Problem]:
        return [
            *_scope(self),
            *_sources(self),
            *(p for label, it in self.contenders.items() for p in _contender(label, it, self)),
            *_tests(self),
        ]

    def checked(self) -> StudySpec:
        """Itself; raises UsageError naming every problem."""
        found = self.problems()
        if found:
            raise usage(tuple(found))
        return self


def spec_dict(spec: StudySpec) -> dict[str, Json]:
    """The canonical plain form: ``read_spec(spec_dict(spec)) == spec``."""
    contenders = {label: attrs.asdict(it) for label, it in spec.contenders.items()}
    for scheduler in contenders.values():
        scheduler["threshold"] = scheduler["threshold"] and list(scheduler["threshold"])
    return {
        **attrs.asdict(spec, recurse=False),
        "sources": {label: attrs.asdict(source) for label, source in spec.sources.items()},
        "cells": [list(attrs.astuple(cell)) for cell in spec.cells],
        "contenders": contenders,
        "tests": list(spec.tests),
        # JSON objects are unordered; the order of contenders is that of columns and legends.
        "contender_order": list(spec.contenders),
        "source_order": list(spec.sources),
    }


def read_spec(plain: Mapping[str, Json], path: Path = Path(STUDY_FILE)) -> StudySpec:
    """The specification of its canonical plain form, which was read of ``path``. Raises DataError:
    it is not one."""
    # Studies that were made before say nothing of it.
    values: dict[str, Any] = {"admission": "utilisation", **plain}
    orders = [values.pop(f"{each}_order", None) for each in ("contender", "source")]
    stored = partial(structure, path=path, what="study file", hint=HEAD_HINT)
    spec = stored(values, StudySpec, made=_converter())
    named: list[dict[str, Any]] = []
    for order, given in zip(orders, (spec.contenders, spec.sources), strict=True):
        labels = stored(order, tuple[str, ...])
        if sorted(labels) != sorted(given):
            raise DataError(f"study file {path} is damaged: it names others in order", HEAD_HINT)
        named.append({label: given[label] for label in labels})
    spec = attrs.evolve(spec, contenders=named[0], sources=named[1])
    try:
        return spec.checked()
    except UsageError as error:
        raise DataError(f"study file {path} is damaged: {error}", HEAD_HINT) from error


@cache
def _converter() -> Converter:
    made = exact_converter()
    row: Any = tuple[int, int, int, str]
    made.register_structure_hook(SweepCell, lambda plain, _: SweepCell(*made.structure(plain, row)))
    return made


#: Costs of the first studies; a later one counts where it is not 0.
_COSTS = ("context_switch", "migration", "cache_reload")


def identity(plain: Mapping[str, Json]) -> dict[str, Json]:
    """What of a specification in its plain form its results depend on."""
    found: dict[str, Any] = {k: v for k, v in plain.items() if k not in ("name", "title")}
    if not found.get("run_on"):  # as studies were before there was such a key
        found.pop("run_on", None)
    # Who places no task is whom studies called admitted by utilisation before it was `auto`.
    found["contenders"] = {
        label: {key: word for key, word in it.items() if (key, word) != ("protocol", "any")}
        | {"costs": {key: cost for key, cost in it["costs"].items() if cost or key in _COSTS}}
        | ({} if it["policy"].startswith(_PLACING) else {"admission": "utilisation"})
        for label, it in found["contenders"].items()
    }
    found["sources"] = {
        label: it if it.get("locks") else _of_tasks(it) for label, it in found["sources"].items()
    }
    if not any(label.startswith(_PLACING) for label in found["tests"]):
        found.pop("admission", None)
    return found


def _of_tasks(source: Mapping[str, Json]) -> dict[str, Json]:
    """What the tasks depend on: with and without locks they are the same."""
    return {key: value for key, value in source.items() if key not in OF_LOCKS}


def digest(plain: Mapping[str, Json]) -> str:
    """What identifies a specification in its plain form."""
    text = json.dumps(identity(plain), sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()


def cell_seed(spec: StudySpec, cell: SweepCell) -> int:
    """Seed of a cell from the study's seed and what is drawn, so that studies share task sets."""
    drawn: list[Any] = [spec.seed, cell.processors, cell.tasks, cell.load]
    drawn += [_of_tasks(attrs.asdict(spec.sources[cell.source]))]
    text = json.dumps(drawn, sort_keys=True, separators=(",", ":"))
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "little")


def _scope(spec: StudySpec) -> Iterator[Problem]:
    if not spec.cells:
        yield Problem("cells", "there is none", "name processors, tasks and utilisation")
    if not spec.contenders and not spec.tests:
        yield Problem("policies", "neither a policy nor a test", "name one, for example g-edf")
    if min(spec.sets, spec.budget, *(cell.processors for cell in spec.cells)) < 1:
        yield Problem("sets", "sets, budget and processors are not all above 0", "1 or more")
    most = SETS_MAX if spec.counts else HELD_MAX
    if spec.total > most:
        found = f"{len(spec.cells)} cells of {spec.sets} are more than {most} task sets"
        hint = ", or no preset, --metrics or --run-on" * (spec.total <= SETS_MAX)
        yield Problem("sets", found, f"fewer sets or a coarser grid{hint}")


def _sources(spec: StudySpec) -> Iterator[Problem]:
    """What the generator refuses of any cell; the same words once."""
    found: dict[tuple[str, str], Problem] = {}
    for cell in spec.cells:
        try:
            spec.sources[cell.source].recipe(cell)
        except KeyError:
            yield Problem("cells", f"there is no source {shown(cell.source)}", "name it")
            return
        except UsageError as error:
            text = error.message.removeprefix("recipe: ")
            problem = Problem(f"source {cell.source}", text, error.hint)
            found.setdefault((cell.source, text), problem)
    yield from list(found.values())[:_SHOWN_MAX]


def full_name(it: Scheduler, source: Source) -> str:
    """Its policy, and with locks how they are taken. Raises UsageError: it ignores locks."""
    if not source.locks:
        return it.policy
    held = (CriticalSection(lock="a", length=1),)
    task = TimedTask(wcet=1, period=2, deadline=2, home=0, sections=held)
    locks = (Lock(name="a", protocol=source.protocol),)
    system = TaskSystem(processors=1, tasks=(task,), locks=locks)
    return simulate(system, it, patterns=1).scheduler.policy


def _choices(where: str, value: Any, keys: tuple[str, ...]) -> Iterator[Problem]:
    for key in keys:
        word = getattr(value, key)
        tests = not isinstance(value, Scheduler)
        known = placements() if tests and key == "partition" else option_words(key)
        if word not in known:
            hint = nearest(str(word), known)
            yield Problem(f"{where}: {key}", f'"{word}" is not a choice', hint)


def _contender(label: str, it: Scheduler, spec: StudySpec) -> Iterator[Problem]:
    where, facts = f"policy {label}", policies().get(it.policy)
    if facts is None:
        hint = nearest(it.policy, list(policies()))
        yield Problem(where, f'there is no policy "{it.policy}"', hint)
    if it.ties not in tie_rules():
        hint = nearest(it.ties, list(tie_rules()))
        yield Problem(f"{where}: ties", f'there is no tie rule "{it.ties}"', hint)
    keys = ("partition", "order", "priorities", "admission", "unplaced", "balance")
    yield from _choices(where, it, keys)
    if facts and facts.clusters:
        counts = sorted({cell.processors for cell in spec.cells})
        odd = [m for m in counts if it.cluster_size < 1 or m % it.cluster_size]
        if odd:
            found = f"{it.cluster_size} does not divide {odd[0]} processors"
            yield Problem(f"{where}: cluster_size", found, "clusters are of equal size")
    if facts and facts.implicit_only:
        for name in sorted({cell.source for cell in spec.cells}):
            if spec.sources[name].deadlines != "implicit":
                found = f"takes implicit deadlines only, source {name} has others"
                yield Problem(where, found, "leave one out")
    if min(attrs.astuple(it.costs)) < 0:
        yield Problem(f"{where}: costs", "a cost is below 0", "0 or more")
    yield from _locked(where, it, spec) if facts else ()


def _locked(where: str, it: Scheduler, spec: StudySpec) -> Iterator[Problem]:
    locked = {source.protocol: source for source in spec.sources.values() if source.locks}
    for source in locked.values():
        try:
            full_name(it, source)
        except UsageError as error:
            yield Problem(where, error.message, error.hint or "leave it out")
    if locked and spec.metrics:
        yield Problem(where, "migrations and slack are not counted with locks", "leave metrics out")


def _tests(spec: StudySpec) -> Iterator[Problem]:
    for label in spec.tests:
        name, found = spec.test(label)
        settings: dict[str, Any] = {**found}
        asked_of_locks = spec.locks and WITHOUT_LOCKS not in label
        if name not in known_tests():
            yield Problem("tests", f'there is no test "{name}"', nearest(name, list(known_tests())))
        elif known_tests()[name].kind == "bound":
            yield Problem("tests", f"{name} gives bounds, no verdict", "leave it out")
        elif asked_of_locks and "locks" not in known_tests()[name].models:
            hint = f"{name}:{WITHOUT_LOCKS}, or leave it out"
            yield Problem(f"test {label}", "it ignores locks", hint)
        for key in settings.keys() - set(TEST_WORDS):
            yield Problem(f"test {label}", f"unknown key {shown(key)}", nearest(key, TEST_WORDS))
        own = attrs.evolve(spec, **{k: v for k, v in settings.items() if k in TEST_WORDS})
        yield from _choices(f"test {label}", own, TEST_WORDS)
