"""Keeps what ``compare`` and ``predict`` answered, and shows it again."""

from __future__ import annotations

import io
from collections.abc import Sequence
from contextlib import redirect_stdout
from pathlib import Path

from deadbeat.base.kinds.shown import Shown
from deadbeat.base.store.derived import Derived, InputFolder, read_derived
from deadbeat.base.store.place import DERIVED
from deadbeat.cli._output import envelope, findings_of, print_shown

_STATES = {"changed": "changed since", "gone": "is gone"}


def kept(shown: Shown, folder: Path, verb: str, inputs: Sequence[Path]) -> Shown:
    """``shown``, and in ``folder`` what it says, with the results it is of."""
    text = io.StringIO()
    with redirect_stdout(text):
        print_shown(shown)
    answer = envelope(shown, verb)
    derived = Derived(
        verb=verb,
        inputs=tuple(map(InputFolder.of, inputs)),
        kind=str(answer["kind"]),
        state=str(answer["state"]),
        headline=shown.headline,
        findings=tuple(findings_of(shown)),
        results=shown.plain,
        text=tuple(text.getvalue().splitlines()),
    )
    derived.write(folder)
    return shown


def found(runs: Path, text: str) -> Shown | None:
    """The derived result that ``text`` names, as its verb answered; None: it names none.
    Raises DataError: it is damaged."""
    path = DERIVED.find(runs, text)
    if path is None:
        return None
    derived = read_derived(path)
    old = [f"{each.path} {_STATES[each.state]}" for each in derived.inputs if each.state in _STATES]
    again = [f"{', '.join(old)}: repeat deadbeat {derived.verb}"] if old else []
    return Shown(
        kind=derived.kind,
        state=derived.state,
        headline=derived.headline,
        doubts=derived.findings,
        plain=derived.results,
        parts=[*derived.text, *again],
    )
