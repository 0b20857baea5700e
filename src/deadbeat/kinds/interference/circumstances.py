"""The machine before and after a run: what was stolen, what else ran, frequency, RT bandwidth."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from deadbeat.kinds.interference.engine import LoadEngine
from deadbeat.kinds.latency.circumstances import Ticks, cpu_ticks, ticks_of
from deadbeat.targets.readings import Readings

_STAT = "/proc/stat"
_RUNTIME = "/proc/sys/kernel/sched_rt_runtime_us"
_PERIOD = "/proc/sys/kernel/sched_rt_period_us"
_FREQUENCY = "/sys/devices/system/cpu/cpu{}/cpufreq/scaling_cur_freq"
_PROCESS = "/proc/{}/stat"


class Watcher:
    """Reads when it is made, and again when told that the run has ended."""

    def __init__(self, engine: LoadEngine, cpus: Sequence[int]) -> None:
        self._engine = engine
        self._cpus = cpus
        self._before = self._read()

    def ends(self) -> dict[str, Any]:
        """What the machine did meanwhile; None for what cannot be told here, with ``REASON``."""
        after = self._read()
        found: dict[str, Any] = {
            "rt_runtime_before_us": _number(self._before, _RUNTIME),
            "rt_runtime_us": _number(after, _RUNTIME),
            "rt_period_us": _number(after, _PERIOD),
            "frequency_khz": {
                str(cpu): [_number(self._before, path), _number(after, path)]
                for cpu in self._cpus
                for path in (_FREQUENCY.format(cpu),)
            },
        }
        if all(both == [None, None] for both in found["frequency_khz"].values()):
            path = _FREQUENCY.format(self._cpus[0])
            found["frequency_khz"] = None
            found["frequency_unknown"] = f"{path}: {after.files[path].reason}"
        found["others_ready"] = _others_ready(self._before)
        return found | _spent(self._before, after, cpus=self._cpus, process=self._engine.process)

    def _read(self) -> Readings:
        frequencies = [_FREQUENCY.format(cpu) for cpu in self._cpus]
        own = [_PROCESS.format(self._engine.process)] if self._engine.process else []
        return self._engine.read([_STAT, _RUNTIME, _PERIOD, *own, *frequencies])


def _number(readings: Readings, path: str) -> int | None:
    reading = readings.files.get(path)
    text = (reading.text or "").strip() if reading else ""
    return int(text) if re.fullmatch(r"-?\d+", text) else None


def _others_ready(before: Readings) -> int | None:
    """Threads that were ready before the run; the one that reads this is not counted."""
    reading = before.files.get(_STAT)
    found = re.search(r"^procs_running (\d+)$", (reading.text or "") if reading else "", re.M)
    return max(int(found[1]) - 1, 0) if found else None


def _spent(
    before: Readings, after: Readings, *, cpus: Sequence[int], process: int | None
) -> dict[str, Any]:
    """What the host took of ``cpus``, and what others than ``process`` and its children ran."""
    first, last = _ticks(before), _ticks(after)
    known = [cpu for cpu in cpus if cpu in first and cpu in last]
    total = sum(last[cpu].total - first[cpu].total for cpu in known)
    names = ("steal_ticks", "steal_ticks_by_cpu", "steal_share", "foreign_cpus")
    if len(known) < len(cpus) or total <= 0:
        return dict.fromkeys(names)
    stolen = {str(cpu): last[cpu].steal - first[cpu].steal for cpu in cpus}
    busy = sum(last[cpu].busy - first[cpu].busy for cpu in cpus)
    own = _own(before, process), _own(after, process)
    foreign = None
    if own[0] is not None and own[1] is not None:
        foreign = max(busy - (own[1] - own[0]), 0) * len(cpus) / total
    taken = sum(stolen.values())
    return dict(zip(names, (taken, stolen, taken / total, foreign), strict=True))


def _ticks(readings: Readings) -> dict[int, Ticks]:
    reading = readings.files.get(_STAT)
    return ticks_of((reading.text or "") if reading else "")


def _own(readings: Readings, process: int | None) -> int | None:
    reading = readings.files.get(_PROCESS.format(process))
    return cpu_ticks(reading.text) if reading and reading.text else None
