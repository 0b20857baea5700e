"""How help is laid out, and what options were called before: tables, read by name.

The same option means the same in every verb, so it stands under the same title everywhere. Options
that are not listed here stand under "Other"; verbs under "More".
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import click

#: Titles of the verbs, in the order of ``deadbeat --help``.
VERBS = {
    "Measure": "latency load profile stress breakdown run primitives interfere",
    "Read": "import show why explain report open watch plot compare predict observe runs",
    "Machine": "doctor targets tune selftest",
    "Lab": "sched lab",
    "More": "calibrate fragments version",
}

#: Titles of the options, in the order of help. Behind the bar: rare ones, in ``--help-all`` alone.
OPTIONS = {
    "Begin with": "quick preset campaign study simulated | import executor",
    "What to vary": (
        "cores sync-share contended-ratio loads engine normal remedies processors tasks"
        " tasks-per-core utilisation deadline-factor critical-cores sets count form"
        " tests works sizes shares"
        " runtimes allocators placements threads handlers aggressors"
        " | mix step fill-utilisation per-task groups"
    ),
    "Task sets": (
        "wcet-min wcet-max programs-from utilisations deadlines offsets"
        " | distribution fragments segments-max classes-min classes-max utilisation-method"
        " utilisation-min utilisation-max mean heavy-share heavy-from periods period-min"
        " period-max granularity lcm-limit deadline-min deadline-max tolerance attempts pool"
        " seed first"
    ),
    "Real-time work": "interval round period deadline limits | work batch",
    "Length": (
        "duration samples repeats remedy-repeats precision time-budget warmup fresh retry"
        " | precision-metric sets-min sets-max sets-mean miss-share search-from search-to steps"
    ),
    "Machine": (
        "target cpus rt-cpus | cross layout dma-latency calibration calibration-seconds"
        " price-seconds cost-basis slot-periods warmup-jobs overrun"
    ),
    "Scheduling": (
        "policy priority scheduler test ties partition order admission unplaced balance"
        " cluster-size threshold cost-context-switch cost-migration cost-cache-reload blocking"
        " | priorities"
    ),
    "Simulation": "simulate model method horizon max-steps run-on metrics workers dask",
    "Checks": "only workload all config cmdline hardening-cost",
    "Comparison": "aa metric minimum-effect minimum-miss ungated per-cpu allow-mixed partial",
    "Recording": "causes trace keep-above beside | worst split counters",
    "Output": (
        "name names load unit from inventory runs out html report gantt perfetto show-from show-to"
        " format figures junit annotations openmetrics fail-on force list json"
    ),
}

#: A command with no more options than this shows the rare ones, too.
FEW = 28

_ALL = "deadbeat.help_all"


#: Option -> its title, and whether it is a rare one.
PLACED = {
    f"--{name}": (title, part > 0)
    for title, names in OPTIONS.items()
    for part, listed in enumerate(names.split("|"))
    for name in listed.split()
}


def place(option: click.Parameter) -> tuple[str, bool]:
    """Title of ``option``, and whether help shows it only when all is asked for."""
    return PLACED.get(option.opts[-1], PLACED.get(option.opts[0], ("Other", False)))


class Titled(click.Command):
    """A command whose help has its options under titles and leaves out rare ones."""

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        found = super().get_params(ctx)
        if len(found) > FEW and any(place(each)[1] for each in found):
            everything = click.Option(
                ["--help-all"],
                is_flag=True,
                is_eager=True,
                expose_value=False,
                callback=_show_all,
                help="Show this message with the rare options and exit.",
            )
            found = [*found[:-1], everything, found[-1]]
        return found

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        rows: dict[str, list[tuple[str, str]]] = {title: [] for title in (*OPTIONS, "Other")}
        options = [each for each in self.get_params(ctx) if isinstance(each, click.Option)]
        everything = ctx.meta.get(_ALL) or len(options) <= FEW
        order = {name: number for number, name in enumerate(PLACED)}
        for option in sorted(options, key=lambda each: order.get(each.opts[-1], len(order))):
            title, rare = place(option)
            record = option.get_help_record(ctx)
            if record is not None and (everything or not rare):
                rows[title].append(record)
        shown = {title: records for title, records in rows.items() if records}
        # A handful of options needs no titles.
        if sum(map(len, shown.values())) < 12:
            shown = {"Options": [each for records in shown.values() for each in records]}
        for title, records in shown.items():
            with formatter.section(title):
                formatter.write_dl(records)


def _show_all(ctx: click.Context, option: click.Parameter, asked: Any) -> None:
    if asked:
        ctx.meta[_ALL] = True
        click.echo(ctx.get_help())
        ctx.exit()


def verbs_by_title(lines: Mapping[str, str]) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """Verbs with what is said of them, under their titles; unknown ones are under the last.

    Those of a group, of which another has a name by chance, need none.
    """
    places = {verb: title for title, verbs in VERBS.items() for verb in verbs.split()}
    if 2 * sum(name in places for name in lines) < len(lines):
        yield "Commands", list(lines.items())
        return
    order = list(places)
    last = list(VERBS)[-1]
    for title in VERBS:
        here = [name for name in lines if places.get(name, last) == title]
        here.sort(key=lambda name: (name not in places, order.index(name) if name in places else 0))
        if here:
            yield title, [(name, lines[name]) for name in here]
