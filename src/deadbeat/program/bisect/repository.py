"""Commits of a repository, and copies of them in which a program is built.

The repository itself is only read: commits are checked out as work trees of a clone that shares its
objects and lies in the folder of the result. So nothing is left in it, however we end.
"""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from time import monotonic

from attrs import frozen

from deadbeat.base.model.errors import DataError, DeadbeatError, RunError, UsageError
from deadbeat.base.model.words import shortened, shown
from deadbeat.base.store.files import atomic_write, free_bytes
from deadbeat.machine.targets.guarded import ended_words
from deadbeat.machine.targets.repeated import Programs, git

#: Folders below the result: the clone, the copies of commits, and what their builds said.
_FOLDERS = ("clone", "trees", "logs")
#: Copies that are kept, at most, and bytes that stay free.
_MOST, _FREE = 32, 2 * 10**9


@frozen
class Commit:
    sha: str
    subject: str

    @property
    def short(self) -> str:
        return self.sha[:10] if re.fullmatch("[0-9a-f]{40,64}", self.sha) else self.sha

    def __str__(self) -> str:
        return f"{self.short} ({shortened(self.subject)})" if self.subject else self.short


def commits_of(folder: Path, text: str) -> tuple[Commit, ...]:
    """The commits of GOOD..BAD, first GOOD: along the first parents of BAD, those with GOOD in
    their history. Raises UsageError: there are none."""
    good, dots, bad = text.partition("..")
    if not dots or not good or not bad or bad.startswith("."):
        raise UsageError(f"{shown(text)} is not GOOD..BAD", "two commits: v1.2..main")
    try:
        shallow = git(folder, "rev-parse", "--is-shallow-repository").strip() == "true"
    except DataError as error:
        raise UsageError(f"no repository here: {error.message}", "be in the program's") from None
    if shallow:
        raise UsageError("this repository is a shallow clone", "git fetch --unshallow")
    ends = []
    for name in (good, bad):
        try:
            found = git(folder, "rev-parse", "--verify", "--quiet", "--end-of-options",
                        f"{name}^{{commit}}")  # fmt: skip
        except DataError:
            raise UsageError(f"{shown(name)} names no commit here", "see git log") from None
        ends.append(found.strip())
    if ends[0] == ends[1]:
        raise UsageError(f"{good} and {bad} are one commit, {ends[0][:10]}", "name two")
    span = f"{ends[0]}..{ends[1]}"
    inside = {*git(folder, "rev-list", "--ancestry-path", span).split()}
    if ends[1] not in inside:
        back = git(folder, "rev-list", "--ancestry-path", f"{ends[1]}..{ends[0]}").split()
        hint = f"the other way round: {bad}..{good}" if back else "git merge-base finds one"
        raise UsageError(f"{good} is no ancestor of {bad}", hint)
    form = ("log", "--format=%H %s", "--reverse")
    lines = git(folder, *form, "--no-walk", ends[0]).splitlines()
    lines += git(folder, *form, "--first-parent", span).splitlines()
    pairs = [line.partition(" ") for line in lines]
    return tuple(Commit(sha, subject) for sha, _, subject in pairs if sha in {*inside, ends[0]})


def below(folder: Path) -> str:
    """Where ``folder`` lies in its repository."""
    return git(folder, "rev-parse", "--show-prefix").strip()


def changed(folder: Path) -> bool:
    """Whether files that git knows have changes that are not committed."""
    return bool(git(folder, "status", "--porcelain", "--untracked-files=no").strip())


class Trees:
    """Copies of commits, built once, in the folder of a result.

    Args:
        folder: Of the result. ``source``: in the repository. ``build``: command; "": none.
    """

    def __init__(self, folder: Path, source: Path, build: str) -> None:
        self._clone, self._trees, self._logs = (folder.absolute() / each for each in _FOLDERS)
        self._source, self._build = source, build
        self._below = below(source)

    def clean(self) -> None:
        """Removes what a killed one left half done."""
        for tree in self._all():
            if not self._mark(tree).exists():
                _remove(tree)

    def remove(self) -> None:
        """Everything but what builds said."""
        _remove(self._trees)
        _remove(self._clone)

    def _all(self) -> list[Path]:
        found = self._trees.glob("*") if self._trees.is_dir() else ()
        return [path for path in found if path.is_dir() and not path.is_symlink()]

    @staticmethod
    def _mark(tree: Path) -> Path:
        """Beside a copy that is whole and built."""
        return tree.with_name(f"{tree.name}.built")

    def folder_of(self, commit: Commit) -> Path:
        return self._trees / commit.sha / self._below

    def log_of(self, commit: Commit) -> Path:
        """What its build said, where that failed."""
        return self._logs / f"{commit.sha}.log"

    def built(self, commit: Commit) -> bool:
        return self._mark(self._trees / commit.sha).exists()

    def make(self, commit: Commit, programs: Programs) -> float:
        """Checks it out and builds it; returns how long that took.

        Raises:
            RunError: It does not build.
            DeadbeatError: It cannot be checked out.
        """
        tree, began = self._trees / commit.sha, monotonic()
        self._make_room()
        if not self._clone.is_dir():
            self._copy()
        git(self._clone, "worktree", "prune")
        git(self._clone, "worktree", "add", "--detach", "--quiet", "--force", str(tree), commit.sha)
        self._logs.mkdir(exist_ok=True)
        log, place = self.log_of(commit), self.folder_of(commit)
        if not place.is_dir():
            raise RunError(f"it has no folder {self._below}")
        if self._build:
            ran = programs.run(("sh", "-c", self._build), place, log, None)
            if ran.status:
                last = programs.last_words(log)
                _remove(tree)
                raise RunError(f"its build ended {ended_words(ran.status)}{last}")
        log.unlink(missing_ok=True)
        atomic_write(self._mark(tree), "")
        return monotonic() - began

    def _copy(self) -> None:
        part = self._clone.with_name("clone.part")
        _remove(part)
        common = git(self._source, "rev-parse", "--path-format=absolute", "--git-common-dir")
        words = ("--shared", "--no-checkout", "--quiet", common.strip(), str(part))
        git(self._source, "clone", *words)
        part.rename(self._clone)

    def _make_room(self) -> None:
        """The copies that were made first go, where there are many or the disk is full."""
        for tree in sorted(self._all(), key=lambda tree: tree.stat().st_mtime_ns)[2:]:
            if len(self._all()) < _MOST and free_bytes(self._trees) > _FREE:
                break
            self._mark(tree).unlink(missing_ok=True)
            _remove(tree)


def _remove(path: Path) -> None:
    """A folder, also where files of a build cannot be written."""

    def again(remove: object, name: str, _: object) -> None:
        left = Path(name)
        left.parent.chmod(0o700)
        if left.is_dir() and not left.is_symlink():
            left.chmod(0o700)
            _remove(left)
        else:
            left.unlink(missing_ok=True)

    try:
        if path.is_dir():
            shutil.rmtree(path, onerror=again)
    except OSError as error:
        raise DeadbeatError(f"{path} cannot be removed: {error.strerror}", "remove it") from None
