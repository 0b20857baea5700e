"""oslat of rt-tests, text and ``--json``: how long each turn of a busy loop took, of anything.

A class holds the turns of as many whole microseconds; the last one all longer ones, too. Turns in
the class of the shortest one are the loop itself.
"""

from __future__ import annotations

import re
from typing import Any

from attrs import evolve

from deadbeat.latencies.gaps import CpuGaps, FoundGaps
from deadbeat.latencies.latency.foreign import (
    Foreign,
    ForeignFile,
    Importer,
    counts_of,
    in_order,
    kernel_of,
    starts,
)
from deadbeat.latencies.latency.formats.cyclictest_json import begun, program, said

_CORES = r"Core:[\d \t]+"
_CLASS = re.compile(r"^(\d+) \(us\): *\t? *([\d ]+)", re.M)


def _noise(cpu: int, counts: dict[int, int], least: int, longest: int, seconds: float) -> CpuGaps:
    if longest < least:
        raise ValueError(f"its longest turn on CPU {cpu} is shorter than its shortest")
    gaps = sum(n for value, n in counts.items() if value > least)
    return CpuGaps(
        cpu=cpu,
        looked_ns=round(seconds * 1e9),
        longest_ns=longest * 1000 if gaps else None,
        gaps=gaps,
    )


def _read(source: ForeignFile, user: Foreign) -> Foreign:
    plain: Any = source.json
    notes = ["gaps are the turns of its loop in classes above the shortest one; classes left out"]
    if plain is not None:
        threads = [values for _, values in in_order(plain["thread"])]
        leasts = [int(values["min"]) for values in threads]
        noise = tuple(
            _noise(
                int(values["cpu"]),
                counts_of(values),
                least,
                int(values["max"]),
                float(values["duration"]),
            )
            for values, least in zip(threads, leasts, strict=True)
        )
        system, command = plain.get("sysinfo") or {}, said(plain, "cmdline")
        how = Foreign(
            started=begun(plain),
            version=f"oslat V {said(plain, 'rt_test_version')}",
            host=str(system.get("nodename", "")),
            kernel=kernel_of(system),
        )
        notes.append(f"called as: {command}")
    else:

        def row(name: str) -> list[float]:
            found = source.last(rf"{name}:\s+([\d. ]+?)(?: *\(.*\))?")
            if found is None:
                raise ValueError(f"it is cut off: no {name}")
            return [float(value) for value in found[1].split()]

        cpus = [int(cpu) for cpu in row("Core")]
        table = {
            int(us): [int(n) for n in rest.split()] for us, rest in _CLASS.findall(source.lines)
        }
        leasts = [int(value) for value in row("Minimum")]
        columns = zip(cpus, leasts, row("Maximum"), row("Duration"), strict=True)
        noise = tuple(
            _noise(
                cpu, {us: counts[place] for us, counts in table.items()}, least, int(top), seconds
            )
            for place, (cpu, least, top, seconds) in enumerate(columns)
        )
        how = Foreign(version="oslat")
        for name in ("Thread priority", "Workload"):
            if value := source.last(rf"{name}:\s+(.*)"):
                notes.append(f"{name.lower()} {value[1]}")
    return evolve(
        how,
        engine="oslat",
        gaps=FoundGaps(cpus=noise, threshold_ns=(max(leasts) + 1) * 1000),
        notes=tuple(notes),
    )


IMPORTER = Importer(
    name="oslat",
    fits=lambda source: program(source.json) == "oslat" or source.has(_CORES, r"Counter Freq:.*"),
    read=_read,
    begins=starts(rf"(?:oslat V .*\n(?:(?!Core:|oslat V ).*\n)*)?{_CORES}"),
    hint="oslat -D 1m > FILE writes what can be read",
)
