"""The first screen of every page holds the answer and its picture, whole, on a desk and on a phone:
elements are measured in Chromium."""

from collections.abc import Callable

import pytest
from helpers.kinds import KINDS, MORE_KINDS
from selenium.webdriver import Chrome
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait

from deadbeat.cli.main import main

pytestmark = pytest.mark.browser

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
