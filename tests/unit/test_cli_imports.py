"""Truth: ``deadbeat --help`` under 150 ms, kept by counting what is imported, not by a clock.

Measured when this was written: 110 modules and 50 ms of CPU; numpy alone doubles both.
"""

from __future__ import annotations

import json
import pkgutil
import subprocess
import sys
from importlib import import_module
from types import ModuleType

import pytest

from deadbeat import cli
from deadbeat.cli import sched, tune
from deadbeat.cli._verbs import COMMANDS, SCHED, TUNE

HEAVY = (
    *("numpy", "matplotlib", "plotly", "rich", "attrs", "attr", "cattrs", "pandas"),
    *("importlib.metadata", "deadbeat.kinds.contention", "deadbeat.store", "deadbeat.executors"),
    *("deadbeat.report", "deadbeat.analysis", "deadbeat.build", "deadbeat.catalog"),
)
MODULES_MAX = 160

CODE = """
import json, sys
from deadbeat.cli.main import main
status = main(sys.argv[1:])
print(json.dumps([status, sorted(sys.modules)]))
"""


def imported(*arguments: str) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-c", CODE, *arguments], capture_output=True, text=True, check=True
    )
    status, modules = json.loads(done.stdout.splitlines()[-1])
    assert status == 0
    return list(modules)


@pytest.mark.parametrize("arguments", [("--help",), (), ("sched", "--help"), ("tune",)])
def test_help_imports_nothing_heavy(arguments: tuple[str, ...]) -> None:
    modules = imported(*arguments)
    assert [name for name in HEAVY if name in modules] == []
    assert len(modules) <= MODULES_MAX


@pytest.mark.parametrize(
    ("package", "rows"),
    [(cli, COMMANDS), (sched, SCHED), (tune, TUNE)],
    ids=["deadbeat", "sched", "tune"],
)
def test_every_row_is_a_module_and_every_module_a_row(
    package: ModuleType, rows: dict[str, str]
) -> None:
    found = {module.name for module in pkgutil.iter_modules(package.__path__)}
    assert set(rows) == {name for name in found if name[0] != "_" and name != "main"}
    assert list(rows) == sorted(rows)
    for name in rows:
        assert import_module(f"{package.__name__}.{name}").command.help


def test_the_count_sees_what_is_heavy() -> None:
    modules = imported("runs", "--json")
    assert "attrs" in modules and "numpy" in modules


def test_answers_for_programs_draw_no_tables() -> None:
    assert "rich" not in imported("doctor", "--only", "hardening", "--json")
