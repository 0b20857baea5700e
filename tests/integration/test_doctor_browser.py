"""The page of the doctor as a person meets it: what fails, what is unknown, wide and narrow."""

from pathlib import Path

import pytest
from helpers.checks import config, window
from helpers.chromium import chromium, console_errors, prefer, requested, resize
from selenium.webdriver import Chrome
from selenium.webdriver.common.by import By

from deadbeat.report.doctor_page import write_doctor
from deadbeat.settings.doctor import DoctorReport, examine
from deadbeat.targets.fake import FakeTarget

pytestmark = pytest.mark.browser


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
