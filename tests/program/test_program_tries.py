"""Truth: hand-made programs on one CPU, with an inversion of known length, and made runs."""

from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from attrs import evolve
from helpers.answers import Capture

from deadbeat.base.model.errors import UsageError
from deadbeat.base.model.histogram import Histogram
from deadbeat.base.model.observations import Cell, Metric, Observation, Observations
from deadbeat.base.model.specification import read
from deadbeat.cli.compare.trend import FEWEST, change_points
from deadbeat.cli.main import main
from deadbeat.machine.targets.fake import FakeTarget
from deadbeat.program.derive.placer import Placing
from deadbeat.program.derive.replica import Replica, ReplicaThread
from deadbeat.program.derive.tasks import DerivedLock, DerivedTask, Waited
from deadbeat.program.run.forecast import Room, _growth, _rooms, _variant, freed, scales_of
from deadbeat.program.run.results import FIRST, ProgramKey, ProgramRun, TaskRun, plan
from deadbeat.program.run.spec import ProgramSpec
from deadbeat.program.run.traced import NOTHING
from deadbeat.program.run.tried import best_first, sentences, tried
from deadbeat.program.run.tries import (
    CHANGES,
    ORIGINAL,
    Ground,
    ProgramChange,
    changes_of,
)
from deadbeat.program.run.whatif import Foreseen, foreseen
from deadbeat.sched.program import COMPUTE, LOCK, OP, UNLOCK

MS = 1_000_000
_USES = [(COMPUTE, 0, MS), (LOCK, 0, 0), (COMPUTE, 0, MS), (UNLOCK, 0, 0)]
_HOLDS = [(LOCK, 0, 0), (COMPUTE, 0, 4 * MS), (UNLOCK, 0, 0)]


def thread(
    name: str, priority: int, at: Sequence[int], ops: list[Any], period: int, **more: Any
) -> ReplicaThread:
    spent = sum(ns for kind, _, ns in ops if kind == COMPUTE)
    known = {"deadline_ns": period, "misses": 0, **more}
    task = DerivedTask(name=name, tid=priority, kind="periodic", policy="fifo", cpus=(0,),
                       priority=priority, period_ns=period, jobs=len(at), c_mean_ns=spent,
                       charged_mean_ns=spent, charged_max_ns=spent, **known)  # fmt: skip
    return ReplicaThread(
        task=task,
        releases=np.array(at) * MS,
        ends=np.arange(1, len(at) + 1) * len(ops),
        ops=np.array(ops * len(at), OP),
        overhead=np.zeros(len(at)),
    )


def inverted() -> Replica:
    """`high` waits for `low` (4 ms with the lock), which `middle` (20 ms) keeps from the CPU."""
    return Replica(
        threads=(
            thread("high", 80, range(2, 100, 10), _USES, 10 * MS),
            thread("middle", 40, [3], [(COMPUTE, 0, 20 * MS)], 100 * MS),
            thread("low", 10, [1], _HOLDS, 100 * MS),
        ),
        locks=(("map_lock", "none"),),
        end_ns=100 * MS,
    )


def ground(program: Replica, **more: Any) -> Ground:
    waits = (Waited(waiter="high", holder="low", site="", count=1, max_ns=20 * MS),)
    lock = DerivedLock(name="map_lock", protocol="none", users=("high", "low"), longest_ns=4 * MS,
                       count=11, waited=waits)  # fmt: skip
    found = evolve(NOTHING, tasks=tuple(each.task for each in program.threads), locks=(lock,))
    given = {"cpus": (0, 1), "target": FakeTarget(), **more}
    return Ground(found=found, replica=program, **given)


def test_an_inversion_goes_by_inheritance_placement_and_shorter_sections() -> None:
    program = inverted()
    was = foreseen(program, (0,))["high"]
    # released at 2, it has the lock when middle (until 23) and low have ended: it ends at 27, the
    # next at 29, 17 ms after its release, and the third at 31, in time
    assert (was.misses, was.max_ns) == (2, 25 * MS)
    assert was.first_ns == 2 * MS
    assert foreseen(program, (0,), inherit=True)["high"] == Foreseen(
        jobs=10, p50_ns=2 * MS, p99_ns=5 * MS, max_ns=5 * MS
    )
    apart = foreseen(program, (0, 1), placings=[Placing(name="middle", cpus=(1,))])["high"]
    assert (apart.misses, apart.max_ns) == (0, 5 * MS)
    brief = foreseen(program.scaled(0.25, lock="map_lock"), (0,))
    assert (brief["high"].misses, brief["low"].max_ns) == (0, MS)
    twice = foreseen(program.times(2), (0, 1))
    assert sorted(twice)[:2] == ["high", "high of 2"]


def test_what_applies_and_why_the_rest_does_not() -> None:
    made, unfit, lacks = changes_of(ground(inverted()), [*CHANGES][:7])
    names = [each.name for each in made]
    assert (names, lacks) == (["", "inherit", "pin", "deadline", "idle"], ())
    assert made[1].inherit and not made[1].root and made[2].root
    assert made[1].expected["high"].misses == 0 < made[0].expected["high"].misses
    assert unfit == {
        "rate-monotonic": "its priorities are in this order already",
        "deadline-monotonic": "its priorities are in this order already",
        "audsley": "its priorities are in this order already",
    }
    swapped = evolve(inverted(), threads=inverted().threads[::-1])
    threads = [
        evolve(each, task=evolve(each.task, priority=place))
        for place, each in enumerate(swapped.threads[::-1], 1)
    ]
    ranked, _, _ = changes_of(ground(evolve(swapped, threads=tuple(threads))), ["rate-monotonic"])
    assert ranked[1].placings[0] == Placing(name="high", policy="fifo", priority=49)
    _, running, _ = changes_of(ground(inverted(), pid=7), ["inherit"])
    assert running["inherit"].startswith("a process that runs takes no library")
    blind, _, lacking = changes_of(ground(evolve(inverted(), lacks=("x",))), ["pin"])
    assert (blind[1].expected, lacking) == ({}, ("x",))


def a_run(change: str, turn: int, misses: int, worst_ms: float, others: int = 0) -> ProgramRun:
    tasks = [
        TaskRun(task=place, name=name, cpu=0, period_ns=10 * MS, deadline_ns=10 * MS, skipped=0,
                response=Histogram.of(np.array([worst * MS] * 100, np.int64)),
                wait=Histogram.of(np.zeros(100, np.int64)), misses=count)
        for place, (name, count, worst) in enumerate(
            [("control", misses, worst_ms), ("logger", others, 1)]
        )
    ]  # fmt: skip
    key = ProgramKey(turn, change)
    return ProgramRun(key=key, started="", seconds=1, status=0, tasks=tuple(tasks))


def judged(pairs: Sequence[tuple[int, float, int, float, int]], changes: int = 1) -> str:
    every = (ORIGINAL, *(ProgramChange(name=f"c{n}", words="x") for n in range(changes)))
    runs = []
    for turn, (before, was, after, now, others) in enumerate(pairs, 1):
        runs += [a_run("", turn, before, was), a_run("c0", turn, after, now, others)]
    return tried(runs, evolve(runs[0], changes=every), "control")[0].verdict


def test_a_verdict_is_of_all_turns_and_all_threads() -> None:
    helps = [(9, 20.0, 0, 3.0, 0), (10, 21.0, 0, 4.0, 0), (9, 19.0, 0, 3.0, 0)]
    assert judged(helps) == "better"
    assert judged([(b, w, a, n, 9) for b, w, a, n, _ in helps]) == "worse"
    assert judged([(a, n, b, w, 0) for b, w, a, n, _ in helps]) == "worse"
    assert judged(helps[:1]) == "undecided: too few turns"
    mixed = [(9, 20.0, 0, 3.0, 0), (0, 3.0, 9, 20.0, 0), (5, 9.0, 4, 9.0, 0)]
    assert judged(mixed) == "undecided"
    near = [(0, 9.0, 0, 8.8, 0), (0, 9.01, 0, 8.8, 0), (0, 9.0, 0, 8.81, 0)]
    assert judged(near) == "undecided"  # surely shorter, and by too little


@pytest.mark.parametrize(
    ("ends", "said"),
    [
        ({"killed": 10}, "a signal ended 10 of its processes in 3 of 3 turns"),
        ({"status": -6}, "it ended by signal SIGABRT in 3 of 3 turns"),
        ({"status": None}, ""),  # it went on until its time was over
    ],
)
def test_a_change_that_breaks_the_program_helps_nobody(ends: dict[str, Any], said: str) -> None:
    runs = [a_run("", n, 9, 20.0) for n in range(1, 4)]
    runs += [evolve(a_run("c", n, 0, 3.0), **ends) for n in range(1, 4)]
    changes = (ORIGINAL, ProgramChange(name="c", words="x", last=("a", "b")))
    (found,) = tried(runs, evolve(runs[0], changes=changes), "control")
    words = f"it breaks the program: {said}, and never without the change"
    assert (found.verdict, found.last) == ((words, ("", "")) if said else ("better", ("a", "b")))


@pytest.mark.statistical
def test_what_does_nothing_is_seldom_called_a_help() -> None:
    draw, said = np.random.default_rng(3), []
    for _ in range(1500):
        turns = [
            (*draw.poisson(8, 1), draw.lognormal(2, 0.4), *draw.poisson(8, 1),
             draw.lognormal(2, 0.4), 0)
            for _ in range(5)
        ]  # fmt: skip
        said.append(judged(turns) == "better")
    assert 0 < np.mean(said) < 0.05


def test_the_best_change_is_said_first() -> None:
    runs = [a_run("", n, 9, 20.0) for n in range(1, 4)]
    runs += [a_run("a", n, 2, 12.0) for n in range(1, 4)]
    runs += [a_run("b", n, 0, 3.0) for n in range(1, 4)]
    changes = (ORIGINAL, *(ProgramChange(name=name, words=name) for name in "ab"))
    found = tried(runs, evolve(runs[0], changes=changes, unfit={"pin": "no"}), "control")
    assert [each.name for each in best_first(found)] == ["b", "a", "pin"]
    first, second = sentences(found)
    assert first.startswith("b: better; control misses 0 % instead of 9 % (-9.00 points [")
    assert second.startswith("a: better")


def test_turns_are_random_and_the_first_run_is_the_original() -> None:
    spec = read(ProgramSpec, {"command": ["x"], "tries": "inherit,tune:swappiness", "repeats": 6})
    changes = tuple(ProgramChange(name=name) for name in ("", *spec.tries))
    keys = plan(spec, changes)
    assert (plan(spec), keys[0], len(keys)) == ([FIRST], FIRST, 18)
    assert keys == plan(spec, changes)
    assert [*map(ProgramKey.parse, (key.text for key in keys))] == keys
    orders = {tuple(k.change for k in keys[n : n + 3]) for n in range(0, 18, 3)}
    assert len(orders) > 2
    for wrong in ("x", "0001-", "-pin"):
        with pytest.raises(UsageError):
            ProgramKey.parse(wrong)


@pytest.mark.usefixtures("in_a_folder")
@pytest.mark.parametrize(
    ("words", "text"),
    [
        (("--try", "inherit"), "nothing was run: it wants your leave"),
        (("--try", "inheritance", "--yes"), '"inheritance" is no change'),
        (("--try", "tune:no-such", "--yes"), 'there is no knob "no-such"'),
        (("--try", "pin", "--yes", "--simulated"), "--try runs a program again and again"),
    ],
)
def test_wrong_words_run_nothing(words: tuple[str, ...], text: str, capsys: Capture) -> None:
    assert main(["run", *words, "--", "/bin/false"]) == 2
    assert text in capsys.readouterr().err
    assert not Path("runs").exists()


def test_words_of_scales() -> None:
    program = inverted()
    scales, instances = scales_of("low.C=0.5, map_lock=2,high.map_lock=1.5,instances=2..4", program)
    assert [(each.thread, each.lock, each.factor) for each in scales] == [
        ("low", "", 0.5), ("", "map_lock", 2), ("high", "map_lock", 1.5),
    ]  # fmt: skip
    assert instances == (2, 3, 4)
    for wrong in ("low=2", "no.C=2", "C=x", "C=0", "C=-1", "instances=0", "instances=65", "C"):
        with pytest.raises(UsageError, match="--scale"):
            scales_of(wrong, program)


def test_how_much_more_each_figure_may_be() -> None:
    program = Replica(
        threads=(thread("a", 2, range(0, 100, 10), [(COMPUTE, 0, 2 * MS)], 10 * MS),
                 thread("b", 1, range(0, 100, 20), [(COMPUTE, 0, 5 * MS)], 20 * MS)),
        locks=(), end_ns=100 * MS,
    )  # fmt: skip
    now = _variant(program, (0,), 1)
    assert (now.misses, now.utilisation) == (0, 0.45)
    rooms = {each.what: each for each in _rooms(program, (0,), program)}
    # b ends at 20 at the latest where a takes 7.5 ms, or b itself 16 ms
    assert isinstance(rooms["C of a"], Room)
    assert rooms["C of a"].most_ns == pytest.approx(7.5 * MS, rel=0.01)
    assert rooms["C of b"].most_ns == pytest.approx(16 * MS, rel=0.01)
    # scaled: now is what was recorded, and what it may be stays
    halved = {each.what: each for each in _rooms(program.scaled(0.5, thread="b"), (0,), program)}
    assert halved["C of b"].now_ns == 5 * MS
    assert halved["C of b"].factor == pytest.approx(rooms["C of b"].factor, rel=0.01)
    (line,) = _growth(program, (0,), now)
    assert line.startswith("With 2.2") and "b misses first" in line


def test_more_cores_are_for_whom_no_core_was_chosen() -> None:
    made = (thread(name, 1, range(0, 100, 10), [(COMPUTE, 0, 6 * MS)], 10 * MS) for name in "abc")
    cpus = ((0,), (0, 1), (0, 1))
    threads = tuple(evolve(each, task=evolve(each.task, cpus=own))
                    for each, own in zip(made, cpus, strict=True))  # fmt: skip
    program, pinned = freed(Replica(threads=threads, locks=(), end_ns=100 * MS), (0, 1))
    assert pinned == ["a (CPU 0)"]
    assert [_variant(program, range(n), 1).misses > 0 for n in (1, 2, 3)] == [True, True, False]


def a_series(values: Sequence[float]) -> tuple[list[Any], list[Observations]]:
    subjects = [SimpleNamespace(name=f"r{n}", created_at=f"{n:04}", commit=f"c{n}")
                for n in range(len(values))]  # fmt: skip
    tables = [
        Observations(name="", rows=(Observation(run="1", cell=Cell("t"), block="1", metric="c",
                                                value=value),))
        for value in values
    ]  # fmt: skip
    return subjects, tables


def test_a_trend_is_found_where_there_is_one() -> None:
    metric = Metric(name="c", title="C", text="C", unit="ns", minimum=0.05)
    rise = [100, 101, 99, 100, 120, 121, 119]
    (found,) = change_points(*a_series(rise), [metric]) or ()
    assert (found.last, found.first, found.commits) == ("r3", "r4", ("c3", "c4"))
    assert (found.before, found.after) == (100, 120)
    assert change_points(*a_series([100, 104, 98, 101, 97, 103, 99]), [metric]) == ()
    assert change_points(*a_series([100, 100.1, 100, 100.1, 102, 102.1, 102]), [metric]) == ()
    assert change_points(*a_series(rise[: FEWEST - 1]), [metric]) is None
    assert change_points(*a_series([*rise[:4], 100, 101, 99, 140]), [metric]) == ()
    mended = change_points(*a_series([*rise, 122, 100, 99, 101, 100]), [metric]) or ()
    assert [each.first for each in mended] == ["r4", "r8"]
    long = np.random.default_rng(6).normal(100, 1, 900)
    long[300:600] += 8
    mended = change_points(*a_series(long.tolist()), [metric]) or ()
    assert [each.first for each in mended] == ["r300", "r600"]
    draw = np.random.default_rng(5)
    false = sum(
        bool(change_points(*a_series(draw.normal(100, 5, 9)), [metric])) for _ in range(400)
    )
    assert false / 400 < 0.085
    rare = sum(
        bool(change_points(*a_series(draw.poisson(0.3, 20)), [evolve(metric, log=False)]))
        for _ in range(400)
    )
    assert rare / 400 < 0.05
