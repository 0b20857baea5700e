"""Every command but those that measure: its options and its help; ``does`` names what it does.

``deadbeat --help`` and the help of these commands need this module alone.
"""

from __future__ import annotations

from pathlib import Path

import click

from deadbeat.cli._options import (
    CALIBRATION,
    CI,
    CPUS,
    DATADIR,
    FIGURES,
    JSON,
    MACHINE,
    MEASURING,
    OPENMETRICS,
    POLICY,
    RT_CPUS,
    RUN,
    RUNS,
    TARGET,
    OneOf,
    Ruled,
    Verbs,
    arg,
    one_of,
    opt,
    run_names,
    whole,
)
from deadbeat.kinds import KINDS

root = Verbs(
    {
        "breakdown": (MEASURING, "Find the utilisation up to which deadlines hold."),
        "interfere": (MEASURING, "Show whose work slows whose, from core to core."),
        "latency": (MEASURING, "Measure how late tasks wake up, under background loads."),
        "load": (MEASURING, "Count deadlines missed among ordinary threads."),
        "primitives": (MEASURING, "Time what real-time programs are made of."),
        "profile": (MEASURING, "Map slowdown and misses over cores and contention."),
        "run": (MEASURING, "Measure a periodic program of your own."),
        "stress": (MEASURING, "Measure slowdown and misses of random task sets."),
        "lab": ("lab_commands:group", "Compare kernels in virtual machines, without hardware."),
        "sched": (
            "sched_commands:group",
            "Simulate and analyse schedulability.",
        ),
        "targets": ("target_commands:group", "Say what a machine can and cannot do."),
        "tune": (
            "tune_commands:group",
            "Change settings for real-time work, and put them back.",
        ),
    },
    KINDS,
    name="deadbeat",
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    params=[
        click.Option(
            ["-q", "--quiet"], is_flag=True, help="Print only the answer and errors, no progress."
        ),
        opt("--no-color", "Print without colours; NO_COLOR does the same."),
        opt("--debug", "Show the traceback of an unexpected error."),
        opt("--version", "Show the version."),
    ],
    help="""Finds out where a multi-core Linux system starts missing its deadlines, and why.

\b
Start with one of these:
  deadbeat doctor            is this machine fit for real-time work? (seconds)
  deadbeat latency --quick   how late does a real-time task wake up? (1 minute)
  deadbeat load --quick      who makes it miss its deadlines, and what helps? (2 minutes)
  deadbeat profile --quick   how much do cores slow each other down? (3 minutes)
""",
)

root.add(
    "machine:calibrate",
    "Measure what each fragment costs on this machine.",
    opt("--out FILE", "File to write the calibration to.  [RUNS/calibration.json]"),
    opt(
        "--pool full|quick|portable",
        "Fragments to calibrate: all, a quick selection, or those of every port.  [full]",
        default="full",
    ),
    opt("--duration TIME", "Time the calibration may take.  [100s]", to="seconds"),
    opt(
        "--cost-basis warm|cold",
        "Calibrate the first use of a fragment with warm or with cold caches.  [warm]",
        to="basis",
        default="warm",
    ),
    CPUS,
    POLICY,
    opt(
        "--layout NAME",
        "How cores share memory: default (a process each) or shared-address-space (one)."
        "  [default]",
        type=OneOf("default", "shared-address-space"),
        default="default",
    ),
    RUNS,
    *MACHINE,
)
root.add(
    "compare:compare",
    "Compare kernels, machines or settings.",
    arg("campaigns", "A B [C...]", nargs=-1, shell_complete=run_names),
    opt(
        "--aa RUN",
        "Repeat of A on its machine: shows how far results differ without a change; may be"
        " repeated.",
        multiple=True,
        shell_complete=run_names,
    ),
    opt(
        "--metric NAME",
        "Compare this figure only; may be repeated. Of task sets: slowdown, delay_ratio,"
        " deadline_miss_ratio; of latencies: p50, mean, p99, p99.9, max, missed_ratio; of load"
        " tests: deadline_miss_ratio, response_p50, response_p99, response_max, work_lost.  [all]",
        multiple=True,
    ),
    opt(
        "--minimum-effect X",
        "Smallest relative difference that matters.  [0.02; latencies 0.1; load tests 0.05]",
        type=float,
    ),
    opt(
        "--minimum-miss X",
        "Smallest difference of miss ratios that matters.  [0.005; latencies 0.001]",
        type=float,
    ),
    opt(
        "--fail-on VERDICT",
        "Exit with status 1 when the verdict is worse, different (worse or better) or undecided"
        " (worse, or any metric undecided).",
        type=OneOf("worse", "different", "undecided"),
        multiple=True,
    ),
    *(
        opt(name, "", type=int, expose_value=False, hidden=True)
        for name in ("--seed N", "--resamples N")
    ),
    opt(
        "--ungated",
        "Give a verdict without --aa, from an estimated drift; results are labelled ungated.",
    ),
    opt("--per-cpu", "Compare the latencies of each CPU on its own."),
    opt("--allow-mixed", "Allow comparing simulated with measured results; labelled."),
    opt("--partial", "Allow unfinished results, as far as they are; labelled."),
    opt("--out FOLDER", "Folder for page and figures.  [RUNS/compare-A-B]"),
    opt("--all", "Print every table, and what each verdict rests on.", to="show_all"),
    FIGURES,
    RUNS,
    told=(JSON, *CI),
)
root.add(
    "doctor:doctor",
    "Check whether this machine is ready for real-time work.",
    opt(
        "--workload KIND",
        "Kind of real-time work (periodic, compute, mixed); decides where advice conflicts."
        "  [mixed]",
        type=OneOf("periodic", "compute", "mixed"),
    ),
    RT_CPUS,
    opt(
        "--only FAMILY",
        "Run only these checks: kernel, memory, ...; may be repeated.",
        type=one_of("settings.doctor:families"),
        multiple=True,
    ),
    opt("--all", "Print every check with its cause and cure, and the inventory.", to="show_all"),
    opt(
        "--fail-on SEVERITY",
        "Exit with status 1 when a check this grave fails: fatal, high, medium, low or info.",
        type=OneOf("fatal", "high", "medium", "low", "info"),
    ),
    TARGET,
    opt(
        "--config FILE",
        "Examine a kernel's build configuration (.config, config.gz) instead of a machine.",
        type=click.Path(path_type=Path),
    ),
    opt(
        "--cmdline FILE",
        "Examine a kernel's boot command line instead of a machine.",
        type=click.Path(path_type=Path),
    ),
    opt("--html", "Write the answer as a page, too."),
    opt(
        "--out FILE",
        "File to write the page to; implies --html.  [doctor.html]",
        type=click.Path(path_type=Path, dir_okay=False),
    ),
    opt(
        "--hardening-cost A B",
        "Compare latencies measured without and with hardening: what does it cost?",
        nargs=2,
    ),
    RUNS,
    told=(JSON, OPENMETRICS, *CI),
)
root.add(
    "results:explain",
    "Explain what a finding means for the numbers.",
    arg("finding", "[FINDING]", required=False),
)
root.add(
    "emitting:emit",
    "Write a task set as a C program for another system.",
    arg("campaign", "CAMPAIGN", shell_complete=run_names),
    opt("--out FOLDER", "Folder to write; it must not exist, or be empty.", required=True),
    opt(
        "--set KEY",
        "Task set to write, by its key; may be repeated.  [the first]",
        to="keys",
        multiple=True,
    ),
    opt(
        "--port posix|template|freertos",
        "System it is for: POSIX threads, FreeRTOS, or a port to fill in.  [posix]",
        type=OneOf("posix", "template", "freertos"),
        default="posix",
    ),
    CALIBRATION,
    RUNS,
)
root.add(
    "machine:fragments",
    "List the fragments that task sets are made of.",
    CALIBRATION,
    POLICY,
    RUNS,
    *MACHINE,
)
root.add(
    "importing:import_files",
    "Read what cyclictest, rtla and other tools measured.",
    arg("files", "[FILE]...", nargs=-1, type=click.Path(path_type=Path)),
    opt("--name NAME", "Name of the folder of results.  [the first file's]"),
    opt("--load LOAD", "Background load of files that do not say it: idle, cpu:50.  [unknown]"),
    opt("--interval TIME", "Period of files that do not say it: 1ms."),
    opt("--priority N", "Priority of files that do not say it."),
    opt("--duration TIME", "Measuring time of files that do not say it: 10s, 1m."),
    opt("--unit ns|us", "Unit of latencies in files that do not say it."),
    opt("--limits LIST", "Report how often latency exceeds each limit: 100us,1ms."),
    FIGURES,
    RUNS,
    name="import",
)
root.add(
    "observe:observe",
    "Check which published observations hold here.",
    arg("what", "[1..9|all]...", nargs=-1),
    opt(
        "--from RUN...",
        "Judge these stored results, run nothing; 7 to 9 need the same programs on two kernels.",
        to="sources",
        multiple=True,
        shell_complete=run_names,
    ),
    opt("--quick", "Measure few task sets on a coarse grid: fast, wide intervals."),
    opt("--fresh", "Begin anew, even where stored results answer it."),
    FIGURES,
    RUNS,
    *MACHINE,
)
root.add(
    "plot:plot",
    "Draw latencies of several kernels or machines.",
    arg("preset", "[PRESET]", default=""),
    arg("results", "[RUN...]", nargs=-1, shell_complete=run_names),
    opt("--out FOLDER", "Folder for page and pictures.  [RUNS/plot-PRESET]"),
    opt("--names A,B", "Names to show for the results.  [their folders]"),
    opt("--load LOAD", "Load to draw: idle, 50, cpu:75, memory.  [the preset's]"),
    opt("--engine NAME", "Engine whose measurements are drawn.  [prober, else one that all have]"),
    opt(
        "--inventory FILE",
        "Output of deadbeat doctor --json for each system, in the order of the results. "
        " [doctor.json in their folders]",
        multiple=True,
    ),
    opt(
        "--format LIST",
        "Formats of the pictures; none writes the page alone.",
        to="formats",
        default="png,svg,pdf",
        show_default=True,
    ),
    RUNS,
)
root.add(
    "predict:predict",
    "Predict slowdown and breakdown of task sets.",
    arg("matrix", "MATRIX", shell_complete=run_names),
    arg("result", "[RESULT]", required=False, shell_complete=run_names),
    opt(
        "--cores LIST",
        "Predict some sets on other numbers of cores, too: 4,16,64.  [their own alone]",
        type=Ruled("CORE_COUNTS"),
    ),
    opt("--out FOLDER", "Folder for page and tables.  [RUNS/predict-RESULT-from-MATRIX]"),
    FIGURES,
    RUNS,
)
root.add(
    "results:report",
    "Rebuild tables, page and figures of a result.",
    RUN,
    click.Option(
        ["--figures/--no-figures"], default=True, help="Draw PNG, SVG and PDF too.  [yes]"
    ),
    DATADIR,
    RUNS,
)
root.add(
    "results:runs",
    "List the results and their state.",
    RUNS,
)
root.add(
    "machine:selftest",
    "Check with known answers that measuring works here.",
    opt("--duration TIME", "Time the controls may take.  [60s]", to="seconds"),
    CPUS,
    CALIBRATION,
    *MACHINE,
)
root.add(
    "results:show",
    "Show a result: answer, tables, findings.",
    RUN,
    RUNS,
    told=(JSON, OPENMETRICS),
)
root.add(
    "results:version",
    "Show the version.",
)
root.add(
    "watch:watch",
    "Follow a result in a browser while it is measured.",
    RUN,
    opt("--port N", "Port to serve on; 0 takes a free one.  [0]", type=whole(0, 65535), default=0),
    opt("--open", "Open the page in a browser.", to="show"),
    RUNS,
    told=(),
)
root.add(
    "results:why",
    "Explain why the worst jobs or wake-ups were late.",
    RUN,
    opt("--worst K", "Number of jobs to show.  [20]", type=whole(1, 1000), default=20),
    opt(
        "--perfetto FILE.json",
        "Write what went on around the worst ones as a trace for ui.perfetto.dev.",
    ),
    RUNS,
)
