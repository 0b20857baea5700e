"""Commands that measure: declared here, their options come from the fields of a specification."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib import import_module
from typing import Any

import click
from attrs import frozen

from deadbeat.cli._help import Titled, help_of
from deadbeat.cli._options import (
    CALIBRATION,
    CI,
    CROSS,
    DATADIR,
    FIGURES,
    JSON,
    MACHINE,
    RUNS,
    SIMULATED,
    TARGET,
    OneOf,
    arg,
    opt,
    run_names,
    whole,
)
from deadbeat.kinds import KINDS
from deadbeat.model.errors import UsageError
from deadbeat.model.specification import Layer, Row, options_of

FILE = opt(
    "--campaign FILE", "Read the parameters from a TOML file; options override it.", to="file"
)
RETRY = opt("--retry", "Repeat runs that have no result or are invalid.")


@frozen(kw_only=True)
class Measuring:
    """A command that measures.

    Attributes:
        kind: Row of `KINDS`; "": that of the command's name.
        spec: ``module:class`` of its specification below ``kinds``, whose options it has
            ``without`` some, those of the table ``first`` first; "": the kind's own.
        quick: Help of ``--quick``; ``presets``: of ``--preset``; "": there is none.
        own: What it takes beside; the kind finds it in `Begin.given`.
        fail_on: What ``--fail-on`` may name, and when that is so.
        adjust: Completes what was typed, and the options.
    """

    kind: str = ""
    spec: str = ""
    without: Sequence[str] = ()
    first: str = ""
    quick: str = ""
    presets: str = ""
    own: Sequence[click.Parameter] = ()
    file: click.Option = FILE
    machine: Sequence[click.Option] = (TARGET, CROSS, SIMULATED)
    fail_on: Mapping[str, str] = {}
    adjust: Callable[[Layer, dict[str, object]], None] = lambda layer, options: None

    def values(self) -> tuple[Row, ...]:
        """Options of the specification."""
        if not self.spec:
            return options_of(import_module(KINDS[self.kind][0]).KIND.spec)
        module, _, name = self.spec.partition(":")
        spec = getattr(import_module(f"deadbeat.kinds.{module}"), name)
        return options_of(spec, without=self.without, first=self.first)


def command(name: str) -> click.Command:
    """The command ``name``: one of `COMMANDS`, or that of a kind that has none."""
    own = COMMANDS.get(name) or Measuring(kind=name, machine=(SIMULATED,))
    values = own.values()
    more = [opt("--quick", own.quick)] if own.quick else []
    more += [opt("--preset NAME", own.presets)] if own.presets else []
    when = ", ".join(f"{word} ({meaning})" for word, meaning in own.fail_on.items())
    failing = opt(
        f"--fail-on {'|'.join(own.fail_on)}",
        f"Exit with status 1 on {when}.",
        type=OneOf(*own.fail_on),
    )

    def call(**options: Any) -> int:
        asked = typed(values, options)
        if options.get("quick") and options.get("preset") not in (None, "quick"):
            text = f"--quick and --preset {options['preset']} exclude each other"
            raise UsageError(text, "drop one")
        preset = "quick" if options.get("quick") else options.get("preset")
        if preset is not None:
            asked.put("preset", preset, "--quick" if options.get("quick") else "--preset")
        own.adjust(asked, options)
        given = {option.name: options[option.name] for option in (*own.own, *own.machine)}
        measure = import_module("deadbeat.cli._measure").measure
        return int(measure(name, own.kind or name, asked, given, **options))

    return Titled(
        name,
        callback=call,
        help=help_of(name) if name in COMMANDS else KINDS[name][1],
        params=[
            *more,
            own.file,
            *value_options(values),
            *own.own,
            *([failing, *CI] if own.fail_on else []),
            *own.machine,
            opt("--fresh", "Begin anew instead of continuing."),
            opt(
                "--time-budget TIME",
                "Begin no run after 30m or 2h; the same command continues.",
            ),
            FIGURES,
            RUNS,
            JSON,
        ],
    )


def dest(option: str) -> str:
    """Name of the parameter that ``option`` fills."""
    return option.removeprefix("--").partition("/")[0].replace("-", "_")


def value_options(values: Sequence[Row]) -> list[click.Option]:
    """The options of ``values``, in their order; one without a metavar is a flag, and one that
    stands for several keys is one."""
    rows = {option: (metavar, text) for option, _, metavar, text in reversed(values)}
    return [
        opt(f"{option} {metavar}", text, default=None, type=str)  # judged with all the others
        if metavar
        else opt(option, text, default=None)
        for option, (metavar, text) in reversed(rows.items())
    ]


def typed(values: Iterable[Row], options: Mapping[str, object]) -> Layer:
    """What was typed.

    Args:
        values: Several options may stand for one path, and an option for several paths.

    Raises:
        UsageError: Two options for the same path.
    """
    layer = Layer()
    for option, path, _, _ in values:
        value = options[dest(option)]
        if value is None:
            continue
        if path in layer.names:
            raise UsageError(f"{layer.names[path]} and {option} mean the same", "give one of them")
        layer.put(path, value, option.partition("/")[2] if value is False else option)
    return layer


def name_precision(layer: Layer) -> None:
    """What is wrong with any key of a precision is wrong with the precision."""
    if any(path.startswith("precision.") for path in layer.names):
        layer.names.setdefault("precision.target", "--precision")


def _both_axes(layer: Layer, options: Mapping[str, object]) -> None:
    _beside(layer, options)
    for axis in ("grid.sync_share", "grid.contended_ratio") if options["step"] is not None else ():
        if axis not in layer.names:
            layer.put(axis, {"step": options["step"]}, "--step")
            layer.names[f"{axis}.step"] = "--step"
    name_precision(layer)


def _mode(layer: Layer, options: Mapping[str, object]) -> None:
    _beside(layer, options)
    layer.values["mode"] = "stress"
    name_precision(layer)


def _study(layer: Layer, options: Mapping[str, object]) -> None:
    if options["as_list"]:
        shown = import_module("deadbeat.cli.results").study_presets()
        import_module("deadbeat.cli._output").print_shown(
            shown, as_json=options["as_json"], command="sched study"
        )
        raise click.exceptions.Exit(0)
    layer.names.pop("preset", None)
    for option, path, _, _ in COMMANDS["study"].values():
        layer.names.setdefault(path, option)


def _program(layer: Layer, options: Mapping[str, object]) -> None:
    if options["header"]:
        root = import_module("deadbeat.build.native").native_root()
        click.echo(root / "runtime" / "include")
        raise click.exceptions.Exit(0)
    words = options["command"]
    if isinstance(words, tuple) and words:
        layer.put("command", words, "CMD")
    elif options["file"] is None:
        raise UsageError("no program is named", "deadbeat run -- ./program ARGUMENT")


def _primitives(layer: Layer, options: dict[str, object]) -> None:
    """What a file of arguments says, where no option does."""
    file = options["arguments"]
    if file is not None:
        for other in (name for name in ("file", "preset") if options[name] is not None):
            name = "--campaign" if other == "file" else "--preset"
            raise UsageError(f"--args and {name} exclude each other", "drop one")
        read = import_module("deadbeat_papers.runtimes.arguments").read_arguments
        found, say = read(file), import_module("deadbeat.cli._output").say
        runtimes = str(layer.values.get("runtimes", found.runtimes))
        for key, value in found.layer(runtimes).items():
            if key not in layer.names:
                layer.put(key, value, f"{file}: {key}")
        for line in found.told(runtimes):
            say(f"{file}: {line}")
        options["datadir"] = options["datadir"] or found.datadir
    if options["datadir"] is not None:
        layer.put("keep", True, "--datadir")


def _beside(layer: Layer, options: Mapping[str, object]) -> None:
    """The program behind ``--``, which runs beside all runs."""
    words = options["command"]
    assert isinstance(words, tuple)
    if options["beside"] != bool(words):
        found = f"got unexpected extra argument ({words[0]})" if words else "--beside: no program"
        raise UsageError(found, "to run a program beside: --beside -- ./program WORD")
    if words:
        layer.put("beside", words, "--beside")


_BESIDE = (
    opt("--beside", "Run the program after -- meanwhile, again when it ends."),
    arg("command", "[-- CMD]...", nargs=-1, required=False, type=click.UNPROCESSED),
)
_OWN = (
    *_BESIDE,
    opt("--worst K", "Number of worst jobs to explain.  [20]", type=whole(1, 1000), default=20),
    CALIBRATION,
    opt(
        "--programs-from RUN",
        "Run the programs of the result RUN, on another kernel.",
        shell_complete=run_names,
    ),
    RETRY,
)
_QUICK = "Measure for less than three minutes: preset quick."

COMMANDS = {
    # T = D is what the search varies; a late job would not be judged like the others.
    "breakdown": Measuring(
        spec="breakdown.spec:BreakdownSpec",
        without=(
            *("tasks.deadline_factor", "run.overrun"),
            *("run.split", "run.causes", "run.counters"),
        ),
        first="breakdown",
        quick="Measure for less than five minutes: preset quick.",
        presets="Preset to start from: default or quick.  [default]",
        own=(CALIBRATION,),
        machine=MACHINE,
    ),
    "latency": Measuring(
        spec="latency.spec:LatencySpec",
        quick="Measure for less than one minute: preset quick.",
        own=(
            opt(
                "--import [LOAD=]FILE",
                "Measure nothing; read results of cyclictest (JSON, text), jitterdebugger or"
                " OSADL instead.",
                to="imports",
                multiple=True,
            ),
            RETRY,
            *_BESIDE,
        ),
        fail_on={
            "misses": "a wake-up was later than one of --limits",
            "invalid": "a run is invalid",
        },
        adjust=_beside,
    ),
    "load": Measuring(
        spec="interference.spec:LoadSpec",
        quick="Measure for less than two minutes: fewer counts and repeats.",
        presets="Preset to start from: quick; or paper, with rounds of 900 million additions and a"
        " limit of 2 s.",
        own=(RETRY, *_BESIDE),
        fail_on={
            "misses": "a deadline was missed without a remedy",
            "invalid": "a run is invalid or has no result",
        },
        adjust=_beside,
    ),
    "interfere": Measuring(
        spec="channels.spec:InterfereSpec",
        quick="Measure for one minute.",
        own=(RETRY,),
    ),
    "primitives": Measuring(
        spec="primitives.spec:PrimitivesSpec",
        presets="Figures of a thesis to repeat, whose conclusions are checked: thesis-fig7 to"
        " thesis-fig13, or thesis (all).",
        own=(
            opt(
                "--args FILE.xml",
                "Read the arguments of a test of RTSJMcBench; options override them.",
                to="arguments",
            ),
            DATADIR,
            RETRY,
        ),
        adjust=_primitives,
    ),
    "profile": Measuring(
        kind="campaign",
        spec="contention.spec:CampaignSpec",
        without=("stress",),
        first="grid",
        quick=_QUICK,
        presets="Preset to start from: default, quick or paper.  [default]",
        own=(opt("--step X", "Step of both axes of the grid, rho and alpha: 0.1."), *_OWN),
        machine=MACHINE,
        adjust=_both_axes,
    ),
    "run": Measuring(
        kind="program",
        spec="program.spec:ProgramSpec",
        own=(
            arg("command", "[CMD]...", nargs=-1, required=False, type=click.UNPROCESSED),
            opt("--header", "Print the folder of deadbeat.h and do nothing else."),
            RETRY,
        ),
        machine=(TARGET, SIMULATED),
        fail_on={"misses": "a deadline was missed"},
        adjust=_program,
    ),
    "stress": Measuring(
        kind="campaign",
        spec="contention.spec:CampaignSpec",
        # What is said of all sets in a profile can be drawn for each set here.
        without=("cores", "grid", "loaded"),
        first="stress",
        quick=_QUICK,
        presets="Preset to start from: random (2b), fixed-cores (2a), paper (both) or quick."
        "  [random]",
        own=_OWN,
        machine=MACHINE,
        adjust=_mode,
    ),
    "study": Measuring(
        spec="study.sweep:Sweep",
        own=(
            arg("preset", "[PRESET]", required=False),
            opt("--list", "List the presets and do nothing else.", to="as_list"),
            opt(
                "--workers N", "Number of threads to compute with.  [all CPUs]", type=whole(1, 4096)
            ),
            opt(
                "--dask tcp://HOST:PORT",
                "Compute on the Dask cluster at this address.",
                to="scheduler",
            ),
        ),
        file=opt(
            "--study FILE", "Read the sweep from a TOML file; options override it.", to="file"
        ),
        machine=(),
        adjust=_study,
    ),
}
