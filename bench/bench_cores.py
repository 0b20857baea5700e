"""How well a price between two CPUs tells that among 8 and 16: 34 public machines, leave one out.

Held: machines of which the mean price among the first 8 and the first 16 CPUs is predicted from
that of CPUs 0 and 1, what the CPUs share, and the steps of the other machines of its kind, within
25 % (stepped) or 10 % (flat); ``off``: relative errors of the rest. Without a topology: the
machines inside a growth of 0.95 to 2.0 a doubling, by CPUs.
"""

import math

from common import report

from deadbeat.tasksets.prices.rates import GROWTH
from deadbeat.tasksets.prices.topology import among_others, public_machines

BOUNDS = {"stepped": 0.25, "flat": 0.10}
FIRST = (8, 16)


def errors(name: str) -> dict[int, float]:
    found = among_others(name)
    pair, *means = found.measured
    return {
        cores: round(found.factor(cores) * pair / mean - 1, 3)
        for cores, mean in zip(FIRST, means, strict=True)
        if mean is not None
    }


def held(steps: str) -> None:
    names = [each.name for each in public_machines() if each.steps == steps]
    every = {name: errors(name) for name in names}
    off = {n: e for n, e in every.items() if max(map(abs, e.values())) > BOUNDS[steps]}
    report(
        f"{steps}: prices of 8 and 16 CPUs held",
        "all",
        len(names) - len(off),
        f"of {len(names)}",
        {"off": off},
    )


def growth(place: int) -> None:
    """``place``: in `FIRST`; -1: the most CPUs of each machine."""
    inside: list[bool] = []
    for each in public_machines():
        pair, *means = each.measured
        known = [pair_of for pair_of in zip(FIRST, means, strict=True) if pair_of[1] is not None]
        if place < len(known):
            cores, mean = known[place]
            grown = (mean / pair) ** (1 / math.log2(cores / 2))
            inside.append(GROWTH[0] <= round(grown, 2) <= GROWTH[1])
    at = "most" if place < 0 else FIRST[place]
    report(f"without a topology, {at} CPUs: held", "none", sum(inside), f"of {len(inside)}")


if __name__ == "__main__":
    held("stepped")
    held("flat")
    for place in (0, 1, -1):
        growth(place)
