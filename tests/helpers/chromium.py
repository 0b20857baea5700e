"""A headless Chromium of the system, driven by the system's chromedriver."""

import json
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from selenium.webdriver import Chrome, ChromeOptions
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait

PATIENCE_S = 120
_DRAWN = "return document.documentElement.dataset.charts === 'drawn';"
#: Plots whose drawing is taller than its place, and so covers what follows.
_OVERFLOWING = """
const tall = (plot) => [...plot.querySelectorAll(".main-svg")].some((svg) =>
  svg.getBoundingClientRect().bottom > plot.getBoundingClientRect().bottom + 1);
return [...document.querySelectorAll(".plot")].filter(tall).map((plot) => plot.id);
"""
#: Texts of figures that lie over each other or leave their place; of turned ones boxes say nothing.
_CROWDED = r"""
const found = [];
for (const plot of document.querySelectorAll(".plot")) {
  const place = plot.getBoundingClientRect();
  const texts = [...plot.querySelectorAll(".infolayer text, .xtick text, .ytick text")]
    .filter((text) => !/rotate\((?!0)/.test(text.getAttribute("transform") || ""))
    .map((text) => [text.textContent, text.getBoundingClientRect()])
    .filter(([words, box]) => words.trim() && box.width);
  texts.forEach(([words, box], k) => {
    const out = box.left < place.left - 1 || box.right > place.right + 1
      || box.top < place.top - 1 || box.bottom > place.bottom + 1;
    const over = texts.slice(k + 1).filter(([, b]) =>
      Math.min(box.right, b.right) - Math.max(box.left, b.left) > 2
      && Math.min(box.bottom, b.bottom) - Math.max(box.top, b.top) > 3);
    if (out) found.push(`${plot.id}: ${words} leaves it`);
    over.forEach(([other]) => found.push(`${plot.id}: ${words} over ${other}`));
  });
}
return found;
"""
#: Plots that leave a sheet of paper, on which nothing is drawn again.
_OFF_PAPER = """
document.body.style.width = "700px";
const edge = document.body.getBoundingClientRect().right + 1;
const off = (plot) => [...plot.querySelectorAll(".infolayer text, .xtick text")].some((part) =>
  part.getBoundingClientRect().right > edge);
const found = [...document.querySelectorAll(".plot")].filter(off).map((plot) => plot.id);
document.body.style.width = "";
return found;
"""
_WIDER = "return document.documentElement.scrollWidth - window.innerWidth;"
#: The last one makes WebGL work without a GPU (SwiftShader); without it Chromium falls back to the
#: same, with a warning that the fall-back will go.
FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--enable-unsafe-swiftshader",
)


def found(*names: str) -> str:
    """Path of the first of ``names`` that is installed; fails the test when none is."""
    for name in names:
        path = shutil.which(name)
        if path:
            return path
    pytest.fail(f"{' or '.join(names)} is not installed: run make setup (Debian: chromium-driver)")


@contextmanager
def chromium(profile: Path) -> Iterator[Chrome]:
    """A browser with an own, empty profile that records its console and its requests."""
    options = ChromeOptions()
    options.binary_location = found("chromium", "chromium-browser", "google-chrome")
    for flag in (*FLAGS, f"--user-data-dir={profile}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = Chrome(options=options, service=Service(found("chromedriver")))
    try:
        yield driver
    finally:
        driver.quit()


def resize(driver: Chrome, width: int, height: int) -> None:
    driver.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride",
        {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False},
    )


def prefer(driver: Chrome, scheme: str) -> None:
    """Sets prefers-color-scheme to ``light`` or ``dark``."""
    driver.execute_cdp_cmd(
        "Emulation.setEmulatedMedia",
        {"media": "", "features": [{"name": "prefers-color-scheme", "value": scheme}]},
    )


def console_errors(driver: Chrome) -> list[str]:
    """What was reported as an error since the last call."""
    return [entry["message"] for entry in driver.get_log("browser") if entry["level"] == "SEVERE"]


def requested(driver: Chrome) -> list[str]:
    """Addresses that pages asked for since the last call, data: and blob: included."""
    messages: list[dict[str, Any]] = [
        json.loads(entry["message"])["message"] for entry in driver.get_log("performance")
    ]
    return [
        message["params"]["request"]["url"]
        for message in messages
        if message["method"] == "Network.requestWillBeSent"
    ]


def crowded(driver: Chrome) -> list[str]:
    """Texts of figures that overlap, or leave their figure."""
    return driver.execute_script(_CROWDED)


def await_plots(driver: Chrome) -> None:
    WebDriverWait(driver, PATIENCE_S).until(lambda d: d.execute_script(_DRAWN))


@contextmanager
def opening(driver: Chrome) -> Iterator[Callable[..., Chrome]]:
    """What opens a page, wide and light, and waits for its figures.

    In the end there must be no error, no request to anywhere, no figure that was refused or covers
    what follows, and nothing wider than the window.
    """
    pages: list[str] = []

    def opened(path: Path, *, width: int = 1400, height: int = 1000, scheme: str = "light"):
        if pages:
            assert_sound(driver, pages)
        resize(driver, width, height)
        prefer(driver, scheme)
        requested(driver)
        console_errors(driver)
        pages.append(path.as_uri())
        driver.get(pages[-1])
        await_plots(driver)
        return driver

    yield opened
    assert_sound(driver, pages)


def _off_paper(driver: Chrome) -> list[str]:
    """Plots that leave the paper that the page is printed on."""
    driver.execute_script("dispatchEvent(new Event('beforeprint'));")
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    found: list[str] = driver.execute_script(_OFF_PAPER)
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})
    driver.execute_script("dispatchEvent(new Event('afterprint'));")
    return found


def assert_sound(driver: Chrome, pages: list[str]) -> None:
    assert console_errors(driver) == []
    assert driver.find_elements(By.CSS_SELECTOR, "[data-drawn=refused]") == []
    assert driver.execute_script(_OVERFLOWING) == []
    assert driver.execute_script(_WIDER) <= 0
    # a window that was just resized is drawn again a little later
    WebDriverWait(driver, 10).until(lambda d: not _off_paper(d))
    outside = [url for url in requested(driver) if urlsplit(url).scheme not in ("data", "blob")]
    assert set(outside) <= set(pages)
