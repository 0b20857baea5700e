"""Figures 7 to 13 of the thesis, and all of them in one."""

from __future__ import annotations

from collections.abc import Mapping

from deadbeat import Conclusion, PrimitivesPreset, PrimitivesSummary
from deadbeat_papers.claims import claims
from deadbeat_papers.runtimes import charts, telling

_SOURCE = (
    "The thesis timed JamaicaVM and plain Java on two quad-core Xeon E5405 of 2 GHz, two cores of"
    " which share 6 MB of cache."
)
_HERE = "Here each runtime stands for itself; external:NAME is a real-time JVM of yours."
_THREADS = "16 threads under SCHED_FIFO 30, round robin over all CPUs"
#: Runs end with their count; these are for what would not.
_LAYER: Mapping[str, object] = {"duration": 3, "allocators": "libc"}
_KILOBYTES = ",".join(f"{size}K" for size in range(1, 11))

_ALLOC: Mapping[str, object] = {
    "tests": "alloc:heap,alloc:ring",
    "sizes": _KILOBYTES,
    "placements": "all",
    "threads": 16,
    "samples": 2000,
}
_COPY: Mapping[str, object] = {**_ALLOC, "tests": "copy"}


def _shared(shares: str, samples: int) -> Mapping[str, object]:
    return {
        "tests": "copy_shared",
        "shares": shares,
        "placements": "cache",
        "threads": 16,
        "samples": samples,
    }


#: A copy of the whole cache takes a thousand times what one of its thousandth part does.
_SHARED = (_shared("1,2,4", 40), _shared("8,16,32", 400), _shared("64,128,256,512,1024", 4000))
_EVENT: Mapping[str, object] = {
    "tests": "event:condvar,event:monitor",
    "placements": "same",
    "threads": "8,16,32,64,128",
    "handlers": "above,equal",
    "samples": 500,
}
_LOCK: Mapping[str, object] = {
    "tests": "lock:tas",
    "placements": "both",
    "threads": 4,
    "samples": 10_000,
}

_CLAIMS = claims(__file__, vars(telling), Conclusion)
_CACHE = (
    "16 threads under SCHED_FIFO 30 on the CPUs of one last-level cache (the thesis: two)."
    f" {_SOURCE} {_HERE} The source is 1/1 to 1/1024 of the cache; a destination as large belongs"
    " to each thread, so that all of it is 17 times the source."
)
_DISPATCH = (
    "Pairs of a firer and its handler on one CPU, round robin over all CPUs, SCHED_FIFO 30."
    f" {_SOURCE} {_HERE} The thesis does not say the handlers' priority: above their firers' and"
    " equal are both tried. A monitor in Java, a condition variable natively. Every pair takes as"
    " many samples: 128 pairs take 16 times those of 8."
)


def _figure(
    number: int, title: str, about: str, chart: charts.Builder, *parts: Mapping[str, object]
) -> PrimitivesPreset[PrimitivesSummary]:
    return PrimitivesPreset(
        name=f"thesis-fig{number}",
        title=title,
        about=about,
        layer=_LAYER,
        parts=parts,
        charts=(chart,),
        conclusions=_CLAIMS[f"thesis-fig{number}"],
    )


FIGURES = (
    _figure(
        7,
        "Memory allocation: 1 to 10 KB on the heap",
        f"{_THREADS}. {_SOURCE} {_HERE} malloc of native programs keeps 64 objects a thread. The"
        " text states no result of this figure.",
        charts.by_size(7, "alloc", "Memory allocation"),
        _ALLOC,
    ),
    _figure(
        8,
        "Memory copy: 1 to 10 KB, private to private",
        f"{_THREADS}. {_SOURCE} {_HERE}",
        charts.by_size(8, "copy", "Memory copy"),
        _COPY,
    ),
    _figure(
        9,
        "Copying a shared source of up to the cache's size",
        _CACHE,
        charts.by_size(9, "copy_shared", "Shared cache copy", x_log=True),
        *_SHARED,
    ),
    _figure(
        10,
        "What a byte of it costs",
        _CACHE,
        charts.by_size(10, "copy_shared", "Cost of a byte", per_byte=True, x_log=True),
        *_SHARED,
    ),
    _figure(
        11,
        "Event dispatch of 8 to 128 pairs: average",
        _DISPATCH,
        charts.by_pairs(11, telling.means, "Average of event dispatch"),
        _EVENT,
    ),
    _figure(
        12,
        "Event dispatch of 8 to 128 pairs: maximum",
        _DISPATCH,
        charts.by_pairs(12, telling.maxima, "Maximum of event dispatch"),
        _EVENT,
    ),
    _figure(
        13,
        "Spin locks with and without a shared cache, at the same time",
        f"Two threads spin for one lock on CPUs that share a cache, two for another on CPUs that"
        f" do not, at once. {_SOURCE} {_HERE} --groups says which CPUs; the thesis tried three"
        " pairs of groups.",
        charts.by_thread,
        _LOCK,
    ),
)
ALL = PrimitivesPreset(
    name="thesis",
    title="All figures of the benchmark of the thesis",
    about=f"{_SOURCE} {_HERE} Figures 9 and 10, and 11 and 12, show the same runs.",
    layer=_LAYER,
    parts=(_ALLOC, _COPY, *_SHARED, _EVENT, _LOCK),
    charts=tuple(chart for figure in FIGURES for chart in figure.charts),
    conclusions=tuple(each for figure in FIGURES for each in figure.conclusions),
)
PRESETS = (*FIGURES, ALL)
