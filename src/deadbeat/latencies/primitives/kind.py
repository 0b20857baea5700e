"""What commands do with the folder of timed primitives."""

from __future__ import annotations

from collections.abc import Sequence
from operator import itemgetter

from attrs import define, evolve

from deadbeat.base.experiment.base import FolderExperiment
from deadbeat.base.kinds.base import Begin, Begun
from deadbeat.base.kinds.shown import Shown
from deadbeat.base.kinds.table import TableKind, begun_store
from deadbeat.base.model.errors import UsageError
from deadbeat.base.model.finding import Finding, finding
from deadbeat.base.model.grouping import grouped
from deadbeat.base.model.rules import Problem
from deadbeat.base.model.specification import read, renamed, usage
from deadbeat.base.model.words import count_of
from deadbeat.build.pool import NATIVE, is_native
from deadbeat.latencies.primitives.cases import (
    PrimitiveKey,
    allocator_name,
    cases,
    part_of,
    plan,
    resolved,
)
from deadbeat.latencies.primitives.document import (
    COLUMNS,
    answer,
    document,
    files,
    rows,
    summary_dict,
)
from deadbeat.latencies.primitives.engine import SimulatedPrimitives, link_words
from deadbeat.latencies.primitives.foreign import ForeignPrimitives
from deadbeat.latencies.primitives.observe import COMPARABLE
from deadbeat.latencies.primitives.results import FOLDERS, summarise
from deadbeat.latencies.primitives.runs import PrimitiveRun, PrimitivesStore, export
from deadbeat.latencies.primitives.runtimes import jvm_words
from deadbeat.latencies.primitives.spec import PRESET_KEYS, QUICK, PrimitivesSpec, presets
from deadbeat.machine.targets.opening import opened

Engine = ForeignPrimitives | SimulatedPrimitives
#: A run beside its own length: a process starts, warms up and writes its result.
_OVERHEAD_S, _JVM_OVERHEAD_S = 0.06, 2.6


def mean_seconds(spec: PrimitivesSpec, planned: Sequence[PrimitiveKey]) -> float:
    jvms = sum(not is_native(key.case.runtime) for key in planned)
    more = _OVERHEAD_S + (_JVM_OVERHEAD_S - _OVERHEAD_S) * jvms / max(len(planned), 1)
    return spec.duration + more


@define(eq=False, slots=False)
class PrimitivesExperiment(FolderExperiment[PrimitiveKey, PrimitiveRun]):
    _spec: PrimitivesSpec
    _engine: Engine

    def seconds(self, runs: int) -> float:
        return runs * mean_seconds(self._spec, self.planned)

    def one(self, key: PrimitiveKey) -> PrimitiveRun:
        part = part_of(self._spec, key.case, self._engine.topology)
        run = self._engine.run(part, key)
        # Threads out of time before they had all samples; those that had none have another
        # finding.
        few = [each for each in run.threads if 0 < each.times.total < (part.samples or 0)]
        if not few:
            few_samples: tuple[Finding, ...] = ()
        else:
            least = min(each.times.total for each in few)
            text = f"{run.key.text}: {count_of(len(few), 'thread')} of {len(run.threads)} had fewer"
            text += f" than {part.samples:,} samples when the time was over, {least:,} at least"
            few_samples = (finding("few-samples", text),)
        return evolve(run, problems=(*run.problems, *few_samples))


def _wanted(asked: Begin) -> PrimitivesSpec:
    name = asked.typed.get("preset", asked.written.get("preset"))
    if name == "quick":
        base, typed = asked.without_preset({"quick": QUICK})
        return read(PrimitivesSpec, base, asked.written, typed, names=asked.names)
    preset = presets().get(str(name))
    if preset is None:
        return read(PrimitivesSpec, asked.written, asked.typed, names=asked.names)
    drop = "leave out the one or the other"
    problems = [
        renamed(Problem(key, f"cannot change the preset {preset.name}", drop), asked.names)
        for key in {**asked.written, **asked.typed}
        if key in PRESET_KEYS
    ]
    if problems:
        raise usage(problems)
    layer = {**preset.layer, "name": preset.name}
    if asked.given.get("quick"):
        layer |= {**QUICK, "name": f"{preset.name}-quick"}
    return read(PrimitivesSpec, layer, asked.written, asked.typed, names=asked.names)


#: Beside native programs, what a preset compares by default; a quick one takes the first.
_COLLECTORS = ("G1", "Z")


def _probed(asked: Begin, engine: Engine, wanted: PrimitivesSpec) -> PrimitivesSpec:
    """Each runtime in full; of a preset the newest JVM with two collectors, if there is one."""
    unsaid = "runtimes" not in {**asked.written, **asked.typed}
    if not (wanted.preset and unsaid):
        return engine.probed(wanted)
    try:
        newest = jvm_words(engine.probed(evolve(wanted, runtimes=("jvm",))).runtimes[0])
    except UsageError as error:
        asked.say(f"native programs alone: {error.message}")
        return engine.probed(wanted)
    collectors = _COLLECTORS[:1] if asked.given.get("quick") else _COLLECTORS
    jvms = tuple(evolve(newest, collector=each).text for each in collectors)
    return engine.probed(evolve(wanted, runtimes=(NATIVE, *jvms)))


def begin(asked: Begin) -> Begun:
    """Makes the folder of timed primitives, or finds the one to continue."""
    wanted = _wanted(asked)
    target = opened(asked)
    engine = ForeignPrimitives(target, cross=asked.cross) if target else SimulatedPrimitives()
    runnable = _probed(asked, engine, wanted)
    for each in () if asked.simulated else wanted.allocators:
        link_words(wanted.allocators, allocator_name(each))
    topology = engine.topology
    spec = resolved(runnable, topology)
    planned = plan(spec, topology)
    for why, refused in grouped(cases(spec, topology)[1].items(), itemgetter(1)).items():
        (first, _), *more = refused
        who = f"{first} and {count_of(len(more), 'other')} are" if more else f"{first} is"
        asked.say(f"{who} not run: {why}")
    each_s = mean_seconds(spec, planned)
    store = begun_store(
        FOLDERS,
        asked,
        spec,
        engine.describe(),
        planned,
        seconds=lambda left: None if asked.simulated else left * each_s,
        details=f"{', '.join(sorted({key.case.test for key in planned}))};"
        f" each {count_of(spec.repeats, 'time')}"
        if planned
        else "nothing of it is testable here",
    )
    experiment = PrimitivesExperiment(
        spec, engine, store=store, planned=planned, retry_invalid=asked.retry_invalid
    )
    folder = asked.given.get("datadir")

    def report(figures: bool) -> Shown:
        if folder is not None:
            made = export(store, folder)
            asked.say(f"{folder}: samples of {count_of(len(made), 'run')}, {made[0].name} for one")
        return KIND.report(store.path, figures)

    return Begun(experiment=experiment, report=report)


KIND = TableKind(
    name="primitives",
    folders=FOLDERS,
    comparable=COMPARABLE,
    summarise=summarise,
    answer=answer,
    document=lambda found, store: document(found, store.platform),
    plain=lambda found, _store: summary_dict(found),
    rows=rows,
    files=files,
    columns=COLUMNS,
).kind(
    begin,
    keys=("operation", "size", "placement", "runtime"),
    samples=lambda path, folder: export(PrimitivesStore.open(path), folder),
)
