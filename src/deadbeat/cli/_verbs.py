"""Every command and the line that lists show of it.

The module of a command has its name and is imported when it is called: ``deadbeat --help`` needs
these rows alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module

import click

from deadbeat.kinds import KINDS

COMMANDS = {
    "breakdown": "Find up to which utilisation task sets meet their deadlines.",
    "calibrate": "Measure what every fragment costs on this machine.",
    "compare": "Compare two kernels: identical programs, latencies, load tests.",
    "doctor": "Check whether this machine is ready for real-time work.",
    "explain": "What a finding means for the numbers.",
    "fragments": "List fragments: cost, blocking, availability here.",
    "latency": "Measure wake-up latency on every core, beside background loads.",
    "load": "Count missed deadlines of a real-time thread among ordinary threads.",
    "observe": "Check the paper's nine observations.",
    "plot": "Draw latency results of several kernels or machines by a preset.",
    "profile": "Profile this machine: slowdown and misses over M, rho and alpha.",
    "report": "Rebuild summary, page and figures of a campaign.",
    "runs": "List campaigns and how far they are.",
    "sched": "Simulate and analyse schedulability; studies of random task systems.",
    "selftest": "Check on known answers that this machine can be measured.",
    "show": "Show the results of a campaign, latency matrix or load test.",
    "stress": "Stress this machine with random task sets.",
    "tune": "Change settings of this machine for real-time work, and put them back exactly.",
    "version": "Show the version.",
    "why": "Say why the worst jobs, or wake-ups, were late.",
}
SCHED = {
    "analyze": "Run schedulability tests: which accept, the cheapest proof.",
    "convert": "Convert a task-system file: JSON, CSV, from SimSo XML.",
    "generate": "Draw random task systems, into files.",
    "policies": "List scheduling policies, options and tie rules.",
    "predict": "Predicted beside measured response times of a campaign.",
    "simulate": "Simulate a task system: schedulable or not, and what proves it.",
    "study": "Simulate and test thousands of random task systems; check conclusions.",
    "tests": "List schedulability tests.",
}
TUNE = {
    "apply": "Change settings: those of a profile, or knobs by name.",
    "list": "List the profiles and the knobs.",
    "revert": "Put back every setting, last first.",
    "status": "Show what is changed and not yet put back.",
}


def group_of(package: str, rows: Mapping[str, str]) -> type[click.Group]:
    """The class of a group of commands, each a ``command`` in a module of ``package``; the first
    group has those of kinds without a command of their own, too."""
    kinds = KINDS if rows is COMMANDS else {}

    class VerbGroup(click.Group):
        def list_commands(self, ctx: click.Context) -> list[str]:
            return sorted(_known(rows, kinds))

        def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
            if cmd_name in rows:
                command = import_module(f"{package}.{cmd_name}").command
            elif cmd_name in _known(rows, kinds):
                command = import_module("deadbeat.cli._run").command_of(cmd_name)
            else:
                return None
            assert isinstance(command, click.Command)
            return command

        def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
            with formatter.section("Commands"):
                formatter.write_dl(sorted(_known(rows, kinds).items()))

    return VerbGroup


def _known(rows: Mapping[str, str], kinds: Mapping[str, tuple[str, str]]) -> dict[str, str]:
    return {**rows, **{name: text for name, (_, text) in kinds.items() if text}}
