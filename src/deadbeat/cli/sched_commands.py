"""``deadbeat sched``: the schedulability lab; its commands, as `deadbeat.cli.commands` has them."""

from __future__ import annotations

from pathlib import Path

import click

from deadbeat.cli._options import (
    JSON,
    MEASURING,
    PATH,
    RUN,
    RUNS,
    OneOf,
    Verbs,
    add,
    arg,
    one_of,
    opt,
)

_TIME, _FROM_ONE = click.IntRange(0, 1 << 60), click.IntRange(1, 1 << 60)


_FILE = arg("file", "FILE", type=PATH)
_PROCESSORS = opt(
    "--processors M",
    "Wins over the file's; a CSV file may have none.",
    type=click.IntRange(1, 1024),
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
            "Simulate and test thousands of random task systems; check conclusions.",
        )
    },
    name="sched",
    help="""Simulate and analyse schedulability; studies of random task systems.

Start with: deadbeat sched simulate examples/sched/dhall.json""",
)

add(
    group,
    "analyze",
    "sched_analyze:analyze",
    "Run schedulability tests: which accept, the cheapest proof.",
    """Run the schedulability tests on the task system in FILE, cheapest first.

    accepted and refuted are proofs; not accepted says nothing. A test that holds for sporadic
    releases holds for periodic ones at any offsets.""",
    _FILE,
    _PROCESSORS,
    opt(
        "--scheduler NAME",
        "Only tests of this policy: g-edf, p-edf...  [all]",
        type=one_of("sched.analysis:schedulers"),
    ),
    opt(
        "--test NAME",
        "Only this test; repeatable.  [all]",
        to="names",
        type=one_of("sched.analysis:tests"),
        multiple=True,
    ),
    opt(
        "--ties RULE", "Orders equal priorities.  [index]", type=one_of("sched.simulator:tie_rules")
    ),
    *_placing(
        priorities="Of fixed-priority tests.  [rm]",
        partition="Of partitioned tests.  [auto: first-fit]",
        order="Likewise.  [utilisation-desc]",
        admission="Likewise.  [utilisation]",
    ),
    opt(
        "--blocking TIME",
        "Longest non-preemptive section, of tests of one processor.  [0]",
        type=_TIME,
        default=0,
    ),
    opt(
        "--budget N",
        "Steps after which a test is undecided.  [50000000]",
        type=_FROM_ONE,
        default=50000000,
    ),
    opt("--simulate", "Beside each scheduler, what simulation says."),
    opt(
        "--model NAME",
        "Of the simulation: periodic-sync, periodic-offset or sporadic.  [periodic-sync;"
        " with offsets the second]",
        type=one_of("sched.simulator:MODELS"),
    ),
    JSON,
)
add(
    group,
    "convert",
    "sched_systems:convert",
    "Convert a task-system file: JSON, CSV, from SimSo XML.",
    """Convert the task system in FILE (JSON, CSV, SimSo XML; - for standard input) to OUT.

    OUT ends in .json or .csv, or is - for JSON on standard output. Nothing is rounded: times of a
    SimSo file become integers of the coarsest unit in which all of them are whole.""",
    _FILE,
    _PROCESSORS,
    arg("out", "OUT", type=PATH),
    opt("--whole-cycles", "Cut the times of a SimSo file to whole cycles, as SimSo does."),
    opt("--force", "Replace OUT where it exists."),
)
add(
    group,
    "generate",
    "sched_systems:generate",
    "Draw random task systems, into files.",
    """Draw random task systems.

    System number i depends on the other options, the seed and i alone. On standard output several
    systems are a line of JSON each.

    Start with: deadbeat sched generate --utilisation 3.2 --count 5 --out systems""",
    opt("--processors M", "Identical processors.  [4]", type=int),
    opt("--tasks N", "Tasks of a system.  [10]", type=int),
    opt("--utilisation U", "Sum of C/T aimed at.  [2.0]", type=float),
    opt("--utilisations NAME", "Distribution of the tasks' utilisations.  [randfixedsum]"),
    opt("--low X", "Least utilisation of a task.  [0]", type=float),
    opt("--high X", "Largest utilisation of a task.  [1]", type=float),
    opt("--mean X", "exponential: its mean.  [U/N]", type=float),
    opt("--heavy-share X", "bimodal: probability of a heavy task.  [0.33]", type=float),
    opt("--split X", "bimodal: where heavy tasks begin.  [0.5]", type=float),
    opt("--periods NAME", "Distribution of the periods.  [lcm-limited]"),
    opt("--period-low T", "Shortest period.  [10]", type=int),
    opt("--period-high T", "Longest period.  [250]", type=int),
    opt("--granularity T", "Periods are multiples of it.  [1]", type=int),
    opt("--lcm-limit T", "The hyper-period stays below it.  [100000]", type=int),
    opt("--deadlines NAME", "implicit, constrained or arbitrary.  [implicit]"),
    opt("--deadline-low X", "D from here: place in [C, T], or factor of T.  [0]", type=float),
    opt("--deadline-high X", "D to here.  [1; arbitrary: 2]", type=float),
    opt("--offsets NAME", "zero or uniform.  [zero]"),
    opt("--tolerance X", "Allowed distance from U.  [0.02 M]", type=float),
    opt("--attempts N", "Draws before a system is given up.  [100000]", type=int),
    opt("--count K", "Systems.  [1]", type=click.IntRange(1), default=1),
    opt("--seed N", "All derives from it.  [1]", type=int, default=1),
    opt("--first N", "Number of the first.  [0]", type=click.IntRange(0), default=0),
    opt(
        "--out FOLDER|-",
        "Where system-00000.json and so on go, or standard output.  [-]",
        type=PATH,
        default=Path("-"),
    ),
    opt("--force", "Replace files that exist."),
    opt("--list", "List the distributions, draw nothing.", to="listing"),
)
add(
    group,
    "policies",
    "sched_systems:policies",
    "List scheduling policies, options and tie rules.",
    """List the policies: reference, what they look at, what a simulation of them proves.""",
    JSON,
)
add(
    group,
    "predict",
    "sched_analyze:predict",
    "Predicted beside measured response times of a campaign.",
    """Simulate the task sets of a campaign under the policy they ran with.

    RUN is a path, or a name under the folder of campaigns; the latest by default. With SET (a key
    of sets.csv) every task of that set is shown; else a line per set. Predicted figures are
    simulated: partitioned SCHED_FIFO, every job taking exactly its C.""",
    RUN,
    arg("key", "[SET]", default=""),
    RUNS,
    JSON,
)
add(
    group,
    "simulate",
    "sched_simulate:simulate",
    "Simulate a task system: schedulable or not, and what proves it.",
    """Simulate the task system in FILE (JSON, CSV, SimSo XML; - for standard input).

    The answer is yes, no or undecided, with what it rests on: it is proved for the model, or it
    holds for what was simulated only. --ties all asks every tie rule: robust (schedulable under
    each of them), fragile (under some) or never.

    Exit status 0 whatever the answer, 1 with --fail-on.""",
    _FILE,
    _PROCESSORS,
    opt(
        "--policy NAME",
        "Scheduling policy; deadbeat sched policies lists them.  [g-edf]",
        type=one_of("sched.simulator:policies"),
        default="g-edf",
    ),
    opt(
        "--ties RULE|all",
        "Who wins between equals.  [index]",
        type=one_of("sched.simulator:tie_rules", more=("all",)),
        default="index",
    ),
    *_placing(
        priorities="Of fixed-priority policies.  [rm]",
        partition="first-, next-, best-, worst-fit or auto.  [auto]",
        order="In which tasks are placed.  [utilisation-desc]",
        admission="utilisation, density or exact.  [utilisation]",
        unplaced="A task that fits nowhere: reject or least-loaded.",
        balance="Loose clustered: none, offline, pull, both, sticky...",
    ),
    opt("--cluster-size C", "Processors of a cluster.  [2]", type=click.IntRange(1, 1024)),
    opt("--threshold X", "EDF-US: tasks above it come first, like 1/2.  [m/(2m-1)]"),
    *(
        opt(f"--cost-{name} TIME", f"{text}  [0]", type=_TIME, default=0)
        for name, text in (
            ("context-switch", "A processor takes up another job."),
            ("migration", "A job resumes, or a task continues, on another processor."),
            ("cache-reload", "A job resumes where another one ran meanwhile."),
        )
    ),
    opt(
        "--model NAME",
        "periodic-sync, periodic-offset or sporadic.  [periodic-sync; with offsets the second]",
        type=one_of("sched.simulator:MODELS"),
    ),
    opt(
        "--method exact|thesis",
        "thesis: two hyper-periods, states compared at their ends.  [exact]",
        default="exact",
    ),
    opt(
        "--horizon TIME",
        "Simulate no longer than this.  [as long as the verdict needs]",
        type=_FROM_ONE,
    ),
    opt(
        "--budget N",
        "Scheduling points after which the answer is undecided.  [5000000]",
        type=_FROM_ONE,
        default=5000000,
    ),
    opt("--run-on", "Go on past a miss: late jobs keep their deadline."),
    opt(
        "--fail-on WHAT",
        "Exit status 1 on: miss (the answer is no), undecided (no or undecided), not-proved"
        " (any but a proved yes).",
        type=OneOf("miss", "undecided", "not-proved"),
    ),
    opt("--gantt FILE.svg", "Draw the schedule.", type=PATH),
    opt("--trace FILE.json", "Write a trace for ui.perfetto.dev or chrome://tracing.", type=PATH),
    opt(
        "--report FILE.html",
        "Write a page: verdict, tables, zoomable chart, response times.",
        type=PATH,
    ),
    opt(
        "--from TIME",
        "Where chart, trace and page begin.  [0, or the first miss in sight]",
        to="window_from",
        type=_TIME,
    ),
    opt(
        "--to TIME",
        "Where they end.  [after about 120 jobs; trace: 20000]",
        to="window_to",
        type=_FROM_ONE,
    ),
    JSON,
)
add(
    group,
    "tests",
    "sched_systems:tests",
    "List schedulability tests.",
    """List the schedulability tests, cheapest first: scheduler, deadlines, kind, reference.""",
    JSON,
)
