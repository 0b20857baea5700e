"""The machine before and after a run: what was stolen, which frequency, which RT bandwidth."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from deadbeat.loadtest.engine import LoadEngine
from deadbeat.targets.readings import Readings

_STAT = "/proc/stat"
_RUNTIME = "/proc/sys/kernel/sched_rt_runtime_us"
_PERIOD = "/proc/sys/kernel/sched_rt_period_us"
_FREQUENCY = "/sys/devices/system/cpu/cpu{}/cpufreq/scaling_cur_freq"
#: Columns of a line of /proc/stat (proc_stat(5)): user nice system idle iowait irq softirq steal.
_STEAL, _COLUMNS = 7, 8


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
        stolen, total = _stolen(self._before, after, self._cpus)
        steal = None if stolen is None else sum(stolen.values())
        found["others_ready"] = _others_ready(self._before)
        found["steal_ticks"] = steal
        found["steal_ticks_by_cpu"] = stolen
        found["steal_share"] = steal / total if steal is not None and total else None
        return found

    def _read(self) -> Readings:
        frequencies = [_FREQUENCY.format(cpu) for cpu in self._cpus]
        return self._engine.read([_STAT, _RUNTIME, _PERIOD, *frequencies])


def _number(readings: Readings, path: str) -> int | None:
    reading = readings.files.get(path)
    text = (reading.text or "").strip() if reading else ""
    return int(text) if re.fullmatch(r"-?\d+", text) else None


def _others_ready(before: Readings) -> int | None:
    """Threads that were ready before the run; the one that reads this is not counted."""
    reading = before.files.get(_STAT)
    found = re.search(r"^procs_running (\d+)$", (reading.text or "") if reading else "", re.M)
    return max(int(found[1]) - 1, 0) if found else None


def _stolen(
    before: Readings, after: Readings, cpus: Sequence[int]
) -> tuple[dict[str, int] | None, int]:
    """Stolen ticks of each CPU between two readings, and all ticks of all."""
    first, last = _ticks(before, cpus), _ticks(after, cpus)
    if not first or not last or first.keys() != last.keys():
        return None, 0
    stolen = {cpu: last[cpu][0] - first[cpu][0] for cpu in first}
    return stolen, sum(last[cpu][1] - first[cpu][1] for cpu in first)


def _ticks(readings: Readings, cpus: Sequence[int]) -> dict[str, tuple[int, int]]:
    """CPU -> its stolen and all ticks; empty where they are not told."""
    reading = readings.files.get(_STAT)
    lines = re.findall(r"^cpu(\d+) (.*)$", (reading.text or "") if reading else "", re.M)
    rows = {cpu: list(map(int, w.split()[:_COLUMNS])) for cpu, w in lines if int(cpu) in cpus}
    if any(len(row) < _COLUMNS for row in rows.values()):
        return {}
    return {cpu: (row[_STEAL], sum(row)) for cpu, row in rows.items()}
