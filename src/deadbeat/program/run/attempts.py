"""Every attempt to keep a requirement, also those that ``--fresh`` replaced.

A program that is run again until it passes is judged by all its runs; and how long bursts of late
jobs are is known from earlier versions. A line of JSON for each run and requirement, in the folder
of results.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import cattrs
from attrs import asdict, frozen

from deadbeat.base.model.errors import DeadbeatError
from deadbeat.base.model.platform import Platform
from deadbeat.base.model.words import Json
from deadbeat.base.store.files import append_text
from deadbeat.program.run.required import NONE, CountedRun, Earlier
from deadbeat.program.run.requirement import Requirement, Requirements

LOG = ".requirements.jsonl"


@frozen(kw_only=True)
class Attempt:
    """``id``: of a result, also where another has its name; ``series``: of all that makes a result
    differ; ``place``: of the machine and the program, in any version."""

    id: str
    series: str
    place: str


def attempt(command: Sequence[str], hashes: Mapping[str, str], platform: Platform) -> Attempt:
    """A new one. ``hashes``: of the program's files."""
    machine = [platform.fingerprint, platform.kernel, str(platform.details.get("cmdline", ""))]
    place = [platform.fingerprint, Path(command[0]).name if command else ""]
    return Attempt(
        id=os.urandom(8).hex(),
        series=_hash([*machine, *command, [*hashes.items()]]),
        place=_hash(place),
    )


def _hash(value: Any) -> str:
    return hashlib.sha256(json.dumps(value).encode()).hexdigest()[:16]


def _asked(wanted: Requirement) -> str:
    return _hash(Requirements.plain((wanted,))[wanted.id])


@frozen(kw_only=True)
class AttemptRun:
    """A line: what one run of an attempt showed of one requirement, by hash and by thread; None:
    that it began."""

    of: Attempt
    asked: str = ""
    thread: str = ""
    run: CountedRun | None = None


def note_start(runs: Path, own: Attempt) -> None:
    """Notes that a run begins: one that is broken off counts, too."""
    _add(runs, AttemptRun(of=own))


def starts(runs: Path, own: Attempt) -> int:
    """How often runs of an attempt began."""
    return sum(each.of.id == own.id and each.run is None for each in _lines(runs / LOG))


def note(
    runs: Path, own: Attempt, wanted: Sequence[Requirement], found: Sequence[CountedRun]
) -> None:
    """Adds a run."""
    for asked, each in zip(wanted, found, strict=True):
        _add(runs, AttemptRun(of=own, asked=_asked(asked), thread=asked.of, run=each))


def _add(runs: Path, line: AttemptRun) -> None:
    append_text(runs / LOG, f"{json.dumps(asdict(line))}\n")


def earlier(runs: Path, own: Attempt, wanted: Sequence[Requirement]) -> dict[str, Earlier]:
    """What is known of each requirement from before."""
    every = [each for each in _lines(runs / LOG) if each.of.id != own.id]
    return {each.id: _earlier(every, own, each) for each in wanted}


def _earlier(every: Sequence[AttemptRun], own: Attempt, wanted: Requirement) -> Earlier:
    begun = [each for each in every if each.of.series == own.series]
    starts = sum(each.run is None for each in begun)
    ended = max(Counter(each.asked for each in begun if each.run).values(), default=0)
    here, thread, asked = own.place, wanted.of, _asked(wanted)
    alike = [
        (each, each.run)
        for each in every
        if each.run and (each.of.place, each.thread) == (here, thread)
    ]
    before = [run for each, run in alike if each.asked == asked]
    mine = [each.run for each in begun if each.run and each.asked == asked]
    seconds = sum(run.seconds for _, run in alike if run.jobs)
    return Earlier(
        attempts=len({each.of.id for each in begun if each.asked == asked}),
        jobs=sum(run.jobs for run in mine),
        bursts=sum((run.bursts for run in mine), NONE),
        broken=sum(bool(run.breaks) for run in mine),
        unproved=next((run.unproved for run in mine if run.unproved), ""),
        broken_off=max(starts - ended, 0),
        worst_ns=max((run.worst_ns for run in mine if run.worst_ns is not None), default=None),
        known=sum((run.bursts for run in before), NONE),
        rate=sum(run.jobs for _, run in alike) / seconds if seconds else 0.0,
    )


def _lines(log: Path) -> Iterator[AttemptRun]:
    """Lines that are whole; others were cut by a full disk."""
    for line in log.read_text(errors="replace").splitlines() if log.is_file() else ():
        with suppress(ValueError, cattrs.BaseValidationError):
            yield cattrs.structure(json.loads(line), AttemptRun)


def facts_of(own: Attempt, before: Mapping[str, Earlier]) -> dict[str, Json]:
    """For the head of a result."""
    return {
        "attempt": asdict(own),
        "earlier": {id: asdict(each) for id, each in before.items()},
    }


def read_facts(facts: Any) -> tuple[Attempt, dict[str, Earlier]]:
    """From the head of a result. Raises DeadbeatError: it is of no requirement."""
    try:
        found = cattrs.structure(facts["earlier"], dict[str, Earlier])
        return cattrs.structure(facts["attempt"], Attempt), found
    except (KeyError, cattrs.BaseValidationError) as error:
        raise DeadbeatError(
            f"the head of the result lacks {error}", "measure again: --fresh"
        ) from None
