"""Every command: what does it, and what lists say of it.

``module:function`` is below this package; help and options of a command are its file in ``verbs``.
Nothing heavy is imported: ``deadbeat --help`` needs this module alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any, cast

import click

from deadbeat.cli._help import verbs_by_title
from deadbeat.cli._options import Declared, opt, options_in, row_of, text_of
from deadbeat.kinds import KINDS

#: In place of what a command does: it is made by `deadbeat.cli.measuring`.
MEASURING = "measuring"


class Verbs(click.Group):
    """A group of commands, which are made when they are asked for.

    Args:
        verbs: Name -> ``module:function`` that does it (as of `Declared`), MEASURING or a group;
            and what lists say of it. The rest is in ``verbs/NAME.toml``; of another group than the
            first, in ``verbs/GROUP-NAME.toml``.
        kinds: Kinds of experiments; one that has a line for lists has a command made of its
            specification.
    """

    def __init__(
        self,
        name: str,
        verbs: Mapping[str, tuple[str | click.Group, str]],
        kinds: Mapping[str, tuple[str, str]] | None = None,
        **more: Any,
    ) -> None:
        text = text_of(name)
        super().__init__(name, invoke_without_command=True, callback=self._alone, help=text, **more)
        self._verbs, self._kinds = verbs, kinds or {}
        self._prefix = "" if name == "deadbeat" else f"{name}-"

    @property
    def verbs(self) -> dict[str, tuple[str | click.Group, str]]:
        """Every command: what does it, and what lists say of it."""
        made = {kind: (MEASURING, line) for kind, (_, line) in self._kinds.items() if line}
        return {**self._verbs, **made}

    def _alone(self, **options: Any) -> None:
        """What the group does without a command."""
        ctx = click.get_current_context()
        if ctx.invoked_subcommand is None:
            if options.get("version"):
                ctx.invoke(cast(click.Command, self.get_command(ctx, "version")), as_json=False)
            else:
                click.echo(ctx.get_help())

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(self.verbs)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        does, line = self.verbs.get(cmd_name, ("", ""))
        if isinstance(does, click.Command) or not does:
            return does or None
        if does == MEASURING:
            measuring = import_module("deadbeat.cli.measuring")
            return cast(click.Command, measuring.command(cmd_name))
        file = self._prefix + cmd_name
        row = row_of(file)
        told = cast(Sequence[str], row.get("told", ("JSON",)))
        params = [*options_in(row.get("options", {})), *options_in(dict.fromkeys(told))]
        several = bool(row.get("several"))
        return Declared(
            cmd_name, does, several=several, params=params, help=text_of(file), short_help=line
        )

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        lines = {name: line for name, (_, line) in self.verbs.items()}
        for title, rows in verbs_by_title(lines):
            with formatter.section(title):
                formatter.write_dl(rows)


_SCHED = Verbs(
    "sched",
    {
        "analyze": (
            "sched_analyze:analyze",
            "Run schedulability tests: which accept, the cheapest proof.",
        ),
        "convert": (
            "sched_systems:convert",
            "Convert a task-system file: JSON, CSV, from SimSo XML.",
        ),
        "generate": ("sched_systems:generate", "Draw random task systems, into files."),
        "policies": ("sched_systems:policies", "List scheduling policies, options and tie rules."),
        "predict": ("sched_analyze:predict", "Predict the response times of a measured campaign."),
        "simulate": (
            "sched_simulate:simulate",
            "Simulate a task system: schedulable or not, and what proves it.",
        ),
        "tests": ("sched_systems:tests", "List schedulability tests."),
        "study": (MEASURING, "Simulate and test thousands of random task systems."),
    },
)
_LAB = Verbs(
    "lab",
    {
        "fetch": ("lab_fetch:fetch", "Fetch kernels from Debian's packages, and the emulator."),
        "list": ("lab_fetch:listed", "List the kernels that are here and those to be had."),
        "run": ("lab:run", "Measure wake-up latency of kernels in virtual machines, and compare."),
        "sweep": (
            "lab_sweep:sweep",
            "Measure a kernel's packaged versions, and find where latency changed.",
        ),
    },
)
_TARGETS = Verbs(
    "targets",
    {
        "check": ("machine:check", "Say what a machine can and cannot do, in seconds."),
    },
)
_TUNE = Verbs(
    "tune",
    {
        "apply": ("tuning:apply", "Change settings: those of a profile, or knobs by name."),
        "list": ("tuning:listed", "List the profiles and the knobs."),
        "revert": ("tuning:revert", "Put back every setting, last first."),
        "status": ("tuning:status", "Show what is changed and not yet put back."),
    },
)
root = Verbs(
    "deadbeat",
    {
        "calibrate": ("machine:calibrate", "Measure what each fragment costs on this machine."),
        "compare": ("compare:compare", "Compare kernels, machines or settings."),
        "doctor": ("doctor:doctor", "Check whether this machine is ready for real-time work."),
        "explain": ("results:explain", "Explain what a finding means for the numbers."),
        "emit": ("machine:emit", "Write a task set as a C program for another system."),
        "fragments": ("machine:fragments", "List the fragments that task sets are made of."),
        "import": (
            "importing:import_files",
            "Read what cyclictest, rtla and other tools measured.",
        ),
        "observe": ("observe:observe", "Check which published observations hold here."),
        "plot": ("plot:plot", "Draw latencies of several kernels or machines."),
        "predict": ("predict:predict", "Predict slowdown and breakdown of task sets."),
        "report": ("results:report", "Rebuild tables, page and figures of a result."),
        "runs": ("results:runs", "List the results and their state."),
        "selftest": ("machine:selftest", "Check with known answers that measuring works here."),
        "show": ("results:show", "Show a result: answer, tables, findings."),
        "version": ("results:version", "Show the version."),
        "watch": ("watch:watch", "Follow a result in a browser while it is measured."),
        "why": ("results:why", "Explain why the worst jobs or wake-ups were late."),
        "breakdown": (MEASURING, "Find the utilisation up to which deadlines hold."),
        "interfere": (MEASURING, "Show whose work slows whose, from core to core."),
        "latency": (MEASURING, "Measure how late tasks wake up, under background loads."),
        "load": (MEASURING, "Count deadlines missed among ordinary threads."),
        "primitives": (MEASURING, "Time what real-time programs are made of."),
        "profile": (MEASURING, "Map slowdown and misses over cores and contention."),
        "run": (MEASURING, "Measure a periodic program of your own."),
        "stress": (MEASURING, "Measure slowdown and misses of random task sets."),
        "lab": (_LAB, "Compare kernels in virtual machines, without hardware."),
        "sched": (_SCHED, "Simulate and analyse schedulability."),
        "targets": (_TARGETS, "Say what a machine can and cannot do."),
        "tune": (_TUNE, "Change settings for real-time work, and put them back."),
    },
    KINDS,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    params=[
        click.Option(
            ["-q", "--quiet"], is_flag=True, help="Print only the answer and errors, no progress."
        ),
        opt("--no-color", "Print without colours; NO_COLOR does the same."),
        opt("--debug", "Show the traceback of an unexpected error."),
        opt("--version", "Show the version."),
    ],
)
