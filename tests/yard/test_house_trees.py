"""Truth: tools/houses.py. Each house works where no other is but those that it may import."""

import os
import subprocess
from pathlib import Path

import houses
import pytest
from helpers.house_trees import ROOT, alone, lay, modules_of

pytestmark = pytest.mark.slow
#: What tests need, and what most houses do; checks of a machine need no number.
TESTING = ("pytest", "pytest-xdist", "hypothesis", "attrs", "cattrs", "jsonschema", "selenium")
REST = ("numpy", "scipy", "rich", "click", "matplotlib")
ALONE = ("base", "machine", "sched", "build", "tasksets", "latencies", "program", "lab")


def run(python: Path, folder: Path, *words: str) -> None:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    command = [str(python), *words]
    done = subprocess.run(
        command, cwd=folder, env=kept, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"{done.stdout[-4000:]}\n{done.stderr[-4000:]}"


@pytest.mark.parametrize("house", sorted({*houses.MAY} - {"cli"}))
def test_every_module_of_a_house_is_imported(house: str, tmp_path: Path) -> None:
    python = lay(house, tmp_path, [*TESTING, *REST])
    run(python, tmp_path, "-c", f"import {', '.join(modules_of(house))}")


@pytest.mark.parametrize("house", ALONE)
def test_a_house_passes_its_unit_tests(house: str, tmp_path: Path) -> None:
    python = lay(house, tmp_path, [*TESTING, *(REST if house != "machine" else ())])
    tests = [str(path.relative_to(ROOT)) for path in alone(house)]
    quick = "not slow and not statistical and not hardware and not browser"
    run(python, tmp_path, "-m", "pytest", "-q", "-n", "2", "-m", quick, *tests)
