"""What commands do with the folder of a load test."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from functools import partial
from pathlib import Path

from attrs import evolve

from deadbeat.base.experiment.folders import RunFolders
from deadbeat.base.kinds.base import Begin, Begun
from deadbeat.base.kinds.table import TableKind, begun_store
from deadbeat.base.model.errors import DeadbeatError, UsageError
from deadbeat.base.model.words import Json
from deadbeat.base.report.document import records
from deadbeat.base.report.machines import Verdicted
from deadbeat.base.report.perfetto import moments_text
from deadbeat.base.store.place import LOAD_TEST
from deadbeat.latencies.load.document import COLUMNS, load_document, paper_words, summary_dict
from deadbeat.latencies.load.engine import HardwareLoad, SimulatedLoad
from deadbeat.latencies.load.model import PLAIN, LoadCell, LoadSummary
from deadbeat.latencies.load.observe import COMPARABLE
from deadbeat.latencies.load.runner import LoadExperiment, look
from deadbeat.latencies.load.spec import (
    plan,
    planned_keys,
    preset,
    read_spec,
    resolve,
    seconds_of,
    specify,
)
from deadbeat.latencies.load.store import LoadStore
from deadbeat.latencies.load.summarise import summary_of
from deadbeat.latencies.load.words import condition_words, headline
from deadbeat.machine.targets.opening import opened

#: A run that failed is measured again with the same command: none counts as failed for good.
FOLDERS = RunFolders(
    kind=LOAD_TEST,
    store=LoadStore,
    read=read_spec,
    planned=planned_keys,
    asked_for=lambda spec: spec.form,
)


def other_remedies(changes: Collection[str], store: LoadStore) -> Iterator[str]:
    """What of the remedies of ``store`` is not as it is now, as a predicate."""
    gone, new = sorted({*store.changes} - {*changes}), sorted({*changes} - {*store.changes})
    words = [f"{', '.join(gone)} no longer"] if gone else []
    words += [f"{', '.join(new)} now"] if new else []
    if words:
        yield f"was begun where other remedies were possible: {'; '.join(words)}"


def begin(asked: Begin) -> Begun:
    """Makes the folder of a load test, or finds the one to continue."""
    layer = {**asked.written, **asked.typed}
    named = layer.pop("preset", None)
    wanted = specify(layer if named is None else preset(named, layer), asked.names)
    target = opened(asked)
    engine = HardwareLoad(target, cross=asked.cross) if target else SimulatedLoad()
    spec = resolve(wanted, engine.cpus(), engine.describe().details)
    changes, impossible = look(spec, engine)
    words = {name: change.words for name, change in changes.items()}
    counts = ", ".join(map(str, spec.normal or ()))
    details = f"{counts} ordinary threads, {len(changes)} of the remedies"

    def ready(left: int) -> dict[str, Json]:
        cpus = spec.cpus or engine.cpus()
        unit_ps = engine.unit_ps(cpus, policy=spec.policy, priority=spec.priority) if left else 0
        for name, reason in impossible.items():
            asked.say(f"remedy {name} is not possible here: {reason}")
        return {"unit_ps": unit_ps, "changes": words, "impossible": impossible}

    store = begun_store(
        FOLDERS,
        asked,
        spec,
        engine.describe(),
        plan(spec, changes),
        seconds=lambda left: (
            None if target is None else seconds_of(spec, left) + left * 2 * target.boot_s
        ),
        details=details,
        differs=partial(other_remedies, words),
        ready=ready,
    )
    retry = asked.retry_invalid
    return Begun(
        experiment=LoadExperiment(spec, engine, changes, store=store, retry_invalid=retry),
        beside=spec.beside,
    )


def _plain(summary: LoadSummary, store: LoadStore) -> dict[str, Json]:
    failed = {key.text: why for key, why in store.failed().items()}
    return {**summary_dict(summary), "failed": failed}


def _judged(summary: LoadSummary, store: LoadStore) -> dict[str, object]:
    """Nothing more. DeadbeatError where no run has a result."""
    if not store.committed():
        lost = ((key.text, why) for key, why in store.failed().items())
        run, reason = min(lost, default=("", ""))
        why = f", for example {run}: {reason}" if run else ""
        raise DeadbeatError(f"{store.path}: no run has a result{why}", "repeat its command")
    return {}


def _cases(summary: LoadSummary) -> Iterator[Verdicted]:
    """A case for each condition: its misses against none."""
    for cell in summary.cells:
        if cell.runs and cell.released:
            longest = (cell.response.max_ns or 0) if cell.response else 0
            yield Verdicted(
                name=f"{cell.normal} {condition_words(cell.condition)}",
                group="load.misses" if cell.condition == PLAIN else "load.remedy",
                verdict="failed" if cell.failures else "passed",
                weight=cell.failures / cell.released,
                message=f"{cell.failures} of {cell.released} rounds missed, allowed: 0; longest"
                f" {longest / 1e6:.3f} ms, deadline {summary.deadline_ns / 1e6:.3f} ms;"
                f" {cell.runs} runs",
            )


def counts(summary: LoadSummary) -> list[LoadCell]:
    """Cells without a remedy in which a run counts."""
    return [cell for cell in summary.cells if cell.condition == PLAIN and cell.runs]


def _perfetto(path: Path, _count: int) -> str:
    summary = summary_of(LoadStore.open(path))
    if summary.worst is None:
        message = f"no round of {path.name} without a remedy is valid"
        raise UsageError(message, f"deadbeat show {path.name} says why")
    source = "simulated" if summary.kind == "simulated" else "measured"
    return moments_text([summary.worst], source=source)


KIND = TableKind(
    name="load",
    folders=FOLDERS,
    comparable=COMPARABLE,
    summarise=summary_of,
    answer=lambda found: [headline(found)],
    document=lambda found, _store: load_document(found),
    plain=_plain,
    rows=lambda found: list(records(COLUMNS, found.cells)),
    columns=COLUMNS,
    cases=_cases,
    empty=lambda found: not counts(found),
    files=lambda found: {"summary.json": summary_dict(found)},
    words=paper_words,
    shown=lambda _found, _store, state, said: evolve(
        said, lines=(f"{state.state}: {state.done} of {state.planned} runs",)
    ),
    judged=_judged,
).kind(begin, keys=("condition", "normal"), perfetto=_perfetto)
