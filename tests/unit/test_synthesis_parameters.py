"""The truth is the range of each parameter as its docstring gives it."""

from __future__ import annotations

import re
from fractions import Fraction
from pathlib import Path

import pytest
from attrs import fields_dict

from deadbeat.model.errors import UsageError
from deadbeat.synthesis import SynthesisParameters
from deadbeat.synthesis.distributions import DISTRIBUTIONS, PERIODS, UTILISATION_METHODS

GOOD = {
    "cores": 2,
    "tasks": 2,
    "sync_share": Fraction(1, 2),
    "contended_ratio": Fraction(1, 10),
}


def test_defaults_are_the_papers():
    parameters = SynthesisParameters(**GOOD)
    assert (parameters.wcet_min_ns, parameters.wcet_max_ns) == (100_000, 500_000)
    assert (parameters.segments_max, parameters.deadline_factor) == (8, 10)
    assert (parameters.distribution, parameters.priorities) == ("uniform", "uniform")


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("cores", 0, "cores: expected 1 to"),
        ("cores", True, "cores: expected a whole number"),
        ("tasks", 1, "tasks: expected 2 to"),
        ("segments_max", 1, "segments_max: expected 2 to"),
        ("segments_max", 0, "segments_max"),
        ("wcet_min_ns", 0, "wcet_min_ns"),
        ("wcet_min_ns", 1e5, "wcet_min_ns: expected a whole number, found 100000.0"),
        ("wcet_max_ns", 99_999, "wcet_max_ns: expected 100000 to"),
        ("distribution", "unifrom", "did you mean 'uniform'"),
        ("distribution", "cauchy", "expected uniform, log-uniform, normal, exponential"),
        ("sync_share", Fraction(11, 10), "sync_share: expected 0 to 1, found 11/10"),
        ("sync_share", 0.5, "sync_share: expected an exact fraction"),
        ("contended_ratio", Fraction(-1, 10), "contended_ratio"),
        ("deadline_factor", Fraction(1, 2), "deadline_factor"),
        ("classes_min", 0, "classes_min"),
        ("classes_max", 0, "classes_max: expected 1 to"),
        ("priorities", "monotonic", "priorities: 'monotonic' is unknown"),
        ("priority_low", 59, "priority_low: expected 60 to 79"),
        ("priority_high", 80, "priority_high: expected 60 to 79"),
        ("fragments", ["mutex"], "fragments: expected a tuple of names"),
    ],
)
def test_each_value_out_of_range_is_named(name, value, expected):
    with pytest.raises(UsageError) as caught:
        SynthesisParameters(**{**GOOD, name: value})
    assert expected in caught.value.message


def test_all_errors_at_once():
    with pytest.raises(UsageError) as caught:
        SynthesisParameters(
            cores=2, tasks=0, sync_share=Fraction(2), contended_ratio=Fraction(3), priority_low=1
        )
    for name in ("tasks", "sync_share", "contended_ratio", "priority_low"):
        assert f"{name}:" in caught.value.message


def test_one_segment_is_enough_for_one_kind():
    for share in (Fraction(0), Fraction(1)):
        SynthesisParameters(**{**GOOD, "sync_share": share, "segments_max": 1})


def test_the_reference_page_has_every_parameter_and_law():
    page = (Path(__file__).parents[2] / "docs/reference/synthesis.md").read_text(encoding="utf-8")
    table = page.split("## Parameters")[1].split("\n## ")[0]
    cells = re.findall(r"^\| (`[^|]*)\|", table, flags=re.MULTILINE)
    named = re.findall(r"`(\w+)`", " ".join(cells))
    assert named == list(fields_dict(SynthesisParameters))
    for name in (*DISTRIBUTIONS, *UTILISATION_METHODS, *PERIODS):
        assert f"| `{name}` |" in page
