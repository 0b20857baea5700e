"""``deadbeat sched``: the schedulability lab; its commands, as `deadbeat.cli.commands` has them."""

from __future__ import annotations

from pathlib import Path

import click

from deadbeat.cli._options import (
    MEASURING,
    PATH,
    RUN,
    RUNS,
    OneOf,
    Verbs,
    arg,
    one_of,
    opt,
    whole,
)

_TIME, _FROM_ONE = whole(0, 10**18), whole(1, 10**18)


_FILE = arg("file", "FILE", type=PATH)
_PROCESSORS = opt(
    "--processors M",
    "Number of processors; overrides the one in FILE.",
    type=whole(1, 1024),
)


def _placing(**texts: str) -> list[click.Option]:
    """Options that name how tasks are ordered and placed."""
    return [
        opt(
            f"--{name} {'rm|dm|given' if name == 'priorities' else 'NAME'}",
            text,
            type=one_of("sched.simulator:option_words", name),
        )
        for name, text in texts.items()
    ]


group = Verbs(
    {
        "study": (
            MEASURING,
            "Simulate and test thousands of random task systems.",
        )
    },
    name="sched",
    help="""Simulate and analyse schedulability.

Start with: deadbeat sched generate --out - | deadbeat sched simulate -""",
)

group.add(
    "sched_analyze:analyze",
    "Run schedulability tests: which accept, the cheapest proof.",
    _FILE,
    _PROCESSORS,
    opt(
        "--scheduler NAME",
        "Run only tests of this scheduling policy: g-edf, p-edf...  [all]",
        type=one_of("sched.analysis:schedulers"),
    ),
    opt(
        "--test NAME",
        "Run only this test; may be repeated.  [all]",
        to="names",
        type=one_of("sched.analysis:tests"),
        multiple=True,
    ),
    opt(
        "--ties RULE",
        "Rule that orders equal priorities.  [index]",
        type=one_of("sched.simulator:tie_rules"),
    ),
    *_placing(
        priorities="How fixed priorities are assigned: rm, dm or given.  [rm]",
        partition="How tasks are placed, for partitioned tests.  [auto: first-fit]",
        order="Order in which tasks are placed, for partitioned tests.  [utilisation-desc]",
        admission="What a processor accepts, for partitioned tests.  [auto: exact]",
    ),
    opt(
        "--blocking TIME",
        "Longest non-preemptive section, for tests of one processor.  [0]",
        type=_TIME,
        default=0,
    ),
    opt(
        "--max-steps N",
        "Steps after which a test is undecided.  [50000000]",
        to="budget",
        type=_FROM_ONE,
        default=50000000,
    ),
    opt("--simulate", "Show what simulation says of each scheduler, too."),
    opt(
        "--model NAME",
        "Release model of the simulation: periodic-sync, periodic-offset or sporadic."
        "  [periodic-sync; with offsets periodic-offset]",
        type=one_of("sched.simulator:MODELS"),
    ),
)
group.add(
    "sched_systems:convert",
    "Convert a task-system file: JSON, CSV, from SimSo XML.",
    _FILE,
    _PROCESSORS,
    arg("out", "OUT", type=PATH),
    opt("--whole-cycles", "Cut the times of a SimSo file to whole cycles, as SimSo does."),
    opt("--force", "Replace OUT if it exists."),
    told=(),
)
group.add(
    "sched_systems:generate",
    "Draw random task systems, into files.",
    opt("--processors M", "Number of identical processors.  [4]", type=int),
    opt("--tasks N", "Number of tasks in a system.  [10]", type=int),
    opt("--utilisation U", "Total utilisation to aim at.  [2.0]", type=float),
    opt("--utilisations NAME", "Distribution of task utilisations.  [randfixedsum]"),
    opt("--utilisation-min X", "Least utilisation of a task.  [0]", to="low", type=float),
    opt("--utilisation-max X", "Greatest utilisation of a task.  [1]", to="high", type=float),
    opt("--mean X", "Mean of the exponential distribution.  [U/N]", type=float),
    opt("--heavy-share X", "Share of heavy tasks in the bimodal distribution.  [0.33]", type=float),
    opt(
        "--heavy-from X",
        "Least utilisation of a heavy task in the bimodal distribution.  [0.5]",
        to="split",
        type=float,
    ),
    opt("--periods NAME", "Distribution of the periods.  [lcm-limited]"),
    opt("--period-min T", "Shortest period drawn.  [10]", to="period_low", type=int),
    opt("--period-max T", "Longest period drawn.  [250]", to="period_high", type=int),
    opt("--granularity T", "Number that all periods are multiples of.  [1]", type=int),
    opt("--lcm-limit T", "Upper bound of the hyper-period.  [100000]", type=int),
    opt("--deadlines NAME", "Kind of deadlines: implicit, constrained or arbitrary.  [implicit]"),
    opt(
        "--deadline-min X",
        "Shortest deadline, as a place in [C, T] or a factor of T.  [0]",
        to="deadline_low",
        type=float,
    ),
    opt(
        "--deadline-max X",
        "Longest deadline, as a place in [C, T] or a factor of T.  [1; arbitrary: 2]",
        to="deadline_high",
        type=float,
    ),
    opt("--offsets NAME", "Distribution of the offsets: zero or uniform.  [zero]"),
    opt("--tolerance X", "Greatest distance from the total utilisation.  [0.02 M]", type=float),
    opt("--attempts N", "Number of draws before a system is given up.  [100000]", type=int),
    opt("--count K", "Number of systems to draw.  [1]", type=whole(1, 10**18), default=1),
    opt("--seed N", "Seed of everything that is random.  [1]", type=int, default=1),
    opt("--first N", "Number of the first system.  [0]", type=whole(0, 10**18), default=0),
    opt(
        "--out FOLDER|-",
        "Folder for system-00000.json and so on, or - for standard output.  [-]",
        default=Path("-"),
    ),
    opt("--force", "Replace files that exist."),
    opt("--list", "List the distributions and draw nothing.", to="listing"),
    told=(),
)
group.add(
    "sched_systems:policies",
    "List scheduling policies, options and tie rules.",
)
group.add(
    "sched_analyze:predict",
    "Predict the response times of a measured campaign.",
    RUN,
    arg("key", "[SET]", default=""),
    RUNS,
)
group.add(
    "sched_simulate:simulate",
    "Simulate a task system: schedulable or not, and what proves it.",
    _FILE,
    _PROCESSORS,
    opt(
        "--policy NAME",
        "Scheduling policy to simulate; deadbeat sched policies lists them.  [g-edf]",
        type=one_of("sched.simulator:policies"),
        default="g-edf",
    ),
    opt(
        "--ties RULE|all",
        "Rule that orders equal priorities.  [index]",
        type=one_of("sched.simulator:tie_rules", more=("all",)),
        default="index",
    ),
    *_placing(
        priorities="How fixed priorities are assigned: rm, dm or given.  [rm]",
        partition="How tasks are placed: first-, next-, best-, worst-fit or auto.  [auto]",
        order="Order in which tasks are placed.  [utilisation-desc]",
        admission="What a processor accepts: utilisation, density, exact or auto.  [auto]",
        unplaced="What to do with a task that fits nowhere: reject or least-loaded.  [reject]",
        balance="Load balancing of loose clustered policies: none, offline, pull, both...",
    ),
    opt("--cluster-size C", "Number of processors in a cluster.  [2]", type=whole(1, 1024)),
    opt("--threshold X", "Utilisation above which EDF-US puts tasks first: 1/2.  [m/(2m-1)]"),
    *(
        opt(f"--cost-{name} TIME", f"{text}  [0]", type=_TIME, default=0)
        for name, text in (
            ("context-switch", "Cost when a processor switches to another job."),
            ("migration", "Cost when a job or task moves to another processor."),
            ("cache-reload", "Cost when a job resumes after another one ran."),
        )
    ),
    opt(
        "--model NAME",
        "Release model: periodic-sync, periodic-offset or sporadic."
        "  [periodic-sync; with offsets periodic-offset]",
        type=one_of("sched.simulator:MODELS"),
    ),
    opt(
        "--method exact|thesis",
        "How far to simulate: exact, or two hyper-periods as the thesis does.  [exact]",
        default="exact",
    ),
    opt(
        "--horizon TIME",
        "Simulate no longer than this.  [as long as the verdict needs]",
        type=_FROM_ONE,
    ),
    opt(
        "--max-steps N",
        "Steps of simulation after which the answer is undecided.  [5000000]",
        to="budget",
        type=_FROM_ONE,
        default=5000000,
    ),
    opt("--run-on", "Continue after a missed deadline; late jobs keep their deadline."),
    opt(
        "--fail-on WHAT",
        "Exit with status 1 on a miss (the answer is no), undecided (no or undecided), or"
        " not-proved (anything but a proved yes).",
        type=OneOf("miss", "undecided", "not-proved"),
    ),
    opt("--gantt FILE.svg", "Draw the schedule into FILE."),
    opt("--perfetto FILE.json", "Write a trace for ui.perfetto.dev or chrome://tracing."),
    opt("--report FILE.html", "Write a page with verdict, tables, chart and response times."),
    opt(
        "--show-from TIME",
        "Time at which chart, trace and page begin.  [0, or the first miss in sight]",
        to="window_from",
        type=_TIME,
    ),
    opt(
        "--show-to TIME",
        "Time at which chart, trace and page end.  [after about 120 jobs; trace: 20000]",
        to="window_to",
        type=_FROM_ONE,
    ),
)
group.add(
    "sched_systems:tests",
    "List schedulability tests.",
)
