"""What a task set costs to make: synthesis, C text, compiler and linker, in batches of 1000."""

from __future__ import annotations

import os
import tempfile
from fractions import Fraction
from time import perf_counter

from common import cpu_seconds, report

from deadbeat.build.native import NO_TASK_SETS, link_program
from deadbeat.build.toolchain import Toolchain
from deadbeat.catalog import load_catalog
from deadbeat.emit import emit_batch
from deadbeat.model.examples import example_calibration, example_entries
from deadbeat.synthesis import Synthesiser, SynthesisParameters

SETS = 1000


def main() -> None:
    """CPU time, since the compiler competes with whatever else the machine does; wall beside it."""
    catalog = load_catalog()
    calibration = example_calibration(example_entries(catalog.fragments.values()), cores=2)
    synthesiser = Synthesiser(catalog, calibration)
    toolchain = Toolchain.find()
    with tempfile.TemporaryDirectory() as cache:
        os.environ["DEADBEAT_CACHE"] = cache
        link_program(toolchain, NO_TASK_SETS)  # runtime and fragments: once, not per task set
        cpu, wall = cpu_seconds(), perf_counter()
        sets = [
            synthesiser.synthesise(
                SynthesisParameters(
                    cores=2,
                    tasks=2,
                    sync_share=Fraction(number % 11, 10),
                    contended_ratio=Fraction(number // 11 % 11, 10),
                ),
                number // 121,
            )
            for number in range(SETS)
        ]
        synthesis = cpu_seconds()
        link_program(toolchain, emit_batch(sets))
        end = cpu_seconds()
        report(
            "build cost per task set, batches of 1000",
            "<= 3 ms",
            round((end - cpu) / SETS * 1e3, 3),
            "ms CPU",
            {
                "synthesis_ms": round((synthesis - cpu) / SETS * 1e3, 3),
                "emit_compile_link_ms": round((end - synthesis) / SETS * 1e3, 3),
                "wall_ms": round((perf_counter() - wall) / SETS * 1e3, 3),
            },
        )


if __name__ == "__main__":
    main()
