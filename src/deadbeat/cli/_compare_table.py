"""A comparison's metrics as a table that a terminal of 80 columns has room for."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Sequence

import click

from deadbeat.cli._output import print_table
from deadbeat.compare.words import (
    bound_text,
    count_text,
    effect_text,
    ends_text,
    metric_text,
    size_text,
    verdict_text,
    words_list,
)
from deadbeat.model.comparison import Comparison, MetricComparison

_COLUMNS = ("metric", "verdict", "effect [95 %]", "p", "gate", "least", "cells")
#: Columns from which on a row is one line.
_WIDE = 120
#: What no line of a narrow column but the effect's, and then of this, may exceed.
_SIZE_MAX, _EFFECT_MAX = len("12.3 %"), len("[-12.34, +12.34]")


def print_metrics(comparison: Comparison) -> None:
    """A row per metric, what the columns are, and the minimum effects."""
    narrow = sys.stdout.isatty() and shutil.get_terminal_size().columns < _WIDE
    columns = [_broken(name, " [") for name in _COLUMNS] if narrow else list(_COLUMNS)
    rows = [_row(metric) for metric in comparison.metrics]
    numeric = columns[2:6]
    print_table(
        columns,
        [_narrow_row(row) for row in rows] if narrow else rows,
        title=f"{comparison.other} against {comparison.baseline}, each cell counted once",
        numeric=numeric,
        whole=numeric,
    )
    minimums: dict[str, list[str]] = {}
    for metric in comparison.metrics:
        text = bound_text(metric.metric, metric.minimum)
        minimums.setdefault(text, []).append(metric_text(metric.metric))
    several = len(minimums) > 1
    told = "; ".join(
        f"{text} of {words_list(names)}" if several else text for text, names in minimums.items()
    )
    click.echo(
        "p: after Holm over the metrics; gate: how far results differ here without a reason;"
        " least: the smallest effect that could have been shown"
    )
    click.echo(f"minimum effect: {told}")


def interval_text(metric: str, effect: float | None, low: float | None, high: float | None) -> str:
    """``+4.1 % [-1.20, +9.40]``."""
    if effect is None:
        return "undecided"
    return f"{effect_text(metric, effect)} {ends_text(metric, low, high)}"


def p_text(value: float | None) -> str:
    """Two digits; of nothing a dash."""
    if value is None:
        return "-"
    return f"{value:.2g}" if value >= 1e-6 else "< 1e-06"


def _row(metric: MetricComparison) -> list[str]:
    return [
        metric_text(metric.metric),
        verdict_text(metric),
        interval_text(metric.metric, metric.effect, metric.low, metric.high),
        p_text(metric.p_holm),
        *(_bound(metric.metric, value) for value in (metric.gate, metric.smallest_effect)),
        count_text(metric),
    ]


def _bound(metric: str, size: float | None) -> str:
    return "?" if size is None else size_text(metric, size)


def _narrow_row(row: Sequence[str]) -> list[str]:
    """Broken where a line would be, and nowhere else: a number stays whole."""
    metric, verdict, effect, p, *sizes, cells = row
    lines = _short(effect).replace(" [", "\n[").split("\n")
    return [
        _broken(metric, " "),
        _broken(verdict, ", "),
        "\n".join(
            _broken(line, ", ", keep=",") if len(line) > _EFFECT_MAX else line for line in lines
        ),
        _short_p(p),
        *(_broken(_short(text), " ") if len(text) > _SIZE_MAX else text for text in sizes),
        _broken(cells, ", "),
    ]


def _short_p(text: str) -> str:
    """At most five characters: ``0.012``, ``1e-03``, ``<1e-6``."""
    if text.startswith("<"):
        return "<1e-6"
    return text if len(text) < len("0.0012") else f"{float(text):.0e}"


def _short(text: str) -> str:
    return text.replace("more than ", "> ")


def _broken(text: str, at: str, *, keep: str = "") -> str:
    """A new line at each ``at``, of which a bracket stays; a comma only with ``keep``."""
    return text.replace(at, keep + "\n" + at.strip(" ,"))
