"""Matrices: cache lines from CPU to CPU, and which thread has what all want after which other."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from operator import attrgetter

from deadbeat.base.report.charts import SHOWN, Chart, Heat, HeatCell, Panel
from deadbeat.base.report.document import Column
from deadbeat.build.pool import PAIRS
from deadbeat.latencies.primitives.cases import ROUND_TRIPS
from deadbeat.latencies.primitives.lines import PROTOCOLS, Line, asymmetry_ns
from deadbeat.latencies.primitives.results import Contender, PrimitiveCell, PrimitivesSummary

#: Matrices of more threads than this are in files alone.
SHOWN_MOST = 32
#: Two threads need no matrix: who did not get it from itself got it from the other.
_MATRIX_LEAST = 3


def _chart(
    name: str,
    words: tuple[str, str, str, str, str, str],
    heads: Sequence[int],
    cell: Callable[[int, int], HeatCell],
    high: float,
) -> Chart:
    """Cells from rows to columns; ``words``: title, caption, option, axes and
    unit."""
    title, caption, what, x_label, y_label, unit = words
    heat = Heat(
        cells=[[cell(one, other) for other in heads] for one in reversed(heads)],
        x=[*map(str, heads)],
        y=[*map(str, reversed(heads))],
        low=0.0,
        high=high,
        unit=unit,
    )
    panel = Panel(title="", x_label=x_label, y_label=y_label, heat=heat)
    family = name.partition("-")[0]
    return Chart(
        name=name, title=title, caption=caption, panels=(panel,), family=family, option=what
    )


def contenders(found: PrimitivesSummary) -> list[Contender]:
    return [each for row in found.cells for each in row.contenders]


def handovers(found: PrimitivesSummary) -> list[Chart]:
    return [
        _handover(row, f"handover-{number}")
        for number, row in enumerate(found.cells)
        if _MATRIX_LEAST <= len(row.contenders) <= SHOWN_MOST
    ]


def _handover(row: PrimitiveCell, name: str) -> Chart:
    threads = [each.thread for each in row.contenders]
    turns = {each.thread: each.after for each in row.contenders}

    def cell(who: int, before: int) -> HeatCell:
        count = turns[who][threads.index(before)]
        share = count / max(sum(turns[who]), 1)
        hover = f"thread {who} after thread {before}: {count:,} times, {100 * share:.2f} %"
        return HeatCell(value=share, state=SHOWN, text=f"{100 * share:.0f}", hover=hover)

    caption = "Per cent of a thread's turns that came right after one of the thread in the column."
    what = f"{row.case.operation}, {row.where}"
    axes = ("right after thread", "thread", "share of a thread's turns")
    words = ("Who got it after whom", caption, what, *axes)
    return _chart(name, words, threads, cell, 1.0)


THREAD_COLUMNS = (
    Column(key="operation", heading="primitive", words=True),
    Column(key="where", heading="where", words=True),
    Column(key="thread", heading="thread"),
    Column(key="cpu", heading="CPU"),
    Column(key="samples", heading="samples"),
    Column(key="p50_ns", heading="median, ns", value=lambda each: each.times.quantile(500_000)),
    Column(key="p99_ns", heading="99 %, ns", value=lambda each: each.times.quantile(990_000)),
    Column(key="max_ns", heading="max, ns", value=attrgetter("times.max_ns")),
    Column(
        key="own_share",
        heading="after itself",
        format=lambda share: f"{100 * share:.1f} %",
        help="turns that came right after one of its own: no other had it in between",
    ),
    Column(
        key="longest_row",
        heading="longest row",
        help="turns without another thread in between, at most",
    ),
)


def _relation(line: Line) -> str:
    return PAIRS.get(line.relation, "not known")


def _repeats(line: Line) -> str:
    return f"{min(line.medians_ns):.1f} to {max(line.medians_ns):.1f}"


LINE_COLUMNS = (
    Column(key="protocol", heading="protocol", words=True),
    Column(key="sender", heading="from CPU"),
    Column(key="receiver", heading="to CPU"),
    Column(key="relation", heading="described as", value=_relation, words=True),
    Column(key="median_ns", heading="one way, ns", format=lambda ns: f"{ns:.1f}"),
    Column(key="repeats", heading="repeats", value=_repeats, raw=False),
    Column(key="samples", heading="samples"),
)


def note(lines: Sequence[Line], clock_cost_ps: int) -> str:
    """What each protocol measures, and how far the clocks can be trusted."""
    used = {line.protocol for line in lines}
    said = [f"{name}: {words}." for name, words in PROTOCOLS.items() if name in used]
    messages = [line for line in lines if line.protocol == "message"]
    half = asymmetry_ns(messages)
    if half is not None:
        said.append(
            "A message's time holds a reading of the clock as well,"
            f" {clock_cost_ps / 1000:.0f} ns. The clock is one for all CPUs; were"
            " it not, two CPUs would be apart by half of what their two directions differ by,"
            f" {half:.1f} ns at most, as far as both directions take equally long."
        )
    return " ".join(said)


def matrices(lines: Sequence[Line]) -> list[Chart]:
    return [_matrix(name, [*own]) for name, own in itertools.groupby(lines, lambda e: e.protocol)]


def _matrix(protocol: str, lines: list[Line]) -> Chart:
    known = {(line.sender, line.receiver): line for line in lines}
    if protocol in ROUND_TRIPS:
        known |= {(line.receiver, line.sender): line for line in lines}

    def cell(sender: int, receiver: int) -> HeatCell:
        if (line := known.get((sender, receiver))) is None:
            return HeatCell()
        return HeatCell(
            value=line.median_ns,
            state=SHOWN,
            text=f"{line.median_ns:.0f}",
            hover=f"CPU {line.sender} to {line.receiver}: {line.median_ns:.1f} ns"
            f" ({_repeats(line)}), {_relation(line)}",
        )

    cpus = sorted({cpu for pair in known for cpu in pair})
    count = sum(line.samples for line in lines)
    caption = f"{protocol}: {PROTOCOLS[protocol]}. Medians of {count:,} samples."
    axes = ("to CPU", "from CPU", "ns one way")
    words = ("Cache lines", caption, f"{protocol}: one way, ns", *axes)
    highest = max(line.median_ns for line in lines)
    return _chart(f"lines-{protocol}", words, cpus, cell, highest)
