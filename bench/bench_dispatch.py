"""Tables against straight-line code: what compiling a task set costs either way (decision 0001)."""

from __future__ import annotations

import subprocess
import tempfile
from fractions import Fraction
from pathlib import Path

from common import cpu_seconds, report

from deadbeat.build.native import TABLE_FLAGS, native_root
from deadbeat.build.toolchain import Toolchain
from deadbeat.catalog import load_catalog
from deadbeat.emit import emit_batch
from deadbeat.model.examples import example_calibration, example_entries
from deadbeat.model.tasks import Task, TaskSet
from deadbeat.synthesis import Synthesiser, SynthesisParameters

SETS = 200


def straight_line(sets: list[TaskSet]) -> str:
    """The same jobs as functions of calls and loops, a function a task, as generators do."""
    lines = ['#include "deadbeat/fragment.h"']
    names = {u.entry.fragment for s in sets for t in s.tasks for g in t.segments for u in g.uses}
    lines += [f"extern const struct db_fragment db_fragment_{name};" for name in sorted(names)]
    for number, task_set in enumerate(sets):
        for index, task in enumerate(task_set.tasks):
            lines += _function(f"task_{number}_{index}", task)
    return "\n".join(lines) + "\n"


def _function(name: str, task: Task) -> list[str]:
    lines = [f"void {name}(struct db_context *c);", f"void {name}(struct db_context *c)", "{"]
    uses = [use for segment in task.segments for use in segment.uses]
    for context, use in enumerate(uses):
        lines.append(f"    for (unsigned i = 0; i < {use.repeats}u; i++)")
        lines.append(f"        db_fragment_{use.entry.fragment}.run(&c[{context}]);")
    return [*lines, "}"]


def compile_ms(text: str, flags: tuple[str, ...]) -> float:
    """CPU milliseconds of compiling ``text`` per task set."""
    toolchain = Toolchain.find()
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "sets.c"
        source.write_text(text)
        include = f"-I{native_root() / 'runtime' / 'include'}"
        argv = [toolchain.cc, "-std=c11", include, *flags, "-c", str(source), "-o", f"{folder}/o"]
        began = cpu_seconds()
        subprocess.run(argv, check=True)
        return (cpu_seconds() - began) / SETS * 1e3


def main() -> None:
    """Tables need no optimiser; straight-line code is measured with the one its tasks need."""
    catalog = load_catalog()
    calibration = example_calibration(example_entries(catalog.fragments.values()), cores=2)
    synthesiser = Synthesiser(catalog, calibration)
    half = Fraction(1, 2)
    parameters = SynthesisParameters(cores=2, tasks=2, sync_share=half, contended_ratio=half)
    sets = [synthesiser.synthesise(parameters, seed) for seed in range(SETS)]
    tables, code = (
        compile_ms(emit_batch(sets), TABLE_FLAGS),
        compile_ms(straight_line(sets), ("-O2",)),
    )
    report(
        "compiling a task set: straight-line code over tables",
        "reported",
        round(code / tables, 2),
        "ratio",
        {"tables_ms": round(tables, 3), "straight_line_ms": round(code, 3)},
    )


if __name__ == "__main__":
    main()
