"""The page and the figures of a comparison. Truth: two campaigns made of formulas."""

import xml.etree.ElementTree as ET

import pytest
from attrs import evolve
from helpers.demo_comparison import demo_comparison
from helpers.pages import Page

from deadbeat.base.model.finding import Finding
from deadbeat.base.model.words import UNDECIDED
from deadbeat.base.report.charts import ABSENT, FAINT, SHOWN
from deadbeat.base.report.html import page as html_page
from deadbeat.cli.compare.charts import comparison_charts
from deadbeat.cli.compare.page import comparison_document, write_comparison
from deadbeat.tasksets.contention.stress_charts import common_sets, overlay_charts

SMALL = {"cores": (1, 4)}


def render(result, summaries):
    """The page with the overlays of campaigns."""
    return html_page(comparison_document(result, overlays=overlays(result, summaries)))


def overlays(result, summaries):
    names = [campaign["name"] for campaign in result.campaigns]
    return lambda levels: overlay_charts(names, summaries, levels)


def charts_of(result, summaries):
    return [*comparison_charts(result), *overlays(result, summaries)(None)]


def write(result, summaries, folder, **how):
    return write_comparison(result, folder, overlays=overlays(result, summaries), **how)[0]


@pytest.fixture(scope="module")
def page() -> Page:
    return Page(render(*demo_comparison()))


def test_the_verdict_comes_first_in_a_sentence(page):
    words = page.text
    assert "WORSE: candidate against baseline: slowdown worse: +" in words
    assert words.index("(3 of 75 cells).") < words.index("Every core runs tasks")
    assert "What would decide it" in words


def test_the_page_says_what_differs_and_what_it_rests_on(page):
    for words in (
        "SIMULATED · policy other",
        "6.18.45",
        "A/A gate: 3 repeats of the baseline (aa-1, aa-2, aa-3).",
        "smallest effect that could be seen: column “could have shown”",
        "9999",
        "Neither a difference nor equality is shown.",
    ):
        assert words in page.text


def test_only_cells_with_a_verdict_have_a_colour():
    result, summaries = demo_comparison()
    chart = next(c for c in charts_of(result, summaries) if c.name == "difference-slowdown")
    assert [panel.title for panel in chart.panels] == ["M = 1", "M = 2", "M = 4"]
    verdicts = {
        (cell.cores, cell.sync_share, cell.contended_ratio): cell.verdict
        for cell in result.comparisons[0].metrics[0].cells
    }
    states = {"better": SHOWN, "worse": SHOWN, "equal": FAINT, "undecided": UNDECIDED}
    for m, panel in zip((1, 2, 4), chart.panels, strict=True):
        heat = panel.heat
        for r, rho in enumerate(heat.y):
            for a, alpha in enumerate(heat.x):
                verdict = verdicts[m, float(rho), float(alpha)]
                assert heat.cells[r][a].state == states[verdict]
                assert "4 pairs" in heat.cells[r][a].hover
    assert {cell.text for line in chart.panels[0].heat.cells for cell in line} == {"=", "-6.0"}


def test_a_cell_without_pairs_is_not_an_equal_one():
    result, summaries = demo_comparison(**SMALL)
    metric = result.comparisons[0].metrics[0]
    cells = (evolve(metric.cells[0], pairs=0, effect=None, verdict="undecided"), *metric.cells[1:])
    comparison = evolve(result.comparisons[0], metrics=(evolve(metric, cells=cells),))
    lacking = evolve(result, comparisons=(comparison,))
    assert "1 without data" in Page(render(lacking, summaries)).text
    chart = charts_of(lacking, summaries)[1]
    assert chart.panels[0].heat.cells[0][0].state == ABSENT
    assert chart.panels[0].heat.cells[0][0].text == "n.m."


def test_groups_are_points_with_bars_and_a_shape_for_each_verdict():
    result, summaries = demo_comparison(mode="stress", factors=(2.0, 4.0))
    charts = {chart.name: chart for chart in charts_of(result, summaries)}
    panel = charts["difference-slowdown-d002000"].panels[0]
    assert panel.categories == ("M=2", "M=4", "M=8", "random")
    looks = {curve.label: curve.look for curve in panel.curves}
    assert len(set(looks.values())) == len(looks) >= 2
    factors = charts["deadline-factor"].panels
    assert [p.title for p in factors] == ["M=2", "M=4", "M=8", "random"]
    assert [curve.label for curve in factors[0].curves] == ["baseline", "candidate"]


def test_overlays_hold_the_programs_that_both_have():
    _, summaries = demo_comparison(**SMALL)
    less = (summaries[0], evolve(summaries[1], sets=summaries[1].sets[5:]))
    first, second = common_sets(less)
    assert len(first) == len(second) == len(summaries[0].sets) - 5
    assert [each.key for each in first] == [each.key for each in second]


def test_three_campaigns_are_chosen_by_name():
    result, summaries = demo_comparison(names=("a", "b", "c"), **SMALL)
    charts = charts_of(result, summaries)
    maps = [chart for chart in charts if chart.family == "difference-slowdown"]
    assert [chart.option for chart in maps] == ["b against a", "c against a"]
    assert {chart.title for chart in maps} == {"Slowdown"}
    assert Page(render(result, summaries)).text.count("against a") >= 4


def test_files_are_written_with_labels_and_the_same_bytes(tmp_path):
    result, summaries = demo_comparison(cores=(2,))
    first = write(result, summaries, tmp_path / "a", formats=("svg",))
    second = write(result, summaries, tmp_path / "b", formats=())
    assert first.name == "compare.html"
    assert first.read_bytes() == second.read_bytes()
    figures = sorted((tmp_path / "a" / "figures").iterdir())
    assert [path.name for path in figures] == [
        "difference-deadline_miss_ratio.svg", "difference-delay_ratio.svg",
        "difference-slowdown.svg", "distribution-delay_ratio-m-2.svg",
        "distribution-misses-m-2.svg", "distribution-slowdown-m-2.svg", "overall.svg",
    ]  # fmt: skip
    for path in figures:
        words = " ".join("".join(e.itertext()) for e in ET.parse(path).iter())
        assert "SIMULATED, policy other" in words


def test_findings_are_not_called_none_without_a_word_on_simulation():
    result, summaries = demo_comparison(**SMALL)
    plain = Page(render(evolve(result, findings=(), labels=()), summaries)).text
    assert "Nothing was found that makes these results doubtful." in plain
    made_up = Page(render(evolve(result, findings=()), summaries)).text
    assert "Nothing was found" not in made_up
    assert "these results are simulated: they say nothing about a machine" in made_up


def test_an_option_is_never_cut_at_the_end_of_a_line():
    result, summaries = demo_comparison(**SMALL)
    found = Finding(id="x", severity="info", message="none (--aa)", cure="try --retry")
    page = render(evolve(result, findings=(found,)), summaries)
    assert '(<span class="option">--aa</span>)' in page
    assert 'try <span class="option">--retry</span>' in page


def test_figures_that_are_on_the_page_alone_are_told():
    result, summaries = demo_comparison(mode="stress", factors=(2.0, 4.0, 8.0))
    many = len(charts_of(result, summaries))
    own = overlays(result, summaries)
    told = f"The folder figures/ has {many - 12} of these {many} figures"
    assert told in Page(html_page(comparison_document(result, overlays=own, papers=many - 12))).text
    for papers in (0, many):
        page = html_page(comparison_document(result, overlays=own, papers=papers))
        assert "The folder figures/" not in Page(page).text


def test_what_differs_of_several_stands_in_a_table_for_each():
    result, summaries = demo_comparison(names=("a", "b", "c"), **SMALL)
    lines = ("b: kernel: 6.1 | 6.2", "c: kernel: 6.1 | 6.3", "c: preemption: none | full")
    page = render(evolve(result, differences=lines), summaries)
    first, second = (page.split(f'id="differences-{n}"')[1].split("</table>")[0] for n in (1, 2))
    assert ">b</th>" in first and "<td>6.2</td>" in first and "6.3" not in first
    assert ">c</th>" in second and "<td>6.3</td>" in second and "<td>full</td>" in second
    assert ">kernel</th>" in first


def test_what_would_decide_it_and_gates_say_of_which_comparison():
    result, summaries = demo_comparison(names=("a", "b", "c"), **SMALL)
    one, two = result.comparisons
    other = tuple(evolve(metric, gate_basis="guessed") for metric in two.metrics)
    page = Page(
        render(evolve(result, comparisons=(one, evolve(two, metrics=other))), summaries)
    ).text
    assert "b: slowdown and delay ratio: single cells differ" in page
    assert "A/A gate (c: slowdown, delay ratio and miss ratio): guessed." in page


def test_colours_mean_the_same_in_every_comparison_and_each_gate_is_drawn():
    result, summaries = demo_comparison(names=("a", "b", "c"), **SMALL)
    one, two = result.comparisons
    wider = tuple(evolve(metric, gate=0.3) for metric in two.metrics)
    charts = charts_of(evolve(result, comparisons=(one, evolve(two, metrics=wider))), summaries)
    spans = {
        panel.heat.high for c in charts if c.family == "difference-slowdown" for panel in c.panels
    }
    assert len(spans) == 1
    (own,) = (chart for chart in charts if chart.name == "overall-2")
    gates = [c for panel in own.panels for c in panel.curves if c.label == "A/A gate"]
    assert gates and {high for each in gates for high in each.high} == {30}


def test_the_distributions_shown_first_are_those_of_most_cores():
    result, summaries = demo_comparison(**SMALL)
    charts = [c for c in charts_of(result, summaries) if c.family == "distribution-slowdown"]
    assert [chart.option for chart in charts] == ["M = 4", "M = 1"]


def test_a_parameter_without_values_is_none():
    result, summaries = demo_comparison(**SMALL)
    page = render(evolve(result, parameters={"aa": []}), summaries)
    assert '<th scope="row">aa</th><td>none</td>' in page
