"""``deadbeat compare --picture``: presets on made-up machines of a known ratio."""

import json
import re
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from attrs import evolve
from helpers.answers import answer_of
from helpers.latencies import made_up_runs
from helpers.pages import Page

from deadbeat.cli.main import main
from deadbeat.compare.plot import labels_of, plot_document, preset_of, presets, read_inventory
from deadbeat.kinds.latency.sides import Side, question
from deadbeat.kinds.latency.summarise import summarise_latency
from deadbeat.model.errors import DataError, UsageError
from deadbeat.model.examples import example_platform
from deadbeat.model.finding import Finding
from deadbeat.model.latency import IDLE, LoadPoint
from deadbeat.model.words import time_text
from deadbeat.report.html import page as html_page
from deadbeat.store.latency import LatencyStore
from deadbeat_papers.figures.beside import effect_sentences, of_a_run

#: As ``deadbeat doctor --json`` gives it.
INVENTORY = [
    {"name": "packages", "title": "packages", "value": 64, "unit": "", "basis": "dpkg",
     "text": "64"},
    {"name": "boot", "title": "boot", "value": None, "unit": "s", "basis": "no systemd",
     "text": "not known"},
]  # fmt: skip
HALF, MIXED = LoadPoint("cpu", 50), LoadPoint("mixed", 100)
LOADS = (IDLE, HALF, MIXED)


def side(name: str, *, scale: float = 1.0, seed: int = 1, **more) -> Side:
    given = {"loads": LOADS, "repeats": 4, "seconds": 0.25} | more
    runs = made_up_runs(scale=scale, seed=seed, **given)
    platform = {"name": "board", "soc": "x", "kernel": f"6.1 {name}", "preemption": "rt"}
    return Side(name=name, summary=summarise_latency(runs, name=name), platform=platform)


@pytest.fixture(scope="module")
def slow() -> Side:
    return side("standard", scale=10.0)


@pytest.fixture(scope="module")
def fast() -> Side:
    return side("rt", seed=2)


def words(drawn) -> str:
    return " ".join((*drawn.sentences, *drawn.caveats))


@pytest.mark.parametrize("name", sorted(presets()))
def test_every_preset_describes_itself_and_draws(name, slow, fast):
    preset = preset_of(name)
    assert preset.name == name
    assert preset.title
    assert preset.about.endswith(".")
    assert preset.source
    assert 1 <= preset.least <= preset.most
    sides = [fast] if preset.least == 1 else [slow, fast]
    asked = question(sides)
    drawn = preset.draw(asked)
    assert drawn.charts[0].name == name
    assert not any(panel.blank for chart in drawn.charts for panel in chart.panels)
    page = Page(html_page(plot_document(preset, asked, drawn)))
    assert page.text.count("SIMULATED") >= 2
    for sentence in drawn.sentences:
        assert sentence.replace(" %", "\xa0%").split()[0] in page.text


@pytest.mark.parametrize("name", sorted(presets()))
def test_a_wrong_number_of_results_is_refused_with_what_it_takes(name):
    preset = preset_of(name)
    for count in (preset.least - 1, preset.most + 1):
        with pytest.raises(UsageError) as error:
            preset.check(["x"] * count)
        assert f"not {count}" in error.value.message
        assert preset.takes in error.value.hint


def test_the_worst_case_ratio_is_that_of_the_two_machines(slow, fast):
    asked = question([fast, slow])
    drawn = preset_of("two-kernels").draw(asked)
    one, two = (s.cell(MIXED, "simulated").whole.honest["max"].value_ns for s in (slow, fast))
    first = drawn.sentences[0]
    assert f"on rt and {time_text(one)} on standard: {one / two:.3g} times as late on" in first
    assert "one sample of each" in first
    (chart,) = drawn.charts
    (panel,) = chart.panels
    # Shares: both curves have the area of all wake-ups.
    for curve in panel.curves:
        heights = np.array(curve.y[1:-1])
        assert heights[heights > min(curve.y)].sum() == pytest.approx(1e6, rel=1e-6)
    table = {row[0]: row for row in drawn.tables[0].rows}
    assert drawn.tables[0].columns[1:3] == ("rt", "standard")
    value, _, ends = table["median"][3].partition(" ")
    low, high = (float(end) for end in ends.strip("[]").split(","))
    assert low <= 10 <= high
    assert float(value) == pytest.approx(10, rel=0.1)


def test_a_ratio_is_that_of_the_two_figures_beside_it(slow, fast):
    """Pooled percentiles were shown beside the ratio of single runs': 183 | 156 | 1.73."""
    cells = [s.cell(MIXED, "simulated") for s in (slow, fast)]
    for row, quantity in zip(
        preset_of("two-kernels").draw(question([fast, slow])).tables[0].rows,
        ("p50", "p99", "p99.9", "max", "max_of_a_run"),
        strict=True,
    ):
        one, two = (of_a_run(cell, quantity) for cell in cells)
        assert row[1:3] == (time_text(two), time_text(one))
        assert row[3].startswith(f"{one / two:.3g} ")


def test_maxima_of_runs_of_different_lengths_have_no_interval(fast):
    long = side("standard", scale=3.0, seconds=0.5)
    drawn = preset_of("two-kernels").draw(question([long, fast]))
    assert "runs of different lengths" in words(drawn)
    told = "Measured for different times (standard 2 s, rt 1 s under load mixed 100 %)"
    assert told in words(drawn)


def test_one_run_a_side_says_that_it_cannot_be_sure(slow):
    once = side("rt", repeats=1)
    drawn = preset_of("hardening").draw(question([once, slow]))
    assert "is not known: fewer than 3 pairs of runs" in words(drawn)
    assert "rt: a single run under a load has no interval" in words(drawn)


def test_the_lowest_kernel_is_named_and_whether_it_is_so_for_sure(fast):
    slower = [side(name, scale=200.0, seed=k) for k, name in enumerate(("standard", "other"), 5)]
    drawn = preset_of("preemption").draw(question([*slower, fast]))
    assert "rt has the lowest maximum of one run under every load" in words(drawn)
    assert (
        "by more than chance between these sessions is shown (5 % for all loads together)"
        in words(drawn)
    )
    alike = preset_of("preemption").draw(question([fast, side("twin", seed=9)]))
    assert "by more than chance between these sessions is not shown" in words(alike)
    left, right = drawn.charts[0].panels
    for panel in (left, right):
        names = [curve.label for curve in panel.curves if curve.label]
        assert names == ["standard", "other", "rt"]
        places = [curve.x[0] for curve in panel.curves if curve.label]
        assert len(set(places)) == 3


def test_hardening_that_costs_nothing_is_not_called_a_cost(fast):
    drawn = preset_of("hardening-average").draw(question([fast, side("hardened", seed=8)]))
    assert "the source of this figure took 6 h" in words(drawn)
    average = next(text for text in drawn.sentences if text.startswith("Average"))
    assert "no difference" in average or "under 1 of 3" in average
    costly = preset_of("hardening-average").draw(question([fast, side("hard", scale=1.5)]))
    assert "hard is larger under 3 of 3 loads" in words(costly)


def made_up(draw: np.random.Generator, runs: int) -> SimpleNamespace:
    """A side whose figures of a run are of one law beside nine loads."""
    values = {
        (load, name): list(20_000 * np.exp(0.05 * draw.normal(size=runs)))
        for load in NINE
        for name in ("max_of_a_run", "mean")
    }

    def cell(load: LoadPoint, _engine: str) -> SimpleNamespace:
        honest = HonestOf({n: SimpleNamespace(runs_ns=values[load, n]) for _, n in values})
        honest.histogram = SimpleNamespace(resolution_ns=1)
        return SimpleNamespace(whole=SimpleNamespace(honest=honest))

    summary = SimpleNamespace(meta=SimpleNamespace(seconds=(60.0,)))
    return SimpleNamespace(name="twin", cell=cell, summary=summary)


class HonestOf(dict):
    histogram: SimpleNamespace


NINE = tuple(LoadPoint("cpu", percent) for percent in range(10, 100, 10))
BOTH = (("max_of_a_run", "Maximum of one run"), ("mean", "Mean"))


@pytest.mark.parametrize("runs", [3, 5, 10])
@pytest.mark.parametrize("times", [40, pytest.param(400, marks=pytest.mark.statistical)])
def test_of_nine_loads_without_a_difference_none_is_called_larger_or_smaller(runs, times):
    draw = np.random.default_rng(runs)
    called = 0
    for _ in range(times):
        asked = SimpleNamespace(
            sides=(made_up(draw, runs), made_up(draw, runs)), loads=NINE, engine="made-up"
        )
        sentences = effect_sentences(asked, BOTH)
        assert all("between these two sessions" in each for each in sentences)
        called += any(" is larger" in each or " is smaller" in each for each in sentences)
    # 5 % and three standard errors
    assert called <= 0.05 * times + 3 * (0.05 * 0.95 * times) ** 0.5


def test_runs_that_are_all_alike_are_not_called_few(fast):
    alike = made_up(np.random.default_rng(1), 5)
    for load in NINE:
        for values in alike.cell(load, "").whole.honest.values():
            values.runs_ns[:] = [20_000.0] * 5
    asked = SimpleNamespace(sides=(alike, alike), loads=NINE, engine="made-up")
    (sentence,) = effect_sentences(asked, BOTH[:1])
    assert "is not known: runs are all alike" in sentence


def hardened(given: Side, name: str, **states: str) -> Side:
    return evolve(given, name=name, platform={**given.platform, "details": {"hardening": states}})


def test_the_hardening_that_differs_is_named_or_said_to_be_unknown(fast):
    draw = preset_of("hardening").draw
    assert "rt and b had is not recorded" in words(draw(question([fast, evolve(fast, name="b")])))
    plain = hardened(fast, "plain", iommu="on: strict", alloc="off: not set")
    hard = hardened(fast, "hard", iommu="on: strict", alloc="on: INIT_ON_ALLOC")
    drawn = draw(question([plain, hard]))
    (table,) = [table for table in drawn.tables if table.title.startswith("Hardening")]
    assert table.columns == ("option", "plain", "hard")
    assert table.rows == (("alloc", "off: not set", "on: INIT_ON_ALLOC"),)
    assert "recorded" not in words(drawn)
    same = draw(question([plain, evolve(plain, name="same")]))
    assert "No hardening option that was recorded differs" in words(same)


def test_what_differs_between_two_systems_is_listed(slow, fast):
    drawn = preset_of("two-kernels").draw(question([slow, fast]))
    table = drawn.tables[-1]
    assert table.title == "What differs between the systems"
    assert ("kernel", "6.1 standard", "6.1 rt") in table.rows


def test_two_kernels_of_the_laboratory_are_of_one_machine(slow, fast):
    sides = [
        evolve(each, platform={**each.platform, "name": f"lab {each.name}", "kind": kind})
        for each, kind in ((slow, "virtual-time"), (fast, "virtual-time"))
    ]
    assert "machines differ" not in words(preset_of("two-kernels").draw(question(sides)))
    boards = [evolve(each, platform={**each.platform, "kind": "hardware"}) for each in sides]
    assert "machines differ" in words(preset_of("two-kernels").draw(question(boards)))


def test_inventories_stand_side_by_side_or_are_asked_for(slow, fast):
    known = evolve(slow, inventory={"packages": "549", "boot time": "20 s"})
    drawn = preset_of("bsp").draw(question([known, fast]))
    table = drawn.tables[0]
    assert table.columns == ("", "standard", "rt")
    assert ("packages", "549", "not recorded") in table.rows
    assert ("boot time", "20 s", "not recorded") in table.rows
    assert "No inventory of rt" in words(drawn)
    assert "doctor --json" in words(drawn)


def test_cpus_that_differ_are_named_and_others_are_not(fast):
    """Each CPU of the made-up machine draws from one distribution; one is then made 1.5 times as
    late in every run."""

    def said(given: Side) -> str:
        return " ".join(preset_of("per-cpu").draw(question([given])).sentences)

    def slowed(cell, cpu, factor):
        rows = []
        for row in cell.cpus:
            quantities = [
                evolve(each, runs_ns=tuple(v * factor for v in each.runs_ns))
                if each.name == "mean" and row.cpu == cpu
                else each
                for each in row.raw.quantities
            ]
            raw = evolve(row.raw, quantities=tuple(quantities))
            rows.append(evolve(row, raw=raw, corrected=None))
        return evolve(cell, cpus=tuple(rows))

    assert "No two differ by more than chance (5 % for all 1 pairs together)" in said(fast)
    cells = tuple(slowed(cell, 1, 1.5) for cell in fast.summary.cells)
    other = evolve(fast, summary=evolve(fast.summary, cells=cells))
    assert "Later on average: CPU 1 than CPU 0 (5 %" in said(other)
    few = side("few", repeats=2)
    assert "fewer than three runs do not say" in said(few)


def test_the_cpus_of_the_nearest_load_are_drawn_and_that_is_said(fast):
    quarter = side("q", loads=(IDLE, LoadPoint("cpu", 75)))
    drawn = preset_of("per-cpu").draw(question([quarter]))
    assert "under cpu 75 %" in drawn.charts[0].title
    assert "cpu 50 % was not measured" in words(drawn)
    asked = question([fast], load=MIXED)
    drawn = preset_of("per-cpu").draw(asked)
    assert "mixed 100 %" in drawn.charts[0].title
    labels = [curve.label for curve in drawn.charts[0].panels[0].curves]
    assert labels == ["CPU 0 (n = 1,000)", "CPU 1 (n = 1,000)"]


def test_what_must_not_differ_is_refused_all_at_once(fast):
    meta = evolve(fast.summary.meta, interval_ns=(500_000,), priority=(50,))
    other = evolve(fast, name="b", summary=evolve(fast.summary, meta=meta))
    with pytest.raises(UsageError) as error:
        question([fast, other])
    assert error.value.details == (
        "interval differs: rt: 1 ms; b: 500 µs", "priority differs: rt: 90; b: 50",
    )  # fmt: skip


def test_idle_states_that_were_held_off_on_one_side_alone_are_refused(fast):
    held, left = (evolve(fast, name=n, dma_latency=n) for n in ("hold", "system"))
    with pytest.raises(UsageError, match="cpu_dma_latency differs: hold: hold; system: system"):
        question([held, left])
    assert question([held, fast]).loads


def test_more_cpus_and_lacking_runs_are_told(fast):
    wide = side("wide", cpus=(0, 1, 2))
    told = words(preset_of("hardening").draw(question([evolve(fast, lacking=3), wide])))
    assert "different numbers of CPUs (rt 0, 1, wide 0, 1, 2)" in told
    assert "rt lacks 3 runs" in told


def test_sides_without_a_common_engine_or_load_are_refused(fast):
    cells = tuple(evolve(cell, engine="prober") for cell in fast.summary.cells)
    other = evolve(fast, name="b", summary=evolve(fast.summary, cells=cells))
    with pytest.raises(UsageError, match="no engine measured on every side"):
        question([fast, other])
    with pytest.raises(UsageError, match="no load was measured"):
        question([side("a", loads=(IDLE,)), side("b", loads=(HALF,))])
    with pytest.raises(UsageError, match="--load: memory 100 % was not measured"):
        question([fast], load=LoadPoint("memory", 100))
    with pytest.raises(UsageError, match="--engine: prober did not measure"):
        question([fast], engine="prober")


def test_loads_of_one_side_alone_and_invalid_runs_are_told(fast):
    runs = made_up_runs(loads=(IDLE, HALF), repeats=4, seconds=0.25)
    bad = Finding(id="died", severity="invalid", message="x")
    runs[0] = evolve(runs[0], problems=(bad,))
    less = Side(name="less", summary=summarise_latency(runs))
    asked = question([fast, less])
    assert [load.text for load in asked.loads] == ["idle", "cpu-050"]
    told = words(preset_of("hardening").draw(asked))
    assert "left out: mixed 100 %" in told
    assert "not shown: less: 1" in told


def test_a_label_of_one_side_alone_names_it(fast):
    measured = evolve(fast, name="board", summary=evolve(fast.summary, labels=()))
    assert labels_of([fast, fast]) == ("SIMULATED",)
    assert labels_of([fast, measured]) == ("SIMULATED: rt",)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    root = tmp_path_factory.mktemp("results")
    for name, scale in (("standard", 5.0), ("rt", 1.0)):
        store = LatencyStore.create(root / name, {"name": name}, example_platform())
        for run in made_up_runs(loads=(IDLE, HALF), scale=scale, repeats=3, seconds=0.3):
            store.keep(run)
    answer = {"kind": "doctor", "results": {"inventory": INVENTORY}}
    (root / "rt" / "doctor.json").write_text(json.dumps(answer))
    return root


def test_the_command_draws_and_says_where(folder, tmp_path, capsys):
    out = tmp_path / "out"
    arguments = ["plot", "bsp", "standard", "rt", "--runs", str(folder), "--out", str(out)]
    assert main([*arguments, "--format", "svg"]) == 0
    told = capsys.readouterr().out
    assert "SIMULATED" in told.splitlines()[0]
    assert f"page: {out / 'bsp.html'}" in told
    assert re.search(r"packages +not recorded +64", told)
    assert "not known: no systemd" in told
    assert sorted(path.name for path in out.iterdir()) == ["bsp.html", "bsp.svg", "derived.json"]
    assert "SIMULATED" in (out / "bsp.svg").read_text()


def test_an_unfinished_matrix_is_drawn_with_a_note(tmp_path, capsys):
    runs = str(tmp_path)
    assert main(["latency", "--simulated", "--quick", "--no-figures", "--runs", runs]) == 0
    (whole,) = (path for path in tmp_path.iterdir() if path.is_dir() and not path.is_symlink())
    next((whole / "runs").glob("idle.*.0001.json")).unlink()
    capsys.readouterr()
    arguments = ["plot", "per-cpu", whole.name, "--runs", runs, "--format", "none"]
    assert main(arguments) == 0
    assert f"{whole.name} lacks 1 run." in capsys.readouterr().out


def test_its_json_has_everything_that_was_said(folder, tmp_path, capsys):
    arguments = ["plot", "two-kernels", str(folder / "standard"), str(folder / "rt"), "--json"]
    more = ["--out", str(tmp_path), "--format", "none", "--names", "old,new", "--load", "cpu:50"]
    assert main([*arguments, *more]) == 0
    told = answer_of(capsys.readouterr().out)
    assert told["results"] == ["old", "new"]
    assert told["labels"] == ["SIMULATED"]
    assert told["files"] == []
    assert "cpu 50 %" not in told["caveats"]
    assert told["tables"][0]["columns"][1:3] == ["old", "new"]


@pytest.mark.parametrize("content", ["{}", '{"inventory": {}}', '{"inventory": [1]}', "[]", "x"])
def test_a_file_without_an_inventory_is_refused(content, tmp_path):
    file = tmp_path / "doctor.json"
    file.write_text(content)
    with pytest.raises(DataError, match=r"doctor\.json"):
        read_inventory(file)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["preemtion", "rt"], "did you mean preemption?"),
        (["hardening", "rt"], "plot hardening takes 2 results, not 1"),
        (["per-cpu", "tr"], "did you mean rt?"),
        (["per-cpu", "rt", "--format", "gif"], "--format"),
        (["per-cpu", "rt", "--load", "cpu:150"], "--load: "),
        (["per-cpu", "rt", "--load", "idle,50"], "names 2 loads"),
        (["per-cpu", "rt", "--load", "memory"], "was not measured on every side"),
        (["per-cpu", "rt", "--names", "a,b"], "2 names for 1 results"),
        (["hardening", "rt", "rt"], "tell them apart with --names"),
        (["bsp", "rt", "standard", "--inventory", "x.json"], "given 1 times for 2 results"),
        (["per-cpu", "rt", "--inventory", "missing.json"], "cannot read inventory"),
    ],
)
def test_what_is_wrong_is_one_line_with_the_cure(arguments, told, folder, tmp_path, capsys):
    given = ["plot", *arguments, "--runs", str(folder), "--out", str(tmp_path / "out")]
    assert main(given) in (2, 3)
    error = capsys.readouterr().err
    assert told in error
    assert len(error.splitlines()) == 1
    assert not (tmp_path / "out").exists()


def test_every_preset_is_in_the_reference():
    page = (Path(__file__).parents[2] / "docs/reference/plots.md").read_text(encoding="utf-8")
    told = re.findall(r"^\| `([a-z-]+)` \| (\d) ?t?o? ?(\d*) \|", page, flags=re.M)
    found = {p.name: (p.least, p.most) for p in presets().values()}
    assert {name: (int(a), int(b or a)) for name, a, b in told} == found
