"""What changes to a program did, turn by turn, beside what the simulator had expected.

They are judged as every comparison is (`base.verdicts.engine`): by the misses and the worst
response of the thread in question, and the misses of all others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from operator import attrgetter

from attrs import evolve

from deadbeat.base.model.comparison import CellComparison, Comparison
from deadbeat.base.model.observations import Observations
from deadbeat.base.model.words import time_text
from deadbeat.base.report.document import Column, Table
from deadbeat.base.verdicts.engine import CompareOptions, compare_changes
from deadbeat.base.verdicts.pairs import IN_TURNS, PAIRS_MIN
from deadbeat.base.verdicts.words import interval_text
from deadbeat.machine.targets.guarded import ended_words
from deadbeat.program.derive.placer import Placing
from deadbeat.program.derive.tasks import DerivedTask
from deadbeat.program.run.kept import kept_of
from deadbeat.program.run.observe import METRICS, WORDS, observe
from deadbeat.program.run.results import (
    FIRST,
    ProgramRun,
    ProgramStore,
    ProgramSummary,
    summarise,
)
from deadbeat.program.run.traced import how, worst_task
from deadbeat.program.run.tries import BROKE, ProgramChange, Tried
from deadbeat.program.run.whatif import Foreseen

_MISSES, _WORST, *_ = METRICS
_OPTIONS = CompareOptions(
    metrics=(_MISSES, _WORST), words=WORDS, undisturbed=IN_TURNS, lacking_max=1.0
)
_ORDER = {"better": 0, "worse": 1, "equal": 2, "undecided": 3}
#: A prediction that is off by more of the larger response wants a reason.
OFF = 0.2
#: A design that misses so much more, as a share, is not as good as another.
_AS_GOOD = 0.005
#: More times as many turns are not asked for.
_TIMES_MAX = 10


def summarised(store: ProgramStore) -> ProgramSummary:
    """What is known of a program, and of changes to it."""
    found = summarise(store)
    if found.spec.keep:
        return evolve(found, kept=kept_of(store, [*store.runs()]))
    runs = [run for run in store.runs() if run.key == FIRST or found.spec.tries]
    first = next((run for run in runs if run.key == FIRST), None)
    task = worst_task(found.traced) if found.traced else None
    if first is None or task is None:
        return found
    return evolve(found, tried=tried(runs, first, task.name))


def tried(runs: Iterable[ProgramRun], first: ProgramRun, task: str) -> tuple[Tried, ...]:
    """Each change of ``first``, in its order, then those that do not apply."""
    every: dict[str, list[ProgramRun]] = {change.name: [] for change in first.changes}
    for run in runs:
        every.setdefault(run.key.change, []).append(run)
    if not first.changes:
        return ()
    changes = first.changes[1:]
    tables = {
        name: Observations(
            name=name,
            rows=(
                row
                for run in own
                if run.valid
                for row in observe(run)
                if row.metric == _MISSES.name or (row.metric, row.cell.group) == (_WORST.name, task)
            ),
        )
        for name, own in every.items()
    }
    compared = compare_changes(
        tables[""], [tables[change.name] for change in changes], options=_OPTIONS
    )
    found = []
    for change, comparison in zip(changes, compared, strict=True):
        own = every[change.name]
        each = _judged(change, comparison, first, task, own)
        # How turns ended with a change, and none without; "": as those.
        known = {run.status for run in every[""]}
        known |= {None, 0} if known & {None, 0} else set()
        most = max(run.killed for run in every[""])
        odd = [run for run in own if run.status not in known or run.killed > most]
        if not odd:
            broke = ""
        else:
            status, how = odd[0].status, f"a signal ended {odd[0].killed:,} of its processes"
            if status is not None and status not in known:
                how = f"it ended {ended_words(status)}"
            broke = f"{how} in {len(odd)} of {len(own)} turns, and never without the change"
        if broke:
            each = evolve(each, verdict=f"{BROKE}: {broke}", last=("", ""))
        found.append(each)
    return (
        *found,
        *(
            Tried(name=name, words="", turns=0, task=task, verdict=f"not tried: {reason}")
            for name, reason in first.unfit.items()
        ),
    )


def _judged(
    change: ProgramChange,
    comparison: Comparison,
    first: ProgramRun,
    task: str,
    every: Sequence[ProgramRun],
) -> Tried:
    cells = {(each.metric.name, each.group): each for m in comparison.metrics for each in m.cells}
    misses, worst = (cells.get((metric.name, task)) for metric in (_MISSES, _WORST))
    others = [each for (_, group), each in cells.items() if group != task]
    turns = max((each.pairs for each in cells.values()), default=0)
    runs = [run for run in every if run.valid]
    verdict, expected = comparison.verdict, change.expected.get(task)
    model = first.changes[0].expected.get(task)
    if verdict == "undecided" and turns < PAIRS_MIN:
        verdict = "undecided: too few turns"
    # Locks that a change could not change, and why.
    locks = [lock for run in runs[:1] if run.traced for lock in run.traced.locks]
    reasons = ((lock.name, lock.changed.partition("left alone: ")[2]) for lock in locks)
    left_alone = tuple(f"{name} ({reason})" for name, reason in reasons if reason)
    return Tried(
        name=change.name,
        words=change.words,
        turns=turns,
        task=task,
        verdict=verdict,
        misses=misses,
        worst=worst,
        better=tuple(each.group for each in others if each.verdict == "better"),
        worse=tuple(each.group for each in others if each.verdict == "worse"),
        expected=expected,
        why=f"not predicted: {first.lacks[0]}"
        if first.lacks
        else _why(worst, expected, model, runs, task),
        left=left_alone,
        placings=change.placings,
        inherit=change.inherit,
        memory=change.memory,
        slack_ns=change.slack_ns,
        needs=change.needs,
        last=change.last if any(each.verdict == "better" for each in cells.values()) else ("", ""),
    )


def _why(
    worst: CellComparison | None,
    expected: Foreseen | None,
    model: Foreseen | None,
    runs: Sequence[ProgramRun],
    task: str,
) -> str:
    """Why the prediction of the worst response is off; "": it is not."""
    if worst is None or worst.baseline is None or worst.other is None:
        return ""
    size = OFF * max(worst.baseline, worst.other)
    if expected is None or model is None or abs(worst.other - expected.max_ns) <= size:
        return ""
    if abs(model.max_ns - worst.baseline) > size:
        original = f"{time_text(model.max_ns)} for {time_text(worst.baseline)}"
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
        misses, worst = ((side and side.other) or 0.0 for side in (each.misses, each.worst))
        return _ORDER.get(each.verdict, len(_ORDER)), misses, worst

    return sorted(found, key=key)


def turns_needed(found: Tried) -> int:
    """Times as many turns that show misses as they differ here; 0: not known, or too many."""
    times = found.misses.times_as_many if found.misses and found.verdict == "undecided" else None
    return times if times and times <= _TIMES_MAX else 0


def sentences(found: Iterable[Tried]) -> Iterator[str]:
    """What each change did; what showed nothing in one."""
    ordered = [each for each in best_first(found) if each.words]
    unclear = [each for each in ordered if each.verdict == "undecided" and not each.left]
    silent = [each for each in unclear if not turns_needed(each)]
    yield from (f"{_sentence(each)}." for each in ordered if each not in silent)
    joint = [each for each in ordered if each.needs and each.verdict == "better"]
    left = {each.name: (each.misses and each.misses.other) or 0.0 for each in joint}
    joint = [each for each in joint if left[each.name] <= min(left.values()) + _AS_GOOD]
    if joint:
        least = min(joint, key=lambda each: len(each.needs))
        parts = ", ".join(f"{words} ({misses:,} misses without)" for words, misses in least.needs)
        yield f"The fewest changes ({least.name}), by simulation: {parts}."
    if names := [each.name for each in silent]:
        yield f"No difference is shown with {', '.join(names)}."


def _sentence(found: Tried) -> str:
    """What it did, with the interval and the prediction."""
    parts = [f"{found.name}: {found.verdict}"]
    misses, worst, expected = found.misses, found.worst, found.expected
    if misses and (misses.baseline or misses.other):
        instead = f"{_percent(misses.other or 0.0)} instead of {_percent(misses.baseline or 0.0)}"
        text = f"{found.task} misses {instead} ({interval_text(misses)})"
        parts.append(text + _predicted(_share(expected), _percent))
    if worst and worst.other and worst.baseline:
        text = f"worst response {time_text(worst.other)} instead of {time_text(worst.baseline)}"
        parts.append(text + _predicted(_longest(expected), time_text))
    for names, word in ((found.better, "fewer"), (found.worse, "more")):
        parts += [f"{', '.join(names)} misses {word}"] if names else []
    parts += [f"it could not change {', '.join(found.left)}"] if found.left else []
    return "; ".join(parts)


def _share(expected: Foreseen | None) -> float | None:
    return expected.misses / expected.jobs if expected and expected.jobs else None


def _longest(expected: Foreseen | None) -> float | None:
    return None if expected is None else float(expected.max_ns)


def _predicted(value: float | None, text: Callable[[float], str]) -> str:
    return "" if value is None else f" (predicted {text(value)})"


def _part(key: str, part: str, of: Tried) -> float | None:
    value: float | None = getattr(getattr(of, key), part, None)
    return value


def designs(found: Sequence[Tried], tasks: Sequence[DerivedTask]) -> list[Table]:
    """How each thread runs today, and in designs of several changes."""
    joint = [each for each in found if each.needs]
    moves = {each.name: {one.name: _seat(one) for one in each.placings} for each in joint}
    rows = [task for task in tasks if any(task.name in mine for mine in moves.values())]
    columns = [
        Column(key="name", heading="thread", words=True),
        Column(key="today", heading="today", words=True, value=how),
    ]
    for each in joint:
        heading = f"{each.name}{', mutexes inherit' * each.inherit}"
        heading += ", memory locked" * bool(each.memory)
        value = partial(lambda mine, task: mine.get(task.name, "as today"), moves[each.name])
        key = each.name.replace(":", "_")
        columns.append(Column(key=key, heading=heading, words=True, value=value))
    title = "Designs (deadbeat predict RUN --design FILE takes their files)"
    made = Table(name="designs", columns=tuple(columns), rows=rows, terminal=True, title=title)
    return [made] * bool(rows)


def _seat(placing: Placing) -> str:
    """``FIFO 40 on CPU 0``: what changes."""
    policy = placing.policy.upper()
    if placing.runtime_ns:
        runtime, period = (time_text(ns) for ns in (placing.runtime_ns, placing.period_ns))
        policy = f"SCHED_DEADLINE {runtime} every {period}"
    cpus = ",".join(map(str, placing.cpus))
    words = (f"{policy} {placing.priority or ''}".strip(), f"on CPU {cpus}" * bool(cpus))
    return " ".join(filter(None, words))


def table(found: Sequence[Tried]) -> Table:
    """A row for each change."""

    def side(
        key: str, name: str, text: Callable[[float], str], expected: Callable[[Tried], float | None]
    ) -> Iterator[Column]:
        for part, side, heading in (("after", "other", name), ("before", "baseline", "it was")):
            yield Column(
                key=f"{key}_{part}", heading=heading, format=text, value=partial(_part, key, side)
            )
        yield Column(key=f"{key}_expected", heading="predicted", format=text, value=expected)
        yield Column(
            key=f"{key}_difference",
            heading="difference",
            format=interval_text,
            raw=False,
            value=attrgetter(key),
        )

    columns = (
        Column(key="name", heading="change", words=True),
        Column(key="verdict", heading="verdict", words=True),
        Column(key="turns", heading="turns"),
        *side("misses", "misses", _percent, lambda each: _share(each.expected)),
        *side("worst", "worst response", time_text, lambda each: _longest(each.expected)),
        Column(key="words", heading="what it does", words=True),
        Column(key="why", heading="prediction off", words=True),
    )
    of = found[0].task if found else ""
    title = f"Changes, of {of}; verdicts of all together err in 5 % (intervals: 95 % each)"
    return Table(name="tries", columns=columns, rows=best_first(found), terminal=True, title=title)
