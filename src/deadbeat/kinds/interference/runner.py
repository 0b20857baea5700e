"""How the runs of a load test are measured, and which remedies can be tried on a machine."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from datetime import UTC, datetime

from attrs import field, frozen

from deadbeat.experiment.base import FolderExperiment, Lost
from deadbeat.experiment.base import Watcher as Telling
from deadbeat.kinds.interference.circumstances import Watcher
from deadbeat.kinds.interference.engine import REASON, LoadEngine
from deadbeat.kinds.interference.judge import not_held, problems
from deadbeat.kinds.interference.plan import ask_for, plan, seconds_of
from deadbeat.kinds.interference.remedy import (
    Impossible,
    RemedyChange,
    Situation,
    known_remedies,
    together,
)
from deadbeat.kinds.interference.spec import LoadSpec
from deadbeat.model.errors import DataError, RunError, TargetError
from deadbeat.model.finding import Finding
from deadbeat.model.load import ALL, LoadKey, LoadRun
from deadbeat.model.tuning import Setting
from deadbeat.settings.standing import refuse_unsettled
from deadbeat.store.load import LoadStore


@frozen(kw_only=True)
class Possible:
    """Which remedies can be tried on a machine.

    Attributes:
        changes: Name -> what it does.
        impossible: Name -> why it cannot be tried.
    """

    changes: dict[str, RemedyChange] = field(factory=dict)
    impossible: dict[str, str] = field(factory=dict)


def home_cpu(spec: LoadSpec) -> int:
    """The CPU of a pinned real-time thread: the last, as the first has the machine's own work."""
    assert spec.cpus is not None
    return spec.cpus[-1]


def look(spec: LoadSpec, engine: LoadEngine) -> Possible:
    """Asks each remedy of a resolved specification what it would do here, and tries that once: what
    the machine refuses is not possible.

    Raises:
        TargetError: A measurement that was killed left settings changed, or one holds them now.
    """
    refuse_unsettled(engine.standing())
    assert spec.cpus is not None
    wanted = [known_remedies()[name] for name in spec.remedies]
    paths = [path for remedy in wanted for path in remedy.reads(spec.cpus)]
    readings = engine.read(paths)
    situation = Situation(readings=readings, cpus=spec.cpus, home=home_cpu(spec))
    possible = Possible()
    for remedy in wanted:
        answer = _tried(engine, remedy.name, remedy.plan(situation))
        if isinstance(answer, Impossible):
            possible.impossible[remedy.name] = answer.reason
        else:
            possible.changes[remedy.name] = answer
    return possible


def _tried(
    engine: LoadEngine, name: str, answer: RemedyChange | Impossible
) -> RemedyChange | Impossible:
    if isinstance(answer, Impossible):
        return answer
    try:
        with engine.holding(answer.settings, reason=f"{REASON}, {name} on trial"):
            return answer
    except TargetError as error:
        return Impossible(error.details[0] if error.details else str(error))


class LoadExperiment(FolderExperiment[LoadKey, LoadRun]):
    """What ``store`` lacks of a load test. A run that failed is simply measured again by the same
    command."""

    def __init__(
        self,
        spec: LoadSpec,
        engine: LoadEngine,
        store: LoadStore,
        changes: Mapping[str, RemedyChange],
        *,
        retry_invalid: bool = False,
    ) -> None:
        super().__init__(store, plan(spec, changes), retry_invalid=retry_invalid)
        self._spec, self._engine, self._changes = spec, engine, changes
        self._unit_ps = store.unit_ps

    def seconds(self, runs: int) -> float:
        return seconds_of(self._spec, runs)

    def measure(self, tell: Telling) -> Generator[LoadRun | Lost[LoadKey]]:
        for key in self.lacking:
            change = _change(key, self._changes)
            try:
                yield _one(self._spec, self._engine, key, change, self._unit_ps)
            except (RunError, DataError) as error:
                yield Lost(key, error)

    def lose(self, key: LoadKey, reason: str) -> None:
        """Nothing is kept of it."""


def _change(key: LoadKey, changes: Mapping[str, RemedyChange]) -> RemedyChange | None:
    return together(list(changes.values())) if key.condition == ALL else changes.get(key.condition)


def _one(
    spec: LoadSpec, engine: LoadEngine, key: LoadKey, change: RemedyChange | None, unit_ps: int
) -> LoadRun:
    ask = ask_for(spec, key, change, unit_ps)
    settings = change.settings if change else ()
    with engine.holding(settings, reason=f"{REASON}, {key.text}") as held:
        watcher = Watcher(engine, ask.cpus)
        started = datetime.now(UTC).isoformat(timespec="milliseconds")
        seen = engine.run(ask)
        machine = watcher.ends()
        lost = _no_longer(engine, settings)
    words = dict(held)
    if ask.pin is not None:
        words["CPU of the real-time thread"] = str(ask.pin)
    if ask.normal_cpus is not None:
        words["CPUs of the ordinary threads"] = ",".join(map(str, ask.normal_cpus))
    return LoadRun(
        key=key,
        started=started,
        window_ns=seen.window_ns,
        sampled_ns=seen.sampled_ns,
        rounds=seen.rounds,
        gaps=seen.gaps,
        gaps_lost=seen.gaps_lost,
        normal_units=seen.normal_units,
        policy=seen.policy,
        priority=seen.priority,
        cpu=seen.cpu,
        unit_ps=seen.unit_ps,
        applied=words,
        machine=machine,
        trace=seen.trace,
        problems=(*lost, *problems(ask, seen, machine)),
        kind=engine.kind,
    )


def _no_longer(engine: LoadEngine, settings: Sequence[Setting]) -> list[Finding]:
    """Settings that were taken away while the run was measured."""
    if not settings:
        return []
    files = engine.read([setting.path for setting in settings]).files
    return [
        not_held(each, files[each.path].text)
        for each in settings
        if not each.holds(files[each.path].text or "")
    ]
