"""Runs of a load test -> failures per second, response times, switches, lost work, effects.

Estimates and their intervals: `deadbeat.kinds.load.estimates`. Verdicts on remedies are by
Holm's procedure, one for each remedy that was tried: in at most one test of twenty without any
effect one is called so.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias

import attrs
import numpy as np
from attrs import evolve, frozen
from numpy.typing import NDArray

from deadbeat.experiment.beside import beside_load
from deadbeat.host.kernel import release_of
from deadbeat.kinds.load.causes import causes_of
from deadbeat.kinds.load.estimates import (
    Counted,
    could_show,
    difference_of,
    mean_of,
    occasions,
    occasions_bound,
    p99_difference,
    rate_of,
)
from deadbeat.kinds.load.lost import PAIRS_MIN, SceneMachine, inside_window, lost_of
from deadbeat.kinds.load.spec import plan, read_spec
from deadbeat.kinds.load.words import condition_words
from deadbeat.model.histogram import Histogram, Integers
from deadbeat.model.load import (
    ALL,
    PLAIN,
    REFERENCE,
    TRACED,
    Effect,
    Estimate,
    LoadCell,
    LoadRun,
    LoadSummary,
    LostTime,
    Rounds,
    several,
)
from deadbeat.model.platform import Platform, places_of
from deadbeat.model.specification import plain_of
from deadbeat.model.traces import Activity, WorstMoment
from deadbeat.model.words import inside, time_text
from deadbeat.stats.multiple import holm
from deadbeat.stats.seeds import seed_of
from deadbeat.store.load import LoadStore

#: What the verdicts of a test may err, all of them together.
_LEVEL = 0.05
#: Labels that the sentence of `beside_load` is about; ``other-load`` in folders of older versions.
_BESIDE = ("other-work", "other-load", "steal")
_FEWER, _MORE, _NOTHING = "fewer failures", "more failures", "no difference shown"
_ORDER = {PLAIN: 0, ALL: 2, REFERENCE: 3}


@frozen(kw_only=True)
class LoadFigures:
    """One run's own figures: which of its rounds count, failures of each round and of those that
    count, skipped releases included; the ordinary threads' work (None without any)."""

    run: LoadRun
    counted: NDArray[np.bool_]
    failed: Integers
    count: Counted
    work_per_s: float | None

    @property
    def repeat(self) -> int:
        return self.run.key.repeat

    @property
    def response_ns(self) -> Integers:
        return self.run.rounds.response_ns[self.counted]

    def per_s(self, column: Integers) -> float:
        """Sum over the rounds that count, per second of window."""
        return float(column[self.counted].sum()) / self.run.window_s


#: Runs by condition and number of ordinary threads.
Groups: TypeAlias = Mapping[tuple[str, int], Sequence[LoadFigures]]
#: Runs of one repeat without a remedy and with it, both valid.
Pairs: TypeAlias = Sequence[tuple[LoadFigures, LoadFigures]]


def figures_of(run: LoadRun, *, deadline_ns: int, period_ns: int | None) -> LoadFigures:
    """What a run shows.

    A round counts when it was released inside the window; of the periodic form its deadline must
    lie inside too. Releases that were skipped count under the same rule, and missed theirs.
    """
    low, high = run.window_ns
    run = _together(run)
    rounds = run.rounds
    last = high - deadline_ns if period_ns else high - 1
    counted = (rounds.release_ns >= low) & (rounds.release_ns <= last)
    skipped = _skipped(rounds, period_ns, low, last)
    failed = (counted & (rounds.response_ns > deadline_ns)) + skipped
    seconds = (run.sampled_ns[1] - run.sampled_ns[0]) / 1e9
    return LoadFigures(
        run=run,
        counted=counted,
        failed=failed,
        count=Counted(
            occasions=occasions(failed),
            released=int(counted.sum() + skipped.sum()),
            seconds=run.window_s,
        ),
        work_per_s=sum(run.normal_units) / seconds if run.normal_units and seconds > 0 else None,
    )


def _together(run: LoadRun) -> LoadRun:
    """With the rounds of all its real-time threads as if of one."""
    if not run.others:
        return run
    columns = zip(*(each.columns().values() for each in (run.rounds, *run.others)), strict=True)
    joined = zip(run.rounds.columns(), map(np.concatenate, columns), strict=True)
    return evolve(run, rounds=Rounds(**dict(joined)))


def _each(runs: Iterable[LoadRun], asked: LoadSummary) -> tuple[float | None, ...]:
    """Failures per second of each real-time thread; None: it never had a CPU in a window."""
    counts = [
        [
            figures_of(
                evolve(run, rounds=rounds, others=()),
                deadline_ns=asked.deadline_ns,
                period_ns=asked.period_ns,
            ).count
            for rounds in (run.rounds, *run.others)
        ]
        for run in runs
    ]
    return tuple(
        rate_of(own).value if any(count.released for count in own) else None
        for own in zip(*counts, strict=True)
    )


def _skipped(rounds: Rounds, period_ns: int | None, low: int, last: int) -> Integers:
    """Releases that each round skipped, of those that count."""
    if not period_ns:
        return np.zeros(len(rounds), np.int64)
    first = np.maximum(-((rounds.release_ns - low) // period_ns), 1)
    final = np.minimum((last - rounds.release_ns) // period_ns, rounds.skipped)
    return np.asarray(np.maximum(final - first + 1, 0), np.int64)


# ---------- the whole ----------


def summary_of(store: LoadStore, runs: Iterable[LoadRun] | None = None) -> LoadSummary:
    """Everything there is of a load test so far.

    Args:
        runs: All that are stored, where they are read already.

    Raises:
        DataError: A file of it is damaged.
    """
    spec, platform = read_spec(store.spec), store.platform
    assert spec.round is not None
    assert spec.deadline is not None
    virtual = str(platform.details.get("virtual"))
    asked = LoadSummary(
        name=store.path.resolve().name,
        spec=plain_of(spec),
        platform={
            "machine": platform.name,
            "processor": platform.soc,
            "kernel": platform.kernel,
            "preemption model": platform.preemption,
            "governor": platform.governor,
            "CPUs": ", ".join(map(str, platform.cpus)),
            "virtual": {"True": "yes", "False": "no"}.get(virtual, "unknown"),
        },
        deadline_ns=spec.deadline,
        period_ns=spec.period,
        round_ns=spec.additions * store.unit_ps // 1_000_000 if spec.additions else spec.round,
        changes=store.changes,
        impossible=store.impossible,
        planned=len(plan(spec, store.changes)),
    )
    return summarise_load(store.runs() if runs is None else runs, asked, _machine_of(platform))


def _machine_of(platform: Platform) -> SceneMachine:
    """What causes are inferred from; what was not recorded is not known."""
    details, virtual = platform.details, platform.details.get("virtual")
    servers, places = inside(details, "fair_server_runtime_ns"), places_of(details.get("topology"))
    read = [n for n in servers.values() if isinstance(n, int)]
    return SceneMachine(
        kernel=release_of(platform.kernel),
        fair_server=max(read) / 1e9 if read else None,
        siblings={cpu: len(place.siblings) for cpu, place in places.items()},
        scaling=None if platform.governor == "unknown" else platform.governor != "none",
        virtual=virtual if isinstance(virtual, bool) else None,
    )


def summarise_load(
    runs: Iterable[LoadRun], asked: LoadSummary, machine: SceneMachine
) -> LoadSummary:
    """Everything from the runs, in any order; ``asked``: what was known before them."""
    everything = sorted(runs, key=lambda run: run.key)
    traced = next((run for run in everything if run.key.condition == TRACED), None)
    every: dict[tuple[str, int], list[LoadFigures]] = {}
    for run in everything:
        if run is not traced:
            figures = figures_of(run, deadline_ns=asked.deadline_ns, period_ns=asked.period_ns)
            every.setdefault((run.key.condition, run.key.normal), []).append(figures)
    places = sorted(every, key=lambda key: (_ORDER.get(key[0], 1), *key))
    groups = {key: [each for each in every[key] if each.run.valid] for key in places}
    # Median CPU time of a round at the fewest ordinary threads, without a remedy.
    plain = [key for key in groups if key[0] == PLAIN]
    fewest = groups[min(plain)] if plain else ()
    times = [each.run.rounds.cpu_ns[each.counted] for each in fewest]
    alone_ns = int(np.median(np.concatenate(times))) if any(map(len, times)) else None
    cells = [_cell(groups, key, len(every[key]), alone_ns) for key in places]
    for place, key in enumerate(places):
        own = [run for run in everything if (run.key.condition, run.key.normal) == key]
        if own := [run for run in own if run.others and run.valid]:
            cells[place] = evolve(cells[place], failures_each=_each(own, asked), lost=None)
    valid = [each for group in groups.values() for each in group]
    causes = causes_of(
        [each.run for each in valid],
        cells,
        machine,
        traced,
        failures={each.run.key: each.failed for each in valid},
        alone_ns=alone_ns,
        deadline_ns=asked.deadline_ns,
    )
    return evolve(
        asked,
        kind=next((run.kind for run in everything if run.kind != "hardware"), "hardware"),
        alone_ns=alone_ns,
        cells=tuple(cells),
        effects=_effects(groups),
        causes=causes,
        problems=_problems(everything),
        beside=beside_load(everything),
        worst=worst_round((run for run in everything if run is not traced), asked.deadline_ns),
        done=len(everything),
    )


def _problems(runs: Sequence[LoadRun]) -> tuple[str, ...]:
    """What is wrong with runs, the invalid first; `beside_load` says the rest."""
    found: Counter[tuple[str, str]] = Counter()
    example: dict[tuple[str, str], str] = {}
    for run in runs:
        for problem in run.problems:
            kind = problem.severity, problem.id
            example.setdefault(kind, problem.message)
            noted = problem.id in _BESIDE and run.valid
            found[kind] += not noted or run.machine.get("foreign_cpus") is None
    return tuple(
        f"{kind[0]}: {count} of {len(runs)} runs: {kind[1]}, for example {example[kind]}"
        for kind, count in sorted(found.items())
        if count
    )


# ---------- cells ----------


def _cell(groups: Groups, key: tuple[str, int], stored: int, alone_ns: int | None) -> LoadCell:
    (condition, normal), valid = key, groups[key]
    seconds = sum(each.run.window_s for each in valid)
    work = [each.work_per_s for each in valid if each.work_per_s is not None]
    bare = LoadCell(
        normal=normal,
        condition=condition,
        runs=len(valid),
        invalid=stored - len(valid),
        seconds=seconds,
        work_per_s=mean_of(work, 0.0) if work else None,
    )
    if not valid or condition == REFERENCE:
        return bare

    def rate(column: str) -> Estimate:
        return mean_of([each.per_s(getattr(each.run.rounds, column)) for each in valid], 0.0)

    cpu_s = sum(each.per_s(each.run.rounds.cpu_ns) * each.run.window_s for each in valid) / 1e9
    return evolve(
        bare,
        released=sum(each.count.released for each in valid),
        failures=sum(each.count.failures for each in valid),
        failures_per_s=rate_of([each.count for each in valid]),
        response=Histogram.of(np.concatenate([each.response_ns for each in valid]).tolist()),
        involuntary_per_s=rate("involuntary"),
        voluntary_per_s=rate("voluntary"),
        moves_per_s=rate("moves"),
        cpu_share=cpu_s / seconds,
        lost=None if alone_ns is None else _lost(valid, alone_ns, seconds),
        work_lost=_work_lost(valid, groups.get((REFERENCE, normal), ())),
    )


def _lost(valid: Sequence[LoadFigures], alone_ns: int, seconds: float) -> LostTime:
    parts = [attrs.astuple(lost_of(one.run, alone_ns, counted=one.counted)) for one in valid]
    weights = [one.run.window_s / seconds for one in valid]
    means = (
        sum(part * weight for part, weight in zip(column, weights, strict=True))
        for column in zip(*parts, strict=True)
    )
    return LostTime(**dict(zip(attrs.fields_dict(LostTime), means, strict=True)))


def _work_lost(valid: Sequence[LoadFigures], references: Sequence[LoadFigures]) -> Estimate | None:
    """Share of the ordinary threads' work that the real-time thread takes from them."""
    known = {each.repeat: each.work_per_s for each in references}
    shares = [
        1 - each.work_per_s / without
        for each in valid
        if each.work_per_s is not None and (without := known.get(each.repeat))
    ]
    return mean_of(shares, 0.0, 1.0) if shares else None


# ---------- effects ----------


def _effects(groups: Groups) -> tuple[Effect, ...]:
    """Judged effect of every remedy: at the one number of ordinary threads it was tried at, or
    at all of them together; then it at each."""
    judged: list[tuple[Effect, float, Mapping[int, Pairs]]] = []
    shown: list[Effect] = []
    for condition in dict.fromkeys(name for name, _ in groups):
        if condition in (PLAIN, REFERENCE) or condition.startswith(several("")):
            continue
        pairs = {
            normal: both
            for name, normal in groups
            if name == condition and (both := _pairs(groups, condition, normal))
        }
        each = [_effect(condition, normal, both) for normal, both in pairs.items()]
        if len(pairs) > 1:
            every = [pair for both in pairs.values() for pair in both]
            judged.append((*_effect(condition, None, every), pairs))
            shown += [effect for effect, _ in each]
        else:
            judged += [(*found, pairs) for found in each]
    chances = holm([p for _, p, _ in judged])
    known = [
        (_judged(effect, p), pairs) for (effect, _, pairs), p in zip(judged, chances, strict=True)
    ]
    # Holm's procedure asks the more of each the fewer of the others are shown
    left = sum(effect.verdict not in (_FEWER, _MORE) for effect, _ in known)
    return (*(_with_power(effect, pairs, _LEVEL / max(left, 1)) for effect, pairs in known), *shown)


def _pairs(groups: Groups, condition: str, normal: int) -> Pairs:
    before, after = (
        {each.repeat: each for each in groups.get((name, normal), ())}
        for name in (PLAIN, condition)
    )
    return [(before[repeat], after[repeat]) for repeat in sorted(before.keys() & after.keys())]


def _effect(condition: str, normal: int | None, pairs: Pairs) -> tuple[Effect, float]:
    """Without its verdict; the chance of such a difference where there is none."""
    before, after = zip(*pairs, strict=True)
    first, last = ([each.count for each in side] for side in (before, after))
    found = difference_of(first, last)
    p99 = None
    if normal is not None:
        responses = ([each.response_ns for each in side] for side in (before, after))
        p99 = p99_difference(*responses, seed=seed_of(condition, normal))
    failed = any(each.failures for each in (*first, *last))
    effect = Effect(
        condition=condition,
        normal=normal,
        pairs=len(pairs),
        failures_before=float(np.mean([each.per_s for each in first])),
        failures_after=float(np.mean([each.per_s for each in last])),
        failures=found.estimate,
        p99_ns=p99,
        verdict="",
        occasions_high=None if failed else occasions_bound(first, last),
    )
    return effect, found.p


def _verdict(effect: Effect, p: float) -> str:
    """No verdict contradicts its interval."""
    if effect.occasions_high is not None:
        return "no failures either way"
    if effect.pairs < PAIRS_MIN:
        return "too few repeats"
    low, high = effect.failures.low, effect.failures.high
    if p > _LEVEL or low is None or high is None or low <= 0 <= high:
        return _NOTHING
    return _FEWER if high < 0 else _MORE


def _judged(effect: Effect, p: float) -> Effect:
    """With its verdict, and with the interval of the test that gave it: where all verdicts together
    do not exclude that nothing differs, nor does the interval."""
    verdict, found = _verdict(effect, p), effect.failures
    if verdict == _NOTHING and found.low is not None and found.high is not None:
        found = evolve(found, low=min(found.low, 0.0), high=max(found.high, 0.0))
    return evolve(effect, verdict=verdict, failures=found)


def _with_power(effect: Effect, pairs: Mapping[int, Pairs], level: float) -> Effect:
    """What it could have shown, where it shows nothing."""
    if effect.verdict != _NOTHING or not effect.failures_before:
        return effect
    before = {normal: [one.count for one, _ in both] for normal, both in pairs.items()}
    found = could_show(before, level=level)
    least = None if found.share is None else found.share * effect.failures_before
    return evolve(effect, could_show=least, removal_found=found.removal)


# ---------- the longest round over time ----------

_SOURCE = (
    "Drawn from the recorded gaps: stretches of 20 µs of work that took 100 µs longer than they"
    " should. Of a gap the waiting is drawn first. Slower execution shows in the length alone."
)
_ROWS = ("has a CPU", "waiting", "nothing moves")
_RUNS, _WAITS, _STANDS = "runs", "ready, and not running", "running, and nothing moved"


def worst_round(runs: Iterable[LoadRun], deadline_ns: int) -> WorstMoment | None:
    """When its thread had a CPU, waited, or stood still, of the valid runs without a remedy; None:
    no round finished."""
    found = [
        (int(run.rounds.response_ns[place]), run, int(place))
        for run in runs
        if run.valid and run.key.condition == PLAIN and (inside := inside_window(run)).any()
        for place in [np.flatnonzero(inside)[run.rounds.response_ns[inside].argmax()]]
    ]
    if not found:
        return None
    response, run, place = max(found, key=lambda each: each[0])
    release = int(run.rounds.release_ns[place])
    start = max(int(run.rounds.start_ns[place]) - release, 0)
    stretches, at = [], start
    if start:
        stretches.append(Activity(row=1, kind=_WAITS, begin_ns=0, end_ns=start))
    begins = run.gaps.at_ns - release
    columns = np.column_stack([begins, run.gaps.length_ns, run.gaps.delay_ns, run.gaps.cpu_after])
    inside = (begins >= 0) & (begins < response)
    for gap_at, length, delay, cpu in columns[inside].tolist():
        begin = max(gap_at, at)
        end = min(begin + length, response)
        waited = min(begin + min(delay, length), end)
        on = f"on CPU {cpu}"
        for row, kind, low, high in (
            (0, _RUNS, at, begin),
            (1, _WAITS, begin, waited),
            (2, _STANDS, waited, end),
        ):
            if high > low:
                stretches.append(Activity(row=row, kind=kind, begin_ns=low, end_ns=high, text=on))
        at = max(at, end)
    if response > at:
        on = f"on CPU {int(run.rounds.cpu_finish[place])}"
        stretches.append(Activity(row=0, kind=_RUNS, begin_ns=at, end_ns=response, text=on))
    threads = f"{run.key.normal} ordinary thread{'' if run.key.normal == 1 else 's'}"
    return WorstMoment(
        what=f"{time_text(response)} with {threads}, {condition_words(run.key.condition)}:"
        f" run {run.key.text}, round {place}",
        rows=_ROWS,
        stretches=tuple(stretches),
        marks={"release": 0, "finish": response, "deadline": deadline_ns},
        source=_SOURCE,
    )
