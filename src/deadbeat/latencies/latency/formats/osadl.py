"""The "RT Dataset" of OSADL's QA farm (github.com/osadl/Latencyplot, version 1.0), also by writers
that know neither system nor kernel.
"""

from __future__ import annotations

from typing import Any

from attrs import evolve

from deadbeat.latencies.latency.foreign import Foreign, ForeignFile, Importer, thread
from deadbeat.latencies.latency.formats.cyclictest_json import called
from deadbeat.latencies.latency.model import CpuLatency


def _fits(source: ForeignFile) -> bool:
    latency = source.json.get("latency") if isinstance(source.json, dict) else None
    return isinstance(latency, dict) and isinstance(latency.get("cores"), list)


def _read(source: ForeignFile, user: Foreign) -> Foreign:
    plain = source.json
    latency, condition = plain["latency"], plain.get("condition") or {}
    if latency.get("granularity", "microseconds") != "microseconds":
        raise ValueError(f"granularity {latency['granularity']}")
    values, *cores = latency["cores"]
    maxima, kernel = latency.get("maxima") or [], plain.get("kernel") or {}
    return evolve(
        called(str(condition.get("cyclictest", "")), threads=len(cores)),
        interval_ns=int(condition["interval"]) * 1000,
        cycles=None,  # some writers count those of all cores
        cpus=tuple(
            _core(number, values, counts, maxima[number : number + 1])
            for number, counts in enumerate(cores)
        ),
        load=str(condition.get("load") or ""),
        started=str((plain.get("timestamps") or {}).get("origin", "")),
        version="cyclictest (OSADL RT Dataset)",
        host=str((plain.get("system") or {}).get("hostname", "")),
        kernel=str(kernel.get("version", "")),
        cmdline=str(kernel.get("cmdline", "")),
    )


def _core(number: int, values: list[Any], counts: list[Any], maximum: list[Any]) -> CpuLatency:
    if len(values) != len(counts):
        raise ValueError(f"core {number} has {len(counts)} counts of {len(values)} classes")
    found = {int(v): int(n) for v, n in zip(values, counts, strict=True) if int(n)}
    inside, end = sum(found.values()), max(map(int, values)) + 1
    # One maximum above all classes: at least one latency overflowed; how many is unknown.
    beyond = int(maximum[0]) >= end if maximum else False
    return thread(
        number,
        found,
        cycles=inside + beyond,
        greatest=int(maximum[0]) if beyond else max(found, default=0),
        mean=sum(v * n for v, n in found.items()) / max(inside, 1),
        beyond=end,
    )


IMPORTER = Importer(
    name="OSADL RT Dataset",
    engine="cyclictest",
    fits=_fits,
    read=_read,
    hint="mk-rtdataset.py of OSADL's Latencyplot writes what can be read",
)
