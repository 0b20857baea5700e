"""Every finding on a matrix made to have it, and none on one that has nothing."""

from collections.abc import Callable, Sequence

import numpy as np
import pytest
from attrs import evolve
from helpers.latency_series import cpu_of, run_of

from deadbeat.base.model.finding import Finding
from deadbeat.base.model.histogram import Histogram
from deadbeat.latencies.latency.document import MATRIX_COLUMNS, matrix_table
from deadbeat.latencies.latency.histograms import tail_charts
from deadbeat.latencies.latency.model import IDLE, LatencyRun, LoadPoint
from deadbeat.latencies.latency.summarise import summarise_latency
from deadbeat.latencies.latency.words import answers

FULL = LoadPoint("cpu", 100)
HOUR = 3600.0


def times(seed: int, *, scale: float = 1.0, many: int = 10_000) -> np.ndarray:
    random = np.random.default_rng(seed)
    return (scale * (20_000 + 2_000 * random.exponential(size=many))).astype(np.int64)


def runs_of(
    *, load: LoadPoint = IDLE, engine: str = "prober", scale: float = 1.0, seed: int = 0
) -> list[LatencyRun]:
    """Four runs of two CPUs, an hour each: nothing to find fault with."""
    return [
        evolve(
            run_of(
                cpu_of(times(seed + 2 * n, scale=scale)),
                cpu_of(times(seed + 2 * n + 1, scale=scale), cpu=1),
                repeat=n,
                load=load,
                engine=engine,
            ),
            seconds=HOUR,
        )
        for n in range(4)
    ]


def all_cpus(runs: Sequence[LatencyRun], **changes: object) -> list[LatencyRun]:
    return [evolve(r, cpus=tuple(evolve(cpu, **changes) for cpu in r.cpus)) for r in runs]


def found(runs: Sequence[LatencyRun]) -> dict[str, str]:
    return {item.id: item.message for item in summarise_latency(runs).findings}


def test_nothing_is_found_where_nothing_is_wrong() -> None:
    assert found([*runs_of(), *runs_of(load=FULL, scale=1.2, seed=20)]) == {}


def problem(name: str, seriousness: str) -> tuple[Finding, ...]:
    return (Finding(id=name, severity=seriousness, message="3"),)  # type: ignore[arg-type]


def invalid(count: int) -> list[LatencyRun]:
    runs = runs_of()
    return [
        evolve(r, problems=problem("wrong-priority", "invalid")) if n < count else r
        for n, r in enumerate(runs)
    ]


def missed(*, corrected: bool) -> list[LatencyRun]:
    return [
        evolve(
            r,
            cpus=tuple(
                evolve(cpu, missed=100, corrected=cpu.raw if corrected else None) for cpu in r.cpus
            ),
        )
        for r in runs_of()
    ]


def overflowed() -> list[LatencyRun]:
    raw = evolve(
        Histogram.of([5_000] * 40_000),
        overflow=3, overflow_from_ns=10**6, max_ns=10**7, resolution_ns=1000,
    )  # fmt: skip
    return all_cpus(runs_of(), raw=raw)


def one_cpu_later() -> list[LatencyRun]:
    return [
        evolve(r, cpus=(r.cpus[0], cpu_of(times(50 + n, scale=3), cpu=1)))
        for n, r in enumerate(runs_of())
    ]


def clustered() -> list[LatencyRun]:
    runs = runs_of()
    values = times(3)
    values[5_000:5_300] += 500_000
    return [evolve(runs[0], cpus=(cpu_of(values), cpu_of(values, cpu=1))), *runs[1:]]


def beating() -> list[LatencyRun]:
    values = times(3)
    values[7::100] += 500_000
    return [evolve(r, cpus=(cpu_of(values), cpu_of(values, cpu=1))) for r in runs_of()]


def unaccounted() -> list[LatencyRun]:
    """As cyclictest: fewer wake-ups than expected, and no late value that would explain it."""
    return [
        evolve(r, cpus=tuple(evolve(c, expected=c.cycles + 47, corrected=c.raw) for c in r.cpus))
        for r in runs_of(engine="cyclictest")
    ]


def apart() -> list[LatencyRun]:
    """One run of four has all that is late."""
    return [evolve(runs_of()[0], cpus=(cpu_of(times(70, scale=9)),)), *runs_of()[1:]]


CASES: dict[str, Callable[[], list[LatencyRun]]] = {
    "latency-no-valid-run": lambda: invalid(4),
    "latency-invalid-runs": lambda: invalid(1),
    "latency-run-warnings": lambda: [
        evolve(r, problems=problem("steal", "warning")) for r in runs_of()
    ],
    "latency-settings-mixed": lambda: [evolve(runs_of()[0], priority=80), *runs_of()[1:]],
    "simulated": lambda: [evolve(r, kind="simulated") for r in runs_of()],
    "latency-unaccounted": unaccounted,
    "latency-runs-differ": apart,
    "latency-missed": lambda: missed(corrected=False),
    "latency-overflow": overflowed,
    "latency-resolution": overflowed,
    "latency-engines-differ": lambda: [*runs_of(), *runs_of(engine="cyclictest", scale=1.1)],
    "latency-few-runs": lambda: runs_of()[:2],
    "latency-short": lambda: [evolve(r, seconds=1.0) for r in runs_of()],
    "latency-thin-quantile": lambda: [
        evolve(r, cpus=(cpu_of(times(n, many=500)),)) for n, r in enumerate(runs_of())
    ],
    "latency-dependent": clustered,
    "latency-idle-worse": lambda: [*runs_of(scale=1.5), *runs_of(load=FULL)],
    "latency-cpus-differ": one_cpu_later,
    "latency-beat": beating,
}


@pytest.mark.parametrize("name", CASES)
def test_it_is_found(name: str) -> None:
    assert name in found(CASES[name]())


def test_the_reasons_of_invalid_runs_are_counted() -> None:
    assert "wrong-priority (2)" in found(invalid(2))["latency-invalid-runs"]


def test_missed_periods_that_were_corrected_show_both_figures() -> None:
    text = found(missed(corrected=True))["latency-missed"]
    assert "without them" in text and "800 of 80,000" in text
    assert "does not say" in found(missed(corrected=False))["latency-missed"]


def test_missed_periods_of_which_nobody_knows_how_many_there_were_to_be() -> None:
    """As an importer has it."""
    runs = all_cpus(missed(corrected=False), expected=0)
    assert "latency-missed" in found(runs)


def test_the_beat_has_its_period() -> None:
    assert "every 100 ms" in found(beating())["latency-beat"]


def test_the_worst_comes_first() -> None:
    severities = [item.severity for item in summarise_latency(invalid(4)[:2]).findings]
    order = ("serious", "warning", "info")
    assert severities == sorted(severities, key=order.index) and severities[0] == "serious"


def test_wake_ups_not_accounted_for_are_told_and_nothing_is_called_corrected() -> None:
    summary = summarise_latency(unaccounted())
    whole = summary.cells[0].whole
    assert (whole.missed, whole.unaccounted, whole.changed) == (0, 376, None)
    (row,) = matrix_table(summary, cpus=False).texts()
    assert row[0] == "idle" and "0 + 376 unknown" in row
    assert "376 wake-ups missing" in answers(summary)[0][1][0]
    (chart,) = tail_charts(summary)
    assert [curve.label for curve in chart.panels[0].curves] == ["as measured (n = 80,000)"]
    assert "376 of 80,376" in found(unaccounted())["latency-unaccounted"]


def test_a_percentile_on_few_wake_ups_is_marked_and_never_called_corrected() -> None:
    """A stall of 3 ms puts two values in, moves the rank of p99.9 and once lowered it."""
    values = np.array([10_000] * 2_995 + [320_000, 330_000, 900_000, 1_266_700, 3_000_000])
    raw = Histogram.of(values)
    cpu = evolve(cpu_of(values), raw=raw, missed=2, expected=3_002)
    cpu = evolve(cpu, corrected=raw + Histogram.of([1_000, 2_000_000]))
    summary = summarise_latency([run_of(cpu)])
    whole = summary.cells[0].whole
    assert whole.raw.rests_on_few("p99.9") and not whole.raw.rests_on_few("p99")
    plain, corrected = matrix_table(summary, cpus=False).texts()
    headings = [column.heading for column in MATRIX_COLUMNS]
    place = headings.index("p99.9")
    assert plain[place].endswith("*") and corrected[place] == "–"
    assert not corrected[headings.index("p99")].endswith("*")
    (line,) = answers(summary)[0][1]
    assert "99.9 %" not in line and "99 % within" in line
    message = next(f.message for f in summary.findings if f.id == "latency-missed")
    assert "p99 is" in message and "p99.9" not in message
