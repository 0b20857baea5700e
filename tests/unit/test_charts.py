"""Shaping of figures. Truth: small samples counted by hand."""

from __future__ import annotations

import json
from itertools import pairwise

import numpy as np
import pytest

from deadbeat.kinds.contention.samples import thinned
from deadbeat.report.charts import (
    Chart,
    Curve,
    Panel,
    chart_data,
    cumulative,
    histogram,
    log_edges,
    percentiles,
)


def test_a_cumulative_curve_steps_at_every_value():
    curve = cumulative([2.0, 1.0, 4.0, 3.0])
    assert curve.x == (1.0, 1.0, 2.0, 3.0, 4.0)
    assert curve.y == (0.0, 25.0, 50.0, 75.0, 100.0)


def test_a_part_of_more_begins_at_the_share_of_the_rest():
    curve = cumulative([5.0, 7.0], of=8)
    assert curve.y == (75.0, 87.5, 100.0)
    assert percentiles([5.0, 7.0], of=8).x == (87.5, 100.0)


def test_percentiles_are_the_cumulative_curve_turned():
    turned = percentiles([2.0, 1.0, 4.0, 3.0])
    assert (turned.x, turned.y) == ((25.0, 50.0, 75.0, 100.0), (1.0, 2.0, 3.0, 4.0))


def test_a_long_curve_keeps_its_shape_and_its_worst_values():
    values = np.sort(np.random.default_rng(3).lognormal(0, 1, 17000)).tolist()
    curve = percentiles(values)
    assert len(curve.x) <= 250
    assert curve.y[-3:] == tuple(values[-3:])
    assert np.interp(50, curve.x, curve.y) == pytest.approx(np.median(values), rel=0.02)


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
    kept = thinned(items, "v", 80)
    assert len(kept) == 80
    assert kept[-10:] == items[-10:]
    assert thinned(items[:80], "v", 80) == items[:80]


def test_what_is_not_finite_is_no_number_of_a_page():
    curve = Curve(label="a", x=(1.0, 2.0), y=(float("nan"), 1 / 3))
    panel = Panel(title="", x_label="", y_label="", curves=(curve,))
    chart = Chart(name="c", title="", caption="", panels=(panel,))
    plain = json.loads(json.dumps(chart_data([chart]), allow_nan=False))
    assert plain[0]["panels"][0]["curves"][0]["y"] == [None, 0.33333]


def test_lines_have_ticks_where_something_was_run_only():
    line = Curve(label="a", x=(2.0, 5.0), y=(1.0, 2.0))
    panel = Panel(title="", x_label="", y_label="", curves=(line,))
    assert panel.x_ticks == (2.0, 5.0)
    steps = Curve(label="a", x=(2.0, 5.0), y=(1.0, 2.0), kind="steps")
    assert Panel(title="", x_label="", y_label="", curves=(steps,)).x_ticks == ()
