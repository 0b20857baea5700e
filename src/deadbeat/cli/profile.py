"""``deadbeat profile``: the main job, from a question to a report."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from deadbeat.cli._options import (
    calibration_option,
    figures_option,
    json_option,
    machine_options,
    runs_option,
)

F = TypeVar("F", bound=Callable[..., Any])

#: Option, path in the specification, metavar, help. The rules of the values are in campaign.spec.
_VALUES: tuple[tuple[str, str, str, str], ...] = (
    ("--name", "name", "NAME", "Name of the campaign's folder.  [the preset's]"),
    ("--seed", "seed", "N", "Everything random derives from it.  [1]"),
    ("--cores", "cores", "LIST", "Core counts M: 1,2,4 or 1..4 or all."),
    ("--cpus", "cpus", "LIST", "CPUs to use, in the order of the cores: 0-3."),
    ("--sync-share", "grid.sync_share", "LIST", "Values of rho: 0,0.5,1 or step=0.1."),
    ("--contended-ratio", "grid.contended_ratio", "LIST", "Values of alpha, likewise."),
    ("--replicas", "grid.replicas", "N", "Task sets per point."),
    ("--seconds", "run.seconds", "S", "Measuring time per task set: 1 or 600ms."),
    ("--solo-seconds", "run.solo_seconds", "S", "Time per task set in which tasks run alone."),
    ("--windows", "run.windows", "N", "Windows the measuring time is divided into."),
    ("--warmup-jobs", "run.warmup_jobs", "N", "Jobs not counted at the start of a window."),
    ("--overrun", "run.overrun", "skip|late", "A release while the last job still runs.  [skip]"),
    (
        "--layout",
        "run.layout",
        "NAME",
        "default (a process per core) or shared-address-space; the latter marks every result.",
    ),
    ("--policy", "run.policy", "fifo|other", "other needs no permission, marks every result."),
    ("--tasks-per-core", "tasks.per_core", "N", "N/M.  [1]"),
    ("--segments-max", "tasks.segments_max", "N", "Most segments of a task.  [8]"),
    ("--wcet-min", "tasks.wcet_min", "TIME", "Shortest C: 100us, 0.5ms, 500_000ns."),
    ("--wcet-max", "tasks.wcet_max", "TIME", "Longest C."),
    ("--distribution", "tasks.distribution", "NAME", "uniform, log-uniform, normal, exponential."),
    ("--deadline-factor", "tasks.deadline_factor", "X", "T = D = X times C.  [10]"),
    ("--classes-min", "tasks.classes_min", "N", "Fewest SY classes of a task set.  [1]"),
    ("--classes-max", "tasks.classes_max", "N", "Most SY classes of a task set.  [3]"),
    ("--priorities", "tasks.priorities", "NAME", "uniform, rate-monotonic, random."),
    (
        "--fragments",
        "tasks.fragments",
        "LIST",
        "Only these of their kind (NS or SY): matmul,futex.",
    ),
    ("--pool", "calibration.pool", "full|quick", "Which entries are calibrated and used."),
    ("--calibration-seconds", "calibration.seconds", "S", "Time for the calibration."),
    ("--cost-basis", "calibration.basis", "warm|cold", "Cost of a first use.  [warm]"),
    ("--tolerance", "quiet.tolerance", "X", "How far from quiet the host may be.  [0.02]"),
    ("--repeats", "quiet.repeats", "N", "Further attempts of a set off the quiet mode.  [2]"),
    (
        "--extra-windows",
        "quiet.extra_windows",
        "N",
        "Windows of a set done again when the host was off its quiet mode.",
    ),
    (
        "--wait-seconds",
        "quiet.wait_seconds",
        "S",
        "How long, per set, windows may wait for a quiet host.",
    ),
    ("--repeat-share", "quiet.repeat_share", "X", "Further attempts in all, as a share of runs."),
    ("--noise-seconds", "quiet.noise_seconds", "S", "Length of the noise floor; 0: none."),
)


def _dest(option: str) -> str:
    return option.removeprefix("--").replace("-", "_")


def _value_options(function: F) -> F:
    for option, _, metavar, text in reversed(_VALUES):
        function = click.option(option, _dest(option), metavar=metavar, help=text)(function)
    return function


@click.command(short_help="Profile this machine: slowdown and misses over M, rho and alpha.")
@click.option("--quick", is_flag=True, help="Under three minutes: preset quick.")
@click.option("--preset", metavar="NAME", help="default, quick or paper.")
@click.option(
    "--campaign",
    "campaign_file",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Read the campaign from a TOML file; options win over it.",
)
@click.option("--step", metavar="X", help="Step of both axes of the grid: 0.1.")
@_value_options
@click.option("--split", is_flag=True, help="Record CPU time and switches of every job.")
@calibration_option
@click.option("--fresh", is_flag=True, help="Begin anew, also where one could be continued.")
@click.option("--retry-failed", is_flag=True, help="Run again what failed in the last campaign.")
@figures_option
@runs_option
@machine_options
@json_option
@click.pass_context
def command(ctx: click.Context, /, **options: Any) -> int:
    """Profile this machine: how delay and misses grow with cores, SY share and contention.

    Campaigns live in RUNS/NAME. The same command continues a campaign that was interrupted, and
    begins a new one (NAME-2, NAME-3, ...) once the last is finished; --fresh begins a new one at
    once. Nothing is ever overwritten. Runs that failed are kept and named: --retry-failed.

    Keys of a campaign file are the options' long forms in sections: see examples/.
    """
    from deadbeat.cli._profile import profile  # noqa: PLC0415  --help must not import it

    layer, names = _layer(options)
    return profile(options, layer=layer, names=names, words=ctx.find_root().obj or ["profile"])


def _layer(options: dict[str, Any]) -> tuple[dict[str, Any], dict[str, str]]:
    """The command line as a layer of the specification, and the option of every path in it."""
    layer: dict[str, Any] = {}
    names: dict[str, str] = {}

    def put(path: str, value: Any, option: str) -> None:
        section, _, key = path.rpartition(".")
        place = layer.setdefault(section, {}) if section else layer
        place[key] = value
        names[path] = option

    if options["preset"] is not None or options["quick"]:
        put("preset", options["preset"] or "quick", "--preset")
    if options["step"] is not None:
        for axis in ("sync_share", "contended_ratio"):
            put(f"grid.{axis}", {"step": options["step"]}, "--step")
            names[f"grid.{axis}.step"] = "--step"
    for option, path, _, _ in _VALUES:
        if options[_dest(option)] is not None:
            put(path, options[_dest(option)], option)
    if options["split"]:
        put("run.split", True, "--split")
    return layer, names
