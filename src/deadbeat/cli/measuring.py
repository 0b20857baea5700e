"""Commands that measure: declared here, their options come from the fields of a specification."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any

import click
from attrs import frozen
from click.shell_completion import CompletionItem

from deadbeat.base.kinds import KINDS
from deadbeat.base.model.errors import UsageError
from deadbeat.base.model.published import offered
from deadbeat.base.model.specification import Layer, Row, options_of
from deadbeat.base.model.words import Json, duration
from deadbeat.cli._help import SET, Titled, assigned, row_of
from deadbeat.cli._options import CI, FIGURES, JSON, RUNS, OneOf, one_of, opt, options_in

#: What ``--fail-on`` may name of every measurement.
_INVALID = {"invalid": "a run is invalid or has no result"}


@frozen(kw_only=True)
class Measuring:
    """A command that measures, as ``verbs/NAME.toml`` has it.

    Attributes:
        kind: Row of `KINDS`; "": that of the command's name.
        spec: ``module:class`` of its specification below ``kinds``; it has the options of that
            ``without`` some, those of the table ``first`` first; "": the kind's own.
        text: Its help.
        quick: Seconds that ``--quick`` takes at most. ``presets``: help of ``--preset``; none:
            there is no such option. ``both``: one may be quick.
        options: What it takes beside; the kind finds it in `Begin.given`.
        file: Option of a file of parameters. ``machine``: those that name the machine.
        fail_on: What ``--fail-on`` may name beside ``invalid``, and when that is so.
    """

    kind: str = ""
    spec: str = ""
    without: Sequence[str] = ()
    first: str = ""
    text: str
    quick: int = 0
    presets: str = ""
    both: bool = False
    options: Mapping[str, object] = {}
    file: Mapping[str, object] = {"FILE": True}
    machine: Sequence[str] = ("TARGET", "CROSS", "SIMULATED")
    fail_on: Mapping[str, str] = {}

    def values(self) -> tuple[Row, ...]:
        """Options of the specification."""
        if not self.spec:
            return options_of(import_module(KINDS[self.kind][0]).KIND.spec)
        module, _, name = self.spec.partition(":")
        spec = getattr(import_module(f"deadbeat.{module}"), name)
        return options_of(spec, without=self.without, first=self.first)


def command(name: str) -> click.Command:
    """The command ``name``: by its file, or that of a kind that has none."""
    line = KINDS.get(name, ("", "", ""))[2]
    row: Any = row_of(name) if not line else {"kind": name, "text": line, "machine": ["SIMULATED"]}
    own = Measuring(**row)
    taken = [*options_in(own.options)]
    machine = [*options_in(dict.fromkeys(own.machine))]
    values = own.values()
    brief = f"Measure for at most {duration(own.quick)}: few runs, wide intervals."
    more = [opt("--quick", brief)] if own.quick else []
    more += [opt("--preset NAME", own.presets)] if own.presets else []
    bad = {**own.fail_on, **_INVALID}
    when = ", ".join(f"{word} ({meaning})" for word, meaning in bad.items())
    failing = opt(f"--fail-on {'|'.join(bad)}", f"Exit with status 1 on {when}.", type=OneOf(*bad))

    def call(**options: Any) -> int:
        asked = typed(values, options)
        for text in options.pop("assigned", ()):
            key, value = assigned(text)
            if f"--{key}" in own_keys:
                options.update(screen.assigned(click.get_current_context(), [text]))
            else:
                put_key(asked, values, key, value)
        preset = options.get("preset")
        if options.get("quick") and not own.both and preset not in (None, "quick"):
            raise UsageError(f"--quick and --preset {preset} exclude each other", "drop one")
        said = "--quick" if preset is None else "--preset"
        preset = preset or ("quick" if options.get("quick") else None)
        if preset is not None:
            asked.put("preset", preset, said)
        kind = own.kind or name
        stored = options.get("programs_from"), options["runs"], options.get("step") is not None
        if _twin(asked, *stored):
            kind = "run"
        elif name in _ADJUST:
            _ADJUST[name](asked, options)
        given = {
            each.name: options[each.name] for each in (*taken, *machine) if each.name in options
        }
        several = _several(options)
        series = import_module("deadbeat.cli.series").measured_on if several else None
        measure = import_module("deadbeat.cli._measure").measure
        parts = ("contention", "random" * (name == "contention-random"), preset)
        own_name = kind == "contention" and not options.get("programs_from")
        named = "-".join(str(part) for part in parts if part) if own_name else ""
        promised = own.quick if options.get("quick") and not options.get("simulated") else None
        more = {"series": series, "named": named, "quick_s": promised, **options}
        return int(measure(name, kind, asked, given, **more))

    own_keys = {parameter.opts[0] for parameter in (*taken, *machine)}
    screen = Titled(
        name,
        callback=call,
        help=own.text,
        params=[
            *more,
            *options_in(own.file),
            *value_options(values),
            *taken,
            *([failing, *CI] if own.machine or own.fail_on else []),
            *machine,
            opt("--fresh", "Start again: a result that --name names is replaced."),
            opt("--time-budget TIME", "End within 30m or 2h; the same command continues."),
            FIGURES,
            RUNS,
            JSON,
        ],
    )
    screen.rows = values
    return screen


def put_key(layer: Layer, values: Iterable[Row], key: str, text: str) -> None:
    """Set ``key``, a path or an option of ``values`` without its dashes, as a TOML file would;
    what is no TOML is text.

    Raises:
        UsageError: It is given twice.
    """
    with suppress(tomllib.TOMLDecodeError):
        text = tomllib.loads(f"value = {text}")["value"]
    paths = [path for option, path, _, _ in values if option == f"--{key.replace('_', '-')}"]
    for path in paths or [key]:
        if path in layer.names:
            raise UsageError(f"{layer.names[path]} and {SET} {key} mean the same", "drop one")
        layer.put(path, text, f"{SET} {key}")


def dest(option: str) -> str:
    """Name of the parameter that ``option`` fills."""
    return option.removeprefix("--").partition("/")[0].replace("-", "_")


def value_options(values: Sequence[Row]) -> list[click.Option]:
    """The options of ``values``, in their order; one without a metavar is a flag, and one that
    stands for several keys is one."""
    rows = {option: (metavar, text) for option, _, metavar, text in reversed(values)}
    return [
        # judged with all the others
        opt(f"{option} {metavar}", text, default=None, type=str, **_completing(option))
        if metavar
        else opt(option, text, default=None)
        for option, (metavar, text) in reversed(rows.items())
    ]


#: Words that a list may hold.
_LISTED = {
    "--engine": "latencies.latency.engines:UNASKED",
    "--loads": "latencies.latency.model:LOAD_WORDS",
    "--try": "program.run.spec:CHANGES",
}


def _completing(option: str) -> dict[str, Any]:
    """How a shell completes the last item of a list."""
    if option not in _LISTED:
        return {}
    words = one_of(_LISTED[option])

    def complete(ctx: click.Context, param: click.Parameter, typed: str) -> list[CompletionItem]:
        before, comma, last = typed.rpartition(",")
        found = words.shell_complete(ctx, param, last)
        return [CompletionItem(f"{before}{comma}{each.value}") for each in found]

    return {"shell_complete": complete}


def typed(values: Iterable[Row], options: Mapping[str, Json]) -> Layer:
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


def _both_axes(layer: Layer, options: Mapping[str, Json]) -> None:
    _beside(layer, options)
    for axis in ("grid.sync_share", "grid.contended_ratio") if options["step"] is not None else ():
        if axis not in layer.names:
            layer.put(axis, {"step": options["step"]}, "--step")
            layer.names[f"{axis}.step"] = "--step"
    name_precision(layer)


def _mode(layer: Layer, options: Mapping[str, Json]) -> None:
    _beside(layer, options)
    layer.values["mode"] = "stress"
    name_precision(layer)


def _study(layer: Layer, options: Mapping[str, Json]) -> None:
    layer.names.pop("preset", None)
    row: Any = row_of("study")
    for option, path, _, _ in Measuring(**row).values():
        layer.names.setdefault(path, option)


def _several(options: Mapping[str, Json]) -> bool:
    """Whether more than one machine is named."""
    target = str(options.get("target") or "")
    opening = import_module("deadbeat.machine.targets.opening")
    return "," in target and len(opening.targets_in(target)) > 1


def _twin(layer: Layer, of: str | None, runs: Path, step: bool) -> bool:
    """Whether the programs asked for are the twin of one that was measured; then asks for that."""
    place = import_module("deadbeat.base.store.place")
    path = place.PROGRAM.find(runs, of) if of else None
    if path is None:
        return False
    wrong = [name for key, name in layer.names.items() if key != "name"]
    if wrong := wrong + ["--step"] * step:
        text = f"{', '.join(wrong)} and the twin of a program exclude each other"
        raise UsageError(text, "--name and --target may be given")
    layer.put("twin_of", path.name, "--programs-from")
    return True


def _program(layer: Layer, options: Mapping[str, Json]) -> None:
    if options["header"]:
        root = import_module("deadbeat.build.native").native_root()
        click.echo(root / "runtime" / "include")
        raise click.exceptions.Exit(0)
    words = options["command"]
    if options["recipe"]:
        beside = [*layer.names.values(), *["--target"] * bool(options.get("target"))]
        if more := [name for name in beside if name != "CMD"]:
            raise UsageError(f"--recipe and {more[0]} exclude each other", "drop one")
        click.echo(import_module("deadbeat.program.foreign.recipe").recipe(words), nl=False)
        raise click.exceptions.Exit(0)
    if _several(options):
        raise UsageError("--target: run watches one machine at a time", "name one")
    if isinstance(words, tuple) and words:
        layer.put("command", words, "CMD")
    elif not (options["file"] or options["pid"] or options["keep"] or "twin_of" in layer.values):
        raise UsageError("no program is named", "deadbeat run -- ./program ARGUMENT")


def _bisect(layer: Layer, options: dict[str, Json]) -> None:
    options["time_budget"] = options["time_budget"] or f"{options['for']}s"
    for name, metavar in (("range", "GOOD..BAD"), ("command", "CMD")):
        if options[name]:
            layer.put(name, options[name], metavar)
    if "command" not in layer.values and not options["file"]:
        raise UsageError("no program is named", "deadbeat bisect GOOD..BAD -- ./program ARGUMENT")


_ARGUMENTS = Path("args.xml")


def _primitives(layer: Layer, options: dict[str, Json]) -> None:
    """What a file of arguments says, where no option does; args.xml by default, as there."""
    file, say = options["arguments"], import_module("deadbeat.cli._output").say
    unsaid = not {"preset", "tests"} & {*layer.values} and options["file"] is None
    if file is None and unsaid and _ARGUMENTS.is_file():
        file = str(_ARGUMENTS)
        say(f"{file} of this folder is read: --tests or --preset leave it out")
    if file is not None:
        for other in (name for name in ("file", "preset") if options[name] is not None):
            name = "--file" if other == "file" else "--preset"
            raise UsageError(f"--args and {name} exclude each other", "drop one")
        read = offered("arguments").read_arguments
        found = read(Path(str(file)))
        runtimes = str(layer.values.get("runtimes", found.runtimes))
        for key, value in found.layer(runtimes).items():
            if key not in layer.names:
                layer.put(key, value, f"{file}: {key}")
        for line in found.notes(runtimes):
            say(f"{file}: {line}")
        options["datadir"] = options["datadir"] or found.datadir
    if options["datadir"] is not None:
        layer.put("keep", True, "--datadir")


def _beside(layer: Layer, options: Mapping[str, Json]) -> None:
    """The program behind ``--``, which runs beside all runs."""
    words = options["command"]
    assert isinstance(words, tuple)
    if options["beside"] != bool(words):
        found = f"got unexpected extra argument ({words[0]})" if words else "--beside: no program"
        raise UsageError(found, "to run a program beside: --beside -- ./program WORD")
    if words:
        layer.put("beside", words, "--beside")


#: What completes what was typed, of commands that need it.
_ADJUST: Mapping[str, Callable[[Layer, dict[str, Any]], None]] = {
    "bisect": _bisect,
    "contention": _both_axes,
    "contention-random": _mode,
    "latency": _beside,
    "load": _beside,
    "primitives": _primitives,
    "run": _program,
    "study": _study,
}
