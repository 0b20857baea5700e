"""What slots showed, where that is stored, and the slowdowns it comes to."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np
from attrs import frozen

from deadbeat.experiment.folders import RunFolders
from deadbeat.kinds.channels.spec import InterfereKey, InterfereSpec, SetWork, plan
from deadbeat.model.finding import Finding
from deadbeat.model.latency import Replaced
from deadbeat.model.specification import read
from deadbeat.stats.cluster import leaf_order
from deadbeat.stats.intervals import Interval, mean_interval
from deadbeat.store.place import FolderKind
from deadbeat.store.runfolder import EXPERIMENT_FILE, RunFolder, run_converter

#: Aggressors that are none: nobody beside, and threads that sleep there.
ALONE, ASLEEP = -1, -2
#: Less is not called interference, whatever its interval.
LEAST = 1.05
#: Fragments whose work is in memory beyond the core's own caches.
_MEMORY = ("memory_stream", "pointer_chase")


@frozen(kw_only=True)
class InterfereRun:
    """One set of processes.

    Attributes:
        refused: Works that could not be set up, and why.
        slots: (round, victim, aggressor, uses, aggressors that were there, ns of all uses), with
            works as indices, `ALONE` or `ASLEEP`.
    """

    key: InterfereKey
    started: str
    clock_cost_ps: int
    slot_ns: int
    refused: dict[str, str]
    slots: tuple[tuple[int, int, int, int, int, int], ...]
    problems: tuple[Finding, ...] = ()
    replaced: tuple[Replaced, ...] = ()

    @property
    def valid(self) -> bool:
        return not any(each.severity == "invalid" for each in self.problems)


class InterfereStore(RunFolder[InterfereKey, InterfereRun]):
    """The folder."""

    KIND, NOUN = "interfere", "interference matrix"
    RUN = InterfereRun
    CONVERTER = run_converter(InterfereKey, InterfereKey.parse)

    def parse_key(self, text: str) -> InterfereKey:
        return InterfereKey.parse(text)


FOLDERS = RunFolders(
    kind=FolderKind(EXPERIMENT_FILE, InterfereStore.NOUN, InterfereStore.KIND),
    store=InterfereStore,
    read=partial(read, InterfereSpec),
    planned=lambda store: plan(read(InterfereSpec, store.spec)),
)


@frozen(kw_only=True)
class Slowdown:
    """Of a victim beside an aggressor (None: threads that sleep).

    Attributes:
        value: Mean over runs of (time beside / time alone); a use alone takes ``alone_ns``.
        late: Slots in which not all aggressors were there when the victim began.
    """

    victim: SetWork
    aggressor: SetWork | None
    value: float
    interval: Interval | None
    alone_ns: float
    slots: int
    late: int

    @property
    def shows(self) -> bool:
        """Whether the victim is slowed, beyond the noise and by enough to matter."""
        return self.value >= LEAST and self.interval is not None and self.interval.low > 1.0


@frozen(kw_only=True)
class InterfereSummary:
    """Who slows whom on a machine; ``order``: the works, alike ones beside each other."""

    name: str
    spec: InterfereSpec
    done: int
    slots: int
    labels: tuple[str, ...]
    findings: tuple[Finding, ...]
    refused: dict[str, str]
    cells: tuple[Slowdown, ...]
    order: tuple[SetWork, ...]

    def cell(self, victim: SetWork, aggressor: SetWork | None) -> Slowdown | None:
        """One of ``cells``; None: it was not measured."""
        wanted = (victim, aggressor)
        return next((c for c in self.cells if (c.victim, c.aggressor) == wanted), None)

    def by(self, victim: SetWork) -> list[Slowdown]:
        """Those that slow it, the worst first; not the threads that sleep."""
        mine = [c for c in self.cells if c.victim == victim and c.aggressor]
        return sorted(mine, key=lambda cell: -cell.value)


def summarise(store: InterfereStore) -> InterfereSummary:
    """All stored runs that count."""
    spec = read(InterfereSpec, store.spec)
    runs = list(store.runs())
    counted = [run for run in runs if run.valid]
    cells = slowdowns(spec.works, counted)
    return InterfereSummary(
        name=store.path.name,
        spec=spec,
        done=len(runs),
        slots=sum(len(run.slots) for run in counted),
        labels=(
            *(("SIMULATED",) if store.platform.kind == "simulated" else ()),
            *(("SCHED_OTHER",) if spec.policy == "other" else ()),
        ),
        findings=tuple(each for run in runs for each in run.problems),
        refused={name: why for run in counted for name, why in run.refused.items()},
        cells=cells,
        order=ordered(spec.works, cells),
    )


def slowdowns(works: Sequence[SetWork], runs: Sequence[InterfereRun]) -> tuple[Slowdown, ...]:
    """Of every pair that was measured. No slot is left out for being slow.

    Within a run: the sum of times beside, a use, over that alone. The interval is of the mean over
    runs, which are processes of their own: memory that lies badly slows all slots of a run.
    """
    tables = [np.array(run.slots, np.int64).reshape(-1, 6) for run in runs]
    found = []
    for v, victim in enumerate(works):
        for a in (ASLEEP, *range(len(works))):
            ratios, alone, slots, late = [], [], 0, 0
            for table in tables:
                mine = table[table[:, 1] == v]
                beside, solo = mine[mine[:, 2] == a], mine[mine[:, 2] == ALONE]
                if not (len(beside) and len(solo)):
                    continue
                use = float(solo[:, 5].sum() / solo[:, 3].sum())
                ratios.append(float(beside[:, 5].sum() / beside[:, 3].sum()) / use)
                alone.append(use)
                slots += len(beside)
                late += int((beside[:, 4] < beside[:, 4].max()).sum())
            if ratios:
                found.append(
                    Slowdown(
                        victim=victim,
                        aggressor=None if a == ASLEEP else works[a],
                        value=float(np.mean(ratios)),
                        interval=mean_interval(np.array(ratios)),
                        alone_ns=float(np.mean(alone)),
                        slots=slots,
                        late=late,
                    )
                )
    return tuple(found)


def ordered(works: Sequence[SetWork], cells: Sequence[Slowdown]) -> tuple[SetWork, ...]:
    """Works that do and suffer alike side by side, by what shows of the log slowdowns."""
    place = {work: at for at, work in enumerate(works)}
    suffered = np.zeros((len(works), len(works)))
    for cell in cells:
        if cell.aggressor is not None and cell.shows:
            suffered[place[cell.victim], place[cell.aggressor]] = np.log(cell.value)
    return tuple(works[at] for at in leaf_order(np.hstack([suffered, suffered.T])))


def shares(summary: InterfereSummary, victim: SetWork) -> str:
    """What ``victim`` seems to share with other cores, by who slows it."""
    by = [cell.aggressor for cell in summary.by(victim) if cell.shows and cell.aggressor]
    if not by:
        return "nothing"
    found = []
    if victim in by and victim.shared:
        found.append("its own object")
    if any(work.fragment in _MEMORY for work in by):
        found.append("shared cache or memory bandwidth")
    if any(work != victim and work.fragment not in _MEMORY and not _computes(work) for work in by):
        found.append("the kernel, or its lock")
    return ", ".join(found) or "the core itself, or its clock"


def _computes(work: SetWork) -> bool:
    return work.fragment in ("matmul", "fft", "sha256", "crc32")
