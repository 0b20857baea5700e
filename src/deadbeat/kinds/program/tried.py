"""What changes to a program did, turn by turn, beside what the simulator had expected."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from operator import attrgetter

import numpy as np
from attrs import evolve

from deadbeat.kinds.program.observe import METRICS, observe
from deadbeat.kinds.program.results import (
    FIRST,
    ProgramRun,
    ProgramStore,
    ProgramSummary,
    summarise,
)
from deadbeat.kinds.program.traced import worst_task
from deadbeat.kinds.program.tries import (
    BROKE,
    FEW,
    HELPED,
    MIXED,
    NONE,
    WORSE,
    ProgramChange,
    Tried,
    TurnDifference,
)
from deadbeat.kinds.program.whatif import Foreseen
from deadbeat.model.words import time_text
from deadbeat.report.document import Column, Table
from deadbeat.stats.intervals import t_quantile
from deadbeat.targets.guarded import ended_words

_MISSES, _WORST = METRICS[0].name, METRICS[1].name
_FEWEST = 2
#: Of each turn, the original and the changed one: figures by thread and metric.
_Sides = Sequence[Sequence[Mapping[tuple[str, str], float]]]
#: Chance of any false verdict over all changes and threads where nothing differs.
FALSE_ALARMS = 0.05
#: A worst response that changes by less is no help and no harm.
LEAST = 0.05
_ORDER = {word: place for place, word in enumerate((HELPED, MIXED, WORSE, NONE))}
#: A prediction that is off by more of the larger response wants a reason.
OFF = 0.2


def summarised(store: ProgramStore) -> ProgramSummary:
    """What is known of a program, and of changes to it."""
    found = summarise(store)
    runs = [run for run in store.runs() if run.key == FIRST or found.spec.tries]
    first = next((run for run in runs if run.key == FIRST), None)
    task = worst_task(found.traced) if found.traced else None
    if first is None or task is None:
        return found
    return evolve(found, tried=tried(runs, first, task.name))


def tried(runs: Iterable[ProgramRun], first: ProgramRun, task: str) -> tuple[Tried, ...]:
    """Each change of ``first``, in its order, then those that do not apply."""
    by_turn: dict[tuple[str, int], dict[tuple[str, str], float]] = {}
    every: dict[str, list[ProgramRun]] = {}
    ends: dict[str, list[ProgramRun]] = {}
    for run in runs:
        ends.setdefault(run.key.change, []).append(run)
        if run.valid:
            known = {(o.cell.group, o.metric): o.value for o in observe(run) if o.value is not None}
            by_turn[run.key.change, run.key.repeat] = known
            every.setdefault(run.key.change, []).append(run)
    if not first.changes:
        return ()
    found = []
    for change in first.changes[1:]:
        turns = [n for name, n in sorted(by_turn) if name == change.name and ("", n) in by_turn]
        sides = [[by_turn[name, turn] for turn in turns] for name in ("", change.name)]
        each = _judged(change, first, task, sides, every.get(change.name, ()))
        if broke := _broke(ends.get(change.name, ()), ends[""]):
            each = evolve(each, verdict=f"{BROKE}: {broke}", last=("", ""))
        found.append(each)
    return (
        *found,
        *(Tried(name=name, words="", turns=0, task=task, verdict=f"not tried: {reason}")
          for name, reason in first.unfit.items()),
    )  # fmt: skip


def _judged(
    change: ProgramChange, first: ProgramRun, task: str, sides: _Sides, runs: Sequence[ProgramRun]
) -> Tried:
    original, *changes = first.changes
    names = {name for turn in sides[0] for name, metric in turn if metric == _MISSES}
    level = FALSE_ALARMS / (len(changes) * (1 + len(names | {task})))
    lacks = f"not predicted: {first.lacks[0]}" if first.lacks else ""
    model, expected = original.expected.get(task), change.expected.get(task)
    share = expected.misses / expected.jobs if expected and expected.jobs else None
    misses = _difference(sides, (task, _MISSES), level, share)
    longest = float(expected.max_ns) if expected else None
    worst = _difference(sides, (task, _WORST), level, longest)
    others = {name: _difference(sides, (name, _MISSES), level) for name in sorted(names - {task})}
    worse = tuple(name for name, each in others.items() if each and each.sign > 0)
    signs = [misses.sign] if misses else []
    signs += [worst.sign] if worst and abs(worst.mean) > LEAST * worst.before else []
    up, down = 1 in signs or bool(worse), -1 in signs
    verdict = (HELPED, MIXED)[up] if down else (NONE, WORSE)[up]
    return Tried(
        name=change.name,
        words=change.words,
        turns=len(sides[0]),
        task=task,
        verdict=verdict if misses or worst else FEW,
        misses=misses,
        worst=worst,
        worse=worse,
        why=lacks or _why(worst, model, runs, task),
        left=_left_alone(runs),
        last=change.last if down else ("", ""),
    )


def _broke(runs: Sequence[ProgramRun], originals: Sequence[ProgramRun]) -> str:
    """How turns ended with a change, and none without; "": as those."""
    known = {run.status for run in originals}
    known |= {None, 0} if known & {None, 0} else set()
    most = max(run.killed for run in originals)
    odd = [run for run in runs if run.status not in known or run.killed > most]
    if not odd:
        return ""
    status, how = odd[0].status, f"a signal ended {odd[0].killed:,} of its processes"
    if status is not None and status not in known:
        how = f"it ended {ended_words(status)}"
    return f"{how} in {len(odd)} of {len(runs)} turns, and never without the change"


def _difference(
    sides: _Sides, figure: tuple[str, str], level: float, expected: float | None = None
) -> TurnDifference | None:
    """Student's interval of the mean over turns; None of fewer than two."""
    pairs = np.array(
        [
            (before[figure], after[figure])
            for before, after in zip(*sides, strict=True)
            if figure in before and figure in after
        ]
    )
    if len(pairs) < _FEWEST:
        return None
    off = pairs[:, 1] - pairs[:, 0]
    half = t_quantile(1 - level / 2, len(off) - 1) * float(off.std(ddof=1)) / len(off) ** 0.5
    mean, (before, after) = float(off.mean()), pairs.mean(axis=0).tolist()
    return TurnDifference(
        before=before, after=after, low=mean - half, high=mean + half, expected=expected
    )


def _left_alone(runs: Sequence[ProgramRun]) -> tuple[str, ...]:
    """Locks that a change could not change, and why."""
    locks = [lock for run in runs[:1] if run.traced for lock in run.traced.locks]
    reasons = ((lock.name, lock.changed.partition("left alone: ")[2]) for lock in locks)
    return tuple(f"{name} ({reason})" for name, reason in reasons if reason)


def _why(
    worst: TurnDifference | None, model: Foreseen | None, runs: Sequence[ProgramRun], task: str
) -> str:
    """Why the prediction of the worst response is off; "": it is not."""
    if worst is None or worst.expected is None or model is None:
        return ""
    size = OFF * max(worst.before, worst.after)
    if abs(worst.after - worst.expected) <= size:
        return ""
    if abs(model.max_ns - worst.before) > size:
        original = f"{time_text(model.max_ns)} for {time_text(worst.before)}"
        return f"the simulator is off for the original, too: {original}"
    late = [each for run in runs if run.traced for each in run.traced.late if each.task == task]
    if not late:
        return "not explained"
    longest = max(late, key=lambda each: each.response_ns)
    return f"the worst job then: {longest.cause} {longest.by}".rstrip()


def _percent(share: float) -> str:
    return f"{100 * share:.3g} %"


def best_first(found: Iterable[Tried]) -> list[Tried]:
    """Changes that helped, by the misses and the worst response that are left; then the others."""

    def key(each: Tried) -> tuple[int, float, float]:
        left = (side.after if side else 0.0 for side in (each.misses, each.worst))
        misses, worst = left
        return _ORDER.get(each.verdict, len(_ORDER)), misses, worst

    return sorted(found, key=key)


def is_open(found: Tried) -> bool:
    """Whether more turns may show what these do not."""
    each = found.misses
    return found.verdict == NONE and each is not None and abs(each.mean) > 0.5 * each.before > 0


def sentences(found: Iterable[Tried]) -> Iterator[str]:
    """What each change did; what showed nothing in one."""
    ordered = [each for each in best_first(found) if each.words]
    silent = [each for each in ordered if each.verdict == NONE and not (is_open(each) or each.left)]
    yield from (f"{_sentence(each)}." for each in ordered if each not in silent)
    if names := [each.name for each in silent]:
        yield f"No difference is shown with {', '.join(names)}."


def _sentence(found: Tried) -> str:
    """What it did, with the interval and the prediction."""
    head, misses, worst = f"{found.name}: {found.verdict}", found.misses, found.worst
    parts = []
    if misses and (misses.before or misses.after):
        ends = f"[{100 * misses.low:+.2g}, {100 * misses.high:+.2g}]"
        parts.append(
            f"{found.task} misses {_percent(misses.after)} instead of {_percent(misses.before)}"
            f" {ends}{_expected(misses, _percent)}"
        )
    if worst:
        text = f"{time_text(worst.after)} instead of {time_text(worst.before)}"
        parts.append(f"worst response {text}{_expected(worst, time_text)}")
    parts += [f"{', '.join(found.worse)} misses more"] * bool(found.worse)
    parts += [f"it could not change {', '.join(found.left)}"] * bool(found.left)
    return "; ".join([head, *parts])


def _expected(each: TurnDifference, text: Callable[[float], str]) -> str:
    return "" if each.expected is None else f" (predicted {text(each.expected)})"


def _interval(text: Callable[[float], str]) -> Callable[[TurnDifference], str]:
    def words(each: TurnDifference) -> str:
        return f"{_signed(each.mean, text)} [{_signed(each.low, text)}, {_signed(each.high, text)}]"

    return words


def _signed(value: float, text: Callable[[float], str]) -> str:
    return f"{'-' if value < 0 else '+'}{text(abs(value))}"


def _part(key: str, part: str, of: Tried) -> float | None:
    value: float | None = getattr(getattr(of, key), part, None)
    return value


def table(found: Sequence[Tried]) -> Table:
    """A row for each change."""

    def side(key: str, name: str, text: Callable[[float], str]) -> Iterator[Column]:
        for part, heading in (("after", name), ("before", "it was"), ("expected", "predicted")):
            yield Column(
                key=f"{key}_{part}", heading=heading, format=text, value=partial(_part, key, part)
            )
        yield Column(
            key=f"{key}_difference",
            heading="difference",
            format=_interval(text),
            raw=False,
            value=attrgetter(key),
        )

    columns = (
        Column(key="name", heading="change", words=True),
        Column(key="verdict", heading="verdict", words=True),
        Column(key="turns", heading="turns"),
        *side("misses", "misses", _percent),
        *side("worst", "worst response", time_text),
        Column(key="words", heading="what it does", words=True),
        Column(key="why", heading="prediction off", words=True),
    )  # fmt: skip
    of = found[0].task if found else ""
    title = f"Changes, of {of}; intervals of the difference hold for all together (95 %)"
    return Table(name="tries", columns=columns, rows=best_first(found), terminal=True, title=title)
