"""Truth: docs/explanation/comparison.md: what holds of every kind that is compared."""

from collections.abc import Callable
from typing import Any

import pytest
from attrs import evolve, frozen
from helpers import load_tests, matrices

from deadbeat.base.model.comparison import ComparisonResult, Lineup
from deadbeat.base.model.errors import UsageError
from deadbeat.base.model.finding import Finding
from deadbeat.cli.compare.results import compare_results
from deadbeat.latencies.latency import observe as latency
from deadbeat.latencies.load import observe as interference

INVALID = (Finding(id="wrong-priority", severity="invalid", message="had 50"),)


@frozen
class Compared:
    """A kind: how a made-up result comes about, what makes one worse, and how runs are left out.

    Attributes:
        keep: The result with some runs invalid: those that the function chooses by their key.
    """

    comparable: Any
    make: Callable[..., Any]
    worse: dict[str, float]
    keep: Callable[[Any, Callable[[Any], bool]], Any]
    noun: str
    invalid: str


def matrix_without(one: Any, chosen: Callable[[Any], bool]) -> Any:
    runs = [evolve(run, problems=INVALID) if chosen(run.key) else run for run in one.runs]
    return matrices.of_runs(one.name, runs)


def load_without(one: Any, chosen: Callable[[Any], bool]) -> Any:
    runs = [evolve(run, problems=INVALID) if chosen(run.key) else run for run in one.every]
    return load_tests.of_runs(one.name, runs, one.spec)


KINDS = {
    "latency": Compared(
        latency.COMPARABLE, matrices.matrix, {"scale": 2.0}, matrix_without,
        "matrix", "latency-invalid-runs",
    ),
    "load": Compared(
        interference.COMPARABLE, load_tests.load_test, {"misses": 0.2}, load_without,
        "load test", "load-invalid-runs",
    ),
}  # fmt: skip


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> Compared:
    return KINDS[request.param]


def compared(
    kind: Compared, *subjects: Any, aa: tuple[Any, ...] = (), partial: bool = False, **how: bool
) -> ComparisonResult:
    return compare_results(
        kind.comparable, Lineup(subjects=subjects, repeats=aa, partial=partial), **how
    )


def test_measured_results_decide_nothing_without_a_repeat(kind: Compared) -> None:
    a, b = kind.make("a", 1, measured=True), kind.make("b", 2, measured=True, **kind.worse)
    result = compared(kind, a, b)
    assert result.verdict == "undecided"
    assert {metric.verdict for metric in result.comparisons[0].metrics} == {"undecided"}
    assert "another --name" in result.comparisons[0].reason
    assert "no-aa-repeat" in {finding.id for finding in result.findings}
    repeats = tuple(kind.make(f"a{seed}", seed, measured=True) for seed in (3, 4))
    gated = compared(kind, a, b, aa=repeats)
    assert gated.verdict == "worse"
    assert gated.comparisons[0].metrics[0].gate_basis.startswith("A/A: 2 repeats")
    ungated = compared(kind, a, b, ungated=True)
    assert ungated.verdict == "worse" and "ungated: no A/A repeats" in ungated.labels


def test_what_cannot_be_compared_is_refused(kind: Compared) -> None:
    a, b = kind.make("a", 1, repeats=1), kind.make("b", 2, repeats=1)
    half = evolve(b, left="3 of 6 runs are missing")
    measured = kind.make("b", 2, repeats=1, measured=True)
    for other, words in (
        (a, "named twice"),
        (measured, f"a is simulated, the other {kind.noun} is measured"),
        (half, "b is unfinished: 3 of 6 runs"),
        (kind.keep(b, lambda key: True), "b has no run that counts"),
    ):
        with pytest.raises(UsageError, match=words) as caught:
            compared(kind, a, other)
        assert caught.value.hint
    for repeat, words in ((a, "named twice"), (half, "b is unfinished")):
        with pytest.raises(UsageError, match=words):
            compared(kind, a, kind.make("c", 3, repeats=1), aa=(repeat,))


def test_a_repeat_elsewhere_is_no_repeat(kind: Compared) -> None:
    other = evolve(kind.make("c", 3), platform={"kernel": "6.2", "fingerprint": "f"})
    with pytest.raises(
        UsageError, match="--aa c is not a repeat of a: another kernel, another pree"
    ):
        compared(kind, kind.make("a", 1), kind.make("b", 2), aa=(other,))


def test_unfinished_and_mixed_are_labelled_where_they_are_allowed(kind: Compared) -> None:
    a = kind.make("a", 1)
    half = evolve(kind.make("b", 2), left="9 of 18 runs are missing")
    assert "partial: b unfinished" in compared(kind, a, half, partial=True).labels
    mixed = compared(kind, a, kind.make("c", 2, measured=True), allow_mixed=True)
    assert "simulated and measured" in mixed.labels


def test_a_cell_that_the_other_never_bore_is_not_hidden(kind: Compared) -> None:
    """Where every run of the heaviest cell is invalid the rest may look better: it is no proof."""

    def heaviest(key: Any) -> bool:
        return ".".join(key.text.split(".")[:1]) in ("cpu-100", "n008")

    result = compared(kind, kind.make("a", 1), kind.keep(kind.make("b", 2, scale=0.8), heaviest))
    assert result.verdict == "undecided"
    assert "cells of the baseline have no result" in result.comparisons[0].reason
    assert "left out as invalid: 6 of 18 runs of b" in result.comparisons[0].reason
    assert kind.invalid in {finding.id for finding in result.findings}
