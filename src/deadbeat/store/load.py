"""A load test's directory: what was asked and where, and an immutable file for every run.

``load.json`` holds the specification, the platform, the remedies and the cost of a unit of work;
``runs/KEY.json`` a run; everything else is derived. Layout: docs/reference/load.md.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from cattrs import Converter, transform_error

from deadbeat.model.errors import DataError, DeadbeatError, UsageError
from deadbeat.model.load import Gaps, LoadKey, LoadRun, Rounds
from deadbeat.model.platform import Platform
from deadbeat.store.files import (
    FORMAT,
    PART_SUFFIX,
    atomic_write,
    read_json,
    storing,
    tool_version,
    write_json,
)
from deadbeat.store.folder import OwnedFolder
from deadbeat.store.locking import LOCK_NAME
from deadbeat.store.serial import structure, to_plain

LOAD_FILE = "load.json"
RUNS = "runs"

_TEST_HINT = "put a good copy back, or begin anew with --fresh"
_RUN_HINT = "delete the file and repeat the command: only this run is measured again"


class LoadStore(OwnedFolder):
    """One load test's directory. Use `create` or `open`.

    Attributes:
        path: The directory.
        spec: What was asked, as JSON values (`loadtest.spec.read_spec` reads them).
        platform: Where it was measured.
        unit_ps: What a thousand additions took undisturbed; the work of a round rests on it.
        impossible: Remedy -> why it was not tried.
        changes: Remedy -> what it did, in words.
    """

    def __init__(
        self,
        path: Path,
        *,
        spec: dict[str, Any],
        platform: Platform,
        unit_ps: int,
        changes: dict[str, str],
        impossible: dict[str, str],
    ) -> None:
        super().__init__(path, (RUNS,))
        self.spec = spec
        self.platform = platform
        self.unit_ps = unit_ps
        self.changes = changes
        self.impossible = impossible

    @classmethod
    def create(
        cls,
        path: Path,
        spec: dict[str, Any],
        platform: Platform,
        *,
        unit_ps: int,
        changes: Mapping[str, str],
        impossible: Mapping[str, str],
    ) -> LoadStore:
        """Begins a load test in ``path``, which must be missing, empty, or begun and killed.

        Raises:
            UsageError: Something lies there already.
            DeadbeatError: It cannot be written, or another process is writing there.
        """
        with storing(path):
            path.mkdir(parents=True, exist_ok=True)
        foreign = [entry.name for entry in path.iterdir() if not _is_begun(entry)]
        if foreign:
            raise UsageError(
                f"{path} is not empty: it holds {min(foreign)}", "choose an empty or a new folder"
            )
        store = cls(
            path,
            spec=spec,
            platform=platform,
            unit_ps=unit_ps,
            changes=dict(changes),
            impossible=dict(impossible),
        )
        plain = {
            "spec": spec,
            "platform": to_plain(platform),
            "unit_ps": unit_ps,
            "changes": store.changes,
            "impossible": store.impossible,
        }
        with store.lock(), storing(path):
            store.clean()
            (path / RUNS).mkdir(exist_ok=True)
            write_json(path / LOAD_FILE, plain)
        return store

    @classmethod
    def open(cls, path: Path) -> LoadStore:
        """The load test in ``path``.

        Raises:
            DataError: None there, or ``load.json`` is damaged or of another format.
        """
        file = path / LOAD_FILE
        if not file.is_file():
            raise DataError(
                f"{path} is not a load test: it has no {LOAD_FILE}",
                "name a folder that deadbeat load wrote",
            )
        plain = read_json(file, what="load file", hint=_TEST_HINT)
        spec, unit_ps = plain.get("spec"), plain.get("unit_ps")
        changes, impossible = plain.get("changes"), plain.get("impossible")
        whole = (
            isinstance(spec, dict) and isinstance(changes, dict) and isinstance(impossible, dict)
        )
        if not whole or not isinstance(unit_ps, int) or unit_ps < 1:
            raise DataError(f"load file {file} is damaged: values are missing in it", _TEST_HINT)
        platform = structure(
            plain.get("platform"), Platform, path=file, what="load file", hint=_TEST_HINT
        )
        assert isinstance(platform, Platform)
        store = cls(
            path,
            spec=plain["spec"],
            platform=platform,
            unit_ps=unit_ps,
            changes=plain["changes"],
            impossible=plain["impossible"],
        )
        store.clean_if_possible()
        return store

    def committed(self) -> set[LoadKey]:
        """The runs that are stored."""
        found = set()
        place = self.path / RUNS
        for entry in place.iterdir() if place.is_dir() else ():
            if entry.suffix == ".json":
                try:
                    found.add(LoadKey.parse(entry.stem))
                except UsageError:
                    continue
        return found

    def run_path(self, key: LoadKey) -> Path:
        """Where the run ``key`` is or would be."""
        return self.path / RUNS / f"{key.text}.json"

    def commit(self, run: LoadRun) -> Path:
        """Keeps a run; whole or not at all.

        Raises:
            DeadbeatError: It is stored already, or cannot be written.
        """
        path = self.run_path(run.key)
        plain = {"run": run_to_plain(run), "format": FORMAT, "tool": tool_version()}
        text = json.dumps(plain, sort_keys=True, ensure_ascii=False, allow_nan=False)
        with self.lock():
            if path.exists():
                raise DeadbeatError(f"{path} is stored already", "a defect")
            with storing(path):
                path.parent.mkdir(exist_ok=True)
            atomic_write(path, text + "\n")
        return path

    def load(self, key: LoadKey) -> LoadRun:
        """The run ``key``.

        Raises:
            DataError: Missing, damaged, or of another key or format.
        """
        path = self.run_path(key)
        plain = read_json(path, what="run", hint=_RUN_HINT).get("run")
        try:
            run = _converter().structure(plain, LoadRun)
        except Exception as error:  # cattrs groups whatever its hooks raise
            lines = transform_error(error, path="$") or [str(error)]
            raise DataError(f"run {path} is damaged: {lines[0]}", _RUN_HINT) from error
        if run.key != key:
            raise DataError(f"run {path} is damaged: it is {run.key.text}", _RUN_HINT)
        return run

    def runs(self) -> Iterator[LoadRun]:
        """Every stored run in the order of its key, one at a time in memory."""
        return (self.load(key) for key in sorted(self.committed()))


@functools.cache
def _converter() -> Converter:
    made = Converter(forbid_extra_keys=True)
    for kind in (Rounds, Gaps):
        made.register_unstructure_hook(kind, lambda columns: columns.to_json())
        made.register_structure_hook(kind, lambda plain, wanted: wanted(**plain))
    made.register_unstructure_hook(LoadKey, lambda key: key.text)
    made.register_structure_hook(LoadKey, lambda text, _: LoadKey.parse(str(text)))
    return made


def run_to_plain(run: LoadRun) -> dict[str, Any]:
    """JSON values of a run."""
    plain = _converter().unstructure(run)
    assert isinstance(plain, dict)
    return plain


def _is_begun(entry: Path) -> bool:
    """Whether ``entry`` may lie in a folder whose load test was begun and killed at once."""
    if entry.name == LOCK_NAME or entry.suffix == PART_SUFFIX:
        return True
    return entry.name == RUNS and entry.is_dir() and not any(entry.iterdir())
