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
from pathlib import Path
from typing import Any

from attrs import asdict, frozen

from deadbeat.base.model.errors import DeadbeatError
from deadbeat.base.model.platform import Platform
from deadbeat.base.model.words import Json
from deadbeat.base.store.files import append_text
from deadbeat.program.run.required import CountedRun, Earlier
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
    """A line: one run of an `Attempt`, with one requirement, by hash and by thread; "": its
    begin."""

    id: str
    series: str
    place: str
    asked: str = ""
    thread: str = ""
    jobs: int = 0
    late: int = 0
    seconds: float = 0.0
    bursts: tuple[int, ...] = ()
    worst_ns: int | None = None
    failed: bool = False


def note_start(runs: Path, own: Attempt) -> None:
    """Notes that a run begins: one that is broken off counts, too."""
    append_text(runs / LOG, f"{json.dumps(asdict(own))}\n")


def starts(runs: Path, own: Attempt) -> int:
    """How often runs of an attempt began."""
    return sum(each.id == own.id and not each.asked for each in _lines(runs / LOG))


def note(
    runs: Path, own: Attempt, wanted: Sequence[Requirement], found: Sequence[CountedRun]
) -> None:
    """Adds a run."""
    asked = {each.id: each for each in wanted}
    lines = [
        AttemptRun(
            **asdict(own),
            asked=_asked(asked[each.id]),
            thread=asked[each.id].of,
            jobs=each.jobs,
            late=each.late,
            seconds=each.seconds,
            bursts=each.bursts,
            worst_ns=each.worst_ns,
            failed=bool(each.breaks),
        )
        for each in found
    ]
    texts = (json.dumps({**asdict(each), "bursts": _packed(each.bursts)}) for each in lines)
    append_text(runs / LOG, "".join(f"{text}\n" for text in texts))


def _packed(sizes: Sequence[int]) -> list[list[int]]:
    """Each size, and how often it is there."""
    return [[*each] for each in sorted(Counter(sizes).items())]


def _unpacked(packed: Sequence[Sequence[int]]) -> tuple[int, ...]:
    return tuple(size for size, count in packed for _ in range(count))


def earlier(runs: Path, own: Attempt, wanted: Sequence[Requirement]) -> dict[str, Earlier]:
    """What is known of each requirement from before."""
    every = [*_lines(runs / LOG)]
    return {each.id: _earlier(every, own, each) for each in wanted}


def _earlier(every: Sequence[AttemptRun], own: Attempt, wanted: Requirement) -> Earlier:
    alike = [each for each in every if (each.place, each.thread) == (own.place, wanted.of)]
    before = [each for each in alike if each.asked == _asked(wanted)]
    mine = [each for each in before if each.series == own.series and each.id != own.id]
    begun = [each for each in every if each.series == own.series and each.id != own.id]
    starts = sum(not each.asked for each in begun)
    ended = max(Counter(each.asked for each in begun if each.asked).values(), default=0)
    sizes = [size for each in before for size in each.bursts]
    seconds = sum(each.seconds for each in alike if each.jobs)
    return Earlier(
        attempts=len({each.id for each in mine}),
        jobs=sum(each.jobs for each in mine),
        late=sum(each.late for each in mine),
        broken=sum(each.failed for each in mine),
        broken_off=max(starts - ended, 0),
        worst_ns=max((each.worst_ns for each in mine if each.worst_ns is not None), default=None),
        bursts=tuple(size for each in mine for size in each.bursts),
        weight=sum(size * size for size in sizes) / sum(sizes) if sizes else 0.0,
        many=len(sizes),
        rate=sum(each.jobs for each in alike) / seconds if seconds else 0.0,
    )


def _lines(log: Path) -> Iterator[AttemptRun]:
    """Lines that are whole; others were cut by a full disk."""
    for line in log.read_text(errors="replace").splitlines() if log.is_file() else ():
        try:
            found = json.loads(line)
            yield AttemptRun(**{**found, "bursts": _unpacked(found.get("bursts", ()))})
        except (ValueError, TypeError, KeyError):
            continue


def facts_of(own: Attempt, before: Mapping[str, Earlier]) -> dict[str, Json]:
    """For the head of a result."""
    known = {key: asdict(each) | {"bursts": _packed(each.bursts)} for key, each in before.items()}
    return {"attempt": asdict(own), "earlier": known}


def read_facts(facts: Any) -> tuple[Attempt, dict[str, Earlier]]:
    """From the head of a result. Raises DeadbeatError: it is of no requirement."""
    try:
        before = facts["earlier"].items()
        return Attempt(**facts["attempt"]), {
            key: Earlier(**{**each, "bursts": _unpacked(each["bursts"])}) for key, each in before
        }
    except (KeyError, TypeError, AttributeError) as error:
        raise DeadbeatError(
            f"the head of the result lacks {error}", "measure again: --fresh"
        ) from None
