"""Every command but those that measure: its options and its help; ``does`` names what it does.

``deadbeat --help`` and the help of these commands need this module alone.
"""

from __future__ import annotations

from pathlib import Path

import click

from deadbeat.cli._options import (
    CALIBRATION,
    CPUS,
    FIGURES,
    JSON,
    MACHINE,
    MEASURING,
    PATH,
    POLICY,
    RT_CPUS,
    RUN,
    RUNS,
    OneOf,
    Verbs,
    add,
    arg,
    one_of,
    opt,
    run_names,
)
from deadbeat.kinds import KINDS

root = Verbs(
    {
        "breakdown": (MEASURING, "Find up to which utilisation task sets meet their deadlines."),
        "latency": (MEASURING, "Measure wake-up latency on every core, beside background loads."),
        "load": (MEASURING, "Count missed deadlines of a real-time thread among ordinary threads."),
        "profile": (MEASURING, "Profile this machine: slowdown and misses over M, rho and alpha."),
        "stress": (MEASURING, "Stress this machine with random task sets."),
        "sched": (
            "sched_commands:group",
            "Simulate and analyse schedulability; studies of random task systems.",
        ),
        "tune": (
            "tune_commands:group",
            "Change settings of this machine for real-time work, and put them back exactly.",
        ),
    },
    KINDS,
    name="deadbeat",
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    params=[
        opt("--debug", "Show the traceback of an unexpected error."),
        opt("--version", "Show the version."),
    ],
    help="""Finds out where a multi-core Linux system starts missing its deadlines, and why.

\b
Start with one of these:
  deadbeat doctor            what of this machine and kernel stands in the way
  deadbeat latency --quick   how late a real-time task wakes up, beside loads
  deadbeat load --quick      deadlines missed among ordinary threads, and remedies
  deadbeat profile --quick   how tasks slow each other down through what they share
""",
)

add(
    root,
    "calibrate",
    "machine:calibrate",
    "Measure what every fragment costs on this machine.",
    """Measure what every entry of a pool costs on every core.

    deadbeat profile makes its own; use this to share one between campaigns (--calibration FILE). A
    calibration belongs to hardware, frequency policy and toolchain, and is refused elsewhere.""",
    opt("--out FILE", "Where to write it.  [RUNS/calibration.json]", type=PATH),
    opt("--pool full|quick", "Which entries.  [full]", default="full"),
    opt("--seconds S", "Time it may take.  [100]"),
    opt("--cost-basis warm|cold", "Cost of a first use.  [warm]", to="basis", default="warm"),
    CPUS,
    POLICY,
    opt(
        "--layout NAME",
        "default, or shared-address-space: one process for all cores.",
        type=OneOf("default", "shared-address-space"),
        default="default",
    ),
    RUNS,
    *MACHINE,
    JSON,
)
add(
    root,
    "compare",
    "compare:compare",
    "Compare two kernels: identical programs, latencies, load tests.",
    """Compare campaigns of the identical programs, latency matrices, or load tests.

    A is the baseline; each is a path, or a name under the folder of campaigns. B must have run A's
    own programs (deadbeat profile --programs-from A, or deadbeat stress --programs-from A for a
    stress campaign): anything else is refused, with what differs. Latency matrices must have been
    measured alike (interval, priority, policy, length); a cell is a load measured by an engine.
    Load tests must have asked the same (form, round, deadline, period, priority, policy, length,
    numbers of ordinary threads); a cell is such a number, without a remedy.

    The verdict is better, worse, equal or undecided: of every cell, of every metric over all cells,
    and overall. A difference is called one when chance, the smallest effect that matters, and what
    this machine shows without a reason (--aa) are all ruled out; measured campaigns are undecided
    without --aa.""",
    arg("campaigns", "A B [C...]", nargs=-1, shell_complete=run_names),
    opt(
        "--aa RUN",
        "A repeat of A on its machine: shows what differs without a reason. May be repeated.",
        multiple=True,
        shell_complete=run_names,
    ),
    opt(
        "--metric NAME",
        "slowdown, delay_ratio or deadline_miss_ratio; of latencies p50, mean, p99, p99.9,"
        " max or missed_ratio; of load tests deadline_miss_ratio, response_p50,"
        " response_p99, response_max or work_lost; may be repeated.  [all]",
        multiple=True,
    ),
    opt(
        "--minimum-effect X",
        "Smallest relative difference of ratios, latencies or response times, and of shares"
        " of work, that matters.  [0.02; latencies 0.1; load tests 0.05]",
        type=float,
    ),
    opt(
        "--minimum-miss X",
        "Smallest difference of miss ratios that matters.  [0.005; latencies 0.001]",
        type=float,
    ),
    opt(
        "--fail-on VERDICT",
        "Exit status 1 when the verdict is worse; different: worse or better; undecided:"
        " worse, or any metric undecided.",
        type=OneOf("worse", "different", "undecided"),
        multiple=True,
    ),
    *(
        opt(name, "", type=int, expose_value=False, hidden=True)
        for name in ("--seed N", "--resamples N")
    ),
    opt(
        "--ungated",
        "Decide what was measured without --aa: how far sessions drift is guessed; labelled.",
    ),
    opt("--per-cpu", "Latencies: each CPU is a cell of its own."),
    opt("--allow-mixed", "Also simulated beside measured; labelled."),
    opt("--partial", "Also what is unfinished: what is there so far; labelled."),
    opt("--out DIR", "Folder for page and figures.  [RUNS/compare-A-B]", type=PATH),
    FIGURES,
    RUNS,
    JSON,
)
add(
    root,
    "doctor",
    "doctor:doctor",
    "Check whether this machine is ready for real-time work.",
    """Check whether this machine is ready for real-time work, and say what to change.

    Each check passes, fails, or is unknown with the reason (missing, denied, locked down): unknown
    is never a pass. Nothing is changed; an ordinary user sees less, and is told what.

    With --hardening-cost nothing is checked: two matrices of deadbeat latency are compared.""",
    opt(
        "--workload KIND",
        "periodic, compute or mixed: where the sources disagree by it.  [mixed]",
        type=OneOf("periodic", "compute", "mixed"),
    ),
    RT_CPUS,
    opt(
        "--only FAMILY",
        "Only these checks: kernel, memory, ...; may be repeated.",
        type=one_of("settings.doctor:families"),
        multiple=True,
    ),
    opt("--all", "Also print what passes.", to="show_all"),
    opt(
        "--fail-on SEVERITY",
        "Exit status 1 when a check of fatal, high, medium, low or info, or a graver one, fails.",
        type=OneOf("fatal", "high", "medium", "low", "info"),
    ),
    opt("--html", "Also write a page."),
    opt(
        "--out FILE",
        "Where the page goes; also --html.  [doctor.html]",
        type=click.Path(path_type=Path, dir_okay=False),
    ),
    opt(
        "--hardening-cost A B",
        "What the hardening that differs between two latency matrices cost: without it, with it.",
        nargs=2,
    ),
    RUNS,
    JSON,
)
add(
    root,
    "explain",
    "results:explain",
    "What a finding means for the numbers.",
    """Say what FINDING (its identifier, as in reports and JSON) does to the numbers.

    Without FINDING: all that are known, a line each.""",
    arg("finding", "[FINDING]", required=False),
    JSON,
)
add(
    root,
    "fragments",
    "machine:fragments",
    "List fragments: cost, blocking, availability here.",
    """List the fragments with their cost, kind of blocking and availability on this machine.

    Costs are those of FILE, else of the latest campaign, else of deadbeat calibrate.""",
    CALIBRATION,
    POLICY,
    RUNS,
    *MACHINE,
    JSON,
)
add(
    root,
    "observe",
    "observe:observe",
    "Check the paper's nine observations.",
    """Check the paper's observations: confirmed, not confirmed, undecided, or what they need.

    Exit status 2 where --from gives nothing that any of them could be judged from.

    Each names its criterion and the numbers it rests on. Without --from the campaigns that are
    lacking are run: one profile serves 1 to 4, a stress campaign with critical cores 5, a random
    one 6. A campaign that was finished here before, with the same parameters and on the same
    kernel, is not run again.

    \b
    deadbeat observe 1 2              run what is lacking, judge
    deadbeat observe 1..4 --from paper
    deadbeat observe 7 8 --from A B   B ran the programs of A: --programs-from""",
    arg("what", "[1..9|all]...", nargs=-1),
    opt(
        "--from RUN...",
        "Judge these stored campaigns; run nothing. 7 to 9 need the same programs on two kernels.",
        to="sources",
        multiple=True,
        shell_complete=run_names,
    ),
    opt("--quick", "Few task sets on a coarse grid: wide intervals."),
    opt("--fresh", "Begin anew, also where a campaign answers it already."),
    FIGURES,
    RUNS,
    *MACHINE,
    JSON,
)
add(
    root,
    "plot",
    "plot:plot",
    "Draw latency results of several kernels or machines by a preset.",
    """Draw latency results of several kernels or machines by a preset.

    RUN is a folder that deadbeat latency wrote, or its name under the folder of results. Without
    PRESET: lists the presets, what each takes and what it shows.""",
    arg("preset", "[PRESET]", default=""),
    arg("results", "[RUN...]", nargs=-1, shell_complete=run_names),
    opt(
        "--out FOLDER",
        "Where page and pictures go.  [plot-PRESET in the folder of results]",
        type=PATH,
    ),
    opt("--names A,B", "What the results are called.  [their folders]"),
    opt("--load LOAD", "Of one load: idle, 50, cpu:75, memory.  [PRESET's]"),
    opt("--engine NAME", "Whose measurements.  [prober, else what all have]"),
    opt(
        "--inventory FILE",
        "What deadbeat doctor --json said of each system, in the order of the"
        " results.  [doctor.json in their folders]",
        multiple=True,
        type=PATH,
    ),
    opt(
        "--format LIST",
        "Of the pictures; none: the page alone.",
        to="formats",
        default="png,svg,pdf",
        show_default=True,
    ),
    RUNS,
    JSON,
)
add(
    root,
    "report",
    "results:report",
    "Rebuild summary, page and figures of a campaign.",
    """Rebuild summary.csv, summary.json, report.html and the figures of a campaign.

    RUN is a path, or a name under the folder of campaigns; the latest by default. A campaign that
    is not finished gives the report of what there is. Of a latency matrix: latency.csv, report.html
    and the figures; of a load test, a search for the breakdown utilisation or a study the same
    files as of a campaign.""",
    RUN,
    FIGURES,
    RUNS,
    JSON,
)
add(
    root,
    "runs",
    "results:runs",
    "List results and how far they are.",
    """List campaigns, latency matrices, load tests, breakdown searches and studies.

    Each is finished, measured (report missing), unfinished (resumable) or damaged; a folder that
    holds runs, but not the file that says whose, is damaged too.""",
    RUNS,
    JSON,
)
add(
    root,
    "selftest",
    "machine:selftest",
    "Check on known answers that this machine can be measured.",
    """Run controls whose answer is known.

    Negative controls must show nothing, positive ones must be recovered. Exit status 1 when one
    fails; an undecided one (its interval is too wide) does not fail.

    With --causes only this: a hog, a lock holder, throttling and a migration are injected, and
    each must be named in 95 % of its trials; exit status 1 as well when that is undecided.""",
    opt("--seconds S", "Time it may take.  [60]"),
    CPUS,
    opt("--causes", "Make jobs late on purpose: is the cause named?"),
    opt(
        "--trials N",
        "Of each cause, with --causes.  [20]",
        type=click.IntRange(1, 1000),
        default=20,
    ),
    CALIBRATION,
    *MACHINE,
    JSON,
)
add(
    root,
    "show",
    "results:show",
    "Show the results of a campaign, latency matrix or load test.",
    """Show the points of a campaign or the cells of a latency matrix, and what makes them doubtful;
    of a load test its table, remedies and causes; of a search for the breakdown utilisation or a
    study its answer.

    RUN is a path, or a name under the folder of campaigns; the latest by default.""",
    RUN,
    RUNS,
    JSON,
)
add(
    root,
    "version",
    "results:version",
    "Show the version.",
    """Show the version of deadbeat, and of what it stands on.""",
    JSON,
)
add(
    root,
    "why",
    "results:why",
    "Say why the worst jobs, or wake-ups, were late.",
    """Say where the time of a campaign's worst jobs went, and who had it; of a latency matrix the
    same of its worst traced wake-ups.

    RUN is a path, or a name under the folder of campaigns; the latest by default. A campaign must
    have been run with --causes, or with --split: then there are no scheduling events, and no names.
    A matrix must have been measured with --trace or --keep-above. What took the time in a load test
    is part of deadbeat show.""",
    RUN,
    opt("--worst K", "Number of jobs to show.  [20]", type=click.IntRange(1, 1000), default=20),
    RUNS,
    JSON,
)
