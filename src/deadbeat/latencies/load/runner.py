"""How the runs of a load test are measured and judged, and which remedies a machine can try.

What else ran beside a run, and what the host took, are labels: the run counts
(`deadbeat.latencies.latency.validity`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime

from attrs import Factory, define, field, fields

from deadbeat.base.experiment.base import FolderExperiment
from deadbeat.base.model.errors import TargetError
from deadbeat.base.model.finding import Finding
from deadbeat.latencies.load.engine import REASON, LoadEngine, LoadRequest
from deadbeat.latencies.load.model import ALL, LoadKey, LoadMachine, LoadRun, Seen, several
from deadbeat.latencies.load.remedies import REMEDIES, RemedyChange, Situation, together
from deadbeat.latencies.load.spec import LoadSpec, plan, seconds_of
from deadbeat.latencies.load.store import LoadStore
from deadbeat.latencies.load.validity import rounds_inside
from deadbeat.latencies.validity import LOAD_TOLERANCE, problem
from deadbeat.machine.host.judgements import stolen
from deadbeat.machine.host.kernel import RT_PERIOD, RT_RUNTIME
from deadbeat.machine.host.proc import STAT, task_of
from deadbeat.machine.host.snapshot import FREQUENCY, Snapshot, diff, given, parse
from deadbeat.machine.host.values import Unknown, or_none
from deadbeat.machine.settings.tune import refuse_unsettled

#: Ready threads, before anything of the test runs, that count as other work.
_OTHERS_MAX = 2


def look(spec: LoadSpec, engine: LoadEngine) -> tuple[dict[str, RemedyChange], dict[str, str]]:
    """What each remedy of a resolved specification does here, and why others are not possible:
    each is tried once, and what the machine refuses is not.

    Raises:
        TargetError: A measurement that was killed left settings changed, or one holds them now.
    """
    refuse_unsettled(
        engine.standing(), lambda path: engine.read([path]).files[path].text, address=engine.address
    )
    assert spec.cpus is not None
    cpus, wanted = spec.cpus, [(name, REMEDIES[name]) for name in spec.remedies]
    readings = engine.read([path for _, remedy in wanted for path in remedy.reads(cpus)])
    # pinned to the last CPU, as the first has the machine's own work
    situation = Situation(readings=readings, cpus=cpus, home=cpus[-1])
    changes, impossible = {}, {}
    for name, remedy in wanted:
        answer = remedy.plan(situation)
        if isinstance(answer, str):
            impossible[name] = answer
            continue
        try:
            with engine.holding(answer.settings, reason=f"{REASON}, {name} on trial"):
                pass
            changes[name] = answer
        except TargetError as error:
            impossible[name] = error.details[0] if error.details else str(error)
    return changes, impossible


@define(eq=False, slots=False)
class LoadExperiment(FolderExperiment[LoadKey, LoadRun]):
    """What ``store`` lacks of a load test. A run that failed is simply measured again by the same
    command."""

    _folder: LoadStore = field(alias="store", kw_only=True)
    _spec: LoadSpec
    _engine: LoadEngine
    _changes: Mapping[str, RemedyChange]
    planned: Sequence[LoadKey] = field(
        init=False, default=Factory(lambda self: plan(self._spec, self._changes), takes_self=True)
    )

    def seconds(self, runs: int) -> float:
        return seconds_of(self._spec, runs)

    def lose(self, key: LoadKey, reason: str) -> None:
        """Nothing is kept of it."""

    def one(self, key: LoadKey) -> LoadRun:
        engine, unit_ps = self._engine, self._folder.unit_ps
        every = {**self._changes, ALL: together(list(self._changes.values()))}
        every |= {several(k): RemedyChange(realtime=k) for k in self._spec.realtime if k > 1}
        change = every.get(key.condition, RemedyChange())
        ask = LoadRequest(spec=self._spec, key=key, change=change, unit_ps=unit_ps)
        settings = change.settings
        with engine.holding(settings, reason=f"{REASON}, {key.text}"):
            beside = Beside(engine, ask.cpus)
            started = datetime.now(UTC).isoformat(timespec="milliseconds")
            seen = engine.run(ask)
            machine = beside.ends()
            files = engine.read([each.path for each in settings]).files if settings else {}
        lost = []  # settings of the condition that were taken away while the run was measured
        for each in settings:
            text = files[each.path].text
            if not each.holds(text or ""):
                now = "can no longer be read" if text is None else f"holds {' '.join(text.split())}"
                line = f"{each.path} was set to {each.value} and {now} after the run"
                lost.append(problem("setting-lost", line, "invalid"))
        applied = {setting.path: setting.value for setting in settings}
        if change.pin is not None:
            applied["CPU of the real-time thread"] = str(change.pin)
        if change.normal_cpus is not None:
            applied["CPUs of the ordinary threads"] = ",".join(map(str, change.normal_cpus))
        return LoadRun(
            **{each.name: getattr(seen, each.name) for each in fields(Seen)},
            key=key,
            started=started,
            applied=applied,
            machine=machine,
            problems=(*lost, *problems(ask, seen, machine)),
            kind=engine.kind,
        )


# ---------- the machine before and after a run ----------


class Beside:
    """What happens beside a run: reads when it is made, and again when the run has ended."""

    def __init__(self, engine: LoadEngine, cpus: Sequence[int]) -> None:
        self._engine, self._cpus = engine, cpus
        self._before, self._own_before = self._read()

    def ends(self) -> LoadMachine:
        """What was stolen, what else ran, frequency, RT bandwidth; docs/reference/load.md."""
        before, (after, own_after) = self._before, self._read()
        frequencies = [given(each.frequency_khz) for each in (before, after)]
        found: LoadMachine = {
            "rt_runtime_before_us": or_none(before.rt_runtime_us),
            "rt_runtime_us": or_none(after.rt_runtime_us),
            "rt_period_us": or_none(after.rt_period_us),
            "frequency_khz": {
                str(cpu): [each.get(cpu) for each in frequencies] for cpu in self._cpus
            },
        }
        if isinstance(after.frequency_khz, Unknown):
            found["frequency_khz"] = None
            found["frequency_unknown"] = after.frequency_khz.reason
        ready = or_none(before.running)  # the one that reads this is one of them
        found["others_ready"] = None if ready is None else max(ready - 1, 0)
        known = self._own_before is not None and own_after is not None
        own = (own_after or 0) - (self._own_before or 0) if known else None
        found.update(self._spent(after, own))
        return found

    def _read(self) -> tuple[Snapshot, int | None]:
        """The machine, and the CPU time of the engine's process with its children, in ticks."""
        path = f"/proc/{self._engine.process}/stat"
        own = [path] if self._engine.process else []
        readings = self._engine.read([STAT, RT_RUNTIME, RT_PERIOD, FREQUENCY, *own])
        reading = readings.files.get(path)
        task = task_of(reading.text) if reading is not None and reading.text else None
        return parse(readings), None if task is None else task.tree_ticks

    def _spent(self, after: Snapshot, own: int | None) -> LoadMachine:
        """What the host took, and what ran beside a process that took ``own`` ticks."""
        ticks, cpus = diff(self._before, after).ticks, self._cpus
        total = sum(ticks[cpu].total for cpu in cpus if cpu in ticks)
        spent = LoadMachine(
            steal_ticks=None, steal_ticks_by_cpu=None, steal_share=None, foreign_cpus=None
        )
        if set(cpus) <= ticks.keys() and total > 0:
            spent["steal_ticks_by_cpu"] = {str(cpu): ticks[cpu].steal for cpu in cpus}
            spent["steal_ticks"] = taken = sum(ticks[cpu].steal for cpu in cpus)
            spent["steal_share"] = taken / total
            busy = sum(ticks[cpu].busy for cpu in cpus)
            if own is not None:
                spent["foreign_cpus"] = max(busy - own, 0) * len(cpus) / total
        return spent


# ---------- whether a run is what it says it is ----------


def problems(ask: LoadRequest, seen: Seen, machine: LoadMachine) -> Iterator[Finding]:
    """Everything wrong with a run, and its labels."""
    if ask.real_time:
        pin, policy = ask.change.pin, ask.spec.policy
        if (seen.policy, seen.priority) != (policy, ask.priority):
            words = f"the thread had {seen.policy} {seen.priority}, not {policy} {ask.priority}"
            yield problem("wrong-priority", words, "invalid")
        if pin is not None and seen.cpu != pin:
            words = f"the thread was bound to CPU {seen.cpu}, not {pin}"
            yield problem("wrong-placement", words, "invalid")
        if not any(rounds_inside(each, seen.window_ns) for each in (seen.rounds, *seen.others)):
            yield problem("too-few-rounds", "the window holds no round", "invalid")
    theirs = ask.normal_cpus
    # where real-time threads have all CPUs of the ordinary ones, that these did nothing is a result
    starved = ask.real_time and len(theirs) <= ask.change.realtime
    starved = starved and ask.change.pin in (None, *theirs)
    if ask.key.normal and not any(seen.normal_units) and not starved:
        yield problem("load-not-reached", "the ordinary threads never ran", "invalid")
    before, after = machine.get("rt_runtime_before_us"), machine.get("rt_runtime_us")
    if None not in (before, after) and before != after:
        text = f"sched_rt_runtime_us went from {before} to {after} while it was measured"
        yield problem("bandwidth-changed", text, "invalid")
    share, foreign = machine.get("steal_share"), machine.get("foreign_cpus")
    if share is not None and stolen({"": share}):
        text = f"the host took {100 * share:.1f} % of the CPUs' time meanwhile"
        yield problem("steal", text)
    # each thread of other work stands in the way as one more ordinary thread does
    ready = machine.get("others_ready") or 0
    if foreign is not None and foreign > LOAD_TOLERANCE:
        text = f"something else ran: {foreign:.2f} CPUs of work that is no part of the test"
        yield problem("other-work", text)
    elif foreign is None and ready >= _OTHERS_MAX:
        text = f"{ready} other threads were ready before it began: the machine had other work"
        yield problem("other-work", text)
    if seen.gaps_lost:
        text = f"{seen.gaps_lost} gaps beyond those that are kept: their causes are not counted"
        yield problem("gaps-lost", text)
