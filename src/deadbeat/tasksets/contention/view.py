"""`deadbeat.open`: a campaign for whoever reads it in Python; whether two ran alike."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from deadbeat.base.experiment.columns import Columns, pandas
from deadbeat.base.kinds.base import OpenedResult
from deadbeat.base.kinds.shown import Shown
from deadbeat.base.model import jobs as j
from deadbeat.base.model.errors import DataError, UsageError
from deadbeat.base.model.finding import Finding, finding
from deadbeat.base.model.platform import Platform, differing_platforms, shortened
from deadbeat.base.model.specification import differing
from deadbeat.base.model.words import Json, inside, time_text
from deadbeat.base.store.files import file_hash
from deadbeat.tasksets.contention.facts import platform
from deadbeat.tasksets.contention.figures import without_overlapped
from deadbeat.tasksets.contention.findings import where_it_ran
from deadbeat.tasksets.contention.plan import group_of, is_complete, plan
from deadbeat.tasksets.contention.run_reader import (
    factor_at,
    spec_of,
)
from deadbeat.tasksets.contention.spec import VERB, read_spec
from deadbeat.tasksets.contention.summarise import Attempts, summarise
from deadbeat.tasksets.executors.metrics import job_columns, per_job
from deadbeat.tasksets.model.calibration import Calibration
from deadbeat.tasksets.model.results import RunKey, Summary
from deadbeat.tasksets.model.tasks import TaskSet
from deadbeat.tasksets.store.campaign import OWN_COSTS_FILE, CampaignStore
from deadbeat.tasksets.store.summary import read_summary

_SPLIT_COLUMNS = (
    "cpu_ns",
    "run_delay_before_ns",
    "run_delay_within_ns",
    "voluntary_switches",
    "involuntary_switches",
)


class CampaignView(OpenedResult):
    """A campaign, read only.

    Attributes:
        store: Its directory, for what is not offered here.
    """

    def __init__(self, store: CampaignStore, show: Callable[[Path], Shown] | None = None) -> None:
        self.store = store
        if show is not None:
            self.show = show

    @property
    def path(self) -> Path:
        return self.store.path

    @property
    def rows(self) -> Sequence[Mapping[str, Json]]:
        """A row per point (or group), with the columns of summary.csv."""
        return [cell.row(self.summary.mode) for cell in self.summary.cells]

    def __repr__(self) -> str:
        return f"CampaignView({str(self.store.path)!r}, {len(self.keys)} runs)"

    @cached_property
    def keys(self) -> tuple[RunKey, ...]:
        """The runs that are finished, in order."""
        return tuple(sorted(self.store.committed()))

    @cached_property
    def summary(self) -> Summary:
        """The stored summary if it fits the runs that are there; else a new one (not written).

        Raises:
            DataError: A file of the campaign is damaged.
        """
        stored = read_summary(self.store)
        if stored and stored.meta.get("runs_digest") == Attempts.of(self.store).digest():
            return stored
        return summarise(self.store)

    @property
    def place(self) -> Platform | None:
        """Where it was measured; None: not known."""
        return where_it_ran(self._calibration, self.store.load_origin())

    @property
    def simulated(self) -> bool:
        """Whether the campaign ran on a simulator: then nothing in it was measured."""
        return self.place is not None and self.place.made_up

    @cached_property
    def _calibration(self) -> Calibration | None:
        return self.store.load_calibration()

    def sets_to_pandas(self) -> Any:
        """A pandas DataFrame with a row per task set and the columns of sets.csv.

        Raises:
            DeadbeatError: pandas is not installed.
        """
        return pandas().DataFrame([each.row(self.summary.mode) for each in self.summary.sets])

    def task_set(self, key: RunKey | str) -> TaskSet:
        """The task set of a run.

        Raises:
            DataError: Its program is not stored, or damaged.
        """
        return self.store.programs.task_set(_key(key))

    def jobs(self, key: RunKey | str) -> Columns:
        """All jobs of a run, warm-up and solo included (see ``counted`` and ``solo``).

        As in the summary, no job counts that a job of an earlier slot overlaps.

        Columns: those of `analysis.metrics.JobColumns` that are per job, ``core``, and, where the
        run recorded the split, its five columns and ``blocked_ns``.

        Raises:
            UsageError: There is no such run.
            DataError: Its file is damaged.
        """
        table, _ = without_overlapped(self.store.table(_key(key)))
        columns = job_columns(table)
        found = per_job(columns)
        found["core"] = table.tasks["core"].astype(np.int64)[columns.task]
        split = columns.flags & j.JOB_SPLIT != 0
        if len(split) and split.any():
            found |= {name: np.ascontiguousarray(table.jobs[name]) for name in _SPLIT_COLUMNS}
            running = found["cpu_ns"] + found["run_delay_within_ns"]
            found["blocked_ns"] = np.where(split, columns.span_ns - running, np.nan)
        return Columns(found)

    def all_jobs(self) -> Columns:
        """Counted jobs of the together slots of all runs: about 150 bytes a job in memory.

        Columns: those common to all `jobs`, and ``cores``, ``sync_share``, ``contended_ratio``,
        ``deadline_factor`` (NaN where T is drawn), ``replica``, and of a stress campaign ``group``,
        in front.
        """
        parts: list[dict[str, NDArray[Any]]] = []
        spec = spec_of(self.store)
        for key in self.keys:
            jobs = self.jobs(key)
            chosen = jobs["counted"] & ~jobs["solo"]
            factor = factor_at(spec, key.point)
            axes: dict[str, Any] = {
                "cores": key.point.cores,
                "sync_share": key.point.sync_share,
                "contended_ratio": key.point.contended_ratio,
                "deadline_factor": np.nan if factor is None else factor,
                "replica": key.replica,
            }
            group = None if spec is None else group_of(spec, key)
            if group is not None:
                axes["group"] = group.name
            part = {name: np.full(int(chosen.sum()), value) for name, value in axes.items()}
            parts.append(part | {name: column[chosen] for name, column in jobs.items()})
        if not parts:
            return Columns({})
        names = [name for name in parts[0] if all(name in part for part in parts)]
        return Columns({name: np.concatenate([part[name] for part in parts]) for name in names})


def open_campaign(path: Path | str) -> CampaignView:
    """The campaign in the folder ``path`` (``runs/latest``), as `deadbeat.open`.

    Raises:
        DataError: No campaign there, or it is damaged or of another format.
    """
    return CampaignView(CampaignStore.open(path))


def _key(key: RunKey | str) -> RunKey:
    try:
        return RunKey.parse(key) if isinstance(key, str) else key
    except DataError as error:
        raise UsageError(error.message, error.hint) from None


_KEYS_SHOWN, _PARAMETERS_SHOWN = 3, 8
#: Parameters that say how a campaign was carried out, not what it measured.
_OWN = ("name", "preset", "cpus", "calibration")
#: Settings under which the same program is another measurement.
_HOW = ("policy", "overrun", "layout", "seconds", "jobs", "slot_periods", "warmup_jobs", "split")


@frozen(kw_only=True)
class ProgramStanding:
    """The programs of a campaign by what became of them; each is in one of the four.

    Attributes:
        done: They have a result.
        failed: They failed.
        left: They are not run yet: the campaign is unfinished.
        unwanted: Never run, since their point was known well enough (``--precision``).
        decided: Whether it is known that all of ``left`` will be run.
    """

    done: frozenset[RunKey]
    failed: frozenset[RunKey]
    left: frozenset[RunKey]
    unwanted: frozenset[RunKey]
    decided: bool

    @property
    def planned(self) -> frozenset[RunKey]:
        return self.done | self.failed | self.left | self.unwanted

    @property
    def left_text(self) -> str:
        """``3 of 10 programs are not run yet``; "": it is finished."""
        most = "" if self.decided else "up to "
        many = f"{most}{len(self.left)} of {len(self.planned)} programs"
        return f"{many} are not run yet" if self.left else ""


def standing_of(view: CampaignView) -> ProgramStanding:
    """What became of the programs of ``view``. Raises DeadbeatError: its parameters cannot be read,
    or a record is damaged."""
    store = view.store
    spec = read_spec(store.spec)
    done = frozenset(view.keys)
    failed = frozenset(store.failed()) - done
    others = (store.programs.keys() | frozenset(plan(spec))) - done - failed
    complete = is_complete(spec, store)
    return ProgramStanding(
        done=done,
        failed=failed,
        left=frozenset() if complete else others,
        unwanted=others if complete else frozenset(),
        decided=spec.precision is None,
    )


def name_of(view: CampaignView) -> str:
    return view.store.path.resolve().name


def require_identical(baseline: CampaignView, other: CampaignView) -> tuple[Finding, ...]:
    """What to know of the pairing of two campaigns of the identical programs. Raises UsageError:
    they are not: how many programs differ, which first, and which parameters; DataError: a file is
    damaged."""
    one, two = standing_of(baseline), standing_of(other)
    mine, theirs = _set_ids(baseline), _set_ids(other)
    shared = sorted(mine.keys() & theirs.keys())
    changed = [key for key in shared if mine[key] != theirs[key]]
    if changed or one.planned ^ two.planned or not shared:
        raise _refusal(baseline, other, changed, shared=len(shared))
    _require_executables(baseline, other, shared)
    sides = ((baseline, one), (other, two))
    return (*_unfinished(sides), *_unpaired(sides), *_other_settings(baseline, other))


def _set_ids(view: CampaignView) -> dict[RunKey, str]:
    """Identifier of every planned task set; from the results where the plan does not record it."""
    ids = {key: found for key, found in view.store.programs.set_ids().items() if found}
    missing = [key for key in view.keys if key not in ids]
    return ids | {key: view.store.table(key).set_id for key in missing}


def _own_programs(view: CampaignView) -> str:
    verb = VERB[str(view.store.spec.get("mode", "profile"))]
    return f"run the baseline's own programs: deadbeat {verb} --programs-from {name_of(view)}"


def _refusal(
    baseline: CampaignView, other: CampaignView, changed: list[RunKey], *, shared: int
) -> UsageError:
    one, two = name_of(baseline), name_of(other)
    kinds = [str(view.store.spec.get("mode", "profile")) for view in (baseline, other)]
    if kinds[0] != kinds[1]:
        message = f"{one} is of {kinds[0]}, {two} of {kinds[1]}: they have no program in common"
        return UsageError(message, _own_programs(baseline))
    # ``path: A's value | B's value`` for every parameter that makes a task set or a run.
    found = differing(baseline.store.spec, other.store.spec)
    parameters = [
        f"{path}: {shortened(a, 'not set')} | {shortened(b, 'not set')}"
        for path, a, b in found
        if path.partition(".")[0] not in _OWN
    ]
    mine, theirs = standing_of(baseline).planned, standing_of(other).planned
    message = f"{one} and {two} have no program in common"
    if mine & theirs:
        differ = f"{len(changed)} of {shared} task sets differ ({_some(changed)})"
        parts = [differ] if changed else []
        parts += [
            f"{len(keys)} of {len(mine | theirs)} task sets are planned in {name} alone"
            f" ({_some(sorted(keys))})"
            for name, keys in ((one, mine - theirs), (two, theirs - mine))
            if keys
        ]
        parts = parts or ["no task set was built on both sides yet"]
        message = f"{one} and {two} are not of the same programs: {'; '.join(parts)}"
    lines = [f"{line} ({one} | {two})" for line in parameters[:_PARAMETERS_SHOWN]]
    if len(parameters) > _PARAMETERS_SHOWN:
        lines.append(f"and {len(parameters) - _PARAMETERS_SHOWN} more parameters")
    alike = "the parameters are the same: each was calibrated by itself, so the same seed made"
    return UsageError(message, _own_programs(baseline), (*lines,) or (f"{alike} other task sets",))


def _some(keys: Sequence[RunKey]) -> str:
    names = ", ".join(key.text for key in keys[:_KEYS_SHOWN])
    return names + (", ..." if len(keys) > _KEYS_SHOWN else "")


def _require_executables(baseline: CampaignView, other: CampaignView, shared: list[RunKey]) -> None:
    """Raises UsageError where the same task sets were built into other executables."""
    mine, theirs = _executables(baseline), _executables(other)
    both = [key for key in shared if key in mine and key in theirs]
    # Only programs of the same task sets can be the same file.
    wrong = [k for k in both if mine[k][1] == theirs[k][1] and mine[k][0] != theirs[k][0]]
    if wrong:
        lines = differing_platforms(platform(baseline.summary), platform(other.summary))
        raise UsageError(
            f"{name_of(baseline)} and {name_of(other)} have the same task sets in other"
            f" executables: {len(wrong)} of {len(both)} runs ({_some(wrong)}); compiler, flags,"
            " runtime or fragments differ",
            _own_programs(baseline),
            tuple(line for line in lines if "toolchain" in line),
        )


def _executables(view: CampaignView) -> dict[RunKey, tuple[str, tuple[RunKey, ...]]]:
    found: dict[RunKey, tuple[str, tuple[RunKey, ...]]] = {}
    for program in view.store.programs.all():
        if program.elf is not None:
            digest = file_hash(program.elf)
            found |= dict.fromkeys(program.keys, (digest, program.keys))
    return found


Sides = tuple[tuple[CampaignView, ProgramStanding], tuple[CampaignView, ProgramStanding]]


def _unfinished(sides: Sides) -> Iterator[Finding]:
    paired = len(sides[0][1].done & sides[1][1].done)
    for name, text in ((name_of(view), found.left_text) for view, found in sides if found.left):
        message = f"{name} is unfinished ({text}): only {paired} programs are compared"
        yield finding("campaign-unfinished", message, where=name)


def _unpaired(sides: Sides) -> Iterator[Finding]:
    """Programs that are over but have no result on both sides."""
    (baseline, one), (other, two) = sides
    paired, planned = one.done & two.done, one.planned
    if not paired:
        raise UsageError(
            f"{name_of(baseline)} and {name_of(other)} have the same programs but no run with a"
            " result on both sides",
            "deadbeat show says why runs failed; repeat the command with --retry",
        )
    failed = one.failed | two.failed
    if failed:
        lacking = [f"{len(s.failed)} in {name_of(view)}" for view, s in sides if s.failed]
        names = " and ".join(name_of(view) for view, s in sides if s.failed)
        yield finding(
            "unpaired-runs",
            f"{len(failed)} of {len(planned)} programs failed"
            f" ({', '.join(lacking)}): only {len(paired)} are compared",
            severity="warning" if len(failed) * 5 > len(planned) else "info",
            cure=f"deadbeat show says why; repeat the command of {names} with --retry",
        )
    once = (one.done & two.unwanted) | (two.done & one.unwanted)
    if once:
        message = f"{len(once)} programs ran on one side only, because the other knew their points"
        message += f" well enough before (--precision): only {len(paired)} are compared"
        yield finding("unpaired-runs", message)


def _other_settings(baseline: CampaignView, other: CampaignView) -> Iterator[Finding]:
    mine, theirs = (inside(view.store.spec, "run") for view in (baseline, other))
    sides = [(key, mine.get(key), theirs.get(key)) for key in _HOW]
    if different := [f"run.{key}: {one} | {two}" for key, one, two in sides if one != two]:
        message = f"{name_of(baseline)} and {name_of(other)} ran with different settings:"
        yield finding("run-settings-differ", f"{message} {'; '.join(different)}")


#: Time for measuring the objects of a system that runs another's task sets, s.
OWN_SECONDS = 5.0


def overhead_lines(one: CampaignView, two: CampaignView) -> Iterator[str]:
    """Lines ``what: A's value | B's value``, where the systems differ; none where they do not."""
    places = (one.place, two.place)
    if None in places or len({each.system for each in places if each}) == 1:
        return
    wakes = [filter(None, (s.wake_up_p50_ns for s in view.summary.sets)) for view in (one, two)]
    if all(found := [[*each] for each in wakes]):
        yield f"wake-up, median: {' | '.join(time_text(median(each)) for each in found)}"
    costs = [_own_costs(view) for view in (one, two)]
    seen: set[str] = set()
    for entry in costs[0]:
        fragment = entry.partition("/")[0]
        if entry in costs[1] and fragment not in seen:
            seen.add(fragment)
            yield f"a use of {entry}: {' | '.join(time_text(side[entry]) for side in costs)}"


def _own_costs(view: CampaignView) -> dict[str, int]:
    own: Calibration | None = view.store.load_calibration(OWN_COSTS_FILE)
    if own is None and view.store.load_origin() is None:
        own = view.store.load_calibration()
    costs = own.costs if own else {}
    return {entry: round(cost[0].repeat_ps / 1000) for entry, cost in costs.items()}
