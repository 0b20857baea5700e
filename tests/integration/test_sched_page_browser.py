"""The page of a schedule as a person meets it: opened in Chromium, zoomed, dragged, narrowed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from helpers.chromium import chromium, console_errors, requested, resize
from selenium.webdriver import Chrome
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait

from deadbeat.cli.main import main

pytestmark = pytest.mark.browser

EXAMPLE = Path(__file__).parents[2] / "examples" / "sched" / "vehicle.json"
PATIENCE_S = 60

#: Bars of the plot that are in sight: left edge and width.
BARS = """return [...document.querySelectorAll("#gantt .plot rect")]
    .filter((node) => node.style.display !== "none").map((node) =>
        [Number(node.getAttribute("x")), Number(node.getAttribute("width"))]);"""
WHEEL = """const box = document.getElementById("gantt"), at = box.getBoundingClientRect();
    for (let i = 0; i < arguments[0]; i += 1) box.dispatchEvent(new WheelEvent("wheel",
        {deltaY: -100, clientX: at.left + 500, clientY: at.top + 50, cancelable: true}));"""


@pytest.fixture(scope="module")
def page(tmp_path_factory) -> Iterator[Chrome]:
    path = tmp_path_factory.mktemp("page") / "vehicle.html"
    assert main(("sched", "simulate", str(EXAMPLE), "--report", str(path))) == 0
    with chromium(tmp_path_factory.mktemp("profile")) as driver:
        resize(driver, 1300, 1000)
        driver.get(path.as_uri())
        await_range(driver, lambda low, high: (low, high) == (0, 43_000))
        yield driver
        assert console_errors(driver) == []
        assert {url for url in requested(driver) if url.startswith(("http", "ws"))} == set()


def shown(driver: Chrome) -> tuple[int, int]:
    low, high = driver.find_element(By.ID, "gantt").get_attribute("data-drawn").split()
    return int(low), int(high)


def await_range(driver: Chrome, holds) -> tuple[int, int]:
    WebDriverWait(driver, PATIENCE_S).until(lambda d: holds(*shown(d)))
    return shown(driver)


def reset(driver: Chrome) -> None:
    driver.find_element(By.ID, "zoom-reset").click()
    await_range(driver, lambda low, high: (low, high) == (0, 43_000))


def test_it_says_that_it_is_simulated_and_fits_the_window(page):
    reset(page)
    assert "SIMULATED, NOT MEASURED" in page.find_element(By.ID, "labels").text.upper()
    assert page.find_element(By.ID, "verdict-sentence").text == "Schedulable, proved."
    script = "return document.documentElement.scrollWidth <= window.innerWidth;"
    assert page.execute_script(script)
    assert len(page.execute_script(BARS)) > 300


def test_the_wheel_zooms_in_around_the_pointer_and_out_again(page):
    reset(page)
    bars = page.execute_script(BARS)
    page.execute_script(WHEEL, 6)
    low, high = await_range(page, lambda low, high: high - low < 15_000)
    assert 0 < low < high < 43_000
    assert len(page.execute_script(BARS)) < len(bars)
    assert "shown: " in page.find_element(By.ID, "zoom-range").text
    reset(page)
    assert page.execute_script(BARS) == bars


def test_buttons_move_and_zoom_and_stop_at_the_ends(page):
    reset(page)
    for _ in range(2):
        page.find_element(By.ID, "zoom-in").click()
    low, high = await_range(page, lambda low, high: high - low < 11_000)
    page.find_element(By.ID, "zoom-right").click()
    moved = await_range(page, lambda a, b: a > low)
    assert abs((moved[1] - moved[0]) - (high - low)) <= 2
    for _ in range(12):
        page.find_element(By.ID, "zoom-left").click()
    await_range(page, lambda a, b: a == 0)
    page.find_element(By.ID, "zoom-out").click()
    page.find_element(By.ID, "zoom-out").click()
    page.find_element(By.ID, "zoom-out").click()
    await_range(page, lambda a, b: (a, b) == (0, 43_000))


def test_on_a_narrow_screen_only_the_chart_and_the_table_scroll(page):
    reset(page)
    resize(page, 420, 800)
    try:
        WebDriverWait(page, PATIENCE_S).until(
            lambda d: d.execute_script(
                "return document.querySelector('#gantt svg').getAttribute('width') < 520;"
            )
        )
        script = "return document.documentElement.scrollWidth <= window.innerWidth;"
        assert page.execute_script(script)
    finally:
        resize(page, 1300, 1000)
