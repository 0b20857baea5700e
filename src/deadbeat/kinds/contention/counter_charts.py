"""Events counted per task beside the delay ratio: one mark a task set, as the paper's Figure 11."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from deadbeat.kinds.contention import grids
from deadbeat.kinds.contention.configurations import groups
from deadbeat.kinds.contention.facts import number
from deadbeat.kinds.contention.samples import Row, SetSample, samples
from deadbeat.kinds.contention.stress_charts import SCATTER_CAPTION, scatter
from deadbeat.model.jobs import COUNTER_EVENTS
from deadbeat.model.results import Summary
from deadbeat.report.charts import Chart
from deadbeat.report.document import Note, Sentence

COUNTED = "counted"


def column_of(event: str) -> str:
    """Column of sets.csv that holds an event's mean count per job (COUNTER_COLUMNS)."""
    return f"counter_{event}_per_job"


def name_of(event: str) -> str:
    """An event as a person writes it."""
    return event.replace("cpu_", "CPU ").replace("_", " ")


def states(summary: Summary) -> Mapping[str, str]:
    """Event -> ``counted``, ``not supported here``, ``refused: why`` or ``failed: why``.

    Empty: none asked for.
    """
    found = summary.meta.get("counters")
    if not isinstance(found, Mapping):
        return {}
    known = [event for event in COUNTER_EVENTS if event in found]
    others = [event for event in found if event not in COUNTER_EVENTS]
    return {str(event): str(found[event]) for event in (*known, *others)}


def counter_charts(summary: Summary) -> list[Chart]:
    """A panel for each event that was counted: what was not is never drawn as zero."""
    own = _samples(summary)
    panels = []
    for event, state in states(summary).items():
        if state != COUNTED or len(_values(summary, event)) < 2:
            continue
        name = name_of(event)
        unit = "µs" if event == "task_clock" else "number"
        panel = scatter(
            own, name[:1].upper() + name[1:], f"{name} per job ({unit})", _value_of(event), _AGAINST
        )
        if panel is not None:
            panels.append(panel)
    if not panels:
        return []
    return [
        Chart(
            name="counters",
            title="Delay ratio and counted events",
            caption=f"{_words(summary)}{SCATTER_CAPTION}",
            panels=tuple(panels),
        )
    ]


def counters_note(summary: Summary) -> tuple[Sentence | Note, ...]:
    """Why no event is drawn; the figure says itself which are missing from it."""
    if not states(summary):
        return (
            Note("No events were counted: run with --counters to see which go with the delay."),
        )
    missing = _missing(summary)
    if not missing or counter_charts(summary):
        return ()
    return (Sentence(f"Not drawn: {'; '.join(missing)}."),)


_AGAINST = ("delay_ratio_mean", "delay ratio of a task set (span / C)")


def _missing(summary: Summary) -> list[str]:
    """Names of the events that are not drawn, by the reason they share."""
    by_reason: dict[str, list[str]] = {}
    for event, state in states(summary).items():
        values = _values(summary, event)
        if state != COUNTED:
            reason = state
        elif not values:
            reason = "no task set has a value"
        elif len(values) == 1:
            reason = f"{values.pop():g} per job in every task set"
        else:
            continue
        by_reason.setdefault(reason, []).append(name_of(event))
    return [f"{', '.join(names)} ({reason})" for reason, names in by_reason.items()]


def _values(summary: Summary, event: str) -> set[float]:
    """The different values that occur."""
    known = (_value_of(event)(item) for item in summary.sets)
    return {value for value in known if value is not None}


def _words(summary: Summary) -> str:
    missing = _missing(summary)
    return f"Not drawn: {'; '.join(missing)}. " if missing else ""


def _value_of(event: str) -> Callable[[Row], float | None]:
    column, scale = column_of(event), 1e-3 if event == "task_clock" else 1.0

    def value(item: Row) -> float | None:
        known = number(item.get(column))
        return None if known is None else known * scale

    return value


def _samples(summary: Summary) -> tuple[SetSample, ...]:
    if summary.mode == "stress":
        return samples(summary.sets, groups(summary), lambda item: str(item.get("group")))
    labels = [f"M = {m}" for m in grids.cores_of(summary)]
    return samples(summary.sets, labels, lambda item: f"M = {item.get('cores')}")
