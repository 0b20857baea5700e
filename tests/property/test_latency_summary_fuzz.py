"""Whatever runs a folder holds, their summary is one: no error, no number out of nothing."""

import json
import math

from attrs import evolve
from helpers.latency_series import run_of
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from deadbeat.kinds.latency.summarise import latency_rows, summarise_latency, tail_rows
from deadbeat.model.finding import Finding
from deadbeat.model.histogram import Histogram
from deadbeat.model.latency import IDLE, CpuLatency, LatencyRun, LateWakeUp, LoadPoint

TIMES = st.lists(st.one_of(st.integers(0, 10_000), st.integers(0, 2**60)), max_size=40)


@st.composite
def cpus(draw: st.DrawFn, number: int) -> CpuLatency:
    values = draw(TIMES)
    missed = draw(st.integers(0, 3))
    raw = evolve(Histogram.of(values), resolution_ns=draw(st.sampled_from([1, 1000])))
    if values and draw(st.booleans()):
        top = max(values)
        raw = evolve(raw, overflow=draw(st.integers(0, 2)), overflow_from_ns=top, max_ns=top + 5)
    order = sorted(enumerate(values), key=lambda item: -item[1])[: draw(st.integers(0, 20))]
    return CpuLatency(
        cpu=number,
        expected=draw(st.sampled_from([0, len(values) + missed])),
        cycles=len(values),
        missed=missed,
        raw=raw,
        corrected=draw(st.sampled_from([None, raw])),
        worst=tuple(
            LateWakeUp(due_ns=place * 1_000_000, latency_ns=value, missed=missed)
            for place, value in order
        ),
        block_ns=draw(st.sampled_from([0, 1_000_000, 2_000_000])),
        block_maxima=tuple(values),
    )


@st.composite
def runs(draw: st.DrawFn) -> list[LatencyRun]:
    found = []
    for repeat in range(draw(st.integers(0, 5))):
        numbers = draw(st.sets(st.integers(0, 3), max_size=3))
        found.append(
            evolve(
                run_of(
                    *(draw(cpus(number)) for number in sorted(numbers)),
                    repeat=repeat,
                    load=draw(st.sampled_from([IDLE, LoadPoint("memory", 100)])),
                ),
                seconds=draw(st.sampled_from([0.1, 10.0, 300.0])),
                problems=draw(
                    st.sampled_from([(), (Finding(id="x", severity="invalid", message="y"),)])
                ),
            )
        )
    return found


@settings(deadline=None, max_examples=40, suppress_health_check=list(HealthCheck))
@given(runs())
def test_any_runs_have_a_summary(found: list[LatencyRun]) -> None:
    summary = summarise_latency(found, name="any", deadlines_ns=[5_000])
    rows = latency_rows(summary)
    json.dumps([rows, tail_rows(summary)], allow_nan=False)
    for cell in summary.cells:
        for row in (cell.whole, *cell.cpus):
            assert row.raw.histogram.total >= row.cycles
            for quantity in row.raw.quantities:
                low, value, high = quantity.low_ns, quantity.value_ns, quantity.high_ns
                assert all(each is None or math.isfinite(each) for each in (low, value, high))
                if value is not None:
                    assert low is None or low <= value
                    assert high is None or value <= high
            for statement in row.tail:
                assert statement.bound is not None and 0 < statement.bound <= 1
                assert statement.exceeded <= statement.wake_ups
