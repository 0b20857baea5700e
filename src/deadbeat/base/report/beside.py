"""What became of the program beside the runs, on the page and in ``show``."""

from __future__ import annotations

import re
from pathlib import Path

from attrs import evolve

from deadbeat.base.model.finding import finding
from deadbeat.base.model.words import shortened
from deadbeat.base.report.document import Document, Findings, Lines, Section
from deadbeat.base.store.files import read_bytes
from deadbeat.base.store.place import BESIDE_LOG

#: Lines of the log that are shown, the last; characters of one.
_SHOWN, _WIDE = 10, 300
_ENDED = re.compile(r"(?P<when>\S+) (?P<name>.*): \d+ starts?, (?P<how>ended .*)")


def with_beside(document: Document, folder: Path) -> Document:
    """With the end of the log in ``folder``, and a finding where the program ended too early."""
    log = folder / BESIDE_LOG
    if not log.is_file():
        return document
    text = read_bytes(log, what="log", hint="remove it").decode(errors="replace")
    lines = [line[:_WIDE] for line in text.splitlines()[-_SHOWN:]]
    found = [
        finding(
            "beside-ended",
            f"{shortened(match['name'])} {match['how']}, before the measurement did,"
            f" at {match['when']}: the run beside it was not kept",
            cure=f"all of its starts and ends: {BESIDE_LOG}",
        )
        for match in map(_ENDED.fullmatch, lines)
        if match
    ]
    parts = (Lines(lines, terminal=True), *([Findings(found, document.labels)] if found else ()))
    section = Section("beside", "Program beside the runs", parts)
    return evolve(document, sections=(*document.sections, section))
