"""Which folder a measurement lives in: resumed while unfinished, a new number once finished.

All of a name of their kind are ``NAME``, ``NAME-2``, ``NAME-3``, ...: the last of a kind is
continued while it lacks runs or its report, after that the last before it that does and was asked
the same; after that the same command begins the next. A name that was given is one folder: the same
command continues it, ``--fresh`` replaces it, all else is refused.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Self

from attrs import frozen

from deadbeat.base.model.errors import DataError, DeadbeatError, UsageError
from deadbeat.base.model.refused import refusal
from deadbeat.base.model.specification import differences
from deadbeat.base.model.words import Json, near
from deadbeat.base.store.files import (
    PART_SUFFIX,
    followed,
    listing,
    part_path,
    read_json,
    storing,
    sync,
)
from deadbeat.base.store.folder import EXPERIMENT_FILE, writing

#: Written last: what has it is finished.
REPORT_FILE = "report.html"
#: In a folder with task sets of another result: which one.
ORIGIN_FILE = "origin.json"
#: In the folder of a result: when the program beside its runs ended, how, and its starts.
BESIDE_LOG = "beside.log"
#: The link to the last result.
LATEST = "latest"
LIST_HINT = "deadbeat list results lists them"
REPLACE_HINT = "--fresh replaces it, or choose another --name"
CONTINUE_HINT = "--fresh begins again, --name NAME beside it; as it was begun it continues"


def entries(runs: Path) -> list[Path]:
    """Folders under ``runs``, links not followed; none where ``runs`` does not exist yet."""
    try:
        return [
            path
            for path in runs.iterdir()
            if path.is_dir() and not path.is_symlink() and path.name[:1] != "."
        ]
    except FileNotFoundError:
        return []
    except OSError as error:
        what = f"cannot read {runs}"
        raise DataError(*refusal(what, error, "choose another --runs")) from None


def family(runs: Path, name: str) -> dict[int, Path]:
    """Number -> folder of everything that bears the name; an unused folder is nothing."""
    pattern = re.compile(re.escape(name) + r"(?:-([1-9][0-9]{0,8}))?")
    found: dict[int, Path] = {}
    for path in entries(runs):
        match = pattern.fullmatch(path.name)
        if match and (match[1] is None or int(match[1]) > 1):
            # Where there are only leftovers of one killed at birth a campaign may begin.
            begun = any(
                entry.is_file()
                and not entry.name.startswith(".")
                and entry.suffix != PART_SUFFIX
                and entry.name != ORIGIN_FILE
                for entry in path.rglob("*")
            )
            if begun:
                found[int(match[1] or 1)] = path
    return found


def given_place(runs: Path, name: str, fresh: bool, holds: Callable[[Path], bool]) -> Place | None:
    """Where what the user calls ``name`` begins; None: what is there may be continued.

    Raises UsageError: what is there is not what ``holds`` says, or with ``fresh`` no result."""
    path = runs / name
    if not os.path.lexists(path) or (path.is_dir() and not any(path.iterdir())):
        return Place(path=path, resumed=False)
    if path.is_symlink() or not (has_head(path) if fresh else holds(path)):
        what = "a result of another kind" if has_head(path) else "no result"
        hint = "--fresh replaces it, or choose" if has_head(path) else "choose"
        raise UsageError(f"{path} is there, and is {what}", f"{hint} another --name")
    return Place(path=path, resumed=False, replaces=True) if fresh else None


def imported_place(runs: Path, given: str | None, file: str, fresh: bool) -> tuple[Place, str]:
    """Where what was read from ``file``, named without its ending, goes, and its name: a new
    folder, or that of the name ``given``. Raises UsageError: something is there, without ``fresh``
    or no result."""
    if given is None:
        name = re.sub(r"[^A-Za-z0-9._-]+", "-", file).strip("-._")[:60] or "imported"
        path = runs / numbered(name, max(family(runs, name), default=0) + 1)
        return Place(path=path), name
    place = given_place(runs, given, fresh, has_head)
    if place is None:
        raise UsageError(f"{runs / given} is there", REPLACE_HINT)
    return place, given


def numbered(name: str, number: int) -> str:
    return name if number == 1 else f"{name}-{number}"


@frozen
class FolderKind:
    """What has folders of its own.

    Attributes:
        file: A folder that holds it is one of them.
        noun: What it is called in a sentence.
        name: The kind's own name, where other kinds call the file the same.
    """

    file: str
    noun: str
    name: str = ""

    def holds(self, path: Path) -> bool:
        """Whether ``path`` is a folder of this kind."""
        file = path / self.file
        if not self.name or not file.is_file():
            return file.is_file()
        try:
            plain = read_json(file, what="experiment", hint=LIST_HINT)
        except DataError:
            return False
        return plain.get("kind") == self.name

    def folders(self, runs: Path) -> list[Path]:
        """All under ``runs``, the one begun first first."""
        found = [path for path in entries(runs) if self.holds(path)]
        return sorted(found, key=lambda path: ((path / self.file).stat().st_mtime_ns, path.name))

    def find(self, runs: Path, text: str) -> Path | None:
        """The folder that ``text`` names, a path or a name under ``runs``; None: it names none."""
        places = (runs / text, Path(text))
        return next((followed(path) for path in places if self.holds(path)), None)

    def no_campaign(self, path: Path) -> UsageError:
        """That ``path``, one of them, is asked for what only a campaign has."""
        name = path.resolve().name
        hint = f"deadbeat show {name} and deadbeat page {name} take it"
        return UsageError(f"{name} is a {self.noun}, not a campaign", hint)


CAMPAIGN_FILE, LATENCY_FILE, LOAD_FILE = "campaign.json", "latency.json", "load.json"
STUDY_FILE = "study.json"
CAMPAIGN = FolderKind(CAMPAIGN_FILE, "campaign")
MATRIX = FolderKind(LATENCY_FILE, "latency matrix")
LOAD_TEST = FolderKind(LOAD_FILE, "load test")
STUDY = FolderKind(STUDY_FILE, "study")
BREAKDOWN = FolderKind("breakdown.json", "breakdown search")
PROGRAM = FolderKind("program.json", "measured program")
#: Results of results (`deadbeat.base.store.derived`).
DERIVED_FILE = "derived.json"
DERIVED = FolderKind(DERIVED_FILE, "derived result")
#: A folder of results holds one of them.
HEADS = (
    *(kind.file for kind in (CAMPAIGN, MATRIX, LOAD_TEST, STUDY, BREAKDOWN, PROGRAM)),
    EXPERIMENT_FILE,
)


def has_head(path: Path) -> bool:
    return any((path / file).is_file() for file in HEADS)


def no_result(runs: Path, text: str, others: Sequence[str] = ()) -> UsageError:
    """That no folder is meant by ``text``, and the nearest name of one or of ``others``."""
    for folder in (runs / text, Path(text)):
        if DERIVED.holds(folder):
            return UsageError(f"{folder} is made of other results", "name those, or leave it out")
        if folder.is_dir():
            message = f"{folder} holds no result: no {', '.join(HEADS)} is in it"
            hint = f"restore it from a backup if it was a result folder; {LIST_HINT}"
            return UsageError(message, hint)
    known = [path.name for path in sorted(entries(runs)) if has_head(path)]
    none = f"{runs} holds none: deadbeat contention, latency or load"
    hint = near(text, [*known, *others]) or (LIST_HINT if known else none)
    return UsageError(f"there is no result {text}", hint)


@frozen(kw_only=True)
class FolderState:
    """A folder as a list shows it.

    Attributes:
        state: ``finished``, ``measured`` (all runs, no report), ``unfinished`` or ``damaged``.
        preset: What it was asked for, in a word or two.
        planned, done, failed: Runs; 0 where damaged.
        invalid: Runs of those done that count nowhere.
        problem: What is damaged.
        cure: What mends it; "": nothing does.
        loud: What it is instead of a measurement: SIMULATED; "": it is one.
    """

    name: str
    path: Path
    state: str
    preset: str = ""
    planned: int = 0
    done: int = 0
    failed: int = 0
    invalid: int = 0
    problem: str = ""
    cure: str = ""
    loud: str = ""

    @classmethod
    def of(
        cls, path: Path, *, complete: bool, harm: DeadbeatError | None = None, **more: Any
    ) -> Self:
        """State of a folder that can be read.

        Args:
            complete: No run is lacking. ``harm``: what is damaged all the same; None: nothing.
            more: Its other attributes.
        """
        if harm is not None:
            more |= {"problem": harm.message, "cure": harm.hint}
        state = "damaged" if harm else stage(path, complete=complete)
        return cls(name=path.name, path=path, state=state, **more)

    def facts(self) -> dict[str, Json]:
        """What ``deadbeat list results --json`` tells of this kind alone."""
        return {"invalid": self.invalid}

    def words(self, kind: str) -> str:
        """What it was asked for, and by which kind."""
        return f"{kind} {self.preset}".rstrip() + f", {self.loud}" * bool(self.loud)


def beheaded(folders: Iterable[Path]) -> list[FolderState]:
    """Which of ``folders`` hold runs, but not the file that names their owner."""
    return [
        FolderState(
            name=path.name,
            path=path,
            state="damaged",
            problem=f"{path} holds runs, but none of {', '.join(HEADS)}",
            cure="restore it from a backup",
        )
        for path in sorted(folders)
        if not has_head(path) and not (path / "runs").is_symlink() and listing(path / "runs")
    ]


@frozen(kw_only=True)
class Place:
    """The folder a command works in.

    Attributes:
        resumed: There is something in it to continue.
        finished: It answers already what is asked, and is to be kept.
        replaces: A result is there that is to go: `emptied`.
    """

    path: Path
    resumed: bool = False
    finished: bool = False
    replaces: bool = False

    def emptied(self) -> Path:
        """The folder, without what it replaces. Raises DeadbeatError: that is being written."""
        if self.replaces:
            gone = self.path.with_name(f".{self.path.name}{PART_SUFFIX}")
            with storing(gone), writing(self.path):
                shutil.rmtree(gone, ignore_errors=True)
                self.path.rename(gone)
                shutil.rmtree(gone)
        return self.path


def stage(path: Path, *, complete: bool) -> str:
    """The state of what is not damaged; ``complete``: no run is lacking."""
    if not complete:
        return "unfinished"
    return "finished" if (path / REPORT_FILE).is_file() else "measured"


def other_parameters(there: Mapping[str, Json], now: Mapping[str, Json]) -> Iterator[str]:
    """How two canonical specifications differ, as a predicate; nothing where they do not."""
    if changed := differences(there, now):
        yield f"was begun with other parameters: {', '.join(changed)}"


def point_latest(runs_root: Path, name: str) -> Path:
    """Let ``runs_root/latest`` lead to ``runs_root/name``, atomically; returns the link.

    Raises:
        UsageError: ``latest`` exists and is not a link.
        DeadbeatError: The link cannot be written.
    """
    link = runs_root / LATEST
    if link.exists() and not link.is_symlink():
        raise UsageError(
            f"{link} is not a link", "rename it: deadbeat keeps its last campaign there"
        )
    part = part_path(link)
    with storing(link):
        part.unlink(missing_ok=True)
        part.symlink_to(name)
        part.replace(link)
        sync(runs_root)
    return link
