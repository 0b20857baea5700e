"""Truth: simulation. No response of tasks with locks, jitter, suspension or stretches without
preemption passes the bound of an accepted set: random sets, dense ones, and ones made to refute.

The pinned bound is also written a second time (oracles/pinned.py): equal to the core's, and
without any of its parts refuted by the same attack.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from random import Random

import pytest
from attrs import evolve
from oracles import pinned
from oracles.locks import Job, Simulation

from deadbeat import sched
from deadbeat.model.systems import CriticalSection, Lock, TaskSystem, TimedTask
from deadbeat.sched.core import core
from deadbeat.sched.locks import protocols, rows, worst_responses

LOCKS = ("a", "b", "c")
Uses = dict[str, tuple[int, int]]


def task(home: int, period: int, wcet: int, uses: Uses, **more: int) -> TimedTask:
    """``uses``: count and length of sections by lock, as many as the wcet holds."""
    sections, rest = [], wcet
    for lock, (count, length) in uses.items():
        if count and length * count <= rest:
            sections.append(CriticalSection(lock=lock, count=count, length=length))
            rest -= count * length
    return TimedTask(
        wcet=wcet, period=period, deadline=period, home=home, sections=tuple(sections), **more
    )


def ranked(tasks: list[TimedTask]) -> TaskSystem:
    """The least urgent first."""
    return TaskSystem(
        processors=max(each.home or 0 for each in tasks) + 1,
        tasks=tuple(evolve(each, priority=place + 1) for place, each in enumerate(tasks)),
        locks=tuple(Lock(name=name) for name in LOCKS),
    )


def uses(rng: Random, names: tuple[str, ...], share: float) -> Uses:
    return {q: (rng.randint(1, 2), rng.randint(1, 4)) for q in names if rng.random() < share}


def random_set(rng: Random, processors: int = 0, share: float = 0.4) -> TaskSystem:
    processors, names = processors or rng.randint(2, 4), LOCKS[: rng.randint(1, 3)]
    tasks = []
    for home in range(processors):
        count, load = rng.randint(2, 4), rng.uniform(0.2, 0.75)
        for _ in range(count):
            period = rng.randint(20, 120)
            wcet = max(1, round(period * load / count))
            tasks.append(task(home, period, wcet, uses(rng, names, share)))
    by_period = rng.random() < 0.5
    return ranked(sorted(tasks, key=lambda t: -t.period if by_period else rng.random()))


def dense_set(rng: Random, processors: int = 0, share: float = 0.5) -> TaskSystem:
    """Jobs are nearly all section, and one of each is in the way."""
    tasks = []
    for home in range(processors or rng.randint(2, 3)):
        for _ in range(rng.randint(1, 3)):
            used = uses(rng, LOCKS, share)
            wcet = sum(count * length for count, length in used.values())
            tasks.append(task(home, 160, wcet + rng.randint(0 if used else 1, 2), used))
    rng.shuffle(tasks)
    return ranked(tasks)


def made_set(rng: Random) -> TaskSystem:
    """A waiter with one request; below it, and below the holder, tasks with sections on a lock of
    the most urgent task; beside them more urgent users, and strangers."""

    def some(home: int, used: Uses, extra: int = 0) -> TimedTask:
        wcet = sum(count * length for count, length in used.values()) + extra
        return task(home, 200, wcet, used)

    few, long = (lambda: rng.randint(1, 2)), (lambda: rng.randint(3, 6))
    low = [some(home, {"b": (rng.randint(0, 3), long())}, 1) for home in (0, 1)]
    middle = [some(1, {"a": (1, long())}), some(0, {"a": (1, few())}, few())]
    above = [some(rng.choice((1, 1, 2)), {"a": (few(), few())}) for _ in range(rng.randint(0, 2))]
    if rng.random() < 0.5:
        above.append(some(1, {}, long()))  # a stranger beside the holder
    if rng.random() < 0.3:
        above.append(some(0, {"a": (1, few())}))
    if rng.random() < 0.5:
        middle.insert(0, some(2, {"a": (1, long())}))
    rng.shuffle(above)
    return ranked([*low, *middle, *above, some(2, {"b": (1, 1)})])


def with_jitter(rng: Random, of: Callable[..., TaskSystem] = random_set) -> TaskSystem:
    return with_more(rng, of, lambda t: {"jitter": rng.randint(0, t.period // 2)})


def with_suspension(rng: Random) -> TaskSystem:
    of = rng.choice((random_set, dense_set))
    return with_more(rng, of, lambda t: {"suspension": rng.choice((0, rng.randint(0, 12)))}, 0.0)


def with_stretches(rng: Random) -> TaskSystem:
    def stretches(t: TimedTask) -> dict[str, int]:
        longest = rng.randint(1, t.wcet)
        return {"np_max": longest, "np_last": rng.randint(1, longest)}

    return with_more(rng, rng.choice((random_set, dense_set)), stretches, 0.0)


def with_more(
    rng: Random,
    of: Callable[..., TaskSystem],
    more: Callable[[TimedTask], dict[str, int]],
    share: float = 0.4,
) -> TaskSystem:
    """On one processor."""
    found = of(rng, 1, share)
    return evolve(found, tasks=tuple(evolve(t, **more(t)) for t in found.tasks))


def one_set(rng: Random) -> TaskSystem:
    return rng.choice((random_set, dense_set))(rng, 1)


Accepted = tuple[TaskSystem, tuple[int | None, ...]]


def accepted(name: str, of: Callable[[Random], TaskSystem], seed: int) -> Iterator[Accepted]:
    rng = Random(seed)
    while True:
        system = of(rng)
        result = sched.analyze(system, names=[name], priorities="given").result(name)
        if result.answer == "accepted":
            yield system, result.bounds


def passed(system: TaskSystem, bounds: Sequence[int | None], found: Sequence[int | None]) -> str:
    """What is above its bound, in words."""
    for i, (bound, seen) in enumerate(zip(bounds, found, strict=True)):
        if bound is not None and (seen or 0) > bound:
            return f"task {i}: {seen} above {bound}: {system}"
    return ""


ATTACKS = {
    f"{name} {protocol} {of.__name__}": (name, protocol, of)
    for name, protocol, sets in (
        ("pinned-fifo-pi", "inherit", (random_set, dense_set, made_set)),
        ("pinned-fifo-pi", "inherit-steal", (random_set, dense_set, made_set)),
        ("mpcp", "mpcp", (random_set, dense_set, made_set)),
        ("mpcp-virtual-spin", "virtual-spin", (random_set, dense_set, made_set)),
        ("dpcp", "dpcp", (random_set, dense_set, made_set)),
        ("fmlp-plus", "fmlp+", (random_set, dense_set, made_set)),
        ("msrp", "msrp", (random_set, dense_set, made_set)),
        ("msrp-holistic", "msrp", (random_set, dense_set, made_set)),
        ("uni-rta", "srp", (one_set, with_jitter, with_stretches)),
        ("fp-suspension", "none", (with_suspension,)),
    )
    for of in sets
}


def attack(case: str, sets: int, patterns: int, seed: int) -> None:
    name, protocol, of = ATTACKS[case]
    for number, (system, bounds) in enumerate(islice(accepted(name, of, seed), sets)):
        dense = min(task.period for task in system.tasks) >= 160
        span = {"horizon": 14, "window": 14} if dense else {"horizon": 1200}
        found = worst_responses(
            system,
            protocol=protocol,
            patterns=patterns if dense else max(patterns // 50, 4),
            seed=seed + number,
            **span,
        )
        assert not (wrong := passed(system, bounds, found)), wrong


@pytest.mark.parametrize("case", ATTACKS)
def test_no_response_passes_the_bound(case: str) -> None:
    attack(case, 40, 400, 1)


@pytest.mark.statistical
@pytest.mark.parametrize("case", ATTACKS)
def test_no_response_of_many_sets_passes_the_bound(case: str) -> None:
    attack(case, 4000, 3000, 1000)


def test_requests_made_before_the_holders_delay_it_under_fmlp_plus() -> None:
    """A bound of the requests for its own lock alone would be 5 for the last task: the third one,
    which waits for c since before, is ahead of the holder of b."""
    system = ranked(
        [
            task(0, 100, 4, {"b": (1, 4)}),
            task(1, 100, 3, {"c": (1, 3)}),
            task(0, 100, 3, {"c": (1, 3)}),
            task(2, 100, 1, {"b": (1, 1)}),
        ]
    )
    bounds = sched.analyze(system, names=["fmlp-plus"], priorities="given").results[0].bounds
    seen = worst_responses(system, protocol="fmlp+", patterns=2000, horizon=8, window=8)
    assert (bounds[3], seen[3]) == (8, 8)


def small_sets(count: int) -> Iterator[tuple[Random, TaskSystem]]:
    kinds = (random_set, dense_set, made_set, with_jitter, with_suspension, with_stretches)
    for seed in range(count):
        rng = Random(seed)
        yield rng, kinds[seed % len(kinds)](rng)


def test_the_slow_twin_has_the_same_responses() -> None:
    for rng, system in small_sets(90):
        span = 120, rng.choice((0, 14)), 1, rng.randint(0, 99)
        jobs, parts = core().draw_locks(*rows(system), *span)
        for protocol in protocols():
            if protocol in ("srp", "protect") and system.processors > 1:
                continue
            together = rng.random() < 0.5
            found = core().simulate_locks(*rows(system), protocol, jobs, parts, together)
            listed = [Job(*map(int, row), number, []) for number, row in enumerate(jobs)]
            for job, what, length in parts.tolist():
                listed[job].parts.append((what, length))
            twin = Simulation(system, protocol, together=together).run(listed)
            assert found.tolist() == twin, (protocol, together, system)


def test_the_pinned_bound_without_any_part_is_refuted() -> None:
    refuted = dict.fromkeys(("", *pinned.PARTS), 0)
    for of, sets, span in (
        (random_set, 150, {"patterns": 24, "horizon": 1200}),
        (dense_set, 50, {"patterns": 1000, "horizon": 14, "window": 14}),
        (made_set, 150, {"patterns": 2000, "horizon": 14, "window": 14}),
    ):
        rng = Random(5)
        for number in range(sets):
            system = of(rng)
            result = sched.analyze(system, names=["pinned-fifo-pi"], priorities="given").results[0]
            whole = pinned.Bound(system).run()
            assert (result.answer == "accepted") == (whole is not None)
            assert whole is None or tuple(whole) == result.bounds
            found = worst_responses(system, seed=number, **span)
            for part in refuted:
                bounds = pinned.Bound(system, part).run()
                refuted[part] += bool(bounds and passed(system, bounds, found))
    assert refuted.pop("") == 0
    assert all(refuted.values()), refuted


EXAMPLES = Path(__file__).parents[3] / "shared/research/lock-oracles"
#: By the kind of an example the test and the protocol.
KINDS = {
    "pinned-fifo-pi": ("pinned-fifo-pi", "inherit"),
    "mpcp": ("mpcp", "mpcp"),
    "fmlp-plus": ("fmlp-plus", "fmlp+"),
    "msrp": ("msrp-holistic", "msrp"),
    "srp-fp": ("uni-rta", "srp"),
    "fp-suspension-flawed": ("fp-suspension", "none"),
}


@pytest.mark.skipif(not EXAMPLES.is_dir(), reason="the worked examples are not here")
@pytest.mark.parametrize("kind", KINDS)
def test_what_was_observed_of_worked_examples_is_reached(kind: str) -> None:
    name, protocol = KINDS[kind]
    for path in sorted(EXAMPLES.glob(f"{kind}-0?.json")):
        example = json.loads(path.read_text())
        tasks = [
            TimedTask(
                **{
                    **each,
                    "sections": tuple(
                        CriticalSection(**{**section, "lock": LOCKS[section["lock"]]})
                        for section in each.get("sections", ())
                    ),
                }
            )
            for each in example["system"]["tasks"]
        ]
        system = evolve(ranked(tasks), processors=example["system"]["processors"], tasks=tasks)
        result = sched.analyze(system, names=[name], priorities="given").result(name)
        spans = ((100, 2400, 0), (3000, 14, 14))
        seen = [
            worst_responses(system, protocol=protocol, patterns=count, horizon=end, window=window)
            for count, end, window in spans
        ]
        worst = [max(filter(None, each)) for each in zip(*seen, strict=True)]
        for least, most in zip(example["expected"]["observed_at_least"], worst, strict=True):
            assert most >= 0.85 * least, path.name
        if result.answer == "accepted":
            assert not passed(system, result.bounds, worst), path.name
