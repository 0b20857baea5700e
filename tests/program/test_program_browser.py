"""The page of a measured program as a person meets it: the answer first, nothing over another."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from helpers.chromium import crowded
from helpers.made_recordings import MS, Made
from selenium.webdriver import Chrome
from selenium.webdriver.common.by import By

from deadbeat.base.model.platform import example_platform
from deadbeat.cli.main import main
from deadbeat.program.derive.tasks import derive
from deadbeat.program.run.results import FOLDERS, ProgramKey, ProgramRun, ProgramStore
from deadbeat.program.run.spec import ProgramSpec
from deadbeat.program.run.traced import traced

pytestmark = [pytest.mark.browser, pytest.mark.usefixtures("in_a_folder")]

#: Bottom of the answer, and of the first picture.
BOTTOM = """
const parts = document.querySelectorAll("header .sentence, #chart-response .plot");
return Math.max(...[...parts].map((part) => part.getBoundingClientRect().bottom));
"""
MARKS = "return document.getElementById(arguments[0]).layout.shapes.map((each) => each.line.width);"


def program() -> Path:
    """A job of control takes 200 ms, so those after it, every 10 ms, are late, too."""
    made = Made()
    ticks = [n * 10 * MS for n in range(1, 61)]
    control = made.thread("control", policy="fifo", priority=80, cpus=(0,))
    logger = made.thread("logger", cpus=(1,))
    made.loop(logger, [tick + 5 * MS for tick in ticks[::10]], [MS] * 6)
    made.loop(control, ticks, [200 * MS if n == 20 else MS for n in range(60)])
    recording = made.recording()
    derived = derive(recording, deadlines={})
    spec = ProgramSpec(name="late", command=("x",), repeats=1)
    store = ProgramStore.create(Path("runs/late"), FOLDERS.plain(spec), example_platform())
    key, seen = ProgramKey(1), traced(recording, {}, derived=derived)
    store.keep_seen(key, recording, derived, seen)
    store.keep(ProgramRun(key=key, started="", seconds=0.6, status=0, tasks=(), traced=seen))
    assert main(("page", "late", "--no-figures")) == 0
    return (store.path / "report.html").resolve()


def test_the_first_picture_answers_and_nothing_lies_over_another(
    browser: Chrome, opened: Callable[..., Chrome]
) -> None:
    path = program()
    for width, scheme in ((1280, "light"), (400, "dark")):
        opened(path, width=width, height=800, scheme=scheme)
        assert crowded(browser) == []
        if width == 1280:
            assert browser.execute_script(BOTTOM) <= 700
        heads = [each.text for each in browser.find_elements(By.CSS_SELECTOR, "#glance thead th")]
        assert "missed" in heads
    figures = browser.find_elements(By.CSS_SELECTOR, "figure:not([hidden])")
    assert [each.get_attribute("id") for each in figures] == [
        "chart-response", "chart-lanes", "chart-time-control", "chart-worst-1",
    ]  # fmt: skip
    for name in ("response-0", "time-control-0", "worst-1-0"):
        assert 2.5 in browser.execute_script(MARKS, name), "the deadline is a clear line"
    causes = browser.find_elements(By.CSS_SELECTOR, "#causes tbody tr")
    jobs = browser.find_elements(By.CSS_SELECTOR, "#late-jobs tbody tr")
    assert 0 < len(causes) < len(jobs) and not jobs[0].is_displayed()
    # Labels far closer than they are wide.
    labels = browser.find_elements(By.CSS_SELECTOR, "#worst-1-0 .annotation-text")
    assert {"release", "deadline", "finish"} <= {each.text for each in labels}


def test_what_is_predicted_of_a_program_is_a_result_like_others(
    browser: Chrome, opened: Callable[..., Chrome], capsys: pytest.CaptureFixture[str]
) -> None:
    program()
    assert main(("predict", "late", "--cores", "1,2", "--scale", "control.C=0.01")) == 0
    capsys.readouterr()
    assert main(("show", "predict-late")) == 0
    assert "SIMULATED" in capsys.readouterr().out
    assert main(("list", "--json")) == 0
    listed = {each["name"]: each for each in json.loads(capsys.readouterr().out)["results"]}
    assert listed["predict-late"]["state"] == "finished"
    opened(Path("runs/predict-late/predict.html").resolve(), width=1280, height=800)
    assert crowded(browser) == []
    said = browser.find_element(By.CSS_SELECTOR, "header .sentence").text
    assert said.startswith("Simulated on 1 core") and "no deadline is missed" in said
    assert browser.find_element(By.ID, "chart-foreseen").is_displayed()
