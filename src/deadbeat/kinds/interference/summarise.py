"""Runs of a load test -> failures per second, response times, switches, lost work, effects; pure.

Estimates and their intervals: `deadbeat.kinds.interference.estimates`. Verdicts on remedies are by
Holm's procedure, one for each remedy that was tried: in at most one test of twenty without any
effect one is called so.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from attrs import evolve, frozen
from numpy.typing import NDArray

from deadbeat.experiment.beside import beside_load
from deadbeat.kinds.interference.causes import causes_of
from deadbeat.kinds.interference.estimates import (
    Counted,
    Integers,
    count_of,
    difference_of,
    occasions,
    occasions_bound,
    p99_difference,
    rate_of,
    share_of,
)
from deadbeat.kinds.interference.lost import PAIRS_MIN, lost_of
from deadbeat.kinds.interference.power import could_show
from deadbeat.kinds.interference.scene import SceneMachine
from deadbeat.model.histogram import Histogram
from deadbeat.model.load import ALL, PLAIN, REFERENCE, TRACED, LoadRun, Rounds
from deadbeat.model.load_summary import (
    Effect,
    Estimate,
    LoadCell,
    LoadSummary,
    LostTime,
)
from deadbeat.stats.multiple import holm
from deadbeat.stats.seeds import seed_of

#: What each of these verdicts may err, all of a test together.
_LEVEL = 0.05
#: Labels that the sentence of `beside_load` is about; ``other-load`` in folders of older versions.
_BESIDE = ("other-work", "other-load", "steal")
_FEWER, _MORE, _NOTHING = "fewer failures", "more failures", "no difference shown"


@frozen(kw_only=True)
class LoadFigures:
    """One run's own figures.

    Attributes:
        counted: Which of its rounds count.
        counted_failures: Of rounds that count, skipped releases included.
        work_per_s: Of the ordinary threads; None without any.
    """

    run: LoadRun
    counted: NDArray[np.bool_]
    counted_failures: Counted
    work_per_s: float | None

    @property
    def released(self) -> int:
        return self.counted_failures.released

    @property
    def failures(self) -> int:
        return self.counted_failures.failures

    @property
    def response_ns(self) -> NDArray[np.int64]:
        return self.run.rounds.response_ns[self.counted]

    def per_s(self, column: str) -> float:
        """Sum of a column of the rounds that count, per second of window."""
        values = self.run.rounds.columns()[column][self.counted]
        return float(values.sum()) / self.run.window_s


#: Runs of one repeat without a remedy and with it.
_Pairs = Sequence[tuple[LoadFigures, LoadFigures]]


def figures_of(run: LoadRun, *, deadline_ns: int, period_ns: int | None) -> LoadFigures:
    """What a run shows.

    A round counts when it was released inside the window; of the periodic form its deadline must
    lie inside too. Releases that were skipped count under the same rule, and missed theirs.
    """
    low, high = run.window_ns
    rounds = run.rounds
    last = high - deadline_ns if period_ns else high - 1
    counted = (rounds.release_ns >= low) & (rounds.release_ns <= last)
    skipped = _skipped(rounds, period_ns, low, last)
    late = counted & (rounds.response_ns > deadline_ns)
    seconds = (run.sampled_ns[1] - run.sampled_ns[0]) / 1e9
    return LoadFigures(
        run=run,
        counted=counted,
        counted_failures=Counted(
            occasions=occasions(late + skipped),
            released=int(counted.sum() + skipped.sum()),
            seconds=run.window_s,
        ),
        work_per_s=sum(run.normal_units) / seconds if run.normal_units and seconds > 0 else None,
    )


def _skipped(rounds: Rounds, period_ns: int | None, low: int, last: int) -> Integers:
    """Releases that each round skipped, of those that count."""
    if not period_ns:
        return np.zeros(len(rounds), np.int64)
    first = np.maximum(-((rounds.release_ns - low) // period_ns), 1)
    final = np.minimum((last - rounds.release_ns) // period_ns, rounds.skipped)
    found: Integers = np.maximum(final - first + 1, 0)
    return found


# --- cells --------------------------------------------------------------------------------------


def summarise_load(
    runs: Iterable[LoadRun],
    *,
    name: str,
    spec: Mapping[str, Any],
    machine: SceneMachine,
    platform: Mapping[str, str],
    deadline_ns: int,
    period_ns: int | None,
    round_ns: int,
    changes: Mapping[str, str],
    impossible: Mapping[str, str],
    planned: int,
) -> LoadSummary:
    """Everything from the runs, in any order."""
    everything = sorted(runs, key=lambda run: run.key)
    traced = next((run for run in everything if run.key.condition == TRACED), None)
    figures = [
        figures_of(run, deadline_ns=deadline_ns, period_ns=period_ns)
        for run in everything
        if run.key.condition != TRACED
    ]
    groups: dict[tuple[str, int], list[LoadFigures]] = {}
    for each in figures:
        groups.setdefault((each.run.key.condition, each.run.key.normal), []).append(each)
    alone_ns = _alone(groups)
    cells = [_cell(groups, key, alone_ns) for key in sorted(groups, key=_place)]
    return LoadSummary(
        name=name,
        kind=_kind(everything),
        spec=dict(spec),
        platform=dict(platform),
        round_ns=round_ns,
        deadline_ns=deadline_ns,
        period_ns=period_ns,
        alone_ns=alone_ns,
        cells=tuple(cells),
        effects=_effects(groups),
        causes=causes_of(_valid_runs(groups), cells, machine, traced, alone_ns=alone_ns),
        changes=dict(changes),
        impossible=dict(impossible),
        problems=_problems(everything),
        beside=beside_load(everything),
        planned=planned,
        done=len(everything),
    )


def _kind(runs: Sequence[LoadRun]) -> str:
    return next((run.kind for run in runs if run.kind != "hardware"), "hardware")


def _place(key: tuple[str, int]) -> tuple[int, str, int]:
    order = {PLAIN: 0, ALL: 2, REFERENCE: 3}
    condition, normal = key
    return order.get(condition, 1), condition, normal


def _valid(figures: Sequence[LoadFigures]) -> list[LoadFigures]:
    return [each for each in figures if each.run.valid]


def _valid_runs(groups: Mapping[tuple[str, int], Sequence[LoadFigures]]) -> list[LoadRun]:
    return [each.run for group in groups.values() for each in _valid(group)]


def _alone(groups: Mapping[tuple[str, int], Sequence[LoadFigures]]) -> int | None:
    """Median CPU time of a round at the fewest ordinary threads, without a remedy."""
    fewest = min((normal for condition, normal in groups if condition == PLAIN), default=None)
    if fewest is None:
        return None
    times = [each.run.rounds.cpu_ns[each.counted] for each in _valid(groups[PLAIN, fewest])]
    times = [each for each in times if len(each)]
    return int(np.median(np.concatenate(times))) if times else None


def _cell(
    groups: Mapping[tuple[str, int], Sequence[LoadFigures]],
    key: tuple[str, int],
    alone_ns: int | None,
) -> LoadCell:
    condition, normal = key
    valid = _valid(groups[key])
    bare = LoadCell(
        normal=normal,
        condition=condition,
        runs=len(valid),
        invalid=len(groups[key]) - len(valid),
        seconds=sum(each.run.window_s for each in valid),
    )
    if not valid:
        return bare
    work = [each.work_per_s for each in valid if each.work_per_s is not None]
    given: dict[str, Any] = {"work_per_s": count_of(work) if work else None}
    if condition != REFERENCE:
        given |= _realtime(valid, alone_ns)
        given["work_lost"] = _work_lost(valid, groups.get((REFERENCE, normal), ()))
    return evolve(bare, **given)


def _realtime(valid: Sequence[LoadFigures], alone_ns: int | None) -> dict[str, Any]:
    seconds = sum(each.run.window_s for each in valid)
    responses = np.concatenate([each.response_ns for each in valid])
    return {
        "released": sum(each.released for each in valid),
        "failures": sum(each.failures for each in valid),
        "failures_per_s": rate_of([each.counted_failures for each in valid]),
        "response": Histogram.of(responses.tolist()),
        "involuntary_per_s": count_of([each.per_s("involuntary") for each in valid]),
        "voluntary_per_s": count_of([each.per_s("voluntary") for each in valid]),
        "moves_per_s": count_of([each.per_s("moves") for each in valid]),
        "cpu_share": sum(each.per_s("cpu_ns") * each.run.window_s for each in valid)
        / 1e9
        / seconds,
        "lost": None if alone_ns is None else _lost(valid, alone_ns, seconds),
    }


def _lost(valid: Sequence[LoadFigures], alone_ns: int, seconds: float) -> LostTime:
    """Of all runs together."""
    each = [lost_of(one.run, alone_ns, counted=one.counted) for one in valid]
    weights = [one.run.window_s / seconds for one in valid]
    parts = ("waiting", "stopped", "slower", "uncharged")
    return LostTime(
        **{
            part: sum(getattr(lost, part) * w for lost, w in zip(each, weights, strict=True))
            for part in parts
        }
    )


def _work_lost(valid: Sequence[LoadFigures], references: Sequence[LoadFigures]) -> Estimate | None:
    """Share of the ordinary threads' work that the real-time thread takes from them."""
    known = {each.run.key.repeat: each.work_per_s for each in _valid(references)}
    shares = [
        1 - each.work_per_s / without
        for each in valid
        if each.work_per_s is not None and (without := known.get(each.run.key.repeat))
    ]
    return share_of(shares) if shares else None


# --- effects ------------------------------------------------------------------------------------


def _effects(groups: Mapping[tuple[str, int], Sequence[LoadFigures]]) -> tuple[Effect, ...]:
    """Of every remedy one that is judged: at the one number of ordinary threads it was tried at, or
    at all of them together; then it at each."""
    judged: list[tuple[Effect, float, Mapping[int, _Pairs]]] = []
    shown: list[Effect] = []
    for condition in dict.fromkeys(name for name, _ in sorted(groups, key=_place)):
        if condition in (PLAIN, REFERENCE):
            continue
        pairs = {
            normal: both
            for name, normal in sorted(groups)
            if name == condition and (both := _pairs(groups, condition, normal))
        }
        if len(pairs) > 1:
            every = [pair for both in pairs.values() for pair in both]
            judged.append((*_effect(condition, None, every), pairs))
            shown += [_effect(condition, normal, both)[0] for normal, both in pairs.items()]
        elif pairs:
            judged += [(*_effect(condition, n, both), pairs) for n, both in pairs.items()]
    chances = holm([p for _, p, _ in judged])
    known = [
        (evolve(effect, verdict=_verdict(effect, p)), pairs)
        for (effect, _, pairs), p in zip(judged, chances, strict=True)
    ]
    # Holm's procedure asks the more of each the fewer of the others are shown
    left = sum(effect.verdict not in (_FEWER, _MORE) for effect, _ in known)
    return (*(_with_power(effect, pairs, _LEVEL / max(left, 1)) for effect, pairs in known), *shown)


def _with_power(effect: Effect, pairs: Mapping[int, _Pairs], level: float) -> Effect:
    """What it could have shown, where it shows nothing."""
    if effect.verdict != _NOTHING or not effect.failures_before:
        return effect
    before = {n: [one.counted_failures for one, _ in both] for n, both in pairs.items()}
    found = could_show(before, level=level, seed=seed_of(effect.condition, "power"))
    share = found.share
    return evolve(
        effect,
        could_show=None if share is None else share * effect.failures_before,
        removal_found=found.removal,
    )


def _pairs(
    groups: Mapping[tuple[str, int], Sequence[LoadFigures]], condition: str, normal: int
) -> _Pairs:
    """Runs of one repeat without the remedy and with it, both valid."""
    before, after = (
        {each.run.key.repeat: each for each in _valid(groups.get((name, normal), ()))}
        for name in (PLAIN, condition)
    )
    return [(before[repeat], after[repeat]) for repeat in sorted(before.keys() & after.keys())]


def _effect(condition: str, normal: int | None, pairs: _Pairs) -> tuple[Effect, float]:
    """Without its verdict; the chance of such a difference where there is none."""
    before, after = ([pair[side] for pair in pairs] for side in (0, 1))
    first, last = ([each.counted_failures for each in side] for side in (before, after))
    found = difference_of(first, last)
    p99 = (
        None
        if normal is None
        else p99_difference(
            [each.response_ns for each in before],
            [each.response_ns for each in after],
            seed=seed_of(condition, normal),
        )
    )
    effect = Effect(
        condition=condition,
        normal=normal,
        pairs=len(pairs),
        failures_before=float(np.mean([each.per_s for each in first])),
        failures_after=float(np.mean([each.per_s for each in last])),
        failures=found.estimate,
        p99_ns=p99,
        verdict="",
        occasions_high=None if _any(first, last) else occasions_bound(first, last),
    )
    return effect, found.p


def _any(*sides: Sequence[Counted]) -> bool:
    return any(each.failures for side in sides for each in side)


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


def _problems(runs: Sequence[LoadRun]) -> tuple[str, ...]:
    """What is wrong with runs, the invalid first; `beside_load` says the rest."""
    found = Counter(
        (problem.severity, problem.id)
        for run in runs
        for problem in run.problems
        if problem.id not in _BESIDE or not run.valid or run.machine.get("foreign_cpus") is None
    )
    example = {
        (problem.severity, problem.id): problem.message
        for run in reversed(runs)
        for problem in run.problems
    }
    return tuple(
        f"{seriousness}: {count} of {len(runs)} runs: {name}, for example {example[kind]}"
        for kind, count in sorted(found.items())
        for seriousness, name in (kind,)
    )


__all__ = ["LoadFigures", "figures_of", "summarise_load"]
