"""The page and the figures of a stress campaign. Truth: a campaign made of formulas."""

import re

import pytest
from attrs import evolve
from helpers.demo_stress import demo_stress
from helpers.figures import figures, svg_words
from helpers.pages import Page
from helpers.rows import rows_of, sets_of, with_rows

from deadbeat.base.model.lateness import LateJob
from deadbeat.base.report import html as html_of
from deadbeat.tasksets.contention.facts import head_facts, levels, noise_floor
from deadbeat.tasksets.contention.headline import group_answers, headline
from deadbeat.tasksets.contention.kind import campaign_document, draw_figures
from deadbeat.tasksets.contention.profile_charts import jobs_table
from deadbeat.tasksets.contention.samples import distribution_charts, group_samples
from deadbeat.tasksets.contention.stress_charts import counter_charts, interval_curve, stress_charts
from deadbeat.tasksets.contention.tables import sets_data
from deadbeat.tasksets.model.figures import CellFigures, Figure
from deadbeat.tasksets.model.results import Summary

SMALL = {"groups": ("M=2", "M=8"), "sets_per_group": 30}


@pytest.fixture(scope="module")
def demo() -> Page:
    return Page(html_of.page(campaign_document(demo_stress())))


@pytest.fixture(scope="module")
def svgs() -> dict[str, bytes]:
    return dict(draw_figures(demo_stress(**SMALL), ("svg",)))


def test_the_answer_names_the_worst_group_and_how_bad_it_is(demo):
    sentence = " ".join(headline(demo_stress()))
    start = r"Of 240 task sets the slowest 5 % of group M=8 run at least [\d.]+ times as long"
    assert re.match(start, sentence)
    assert re.search(r"[\d.]+ % of the sets of group M=8 miss a deadline \(not certainly", sentence)
    assert "M=2" in demo.words


def test_nothing_to_see_is_said_as_such():
    base = demo_stress(**SMALL)
    calm = {f"slowdown_{name}": 1.001 for name in ("mean", "p50", "p95", "max")}
    rows = tuple(row | calm | {"miss_set_share": 0.0} for row in rows_of(base))
    words = " ".join(headline(with_rows(base, rows=rows)))
    assert words.endswith(
        "no set misses a deadline. The slowdown is no more than can be seen here."
    )
    assert " ".join(headline(demo_stress(groups=()))) == "No run is stored: nothing is decided."


def test_every_distribution_is_drawn_with_its_labels_and_units(svgs):
    assert set(svgs) == {
        "distribution-slowdown.svg", "distribution-delay_ratio.svg", "distribution-misses.svg",
        "drivers.svg", "split.svg", "counters.svg",
    }  # fmt: skip
    for content in svgs.values():
        words = svg_words(content)
        assert "SIMULATED, policy other" in words
        assert "Only slowdowns of 1.2 % or more could be seen here." in words
    words = svg_words(svgs["distribution-slowdown.svg"])
    for text in (
        "slowdown of a task set (together / alone)", "task sets at or below (%)",
        "M=2", "M=8", "too small to see",
    ):  # fmt: skip
        assert text in words


def test_sets_without_a_miss_stand_apart():
    summary = demo_stress(**SMALL)
    own = group_samples(summary, levels(summary.cells)[0])
    chart = distribution_charts(own, noise_floor(summary))[-1]
    for place, (sample, bar) in enumerate(zip(own, chart.panels[0].bars, strict=True)):
        calm = sum(1 for item in sample.sets if item.deadline_miss_ratio == 0)
        assert bar.texts[place] == f"{calm} of {len(sample.sets)}"
        assert (bar.label, bar.look) == (sample.label, sample.look), "as in the other panels"
    drawn = [curve for panel in chart.panels[1:] for curve in panel.curves]
    assert drawn
    shown = [value for curve in chart.panels[1].curves for value in curve.x]
    assert min(shown) > 0, "a logarithmic axis has no zero"


def test_a_campaign_without_misses_says_so_in_the_figure():
    base = demo_stress(**SMALL)
    sets = tuple(item | {"deadline_miss_ratio": 0.0} for item in sets_of(base))
    chart = next(
        c for c in stress_charts(with_rows(base, sets=sets)) if c.name == "distribution-misses"
    )
    assert not chart.panels[0].blank
    assert len(chart.panels) == 1, "only the bar of sets without a miss"


def picked(shares: tuple[float, ...]) -> Summary:
    """Two groups at two deadline factors whose sets picked their rho from a list."""
    base = demo_stress(**SMALL, factors=(2.0, 4.0))
    sets = tuple(
        item | {"sync_share": shares[place % len(shares)]}
        for place, item in enumerate(sets_of(base))
    )
    given = {"stress": {"sync_share": list(shares), "contended_ratio": "random:0.0..1.0"}}
    return with_rows(base, sets=sets, meta={**base.meta, "parameters": given})


def test_sets_that_picked_from_a_list_have_a_curve_for_each_value():
    summary = picked((0.2, 0.8))
    charts = {c.name: c for c in stress_charts(summary)}
    names = ["M=2, ρ = 0.2", "M=2, ρ = 0.8", "M=8, ρ = 0.2", "M=8, ρ = 0.8"]
    jobs = charts["deadline-factor"].panels[0]
    assert [curve.label for curve in jobs.curves] == names
    own = [
        item
        for item in sets_of(summary)
        if (item["group"], item["sync_share"], item["deadline_factor"]) == ("M=8", 0.8, 2.0)
    ]
    missed, released = (sum(item[k] for item in own) for k in ("deadline_misses", "released"))
    assert jobs.curves[3].y[0] == pytest.approx(100 * missed / released)
    assert jobs.curves[3].low[0] < jobs.curves[3].y[0] < jobs.curves[3].high[0]
    assert [c.label for c in charts["distribution-slowdown-d002000"].panels[0].curves] == names


def test_more_configurations_than_can_be_told_apart_stay_groups():
    charts = {c.name: c for c in stress_charts(picked((0.1, 0.2, 0.3, 0.4)))}
    assert [curve.label for curve in charts["deadline-factor"].panels[0].curves] == ["M=2", "M=8"]


def test_an_upper_bound_is_joined_to_no_interval():
    cells = [
        CellFigures(cores=x, figures={"value": Figure(value, low, high)})
        for x, value, low, high in (
            (2, 0.4, 0.3, 0.5), (3, 0.2, 0.1, 0.3), (4, 0.0, 0.0, 0.39), (5, 0.1, 0.0, 0.2)
        )
    ]  # fmt: skip
    curve = interval_curve("α = 1", 0, cells, "cores", "value")
    assert curve.bands == ((0, 1), (3,))
    assert curve.limits == (2,)
    seen = evolve(curve, bounded=())
    assert (seen.bands, seen.limits) == (((0, 1, 2, 3),), ())


def test_bounds_have_an_entry_in_the_legend_of_the_figure():
    base = demo_stress(**SMALL, factors=(2.0, 4.0))
    calm = {"deadline_miss_ratio": 0.0, "deadline_miss_ci_low": 0.0, "deadline_miss_ci_high": 0.1}
    rows = tuple(row | calm if row["deadline_factor"] == 4.0 else row for row in rows_of(base))
    (content,) = figures(with_rows(base, rows=rows), "svg", "deadline-factor").values()
    assert "95 % upper bound, none seen" in svg_words(content)


def test_a_figure_says_which_of_how_many_deadline_factors_it_shows():
    factors = (2.0, 3.0, 4.0, 5.0, 10.0)
    small = demo_stress(groups=("M=2",), sets_per_group=8, factors=factors, causes=False)
    names = ("distribution-misses-d004000", "deadline-factor")
    found = {name: svg_words(c) for name, c in figures(small, "svg", *names).items()}
    words = "D/C 2, 4 and 10 of 5 levels"
    assert words in found["distribution-misses-d004000.svg"]
    assert words not in found["deadline-factor.svg"], "it shows all"


def test_what_was_not_counted_is_named_and_not_drawn():
    (chart,) = counter_charts(demo_stress(**SMALL))
    titles = [panel.title.split("\n")[0] for panel in chart.panels]
    assert titles == ["Context switches", "Page faults"]
    assert "r_s = 0." in chart.panels[0].title
    for words in (
        "CPU migrations (0 per job in every task set)",
        "cycles (not supported here)",
        "cache misses (refused: perf_event_paranoid is 3)",
    ):
        assert words in chart.caption
    # Page faults have a value in every other set only: the others are no zeros.
    assert sum(len(curve.x) for curve in chart.panels[1].curves) == 30


def test_response_deadline_and_lateness_are_columns_of_their_own():
    late = [LateJob(**job) for job in demo_stress(**SMALL).meta["causes"]]
    jobs = jobs_table(late)
    assert [c.heading for c in jobs.columns][1:4] == ["response", "deadline", "late by"]
    cells = jobs.texts()
    assert cells[0][1:4] == ["5.44 ms", "4 ms", "1.44 ms"]
    # a row of jobs that never finished is known from below
    assert cells[5][1:4] == ["≥ 5.45 ms", "4 ms", "≥ 1.45 ms"]
    assert cells[5][0].endswith("and 153 more")


def test_the_worst_jobs_say_how_many_events_are_missing_and_why():
    base = demo_stress(**SMALL)
    notes = ["no events of run m002: trace traces/m002.json is damaged: <empty>"]
    html = html_of.page(campaign_document(evolve(base, meta=base.meta | {"causes_notes": notes})))
    assert "yes, 12 lost</td>" in html
    assert "traces/m002.json is damaged: &lt;empty&gt;" in html


def test_the_table_of_sets_is_limited_and_holds_the_worst():
    summary = demo_stress(groups=("M=4", "M=8"), sets_per_group=400)
    data = sets_data(summary)
    assert data["total"] == 800
    assert len(data["sets"]) <= 400
    worst = max(sets_of(summary), key=lambda item: item["slowdown_mean"])
    assert worst["seed"] in {
        line[[f["heading"] for f in data["fields"]].index("seed")] for line in data["sets"]
    }


@pytest.mark.slow
def test_a_page_of_very_many_sets_stays_small():
    """17,000 task sets, as the paper's preset has; plotly alone takes 0.7 MB."""
    summary = demo_stress(groups=("M=4", "M=8", "M=12", "M=16", "random"), sets_per_group=3400)
    page = html_of.page(campaign_document(summary))
    assert len(sets_of(summary)) == 17000
    assert len(page) < 2_000_000


def test_groups_are_counted_once_however_many_deadline_factors() -> None:
    summary = demo_stress()
    rows = tuple(
        row | {"deadline_factor": factor} for row in rows_of(summary) for factor in (2.0, 10.0)
    )
    count = len({row["group"] for row in rows_of(summary)})
    text = dict(head_facts(with_rows(summary, rows=rows)))
    assert f"{count} groups at 2 deadline factors each" in text["Simulated"]
    one = tuple(row for row in rows if row["group"] == rows[0]["group"])
    text = dict(head_facts(with_rows(summary, rows=one)))
    assert "1 group at 2 deadline factors ·" in text["Simulated"]


def test_a_bound_on_misses_is_about_sets_that_would_miss() -> None:
    rows = tuple(
        row | {"miss_set_share": 0.0, "deadline_miss_ratio": 0.0, "miss_set_share_ci_high": 0.09}
        for row in rows_of(demo_stress())[:1]
    )
    (lines,) = group_answers(with_rows(demo_stress(), rows=rows)).values()
    assert "No set missed a deadline (95 %: at most 9.0 % of such sets would miss one)." in lines
