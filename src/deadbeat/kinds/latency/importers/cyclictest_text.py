"""What ``cyclictest -h N`` writes as text: a line per microsecond, a column per thread."""

from __future__ import annotations

import re

from deadbeat.kinds.latency.cyclictest_json import counted
from deadbeat.kinds.latency.imported import Foreign, Importer
from deadbeat.model.errors import DataError
from deadbeat.model.latency import CpuLatency

_LINE = re.compile(r"^(\d{6,})[ \t]+(\d[\d \t]*)$", re.M)
_HINT = "cyclictest -q -h 1000 > FILE writes what can be read"


def _read(text: str, name: str) -> Foreign:
    rows = [(int(value), [int(n) for n in rest.split()]) for value, rest in _LINE.findall(text)]
    totals, overflows = _numbers(text, "Total"), _numbers(text, "Histogram Overflows")
    least, greatest = _numbers(text, "Min Latencies"), _numbers(text, "Max Latencies")
    averages = _numbers(text, "Avg Latencies")
    # -H has a column more, of all threads, in the lines and in the total.
    threads = len(least)
    if not threads or any(len(counts) < threads for _, counts in rows):
        raise DataError(f"{name} is no complete histogram of cyclictest", _HINT)
    if any(len(found) < threads for found in (totals, greatest, averages)):
        raise DataError(f"{name} lacks totals, maxima or averages of {threads} threads", _HINT)
    cpus = []
    for thread in range(threads):
        counts = {value: row[thread] for value, row in rows if row[thread]}
        inside = sum(counts.values())
        if inside != totals[thread]:
            raise DataError(
                f"{name}: {inside} values of thread {thread}, its total says {totals[thread]}",
                "the file is cut off or changed",
            )
        beyond = overflows[thread] if len(overflows) > thread else 0
        raw = counted(
            counts,
            step=1000,
            overflow=beyond,
            least=least[thread],
            greatest=greatest[thread],
            mean=float(averages[thread]),
        )
        cpus.append(CpuLatency(cpu=thread, expected=0, cycles=inside + beyond, missed=0, raw=raw))
    return Foreign(engine="cyclictest", cpus=tuple(cpus), version="cyclictest")


def _numbers(text: str, word: str) -> list[int]:
    match = re.search(rf"^# {word}: *([\d ]+)$", text, re.M)
    return [int(number) for number in match[1].split()] if match else []


IMPORTER = Importer(
    name="cyclictest -h as text",
    engine="cyclictest",
    fits=lambda text: "# Histogram" in text and "# Max Latencies:" in text,
    read=_read,
)
