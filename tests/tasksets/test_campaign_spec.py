"""Truth: issue 2 (defaults, presets, "every error at once, with its path and a hint")."""

from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from deadbeat.base.model.errors import UsageError
from deadbeat.base.model.rules import ListOf, RefusedError, Whole, ascending, duration_ns
from deadbeat.base.model.specification import differences
from deadbeat.base.store.files import read_toml
from deadbeat.tasksets.contention.spec import read_spec, spec_dict, specify


def refusal(*layers: Any, **options: Any) -> str:
    with pytest.raises(UsageError) as caught:
        specify(*layers, **options)
    return str(caught.value)


def test_defaults_follow_the_paper() -> None:
    tasks = specify().tasks
    assert (tasks.per_core, tasks.segments_max, tasks.deadline_factor) == (1, 8, (10,))
    assert (tasks.wcet_min, tasks.wcet_max, tasks.distribution) == (100_000, 500_000, "uniform")
    assert (tasks.classes_min, tasks.classes_max, tasks.priorities) == (1, 3, "uniform")


LOADED = {"per_core": 2, "deadline_factor": "5/2", "sync_share": [0.5], "contended_ratio": [0, 1]}


@pytest.mark.parametrize(
    ("layer", "loaded"),
    [
        ({}, True),
        ({"preset": "quick", "grid": {"replicas": 3}, "cores": [1]}, True),
        ({"preset": "paper"}, False),
        ({"tasks": {"per_core": 2}}, False),
        ({"grid": {"sync_share": [1]}}, False),
        ({"grid": {"sync_share": [1]}, "loaded": LOADED}, True),
        ({"loaded": None}, False),
    ],
)
def test_who_asks_for_points_of_ones_own_gets_no_second_row(layer: dict[str, Any], loaded: bool):
    spec = specify(layer)
    assert (spec.loaded is not None) == loaded
    assert read_spec(spec_dict(spec)) == spec


def test_preset_paper_is_the_grid_of_the_paper() -> None:
    spec = specify({"preset": "paper"})
    assert spec.cores == tuple(range(1, 17))
    assert spec.grid.sync_share == spec.grid.contended_ratio == tuple(range(0, 1001, 100))
    assert (spec.grid.replicas, spec.run.seconds, spec.name) == (10, 1.0, "paper")
    assert (spec.calibration.basis, spec.calibration.uses) == ("cold", 1000)


def test_preset_quick_has_a_named_pool_and_a_balanced_map() -> None:
    spec = specify({"preset": "quick"})
    assert spec.grid.sync_share == spec.grid.contended_ratio == (0, 500, 1000)
    calibration = spec.calibration
    assert (calibration.pool, calibration.seconds, calibration.prices) == ("quick", 14, 12)
    assert spec.grid.balanced and spec.precision is not None
    assert not specify({"preset": "paper"}).grid.balanced
    assert spec.name == "quick"


@pytest.mark.parametrize("text", ["100", 100, "us", "1e3us", "0.1ns", "-1us", "1.5.2ms", None, ""])
def test_durations_that_are_refused(text: object) -> None:
    with pytest.raises(RefusedError):
        duration_ns(text)


def test_a_list_is_read_item_by_item_named_or_left_empty() -> None:
    rule = ListOf(
        Whole(1, 9).parse, "a list of numbers", "1,2", ascending, optional=True, named={"all": None}
    )
    assert rule.parse("3,1..2,3") == rule.parse([3, 2, 1]) == (1, 2, 3)
    assert (rule.parse("all"), rule.parse([])) == (None, ())
    assert rule.parse(rule.plain((1, 2))) == (1, 2)
    with pytest.raises(RefusedError) as caught:
        rule.parse("1,10,x")
    assert [problem.path for problem in caught.value.problems] == ["[1]", "[2]"]
    for wrong in ("", {}, None):
        with pytest.raises(RefusedError):
            rule.parse(wrong)


def test_a_unit_that_is_unknown_gets_the_nearest() -> None:
    assert "did you mean ms?" in refusal({"tasks": {"wcet_min": "100msec"}})


def test_seconds_with_and_without_unit_are_the_same() -> None:
    written = [0.6, "0.6", "600ms", "0.6s", Fraction(3, 5)]
    assert {specify({"run": {"seconds": each}}).run.seconds for each in written} == {0.6}


def test_every_error_at_once_with_path_found_and_hint() -> None:
    text = refusal(
        {
            "sead": 3,
            "grid": {"sync_share": [0, 0.5, 1.5], "replicas": 0, "step": 0.1},
            "run": {"secnds": 1, "overrun": "skp", "split": "yes"},
            "tasks": {"wcet_min": 100, "fragments": ["../x"]},
            "calibration": 7,
        }
    )
    assert text.startswith("10 problems:")
    for part in (
        "sead: unknown key (did you mean seed?)",
        "grid.sync_share[2]: 1.5 is out of range (from 0 to 1)",
        "grid.replicas: 0 is out of range (from 1 to 10000)",
        "grid.step: unknown key",
        "run.secnds: unknown key (did you mean seconds?)",
        'run.overrun: "skp" is not a choice (did you mean skip?)',
        'run.split: "yes" is neither true nor false',
        "tasks.wcet_min: 100 is not a length of time with its unit (write it like 100us)",
        'tasks.fragments[0]: "../x" is not a name',
        "calibration: 7 is not a table",
    ):
        assert part in text
    assert "\n" not in text


@pytest.mark.parametrize(
    ("layer", "part"),
    [
        ({"seconds": 1}, "seconds: unknown key (it belongs in [run])"),
        ({"grid": {"sync_share": {"step": 0.3}}}, "does not divide 1 (the nearest is 0.25)"),
        ({"grid": {"sync_share": {"stop": 0.3}}}, 'grid.sync_share.stop: unknown key "stop"'),
        ({"grid": {"sync_share": [0, 0.5, 0.5]}}, "0.5 is listed twice"),
        ({"grid": {"sync_share": []}}, "0 items found"),
        ({"grid": {"sync_share": [0.1234]}}, "finer than a thousandth"),
        ({"tasks": {"wcet_min": "1ms"}}, "tasks.wcet_min: 1000000ns is above wcet_max"),
        ({"tasks": {"classes_min": 4}}, "tasks.classes_min: 4 is above classes_max = 3"),
        ({"tasks": {"segments_max": 1}}, "a segment of each kind"),
        ({"run": {"windows": 100}}, "run.windows: unknown key"),
        ({"quiet": {"repeats": 1}}, "quiet: unknown key"),
        ({"run": {"seconds": 1000}}, "run.seconds: a run of 1000 s can have more than 65535 slots"),
        ({"cores": "4..1"}, "not an ascending range"),
        ({"cpus": [0, 0]}, "several cores share a CPU"),
        ({"cpus": "0,1,1*2"}, "names a CPU twice"),
        ({"loaded": LOADED, "tasks": {"utilisation": 0.5}}, "loaded: with a utilisation"),
        (
            {"loaded": LOADED, "grid": {"sync_share": [1]}, "tasks": {"segments_max": 1}},
            "tasks.segments_max: 1 is too low",
        ),
        ({"preset": "paper", "loaded": {"per_core": 2}}, "loaded.deadline_factor: missing"),
        ({"cpus": [0, 1, 0]}, "names a CPU twice"),
        ({"name": "a/b"}, '"a/b" is not a name'),
        ({"name": "latest"}, "latest is the link"),
        ({"preset": ["quick"]}, "is not a choice"),
        ({"seed": True}, "not a whole number"),
        ({"seed": 2**63}, "out of range"),
        ({"run": {"seconds": float("nan")}}, "not a number of seconds"),
    ],
)
def test_single_errors(layer: dict[str, Any], part: str) -> None:
    assert part in refusal(layer)


def test_a_path_is_called_what_the_person_wrote() -> None:
    layer = {"grid": {"sync_share": "0,0.5,2"}, "run": {"seconds": "x"}}
    text = refusal(layer, names={"grid.sync_share": "--sync-share", "run.seconds": "--duration"})
    assert "--sync-share[2]: " in text
    assert '--duration: "x" is not a number of seconds' in text


def test_differences_name_the_path_and_both_values() -> None:
    old = spec_dict(specify({"run": {"seconds": 1}}))
    new = spec_dict(specify({"run": {"seconds": 2}, "seed": 9}))
    assert differences(old, new) == ["run.seconds (1 s there, 2 s now)", "seed (1 there, 9 now)"]
    assert differences(old, old) == []


@pytest.mark.parametrize(
    "content",
    [b"a = ", b"\xff\xfe", b"a = " + b"[" * 5000, b"a = " + b"9" * 5000, b"x" * (2 << 20)],
)
def test_a_file_that_is_no_toml_is_one_line(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "a.toml"
    path.write_bytes(content)
    with pytest.raises(UsageError) as caught:
        read_toml(path)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)
