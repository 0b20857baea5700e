"""Truth: whoever reads a value off an axis reads the value of what is drawn there."""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.chromium import await_plots
from helpers.kinds import every_folder
from matplotlib.figure import Figure

from deadbeat.base.report import paper
from deadbeat.cli.main import main

#: Slowdowns 1 to 16, by the formula of the made-up machine.
SURFACES = (
    *("contention", "--executor", "fake:cores=16,contention=1", "--cores", "16", "--sets", "1"),
    *("--sync-share", "0..1:0.25", "--contended-ratio", "0..1:0.25", "--duration", "0.1"),
    *("--set", "deadline-factor=100", "--name", "surfaces", "--no-figures"),
)
#: What has logarithmic axes.
KINDS = {"latency", "load", "primitives", "run", "stress", "surfaces"}
#: Logarithmic scales that a browser drew: what they are, places and texts of their ticks, and what
#: lies where; of colours and surfaces that is said under the pointer.
DRAWN = """
const plots = [...document.querySelectorAll(".plot")].filter((plot) => plot._fullLayout);
return plots.flatMap(({data, _fullLayout: {scene, xaxis, yaxis}}) => {
  const bar = scene ? scene.zaxis : data[0].colorbar, last = data.at(-1);
  if (bar?.tickvals)
    return [[scene ? "surface" : "colours", bar.tickvals, bar.ticktext,
             (scene ? last : data[0]).z.flat(), last.hovertext.flat()]];
  const each = (axis, what) => axis._vals.map((tick) => tick[what]);
  const logs = [xaxis, yaxis].filter((axis) => axis.type === "log");
  return logs.map((axis) => ["axis", each(axis, "x"), each(axis, "text"), [0], ["at: 1"]]);
});
"""
OPEN = "document.querySelectorAll('details.raised').forEach((fold) => { fold.open = true; });"


@pytest.fixture(scope="module")
def surfaces(tmp_path_factory: pytest.TempPathFactory) -> Path:
    runs = tmp_path_factory.mktemp("runs")
    assert main((*SURFACES, "--runs", str(runs))) == 0
    return runs


@pytest.fixture(scope="module")
def results(surfaces: Path) -> Path:
    every_folder(surfaces)
    return surfaces


def names(results: Path) -> list[str]:
    return sorted(path.name for path in results.iterdir() if path.name != "latest")


@pytest.fixture
def figures_of(surfaces: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    def drawn(name: str) -> Iterator[Figure]:
        found: list[Figure] = []
        monkeypatch.setattr(paper, "content", lambda figure, _: found.append(figure) or b"")
        assert main(("page", name, "--figures", "--runs", str(surfaces))) == 0
        yield from dict.fromkeys(found)

    return drawn


def assert_read(places: Sequence[float], texts: Sequence[str], at: Any, values: Any) -> None:
    """Two ticks tell the scale, and it is that of the others and of all that is drawn."""
    ticks = np.log([*map(float, texts)])
    line = np.polyfit(places, ticks, 1)
    np.testing.assert_allclose(np.polyval(line, places), ticks, atol=1e-3)
    np.testing.assert_allclose(np.exp(np.polyval(line, at)), values, rtol=5e-3)


def texts_of(axis: Any) -> list[str]:
    return [label.get_text() for label in axis.get_ticklabels()]


@pytest.mark.slow
def test_every_figure_on_paper(results: Path, figures_of: Any) -> None:
    kinds = set()
    for name in names(results):
        for axes in (each for figure in figures_of(name) for each in figure.axes):
            for axis in (axes.xaxis, axes.yaxis):
                if axis.get_scale() == "log":
                    places = axis.get_ticklocs()
                    assert_read(np.log(places), texts_of(axis), [0], [1])
                    kinds.add(name)
    assert kinds >= KINDS


def test_surfaces_and_colours_on_paper(figures_of: Any) -> None:
    shown = [each.axes for each in figures_of("surfaces") if each.axes[0].name == "3d"]
    surface, flat, bar = next(axes for axes in shown if "slowdown" in axes[2].get_ylabel())
    values = [[float(text.get_text()) for text in flat.texts if "=" not in text.get_text()]]
    heights = np.array([line.get_data_3d()[2] for line in surface.lines[:5]]).ravel()
    assert np.max(values) > 16
    assert_read(surface.get_zticks(), texts_of(surface.zaxis), heights, np.ravel(values))
    assert_read(bar.get_yticks(), texts_of(bar.yaxis), heights, np.ravel(values))


@pytest.mark.browser
@pytest.mark.slow
def test_every_page(browser: Any, opened: Any, results: Path) -> None:
    kinds = set()
    for name in names(results):
        opened(results / name / "report.html")
        browser.execute_script(OPEN)
        await_plots(browser)
        for what, places, texts, at, words in browser.execute_script(DRAWN):
            kinds.add((name, what))
            said = (float(re.search(r"(?:lowdown|:) ([\d.]+)", text)[1]) for text in words)
            known = [(place, value) for place, value in zip(at, said, strict=True) if place]
            assert_read(places, texts, *zip(*known or [(0, 1)], strict=True))
    assert kinds >= {("surfaces", "surface"), ("surfaces", "colours"), ("interfere", "colours")}
    assert {name for name, what in kinds if what == "axis"} >= KINDS
