"""Commits of a repository, and copies of them in which a program is built; kernels in their place.

The repository itself is only read: each copy is a clone that shares its objects and lies in the
folder of the result. So nothing is left in it, however we end.
"""

from __future__ import annotations

import errno
import os
import re
import shutil
import signal
from importlib import import_module
from pathlib import Path
from typing import Any

from attrs import frozen

from deadbeat.base.model.errors import DataError, DeadbeatError, RunError, UsageError
from deadbeat.base.model.refused import hint_in, hint_of
from deadbeat.base.model.words import shortened, shown, size
from deadbeat.base.store.files import atomic_write, free_bytes, storing
from deadbeat.machine.targets.guarded import ended_words, of_shell, said
from deadbeat.machine.targets.repeated import Programs, git
from deadbeat.program.bisect.spec import LAB

#: Bytes without which nothing can be done.
_ROOM = 1 << 20
#: Signals that come from elsewhere; those of a fault are a commit's own.
_KILLED = {signal.SIGHUP, signal.SIGINT, signal.SIGKILL, signal.SIGTERM}
#: A line of a build that ran out of something, or of which a part was killed, as shells, make and
#: compilers have it.
_OUT_OF = "|".join(map(os.strerror, (errno.ENOSPC, errno.EDQUOT, errno.ENOMEM)))
_PART = r"(?:^|[]:\d] )(?:Killed|Terminated)\b|Error 1(?:37|43)\b|signal: killed|SIGKILL"
_SPENT = re.compile(rf"^.*(?:(?:{_OUT_OF})\W*$|{_PART}).*", re.MULTILINE)
_AGAIN = "is memory short? the same command continues"
_OFFERS = "deadbeat.lab.offers"  # another house, loaded by name


@frozen
class Commit:
    """A commit, or a kernel by its name and version."""

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
        raise UsageError(f"no repository to read here: {error.message}", error.hint) from None
    if shallow:
        raise UsageError("this repository is a shallow clone", "git fetch --unshallow")
    ends = []
    for name in (good, bad):
        words = ("rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}")
        try:
            ends.append(git(folder, *words).strip())
        except DataError:
            raise UsageError(f"{shown(name)} names no commit here", "see git log") from None
    if ends[0] == ends[1]:
        raise UsageError(f"{good} and {bad} are one commit, {ends[0][:10]}", "name two")
    span = f"{ends[0]}..{ends[1]}"
    inside = {ends[0], *git(folder, "rev-list", "--ancestry-path", span).split()}
    if ends[1] not in inside:
        back = git(folder, "rev-list", "--ancestry-path", f"{ends[1]}..{ends[0]}").split()
        hint = f"the other way round: {bad}..{good}" if back else "git merge-base finds one"
        raise UsageError(f"{good} is no ancestor of {bad}", hint)
    form = ("log", "--format=%H %s", "--reverse")
    lines = git(folder, *form, "--no-walk", ends[0]).splitlines()
    lines += git(folder, *form, "--first-parent", span).splitlines()
    pairs = [line.partition(" ") for line in lines]
    return tuple(Commit(sha, subject) for sha, _, subject in pairs if sha in inside)


def kernels_of(target: str, text: str) -> tuple[Commit, ...]:
    """Packages of the lab from the first kernel to the last, of one flavour, oldest first. Raises
    UsageError: there are none."""
    if target.rstrip(":") != LAB.rstrip(":"):
        raise UsageError(
            f"--target {target}: bisect runs here, or over kernels (--target {LAB})",
            "for a board: -- sh -c 'ssh board \"cat >p; chmod +x p; ./p\" <program'",
        )
    lab = import_module(_OFFERS)
    good, _, bad = text.partition("..")
    machine = next((each for debian, each in lab.MACHINES.items() if debian in good), None)
    known: Any = lab.offers(machine).kernels if machine and bad else ()
    ends = [lab.chosen(end, known)[0][0] for end in (good, bad) if known]
    row = [each for each in known if each.flavour == ends[0].flavour]
    places = [row.index(end) for end in ends if end in row]
    if len(places) < 2 or places[0] >= places[1]:
        hint = "the older one first, of one flavour: 5.10-amd64..6.12-amd64"
        raise UsageError(f"{shown(text)} is no row of kernels", hint)
    return tuple(Commit(each.name, each.version) for each in row[places[0] : places[1] + 1])


class Trees:
    """Copies of commits, built once, in the folder of a result.

    Args:
        folder: Of the result. ``source``: in the repository. ``build``: command; "": none.
    """

    def __init__(self, folder: Path, source: Path, build: str) -> None:
        self._trees, self._logs = folder.absolute() / ".trees", folder / "logs"
        self._source, self._build = source, build
        self._below = git(source, "rev-parse", "--show-prefix").strip()

    def remove(self) -> None:
        """Everything but what failed builds said."""
        _remove(self._trees)

    def folder_of(self, commit: Commit) -> Path:
        return self._trees / commit.sha / self._below

    def _mark(self, commit: Commit) -> Path:
        """Beside a copy that is whole and built."""
        return self._trees / f"{commit.sha}.built"

    def built(self, commit: Commit) -> bool:
        return self._mark(commit).exists()

    def make(self, commit: Commit, programs: Programs) -> None:
        """Checks it out and builds it.

        Raises:
            RunError: It does not build.
            DeadbeatError: There is no room for it, its build was killed; it is no fault of its own.
        """
        _remove(self._trees / commit.sha)  # of one that was killed
        mark = next(self._trees.glob("*.built"), None)  # another will take as much
        built = mark.with_suffix("").rglob("*") if mark else ()
        self.check_room(sum(512 * each.lstat().st_blocks for each in built))
        try:
            self._build_one(commit, programs)
            atomic_write(self._mark(commit), "")
        except DeadbeatError:
            self.check_room()
            raise
        finally:
            if not self.built(commit):
                _remove(self._trees / commit.sha)

    def check_room(self, need: int = 0) -> None:
        """Raises DeadbeatError: as much is not free."""
        free, need = free_bytes(self._trees), max(need, _ROOM)
        if free < need:
            what = f"{self._trees.parent} has no room for a commit"
            hint = hint_of(errno.ENOSPC, elsewhere="choose another --runs")
            raise DeadbeatError(f"{what}: {size(free)} are free, {size(need)} are needed", hint)

    def _build_one(self, commit: Commit, programs: Programs) -> None:
        tree, place = self._trees / commit.sha, self.folder_of(commit)
        log = self._logs / f"{commit.short}.log"
        own = git(self._source, "rev-parse", "--path-format=absolute", "--git-common-dir").strip()
        git(self._source, "clone", "--shared", "--no-checkout", "--quiet", own, str(tree))
        git(tree, "checkout", "--quiet", "--detach", commit.sha)
        if not place.is_dir():
            raise RunError(f"it has no folder {self._below}")
        if self._build:
            self._logs.mkdir(exist_ok=True)
            scratch = f"TMPDIR={tree / '.git'}"  # what a build that is ended leaves goes, too
            ran = programs.run(("env", scratch, "sh", "-c", self._build), place, log, None)
            if ran.status:
                status = of_shell(ran.status)
                words = _SPENT.search(log.read_text(errors="replace"))
                why = f": {shortened(words[0].strip(), 160)}" if words else said(log)
                where = f"{log.parent.name}/{log.name} in the result"
                why = f"its build ended {ended_words(status)}{why}; see {where}"
                if words or -status in _KILLED:
                    hint = hint_in(words[0] if words else "", _AGAIN, "choose another --runs")
                    raise DeadbeatError(f"{commit}: {why}", hint)
                raise RunError(why)
            log.unlink()


def _remove(folder: Path) -> None:
    """With what a build made read-only."""
    with storing(folder):
        for each, _, _ in os.walk(folder):
            Path(each).chmod(0o700)
        if folder.is_dir():
            shutil.rmtree(folder)
