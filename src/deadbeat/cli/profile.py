"""``deadbeat profile``: the main job, from a question to a report."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from deadbeat.cli._options import calibration_option, json_option, machine_options, runs_option

if TYPE_CHECKING:
    from deadbeat.campaign.place import Place
    from deadbeat.campaign.plan import Resolved
    from deadbeat.campaign.runner import CampaignResult
    from deadbeat.campaign.spec import CampaignSpec
    from deadbeat.catalog import Catalog
    from deadbeat.executors.base import Executor
    from deadbeat.model.results import Summary
    from deadbeat.store.campaign import CampaignStore

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
    ("--fragments", "tasks.fragments", "LIST", "Use only these: matmul,mutex."),
    ("--pool", "calibration.pool", "full|quick", "Which entries are calibrated and used."),
    ("--calibration-seconds", "calibration.seconds", "S", "Time for the calibration."),
    ("--cost-basis", "calibration.basis", "warm|cold", "Cost of a first use.  [warm]"),
    ("--tolerance", "quiet.tolerance", "X", "How far from quiet the host may be.  [0.03]"),
    ("--repeats", "quiet.repeats", "N", "Further attempts of a set off the quiet mode.  [2]"),
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
    from contextlib import closing  # noqa: PLC0415  --help must not import any of these

    from deadbeat.cli._machine import make_executor  # noqa: PLC0415
    from deadbeat.cli._output import interruptible  # noqa: PLC0415

    spec = _specify(options)
    text, simulated = options["executor_text"], options["simulated"]
    with (
        closing(make_executor(text, simulated=simulated, cpus=spec.cpus)) as executor,
        interruptible(),
    ):
        session = _prepare(ctx, options, spec, executor)
        try:
            _measure(session)
            return _answer(session)
        except KeyboardInterrupt:
            return _interrupted(session)


def _layers(options: dict[str, Any]) -> tuple[dict[str, Any], dict[str, str]]:
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


def _specify(options: dict[str, Any]) -> CampaignSpec:
    from deadbeat.campaign.spec import read_campaign_file, specify  # noqa: PLC0415  heavy
    from deadbeat.model.errors import UsageError  # noqa: PLC0415  heavy

    if options["quick"] and options["preset"] not in (None, "quick"):
        raise UsageError(f"--quick and --preset {options['preset']} exclude each other", "drop one")
    layer, names = _layers(options)
    file = options["campaign_file"]
    if file is None:
        return specify(layer, names=names)
    return specify(read_campaign_file(file), layer, names=names)


class _Session:
    """One invocation: what was asked, where it is kept, and with what it runs."""

    def __init__(
        self,
        command: str,
        options: dict[str, Any],
        resolved: Resolved,
        *,
        executor: Executor,
        catalog: Catalog,
        place: Place,
    ) -> None:
        self.command = command
        self.options = options
        self.spec = resolved.spec
        self.missing_cores = resolved.missing_cores
        self.executor = executor
        self.catalog = catalog
        self.place = place
        self.store: CampaignStore
        self.result: CampaignResult


def _prepare(
    ctx: click.Context, options: dict[str, Any], spec: CampaignSpec, executor: Executor
) -> _Session:
    """Everything that can be refused is refused here, before a folder is made."""
    from deadbeat.campaign import place, plan  # noqa: PLC0415  heavy
    from deadbeat.cli._machine import make_catalog  # noqa: PLC0415  heavy

    resolved = plan.resolve(spec, executor.describe())
    catalog = make_catalog(executor)
    for name in resolved.spec.tasks.fragments:
        catalog.fragment(name)
    words = [word for word in ctx.find_root().obj or ["profile"] if word != "--fresh"]
    return _Session(
        shlex.join(["deadbeat", *words]),
        options,
        resolved,
        executor=executor,
        catalog=catalog,
        place=place.choose(
            options["runs"],
            resolved.spec,
            fresh=options["fresh"],
            retry_failed=options["retry_failed"],
        ),
    )


def _measure(session: _Session) -> None:
    from deadbeat.campaign.runner import check_calibration, run_campaign  # noqa: PLC0415  heavy
    from deadbeat.campaign.spec import spec_dict  # noqa: PLC0415  heavy
    from deadbeat.cli._machine import make_judge  # noqa: PLC0415  heavy
    from deadbeat.cli._output import Watch  # noqa: PLC0415  heavy
    from deadbeat.store.campaign import CampaignStore  # noqa: PLC0415  heavy
    from deadbeat.store.latest import point_latest  # noqa: PLC0415  heavy
    from deadbeat.store.serial import read_calibration  # noqa: PLC0415  heavy

    spec, path = session.spec, session.place.path
    file = session.options["calibration_file"]
    calibration = None if file is None else read_calibration(file)
    if calibration is not None:
        check_calibration(calibration, spec, session.executor)
    judge = make_judge(spec.quiet.tolerance)
    _announce(session, calibrated=calibration is not None)
    if session.place.resumed:
        session.store = CampaignStore.open(path)
    else:
        session.store = CampaignStore.create(path, spec_dict(spec), spec.seed)
    point_latest(path.parent, path.name)
    with Watch(path.name) as watch:
        session.result = run_campaign(
            spec,
            session.executor,
            session.store,
            session.catalog,
            judge=judge,
            on_event=watch,
            calibration=calibration,
            retry_failed=session.options["retry_failed"],
        )


def _announce(session: _Session, *, calibrated: bool) -> None:
    """Says what will happen, and refuses when the disk cannot hold it."""
    from deadbeat.campaign.plan import estimate  # noqa: PLC0415  heavy
    from deadbeat.cli._output import duration, say, size  # noqa: PLC0415  heavy
    from deadbeat.model.errors import DeadbeatError  # noqa: PLC0415  heavy
    from deadbeat.store.campaign import free_bytes  # noqa: PLC0415  heavy

    path, spec = session.place.path, session.spec
    if session.executor.describe().kind == "simulated":
        say("SIMULATED: a made-up machine; nothing here says anything about this one")
    if session.missing_cores:
        counts = ", ".join(map(str, session.missing_cores))
        most = len(spec.cpus or ())
        say(
            f"WARNING: only {most} of the core counts of preset {spec.preset} can be run here;"
            f" M = {counts} do not exist and are left out"
        )
    need, free = estimate(spec, calibrated=calibrated), free_bytes(path)
    verb = "continue" if session.place.resumed else "begin"
    say(
        f"{verb} {path}: {need.runs} task sets, at most {duration(need.seconds)} and"
        f" {size(need.bytes)} of disk ({size(free)} free)"
    )
    if need.bytes > free:
        raise DeadbeatError(
            f"{path} may need {size(need.bytes)}, only {size(free)} are free",
            "free space, choose another --runs, or lower --replicas or --seconds",
        )


def _answer(session: _Session) -> int:
    """Report, figures and table; exit status 1 only when not one run has a result."""
    from deadbeat.cli._output import print_json, say  # noqa: PLC0415  heavy
    from deadbeat.cli._results import answer_dict, print_points, write_results  # noqa: PLC0415

    result, store = session.result, session.store
    say("summarise and draw")
    summary, report = write_results(store)
    if session.options["as_json"]:
        answer = answer_dict(summary, store.path)
        print_json({**answer, "missing_cores": list(session.missing_cores)})
    else:
        print_points(summary, store.path)
        _tell(summary, result, report, session)
    return 1 if not result.done else 0


def _tell(summary: Summary, result: CampaignResult, report: Path, session: _Session) -> None:
    from deadbeat.cli._results import finding_counts  # noqa: PLC0415  heavy

    if result.failed:
        name, reason = min((key.text, reason) for key, reason in result.failed.items())
        click.echo(
            f"{len(result.failed)} of {result.planned} runs failed, for example {name}: {reason}"
        )
        click.echo(f"again: {session.command} --retry-failed")
    click.echo(f"rejected attempts: {result.rejected}   findings: {finding_counts(summary)}")
    click.echo(f"report: {report}")


def _interrupted(session: _Session) -> int:
    from deadbeat.campaign.runner import standing  # noqa: PLC0415  heavy
    from deadbeat.cli._output import say  # noqa: PLC0415  heavy
    from deadbeat.cli.main import INTERRUPTED  # noqa: PLC0415  a cycle at import time

    if not hasattr(session, "store"):
        say("interrupted before anything was begun")
        return INTERRUPTED
    stand = standing(session.spec, session.store)
    say(
        f"interrupted: {stand.done} of {stand.planned} runs are kept in {session.store.path};"
        f" continue with: {session.command}"
    )
    return INTERRUPTED
