"""What timed primitives show of a statement: always over repeats, each a process of its own."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby

from deadbeat import (
    Evidence,
    Interval,
    LackingError,
    PrimitiveCell,
    PrimitivesSummary,
    all_hold,
    ratio_interval,
    time_text,
)

#: Averages that differ by less are the same.
SAME = 1.1
#: Share of the cache at which all copies fit into it, also those of 16 threads: what others are
#: compared with.
REFERENCE_SHARE = 64
REAL_TIME_VM, PLAIN_JAVA = "external:", "jvm:"

Key = Callable[[PrimitiveCell], object]


def not_testable(needs: str) -> str:
    return f"not testable here: needs {needs}"


def cells_of(found: PrimitivesSummary, test: str, *placements: str) -> list[PrimitiveCell]:
    """Cells of a primitive, in the order of runtime, handler, threads and size.
    Raises LackingError: none was run."""
    cells = [
        cell
        for cell in _whole(found)
        if cell.case.test == test and (not placements or cell.case.placement in placements)
    ]
    if not cells:
        why = "; ".join(f"{what}: {why}" for what, why in found.refused.items())
        raise LackingError(not_testable(f"runs of {test}"), why or "none was run")
    return sorted(cells, key=_place)


def _whole(found: PrimitivesSummary) -> list[PrimitiveCell]:
    return [*found.wholes, *(cell for cell in found.cells if not cell.part)]


def _place(cell: PrimitiveCell) -> tuple[str, str, int, int, int]:
    case = cell.case
    return case.runtime, case.handler, case.threads, case.size, case.pair


def cpus_text(cell: PrimitiveCell) -> str:
    """``0,2/1,5``: where the two halves of its threads ran."""
    cpus = [str(each.cpu) for each in cell.contenders]
    half = len(cpus) // 2
    return f"{','.join(cpus[:half])}/{','.join(cpus[half:])}" if cpus else f"{cell.case.pair + 1}"


def grouped(cells: Iterable[PrimitiveCell], key: Key) -> Iterator[list[PrimitiveCell]]:
    return (list(group) for _, group in groupby(cells, key=key))


def ratio(
    above: PrimitiveCell, below: PrimitiveCell, value: Callable[[PrimitiveCell], Sequence[float]]
) -> Interval | None:
    mine, theirs = (dict(zip(c.repeats, value(c), strict=True)) for c in (above, below))
    both = sorted(mine.keys() & theirs.keys())
    return ratio_interval([mine[each] for each in both], [theirs[each] for each in both])


def means(cell: PrimitiveCell) -> Sequence[float]:
    """Average of an operation in each repeat, ns."""
    return [mean / cell.batch for mean in cell.means_ns]


def costs(cell: PrimitiveCell) -> Sequence[float]:
    return [mean / cell.case.size for mean in means(cell)]


def maxima(cell: PrimitiveCell) -> Sequence[float]:
    return cell.maxima_ns


def above(found: Interval | None, bound: float) -> bool | None:
    """Whether all of it lies above; None: neither all nor nothing does."""
    if found is None:
        return None
    return True if found.low > bound else False if found.high <= bound else None


def within(found: Interval | None, factor: float) -> bool | None:
    """Whether all of it lies between ``1 / factor`` and ``factor``; False: all lies outside."""
    if found is None:
        return None
    if found.low > factor or found.high < 1 / factor:
        return False
    return True if 1 / factor <= found.low and found.high <= factor else None


def times_text(found: Interval | None) -> str:
    """``2.1 times [1.9, 2.4]``."""
    if found is None:
        return "one repeat gives no interval"
    low, high = found
    return f"{math.sqrt(low * high):.3g} times [{low:.3g}, {high:.3g}]"


def counted(cell: PrimitiveCell, value: str = "") -> str:
    """``average 130 ns of 96,000 samples in 3 repeats``."""
    text = value or f"average {time_text(round(cell.mean_ns))}"
    return f"{text} of {cell.samples:,} samples in {len(cell.repeats)} repeats"


def size_text(size: int) -> str:
    for unit, word in ((2**20, "MB"), (2**10, "KB")):
        if size % unit == 0:
            return f"{size // unit} {word}"
    return f"{size} B"


def runtimes_differ(found: PrimitivesSummary, test: str) -> Iterator[Evidence]:
    """Each runtime against plain Java (without one: against the first), at each size."""
    cells = sorted(cells_of(found, test), key=lambda cell: (cell.case.size, cell.case.runtime))
    for group in grouped(cells, lambda cell: cell.case.size):
        base = next((c for c in group if c.case.runtime.startswith(PLAIN_JAVA)), group[0])
        if len(group) < 2:
            raise LackingError(not_testable("two runtimes"), f"only {base.case.runtime} ran")
        for cell in (each for each in group if each is not base):
            times = ratio(cell, base, means)
            same = within(times, SAME)
            yield Evidence(
                holds=None if same is None else not same,
                variant={"size": size_text(cell.case.size), "runtime": cell.case.runtime},
                figures=_beside(cell, base, times),
            )


def real_time_slower(
    found: PrimitivesSummary, test: str, factor: float = SAME
) -> Iterator[Evidence]:
    """A real-time VM against plain Java, of the same size and place."""
    cells = [cell for cell in _whole(found) if cell.case.test == test]
    vms = [cell for cell in cells if cell.case.runtime.startswith(REAL_TIME_VM)]
    plain = [cell for cell in cells if cell.case.runtime.startswith(PLAIN_JAVA)]
    pairs = [(v, p) for v in vms for p in plain if _place(v)[1:] == _place(p)[1:]]
    if not pairs:
        ran = ", ".join(dict.fromkeys(cell.case.runtime for cell in cells)) or "nothing"
        needs = "a real-time JVM beside plain Java (--set external=NAME=COMMAND)"
        raise LackingError(not_testable(needs), f"ran here: {ran}")
    for vm, java in pairs:
        times = ratio(vm, java, means)
        size = {"size": size_text(vm.case.size)} if vm.case.size else {}
        yield Evidence(
            holds=above(times, factor),
            variant={**size, "runtime": f"{vm.case.runtime} to {java.case.runtime}"},
            figures=_beside(vm, java, times),
        )


def _beside(cell: PrimitiveCell, base: PrimitiveCell, times: Interval | None) -> str:
    return f"{counted(cell)}, {base.case.runtime} {counted(base)}: {times_text(times)}"


def degrades(found: PrimitivesSummary) -> Iterator[Evidence]:
    """Cost of a byte where the source is as large as the cache against a small part of it."""
    for cells in grouped(cells_of(found, "copy_shared"), lambda cell: cell.case.runtime):
        largest, reference = cells[-1], _reference(cells)
        times = ratio(largest, reference, costs)
        threads = largest.case.threads
        # The smallest source from which on a byte costs more.
        dear = [above(ratio(cell, reference, costs), SAME) is True for cell in cells]
        first = next((i for i in range(len(cells)) if all(dear[i:])), None)
        if first is None:
            knee = "no size from which on a byte costs more"
        else:
            knee = f"a byte costs more from {size_text(cells[first].case.size)} on"
        yield Evidence(
            holds=above(times, SAME),
            variant={"runtime": largest.case.runtime},
            figures=f"source {size_text(largest.case.size)}: {_cost(largest)}, source"
            f" {size_text(reference.case.size)}: {_cost(reference)}: {times_text(times)};"
            f" {knee}; {threads} destinations and the source make"
            f" {threads + 1} times the size",
        )


def _reference(cells: Sequence[PrimitiveCell]) -> PrimitiveCell:
    """The cell with the source nearest to its share of the largest, which is the cache."""
    wanted = cells[-1].case.size / REFERENCE_SHARE
    return min(cells, key=lambda cell: abs(math.log(cell.case.size / wanted)))


def _cost(cell: PrimitiveCell) -> str:
    return counted(cell, f"{1000 * cell.mean_ns / cell.case.size:.3g} ps a byte")


def insensitive(found: PrimitivesSummary, most: float) -> Iterator[Evidence]:
    """Cost of a byte at every size against a small part of the cache."""
    for cells in grouped(cells_of(found, "copy_shared"), lambda cell: cell.case.runtime):
        reference = _reference(cells)
        others = [cell for cell in cells if cell is not reference]
        known = [(cell, ratio(cell, reference, costs)) for cell in others]
        spread = sorted(known, key=lambda pair: pair[0].mean_ns / pair[0].case.size)
        ends = [spread[0], spread[-1]] if spread else []
        text = "; ".join(
            f"source {size_text(c.case.size)} {_cost(c)}, {times_text(r)}" for c, r in ends
        )
        yield Evidence(
            holds=all_hold([within(times, most) for _, times in known]) if known else None,
            variant={"runtime": reference.case.runtime},
            figures=f"against {size_text(reference.case.size)} ({_cost(reference)}), cheapest and"
            f" dearest: {text or 'no other size'}",
        )


def _fewest_and_most(
    found: PrimitivesSummary,
) -> Iterator[tuple[dict[str, str], PrimitiveCell, PrimitiveCell]]:
    cells = cells_of(found, "event")
    for group in grouped(cells, lambda cell: (cell.case.runtime, cell.case.handler)):
        fewest, most = group[0], group[-1]
        variant = {"runtime": fewest.case.runtime, "handler's priority": fewest.case.handler}
        if fewest.case.threads < most.case.threads:
            yield variant, fewest, most


def average_constant(found: PrimitivesSummary, most: float) -> Iterator[Evidence]:
    """Average of the most pairs against that of the fewest."""
    for variant, few, many in _fewest_and_most(found):
        times = ratio(many, few, means)
        shown = _pairs(few, many, counted, times)
        yield Evidence(holds=within(times, most), variant=variant, figures=shown)


def maximum_grows(found: PrimitivesSummary) -> Iterator[Evidence]:
    """Maxima of the most pairs against those of the fewest; they are of more samples, too."""
    for variant, fewest, most in _fewest_and_most(found):
        times = ratio(most, fewest, maxima)
        shown = _pairs(fewest, most, _maximum, times)
        yield Evidence(holds=above(times, 1.0), variant=variant, figures=shown)


def _pairs(
    fewest: PrimitiveCell,
    most: PrimitiveCell,
    figure: Callable[[PrimitiveCell], str],
    times: Interval | None,
) -> str:
    each = (f"{cell.case.threads} pairs: {figure(cell)}" for cell in (fewest, most))
    return f"{', '.join(each)}: {times_text(times)}"


def _maximum(cell: PrimitiveCell) -> str:
    low, high = (time_text(pick(cell.maxima_ns)) for pick in (min, max))
    return counted(cell, f"maxima {low} to {high}")


#: Orders of magnitude: from a third of a second on, and hundreds of microseconds.
_SECONDS_NS, _HUNDREDS_NS = 316_000_000, (100_000, 1_000_000)


def seconds_and_hundreds(found: PrimitivesSummary) -> Iterator[Evidence]:
    """Maximum and average of the most pairs, in every repeat."""
    for variant, _, most in _fewest_and_most(found):
        low, high = _HUNDREDS_NS
        held = [
            maximum >= _SECONDS_NS and low <= mean < high
            for maximum, mean in zip(most.maxima_ns, means(most), strict=True)
        ]
        yield Evidence(
            holds=all(held) if len({*held}) == 1 else None,
            variant=variant,
            figures=f"{most.case.threads} pairs: {_maximum(most)}, average"
            f" {time_text(round(most.mean_ns))}",
        )


def halves(cell: PrimitiveCell) -> tuple[Sequence[float], Sequence[float]]:
    found = []
    for means_ns in cell.thread_means_ns:
        half = len(means_ns) // 2
        found.append((sum(means_ns[:half]) / half, sum(means_ns[half:]) / half))
    return [near for near, _ in found], [far for _, far in found]


def _both(found: PrimitivesSummary) -> list[PrimitiveCell]:
    """Raises LackingError where no two groups of CPUs could spin at once."""
    cells = [c for c in _whole(found) if c.case.test == "lock" and c.case.placement == "both"]
    if not cells:
        needs = not_testable("four CPUs, some of which share no last-level cache")
        lock = [why for what, why in found.refused.items() if "both" in what]
        raise LackingError(needs, "; ".join(lock) or "locks were not run")
    return cells


def cache_aware_faster(found: PrimitivesSummary) -> Iterator[Evidence]:
    """Threads without a shared cache against those with one, at the same time."""
    for cell in _both(found):
        near, far = halves(cell)
        times = ratio_interval(far, near)
        a, b = (time_text(round(sum(each) / len(each))) for each in (near, far))
        yield Evidence(
            holds=above(times, 1.0),
            variant={"runtime": cell.case.runtime, "CPUs": cpus_text(cell)},
            figures=f"averages of {counted(cell, f'{a} with a shared cache, {b} without')}:"
            f" {times_text(times)}",
        )


def one_pays(found: PrimitivesSummary) -> Iterator[Evidence]:
    """The slower of the threads without a shared cache against the faster of those with one."""
    for cell in _both(found):
        split = [(each[: len(each) // 2], each[len(each) // 2 :]) for each in cell.thread_means_ns]
        times = ratio_interval([max(far) for _, far in split], [min(near) for near, _ in split])
        yield Evidence(
            holds=above(times, 1.0),
            variant={"runtime": cell.case.runtime, "CPUs": cpus_text(cell)},
            figures=f"slowest without a shared cache to fastest with one:"
            f" {counted(cell, times_text(times))}",
        )
