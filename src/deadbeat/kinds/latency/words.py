"""A latency matrix in words and tables: the verdict, a line per load, what holds for all."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from deadbeat.kinds.latency.data import (
    QUANTITY_WORDS,
    engines_of,
    interval_text,
    kernel_text,
    load_order,
    load_words,
    loads_of,
)
from deadbeat.model.latency import QUANTILES_PPM, LatencyRun
from deadbeat.model.latency_summary import (
    FEW,
    CellSummary,
    Distribution,
    Extrapolation,
    LatencyRow,
    LatencySummary,
    TailStatement,
)
from deadbeat.report.facts import UNKNOWN, percent
from deadbeat.report.times import seconds_text, time_text, us_text

_TABLE = ("min", "mean", *QUANTILES_PPM, "max")
MATRIX_COLUMNS = (
    *("load", "engine", "CPU", "wake-ups", "missed"),
    *("min", "mean", "p50", "p90", "p99", "p99.9", "p99.99", "max"),
    *("max on", "valid runs", "load reached"),
)
TAIL_COLUMNS = (
    *("load", "engine", "latency", "kind", "wake-ups", "later", "as good as independent"),
    *("share later at most", "on condition", "times an hour at most"),
    *("runs with a later one", "share of runs at most", "more hours for a tenth of the share"),
)
GATE_COLUMNS = ("load", "method", "condition", "holds", "figures")
INVALID_COLUMNS = ("run", "problem", "what was seen")


def ordered(cells: Iterable[CellSummary]) -> list[CellSummary]:
    """Loads in order, engines by name."""
    return sorted(cells, key=lambda cell: (load_order(cell.load), cell.engine))


def sentence(summary: LatencySummary) -> str:
    """The latest wake-up of all, and where it was."""
    known = [cell for cell in summary.cells if cell.whole.raw["max"].value_ns is not None]
    if not known:
        return "No valid run holds a wake-up: nothing is said about the latency of this machine."
    worst = latest(known)
    row = worst.whole
    cycles = sum(cell.whole.cycles for cell in known)
    loads = len(loads_of(known))
    beside = f"beside {loads} loads" if loads > 1 else f"beside {load_words(worst.load)}"
    run = f", repeat {row.max_run.repeat}" if row.max_run else ""
    by = f", by {worst.engine}" if len(engines_of(known)) > 1 else ""
    where = f"beside {load_words(worst.load)}" if loads > 1 else ""
    at = " ".join(filter(None, (f"on CPU {row.max_cpu}", where)))
    return (
        f"Of {cycles:,} wake-ups {beside} the latest was {time_text(row.raw['max'].value_ns)}"
        f" late: {at}{run}{by}."
    )


def latest(cells: Sequence[CellSummary]) -> CellSummary:
    """The cell with the latest wake-up. ValueError of none."""
    return max(cells, key=lambda cell: cell.whole.raw["max"].value_ns or 0)


def tail_sentences(summary: LatencySummary) -> tuple[str, ...]:
    """What the tail allows to say of the worst cell, and of each deadline where it is worst."""
    known = [cell for cell in summary.cells if cell.whole.tail]
    if not known:
        return ()
    worst = latest(known)
    made = [_said(worst, 0)]
    for place, _ in enumerate(summary.deadlines_ns, start=1):
        own = [cell for cell in known if len(cell.whole.tail) > place]
        if own:
            cell = max(own, key=lambda cell: cell.whole.tail[place].bound or 0.0)
            made.append(_said(cell, place))
    return (*made, *_reservations(summary, len(known)))


def _reservations(summary: LatencySummary, cells: int) -> tuple[str, ...]:
    """What the bounds do not allow for."""
    found = []
    if cells > 1:
        found.append(f"each bound is at 95 % by itself, the worst of {cells} was picked afterwards")
    if summary.invalid_runs:
        found.append(f"{summary.invalid_runs} of {summary.runs} runs do not count")
    text = "; ".join(found)
    return (f"{text[:1].upper()}{text[1:]}.",) if text else ()


def _said(cell: CellSummary, place: int) -> str:
    tail = cell.whole.tail[place]
    # From the value itself: what was rounded once must not be rounded again.
    text = re.sub(r"[\d.]+ us\b", time_text(tail.limit_ns), tail.text)
    return f"Beside {load_words(cell.load)}: {text.rstrip('.')}."


def answers(summary: LatencySummary) -> list[tuple[str, tuple[str, ...]]]:
    """For every load: its name, and a line for each engine."""
    found: dict[str, list[str]] = {}
    several = len(engines_of(summary.cells)) > 1
    for cell in ordered(summary.cells):
        found.setdefault(load_words(cell.load), []).append(_answer(cell, named=several))
    return [(load, tuple(lines)) for load, lines in found.items()]


def _answer(cell: CellSummary, *, named: bool) -> str:
    who = f"{cell.engine}: " if named else ""
    if not cell.whole.runs:
        return f"{who}no valid run ({len(cell.invalid)} invalid)."
    shown = cell.whole.honest
    count = cell.whole.missed
    missed = f", {count:,} period{'' if count == 1 else 's'} missed" if count else ""
    unknown = cell.whole.unaccounted
    if unknown:
        missed += f", {unknown:,} wake-up{'' if unknown == 1 else 's'} not accounted for"
    far = shown.deepest()
    tail = "" if far == "p50" else f" {QUANTITY_WORDS[far]} within {interval_text(shown[far])},"
    median = time_text(shown["p50"].value_ns)
    return (
        f"{who}maximum {time_text(shown['max'].value_ns)} on CPU {cell.whole.max_cpu},"
        f"{tail} median {median}{missed}."
    )


def _bound(tail: TailStatement | None) -> str:
    if tail is None or tail.bound is None:
        return "–"
    return "nothing is shown" if tail.bound >= 1 else f"{tail.bound:.2g}"


def head_facts(
    summary: LatencySummary, platform: Mapping[str, object]
) -> tuple[tuple[str, str], ...]:
    """Label and text of what stands under the title."""
    meta = summary.meta
    host = " · ".join(str(platform[key]) for key in ("name", "soc", "machine") if platform.get(key))
    started = meta.get("started") or ()
    invalid = f", {summary.invalid_runs} of them invalid" if summary.invalid_runs else ""
    simulated = any(label.lower() == "simulated" for label in summary.labels)
    return (
        ("Machine", host or UNKNOWN),
        ("Kernel", kernel_text(platform.get("kernel")).removeprefix("kernel ")),
        ("Preemption model", str(platform.get("preemption") or UNKNOWN)),
        ("Date", str(started[0]) if started else UNKNOWN),
        ("How", how(summary)),
        ("Engines", _engines(meta.get("engines"))),
        ("Simulated" if simulated else "Measured", f"{summary.runs} runs{invalid}"),
    )


def how(summary: LatencySummary) -> str:
    """``every 1 ms, SCHED_FIFO 90, 12 s a run, CPUs 0, 1``; what differs between runs says so."""
    meta = summary.meta
    interval, seconds, cpus = meta.get("interval_ns"), meta.get("seconds"), meta.get("cpus")
    policy = {"fifo": "SCHED_FIFO", "other": "SCHED_OTHER"}.get(str(meta.get("policy")), "")
    words = (
        f"every {time_text(interval)}" if isinstance(interval, int | float) else "intervals differ",
        f"{policy} {meta.get('priority')}"
        if policy == "SCHED_FIFO"
        else policy or "policy differs",
        f"{seconds_text(seconds)} a run" if isinstance(seconds, int | float) else "lengths differ",
        f"CPUs {', '.join(map(str, cpus))}" if isinstance(cpus, list | tuple) else "",
    )
    return ", ".join(word for word in words if word)


def _engines(engines: object) -> str:
    if not isinstance(engines, Mapping) or not engines:
        return UNKNOWN
    return ", ".join(_version(str(name), str(version)) for name, version in engines.items())


def _version(name: str, version: str) -> str:
    """Without the name twice, and of a program's hash no more than tells it from others."""
    short = re.sub(r"\b([0-9a-f]{12})[0-9a-f]{8,}\b", r"\1", version.removeprefix(name).strip())
    return f"{name} {short}".strip()


# ---------- tables ----------


def matrix_rows(summary: LatencySummary, *, cpus: bool) -> list[tuple[str, ...]]:
    """A row per cell, or per CPU of it; a second one, corrected, where periods were missed."""
    made = []
    for cell in ordered(summary.cells):
        for row in cell.cpus if cpus else (cell.whole,):
            made.append(_row(cell, row, row.raw, ""))
            if row.changed is not None:
                made.append(_row(cell, row, row.changed, ", corrected"))
    return made


def _row(cell: CellSummary, row: LatencyRow, shown: Distribution, note: str) -> tuple[str, ...]:
    all_runs = f" of {len(row.runs) + len(cell.invalid)}" if cell.invalid else ""
    run = f", repeat {row.max_run.repeat}" if row.max_run else ""
    return (
        load_words(cell.load) + note,
        cell.engine,
        "all" if row.cpu is None else str(row.cpu),
        f"{shown.histogram.total:,}",
        missed_text(row),
        *(_figure(shown, name, corrected=bool(note)) for name in _TABLE),
        "–" if row.max_cpu is None else f"CPU {row.max_cpu}{run}",
        f"{len(row.runs)}{all_runs}",
        achieved_text(cell),
    )


def missed_text(row: LatencyRow) -> str:
    """``8``, or ``0 + 47 unknown``: as many more may have been missed."""
    unknown = f" + {row.unaccounted:,} unknown" if row.unaccounted else ""
    return f"{row.missed:,}{unknown}"


#: Under a table in which `_figure` marks a percentile.
MARKS = (
    f"* fewer than {FEW} wake-ups are later: single ones move it, and it is not shown as corrected"
)


def _figure(shown: Distribution, name: str, *, corrected: bool) -> str:
    if shown[name].value_ns is None or not shown.rests_on_few(name):
        return us_text(shown[name].value_ns)
    return "–" if corrected else f"{us_text(shown[name].value_ns)}*"


def achieved_text(cell: CellSummary) -> str:
    """``49 % (48 % to 51 %)``; or that it is not known."""
    if cell.achieved is None:
        return "not known"
    text = percent(cell.achieved)
    if cell.achieved_min is None or cell.achieved_max is None:
        return text
    low, high = percent(cell.achieved_min), percent(cell.achieved_max)
    return text if low == high else f"{text} ({low} to {high})"


def tail_rows(summary: LatencySummary) -> list[tuple[str, ...]]:
    """Every statement on the tail of every cell."""
    return [
        (
            load_words(cell.load),
            cell.engine,
            time_text(item.limit_ns),
            item.kind,
            f"{item.wake_ups:,}",
            f"{item.exceeded:,}",
            f"{item.effective:,.0f}",
            _bound(item),
            item.condition,
            _often(item),
            f"{item.runs_exceeded} of {item.runs}",
            "–" if item.run_bound is None else percent(item.run_bound),
            "–" if item.hours_for_tenth is None else f"{item.hours_for_tenth:.3g}",
        )
        for cell in ordered(summary.cells)
        for item in cell.whole.tail
    ]


def _often(item: TailStatement) -> str:
    if item.episodes_per_hour is None:
        return "–"
    return f"{_few(item.episodes_per_hour)}, {item.rate_condition}"


def _few(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def extrapolation_lines(summary: LatencySummary) -> list[tuple[str, str]]:
    """For every cell and method its levels, or why there are none."""
    return [
        (f"{load_words(cell.load)} · {cell.engine} · {item.method}", _extrapolated(item))
        for cell in ordered(summary.cells)
        for item in cell.whole.extrapolations
    ]


def _extrapolated(item: Extrapolation) -> str:
    if item.refused:
        return f"refused: {item.refused}"
    levels = [
        f"once in {seconds_text(level.hours * 3600)}: {time_text(level.value_ns)}"
        f" [{time_text(level.low_ns)}, {time_text(level.high_ns)}]"
        for level in item.levels
    ]
    shape = "" if item.shape is None else f" (shape {item.shape:+.2f}, {item.peaks} peaks)"
    return "; ".join(levels) + shape


def gate_rows(summary: LatencySummary) -> list[tuple[str, ...]]:
    """Every condition that was looked at before anything was extrapolated."""
    says = {True: "yes", False: "no", None: "not looked at"}
    return [
        (
            f"{load_words(cell.load)} · {cell.engine}", item.method,
            gate.name, says[gate.passed], gate.text,
        )
        for cell in ordered(summary.cells)
        for item in cell.whole.extrapolations
        for gate in item.gates
    ]  # fmt: skip


def invalid_rows(summary: LatencySummary) -> list[tuple[str, ...]]:
    """Every problem of every run that does not count."""
    return [
        (run.key.text, problem.id, problem.message)
        for cell in ordered(summary.cells)
        for run in cell.invalid
        for problem in run.problems
    ]


def warning_rows(runs: Iterable[LatencyRun]) -> list[tuple[str, ...]]:
    """Warnings of valid runs, those of one name together: how many, and the first one's text."""
    counts: Counter[str] = Counter()
    texts: dict[str, str] = {}
    for run in (run for run in runs if run.valid):
        own = {problem.id: problem.message for problem in run.problems}
        counts.update(own.keys())
        for name, text in own.items():
            texts.setdefault(name, f"{run.key.text}: {text}")
    return [(name, str(count), texts[name]) for name, count in counts.most_common()]


WARNING_COLUMNS = ("warning", "runs", "for example")


def rests(summary: LatencySummary) -> str:
    """What stands on every picture beside its own caption."""
    known = [cell for cell in summary.cells if cell.whole.runs]
    cycles = sum(cell.whole.cycles for cell in known)
    loads = len(loads_of(known))
    beside = f" beside {loads} loads" if loads > 1 else ""
    return f"The whole of {summary.name}: {cycles:,} wake-ups{beside}; {how(summary)}"


def without_run(cells: Iterable[CellSummary]) -> str:
    """``No valid run: memory 100 % (5 invalid).``, with the engine where there are several; ""
    where every cell has one."""
    known = ordered(cells)
    several = len(engines_of(known)) > 1
    named = [
        f"{load_words(cell.load)}{f' by {cell.engine}' if several else ''}"
        f" ({len(cell.invalid)} invalid)"
        for cell in known
        if not cell.whole.runs
    ]
    return f"No valid run: {', '.join(named)}." if named else ""
