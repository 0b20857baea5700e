"""What a comparison says in words: its reason, and what would decide what is undecided."""

from __future__ import annotations

from collections.abc import Sequence

from deadbeat.base.model.comparison import CellComparison, Comparison, MetricComparison, Vocabulary
from deadbeat.base.model.grouping import grouped
from deadbeat.base.model.observations import Cell, Metric
from deadbeat.base.model.words import count_of, ns_text
from deadbeat.base.stats.estimate import Estimate

#: From here on an effect is shown as a factor; beyond the second only that it is more.
_TIMES, _TIMES_MAX = 1.0, 9.0
#: More times as many runs are never asked for (`engine.TIMES`).
_MANY = 1000


def words_list(words: Sequence[str]) -> str:
    """``a, b and c``."""
    return " and ".join(filter(None, [", ".join(words[:-1]), *words[-1:]]))


def some(names: Sequence[str], most: int = 3, between: str = ", ") -> str:
    """The first of them: ``a, b, c, ...``."""
    return between.join([*names[:most], *["..."] * (len(names) > most)])


def _list(metrics: Sequence[MetricComparison]) -> str:
    return words_list([each.metric.words for each in metrics])


#: The verdict over all metrics, what decided it in words, and the metrics it rests on.
Overall = tuple[str, str, tuple[str, ...]]


def overall(
    metrics: Sequence[MetricComparison],
    *,
    harm: Sequence[str] = (),
    words: Vocabulary,
    leaning: bool = True,
) -> Overall:
    """Worst first, then what is better; a metric in which next to nothing happened has no vote for
    ``equal``. ``harm``: why the other may be worse than the pairs show. ``leaning``: what may be
    worse forbids ``better``."""
    lean = [each for each in metrics if leaning and _leans_worse(each)]
    empty = _without_data(metrics)
    worse, better = (
        {each.metric.name: text for each in metrics if (text := _decided(each, verdict))}
        for verdict in ("worse", "better")
    )
    if worse or (better and not (harm or lean)):
        text = "; ".join(filter(None, [*worse.values(), *better.values(), empty]))
        return "worse" if worse else "better", text, tuple(worse or better)
    capped = [each for each in metrics if each.capped]
    if capped:
        lines = dict.fromkeys(line for each in capped for line in each.capped)
        return "undecided", "; ".join(filter(None, [*lines, empty])), _named(capped)
    return _without_difference(metrics, lean if better else [], empty, words)


def _leans_worse(metric: MetricComparison) -> bool:
    """Inconclusive, but the point estimate favours the baseline by the minimum effect: an earlier
    median does not make up for a later tail, nor a thread that misses less for one that misses."""
    sign = -1 if metric.metric.higher_is_better else 1
    cells = metric.cells if metric.metric.rare and metric.metric.cellwise else ()
    return any(
        each.verdict == "undecided" and sign * (each.effect or 0.0) >= metric.minimum
        for each in (metric, *cells)
    )


def _without_difference(
    metrics: Sequence[MetricComparison],
    leaning: Sequence[MetricComparison],
    empty: str,
    words: Vocabulary,
) -> Overall:
    """What is decided first, then what is not."""
    silent = [each for each in metrics if not each.vote]
    voting = [each for each in metrics if each.vote]
    equal = [each for each in voting if each.verdict == "equal"]
    rest = [each for each in voting if each not in equal]
    better = [_decided(each, "better") for each in rest]
    cells = _undecided_cells(equal)
    verb = f"differ{'s' * (len(equal) == 1)} by less than the minimum effect"
    text = f"{_list(equal)} {verb}{' on average' if cells else ''}" if equal else ""
    open_ = list(leaning) or rest
    shown = open_ or ([] if voting else silent)
    neither = f"too little is known of {_list(shown)}" if shown else ""
    few = f"hardly any of the {words.units} differs in {_list(silent)}" if silent else ""
    parts = [
        f"{each.metric.words} equal in {many} of {len(each.cells)} cells"
        for each in rest
        if each.verdict == "undecided"
        and (many := sum(cell.verdict == "equal" for cell in each.cells))
    ]
    reason = "; ".join(filter(None, [*better, text, cells, *parts, neither, few, empty]))
    if open_ or empty or not voting:
        return "undecided", reason, _named(open_ or metrics)
    return "equal", reason, _named(voting)


def _named(metrics: Sequence[MetricComparison]) -> tuple[str, ...]:
    return tuple(each.metric.name for each in metrics)


def _undecided_cells(metrics: Sequence[MetricComparison]) -> str:
    """``undecided in 3 of 36 cells, widest apart: ...``; "" without any."""
    every = [(metric, cell) for metric in metrics for cell in metric.cells]
    found = [(metric, cell) for metric, cell in every if cell.verdict == "undecided"]
    if not found:
        return ""
    metric, cell = max(found, key=lambda each: abs(each[1].effect or 0.0) / each[0].minimum)
    effect = "" if cell.effect is None else f" {effect_text(metric.metric, cell.effect)}"
    several = len({cell.deadline_factor for _, cell in every} - {0.0}) > 1
    return (
        f"undecided in {len(found)} of {len(every)} cells, widest apart:"
        f" {metric.metric.words}{effect} at {cell_text(cell, factor=several)}"
    )


def _without_data(metrics: Sequence[MetricComparison]) -> str:
    """How many cells no run stands for; "" if there is none."""
    metrics = [metric for metric in metrics if not metric.metric.apart]
    cells = max((metric.cells for metric in metrics), key=len, default=())
    empty = min((_empty(metric) for metric in metrics if metric.cells), default=0)
    return f"{empty} of {len(cells)} cells have no data" if empty else ""


def _empty(metric: MetricComparison) -> int:
    return sum(not cell.pairs for cell in metric.cells)


def _decided(metric: MetricComparison, verdict: str) -> str:
    """What of ``metric`` is ``verdict``: the cell that differs most rather than the mean over all;
    "" if nothing."""
    cells = [cell for cell in metric.cells if cell.verdict == verdict]
    text, many = f"{metric.metric.words} {verdict}: ", len(metric.cells)
    if cells:
        most = max(cells, key=lambda cell: abs(cell.effect or 0.0))
        where = f" at {cell_text(most)} ({len(cells)} of {many} cells)" if many > 1 else ""
        return f"{text}{effect_text(metric.metric, most.effect or 0.0)}{where}"
    if metric.verdict != verdict or metric.effect is None:
        return ""
    return f"{text}{effect_text(metric.metric, metric.effect)} over all cells"


def verdict_line(comparison: Comparison) -> str:
    """``WORSE: B against A: slowdown worse: +4.1 % over all cells``."""
    names = f"{comparison.other} against {comparison.baseline}"
    # `EQUAL IN PART`, `EQUAL ON AVERAGE`: what is undecided is not called equal.
    voting = [each for each in comparison.metrics if each.vote]
    if comparison.verdict == "equal" and _undecided_cells(voting):
        extent = "EQUAL ON AVERAGE"
    else:
        found = {item.verdict for each in voting for item in (each, *each.cells)}
        part = next((word for word in ("better", "equal") if word in found), "")
        if comparison.verdict == "undecided" and part and not any(each.capped for each in voting):
            extent = f"{part.upper()} IN PART"
        else:
            extent = comparison.verdict.upper()
    return f"{extent}: {names}: {comparison.reason}"


def verdict_text(metric: MetricComparison) -> str:
    """The verdict over all cells, and what of it does not hold for each."""
    if not metric.told:
        return "undecided, too rare"
    if metric.verdict == "undecided" and metric.no_worse:
        return "undecided, no worse"
    undecided = any(cell.verdict != "equal" for cell in metric.cells)
    return "equal on average" if metric.verdict == "equal" and undecided else metric.verdict


def bound_text(metric: Metric, size: float | None) -> str:
    """`size_text`; for None that nothing is known."""
    return "cannot tell" if size is None else size_text(metric, size)


def interval_text(item: MetricComparison | CellComparison) -> str:
    """``+4.1 % [-1.20, +9.40]``, or ``2.3 times [0.93, 5.6]`` of large ones: one unit a row."""
    if item.effect is None:
        return "not defined"
    ends = (item.low, item.high)
    known = [value for value in (item.effect, *ends) if value is not None]
    factors = item.metric.log and max(known) >= _TIMES
    text = _factor(item.effect) + " times" if factors else effect_text(item.metric, item.effect)
    if len(known) == 1:
        return f"{text} [cannot tell]"
    shown = (
        "open" if end is None else _factor(end) if factors else f"{100 * end + 0.0:+.2f}"
        for end in ends
    )
    return f"{text} [{', '.join(shown)}]"


def _factor(effect: float, more: str = ">") -> str:
    if effect > _TIMES_MAX:
        return f"{more} {1 + _TIMES_MAX:.0f}"
    return f"{1 + effect:#.2g}".rstrip(".")


def effect_text(metric: Metric, effect: float) -> str:
    """``+4.1 %``, ``3.2 times`` of large ones, or ``+0.41 points`` of a difference of shares."""
    if metric.log and effect >= _TIMES:
        return f"{_factor(effect, 'more than')} times"
    unit, digits = ("%", 1) if metric.log else ("points", 2)
    rounded = round(100 * effect, digits) + 0.0  # no -0.0
    return f"{rounded:+.{digits}f} {unit}"


def size_text(metric: Metric, size: float) -> str:
    """The same of a size, which has no sign."""
    return effect_text(metric, size).removeprefix("+")


def value_text(metric: Metric, value: float) -> str:
    """The metric itself on one side: ``1.041``, ``0.410 %``, ``12.3 us``, ``10.300 ms``; a rate
    without its unit, which its cell has."""
    if metric.unit == "ns":
        texts = {"ns": ns_text(value), "ms": f"{value / 1e6:.3f} ms"}
        return texts.get(metric.shown, f"{value / 1000:.1f} us")
    if metric.unit == "rate":
        return f"{value:.4g}"
    return f"{value:.3f}" if metric.log else f"{100 * value:.3f} %"


def estimate_text(metric: Metric, found: Estimate) -> str:
    """``12.3 us [11.9, 12.8]``."""
    text = value_text(metric, found.value)
    if found.low is None or found.high is None:
        return text
    return f"{text} [{value_text(metric, found.low)}, {value_text(metric, found.high)}]"


def p_text(value: float | None) -> str:
    """Two digits; of nothing a dash."""
    if value is None:
        return "-"
    return f"{value:.2g}" if value >= 1e-6 else "< 1e-06"


def cell_text(cell: Cell | CellComparison, *, factor: bool = False) -> str:
    """``M = 2, rho = 0.5, alpha = 1``, with what applies; ``factor``: and the deadline factor."""
    parts = [cell.group] if cell.group else []
    if cell.cores > 0 and not cell.group:
        parts.append(f"M = {cell.cores}")
    for name, value in (("rho", cell.sync_share), ("alpha", cell.contended_ratio)):
        if value is not None and value >= 0:
            parts.append(f"{name} = {value:g}")
    if factor:
        parts.append(f"D = {cell.deadline_factor:g} C")
    return ", ".join(parts)


def count_text(metric: MetricComparison) -> str:
    """``2 worse, 7 equal``: how many cells have which verdict."""
    counts = {
        verdict: sum(cell.verdict == verdict and cell.pairs > 0 for cell in metric.cells)
        for verdict in ("worse", "better", "equal", "undecided")
    }
    counts["without data"] = _empty(metric)
    return ", ".join(f"{count} {name}" for name, count in counts.items() if count) or "none"


def needs(metrics: Sequence[MetricComparison], words: Vocabulary) -> tuple[str, ...]:
    """A line for all metrics that are undecided and need the same."""
    undecided = (metric for metric in metrics if metric.verdict == "undecided")
    found = grouped(undecided, lambda metric: _need(metric, words.of(metric.metric)))
    return tuple(f"{_list(own)}: {need}" for need, own in found.items())


def _need(metric: MetricComparison, words: Vocabulary) -> str:
    pairs, empty = sum(cell.pairs for cell in metric.cells), _empty(metric)
    if words.no_repeats in metric.capped:
        need = words.once_more
    elif any(cell.verdict in ("worse", "better") for cell in metric.cells):
        need = "single cells differ, which the mean over all cells hides: look at the cells"
    elif not pairs:
        need = f"none of the {words.units} has it on both sides: {words.finish}"
    elif empty:
        need = (
            f"{empty} of {len(metric.cells)} cells have no {words.units} with a result on both"
            f" sides: {words.finish}"
        )
    elif not metric.told:
        need = f"hardly any of {pairs} {words.units} differs: {words.rare}"
    elif metric.capped:
        need = words.find_lost
    elif metric.gate is None:
        need = words.once_more
    elif metric.gate >= metric.minimum:
        sizes = [size_text(metric.metric, size) for size in (metric.gate, metric.minimum)]
        narrower = f"a quieter machine, more {words.more}, or repeats of the baseline (--aa)"
        if metric.gate_basis.startswith("A/A: 1 repeat"):
            narrower = (
                "measure the baseline once more (--aa): one repeat alone bounds it at 16 and more"
                " times what was seen"
            )
        need = (
            f"the same {words.results} measured twice may differ by up to {sizes[0]} here; you"
            f" ask for {sizes[1]}: {narrower}"
        )
    else:
        need = _need_of_precision(metric, pairs, words)
    return need


def _need_of_precision(metric: MetricComparison, pairs: int, words: Vocabulary) -> str:
    low, high = metric.low, metric.high
    if low is None and high is None:
        one = count_of(pairs, words.units.removesuffix("s"))
        return f"{one} a side has no interval: more {words.more}"
    if metric.times_as_many is None:
        return (
            f"too close to the minimum effect for {_MANY:,} times as many {words.more}: a quieter"
            " machine, or another --minimum-effect"
        )
    if metric.metric.apart:
        return f"{metric.times_as_many} times as much {words.more}, if it is like this"
    many = f"{metric.times_as_many * pairs} {words.more} instead of {pairs}"
    return f"{many}, if they are equal or differ as here"
