"""``jitterdebugger -f FILE``: versions 1 to 3 of its JSON."""

from __future__ import annotations

import json
from typing import Any

from deadbeat.kinds.latency.cyclictest_json import counted, words_of
from deadbeat.kinds.latency.imported import Foreign, Importer
from deadbeat.model.errors import DataError
from deadbeat.model.latency import CpuLatency

_HINT = "jitterdebugger -f FILE writes what can be read"


def _read(text: str, name: str) -> Foreign:
    try:
        plain = json.loads(text)
        system: dict[str, Any] = plain.get("sysinfo") or {}
        cpus = tuple(
            _cpu(int(number), values)
            for number, values in sorted(plain["cpu"].items(), key=lambda item: int(item[0]))
        )
        return Foreign(
            engine="jitterdebugger",
            cpus=cpus,
            # It sleeps anew after each wake-up, however late that was.
            skips=False,
            version=f"jitterdebugger, format {plain['version']}",
            host=str(system.get("nodename", "")),
            kernel=f"{system.get('release', '')} {system.get('version', '')}".strip(),
        )
    except (
        ValueError,
        KeyError,
        TypeError,
        ArithmeticError,
        AttributeError,
        RecursionError,
    ) as error:
        why = words_of(error)
        raise DataError(f"{name} is not JSON of jitterdebugger: {why}", _HINT) from error


def _cpu(number: int, values: dict[str, Any]) -> CpuLatency:
    counts = {int(value): int(count) for value, count in values["histogram"].items()}
    total = int(values["count"])
    inside = sum(counts.values())
    if inside > total:
        raise ValueError(f"{inside} values in the histogram of {total}")
    raw = counted(
        counts,
        step=1000,
        overflow=total - inside,
        least=int(values["min"]),
        greatest=int(values["max"]),
        mean=float(values["avg"]),
    )
    return CpuLatency(cpu=number, expected=total, cycles=total, missed=0, raw=raw)


IMPORTER = Importer(
    name="jitterdebugger",
    engine="jitterdebugger",
    fits=lambda text: (
        text.lstrip().startswith("{") and '"cpu"' in text and '"histogram"' in text
        and '"resolution_in_ns"' not in text and '"latency"' not in text
    ),
    read=_read,
)  # fmt: skip
