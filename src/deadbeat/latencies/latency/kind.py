"""What commands do with the folder of a latency matrix: begin or continue one, show it, say why."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from importlib import import_module
from itertools import count
from pathlib import Path

from attrs import asdict, evolve, frozen

from deadbeat.base.kinds.base import Begin, Begun
from deadbeat.base.kinds.shown import Shown
from deadbeat.base.kinds.table import TableKind, begun_store
from deadbeat.base.model.errors import TargetError, UsageError
from deadbeat.base.model.finding import counts_text
from deadbeat.base.model.lateness import causes_words
from deadbeat.base.model.platform import LOADED_BY, Platform, example_platform
from deadbeat.base.model.words import Json, count_of
from deadbeat.base.report.machines import Verdicted
from deadbeat.base.report.perfetto import moments_text
from deadbeat.base.store.place import (
    REPORT_FILE,
    FolderState,
    Place,
    imported_place,
)
from deadbeat.base.store.texts import read_text
from deadbeat.build.programs import put_runtime, toolchain_of
from deadbeat.latencies.latency import words
from deadbeat.latencies.latency.document import (
    latency_document,
    live_table,
    problems_of,
    summary_of,
    write_latency,
)
from deadbeat.latencies.latency.engines import ENGINES, SIMULATED, UNASKED, make_engine
from deadbeat.latencies.latency.foreign import Foreign, as_run, load_of, read_foreign
from deadbeat.latencies.latency.loads import MadeUpLoads
from deadbeat.latencies.latency.model import (
    ASSUMED,
    THREADS,
    LatencyKey,
    LatencyRun,
    LoadPoint,
)
from deadbeat.latencies.latency.observe import COMPARABLE
from deadbeat.latencies.latency.runner import FOLDERS, MatrixExperiment, MatrixMachine, try_engines
from deadbeat.latencies.latency.spec import (
    LatencySpec,
    estimate,
    keys,
    load_word,
    one_load,
    read_spec,
    resolve,
    spec_dict,
    specify,
)
from deadbeat.latencies.latency.split import (
    cause_line,
    causes_table,
    every_cause,
    means_table,
    traced,
    unavailable,
    worst_moments,
)
from deadbeat.latencies.latency.store import LatencyStore
from deadbeat.latencies.latency.stress import StressLoads, makers_of
from deadbeat.latencies.latency.summarise import latency_rows, tail_rows
from deadbeat.latencies.latency.summary import CellSummary, LatencySummary
from deadbeat.latencies.latency.words import labels_of, latest, load_words, sentence
from deadbeat.machine.host.environment import environment_of, name_of, platform_from_environment
from deadbeat.machine.settings.doctor import examine
from deadbeat.machine.settings.doctor_summary import as_json
from deadbeat.machine.settings.hardening import states_of
from deadbeat.machine.settings.tune import with_tuning
from deadbeat.machine.targets.base import Target, is_here
from deadbeat.machine.targets.fake import FakeTarget
from deadbeat.machine.targets.opening import opened
from deadbeat.machine.trace.paths import PATH_PARTS

#: Measures in a machine that boots for each run: loaded by name.
_LAB = "deadbeat.lab.latency"
#: Runs without a result that are named; the folder has all of them.
_SHOWN = 5


def begin(asked: Begin) -> Begun:
    """Makes the folder of a matrix, or finds the one to continue."""
    if asked.given.get("brought"):
        return Begun(experiment=imported(asked))
    target = opened(asked) or FakeTarget()
    if hasattr(target, "guest"):  # a machine of the lab
        begun: Begun = import_module(_LAB).begun_in_lab(asked, target)
        return begun
    machine, spec, platform = _fit(asked, target)

    def ready(left: int) -> dict[str, Json]:
        if left:
            try_engines(spec, machine)
        return {}

    engines = " and ".join(spec.engines or ()) + " in turn" * (len(spec.engines or ()) > 1)
    store = begun_store(
        FOLDERS,
        asked,
        spec,
        platform,
        keys(spec),
        details=f"{count_of(len(spec.loads), 'load')}, {engines},"
        f" {count_of(spec.blocks, 'time')} {spec.seconds:g} s",
        seconds=lambda left: None if asked.simulated else estimate(spec, runs=left).seconds,
        need=lambda left: estimate(spec, runs=left).bytes,
        differs=lambda store: loaded_otherwise(store.platform, platform),
        ready=ready,
        made=partial(_examine, asked, target, spec),
    )
    retry = asked.retry_invalid
    experiment = MatrixExperiment(spec, machine, store=store, retry_invalid=retry)
    return Begun(
        experiment=experiment, beside=spec.beside, so_far=lambda: live_table(summary_of(store))
    )


def _fit(asked: Begin, target: Target) -> tuple[MatrixMachine, LatencySpec, Platform]:
    """What is asked on a machine: with what it is measured, resolved, and where."""
    names = asked.names
    wanted = specify(asked.written, asked.typed, names=names)
    if asked.simulated:
        platform = example_platform()
        if wanted.engines and wanted.engines != (SIMULATED,):
            raise UsageError("--simulated and --engine exclude each other", "drop one")
        spec = resolve(wanted, engines={SIMULATED: ""}, cpus=platform.cpus, names=names)
        platform = evolve(platform, cpus=spec.cpus or ())
        engines = {SIMULATED: make_engine(SIMULATED)}
        loads = MadeUpLoads(spec.cpus or ())
        return MatrixMachine(target=target, engines=engines, loads=loads), spec, platform
    strange = [name for name in wanted.engines or () if name not in ENGINES]
    if strange:
        called = names.get("engines", "engines")
        raise UsageError(
            f"{called}: {strange[0]} measures nothing here",
            "deadbeat import FILE reads its results",
        )
    platform, usable = _look(target)
    found = is_here(target) and asked.cross is None  # then by whoever needs it
    toolchain = None if found else toolchain_of(target, cross=asked.cross)
    engines = {name: make_engine(name, toolchain) for name in wanted.engines or UNASKED}
    why = {name: engine.unavailable(target) for name, engine in engines.items()}
    spec = resolve(wanted, engines=why, cpus=usable, details=platform.details, names=names)
    maker = makers_of(target, spec.loads_by)
    put = partial(put_runtime, toolchain=toolchain)
    stress = StressLoads(spec.cpus or (), maker, program=put)
    for name, reason in why.items():
        if wanted.engines is None and reason:
            asked.say(f"without {name}: {reason}")
    details = platform.details | ({LOADED_BY: maker} if any(p.percent for p in spec.loads) else {})
    platform = evolve(platform, cpus=spec.cpus or (), details=details)
    return MatrixMachine(target=target, engines=engines, loads=stress), spec, platform


def loaded_otherwise(there: Platform, here: Platform) -> Iterator[str]:
    """Loads of another program are other loads; older folders do not say."""
    begun, now = (str(each.details.get(LOADED_BY, "")).partition(" ")[0] for each in (there, here))
    if begun and now and begun != now:
        yield f"was begun with loads by {begun}"


def _look(target: Target) -> tuple[Platform, tuple[int, ...]]:
    more = {"hardening": states_of(target)}
    environment = environment_of(target, now=datetime.now(UTC), more=more)
    online, allowed = environment["cpus_online"], environment["cpus_allowed"]
    if not isinstance(online, list):
        raise TargetError(f"the CPUs of {target.name} cannot be read: {online}")
    usable = [cpu for cpu in online if not isinstance(allowed, list) or cpu in allowed]
    platform = platform_from_environment(
        environment, cpus=usable, kind=target.kind, name=name_of(environment, target)
    )
    return with_tuning(platform, target), tuple(usable)


def _examine(asked: Begin, target: Target, spec: LatencySpec, store: LatencyStore) -> None:
    """Keeps what the machine is like: its readiness, its inventory, which hardening is on."""
    if asked.simulated:
        return
    try:
        store.save_doctor(as_json(examine(target, rt_cpus=spec.cpus)))
    except TargetError as error:
        asked.say(f"the machine's properties could not be recorded: {error}")


# ---------- results of other tools ----------

_NOT_KNOWN = "unknown: read from a file"
_HINT = "deadbeat import takes what cyclictest, rtla and other tools wrote, and traces"
_UNITS_NS = {"ns": 1, "us": 1000}
#: What ends the name of a file, but is no part of its result's.
_ENDINGS = {".json", ".txt", ".log", ".hist", ".dat", ".csv", ".gz", ".xz", ".zst", ".bz2"}


@frozen(kw_only=True)
class Brought:
    """A run that was brought in a file: which it is, and what the file says."""

    key: LatencyKey
    file: str
    point: LoadPoint | None
    said: Foreign


def bring(asked: Begin) -> list[Brought]:
    """The runs in the files that ``deadbeat import`` names; those of one load and tool are
    repeats."""
    user, given = _user(asked), asked.given
    load = one_load(str(given["load"]), "--load") if given.get("load") else None
    repeats: defaultdict[tuple[LoadPoint, str], count[int]] = defaultdict(count)
    found = []
    for point, file in map(_split, given["files"]):
        text = read_text(file, what="result", hint=_HINT)
        for said in read_foreign(text, user):
            place = (load_of(said, point or load, text.name), said.engine)
            key = LatencyKey(*place, next(repeats[place]))
            found.append(Brought(key=key, file=text.name, point=point or load, said=said))
    if len({each.said.gaps is None for each in found}) > 1:
        raise UsageError(
            "some files hold wake-up latencies, others gaps that a busy thread found",
            "import those of each with a --name of their own",
        )
    return found


def place_of(asked: Begin, brought: Sequence[Brought]) -> tuple[Place, str, Platform]:
    """Where runs go, its name, and where they come from. Raises UsageError: the name was given, and
    something is there, without --fresh or no result."""
    _, file = _split(asked.given["files"][0])
    while file.suffix.lower() in _ENDINGS:
        file = file.with_suffix("")
    given = str(asked.typed["name"]) if asked.named else None
    place, name = imported_place(asked.runs, given, file.name, asked.fresh)
    return place, name, _platform([each.said for each in brought])


def _user(asked: Begin) -> Foreign:
    layer = asked.typed
    wanted = specify(layer, names=asked.names)
    return Foreign(
        interval_ns=wanted.interval if "interval" in layer else None,
        seconds=wanted.duration if "duration" in layer else None,
        priority=wanted.priority if "priority" in layer else None,
        unit_ns=_UNITS_NS.get(str(asked.given.get("unit"))),
    )


def imported(asked: Begin) -> MatrixExperiment:
    """The files that ``deadbeat import`` names, in a new folder."""
    brought, user = asked.given["brought"], _user(asked)
    runs = [
        as_run(each.said, each.point, each.key.repeat, name=each.file, user=user)
        for each in brought
    ]
    place, name, platform = place_of(asked, brought)
    spec = _spec(runs, platform, {**asked.typed, "name": name})
    for run in runs:
        notes = [mark.message for mark in run.problems if mark.id in (ASSUMED, THREADS)]
        if notes:
            asked.say(f"{run.circumstances.missing['all']}: {'; '.join(notes)}")
    store = LatencyStore.create(place.emptied(), spec_dict(spec), platform)
    for run in runs:
        store.keep(run)
    asked.say(f"{count_of(len(runs), 'result')} in {place.path}")
    nothing = MatrixMachine(target=FakeTarget(), engines={}, loads=MadeUpLoads(()))
    return MatrixExperiment(spec, nothing, store=store)  # which lacks no run


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


def _split(word: str) -> tuple[LoadPoint | None, Path]:
    """``cpu:50=FILE``; without a load the file's own."""
    text, equals, file = word.partition("=")
    if not equals or Path(word).is_file():
        text, file = "", word
    if not file:
        raise UsageError(f"{word}: no file is named", "write it cpu:50=FILE")
    return one_load(text, word) if text else None, Path(file)


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
        cpus=tuple(sorted({n for foreign in said for n in foreign.numbers})),
        kernel=said_by_all("kernel"),
        preemption="unknown",
        governor="unknown",
        toolchain="",
        flags="",
        fingerprint=f"imported:{host}",
        details={"cmdline": said_by_all("cmdline")},
    )


# ---------- what is shown ----------


def plain(summary: LatencySummary, store: LatencyStore) -> dict[str, Json]:
    """What ``--json`` prints of a matrix."""
    state = FOLDERS.state_of(store.path)
    report = store.path / REPORT_FILE
    return {
        "planned": state.planned,
        "done": state.done,
        "failed": [{"run": k.text, "reason": why} for k, why in store.failed().items()],
        "invalid": [
            {"run": key.text, "problem": problem.id, "text": problem.message}
            for key, problem in problems_of(summary)
        ],
        "beside": summary.beside,
        "labels": list(labels_of(summary)),
        "tail": list(words.tail_sentences(summary)),
        "rows": list(latency_rows(summary)),
        "tails": tail_rows(summary),
        "causes": causes_of(summary.cells),
        "report": str(report) if report.is_file() else None,
    }


def _shown(summary: LatencySummary, store: LatencyStore, state: FolderState, said: Shown) -> Shown:
    failed = [f"no result: {key.text}: {why}" for key, why in store.failed().items()]
    stand = (
        f"{state.state}: {state.done} of {state.planned} runs, {state.failed} failed,"
        f" {summary.invalid_runs} invalid   findings: {counts_text(summary.findings)}"
    )
    return evolve(said, findings=summary.findings, lines=(*failed[:_SHOWN], stand))


def _cases(summary: LatencySummary) -> Iterator[Verdicted]:
    for cell in summary.cells:
        name = f"{load_words(cell.load)} {cell.engine}"
        for row in cell.cpus if cell.whole.runs else ():
            top = row.honest.histogram.max_ns or 0
            for limit in summary.deadlines_ns:
                yield Verdicted(
                    name=f"{name} CPU {row.cpu} {limit / 1000:g} µs",
                    group="latency.misses",
                    verdict="failed" if top > limit else "passed",
                    weight=top / limit,
                    message=f"latest wake-up {top / 1000:,.1f} µs, allowed {limit / 1000:,.1f}"
                    f" µs; {row.cycles:,} wake-ups of {len(row.runs)} runs",
                )


def _perfetto(path: Path, count: int) -> str:
    summary = summary_of(LatencyStore.open(path))
    moments = worst_moments(traced(summary.cells), count)
    if not moments:
        message = f"{path.name} has no trace"
        raise UsageError(message, "measure with --trace or --keep-above TIME")
    return moments_text(moments, source="simulated" if labels_of(summary) else "measured")


def _why(path: Path, count: int) -> Shown:
    store = LatencyStore.open(path)
    summary = summary_of(store)
    causes, reasons = causes_of(summary.cells), list(unavailable(summary.cells))
    every = every_cause(summary.cells)
    answer = {
        "causes": causes[:count],
        "misses": [asdict(each) for each in every],
        "unavailable": "; ".join(reasons),
        "notes": [],
    }
    if not causes:
        spec = read_spec(store.spec)
        hint = "measure with --trace or --keep-above TIME, then ask why"
        if (spec.trace or spec.keep_above) and summary.invalid_runs == summary.runs:
            hint = f"its traced runs are invalid: deadbeat show {path.name} says why"
        message = f"{path.name} has no trace"
        return Shown(plain=answer, unsaid=UsageError(message, "; ".join(reasons) or hint))
    table = causes_table(summary.cells)
    worst = table.rows[:count]
    row, parts = latest(summary.cells).whole, []
    late = row.raw["max"].value_ns
    if len(causes) > 1:
        many = sum(each.misses for each in every)
        parts.append(f"Of {many} worst traced wake-ups of runs and CPUs: {causes_words(every)}.")
    if late is not None and late > worst[0].worst_ns + row.raw.histogram.resolution_ns:
        parts.append(f"The worst wake-up was not traced. {sentence(summary)}")
    return Shown(
        plain=answer,
        headline=f"under load {cause_line(worst[0])}",
        parts=tuple(parts),
        tables=(evolve(table, rows=worst), means_table(summary.cells)),
        lines=(
            *(f"under load {cause_line(item)}" for item in worst),
            *(f"not split: {reason}" for reason in reasons),
        ),
    )


def causes_of(cells: Sequence[CellSummary]) -> list[dict[str, Json]]:
    """The worst traced wake-up of every CPU beside every load, the latest first, as plain values:
    times in ns; a part that is not known is None. ``evidence``: what its events say."""
    return [
        {
            "load": item.cell.load.text,
            "engine": item.cell.engine,
            "cpu": item.split.cpu,
            "latency_ns": item.worst_ns,
            "parts_ns": {part: item.split.worst.parts.get(part) for part in PATH_PARTS},
            "cause": item.word,
            "evidence": item.split.worst.cause,
        }
        for item in causes_table(cells).rows
    ]


KIND = TableKind(
    name="latency",
    folders=FOLDERS,
    comparable=COMPARABLE,
    summarise=summary_of,
    answer=lambda found: [sentence(found)],
    document=lambda found, store: latency_document(found, platform=asdict(store.platform)),
    plain=plain,
    rows=latency_rows,
    cases=_cases,
    empty=lambda found: found.runs == found.invalid_runs,
    shown=_shown,
    write=write_latency,
).kind(begin, keys=("load", "engine", "cpu"), why=_why, perfetto=_perfetto)
