"""The "RT Dataset" of OSADL's QA farm (github.com/osadl/Latencyplot), version 1.0."""

from __future__ import annotations

import json
from typing import Any

from deadbeat.kinds.latency.cyclictest_command import called
from deadbeat.kinds.latency.cyclictest_json import counted, words_of
from deadbeat.kinds.latency.imported import Foreign, Importer
from deadbeat.model.errors import DataError
from deadbeat.model.latency import CpuLatency

_HINT = "mk-rtdataset.py of OSADL's Latencyplot writes what can be read"


def _read(text: str, name: str) -> Foreign:
    try:
        plain = json.loads(text)
        latency, condition = plain["latency"], plain.get("condition") or {}
        if latency.get("granularity", "microseconds") != "microseconds":
            raise ValueError(f"granularity {latency['granularity']}")
        values, *cores = latency["cores"]
        maxima = latency.get("maxima") or []
        how = called(str(condition.get("cyclictest", "")), threads=len(cores))
        how["interval_ns"] = int(condition["interval"]) * 1000
        kernel = plain.get("kernel") or {}
        return Foreign(
            engine="cyclictest",
            cpus=tuple(
                _cpu(number, values, counts, maxima[number : number + 1])
                for number, counts in enumerate(cores)
            ),
            started=str((plain.get("timestamps") or {}).get("origin", "")),
            version="cyclictest (OSADL RT Dataset)",
            host=str((plain.get("system") or {}).get("hostname", "")),
            kernel=str(kernel.get("version", "")),
            cmdline=str(kernel.get("cmdline", "")),
            **how,
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
        raise DataError(f"{name} is no RT Dataset of OSADL: {why}", _HINT) from error


def _cpu(number: int, values: list[Any], counts: list[Any], maximum: list[Any]) -> CpuLatency:
    if len(values) != len(counts):
        raise ValueError(f"core {number} has {len(counts)} counts of {len(values)} classes")
    found = {int(v): int(n) for v, n in zip(values, counts, strict=True) if int(n)}
    inside = sum(found.values())
    latest = max(found, default=0)
    # One maximum above all classes: at least one latency overflowed; how many nobody says.
    beyond = int(maximum[0]) > max(map(int, values)) if maximum else False
    raw = counted(
        found,
        step=1000,
        overflow=int(beyond),
        greatest=int(maximum[0]) if beyond else latest,
        mean=sum(v * n for v, n in found.items()) / max(inside, 1),
    )
    cycles = inside + int(beyond)
    return CpuLatency(cpu=number, expected=cycles, cycles=cycles, missed=0, raw=raw)


IMPORTER = Importer(
    name="OSADL RT Dataset",
    engine="cyclictest",
    fits=lambda text: text.lstrip().startswith("{") and '"RT Dataset"' in text,
    read=_read,
)
