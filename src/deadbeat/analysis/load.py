"""Runs of a load test -> failures per second, response times, switches, lost work, effects; pure.

The unit is the run: a stall of the host hits many rounds of one run and none of the next.
Intervals are Student's over runs (of pairs of runs of one repeat where two conditions are
compared), and never narrower than that of a Poisson count of the same size: five runs with one
failure each look as if nothing varied. Where no failure was seen the upper end is 3 / seconds (the
rule of three).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from attrs import evolve, frozen
from numpy.typing import NDArray

from deadbeat.analysis.bootstrap import student_half_width
from deadbeat.analysis.load_causes import causes_of
from deadbeat.analysis.load_lost import lost_of
from deadbeat.analysis.load_scene import Machine
from deadbeat.model.histogram import Histogram
from deadbeat.model.load import ALL, PLAIN, REFERENCE, TRACED, LoadRun, Rounds
from deadbeat.model.load_summary import Effect, Estimate, LoadCell, LoadSummary, Lost

_Z = 1.959964
_P99_PPM = 990_000


@frozen(kw_only=True)
class Figures:
    """One run's own figures.

    Attributes:
        counted: Which of its rounds count.
        released, failures: Skipped releases included.
        work_per_s: Of the ordinary threads; None without any.
    """

    run: LoadRun
    counted: NDArray[np.bool_]
    released: int
    failures: int
    work_per_s: float | None

    @property
    def response_ns(self) -> NDArray[np.int64]:
        return self.run.rounds.response_ns[self.counted]

    @property
    def failures_per_s(self) -> float:
        return self.failures / self.run.window_s

    def per_s(self, column: str) -> float:
        """Sum of a column of the rounds that count, per second of window."""
        values = self.run.rounds.columns()[column][self.counted]
        return float(values.sum()) / self.run.window_s

    @property
    def p99_ns(self) -> float:
        """By nearest rank; 0 without a round."""
        ordered = np.sort(self.response_ns)
        if not len(ordered):
            return 0.0
        return float(ordered[-(-len(ordered) * _P99_PPM // 1_000_000) - 1])


def figures_of(run: LoadRun, *, deadline_ns: int, period_ns: int | None) -> Figures:
    """What a run shows.

    A round counts when it was released inside the window; of the periodic form its deadline must
    lie inside too. Releases that were skipped count under the same rule, and missed theirs.
    """
    low, high = run.window_ns
    rounds = run.rounds
    last = high - deadline_ns if period_ns else high - 1
    counted = (rounds.release_ns >= low) & (rounds.release_ns <= last)
    skipped = _skipped(rounds, period_ns, low, last)
    late = int((rounds.response_ns[counted] > deadline_ns).sum())
    seconds = (run.sampled_ns[1] - run.sampled_ns[0]) / 1e9
    return Figures(
        run=run,
        counted=counted,
        released=int(counted.sum()) + skipped,
        failures=late + skipped,
        work_per_s=sum(run.normal_units) / seconds if run.normal_units and seconds > 0 else None,
    )


def _skipped(rounds: Rounds, period_ns: int | None, low: int, last: int) -> int:
    if not period_ns:
        return 0
    skips = zip(rounds.release_ns.tolist(), rounds.skipped.tolist(), strict=True)
    return sum(
        low <= release + number * period_ns <= last
        for release, count in skips
        for number in range(1, count + 1)
    )


# --- estimates ----------------------------------------------------------------------------------


def mean_of(values: Sequence[float], *, floor: float = 0.0) -> Estimate:
    """Mean over runs; half of its interval is ``floor`` at least."""
    array = np.asarray(values, np.float64)
    mean = float(array.mean())
    if len(array) < 2:
        return Estimate(value=mean)
    half = max(student_half_width(array), floor)
    return Estimate(value=mean, low=mean - half, high=mean + half)


def count_of(values: Sequence[float]) -> Estimate:
    """Mean of what cannot be below 0."""
    found = mean_of(values)
    return found if found.low is None else evolve(found, low=max(found.low, 0.0))


def rate_of(figures: Sequence[Figures]) -> Estimate:
    """Failures per second."""
    seconds = sum(each.run.window_s for each in figures)
    failures = sum(each.failures for each in figures)
    if not failures:
        return Estimate(value=0.0, low=0.0, high=3 / seconds)
    found = mean_of(
        [each.failures_per_s for each in figures], floor=_Z * math.sqrt(failures) / seconds
    )
    return found if found.low is None else evolve(found, low=max(found.low, 0.0))


def difference_of(before: Sequence[Figures], after: Sequence[Figures]) -> Estimate:
    """Failures per second, after - before, of pairs in their order."""
    seconds = sum(each.run.window_s for each in after)
    count = sum(each.failures for each in (*before, *after))
    floor = _Z * math.sqrt(count) / seconds if count else 3 / seconds
    pairs = zip(before, after, strict=True)
    return mean_of([b.failures_per_s - a.failures_per_s for a, b in pairs], floor=floor)


# --- cells --------------------------------------------------------------------------------------


def summarise_load(
    runs: Iterable[LoadRun],
    *,
    name: str,
    spec: Mapping[str, Any],
    machine: Machine,
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
    groups: dict[tuple[str, int], list[Figures]] = {}
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
        planned=planned,
        done=len(everything),
    )


def _kind(runs: Sequence[LoadRun]) -> str:
    return next((run.kind for run in runs if run.kind != "hardware"), "hardware")


def _place(key: tuple[str, int]) -> tuple[int, str, int]:
    order = {PLAIN: 0, ALL: 2, REFERENCE: 3}
    condition, normal = key
    return order.get(condition, 1), condition, normal


def _valid(figures: Sequence[Figures]) -> list[Figures]:
    return [each for each in figures if each.run.valid]


def _valid_runs(groups: Mapping[tuple[str, int], Sequence[Figures]]) -> list[LoadRun]:
    return [each.run for group in groups.values() for each in _valid(group)]


def _alone(groups: Mapping[tuple[str, int], Sequence[Figures]]) -> int | None:
    """Median CPU time of a round at the fewest ordinary threads, without a remedy."""
    fewest = min((normal for condition, normal in groups if condition == PLAIN), default=None)
    if fewest is None:
        return None
    times = [each.run.rounds.cpu_ns[each.counted] for each in _valid(groups[PLAIN, fewest])]
    times = [each for each in times if len(each)]
    return int(np.median(np.concatenate(times))) if times else None


def _cell(
    groups: Mapping[tuple[str, int], Sequence[Figures]],
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
    return LoadCell(
        **{each: getattr(bare, each) for each in ("normal", "condition", "runs", "invalid")},
        seconds=bare.seconds,
        **given,
    )


def _realtime(valid: Sequence[Figures], alone_ns: int | None) -> dict[str, Any]:
    seconds = sum(each.run.window_s for each in valid)
    responses = np.concatenate([each.response_ns for each in valid])
    return {
        "released": sum(each.released for each in valid),
        "failures": sum(each.failures for each in valid),
        "failures_per_s": rate_of(valid),
        "response": Histogram.of(responses.tolist()),
        "involuntary_per_s": count_of([each.per_s("involuntary") for each in valid]),
        "voluntary_per_s": count_of([each.per_s("voluntary") for each in valid]),
        "moves_per_s": count_of([each.per_s("moves") for each in valid]),
        "cpu_share": sum(each.per_s("cpu_ns") * each.run.window_s for each in valid)
        / 1e9
        / seconds,
        "lost": None if alone_ns is None else _lost(valid, alone_ns, seconds),
    }


def _lost(valid: Sequence[Figures], alone_ns: int, seconds: float) -> Lost:
    """Of all runs together."""
    each = [lost_of(one.run, alone_ns, counted=one.counted) for one in valid]
    weights = [one.run.window_s / seconds for one in valid]
    parts = ("waiting", "stopped", "slower", "uncharged")
    return Lost(
        **{
            part: sum(getattr(lost, part) * w for lost, w in zip(each, weights, strict=True))
            for part in parts
        }
    )


def _work_lost(valid: Sequence[Figures], references: Sequence[Figures]) -> Estimate | None:
    """Share of the ordinary threads' work that the real-time thread takes from them."""
    known = {each.run.key.repeat: each.work_per_s for each in _valid(references)}
    shares = [
        1 - each.work_per_s / without
        for each in valid
        if each.work_per_s is not None and (without := known.get(each.run.key.repeat))
    ]
    return mean_of(shares) if shares else None


# --- effects ------------------------------------------------------------------------------------


def _effects(groups: Mapping[tuple[str, int], Sequence[Figures]]) -> tuple[Effect, ...]:
    found = []
    for condition, normal in sorted(groups, key=_place):
        if condition in (PLAIN, REFERENCE) or (PLAIN, normal) not in groups:
            continue
        before = {each.run.key.repeat: each for each in _valid(groups[PLAIN, normal])}
        after = {each.run.key.repeat: each for each in _valid(groups[condition, normal])}
        both = sorted(before.keys() & after.keys())
        if both:
            pairs = [before[r] for r in both], [after[r] for r in both]
            found.append(_effect(condition, normal, *pairs))
    return tuple(found)


def _effect(
    condition: str, normal: int, before: Sequence[Figures], after: Sequence[Figures]
) -> Effect:
    failures = difference_of(before, after)
    pairs = zip(before, after, strict=True)
    return Effect(
        condition=condition,
        normal=normal,
        pairs=len(before),
        failures_before=float(np.mean([each.failures_per_s for each in before])),
        failures_after=float(np.mean([each.failures_per_s for each in after])),
        failures=failures,
        p99_ns=mean_of([b.p99_ns - a.p99_ns for a, b in pairs]),
        verdict=_verdict(failures, any(each.failures for each in (*before, *after))),
    )


def _verdict(difference: Estimate, any_failure: bool) -> str:
    if not any_failure:
        return "no failures either way"
    if difference.high is not None and difference.high < 0:
        return "fewer failures"
    if difference.low is not None and difference.low > 0:
        return "more failures"
    return "no difference shown"


def _problems(runs: Sequence[LoadRun]) -> tuple[str, ...]:
    """What is wrong with runs, with their number; the invalid first."""
    found = Counter((problem.seriousness, problem.name) for run in runs for problem in run.problems)
    example = {
        (problem.seriousness, problem.name): problem.text
        for run in reversed(runs)
        for problem in run.problems
    }
    return tuple(
        f"{seriousness}: {count} of {len(runs)} runs: {name}, for example {example[kind]}"
        for kind, count in sorted(found.items())
        for seriousness, name in (kind,)
    )


__all__ = ["Figures", "difference_of", "figures_of", "mean_of", "rate_of", "summarise_load"]
