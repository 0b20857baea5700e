"""Every result of a folder with its figures, in a table that is kept beside them.

The table counts for a result while its files and folders are as they were. It is made again where
it is lost, damaged or of another version, and is not written into the folder of another user.
"""

from __future__ import annotations

import json
import math
import os
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING

from attrs import asdict, astuple, field, fields_dict, frozen

from deadbeat.base.kinds import KINDS
from deadbeat.base.kinds.registry import folders_of, kind_of
from deadbeat.base.model.errors import DataError, DeadbeatError
from deadbeat.base.model.grouping import grouped
from deadbeat.base.model.lazy import Later
from deadbeat.base.model.observations import Metric
from deadbeat.base.model.platform import machine_name
from deadbeat.base.model.words import Json, inside
from deadbeat.base.store.files import read_json, tool_version
from deadbeat.base.store.folder import LOCK_NAME
from deadbeat.base.store.place import HEADS, LIST_HINT, REPORT_FILE, beheaded, entries
from deadbeat.base.store.standing import STATE_FILE
from deadbeat.base.verdicts.words import cell_text

if TYPE_CHECKING:
    from deadbeat.base.kinds import observed
    from deadbeat.base.stats import estimate
else:  # for new results alone
    observed, estimate = (
        Later(f"deadbeat.base.{name}") for name in ("kinds.observed", "stats.estimate")
    )

#: In a folder of results.
HISTORY_FILE = ".history.sqlite"
#: Changes with what is kept of a result.
_VERSION = 1
#: How long another writer is waited for, s.
_PATIENCE = 20
#: Of a specification: what does not move a figure, or is the result's own.
_NO_SETTING = ("name", "preset", "calibration", "imported", "pid", "repeats", "remedy_repeats")
#: What a fingerprint is of, among settings.
_PLATFORM = "hardware, frequency policy or toolchain"
#: In a result: what says nothing of its figures.
_NO_FIGURE = (STATE_FILE, REPORT_FILE, LOCK_NAME)
#: New results up to which nothing is said.
_TOLD = 20
_TABLES = """
DROP TABLE IF EXISTS about; DROP TABLE IF EXISTS result;
DROP TABLE IF EXISTS figure; DROP TABLE IF EXISTS metric;
CREATE TABLE about (version TEXT);
CREATE TABLE result (name TEXT PRIMARY KEY, stamp TEXT, plain TEXT);
CREATE TABLE figure (result TEXT, metric TEXT, cell TEXT, n INT, value REAL, low REAL, high REAL);
CREATE INDEX of_metric ON figure (metric); CREATE INDEX of_result ON figure (result);
CREATE TABLE metric (kind TEXT, place INT, plain TEXT, PRIMARY KEY (kind, place));
"""


@frozen(kw_only=True)
class PastFigure:
    """A metric in a cell: its mean over ``n`` runs, with the ends of its 95 % interval."""

    metric: str
    cell: str
    n: int
    value: float
    low: float | None
    high: float | None


@frozen(kw_only=True)
class PastResult:
    """A result in a history.

    Attributes:
        stamp: Changes with its files.
        date: When its first run began, or where that is not known its head was written: UTC.
        machine: Its name. ``system``: processor, and whether it is made up; "" is not known.
        settings: What it was asked for, and on what, as far as that moves figures.
        left: What is still to come; ``problem``: why it cannot be read; "": nothing.
        counts: Some run counts, and none is still to come.
    """

    name: str
    stamp: str = ""
    kind: str
    date: str
    machine: str = ""
    system: str = ""
    kernel: str = ""
    commit: str = ""
    settings: Mapping[str, Json] = field(factory=dict)
    labels: Sequence[str] = ()
    left: str = ""
    problem: str = ""
    counts: bool = False


@frozen(kw_only=True)
class History:
    """Results, the oldest first, with the metrics of their kinds, the main one first."""

    results: Sequence[PastResult]
    metrics: Mapping[str, Sequence[Metric]]
    table: sqlite3.Connection = field(repr=False)

    def figures(self, metric: str) -> dict[str, list[PastFigure]]:
        """A metric in all cells, by result."""
        names = tuple(fields_dict(PastFigure))
        asked = f"SELECT result, {', '.join(names)} FROM figure WHERE metric = ? ORDER BY rowid"
        rows = self.table.execute(asked, (metric,))
        found = grouped(rows, lambda row: str(row[0]))
        return {
            name: [PastFigure(**dict(zip(names, row[1:], strict=True))) for row in own]
            for name, own in found.items()
        }


def history_of(runs: Path, *, keep: bool, say: Callable[[str], None]) -> History:
    """The history of a folder; ``keep``: the table may be written beside the results."""
    file = runs / HISTORY_FILE
    for _ in range(2 * (keep and runs.is_dir() and not file.is_symlink())):
        try:
            return _read(
                _renewed(sqlite3.connect(file, _PATIENCE, isolation_level=None), runs, say)
            )
        except sqlite3.OperationalError:
            break  # no room, or another one writes all the time
        except sqlite3.DatabaseError:  # damaged
            with suppress(OSError):
                file.unlink()
    return _read(_renewed(sqlite3.connect(":memory:", isolation_level=None), runs, say))


def _read(table: sqlite3.Connection) -> History:
    results = [
        PastResult(name=name, stamp=stamp, **json.loads(plain))
        for name, stamp, plain in table.execute("SELECT name, stamp, plain FROM result")
    ]
    rows = table.execute("SELECT kind, plain FROM metric ORDER BY kind, place")
    return History(
        results=sorted(results, key=lambda each: (each.date, each.name)),
        metrics={
            kind: [Metric(**json.loads(plain)) for _, plain in own]
            for kind, own in grouped(rows, lambda row: str(row[0])).items()
        },
        table=table,
    )


def _renewed(
    table: sqlite3.Connection, runs: Path, say: Callable[[str], None]
) -> sqlite3.Connection:
    """The table with all that is new, and without what is gone."""
    version = f"{_VERSION} {tool_version()}"
    table.execute("PRAGMA synchronous = OFF")  # it can be made again
    try:
        known = table.execute("SELECT version FROM about").fetchall() == [(version,)]
    except sqlite3.OperationalError:
        known = False
    if not known:
        table.executescript(f"BEGIN IMMEDIATE; {_TABLES}")
        table.execute("INSERT INTO about VALUES (?)", (version,))
        table.execute("COMMIT")
    stamps = dict(table.execute("SELECT name, stamp FROM result"))
    every = {path: _stamp(path) for path in entries(runs)}
    headless = (path for path, stamp in every.items() if stamp is None)
    problems = {state.path: state.problem for state in beheaded(headless)}
    now = {path: stamp or "" for path, stamp in every.items() if stamp is not None}
    now |= dict.fromkeys(problems, "")
    for name in stamps.keys() - {path.name for path in now}:
        _forget(table, name)
    new = [path for path, stamp in now.items() if not stamp or stamps.get(path.name) != stamp]
    if len(new) > _TOLD:
        say(f"reading {len(new):,} results that are new or have changed: once")
    kinds = {str(row[0]) for row in table.execute("SELECT DISTINCT kind FROM metric")}
    for path in new:
        result, figures = _result_in(path, problems.get(path, ""))
        own = ("name", "stamp")  # in columns of their own
        plain = {key: value for key, value in asdict(result).items() if key not in own}
        table.execute("BEGIN IMMEDIATE")
        _forget(table, path.name)
        row = (path.name, now[path], json.dumps(plain))
        table.execute("INSERT INTO result VALUES (?, ?, ?)", row)
        rows = [(path.name, *astuple(each)) for each in figures]
        table.executemany("INSERT INTO figure VALUES (?, ?, ?, ?, ?, ?, ?)", rows)
        if figures and result.kind not in kinds:
            table.executemany(
                "INSERT OR REPLACE INTO metric VALUES (?, ?, ?)", _metrics(result.kind)
            )
            kinds.add(result.kind)
        table.execute("COMMIT")
    return table


def _forget(table: sqlite3.Connection, name: str) -> None:
    table.execute("DELETE FROM figure WHERE result = ?", (name,))
    table.execute("DELETE FROM result WHERE name = ?", (name,))


def _stamp(path: Path) -> str | None:
    """What changes with a result, of which files come and go by their names; None: it is none; "":
    it cannot be listed."""
    try:
        with os.scandir(path) as every:
            own = {each.name: each for each in every if each.name not in _NO_FIGURE}
            if not own.keys() & {*HEADS}:
                return None
            about = [(name, own[name].stat(follow_symlinks=False)) for name in sorted(own)]
    except OSError:
        return ""
    return " ".join(f"{name}:{each.st_size}:{each.st_mtime_ns}" for name, each in about)


def _metrics(kind: str) -> Iterator[tuple[str, int, str]]:
    comparable = kind_of(kind).comparable
    assert comparable is not None
    metrics = sorted(comparable.metrics, key=lambda each: each.name != comparable.main)
    for place, metric in enumerate(metrics):
        yield kind, place, json.dumps(asdict(metric, filter=lambda each, _: each.name != "of"))


def _result_in(path: Path, problem: str) -> tuple[PastResult, list[PastFigure]]:
    """A result and its figures; of one that cannot be read, why."""
    kind, date = "", 0.0
    try:
        date = path.stat().st_mtime
        if not problem:
            kind = next(name for name in KINDS if folders_of(name).holds(path))
            head = path / KINDS[kind][1]
            date = head.stat().st_mtime
            return _told(kind, path, head, _utc(date))
    except DeadbeatError as error:
        problem = str(error)
    except Exception as error:  # a stranger's folder holds anything
        problem = f"it cannot be read: {type(error).__name__}: {error}"
    problem = problem.replace(f"{path.parent}/", "")  # a gallery is published
    return PastResult(name=path.name, kind=kind, date=_utc(date), problem=problem), []


def _told(kind: str, path: Path, head: Path, date: str) -> tuple[PastResult, list[PastFigure]]:
    comparable = kind_of(kind).comparable
    if comparable is None:
        raise DataError(f"{path} is a {kind}, which has no figures", LIST_HINT)
    subject, seen = observed.observed_alone(comparable, path)
    spec = inside(read_json(head, what="result", hint=LIST_HINT), "spec")
    platform = subject.platform
    made_up = subject.kind if subject.kind != "hardware" else ""
    result = PastResult(
        name=path.name,
        kind=kind,
        date=_utc(datetime.fromisoformat(subject.created_at).timestamp())
        if subject.created_at
        else date,
        machine=str(machine_name(platform) or ""),
        system=", ".join(filter(None, (str(platform.get("soc") or ""), made_up))),
        kernel=str(platform.get("kernel") or ""),
        commit=subject.commit,
        settings={
            **{key: _named(value) for key, value in spec.items() if key not in _NO_SETTING},
            _PLATFORM: platform.get("fingerprint"),
        },
        labels=subject.labels,
        left=subject.left,
        counts=bool(subject.counted) and not subject.left,
    )
    metrics = {metric.name: metric for metric in comparable.metrics}
    several = len({row.cell.deadline_factor for row in seen.rows}) > 1
    known = (row for row in seen.rows if row.value is not None and math.isfinite(row.value))
    figures = []
    for (name, cell), rows in grouped(known, attrgetter("metric", "cell")).items():
        values = [row.value for row in rows if row.value is not None]
        # Repeats of one thing by their ratios, as compare has them; different programs as they are.
        ratios = comparable.words.units == "runs" and metrics[name].log and min(values) > 0
        if ratios:
            mean = estimate.mean_of([math.log(value) for value in values])
        else:
            mean = estimate.mean_of(values, 0.0, 1.0 if metrics[name].unit == "share" else math.inf)
        back = math.exp if ratios else float
        figures.append(
            PastFigure(
                metric=name,
                cell=cell_text(cell, factor=several),
                n=len(rows),
                value=back(mean.value),
                low=None if mean.low is None else back(mean.low),
                high=None if mean.high is None else back(mean.high),
            )
        )
    return result, figures


def _named(value: Json) -> Json:
    """A setting; of the words of a command that are paths the names."""
    words = value if isinstance(value, list) else []
    named = [Path(each).name if isinstance(each, str) and "/" in each else each for each in words]
    return named or value


def _utc(seconds: float) -> str:
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%SZ}"
