"""Begins or continues a campaign: machine, place, programs, and what it shows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from statistics import mean
from typing import Any

import attrs
from attrs import define, field

from deadbeat.base.kinds.base import Begin, Begun
from deadbeat.base.kinds.shown import Shown
from deadbeat.base.model.errors import UsageError
from deadbeat.base.model.platform import EXTRAPOLATED
from deadbeat.base.model.rules import Cpus, Name
from deadbeat.base.model.specification import parsed
from deadbeat.base.model.words import Json, duration
from deadbeat.base.report.document import CellMap
from deadbeat.base.store.place import LATEST
from deadbeat.tasksets.contention.figures import run_figures
from deadbeat.tasksets.contention.headline import strength_of
from deadbeat.tasksets.contention.place import (
    choose,
    find_campaign,
    origin_of,
    require_fragments,
    state_of,
)
from deadbeat.tasksets.contention.plan import Resolved, group_of, plan, resolve
from deadbeat.tasksets.contention.runner import (
    BOOTS_CALIBRATION,
    BOOTS_RUN,
    CampaignExperiment,
    estimate,
    standing,
)
from deadbeat.tasksets.contention.spec import VERB, CampaignSpec, read_spec, spec_dict, specify
from deadbeat.tasksets.executors.base import Executor
from deadbeat.tasksets.executors.made import make_catalog, make_executor
from deadbeat.tasksets.executors.metrics import job_columns
from deadbeat.tasksets.executors.preparing import usable_calibration
from deadbeat.tasksets.model.results import RunKey
from deadbeat.tasksets.model.tasks import Kind
from deadbeat.tasksets.store.campaign import CampaignStore
from deadbeat.tasksets.store.origin import Origin
from deadbeat.tasksets.store.serial import CALIBRATION_FILE

_PROGRAMS = "--programs-from"
#: Paths of a specification that do not change what is run: these alone may be given beside it.
_FREE = ("name", "cpus", "mode")


@define(kw_only=True)
class _Asked:
    """A campaign on a machine; ``source``: the owner of its programs, with their ``origin``."""

    executor: Executor
    resolved: Resolved
    source: CampaignStore | None = None
    origin: Origin | None = None


def begin(asked: Begin, write: Callable[..., Shown]) -> Begun:
    """Begin a campaign. ``write``: writes everything derived from it."""
    found = _borrowed(asked) if asked.given.get("programs_from") else _own(asked)
    executor, spec = found.executor, found.resolved.spec
    catalog = make_catalog(executor)
    calibration = usable_calibration(asked.given.get("calibration"), spec, executor, catalog)
    place = choose(
        asked.runs,
        spec,
        platform=executor.describe(),
        **asked.placing,
        origin=found.origin,
        source=found.source.path if found.source else None,
    )
    if found.origin is not None:
        _announce_programs(asked, found.origin)
    if missing := found.resolved.missing_cores:
        names = f"WARNING: preset {spec.preset} names core counts that do not exist here: M ="
        replay = f"--executor replay:RUN,cores={max(missing)} replays them by stored prices"
        asked.say(f"{names} {', '.join(map(str, missing))} are left out; {replay}")
    simulated = executor.describe().made_up
    known = calibration or found.source or (place.path / CALIBRATION_FILE).is_file()
    whole = estimate(spec, calibrated=bool(known), simulated=simulated)
    boots = BOOTS_RUN * whole.runs + BOOTS_CALIBRATION * (not known)
    seconds = executor.boot_s * boots or whole.seconds
    store = CampaignStore.open(place.path) if place.resumed else None
    done = standing(spec, store).done if store else 0
    counts = ", ".join(map(str, sorted({key.point.cores for key in plan(spec)})))
    costs = spec.calibration
    cold = f", {duration(costs.about_seconds)} of calibrating {costs.basis} before"
    asked.announce(
        place,
        total=whole.runs,
        left=whole.runs - done,
        unit="task sets",
        details=f"on {counts} cores" + cold * (not known and not simulated),
        kind=executor.describe().kind,
        seconds=None if simulated else (1 - done / whole.runs) * seconds,
        need=round((1 - done / whole.runs) * whole.bytes),
    )
    plain = spec_dict(spec)
    store = store or CampaignStore.create(place.emptied(), plain, spec.seed, origin=found.origin)
    experiment = CampaignExperiment(
        spec,
        executor,
        store,
        catalog,
        calibration=calibration,
        retry_failed=asked.retry_failed,
        source=found.source,
    )

    def report(figures: bool) -> Shown:
        shown = write(store, figures=figures, worst=asked.given.get("worst"))
        return attrs.evolve(shown, plain={**shown.plain, "missing_cores": list(missing)})

    return Begun(
        experiment=experiment, beside=spec.beside, so_far=CampaignSoFar(store, spec), report=report
    )


def follow(asked: Begin, first: Path) -> Begin:
    """The programs of ``first`` on another machine."""
    return attrs.evolve(
        asked,
        written={},
        typed={key: value for key, value in asked.typed.items() if key in _FREE},
        names={key: name for key, name in asked.names.items() if key in _FREE},
        given={**asked.given, "programs_from": str(first), "calibration": None},
    )


def executor_for(asked: Begin, cpus: Sequence[int] | None) -> Executor:
    return asked.held.enter_context(closing(make_executor(cpus, runs=asked.runs, **asked.machine)))


def _own(asked: Begin) -> _Asked:
    spec = specify(asked.written, asked.typed, names=asked.names)
    if spec.topology:
        words = f"{asked.given.get('executor')},topology={spec.topology}"
        if not words.startswith("replay:"):
            raise UsageError("topology is of --executor replay:RESULT,cores=N", "drop it")
        asked = attrs.evolve(asked, given={**asked.given, "executor": words})
    executor = executor_for(asked, spec.cpus)
    if executor.describe().kind == EXTRAPOLATED:  # has no prices of its own
        spec = attrs.evolve(spec, calibration=attrs.evolve(spec.calibration, prices=0))
    resolved = resolve(
        spec, executor.describe(), names=asked.names, classes=partial(_classes, executor)
    )
    return _Asked(executor=executor, resolved=resolved)


def _classes(executor: Executor, spec: CampaignSpec) -> list[str]:
    """The objects that the sets of ``spec`` can share on a machine. Raises UsageError: one that is
    asked for by name cannot run there, or there is none."""
    catalog, run = make_catalog(executor), spec.run
    lacking = executor.unavailable(
        catalog, policy=run.policy, participants=max(map(spec.most_tasks, spec.core_counts))
    )
    names = dict.fromkeys(
        entry.fragment for entry in catalog.entries(spec.calibration.pool, mode=run.layout)
    )
    objects = [catalog.fragments[n] for n in names if catalog.fragments[n].kind is Kind.SY]
    asked = [each for each in objects if each.name in spec.tasks.fragments]
    if wrong := [f"{each.name} {lacking[each.name]}" for each in asked if each.name in lacking]:
        raise UsageError(f"--fragments: {'; '.join(wrong)}", "leave it out")
    found = [
        each.name
        for each in asked or objects
        if each.parallel
        and each.name not in lacking
        and (each.mixed_priorities or spec.tasks.priorities == "uniform")
    ]
    if not found:
        raise UsageError("no object that cores could share can run here", "use another --pool")
    return found


# -- programs of another campaign


def _borrowed(asked: Begin) -> _Asked:
    """The programs of another campaign, on this machine. Raises UsageError: an option contradicts
    them, or they cannot run here; DataError: one of them is damaged."""
    wrong = sorted({option for path, option in asked.names.items() if path not in _FREE})
    wrong += ["--file"] if asked.written else []
    wrong += ["--calibration"] if asked.given.get("calibration") is not None else []
    if wrong:
        raise UsageError(
            f"{', '.join(wrong)} and {_PROGRAMS} exclude each other: the programs and how they are"
            " run are those of the campaign it names",
            f"drop {'them' if len(wrong) > 1 else 'it'}; --name and --cpus may be given",
        )
    layer, text = asked.typed, asked.given["programs_from"]
    mode = str(layer.get("mode", "profile"))
    source = CampaignStore.open(find_campaign(asked.runs, text))
    origin = source.load_origin()
    if text == LATEST and origin is not None and state_of(source.path).state != "finished":
        # the link went on to the very campaign that the repeated command is to continue
        source = CampaignStore.open(find_campaign(asked.runs, origin.name))
    found = source.spec.get("mode", "profile")
    if found != mode:
        raise UsageError(
            f"{_PROGRAMS}: {source.path.resolve().name} is a {found} campaign",
            f"use deadbeat {VERB[str(found)]} {_PROGRAMS} {text}",
        )
    stored = read_spec(source.spec)
    cpus = _given(layer, "cpus", Cpus(shared=True))
    if cpus is None:
        every = executor_for(asked, None)
        with closing(every):
            available, own = every.describe().cpus, stored.cpus
            # its own where they exist, else as many others
            cpus = own if own and set(own) <= set(available) else available[: len(own or available)]
    executor = executor_for(asked, cpus)
    platform = executor.describe()
    name = _given(layer, "name", Name()) or stored.name
    spec = attrs.evolve(stored, name=name, cpus=cpus)
    of = f"{_PROGRAMS} {source.path.resolve().name}"
    here = {"cores": of, "stress.cores": of, "cpus": "--cpus", "name": "--name"}
    resolved = resolve(spec, platform, names=here)
    origin = origin_of(source, resolved.spec, platform)
    if origin.original.system != platform.system:
        lacking = executor.unavailable(make_catalog(executor), policy=spec.run.policy)
        require_fragments(source, platform, lacking)
    return _Asked(executor=executor, resolved=resolved, source=source, origin=origin)


def _given(layer: Mapping[str, Json], key: str, rule: Any) -> Any:
    return None if layer.get(key) is None else parsed(rule.parse, layer[key], {"": f"--{key}"})


def _announce_programs(asked: Begin, origin: Origin) -> None:
    made = origin.original
    what = "programs" if made.system == origin.platform.system else "task sets"
    asked.say(f"{what} of {origin.name}, calibrated on {made.name} ({made.soc}, {made.kernel})")
    if what == "task sets":
        asked.say(f"they are built for {origin.platform.kernel}: same fragments, compiled again")
    if not origin.same_hardware:
        asked.say("costs come from another platform: read the slowdown, not the delay ratio")


@define
class CampaignSoFar:
    """Remembers slowdown and missed jobs of every run."""

    store: CampaignStore
    spec: CampaignSpec
    _seen: dict[tuple[str, ...], list[tuple[float, int]]] = field(factory=dict)
    _read: set[RunKey] = field(factory=set)

    def __call__(self) -> CellMap:
        new = self.store.committed() - self._read
        self._read |= new
        for key in sorted(new):
            table = self.store.table(key)
            found = run_figures(table, job_columns(table)).of_set
            if found.slowdown_mean is not None:
                known = self._seen.setdefault(self._place(key), [])
                known.append((found.slowdown_mean, found.deadline_misses))
        return self._groups() if self.spec.stress is not None else self._grid()

    def _place(self, key: RunKey) -> tuple[str, ...]:
        group, point = group_of(self.spec, key), key.point
        if group is not None:
            return (group.name,)
        alpha, rho = point.contended_ratio_milli / 1000, point.sync_share_milli / 1000
        return f"{point.cores}", f"{rho:g}", f"{alpha:g}"

    def _groups(self) -> CellMap:
        found = [tuple(zip(*own, strict=True)) for own in self._seen.values()]
        return CellMap(
            title="slowdown so far",
            corner="group",
            columns=("sets", "mean", "worst", "missed jobs"),
            rows=[name for (name,) in self._seen],
            cells=[
                (str(len(slow)), f"{mean(slow):.2f}", f"{max(slow):.2f}", str(sum(missed)))
                for slow, missed in found
            ],
            strength=[(0, 0, 0, 0)] * len(found),
        )

    def _grid(self) -> CellMap:
        found = {place: mean(s for s, _ in known) for place, known in self._seen.items()}
        cores = max(found, key=found.__getitem__)[0] if found else ""
        rows = sorted({rho for _, rho, _ in found}, key=float)
        columns = sorted({alpha for _, _, alpha in found}, key=float)
        cells = [[found.get((cores, rho, alpha)) for alpha in columns] for rho in rows]
        return CellMap(
            title=f"mean slowdown so far, M = {cores}; ρ: sync, α: shared",
            corner="ρ \\ α",
            columns=columns,
            rows=rows,
            cells=[["·" if v is None else f"{v:.2f}" for v in line] for line in cells],
            strength=[[strength_of(v) if v and v >= 1.05 else 0 for v in line] for line in cells],
        )
