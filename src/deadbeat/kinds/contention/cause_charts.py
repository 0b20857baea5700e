"""Why jobs were late: the split of response times, and the worst jobs with what held them up."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from attrs import evolve

from deadbeat.kinds.contention import grids
from deadbeat.kinds.contention.facts import Level, levels
from deadbeat.model.figures import CellFigures
from deadbeat.model.results import Summary
from deadbeat.model.traces import PARTS, LateJob
from deadbeat.model.words import time_text
from deadbeat.report.building import spread, stacked
from deadbeat.report.charts import COLOURS, Chart, Panel
from deadbeat.report.document import Lines, Part, Sentence, Subsection, Table, said

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


def recorded(summary: Summary) -> bool:
    """Whether the split was recorded anywhere."""
    return any(_part(cell, part) is not None for cell in summary.cells for part in PARTS)


def _part(cell: CellFigures, part: str) -> float | None:
    return cell.value(f"{part}_ratio")


def split_charts(summary: Summary, *, most: int | None = None) -> list[Chart]:
    """The split over groups (stress) or over the grid (profile); empty where not recorded.

    Args:
        most: At most so many deadline factors are drawn; None: all.
    """
    if not recorded(summary):
        return []
    split = _stress_split if summary.mode == "stress" else _profile_split
    shown = levels(summary.cells, most)
    found = [
        Chart(
            name=f"split{name}{level.suffix}",
            title="Where the response time goes",
            caption=_CAPTION,
            panels=tuple(panels),
            family="split",
            option=", ".join(filter(None, (option, level.option))),
        )
        for name, option, level, panels in split(summary, shown)
    ]
    # A single chart needs no choice.
    return found if len(found) > 1 else [evolve(each, family="") for each in found]


#: End of a name, option, deadline factor and panels of a chart.
_Split = tuple[str, str, Level, list[Panel]]


def _stress_split(summary: Summary, shown: Sequence[Level]) -> Iterator[_Split]:
    for level in shown:
        cells = level.of(summary.cells)
        names = tuple(cell.group for cell in cells)
        made = (("Whole response", PARTS), ("Without the execution", _WAITS))
        panels = [_bars_panel(title, "task sets of", names, cells, parts) for title, parts in made]
        yield "", "", level, panels


_WAITS = tuple(part for part in PARTS if part != "execution")


def _profile_split(summary: Summary, shown: Sequence[Level]) -> Iterator[_Split]:
    """Small multiples: a panel per rho (some of them), a bar per alpha; a chart per M."""
    shares = spread(grids.axis_of(summary, "sync_share"), _SHARES_SHOWN)
    ratios = grids.axis_of(summary, "contended_ratio")
    names = tuple(f"{alpha:g}" for alpha in ratios)
    tops = {parts: _top(summary.cells, parts) for parts in (PARTS, _WAITS)}
    for m in reversed(grids.cores_of(summary)):
        for level in shown:
            cells = grids.at_places(level.of(summary.cells), m)
            panels = []
            for parts, words in ((PARTS, ""), (_WAITS, ", without the execution")):
                for rho in shares:
                    keys = [(grids.milli(rho), grids.milli(alpha)) for alpha in ratios]
                    own = [cells.get(key, CellFigures()) for key in keys]
                    panel = _bars_panel(
                        f"ρ = {rho:g}{words}", "contended ratio α", names, own, parts
                    )
                    panels.append(evolve(panel, y_limits=(0.0, 1.08 * tops[parts])))
            yield f"-m{m:03d}", f"M = {m}", level, panels


def _top(cells: Iterable[CellFigures], parts: Sequence[str]) -> float:
    return max(
        (sum(_part(cell, part) or 0.0 for part in parts) for cell in cells),
        default=1.0,
    ) or 1.0  # fmt: skip


def _bars_panel(
    title: str,
    axis: str,
    names: tuple[str, ...],
    cells: Sequence[CellFigures],
    parts: Sequence[str],
) -> Panel:
    return Panel(
        title=title,
        x_label=axis,
        y_label=_UNIT,
        categories=names,
        bars=stacked(
            {PART_NAMES[part]: [_part(cell, part) for cell in cells] for part in parts},
            looks=[PARTS.index(part) for part in parts],
        ),
    )


# ---------- the worst jobs ----------


def worst_jobs(summary: Summary) -> tuple[Part, ...]:
    """The worst jobs and what held them up, or why they are not told."""
    jobs = [LateJob(**job) for job in summary.meta.get("causes") or ()]
    refused, notes = (summary.meta.get(f"causes_{name}") for name in ("unavailable", "notes"))
    return (
        *(() if recorded(summary) else (Sentence(_ABSENT),)),
        *((Sentence(f"Not traced: {refused}."),) if refused else ()),
        *((Subsection("The worst jobs", (jobs_table(jobs),)),) if jobs else ()),
        *((Lines(notes),) if notes else ()),
    )


_ABSENT = (
    "How response times split was not recorded: run with --causes to see the wake-up, waiting and"
    " execution apart."
)
_HOW = (
    "By lateness (response − deadline), then by response / deadline. Releases in a row that never"
    " finished are one line: their response is at least (≥) what is given. What a job is put down"
    " to without a trace rests on its split alone."
)


def jobs_table(jobs: Sequence[LateJob]) -> Table:
    """A row per late job."""
    return Table(
        name="late-table",
        title="The worst jobs",
        columns=(
            said("run", _place, words=True),
            said("response", lambda job: job_time(job, job.response_ns)),
            said("deadline", lambda job: job.deadline_ns, format=time_text),
            said("late by", lambda j: job_time(j, j.lateness_ns) if j.lateness_ns > 0 else None),
            said("put down to", lambda job: job.cause or "unknown", long=True),
            said("held by", lambda job: job.holder or None, long=True),
            said("evidence", lambda job: job.evidence or None, long=True),
            said("parts of the response", _split, long=True, markup=_split_bar),
            said("traced", _traced, words=True),
        ),
        rows=jobs,
        dense=True,
        hint=_HOW,
    )


def job_time(job: LateJob, ns: int) -> str:
    """Of a job that never finished: at least."""
    return ("" if job.finished else "≥ ") + time_text(ns)


def _place(job: LateJob) -> str:
    """The run, to be copied whole, and which of its jobs."""
    text = f"{job.run} t{job.task}, job {job.job}"
    return f"{text} and {job.skipped - 1} more" if job.skipped > 1 else text


def _traced(job: LateJob) -> str:
    """Whether there were events, and how many of its run the kernel lost."""
    lost = job.details.get("events_lost")
    return ("yes" if job.traced else "no") + (f", {lost} lost" if lost else "")


def _split(job: LateJob) -> str:
    known = ((name, job.parts_ns.get(part)) for part, name in PART_NAMES.items())
    return ", ".join(f"{name} {time_text(ns)}" for name, ns in known if ns) or "not recorded"


def _split_bar(job: LateJob) -> str:
    whole = sum(job.parts_ns.values())
    bar = "".join(
        f'<i style="width:{100 * job.parts_ns[part] / whole:.1f}%;background:{colour}"></i>'
        for part, colour in zip(PARTS, COLOURS, strict=False)
        if job.parts_ns.get(part)
    )
    return f'<span class="split">{bar}</span>' if bar else ""
