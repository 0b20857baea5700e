"""The machine before and after a run: what was stolen, what else ran, frequency, RT bandwidth."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from deadbeat.host.kernel import RT_PERIOD, RT_RUNTIME
from deadbeat.host.proc import STAT, task_of
from deadbeat.host.snapshot import FREQUENCY, Snapshot, diff, given, parse
from deadbeat.host.values import Unknown
from deadbeat.kinds.interference.engine import LoadEngine


class Watcher:
    """Reads when it is made, and again when told that the run has ended."""

    def __init__(self, engine: LoadEngine, cpus: Sequence[int]) -> None:
        self._engine = engine
        self._cpus = cpus
        self._before, self._own_before = self._read()

    def ends(self) -> dict[str, Any]:
        """What the machine did meanwhile; None for what cannot be told here, with ``REASON``."""
        before, (after, own_after) = self._before, self._read()
        frequencies = [given(each.frequency_khz) for each in (before, after)]
        found: dict[str, Any] = {
            "rt_runtime_before_us": _or_none(before.rt_runtime_us),
            "rt_runtime_us": _or_none(after.rt_runtime_us),
            "rt_period_us": _or_none(after.rt_period_us),
            "frequency_khz": {
                str(cpu): [each.get(cpu) for each in frequencies] for cpu in self._cpus
            },
        }
        if isinstance(after.frequency_khz, Unknown):
            found["frequency_khz"] = None
            found["frequency_unknown"] = after.frequency_khz.reason
        ready = _or_none(before.running)  # the one that reads this is one of them
        found["others_ready"] = None if ready is None else max(ready - 1, 0)
        known = self._own_before is not None and own_after is not None
        own = (own_after or 0) - (self._own_before or 0) if known else None
        return found | _spent(before, after, cpus=self._cpus, own=own)

    def _read(self) -> tuple[Snapshot, int | None]:
        """The machine, and the CPU time of the engine's process with its children, in ticks."""
        path = f"/proc/{self._engine.process}/stat"
        own = [path] if self._engine.process else []
        readings = self._engine.read([STAT, RT_RUNTIME, RT_PERIOD, FREQUENCY, *own])
        reading = readings.files.get(path)
        task = task_of(reading.text) if reading is not None and reading.text else None
        return parse(readings), None if task is None else task.tree_ticks


def _or_none(value: int | Unknown) -> int | None:
    return None if isinstance(value, Unknown) else value


def _spent(
    before: Snapshot, after: Snapshot, *, cpus: Sequence[int], own: int | None
) -> dict[str, Any]:
    """What the host took of ``cpus``, and what ran beside a process that took ``own`` ticks."""
    ticks = diff(before, after).ticks
    names = ("steal_ticks", "steal_ticks_by_cpu", "steal_share", "foreign_cpus")
    total = sum(ticks[cpu].total for cpu in cpus if cpu in ticks)
    if not set(cpus) <= ticks.keys() or total <= 0:
        return dict.fromkeys(names)
    stolen = {str(cpu): ticks[cpu].steal for cpu in cpus}
    busy = sum(ticks[cpu].busy for cpu in cpus)
    foreign = None if own is None else max(busy - own, 0) * len(cpus) / total
    taken = sum(stolen.values())
    return dict(zip(names, (taken, stolen, taken / total, foreign), strict=True))
