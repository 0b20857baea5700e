"""Events counted per task beside the delay ratio: one mark a task set, as the paper's Figure 11."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from deadbeat.kinds.contention.configurations import place_of, places
from deadbeat.kinds.contention.samples import samples
from deadbeat.kinds.contention.stress_charts import SCATTER_CAPTION, scatter
from deadbeat.model.figures import Figure, SetFigures
from deadbeat.model.results import Summary
from deadbeat.model.traces import COUNTER_EVENTS
from deadbeat.report.charts import Chart
from deadbeat.report.document import Note, Sentence

COUNTED = "counted"


def name_of(event: str) -> str:
    """An event as a person writes it."""
    return event.replace("cpu_", "CPU ").replace("_", " ")


def states(summary: Summary) -> Mapping[str, str]:
    """Event -> ``counted``, ``not supported here``, ``refused: why`` or ``failed: why``.

    Empty: none asked for.
    """
    found = summary.meta.get("counters") or {}
    known = [event for event in COUNTER_EVENTS if event in found]
    return {event: str(found[event]) for event in dict.fromkeys((*known, *found))}


def counter_charts(summary: Summary) -> list[Chart]:
    """A panel for each event that was counted: what was not is never drawn as zero."""
    own = samples(summary.sets, places(summary), partial(place_of, summary))
    missing = _missing(summary)
    panels = []
    for event, state in states(summary).items():
        name, unit = name_of(event), "µs" if event == "task_clock" else "number"
        heading, axis = name[:1].upper() + name[1:], f"{name} per job ({unit})"
        if state == COUNTED and len(_values(summary, event)) > 1:
            panels.append(scatter(own, heading, axis, _value_of(event), _AGAINST))
    drawn = tuple(panel for panel in panels if panel is not None)
    caption = f"{missing} {SCATTER_CAPTION}".lstrip()
    title = "Delay ratio and counted events"
    return [Chart(name="counters", title=title, caption=caption, panels=drawn)] if drawn else []


def counters_note(summary: Summary) -> tuple[Sentence | Note, ...]:
    """Why no event is drawn; the figure says itself which are missing from it."""
    if not states(summary):
        return (
            Note("No events were counted: run with --counters to see which go with the delay."),
        )
    missing = _missing(summary)
    return () if not missing or counter_charts(summary) else (Sentence(missing),)


_AGAINST = ("delay_ratio_mean", "delay ratio of a task set (span / C)")


def _missing(summary: Summary) -> str:
    """Names of the events that are not drawn, by the reason they share; "": all are."""
    by_reason: dict[str, list[str]] = {}
    for event, state in states(summary).items():
        values = _values(summary, event)
        if state == COUNTED and len(values) > 1:
            continue
        same = (
            f"{values.pop():g} per job in every task set" if values else "no task set has a value"
        )
        by_reason.setdefault(same if state == COUNTED else state, []).append(name_of(event))
    told = [f"{', '.join(names)} ({reason})" for reason, names in by_reason.items()]
    return f"Not drawn: {'; '.join(told)}." if told else ""


def _values(summary: Summary, event: str) -> set[float]:
    """The different values that occur."""
    known = map(_value_of(event), summary.sets)
    return {value for value in known if value is not None}


def _value_of(event: str) -> Callable[[SetFigures], float | None]:
    """The event's mean count per job (COUNTER_COLUMNS)."""
    column, scale = f"counter_{event}_per_job", 1e-3 if event == "task_clock" else 1.0
    return lambda item: Figure(item.column(column)).scaled(scale).value
