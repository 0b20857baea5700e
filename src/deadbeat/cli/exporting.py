"""``deadbeat export``: a result in another form."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from functools import partial
from pathlib import Path

from attrs import evolve

from deadbeat.base.kinds.base import ExperimentKind
from deadbeat.base.kinds.registry import find
from deadbeat.base.kinds.shown import Shown
from deadbeat.base.model.errors import UsageError
from deadbeat.base.store.files import atomic_write, make_folder
from deadbeat.base.store.place import PROGRAM
from deadbeat.cli.archive import pack
from deadbeat.cli.evidence import bundle
from deadbeat.cli.machine import emit
from deadbeat.cli.results import metrics_of
from deadbeat.program.derive.rtapp import LACKS, rt_app
from deadbeat.program.derive.twin import c_source, twin_of
from deadbeat.program.run import keeping
from deadbeat.program.run.exported import recorded
from deadbeat.program.run.kind import task_system as program_system
from deadbeat.program.run.lasting import lasting, script, unit
from deadbeat.sched.tasksystems import write_task_system
from deadbeat.tasksets.contention.drawn_set import task_system


def export(
    *,
    run: str,
    form: str,
    out: Path | None,
    keys: tuple[str, ...],
    port: str,
    worst: int,
    design: Path | None,
    calibration: Path | None,
    runs: Path,
) -> Shown:
    if design and form not in ("chrt", "systemd"):
        raise UsageError("--design is of --as chrt and systemd", "drop it")
    if keys and form not in ("c", "task-system"):
        raise UsageError("--task-set is of --as c and task-system", "drop it")
    if form == "c" and PROGRAM.find(runs, run) is None:
        return emit(run, out=_needed(out, form), keys=keys, port=port, calibration=calibration,
            runs=runs)  # fmt: skip
    kind, path = find(runs, run)
    writers: dict[str, Callable[[Path], Shown]] = {
        "c": partial(_twin, path, form),
        "rt-app": partial(_twin, path, form),
        "task-system": partial(_system, kind, path, runs, keys),
        "archive": partial(_archive, path),
        "csv": partial(_tables, kind, path),
        "samples": partial(samples, kind, path),
        "perfetto": partial(trace, kind, path, worst),
        "chrt": partial(_lasting, path, form, design),
        "systemd": partial(_lasting, path, form, design),
        "evidence": lambda folder: _wrote(*bundle(kind, path, folder)),
    }
    if form in writers:
        return writers[form](_needed(out, form))
    text = metrics_of(kind, path)
    if out is None:
        return Shown(kind="export", plain={"text": text}, parts=[text.rstrip("\n")])
    atomic_write(out, text)
    return _wrote(out)


def _needed(out: Path | None, form: str) -> Path:
    if out is None:
        raise UsageError(f"--as {form} writes files", "say where: --out PATH")
    return out


def _archive(path: Path, out: Path) -> Shown:
    pack(path, out)
    return _wrote(out)


def _wrote(*files: Path) -> Shown:
    return Shown(kind="export", plain={"files": [*map(str, files)]}, parts=[*map(str, files)])


def _system(
    kind: ExperimentKind, path: Path, runs: Path, keys: tuple[str, ...], out: Path
) -> Shown:
    """A task set with its locks, for the schedulability lab."""
    if kind.name == "run":
        system, notes = program_system(path)
    elif len(keys) == 1:
        system, notes = task_system(runs, path.name, *keys)
    else:
        raise UsageError("--as task-system writes one set", "say which: --task-set KEY")
    write_task_system(out, system)
    return evolve(_wrote(out), lines=notes)


def _twin(path: Path, form: str, out: Path) -> Shown:
    """A program of the same shape."""
    found = twin_of(*recorded(path))
    atomic_write(out, c_source(found) if form == "c" else rt_app(found))
    lacks = (*found.lacks, *(LACKS if form == "rt-app" else ()))
    return evolve(_wrote(out), lines=[f"not in it: {line}" for line in lacks])


def _lasting(path: Path, form: str, file: Path | None, out: Path) -> Shown:
    """A script that places threads, and the unit that runs it; or the unit that watches on."""
    if form == "systemd" and file is None and (text := keeping.unit(path)):
        atomic_write(out, text)
        return _wrote(out)
    design, comms, title = lasting(path, file)
    there = out if form == "chrt" else out.with_name(f"{out.name}.sh")
    atomic_write(there, script(title, design, comms))
    there.chmod(0o755)
    if form == "chrt":
        return _wrote(there)
    atomic_write(out, unit(title, design, there))
    return _wrote(out, there)


def _tables(kind: ExperimentKind, path: Path, out: Path) -> Shown:
    """Copies of the tables of a result; where nothing was measured each line says so."""
    found = sorted(path.glob("*.csv"))
    if not found:
        raise UsageError(f"{path.name} has no table yet", f"deadbeat page {path.name} writes them")
    opened = kind.open(path)
    tables = {each.name: _rows(each.read_text(encoding="utf-8")) for each in found}
    if columns := opened.every_job:
        jobs = zip(*(each.tolist() for each in columns.values()), strict=True)
        tables["jobs.csv"] = [[*columns], *map(list, jobs)]
    labels = [label.partition(":")[0] for label in opened.labels]
    mark = " ".join(label for label in labels if label.isupper())
    make_folder(out)
    for name, rows in tables.items():
        text = io.StringIO()
        more = [["label"], *[[mark]] * (len(rows) - 1)] if mark else [[]] * len(rows)
        lines = (row + label for row, label in zip(rows, more, strict=True))
        csv.writer(text, lineterminator="\n").writerows(lines)
        atomic_write(out / name, text.getvalue())
    return _wrote(*(out / name for name in tables))


def _rows(text: str) -> list[list[str]]:
    return [*csv.reader(io.StringIO(text, newline=""))]


def samples(kind: ExperimentKind, path: Path, out: Path) -> Shown:
    """A file of each thread's samples, and a CSV with a column each.
    Raises UsageError: the kind has none."""
    if kind.samples is None:
        message = f"{path.name} is a {kind.folder.noun}: it has no files of single samples"
        raise UsageError(message, "samples are of primitives that were measured with --keep")
    return _wrote(*(out / each.name for each in kind.samples(path, out)))


def trace(kind: ExperimentKind, path: Path, worst: int, out: Path) -> Shown:
    """What went on around the worst ones, as a trace for ui.perfetto.dev.
    Raises UsageError: the kind keeps no events."""
    if kind.perfetto is None:
        message = f"no events of {path.name} are kept: it is a {kind.folder.noun}"
        raise UsageError(message, "traces are of contention, latency and load")
    text = kind.perfetto(path, worst)
    atomic_write(out, text)
    return _wrote(out)
