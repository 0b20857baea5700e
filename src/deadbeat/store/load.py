"""A load test's directory: what was asked and where, and an immutable file for every run.

``load.json`` holds the specification, the platform, the remedies and the cost of a unit of work;
``runs/KEY.json`` a run; everything else is derived. Layout: docs/reference/load.md.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from cattrs import Converter, transform_error

from deadbeat.model.errors import DataError
from deadbeat.model.load import Gaps, LoadKey, LoadRun, Rounds
from deadbeat.model.platform import Platform
from deadbeat.store.files import (
    read_json,
    storing,
    write_json,
)
from deadbeat.store.folder import OwnedFolder, make_empty, stored_keys
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
        make_empty(path, (RUNS,))
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
        return stored_keys(self.path / RUNS, LoadKey.parse)

    def run_path(self, key: LoadKey) -> Path:
        """Where the run ``key`` is or would be."""
        return self.path / RUNS / f"{key.text}.json"

    def commit(self, run: LoadRun) -> Path:
        """Keeps a run; whole or not at all.

        Raises:
            DeadbeatError: It is stored already, or cannot be written.
        """
        path = self.run_path(run.key)
        self.keep_run(path, run_to_plain(run))
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
