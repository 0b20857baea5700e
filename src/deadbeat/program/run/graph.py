"""Chains of a program as a drawing: threads from left to right, and who releases whom."""

from __future__ import annotations

from collections import Counter
from html import escape

from deadbeat.base.model.words import time_text
from deadbeat.base.report.document import percent
from deadbeat.program.derive.tasks import DerivedSet

#: Of a box, of the space to the next column, and of a row, px.
_WIDE, _HIGH, _APART, _ROW = 150, 44, 150, 64


def chain_graph(found: DerivedSet) -> str:
    """An SVG element."""
    links = [(link.from_, link.to) for link in found.chains]
    tasks = [task for task in found.tasks if any(task.name in link for link in links)]
    column = dict.fromkeys((task.name for task in tasks), 0)
    for _ in tasks:  # as often as there are tasks: a circle ends, too
        column |= {
            to: min(column[to] + 1, len(tasks)) for by, to in links if column[to] <= column[by]
        }
    used = sorted({*column.values()})
    rows, at = Counter[int](), {}
    for name, each in column.items():
        at[name] = used.index(each) * (_WIDE + _APART) + 2, rows[each] * _ROW + 14
        rows[each] += 1
    drawn = []
    for link in found.chains:
        (left, top), (end, bottom) = at[link.from_], at[link.to]
        begin, middle = left + _WIDE, (left + _WIDE + end) // 2
        top, bottom = top + _HIGH // 2, bottom + _HIGH // 2
        most = link.max_ns or link.age_ns
        said = f"{percent(link.share)}" if link.kind == "woken" else link.kind
        said += f", up to {time_text(most)}" * bool(most)
        drawn.append(
            f'<path d="M{begin} {top}C{middle} {top} {middle} {bottom} {end - 4} {bottom}"'
            ' fill="none" stroke="currentColor" marker-end="url(#end)"/>'
            f'<text x="{middle}" y="{(top + bottom) // 2 - 6}" text-anchor="middle">'
            f"{said}<title>{escape(link.channel)}</title></text>"
        )
    for task in tasks:
        x, y = at[task.name]
        every, c = time_text(task.period_ns or task.min_gap_ns or 0), time_text(task.c_mean_ns or 0)
        drawn.append(
            f'<rect x="{x}" y="{y}" width="{_WIDE}" height="{_HIGH}" rx="6" fill="none"'
            f' stroke="currentColor"/><text x="{x + 8}" y="{y + 18}">{escape(task.name)}</text>'
            f'<text x="{x + 8}" y="{y + 35}">every {every}, C {c}</text>'
        )
    wide, high = len(used) * (_WIDE + _APART) - _APART + 4, max(rows.values(), default=0) * _ROW + 4
    return (
        f'<svg viewBox="0 0 {wide} {high}" style="max-width:{wide}px" font-size="11"'
        ' fill="currentColor" role="img" aria-label="Chains of threads"><marker id="end"'
        ' viewBox="0 0 8 8" refX="4" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
        f'<path d="M0 0 8 4 0 8z"/></marker>{"".join(drawn)}</svg>'
    )
