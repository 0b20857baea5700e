"""Truth: issue 47, part 3: what an answer says to do next is done as it reads, and does it."""

import re
from pathlib import Path

import pytest
from helpers import often
from helpers.answers import Capture

from deadbeat.cli._options import with_options
from deadbeat.cli.main import main

_MORE = re.compile(
    r"next: (?P<metrics>.*): (?P<runs>\d+) runs \(--repeats\) instead of (?P<now>\d+),"
)


def compared(runs: Path, seed: int, repeats: int, capsys: Capture) -> list[str]:
    """Lines of the comparison of two results that differ in nothing but chance."""
    fast = ("--simulated", "--loads", "idle", "--cpus", "0", "--duration", "0.1", "--no-figures")
    names = [f"{side}-{seed}-{repeats}" for side in "ab"]
    for place, name in enumerate(names):
        own = ("--seed", str(seed + 1000 * place), "--name", name, "--repeats", str(repeats))
        assert main(["latency", *fast, *own, "--runs", str(runs)]) == 0
    capsys.readouterr()
    metrics = [word for name in ("p50", "mean", "p99") for word in ("--metric", name)]
    assert main(["compare", *names, *metrics, "--runs", str(runs)]) == 0
    return capsys.readouterr().out.splitlines()


@pytest.mark.parametrize("seeds", [range(6), *often((range(6, 100),))])
def test_as_many_runs_as_are_asked_for_decide(
    seeds: range, tmp_path: Path, capsys: Capture
) -> None:
    decided, asked = 0, 0
    for seed in seeds:
        for line in compared(tmp_path, seed, 4, capsys):
            if found := _MORE.match(line):
                many = -(-4 * int(found["runs"]) // int(found["now"]))
                after = compared(tmp_path, seed, many, capsys)
                for metric in re.split(", | and ", found["metrics"]):
                    (row,) = (each for each in after if each.startswith(f"{metric} "))
                    asked, decided = asked + 1, decided + ("undecided" not in row)
    assert asked >= len(seeds)
    assert decided >= 0.7 * asked, (decided, asked)  # 80 % of comparisons, as promised


@pytest.mark.parametrize(
    ("typed", "options", "command"),
    [
        ("load --quick --seed 4 --repeats 3", "--repeats 6", "load --seed 4 --repeats 6"),
        ("latency --trace --name x", "--trace", "latency --trace"),
        ("run --name=x -- p --name y", "--deadline p=1ms", "run --deadline p=1ms -- p --name y"),
        ("run --fresh --try pin -- p --try 1", "--try rm", "run --try rm -- p --try 1"),
    ],
)
def test_the_next_command_is_the_one_typed_with_its_options(
    typed: str, options: str, command: str
) -> None:
    assert with_options(typed.split(), options.split()) == f"deadbeat {command}"
