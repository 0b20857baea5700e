"""Truth: ``deadbeat --help`` under 150 ms, kept by counting what is imported, not by a clock.

Measured when this was written: 110 modules and 50 ms of CPU; numpy alone doubles both.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from inspect import signature

import click
import pytest

from deadbeat.cli import sched_commands, tune_commands
from deadbeat.cli._options import HOW, Declared
from deadbeat.cli.main import root

HEAVY = (
    *("numpy", "matplotlib", "rich", "attrs", "attr", "cattrs", "pandas"),
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


def commands(group: click.Group, *words: str) -> Iterator[tuple[str, ...]]:
    """Words of every command, of groups too."""
    context = click.Context(group)
    for name in group.list_commands(context):
        found = group.get_command(context, name)
        assert found is not None and found.help
        yield (*words, name)
        if isinstance(found, click.Group):
            yield from commands(found, *words, name)


#: Help of a command that measures needs its specification; nothing draws or computes.
MEASURING = ("breakdown", "latency", "load", "profile", "run", "stress", "sched study")


@pytest.mark.parametrize("words", sorted(commands(root)), ids=" ".join)
def test_help_of_a_command_imports_what_its_options_need(words: tuple[str, ...]) -> None:
    modules = imported(*words, "--help")
    unwanted = ("numpy", "rich", "matplotlib", "scipy", "deadbeat.report", "deadbeat.kinds.base")
    assert [name for name in unwanted if name in modules] == []
    if " ".join(words) not in MEASURING:
        assert [name for name in HEAVY if name in modules] == []


def test_every_command_does_something_that_takes_its_options() -> None:
    for group in (root, sched_commands.group, tune_commands.group):
        for command in group.commands.values():
            assert isinstance(command, Declared)
            names = [each.name for each in command.params if each.expose_value]
            options = {name: None for name in names if name not in HOW}
            signature(command.function()).bind(**options)


def test_the_count_sees_what_is_heavy() -> None:
    modules = imported("runs", "--json")
    assert "attrs" in modules and "numpy" in modules


def test_answers_for_programs_draw_no_tables() -> None:
    assert "rich" not in imported("doctor", "--only", "hardening", "--json")
