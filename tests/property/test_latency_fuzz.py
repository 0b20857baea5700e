"""Truth: whatever a person writes or a file holds, the answer is a value or one error of ours."""

import json

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from deadbeat.kinds.latency.foreign import Foreign, as_run, read_foreign
from deadbeat.model.errors import DeadbeatError
from deadbeat.model.latency import IDLE
from deadbeat.store.texts import Text

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
