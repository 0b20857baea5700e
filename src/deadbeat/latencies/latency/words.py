"""A latency matrix in words: names of loads and quantities, the verdict, a line per load, and what
the machine did.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from operator import attrgetter
from typing import Any

from deadbeat.base.model.words import Json, count_of, loud, seconds_text, time_text
from deadbeat.base.report.document import (
    UNKNOWN,
    FactList,
    Part,
    Subsection,
    Table,
    flatten,
    machine_facts,
    percent,
    said,
)
from deadbeat.latencies.latency.model import PROFILES, THREADS, LatencyRun, LoadPoint
from deadbeat.latencies.latency.summary import (
    CellSummary,
    LatencyRow,
    LatencySummary,
    MatrixFacts,
    Quantity,
)
from deadbeat.machine.host.environment import left_out

#: What a made-up machine has for a kernel.
_NO_KERNEL = "none"
#: What latencies are drawn in, in ns.
US = 1_000.0
LATENCY = "wake-up latency (µs)"

#: Quantities in words.
QUANTITY_WORDS = {
    "min": "minimum",
    "mean": "mean",
    "p50": "median",
    "p90": "90 %",
    "p99": "99 %",
    "p99.9": "99.9 %",
    "p99.99": "99.99 %",
    "max": "maximum",
    "max_of_a_run": "maximum of one run",
}


def load_words(load: LoadPoint) -> str:
    """``idle``, ``cpu 25 %``: text on axes and in tables."""
    return load.text if load.percent <= 0 else f"{load.profile} {load.percent} %"


def load_order(load: LoadPoint) -> tuple[int, int, str]:
    """Idle first, then CPU load ascending, then the other profiles."""
    known = PROFILES.index(load.profile) if load.profile in PROFILES else len(PROFILES)
    return (-1 if load.percent == 0 else known, load.percent, load.profile)


def place_words(cell: CellSummary, number: int | None) -> str:
    """``CPU 2``; ``thread 2`` where the CPUs of threads are unknown."""
    return f"{place_kind([cell])} {number}"


def place_kind(cells: Iterable[CellSummary]) -> str:
    """What a row of these is of: ``CPU``, or ``thread``."""
    return "thread" if any(THREADS in cell.warnings for cell in cells) else "CPU"


def loads_of(cells: Iterable[CellSummary]) -> list[LoadPoint]:
    """Loads that occur, in order."""
    return sorted({cell.load for cell in cells}, key=load_order)


def engines_of(cells: Iterable[CellSummary]) -> list[str]:
    """Engines that occur, by name."""
    return sorted({cell.engine for cell in cells})


def kernel_text(kernel: object) -> str:
    """``kernel 6.12.1-rt``; that there is none, or that it is unknown."""
    if kernel == _NO_KERNEL:
        return "no kernel: made up"
    return f"kernel {kernel}" if kernel else "kernel not recorded"


def rests_on(row: LatencyRow) -> str:
    """How much was measured: ``60,000 wake-ups, 6 runs, 12 s``."""
    runs = count_of(len(row.runs), "run")
    return f"{row.cycles:,} wake-ups, {runs}, {seconds_text(row.hours * 3600)}"


def interval_text(quantity: Quantity) -> str:
    """``31 µs [28 µs, 35 µs]``; an end that cannot be bounded says so."""
    value = time_text(quantity.value_ns)
    if quantity.low_ns is None and quantity.high_ns is None:
        many = quantity.value_ns is not None and quantity.name not in ("min", "max")
        return f"{value} (cannot be bounded)" if many else value
    low = "not bounded" if quantity.low_ns is None else time_text(quantity.low_ns)
    high = "not bounded" if quantity.high_ns is None else time_text(quantity.high_ns)
    return f"{value} [{low}, {high}]"


def labels_of(summary: LatencySummary) -> tuple[str, ...]:
    """What must show on every figure."""
    return loud(summary.labels)


def sentence(summary: LatencySummary) -> str:
    """The latest wake-up of all, and where it was."""
    known = [cell for cell in summary.cells if cell.whole.raw.histogram.total]
    if not known:
        return "No valid run has a wake-up: nothing is known about the latency of this machine."
    worst = latest(known)
    row = worst.whole
    cycles = sum(cell.whole.cycles for cell in known)
    loads = len(loads_of(known))
    under = f"under {loads} loads" if loads > 1 else f"under load {load_words(worst.load)}"
    run = f", repeat {row.max_run.repeat}" if row.max_run else ""
    by = f", by {worst.engine}" if len(engines_of(known)) > 1 else ""
    where = f"under load {load_words(worst.load)}" if loads > 1 else ""
    at = " ".join(filter(None, (f"on {place_words(worst, row.max_cpu)}", where)))
    return f"Of {cycles:,} wake-ups {under}, the latest was {late_text(row)} late: {at}{run}{by}."


def late_text(row: LatencyRow) -> str:
    """``31 µs``; ``5 µs or more`` where the largest lies beyond a histogram."""
    if row.exceeds_ns is None:
        return time_text(row.raw["max"].value_ns)
    return f"{time_text(row.exceeds_ns)} or more"


def short_answer(summary: LatencySummary) -> tuple[str, ...]:
    """The worst wake-up, a typical one, how many were later than each limit that was asked for, and
    how often a later one than all may come."""
    known = [cell for cell in summary.cells if cell.whole.raw.histogram.total]
    if not known:
        return (sentence(summary),)
    worst = latest(known)
    medians = sorted(ns for cell in known if (ns := cell.whole.honest["p50"].value_ns) is not None)
    ends = [time_text(ns) for ns in (*medians[:1], *medians[-1:])] or ["unknown, no histogram"]
    typical = " to ".join(dict.fromkeys(ends))
    under = f", load {load_words(worst.load)}" if len(loads_of(known)) > 1 else ""
    made = [
        f"Worst wake-up: {late_text(worst.whole)} late"
        f" ({place_words(worst, worst.whole.max_cpu)}{under}). Typical: {typical}."
    ]
    for place, limit in enumerate(summary.deadlines_ns, 1):
        tails = [cell.whole.tail[place] for cell in known if cell.whole.tail]
        late, of = (sum(getattr(each, key) for each in tails) for key in ("exceeded", "wake_ups"))
        if of:
            # All of them: without a histogram no more is known.
            unsure = any(each.exceeded == each.wake_ups > 1 for each in tails)
            many = f"{'up to ' * unsure}{late:,}" if late else "none"
            made.append(f"Later than {time_text(limit)}: {many} of {of:,} wake-ups.")
    tail = worst.whole.tail[0] if worst.whole.tail else None
    known_max = worst.whole.exceeds_ns is None
    if known_max and tail is not None and tail.bound is not None and tail.bound < 1:
        length = seconds_text(worst.whole.hours * 3600)
        made.append(
            f"After {length} under that load: fewer than 1 wake-up in {1 / tail.bound:,.0f} is"
            " later (95 %, if other runs are alike). Measure longer to say more."
        )
    return tuple(made)


def latest(cells: Sequence[CellSummary]) -> CellSummary:
    """The cell with the latest wake-up, first of all one that is not known. ValueError of none."""
    return max(
        cells,
        key=lambda cell: (cell.whole.exceeds_ns or -1, cell.whole.raw["max"].value_ns or 0),
    )


def tail_sentences(summary: LatencySummary) -> tuple[str, ...]:
    """What the tail allows to say of the worst cell, and of each deadline where it is worst."""
    known = [cell for cell in summary.cells if cell.whole.tail]
    if not known:
        return ()
    made = []
    for place in range(1 + len(summary.deadlines_ns)):
        worst = (
            max(known, key=lambda c: c.whole.tail[place].bound or 0.0) if place else latest(known)
        )
        tail = worst.whole.tail[place]
        # From the value itself: what was rounded once must not be rounded again.
        text = re.sub(r"[\d.]+ us\b", time_text(tail.limit_ns), tail.text)
        made.append(f"Under load {load_words(worst.load)}, {text[:1].lower()}{text[1:]}.")
    if len(known) > 1:
        made.append(f"Each bound holds at 95 % on its own; this is the worst of {len(known)}.")
    if summary.invalid_runs:
        made.append(f"Invalid runs: {summary.invalid_runs} of {summary.runs}.")
    return tuple(made)


def answers(summary: LatencySummary) -> list[tuple[str, tuple[str, ...]]]:
    """For every load: its name, and a line for each engine."""
    several = len(engines_of(summary.cells)) > 1
    return [
        (load, tuple(_answer(cell, named=several) for cell in cells))
        for load, cells in groupby(summary.cells, key=lambda cell: load_words(cell.load))
    ]


def _answer(cell: CellSummary, *, named: bool) -> str:
    who = f"{cell.engine}: " if named else ""
    if not cell.whole.runs:
        return f"{who}no valid run ({len(cell.invalid)} invalid)."
    shown = cell.whole.honest
    missed = f", {count_of(cell.whole.missed, 'period')} missed" if cell.whole.missed else ""
    if unknown := cell.whole.unaccounted:
        missed += f", {count_of(unknown, 'wake-up')} missing"
    far = shown.deepest()
    unsaid = far == "p50" or shown[far].value_ns is None
    tail = "" if unsaid else f" {QUANTITY_WORDS[far]} within {interval_text(shown[far])},"
    value = shown["p50"].value_ns
    median = "unknown" if value is None else time_text(value)
    return (
        f"{who}maximum {late_text(cell.whole)} on"
        f" {place_words(cell, cell.whole.max_cpu)},"
        f"{tail} median {median}{missed}."
    )


def head_facts(
    summary: LatencySummary, platform: Mapping[str, Json]
) -> tuple[tuple[str, str], ...]:
    """Label and text of what stands under the title."""
    kernel = kernel_text(platform.get("kernel")).removeprefix("kernel ")
    started, engines = summary.meta.started, summary.meta.engines.items()
    invalid = f", {summary.invalid_runs} of them invalid" if summary.invalid_runs else ""
    simulated = any(label.lower() == "simulated" for label in summary.labels)
    without = not_measured(summary, platform)
    return (
        *machine_facts(platform, kernel=kernel),
        ("Date", started[0] if started else UNKNOWN),
        ("How", how(summary)),
        *((("CPUs not measured", without),) if without else ()),
        ("Engines", ", ".join(_version(*each) for each in engines) or UNKNOWN),
        ("Simulated" if simulated else "Measured", f"{summary.runs} runs{invalid}"),
    )


def not_measured(summary: LatencySummary, platform: Mapping[str, Json]) -> str:
    """The machine's other CPUs, and why they are missing, where its record says so."""
    details = platform.get("details")
    return left_out(summary.meta.cpus, details) if isinstance(details, Mapping) else ""


def how(summary: LatencySummary) -> str:
    """``every 1 ms, SCHED_FIFO 90, 12 s a run, CPUs 0, 1``; what differs between runs says so."""
    meta = summary.meta
    words = (
        f"every {time_text(meta.interval_ns[0])}"
        if len(meta.interval_ns) == 1
        else "intervals differ",
        policy_words(meta) or "policy differs",
        f"{seconds_text(meta.seconds[0])} a run" if len(meta.seconds) == 1 else "lengths differ",
        f"CPUs {', '.join(map(str, meta.cpus))}",
    )
    return ", ".join(words)


def policy_words(meta: MatrixFacts) -> str:
    """``SCHED_FIFO 90``; "" where runs differ in policy."""
    if meta.policy == ("fifo",):
        return f"SCHED_FIFO {', '.join(map(str, meta.priority))}"
    return "SCHED_OTHER" if meta.policy == ("other",) else ""


def _version(name: str, version: str) -> str:
    """Without the name twice, and of a program's hash no more than tells it from others."""
    short = re.sub(r"\b([0-9a-f]{12})[0-9a-f]{8,}\b", r"\1", version.removeprefix(name).strip())
    return f"{name} {short}".strip()


def rests(summary: LatencySummary) -> str:
    """What stands on every picture besides its own caption."""
    known = [cell for cell in summary.cells if cell.whole.runs]
    cycles = sum(cell.whole.cycles for cell in known)
    loads = len(loads_of(known))
    under = f" under {loads} loads" if loads > 1 else ""
    return f"The whole of {summary.name}: {cycles:,} wake-ups{under}; {how(summary)}"


def without_run(cells: Iterable[CellSummary]) -> str:
    """``No valid run: memory 100 % (5 invalid).``, with the engine where there are several; ""
    where every cell has one."""
    known = list(cells)
    several = len(engines_of(known)) > 1
    named = [
        f"{load_words(cell.load)}{f' by {cell.engine}' if several else ''}"
        f" ({len(cell.invalid)} invalid)"
        for cell in known
        if not cell.whole.runs
    ]
    return f"No valid run: {', '.join(named)}." if named else ""


# ---------- what the machine did ----------

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
#: What /dev/cpu_dma_latency reads where no process asks for less.
_NO_LIMIT_US = 2_000_000_000


def pooled(values: Iterable[Any]) -> dict[str, list[float]]:
    """Key -> all its numbers in mappings; a plain number has the key ""."""
    found: dict[str, list[float]] = defaultdict(list)
    for value in values:
        for key, item in (value if isinstance(value, Mapping) else {"": value}).items():
            found[key] += item if isinstance(item, tuple) else [] if item is None else [item]
    return {key: each for key, each in found.items() if each}


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
    runs: Sequence[LatencyRun], platform: Mapping[str, Json], parameters: Mapping[str, Json]
) -> tuple[Part, ...]:
    """All of it; long lists fold away."""
    unread = (pair for run in reversed(runs) for pair in run.circumstances.missing.items())
    missing, interrupts = sorted(dict(unread).items()), interrupt_pairs(runs)
    return (
        *((Subsection("Loads", (loads_table(runs),)),) if runs else ()),
        Subsection("Beside the runs", (FactList(machine_pairs(runs)),)),
        *((Subsection("What could not be read", (FactList(missing),)),) if missing else ()),
        *((Subsection("Interrupts in a run", (FactList(interrupts),)),) if interrupts else ()),
        Subsection("Platform", (FactList([*flatten(platform)]),)),
        Subsection("Parameters", (FactList([*flatten(parameters)]),)),
    )


def loads_table(runs: Iterable[LatencyRun]) -> Table:
    """A row per load: how busy each CPU was, what it did, and what made it."""
    ordered = sorted(runs, key=lambda run: load_order(run.key.load))
    return Table(
        name="loads-table",
        columns=(
            said("load", lambda own: load_words(own[0].key.load)),
            said("busy, by CPU", _busy, words=True),
            said("throughput", _throughput, long=True),
            said(
                "commands",
                lambda own: _texts(c for r in own for c in r.load.commands) or "none",
                long=True,
            ),
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


def _busy(runs: Iterable[LatencyRun]) -> str:
    found = pooled(run.load.achieved for run in runs)
    texts = []
    for cpu in sorted(found, key=lambda name: (len(name), name)):
        low, high = percent(min(found[cpu])), percent(max(found[cpu]))
        texts.append(f"{cpu}: {low}" if low == high else f"{cpu}: {low} to {high}")
    return ", ".join(texts) or "not known"


def _throughput(runs: Iterable[LatencyRun]) -> str:
    rates = pooled(run.load.throughput for run in runs)
    return ", ".join(f"{name} {number_range(rates[name], 1, '')}" for name in rates) or "–"
