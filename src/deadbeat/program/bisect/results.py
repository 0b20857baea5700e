"""What is stored of a search: a file for every block of runs."""

from __future__ import annotations

from collections.abc import Mapping

from attrs import field, frozen

from deadbeat.base.model.errors import UsageError
from deadbeat.base.model.run import StoredRun
from deadbeat.base.model.words import Json, shown
from deadbeat.base.store.runfolder import RunFolder, run_converter
from deadbeat.program.bisect.repository import Commit


@frozen(order=True)
class BisectKey:
    """A block of runs, by its number."""

    number: int

    @property
    def text(self) -> str:
        return f"{self.number:06d}"

    @classmethod
    def parse(cls, text: str) -> BisectKey:
        if not (text.isascii() and text.isdigit()):
            raise UsageError(f"{shown(text)} names no block", "a block is called 000001")
        return cls(int(text))


@frozen(kw_only=True)
class BisectRun(StoredRun):
    """A block. Commits are places in the row that the head has.

    Attributes:
        kind: As of `search`.
        unfit: The commit that could not be measured, and why; then there are no runs.
    """

    key: BisectKey
    kind: str
    commits: tuple[int, ...] = ()
    values: tuple[float, ...] = ()
    unfit: dict[str, str] = field(factory=dict)


class BisectStore(RunFolder[BisectKey, BisectRun]):
    KIND, NOUN = "bisect", "search among commits"
    KEY, RUN = BisectKey, BisectRun
    CONVERTER = run_converter(BisectKey)

    @classmethod
    def has_facts(cls, plain: Mapping[str, Json]) -> bool:
        """Whether two commits or more are named, each with its subject."""
        rows = plain.get("commits")
        return (
            isinstance(rows, list)
            and len(rows) > 1
            and all(isinstance(row, list) and [*map(type, row)] == [str, str] for row in rows)
        )

    @property
    def commits(self) -> tuple[Commit, ...]:
        return tuple(Commit(*row) for row in self.facts["commits"])
