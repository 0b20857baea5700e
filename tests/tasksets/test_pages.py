"""Pages of results: the answer is in the first picture, and nothing is drawn that is not there."""

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from attrs import frozen
from helpers.chromium import resize
from helpers.pages import Page
from selenium.webdriver import Chrome

from deadbeat.cli.main import main

COMMANDS = {
    "primitives": "primitives --quick",
    "interfere": "interfere --quick",
    "random": "contention --random --quick",
    "contention": "contention --quick",
    "breakdown": "breakdown --quick --sets 2",
}


@frozen
class Made:
    """A result: its folder, its page, the charts that this draws, and what ``--json`` answers."""

    folder: Path
    page: Path
    charts: list[dict[str, Any]]
    results: dict[str, Any]

    @property
    def answer(self) -> str:
        words = re.findall(r'<p class="sentence">(.*?)</p>', self.page.read_text("utf-8"))
        return " ".join(words).replace("&nbsp;", " ")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Made]:
    runs, known = tmp_path_factory.mktemp("runs"), {}

    def command(name: str, words: str, page: str) -> Made:
        if name not in known:
            with pytest.MonkeyPatch.context() as patch:
                out: list[str] = []
                patch.setattr("click.echo", lambda text="", **_: out.append(str(text)))
                assert main([*words.split(), "--no-figures", "--runs", str(runs), "--json"]) == 0
            path = runs / page
            scripts = map(json.loads, (t for t in Page(path.read_text()).scripts if t[:1] == "{"))
            charts = next(each["charts"] for each in scripts if "charts" in each)
            known[name] = Made(path.parent, path, charts, json.loads(out[-1])["results"])
        return known[name]

    def of(name: str) -> Made:
        if name == "predict":
            of("random")
            return command(name, "predict random", "predict-random/predict.html")
        words = f"{COMMANDS[name]} --simulated --name {name}"
        return command(name, words, f"{name}/report.html")

    return of


def curves(charts: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    return (curve for chart in charts for panel in chart["panels"] for curve in panel["curves"])


def test_tails_end_at_their_own_maximum_and_the_first_are_those_of_the_answer(made) -> None:
    found = made("primitives")
    times = [chart for chart in found.charts if chart["name"].startswith("times-")]
    ends = sorted(curve["x"][-1] for curve in curves(times[1:]))
    rows = found.results["rows"]
    assert ends == pytest.approx(sorted(row["max_ns"] for row in rows), rel=1e-3)
    assert all(y > 0 for curve in curves(times) for y in curve["y"])
    first = {curve["label"].partition(" ")[0]: curve for curve in curves(times[:1])}
    named = re.findall(r"\((\w+)\)(?= to|, median)", found.answer)
    assert [label.split("-")[1] for label in first][: len(named)] == named
    (latest,) = re.findall(r"slowest of [\d,]+: ([\d.]+) µs", found.answer)
    assert max(curve["x"][-1] for curve in first.values()) == pytest.approx(
        1e3 * float(latest), rel=5e-3
    )


def test_both_slowdowns_of_the_answer_are_cells_of_the_first_matrix(made, capsys) -> None:
    found = made("interfere")
    said = re.findall(r"takes ([\d.]+) times", found.answer)
    heat = found.charts[0]["panels"][0]["heat"]
    texts = {cell["text"] for row in heat["cells"] for cell in row}
    assert len(said) == 2 and {*said} <= texts
    assert main(["show", "interfere", "--runs", str(found.folder.parent)]) == 0
    assert "on the worse of all other cores and the victim's core" in capsys.readouterr().out


def test_one_picture_of_the_same_numbers(made) -> None:
    first = made("random").charts[0]
    assert first["name"] == "distribution-slowdown"
    assert len(first["panels"]) == 1


def test_no_interval_of_a_core_is_above_all_of_it(made) -> None:
    found = made("breakdown")
    assert max(high for curve in curves(found.charts) for high in curve["high"]) <= 100


def test_both_axes_of_a_prediction_are_those_of_what_is_drawn(made) -> None:
    found = made("predict")
    (panel,) = found.charts[0]["panels"]
    values = [row[key] for row in found.results["rows"] for key in ("predicted", "measured")]
    known = [value for value in values if value is not None]
    assert panel["x_limits"] == panel["y_limits"]
    low, high = panel["y_limits"]
    assert 0.9 * min(known) < low <= min(known) and max(known) <= high < 1.1 * max(known)


#: Boxes in sight that hold more than they show, and the height of the page in screens.
CLIPPED = """
const boxes = [...document.querySelectorAll(".scroll")];
const clipped = boxes.filter((box) => box.clientWidth && box.scrollWidth > box.clientWidth);
return [clipped.map((box) => box.querySelector("table").id),
  document.documentElement.scrollHeight / window.innerHeight];
"""


@pytest.mark.browser
@pytest.mark.parametrize("name", ["primitives", "interfere", "random", "breakdown", "predict"])
def test_nothing_is_clipped_and_the_page_is_ten_screens(
    name: str, made, browser: Chrome, opened: Callable[..., Chrome]
) -> None:
    opened(made(name).page, width=1280, height=800)
    clipped, screens = browser.execute_script(CLIPPED)
    assert clipped == []
    assert screens <= 10
    browser.execute_script("document.querySelectorAll('details').forEach((d) => d.open = true);")
    assert browser.execute_script(CLIPPED)[0] == []


def test_where_it_starts_to_miss_is_in_the_section_of_that_name(made) -> None:
    page = made("contention").page.read_text("utf-8").replace("&nbsp;", " ")
    _, _, rest = page.partition("Where it starts to miss</h2>")
    section, _, _ = rest.partition("</section>")
    assert re.search(r"Deadlines of 10 C: (extra misses from|no extra misses)", section)
    assert "2 tasks a core, D = 2 C: " in section
    assert "(page)" not in page


@pytest.mark.slow
def test_tables_of_prices_and_of_a_point_fit_a_window(made, opened, browser: Chrome) -> None:
    resize(browser, 1280, 800)
    opened(made("contention").page)
    wide = "return [...document.querySelectorAll('#glance, #all-prices, #hand-overs, #sets-table')]"
    wide += ".map((e) => e.closest('.scroll')).filter((e) => e.scrollWidth > e.clientWidth).length"
    assert browser.execute_script(wide) == 0
