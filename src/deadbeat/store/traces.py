"""Scheduling events of the worst jobs, kept with the results: ``traces/KEY.json``.

Disk stays bounded: the traces of the runs with the worst jobs are kept, the rest is dropped.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from attrs import AttrsInstance, asdict, fields

from deadbeat.model.errors import DataError
from deadbeat.model.results import RunKey
from deadbeat.model.traces import (
    CpuMove,
    JobTotals,
    JobTrace,
    RunTrace,
    ThreadShare,
    TraceEvent,
)
from deadbeat.store.files import FORMAT, atomic_write, read_json, storing, tool_version, write_json
from deadbeat.store.keys import parse_run_key

#: So many runs of a campaign keep their trace.
MOST = 100
_UNAVAILABLE = "unavailable.json"
_HINT = "delete the file: the jobs of this run are then told without events"

#: Of the keys of a trace. 1 had no totals, and counted what was left out as lost.
VERSION = 2

#: How bad the worst job of a run is: tardiness in ns, then response over deadline.
Severity = tuple[int, float]


class TraceFolder:
    """The traces of one campaign; its owner holds the campaign's lock while it writes."""

    def __init__(self, path: Path, *, most: int = MOST) -> None:
        self._path = path
        self._most = most
        self._kept: dict[RunKey, Severity] | None = None
        self._refused = ""

    def save(self, key: RunKey, trace: RunTrace, severity: Severity) -> None:
        """Keep ``trace`` while its run is among the worst; of one that is not available, the
        reason."""
        with storing(self._path):
            self._path.mkdir(exist_ok=True)
            if trace.unavailable:
                if trace.unavailable != self._refused:
                    write_json(self._path / _UNAVAILABLE, {"reason": trace.unavailable})
                    self._refused = trace.unavailable
                return
            kept = self._severities()
            kept[key] = severity
            least = min(kept, key=lambda one: (kept[one], one.text))
            dropped = least if len(kept) > self._most else None
            if dropped != key:
                atomic_write(self._file(key), _text(trace, severity))
            if dropped is not None:
                del kept[dropped]
                self._file(dropped).unlink(missing_ok=True)

    def load(self, key: RunKey) -> RunTrace | None:
        """The trace of ``key``; None where none was kept.

        Raises:
            DataError: Damaged.
        """
        path = self._file(key)
        return (
            trace_from_plain(read_json(path, what="trace", hint=_HINT), path)
            if path.exists()
            else None
        )

    def unavailable(self) -> str:
        """Why runs were not traced, the last reason; "" where none was refused. Others may have
        been, in another session.

        Raises:
            DataError: Damaged.
        """
        path = self._path / _UNAVAILABLE
        if not path.exists():
            return ""
        return str(read_json(path, what="trace", hint=_HINT).get("reason", ""))

    def _file(self, key: RunKey) -> Path:
        return self._path / f"{key.text}.json"

    def _severities(self) -> dict[RunKey, Severity]:
        if self._kept is None:
            self._kept = {}
            for path in sorted(self._path.glob("m*.json")):
                try:
                    key = parse_run_key(path.stem)
                    tardiness, share = read_json(path, what="trace", hint=_HINT)["severity"]
                    self._kept[key] = (int(tardiness), float(share))
                except (ArithmeticError, DataError, KeyError, TypeError, ValueError):
                    continue  # a damaged trace is told where it is read
        return self._kept


def _text(trace: RunTrace, severity: Severity) -> str:
    plain = {
        "format": FORMAT,
        "version": VERSION,
        "tool": tool_version(),
        "severity": list(severity),
        "threads": {str(thread): task for thread, task in trace.threads.items()},
        "jobs": [
            {
                "job": job.job,
                "lost": job.lost,
                "left_out": job.left_out,
                "totals": None if job.totals is None else asdict(job.totals),
                "events": [
                    [e.at_ns, e.cpu, e.name, e.thread, e.pid, e.fields, int(e.interrupt)]
                    for e in job.events
                ],
            }
            for job in trace.jobs
        ],
    }
    return json.dumps(plain, sort_keys=True, ensure_ascii=True, allow_nan=False) + "\n"


def trace_from_plain(plain: dict[str, Any], path: Path) -> RunTrace:
    """The trace that was read of ``path``.

    Raises:
        DataError: Damaged.
    """
    version = plain.get("version", 1)
    if version not in (1, VERSION):
        raise DataError(f"trace {path} has version {version}, this deadbeat reads 1 and 2", _HINT)
    try:
        return RunTrace(
            threads={int(thread): int(task) for thread, task in plain["threads"].items()},
            jobs=tuple(
                JobTrace(
                    job=int(job["job"]),
                    lost=int(job["lost"]),
                    left_out=int(job.get("left_out", 0)),
                    events=tuple(_event(*row) for row in job["events"]),
                    totals=_totals(job.get("totals")),
                )
                for job in plain["jobs"]
            ),
        )
    except (ArithmeticError, AttributeError, KeyError, TypeError, ValueError) as error:
        raise DataError(f"trace {path} is damaged: {error!r}", _HINT) from error


def _totals(plain: Any) -> JobTotals | None:
    if plain is None:
        return None
    woken, move = plain["woken_ns"], plain["move"]
    return JobTotals(
        seen=bool(plain["seen"]),
        woken_ns=None if woken is None else int(woken),
        move=None if move is None else CpuMove(**_numbers(CpuMove, move)),
        interrupts_ns={str(name): int(ns) for name, ns in plain["interrupts_ns"].items()},
        threads=tuple(
            ThreadShare(name=str(one["name"]), **_numbers(ThreadShare, one))
            for one in plain["threads"]
        ),
        **_numbers(JobTotals, plain),
    )


def _numbers(kind: type[AttrsInstance], plain: dict[str, Any]) -> dict[str, Any]:
    """What is a whole number in a ``kind``."""
    return {one.name: int(plain[one.name]) for one in fields(kind) if one.type == "int"}


def _event(*row: Any) -> TraceEvent:
    at_ns, cpu, name, thread, pid, values, interrupt = row if len(row) == 7 else (*row, 0)
    if not isinstance(values, dict):
        raise TypeError("fields of an event are no object")
    return TraceEvent(
        at_ns=int(at_ns),
        cpu=int(cpu),
        name=str(name),
        thread=str(thread),
        pid=int(pid),
        fields={str(k): v if isinstance(v, int) else str(v) for k, v in values.items()},
        interrupt=bool(interrupt),
    )
