"""The derived files of a campaign: summary.csv, summary.json, sets.csv, sets.json.

They can be rebuilt from the runs at any time; each is replaced atomically. CSV cells hold numbers
with the shortest text of at most nine significant digits, nothing for None.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from deadbeat.model.errors import DataError
from deadbeat.model.finding import Finding
from deadbeat.model.jobs import COUNTER_COLUMNS
from deadbeat.model.measures import MEASURES
from deadbeat.model.results import PART_COLUMNS, STRESS_COLUMNS, SUMMARY_COLUMNS, Summary
from deadbeat.store.campaign import CampaignStore
from deadbeat.store.files import atomic_write, read_json, write_json
from deadbeat.store.serial import is_number, structure, to_plain

#: Columns of sets.csv, in order: one row per task set that was run. docs/reference/metrics.md.
SET_COLUMNS: tuple[str, ...] = (
    *("key", "cores", "sync_share", "contended_ratio", "deadline_factor", "replica", "seed"),
    *("set_id", "tasks", "utilisation", "jobs", "released"),
    *(f"delay_ratio_{what}" for what in ("mean", "p50", "p95", "max", "error")),
    *("cost_half_width", "slowdown_mean", "slowdown_error", "slowdown_p50", "rounds"),
    *(measure.name for measure in MEASURES),
    *("deadline_misses", "deadline_misses_predicted", "deadline_miss_ratio"),
    *("alone_released", "alone_misses", "miss_episodes", "overruns", "skipped", "unfinished"),
    *("left_out", "solo_jobs", "tasks_without_solo", "solo_cost_ratio_p50"),
    *("wake_up_p50_ns", "wake_up_max_ns", "sync_share_real", "contended_ratio_real"),
    *("overlap_real", "starved_tasks", "witness_ps", "began_ns", "realtime", "file"),
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

_HINT = "run `deadbeat report` on the campaign: it rebuilds the file from the runs"


def write_summary(store: CampaignStore, summary: Summary) -> None:
    """Write the derived files of ``store``; summary.csv comes last.

    Raises:
        DeadbeatError: They cannot be written; each file is the old or the new one.
    """
    columns, set_columns = COLUMNS[summary.mode]
    with store.lock():
        atomic_write(store.path / "sets.csv", csv_text(set_columns, summary.sets))
        write_json(store.path / "sets.json", {"sets": list(summary.sets)})
        write_json(
            store.path / "summary.json",
            {
                "mode": summary.mode,
                "columns": list(columns),
                "rows": list(summary.rows),
                "distributions": list(summary.distributions),
                "findings": [to_plain(finding) for finding in summary.findings],
                "noise_floor": summary.noise_floor,
                "labels": list(summary.labels),
                "meta": summary.meta,
            },
        )
        if "causes" in summary.meta:
            names = ("causes", "causes_unavailable", "causes_notes")
            write_json(store.path / "causes.json", {name: summary.meta[name] for name in names})
        atomic_write(store.path / "summary.csv", csv_text(columns, summary.rows))


def read_summary(store: CampaignStore) -> Summary | None:
    """The stored summary; None before it was written.

    Raises:
        DataError: A file of it is damaged or of another format.
    """
    path, sets_path = store.path / "summary.json", store.path / "sets.json"
    if not path.exists() or not sets_path.exists():
        return None
    plain = read_json(path, what="summary", hint=_HINT)
    plain["sets"] = read_json(sets_path, what="set file", hint=_HINT).get("sets")
    lists = ("rows", "sets", "distributions", "findings", "labels")
    for name in (*lists, "noise_floor", "meta"):
        if not isinstance(plain.get(name), list if name in lists else dict):
            raise DataError(f"summary {path} is damaged: no valid {name}", _HINT)
    mode = plain.get("mode", "profile")
    if not isinstance(mode, str) or mode not in COLUMNS:
        raise DataError(f"summary {path} is damaged: no valid mode", _HINT)
    columns, set_columns = COLUMNS[mode]
    _check_meta(plain["meta"], plain["noise_floor"], plain["labels"], path)
    return Summary(
        mode=mode,
        rows=_rows(plain["rows"], columns, path),
        sets=_rows(plain["sets"], set_columns, sets_path),
        distributions=tuple(_distribution(each, path) for each in plain["distributions"]),
        findings=structure(
            plain["findings"],
            tuple[Finding, ...],
            path=path,
            what="finding in",
            hint=_HINT,
        ),
        noise_floor=plain["noise_floor"],
        labels=tuple(plain["labels"]),
        meta=plain["meta"],
    )


#: Columns of text; all others are numbers, truth values, or unknown.
_TEXTS = {"key", "group", "set_id", "file", "stopped", "delay_ratio_ci_basis", "slowdown_ci_basis"}
_NEEDED = {"key": str, "set_id": str, "file": str, "group": str, "cores": int}
_META = {
    **dict.fromkeys(("calibration", "counters", "failed", "parameters", "platform"), dict),
    **{"name": str, "seed": int, "sessions": list, "causes": list, "causes_notes": list},
}


def _rows(rows: list[Any], columns: Sequence[str], path: Path) -> tuple[dict[str, Any], ...]:
    """Rows with all ``columns``: those of an earlier version have fewer, the others are unknown."""
    found = []
    for number, given in enumerate(rows):
        if not isinstance(given, dict):
            raise _damaged(path, f"row {number + 1} is no object")
        row = {**dict.fromkeys(columns), **given}
        for name, value in row.items():
            kind = _NEEDED.get(name) if name in columns else None
            unknown = value is None and (kind is None or (kind is int and name == "cores"))
            text = isinstance(value, str) if name in _TEXTS else is_number(value)
            if not unknown and not (text and isinstance(value, kind or object)):
                raise _damaged(path, f"row {number + 1}, {name}")
        found.append(row)
    return tuple(found)


def _distribution(plain: Any, path: Path) -> dict[str, Any]:
    match plain:
        case {"counts": [*counts], "edges": [*edges]} if len(edges) == len(counts) + 1:
            if all(map(is_number, counts + edges)):
                return dict(plain)
    raise _damaged(path, "a distribution")


def _check_meta(meta: dict[str, Any], floor: dict[str, Any], labels: list[Any], path: Path) -> None:
    for name, kind in _META.items():
        if not isinstance(meta.get(name, kind()), kind):
            raise _damaged(path, name)
    if not all(isinstance(label, str) for label in labels):
        raise _damaged(path, "a label")
    for name in ("mean", "sd", "sets", "smallest_effect"):
        if floor.get(name) is not None and not is_number(floor[name]):
            raise _damaged(path, f"noise floor, {name}")


def _damaged(path: Path, what: str) -> DataError:
    return DataError(f"summary {path} is damaged: {what}", _HINT)


def csv_text(columns: Sequence[str], rows: Iterable[Mapping[str, Any]]) -> str:
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
    return str(value)
