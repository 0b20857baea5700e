"""Task sets that tests/golden/task-sets.json names; run as a program, writes that file anew.

Hundreds of sets over every rule that existed when a stored seed first named a stored program, on
the costs of tasksets.model.examples. A change of the file means that stored seeds give other
programs: raise GENERATOR_VERSION with it.
"""

import itertools
import json
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

from deadbeat.tasksets.catalog import Catalog
from deadbeat.tasksets.emit import task_set_id
from deadbeat.tasksets.model.examples import example_calibration, example_entries, example_fragments
from deadbeat.tasksets.synthesis import Synthesiser, SynthesisParameters, seed_for

GOLDEN = Path(__file__).with_name("task-sets.json")
SHARES = [Fraction(0), Fraction(1, 3), Fraction(7, 10), Fraction(1)]
RATIOS = [Fraction(0), Fraction(2, 5), Fraction(1)]
SIZES = [(1, 1), (1, 3), (2, 2), (3, 7), (8, 20)]
OTHERS: list[dict[str, object]] = [
    {},
    {
        "distribution": "log-uniform",
        "priorities": "rate-monotonic",
        "deadline_factor": Fraction(5, 2),
    },
    {"distribution": "normal", "priorities": "random", "segments_max": 3, "wcet_max_ns": 2_000_000},
    {"distribution": "exponential", "classes_min": 2, "classes_max": 2, "priority_high": 66},
    {"fragments": ("mutex", "crc_32", "matmul"), "wcet_min_ns": 499_999},
]


def cases() -> Iterator[tuple[str, SynthesisParameters, int]]:
    """Name, parameters and seed of each set."""
    everything = itertools.product(enumerate(OTHERS), SIZES, SHARES, RATIOS)
    for (which, others), (cores, tasks), share, ratio in everything:
        if share == 0 and ratio:
            continue
        parameters = SynthesisParameters(
            cores=cores, tasks=tasks, sync_share=share, contended_ratio=ratio, **others
        )
        yield (
            f"{which} {cores}x{tasks} {share} {ratio}",
            parameters,
            seed_for(which, cores, tasks),
        )


def golden_task_sets() -> dict[str, list[str]]:
    """Identifier and realised shares of each set, by name."""
    fragments = example_fragments()
    catalog = Catalog(fragments={fragment.name: fragment for fragment in fragments})
    synthesiser = Synthesiser(catalog, example_calibration(example_entries(fragments)))
    found = {}
    for name, parameters, seed in cases():
        made = synthesiser.synthesise(parameters, seed)
        found[name] = [
            task_set_id(made),
            repr(made.sync_share_real),
            repr(made.contended_ratio_real),
        ]
    return found


if __name__ == "__main__":
    lines = [f"{json.dumps(k)}: {json.dumps(v)}" for k, v in golden_task_sets().items()]
    GOLDEN.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="ascii")
