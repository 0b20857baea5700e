"""Results of other tools as a matrix of their own: what the files say, and what a person adds."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import count
from pathlib import Path

from deadbeat.kinds.base import Begin
from deadbeat.kinds.latency.foreign import Foreign, as_run, load_of, read_foreign
from deadbeat.kinds.latency.loads import MadeUpLoads
from deadbeat.kinds.latency.runner import MatrixExperiment, MatrixMachine
from deadbeat.kinds.latency.spec import LOADS_RULE, LatencySpec, load_word, spec_dict, specify
from deadbeat.model.errors import UsageError
from deadbeat.model.latency import ASSUMED, THREADS, LatencyRun, LoadPoint
from deadbeat.model.platform import Platform
from deadbeat.model.rules import RefusedError
from deadbeat.model.words import Json, count_of
from deadbeat.store.latency import LatencyStore
from deadbeat.store.place import family, numbered
from deadbeat.store.texts import read_text
from deadbeat.targets.fake import FakeTarget

_NOT_KNOWN = "unknown: read from a file"
#: What a person may say of files that do not.
_TELLING = ("name", "interval", "duration", "priority", "deadlines")
_HINT = "deadbeat import takes what cyclictest, rtla and other tools wrote"
_UNITS_NS = {"ns": 1, "us": 1000}
#: What ends the name of a file, but is no part of its result's.
_ENDINGS = {".json", ".txt", ".log", ".hist", ".dat", ".csv", ".gz", ".xz", ".zst", ".bz2"}


def imported(asked: Begin) -> MatrixExperiment:
    """The files that ``--import`` or ``deadbeat import`` name, in a new folder."""
    layer, names, given = asked.typed, asked.names, asked.given
    wanted = specify(layer, names=names)
    odd = sorted(names[key] for key in layer if key not in _TELLING)
    odd += ["--target"] * (asked.target is not None)
    odd += ["--retry"] * (asked.retry_failed or asked.retry_invalid)
    if odd:
        raise UsageError(f"{odd[0]} says nothing about files that are imported", "leave it out")
    told = Foreign(
        interval_ns=wanted.interval if "interval" in layer else None,
        seconds=wanted.duration if "duration" in layer else None,
        priority=wanted.priority if "priority" in layer else None,
        unit_ns=_UNITS_NS.get(str(given.get("unit"))),
    )
    load = _load(str(given["load"]), "--load") if given.get("load") else None
    files = [_split(word) for word in given.get("imports") or ()]
    files += [(load, Path(file)) for file in given.get("files") or ()]
    runs, said = _runs(files, told)
    platform = _platform(said)
    name = _name(files[0][1]) if given.get("files") else "latency-imported"
    spec = _spec(runs, platform, {"name": name, **layer})
    for run in runs:
        notes = [mark.message for mark in run.problems if mark.id in (ASSUMED, THREADS)]
        if notes:
            asked.say(f"{run.circumstances.missing['all']}: {'; '.join(notes)}")
    path = asked.runs / numbered(spec.name, max(family(asked.runs, spec.name), default=0) + 1)
    store = LatencyStore.create(path, spec_dict(spec), platform)
    for run in runs:
        store.keep(run)
    asked.say(f"{count_of(len(runs), 'result')} in {path}")
    nothing = MatrixMachine(target=FakeTarget(), engines={}, loads=MadeUpLoads(()))
    return MatrixExperiment(spec, nothing, store=store)  # which lacks no run


def _name(file: Path) -> str:
    """The name of a result after its file's."""
    while file.suffix.lower() in _ENDINGS:
        file = file.with_suffix("")
    return re.sub(r"[^A-Za-z0-9._-]+", "-", file.name).strip("-._")[:60] or "imported"


def _spec(runs: Sequence[LatencyRun], platform: Platform, layer: Mapping[str, Json]) -> LatencySpec:
    """What would have been asked to get these runs."""
    first = runs[0]
    return specify(
        {
            "name": layer["name"],
            "loads": [load_word(load) for load in dict.fromkeys(run.key.load for run in runs)],
            "engines": list(dict.fromkeys(run.key.engine for run in runs)),
            "cpus": list(platform.cpus),
            "duration": min(max(first.seconds, 0.1), 30 * 86400.0),
            "interval": f"{first.interval_ns}ns",
            "priority": first.priority or 1,
            "policy": "other" if first.policy == "other" else "fifo",
            "deadlines": layer.get("deadlines", []),
            "imported": [run.key.text for run in runs],
        }
    )


def _runs(
    files: Sequence[tuple[LoadPoint | None, Path]], told: Foreign
) -> tuple[list[LatencyRun], list[Foreign]]:
    """A run per file; those of one load and engine are its repeats."""
    repeats: defaultdict[tuple[LoadPoint, str], count[int]] = defaultdict(count)
    runs, said = [], []
    for load, file in files:
        text = read_text(file, what="result", hint=_HINT)
        foreign = read_foreign(text, told)
        repeat = next(repeats[load_of(foreign, load, text.name), foreign.engine])
        runs.append(as_run(foreign, load, repeat, name=text.name, told=told))
        said.append(foreign)
    return runs, said


def _split(word: str) -> tuple[LoadPoint | None, Path]:
    """``cpu:50=FILE``; without a load the file's own."""
    text, equals, file = word.partition("=")
    if not equals or Path(word).is_file():
        text, file = "", word
    if not file:
        raise UsageError(
            f"--import{' ' * bool(word)}{word}: no file is named", "write it cpu:50=FILE"
        )
    return _load(text, f"--import {word}") if text else None, Path(file)


def _load(text: str, where: str) -> LoadPoint:
    try:
        (load,) = LOADS_RULE.parse(text)
    except RefusedError as error:
        problem = error.problems[0]
        raise UsageError(f"{where}: {problem.found}", problem.hint) from None
    except ValueError:
        raise UsageError(f"{where}: one load a file", "write one: cpu:50") from None
    assert isinstance(load, LoadPoint)
    return load


def _platform(said: Sequence[Foreign]) -> Platform:
    """Where the files come from; those of several kernels or machines do not belong together."""

    def said_by_all(what: str) -> str:
        found = sorted({getattr(foreign, what) for foreign in said} - {""})
        if len(found) > 1 and what != "cmdline":
            raise UsageError(
                f"the files are of several {what}s: {', '.join(found)}",
                "import those of each with a --name of their own, then deadbeat compare",
            )
        return str(found[0]) if found else _NOT_KNOWN

    host = said_by_all("host")
    return Platform(
        name=host,
        kind="hardware",
        machine=_NOT_KNOWN,
        soc=_NOT_KNOWN,
        cpus=tuple(sorted({cpu.cpu for foreign in said for cpu in foreign.cpus})),
        kernel=said_by_all("kernel"),
        preemption="unknown",
        governor="unknown",
        toolchain="",
        flags="",
        fingerprint=f"imported:{host}",
        details={"cmdline": said_by_all("cmdline")},
    )
