"""Pages of latency matrices and comparisons as a person meets them: opened, narrow, dark."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from helpers.checks import config, window
from helpers.chromium import (
    PATIENCE_S,
    await_plots,
    chromium,
    console_errors,
    crowded,
    opening,
    prefer,
    requested,
    resize,
)
from helpers.kinds import KINDS, MORE_KINDS
from helpers.latencies import made_up_runs
from helpers.pages import HOSTILE
from selenium.webdriver import Chrome
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import Select, WebDriverWait

from deadbeat.base.model.platform import example_platform
from deadbeat.base.report.html import page as html
from deadbeat.cli.main import main
from deadbeat.latencies.latency.document import latency_document
from deadbeat.latencies.latency.model import IDLE, LoadPoint
from deadbeat.latencies.latency.store import LatencyStore
from deadbeat.latencies.latency.summarise import summarise_latency
from deadbeat.machine.settings.doctor import DoctorReport, examine
from deadbeat.machine.settings.doctor_page import write_doctor
from deadbeat.machine.targets.fake import FakeTarget

pytestmark = pytest.mark.browser

LOADS = (IDLE, LoadPoint("cpu", 50), LoadPoint("scheduler", 100))


def test_a_matrix_is_drawn_and_another_load_can_be_chosen(browser, opened, tmp_path):
    runs = made_up_runs(loads=LOADS, repeats=2, seconds=0.3)
    summary = summarise_latency(runs, name=HOSTILE)
    path = tmp_path / "report.html"
    path.write_text(html(latency_document(summary, runs, platform={"kernel": HOSTILE})))
    opened(path)
    assert crowded(browser) == []
    box = browser.find_element(By.CSS_SELECTOR, "select[data-family=latency-histogram]")
    latest = {cell.load: cell.whole.raw.histogram.max_ns for cell in summary.cells}
    worst, *_, best = sorted(latest, key=lambda load: -(latest[load] or 0))
    first = browser.find_element(By.CSS_SELECTOR, ".first figure:not([hidden])")
    assert first.get_attribute("id") == f"chart-latency-histogram-{worst.text}"
    assert (worst, best) == (LOADS[-1], IDLE)
    Select(box).select_by_visible_text("idle")
    await_plots(browser)
    names = "return document.getElementById(arguments[0]).data.map((t) => t.name).filter(Boolean);"
    assert browser.execute_script(names, "latency-histogram-idle-0") == [
        "CPU 0 (n = 600)", "CPU 1 (n = 600)",
    ]  # fmt: skip
    ticks = "return [...document.querySelectorAll('#latency-load-simulated-0 .xtick')].length;"
    assert browser.execute_script(ticks) == len(LOADS)
    Select(box).select_by_visible_text("scheduler 100 %")
    await_plots(browser)
    shown = browser.find_element(By.ID, "chart-latency-histogram-scheduler-100")
    assert shown.is_displayed()
    assert not browser.find_element(By.ID, "chart-latency-histogram-idle").is_displayed()
    assert "hacked" in browser.find_element(By.TAG_NAME, "h1").text


def test_a_comparison_is_drawn_narrow_and_dark(browser, opened, tmp_path):
    for name, scale in (("standard", 8.0), ("rt", 1.0)):
        store = LatencyStore.create(tmp_path / name, {"name": name}, example_platform())
        for run in made_up_runs(loads=LOADS[:2], repeats=3, seconds=0.3, scale=scale):
            store.keep(run)
    sides = [str(tmp_path / name) for name in ("standard", "rt")]
    assert main(["compare", *sides, "--out", str(tmp_path / "out")]) == 0
    opened(tmp_path / "out/compare.html", width=400, scheme="dark")
    assert "SIMULATED" in browser.find_element(By.ID, "labels").text
    names = "return document.getElementById('against-load-simulated-0').data.map((t) => t.name)"
    assert {"standard", "rt"} <= set(browser.execute_script(names))
    ids = [each.get_attribute("id") for each in browser.find_elements(By.CSS_SELECTOR, "figure")]
    assert ids.index("chart-latencies-cpu-050-simulated") == 0
    assert ids.index("chart-overall") < ids.index("chart-against-load-simulated")
    assert crowded(browser) == []


def diagnosis() -> DoctorReport:
    files = {"/sys/devices/system/cpu/online": "0-1\n", "/proc/sys/kernel/timer_migration": "0\n"}
    return examine(FakeTarget(files=files, outputs={**window(), **config("PREEMPT=y")}))


def in_sight(driver: Chrome) -> dict[str, int]:
    return {
        status: sum(
            item.is_displayed()
            for item in driver.find_elements(By.CSS_SELECTOR, f".results > .{status}")
        )
        for status in ("fail", "unknown", "pass")
    }


def choose(driver: Chrome, value: str) -> None:
    driver.execute_script(
        "const b = document.querySelector(`input[value=${arguments[0]}]`);"
        "b.checked = true; b.dispatchEvent(new Event('change'));",
        value,
    )


def test_what_is_shown_can_be_chosen_and_nothing_sticks_out(tmp_path: Path) -> None:
    found = diagnosis()
    there = {s: sum(r.status == s for r in found.results) for s in ("fail", "unknown", "pass")}
    assert all(there.values())
    path = write_doctor(found, tmp_path / "doctor.html")
    with chromium(tmp_path / "profile") as driver:
        resize(driver, 1250, 900)
        driver.get(path.as_uri())
        assert in_sight(driver) == {**there, "pass": 0}
        choose(driver, "fail")
        assert in_sight(driver) == {"fail": there["fail"], "unknown": 0, "pass": 0}
        choose(driver, "all")
        assert in_sight(driver) == there
        for width, scheme in ((1250, "light"), (400, "dark")):
            resize(driver, width, 900)
            prefer(driver, scheme)
            wide = driver.execute_script("return document.documentElement.scrollWidth")
            assert wide <= width
        assert console_errors(driver) == []
        assert {url for url in requested(driver) if url.startswith(("http", "ws"))} == set()


COMMANDS = {name: command for name, (command, _) in KINDS.items()}
COMMANDS |= {name: MORE_KINDS[name] for name in ("primitives", "study")}

#: Those that a user meets first.
QUICK = ("profile", "latency")

#: Elements of the answer; those that leave the window, or are wider than their place.
CUT = """
const parts = [...document.querySelectorAll("header .sentence, header .glance, header #glance")];
const out = parts.filter((part) => {
  const box = part.getBoundingClientRect(), place = part.closest(".scroll") || document.body;
  return box.bottom > window.innerHeight || box.right > window.innerWidth
    || place.scrollWidth > place.clientWidth;
});
return [parts.length, out.map((part) => part.outerHTML.slice(0, 200))];
"""


@pytest.mark.parametrize(
    "kind", [k if k in QUICK else pytest.param(k, marks=pytest.mark.slow) for k in COMMANDS]
)
def test_the_first_screen_is_the_answer(
    kind: str,
    browser: Chrome,
    opened: Callable[..., Chrome],
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    folder = tmp_path_factory.mktemp(kind)
    monkeypatch.chdir(folder)
    monkeypatch.delenv("DEADBEAT_RUNS", raising=False)
    assert main(COMMANDS[kind]) == 0
    for width in (1280, 400):
        opened(folder / "runs/tiny/report.html", width=width, height=800)
        count, cut = browser.execute_script(CUT)
        assert cut == []
        assert count >= 2, "an answer and a picture"
    titles = [each.text for each in browser.find_elements(By.CLASS_NAME, "figure-title")]
    assert titles and all("SIMULATED" in each for each in titles if each)
    plots = browser.find_elements(By.CSS_SELECTOR, "figure .plot")
    plots = [plot for plot in plots if plot.is_displayed()]
    assert plots and all(plot.find_elements(By.CSS_SELECTOR, ".main-svg") for plot in plots)
    # Every figure can be kept: a button does what it says.
    copies = [
        b
        for b in browser.find_elements(By.CSS_SELECTOR, ".keep button")
        if b.text == "copy numbers"
    ]
    assert copies
    copies[0].click()
    WebDriverWait(browser, 30).until(lambda _: copies[0].text == "copied")


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
    assert page.find_element(By.CSS_SELECTOR, "header .sentence").text == "Schedulable, proved."
    script = "return document.documentElement.scrollWidth <= window.innerWidth;"
    assert page.execute_script(script)
    assert page.execute_script(SPANS) > 300


def test_the_time_axis_zooms_and_the_rows_stay(page):
    assert page.execute_script(RANGE) == pytest.approx([-1720, 44_720], rel=1e-3)
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
