"""A latency matrix's directory: what was asked and where, and an immutable file for every run.

``latency.json`` holds the specification and the platform, ``runs/KEY.json`` a run (`LatencyRun`),
``failed/KEY.json`` why another has no result; everything else is derived. What exists is asked of
the directory alone, so that a matrix resumes after a kill at any moment. Layout:
docs/reference/latency-files.md.
"""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

from cattrs import Converter, transform_error

from deadbeat.model import histogram
from deadbeat.model.errors import DataError
from deadbeat.model.histogram import Histogram
from deadbeat.model.latency import LatencyKey, LatencyRun
from deadbeat.model.platform import Platform
from deadbeat.model.validity import judged_latency
from deadbeat.store.files import (
    read_json,
    storing,
    write_json,
)
from deadbeat.store.folder import make_empty
from deadbeat.store.runfolder import RUN_HINT, RUNS, SET_ASIDE, RunFolder, store_problems
from deadbeat.store.serial import structure, to_plain

LATENCY_FILE = "latency.json"
#: What ``deadbeat doctor`` said of the machine when the matrix was begun.
DOCTOR_FILE = "doctor.json"
FAILED = "failed"

_MATRIX_HINT = "put a good copy back, or begin anew with --fresh"


class LatencyStore(RunFolder[LatencyKey, LatencyRun]):
    """One matrix's directory. Use `create` or `open`.

    Attributes:
        path: The directory.
        spec: What was asked, as JSON values (`latency.spec.read_spec` reads them).
        platform: Where it was measured.
    """

    def __init__(self, path: Path, *, spec: dict[str, Any], platform: Platform) -> None:
        super().__init__(path, (RUNS, FAILED, SET_ASIDE))
        self.spec = spec
        self.platform = platform

    @classmethod
    def create(cls, path: Path, spec: dict[str, Any], platform: Platform) -> LatencyStore:
        """Begins a matrix in ``path``, which must be missing, empty, or begun and killed.

        Raises:
            UsageError: Something lies there already.
            DeadbeatError: It cannot be written, or another process is writing there.
        """
        make_empty(path, (RUNS, FAILED))
        store = cls(path, spec=spec, platform=platform)
        with store.lock(), storing(path):
            store.clean()
            for folder in (RUNS, FAILED):
                (path / folder).mkdir(exist_ok=True)
            write_json(path / LATENCY_FILE, {"spec": spec, "platform": to_plain(platform)})
        return store

    @classmethod
    def open(cls, path: Path) -> LatencyStore:
        """The matrix in ``path``.

        Raises:
            DataError: None there, or ``latency.json`` is damaged or of another format.
        """
        file = path / LATENCY_FILE
        if not file.is_file():
            raise DataError(
                f"{path} is not a latency matrix: it has no {LATENCY_FILE}",
                "name a folder that deadbeat latency wrote",
            )
        plain = read_json(file, what="latency file", hint=_MATRIX_HINT)
        spec = plain.get("spec")
        if not isinstance(spec, dict):
            raise DataError(f"latency file {file} is damaged: no valid spec in it", _MATRIX_HINT)
        platform = structure(
            plain.get("platform"), Platform, path=file, what="latency file", hint=_MATRIX_HINT
        )
        assert isinstance(platform, Platform)
        store = cls(path, spec=spec, platform=platform)
        store.clean_if_possible()
        return store

    def save_doctor(self, answer: dict[str, Any]) -> None:
        """Keeps what ``deadbeat doctor --json`` says of the machine."""
        with self.lock():
            write_json(self.path / DOCTOR_FILE, answer)

    def parse_key(self, text: str) -> LatencyKey:
        return LatencyKey.parse(text)

    def to_plain(self, run: LatencyRun) -> dict[str, Any]:
        return run_to_plain(run)

    def from_plain(self, plain: Any, path: Path) -> LatencyRun:
        return judged_latency(run_from_plain(plain, path=path, hint=RUN_HINT))

    def failed(self) -> dict[LatencyKey, str]:
        """Runs without a result, and why; one that was measured later is not among them."""
        lacking = self.keys_in(FAILED) - self.committed()
        return {key: self._reason(key) for key in sorted(lacking)}

    def fail(self, key: LatencyKey, reason: str) -> None:
        """Notes that ``key`` has no result; a later `commit` of it counts instead."""
        path = self.path / FAILED / f"{key.text}.json"
        with self.lock(), storing(path):
            path.parent.mkdir(exist_ok=True)
            write_json(path, {"reason": reason})

    def _reason(self, key: LatencyKey) -> str:
        path = self.path / FAILED / f"{key.text}.json"
        try:
            return str(read_json(path, what="file", hint=RUN_HINT).get("reason", ""))
        except DataError as error:
            return error.message


@functools.cache
def _converter() -> Converter:
    made = Converter(forbid_extra_keys=True)
    store_problems(made)
    made.register_unstructure_hook(Histogram, histogram.to_json)
    made.register_structure_hook(Histogram, lambda plain, _: histogram.from_json(plain))
    made.register_unstructure_hook(LatencyKey, lambda key: key.text)
    made.register_structure_hook(LatencyKey, lambda text, _: LatencyKey.parse(str(text)))
    return made


def run_to_plain(run: LatencyRun) -> dict[str, Any]:
    """JSON values of a run; `run_from_plain` reads them."""
    plain = _converter().unstructure(run)
    assert isinstance(plain, dict)
    return plain


def run_from_plain(plain: Any, *, path: Path, hint: str) -> LatencyRun:
    """The run that was written to ``path``.

    Raises:
        DataError: Naming the first wrong key.
    """
    try:
        return _converter().structure(plain, LatencyRun)
    except Exception as error:  # cattrs groups whatever its hooks raise
        lines = transform_error(error, path="$") or [str(error)]
        raise DataError(f"run {path} is damaged: {lines[0]}", hint) from error
