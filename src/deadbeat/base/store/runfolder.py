"""The directory of an experiment that keeps a file for every run.

Its head (``experiment.json``; older kinds call it after themselves) holds the specification and the
platform, ``runs/KEY.json`` a run, ``failed/KEY.json`` why another has no result; everything else is
derived. What exists is asked of the directory alone, so that an experiment resumes after a kill at
any moment.

``runs/KEY.json`` is written once. Only an invalid run may be measured again: it is copied to
``set-aside/KEY.N.json`` (its N-th measurement), and the run that then replaces it atomically says
that it did. Of several measurements the first that is valid by today's rule is the run.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, ClassVar, Generic, Protocol, Self, TypeVar

import attrs
from cattrs import Converter, override
from cattrs.gen import make_dict_structure_fn, make_dict_unstructure_fn

from deadbeat.base.model.errors import DataError, DeadbeatError, UsageError
from deadbeat.base.model.finding import Finding
from deadbeat.base.model.platform import Platform
from deadbeat.base.model.run import Replaced, StoredRun
from deadbeat.base.model.words import Json
from deadbeat.base.store.files import (
    copy_file,
    listing,
    parse_json,
    read_bytes,
    read_json,
    write_json,
)
from deadbeat.base.store.folder import EXPERIMENT_FILE, HEAD_HINT, Head, OwnedFolder
from deadbeat.base.store.serial import exact_converter, structure
from deadbeat.base.store.serial import to_plain as platform_to_plain

#: What ``deadbeat doctor`` said of the machine when the experiment was begun.
DOCTOR_FILE = "doctor.json"
RUNS, FAILED, SET_ASIDE = "runs", "failed", "set-aside"
_DOCTOR_HINT = "deadbeat doctor --json > doctor.json on the system that was measured"
RUN_HINT = "delete the file and repeat the command: only this run is measured again"


class Key(Protocol):
    """What a file is called after."""

    @property
    def text(self) -> str: ...

    @classmethod
    def parse(cls, text: str) -> Self:
        """The key called ``text``. UsageError where none is."""

    def __lt__(self, other: Any) -> bool: ...


K = TypeVar("K", bound=Key)
R = TypeVar("R", bound=StoredRun)


class RunFolder(OwnedFolder, Generic[K, R]):
    """One experiment's directory. Use `create` or `open`.

    Attributes:
        KIND: Name of the kind, in its head.
        spec: What was asked, as JSON values.
        platform: Where it was measured.
        facts: What else the head holds.
    """

    KIND: ClassVar[str]
    HEAD: ClassVar[str] = EXPERIMENT_FILE
    FOLDERS: ClassVar[tuple[str, ...]] = (RUNS, FAILED, SET_ASIDE)
    #: The classes of a key and a run, and what makes runs of JSON values and back: `run_converter`.
    KEY: ClassVar[type[Any]]
    RUN: ClassVar[type[Any]]
    CONVERTER: ClassVar[Converter]

    def __init__(
        self, path: Path, *, spec: Mapping[str, Json], platform: Platform, **facts: Any
    ) -> None:
        super().__init__(path)
        self.spec = spec
        self.platform = platform
        self.facts = facts
        #: Runs that were read -> whether they are stored as invalid.
        self._stored_invalid: dict[K, bool] = {}

    @classmethod
    def create(cls, path: Path, spec: Mapping[str, Json], platform: Platform, **facts: Any) -> Self:
        """Begins an experiment; as `begun`."""
        head = {"spec": spec, "platform": platform_to_plain(platform), **facts}
        if cls.HEAD == EXPERIMENT_FILE:
            head["kind"] = cls.KIND
        return cls.begun(path, head)

    @classmethod
    def opened(cls, path: Path, head: Head) -> Self:
        plain, kind = head.facts, head.facts.pop("kind", cls.KIND)
        if kind != cls.KIND:
            raise DataError(f"{path} is not a {cls.NOUN}: it holds {kind}", "deadbeat list results")
        platform = structure(
            plain.pop("platform", None),
            Platform,
            path=path / cls.HEAD,
            what=f"{cls.NOUN} file",
            hint=HEAD_HINT,
        )
        if not cls.has_facts(plain):
            raise cls.damaged(path, "facts")
        return cls(path, spec=head.spec, platform=platform, **plain)

    @classmethod
    def has_facts(cls, plain: Mapping[str, Json]) -> bool:
        """Whether a head holds what a kind wants beside specification and platform."""
        return True

    def save_doctor(self, answer: Mapping[str, Json]) -> None:
        """Keeps what ``deadbeat doctor --json`` says of the machine."""
        with self.lock():
            write_json(self.path / DOCTOR_FILE, answer)

    def judged(self, run: R) -> R:
        """``run`` by today's rule."""
        return run

    def to_plain(self, run: R) -> dict[str, Json]:
        """JSON values of a run."""
        plain = self.CONVERTER.unstructure(run)
        assert isinstance(plain, dict)
        return plain

    def from_plain(self, plain: Any, path: Path) -> R:
        """The run that was written to ``path``, judged by today's rule.
        Raises DataError: naming the first wrong key."""
        run: R = structure(
            plain, self.RUN, path=path, what="run", hint=RUN_HINT, made=self.CONVERTER
        )
        try:
            return self.judged(run)
        except (ValueError, TypeError, KeyError, ArithmeticError) as error:
            raise DataError(f"run {path} is damaged: {error}", RUN_HINT) from error

    def keys_in(self, folder: str) -> set[K]:
        """Keys of the files ``KEY.json`` in ``folder``; what has another name is none of ours."""
        found = set()
        for entry in listing(self.path / folder):
            if entry.suffix == ".json":
                try:
                    key = self.KEY.parse(entry.stem)
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

    def keep(self, run: R) -> Path:
        """Keeps a run, whole or not at all. An invalid one of its key is set aside; a kill at any
        moment leaves the one or the other.

        Raises:
            DeadbeatError: The one that is stored counts, or nothing can be written.
            DataError: The one that is stored is damaged.
        """
        path = self.run_path(run.key)
        with self.lock():
            if path.exists():
                old = self.load(run.key)
                if old.valid:
                    raise DeadbeatError(f"{path} counts: it is not measured again", "a defect")
                aside = self._aside(run.key, len(old.replaced) + 1)
                copy_file(path, aside)
                why = tuple(each for each in old.problems if each.severity == "invalid")
                before = (*old.replaced, Replaced(started=old.started, problems=why))
                run = attrs.evolve(run, replaced=before)
            write_json(path, {"run": self.to_plain(run)}, indent=None)
            self._stored_invalid.pop(run.key, None)
        return path

    def load(self, key: K) -> R:
        """The run ``key``: its first valid measurement, else its last.

        Versions before set runs aside beside which something else ran, and measured them again:
        what was measured first counts.

        Raises:
            DataError: Missing, damaged, or of another key or format.
        """
        last, self._stored_invalid[key] = self._read(self.run_path(key), key)
        for number in range(1, len(last.replaced) + 1):
            aside = self._aside(key, number)
            if aside.is_file() and (run := self._read(aside, key)[0]).valid:
                return run
        return last

    def _aside(self, key: K, number: int) -> Path:
        return self.path / SET_ASIDE / f"{key.text}.{number}.json"

    def _read(self, path: Path, key: K) -> tuple[R, bool]:
        """The run in a file, and whether it is stored as invalid."""
        plain = read_json(path, what="run", hint=RUN_HINT).get("run")
        run = self.from_plain(plain, path)
        if run.key != key:
            raise DataError(f"run {path} is damaged: it is {run.key.text}", RUN_HINT)
        try:
            if run.started:  # other tools do not tell
                datetime.fromisoformat(run.started)
        except ValueError as error:
            raise DataError(f"run {path} is damaged: {error}", RUN_HINT) from error
        return run, _stored_invalid(plain)

    def invalid(self) -> set[K]:
        """Stored runs that count nowhere.

        Raises:
            DataError: A file is missing or no JSON; or that of an invalid run, or of one that
                replaces it, is damaged.
        """
        found = set()
        for key in self.committed():
            # Most runs are stored as valid: their figures need not be read.
            if key not in self._stored_invalid:
                plain = read_json(self.run_path(key), what="run", hint=RUN_HINT).get("run")
                self._stored_invalid[key] = _stored_invalid(plain)
            if self._stored_invalid[key] and not self.load(key).valid:
                found.add(key)
        return found

    def lacking(self, planned: Iterable[K], *, retry_invalid: bool = False) -> tuple[K, ...]:
        """The ``planned`` runs that are still to be measured, in order.
        Raises DataError: a run that would be replaced is damaged."""
        known = self.committed() - (self.invalid() if retry_invalid else set())
        return tuple(key for key in planned if key not in known)

    def failed(self) -> dict[K, str]:
        """Runs without a result, and why; one that was measured later is not among them."""
        lacking = self.keys_in(FAILED) - self.committed()
        return {key: self._reason(key) for key in sorted(lacking)}

    def fail(self, key: K, reason: str) -> None:
        """Notes that ``key`` has no result; a later `keep` of it counts instead."""
        path = self.path / FAILED / f"{key.text}.json"
        with self.lock():
            write_json(path, {"reason": reason})

    def _reason(self, key: K) -> str:
        path = self.path / FAILED / f"{key.text}.json"
        try:
            return str(read_json(path, what="file", hint=RUN_HINT).get("reason", ""))
        except DataError as error:
            return error.message

    def runs(self) -> Iterator[R]:
        """Every stored run in the order of its key, one at a time in memory.
        Raises DataError: see `load`."""
        return (self.load(key) for key in sorted(self.committed()))


def _stored_invalid(plain: Any) -> bool:
    problems = plain.get("problems") if isinstance(plain, dict) else None
    listed = problems if isinstance(problems, list) else []
    return any(isinstance(p, dict) and p.get("seriousness") == "invalid" for p in listed)


def inventory_in(folder: Path) -> dict[str, str]:
    """Lines of the inventory in the folder's answer of ``deadbeat doctor --json``, title to value,
    or why that is not known; {}: there is none. Raises DataError: unreadable or not JSON."""
    path = folder / DOCTOR_FILE
    if not path.is_file():
        return {}
    plain = parse_json(
        path,
        read_bytes(path, what="inventory", hint=_DOCTOR_HINT),
        what="inventory",
        hint=_DOCTOR_HINT,
    )
    answer = plain.get("results", plain) if isinstance(plain, dict) else {}  # before 0049: bare
    lines = answer.get("inventory") if isinstance(answer, dict) else None
    found = {}
    for line in lines if isinstance(lines, list) else ():
        if isinstance(line, dict) and "title" in line:
            text, basis = str(line.get("text") or "not known"), line.get("basis")
            found[str(line["title"])] = (
                f"{text}: {basis}" if line.get("value") is None and basis else text
            )
    return found


def run_converter(key: type[Key]) -> Converter:
    """A converter of runs: keys are written as their text, problems under the names that files have
    had from the first format on; unknown keys are errors."""
    made = exact_converter()
    made.register_unstructure_hook(key, lambda each: each.text)
    made.register_structure_hook(key, lambda text, _: key.parse(str(text)))
    names: dict[str, Any] = {
        "id": override(rename="name"),
        "severity": override(rename="seriousness"),
        "message": override(rename="text"),
        "cure": override(omit=True),
        "where": override(omit=True),
    }
    made.register_unstructure_hook(Finding, make_dict_unstructure_fn(Finding, made, **names))
    made.register_structure_hook(Finding, make_dict_structure_fn(Finding, made, **names))
    return made
