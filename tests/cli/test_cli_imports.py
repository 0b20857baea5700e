"""Truth: ``deadbeat --help`` under 150 ms, kept by counting what is imported, not by a clock.

Measured when this was written: 110 modules and 50 ms of CPU; numpy alone doubles both.
"""

import json
import subprocess
import sys
from collections.abc import Iterator
from inspect import signature

import click

from deadbeat.cli._options import HOW, Declared
from deadbeat.cli.main import main, root

HEAVY = (
    *("numpy", "matplotlib", "rich", "attrs", "attr", "cattrs", "pandas"),
    *("importlib.metadata", "deadbeat.base.store", "deadbeat.base.report"),
    *("deadbeat.tasksets", "deadbeat.build"),
)
MODULES_MAX = 160

#: Each line of stdin is a command; a fork of its own runs it, with nothing but the words imported.
CODE = """
import json, os, sys
from deadbeat.cli.main import main
for line in sys.stdin.read().splitlines():
    if not os.fork():
        status = main(line.split())
        print(json.dumps([line, status, sorted(sys.modules)]), flush=True)
        os._exit(0)
    os.wait()
"""


def imported(*lines: str) -> dict[str, list[str]]:
    """Command -> the modules that are imported once it has run."""
    done = subprocess.run(
        [sys.executable, "-c", CODE],
        input="\n".join(lines) + "\n", capture_output=True, text=True, check=True,
    )  # fmt: skip
    told = [json.loads(line) for line in done.stdout.splitlines() if line.startswith('["')]
    assert [(line, status) for line, status, _ in told] == [(line, 0) for line in lines]
    return {line: modules for line, _, modules in told}


def test_help_imports_nothing_heavy() -> None:
    for line, modules in imported("--help", "", "sched --help", "tune").items():
        assert [name for name in HEAVY if name in modules] == [], line
        assert len(modules) <= MODULES_MAX, line


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
MEASURING = (
    *("bisect", "breakdown", "contention", "interfere", "latency", "load", "primitives", "run"),
    "sched study",
)


def test_help_of_a_command_imports_what_its_options_need() -> None:
    unwanted = (
        "numpy",
        "rich",
        "matplotlib",
        "scipy",
        "deadbeat.base.report",
        "deadbeat.base.kinds.base",
    )
    names = [" ".join(words) for words in sorted(commands(root))]
    found = imported(*(f"{name} --help" for name in names))
    for name, modules in zip(names, found.values(), strict=True):
        refused = unwanted if name in MEASURING else (*unwanted, *HEAVY)
        assert [each for each in refused if each in modules] == [], name


def test_every_command_does_something_that_takes_its_options() -> None:
    context = click.Context(root)
    for words in commands(root):
        command: click.Command | None = root
        for word in words:
            assert isinstance(command, click.Group)
            command = command.get_command(context, word)
        if isinstance(command, Declared):
            hidden = (*HOW, "assigned")
            names = [each.name for each in command.params if each.expose_value]
            options = {name: None for name in names if name not in hidden}
            signature(command.function()).bind(**options)


#: Houses and libraries that only some results need.
MUCH = ("numpy", "scipy", "matplotlib", "rich", "cattrs", "pandas", "deadbeat.base.report.document")
KINDS = ("deadbeat.tasksets", "deadbeat.program", "deadbeat.sched.study")
DRAWING = ("matplotlib", "scipy.special", *KINDS)
#: Command -> what it imports not, and what it does: the count sees that.
NEEDS = {
    "--version": (("attr", *MUCH, *KINDS, "deadbeat.latencies"), "importlib.metadata"),
    "list": ((*MUCH, *KINDS, "deadbeat.latencies"), "attr"),
    "show tiny": (DRAWING, "numpy"),
    "page tiny": (DRAWING, "scipy"),
    "page tiny --figures": (KINDS, "matplotlib"),
}


def test_a_verb_imports_what_its_answer_needs(in_a_folder: None) -> None:
    assert main(("load", "--simulated", "--quick", "--name", "tiny")) == 0
    for line, modules in imported(*NEEDS).items():
        without, needed = NEEDS[line]
        assert [name for name in without if name in modules] == [], line
        assert needed in modules, line


def test_answers_for_programs_draw_no_tables() -> None:
    line = "doctor --only hardening --json"
    assert "rich" not in imported(line)[line]
