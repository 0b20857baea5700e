"""The figures of a campaign on paper. The same summary gives the same bytes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from attrs import evolve

from deadbeat.kinds.contention import facts
from deadbeat.kinds.contention import profile_charts as profile
from deadbeat.kinds.contention.cause_charts import split_charts
from deadbeat.kinds.contention.counter_charts import counter_charts
from deadbeat.kinds.contention.predicted import is_priced, predicted_charts
from deadbeat.kinds.contention.stress_charts import stress_charts
from deadbeat.model.results import Summary
from deadbeat.report.building import spread
from deadbeat.report.charts import Chart
from deadbeat.report.paper import FORMATS, Words, draw_charts
from deadbeat.report.prices import price_chart

#: Deadline factors with figures of their own on paper; the page has all.
_LEVELS = 3


def draw_figures(summary: Summary, formats: Sequence[str] = FORMATS) -> Iterator[tuple[str, bytes]]:
    """Yields file name and content of every figure, one at a time; of a profile, of its grid."""
    words, summary = words_of(summary), facts.grid_of(summary)
    yield from draw_charts(_charts(summary), words, formats)


def _charts(summary: Summary) -> Iterator[Chart]:
    note = _of_levels(summary)
    drawn: list[Chart] = [
        *split_charts(summary, most=_LEVELS),
        *counter_charts(summary),
    ]
    if summary.mode == "stress":
        drawn += stress_charts(summary, most=_LEVELS)
    else:
        prices = facts.listed_prices(summary)
        drawn += [price_chart(prices)] if prices else []
        drawn += profile.profile_charts(summary)
        drawn += profile.core_charts(summary, _LEVELS)
        drawn += profile.shared_charts(summary)
        drawn += profile.overview_charts(summary, _LEVELS)
        drawn += profile.distribution_charts(summary, _LEVELS)
        drawn += predicted_charts(summary) if is_priced(summary) else []
        # Without a choice beside it a figure is titled by what it shows.
        drawn += [evolve(chart, title="") for chart in profile.grid_charts(summary, _LEVELS)]
    for chart in drawn:
        several = "D/C" in chart.option
        yield evolve(chart, caption=f"{note}{chart.caption}") if several else chart


def _of_levels(summary: Summary) -> str:
    """Which deadline factors have figures of their own on paper; "" where all have."""
    every = facts.factors(summary.cells)
    shown = [f"{factor:g}" for factor in spread(every, _LEVELS)]
    if len(shown) == len(every):
        return ""
    words = f"{', '.join(shown[:-1])} and {shown[-1]} of {len(every)} levels"
    return f"Drawn here: D/C {words}; report.html has all. "


def words_of(summary: Summary) -> Words:
    """Labels and caption of every figure of a campaign."""
    machine = facts.platform(summary)
    origin = [facts.campaign_name(summary)]
    origin += [str(machine[key]) for key in ("name", "soc", "kernel") if machine.get(key)]
    if machine.get("preemption"):
        # An unknown model carries its reason behind a colon; the page has room for it.
        origin.append(f"preemption {str(machine['preemption']).split(':')[0]}")
    floor = facts.noise_floor(summary).text
    return Words(
        labels=", ".join(facts.labels(summary)),
        caption=f"{floor[0].upper()}{floor[1:]}.  {' · '.join(origin)}.",
    )
