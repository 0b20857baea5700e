"""jitterdebugger ``-f``, from its release 0.1, which has no version, to format 3, which may be in
nanoseconds (``-N``).
"""

from __future__ import annotations

from deadbeat.latencies.latency.foreign import (
    Foreign,
    ForeignFile,
    Importer,
    counts_of,
    in_order,
    kernel_of,
    thread,
)


def _fits(source: ForeignFile) -> bool:
    cpus = source.json.get("cpu") if isinstance(source.json, dict) else None
    first = next(iter(cpus.values()), None) if isinstance(cpus, dict) else None
    return isinstance(first, dict) and {"histogram", "min", "max"} <= set(first)


def _read(source: ForeignFile, user: Foreign) -> Foreign:
    plain = source.json
    system = plain.get("sysinfo") or {}
    form = plain.get("version")
    return Foreign(
        engine="jitterdebugger",
        cpus=tuple(
            thread(
                cpu,
                counts_of(values),
                step=int(system.get("resolution_in_ns") or 1000),
                cycles=int(values["count"]),
                least=int(values["min"]),
                greatest=int(values["max"]),
                mean=float(values["avg"]),
            )
            for cpu, values in in_order(plain["cpu"])
        ),
        # It sleeps again after each wake-up, however late that was.
        skips=False,
        version="jitterdebugger" + (f", format {form}" if form else ""),
        host=str(system.get("nodename", "")),
        kernel=kernel_of(system),
    )


IMPORTER = Importer(
    name="jitterdebugger",
    engine="jitterdebugger",
    fits=_fits,
    read=_read,
    hint="jitterdebugger -f FILE writes what can be read",
)
