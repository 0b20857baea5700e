"""Truth: whatever a person writes or a file holds, the answer is a value or one error of ours."""

from __future__ import annotations

import json
from typing import Any

import attrs
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from deadbeat.kinds.latency.foreign import Foreign, as_run, read_foreign
from deadbeat.kinds.latency.spec import LatencySpec, read_spec, spec_dict, specify
from deadbeat.model.errors import DeadbeatError, UsageError
from deadbeat.model.latency import IDLE
from deadbeat.store.texts import Text

KEYS = sorted(attrs.fields_dict(LatencySpec))
SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20)
WORDS = st.sampled_from(
    ["idle", "cpu:50", "50", "memory", "io:300", "10s", "3d", "1us", "0-3", "prober", "all", "fifo"]
)
VALUES = SCALARS | WORDS | st.lists(SCALARS | WORDS, max_size=4)


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.dictionaries(st.sampled_from([*KEYS, "bogus"]), VALUES, max_size=5))
def test_a_specification_is_built_or_refused(layer: dict[str, Any]) -> None:
    try:
        spec = specify(layer)
    except UsageError as error:
        assert all("\n" not in text for text in (error.message, *error.details))
        return
    assert read_spec(json.loads(json.dumps(spec_dict(spec)))) == spec


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
        foreign = read_foreign(Text("f", text))
    except DeadbeatError as error:
        assert "\n" not in str(error)
        return
    told = Foreign(interval_ns=1_000_000, priority=1)
    try:
        run = as_run(foreign, IDLE, 0, name="f", user=told)
    except DeadbeatError:
        return
    assert all(cpu.raw.total == cpu.cycles for cpu in run.cpus)
