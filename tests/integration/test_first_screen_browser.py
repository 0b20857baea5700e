"""The first screen of every page holds the answer and its picture, whole, on a desk and on a phone:
elements are measured in Chromium."""

from __future__ import annotations

import pytest
from helpers.chromium import await_plots, console_errors, resize
from helpers.kinds import KINDS
from selenium.webdriver import Chrome
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait

from deadbeat.cli.main import main

pytestmark = pytest.mark.browser

STUDY = (
    *("sched", "study", "--sets", "2", "--tasks", "4", "--processors", "2", "--policy", "g-edf"),
    *("--utilisation", "0.5,0.9", "--no-figures", "--name", "tiny"),
)
COMMANDS = {name: command for name, (command, _) in KINDS.items()} | {"study": STUDY}

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
WIDE = "return [document.documentElement.scrollWidth, window.innerWidth];"


@pytest.mark.parametrize(
    "kind", [k if k in QUICK else pytest.param(k, marks=pytest.mark.slow) for k in COMMANDS]
)
def test_the_first_screen_is_the_answer(
    kind: str,
    browser: Chrome,
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    folder = tmp_path_factory.mktemp(kind)
    monkeypatch.chdir(folder)
    monkeypatch.delenv("DEADBEAT_RUNS", raising=False)
    assert main(COMMANDS[kind]) == 0
    for width in (1280, 400):
        resize(browser, width, 800)
        browser.get((folder / "runs/tiny/report.html").as_uri())
        count, cut = browser.execute_script(CUT)
        assert cut == []
        assert count >= 2, "an answer and a picture"
        page, window = browser.execute_script(WIDE)
        assert page <= window
    await_plots(browser)
    assert console_errors(browser) == []
    assert browser.find_elements(By.CSS_SELECTOR, "[data-drawn=refused]") == []
    # Every figure can be kept: a button does what it says.
    copies = [
        b
        for b in browser.find_elements(By.CSS_SELECTOR, ".keep button")
        if b.text == "copy numbers"
    ]
    assert copies
    copies[0].click()
    WebDriverWait(browser, 30).until(lambda _: copies[0].text == "copied")
