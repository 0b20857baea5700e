"""Changes to a machine's settings: what is wanted, and what became of it."""

from __future__ import annotations

import re
from typing import Literal

from attrs import field, frozen, validators

#: How a file shows its value: as it was written; the chosen word of a line in brackets
#: (``always [madvise] never``); a mask of CPUs with commas and leading zeros.
Form = Literal["plain", "selected", "mask"]
#: What became of a setting that was to be applied; ``left``: nothing, as the kernel refuses every
#: write; ``planned``: nothing yet.
Outcome = Literal["applied", "already", "skipped", "refused", "left", "planned"]
#: How a journalled change stands: ``pending`` was journalled and perhaps applied, ``covered`` lies
#: below a later change, ``back`` holds its old value, ``reset`` was undone by a restart,
#: ``changed``: another program wrote the value since.
Stand = Literal[
    "pending", "applied", "covered", "back", "reset", "changed", "gone", "unread", "damaged"
]
#: What became of a change that was to be put back; ``moved``: a value that was not changed, but
#: is no longer what it was, such as the CPU that an interrupt goes to.
Return = Literal["restored", "back", "reset", "changed", "gone", "failed", "damaged", "moved"]
#: States in which nothing of the change is left.
SETTLED: tuple[Return, ...] = ("restored", "back", "reset")


def _one_line(_owner: object, attribute: object, value: str) -> None:
    if not value.isprintable():
        raise ValueError(f"{attribute}: {value!r} is not one line of text")


@frozen
class Setting:
    """A value that a file of the kernel shall hold.

    Attributes:
        path: Absolute, of one file.
        value: What is written, without a newline.
        form: How the file shows it.
    """

    path: str = field(validator=(_one_line, validators.matches_re(r"/.*")))
    value: str = field(validator=_one_line)
    form: Form = field(default="plain", validator=validators.in_(("plain", "selected", "mask")))

    def holds(self, text: str) -> bool:
        """Whether a file that shows ``text`` holds the value."""
        return _meaning(self.form, text) == _meaning(self.form, self.value)


def _meaning(form: Form, text: str) -> str:
    """What journal.sh takes ``text`` for."""
    found = re.search(r"\[(.*?)\]|\((.*?)\)", text) if form == "selected" else None
    if found:
        return str(found[1] or found[2])
    plain = " ".join(text.split())
    return re.sub(r"^0+(?=.)", "", plain.replace(",", "")) if form == "mask" else plain


@frozen(kw_only=True)
class Change:
    """What became of one setting when it was applied.

    Attributes:
        old: What the file held before, on one line; "" where it was not read.
        reason: Why it was skipped or refused; "" otherwise.
    """

    path: str
    outcome: Outcome
    old: str
    wanted: str
    reason: str


@frozen(kw_only=True)
class Applied:
    """What one application did.

    Attributes:
        session: Its name in the journal.
        changes: One per setting, first those that were not touched.
    """

    session: str
    changes: tuple[Change, ...]

    def those(self, *outcomes: Outcome) -> tuple[Change, ...]:
        return tuple(change for change in self.changes if change.outcome in outcomes)


@frozen(kw_only=True)
class Returned:
    """What became of one change when it was to be put back.

    Attributes:
        old: What the file held before the change, and shall hold again, on one line.
        reason: In words, where it is not simply restored.
    """

    path: str
    result: Return
    old: str
    now: str
    reason: str

    @property
    def settled(self) -> bool:
        """Whether nothing of the change is left."""
        return self.result in SETTLED


@frozen(kw_only=True)
class JournalEntry:
    """A change of the journal as it stands now.

    Attributes:
        now: What the file holds, on one line.
        wanted: What it was changed to.
        session: The application it belongs to.
        root: Where the tree of files is, "" on a real machine.
    """

    path: str
    stand: Stand
    old: str
    now: str
    wanted: str
    reason: str
    session: str
    time: str
    root: str
