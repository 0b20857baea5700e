"""Cache lines between every two CPUs: a matrix, and whether it fits what the system describes."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from statistics import median

from attrs import frozen

from deadbeat.base.model.finding import Finding, finding
from deadbeat.latencies.primitives.cases import ROUND_TRIPS
from deadbeat.latencies.primitives.runs import PrimitiveRun, ThreadRun
from deadbeat.latencies.primitives.topology import Topology

PROTOCOLS = {
    "cas": "both compare and swap one word; half of a round trip",
    "readwrite": "each writes a line of its own and reads the other's; half of a round trip",
    "message": "the sender's time in a line, from its reading of the clock to the receiver's",
}
#: Pairs so much further apart than the rest, in every repeat, are of another kind; below the lesser
#: the two kinds are alike.
GAP, ALIKE = 1.5, 1.15
#: Fewer repeats show nothing: noise may meet them all.
REPEATS_LEAST = 3


@frozen(kw_only=True)
class Line:
    """One way from CPU to CPU, ns: a median for each repeat."""

    protocol: str
    sender: int
    receiver: int
    relation: str
    medians_ns: tuple[float, ...]
    samples: int

    @property
    def median_ns(self) -> float:
        return median(self.medians_ns)

    @property
    def pair(self) -> tuple[int, int]:
        return min(self.sender, self.receiver), max(self.sender, self.receiver)


def lines_of(runs: Iterable[PrimitiveRun], topology: Topology) -> tuple[Line, ...]:
    """Lines of all runs of the matrix; round trips have one direction."""
    found: dict[tuple[str, int, int], list[tuple[PrimitiveRun, ThreadRun]]] = {}
    for run in (run for run in runs if run.key.case.placement == "each"):
        for thread in run.threads:
            assert thread.partner is not None
            ends = (thread.cpu, thread.partner)
            # in a round trip the first thread takes the sample, for a message the receiver
            ends = ends if run.key.case.variant in ROUND_TRIPS else (ends[1], ends[0])
            found.setdefault((run.key.case.variant, *ends), []).append((run, thread))
    return tuple(
        Line(
            protocol=protocol,
            sender=sender,
            receiver=receiver,
            relation=topology.relation(sender, receiver),
            medians_ns=tuple(
                (thread.times.quantile(500_000) or 0)
                / run.batch
                / (2 if protocol in ROUND_TRIPS else 1)
                for run, thread in seen
            ),
            samples=sum(thread.times.total for _, thread in seen),
        )
        for (protocol, sender, receiver), seen in sorted(found.items())
    )


def asymmetry_ns(lines: Sequence[Line]) -> float | None:
    """Half of what the two directions of a pair differ by, at most: the clocks of two CPUs are no
    further apart, as far as both directions take equally long. None: no pair has two."""
    both = {(line.sender, line.receiver): line.median_ns for line in lines}
    halves = [abs(ns - both[b, a]) / 2 for (a, b), ns in both.items() if a < b and (b, a) in both]
    return max(halves, default=None)


def _words(groups: Iterable[Iterable[int]]) -> str:
    texts = (",".join(map(str, group)) for group in sorted(map(sorted, groups)))
    return " ".join(f"{{{text}}}" for text in texts)


def contradictions(lines: Sequence[Line], topology: Topology) -> tuple[Finding, ...]:
    """Where the matrix of a protocol shows other groups of CPUs than the system describes. Threads
    of one core are left out: they are nearer than all others. A few slow repeats show nothing:
    pairs are of two kinds only where no repeat lies between, and where those that are near form
    groups."""
    protocols = itertools.groupby(lines, key=lambda line: line.protocol)
    found = (_contradiction(protocol, [*group], topology) for protocol, group in protocols)
    return tuple(each for each in found if each)


def _contradiction(protocol: str, lines: list[Line], topology: Topology) -> Finding | None:
    values: dict[tuple[int, int], list[float]] = {}
    for line in (line for line in lines if line.relation in ("cache", "far")):
        values.setdefault(line.pair, []).extend(line.medians_ns)
    cpus = {cpu for pair in values for cpu in pair}
    whole = len(values) == len(cpus) * (len(cpus) - 1) // 2
    if not whole or len(values) < 2 or min(map(len, values.values())) < REPEATS_LEAST:
        return None
    described = {frozenset(group) & cpus for group in topology.caches} - {frozenset()}
    # The near pairs, where every repeat of each of them is far below every repeat of all others;
    # none: there are no two kinds of pairs.
    order = sorted(values, key=lambda pair: median(values[pair]))
    best: tuple[float, int] = (GAP, 0)
    for at in range(1, len(order)):
        below = max(max(values[pair]) for pair in order[:at])
        above = min(min(values[pair]) for pair in order[at:])
        best = max(best, (above / max(below, 1.0), at))
    # CPUs that are near to each other; None where that is no relation of groups: one is near to
    # two that are not near to each other.
    near = set(order[: best[1]])
    found = {cpu: {cpu} for cpu in cpus}
    for one, two in near:
        found[one].add(two)
        found[two].add(one)
    groups = {frozenset(group) for group in found.values()}
    measured = groups if sum(map(len, groups)) == len(found) else None
    if len(measured or ()) == len(cpus):  # none is near: all pairs are of one kind
        text = _alike(values, described)
    elif measured is None or measured == described:
        return None
    else:
        text = (
            f"the groups of CPUs near to each other are {_words(measured)}, but the system"
            f" describes {_words(described)} as sharing a last-level cache"
        )
    if text is None:
        return None
    return finding("topology-differs", f"line {protocol}: {text}")


def _alike(
    values: dict[tuple[int, int], list[float]], described: set[frozenset[int]]
) -> str | None:
    """Some pairs are described as sharing a cache and some as not, and all take the same."""
    sides: dict[bool, list[float]] = {True: [], False: []}
    for pair, medians in values.items():
        sides[any({*pair} <= group for group in described)].append(min(medians))
    if not all(sides.values()):
        return None
    near, far = median(sides[True]), median(sides[False])
    if far > ALIKE * near:
        return None
    return (
        "CPUs that are described as sharing a last-level cache are no nearer"
        f" ({near:.0f} ns) than others ({far:.0f} ns)"
    )
