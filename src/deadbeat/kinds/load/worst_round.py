"""The longest round of a load test over time: when its thread had a CPU, waited, or stood still."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from deadbeat.kinds.load.lost import inside_window
from deadbeat.kinds.load.words import condition_words
from deadbeat.model.load import PLAIN, LoadRun
from deadbeat.model.moment import Activity, WorstMoment
from deadbeat.model.words import time_text

_SOURCE = (
    "Drawn from the recorded gaps: stretches of 20 µs of work that took 100 µs longer than they"
    " should. Of a gap the waiting is drawn first. Slower execution shows in the length alone."
)
_ROWS = ("has a CPU", "waiting", "nothing moves")
_RUNS, _WAITS, _STANDS = "runs", "ready, and not running", "running, and nothing moved"


def worst_round(runs: Iterable[LoadRun], deadline_ns: int) -> WorstMoment | None:
    """Of the valid runs without a remedy; None: no round finished."""
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
    for gap_at, length, delay, cpu in _gaps(run, release, response):
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


def _gaps(run: LoadRun, release: int, response: int) -> list[list[int]]:
    """Begin since the release, length, waiting and CPU of those inside."""
    gaps = run.gaps
    at = gaps.at_ns - release
    inside = (at >= 0) & (at < response)
    found: list[list[int]] = np.column_stack([at, gaps.length_ns, gaps.delay_ns, gaps.cpu_after])[
        inside
    ].tolist()
    return found
