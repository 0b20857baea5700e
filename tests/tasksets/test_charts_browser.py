"""Pages of stress campaigns and comparisons as a person meets them: read, chosen, sorted."""

import pytest
from helpers.chromium import PATIENCE_S, await_plots, resize
from helpers.demo_comparison import demo_comparison
from helpers.demo_stress import demo_stress
from helpers.demo_summary import demo_summary, with_factors
from helpers.pages import HOSTILE
from helpers.rows import rows_of, sets_of, with_rows
from selenium.webdriver import Chrome
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import Select, WebDriverWait

import deadbeat
from deadbeat.cli.compare.page import write_comparison
from deadbeat.tasksets.contention.kind import write_report

pytestmark = pytest.mark.browser

SMALL = {"groups": ("M=2", "M=8"), "sets_per_group": 40}

#: As a click on the last cell of a heat map.
CLICK = """
document.getElementById(arguments[0]).emit(
  "plotly_click", {points: [{data: {type: "heatmap"}, pointIndex: [2, 2]}]});
"""


def drawn(browser: Chrome, plot: str, count: str) -> object:
    return browser.execute_script(f"return document.getElementById(arguments[0]).{count};", plot)


@pytest.mark.slow
def test_a_stress_campaign_is_drawn_and_its_sets_can_be_sorted(browser, opened, tmp_path):
    path = write_report(demo_stress(**SMALL, factors=(2.0, 4.0)), tmp_path)
    opened(path)
    names = drawn(browser, "distribution-slowdown-d002000-0", "data.map((t) => t.name)")
    assert names == ["M=2", "M=8"]
    bars = browser.find_element(By.ID, "distribution-misses-d002000-0").text
    assert "of 40" in bars
    table = browser.find_element(By.ID, "sets-table")
    slow = [
        float(line.find_elements(By.TAG_NAME, "td")[10].text)
        for line in table.find_elements(By.CSS_SELECTOR, "tbody tr")[:10]
    ]
    assert slow == sorted(slow, reverse=True)
    Select(browser.find_element(By.ID, "sets-group")).select_by_visible_text("M=2")
    cells = table.find_elements(By.CSS_SELECTOR, "tbody td:first-child")
    assert {cell.text for cell in cells} == {"M=2"}


@pytest.mark.slow
def test_drawings_keep_their_places_in_a_window_of_another_size(browser, opened, tmp_path):
    path = write_report(demo_stress(**SMALL), tmp_path)
    opened(path)
    resize(browser, 1185, 3000)
    fits = (
        "const plot = document.getElementById('drivers-0');"
        "const drawing = plot.querySelector('.main-svg').getBoundingClientRect();"
        "return Math.abs(drawing.width - plot.clientWidth) < 2;"
    )
    WebDriverWait(browser, PATIENCE_S).until(lambda d: d.execute_script(fits))


@pytest.mark.slow
def test_the_figures_of_a_profile_follow_a_narrower_window(browser, opened, tmp_path):
    summary = with_factors(demo_summary(cores=(2,), steps=5), (2.0, 5.0))
    path = write_report(summary, tmp_path)
    opened(path, width=1250)
    resize(browser, 900, 1000)
    fits = """
    const off = (plot) => {
      const drawing = plot.querySelector(".main-svg").getBoundingClientRect();
      const wide = Math.abs(drawing.width - plot.clientWidth);
      return wide > 2 || Math.abs(drawing.height - plot.clientHeight) > 2;
    };
    return ["slowdown-m002-d002000-1", "distribution", "deadline-factor-m002-0"].every(
      (id) => !off(document.getElementById(id)));
    """
    WebDriverWait(browser, PATIENCE_S).until(lambda d: d.execute_script(fits))


@pytest.mark.slow
def test_group_names_do_not_cover_what_is_said_of_them(browser, opened, tmp_path):
    path = write_report(
        demo_stress(groups=("random",), sets_per_group=8, critical=(0, 1)), tmp_path
    )
    opened(path)
    covers = """
    return [...document.querySelectorAll(".groups li")].filter((line) => {
      const name = document.createRange();
      name.selectNodeContents(line.querySelector("b"));
      const words = line.querySelector("span").getBoundingClientRect();
      return name.getBoundingClientRect().right > words.left;
    }).length;
    """
    assert len(browser.find_elements(By.CSS_SELECTOR, ".groups li")) == 2
    assert browser.execute_script(covers) == 0


@pytest.mark.slow
def test_another_deadline_factor_can_be_chosen(browser, opened, tmp_path):
    path = write_report(demo_stress(**SMALL, factors=(2.0, 4.0)), tmp_path)
    opened(path)
    second = browser.find_element(By.ID, "chart-distribution-slowdown-d004000")
    assert not second.is_displayed()
    box = browser.find_element(By.CSS_SELECTOR, "select[data-family='distribution-slowdown']")
    Select(box).select_by_visible_text("D/C = 4")
    plot = "distribution-slowdown-d004000-0"
    WebDriverWait(browser, PATIENCE_S).until(lambda d: drawn(d, plot, "dataset.drawn") == plot)
    assert second.is_displayed()
    first = browser.find_element(By.ID, "chart-distribution-slowdown-d002000")
    assert not first.is_displayed()


@pytest.mark.slow
def test_a_profile_has_a_grid_for_each_deadline_factor(browser, opened, tmp_path):
    summary = with_factors(demo_summary(cores=(2, 4), steps=2), (2.0, 5.0))
    path = write_report(summary, tmp_path)
    opened(path)
    for factor in ("5", "2"):
        boxes = browser.find_elements(By.CSS_SELECTOR, "select[data-family='grid']")
        assert len(boxes) == 3, "quantity, cores, deadline factor"
        Select(boxes[2]).select_by_visible_text(f"D/C = {factor}")
        plot = f"slowdown-m004-d00{factor}000-0"
        wanted = f"return document.getElementById('{plot}').dataset.drawn === '{plot}';"
        WebDriverWait(browser, PATIENCE_S).until(lambda d, w=wanted: d.execute_script(w))
        browser.execute_script(CLICK, plot)
        words = browser.find_element(By.ID, "point-words").text
        assert words.startswith(f"M = 4, ρ = 1, α = 1, D/C = {factor}: slowdown 1.8")
        files = browser.find_elements(By.CSS_SELECTOR, "#sets-table tbody tr")
        assert len(files) == 4
    curves = drawn(
        browser, "deadline-factor-m004-0", "data.filter((t) => t.name).map((t) => t.name)"
    )
    assert curves == ["α = 0", "α = 0.5", "α = 1"]


@pytest.mark.slow
def test_a_comparison_shows_verdicts_in_cells_and_under_the_pointer(browser, opened, tmp_path):
    result, _ = demo_comparison(cores=(2, 4))
    path, _ = write_comparison(result, tmp_path, formats=())
    opened(path)
    two, four = (
        browser.find_element(By.ID, f"difference-slowdown-{panel}").text.split() for panel in (0, 1)
    )
    assert "+14" in four and "=" in four and "?" in two
    hover = drawn(browser, "difference-slowdown-1", "data.at(-1).hovertext.at(-1).at(-1)")
    assert "M = 4, ρ = 1, α = 1" in hover
    assert "4 pairs" in hover


#: Names of the rows from the top, and texts of the cells of a column, as they are drawn.
ROWS = """
const heat = document.getElementById("interference-0");
return [...heat.layout.yaxis.ticktext].reverse();
"""
COLUMN = """
const {data, layout} = document.getElementById("interference-0");
const layer = data.find((trace) => trace.mode === "text");
const at = layout.xaxis.tickvals[layout.xaxis.ticktext.indexOf(arguments[0])];
return layer.text.filter((_, k) => layer.x[k] === at).map(Number).reverse();
"""


def test_a_heat_map_is_sorted_by_a_column_or_a_row(browser, opened, tmp_path):
    """Truth: after sorting, the numbers drawn in the column fall, and each row has its own."""
    deadbeat.interfere(simulated=True, repeats=2, aggressors="others", runs=tmp_path)
    page = tmp_path / "interfere" / "report.html"
    opened(page)
    clustered = browser.execute_script(ROWS)
    before = dict(zip(clustered, browser.execute_script(COLUMN, "copy:32M"), strict=True))
    order = Select(browser.find_element(By.CSS_SELECTOR, "#chart-interference .controls select"))
    assert order.first_selected_option.text == "alike side by side"

    def chosen(words: str) -> list[str]:
        order.select_by_visible_text(words)
        await_plots(browser)
        return browser.execute_script(ROWS)

    rows = chosen("rows by copy:32M")
    values = browser.execute_script(COLUMN, "copy:32M")
    assert values == sorted(values, reverse=True)
    assert values[0] > 1.2
    assert dict(zip(rows, values, strict=True)) == before
    assert rows != clustered
    assert chosen("largest first")[0] in ("futex:64@shared", "pipe:4@shared")
    assert chosen("alike side by side") == clustered


def test_hostile_names_stay_text_in_figures_too(browser, opened, tmp_path):
    name = HOSTILE.replace("hacked()", "window.hacked = 1")
    base = demo_stress(**SMALL, name=name, labels=(name,))
    rows = tuple(row | {"group": name} for row in rows_of(base)[:1])
    sets = tuple(item | {"group": name} for item in sets_of(base))
    path = write_report(with_rows(base, rows=rows, sets=sets), tmp_path)
    opened(path)
    assert browser.execute_script("return window.hacked;") is None
    assert name in browser.find_element(By.ID, "chart-drivers-title").text
    ticks = drawn(browser, "split-0", "layout.xaxis.ticktext[0]")
    assert ticks.startswith("&lt;/script&gt;")


def test_a_campaign_without_runs_opens(browser, opened, tmp_path):
    path = write_report(demo_stress(groups=(), causes=False, counters=False), tmp_path)
    opened(path)
    assert "Nothing was measured yet." in browser.find_element(By.ID, "figures").text
