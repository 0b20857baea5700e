"""Results of results: the folder that a comparison or a prediction left.

`DERIVED_FILE` says which verb made it, of what, and what it answered.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from attrs import asdict, frozen

from deadbeat.base.model.errors import DataError
from deadbeat.base.model.finding import Finding
from deadbeat.base.model.words import Json
from deadbeat.base.store.files import PART_SUFFIX, file_hash, read_json, write_json
from deadbeat.base.store.place import DERIVED_FILE, HEADS, FolderState
from deadbeat.base.store.serial import plain_converter, structure

_HINT = "repeat the command that made it"
#: In a result: what is drawn of its runs.
_DRAWN = "figures"


@frozen(kw_only=True)
class InputFolder:
    """A result of which another was made.

    Attributes:
        digest: SHA-256 of what was measured, by file name and content.
    """

    path: str
    digest: str

    @classmethod
    def of(cls, folder: Path) -> InputFolder:
        return cls(path=str(folder), digest=digest_of(folder))

    @property
    def state(self) -> str:
        """``same``, ``changed`` or ``gone``, as it is now."""
        folder = Path(self.path)
        if not folder.is_dir():
            return "gone"
        return "same" if digest_of(folder) == self.digest else "changed"


@frozen(kw_only=True)
class Derived:
    """What a folder holds.

    Attributes:
        verb: The command that made it.
        inputs: In the order in which they were named.
        kind, state, headline, findings, results: What ``--json`` printed.
        text: The answer for a person, line by line.
    """

    verb: str
    inputs: tuple[InputFolder, ...]
    kind: str
    state: str
    headline: str
    findings: tuple[Finding, ...]
    results: Any
    text: tuple[str, ...]

    def write(self, folder: Path) -> None:
        write_json(folder / DERIVED_FILE, asdict(self), indent=None)


def read_derived(folder: Path) -> Derived:
    """What ``folder`` holds. Raises DataError: it is damaged, or nothing was derived there."""
    file = folder / DERIVED_FILE
    plain = read_json(file, what="derived result", hint=_HINT)
    return structure(
        plain, Derived, path=file, what="derived result", hint=_HINT, made=plain_converter()
    )


@frozen(kw_only=True)
class DerivedState(FolderState):
    """A derived result as a list shows it; ``preset`` names what it is of."""

    inputs: tuple[InputFolder, ...] = ()

    def facts(self) -> dict[str, Json]:
        return {"inputs": [asdict(each) for each in self.inputs]}


def state_of(path: Path) -> tuple[str, DerivedState]:
    """Verb and state of a derived result; damage is a state, not an error."""
    try:
        derived = read_derived(path)
    except DataError as error:
        problem = str(error)
        return "derived", DerivedState(name=path.name, path=path, state="damaged", problem=problem)
    return derived.verb, DerivedState(
        name=path.name,
        path=path,
        state="finished",
        preset=", ".join(Path(each.path).name for each in derived.inputs),
        inputs=derived.inputs,
    )


def digest_of(folder: Path) -> str:
    """SHA-256 of what was measured in a folder of results: its head and its runs, not what a
    report makes of them. Raises DataError: a file cannot be read."""
    found = hashlib.sha256()
    for file in sorted(measured_files(folder)):
        name = f"{file.relative_to(folder)}\0{file_hash(file)}\n"
        found.update(name.encode(errors="surrogateescape"))
    return found.hexdigest()


def measured_files(folder: Path) -> Iterator[Path]:
    """Head and runs of a result, not what a report makes of them."""
    yield from filter(Path.is_file, (folder / head for head in HEADS))
    for path in folder.iterdir():
        if path.is_dir() and path.name != _DRAWN:
            yield from (
                file
                for file in path.rglob("*")
                if file.is_file() and file.suffix != PART_SUFFIX and file.name[:1] != "."
            )
