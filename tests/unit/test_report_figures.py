"""Figures on paper: which there are, that they are what they claim, and what stands on them."""

from __future__ import annotations

import io
import re
from typing import Any

import numpy as np
import pytest
from attrs import evolve
from helpers.demo_summary import demo_summary, with_factors
from helpers.figures import chart_names, figures, svg_words
from matplotlib.figure import Figure
from matplotlib.image import imread

from deadbeat.kinds.contention.cause_charts import split_charts
from deadbeat.kinds.contention.document import campaign_document
from deadbeat.kinds.contention.facts import head_facts
from deadbeat.kinds.contention.paper_figures import draw_figures
from deadbeat.kinds.contention.predicted import predicted_parts
from deadbeat.kinds.contention.profile_charts import predicted_charts
from deadbeat.model.errors import UsageError
from deadbeat.model.results import PART_COLUMNS, Summary
from deadbeat.report.paper import log_axis

SMALL = {"cores": (1, 2), "steps": 2, "sets_per_point": 2}


@pytest.fixture(scope="module")
def svgs() -> dict[str, bytes]:
    return dict(draw_figures(demo_summary(**SMALL), ("svg",)))


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


def test_axes_carry_quantities_and_units(svgs):
    words = svg_words(svgs["deadline_miss_ratio-m002.svg"])
    for axis in ("contended ratio α", "synchronisation share ρ", "deadline miss ratio (% of jobs)"):
        assert axis in words


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


def test_the_same_summary_gives_the_same_bytes(svgs):
    again = figures(demo_summary(**SMALL), "svg", "slowdown-m002", "cores")
    assert len(again) == 2
    assert again.items() <= svgs.items()


def test_names_from_outside_are_neither_formulas_nor_markup():
    name = "a$_x$ </text><script>x</script> \x07 & \ud800"
    summary = demo_summary(cores=(1,), steps=1, sets_per_point=1, name=name)
    (content,) = figures(summary, "svg", "slowdown-m001").values()
    assert "a$_x$ </text><script>x</script> � & �" in svg_words(content)
    assert not re.search(rb"<script", content)


def test_a_campaign_without_runs_has_no_figures():
    assert list(draw_figures(Summary(rows=(), sets=()))) == []


@pytest.mark.parametrize("shares", [1, 2])
def test_a_single_line_of_points_is_drawn(shares):
    base = demo_summary(cores=(2,), steps=2, sets_per_point=1, holes=False)
    rows = tuple(row for row in base.rows if row["sync_share"] <= (shares - 1) / 2)
    line = Summary(rows=rows, sets=())
    assert len(chart_names(line)) == 9
    assert len(figures(line, "svg", "slowdown", "overview-slowdown")) == 2


def test_an_unknown_format_is_refused_by_name():
    with pytest.raises(UsageError, match="'gif'"):
        next(draw_figures(demo_summary(**SMALL), ("png", "gif")))


def test_a_simulated_campaign_calls_nothing_measured_beside_its_predictions() -> None:
    def loaded(**more: Any) -> Summary:
        made = demo_summary(**SMALL, **more)
        sets = tuple({**each, "tasks": 2 * each["cores"]} for each in made.sets)
        return evolve(made, sets=sets)

    alone = predicted_parts(demo_summary(**SMALL))
    assert [part.text[:22] for part in alone] == ["Nothing was predicted:"], "one task a core"
    measured = loaded(labels=(), kind="hardware")
    _, table = predicted_parts(measured)
    assert "measured response / C" in [column.heading for column in table.columns]
    assert "Measured" in dict(head_facts(measured))
    how, table = predicted_parts(loaded())
    assert "Measured" not in dict(head_facts(demo_summary(**SMALL)))
    headings = [column.heading for column in table.columns]
    assert "campaign (simulated) response / C" in headings
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
    rows = tuple(row | dict.fromkeys(PART_COLUMNS) for row in base.rows)
    assert split_charts(evolve(base, rows=rows)) == []


def test_a_surface_has_the_colours_of_its_heights() -> None:
    """It rises to one corner: its colours reach from one end to the other."""
    from matplotlib import colormaps  # noqa: PLC0415 - slow

    base = demo_summary(cores=(2,), steps=4)
    rows = tuple(
        row | {"slowdown_mean": 1.0 + 8.0 * row["sync_share"] * row["contended_ratio"]}
        for row in base.rows
    )
    (content,) = figures(evolve(base, rows=rows), "png", "slowdown-m002").values()
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


def test_predictions_are_shown_where_they_differ():
    """Of one task a core the simulation predicts C everywhere: no figure, no section."""
    alike = demo_summary(**SMALL)
    assert not predicted_charts(alike)
    assert "predicted" not in [each.id for each in campaign_document(alike).sections]
    sets = [
        {**each, "response_ratio_predicted": 1 + number / 10}
        for number, each in enumerate(alike.sets)
    ]
    other = evolve(alike, sets=tuple(sets))
    (chart,) = predicted_charts(other)
    assert [each.label for each in chart.panels[0].curves] == ["M = 1", "M = 2"]
    assert "predicted" in [each.id for each in campaign_document(other).sections]
