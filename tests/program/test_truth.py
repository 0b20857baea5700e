"""Truth: the bars of the derivation's table, each tried from both sides."""

from copy import deepcopy
from typing import Any

import pytest
from helpers.truth import differences, unmet

SECTION = {"lock": "map", "line": 12, "count": 200, "mean_ns": 500_000}
TASK = {
    "name": "control", "kind": "periodic", "period_ns": 10_000_000, "jobs": 200,
    "c_mean_ns": 2_000_000, "c_max_ns": 3_000_000, "suspension_mean_ns": 1_000_000,
    "policy": "fifo", "priority": 60, "cpus": [1],
    "sections": [SECTION, SECTION | {"line": 14, "mean_ns": 50_000}],
}  # fmt: skip
LOGGER = TASK | {"name": "logger", "policy": "other", "priority": 0, "sections": []}
TRUTH: dict[str, Any] = {"tasks": [TASK, LOGGER], "chains": [{"from": "control", "to": "logger"}]}


@pytest.fixture
def derived() -> dict[str, Any]:
    found = deepcopy(TRUTH)
    for section in found["tasks"][0]["sections"]:
        section["site"] = f"control (map.c:{section.pop('line')})"
    return found


@pytest.mark.parametrize(
    ("key", "inside", "outside"),
    [
        ("period_ns", 10_009_000, 10_011_000),
        ("jobs", 198, 197),
        ("c_mean_ns", 2_059_000, 2_061_000),
        ("c_mean_ns", 2_000_000, None),
        ("c_max_ns", 2_851_000, 2_849_000),
        ("suspension_mean_ns", 901_000, 899_000),
        ("priority", 60, 61),
        ("cpus", (1,), [0, 1]),
        ("kind", "periodic", "sporadic"),
    ],
)
def test_a_figure_may_be_off_by_its_bar(
    derived: dict[str, Any], key: str, inside: object, outside: object
) -> None:
    derived["tasks"][0][key] = inside
    assert unmet(TRUTH, derived) == []
    assert key in {row.figure for row in differences(TRUTH, derived)}
    derived["tasks"][0][key] = outside
    (words,) = unmet(TRUTH, derived)
    assert words.startswith(f"control: {key} is {outside}, by the program ")


@pytest.mark.parametrize("site", ["map.c:14", "0x1234"])  # without a line by its length
def test_a_short_section_may_be_off_by_an_amount(derived: dict[str, Any], site: str) -> None:
    sections = derived["tasks"][0]["sections"]
    sections[1] |= {"mean_ns": 59_000, "count": 199, "site": site}
    sections.reverse()
    assert unmet(TRUTH, derived) == []
    sections[0] |= {"mean_ns": 61_000, "count": 198}
    assert len(unmet(TRUTH, derived)) == 2


def test_what_only_one_side_has_is_named(derived: dict[str, Any]) -> None:
    control, logger = derived["tasks"]
    derived["tasks"] = [control, logger | {"name": "main"}, logger | {"name": "gc", "kind": "none"}]
    derived["chains"] = [{"from": "main", "to": "control"}]
    control["sections"][1]["site"] = "map.c:99"
    words = "\n".join(unmet(TRUTH, derived))
    assert "logger: task is missing" in words and "main: kind is periodic" in words
    assert "control -> logger: chain is not linked" in words
    assert "main -> control: chain is linked, by the program not linked" in words
    assert "line 14 is missing" in words and "map.c:99 is there" in words
    assert len(words.splitlines()) == 6
