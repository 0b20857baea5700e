"""Truth: whatever is asked is either a whole specification or one refusal in words."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from deadbeat.kinds.load.remedies import RemedyChange
from deadbeat.kinds.load.spec import plan, read_spec, resolve, specify
from deadbeat.model.errors import UsageError
from deadbeat.model.specification import plain_of

_TEXT = st.text(max_size=12)
_VALUES = {
    "form": st.sampled_from(["back-to-back", "periodic"]) | _TEXT,
    "normal": st.sampled_from(["all", "few", "0..4", "1,2", "9"]) | _TEXT,
    "cpus": st.sampled_from(["0", "0-1", "1,0", "7"]) | _TEXT,
    "seconds": st.sampled_from(["2", "300ms", 0.5]) | _TEXT | st.floats(),
    "round": st.sampled_from(["1ms", "10ms", "auto"]) | _TEXT,
    "deadline": st.sampled_from(["12ms", "1s", "auto"]) | _TEXT,
    "period": st.sampled_from(["20ms", "2s", "auto"]) | _TEXT,
    "priority": st.integers(-2, 120) | _TEXT,
    "policy": st.sampled_from(["fifo", "other"]) | _TEXT,
    "remedies": st.sampled_from(["all", "none", "pin", "smt,pin", "rt-bandwidth"]) | _TEXT,
    "repeats": st.sampled_from([0, 1, 3, 1001]) | _TEXT,
    "trace": st.booleans() | _TEXT,
}


@settings(max_examples=80, deadline=None)
@given(st.fixed_dictionaries({}, optional=_VALUES))
def test_a_specification_or_a_refusal(values: dict[str, object]) -> None:
    try:
        spec = resolve(specify(values), (0, 1))
    except UsageError as error:
        told = (error.message, *error.details)
        assert all(line and "\n" not in line for line in told)
        return
    assert read_spec(plain_of(spec)) == spec
    assert spec.deadline > spec.round
    assert spec.period is None or spec.period >= spec.deadline
    keys = plan(spec, {name: RemedyChange(words=name) for name in spec.remedies})
    assert len(keys) == len(set(keys))
