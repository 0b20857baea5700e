"""The page and the figures of a latency matrix. Truth: a made-up machine, and hand-made runs."""

import numpy as np
import pytest
from attrs import evolve
from helpers.latencies import load_of, made_up_runs, seen_of
from helpers.latency_series import cpu_of
from helpers.latency_series import run_of as run_of_cpus
from helpers.pages import Page

from deadbeat.base.model.finding import Finding
from deadbeat.base.model.histogram import Histogram
from deadbeat.base.model.words import seconds_text, time_text
from deadbeat.base.report import html as html_of
from deadbeat.base.report.charts import Curve
from deadbeat.latencies.latency import words
from deadbeat.latencies.latency.charts import (
    level_curve,
    limits_of,
    machine_charts,
)
from deadbeat.latencies.latency.document import (
    latency_charts,
    latency_document,
    matrix_table,
)
from deadbeat.latencies.latency.histograms import (
    Named,
    binned,
    by_cpu,
    edges_of,
    histogram_charts,
    overlaid,
    shown_cpus,
    tail_curve,
)
from deadbeat.latencies.latency.model import IDLE, LatencyKey, LatencyRun, LoadPoint
from deadbeat.latencies.latency.split import causes_table, costs_table, split_charts, unavailable
from deadbeat.latencies.latency.summarise import summarise_latency
from deadbeat.latencies.latency.summary import Quantity
from deadbeat.latencies.latency.words import (
    interrupt_pairs,
    interval_text,
    machine_pairs,
)
from deadbeat.machine.trace.paths import PathSplit, WorstTraced

LOADS = (IDLE, LoadPoint("cpu", 50), LoadPoint("memory", 100))


def run_of(latencies_us: list[int], *, repeat: int = 0, **more) -> LatencyRun:
    """A run whose CPU saw exactly these latencies, a millisecond apart."""
    seen = cpu_of([value * 1000 for value in latencies_us], ring=3)
    return evolve(run_of_cpus(evolve(seen, corrected=seen.raw), repeat=repeat), **more)


@pytest.fixture(scope="module")
def runs() -> list[LatencyRun]:
    made = made_up_runs(loads=LOADS, repeats=3, seconds=0.5)
    lost = Finding(id="load-not-reached", severity="invalid", message="CPU 1: 61 % of 100 %")
    stolen = Finding(id="steal", severity="warning", message="0.4 % stolen")
    made[2] = evolve(made[2], problems=(lost,))
    made[0] = evolve(made[0], problems=(stolen,))
    return made


def rendered(summary, runs, **more) -> str:
    return html_of.page(latency_document(summary, runs, **more))


def test_without_a_valid_run_nothing_is_claimed(runs):
    lost = Finding(id="died", severity="invalid", message="stress-ng died")
    none = summarise_latency([evolve(run, problems=(lost,)) for run in runs], name="none")
    assert words.sentence(none).startswith("No valid run has a wake-up")
    page = Page(rendered(none, []))
    assert "0 of 9 runs count" in page.text
    assert "no valid run (3 invalid)" in page.text
    assert "stress-ng died" in page.text
    assert all(panel.blank for chart in latency_charts(none, []) for panel in chart.panels)


def test_every_wake_up_is_in_a_bin_and_none_is_there_twice(runs):
    histograms = [cpu.raw for run in runs for cpu in run.cpus]
    edges = edges_of(histograms)
    for histogram in histograms:
        assert binned(histogram, edges).sum() == histogram.total
    rng = np.random.default_rng(3)
    values = rng.integers(2_000, 3_000_000, 400)
    edges = edges_of([Histogram.of(values)])
    expected, _ = np.histogram(values, bins=edges)
    # A bucket is never wider than a thousandth: at most its own values can lie across an edge.
    moved = np.abs(np.cumsum(expected) - np.cumsum(binned(Histogram.of(values), edges)))
    assert moved.max() <= 2


def test_bins_of_a_coarse_clock_are_whole_steps_of_it():
    coarse = Histogram.of([3_000, 4_000, 5_000, 90_000], resolution_ns=1_000)
    edges = edges_of([coarse])
    assert (edges % 1_000 == 0).all()
    assert edges[0] == 3_000
    assert edges[-1] > 90_000
    assert binned(coarse, edges)[:3].tolist() == [1, 1, 1]
    even = Histogram.of(range(2_000, 100_000, 1_000), resolution_ns=1_000)
    counts = binned(even, np.arange(2_000, 100_001, 1_000))
    assert (counts == 1).all()


def test_overflow_is_drawn_from_where_it_begins():
    values = Histogram.of([5_000] * 10)
    known = Histogram(
        buckets=values.buckets, counts=values.counts, min_ns=5_000, max_ns=90_000,
        sum_ns=200_000, overflow=3, overflow_from_ns=50_000,
    )  # fmt: skip
    edges = edges_of([known])
    counts = binned(known, edges)
    assert counts.sum() == 13
    (place,) = np.flatnonzero(counts == 3)
    assert edges[place] <= 50_000 < edges[place + 1]


def test_a_histogram_ends_with_the_latest_wake_up():
    panel = overlaid([Named(label="CPU 0", histogram=Histogram.of([10_000] * 99 + [83_000]))])
    (curve,) = panel.curves
    filled = [x for x, y in zip(curve.x, curve.y, strict=True) if y >= 1]
    assert panel.x_log
    assert panel.y_log
    assert 75 < max(filled) <= 83
    assert max(curve.y) == 99
    assert curve.y[-1] == panel.y_limits[0] == 0.5


def test_very_many_cpus_are_the_latest_ones_and_the_rest():
    made = [run_of([10, 10, 20 + cpu]) for cpu in range(12)]
    one = evolve(made[0], cpus=tuple(evolve(run.cpus[0], cpu=n) for n, run in enumerate(made)))
    (cell,) = summarise_latency([one]).cells
    named = by_cpu(cell, shown_cpus([cell]))
    assert [item.label for item in named] == [
        *(f"CPU {n} (n = 3)" for n in range(6, 12)), "the other 6 CPUs (n = 18)",
    ]  # fmt: skip
    assert sum(item.histogram.total for item in named) == 36


def test_a_cpu_looks_the_same_in_every_panel():
    one, two = (
        evolve(run_of([10, 20]), cpus=tuple(
            evolve(run_of([10, top]).cpus[0], cpu=cpu) for cpu, top in enumerate(tops)
        ), key=LatencyKey(IDLE, engine, 0))
        for engine, tops in (("a", range(20, 32)), ("b", range(40, 16, -2)))
    )  # fmt: skip
    (chart,) = histogram_charts(summarise_latency([one, two]))
    looks = [{curve.label: curve.look for curve in panel.curves} for panel in chart.panels]
    assert looks[0] == looks[1]
    assert len(set(looks[0].values())) == 7


def test_one_in_n_is_the_value_of_that_rank():
    curve = tail_curve("x", Histogram.of([v * 1000 for v in range(1, 1001)]), look=0)
    told = dict(zip(curve.x, curve.y, strict=True))
    assert told[10] == pytest.approx(900, rel=2e-3)
    assert told[100] == pytest.approx(990, rel=2e-3)
    assert told[1000] == 1000
    assert max(curve.x) == 1000


def test_raw_stands_beside_corrected_where_periods_were_missed():
    short = run_of([10] * 50)
    raw = short.cpus[0].raw
    cpu = evolve(
        short.cpus[0], missed=4, raw=raw + Histogram.of([5_000_000]),
        corrected=raw + Histogram.of([k * 1_000_000 for k in range(1, 6)]),
    )  # fmt: skip
    one = summarise_latency([evolve(short, cpus=(cpu,))])
    plain, corrected = matrix_table(one, cpus=False).texts()
    assert plain[0] == "idle"
    assert corrected[0] == "idle, corrected"
    headings = [column.heading for column in matrix_table(one, cpus=False).columns]
    count, missed, mean = map(headings.index, ("wake-ups", "missed", "mean"))
    assert (plain[count], corrected[count], plain[missed]) == ("51", "55", "4")
    assert (plain[mean], corrected[mean]) == ("107.8", "281.8")


def test_an_interval_of_ten_powers_of_ten_leaves_room_for_the_points():
    wide = Curve(label="x", x=(0.0, 1.0), y=(100.0, 200.0), low=(1e-3, 150.0), high=(1e7, 300.0))
    low, high = limits_of([wide])
    assert 15 < low < 20
    assert 1000 < high < 1400
    assert limits_of([Curve(label="", x=(), y=())]) is None


def test_deadlines_near_the_latest_wake_up_are_marked_and_far_ones_are_not(runs):
    for limit, shown in ((3_000, 0), (50_000, 1), (10_000_000, 0)):
        own = summarise_latency([run for run in runs if run.key.load == IDLE], deadlines_ns=[limit])
        (chart,) = histogram_charts(own)
        (panel,) = chart.panels
        assert len(panel.marks) == shown, limit


def test_an_end_that_is_not_known_is_said_and_not_drawn():
    known = Quantity(name="p99.99", value_ns=31_000.0, low_ns=28_000.0)
    assert interval_text(known) == "31 µs [28 µs, not bounded]"
    assert interval_text(Quantity(name="max", value_ns=31_000.0)) == "31 µs"
    assert interval_text(Quantity(name="max", value_ns=None)) == "–"


def test_stretches_of_time_keep_their_maxima():
    run = run_of([10] * 1000)
    cpu = evolve(run.cpus[0], block_ns=1_000_000, block_maxima=(5_000,) * 999 + (83_000,))
    curve = level_curve([evolve(run, cpus=(cpu,))], 0, look=0, size=1.0)
    assert 190 <= len(curve.x) <= 402
    assert max(curve.y) == 83.0
    assert curve.x[-1] == 1.0
    assert level_curve([run], 0, look=0, size=1.0).x == ()
    gaps = evolve(cpu, block_maxima=(0, 9_000, 0, 0, 8_000), block_ns=200_000_000)
    curve = level_curve([evolve(run, cpus=(gaps,))], 0, look=0, size=1.0)
    assert curve.y == (9.0, 9.0, 9.0, 9.0, 8.0, 8.0)
    unknown = "CPU 0: no wake-up is known here"
    assert [text == unknown for text in curve.texts] == [True, False, True, True, False, False]
    many = [evolve(run, cpus=(evolve(cpu, block_maxima=(5_000, 7_000 + n)),)) for n in range(900)]
    curve = level_curve(many, 0, look=0, size=1.0)
    assert len(curve.x) <= 402
    assert (max(curve.y), curve.x[-1]) == (pytest.approx(7.899), pytest.approx(900.0))


def test_an_invalid_run_is_in_no_picture_and_is_named():
    bad = Finding(id="wrong-priority", severity="invalid", message="had 50")
    good = [run_of([10, 20, 30]), run_of([10, 20, 30], repeat=1)]
    late = run_of([10, 9_000], repeat=2, problems=(bad,))
    whole = summarise_latency([*good, late])
    page = Page(rendered(whole, [*good, late]))
    assert "the latest was 30 µs" in page.text.replace("\xa0", " ")
    assert "2 of 3 runs count" in page.text
    assert "had 50" in page.text
    assert "9000" not in "".join(page.scripts[:1])


def split_run() -> LatencyRun:
    made = {
        "interrupt": Histogram.of([1_000, 3_000]), "wake_up": Histogram.of([2_000, 2_000]),
        "switch": Histogram.of([4_000, 8_000]), "exit": Histogram.of([500, 1_500]),
    }  # fmt: skip
    worst = {
        "due_ns": 900_000_000, "latency_ns": 83_500,
        "interrupt": 3_000, "wake_up": 2_000, "switch": 78_000, "exit": 500,
        "cause": "softirq NET_RX ran 70 us before <it>",
    }  # fmt: skip
    return run_of([10, 83], split=(
        PathSplit(cpu=0, parts=made, worst=WorstTraced(**worst)),
        PathSplit(cpu=1, unavailable="no tracefs here"),
    ))  # fmt: skip


def test_parts_of_the_path_stack_to_the_latency_and_the_worst_has_its_cause():
    run = split_run()
    whole = summarise_latency([run])
    chart, over_time = split_charts(whole.cells)
    (drawn,) = over_time.panels
    assert [mark.label for mark in drawn.marks] == ["timer", "awake"]
    assert drawn.marks[1].at == pytest.approx(83.5)
    assert [layer.begin[0] for layer in drawn.spans[1:]] == [
        layer.end[0] for layer in drawn.spans[:-1]
    ]
    mean, worst = chart.panels
    assert sum(layer.y[0] for layer in mean.bars) == pytest.approx(2 + 2 + 6 + 1)
    assert sum(layer.y[0] for layer in worst.bars) == pytest.approx(83.5)
    assert worst.bars[-1].texts == ("83.5 µs",)
    ((place, *_, cause),) = causes_table(whole.cells).texts()
    assert place == "idle, CPU 0"
    assert cause.startswith("softirq NET_RX")
    assert unavailable(whole.cells) == ("no tracefs here",)
    page = Page(rendered(whole, [run]))
    assert "no tracefs here" in page.text
    assert "softirq NET_RX ran 70 µs before <it>" in page.text


def test_a_worst_wake_up_without_its_events_has_a_latency_and_no_parts():
    run = split_run()
    lost = {"due_ns": 5, "latency_ns": 90_000, "cause": "unknown: events are missing"}
    splits = (evolve(run.split[0], worst=WorstTraced(**lost)),)
    whole = summarise_latency([run, evolve(run, key=evolve(run.key, repeat=1), split=splits)])
    ((_, _, latency, *parts, word, cause),) = causes_table(whole.cells).texts()
    assert latency == "90 µs"
    assert parts == ["–"] * 4
    assert word == "not seen" and cause.startswith("unknown")
    (chart,) = split_charts(whole.cells)
    assert [layer.y for layer in chart.panels[1].bars] == [(None,)] * 4


def test_means_of_parts_sum_to_the_latency_where_some_wake_ups_lack_a_part():
    run = split_run()
    parts = run.split[0].parts | {"exit": Histogram.of([1_500])}
    split = evolve(run.split[0], parts=parts)
    whole = summarise_latency([evolve(run, split=(split,))])
    mean = split_charts(whole.cells)[0].panels[0]
    assert sum(layer.y[0] for layer in mean.bars) == pytest.approx(2 + 2 + 6 + 0.75)


def test_what_tracing_costs_stands_beside_the_runs_that_count():
    run = split_run()
    split = evolve(run.split[0], latency=Histogram.of([9_000, 83_500]), left_out=1, lost=2)
    again = evolve(run, key=evolve(run.key, repeat=1), split=(split,))
    whole = summarise_latency([evolve(run, split=(split,)), again])
    ((place, _, counted, beside, _, slow, left, lost),) = costs_table(whole.cells).texts()
    assert (place, counted, beside, slow) == ("idle, CPU 0", "10 µs", "9.01 µs", "83.5 µs")
    assert (left, lost) == ("2 of 4", "4")
    assert "What tracing costs" in Page(rendered(whole, [run])).text


def test_the_worst_of_a_long_run_is_told_without_a_split():
    run = split_run()
    kept = PathSplit(cpu=0, worst=run.split[0].worst)
    whole = summarise_latency([evolve(run, split=(kept,))])
    ((place, *_, cause),) = causes_table(whole.cells).texts()
    assert (place, cause.split()[0]) == ("idle, CPU 0", "softirq")
    mean, worst = split_charts(whole.cells)[0].panels
    assert [layer.y for layer in mean.bars] == [(None,)] * 4
    assert sum(layer.y[0] for layer in worst.bars) == pytest.approx(83.5)
    assert costs_table(whole.cells).texts() == []


def beside(repeat: int, **more) -> LatencyRun:
    seen = {
        "busy_share": {"0": 0.5 + repeat / 100}, "temperature_mc": {"zone0": [41_000, 45_000]},
        "clocksource": ["tsc", "tsc"], "missing": {"log": "dmesg: not permitted"},
        "interrupts": {"0": {"LOC timer": 1000 + repeat, "27 eth0": 7}}, "readings": 2,
        "stalls": [], "realtime_tasks": [{"name": "migration/0", "policy": "fifo", "priority": 99}],
    }  # fmt: skip
    load = {
        "asked": 50, "achieved": {"0": 0.49, "1": 0.51 + repeat / 100}, "died": "",
        "commands": ["stress-ng --cpu 2"], "throughput": {"bogo-ops": 100 + repeat},
    }  # fmt: skip
    return run_of([10], repeat=repeat, circumstances=seen_of(seen | more), load=load_of(load))


def test_what_the_machine_did_is_drawn_where_it_was_read():
    half = LoadPoint("cpu", 50)
    made = [run_on(half, beside(n)) for n in range(2)]
    (chart,) = machine_charts(made)
    (temperature,) = chart.panels
    assert [c.label for c in temperature.curves] == ["zone0"]
    assert temperature.curves[0].high == (45.0,)
    stolen = [run_on(half, beside(3, steal_share={"0": 0.02, "1": 0.0}))]
    assert [panel.title for panel in machine_charts(stolen)[0].panels] == [
        "Temperature", "Taken by the host",
    ]  # fmt: skip
    assert machine_charts([run_of([10])]) == []


def run_on(load: LoadPoint, run: LatencyRun) -> LatencyRun:
    return evolve(run, key=evolve(run.key, load=load))


def test_circumstances_are_one_value_or_a_range():
    made = [beside(n) for n in range(3)]
    told = dict(machine_pairs(made))
    assert told["busy, CPU 0"] == "50 to 52 %"
    assert told["temperature, zone0"] == "41 to 45 °C"
    assert told["clock source"] == "tsc"
    assert told["other real-time tasks"] == "migration/0 (fifo 99)"
    assert "stalls in the kernel's log" not in told
    stalled = beside(3, clocksource=["tsc", "hpet"], stalls=["RT throttling"])
    told = dict(machine_pairs([*made, stalled]))
    assert told["clock source"] == "tsc · hpet"
    assert told["stalls in the kernel's log"] == "RT throttling"
    assert interrupt_pairs(made) == [("CPU 0, LOC timer", "1000 to 1002"), ("CPU 0, 27 eth0", "7")]


@pytest.mark.parametrize(
    ("cpus", "told"),
    [
        ({"raw": Histogram(), "corrected": Histogram(), "cycles": 0}, "No valid run has"),
        ({"raw": Histogram.of([0, 0]), "corrected": None}, "the latest was 0 ns late"),
        ({"raw": Histogram.of([10**4, 3_600 * 10**9])}, "the latest was 3,600 s late"),
        ({"worst": (), "corrected": None}, "the latest was 20 µs late"),
    ],
    ids=["no wake-up", "nothing late", "an hour late", "an engine that tells little"],
)
def test_strange_runs_have_a_page_too(cpus, told):
    plain = run_of([10, 20])
    strange = evolve(plain, cpus=(evolve(plain.cpus[0], **cpus),))
    page = Page(rendered(summarise_latency([strange]), [strange]))
    assert told in page.text


def test_times_are_written_as_people_write_them():
    assert [time_text(ns) for ns in (None, 999, 83_123, 2_465_000, 1.5e9, 3.6e12)] == [
        "–", "999 ns", "83.1 µs", "2.46 ms", "1.5 s", "3,600 s",
    ]  # fmt: skip
    # three digits that round up belong to the next unit
    assert [time_text(ns) for ns in (999.6, 999_400, 999_600, 999.7e6, 1.2e12)] == [
        "1 µs", "999 µs", "1 ms", "1 s", "1,200 s",
    ]  # fmt: skip
    assert [seconds_text(s) for s in (12, 119, 120, 7200, 172_800)] == [
        "12 s", "119 s", "2 min", "2 h", "2 days",
    ]  # fmt: skip
