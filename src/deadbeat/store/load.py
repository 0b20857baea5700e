"""A load test's directory: what was asked and where, and an immutable file for every run.

``load.json`` holds the specification, the platform, the remedies and the cost of a unit of work;
``runs/KEY.json`` a run; everything else is derived. Layout: docs/reference/load.md.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from cattrs import Converter, transform_error

from deadbeat.model.errors import DataError
from deadbeat.model.load import Gaps, LoadKey, LoadRun, Rounds
from deadbeat.model.platform import Platform
from deadbeat.model.validity import judged_load
from deadbeat.store.files import (
    read_json,
    storing,
    write_json,
)
from deadbeat.store.folder import make_empty
from deadbeat.store.runfolder import RUN_HINT, RUNS, SET_ASIDE, RunFolder, store_problems
from deadbeat.store.serial import structure, to_plain

LOAD_FILE = "load.json"

_TEST_HINT = "put a good copy back, or begin anew with --fresh"


class LoadStore(RunFolder[LoadKey, LoadRun]):
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
        super().__init__(path, (RUNS, SET_ASIDE))
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

    def parse_key(self, text: str) -> LoadKey:
        return LoadKey.parse(text)

    def to_plain(self, run: LoadRun) -> dict[str, Any]:
        return run_to_plain(run)

    def from_plain(self, plain: Any, path: Path) -> LoadRun:
        try:
            return judged_load(_converter().structure(plain, LoadRun))
        except Exception as error:  # cattrs groups whatever its hooks raise
            lines = transform_error(error, path="$") or [str(error)]
            raise DataError(f"run {path} is damaged: {lines[0]}", RUN_HINT) from error


@functools.cache
def _converter() -> Converter:
    made = Converter(forbid_extra_keys=True)
    store_problems(made)
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
