"""Task systems as files: JSON, or CSV where the name ends so. Whole or not at all."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path
from typing import Any

from attrs import asdict

from deadbeat.base.model.errors import UsageError
from deadbeat.base.model.systems import Lock, TaskSystem, TimedTask
from deadbeat.base.model.words import Json
from deadbeat.base.store.files import atomic_write

#: Columns of a CSV file; those that no task needs are left out. The name is last: it is text, and
#: a line that began with # would be a comment.
_COLUMNS = (
    *("wcet", "period", "deadline", "offset", "priority", "home", "budget"),
    *("server_period", "server_deadline", "name"),
)


#: Of a task, where it has them.
EXTRAS = ("jitter", "suspension", "np_max", "np_last", "affinity", "bcet", "source")
#: A name that a spreadsheet would calculate; it is written behind an apostrophe, and so is one that
#: begins with that.
FORMULA = re.compile(r"[=@+'-]")


def write_task_system(path: Path, system: TaskSystem) -> None:
    """Writes ``system`` as ``path``, atomically: CSV where it ends in ``.csv``, else JSON.
    Raises DeadbeatError: it cannot be written; nothing is left behind."""
    as_csv = path.suffix.lower() == ".csv"
    if as_csv and (left := (*system.beyond, *["chains"] * bool(system.chains))):
        raise UsageError(f"{path}: CSV has no {', '.join(left)}", "write JSON")
    atomic_write(path, csv_text(system) if as_csv else task_system_text(system))


def task_system_text(system: TaskSystem) -> str:
    """JSON, a line per task; what has its default is left out, but for the deadline."""
    head = {key: value for key, value in (("name", system.name), ("unit", system.unit)) if value}
    lines = [f"  {_json(key)}: {_json(value)}," for key, value in head.items()]
    lines += [f'  "processors": {system.processors},', '  "tasks": [']
    used = dict.fromkeys(section.lock for task in system.tasks for section in task.sections)
    if system.locks != tuple(Lock(name=name) for name in used):  # as they are found without
        locks = [asdict(lock, filter=lambda _, v: v is not None) for lock in system.locks]
        lines.insert(-1, f'  "locks": {_json(locks)},')
    if system.chains:
        chains = [
            asdict(each, filter=lambda _, v: v not in ("", None, ())) for each in system.chains
        ]
        lines.insert(-1, f'  "chains": {_json(chains)},')
    tasks = ",\n".join(f"    {_json(_entry(task))}" for task in system.tasks)
    return "\n".join(["{", *lines, tasks, "  ]", "}", ""])


def csv_text(system: TaskSystem) -> str:
    """CSV: comment lines with what is not a task's, a header, a line per task."""
    entries = [_entry(task) for task in system.tasks]
    used = [key for key in _COLUMNS if any(key in entry for entry in entries)]
    out = io.StringIO(newline="")
    for key in ("processors", "name", "unit"):
        if value := getattr(system, key):
            out.write(f"# {key}: {value}\n")
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(used)
    for entry in entries:
        if FORMULA.match(str(entry.get("name", ""))):
            entry["name"] = f"'{entry['name']}"
        writer.writerow([entry.get(key, "") for key in used])
    return out.getvalue()


def _entry(task: TimedTask) -> dict[str, Json]:
    entry: dict[str, Any] = {key: getattr(task, key) for key in _COLUMNS[:3]}
    for key in _COLUMNS[3:]:
        value = getattr(task, key)
        if value not in (None, "") and (value != 0 or key not in ("offset", "priority")):
            entry[key] = value
    if task.sections:
        entry["sections"] = [asdict(each, filter=lambda _, v: v != "") for each in task.sections]
    if task.arrivals:
        entry["arrivals"] = {"horizon": task.period, "steps": task.arrivals}
    if task.dag:
        entry["dag"] = asdict(task.dag)
    return entry | {key: value for key in EXTRAS if (value := getattr(task, key))}


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)
