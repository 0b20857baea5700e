"""The report as a person meets it: opened in Chromium, read, clicked, resized."""

import base64
import io
import json
from pathlib import Path

import numpy as np
import pytest
from helpers.chromium import PATIENCE_S, await_plots, console_errors, prefer
from helpers.demo_summary import demo_summary
from helpers.rows import rows_of, sets_of, with_rows
from matplotlib.image import imread
from selenium.webdriver import ActionChains, Chrome
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import Select, WebDriverWait

from deadbeat.tasksets.contention.kind import write_report

pytestmark = pytest.mark.browser

HEAT, SURFACE = "slowdown-m004-1", "slowdown-m004-0"

#: Works the controls as far as they are not where a fresh page has them.
BACK_TO_START = """
    const first = {"choose-distribution": "slowdown", "choose-view": "histogram"};
    Object.entries(first).forEach(([group, value]) =>
        document.querySelector(`#${group} input[value="${value}"]`).click());
    const back = (box, value) => {
        if (box.value === value) return;  // nothing is drawn again
        box.value = value;
        box.dispatchEvent(new Event("change"));
    };
    const grid = document.querySelectorAll("select[data-family='grid']");
    ["Slowdown", "M = 4"].forEach((value, k) => back(grid[k], value));
    const last = {"point-cores": "4", "point-rho": "4", "point-alpha": "4", "points-cores": "all"};
    Object.entries(last).forEach(([id, value]) => back(document.getElementById(id), value));"""


@pytest.fixture(scope="module")
def demo_page(tmp_path_factory) -> Path:
    return write_report(demo_summary(), tmp_path_factory.mktemp("demo"))


@pytest.fixture
def page(opened, browser, demo_page) -> Chrome:
    """The demo's page in its first state: loaded, or brought back by its own controls."""
    if browser.current_url != demo_page.as_uri():
        return opened(demo_page)
    browser.execute_script(BACK_TO_START)
    await_drawn(browser, HEAT)
    await_drawn(browser, "distribution", "distribution-slowdown-histogram")
    return browser


def await_drawn(driver: Chrome, plot: str, name: str = "") -> None:
    """Until it is shown, and as ``name`` (its own)."""
    script = "return document.getElementById(arguments[0]).dataset.drawn;"
    await_plots(driver)
    assert driver.find_element(By.ID, plot).is_displayed()
    assert driver.execute_script(script, plot) == (name or plot)


def text(driver: Chrome, selector: str) -> str:
    return driver.find_element(By.CSS_SELECTOR, selector).text


def cells(driver: Chrome, table: str) -> list[list[str]]:
    script = """return [...document.querySelectorAll(`#${arguments[0]} tbody tr`)]
        .map((line) => [...line.cells].map((cell) => cell.textContent));"""
    return driver.execute_script(script, table)


def choose(driver: Chrome, group: str, value: str) -> None:
    driver.find_element(By.CSS_SELECTOR, f"#{group} input[value='{value}']").click()


def choose_grid(driver: Chrome, *parts: str) -> None:
    boxes = driver.find_elements(By.CSS_SELECTOR, "select[data-family='grid']")
    for box, part in zip(boxes, parts, strict=True):
        Select(box).select_by_visible_text(part)


def click_cell(driver: Chrome, alpha: float, rho: float, plot: str = HEAT) -> None:
    """Clicks the heat map where alpha and rho are, by the scales the plot itself uses."""
    script = """const plot = document.getElementById(arguments[2]), full = plot._fullLayout;
        plot.scrollIntoView({block: "center", behavior: "instant"});
        const box = plot.getBoundingClientRect();
        return [box.left + full.xaxis._offset + full.xaxis.d2p(arguments[0]),
                box.top + full.yaxis._offset + full.yaxis.d2p(arguments[1])];"""
    x, y = driver.execute_script(script, alpha, rho, plot)
    actions = ActionChains(driver)
    # Two steps: the plot finds the cell under the pointer while it moves.
    actions.w3c_actions.pointer_action.move_to_location(round(x) - 3, round(y) - 3)
    actions.w3c_actions.pointer_action.move_to_location(round(x), round(y))
    actions.w3c_actions.pointer_action.click()
    actions.perform()


def pixels(png: bytes) -> np.ndarray:
    return imread(io.BytesIO(png))[..., :3]


def colours_near(image: np.ndarray, colour: tuple[float, float, float]) -> int:
    return int((np.abs(image - np.array(colour)).max(axis=-1) < 0.06).sum())


def whole_page(driver: Chrome) -> bytes:
    shot = driver.execute_cdp_cmd(
        "Page.captureScreenshot", {"format": "png", "captureBeyondViewport": True}
    )
    return base64.b64decode(shot["data"])


def test_it_says_what_was_found(page, tmp_path):
    assert page.title == "demo – deadbeat contention"
    assert text(page, "h1") == "demo"
    assert text(page, "#labels").startswith("SIMULATED · policy other")
    first = [each.text for each in page.find_elements(By.CSS_SELECTOR, "header .sentence")]
    assert "is 1.839 (95 % interval 1.834 to 1.844)" in first[0]
    assert first[1].startswith("Deadlines of 10 C: extra misses from M = 4, ρ = 0.5, α = 1 on")
    answer = [each.text for each in page.find_elements(By.CSS_SELECTOR, "#answer p")]
    assert not {*first} & {*answer}
    assert any(each.startswith("Only slowdowns of 1.2 % or more could be seen") for each in answer)
    assert text(page, "#points-count") == "74 of 74 points shown"
    assert len(cells(page, "points-table")) == 74
    (tmp_path / "light.png").write_bytes(whole_page(page))


def test_labels_and_noise_floor_stand_on_every_figure(page):
    assert text(page, "#distribution-title").endswith("— SIMULATED, policy other")
    assert text(page, "#distribution-caption").startswith(
        "Only slowdowns of 1.2 % or more could be seen here."
    )
    figures = [f for f in page.find_elements(By.CSS_SELECTOR, "figure.chart") if f.is_displayed()]
    assert len(figures) >= 3
    for figure in figures:
        assert "— SIMULATED, policy other" in figure.find_element(By.TAG_NAME, "h3").text
        caption = figure.find_element(By.TAG_NAME, "figcaption").text
        assert caption.startswith("Only slowdowns of 1.2 % or more could be seen here.")


def test_the_surface_is_really_drawn(page, tmp_path):
    assert not page.execute_script(f"return document.getElementById('{SURFACE}').dataset.drawn;")
    page.execute_script(f"document.getElementById('{SURFACE}').closest('details').open = true;")
    WebDriverWait(page, PATIENCE_S).until(
        lambda d: d.execute_script(f"return document.getElementById('{SURFACE}').dataset.drawn;")
    )
    png = page.find_element(By.ID, SURFACE).screenshot_as_png
    (tmp_path / "surface.png").write_bytes(png)
    image = pixels(png)
    # Violet and green of the colour map: the low and the high part of the surface.
    assert colours_near(image, (0.30, 0.06, 0.40)) > 1000
    assert colours_near(image, (0.13, 0.57, 0.55)) > 150


def test_the_heat_map_shows_values_and_names_what_is_missing(page):
    words = text(page, f"#{HEAT}")
    assert "1.84[1.83, 1.84]n = 4" in words
    assert words.count("n.m.") == 1
    assert words.count("?") == 1


def test_a_click_on_a_cell_shows_its_task_sets(page):
    click_cell(page, 0.5, 0.75)
    await_drawn(page, HEAT)
    assert text(page, "#point-words").startswith("M = 4, ρ = 0.75, α = 0.5: slowdown 1.2")
    lines = cells(page, "sets-table")
    assert [line[0] for line in lines] == ["0", "1", "2", "3"]
    assert [line[-1] for line in lines] == [
        f"jobs/m004-s0750-c0500-r{replica:04d}.jobs" for replica in range(4)
    ]
    head = page.find_elements(By.CSS_SELECTOR, "#sets-table th")
    assert [cell.text for cell in head] == [
        "replica", "object", "seed", "tasks N", "releases", "finished", "slowdown",
        "delay ratio", "misses", "miss ratio", "episodes", "ρ real", "α real", "overlap",
        "shared objects", "file",
    ]  # fmt: skip
    assert lines[1][2] == "7004001"


@pytest.mark.slow
def test_a_click_on_an_undecided_cell_says_so(page):
    click_cell(page, 0.75, 0.25)
    assert text(page, "#point-words").startswith("M = 4, ρ = 0.25, α = 0.75: undecided")
    await_plots(page)
    assert "No distribution stored" in text(page, "#distribution")


@pytest.mark.slow
def test_a_click_on_a_cell_that_was_not_measured_says_so(page):
    click_cell(page, 0.25, 0.75)
    assert text(page, "#point-words") == "M = 4, ρ = 0.75, α = 0.25: not measured."
    assert cells(page, "sets-table") == [["No task set of this point was measured."]]


@pytest.mark.slow
def test_the_quantity_can_be_switched(page):
    choose_grid(page, "Deadline needed", "M = 4")
    await_drawn(page, "deadline_needed-m004-1")
    assert "≥2.65n = 4" in text(page, "#deadline_needed-m004-1")
    choose_grid(page, "Deadline miss ratio", "M = 4")
    await_drawn(page, "deadline_miss_ratio-m004-1")
    title = text(page, "#chart-deadline_miss_ratio-m004-title")
    assert title.startswith("Grid of points, Deadline miss ratio, M = 4")
    words = text(page, "#deadline_miss_ratio-m004-1")
    assert "8.1[4.9, 12]n = 4" in words
    assert "<0.047n = 4" in words


def test_the_number_of_cores_can_be_switched(page):
    choose_grid(page, "Slowdown", "M = 1")
    await_drawn(page, "slowdown-m001-1")
    assert "n.m." not in text(page, "#slowdown-m001-1")
    assert Select(page.find_element(By.ID, "point-cores")).first_selected_option.text == "1"
    assert text(page, "#point-words").startswith("M = 1, ρ = 1, α = 1: slowdown 0.999 [")
    assert (
        "; deadline needed ≥ 1.44, alone ≥ 1.44; deadline miss ratio < 0.19 % (none seen),"
        " alone 0 %; delay ratio " in text(page, "#point-words")
    )


@pytest.mark.slow
def test_a_point_can_be_chosen_by_keyboard(page):
    box = page.find_element(By.ID, "point-rho")
    Select(box).select_by_visible_text("0.5")
    assert text(page, "#point-words").startswith("M = 4, ρ = 0.5, α = 1: slowdown 1.4")
    row = "#points-table tr[data-key='2/250/500/10000']"
    button = page.find_element(By.CSS_SELECTOR, f"{row} button")
    page.execute_script("arguments[0].focus();", button)
    button.send_keys("\n")
    assert text(page, "#point-words").startswith("M = 2, ρ = 0.25, α = 0.5: slowdown 1.02")
    marked = page.find_elements(By.CSS_SELECTOR, "#points-table tr[aria-selected='true']")
    assert [line.get_attribute("data-key") for line in marked] == ["2/250/500/10000"]
    await_drawn(page, "slowdown-m002-1")


@pytest.mark.slow
@pytest.mark.parametrize("view", ["cdf", "tail"])
def test_a_distribution_can_be_drawn_otherwise(page, view):
    choose(page, "choose-view", view)
    await_drawn(page, "distribution", f"distribution-slowdown-{view}")
    choose(page, "choose-distribution", "response_ratio")
    await_drawn(page, "distribution", f"distribution-response_ratio-{view}")
    traces = page.execute_script(
        "return document.getElementById('distribution').data.map((trace) => trace.y);"
    )
    own = [share for share in traces[0] if share is not None]
    assert own == sorted(own, reverse=view == "tail")
    assert own[0] == (100 if view == "tail" else 0)
    assert len(traces) == 2


@pytest.mark.slow
def test_quick_changes_of_mind_end_in_the_last_choice(page):
    choose(page, "choose-view", "cdf")
    choose(page, "choose-distribution", "response_ratio")
    await_drawn(page, "distribution", "distribution-response_ratio-cdf")
    # Once more than a plot can draw in between; the plotting library never came back from this.
    page.execute_script("""
        for (const [group, value] of [["choose-distribution", "slowdown"], ["choose-view", "tail"],
            ["choose-view", "histogram"], ["choose-distribution", "delay_ratio"]])
            document.querySelector(`#${group} input[value="${value}"]`).click();
        const grid = document.querySelectorAll("select[data-family='grid']");
        for (const [k, value] of [[0, "Deadline needed"], [1, "M = 1"], [1, "M = 2"],
            [0, "Deadline miss ratio"]]) {
            grid[k].value = value;
            grid[k].dispatchEvent(new Event("change"));
        }""")
    await_drawn(page, "distribution", "distribution-delay_ratio-histogram")
    await_drawn(page, "deadline_miss_ratio-m002-1")


def test_the_table_sorts_both_ways_and_keeps_the_unknown_last(page):
    head = page.find_element(By.CSS_SELECTOR, "th[data-column='slowdown_mean']")
    button = head.find_element(By.TAG_NAME, "button")
    orders = {}
    for wanted in ("ascending", "descending"):
        page.execute_script("arguments[0].click();", button)
        assert head.get_attribute("aria-sort") == wanted
        lines = cells(page, "points-table")
        assert lines[-1][6].strip() == "–"
        orders[wanted] = [float(line[6].split()[0]) for line in lines[:-1]]
    assert orders["ascending"] == sorted(orders["ascending"])
    assert orders["descending"] == orders["ascending"][::-1]


def test_the_table_can_be_narrowed_to_one_number_of_cores(page):
    Select(page.find_element(By.ID, "points-cores")).select_by_visible_text("M = 4")
    lines = cells(page, "points-table")
    assert {line[1] for line in lines} == {"4"}
    assert text(page, "#points-count") == "24 of 24 points shown"


def test_the_data_can_be_taken_away(page):
    page.execute_script("""window.taken = [];
        const make = URL.createObjectURL;
        URL.createObjectURL = (blob) => {
            blob.text().then((content) => taken.push(content));
            return make(blob);
        };""")
    page.find_element(By.ID, "download").click()
    WebDriverWait(page, PATIENCE_S).until(lambda d: d.execute_script("return taken.length;"))
    data = json.loads(page.execute_script("return taken[0];"))
    assert len(data["rows"]) == 74
    assert data["name"] == "demo"


def test_dark_is_dark_down_to_the_plots(page, tmp_path):
    prefer(page, "dark")
    background = "return getComputedStyle(document.body).backgroundColor;"
    paper = "return document.getElementById('slowdown-m004-1')._fullLayout.paper_bgcolor;"
    assert page.execute_script(background) == "rgb(21, 24, 28)"
    WebDriverWait(page, PATIENCE_S).until(lambda d: d.execute_script(paper) == "#15181c")
    (tmp_path / "dark.png").write_bytes(whole_page(page))
    image = pixels(page.find_element(By.ID, "distribution").screenshot_as_png)
    assert colours_near(image, (21 / 255, 24 / 255, 28 / 255)) > image[..., 0].size / 2


def test_hostile_names_stay_text(opened, tmp_path):
    name = "</script><script>window.hacked = 1</script><img src=x onerror='window.hacked = 1'>"
    base = demo_summary(name=name, host=name, labels=(name,), cores=(2,), steps=1)
    driver = opened(write_report(base, tmp_path))
    assert driver.execute_script("return window.hacked;") is None
    assert text(driver, "h1") == name
    assert name in text(driver, "#labels")
    assert text(driver, "#chart-slowdown-m002-title").endswith(name)


def test_a_campaign_without_runs_opens(browser, tmp_path):
    console_errors(browser)
    empty = demo_summary(cores=())
    browser.get(write_report(empty, tmp_path).as_uri())
    assert text(browser, "header .sentence") == "Nothing was measured yet."
    assert text(browser, "#points-count") == "0 of 0 points shown"
    assert console_errors(browser) == []


@pytest.mark.slow
def test_loaded_cores_are_a_table_and_no_part_of_the_grid(opened, tmp_path):
    base = demo_summary(cores=(1, 2), steps=1)
    load = {"tasks_per_core": 2, "deadline_factor": 2.0, "slowdown_mean": 9.0}
    summary = with_rows(base, rows=(*rows_of(base), rows_of(base)[-1] | load))
    driver = opened(write_report(summary, tmp_path))
    assert text(driver, "#loaded caption") == "2 tasks a core, D = 2 C"
    assert cells(driver, "loaded-0")[0][:5] == ["2", "1.00", "1.00", "4", "9.000 [1.275, 1.285]"]
    assert text(driver, "#points-count") == "8 of 8 points shown"
    assert not driver.find_element(By.ID, "point-factor").is_displayed()
    assert "9.00" not in text(driver, "#slowdown-m002-0")
    assert not driver.find_element(By.ID, "further-table").is_displayed()
    assert len(cells(driver, "further-table")) == 9


def test_the_page_refuses_to_open_a_connection(browser, demo_page):
    browser.get(demo_page.as_uri())
    script = """const done = arguments[0];
        const tell = (event) => done(event.effectiveDirective);
        document.addEventListener("securitypolicyviolation", tell);
        fetch("http://127.0.0.1:9/").catch(() => {});"""
    assert browser.execute_async_script(script) == "connect-src"
    console_errors(browser)


@pytest.mark.slow
def test_the_largest_grid_stays_usable(opened, tmp_path):
    """16 x 11 x 11 points with ten task sets each, as the paper's preset measures them."""
    summary = demo_summary(cores=tuple(range(1, 17)), steps=10, sets_per_point=10, holes=False)
    assert (len(rows_of(summary)), len(sets_of(summary))) == (1936, 19360)
    driver = opened(write_report(summary, tmp_path))
    assert text(driver, "#points-count") == "300 of 1936 points shown"
    choose_grid(driver, "Slowdown", "M = 9")
    await_drawn(driver, "slowdown-m009-1")
    click_cell(driver, 0.3, 0.7, "slowdown-m009-1")
    assert text(driver, "#point-words").startswith("M = 9, ρ = 0.7, α = 0.3: slowdown 1.2")
    assert len(cells(driver, "sets-table")) == 10
    more = driver.find_element(By.ID, "points-more")
    driver.execute_script("arguments[0].click();", more)
    assert text(driver, "#points-count") == "1936 of 1936 points shown"
    assert not more.is_displayed()
