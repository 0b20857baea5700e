"""The batch that tests/golden/batch.c is the C of; run as a program, writes that file anew.

Six task sets on the costs of base.model.examples: every distribution and priority rule, both
ends of both axes, and two bindings of one program. A change of batch.c means that stored seeds no
longer give stored programs: raise GENERATOR_VERSION with it.
"""

from fractions import Fraction
from pathlib import Path

from deadbeat.tasksets.catalog import Catalog
from deadbeat.tasksets.emit import emit_batch
from deadbeat.tasksets.model.examples import example_calibration, example_entries, example_fragments
from deadbeat.tasksets.model.tasks import TaskSet
from deadbeat.tasksets.synthesis import Synthesiser, SynthesisParameters, seed_for

GOLDEN = Path(__file__).with_name("batch.c")
CASES: tuple[dict[str, object], ...] = (
    {"cores": 1, "tasks": 1, "rho": "0", "alpha": "0"},
    {"cores": 2, "tasks": 2, "rho": "1/2", "alpha": "0"},
    {"cores": 2, "tasks": 2, "rho": "1/2", "alpha": "3/10"},
    {"cores": 2, "tasks": 2, "rho": "1", "alpha": "1", "distribution": "log-uniform"},
    {
        "cores": 2,
        "tasks": 4,
        "rho": "1/10",
        "alpha": "1/2",
        "distribution": "normal",
        "priorities": "rate-monotonic",
        "deadline_factor": Fraction(2),
    },
    {
        "cores": 3,
        "tasks": 3,
        "rho": "2/3",
        "alpha": "1/3",
        "distribution": "exponential",
        "priorities": "random",
        "segments_max": 3,
    },
)


def golden_batch() -> list[TaskSet]:
    fragments = example_fragments()
    catalog = Catalog(fragments={fragment.name: fragment for fragment in fragments})
    synthesiser = Synthesiser(catalog, example_calibration(example_entries(fragments)))
    batch = []
    for case in CASES:
        others = dict(case)
        rho, alpha = Fraction(str(others.pop("rho"))), Fraction(str(others.pop("alpha")))
        parameters = SynthesisParameters(sync_share=rho, contended_ratio=alpha, **others)
        batch.append(synthesiser.synthesise(parameters, seed_for(2026, parameters.cores, 0)))
    return batch


if __name__ == "__main__":
    GOLDEN.write_text(emit_batch(golden_batch()), encoding="ascii")
