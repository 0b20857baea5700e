"""Pages of latency matrices and of plots as a person meets them: opened, chosen, narrow, dark."""

import pytest
from helpers.chromium import await_plots
from helpers.latencies import made_up_runs
from helpers.pages import HOSTILE
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import Select

from deadbeat.compare.plot import preset_of, read_side, write_plot
from deadbeat.kinds.latency.document import latency_document
from deadbeat.kinds.latency.summarise import summarise_latency
from deadbeat.model.examples import example_platform
from deadbeat.model.latency import IDLE, LoadPoint
from deadbeat.report.html import page as html
from deadbeat.store.latency import LatencyStore

pytestmark = pytest.mark.browser

LOADS = (IDLE, LoadPoint("cpu", 50), LoadPoint("scheduler", 100))


def test_a_matrix_is_drawn_and_another_load_can_be_chosen(browser, opened, tmp_path):
    runs = made_up_runs(loads=LOADS, repeats=2, seconds=0.3)
    summary = summarise_latency(runs, name=HOSTILE)
    path = tmp_path / "report.html"
    path.write_text(html(latency_document(summary, runs, platform={"kernel": HOSTILE})))
    opened(path)
    names = "return document.getElementById(arguments[0]).data.map((t) => t.name).filter(Boolean);"
    assert browser.execute_script(names, "latency-histogram-idle-0") == [
        "CPU 0 (n = 600)", "CPU 1 (n = 600)",
    ]  # fmt: skip
    ticks = "return [...document.querySelectorAll('#latency-load-simulated-0 .xtick')].length;"
    assert browser.execute_script(ticks) == len(LOADS)
    box = browser.find_element(By.CSS_SELECTOR, "select[data-family=latency-histogram]")
    Select(box).select_by_visible_text("scheduler 100 %")
    await_plots(browser)
    shown = browser.find_element(By.ID, "chart-latency-histogram-scheduler-100")
    assert shown.is_displayed()
    assert not browser.find_element(By.ID, "chart-latency-histogram-idle").is_displayed()
    assert "hacked" in browser.find_element(By.TAG_NAME, "h1").text


def test_a_plot_is_drawn_narrow_and_dark(browser, opened, tmp_path):
    sides = []
    for name, scale in (("standard", 8.0), ("rt", 1.0)):
        store = LatencyStore.create(tmp_path / name, {"name": name}, example_platform())
        for run in made_up_runs(loads=LOADS[:2], repeats=3, seconds=0.3, scale=scale):
            store.keep(run)
        sides.append(read_side(tmp_path / name))
    made = write_plot(preset_of("two-kernels"), sides, tmp_path / "out", formats=())
    opened(made.page, width=400, scheme="dark")
    assert "SIMULATED" in browser.find_element(By.ID, "labels").text
    sentences = browser.find_elements(By.CSS_SELECTOR, ".sentence")
    assert "times as late" in " ".join(each.text for each in sentences)
    # A heading was cut off on a wide page.
    made = write_plot(preset_of("bsp"), sides, tmp_path / "bsp", formats=())
    opened(made.page, width=1250)
    cut = "[...document.querySelectorAll('.scroll')].map((e) => e.scrollWidth - e.clientWidth)"
    assert set(browser.execute_script(f"return {cut};")) == {0}
