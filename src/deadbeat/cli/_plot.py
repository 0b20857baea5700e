"""What ``deadbeat plot`` does; apart from its options: ``--help`` imports none of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import attrs
import click

from deadbeat.cli._output import print_json, print_table
from deadbeat.compare.plot import Plot, preset_of, presets, read_side, write_plot
from deadbeat.kinds.latency.sides import PlotPreset, Side
from deadbeat.model.errors import UsageError
from deadbeat.model.latency import LoadPoint
from deadbeat.model.words import nearest, shown
from deadbeat.report.canvas import FORMATS
from deadbeat.store.campaign import free_bytes
from deadbeat.store.family import entries
from deadbeat.store.latency import LATENCY_FILE


def list_presets(*, as_json: bool) -> None:
    """Every preset: what it takes and shows."""
    found = sorted(presets().values(), key=lambda preset: preset.name)
    if as_json:
        print_json([_preset_dict(preset) for preset in found])
        return
    print_table(
        ("preset", "takes", "shows"),
        ((preset.name, preset.takes, preset.title) for preset in found),
        whole=("preset",),
    )
    click.echo("deadbeat plot PRESET RUN...")


def plot(options: Mapping[str, Any]) -> None:
    """Draws what the command line asks for and says where it is."""
    preset = preset_of(options["preset"])
    preset.check(options["results"])
    formats = _formats(options["formats"])
    load = _load(options["load"]) if options["load"] else None
    out = options["out"] or options["runs"] / f"plot-{preset.name}"
    free_bytes(out, option="--out" if options["out"] else "--runs")
    made = write_plot(
        preset,
        _sides(options),
        out,
        engine=options["engine"] or "",
        load=load,
        formats=formats,
    )
    if options["as_json"]:
        print_json(_plot_dict(made))
    else:
        _tell(made)


def _sides(options: Mapping[str, Any]) -> list[Side]:
    paths = [_find(options["runs"], text) for text in options["results"]]
    names = _names(options["names"], paths)
    inventories: list[Path | None] = list(options["inventory"])
    if inventories and len(inventories) != len(paths):
        raise UsageError(
            f"--inventory is given {len(inventories)} times for {len(paths)} results",
            "once for each, in their order",
        )
    return [
        read_side(path, name=name, inventory=inventory)
        for path, name, inventory in zip(
            paths, names, inventories or [None] * len(paths), strict=True
        )
    ]


def _find(runs: Path, text: str) -> Path:
    """The folder of a latency matrix: a path, or a name under ``runs``."""
    for path in (runs / text, Path(text)):
        if (path / LATENCY_FILE).is_file():
            return path.resolve() if path.is_symlink() else path
    known = [path.name for path in entries(runs) if (path / LATENCY_FILE).is_file()]
    if not known:
        hint = f"{runs} holds none: deadbeat latency measures one"
        raise UsageError(f"there are no latency results called {text}", hint)
    near = get_close_matches(text, known, n=1, cutoff=0.5)
    hint = f"did you mean {near[0]}?" if near else "deadbeat runs lists them"
    raise UsageError(f"there are no latency results called {text}", hint)


def _names(text: str | None, paths: Sequence[Path]) -> list[str]:
    """What sides are called: no two alike."""
    names = [part.strip() for part in text.split(",")] if text else [path.name for path in paths]
    if len(names) != len(paths):
        raise UsageError(
            f"--names: {len(names)} names for {len(paths)} results", "one for each, with commas"
        )
    if "" in names:
        raise UsageError("--names: a name is empty", "one for each, with commas")
    if not text and len(set(names)) < len(names):
        names = [f"{path.resolve().parent.name}/{path.name}" for path in paths]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise UsageError(f"two results are called {twice[0]}", "tell them apart with --names A,B")
    return names


def _formats(text: str) -> tuple[str, ...]:
    asked = tuple(dict.fromkeys(part.strip() for part in text.split(",") if part.strip()))
    if asked == ("none",):
        return ()
    for name in asked:
        if name not in FORMATS:
            raise UsageError(f"--format: {shown(name)} is no format", nearest(name, FORMATS))
    return asked


def _load(text: str) -> LoadPoint:
    """A load as ``deadbeat latency --loads`` takes it."""
    from deadbeat.kinds.latency.spec import LoadsRule  # noqa: PLC0415  only where one is named
    from deadbeat.model.rules import RefusedError  # noqa: PLC0415

    try:
        loads = LoadsRule().parse(text)
    except RefusedError as error:
        problem = error.problems[0]
        raise UsageError(f"--load: {problem.found}", problem.hint) from None
    if len(loads) != 1:
        raise UsageError(f"--load: {shown(text)} names {len(loads)} loads", "name one")
    return loads[0]


def _tell(made: Plot) -> None:
    if made.labels:
        click.echo("   ".join(made.labels))
    for table in made.drawn.tables:
        if table.rows:
            print_table(table.columns, table.rows, title=table.title)
    for line in made.drawn.sentences:
        click.echo(line)
    for line in made.drawn.caveats:
        click.echo(f"note: {line}")
    for path in made.files:
        click.echo(f"picture: {path}")
    click.echo(f"page: {made.page}")


def _preset_dict(preset: PlotPreset) -> dict[str, Any]:
    plain = attrs.asdict(preset, filter=lambda field, _: field.name != "draw")
    return dict(plain)


def _plot_dict(made: Plot) -> dict[str, Any]:
    return {
        "preset": made.preset.name,
        "results": [side.name for side in made.asked.sides],
        "engine": made.asked.engine,
        "loads": [load.text for load in made.asked.loads],
        "labels": list(made.labels),
        "sentences": list(made.drawn.sentences),
        "caveats": list(made.drawn.caveats),
        "tables": [attrs.asdict(table) for table in made.drawn.tables],
        "files": [str(path) for path in made.files],
        "page": str(made.page),
    }
