"""Runs of a load test -> failures per second, response times, switches, lost work, effects.

Estimates and their intervals: `deadbeat.latencies.load.estimates`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import attrs
import numpy as np
from attrs import evolve

from deadbeat.base.model.histogram import Histogram
from deadbeat.base.model.platform import Platform, places_of
from deadbeat.base.model.specification import plain_of
from deadbeat.base.model.traces import Activity, WorstMoment
from deadbeat.base.model.words import inside, time_text
from deadbeat.base.stats.estimate import Estimate, mean_of
from deadbeat.latencies.load.causes import causes_of
from deadbeat.latencies.load.effects import Groups, effects_of
from deadbeat.latencies.load.estimates import (
    rate_of,
)
from deadbeat.latencies.load.figures import LoadFigures, figures_of
from deadbeat.latencies.load.lost import SceneMachine, inside_window, lost_of
from deadbeat.latencies.load.model import (
    ALL,
    PLAIN,
    REFERENCE,
    TRACED,
    LoadCell,
    LoadRun,
    LoadSummary,
    LostTime,
)
from deadbeat.latencies.load.spec import plan, read_spec
from deadbeat.latencies.load.store import LoadStore
from deadbeat.latencies.load.validity import beside_load
from deadbeat.latencies.load.words import condition_words
from deadbeat.machine.host.kernel import release_of

#: Labels that the sentence of `beside_load` is about; ``other-load`` in folders of older versions.
_BESIDE = ("other-work", "other-load", "steal")
_ORDER = {PLAIN: 0, ALL: 2, REFERENCE: 3}


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
    # What is wrong with runs, the invalid first; `beside_load` says the rest.
    found: Counter[tuple[str, str]] = Counter()
    example: dict[tuple[str, str], str] = {}
    for run in everything:
        for problem in run.problems:
            kind = problem.severity, problem.id
            example.setdefault(kind, problem.message)
            noted = problem.id in _BESIDE and run.valid
            found[kind] += not noted or run.machine.get("foreign_cpus") is None
    problems = tuple(
        f"{kind[0]}: {count} of {len(everything)} runs: {kind[1]}, for example {example[kind]}"
        for kind, count in sorted(found.items())
        if count
    )
    return evolve(
        asked,
        kind=next((run.kind for run in everything if run.kind != "hardware"), "hardware"),
        alone_ns=alone_ns,
        cells=tuple(cells),
        effects=effects_of(groups),
        causes=causes,
        problems=problems,
        beside=beside_load(everything),
        worst=worst_round((run for run in everything if run is not traced), asked.deadline_ns),
        done=len(everything),
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
    if alone_ns is None:
        lost = None
    else:
        parts = [attrs.astuple(lost_of(one.run, alone_ns, counted=one.counted)) for one in valid]
        weights = [one.run.window_s / seconds for one in valid]
        means = (
            sum(part * weight for part, weight in zip(column, weights, strict=True))
            for column in zip(*parts, strict=True)
        )
        lost = LostTime(**dict(zip(attrs.fields_dict(LostTime), means, strict=True)))
    # Share of the ordinary threads' work that the real-time thread takes from them.
    known = {each.repeat: each.work_per_s for each in groups.get((REFERENCE, normal), ())}
    shares = [
        1 - each.work_per_s / without
        for each in valid
        if each.work_per_s is not None and (without := known.get(each.repeat))
    ]
    work_lost = mean_of(shares, 0.0, 1.0) if shares else None
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
        lost=lost,
        work_lost=work_lost,
    )


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
