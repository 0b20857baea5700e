"""Truth: whatever a person writes or a file holds, the answer is a value or one error of ours."""

import json
import math

from attrs import evolve
from helpers.latency_series import run_of
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from deadbeat.base.model.errors import DeadbeatError
from deadbeat.base.model.finding import Finding
from deadbeat.base.model.histogram import Histogram
from deadbeat.base.store.texts import Text
from deadbeat.latencies.latency.foreign import Foreign, as_run, read_foreign
from deadbeat.latencies.latency.model import IDLE, CpuLatency, LatencyRun, LateWakeUp, LoadPoint
from deadbeat.latencies.latency.summarise import latency_rows, summarise_latency, tail_rows

NUMBERS = st.integers(min_value=-(2**70), max_value=2**70) | st.floats() | st.none() | st.text()
HISTOGRAM = st.dictionaries(st.integers(-5, 2**70).map(str) | st.text(max_size=3), NUMBERS)
THREAD = st.fixed_dictionaries(
    {},
    optional={
        "histogram": HISTOGRAM,
        **dict.fromkeys(("cycles", "count", "min", "max", "avg", "cpu"), NUMBERS),
    },
)
THREADS = st.dictionaries(st.sampled_from(["0", "1", "x"]), THREAD, max_size=2) | NUMBERS
FILES = st.one_of(
    st.fixed_dictionaries({"resolution_in_ns": NUMBERS, "thread": THREADS}),
    st.fixed_dictionaries({"version": NUMBERS, "cpu": THREADS, "histogram": st.just(0)}),
    st.fixed_dictionaries(
        {
            "format": st.just({"name": "RT Dataset"}),
            "condition": st.fixed_dictionaries({"interval": NUMBERS}) | NUMBERS,
            "latency": st.fixed_dictionaries(
                {
                    "cores": st.lists(st.lists(NUMBERS, max_size=3), max_size=3),
                    "maxima": st.lists(NUMBERS, max_size=2),
                }
            ),
        }
    ),
).map(json.dumps)
WORDS_OF_TEXT = ("Total", "Min Latencies", "Avg Latencies", "Max Latencies")
TEXTS = st.builds(
    "\n# ".join(("# Histogram\n{}", *(f"{word}: {{}}" for word in WORDS_OF_TEXT))).format,
    *[st.from_regex(r"\A[0-9 \t]{0,30}\Z")] * 5,
)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(FILES | TEXTS | st.text(max_size=50))
def test_a_file_is_read_or_refused(text: str) -> None:
    try:
        foreign, *_ = read_foreign(Text("f", text))
    except DeadbeatError as error:
        assert "\n" not in str(error)
        return
    told = Foreign(interval_ns=1_000_000, priority=1)
    try:
        run = as_run(foreign, IDLE, 0, name="f", user=told)
    except DeadbeatError:
        return
    assert all(cpu.raw.total == cpu.cycles for cpu in run.cpus)


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
