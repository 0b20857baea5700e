"""The page of a load test as a person meets it: opened in Chromium, wide and narrow."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from helpers.chromium import PATIENCE_S, opening, resize
from selenium.webdriver import Chrome
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait

from deadbeat.cli.main import main

pytestmark = [pytest.mark.browser, pytest.mark.slow]

ASK = ["--simulated", "--normal", "0,4,8", "--repeats", "3", "--no-figures"]


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory, browser: Chrome) -> Iterator[Chrome]:
    runs: Path = tmp_path_factory.mktemp("runs")
    assert main(["load", *ASK, "--runs", str(runs)]) == 0
    with opening(browser) as opened:
        yield opened(runs / "load" / "report.html", width=1250, height=900)


def test_every_figure_is_drawn_and_says_that_it_is_made_up(page: Chrome) -> None:
    titles = [title.text for title in page.find_elements(By.CLASS_NAME, "figure-title")]
    assert len(titles) == 6
    assert all("SIMULATED" in title for title in titles)
    plots = page.find_elements(By.CSS_SELECTOR, "figure .plot")
    assert len(plots) == 7
    assert all(plot.find_elements(By.CSS_SELECTOR, ".main-svg") for plot in plots)


@pytest.mark.parametrize("width", [1250, 400])
def test_it_fits_its_window(page: Chrome, width: int) -> None:
    resize(page, width, 900)
    script = "return document.documentElement.scrollWidth - document.documentElement.clientWidth"
    WebDriverWait(page, PATIENCE_S).until(lambda d: d.execute_script(script) <= 0)
