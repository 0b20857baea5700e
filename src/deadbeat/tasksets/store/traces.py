"""Scheduling events of the worst jobs, kept with the results: ``traces/KEY.json``.

Disk stays bounded: the traces of the runs with the worst jobs are kept, the rest is dropped.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from attrs import astuple, fields
from cattrs import Converter, transform_error

from deadbeat.base.model.errors import DataError
from deadbeat.base.model.traces import RunTrace, TraceEvent
from deadbeat.base.model.words import Json
from deadbeat.base.store.files import read_json, storing, write_json
from deadbeat.base.store.serial import exact_converter
from deadbeat.tasksets.model.results import RunKey

#: Number of runs of a campaign that keep their trace.
MOST = 100
_UNAVAILABLE = "unavailable.json"
_HINT = "delete the file: the jobs of this run are then explained without events"

#: Version of the keys of a trace. 1 had no totals, and counted what was left out as lost.
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
                plain = _converter().unstructure(trace)
                del plain["unavailable"]  # a trace that is kept was taken
                plain |= {"version": VERSION, "severity": severity}
                write_json(self._file(key), plain, indent=None)
            if dropped is not None:
                del kept[dropped]
                self._file(dropped).unlink(missing_ok=True)

    def load(self, key: RunKey) -> RunTrace | None:
        """The trace of ``key``; None where none was kept. Raises DataError: damaged."""
        path = self._file(key)
        if not path.exists():
            return None
        return trace_from_plain(read_json(path, what="trace", hint=_HINT), path)

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
                    key = RunKey.parse(path.stem)
                    plain: Any = read_json(path, what="trace", hint=_HINT)["severity"]
                    tardiness, share = plain
                    self._kept[key] = (int(tardiness), float(share))
                except (ArithmeticError, DataError, KeyError, TypeError, ValueError):
                    continue  # a damaged trace is reported where it is read
        return self._kept


def trace_from_plain(plain: Mapping[str, Json], path: Path) -> RunTrace:
    """The trace that was read of ``path``. Raises DataError: damaged."""
    version = plain.get("version", 1)
    if version not in (1, VERSION):
        raise DataError(f"trace {path} has version {version}, this deadbeat reads 1 and 2", _HINT)
    try:
        threads = _converter().structure(plain["threads"], dict[str, int])
        numbered = {int(thread): task for thread, task in threads.items()}
        return _converter().structure({"threads": numbered, "jobs": plain["jobs"]}, RunTrace)
    except Exception as error:  # cattrs groups whatever its hooks raise
        reason = next(iter(transform_error(error, path="$")), repr(error))
        raise DataError(f"trace {path} is damaged: {reason}", _HINT) from error


@cache
def _converter() -> Converter:
    """Events are rows: the columns of `TraceEvent`; the last may be missing."""
    made = exact_converter()

    def word(value: Any, _: Any) -> int | str:
        if isinstance(value, int | str):
            return value
        raise ValueError(f"expected text or a whole number, found {value!r:.80}")

    made.register_structure_hook(int | str, word)
    names = [each.name for each in fields(TraceEvent)]
    of_event = made.get_structure_hook(TraceEvent)

    def event(row: list[Any], kind: type[TraceEvent]) -> Any:
        found = dict(zip(names, row, strict=False))
        return of_event({**found, "interrupt": bool(found.get("interrupt"))}, kind)

    made.register_structure_hook(TraceEvent, event)
    made.register_unstructure_hook(TraceEvent, lambda one: [*astuple(one)[:-1], int(one.interrupt)])
    return made
