"""What the directories of latency matrices and load tests have in common: a file for every run.

``runs/KEY.json`` is written once. Only an invalid run may be measured again: it is copied to
``set-aside/KEY.N.json`` (its N-th measurement), and the run that then replaces it atomically says
that it did. Of several measurements the first that is valid by today's rule is the run.
"""

from __future__ import annotations

import json
from abc import abstractmethod
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

import attrs
from cattrs import Converter, override
from cattrs.gen import make_dict_structure_fn, make_dict_unstructure_fn

from deadbeat.model.errors import DataError, DeadbeatError, UsageError
from deadbeat.model.finding import Finding
from deadbeat.model.latency import Replaced
from deadbeat.store.files import FORMAT, atomic_write, copy_file, read_json, storing, tool_version
from deadbeat.store.folder import OwnedFolder

RUNS, SET_ASIDE = "runs", "set-aside"
RUN_HINT = "delete the file and repeat the command: only this run is measured again"


class Key(Protocol):
    """What a file is called after."""

    @property
    def text(self) -> str: ...

    def __lt__(self, other: Any) -> bool: ...


K = TypeVar("K", bound=Key)


class Run(attrs.AttrsInstance, Protocol):
    """One measurement."""

    @property
    def key(self) -> Any: ...
    @property
    def started(self) -> str: ...
    @property
    def problems(self) -> tuple[Finding, ...]: ...
    @property
    def replaced(self) -> tuple[Replaced, ...]: ...
    @property
    def valid(self) -> bool: ...


R = TypeVar("R", bound=Run)


class RunFolder(OwnedFolder, Generic[K, R]):
    """A directory of runs."""

    @abstractmethod
    def parse_key(self, text: str) -> K:
        """The key called ``text``. UsageError where none is."""

    @abstractmethod
    def to_plain(self, run: R) -> dict[str, Any]:
        """JSON values of a run."""

    @abstractmethod
    def from_plain(self, plain: Any, path: Path) -> R:
        """The run that was written to ``path``, judged by today's rule. DataError where it is
        none."""

    def keys_in(self, folder: str) -> set[K]:
        """Keys of the files ``KEY.json`` in ``folder``; what has another name is none of ours."""
        found, place = set(), self.path / folder
        for entry in place.iterdir() if place.is_dir() else ():
            if entry.suffix == ".json":
                try:
                    key = self.parse_key(entry.stem)
                except UsageError:
                    continue
                if key.text == entry.stem:
                    found.add(key)
        return found

    def committed(self) -> set[K]:
        """The runs that are stored."""
        return self.keys_in(RUNS)

    def run_path(self, key: K) -> Path:
        """Where the run ``key`` is or would be."""
        return self.path / RUNS / f"{key.text}.json"

    def commit(self, run: R) -> Path:
        """Keeps a run; whole or not at all, and once.

        Raises:
            DeadbeatError: It is stored already, or cannot be written.
        """
        path = self.run_path(run.key)
        with self.lock():
            if path.exists():
                raise DeadbeatError(f"{path} is stored already", "a defect")
            self._write(path, run)
        return path

    def keep(self, run: R) -> Path:
        """Commits a run, or replaces the invalid one of its key.

        Raises:
            DeadbeatError, DataError: As `commit` and `replace`.
        """
        stored = self.run_path(run.key).is_file()
        return self.replace(run) if stored else self.commit(run)

    def replace(self, run: R) -> Path:
        """Keeps a run in the place of an invalid one, which is set aside; a kill at any moment
        leaves the one or the other.

        Raises:
            DeadbeatError: The one that is stored counts, or nothing can be written.
            DataError: There is none, or it is damaged.
        """
        path = self.run_path(run.key)
        with self.lock():
            old = self.load(run.key)
            if old.valid:
                raise DeadbeatError(f"{path} counts: it is not measured again", "a defect")
            number = len(old.replaced) + 1
            aside = self._aside(run.key, number)
            with storing(aside):
                aside.parent.mkdir(exist_ok=True)
            copy_file(path, aside)
            why = tuple(each for each in old.problems if each.severity == "invalid")
            before = (*old.replaced, Replaced(started=old.started, problems=why))
            self._write(path, _evolved(run, before))
        return path

    def load(self, key: K) -> R:
        """The run ``key``: its first valid measurement, else its last.

        Versions before set runs aside beside which something else ran, and measured them again:
        what was measured first counts.

        Raises:
            DataError: Missing, damaged, or of another key or format.
        """
        last = self._read(self.run_path(key), key)
        for number in range(1, len(last.replaced) + 1):
            aside = self._aside(key, number)
            if aside.is_file() and (run := self._read(aside, key)).valid:
                return run
        return last

    def _aside(self, key: K, number: int) -> Path:
        return self.path / SET_ASIDE / f"{key.text}.{number}.json"

    def _read(self, path: Path, key: K) -> R:
        run = self.from_plain(read_json(path, what="run", hint=RUN_HINT).get("run"), path)
        if run.key != key:
            raise DataError(f"run {path} is damaged: it is {run.key.text}", RUN_HINT)
        return run

    def invalid(self) -> set[K]:
        """Stored runs that count nowhere.

        Raises:
            DataError: A file is missing or no JSON; one whose run is not valid, or replaces one
                that was not, is damaged.
        """
        return {key for key in self.committed() if self._is_invalid(key)}

    def settled(self, *, retry_invalid: bool) -> set[K]:
        """Runs that are not to be measured (again): the stored ones.

        Args:
            retry_invalid: But the invalid ones.

        Raises:
            DataError: One that would be replaced is damaged.
        """
        return self.committed() - (self.invalid() if retry_invalid else set())

    def runs(self) -> Iterator[R]:
        """Every stored run in the order of its key, one at a time in memory.

        Raises:
            DataError: As `load`.
        """
        return (self.load(key) for key in sorted(self.committed()))

    def _is_invalid(self, key: K) -> bool:
        """Most runs are stored as valid: their figures need not be read."""
        plain = read_json(self.run_path(key), what="run", hint=RUN_HINT).get("run")
        problems = plain.get("problems") if isinstance(plain, dict) else None
        listed = problems if isinstance(problems, list) else []
        stored = any(isinstance(p, dict) and p.get("seriousness") == "invalid" for p in listed)
        return stored and not self.load(key).valid

    def _write(self, path: Path, run: R) -> None:
        plain = {"run": self.to_plain(run), "format": FORMAT, "tool": tool_version()}
        text = json.dumps(plain, sort_keys=True, ensure_ascii=False, allow_nan=False)
        with storing(path):
            path.parent.mkdir(exist_ok=True)
        atomic_write(path, text + "\n")


def store_problems(made: Converter) -> None:
    """Problems of a run under the names that its file has had from the first format on."""
    names: dict[str, Any] = {
        "id": override(rename="name"),
        "severity": override(rename="seriousness"),
        "message": override(rename="text"),
        "cure": override(omit=True),
        "where": override(omit=True),
    }
    made.register_unstructure_hook(Finding, make_dict_unstructure_fn(Finding, made, **names))
    made.register_structure_hook(Finding, make_dict_structure_fn(Finding, made, **names))


def _evolved(run: R, replaced: tuple[Replaced, ...]) -> R:
    made: Any = run  # attrs.evolve does not know that R is a class of attrs
    evolved: R = attrs.evolve(made, replaced=replaced)
    return evolved
