"""A campaign's directory: what was asked, what was built, what was measured, what failed.

Layout and formats: docs/reference/files.md. A run is committed by one rename and never changed
after; a campaign resumes by asking `CampaignStore.committed`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Self, TypeVar

from attrs import frozen

from deadbeat.base.model import jobs as j
from deadbeat.base.model.errors import DataError, DeadbeatError, UsageError
from deadbeat.base.model.jobs import JobTable
from deadbeat.base.model.traces import COUNTER_EVENTS, RunTrace
from deadbeat.base.model.words import Json
from deadbeat.base.store.files import listing, move_file, read_json, storing, write_json
from deadbeat.base.store.folder import Head, OwnedFolder
from deadbeat.base.store.place import BREAKDOWN, CAMPAIGN_FILE, ORIGIN_FILE
from deadbeat.tasksets.model.calibration import Calibration
from deadbeat.tasksets.model.results import PrecisionRecord, RunKey
from deadbeat.tasksets.store.jobfile import (
    find_cut,
    find_inconsistency,
    read_job_table,
    write_job_table,
)
from deadbeat.tasksets.store.origin import Origin, read_origin, write_origin
from deadbeat.tasksets.store.programs import ProgramFolder
from deadbeat.tasksets.store.serial import (
    CALIBRATION_FILE,
    read_calibration,
    structure,
    to_plain,
    write_calibration,
)
from deadbeat.tasksets.store.traces import Severity, TraceFolder

T = TypeVar("T")
#: Costs of a system that runs another's task sets: of its shared objects alone.
OWN_COSTS_FILE = "own-costs.json"
FOLDERS = ("sessions", "programs", "jobs", "failed", "traces")

_DERIVED_HINT = "delete the file and repeat the command"
_SESSION_NAME = re.compile(r"([0-9]{3,})-(before|after)\.json")


@frozen(kw_only=True)
class SessionRecord:
    """Environment before and after one invocation; None where it was not recorded (killed)."""

    number: int
    before: dict[str, Json] | None = None
    after: dict[str, Json] | None = None


class CampaignStore(OwnedFolder):
    """One campaign's directory. Every writing method holds the campaign's lock for its moment;
    whoever writes a whole session holds `lock` around it."""

    NOUN, HEAD, FOLDERS, BESIDE = "campaign", CAMPAIGN_FILE, FOLDERS, (ORIGIN_FILE,)

    def __init__(self, path: Path, *, spec: dict[str, Json], seed: int) -> None:
        """Use `create` or `open`."""
        super().__init__(path)
        self.spec = spec
        self.seed = seed
        self._tables: dict[RunKey, JobTable] = {}
        self._room = 0
        self.programs = ProgramFolder(path / "programs")
        self.traces = TraceFolder(path / "traces")

    # -- life of the directory

    @classmethod
    def create(
        cls, path: Path | str, spec: dict[str, Json], seed: int, *, origin: Origin | None = None
    ) -> Self:
        """Starts a campaign of ``spec``, as JSON values; as `begun`.

        Args:
            origin: The campaign that has the programs; None: its own.
        """
        path = Path(path)

        def beside() -> None:
            (path / ORIGIN_FILE).unlink(missing_ok=True)
            if origin is not None:
                write_origin(path / ORIGIN_FILE, origin)

        return cls.begun(path, {"spec": spec, "seed": seed}, beside=beside)

    @classmethod
    def opened(cls, path: Path, head: Head) -> Self:
        seed = head.facts.get("seed")
        if type(seed) is not int:
            raise cls.damaged(path, "seed")
        return cls(path, spec=head.spec, seed=seed)

    # -- what belongs to the whole campaign

    def save_calibration(self, calibration: Calibration, *, name: str = CALIBRATION_FILE) -> None:
        with self.lock():
            write_calibration(self.path / name, calibration)

    def load_calibration(self, name: str = CALIBRATION_FILE) -> Calibration | None:
        """The campaign's calibration; None before it was made. DataError: damaged."""
        return self._load(name, read_calibration)

    def load_origin(self) -> Origin | None:
        """The campaign that has the programs; None: this one. DataError: damaged."""
        return self._load(ORIGIN_FILE, read_origin)

    def save_precision(self, record: PrecisionRecord) -> None:
        with self.lock():
            write_json(self.path / "precision.json", {"precision": to_plain(record)})

    def load_precision(self) -> PrecisionRecord | None:
        """Which points are known how well; None before the first session of such a campaign ended.
        DataError: damaged."""

        def read(path: Path) -> PrecisionRecord:
            plain = _part(path, "precision")
            return structure(plain, PrecisionRecord, path=path, what="file", hint=_DERIVED_HINT)

        return self._load("precision.json", read)

    def _load(self, name: str, read: Callable[[Path], T]) -> T | None:
        path = self.path / name
        return read(path) if path.exists() else None

    def next_session(self) -> int:
        """Number of the next invocation; the first is 1."""
        return max((number for number, _, _ in self._session_files()), default=0) + 1

    def save_session(self, number: int, when: str, environment: dict[str, Json]) -> None:
        """Record the environment ``when`` ("before" or "after") invocation ``number``."""
        with self.lock():
            path = self.path / "sessions" / f"{number:03d}-{when}.json"
            write_json(path, {"environment": environment})

    def sessions(self) -> tuple[SessionRecord, ...]:
        """Environments of all invocations, in order. Raises DataError: a record is damaged."""
        found: dict[int, dict[str, dict[str, Json]]] = {}
        for number, when, path in self._session_files():
            found.setdefault(number, {})[when] = _part(path, "environment")
        return tuple(SessionRecord(number=each, **pair) for each, pair in sorted(found.items()))

    def _session_files(self) -> Iterator[tuple[int, str, Path]]:
        """Number, moment and path of every record."""
        for path in listing(self.path / "sessions"):
            if match := _SESSION_NAME.fullmatch(path.name):
                yield int(match[1]), match[2], path

    # -- runs

    def committed(self) -> set[RunKey]:
        """Runs that are finished and kept."""
        return {key for path in listing(self.path / "jobs") if (key := _key_of(path.stem, path))}

    def failed(self) -> dict[RunKey, dict[str, Json]]:
        """Runs that failed and were not committed since: ``key``, ``reason``, ``attempt``.
        Raises DataError: a record is damaged."""
        done = self.committed()
        found = {}
        for path in listing(self.path / "failed"):
            key = _key_of(path.stem, path) if path.suffix == ".json" else None
            if key is not None and key not in done:
                found[key] = _part(path, "failure")
        return found

    def damaged_run(self) -> DataError | None:
        """What is wrong with the first committed run that has no whole file; None: all are whole.

        Lengths are looked at, checksums are not: reading a run does that.
        """
        paths = [path for path in listing(self.path / "jobs") if _key_of(path.stem, path)]
        return next(filter(None, map(find_cut, paths)), None)

    def jobs_path(self, key: RunKey) -> Path:
        """Where the jobs of ``key`` are, or will be."""
        return self.path / "jobs" / f"{key.text}.jobs"

    def table(self, key: RunKey) -> JobTable:
        """Jobs of the committed run ``key``.

        Raises:
            UsageError: It is not committed.
            DataError: Its file is damaged.
        """
        if key in self._tables:
            return self._tables[key]
        path = self.jobs_path(key)
        if not path.exists():
            raise UsageError(f"{self.path} has no run {key.text}", "list the runs, or resume")
        table = read_job_table(path)
        self._remember(key, table)
        return table

    def remember(self, limit: int) -> None:
        """Keeps tables of up to ``limit`` bytes in all: what measures a campaign summarises it,
        too, and reads no file twice."""
        self._room = limit

    def _remember(self, key: RunKey, table: JobTable) -> None:
        size = sum(section.nbytes for section in (table.jobs, table.slots, table.tasks))
        if size <= self._room:
            self._tables[key] = table
            self._room -= size

    def commit(self, key: RunKey, table: JobTable, file: Path | None = None) -> Path:
        """Commit ``table`` as run ``key``.

        Args:
            file: The job file it was read of, which is moved, not copied; None: it is written.

        Raises:
            DataError: The table is inconsistent.
            DeadbeatError: ``key`` is committed already, or the file cannot be written.
        """
        problem = find_inconsistency(table) if file is None else ""
        if problem:
            raise DataError(f"run {key.text} is inconsistent: {problem}", "a defect: report it")
        target = self.jobs_path(key)
        with self.lock():
            if target.exists():
                hint = "runs are immutable; use another replica"
                raise DeadbeatError(f"run {key.text} is committed already", hint)
            if file is None:
                write_job_table(target, table)
            else:
                move_file(file, target)
            self._remember(key, table)
            self.clear_failed(key)
        return target

    def save_trace(self, key: RunKey, trace: RunTrace, severity: Severity) -> None:
        """Keep the scheduling events of ``key`` while its jobs are among the worst."""
        with self.lock():
            self.traces.save(key, trace, severity)

    def fail(self, key: RunKey, reason: str) -> None:
        """Record that ``key`` failed, and how often by now."""
        with self.lock():
            path = self.path / "failed" / f"{key.text}.json"
            before = _part(path, "failure") if path.exists() else {}
            last = before.get("attempt")
            attempt = (last if isinstance(last, int) else 0) + 1
            failure: Json = {"key": key.text, "reason": reason, "attempt": attempt}
            write_json(path, {"failure": failure})

    def clear_failed(self, key: RunKey) -> None:
        """Forget that ``key`` failed, if it did."""
        path = self.path / "failed" / f"{key.text}.json"
        with self.lock(), storing(path):
            path.unlink(missing_ok=True)


class BreakdownStore(CampaignStore):
    """The folder of a search for the breakdown utilisation: a campaign with runs that are
    task sets at several T / C."""

    NOUN, HEAD = BREAKDOWN.noun, BREAKDOWN.file


def _part(path: Path, name: str) -> dict[str, Json]:
    plain = read_json(path, what="file", hint=_DERIVED_HINT).get(name)
    if not isinstance(plain, dict):
        raise DataError(f"file {path} is damaged: no {name} in it", _DERIVED_HINT)
    return plain


def _key_of(text: str, path: Path) -> RunKey | None:
    """Run key of a file's name; None for a part or a file that is not ours."""
    if path.suffix not in (".jobs", ".json"):
        return None
    try:
        return RunKey.parse(text)
    except DataError:
        return None


def estimate_bytes(
    *,
    runs: int,
    jobs: int,
    tasks: int = 1,
    slots: int = 1,
    cores: int = 1,
    details: bool = False,
    counted: int = 0,
) -> int:
    """Disk need of ``runs`` runs of ``jobs`` jobs each.

    ``details``: the jobs have them; ``counted``: pairs of a task and a slot in which its perf
    events are counted.
    """
    one = j.HEADER_DTYPE.itemsize + 4 + jobs * j.JOB_DTYPE.itemsize
    one += jobs * j.DETAIL_DTYPE.itemsize if details else 0
    one += counted * len(COUNTER_EVENTS) * j.COUNTER_DTYPE.itemsize
    one += tasks * j.TASK_DTYPE.itemsize
    one += slots * (j.SLOT_DTYPE.itemsize + tasks * j.PROBE_DTYPE.itemsize)
    one += (slots + 1) * min(cores - 1, j.ROUND_TRIPS_MAX) * j.PROBE_DTYPE.itemsize
    return runs * one
