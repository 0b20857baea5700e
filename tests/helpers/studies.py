"""Small studies, and made-up results of them."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from deadbeat.sched.study.chunks import YES, Rows, row_type
from deadbeat.sched.study.preset import specify
from deadbeat.sched.study.results import StudyResults
from deadbeat.sched.study.spec import StudySpec, SweepCell, digest, spec_dict
from deadbeat.sched.study.store import StudyStore


def small(**changes: Any) -> StudySpec:
    """48 task sets that take some milliseconds."""
    asked = {
        "processors": "2",
        "tasks": "4,6",
        "utilisation": "0.6,0.9",
        "policies": "g-edf,p-edf",
        "tests": "gfb",
        "sets": 12,
    }
    return specify({**asked, **changes})


def begun(path: Path, spec: StudySpec) -> StudyStore:
    plain = spec_dict(spec)
    return StudyStore.create(path, plain, digest(plain))


def made_up(
    spec: StudySpec, answer: Callable[[str, SweepCell, int], Mapping[str, Any] | bool]
) -> StudyResults:
    """Results in which ``answer`` decides: (label, cell, number) to columns or a verdict."""
    rows: Rows = np.zeros(spec.total, dtype=row_type(spec))
    rows["generated"] = True
    for k in range(spec.total):
        at, number = divmod(k, spec.sets)
        cell = spec.cells[at]
        rows["cell"][k], rows["index"][k] = at, number
        rows["utilisation"][k] = cell.utilisation
        for i, label in enumerate(spec.contenders):
            found = answer(label, cell, number)
            columns = {"answer": YES if found else 0} if isinstance(found, bool) else found
            rows[f"s{i}.placed"][k] = True
            for name, value in columns.items():
                rows[f"s{i}.{name}"][k] = value
        for i, name in enumerate(spec.tests):
            rows[f"t{i}"][k] = bool(answer(name, cell, number))
    return StudyResults(spec, rows)
