"""What threads that want one thing get of it: one by one, and from each other."""

from __future__ import annotations

from operator import attrgetter

from deadbeat.kinds.primitives.results import Contender, PrimitiveCell, PrimitivesSummary
from deadbeat.report.charts import SHOWN, Chart, Heat, HeatCell, Panel
from deadbeat.report.document import Column

#: More rows than this are in files alone.
SHOWN_MOST = 32
#: Two threads need no matrix: who did not get it from itself got it from the other.
_MATRIX_LEAST = 3


def contenders(found: PrimitivesSummary) -> list[Contender]:
    """All of them."""
    return [each for row in found.cells for each in row.contenders]


def charts(found: PrimitivesSummary) -> list[Chart]:
    """Who got it after whom, of each cell of a few threads."""
    return [
        _chart(row, f"handover-{number}")
        for number, row in enumerate(found.cells)
        if _MATRIX_LEAST <= len(row.contenders) <= SHOWN_MOST
    ]


def _cell(count: int, total: int, who: int, before: int) -> HeatCell:
    share = count / total if total else 0.0
    return HeatCell(
        value=share,
        state=SHOWN,
        text=f"{100 * share:.0f}",
        hover=f"thread {who} after thread {before}: {count:,} times, {100 * share:.2f} %",
    )


def _chart(row: PrimitiveCell, name: str) -> Chart:
    threads = [each.thread for each in row.contenders]
    cells = [
        [
            _cell(count, sum(each.after), each.thread, before)
            for before, count in zip(threads, each.after, strict=True)
        ]
        for each in reversed(row.contenders)
    ]
    panel = Panel(
        title=f"{row.case.operation}, {row.where}",
        x_label="right after thread",
        y_label="thread",
        heat=Heat(
            cells=cells,
            x=[str(thread) for thread in threads],
            y=[str(thread) for thread in reversed(threads)],
            low=0.0,
            high=1.0,
            unit="share of a thread's turns",
        ),
    )
    caption = "Per cent of a thread's turns that came right after one of the thread in the column."
    return Chart(name=name, title="Who got it after whom", caption=caption, panels=(panel,))


COLUMNS = (
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
        help="turns that came right after one of its own: nobody had it in between",
    ),
    Column(
        key="longest_row",
        heading="longest row",
        help="turns without another thread in between, at most",
    ),
)
