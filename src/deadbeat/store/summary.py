"""The derived files of a campaign: summary.csv, summary.json, sets.csv, sets.json.

They can be rebuilt from the runs at any time; each is replaced atomically. CSV cells hold numbers
with the shortest text of at most nine significant digits, nothing for None.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from attrs import fields

from deadbeat.model.errors import DataError
from deadbeat.model.jobs import COUNTER_COLUMNS
from deadbeat.model.measures import MEASURES
from deadbeat.model.results import (
    PART_COLUMNS,
    STRESS_COLUMNS,
    SUMMARY_COLUMNS,
    PrecisionRecord,
    Summary,
)
from deadbeat.model.traces import LateJob
from deadbeat.store.campaign import CampaignStore
from deadbeat.store.files import atomic_write, read_bytes, read_json, write_json
from deadbeat.store.programs import file_hash
from deadbeat.store.serial import NUMBER_MAX, structure, to_plain

#: Columns of sets.csv, in order: one row per task set that was run. docs/reference/metrics.md.
SET_COLUMNS: tuple[str, ...] = (
    *("key", "cores", "sync_share", "contended_ratio", "deadline_factor", "replica", "seed"),
    *("set_id", "tasks", "utilisation", "jobs", "released"),
    *(f"delay_ratio_{what}" for what in ("mean", "p50", "p95", "max", "error")),
    *("cost_half_width", "slowdown_mean", "slowdown_error", "slowdown_p50", "rounds"),
    *("class", "slowdown_predicted", "slowdown_bound", "unfinished_share"),
    *("unfinished_predicted", "far_share", "far_share_alone"),
    *(measure.name for measure in MEASURES),
    *("deadline_misses", "deadline_misses_predicted", "deadline_miss_ratio"),
    *("alone_released", "alone_misses", "miss_episodes", "overruns", "skipped", "unfinished"),
    *("left_out", "solo_jobs", "tasks_without_solo", "solo_cost_ratio_p50"),
    *("wake_up_p50_ns", "wake_up_max_ns", "sync_share_real", "contended_ratio_real"),
    *(
        "overlap_real",
        "shared_objects",
        "starved_tasks",
        "witness_ps",
        "began_ns",
        "realtime",
        "file",
    ),
    *PART_COLUMNS,
    *COUNTER_COLUMNS,
)
#: The same of a stress campaign: its figures are those of the critical tasks.
STRESS_SET_COLUMNS = ("key", "group", "cores", "critical_cores", *SET_COLUMNS[2:])
#: By mode: columns of summary.csv, and of sets.csv.
COLUMNS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "profile": (SUMMARY_COLUMNS, SET_COLUMNS),
    "stress": (STRESS_COLUMNS, STRESS_SET_COLUMNS),
}

#: Columns of text; all others are numbers.
_TEXTS = {"key", "group", "class", "set_id", "shared_objects", "file"}
#: What ``meta`` has of these kinds, where it has them.
_TYPED: dict[str, Any] = {
    "causes": tuple[LateJob, ...] | None,
    "precision": PrecisionRecord | None,
    "parameters": dict[str, Any],
}
#: Says that what it names is a summary as it was written.
_HASHES = "summary.sha256"


def write_summary(store: CampaignStore, summary: Summary) -> None:
    """Write the derived files of ``store``; summary.csv comes last.

    Raises:
        DeadbeatError: They cannot be written; each file is the old or the new one.
    """
    columns, set_columns = COLUMNS[summary.mode]
    plain = {field.name: getattr(summary, field.name) for field in fields(Summary)}
    sets = plain.pop("sets")
    with store.lock():
        atomic_write(store.path / "sets.csv", csv_text(set_columns, sets))
        write_json(store.path / "sets.json", {"sets": sets})
        typed = {name: to_plain(plain[name]) for name in ("findings", "points")}
        body = {**plain, **typed, "columns": columns}
        write_json(store.path / "summary.json", body)
        if "causes" in summary.meta:
            names = ("causes", "causes_unavailable", "causes_notes")
            write_json(store.path / "causes.json", {name: summary.meta[name] for name in names})
        atomic_write(store.path / _HASHES, _hashes(store.path))
        atomic_write(store.path / "summary.csv", csv_text(columns, summary.rows))


def read_summary(store: CampaignStore) -> Summary | None:
    """The stored summary; None where it is not what this deadbeat, or any, wrote."""
    try:
        if read_bytes(store.path / _HASHES, what="hashes", hint="") != _hashes(store.path):
            return None
        plain = read_json(store.path / "summary.json", what="summary", hint="")
        sets = read_json(store.path / "sets.json", what="set file", hint="").get("sets")
        del plain["columns"]
        found = structure(
            {**plain, "sets": sets}, Summary, path=store.path, what="summary", hint=""
        )
        for name, kind in _TYPED.items():
            value = found.meta.get(name)
            structure(value, kind, path=store.path, what=name, hint="")
        known = [set(columns) for columns in COLUMNS[found.mode]]
    except (DataError, KeyError):
        return None
    tables = zip((found.rows, found.sets), known, strict=True)
    whole = all(columns <= row.keys() and _is_row(row) for rows, columns in tables for row in rows)
    return found if whole else None


def _is_row(row: Mapping[str, object]) -> bool:
    """Whether each column of ``row`` has a value of its kind."""
    return all(
        isinstance(value, str)
        if column in _TEXTS or column.endswith("_basis")
        else isinstance(value, int | float) and abs(value) <= NUMBER_MAX
        for column, value in row.items()
        if value is not None
    )


def _hashes(folder: Path) -> bytes:
    """SHA-256 of what a summary is read from, as ``sha256sum`` writes them."""
    names = ("sets.json", "summary.json")
    return "".join(f"{file_hash(folder / name)}  {name}\n" for name in names).encode()


#: What a spreadsheet takes for a formula; a number is none.
_FORMULA = re.compile(r"[=@\t\r]|[+-](?![\d.]+$)")


def csv_text(columns: Sequence[str], rows: Iterable[Mapping[str, object]]) -> str:
    """CSV with exactly ``columns``; a key that a row lacks is an error (KeyError)."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(columns)
    for row in rows:
        writer.writerow([cell(row[column]) for column in columns])
    return stream.getvalue()


def cell(value: Any) -> str:
    """Text of a CSV cell: nothing for None, truth values as words, floats with <= 9 digits."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return f"{value:.9g}"
    text = str(value)
    if isinstance(value, str) and _FORMULA.match(text):
        return f"'{text}"  # or a spreadsheet would calculate it
    return text
