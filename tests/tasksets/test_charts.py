"""Shaping of figures. Truth: small samples counted by hand."""

import gzip
import json
import re
from importlib import resources
from io import BytesIO
from itertools import pairwise
from operator import itemgetter

import numpy as np
import pytest
from PIL import Image

from deadbeat.base.model.words import UNDECIDED
from deadbeat.base.report.building import (
    CurvePoint,
    cumulative,
    curve,
    histogram,
    log_edges,
    stacked,
)
from deadbeat.base.report.charts import (
    FAINT,
    SHOWN,
    Chart,
    Curve,
    Heat,
    HeatCell,
    Mark,
    Panel,
    chart_data,
)
from deadbeat.base.report.paper import FORMATS, Words, draw_charts
from deadbeat.tasksets.contention.samples import thinned

ASSETS = resources.files("deadbeat.base.report") / "assets"


def one_of_each() -> Chart:
    """A chart with everything that can be drawn."""
    labels = {"x_label": "x", "y_label": "y"}
    points = [
        CurvePoint(1, 2, 1, 3),
        None,
        CurvePoint(2, 4, 3, 9),
        CurvePoint(3, 0, 0, 1, bounded=True, n=4),
    ]
    values = [2.0, 1.0, 4.0, 3.0]
    kinds = ("line", "plain", "steps", "points", "errors")
    cells = [
        [
            HeatCell(1.0, SHOWN, "1"),
            HeatCell(2.0, SHOWN, "2"),
            HeatCell(3.0, SHOWN, "3", "three", "a"),
        ],
        [HeatCell(1.5, FAINT, "="), HeatCell(None, UNDECIDED, "?"), HeatCell(2.5, SHOWN, "2.5")],
        [HeatCell(0.5, SHOWN, "0.5"), HeatCell(1.0, SHOWN, "1"), HeatCell()],
    ]
    grid = Heat(cells=cells, x="abc", y="abc", low=0.0, high=3.0, unit="u (%)",
                x_at=(0.0, 1.0, 4.0), y_at=(0.0, 1.0, 2.0), levels=(1.0, 2.0))  # fmt: skip
    panels = (
        *(
            Panel(title=kind, **labels, curves=(curve("c", points, look=k, kind=kind),))
            for k, kind in enumerate(kinds)
        ),
        Panel(title="d", **labels, curves=(cumulative(values),), x_log=True),
        Panel(title="h", **labels, curves=(histogram(values, log_edges(values)),), y_log=True,
              marks=(Mark(axis="y", at=1.0, label="m"), Mark(axis="x", at=1, to=2, label="n"))),
        Panel(title="b", **labels, categories=("one", "two"),
              bars=stacked({"p": [1, None], "q": [2, None]}, totals=("3", ""))),
        Panel(title="s", **labels, heat=grid, surface=True),
        Panel(title="g", **labels, heat=grid),
        Panel(title="e", **labels, empty="nothing"),
    )  # fmt: skip
    return Chart(name="each", title="Each", caption="All.", panels=panels)


@pytest.mark.slow
def test_the_same_chart_gives_the_same_bytes_on_paper_and_the_same_page() -> None:
    words = Words(labels="SIMULATED", caption="made up")
    first, second = (dict(draw_charts([one_of_each()], words)) for _ in range(2))
    assert set(first) == {f"each.{kind}" for kind in FORMATS}
    assert first == second
    drawn = first["each.svg"].decode()
    for text in ("SIMULATED", "made up  All.", "95 % upper bound, none seen", "n.m.", "nothing"):
        assert text in drawn
    assert json.dumps(chart_data([one_of_each()])) == json.dumps(chart_data([one_of_each()]))


def test_wide_numbers_leave_room_for_the_words_beside_them() -> None:
    points = curve("a", [CurvePoint(1, 2.15), CurvePoint(2, 4_610_000)], kind="errors")
    panel = Panel(title="", x_label="", y_label="ns per operation", curves=(points,), y_log=True)
    chart = Chart(name="prices", title="", caption="", panels=(panel,))
    ((_, png),) = draw_charts([chart], Words(labels="", caption=""), ["png"])
    image = np.asarray(Image.open(BytesIO(png)).convert("L"))
    edge = image[image.shape[0] // 8 : -image.shape[0] // 4, :4]
    assert edge.min() == 255


def test_a_curve_of_points_leaves_out_what_is_not_known() -> None:
    made = curve(
        "a", [CurvePoint(1, 2, None, 3), None, CurvePoint(2, 0, 0, 1, bounded=True)], scale=10
    )
    assert (made.x, made.y) == ((1.0, 2.0), (20, 0))
    assert (made.low, made.high) == ((20, 0), (30, 10)), "an end that is not known is the value"
    assert (made.bounded, made.limits, made.n) == ((False, True), (1,), ())
    assert curve("a", [CurvePoint(1, 2)]).low == ()


def test_a_surface_travels_with_its_heat_map() -> None:
    panels = chart_data([one_of_each()])[0]["panels"]
    surface, flat = panels[8:10]
    assert (surface["surface"], surface["heat"]) == (True, None)
    assert [cell["key"] for cell in flat["heat"]["cells"][0]] == ["", "", "a"]
    assert flat["heat"]["x_edges"] == [-0.5, 0.5, 2.5, 5.5]


def test_a_cumulative_curve_steps_at_every_value():
    curve = cumulative([2.0, 1.0, 4.0, 3.0])
    assert curve.x == (1.0, 1.0, 2.0, 3.0, 4.0)
    assert curve.y == (0.0, 25.0, 50.0, 75.0, 100.0)


def test_a_part_of_more_begins_at_the_share_of_the_rest():
    curve = cumulative([5.0, 7.0], of=8)
    assert curve.y == (75.0, 87.5, 100.0)


def test_a_long_curve_keeps_its_shape_and_its_worst_values():
    values = np.sort(np.random.default_rng(3).lognormal(0, 1, 17000)).tolist()
    curve = cumulative(values)
    assert len(curve.x) <= 250
    assert curve.x[-3:] == tuple(values[-3:])
    assert np.interp(50, curve.y, curve.x) == pytest.approx(np.median(values), rel=0.02)


def test_bins_hold_every_value_once():
    values = [1.0, 1.0, 1.3, 2.0, 8.0]
    edges = log_edges(values)
    assert edges[0] < min(values)
    assert edges[-1] > max(values)
    assert sum(histogram(values, edges).y) == pytest.approx(100)
    assert sum(histogram(values, edges, of=10).y) == pytest.approx(50)


@pytest.mark.parametrize("values", [[], [1.0], [0.0, 0.0], [1.0, 1.0]])
def test_bins_of_hardly_anything_are_still_bins(values):
    edges = log_edges(values)
    assert all(a < b for a, b in pairwise(edges))


def test_thinning_keeps_the_worst_and_says_nothing_about_few():
    items = [{"v": float(value)} for value in range(1000)]
    kept = thinned(items, itemgetter("v"), 80)
    assert len(kept) == 80
    assert kept[-10:] == items[-10:]
    assert thinned(items[:80], itemgetter("v"), 80) == items[:80]


def test_what_is_not_finite_is_no_number_of_a_page():
    curve = Curve(label="a", x=(1.0, 2.0), y=(float("nan"), 1 / 3))
    panel = Panel(title="", x_label="", y_label="", curves=(curve,))
    chart = Chart(name="c", title="", caption="", panels=(panel,))
    plain = json.loads(json.dumps(chart_data([chart]), allow_nan=False))
    assert plain[0]["panels"][0]["curves"][0]["y"] == [None, 0.33333]


def test_lines_have_ticks_where_something_was_run_only():
    line = Curve(label="a", x=(2.0, 5.0), y=(1.0, 2.0))
    panel = Panel(title="", x_label="", y_label="", curves=(line,))
    assert panel.x_ticks == ((2.0, "2"), (5.0, "5"))
    steps = Curve(label="a", x=(2.0, 5.0), y=(1.0, 2.0), kind="steps")
    assert Panel(title="", x_label="", y_label="", curves=(steps,)).x_ticks == ()


def test_the_parts_of_plotly_in_pages_are_of_one_version() -> None:
    """tools/plotly renews them."""
    versions = set()
    for name in ("cartesian", "gl3d"):
        part = gzip.decompress((ASSETS / f"plotly-{name}.min.js.gz").read_bytes()).decode()
        versions.add(re.search(rf"plotly\.js \({name} - minified\) v([\d.]+)", part)[1])
        assert "MIT" in part[:400] and "\r" not in part
    assert len(versions) == 1
    assert "Permission is hereby granted" in (ASSETS / "plotly-LICENSE.txt").read_text("utf-8")
