"""What hardening costs: the option that differs, and the difference that was put in."""

import json
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve
from helpers.answers import answer_of
from helpers.matrices import PLATFORM, matrix

from deadbeat.cli.main import main
from deadbeat.compare.results import hardening_cost
from deadbeat.kinds.latency.observe import Matrix
from deadbeat.model.errors import UsageError
from deadbeat.settings.hardening import OPTIONS

OFF = {option.name: "off: made up" for option in OPTIONS}
ON = {**OFF, "init-on-free": "on: init_on_free=1"}


def on_a_machine(
    one: Matrix, hardening: dict[str, str] | None, *, cmdline: str = "quiet", **changes: Any
) -> Matrix:
    details: dict[str, Any] = {"cmdline": cmdline}
    if hardening is not None:
        details["hardening"] = hardening
    return evolve(one, platform={**PLATFORM, **changes, "details": details})


def pair(scale: float = 1.5, **changes: Any) -> tuple[Matrix, Matrix]:
    without = on_a_machine(matrix("plain", 1), OFF)
    return without, on_a_machine(matrix("hard", 2, scale=scale), ON, **changes)


def test_the_option_and_the_difference_are_those_that_were_put_in() -> None:
    cost = hardening_cost(*pair())
    assert [each.option.name for each in cost.differences.known] == ["init-on-free"]
    mean = next(m for m in cost.comparison.metrics if m.metric.name == "mean")
    assert mean.low is not None and mean.high is not None
    assert mean.low < 0.5 < mean.high and mean.verdict == "worse"
    assert cost.attribution == "memory is cleared when freed (init_on_free)"


def test_what_differs_besides_is_named() -> None:
    cost = hardening_cost(*pair(kernel="6.12"))
    assert any(line.startswith("kernel") for line in cost.beside)
    assert "other things of the platforms differ too" in cost.attribution
    without, hardened = pair()
    two = on_a_machine(hardened, {**ON, "kfence": "on: sample_interval is 100 ms"})
    assert hardening_cost(without, two).attribution == "2 options together"


@pytest.mark.parametrize(
    ("cmdline", "beside"),
    [("quiet init_on_free=1", 0), ("quiet init_on_free=1 isolcpus=1", 1), ("nosmt quiet", 1)],
)
def test_words_of_the_command_line_that_switch_the_option_are_no_doubt(cmdline, beside) -> None:
    without, hardened = pair()
    cost = hardening_cost(without, on_a_machine(hardened, ON, cmdline=cmdline))
    assert len(cost.beside) == beside


def test_what_was_not_recorded_is_not_guessed() -> None:
    without, hardened = pair()
    cost = hardening_cost(on_a_machine(without, None), hardened)
    assert cost.differences.known == ()
    assert len(cost.differences.unknown) == len(OPTIONS)
    assert cost.attribution.startswith("no option is known to differ")


def test_the_same_hardening_has_no_cost() -> None:
    without, hardened = pair()
    with pytest.raises(UsageError, match="the same hardening"):
        hardening_cost(without, on_a_machine(hardened, OFF))


def latency(runs: Path, name: str, hardening: dict[str, str]) -> None:
    words = f"--loads idle,50 --repeats 3 --duration 1s --no-figures --name {name}".split()
    assert main(["latency", "--simulated", "--runs", str(runs), *words]) == 0
    file = runs / name / "latency.json"
    plain = json.loads(file.read_text(encoding="utf-8"))
    plain["platform"]["details"]["hardening"] = hardening
    file.write_text(json.dumps(plain), encoding="utf-8")


def test_the_command_quotes_the_comparison(tmp_path: Path, capsys) -> None:
    latency(tmp_path, "plain", OFF)
    latency(tmp_path, "hard", ON)
    capsys.readouterr()
    words = ["doctor", "--hardening-cost", "plain", "hard", "--runs", str(tmp_path)]
    assert main(words) == 0
    told = capsys.readouterr().out
    assert "SIMULATED" in told and "init_on_free=1" in told and "95 %" in told
    assert main([*words, "--json"]) == 0
    plain = answer_of(capsys.readouterr().out)
    assert [each["name"] for each in plain["differs"]] == ["init-on-free"]
    assert plain["comparison"]["comparisons"][0]["metrics"]
