"""Truth: issue 2, "Bad input": whatever is written, a campaign is read or refused in one line."""

from __future__ import annotations

import tomllib
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import attrs
from hypothesis import given, settings
from hypothesis import strategies as st

from deadbeat.kinds.contention.spec import CampaignSpec, read_spec, spec_dict, specify
from deadbeat.kinds.contention.stress import StressSpec
from deadbeat.model.errors import UsageError
from deadbeat.model.specification import sections_of
from deadbeat.store.files import read_toml

KEYS = st.sampled_from(
    sorted(
        {
            field
            for kind in (CampaignSpec, *sections_of(CampaignSpec).values())
            for field in attrs.fields_dict(kind)
        }
    )
)
STRESS_KEYS = st.sampled_from(sorted(attrs.fields_dict(StressSpec)))
WORDS = st.sampled_from(
    [
        *("all", "1..4", "4..1", "0-99999", "step=0.1", "step=", "100us", "0.5 ms", "1/0", "-1"),
        *("", ",", "1,,2", "fifo", "quick", "paper", "auto", "latest", "\u0663", "1_0", "0x10"),
        *("nan", "\x00", "\u00e9", "9" * 50, "1..1.1"),
        *("random", "random:", "random:0.2..0.8", "random:1..3", "random:9..1", "random:us..s"),
        *("2,random", "stress", "profile", "random:50us..90us", "random:..", "random:1..2..3"),
    ]
)
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=8)
    | WORDS
    | st.fractions(max_denominator=50)
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(KEYS | st.text(max_size=6) | st.just("step"), inner, max_size=4)
    ),
    max_leaves=8,
)


def accepted_or_refused(layer: dict[str, Any]) -> None:
    try:
        spec = specify(layer)
    except UsageError as error:
        assert "\n" not in str(error)
        assert str(error).isprintable()
        return
    assert read_spec(spec_dict(spec)) == spec


@settings(max_examples=80, deadline=None)
@given(st.sampled_from(sorted(sections_of(CampaignSpec))), KEYS, VALUES)
def test_any_single_value_is_read_or_refused(section: str, key: str, value: Any) -> None:
    for mode in ("profile", "stress"):
        accepted_or_refused({"mode": mode, section: {key: value}})
        accepted_or_refused({"mode": mode, key: value})


@settings(max_examples=80, deadline=None)
@given(st.dictionaries(STRESS_KEYS, VALUES | WORDS, max_size=6))
def test_any_stress_section_is_read_or_refused(section: dict[str, Any]) -> None:
    accepted_or_refused({"mode": "stress", "stress": section})


@settings(max_examples=60, deadline=None)
@given(VALUES)
def test_a_stored_specification_that_is_damaged_is_refused(values: Any) -> None:
    try:
        read_spec(values)
    except UsageError:
        return
    raise AssertionError("read from nothing")


WHOLE = Path(__file__).parent.joinpath("campaign.toml").read_bytes()


@settings(max_examples=60, deadline=None)
@given(st.integers(0, len(WHOLE)), st.integers(0, 8), st.binary(max_size=4))
def test_a_campaign_file_with_damage_anywhere(at: int, length: int, put: bytes) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "a.toml"
        path.write_bytes(WHOLE[:at] + put + WHOLE[at + length :])
        try:
            layer = read_toml(path)
        except UsageError:
            return
    accepted_or_refused(layer)


def test_the_file_that_is_damaged_is_whole_itself() -> None:
    spec = specify(tomllib.loads(WHOLE.decode()))
    assert spec.name == "every-key"
