"""A latency matrix of a kernel in the lab: one boot for each run, seeds as repeats.

The prober measures in the machine, under loads that the runtime makes there. A run is what its boot
handed over; nothing of the host is in it.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from threading import Event

import attrs
from attrs import Factory, define, field

from deadbeat.base.experiment.base import FolderExperiment, Lost, Watcher
from deadbeat.base.kinds.base import Begin, Begun
from deadbeat.base.kinds.table import begun_store
from deadbeat.base.model.errors import DeadbeatError, TargetError, UsageError
from deadbeat.base.model.platform import LOADED_BY, TARGET, Platform
from deadbeat.base.model.words import Json, count_of
from deadbeat.base.store.files import tool_version
from deadbeat.lab.guest import Guest, require_room
from deadbeat.lab.job import PROGRAM, WARM_UP_NS, Job
from deadbeat.lab.target import GuestTarget
from deadbeat.latencies.latency.circumstances import circumstances
from deadbeat.latencies.latency.loads import LOADS, OWN, PROCESSES, STRESS_NG
from deadbeat.latencies.latency.model import LatencyKey, LatencyRun, LoadPoint
from deadbeat.latencies.latency.prober import measured_of, parsed, probe_options
from deadbeat.latencies.latency.runner import FOLDERS, judged_run, request_of
from deadbeat.latencies.latency.spec import LatencySpec, keys, resolve, specify
from deadbeat.latencies.latency.store import LatencyStore
from deadbeat.latencies.latency.stress import FILES as LOOK_FILES
from deadbeat.latencies.latency.stress import PROCESS_FILES, Look, load_report, look_of, printed
from deadbeat.machine.host.environment import environment_of, platform_from_environment
from deadbeat.machine.host.recorded import (
    FIRST_SNAPSHOT,
    LOG,
    SNAPSHOT,
    inventory_of,
    recorded_target,
)
from deadbeat.machine.host.snapshot import take
from deadbeat.machine.settings.hardening import states_of
from deadbeat.machine.targets.readings import Reading

#: Boots at a time: each keeps one CPU of the host busy, and none hears of the other.
WORKERS = 2
#: From the start of a load to the first wake-up that counts, and what a run may take beyond its
#: time, in the machine's time.
_SETTLE_NS, _LATE_NS = 250_000_000, 60_000_000_000
_LOAD_FOLDER = "/tmp"
_OF_LOADS = (*LOOK_FILES, *(f"/proc/[0-9]*/{name}" for name in PROCESS_FILES))
_RESULT, _BEFORE, _AFTER = "/tmp/wake-ups", "before", "after"
#: By the plan, on an idle host, s: a boot, for each processor more; a second of the machine's time.
_BOOT_S, _PROCESSOR_S, _BUSY_S = 10.0, 3.0, 14.0


def begun_in_lab(asked: Begin, target: GuestTarget) -> Begun:
    """Makes the folder of a matrix on a kernel of the lab, or finds the one to continue."""
    guest, names = target.guest, asked.names
    wanted = specify(asked.written, asked.typed, names=names)
    odd = [names.get(key, key) for key in ("trace", "keep_above") if getattr(wanted, key)]
    odd += [names.get("loads_by", "loads_by")] * (wanted.loads_by == STRESS_NG)
    if odd or target.seed != 1:
        raise UsageError(f"{[*odd, 'seed='][0]} is not for latency in the lab", "leave it out")
    own = ("prober", "hpet")
    engines = {each: "" if each in own else "not in the lab" for each in wanted.engines or own[:1]}
    spec = resolve(wanted, engines=engines, cpus=tuple(range(guest.cpus)), names=names)
    require_possible(spec, guest)

    def differs(store: LatencyStore) -> Iterator[str]:
        begun = store.facts.get("lab", {})
        for key, value in guest.facts.items():
            if begun.get(key) != value:
                yield f"was begun with another {key.replace('_', ' ')}"

    store = begun_store(
        FOLDERS,
        asked,
        spec,
        platform_of(target, name=spec.name),
        keys(spec),
        details=f"{count_of(len(spec.loads), 'load')}, a boot for each run",
        seconds=lambda left: boot_seconds(spec, guest, left),
        differs=differs,
        ready=lambda left: {"lab": guest.facts},
    )
    retry = asked.retry_invalid
    return Begun(experiment=GuestExperiment(spec, guest, store=store, retry_invalid=retry))


def require_possible(spec: LatencySpec, guest: Guest) -> None:
    """UsageError where a load of ``spec`` (resolved) is more than the machine's processors do."""
    for point in spec.loads:
        wanted = guest.cpus * point.percent / 100
        require_room(guest.mode, wanted, guest.cpus, what=f"load {point.text}")


def platform_of(target: GuestTarget, *, name: str) -> Platform:
    """The platform as the kernel itself shows it."""
    guest, seen = target.guest, target.seen
    more: dict[str, Json] = {
        "hardening": states_of(seen),
        "lab": guest.facts,
        "inventory": inventory_of(seen),
        "ignored_words": list(target.ignored),
        LOADED_BY: f"{OWN} {tool_version()}",
        TARGET: f"lab:{name}",
    }
    environment = environment_of(seen, now=datetime.now(UTC), more=more)
    return platform_from_environment(
        environment, cpus=tuple(range(guest.cpus)), kind=guest.kind, name=name
    )


def job_of(spec: LatencySpec, key: LatencyKey) -> Job:
    """What the machine does for a run: warms up, starts the load, measures."""
    point, profile = key.load, LOADS[key.load.profile]
    commands = profile.commands(point.percent, spec.cpus or ()) if point.percent else ()
    job = Job().sleep(WARM_UP_NS)
    for number, argv in enumerate(commands):
        words = (PROGRAM, "load", *argv, "--temp-path", _LOAD_FOLDER, "--quiet")
        job = job.start(f"load{number}", words)
    if commands:
        job = job.sleep(_SETTLE_NS)
    measured_ns = round(spec.seconds * 1e9)
    request = request_of(spec, key)
    cpus = ",".join(map(str, request.cpus))
    probe = {"--cpus": cpus, **probe_options(request), "--out": _RESULT}
    probe |= {"--hpet": "1"} if key.engine == "hpet" else {}
    options = [word for pair in probe.items() for word in pair]
    return (
        job.read(_BEFORE, (*FIRST_SNAPSHOT, *_OF_LOADS))
        .log(f"{_BEFORE}/{LOG}")
        .run("probe", (PROGRAM, "probe", *options), limit_ns=measured_ns + _LATE_NS)
        .read(_AFTER, (*SNAPSHOT, *_OF_LOADS))
        .log(f"{_AFTER}/{LOG}")
        .keep(_RESULT)
    )


def run_of(
    files: Mapping[str, bytes], spec: LatencySpec, key: LatencyKey, guest: Guest, *, started: str
) -> LatencyRun:
    """The run that a machine handed over.

    Raises:
        TargetError: It did not measure; with its own words.
        DataError: What it wrote is damaged.
    """
    if _RESULT not in files:
        raise TargetError(f"nothing was measured in the machine: {_said(files)}")
    plain = parsed(files[_RESULT].decode(errors="replace"))
    request = request_of(spec, key)
    before, after = (
        take(recorded_target(files, at, name=guest.kernel.name, kind=guest.kind), first=first)
        for at, first in ((_BEFORE, True), (_AFTER, False))
    )
    did = load_report(
        key.load,
        request.cpus,
        PROCESSES[OWN],
        (before, _load_look(files, _BEFORE, guest)),
        (after, _load_look(files, _AFTER, guest)),
    )
    in_memory = {name: rate for name, rate in did.least.items() if "written" not in name}
    did = attrs.evolve(did, died=_died(files, len(did.commands)), least=in_memory)
    return judged_run(
        key,
        request,
        measured_of(plain),
        did,
        started=started,
        circumstances=circumstances(before, after, cpus=request.cpus),
        kind=guest.kind,
        engine_version=f"deadbeat {tool_version()} ({guest.program.name})",
    )


def _load_look(files: Mapping[str, bytes], at: str, guest: Guest) -> Look:
    target = recorded_target(files, at, name=guest.kernel.name, kind=guest.kind)
    target.outputs["load"] = Reading(printed(target.files))
    return look_of(target.read_many(LOOK_FILES, {"load": ""}), _LOAD_FOLDER)


def _said(files: Mapping[str, bytes]) -> str:
    """Last words of what should have measured."""
    for name in ("/tmp/probe.out", "/tmp/probe.err", "/failed"):
        lines = files.get(name, b"").decode(errors="replace").strip().splitlines()
        others = [line for line in lines if not line.startswith("threads ")]
        if others:
            return others[-1][:200]
    return "no word of it"


def _died(files: Mapping[str, bytes], count: int) -> str:
    """Last words of a load that had ended before it was asked to."""
    for number in range(count):
        status = files.get(f"/tmp/load{number}.status", b"143").strip()
        if status not in (b"143", b"0"):  # SIGTERM, which asks it to end
            said = files.get(f"/tmp/load{number}.err", b"").decode(errors="replace").strip()
            last = said.splitlines()[-1][:200] if said else "without a word"
            return f"status {status.decode(errors='replace')[:8]}, {last}"
    return ""


@define(eq=False, slots=False)
class GuestExperiment(FolderExperiment[LatencyKey, LatencyRun]):
    """What ``store`` lacks of a matrix of ``spec`` (resolved) on ``guest``."""

    unit = "boots"
    _spec: LatencySpec
    _guest: Guest
    planned: Sequence[LatencyKey] = field(
        init=False, default=Factory(lambda self: keys(self._spec), takes_self=True)
    )
    _stop: Event = field(factory=Event, init=False)

    def seconds(self, runs: int) -> float:
        return boot_seconds(self._spec, self._guest, runs)

    def measure(self, tell: Watcher) -> Generator[LatencyRun | Lost[LatencyKey]]:
        """Some boots at a time; results come in the order of the plan."""
        boots = ThreadPoolExecutor(WORKERS)
        try:
            begun = {key: boots.submit(self._run, key) for key in self.lacking}
            for key, result in begun.items():
                try:
                    yield result.result()
                except DeadbeatError as error:
                    yield Lost(key, error)
        finally:
            self._stop.set()
            boots.shutdown(cancel_futures=True)

    def _run(self, key: LatencyKey) -> LatencyRun:
        started = datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
        booted = self._guest.run(
            job_of(self._spec, key),
            seed=self._spec.seed + key.repeat,  # the same for all kernels and loads
            seconds=busy_seconds(self._spec, key.load),
            stop=self._stop,
        )
        return run_of(booted.files, self._spec, key, self._guest, started=started)


def boot_seconds(spec: LatencySpec, guest: Guest, runs: int) -> float:
    """Time of boots by the plan, s."""
    busy = sum(busy_seconds(spec, point) for point in spec.loads) / len(spec.loads)
    return (_BOOT_S + _PROCESSOR_S * (guest.cpus - 1) + _BUSY_S * busy) * runs / WORKERS


def busy_seconds(spec: LatencySpec, point: LoadPoint) -> float:
    """Part of the machine's time in which it is busy, s."""
    return (spec.seconds + _SETTLE_NS / 1e9) * (point.percent / 100 or 0.1)
