"""hwlatdetect of rt-tests: gaps of the hardware, found by the kernel's hwlat tracer, which spins
with interrupts off for a part (width) of each window, on one CPU after another.

Since rt-tests 2.5 a sample names its CPU.
"""

from __future__ import annotations

import re
from collections import defaultdict

from deadbeat.latencies.gaps import CpuGaps, FoundGaps
from deadbeat.latencies.latency.foreign import Foreign, ForeignFile, Importer, starts

_BEGIN = r"hwlatdetect: +test duration (\d+) seconds"
_SAMPLE = r"^ts: *[\d.]+, *inner: *(\d+), *outer: *(\d+)(?:, *cpu: *(\d+))?"


def _read(source: ForeignFile, user: Foreign) -> Foreign:
    def said(pattern: str) -> str:
        found = source.last(pattern)
        if found is None:
            raise ValueError("it is cut off: no maximum, number of samples or parameter")
        return found[1]

    longest = said(r"Max Latency: *(Below threshold|\d+us)")
    counted = int(said(r"Samples exceeding threshold: *(\d+)"))
    window, width = int(said(r"Sample window: *(\d+)us")), int(said(r"Sample width: *(\d+)us"))
    seconds = int(said(_BEGIN))
    each: dict[int | None, list[int]] = defaultdict(list)
    for inner, outer, cpu in re.findall(_SAMPLE, source.lines, re.M):
        each[int(cpu) if cpu else None].append(max(int(inner), int(outer)) * 1000)
    here = sum(map(len, each.values()))
    notes = ["one CPU was looked at after another: how long each was is not known"]
    if here != counted:
        notes.append(f"{here} of {counted} samples are in it, so CPUs may have had more")
    if smis := source.last(r"SMIs during run: *(\d+)"):
        notes.append(f"{smis[1]} SMIs meanwhile")
    return Foreign(
        engine="hwlatdetect",
        gaps=FoundGaps(
            cpus=(
                CpuGaps(
                    cpu=None,
                    looked_ns=seconds * 1_000_000_000 * width // window,
                    longest_ns=int(longest[:-2]) * 1000 if longest.endswith("us") else None,
                    gaps=counted,
                ),
                *(
                    CpuGaps(cpu=cpu, longest_ns=max(values), gaps=len(values))
                    for cpu, values in each.items()
                    if cpu is not None
                ),
            ),
            hardware=True,
            threshold_ns=int(said(r"Latency threshold: *(\d+)us")) * 1000,
        ),
        version="hwlatdetect",
        notes=tuple(notes),
    )


IMPORTER = Importer(
    name="hwlatdetect",
    fits=lambda source: source.has(_BEGIN),
    read=_read,
    begins=starts(_BEGIN),
    hint="hwlatdetect --duration 1h > FILE writes what can be read",
)
