"""Truth: the thesis, chapter 6, section 4, and summaries by hand whose verdict is plain."""

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from attrs import evolve
from helpers.answers import Capture, answer_of
from helpers.topologies import flat

from deadbeat.base.model.conclusion import (
    CONFIRMED,
    DEPENDS,
    NOT_CONFIRMED,
    UNDECIDED,
    Judgement,
    judge,
)
from deadbeat.base.model.errors import UsageError
from deadbeat.base.model.histogram import Histogram
from deadbeat.base.model.specification import plain_of, read
from deadbeat.base.stats.intervals import ratio_interval
from deadbeat.cli.main import main
from deadbeat.latencies.primitives.cases import PrimitiveCase, cases, part_of, parts, plan, resolved
from deadbeat.latencies.primitives.document import answer, document
from deadbeat.latencies.primitives.engine import SimulatedPrimitives
from deadbeat.latencies.primitives.results import PrimitiveCell, PrimitivesSummary, cell_of
from deadbeat.latencies.primitives.runs import PrimitivesStore, WarmUp
from deadbeat.latencies.primitives.spec import PrimitivesSpec, presets
from deadbeat_papers.runtimes.presets import FIGURES

ENGINE = SimulatedPrimitives()
TOPOLOGY = ENGINE.topology
KB = 1024


def asked(name: str, **more: object) -> PrimitivesSpec:
    layer = {**presets()[name].layer, "preset": name, "runtimes": "native,jvm:25:G1"}
    return resolved(read(PrimitivesSpec, layer, more), TOPOLOGY)


def summary(*cells: PrimitiveCell, refused: dict[str, str] | None = None) -> PrimitivesSummary:
    return PrimitivesSummary(
        name="by-hand",
        spec=PrimitivesSpec(),
        done=1,
        labels=(),
        findings=(),
        refused=refused or {},
        cells=cells,
        clock_cost_ps=0,
        sample_cost_ps=0,
        resolution_ns=1,
    )


def cell(
    test: str,
    means: Sequence[float],
    *,
    runtime: str = "native",
    size: int = 0,
    threads: int = 16,
    handler: str = "above",
    maxima: Sequence[int] = (),
    of_threads: Sequence[Sequence[float]] = (),
    placement: str = "all",
) -> PrimitiveCell:
    """A cell of three repeats with these averages."""
    case = PrimitiveCase(test, "", size, placement, runtime, threads, handler)
    return PrimitiveCell(
        case=case,
        runs=len(means),
        batch=1,
        resolution_ns=1,
        times=Histogram.of(np.array([round(mean) for mean in means], np.int64)),
        repeats=tuple(range(1, len(means) + 1)),
        means_ns=tuple(means),
        thread_means_ns=tuple(map(tuple, of_threads)),
        medians_ns=tuple(map(round, means)),
        p99s_ns=tuple(map(round, means)),
        maxima_ns=tuple(maxima or map(round, means)),
        stall_ns=0,
        looked=0,
        tagged=0,
        worst=None,
    )


def verdict(id: str, *cells: PrimitiveCell, refused: dict[str, str] | None = None) -> Judgement:
    (conclusion,) = (c for c in presets()["thesis"].conclusions if c.id == id)
    found = judge(conclusion, summary(*cells, refused=refused))
    assert found is not None
    return found


# --- the figures ---


def test_every_figure_from_7_to_13_is_a_preset() -> None:
    assert {*presets()} == {*(f"thesis-fig{number}" for number in range(7, 14)), "thesis"}


@pytest.mark.parametrize(
    ("number", "words", "expected"),
    [
        (7, ("test", "variant", "size", "threads", "placement"),
         {("alloc", "ring", size * KB, 16, "all") for size in range(1, 11)}),
        # from the whole cache, 6 MB for two CPUs of the thesis's machine, to a 1024th of it
        (9, ("size", "threads", "placement"),
         {(6 * KB * 2**power, 16, "cache") for power in range(11)}),
        (11, ("threads", "handler", "placement"),
         {(pairs, way, "same") for pairs in (8, 16, 32, 64, 128) for way in ("above", "equal")}),
        (13, ("variant", "threads", "place"),
         {("tas", 4, place) for place in ("both", "both1", "both2")}),
    ],
)  # fmt: skip
def test_a_figure_asks_what_the_thesis_says(
    number: int, words: tuple[str, ...], expected: set[tuple[object, ...]]
) -> None:
    runs, refused = cases(asked(f"thesis-fig{number}", runtimes="native"), TOPOLOGY)
    assert not refused
    assert {tuple(getattr(case, word) for word in words) for case in runs} == expected


def test_the_threads_of_a_figure_are_real_time_and_each_runtime_has_its_own_way() -> None:
    spec = asked("thesis-fig7")
    runs, _ = cases(spec, TOPOLOGY)
    assert {(case.variant, case.runtime) for case in runs} == {
        *(("ring", "native"), ("heap", "jvm:25:G1"))
    }
    part = part_of(spec, runs[0], TOPOLOGY)
    assert (part.policy, part.priority) == ("fifo", 30)


def test_all_figures_together_run_what_two_of_them_show_once() -> None:
    every = [case for n in range(7, 14) for case in cases(asked(f"thesis-fig{n}"), TOPOLOGY)[0]]
    assert {*cases(asked("thesis"), TOPOLOGY)[0]} == {*every}
    assert len(every) > len({*every})


def test_a_case_is_run_with_what_its_part_says() -> None:
    spec = asked("thesis-fig9", runtimes="native")
    samples = {
        case.size: part_of(spec, case, TOPOLOGY).samples for case in cases(spec, TOPOLOGY)[0]
    }
    assert samples[6 * KB * KB] == 40
    assert samples[6 * KB] == 4000
    assert all(not part.preset for part in parts(spec))


def test_what_a_preset_says_cannot_be_changed_beside_it(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["primitives", "--preset", "thesis-fig7", "--simulated"]
    assert main([*words, "--sizes", "1K", "--threads", "2"]) == 2
    said = capsys.readouterr().err
    assert "--sizes: cannot change the preset thesis-fig7" in said
    assert "--threads: cannot change the preset thesis-fig7" in said
    with pytest.raises(UsageError, match="thesis-fig14"):
        read(PrimitivesSpec, {"preset": "thesis-fig14"})
    assert asked("thesis-fig7", repeats=5, policy="rr").repeats == 5


# --- every preset, made up ---


def made_up(name: str) -> PrimitivesSummary:
    spec = asked(name, repeats=2)
    groups: dict[PrimitiveCase, PrimitiveCell] = {}
    runs = [
        ENGINE.run(part_of(spec, key.case, TOPOLOGY), key) for key in sorted(plan(spec, TOPOLOGY))
    ]
    for case in cases(spec, TOPOLOGY)[0]:
        groups[case] = cell_of(case, [run for run in runs if run.key.case == case])
    found = summary(*groups.values(), refused=cases(spec, TOPOLOGY)[1])
    return evolve(found, spec=spec, labels=("SIMULATED",))


@pytest.mark.parametrize("name", [preset.name for preset in FIGURES])
def test_every_figure_has_its_chart_and_its_verdicts(name: str) -> None:
    found = made_up(name)
    page = document(found, ENGINE.describe())
    figure = page.charts[0]
    assert figure.name == name
    assert all(panel.curves for panel in figure.panels)
    assert len(found.judgements) == len(presets()[name].conclusions)
    assert all(each.labels == ("SIMULATED",) for each in found.judgements)
    assert page.about
    said = " ".join(answer(found))
    assert said.startswith("Simulated: Of ")
    assert "published statement" in said


def test_the_command_makes_the_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["primitives", "--preset", "thesis-fig13", "--simulated", "--repeats", "2"]
    assert main([*words, "--runs", str(tmp_path), "--no-figures"]) == 0
    said = capsys.readouterr()
    assert "SIMULATED" in said.out
    page = (tmp_path / "thesis-fig13" / "report.html").read_text(encoding="utf-8")
    for part in ("Cache-aware locking outperforms", "Not testable here: needs a real-time JVM"):
        assert part in page
    # the same command continues, and its verdicts are in the answer for programs
    assert main(["show", "thesis-fig13", "--runs", str(tmp_path), "--json"]) == 0
    told = answer_of(capsys.readouterr().out)["conclusions"]
    (faster,) = (each for each in told if each["id"] == "cache-aware-faster")
    groups = [each["variant"]["CPUs"] for each in faster["evidence"]]
    assert groups == ["7,5/0,1", "7,5/6,3", "6,4/0,1"], (
        "two and two share a cache, as in the thesis"
    )
    assert faster["verdict"] == "confirmed", (
        "as made up: a thread without a shared cache takes thrice"
    )
    assert all(f"native, CPUs {each}" in page for each in groups), "all in one picture"


def test_a_quick_figure_has_runs_of_the_quick_length(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["primitives", "--preset", "thesis-fig8", "--quick", "--simulated", "--no-figures"]
    assert main([*words, "--runs", str(tmp_path)]) == 0
    assert "published statement" in capsys.readouterr().out
    spec = json.loads((tmp_path / "thesis-fig8-quick" / "experiment.json").read_text())["spec"]
    assert (spec["duration"], spec["repeats"], spec["preset"]) == (0.1, 3, "thesis-fig8")
    assert sum(word.startswith("jvm") for word in spec["runtimes"]) == 1


def test_a_figure_that_a_machine_cannot_show_is_a_page_that_says_so() -> None:
    """Figure 13 needs CPUs that share no cache; two of one cache show nothing."""
    spec = read(PrimitivesSpec, {**presets()["thesis-fig13"].layer, "preset": "thesis-fig13"}, {})
    machine = flat(0, 1)
    found = resolved(spec, machine)
    runs, refused = cases(found, machine)
    assert not runs and "no two of CPUs 0,1 are without a shared cache" in refused.values()
    empty = evolve(summary(refused=refused), spec=found, done=0)
    (first,) = answer(empty)
    assert first.startswith("Nothing of this is testable here: no two of CPUs")


# --- verdicts ---


def test_a_ratio_is_of_the_same_repeats() -> None:
    """By hand: logarithms of 2, 2, 2 do not spread; of 1 and 4 they do by ln 4."""
    assert ratio_interval([20, 40, 60], [10, 20, 30]) == pytest.approx((2, 2))
    wide = ratio_interval([1, 4], [1, 1])
    assert wide.low * wide.high == pytest.approx(4)  # around 2
    # Student's t of one degree at 97.5 %: 12.706; half of ln 4 is the standard error
    assert np.log(wide.high / 2) == pytest.approx(12.706 * np.log(4) / 2, rel=1e-4)
    assert ratio_interval([1], [1]) is None
    assert ratio_interval([1, 0], [1, 1]) is None


#: Averages of three repeats that differ by a per cent, and by a factor.
CALM, WILD = (100.0, 101.0, 99.0), (10.0, 100.0, 1000.0)


def times(factor: float, means: Sequence[float] = CALM) -> list[float]:
    return [factor * mean for mean in means]


def java(test: str, means: Sequence[float], **more: int) -> PrimitiveCell:
    return cell(test, means, runtime="jvm:25:G1", **more)


@pytest.mark.parametrize(
    ("native", "expected"), [(times(2), CONFIRMED), (times(1), NOT_CONFIRMED), (WILD, UNDECIDED)]
)
def test_a_runtime_differs_where_its_interval_does(native: Sequence[float], expected: str) -> None:
    cells = (cell("alloc", native, size=KB), java("alloc", CALM, size=KB))
    assert verdict("allocation-by-runtime", *cells).verdict == expected


def test_where_only_some_sizes_differ_it_depends_on_size() -> None:
    cells = [cell("copy", times(2), size=KB), java("copy", CALM, size=KB)]
    cells += [cell("copy", CALM, size=2 * KB), java("copy", CALM, size=2 * KB)]
    found = verdict("copy-by-runtime", *cells)
    assert (found.verdict, found.on) == (DEPENDS, ("size",))


def test_one_runtime_is_no_comparison() -> None:
    found = verdict("allocation-by-runtime", cell("alloc", CALM, size=KB))
    assert found.verdict == "not testable here: needs two runtimes"


def real_time(test: str, means: Sequence[float], **more: int) -> PrimitiveCell:
    return cell(test, means, runtime="external:vm", **more)


@pytest.mark.parametrize(
    ("id", "test"),
    [
        ("copy-real-time-vm-slower", "copy"),
        ("shared-copy-real-time-vm-slower", "copy_shared"),
        ("lock-real-time-vm-slower", "lock"),
    ],
)
def test_a_real_time_vm_is_judged_where_there_is_one(id: str, test: str) -> None:
    plain = java(test, CALM, size=KB)
    assert verdict(id, plain).verdict.startswith("not testable here: needs a real-time JVM")
    assert verdict(id, plain, real_time(test, times(9), size=KB)).verdict == CONFIRMED
    assert verdict(id, plain, real_time(test, CALM, size=KB)).verdict == NOT_CONFIRMED
    # of another size it is no comparison
    other = real_time(test, times(9), size=2 * KB)
    assert verdict(id, plain, other).verdict.startswith("not testable here")


SIZES = [2**power * KB for power in range(0, 13, 2)]  # 1 KB to 4 MB; the 64th part is 64 KB


def shared(factors: Sequence[float], runtime: str = "native") -> list[PrimitiveCell]:
    """A byte costs 0.1 ns times its factor."""
    return [
        cell("copy_shared", times(size * factor / 1000), runtime=runtime, size=size)
        for size, factor in zip(SIZES, factors, strict=True)
    ]


FLAT, KNEE = [1.0] * 7, [1.0, 1.0, 1.0, 1.0, 1.0, 1.5, 4.0]


def test_a_copy_degrades_where_a_byte_costs_more() -> None:
    found = verdict("shared-copy-degrades", *shared(KNEE))
    assert found.verdict == CONFIRMED
    (evidence,) = found.evidence
    assert "4 times" in evidence.figures
    assert "a byte costs more from 1 MB on" in evidence.figures
    assert "17 times the size" in evidence.figures
    assert verdict("shared-copy-degrades", *shared(FLAT)).verdict == NOT_CONFIRMED
    both = (*shared(KNEE), *shared(FLAT, "jvm:25:G1"))
    found = verdict("shared-copy-degrades", *both)
    assert (found.verdict, found.on) == (DEPENDS, ("runtime",))


def test_a_byte_is_insensitive_where_it_costs_the_same_at_every_size() -> None:
    assert verdict("byte-insensitive", *shared(FLAT)).verdict == CONFIRMED
    assert verdict("byte-insensitive", *shared(KNEE)).verdict == NOT_CONFIRMED
    noisy = cell("copy_shared", times(SIZES[-1] / 1000, WILD), size=SIZES[-1])
    assert verdict("byte-insensitive", *shared(FLAT)[:-1], noisy).verdict == UNDECIDED


def event(pairs: int, means: Sequence[float], handler: str, *maxima: int) -> PrimitiveCell:
    place = {"handler": handler, "threads": pairs, "placement": "same"}
    return cell("event", means, maxima=maxima, **place)  # type: ignore[arg-type]


def test_the_average_of_events_depends_on_the_handlers_priority() -> None:
    """As measured here: docs of the seed say hundreds of us, equal priority shows them."""
    above = [event(8, times(1), "above"), event(128, times(1.1), "above")]
    equal = [event(8, times(1), "equal"), event(128, times(16), "equal")]
    assert verdict("dispatch-average-constant", *above).verdict == CONFIRMED
    assert verdict("dispatch-average-constant", *equal).verdict == NOT_CONFIRMED
    found = verdict("dispatch-average-constant", *above, *equal)
    assert (found.verdict, found.on) == (DEPENDS, ("handler's priority",))
    noisy = [event(8, CALM, "above"), event(128, WILD, "above")]
    assert verdict("dispatch-average-constant", *noisy).verdict == UNDECIDED


def test_the_maximum_of_events_grows_where_its_interval_does() -> None:
    few = event(8, CALM, "above", 1000, 1100, 1050)
    grown = event(128, CALM, "above", 5000, 5500, 5100)
    assert verdict("dispatch-maximum-grows", few, grown).verdict == CONFIRMED
    (evidence,) = verdict("dispatch-maximum-grows", few, grown).evidence
    assert "of 3 samples in 3 repeats" in evidence.figures  # denominators
    shrunk = event(128, CALM, "above", 500, 550, 510)
    assert verdict("dispatch-maximum-grows", few, shrunk).verdict == NOT_CONFIRMED
    wild = event(128, CALM, "above", 500, 5000, 50_000)
    assert verdict("dispatch-maximum-grows", few, wild).verdict == UNDECIDED


def test_seconds_and_hundreds_of_microseconds_are_looked_for_in_every_repeat() -> None:
    second = 10**9
    few = event(8, CALM, "above")
    slow = event(128, [200e3] * 3, "above", second, 2 * second, second)
    assert verdict("dispatch-seconds", few, slow).verdict == CONFIRMED
    fast = event(128, [2e3] * 3, "above", 50_000, 50_000, 50_000)
    assert verdict("dispatch-seconds", few, fast).verdict == NOT_CONFIRMED
    once = event(128, [200e3] * 3, "above", second, 50_000, 50_000)
    assert verdict("dispatch-seconds", few, once).verdict == UNDECIDED


def lock(near: float, far: float, *, wild: bool = False) -> PrimitiveCell:
    scale = (1.0, 10.0, 0.1) if wild else (1.0, 1.01, 0.99)
    of_threads = [[near, near, far * each, far * each] for each in scale]
    return cell("lock", CALM, threads=4, placement="both", of_threads=of_threads)


@pytest.mark.parametrize("id", ["cache-aware-faster", "one-thread-pays"])
def test_locks_with_and_without_a_shared_cache(id: str) -> None:
    assert verdict(id, lock(50, 200)).verdict == CONFIRMED
    assert verdict(id, lock(200, 50)).verdict == NOT_CONFIRMED
    assert verdict(id, lock(100, 110, wild=True)).verdict == UNDECIDED


def test_a_machine_of_one_cache_is_told_what_it_lacks() -> None:
    why = "no two of CPUs 0,1 are without a shared cache"
    found = verdict("cache-aware-faster", refused={"threads both": why})
    needs = "four CPUs, some of which share no last-level cache"
    assert found.verdict == f"not testable here: needs {needs}"
    assert found.evidence[0].figures == why


def test_one_repeat_tells_nothing() -> None:
    cells = (cell("alloc", [200.0], size=KB), java("alloc", [100.0], size=KB))
    found = verdict("allocation-by-runtime", *cells)
    assert found.verdict == UNDECIDED
    assert "one repeat gives no interval" in found.evidence[0].figures


@pytest.mark.parametrize(
    ("slower", "steady", "expected"),
    [(9, True, CONFIRMED), (1, True, NOT_CONFIRMED), (9, False, UNDECIDED), (1, False, UNDECIDED)],
)
def test_a_jvm_that_never_got_steady_decides_nothing(
    tmp_path: Path, capsys: Capture, slower: int, steady: bool, expected: str
) -> None:
    """From stored runs to the answer."""
    layer = {"preset": "thesis-fig8", "tests": "copy", "samples": 9, "sizes": "1024"}
    spec = resolved(read(PrimitivesSpec, layer), TOPOLOGY)
    PrimitivesStore.create(tmp_path / "r", plain_of(spec), ENGINE.describe())
    store = PrimitivesStore.open(tmp_path / "r")
    for key in plan(spec, TOPOLOGY):
        run = ENGINE.run(spec, key)
        store.keep(run)
        threads = [evolve(each, times=scaled(each.times, slower)) for each in run.threads]
        vm = evolve(key, case=evolve(key.case, runtime="jvm:25:G1"))
        warm_up = WarmUp(windows=100, steady=steady)
        store.keep(evolve(run, key=vm, warm_up=warm_up, threads=tuple(threads)))
    assert main(("show", "r", "--runs", str(tmp_path), "--json")) == 0
    (_, found) = answer_of(capsys.readouterr().out)["conclusions"]
    assert found["verdict"] == expected
    why = "jvm:25:G1 never got steady: "
    assert {each["figures"].startswith(why) for each in found["evidence"]} == {not steady}


def scaled(times: Histogram, factor: int) -> Histogram:
    return Histogram.of(np.full(times.total, factor * times.sum_ns // times.total))
