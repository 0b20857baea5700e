"""Figures on paper: which there are, that they are what they claim, and what stands on them."""

import io
import re
from typing import Any

import numpy as np
import pytest
from attrs import evolve
from helpers.demo_summary import demo_summary, with_factors
from helpers.figures import chart_names, figures, svg_words
from helpers.rows import rows_of, summary_of, with_rows
from matplotlib.figure import Figure
from matplotlib.image import imread

from deadbeat.base.report.paper import log_axis
from deadbeat.tasksets.contention.facts import head_facts
from deadbeat.tasksets.contention.kind import campaign_document, draw_figures
from deadbeat.tasksets.contention.predicted import (
    check,
    predicted_charts,
    predicted_parts,
    predicted_words,
)
from deadbeat.tasksets.contention.profile_charts import split_charts
from deadbeat.tasksets.model.figures import PART_COLUMNS
from deadbeat.tasksets.model.results import Summary

SMALL = {"cores": (1, 2), "steps": 2, "sets_per_point": 2}


@pytest.fixture(scope="module")
def svgs() -> dict[str, bytes]:
    return dict(draw_figures(demo_summary(**SMALL), ("svg",)))


@pytest.mark.slow
def test_a_surface_and_heat_map_for_every_quantity_and_core_count(svgs):
    metrics = ("slowdown", "deadline_needed", "deadline_miss_ratio", "delay_ratio")
    wanted = {f"{metric}-m{m:03d}.svg" for metric in metrics for m in (1, 2)}
    wanted |= {f"overview-{metric}.svg" for metric in metrics}
    wanted |= {f"{name}-m{m:03d}.svg" for m in (1, 2) for name in ("distributions", "split")}
    wanted.add("cores.svg")
    assert set(svgs) == wanted


def test_labels_noise_floor_and_origin_stand_on_every_figure(svgs):
    for content in svgs.values():
        words = svg_words(content)
        assert "SIMULATED, policy other" in words
        assert "Only slowdowns of 1.2 % or more could be seen here." in words
        assert "bench-07" in words


def test_measured_values_are_in_their_cells_and_missing_ones_are_named():
    (content,) = figures(demo_summary(cores=(4,)), "svg", "slowdown-m004").values()
    words = svg_words(content).split("\n")
    assert "1.84" in words
    assert words.count("n.m.") == 1
    assert words.count("?") == 1


def test_a_png_shows_colours_on_white():
    (content,) = figures(demo_summary(cores=(4,)), "png", "slowdown-m004").values()
    image = imread(io.BytesIO(content))[..., :3]
    assert image.shape[1] == 1365
    np.testing.assert_allclose(image[2, 2], 1.0)
    # Ends of viridis: dark violet and yellow.
    for colour in ((0.267, 0.005, 0.329), (0.993, 0.906, 0.144)):
        assert (np.abs(image - colour).max(axis=-1) < 0.02).sum() > 1000


def test_names_from_outside_are_neither_formulas_nor_markup():
    name = "a$_x$ </text><script>x</script> \x07 & \ud800"
    summary = demo_summary(cores=(1,), steps=1, sets_per_point=1, name=name)
    (content,) = figures(summary, "svg", "slowdown-m001").values()
    assert "a$_x$ </text><script>x</script> � & �" in svg_words(content)
    assert not re.search(rb"<script", content)


def test_a_campaign_without_runs_has_no_figures():
    assert list(draw_figures(summary_of(rows=(), sets=()))) == []


@pytest.mark.parametrize("shares", [1, 2])
def test_a_single_line_of_points_is_drawn(shares):
    base = demo_summary(cores=(2,), steps=2, sets_per_point=1, holes=False)
    rows = tuple(row for row in rows_of(base) if row["sync_share"] <= (shares - 1) / 2)
    line = summary_of(rows=rows, sets=())
    assert len(chart_names(line)) == 9
    assert len(figures(line, "svg", "slowdown", "overview-slowdown")) == 2


def predicted_by(*pairs: tuple[float, float], kind: str = "hardware", **more: Any) -> Summary:
    """A campaign whose sets that share objects have these slowdowns, (measured, predicted)."""
    made = demo_summary(**SMALL, labels=(), kind=kind)
    sharing = [each.row("profile") for each in made.sets if each.cores > 1 and each.contends]
    sets = [
        {
            **each,
            "slowdown_mean": measured,
            "slowdown_predicted": predicted,
            "unfinished_share": 0.0,
            "unfinished_predicted": 0.0,
            **more,
        }
        for each, (measured, predicted) in zip(sharing, pairs, strict=False)
    ]
    return with_rows(made, sets=tuple(sets), meta={**made.meta, "prices": {"prices": []}})


@pytest.mark.parametrize(
    ("pairs", "verdict"),
    [
        (((2.0, 2.10), (2.0, 2.12), (2.0, 2.11)), "right"),  # 0.11 of 1 more, allowed 0.15
        (((2.0, 2.20), (2.0, 2.22), (2.0, 2.21)), "too high"),
        (((2.0, 1.80), (2.0, 1.78), (2.0, 1.79)), "too low"),
        (((2.0, 2.0), (2.0, 2.5), (2.0, 1.5)), "undecided"),  # right on average, known to +- 1.2
        (((1.01, 1.02), (1.01, 1.02)), "right"),  # 0.02 is always allowed
        (((2.0, 2.0),), "undecided"),  # one set says nothing
    ],
)
def test_sets_are_judged_together_by_the_whole_interval(pairs: Any, verdict: str) -> None:
    (pool,) = check(predicted_by(*pairs)).objects
    assert (pool.object, pool.point, pool.verdict) == ("random mix", "all", verdict)


def test_saturated_sets_are_told_apart_and_not_predicted() -> None:
    found = check(predicted_by((9.0, 1.0), unfinished_share=0.3, unfinished_predicted=0.01))
    assert (found.sets, found.right, found.judged) == ((), 0, 1)


def test_a_simulated_campaign_calls_nothing_measured_beside_its_predictions() -> None:
    measured = predicted_by((2.0, 1.0))
    _, table = predicted_parts(measured)
    assert "measured" in [column.heading for column in table.columns]
    assert "Measured" in dict(head_facts(measured))
    said = predicted_words(measured)
    assert said == (
        "From prices, the slowdowns of 0 of 1 objects are predicted; 1 undecided (too few sets)."
    )
    how, table = predicted_parts(predicted_by((2.0, 1.0), kind="simulated"))
    assert "Measured" not in dict(head_facts(demo_summary(**SMALL)))
    headings = [column.heading for column in table.columns]
    assert "simulated" in headings
    assert "measured" not in " ".join([how.text, *headings])


def test_several_deadline_factors_have_figures_of_their_own() -> None:
    base = demo_summary(cores=(2,), steps=1, sets_per_point=1, holes=False)
    names = chart_names(with_factors(base, (2.0, 3.0, 4.0, 10.0)))
    assert "deadline-factor-m002" in names
    shown = {name[-7:] for name in names if name.startswith("deadline_miss_ratio-m002")}
    assert shown == {"d002000", "d004000", "d010000"}, "first, last and one between"


def test_the_split_is_drawn_over_the_grid() -> None:
    (chart,) = split_charts(demo_summary(cores=(4,), steps=4, holes=False))
    titles = [panel.title for panel in chart.panels]
    assert titles[:4] == ["ρ = 0", "ρ = 0.25", "ρ = 0.75", "ρ = 1"]
    assert titles[7] == "ρ = 1, without the execution"
    whole, waits = chart.panels[3], chart.panels[7]
    assert whole.categories == ("0", "0.25", "0.5", "0.75", "1")
    assert [layer.label for layer in waits.bars] == [
        "wake-up", "waiting for its core", "waiting for a resource", "suspected host stall",
    ]  # fmt: skip
    assert chart.panels[0].y_limits == whole.y_limits, "panels of a row can be compared"


def test_a_split_that_was_not_recorded_is_not_drawn() -> None:
    base = demo_summary(**SMALL)
    rows = tuple(row | dict.fromkeys(PART_COLUMNS) for row in rows_of(base))
    assert split_charts(with_rows(base, rows=rows)) == []


def test_a_surface_has_the_colours_of_its_heights() -> None:
    """It rises to one corner: its colours reach from one end to the other."""
    from matplotlib import colormaps  # noqa: PLC0415 - slow

    base = demo_summary(cores=(2,), steps=4)
    rows = tuple(
        row | {"slowdown_mean": 1.0 + 8.0 * row["sync_share"] * row["contended_ratio"]}
        for row in rows_of(base)
    )
    (content,) = figures(with_rows(base, rows=rows), "png", "slowdown-m002").values()
    picture = imread(io.BytesIO(content))[..., :3]
    left = picture[:, : int(picture.shape[1] * 0.42)].reshape(-1, 3)
    for share in (0.02, 0.25, 0.5, 0.75, 0.95):
        colour = np.array(colormaps["viridis"](share)[:3])
        assert (np.abs(left - colour).max(axis=1) < 0.06).sum() > 100, share


def test_numbers_on_a_logarithmic_axis_stand_clear() -> None:
    axis = Figure(figsize=(4.0, 3.0)).add_axes((0.1, 0.1, 0.8, 0.8))
    log_axis(axis, 100, 22000)
    ticks = set(axis.get_xticks())
    assert {100, 1000, 10000} <= ticks
    assert 20000 not in ticks


def test_the_whole_origin_stands_on_narrow_figures() -> None:
    base = demo_summary(cores=(2, 4), steps=1)
    platform = {
        **base.meta["platform"], "soc": "A processor of many words (family 6 model 167)",
        "kernel": "6.18.44-a-long-release-name #1 SMP PREEMPT_DYNAMIC", "preemption": "lazy",
    }  # fmt: skip
    told = evolve(base, meta={**base.meta, "platform": platform})
    drawn = figures(told, "svg", "overview-slowdown", "cores", "distributions-m002")
    words = {name: svg_words(content) for name, content in drawn.items()}
    assert len(words) == 3
    assert all("preemption lazy" in text.replace("\n", " ") for text in words.values())


def test_predictions_are_shown_where_there_are_prices():
    made = predicted_by((2.0, 1.9), (1.1, 1.1))
    (chart,) = predicted_charts(made)
    assert [each.label for each in chart.panels[0].curves] == ["as predicted", "random mix"]
    assert "predicted" in [each.id for each in campaign_document(made).sections]
    bare = evolve(made, meta={**made.meta, "prices": None})
    assert "predicted" not in [each.id for each in campaign_document(bare).sections]
    assert predicted_words(bare) == ""
