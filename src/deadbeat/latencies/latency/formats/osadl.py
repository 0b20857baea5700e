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
    # Some writers count the cycles of all cores.
    cycles, seen = int(condition.get("cycles") or 0), [sum(map(int, core)) for core in cores]
    each = cycles if cycles > max(seen, default=0) and sum(seen) != cycles else 0
    blind = len(maxima) < len(cores) and not cycles
    return evolve(
        called(str(condition.get("cyclictest", "")), threads=len(cores)),
        interval_ns=int(condition["interval"]) * 1000,
        cycles=None,  # some writers count those of all cores
        cpus=tuple(
            _core(number, values, counts, maxima[number : number + 1], each)
            for number, counts in enumerate(cores)
        ),
        load=str(condition.get("load") or ""),
        started=str((plain.get("timestamps") or {}).get("origin", "")),
        version="cyclictest (OSADL RT Dataset)",
        host=str((plain.get("system") or {}).get("hostname", "")),
        kernel=str(kernel.get("version", "")),
        cmdline=str(kernel.get("cmdline", "")),
        notes=("none is known to lie beyond its classes: it has no maxima",) if blind else (),
    )


def _core(
    number: int, values: list[Any], counts: list[Any], maximum: list[Any], cycles: int
) -> CpuLatency:
    if len(values) != len(counts):
        raise ValueError(f"core {number} has {len(counts)} counts of {len(values)} classes")
    found = {int(v): int(n) for v, n in zip(values, counts, strict=True) if int(n)}
    inside, end = sum(found.values()), max(map(int, values)) + 1
    # A maximum above all classes: at least one latency overflowed.
    beyond = int(maximum[0]) >= end if maximum else False
    return thread(
        number,
        found,
        cycles=max(cycles if beyond or not maximum else 0, inside + beyond),
        greatest=int(maximum[0]) if beyond else max(found, default=0) if maximum else None,
        beyond=end,
    )


IMPORTER = Importer(
    name="OSADL RT Dataset",
    engine="cyclictest",
    fits=_fits,
    read=_read,
    hint="mk-rtdataset.py of OSADL's Latencyplot writes what can be read",
)
