"""Figures 7 to 13 of the thesis, and all of them in one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from attrs import evolve, frozen

from deadbeat import (
    Chart,
    Conclusion,
    Curve,
    CurvePoint,
    LackingError,
    Panel,
    PrimitiveCell,
    PrimitivesPreset,
    PrimitivesSummary,
    curve,
    ratio_interval,
)
from deadbeat_papers.claims import claims, tables
from deadbeat_papers.runtimes import telling
from deadbeat_papers.runtimes.telling import cells_of, costs, grouped, means

X = Callable[[PrimitiveCell], float]
Builder = Callable[[PrimitivesSummary], Iterator[Chart]]
Values = Callable[[PrimitiveCell], Sequence[float]]


def _series(cell: PrimitiveCell) -> tuple[str, str]:
    return cell.case.runtime, cell.case.handler


def _average(x: float, values: Sequence[float], n: int = 0) -> CurvePoint:
    """Geometric mean over repeats, with its interval."""
    low, high = ratio_interval(values, [1.0] * len(values)) or (values[0], values[0])
    return CurvePoint(x, (low * high) ** 0.5, low, high, n=n)


def _curves(
    cells: Sequence[PrimitiveCell], point: Callable[[PrimitiveCell], CurvePoint]
) -> tuple[Curve, ...]:
    found = []
    for look, group in enumerate(grouped(cells, _series)):
        handlers = {each.case.handler for each in cells}
        handler = f", handler {group[0].case.handler}" if len(handlers) > 1 else ""
        found.append(curve(f"{group[0].case.runtime}{handler}", map(point, group), look=look))
    return tuple(found)


def _averages(cells: Sequence[PrimitiveCell], x: X, values: Values) -> tuple[Curve, ...]:
    return _curves(cells, lambda cell: _average(x(cell), values(cell), cell.samples))


#: What stands beside an average.
_BESIDE = (("median", 500_000), ("99.9 %", 999_000))


def _quantiles(cells: Sequence[PrimitiveCell], x: X, share_ppm: int) -> tuple[Curve, ...]:
    return _curves(
        cells,
        lambda cell: CurvePoint(x(cell), max(cell.quantile_ns(share_ppm), 0.1), n=cell.samples),
    )


def _caption(cells: Sequence[PrimitiveCell]) -> str:
    samples = [cell.samples for cell in cells]
    threads = sorted({cell.case.threads for cell in cells})
    pairs = "pairs" if cells[0].case.test == "event" else "threads"
    runtimes = dict.fromkeys(cell.case.runtime for cell in cells)
    return (
        f"{', '.join(runtimes)}; {', '.join(map(str, threads))} {pairs}; {min(samples):,} to"
        f" {max(samples):,} samples a point in {len(cells[0].repeats)} repeats. Bands: 95 % of the"
        " average over repeats."
    )


@frozen(kw_only=True)
class _Axis:
    x: X
    label: str
    log: bool = False

    def panel(self, title: str, curves: tuple[Curve, ...], unit: str = "ns") -> Panel:
        return Panel(
            title=title, x_label=self.label, y_label=unit, curves=curves, x_log=self.log, y_log=True
        )

    def beside(self, cells: Sequence[PrimitiveCell]) -> Iterator[Panel]:
        for title, share_ppm in _BESIDE:
            yield self.panel(title, _quantiles(cells, self.x, share_ppm))


def _chart(number: int, test: str, what: str, axis: _Axis, first: Callable[..., Panel]) -> Builder:
    """A figure with the thesis's as its first panel; none where nothing was run."""

    def charts(found: PrimitivesSummary) -> Iterator[Chart]:
        try:
            cells = cells_of(found, test)
        except LackingError:
            return
        yield Chart(
            name=f"thesis-fig{number}",
            title=f"{what} (Figure {number} of the thesis)",
            caption=_caption(cells),
            panels=(first(cells), *axis.beside(cells)),
        )

    return charts


def by_size(
    number: int, test: str, what: str, *, per_byte: bool = False, x_log: bool = False
) -> Builder:
    axis = _Axis(x=lambda cell: cell.case.size / 1024, label="size, KB", log=x_log)
    values, unit = (costs, "ns a byte") if per_byte else (means, "ns")
    title = "average of a byte" if per_byte else "average"
    return _chart(
        number,
        test,
        what,
        axis,
        lambda cells: axis.panel(title, _averages(cells, axis.x, values), unit),
    )


def by_pairs(number: int, values: Values, what: str) -> Builder:
    axis = _Axis(x=lambda cell: float(cell.case.threads), label="pairs of threads", log=True)
    title = "average" if values is means else "maximum of a repeat"
    return _chart(
        number,
        "event",
        what,
        axis,
        lambda cells: axis.panel(title, _averages(cells, axis.x, values)),
    )


_BY_THREAD = _Axis(x=lambda cell: 0.0, label="thread")


def by_thread(found: PrimitivesSummary) -> Iterator[Chart]:
    """Averages of each thread: the first half shares a cache, the second does not."""
    try:
        cells = cells_of(found, "lock", "both")
    except LackingError:
        return
    curves, most = [], 0
    for look, cell in enumerate(cells):
        threads = [*enumerate(zip(*cell.thread_means_ns, strict=True))]
        aside, most = 0.15 * (look - (len(cells) - 1) / 2), max(most, len(threads))
        known = [_average(n + aside, each) for n, each in threads if len(each) > 1]
        name = f"{cell.case.runtime}, CPUs {telling.cpus_text(cell)}"
        curves.append(curve(name, known, kind="errors", look=look))
    yield Chart(
        name="thesis-fig13",
        title="Taking a spin lock (Figure 13 of the thesis)",
        caption=f"{_caption(cells)} The first half of the threads shares a cache.",
        panels=(
            evolve(
                _BY_THREAD.panel("average of each thread", tuple(curves)),
                categories=tuple(str(n + 1) for n in range(most)),
            ),
        ),
    )


_ROWS = tables(__file__, "figures")
_WORDS, _PARTS = _ROWS.pop("words"), _ROWS.pop("parts")
_CLAIMS = claims(__file__, vars(telling), Conclusion)
#: Runs end with their count; these are for what would not.
_LAYER: Mapping[str, object] = {"duration": 3}


def _drawn(number: int, by: str, **asked: Any) -> Builder:
    if by == "pairs":
        return by_pairs(number, getattr(telling, asked["values"]), asked["what"])
    return by_size(number, **asked) if by == "size" else by_thread


def _figure(name: str, row: Mapping[str, Any]) -> PrimitivesPreset[PrimitivesSummary]:
    return PrimitivesPreset(
        name=name,
        title=row["title"],
        about=row["about"].format_map(_WORDS),
        layer=_LAYER,
        parts=tuple(_PARTS[each] for each in row["parts"]),
        charts=(_drawn(int(name.removeprefix("thesis-fig")), **row["chart"]),),
        conclusions=_CLAIMS[name],
    )


FIGURES = tuple(_figure(name, row) for name, row in _ROWS.items())
ALL = PrimitivesPreset(
    name="thesis",
    title="All figures of the benchmark of the thesis",
    about="{source} {here} Figures 9 and 10, and 11 and 12, show the same runs.".format_map(_WORDS),
    layer=_LAYER,
    parts=tuple(_PARTS.values()),
    charts=tuple(chart for figure in FIGURES for chart in figure.charts),
    conclusions=tuple(each for figure in FIGURES for each in figure.conclusions),
)
PRESETS = (*FIGURES, ALL)
