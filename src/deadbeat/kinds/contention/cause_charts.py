"""Why jobs were late: the split of response times, and the worst jobs with what held them up."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any

from attrs import evolve

from deadbeat.kinds.contention import grids
from deadbeat.kinds.contention.samples import Row
from deadbeat.model.results import Summary
from deadbeat.model.traces import PARTS
from deadbeat.report.charts import COLOURS, Chart, Panel, spread, stacked
from deadbeat.report.facts import factor_of, factors, number
from deadbeat.report.times import time_text

#: Part, its name, what it means.
PART_NAMES: Mapping[str, str] = {
    "wake_up": "wake-up",
    "core_wait": "waiting for its core",
    "resource_wait": "waiting for a resource",
    "execution": "own execution",
    "stall": "suspected host stall",
}
_UNIT = "part of the response time / C"
_SHARES_SHOWN = 4
_CAPTION = (
    "Means over the jobs of a set, then over sets; the parts of a bar sum to the response time"
    " ((f − r) / C). A part that is a small share shows in the panels without the execution."
)

_COLUMNS = (
    *("run", "response", "deadline", "late by", "put down to", "held by", "evidence"),
    *("parts of the response", "traced"),
)


def recorded(summary: Summary) -> bool:
    """Whether the split was recorded anywhere."""
    return any(
        number(row.get(f"{part}_ratio")) is not None for row in summary.rows for part in PARTS
    )


def split_charts(summary: Summary, *, levels: int | None = None) -> list[Chart]:
    """The split over groups (stress) or over the grid (profile); empty where not recorded.

    Args:
        levels: At most so many deadline factors are drawn; None: all.
    """
    if not recorded(summary):
        return []
    every = factors(summary.rows)
    shown = every if levels is None else spread(every, levels)
    found = (
        _stress_split(summary, shown)
        if summary.mode == "stress"
        else _profile_split(summary, shown)
    )
    # A single chart needs no choice.
    return found if len(found) > 1 else [evolve(c, family="", option=c.option) for c in found]


def _stress_split(summary: Summary, every: Sequence[float]) -> list[Chart]:
    charts = []
    for factor in every:
        rows = [row for row in summary.rows if factor_of(row) == factor]
        names = tuple(str(row.get("group")) for row in rows)
        charts.append(
            Chart(
                name="split" if len(every) == 1 else f"split-d{round(factor * 1000):06d}",
                title="Where the response time goes",
                caption=_CAPTION,
                panels=(
                    _bars_panel("Whole response", "task sets of", names, rows, PARTS),
                    _bars_panel("Without the execution", "task sets of", names, rows, _WAITS),
                ),
                family="split",
                option="" if len(every) == 1 else f"D/C = {factor:g}",
            )
        )
    return charts


_WAITS = tuple(part for part in PARTS if part != "execution")


def _profile_split(summary: Summary, every: Sequence[float]) -> list[Chart]:
    """Small multiples: a panel per rho (some of them), a bar per alpha; a chart per M."""
    charts = []
    shares = spread(grids.axis_of(summary, "sync_share"), _SHARES_SHOWN)
    ratios = grids.axis_of(summary, "contended_ratio")
    tops = {parts: _top(summary.rows, parts) for parts in (PARTS, _WAITS)}
    for m in reversed(grids.cores_of(summary)):
        for factor in every:
            rows = {
                (grids.milli(row["sync_share"]), grids.milli(row["contended_ratio"])): row
                for row in summary.rows
                if int(row["cores"]) == m and factor_of(row) == factor
            }
            panels = []
            for parts, words in ((PARTS, ""), (_WAITS, ", without the execution")):
                for rho in shares:
                    own = [rows.get((grids.milli(rho), grids.milli(a)), {}) for a in ratios]
                    names = tuple(f"{alpha:g}" for alpha in ratios)
                    panel = _bars_panel(
                        f"ρ = {rho:g}{words}", "contended ratio α", names, own, parts
                    )
                    panels.append(evolve(panel, y_limits=(0.0, 1.08 * tops[parts])))
            several = len(every) > 1
            charts.append(
                Chart(
                    name=f"split-m{m:03d}" + (f"-d{round(factor * 1000):06d}" if several else ""),
                    title="Where the response time goes",
                    caption=_CAPTION,
                    panels=tuple(panels),
                    family="split",
                    option=f"M = {m}" + (f", D/C = {factor:g}" if several else ""),
                )
            )
    return charts


def _top(rows: Iterable[Row], parts: Sequence[str]) -> float:
    return max(
        (sum(number(row.get(f"{part}_ratio")) or 0.0 for part in parts) for row in rows),
        default=1.0,
    ) or 1.0  # fmt: skip


def _bars_panel(
    title: str, axis: str, names: tuple[str, ...], rows: Sequence[Row], parts: Sequence[str]
) -> Panel:
    return Panel(
        title=title,
        x_label=axis,
        y_label=_UNIT,
        categories=names,
        bars=stacked(
            {
                PART_NAMES[part]: [number(row.get(f"{part}_ratio")) for row in rows]
                for part in parts
            },
            looks=[PARTS.index(part) for part in parts],
        ),
    )


def section(summary: Summary) -> str:
    """The table of the worst jobs, or why there is none."""
    jobs = summary.meta.get("causes")
    refused = summary.meta.get("causes_unavailable")
    words = "" if recorded(summary) else _ABSENT
    if refused:
        words += f'<p id="causes-unavailable">Not traced: {escape(str(refused))}.</p>'
    if not isinstance(jobs, Sequence) or not jobs:
        return words + _notes(summary)
    lines = "".join(_line(job) for job in jobs if isinstance(job, Mapping))
    head = "".join(f'<th scope="col" class="text">{escape(text)}</th>' for text in _COLUMNS)
    return (
        f"{words}<h3>The worst jobs</h3>"
        '<div class="scroll" role="region" aria-label="The worst jobs" tabindex="0">'
        f'<table id="late-table" class="late"><thead><tr>{head}</tr></thead>'
        f"<tbody>{lines}</tbody></table></div>"
        f'<p class="hint">By lateness (response − deadline), then by response / deadline. Releases'
        " in a row that never finished are one line: their response is at least (≥) what is"
        f" given. {_key()} What a job is put down to without a trace rests on its split alone.</p>"
        f"{_notes(summary)}"
    )


def _notes(summary: Summary) -> str:
    """What is missing from the events of these jobs."""
    notes = summary.meta.get("causes_notes")
    if not isinstance(notes, Sequence) or not notes:
        return ""
    lines = "".join(f"<li>{escape(str(note))}</li>" for note in notes)
    return f'<ul id="causes-notes" class="hint">{lines}</ul>'


_ABSENT = (
    "<p>How response times split was not recorded: run with <code>--causes</code> to see the"
    " wake-up, waiting and execution apart.</p>"
)


def _key() -> str:
    return (
        "Bars: "
        + ", ".join(
            f'<i style="display:inline-block;width:.8em;height:.8em;background:'
            f'{COLOURS[k % len(COLOURS)]}"></i> {escape(PART_NAMES[part])}'
            for k, part in enumerate(PARTS)
        )
        + "."
    )


def _line(job: Mapping[str, Any]) -> str:
    parts = job.get("parts_ns")
    split = parts if isinstance(parts, Mapping) else {}
    response, deadline = number(job.get("response_ns")), number(job.get("deadline_ns"))
    late = None if response is None or deadline is None else response - deadline
    least = "" if job.get("finished", True) else "≥ "
    cells = (
        (least + time_text(response), "tight"),
        (time_text(deadline), "tight"),
        (least + time_text(late) if late is not None and late > 0 else "–", "tight"),
        (str(job.get("cause") or "unknown"), "text"),
        (str(job.get("holder") or "–"), "text held"),
        (str(job.get("evidence") or "–"), "text wide"),
    )
    texts = "".join(f'<td class="{kind}">{escape(text)}</td>' for text, kind in cells)
    return (
        f'<tr><td class="text">{_place(job)}</td>{texts}<td class="text wide">{_split(split)}</td>'
        f'<td class="text">{escape(_traced(job))}</td></tr>'
    )


def _place(job: Mapping[str, Any]) -> str:
    """The run, to be copied whole, and which of its jobs."""
    text = f"t{job.get('task', '–')}, job {job.get('job', '–')}"
    skipped = number(job.get("skipped")) or 0
    if skipped > 1:
        text += f" and {skipped - 1:.0f} more"
    return f'<span class="tight">{escape(str(job.get("run", "–")))}</span><br>{escape(text)}'


def _traced(job: Mapping[str, Any]) -> str:
    """Whether there were events, and how many of its run the kernel lost."""
    details = job.get("details")
    lost = number(details.get("events_lost")) if isinstance(details, Mapping) else None
    return ("yes" if job.get("traced") else "no") + (f", {lost:.0f} lost" if lost else "")


def _split(parts: Mapping[str, Any]) -> str:
    known = [(k, part, number(parts.get(part))) for k, part in enumerate(PARTS)]
    whole = sum(value or 0.0 for _, _, value in known)
    if not whole:
        return "not recorded"
    bar = "".join(
        f'<i style="width:{100 * value / whole:.1f}%;background:{COLOURS[k % len(COLOURS)]}"></i>'
        for k, _, value in known
        if value
    )
    texts = ", ".join(f"{PART_NAMES[part]} {time_text(value)}" for _, part, value in known if value)
    return f'{escape(texts)}<span class="split">{bar}</span>'
