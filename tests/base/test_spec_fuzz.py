"""Truth: issue 2, "Bad input": whatever is written, a specification is read or refused in lines."""

import json
import tomllib
from collections.abc import Callable
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import attrs
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from deadbeat.base.model.errors import UsageError
from deadbeat.base.model.specification import plain_of, sections_of
from deadbeat.base.store.files import read_toml
from deadbeat.latencies.latency import spec as latency
from deadbeat.latencies.load import spec as load
from deadbeat.latencies.load.remedies import RemedyChange
from deadbeat.sched.study import preset
from deadbeat.sched.study import spec as study
from deadbeat.tasksets.breakdown import spec as breakdown
from deadbeat.tasksets.contention import spec as contention


class Fuzzed(NamedTuple):
    """A kind's specification: of what is asked, its plain form, and of that again."""

    spec: type
    specify: Callable[[Any], Any]
    plain: Callable[[Any], Any]
    read: Callable[[Any], Any]


KINDS = {
    "contention": Fuzzed(
        contention.CampaignSpec, contention.specify, contention.spec_dict, contention.read_spec
    ),
    "breakdown": Fuzzed(
        breakdown.BreakdownSpec, partial(breakdown.specify, names={}), breakdown.to_plain,
        breakdown.from_plain,
    ),
    "latency": Fuzzed(latency.LatencySpec, latency.specify, latency.spec_dict, latency.read_spec),
    "load": Fuzzed(load.LoadSpec, load.specify, plain_of, load.read_spec),
    "study": Fuzzed(study.StudySpec, preset.specify, study.spec_dict, study.read_spec),
}  # fmt: skip
WORDS = st.sampled_from(
    [
        *("all", "1..4", "4..1", "0-99999", "step=0.1", "step=", "100us", "0.5 ms", "1/0", "-1"),
        *("", ",", "1,,2", "fifo", "quick", "paper", "auto", "latest", "\u0663", "1_0", "0x10"),
        *("nan", "\x00", "\u00e9", "9" * 50, "1..1.1", "idle", "cpu:50", "io:300", "3d", "prober"),
        *("random", "random:", "random:0.2..0.8", "random:1..3", "random:9..1", "random:us..s"),
        *("2,random", "stress", "profile", "random:50us..90us", "random:..", "random:1..2..3"),
        *("periodic", "few", "smt,pin", "rt-bandwidth", "20ms", "2s", "0..4", "copy:2M", "g-edf"),
    ]
)
NUMBERS = st.integers() | st.floats() | st.fractions(max_denominator=50)
SCALARS = st.none() | st.booleans() | NUMBERS | st.text(max_size=8) | WORDS
QUICK = settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def keys_of(spec: type) -> st.SearchStrategy[str]:
    return st.sampled_from([*attrs.fields_dict(spec), "bogus"])


def layers(spec: type) -> st.SearchStrategy[dict[str, Any]]:
    """A few keys, and of a section some of its own, with any values."""
    own = {name: layers(kind) for name, kind in sections_of(spec).items()}
    values = st.recursive(
        SCALARS,
        lambda inner: (
            st.lists(inner, max_size=4)
            | st.dictionaries(keys_of(spec) | st.just("step"), inner, max_size=4)
        ),
        max_leaves=8,
    )
    flat = st.dictionaries(keys_of(spec), values, max_size=5)
    return st.builds(dict.__or__, flat, st.fixed_dictionaries({}, optional=own)) if own else flat


def read_or_refused(kind: Fuzzed, layer: Any) -> Any:
    """Also as it is stored; None: it was refused, in lines."""
    try:
        spec = kind.specify(layer)
    except UsageError as error:
        told = (error.message, *error.details)
        assert all(line and "\n" not in line and line.isprintable() for line in told)
        return None
    assert kind.read(json.loads(json.dumps(kind.plain(spec)))) == spec
    return spec


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
@QUICK
@given(data=st.data())
def test_any_values_are_read_or_refused(kind: Fuzzed, data: st.DataObject) -> None:
    layer = data.draw(layers(kind.spec))
    read_or_refused(kind, layer)
    if kind.spec is contention.CampaignSpec:
        read_or_refused(kind, layer | {"mode": data.draw(st.sampled_from(["profile", "stress"]))})


@QUICK
@given(layers(load.LoadSpec))
def test_a_load_is_planned_or_refused(layer: dict[str, Any]) -> None:
    try:
        spec = load.resolve(load.specify(layer), (0, 1))
    except UsageError:
        return
    assert load.read_spec(plain_of(spec)) == spec
    assert spec.deadline > spec.round and (spec.period or spec.deadline) >= spec.deadline
    keys = load.plan(spec, {name: RemedyChange(words=name) for name in spec.remedies})
    assert len(keys) == len(set(keys))


@QUICK
@given(layers(contention.CampaignSpec) | SCALARS | st.lists(SCALARS, max_size=4))
def test_a_stored_specification_that_is_damaged_is_refused(values: Any) -> None:
    with pytest.raises(UsageError):
        contention.read_spec(values)


WHOLE = Path(__file__).parent.joinpath("campaign.toml").read_bytes()


@QUICK
@given(st.integers(0, len(WHOLE)), st.integers(0, 8), st.binary(max_size=4))
def test_a_campaign_file_with_damage_anywhere(at: int, length: int, put: bytes) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "a.toml"
        path.write_bytes(WHOLE[:at] + put + WHOLE[at + length :])
        try:
            layer = read_toml(path)
        except UsageError:
            return
    read_or_refused(KINDS["contention"], layer)


def test_the_file_that_is_damaged_is_whole_itself() -> None:
    assert contention.specify(tomllib.loads(WHOLE.decode())).name == "every-key"
