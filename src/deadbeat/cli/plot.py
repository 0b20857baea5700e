"""``deadbeat compare --picture``: latency matrices of several machines in one picture."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import attrs

from deadbeat.cli._output import table
from deadbeat.cli.derived import kept
from deadbeat.compare.plot import preset_of, presets, read_side, write_plot
from deadbeat.kinds.base import Shown
from deadbeat.kinds.latency.spec import one_load
from deadbeat.model.errors import UsageError
from deadbeat.model.latency import LoadPoint
from deadbeat.model.words import near, nearest, shown
from deadbeat.report.paper import FORMATS
from deadbeat.store.campaign import free_bytes
from deadbeat.store.files import check_folder, followed
from deadbeat.store.place import LIST_HINT, MATRIX


def plot(
    *,
    preset: str,
    results: tuple[str, ...],
    out: Path | None,
    names: str | None,
    load: str | None,
    engine: str | None,
    inventory: tuple[Path, ...],
    formats: str,
    runs: Path,
) -> Shown:
    if not preset:
        return listed()
    chosen = preset_of(preset)
    chosen.check(results)
    drawn, asked = _formats(formats), one_load(load, "--load") if load else None
    folder = followed(out) if out else runs / f"plot-{chosen.name}"
    check_folder(folder)
    free_bytes(folder, option="--out" if out else "--runs")
    paths = [_find(runs, text) for text in results]
    named = _names(names, paths)
    if inventory and len(inventory) != len(paths):
        raise UsageError(
            f"--inventory is given {len(inventory)} times for {len(paths)} results",
            "once for each, in their order",
        )
    sides = [
        read_side(path, name=name, inventory=file)
        for path, name, file in zip(paths, named, inventory or [None] * len(paths), strict=True)
    ]
    made = write_plot(chosen, sides, folder, engine=engine or "", load=asked, formats=drawn)
    return kept(made, folder, "plot", paths)


def drawn_plot(
    preset: str,
    paths: Sequence[Path],
    folder: Path,
    *,
    figures: bool,
    strip: str = "",
    load: LoadPoint | None = None,
) -> Shown:
    """Matrices that were just measured, drawn by a preset.

    Args:
        figures: Pictures as files, too. ``strip``: beginning of their names that all share.
        load: The one to draw; None: the preset's.
    """
    sides = [read_side(path, name=path.name.removeprefix(strip)) for path in paths]
    formats = FORMATS if figures else ("png",)
    made = write_plot(preset_of(preset), sides, folder, load=load, formats=formats)
    return kept(made, folder, "plot", paths)


def listed() -> Shown:
    """Every preset: what it takes and shows."""
    found = presets().values()
    rows = [(preset.name, preset.takes, preset.title) for preset in found]
    return Shown(
        plain=[attrs.asdict(each, filter=lambda field, _: field.name != "draw") for each in found],
        parts=[
            table(("preset", "takes", "shows"), rows),
            "deadbeat compare RUN... --picture PRESET",
        ],
    )


def _find(runs: Path, text: str) -> Path:
    """The folder of a latency matrix: a path, or a name under ``runs``."""
    if (path := MATRIX.find(runs, text)) is not None:
        return path
    known = [path.name for path in MATRIX.folders(runs)]
    hint = near(text, known) or LIST_HINT
    if not known:
        hint = f"{runs} holds none: deadbeat latency measures one"
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
            raise UsageError(f"--format: {shown(name)} is not a format", nearest(name, FORMATS))
    return asked
