"""A simulated schedule as a chart: a row per processor, then one per task."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from deadbeat.model.systems import TaskSystem
from deadbeat.report.charts import Chart, Curve, Mark, Panel, Spans
from deadbeat.report.document import as_text
from deadbeat.report.paper import Words, draw_charts
from deadbeat.sched.picture import DrawnJob, Picture
from deadbeat.sched.simulator import Verdict

LABEL = "Simulated, not measured"
#: Integers that a page holds exactly; later windows count from their start.
_EXACT = 2**53
#: Where on a task's row releases and deadlines stand; shares of the row that lines take.
_BELOW, _ABOVE, _THIN, _THICK = 0.31, -0.31, 0.08, 0.2
#: Looks: marks, and what lies over bars, which few tasks share.
_UP, _DOWN, _CROSS, _BLACK, _HATCHED, _RED = 2, 4, 6, 13, 20, 22


def unit_words(system: TaskSystem) -> str:
    return system.unit or "units"


def verdict_words(verdict: Verdict) -> str:
    """``schedulable: yes, proved``."""
    proved = ", proved" if verdict.proved else ", not proved"
    return f"schedulable: {verdict.schedulable}" + (
        proved if verdict.schedulable != "undecided" else ""
    )


def caption(verdict: Verdict) -> str:
    """What every drawing says of itself; a simulated figure says that it is one."""
    return (
        f"simulated, not measured: {verdict.facts.title} ({verdict.scheduler.policy}),"
        f" ties by {verdict.scheduler.ties}, model {verdict.model}"
    )


def gantt_svg(picture: Picture, *, title: str = "") -> str:
    """The chart on paper; "" without matplotlib."""
    words = Words(labels=LABEL, caption="")
    drawn = dict(draw_charts([schedule_chart(picture, title=title)], words, ("svg",)))
    return "".join(content.decode("utf-8") for content in drawn.values())


def schedule_chart(picture: Picture, *, title: str = "") -> Chart:
    system = picture.system
    start, end = picture.start - _origin(picture), picture.end - _origin(picture)
    room = (end - start) / 80  # marks at the ends are whole
    heading = title or system.name or f"{len(system.tasks)} tasks"
    since = f" since {as_text(_origin(picture))}" if _origin(picture) else ""
    panel = Panel(
        title="",
        x_label=f"time{since} in {unit_words(system)}",
        y_label="",
        rows=(
            *(f"processor {index}" for index in range(system.processors)),
            *(row_name(system, index) for index in range(len(system.tasks))),
        ),
        spans=(*_waiting(picture), *_pieces(picture), *_locks(picture), *_late(picture)),
        curves=tuple(_arrows(picture)),
        marks=tuple(_first_miss(picture)),
        x_limits=(start - room, end + room),
        empty="nothing ran",
    )
    parts = (verdict_words(picture.verdict), caption(picture.verdict), picture.note)
    return Chart(
        name="schedule",
        title=" \N{MIDDLE DOT} ".join(filter(None, (heading, picture.releases))),
        caption=" \N{MIDDLE DOT} ".join(filter(None, parts)),
        panels=(panel,),
    )


def _origin(picture: Picture) -> int:
    return picture.start if picture.end > _EXACT else 0


def row_name(system: TaskSystem, index: int) -> str:
    name = system.label(index)
    return f"{index} {name}" if system.tasks[index].name else name


def _spans(
    label: str, look: int, height: float, picture: Picture, found: list[tuple[int, int, int, str]]
) -> Iterator[Spans]:
    """A layer of rows, ends and texts; what lies outside the window is cut off."""
    inside = [
        (row, max(begin, picture.start), min(end, picture.end), text)
        for row, begin, end, text in found
    ]
    inside = [each for each in inside if each[1] < each[2]]
    if inside:
        rows, begins, ends, texts = zip(*inside, strict=True)
        yield Spans(
            label=label,
            look=look,
            height=height,
            rows=rows,
            begin=tuple(begin - _origin(picture) for begin in begins),
            end=tuple(end - _origin(picture) for end in ends),
            texts=texts,
        )


def _pieces(picture: Picture) -> Iterator[Spans]:
    """What each task ran, on the row of its processor and on its own."""
    first = picture.system.processors
    found: dict[int, list[tuple[int, int, int, str]]] = defaultdict(list)
    for task, job, processor, start, end in picture.segments.tolist():
        name = f"{picture.system.label(task)}, job {job}"
        text = f"{name}: {as_text(start)} to {as_text(end)} on processor {processor} (simulated)"
        found[task] += [(row, start, end, text) for row in (processor, first + task)]
    for task, pieces in sorted(found.items()):
        yield from _spans(picture.system.label(task), task, 0.62, picture, pieces)


def _waiting(picture: Picture) -> Iterator[Spans]:
    """A thin line from release to completion joins the pieces of a job."""
    first = picture.system.processors
    found = []
    for job in picture.drawn_jobs:
        end = job.finish if job.finish >= 0 else max(picture.until, job.release)
        found.append((first + job.task, job.release, end, f"{_name(picture, job)}: pending"))
    return _spans("pending", _BLACK, _THIN, picture, found)


def _locks(picture: Picture) -> Iterator[Spans]:
    """Who waits for which lock held by whom, and who holds it."""
    first = picture.system.processors
    for label, look, holding in (
        ("holds a lock", _BLACK, True),
        ("waits for a lock", _HATCHED, False),
    ):
        found = []
        for task, number, lock, holder, start, end in picture.holds:
            if (task == holder) is holding:
                name, words = picture.system.label(task), picture.hold_words(task, lock, holder)
                text = f"{name}, job {number}: {words}, {as_text(start)} to {as_text(end)}"
                found.append((first + task, start, end, text))
        yield from _spans(label, look, _THICK, picture, found)


def _late(picture: Picture) -> Iterator[Spans]:
    first = picture.system.processors
    jobs = {(job.task, job.job): job for job in picture.drawn_jobs}
    found = []
    for task, number, processor, start, end in picture.segments.tolist():
        job = jobs.get((task, number))
        if job is not None and end > job.deadline:
            begin, text = max(start, job.deadline), f"{_name(picture, job)}: late"
            found += [(row, begin, end, text) for row in (processor, first + task)]
    return _spans("late execution", _RED, _THICK, picture, found)


def _name(picture: Picture, job: DrawnJob) -> str:
    return f"{picture.system.label(job.task)}, job {job.job}"


def _arrows(picture: Picture) -> Iterator[Curve]:
    """Releases and deadlines of the tasks; those that were missed."""
    first, jobs = picture.system.processors, picture.drawn_jobs
    met, missed = ([job for job in jobs if picture.missed(job) is late] for late in (False, True))
    for label, look, beside, instants in (
        ("release", _UP, _BELOW, [(job, job.release, "released at") for job in jobs]),
        ("deadline", _DOWN, _ABOVE, [(job, job.deadline, "deadline") for job in met]),
        ("missed deadline", _CROSS, _ABOVE, [(job, job.deadline, "deadline") for job in missed]),
    ):
        shown = [each for each in instants if picture.start <= each[1] <= picture.end]
        if shown:
            yield Curve(
                label=label,
                kind="points",
                look=look,
                x=tuple(at - _origin(picture) for _, at, _ in shown),
                y=tuple(first + job.task + beside for job, _, _ in shown),
                texts=tuple(
                    f"{_name(picture, job)}: {what} {as_text(at)}"
                    f"{_missed(job) if label == 'missed deadline' else ''}"
                    for job, at, what in shown
                ),
            )


def _first_miss(picture: Picture) -> Iterator[Mark]:
    miss = picture.verdict.first_miss
    # A proof without a schedule names a miss that these releases need not lead to.
    late = {job.deadline for job in picture.drawn_jobs if picture.missed(job)}
    if miss is None or miss not in late or not picture.start <= miss <= picture.end:
        return
    task = picture.verdict.first_miss_task
    name = "" if task is None else picture.system.label(task)
    label = f"first miss: {name} at {as_text(miss)}"
    yield Mark(axis="x", at=miss - _origin(picture), label=label)


def _missed(job: DrawnJob) -> str:
    done = f"completed at {as_text(job.finish)}" if job.finish >= 0 else "not complete"
    return f", missed, {done}"
