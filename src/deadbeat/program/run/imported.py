"""Traces that others recorded, as results of ``deadbeat run``."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from deadbeat.base.kinds.base import Begin
from deadbeat.base.model.errors import DeadbeatError
from deadbeat.base.model.platform import IMPORTED, Platform
from deadbeat.base.model.specification import read
from deadbeat.base.store.place import imported_place
from deadbeat.base.store.texts import shown
from deadbeat.program.derive.lives import lives
from deadbeat.program.derive.records import Recording
from deadbeat.program.derive.tasks import derive
from deadbeat.program.foreign.base import TraceFormat, read_trace
from deadbeat.program.run.results import FIRST, FOLDERS, ProgramRun, ProgramStore
from deadbeat.program.run.spec import ProgramSpec
from deadbeat.program.run.traced import doubts, instead, require_named, traced

#: Of more bytes it is said, as they take a while.
_LARGE = 32 << 20
_UNKNOWN = "unknown"
_ENDINGS = (".gz", ".xz", ".bz2", ".txt", ".dat", ".data", ".html", ".trace", ".log")


def imported(asked: Begin, path: Path) -> ProgramStore:
    """The result of a trace; `Begin.given` has its ``form``, which ``process``, and what it is
    ``called`` where it came through a pipe.

    Raises:
        DeadbeatError: The file is damaged, or no job is in it. UsageError: it has not what is asked
            for.
    """
    form: TraceFormat = asked.given["form"]
    process = str(asked.given.get("process") or "")
    called = str(asked.given.get("called") or shown(path))
    trace = (str(asked.given.get("called") or path.absolute()), *[process] * bool(process))
    spec = read(ProgramSpec, {"trace": list(map(shown, trace))}, asked.typed, names=asked.names)
    if (size := path.stat().st_size) > _LARGE:
        asked.say(f"read {size:,} bytes")
    recording = lives(read_trace(path, form, process, called))
    deadlines = dict(spec.deadline)
    derived = derive(recording, deadlines=deadlines)
    found = traced(recording, deadlines, derived=derived, allow=spec.allow)
    if not found.known:
        who = ", ".join(dict.fromkeys(each.name for each in recording.threads[:3]))
        why = next(instead(found), "").rstrip(".")
        raise DeadbeatError(f"{called}: no job of {who} was found", why)
    require_named(found, spec, kept=False)
    stem = path.resolve()
    while stem.suffix.lower() in _ENDINGS:
        stem = stem.with_suffix("")
    given = spec.name if asked.named else None
    place, name = imported_place(asked.runs, given, stem.name, asked.fresh)
    plain = {**FOLDERS.plain(spec), "name": name}
    store = ProgramStore.create(place.emptied(), plain, _platform(recording))
    cut = store.keep_seen(FIRST, recording, derived, found)
    run = ProgramRun(
        key=FIRST,
        started=datetime.now(UTC).isoformat(),
        seconds=(recording.end_ns - recording.begin_ns) / 1e9,
        status=None,
        tasks=(),
        traced=found,
        problems=(*doubts(found), *cut),
    )
    store.keep(run)
    return store


def _platform(recording: Recording) -> Platform:
    """The machine of a trace, of which its CPUs are known."""
    cpus = tuple(sorted({int(cpu) for cpu in recording.events["cpu"]}))
    return Platform(
        name=_UNKNOWN,
        kind="hardware",
        machine=_UNKNOWN,
        soc=_UNKNOWN,
        cpus=cpus,
        kernel=_UNKNOWN,
        preemption="unknown",
        governor="unknown",
        toolchain="",
        flags="",
        fingerprint=IMPORTED,
    )
