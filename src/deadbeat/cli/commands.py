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
    """Measure what every fragment of a pool costs on every core.

    deadbeat profile makes its own; use this to share one between campaigns (--calibration FILE). A
    calibration belongs to hardware, frequency policy and toolchain, and is refused elsewhere.""",
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
    """Compare campaigns of the identical programs, latency matrices, or load tests.

    A is the baseline; each is a path, or a name under the folder of results. B must have run A's
    own programs (deadbeat profile --programs-from A, or deadbeat stress --programs-from A for a
    stress campaign): anything else is refused, with what differs. Latency matrices must have been
    measured alike (interval, priority, policy, length); a cell is a load measured by an engine.
    Load tests must have the same settings (form, round, deadline, period, priority, policy, length,
    numbers of ordinary threads); a cell is a number of ordinary threads, without a remedy.

    The verdict is better, worse, equal or undecided: of every cell, of every metric over all cells,
    and overall. A difference counts only if chance, effects too small to matter, and drift of the
    machine (--aa) cannot explain it; measured campaigns are undecided without --aa.""",
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
    """Check whether this machine is ready for real-time work, and say what to change.

    Each check passes, fails, or is unknown with the reason (missing, denied, locked down): unknown
    is never a pass. Nothing is changed. Without root less can be read; what is missing is listed.

    --config and --cmdline examine another machine's kernel by its files alone, before it is booted.

    With --hardening-cost nothing is checked: two matrices of deadbeat latency are compared.""",
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
    """Explain what FINDING (its identifier, as in reports and JSON) means for the numbers.

    Without FINDING, list all findings, one per line.""",
    arg("finding", "[FINDING]", required=False),
)
root.add(
    "emitting:emit",
    "Write a task set as a C program for another system.",
    """Write task sets as a C tree that builds and runs with nothing of deadbeat: tables, fragments,
    the runtime's core, a port, a Makefile, and PORTING.md on what a port must supply.

    CAMPAIGN is a result, or a TOML file of parameters (with --calibration). The same task set gives
    the same bytes. deadbeat show FILE.jobs reads what the program leaves.""",
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
    """List the fragments with their cost, kind of blocking and availability on this machine.

    Costs are those of FILE, else of the latest campaign, else of deadbeat calibrate.""",
    CALIBRATION,
    POLICY,
    RUNS,
    *MACHINE,
)
root.add(
    "importing:import_files",
    "Read what cyclictest, rtla and other tools measured.",
    """Read results of other tools as one result, which show, compare and plot take.

    Knows cyclictest (JSON, histograms, summary lines), rtla timerlat, jitterdebugger, OSADL's RT
    Dataset, latency of Xenomai and latmus of EVL; packed by gzip, xz or zstd, in any encoding,
    pasted into a report or recorded from a terminal. Files of one load are its repeats; all must be
    of one machine and kernel. Without FILE, standard input is read. What a file does not say is
    asked for or assumed, and every assumption is printed.

    The result is in RUNS/NAME, named after the first file.""",
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
    """Check the paper's observations: confirmed, not confirmed, undecided, or what they need.

    Exit status 2 when nothing given by --from allows judging any of them.

    Each names its criterion and the numbers it rests on. Without --from, missing campaigns are run:
    one profile serves 1 to 4, a stress campaign with critical cores 5, a random one 6. A campaign
    that was finished here before, with the same parameters and on the same kernel, is not run
    again.

    \b
    deadbeat observe 1 2              run what is missing, judge
    deadbeat observe 1..4 --from paper
    deadbeat observe 7 8 --from A B   B ran the programs of A: --programs-from""",
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
    """Draw latency results of several kernels or machines by a preset.

    RUN is a folder that deadbeat latency wrote, or its name under the folder of results. Without
    PRESET, list the presets, what each takes and what it shows.""",
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
    """Predict the task sets of RESULT from MATRIX: who slows whom, pair by pair.

    MATRIX is a result of deadbeat interfere, or any that has prices of sharing: without RESULT its
    own task sets are predicted. RESULT is of deadbeat stress or profile (slowdowns are predicted)
    or of deadbeat breakdown (breakdown utilisations). Each set is replayed with its
    periods, offsets and uses; half of the measured sets say how far predictions are off, the other
    half how far that is true. On more cores than MATRIX had, predictions are extrapolated.""",
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
    """Rebuild summary.csv, summary.json, report.html and the figures of a campaign.

    RUN is a path, or a name under the folder of results; the latest by default. For an unfinished
    campaign the report covers what has been measured. A latency matrix has latency.csv instead of
    the summaries; load tests, breakdown searches and studies have the same files as campaigns.""",
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
    """List campaigns, latency matrices, load tests, breakdown searches and studies.

    Each is finished, measured (report missing), unfinished (resumable) or damaged; a folder with
    runs, but without the file that describes them, is damaged too.""",
    RUNS,
)
root.add(
    "machine:selftest",
    "Check with known answers that measuring works here.",
    """Run controls whose answer is known.

    Negative controls must show nothing, positive ones must be recovered. Exit status 1 when one
    fails; an undecided one (its interval is too wide) does not fail.""",
    opt("--duration TIME", "Time the controls may take.  [60s]", to="seconds"),
    CPUS,
    CALIBRATION,
    *MACHINE,
)
root.add(
    "results:show",
    "Show a result: answer, tables, findings.",
    """Show a result: its answer and tables, and what makes them doubtful.

    The tables are the points of a campaign, the cells of a latency matrix, or the misses, remedies
    and causes of a load test.

    RUN is a path, or a name under the folder of results; the latest by default. A FILE.jobs is what
    one run of a program of deadbeat emit left.""",
    RUN,
    RUNS,
    told=(JSON, OPENMETRICS),
)
root.add(
    "results:version",
    "Show the version.",
    """Show the version of deadbeat and of its dependencies.""",
)
root.add(
    "watch:watch",
    "Follow a result in a browser while it is measured.",
    """Serve the page of RUN on this machine alone, and follow it while another deadbeat measures.

    The address holds a secret word; nothing else is served. It works at idle priority, and only
    when a browser asks. Ctrl-C ends it and leaves the measurement alone.""",
    RUN,
    opt("--port N", "Port to serve on; 0 takes a free one.  [0]", type=whole(0, 65535), default=0),
    opt("--open", "Open the page in a browser.", to="show"),
    RUNS,
    told=(),
)
root.add(
    "results:why",
    "Explain why the worst jobs or wake-ups were late.",
    """Explain where the time of a campaign's worst jobs went, and who used it; or of a latency
    matrix's worst traced wake-ups.

    RUN is a path, or a name under the folder of results; the latest by default. A campaign needs
    --causes; with --split alone there are no scheduling events, so no names. A matrix needs --trace
    or --keep-above. For a load test, deadbeat show names the causes; --perfetto writes its longest
    round.""",
    RUN,
    opt("--worst K", "Number of jobs to show.  [20]", type=whole(1, 1000), default=20),
    opt(
        "--perfetto FILE.json",
        "Write what went on around the worst ones as a trace for ui.perfetto.dev.",
    ),
    RUNS,
)
