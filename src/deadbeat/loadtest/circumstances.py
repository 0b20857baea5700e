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
        steal, total = _stolen(self._before, after, self._cpus)
        found["others_ready"] = _others_ready(self._before)
        found["steal_ticks"] = steal
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
) -> tuple[int | None, int | None]:
    """Stolen and all ticks of the CPUs between two readings."""
    first, last = _ticks(before, cpus), _ticks(after, cpus)
    if first is None or last is None:
        return None, None
    return last[0] - first[0], last[1] - first[1]


def _ticks(readings: Readings, cpus: Sequence[int]) -> tuple[int, int] | None:
    reading = readings.files.get(_STAT)
    lines = re.findall(r"^cpu(\d+) (.*)$", (reading.text or "") if reading else "", re.M)
    rows = [list(map(int, words.split()[:_COLUMNS])) for cpu, words in lines if int(cpu) in cpus]
    if not rows or any(len(row) < _COLUMNS for row in rows):
        return None
    return sum(row[_STEAL] for row in rows), sum(map(sum, rows))
