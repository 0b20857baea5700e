"""The page of a schedule as a person meets it: opened in Chromium, zoomed, narrowed."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from helpers.chromium import PATIENCE_S, opening, resize
from selenium.webdriver import Chrome
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait

from deadbeat.cli.main import main

pytestmark = pytest.mark.browser

EXAMPLE = Path(__file__).parents[2] / "examples" / "sched" / "vehicle.json"

#: Ends of the time axis, and how many spans are drawn.
RANGE = 'return document.getElementById("schedule-0").layout.xaxis.range.map(Number);'
SPANS = 'return document.querySelectorAll("#schedule-0 .bars .point").length;'
ZOOM = 'return Plotly.relayout("schedule-0", {"xaxis.range": [5000, 9000]}).then(() => 1);'


@pytest.fixture(scope="module")
def page(tmp_path_factory, browser: Chrome) -> Iterator[Chrome]:
    path = tmp_path_factory.mktemp("page") / "vehicle.html"
    assert main(("sched", "simulate", str(EXAMPLE), "--report", str(path))) == 0
    with opening(browser) as opened:
        yield opened(path, width=1300)


def test_it_says_that_it_is_simulated_and_fits_the_window(page):
    assert "SIMULATED, NOT MEASURED" in page.find_element(By.ID, "labels").text.upper()
    assert page.find_element(By.ID, "verdict-sentence").text == "Schedulable, proved."
    script = "return document.documentElement.scrollWidth <= window.innerWidth;"
    assert page.execute_script(script)
    assert page.execute_script(SPANS) > 300


def test_the_time_axis_zooms_and_the_rows_stay(page):
    assert page.execute_script(RANGE) == pytest.approx([-537.5, 43_537.5], rel=1e-3)
    assert page.execute_script(ZOOM) == 1
    assert page.execute_script(RANGE) == [5000, 9000]
    script = 'return document.getElementById("schedule-0").layout.yaxis.fixedrange;'
    assert page.execute_script(script)


def test_on_a_narrow_screen_only_the_table_scrolls(page):
    resize(page, 420, 800)
    try:
        WebDriverWait(page, PATIENCE_S).until(
            lambda d: d.execute_script(
                "return document.querySelector('#schedule-0 svg').getAttribute('width') < 520;"
            )
        )
        script = "return document.documentElement.scrollWidth <= window.innerWidth;"
        assert page.execute_script(script)
    finally:
        resize(page, 1300, 1000)
