"""``deadbeat latency --import``: results of other tools as a matrix of their own."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from deadbeat.cli._output import print_shown, say
from deadbeat.kinds.latency.document import latency_document
from deadbeat.kinds.latency.importers import Foreign, Missing, as_run, read_foreign
from deadbeat.kinds.latency.kind import write
from deadbeat.kinds.latency.spec import LatencySpec, LoadsRule, load_word, spec_dict, specify
from deadbeat.model.errors import UsageError
from deadbeat.model.latency import IDLE, LatencyRun, LoadPoint
from deadbeat.model.latency_summary import LatencySummary
from deadbeat.model.platform import Platform
from deadbeat.model.rules import RefusedError
from deadbeat.report.terminal import print_document
from deadbeat.store.family import family, numbered
from deadbeat.store.files import read_bytes
from deadbeat.store.latency import LatencyStore
from deadbeat.store.latest import point_latest

_NOT_KNOWN = "unknown: read from a file"
#: What a person may say of files that do not.
_TELLING = ("name", "interval", "duration", "priority", "deadlines")


def import_files(
    options: Mapping[str, Any], *, layer: Mapping[str, Any], names: Mapping[str, str]
) -> int:
    """Reads the files that ``--import`` names into a new folder; returns the exit status."""
    asked = specify(layer, names=names)
    odd = sorted(names[key] for key in layer if key not in _TELLING)
    odd += [
        f"--{word}" for word in ("retry-failed", "retry-invalid") if options[word.replace("-", "_")]
    ]
    if odd:
        raise UsageError(f"{odd[0]} says nothing about files that are imported", "leave it out")
    told = Missing(
        interval_ns=asked.interval if "interval" in layer else None,
        seconds=asked.duration if "duration" in layer else None,
        priority=asked.priority if "priority" in layer else None,
    )
    runs, said = _runs(options["imports"], told)
    platform = _platform(said)
    spec = _spec(runs, platform, layer)
    last = max(family(options["runs"], spec.name), default=0)
    path = options["runs"] / numbered(spec.name, last + 1)
    store = LatencyStore.create(path, spec_dict(spec), platform)
    for run in runs:
        store.commit(run)
    point_latest(path.parent, path.name)
    say(f"{len(runs)} results are in {path}")
    report, shown = write(store, figures=options["figures"])
    if not options["as_json"]:
        print_document(latency_document(report.summary))
    print_shown(shown, as_json=options["as_json"])
    return status_of(report.summary)


def status_of(summary: LatencySummary, *, strict: bool = False) -> int:
    """Exit status: 1 where nothing was measured that counts; if strict, also where any run does
    not."""
    valid = summary.runs - summary.invalid_runs
    return 1 if not valid or (strict and summary.invalid_runs) else 0


def _spec(runs: Sequence[LatencyRun], platform: Platform, layer: Mapping[str, Any]) -> LatencySpec:
    """What would have been asked to get these runs."""
    first = runs[0]
    return specify(
        {
            "name": layer.get("name", "latency-imported"),
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


def _runs(words: Sequence[str], told: Missing) -> tuple[list[LatencyRun], list[Foreign]]:
    """A run per file; those of one load and engine are its repeats."""
    repeats: Counter[tuple[LoadPoint, str]] = Counter()
    runs, said = [], []
    for word in words:
        load, file = _split(word)
        hint = "--import takes files of cyclictest, jitterdebugger or OSADL"
        data = read_bytes(file, what="result", hint=hint, piped=True)
        foreign = read_foreign(data.decode("utf-8", errors="replace"), str(file))
        cell = (load, foreign.engine)
        runs.append(as_run(foreign, load, repeats[cell], name=str(file), told=told))
        said.append(foreign)
        repeats[cell] += 1
    return runs, said


def _split(word: str) -> tuple[LoadPoint, Path]:
    """``cpu:50=FILE``; without a load it is taken for the idle machine."""
    text, equals, file = word.partition("=")
    if not equals or Path(word).is_file():
        if not word:
            raise UsageError("--import: no file is named", "write it FILE or cpu:50=FILE")
        return IDLE, Path(word)
    try:
        (load,) = LoadsRule().parse(text)
    except RefusedError as error:
        problem = error.problems[0]
        raise UsageError(f"--import {word}: {problem.found}", problem.hint) from None
    except ValueError:
        raise UsageError(f"--import {word}: one load a file", "write it cpu:50=FILE") from None
    if not file:
        raise UsageError(f"--import {word}: no file is named", "write it cpu:50=FILE")
    return load, Path(file)


def _platform(said: Sequence[Foreign]) -> Platform:
    """Where the files come from; those of several kernels or machines do not belong together."""
    for what in ("host", "kernel"):
        found = sorted({getattr(foreign, what) for foreign in said} - {""})
        if len(found) > 1:
            raise UsageError(
                f"the files are of several {what}s: {', '.join(found)}",
                "import those of each with a --name of their own, then deadbeat compare",
            )
    host = next((foreign.host for foreign in said if foreign.host), _NOT_KNOWN)
    kernel = next((foreign.kernel for foreign in said if foreign.kernel), _NOT_KNOWN)
    cmdline = next((foreign.cmdline for foreign in said if foreign.cmdline), _NOT_KNOWN)
    return Platform(
        name=host,
        kind="hardware",
        machine=_NOT_KNOWN,
        soc=_NOT_KNOWN,
        cpus=tuple(sorted({cpu.cpu for foreign in said for cpu in foreign.cpus})),
        kernel=kernel,
        preemption="unknown",
        governor="unknown",
        toolchain="",
        flags="",
        fingerprint=f"imported:{host}",
        details={"cmdline": cmdline},
    )
