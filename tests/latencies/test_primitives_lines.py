"""Truth: matrices made up with and without the groups that a system describes; sums by hand."""

import random

import pytest
from attrs import evolve
from helpers.topologies import THREADS, XEON, flat

from deadbeat.latencies.primitives.lines import Line, asymmetry_ns, contradictions
from deadbeat.latencies.primitives.topology import Topology

#: Repeats, and the ways of a near and a far pair, ns.
REPEATS, NEAR, FAR = 3, 40.0, 110.0


def matrix(
    really: Topology, described: Topology, spread: float = 0.05, seed: int = 1
) -> list[Line]:
    """What a machine with the groups of ``really`` measures, every repeat with some noise."""
    draw, lines = random.Random(seed), []
    for at, one in enumerate(described.cpus):
        for two in described.cpus[at + 1 :]:
            near = really.same_cache(one, two)
            base = 12.0 if really.same_core(one, two) else NEAR if near else FAR
            medians = tuple(base * (1 + spread * draw.random()) for _ in range(REPEATS))
            relation = described.relation(one, two)
            ends = {"sender": one, "receiver": two}
            lines.append(
                Line(protocol="cas", relation=relation, medians_ns=medians, samples=9, **ends)
            )
    return lines


@pytest.mark.parametrize("topology", [XEON, THREADS, flat(0, 1, 2, 3), flat(0, 1)])
def test_a_matrix_as_described_is_no_finding(topology: Topology) -> None:
    assert contradictions(matrix(topology, topology), topology) == ()


def test_groups_that_nobody_describes_are_found() -> None:
    # a hypervisor that says: one cache for all
    told = flat(*XEON.cpus)
    (found,) = contradictions(matrix(XEON, told), told)
    assert found.id == "topology-differs" and found.severity == "warning"
    assert "{0,2} {1,3} {4,6} {5,7}" in found.message
    assert "describes {0,1,2,3,4,5,6,7}" in found.message


def test_other_groups_than_those_described_are_found() -> None:
    other = Topology(cpus=XEON.cpus, cores=XEON.cores, caches=((0, 1), (2, 3), (4, 5), (6, 7)))
    (found,) = contradictions(matrix(XEON, other), other)
    assert "{0,1} {2,3} {4,5} {6,7}" in found.message


def test_described_groups_that_are_not_there_are_found() -> None:
    (found,) = contradictions(matrix(flat(*XEON.cpus), XEON), XEON)
    assert "no nearer" in found.message


@pytest.mark.parametrize("seed", range(20))
def test_noise_alone_is_no_finding(seed: int) -> None:
    told, draw = flat(0, 1, 2, 3), random.Random(seed)
    lines = matrix(told, told, spread=0.3, seed=seed)
    # a pair that a neighbour disturbs in all repeats but one, and one that it disturbs in each
    for count in (REPEATS - 1, REPEATS):
        at = draw.randrange(len(lines))
        slow = tuple(
            value * (4 if repeat < count else 1)
            for repeat, value in enumerate(lines[at].medians_ns)
        )
        noisy = [*lines[:at], evolve(lines[at], medians_ns=slow), *lines[at + 1 :]]
        assert contradictions(noisy, told) == ()


def test_too_few_repeats_say_nothing_about_groups() -> None:
    told = flat(*XEON.cpus)
    lines = [evolve(line, medians_ns=line.medians_ns[:2]) for line in matrix(XEON, told)]
    assert contradictions(lines, told) == ()


def test_of_many_cpus_some_pairs_say_nothing_about_groups() -> None:
    told = flat(*XEON.cpus)
    assert contradictions(matrix(XEON, told)[1:], told) == ()


def test_the_directions_of_a_pair_bound_the_clocks() -> None:
    def way(sender: int, receiver: int, ns: float) -> Line:
        ends = {"sender": sender, "receiver": receiver, "relation": "cache"}
        return Line(protocol="message", medians_ns=(ns,), samples=1, **ends)  # type: ignore[arg-type]

    # a clock that is 30 ns ahead makes 50 ns 80 one way and 20 the other
    assert asymmetry_ns([way(0, 1, 80), way(1, 0, 20), way(0, 2, 50), way(2, 0, 52)]) == 30
    assert asymmetry_ns([way(0, 1, 80)]) is None
