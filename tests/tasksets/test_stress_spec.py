"""Truth: issue 4, point 1: anything fixed, a list or drawn; every error at once, with its path."""

from typing import Any

import pytest

from deadbeat.base.model.errors import UsageError
from deadbeat.tasksets.contention.spec import CampaignSpec, read_spec, spec_dict, specify
from deadbeat.tasksets.contention.stress import CoreChoice, Drawn, StressSpec


def stress(**values: Any) -> CampaignSpec:
    return specify({"mode": "stress", "stress": values})


def section(**values: Any) -> StressSpec:
    found = stress(**values).stress
    assert found is not None
    return found


def refusal(*layers: Any) -> str:
    with pytest.raises(UsageError) as caught:
        specify({"mode": "stress"}, *layers)
    return str(caught.value)


@pytest.mark.parametrize(
    ("written", "drawn"),
    [
        (0.5, Drawn((500,))),
        ("0.5", Drawn((500,))),
        ([0, 0.5, 1], Drawn((0, 500, 1000))),
        ("0,0.5,1", Drawn((0, 500, 1000))),
        ("random", Drawn((), 0, 1000)),
        ("random:0.2..0.8", Drawn((), 200, 800)),
        ("random: 0.2 .. 0.8", Drawn((), 200, 800)),
    ],
)
def test_a_value_is_fixed_a_list_or_drawn(written: Any, drawn: Drawn) -> None:
    assert section(sync_share=written).sync_share == drawn


@pytest.mark.parametrize(
    ("name", "written", "drawn"),
    [
        ("per_core", "random:1..3", Drawn((), 1, 3)),
        ("per_core", "1..3", Drawn((1, 2, 3))),
        ("segments_max", [4, 8], Drawn((4, 8))),
        ("wcet_min", "random:50us..0.1ms", Drawn((), 50_000, 100_000)),
        ("wcet_max", "200us,1ms", Drawn((200_000, 1_000_000))),
        ("distribution", "random", Drawn(("uniform", "log-uniform", "normal", "exponential"))),
        ("priorities", "random", Drawn(("random",))),
        ("priorities", ["uniform", "random"], Drawn(("uniform", "random"))),
        ("classes_max", "random:2..4", Drawn((), 2, 4)),
        ("utilisation", "random:0.05..0.4", Drawn((), 50, 400)),
        ("random_per_core", 2, Drawn((2,))),
    ],
)
def test_every_parameter_of_tasks_can_be_drawn(name: str, written: Any, drawn: Drawn) -> None:
    assert getattr(section(**{name: written}), name) == drawn


@pytest.mark.parametrize(
    ("written", "choice"),
    [
        ("4,8", CoreChoice(fixed=(4, 8))),
        (4, CoreChoice(fixed=(4,))),
        ("random", CoreChoice(drawn=True)),
        ("random:2..8", CoreChoice(drawn=True, low=2, high=8)),
        ([4, 8, "random"], CoreChoice(fixed=(4, 8), drawn=True)),
        ("2..4,random:1..3", CoreChoice(fixed=(2, 3, 4), drawn=True, low=1, high=3)),
        ("all", CoreChoice(fixed=None)),
    ],
)
def test_core_counts_are_groups_or_drawn(written: Any, choice: CoreChoice) -> None:
    assert section(cores=written).cores == choice


def test_presets_are_the_papers_and_have_its_names() -> None:
    fixed, drawn, paper = (
        specify({"mode": "stress", "preset": name}) for name in ("2a", "2b", "paper")
    )
    assert (fixed.preset, drawn.preset) == ("fixed-cores", "random")
    assert (fixed.name, drawn.name, paper.name) == (
        "stress-fixed-cores",
        "stress-random",
        "stress-paper",
    )
    assert fixed.stress is not None and drawn.stress is not None and paper.stress is not None
    assert (fixed.stress.cores.fixed, fixed.stress.sets) == ((4, 8, 12, 16), 3000)
    assert (drawn.stress.cores.fixed, drawn.stress.cores.drawn, drawn.stress.sets) == (
        (),
        True,
        5000,
    )
    assert (paper.stress.cores.fixed, paper.stress.cores.drawn) == ((4, 8, 12, 16), True)
    assert (paper.stress.sets, paper.stress.random_sets) == (3000, 5000)
    assert specify({"mode": "stress"}).preset == "random"


EVERYTHING = {
    "cores": [2, "random:1..2"],
    "sets": 7,
    "random_sets": 9,
    "critical_cores": 0,
    "fill_utilisation": "4/5",
    "sync_share": "random:0.1..0.9",
    "contended_ratio": [0, 1],
    "per_task": True,
    "per_core": "random:1..2",
    "segments_max": [4, 8],
    "wcet_min": "random:50us..90us",
    "wcet_max": "200us",
    "distribution": "uniform,normal",
    "classes_min": 1,
    "classes_max": "random:1..3",
    "priorities": "uniform,rate-monotonic",
}


@pytest.mark.parametrize("preset", ["random", "fixed-cores", "paper", "quick"])
@pytest.mark.parametrize(
    "layer",
    [
        {},
        {"stress": EVERYTHING},
        {"tasks": {"deadline_factor": "2..10"}},
        {"tasks": {"utilisation": "0.3", "periods": "harmonic", "period_min": "1ms"}},
    ],
)
def test_the_canonical_form_reads_back(preset: str, layer: dict[str, Any]) -> None:
    spec = specify({"mode": "stress", "preset": preset}, layer)
    assert read_spec(spec_dict(spec)) == spec


def test_every_error_at_once_with_path_found_and_hint() -> None:
    text = refusal(
        {
            "stress": {
                "sets": 0,
                "cores": ["random", "random"],
                "sync_share": "random:0.9..0.1",
                "contended_ratio": [0, 1.5],
                "per_core": "random:0..3",
                "wcet_min": "random:100..200us",
                "distribution": "nrmal",
                "criticl_cores": 1,
                "priorities": [],
            },
            "tasks": {"deadline_factor": "10..2"},
        }
    )
    assert text.startswith("10 problems:")
    for part in (
        "stress.sets: 0 is out of range (from 1 to 100000)",
        "stress.cores: random is listed twice",
        'stress.sync_share: "random:0.9..0.1" is not an ascending range',
        "stress.contended_ratio[1]: 1.5 is out of range",
        'stress.per_core: "random:0..3": "0" is out of range (from 1 to 64)',
        'stress.wcet_min: "random:100..200us": "100" is not a length of time with its unit',
        'stress.distribution: "nrmal" is not a choice (did you mean normal?)',
        "stress.criticl_cores: unknown key (did you mean critical_cores?)",
        "stress.priorities: 0 items found",
        'tasks.deadline_factor: "10..2" is not an ascending range',
    ):
        assert part in text
    assert "\n" not in text


@pytest.mark.parametrize(
    ("layer", "part"),
    [
        ({"stress": {"cores": 2, "critical_cores": "0,2"}}, "leave none of M = 2"),
        ({"stress": {"sync_share": 1, "contended_ratio": 1, "per_task": True}}, "are fixed"),
        ({"stress": {"sync_share": "0.5,0.5"}}, "0.5 is listed twice"),
        ({"stress": {"sync_share": "random:0.2"}}, "is not understood"),
        ({"stress": {"sync_share": "randomly"}}, "is not understood"),
        ({"stress": {"sync_share": {"step": 0.1}}}, "is no value"),
        ({"stress": {"segments_max": "random:1..4"}}, "stress.segments_max: 1 is too low"),
        ({"stress": {"wcet_min": "1ms"}}, "stress.wcet_min: wcet_min up to 1000000 ns is above"),
        ({"stress": {"classes_max": "random:1..9"}, "tasks": {"classes_min": 2}}, "above classes"),
        ({"stress": {"distribution": "random:1..2"}}, "words have no range"),
        ({"stress": {"cores": "1..500", "critical_cores": "0..9"}}, "groups are more than 1000"),
        ({"stress": {"cores": "1..10", "sets": 90_000}}, "900000 runs are more than 400000"),
        ({"cores": [2]}, "cores: a stress campaign has its own (write them in [stress])"),
        ({"grid": {"sync_share": [0], "contended_ratio": [0], "replicas": 1}}, "grid: mode is"),
        ({"preset": "default"}, "default is a preset of deadbeat contention"),
        ({"tasks": {"periods": "harmonic"}}, "tasks.periods: only works with a utilisation"),
        (
            {"tasks": {"utilisation": 0.5, "deadline_factor": "2..10"}},
            "tasks.deadline_factor: with a utilisation T is drawn",
        ),
        (
            {"stress": {"utilisation": "random", "distribution": "normal"}},
            "stress.distribution: with a utilisation C follows",
        ),
        ({"tasks": {"deadline_factor": ["4/3", 2]}}, "finer than a thousandth"),
        ({"tasks": {"deadline_factor": [2, "2.0"]}}, "lists a factor twice"),
    ],
)
def test_single_errors(layer: dict[str, Any], part: str) -> None:
    assert part in refusal(layer)


def test_a_profile_has_no_stress_and_its_own_presets() -> None:
    with pytest.raises(UsageError, match="stress: mode is profile"):
        specify({"stress": {"sets": 1, "cores": 1, "sync_share": 0, "contended_ratio": 0}})
    with pytest.raises(UsageError, match="a preset of deadbeat contention --random"):
        specify({"preset": "random"})


def test_a_specification_of_an_older_version_is_read_as_a_profile() -> None:
    plain = spec_dict(specify({"preset": "quick"}))
    new = {"utilisation", "utilisation_method", "utilisation_min", "utilisation_max"}
    new |= {"periods", "period_min", "period_max"}
    del plain["mode"]
    plain["tasks"] = {key: value for key, value in plain["tasks"].items() if key not in new}
    for key in ("counters", "causes"):
        del plain["run"][key]
    assert "stress" not in plain
    assert plain["tasks"]["deadline_factor"] == "10"
    assert read_spec(plain) == specify({"preset": "quick"})
