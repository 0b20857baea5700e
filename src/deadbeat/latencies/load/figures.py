"""What one run of a load test shows: its figures, and its rows in the table of observations."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime

import numpy as np
from attrs import evolve, frozen
from numpy.typing import NDArray

from deadbeat.base.model.comparison import Vocabulary
from deadbeat.base.model.histogram import Integers
from deadbeat.base.model.observations import MISS_RATIO, Cell, Metric, Observation, observed
from deadbeat.latencies.load.estimates import Counted, occasions, ranked
from deadbeat.latencies.load.model import LoadRun, Rounds

WORDS = Vocabulary(
    results="load tests",
    one="load test",
    find_lost="see which runs are invalid, and why (deadbeat show); a release that is skipped has"
    " no response time, it shows in the misses",
    lost="of the releases were skipped",
    rare="more --repeats, or longer runs (--duration), would show more",
)


@frozen(kw_only=True)
class LoadFigures:
    """One run's own figures: which of its rounds count, failures of each round and of those that
    count, skipped releases included; the ordinary threads' work (None without any);
    ``without``: theirs in the run without the real-time thread."""

    run: LoadRun
    counted: NDArray[np.bool_]
    failed: Integers
    count: Counted
    work_per_s: float | None
    without: float | None = None

    @property
    def repeat(self) -> int:
        return self.run.key.repeat

    @property
    def response_ns(self) -> Integers:
        return self.run.rounds.response_ns[self.counted]

    def per_s(self, column: Integers) -> float:
        """Sum over the rounds that count, per second of window."""
        return float(column[self.counted].sum()) / self.run.window_s


def figures_of(run: LoadRun, *, deadline_ns: int, period_ns: int | None) -> LoadFigures:
    """What a run shows.

    A round counts when it was released inside the window; of the periodic form its deadline must
    lie inside too. Releases that were skipped count under the same rule, and missed theirs.
    """
    low, high = run.window_ns
    # With the rounds of all its real-time threads as if of one.
    if run.others:
        columns = zip(*(each.columns().values() for each in (run.rounds, *run.others)), strict=True)
        joined = zip(run.rounds.columns(), map(np.concatenate, columns), strict=True)
        run = evolve(run, rounds=Rounds(**dict(joined)))
    rounds = run.rounds
    last = high - deadline_ns if period_ns else high - 1
    counted = (rounds.release_ns >= low) & (rounds.release_ns <= last)
    # Releases that each round skipped, of those that count.
    if not period_ns:
        skipped = np.zeros(len(rounds), np.int64)
    else:
        first = np.maximum(-((rounds.release_ns - low) // period_ns), 1)
        final = np.minimum((last - rounds.release_ns) // period_ns, rounds.skipped)
        skipped = np.asarray(np.maximum(final - first + 1, 0), np.int64)
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


def _rank(percent: int) -> Callable[[LoadFigures], float | None]:
    """The response time as long as or longer than this share of the rounds."""

    def of(seen: LoadFigures) -> float | None:
        ordered = np.sort(seen.response_ns)
        return ranked(ordered, percent) if len(ordered) else None

    return of


def _work_lost(seen: LoadFigures) -> float | None:
    known = seen.work_per_s is not None and seen.without
    return 1 - (seen.work_per_s or 0.0) / seen.without if known and seen.without else None


#: Metrics of the rounds of a run without a remedy, and of the ordinary threads beside it.
METRICS = (
    evolve(
        MISS_RATIO,
        of=lambda seen: seen.count.failures / seen.count.released if seen.count.released else None,
    ),
    *(
        Metric(
            name=name,
            title=title,
            text=text,
            unit="ns",
            shown="ms",
            minimum=0.05,
            of=_rank(percent),
        )
        for name, title, text, percent in (
            ("response_p50", "Median response time", "median response", 50),
            ("response_p99", "99 % quantile", "p99 response", 99),
            ("response_max", "Longest response time", "longest response", 100),
        )
    ),
    Metric(
        name="work_lost",
        title="Work lost",
        text="work lost",
        unit="share",
        minimum=0.05,
        log=False,
        of=_work_lost,
    ),
)


def rows_of(
    figures: LoadFigures, *, run: str, cell: Cell, block: str, counted: bool = False
) -> Iterator[Observation]:
    """Rows of a run.

    Args:
        counted: Misses are a number, which scatters as bursts by chance do; else a share, which may
            keep a beat: a thread that is throttled once a second misses as often in every run.
    """
    released, failures = figures.count.released, figures.count.failures
    ended, started = len(figures.response_ns), figures.run.started
    squares = sum(size * size for size in figures.count.occasions)
    return observed(
        METRICS,
        figures,
        run=run,
        cell=cell,
        block=block,
        censored=(released - ended) / released if released else 0.0,
        trials=released if counted else 0,
        burst=squares / failures if failures else 1.0,
        at=datetime.fromisoformat(started).timestamp() if started else None,
    )


def cell_of(normal: int) -> Cell:
    return Cell(f"{normal} ordinary thread{'' if normal == 1 else 's'}")
