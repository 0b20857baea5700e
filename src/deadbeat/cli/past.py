"""Every result of a folder with its figures, in a table that is kept beside them.

The table counts for a result while its files and folders are as they were, and is made again where
it is lost or damaged.
"""

from __future__ import annotations

import json
import math
import os
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attrs import asdict, astuple, evolve, field, fields_dict, frozen

from deadbeat.base.kinds.base import ExperimentKind
from deadbeat.base.kinds.registry import kind_at, kind_of
from deadbeat.base.model.comparison import Comparable, Subject
from deadbeat.base.model.errors import DeadbeatError
from deadbeat.base.model.grouping import grouped
from deadbeat.base.model.lazy import Later
from deadbeat.base.model.observations import Metric, Observations
from deadbeat.base.model.platform import machine_name
from deadbeat.base.model.words import Json, inside
from deadbeat.base.stats.estimate import Estimate, mean_of
from deadbeat.base.store.files import read_json, tool_version
from deadbeat.base.store.folder import LOCK_NAME
from deadbeat.base.store.place import HEADS, LIST_HINT, REPORT_FILE, entries
from deadbeat.base.store.standing import STATE_FILE
from deadbeat.base.verdicts.words import cell_text

if TYPE_CHECKING:
    from deadbeat.base.kinds import observed
else:  # for new results alone
    observed = Later("deadbeat.base.kinds.observed")

#: In a folder of results.
HISTORY_FILE = ".history.sqlite"
#: How long another writer is waited for, s.
_PATIENCE = 20
#: Of a specification: what does not move a figure, or is the result's own.
_NO_SETTING = ("name", "preset", "calibration", "imported", "pid", "repeats", "remedy_repeats")
#: What a fingerprint is of, among settings.
_PLATFORM = "hardware, frequency policy or toolchain"
#: In a result: what says nothing of its figures.
_NO_FIGURE = (STATE_FILE, REPORT_FILE, LOCK_NAME)
#: New results up to which nothing is said.
_QUIET = 20
#: With other names once they are others.
_TABLES = """
CREATE TABLE IF NOT EXISTS results (name TEXT PRIMARY KEY, stamp TEXT, plain TEXT);
CREATE TABLE IF NOT EXISTS kinds (name TEXT PRIMARY KEY, metrics TEXT);
CREATE TABLE IF NOT EXISTS figures
    (result TEXT, value REAL, low REAL, high REAL, metric TEXT, cell TEXT, n INT);
CREATE INDEX IF NOT EXISTS by_metric ON figures (metric);
CREATE INDEX IF NOT EXISTS by_result ON figures (result);
"""


@frozen(kw_only=True)
class PastFigure(Estimate):
    """A metric in a cell: its mean over ``n`` runs."""

    metric: str
    cell: str
    n: int


@frozen(kw_only=True)
class PastResult:
    """A result in a history.

    Attributes:
        stamp: Changes with its files.
        date: When its first run began, UTC.
        system: Processor, and whether it is made up; "": not known, as of all texts.
        settings: What it was asked for, and on what, as far as that moves figures.
        notes: What is wrong or lacking, its answer where it has no figures, its labels.
        counts: Some run counts, and none is still to come.
    """

    name: str
    stamp: str = ""
    kind: str = ""
    date: str = ""
    machine: str = ""
    system: str = ""
    kernel: str = ""
    commit: str = ""
    settings: Mapping[str, Json] = field(factory=dict)
    notes: Sequence[str] = ()
    counts: bool = False


@frozen(kw_only=True)
class History:
    """Results, the oldest first and those without a date last, with the metrics of their kinds, the
    main one first."""

    results: Sequence[PastResult]
    metrics: Mapping[str, Sequence[Metric]]
    table: sqlite3.Connection = field(repr=False)

    def figures(self, metric: str) -> dict[str, list[PastFigure]]:
        """A metric in all cells, by result."""
        names = tuple(fields_dict(PastFigure))
        asked = f"SELECT result, {', '.join(names)} FROM figures WHERE metric = ? ORDER BY rowid"
        found: dict[str, list[PastFigure]] = {}
        for result, *row in self.table.execute(asked, (metric,)):
            found.setdefault(result, []).append(PastFigure(**dict(zip(names, row, strict=True))))
        return found


def history_of(runs: Path, *, keep: bool, say: Callable[[str], None]) -> History:
    """The history of a folder; ``keep``: the table may be written beside the results."""
    file = runs / HISTORY_FILE
    try:
        return _read(file if keep else ":memory:", runs, say)
    except sqlite3.OperationalError:  # no room, or another one writes all the time
        return _read(":memory:", runs, say)
    except sqlite3.DatabaseError:  # damaged
        file.unlink(missing_ok=True)
        return _read(file, runs, say)


def _read(file: Path | str, runs: Path, say: Callable[[str], None]) -> History:
    table = sqlite3.connect(file, _PATIENCE)
    table.execute("PRAGMA synchronous = OFF")  # it can be made again
    table.executescript(_TABLES)
    _renew(table, runs, say)
    results = [
        PastResult(**json.loads(plain)) for (plain,) in table.execute("SELECT plain FROM results")
    ]
    return History(
        results=sorted(results, key=lambda each: (not each.date, each.date, each.name)),
        metrics={
            kind: [Metric(**each) for each in json.loads(metrics)]
            for kind, metrics in table.execute("SELECT name, metrics FROM kinds ORDER BY name")
        },
        table=table,
    )


def _renew(table: sqlite3.Connection, runs: Path, say: Callable[[str], None]) -> None:
    """All that is new, and nothing of what is gone."""
    known = dict(table.execute("SELECT name, stamp FROM results"))
    now = {path.name: stamp for path in entries(runs) if (stamp := _stamp(path))}
    new = [name for name, stamp in now.items() if known.get(name) != stamp]
    if len(new) > _QUIET:
        say(f"reading {len(new):,} results that are new or have changed: once")
    for name in [*new, *(known.keys() - now.keys())]:
        result, figures = _result_in(runs / name)
        with table:
            table.execute("DELETE FROM figures WHERE result = ?", (name,))
            table.execute("DELETE FROM results WHERE name = ?", (name,))
            if name in now:
                plain = json.dumps(asdict(evolve(result, stamp=now[name])))
                table.execute("INSERT INTO results VALUES (?, ?, ?)", (name, now[name], plain))
                rows = [(name, *astuple(each)) for each in figures]
                table.executemany("INSERT INTO figures VALUES (?, ?, ?, ?, ?, ?, ?)", rows)
            if figures:
                metrics = json.dumps(_metrics(result.kind))
                table.execute("REPLACE INTO kinds VALUES (?, ?)", (result.kind, metrics))


def _stamp(path: Path) -> str:
    """What changes with a result, of which files come and go by their names; "": it is none."""
    try:
        with os.scandir(path) as every:
            own = {each.name: each for each in every if each.name not in _NO_FIGURE}
            about = [(name, own[name].stat(follow_symlinks=False)) for name in sorted(own)]
    except OSError:
        return ""
    files = [f"{name}:{each.st_size}:{each.st_mtime_ns}" for name, each in about]
    return " ".join((tool_version(), *files)) if own.keys() & {*HEADS} else ""


def _metrics(kind: str) -> list[Json]:
    comparable = kind_of(kind).comparable
    assert comparable is not None
    metrics = sorted(comparable.metrics, key=lambda each: each.name != comparable.main)
    return [asdict(metric, filter=lambda each, _: each.name != "of") for metric in metrics]


def _result_in(path: Path) -> tuple[PastResult, list[PastFigure]]:
    """A result and its figures; of one that cannot be read, why."""
    try:
        return _known(kind_at(path), path)
    except DeadbeatError as error:
        problem = str(error)
    except Exception as error:  # a stranger's folder holds anything
        problem = f"it cannot be read: {type(error).__name__}: {error}"
    problem = problem.replace(f"{path.parent}/", "")  # a gallery is published
    return PastResult(name=path.name, notes=(problem,)), []


def _known(kind: ExperimentKind, path: Path) -> tuple[PastResult, list[PastFigure]]:
    head = read_json(path / kind.folder.file, what="result", hint=LIST_HINT)
    figures: list[PastFigure] = []
    if kind.comparable is not None:
        subject, seen = observed.observed_alone(kind.comparable, path)
        figures = _figures(kind.comparable, seen)
    else:
        opened, platform = kind.open(path), inside(head, "platform")
        subject = Subject(
            name=path.name,
            path=str(path),
            kind=str(platform.get("kind")),
            platform=platform,
            counted=1,
            stored=1,
            created_at=min((run.started for run in opened.store.runs()), default=None),
            labels=(opened.headline, *opened.labels),
        )
    platform = subject.platform
    began = subject.created_at and datetime.fromisoformat(subject.created_at).astimezone(UTC)
    left = subject.left and f"unfinished: {subject.left}"
    left = left or "no run counts" * (not subject.counted)
    kernel = _said(platform.get("kernel"))
    system = (_said(platform.get("soc")), subject.kind if subject.kind != "hardware" else "")
    spec = {k: _named(v) for k, v in inside(head, "spec").items() if k not in _NO_SETTING}
    result = PastResult(
        name=path.name,
        kind=kind.name,
        date=f"{began:%Y-%m-%dT%H:%M:%SZ}" if began else "",
        machine=_said(machine_name(platform)),
        system=", ".join(filter(None, system)),
        kernel=kernel.split()[0] if kernel[:1].isdigit() else kernel,
        commit=subject.commit[:9] + "+" * subject.commit.endswith("+"),
        settings={**spec, _PLATFORM: platform.get("fingerprint")},
        notes=tuple(filter(None, (left, *subject.labels))),
        counts=not left,
    )
    return result, figures


def _figures(kind: Comparable[Any], table: Observations) -> list[PastFigure]:
    metrics = {metric.name: metric for metric in kind.metrics}
    several = len({row.cell.deadline_factor for row in table.rows}) > 1
    known = (row for row in table.rows if row.value is not None and math.isfinite(row.value))
    figures = []
    for (name, cell), rows in grouped(known, attrgetter("metric", "cell")).items():
        values = [row.value for row in rows if row.value is not None]
        # Repeats of one thing by their ratios, as compare has them; different programs as they are.
        logs = metrics[name].log and kind.words.units == "runs" and min(values) > 0
        most = 1.0 if metrics[name].unit == "share" else math.inf
        mean = mean_of([*map(math.log, values)]) if logs else mean_of(values, 0.0, most)
        ends = {key: math.exp(end) if logs and end else end for key, end in asdict(mean).items()}
        where = cell_text(cell, factor=several)
        figures.append(PastFigure(metric=name, cell=where, n=len(rows), **ends))
    return figures


def _said(value: Json) -> str:
    """A fact of a machine; "" where a file of another tool does not have it."""
    text = str(value or "")
    return "" if text.startswith("unknown") else text


def _named(value: Json) -> Json:
    """A setting; of the words of a command that are paths the names."""
    if not isinstance(value, list):
        return value
    return [Path(each).name if isinstance(each, str) and "/" in each else each for each in value]
