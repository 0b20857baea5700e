"""What makes a latency matrix doubtful; each identifier has its paragraph in findings/."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import combinations

from deadbeat.base.model.finding import Finding, finding, ordered
from deadbeat.base.model.grouping import grouped
from deadbeat.base.model.histogram import QUANTILES_PPM
from deadbeat.base.model.words import LAB, count_of, seconds_text
from deadbeat.base.stats.binomial import quantile_ranks
from deadbeat.latencies.latency.model import ASSUMED, IMPORTED, THREADS, LatencyRun
from deadbeat.latencies.latency.summary import CellSummary, LatencyRow, LatencySummary, Quantity
from deadbeat.latencies.latency.tail import Part, beat_ms

#: Matrices with cells that were measured for less have a finding.
_HOURS_MIN = 1.0
#: A wake-up that counts for less than half an independent one is worth a word.
_DEPENDENT = 2.0
#: Missed periods that are more than a remark, as a share of those expected.
_MISSED = 1e-4
#: The same of wake-ups that are not accounted for: threads of cyclictest begin some periods late.
_UNKNOWN = 0.01
#: Recorded steps of a median below which the steps show.
_STEPS = 20


def findings_of(summary: LatencySummary, runs: Sequence[LatencyRun]) -> list[Finding]:
    """All of them, the most serious first."""
    found = [
        *_of_validity(summary),
        *_of_settings(summary),
        *_of_files(runs),
        *_of_engines(summary),
        *_of_amount(summary),
        *_of_shape(summary),
        *_of_beats(runs),
    ]
    return ordered(found)


def _places(cells: Sequence[CellSummary]) -> str:
    """``idle prober, cpu-050 prober and 3 more``."""
    names = [cell.text for cell in cells]
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return ", ".join(names[:3]) + more


def _us(value: float | None) -> str:
    return "unknown" if value is None else f"{value / 1000:.1f} µs"


# -- runs that do not count, and warnings of those that do


def _of_validity(summary: LatencySummary) -> Iterator[Finding]:
    if empty := [cell for cell in summary.cells if not cell.whole.runs]:
        yield finding(
            "latency-no-valid-run",
            f"no run counts in {len(empty)} of {len(summary.cells)} cells"
            f" ({_places(empty)}): {_reasons(empty)}",
        )
    if some := [cell for cell in summary.cells if cell.invalid and cell.whole.runs]:
        yield finding(
            "latency-invalid-runs",
            f"{sum(len(cell.invalid) for cell in some)} of {summary.runs} runs are invalid"
            f" ({_places(some)}): {_reasons(some)}",
        )
    warnings = sum((Counter(cell.warnings) for cell in summary.cells), Counter[str]())
    for mark in (IMPORTED, ASSUMED, THREADS):
        del warnings[mark]
    if warnings:
        yield finding(
            "latency-run-warnings",
            f"some runs were disturbed, but still count: {_counts(warnings)}",
        )


def _reasons(cells: Sequence[CellSummary]) -> str:
    """``throttled (3), load-not-reached (1)``."""
    runs = (run for cell in cells for run in cell.invalid)
    return _counts(Counter(p.id for run in runs for p in run.problems if p.severity == "invalid"))


def _counts(names: Counter[str]) -> str:
    return ", ".join(f"{name} ({count})" for name, count in names.most_common())


#: Called after the label that each explains.
_OF_LABELS = {
    "simulated": "the latencies are simulated: they say nothing about any machine",
    "parallel-time": "all processors of an emulator are busy and take short turns: caches, the"
    " memory bus and the way to another processor are not in these latencies",
    "virtual-time": "in virtual time an instruction takes a nanosecond: caches, the memory bus and"
    " cores that run at once are not in these latencies",
    "emulated": "the machine was emulated as fast as this host happened to be: its times mean"
    " nothing",
}


def _of_settings(summary: LatencySummary) -> Iterator[Finding]:
    if mixed := [
        name
        for name in ("interval_ns", "priority", "policy", "kinds")
        if len(getattr(summary.meta, name)) > 1
    ]:
        words = ", ".join(name.removesuffix("_ns") for name in mixed)
        yield finding(
            "latency-settings-mixed", f"runs of the matrix were measured in different ways: {words}"
        )
    yield from (finding(id, text) for id, text in _OF_LABELS.items() if id in summary.labels)


def _of_files(runs: Sequence[LatencyRun]) -> Iterator[Finding]:
    """What was assumed of files of other tools, and threads of theirs that never ran."""
    marks = (mark.message for run in runs for mark in run.problems if mark.id in (ASSUMED, THREADS))
    read = [run for run in runs if any(mark.id == IMPORTED for mark in run.problems)]
    if read:
        said = "; ".join(dict.fromkeys(marks)) or "what else ran is not known"
        yield finding("latency-assumed", f"read from files of other tools: {said}")
    if silent := [(cpu, run) for run in read for cpu in run.cpus if not cpu.cycles]:
        cpu, run = silent[0]
        threads = any(mark.id == THREADS for mark in run.problems)
        more = f"; {len(silent) - 1} more" if len(silent) > 1 else ""
        yield finding(
            "latency-silent",
            f"{'thread' if threads else 'CPU'} {cpu.cpu} never woke up: 0 of {cpu.expected:,}"
            f" wake-ups in {run.key.text}{more}",
        )


# -- what an engine cannot tell


def _of_engines(summary: LatencySummary) -> Iterator[Finding]:
    cells = [cell for cell in summary.cells if cell.whole.runs]
    if missed := [cell for cell in cells if cell.whole.missed]:
        worst = max(missed, key=lambda cell: cell.whole.missed / max(cell.whole.expected, 1))
        row = worst.whole
        share = row.missed / max(row.expected, 1)
        blind = row.corrected is None
        text = "the engine does not say how late these were" if blind else _both(row)
        yield finding(
            "latency-missed",
            f"periods passed without a wake-up of their own in {len(missed)} of"
            f" {len(cells)} cells; most in {worst.text}, {row.missed:,} of {row.expected:,}:"
            f" {text}",
            severity="warning" if share >= _MISSED or blind else "info",
            cure="read the corrected figures" + ("; the prober has them" if blind else ""),
        )
    if unknown := [cell for cell in cells if cell.whole.unaccounted]:
        worst = max(unknown, key=lambda cell: cell.whole.unaccounted / cell.whole.expected)
        row = worst.whole
        yield finding(
            "latency-unaccounted",
            f"some expected wake-ups are missing in {len(unknown)} of {len(cells)}"
            f" cells; most in {worst.text}, {row.unaccounted:,} of {row.expected:,}: the engine"
            " does not say whether its threads began late or missed these",
            severity="info" if row.unaccounted < _UNKNOWN * row.expected else "warning",
        )
    if unbinned := [cell for cell in cells if not len(cell.whole.raw.histogram.counts)]:
        yield finding(
            "latency-no-histogram",
            f"no histogram in {_places(unbinned)}: percentiles are unknown, minimum, mean and"
            " maximum alone are there",
        )
    if overflowed := [
        cell for cell in cells if cell.whole.raw.histogram.overflow and cell not in unbinned
    ]:
        lacks = any(cell.whole.raw.histogram.exceeds_ns is not None for cell in overflowed)
        yield finding(
            "latency-overflow",
            f"latencies beyond the engine's histogram in {_places(overflowed)}: only"
            f" their number {'is' if lacks else 'and the largest are'} known",
        )
    if coarse := [cell for cell in cells if _is_coarse(cell.whole)]:
        step = coarse[0].whole.raw.histogram.resolution_ns
        yield finding(
            "latency-resolution",
            f"{_places(coarse)}: latencies are rounded down to whole"
            f" {step / 1000:g} µs, a large part of them",
        )
    # Engines that measured the same load.
    if apart := [pair for pair in combinations(cells, 2) if _apart(*pair)]:
        one, two = apart[0]
        yield finding(
            "latency-engines-differ",
            f"engines disagree beyond their intervals in {count_of(len(apart), 'load')}:"
            f" median {_us(one.whole.raw['p50'].value_ns)} by {one.engine},"
            f" {_us(two.whole.raw['p50'].value_ns)} by {two.engine} at {one.load.text}",
        )


def _both(row: LatencyRow) -> str:
    """The deepest percentile that both rest on more than a few values, raw and corrected."""
    raw, corrected = row.raw, row.honest
    name = min(raw.deepest(), corrected.deepest(), key=list(QUANTILES_PPM).index)
    if name == "p50":
        return "too few wake-ups to say what that does to a percentile"
    values = (_us(each[name].value_ns) for each in (raw, corrected))
    return "{} is {} without them, {} with them".format(name, *values)


def _is_coarse(row: LatencyRow) -> bool:
    histogram, median = row.raw.histogram, row.raw["p50"].value_ns
    return bool(
        histogram.resolution_ns > 1
        and median is not None
        and median < _STEPS * histogram.resolution_ns
    )


def _apart(one: CellSummary, two: CellSummary) -> bool:
    """Whether they differ by more than the coarser engine cuts off."""
    if one.load != two.load:
        return False
    step = max(cell.whole.raw.histogram.resolution_ns for cell in (one, two)) - 1
    return _disjoint(one.whole.raw["p50"], two.whole.raw["p50"], slack_ns=step)


def _disjoint(one: Quantity, two: Quantity, *, slack_ns: int = 0) -> bool:
    """Whether two intervals do not meet; False where one is open."""
    if None in (one.low_ns, one.high_ns, two.low_ns, two.high_ns):
        return False
    return _below(one, two, slack_ns) or _below(two, one, slack_ns)


def _below(one: Quantity, two: Quantity, slack_ns: int = 0) -> bool:
    high, low = one.high_ns, two.low_ns
    return high is not None and low is not None and high + slack_ns < low


# -- whether it was enough


def _of_amount(summary: LatencySummary) -> Iterator[Finding]:
    cells = [cell for cell in summary.cells if cell.whole.runs]
    option = "--repeats" if {*summary.meta.kinds}.isdisjoint(LAB) else "--seeds"
    if single := [cell for cell in cells if len(cell.whole.runs) < 3]:
        yield finding(
            "latency-few-runs",
            f"fewer than three runs count in {len(single)} of {len(cells)} cells"
            f" ({_places(single)}): how far runs differ is hardly known",
            cure=f"measure shorter runs more often: {option}",
        )
    if short := [cell for cell in cells if cell.whole.hours < _HOURS_MIN]:
        least = seconds_text(3600 * min(cell.whole.hours for cell in short))
        yield finding(
            "latency-short",
            f"a cell was measured for {least} only: its maximum is not the worst case",
        )
    if thin := [cell for cell in cells if _is_thin(cell.whole)]:
        yield finding(
            "latency-thin-quantile",
            f"too few wake-ups to bound p99.99 from above in {len(thin)} of {len(cells)}"
            f" cells ({_places(thin)}): 36,887 at least",
        )
    # wake-ups could bound p99 from above, and the runs do not
    if apart := [
        cell
        for cell in cells
        if len(cell.whole.runs) > 1
        and not _is_thin(cell.whole, "p99")
        and cell.whole.honest["p99"].high_ns is None
    ]:
        yield finding(
            "latency-runs-differ",
            f"p99 and beyond cannot be bounded from above in {len(apart)} of {len(cells)}"
            f" cells ({_places(apart)}): runs differ, and a few of them contain nearly all late"
            " wake-ups",
            cure=f"measure more runs ({option}) to learn how late the bad ones get",
        )
    if dependent := [cell for cell in cells if _dependence(cell.whole) > _DEPENDENT]:
        worst = max(dependent, key=lambda cell: _dependence(cell.whole))
        yield finding(
            "latency-dependent",
            f"late wake-ups come together in {len(dependent)} of {len(cells)} cells;"
            f" most in {worst.text}: {worst.whole.tail[0].dependence}",
        )


def _is_thin(row: LatencyRow, name: str = "p99.99") -> bool:
    """Whether wake-ups are too few to bound a percentile from above."""
    return quantile_ranks(row.honest.histogram.total, QUANTILES_PPM[name] / 1e6)[1] is None


def _dependence(row: LatencyRow) -> float:
    tail = row.tail[0] if row.tail else None
    return tail.wake_ups / tail.effective if tail and tail.effective else 1.0


# -- what does not look as it should


def _of_shape(summary: LatencySummary) -> Iterator[Finding]:
    cells = [cell for cell in summary.cells if cell.whole.runs]
    idle = {cell.engine: cell for cell in cells if cell.load.percent == 0}
    if better := [
        cell
        for cell in cells
        if cell.engine in idle
        and cell.load.percent
        and _below(cell.whole.honest["p99"], idle[cell.engine].whole.honest["p99"])
    ]:
        first = better[0]
        before, after = (each.whole.honest["p99"].value_ns for each in (idle[first.engine], first))
        yield finding(
            "latency-idle-worse",
            f"the idle machine is later than the loaded one in {len(better)} cells: p99"
            f" {_us(before)} idle, {_us(after)} at {first.text}",
        )
    if uneven := [cell for cell in cells if _uneven(cell)]:
        cell = uneven[0]
        rows = sorted(cell.cpus, key=lambda row: row.honest["p99.9"].value_ns or 0.0)
        yield finding(
            "latency-cpus-differ",
            f"CPUs differ beyond their intervals in {len(uneven)} of {len(cells)} cells:"
            f" p99.9 {_us(rows[0].honest['p99.9'].value_ns)} on CPU {rows[0].cpu},"
            f" {_us(rows[-1].honest['p99.9'].value_ns)} on CPU {rows[-1].cpu} at {cell.text}",
        )


def _uneven(cell: CellSummary) -> bool:
    return any(_disjoint(*pair) for pair in combinations((r.honest["p99.9"] for r in cell.cpus), 2))


def _of_beats(runs: Sequence[LatencyRun]) -> Iterator[Finding]:
    parts = (Part(run=run, cpus=run.cpus) for run in runs if run.valid and run.cpus)
    cells = grouped(parts, lambda part: f"{part.run.key.load.text} {part.run.key.engine}")
    if found := {name: beat for name, parts in cells.items() if (beat := beat_ms(parts))}:
        name, beat = next(iter(found.items()))
        yield finding(
            "latency-beat",
            f"late wake-ups are periodic in {len(found)} of {len(cells)} cells: every"
            f" {beat} ms at {name}",
        )
