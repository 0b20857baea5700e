"""Figures 7 to 13 of the thesis, and all of them in one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from deadbeat import Conclusion, PrimitivesPreset
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

_PAIRED = "by Student's 95 % interval over repeats"


def _more(what: str, other: str, factor: float = 1.0) -> str:
    times = f"{factor:g} times " if factor != 1 else ""
    return f"{what} is above {times}{other}, {_PAIRED}"


_SLOWER = _more("a real-time JVM's average", "plain Java's", telling.SAME)


def _differ(test: str, id: str, says: str) -> Conclusion[Any]:
    return Conclusion(
        id=id,
        says=says,
        confirmed=f"at every size the average differs from plain Java's by more than"
        f" {100 * (telling.SAME - 1):.0f} %, {_PAIRED}",
        check=telling.runtimes_differ(test),
    )


FIGURE_7 = PrimitivesPreset(
    name="thesis-fig7",
    title="Memory allocation: 1 to 10 KB on the heap",
    about=f"{_THREADS}. {_SOURCE} {_HERE} malloc of native programs keeps 64 objects a thread. The"
    " text states no result of this figure.",
    layer=_LAYER,
    parts=(_ALLOC,),
    charts=(charts.by_size(7, "alloc", "Memory allocation"),),
    conclusions=(
        _differ(
            "alloc",
            "allocation-by-runtime",
            "An allocation takes another time in one runtime than in another (what Figure 7 draws;"
            " the text states no result)",
        ),
    ),
)
FIGURE_8 = PrimitivesPreset(
    name="thesis-fig8",
    title="Memory copy: 1 to 10 KB, private to private",
    about=f"{_THREADS}. {_SOURCE} {_HERE}",
    layer=_LAYER,
    parts=(_COPY,),
    charts=(charts.by_size(8, "copy", "Memory copy"),),
    conclusions=(
        Conclusion(
            id="copy-real-time-vm-slower",
            says="The copy performance of Jamaica is worse than that of plain Java, due to how it"
            " implements arrays",
            confirmed=_SLOWER,
            check=telling.real_time_slower("copy"),
        ),
        _differ(
            "copy",
            "copy-by-runtime",
            "A copy takes another time in one runtime than in another (what Figure 8 draws)",
        ),
    ),
)

_CACHE = (
    "16 threads under SCHED_FIFO 30 on the CPUs of one last-level cache (the thesis: two)."
    f" {_SOURCE} {_HERE} The source is 1/1 to 1/1024 of the cache; a destination as large belongs"
    " to each thread, so that all of it is 17 times the source."
)
FIGURE_9 = PrimitivesPreset(
    name="thesis-fig9",
    title="Copying a shared source of up to the cache's size",
    about=_CACHE,
    layer=_LAYER,
    parts=_SHARED,
    charts=(charts.by_size(9, "copy_shared", "Shared cache copy", x_log=True),),
    conclusions=(
        Conclusion(
            id="shared-copy-degrades",
            says="As its size increases to the L2 cache size, the performance degrades",
            confirmed=_more(
                "what a byte costs of a source of the cache's size",
                f"that of one of 1/{telling.REFERENCE_SHARE} of it",
                telling.SAME,
            ),
            check=telling.degrades,
        ),
        Conclusion(
            id="shared-copy-real-time-vm-slower",
            says="The Jamaica VM performance is somehow worse than that of Java",
            confirmed=_SLOWER,
            check=telling.real_time_slower("copy_shared"),
        ),
    ),
)
FIGURE_10 = PrimitivesPreset(
    name="thesis-fig10",
    title="What a byte of it costs",
    about=_CACHE,
    layer=_LAYER,
    parts=_SHARED,
    charts=(charts.by_size(10, "copy_shared", "Cost of a byte", per_byte=True, x_log=True),),
    conclusions=(
        Conclusion(
            id="byte-insensitive",
            says="The cost per byte of Jamaica VM is insensitive to the increase of the array size"
            " (tried of every runtime here)",
            confirmed=f"at every size within {telling.INSENSITIVE:g} times that of"
            f" 1/{telling.REFERENCE_SHARE} of the cache, {_PAIRED}",
            check=telling.insensitive,
        ),
    ),
)

_DISPATCH = (
    "Pairs of a firer and its handler on one CPU, round robin over all CPUs, SCHED_FIFO 30."
    f" {_SOURCE} {_HERE} The thesis does not say the handlers' priority: above their firers' and"
    " equal are both tried. A monitor in Java, a condition variable natively. Every pair takes as"
    " many samples: 128 pairs take 16 times those of 8."
)
FIGURE_11 = PrimitivesPreset(
    name="thesis-fig11",
    title="Event dispatch of 8 to 128 pairs: average",
    about=_DISPATCH,
    layer=_LAYER,
    parts=(_EVENT,),
    charts=(charts.by_pairs(11, telling.means, "Average of event dispatch"),),
    conclusions=(
        Conclusion(
            id="dispatch-average-constant",
            says="The average dispatch time stays somehow constant with the number of threads",
            confirmed=f"from the fewest to the most pairs it changes by less than a factor of"
            f" {telling.CONSTANT:g}, {_PAIRED}",
            check=telling.average_constant,
        ),
    ),
)
FIGURE_12 = PrimitivesPreset(
    name="thesis-fig12",
    title="Event dispatch of 8 to 128 pairs: maximum",
    about=_DISPATCH,
    layer=_LAYER,
    parts=(_EVENT,),
    charts=(charts.by_pairs(12, telling.maxima, "Maximum of event dispatch"),),
    conclusions=(
        Conclusion(
            id="dispatch-maximum-grows",
            says="The maximum dispatch delay grows naturally with the number of threads",
            confirmed=_more("the maximum of the most pairs", "that of the fewest"),
            check=telling.maximum_grows,
        ),
        Conclusion(
            id="dispatch-seconds",
            says="The maximum delays are on the order of seconds, while the average delays are"
            " worth hundreds of microseconds",
            confirmed="with the most pairs, in every repeat: a maximum above 316 ms, and an average"
            " from 100 us to 1 ms",
            check=telling.seconds_and_hundreds,
        ),
    ),
)
FIGURE_13 = PrimitivesPreset(
    name="thesis-fig13",
    title="Spin locks with and without a shared cache, at the same time",
    about=f"Two threads spin for one lock on CPUs that share a cache, two for another on CPUs that"
    f" do not, at once. {_SOURCE} {_HERE} --groups says which CPUs; the thesis tried three pairs of"
    " groups.",
    layer=_LAYER,
    parts=(_LOCK,),
    charts=(charts.by_thread,),
    conclusions=(
        Conclusion(
            id="cache-aware-faster",
            says="Cache-aware locking outperforms non-cached locking",
            confirmed=_more(
                "the average of the threads without a shared cache", "that of those with one"
            ),
            check=telling.cache_aware_faster,
        ),
        Conclusion(
            id="one-thread-pays",
            says="For non-cached locking at least one of the threads 3 and 4 is constantly hit by"
            " synchronizing penalties",
            confirmed=_more("the slower of threads 3 and 4", "the faster of 1 and 2"),
            check=telling.one_pays,
        ),
        Conclusion(
            id="lock-real-time-vm-slower",
            says="In absolute values, Jamaica VM performs one order of magnitude poorer than Java",
            confirmed=_more("a real-time JVM's average", "plain Java's", 3.16),
            check=telling.real_time_slower("lock", factor=3.16),
        ),
    ),
)
FIGURES = (FIGURE_7, FIGURE_8, FIGURE_9, FIGURE_10, FIGURE_11, FIGURE_12, FIGURE_13)

ALL = PrimitivesPreset(
    name="thesis",
    title="All figures of the benchmark of the thesis",
    about=f"{_SOURCE} {_HERE} Figures 9 and 10, and 11 and 12, show the same runs.",
    layer=_LAYER,
    parts=(_ALLOC, _COPY, *_SHARED, _EVENT, _LOCK),
    charts=tuple(chart for figure in FIGURES for chart in figure.charts),
    conclusions=tuple(each for figure in FIGURES for each in figure.conclusions),
)
