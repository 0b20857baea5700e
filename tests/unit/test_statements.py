"""Truth: what the seeds state; made-up results on which each of the three verdicts comes out."""

from typing import Any

import pytest
from helpers.answers import Capture

from deadbeat.cli.main import main
from deadbeat_papers.statements import STATEMENTS, StatedResult, judged


def latency(*maxima_us: float, mean_us: float = 10.0, spread: float = 1.1) -> StatedResult:
    """A latency result with a load for each maximum; intervals are from 1 / ``spread`` to it."""
    rows = [
        {
            **{"load": f"cpu-{at}", "engine": "cyclic", "cpu": "all", "raw_max_ns": 1000 * top},
            **{"raw_max_of_a_run_low_ns": 1000 * top / spread},
            **{"raw_max_of_a_run_high_ns": 1000 * top * spread},
            **{"raw_mean_low_ns": 1000 * mean_us / 1.01, "raw_mean_high_ns": 1010 * mean_us},
        }
        for at, top in enumerate(maxima_us)
    ]
    return StatedResult(name="made", kind="latency", plain={"rows": rows, "labels": []})


def load(*rates: tuple[int, float, float]) -> StatedResult:
    """A load result on four cores: ordinary threads, ends of the failures a second."""
    cells = [
        {"condition": "plain", "normal": n, "failures_per_s": {"low": low, "high": high}}
        for n, low, high in rates
    ]
    plain = {"spec": {"cpus": [0, 1, 2, 3]}, "cells": cells, "kind": "hardware"}
    return StatedResult(name="made", kind="load", plain=plain)


def missing(deadline: float, low: float | None, high: float | None) -> StatedResult:
    row: dict[str, Any] = {"group": "random", "deadline_factor": deadline}
    row |= {"deadline_miss_ratio": low, "deadline_miss_ci_low": low, "deadline_miss_ci_high": high}
    return StatedResult(name="made", kind="stress", plain={"rows": [row], "labels": []})


@pytest.mark.parametrize(
    ("name", "results", "verdict"),
    [
        ("rt-below-150us", [latency(50, 90)], "confirmed"),
        ("rt-below-150us", [latency(50, 151)], "not confirmed"),
        ("rt-below-150us", [latency(50, 140)], "undecided"),
        ("hardening-small", [latency(50), latency(60, mean_us=10.2)], "confirmed"),
        ("hardening-small", [latency(50), latency(60, mean_us=12)], "not confirmed"),
        ("hardening-small", [latency(50), latency(60, mean_us=11)], "undecided"),
        ("forty-times", [latency(58), latency(2900)], "confirmed"),
        ("forty-times", [latency(58), latency(900)], "not confirmed"),
        ("forty-times", [latency(58), latency(2320)], "undecided"),
        ("threads-exceed-cores", [load((3, 0, 0.4), (4, 0.8, 2))], "confirmed"),
        ("threads-exceed-cores", [load((2, 0.7, 2), (4, 0.8, 2))], "not confirmed"),
        ("threads-exceed-cores", [load((3, 0, 0.4), (8, 0, 0.4))], "undecided"),
        ("misses-at-2c", [missing(2, 0.3, 0.4)], "confirmed"),
        ("misses-at-2c", [missing(2, 0.05, 0.1)], "not confirmed"),
        ("misses-at-2c", [missing(2, 0.2, 0.4)], "undecided"),
        ("misses-at-10c", [missing(10, 0.0, 0.03)], "confirmed"),
        ("misses-at-10c", [missing(10, 0.05, 0.2)], "not confirmed"),
        ("misses-at-10c", [missing(10, 0.03, 0.2)], "undecided"),
        ("misses-at-10c", [missing(10, None, None)], "undecided"),
        ("misses-at-10c", [missing(2, 0.3, 0.4)], "needs D = 10 C"),
        ("misses-at-10c", [latency(50)], "needs 1 of deadbeat contention --random"),
        ("forty-times", [latency(50)], "needs 2 of deadbeat latency"),
        ("threads-exceed-cores", [load((3, 0, 0.4))], "needs more loads"),
    ],
)
def test_each_statement_can_be_confirmed_refuted_and_left_open(
    name: str, results: list[StatedResult], verdict: str
) -> None:
    found = judged(STATEMENTS[name], results)
    assert found.verdict == verdict
    assert found.evidence[0].figures


@pytest.mark.usefixtures("in_a_folder")
def test_a_stored_result_is_judged_and_a_made_up_one_is_not(capsys: Capture) -> None:
    quick = ("load", "--quick", "--simulated", "--no-figures")
    assert main(quick) == 0
    capsys.readouterr()
    assert main(("observe", "--of", "threads-exceed-cores", "--from", "load-quick")) == 0
    out = capsys.readouterr().out
    assert out.startswith("Failures begin once threads exceed cores: NO VERDICT: A MADE-UP MACHINE")
    assert main(("observe", "--of", "rt-below-150us", "load-quick")) == 2
    assert "NEEDS 1 OF DEADBEAT LATENCY" in capsys.readouterr().out
    assert main(("observe", "--of", "forty")) == 2
    assert "did you mean forty-times?" in capsys.readouterr().err
