"""What the machine did during a latency measurement, in words and numbers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from operator import attrgetter

from deadbeat.kinds.latency.charts import pooled
from deadbeat.kinds.latency.words import load_order, load_words
from deadbeat.model.latency import LatencyRun
from deadbeat.report.document import (
    FactList,
    Part,
    Subsection,
    Table,
    flatten,
    percent,
    said,
)

#: Texts of one kind that are shown; there may be a line of the kernel's log for every run.
_TEXTS = 4
#: Field of `Circumstances` -> name, factor and unit of its numbers.
_NUMBERS: Mapping[str, tuple[str, float, str]] = {
    "busy_share": ("busy, CPU {}", 100, " %"),
    "load_share": ("taken by the load itself, of all measured CPUs", 100, " %"),
    "steal_share": ("stolen by the host, CPU {}", 100, " %"),
    "temperature_mc": ("temperature, {}", 1e-3, " °C"),
    "frequency_khz": ("frequency, CPU {}", 1e-3, " MHz"),
    "trip_mc": ("slowed down from, {}", 1e-3, " °C"),
    "limit_khz": ("highest frequency allowed, CPU {}", 1e-3, " MHz"),
    "cooling": ("state of {}, which slows processors", 1, ""),
    "throttled": ("times throttled, CPU {}", 1, ""),
    "pressure_us": ("time in which some task waited for {}", 1e-3, " ms"),
}
#: What /dev/cpu_dma_latency reads where nobody asks for less.
_NO_LIMIT_US = 2_000_000_000


def machine_pairs(runs: Sequence[LatencyRun]) -> list[tuple[str, str]]:
    """What was read of the machine: one value, or from which to which it went."""
    seen = [run.circumstances for run in runs]
    found = [
        (name.format(below), number_range(values, factor, unit))
        for field, (name, factor, unit) in _NUMBERS.items()
        for below, values in pooled(map(attrgetter(field), seen)).items()
    ]
    limits = (each.dma_latency_us for each in seen if each.dma_latency_us is not None)
    tasks = (task.text for each in seen for task in each.realtime_tasks or ())
    texts = {
        "what idle CPUs may take to wake up": _texts(
            "no limit" if limit >= _NO_LIMIT_US else f"{limit:g} µs" for limit in limits
        ),
        "clock source": _texts(name for each in seen for name in each.clocksource),
        "stalls in the kernel's log": _texts(line for each in seen for line in each.stalls),
        "other real-time tasks": _texts(tasks),
    }
    return found + [(name, text) for name, text in texts.items() if text]


def missing_pairs(runs: Sequence[LatencyRun]) -> list[tuple[str, str]]:
    """What could not be read, and why; it was not checked."""
    every = (pair for run in reversed(runs) for pair in run.circumstances.missing.items())
    return sorted(dict(every).items())


def interrupt_pairs(runs: Sequence[LatencyRun]) -> list[tuple[str, str]]:
    """How often each interrupt came in a run, by CPU."""
    counts = pooled(
        {f"CPU {cpu}, {line}": count for line, count in lines.items()}
        for run in runs
        for cpu, lines in run.circumstances.interrupts.items()
    )
    order = sorted(counts, key=lambda name: (name.partition(",")[0], -max(counts[name])))
    return [(name, number_range(counts[name], 1, "")) for name in order]


def circumstances(
    runs: Sequence[LatencyRun], platform: Mapping[str, object], parameters: Mapping[str, object]
) -> tuple[Part, ...]:
    """All of it; long lists fold away."""
    missing, interrupts = missing_pairs(runs), interrupt_pairs(runs)
    return (
        *((Subsection("Loads", (loads_table(runs),)),) if runs else ()),
        Subsection("Beside the runs", (FactList(machine_pairs(runs)),)),
        *((Subsection("What could not be read", (FactList(missing),)),) if missing else ()),
        *((Subsection("Interrupts in a run", (FactList(interrupts),)),) if interrupts else ()),
        Subsection("Platform", (FactList([*flatten(platform)]),)),
        Subsection("Parameters", (FactList([*flatten(parameters)]),)),
    )


def loads_table(runs: Iterable[LatencyRun]) -> Table:
    """A row per load: what it reached on each CPU, what it did, and what made it."""
    ordered = sorted(runs, key=lambda run: load_order(run.key.load))
    return Table(
        name="loads-table",
        title="Loads",
        columns=(
            said("load", lambda own: load_words(own[0].key.load)),
            said("reached, by CPU", _reached, words=True),
            said("throughput", _throughput, long=True),
            said("commands", _commands, long=True),
        ),
        rows=[list(own) for _, own in groupby(ordered, key=lambda run: run.key.load)],
        dense=True,
    )


def number_range(values: Iterable[float], factor: float, unit: str) -> str:
    """``41 °C``, or ``41 to 45 °C``."""
    scaled = sorted(value * factor for value in values)
    low, high = f"{scaled[0]:.4g}", f"{scaled[-1]:.4g}"
    return f"{low}{unit}" if low == high else f"{low} to {high}{unit}"


def _texts(values: Iterable[str]) -> str:
    """Each once; of many the first."""
    different = list(dict.fromkeys(filter(None, values)))
    more = f" · and {len(different) - _TEXTS} more" if len(different) > _TEXTS else ""
    return " · ".join(different[:_TEXTS]) + more


def _reached(runs: Iterable[LatencyRun]) -> str:
    found = pooled(run.load.achieved for run in runs)
    texts = []
    for cpu in sorted(found, key=lambda name: (len(name), name)):
        low, high = percent(min(found[cpu])), percent(max(found[cpu]))
        texts.append(f"{cpu}: {low}" if low == high else f"{cpu}: {low} to {high}")
    return ", ".join(texts) or "not known"


def _throughput(runs: Iterable[LatencyRun]) -> str:
    rates = pooled(run.load.throughput for run in runs)
    return ", ".join(f"{name} {number_range(rates[name], 1, '')}" for name in rates) or "–"


def _commands(runs: Iterable[LatencyRun]) -> str:
    return _texts(command for run in runs for command in run.load.commands) or "none"


# ---------- the document ----------
