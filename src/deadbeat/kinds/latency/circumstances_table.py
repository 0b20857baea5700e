"""What the machine and the loads did beside the runs of a latency matrix, as ranges over runs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from deadbeat.kinds.latency.data import load_order, load_words
from deadbeat.model.latency import LatencyRun, LoadPoint
from deadbeat.report import facts
from deadbeat.report.document import FactList, Part, Subsection, Table, said
from deadbeat.report.facts import percent

#: Texts of one kind that are shown; there may be a line of the kernel's log for every run.
_TEXTS = 4
#: Key of LatencyRun.circumstances -> name, factor and unit of its numbers.
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
#: Shown otherwise, or of no use to a reader.
_OTHERS = (
    *("interrupts", "missing", "readings", "stalls", "realtime_tasks", "clocksource"),
    "dma_latency_us",
)
#: What /dev/cpu_dma_latency reads where nobody asks for less.
_NO_LIMIT_US = 2_000_000_000


def machine_pairs(runs: Sequence[LatencyRun]) -> list[tuple[str, str]]:
    """What was read of the machine: one value, or from which to which it went."""
    found = [
        (name.format(below), number_range(values, factor, unit))
        for key, (name, factor, unit) in _NUMBERS.items()
        for below, values in _numbers_of(runs, key).items()
    ]
    for name, values in (
        ("what idle CPUs may take to wake up", map(_dma, _listed(runs, "dma_latency_us"))),
        ("clock source", _listed(runs, "clocksource")),
        ("stalls in the kernel's log", _listed(runs, "stalls")),
        ("other real-time tasks", map(_task, _listed(runs, "realtime_tasks"))),
    ):
        if text := _texts(values):
            found.append((name, text))
    return found + _rest(runs)


def missing_pairs(runs: Iterable[LatencyRun]) -> list[tuple[str, str]]:
    """What could not be read, and why; it was not checked."""
    found: dict[str, str] = {}
    for run in runs:
        for name, reason in _mapping(run.circumstances.get("missing")).items():
            found.setdefault(str(name), str(reason))
    return sorted(found.items())


def interrupt_pairs(runs: Sequence[LatencyRun]) -> list[tuple[str, str]]:
    """How often each interrupt came in a run, by CPU."""
    counts: dict[str, list[float]] = {}
    for run in runs:
        for cpu, lines in _mapping(run.circumstances.get("interrupts")).items():
            for line, count in _mapping(lines).items():
                counts.setdefault(f"CPU {cpu}, {line}", []).append(float(count))
    order = sorted(counts, key=lambda name: (name.partition(",")[0], -max(counts[name])))
    return [(name, number_range(counts[name], 1, "")) for name in order]


def circumstances(
    runs: Sequence[LatencyRun], platform: Mapping[str, Any], parameters: Mapping[str, Any]
) -> tuple[Part, ...]:
    """All of it; long lists fold away."""
    missing, interrupts = missing_pairs(runs), interrupt_pairs(runs)
    return (
        *((Subsection("Loads", (loads_table(runs),)),) if runs else ()),
        Subsection("Beside the runs", (FactList(machine_pairs(runs)),)),
        *((Subsection("What could not be read", (FactList(missing),)),) if missing else ()),
        *((Subsection("Interrupts in a run", (FactList(interrupts),)),) if interrupts else ()),
        Subsection("Platform", (FactList([*facts.flatten(platform)]),)),
        Subsection("Parameters", (FactList([*facts.flatten(parameters)]),)),
    )


def loads_table(runs: Iterable[LatencyRun]) -> Table:
    """A row per load: what it reached on each CPU, what it did, and what made it."""
    by_load: dict[LoadPoint, list[LatencyRun]] = {}
    for run in runs:
        by_load.setdefault(run.key.load, []).append(run)
    return Table(
        name="loads-table",
        title="Loads",
        columns=(
            said("load", lambda own: load_words(own[0].key.load)),
            said("reached, by CPU", _reached, words=True),
            said("throughput", _throughput, long=True),
            said("commands", lambda own: _texts(_commands(own)) or "none", long=True),
        ),
        rows=[by_load[load] for load in sorted(by_load, key=load_order)],
        dense=True,
    )


def number_range(values: Iterable[float], factor: float, unit: str) -> str:
    """``41 °C``, or ``41 to 45 °C``."""
    scaled = sorted(value * factor for value in values)
    low, high = f"{scaled[0]:.4g}", f"{scaled[-1]:.4g}"
    return f"{low}{unit}" if low == high else f"{low} to {high}{unit}"


def _numbers_of(runs: Iterable[LatencyRun], key: str) -> dict[str, list[float]]:
    """Name below ``key`` -> every number of every run; a plain number has the name ""."""
    found: dict[str, list[float]] = {}
    for run in runs:
        value = run.circumstances.get(key)
        below = value if isinstance(value, Mapping) else {"": value}
        for name, item in below.items():
            numbers = [facts.number(one) for one in (item if isinstance(item, list) else [item])]
            known = [one for one in numbers if one is not None]
            if known:
                found.setdefault(str(name), []).extend(known)
    return found


def _listed(runs: Iterable[LatencyRun], key: str) -> Iterator[Any]:
    for run in runs:
        value = run.circumstances.get(key)
        yield from value if isinstance(value, list) else [] if value is None else [value]


def _dma(value: Any) -> str:
    known = facts.number(value)
    return "no limit" if known is None or known >= _NO_LIMIT_US else f"{known:g} µs"


def _task(task: Any) -> str:
    plain = _mapping(task)
    return f"{plain.get('name', task)} ({plain.get('policy', '?')} {plain.get('priority', '?')})"


def _rest(runs: Sequence[LatencyRun]) -> list[tuple[str, str]]:
    """Keys that this page does not know, as they are."""
    known = {*_NUMBERS, *_OTHERS}
    found: dict[str, list[str]] = {}
    for run in runs:
        other = {key: value for key, value in run.circumstances.items() if key not in known}
        for path, text in facts.flatten(other):
            found.setdefault(path, []).append(text)
    return [(path, _texts(texts)) for path, texts in found.items()]


def _texts(values: Iterable[Any]) -> str:
    """Each once; of many the first."""
    different = list(dict.fromkeys(str(value) for value in values if str(value)))
    more = f" · and {len(different) - _TEXTS} more" if len(different) > _TEXTS else ""
    return " · ".join(different[:_TEXTS]) + more


def _reached(runs: Iterable[LatencyRun]) -> str:
    found: dict[str, list[float]] = {}
    for run in runs:
        for cpu, share in _mapping(run.load.get("achieved")).items():
            known = facts.number(share)
            if known is not None:
                found.setdefault(str(cpu), []).append(known)
    texts = []
    for cpu in sorted(found, key=lambda name: (len(name), name)):
        low, high = percent(min(found[cpu])), percent(max(found[cpu]))
        texts.append(f"{cpu}: {low}" if low == high else f"{cpu}: {low} to {high}")
    return ", ".join(texts) or "not known"


def _throughput(runs: Iterable[LatencyRun]) -> str:
    found: dict[str, list[float]] = {}
    for run in runs:
        value = run.load.get("throughput")
        for name, item in (value if isinstance(value, Mapping) else {"": value}).items():
            known = facts.number(item)
            if known is not None:
                found.setdefault(str(name), []).append(known)
    texts = (f"{name} {number_range(values, 1, '')}".strip() for name, values in found.items())
    return ", ".join(texts) or "–"


def _commands(runs: Iterable[LatencyRun]) -> Iterator[str]:
    for run in runs:
        value = run.load.get("commands")
        for command in value if isinstance(value, list) else []:
            yield " ".join(map(str, command)) if isinstance(command, list) else str(command)


def _mapping(value: Any) -> Mapping[Any, Any]:
    return value if isinstance(value, Mapping) else {}
