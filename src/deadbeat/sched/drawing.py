"""A simulated schedule over time: a row for each processor, then for each task and each lock."""

from __future__ import annotations

from collections.abc import Iterator

from deadbeat.base.model.systems import TaskSystem
from deadbeat.base.model.traces import Activity, WorstMoment
from deadbeat.base.report.building import moment_chart
from deadbeat.base.report.charts import Chart
from deadbeat.base.report.document import as_text
from deadbeat.base.report.paper import Words, draw_charts
from deadbeat.sched.picture import Picture
from deadbeat.sched.simulator import Verdict

LABEL = "Simulated, not measured"
#: Integers that a page holds exactly; later windows count from their start.
_EXACT = 2**53
PENDING, WAITS, LATE, HELD = "pending", "waits for a lock", "late execution", "lock is held"
RELEASE, DEADLINE, MISSED = "release", "deadline", "missed deadline"
#: Triangles up and down, a cross; locks and lines are black, late jobs red.
_LOOKS = {PENDING: 13, HELD: 13, WAITS: 20, LATE: 22, RELEASE: 2, DEADLINE: 4, MISSED: 6}
_Stretch = tuple[int, str, int, int, str]


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
    heading = title or picture.system.name or f"{len(picture.system.tasks)} tasks"
    words = " \N{MIDDLE DOT} ".join(filter(None, (heading, picture.releases)))
    return moment_chart(schedule_moment(picture), name="schedule", title=words)


def schedule_moment(picture: Picture) -> WorstMoment:
    """What each processor and each task did in the window, and who held each lock."""
    system, verdict = picture.system, picture.verdict
    origin = picture.start if picture.end > _EXACT else 0
    # A proof without a schedule names a miss that these releases need not lead to.
    late = {job.deadline for job in picture.drawn_jobs if picture.missed(job)}
    marks = {}
    if (miss := verdict.first_miss) in late and picture.start <= miss <= picture.end:
        task = verdict.first_miss_task
        name = "" if task is None else system.label(task)
        marks[f"first miss: {name} at {as_text(miss)}"] = miss - origin
    return WorstMoment(
        what=" \N{MIDDLE DOT} ".join(
            filter(None, (verdict_words(verdict), caption(verdict), picture.note))
        ),
        rows=(
            *(f"processor {index}" for index in range(system.processors)),
            *(row_name(system, index) for index in range(len(system.tasks))),
            *(f"lock {lock.name}" for lock in system.locks if picture.holds),
        ),
        stretches=tuple(
            Activity(
                row=row,
                kind=kind,
                begin_ns=max(begin, picture.start) - origin,
                end_ns=min(end, picture.end) - origin,
                text=text,
            )
            for row, kind, begin, end, text in _stretches(picture)
            if (begin < picture.end and end > picture.start)
            or (begin == end and picture.start <= begin <= picture.end)
        ),
        marks=marks,
        source="",
        unit=unit_words(system),
        since=as_text(origin) if origin else "",
        thin=(PENDING,),
        looks=_LOOKS,
    )


def row_name(system: TaskSystem, index: int) -> str:
    name = system.label(index)
    return f"{index} {name}" if system.tasks[index].name else name


def _stretches(picture: Picture) -> Iterator[_Stretch]:
    """Row, kind, ends and text of each. What takes no time is an instant."""
    system, first = picture.system, picture.system.processors
    jobs = {(job.task, job.job): job for job in picture.drawn_jobs}
    names = {key: f"{system.label(key[0])}, job {key[1]}" for key in jobs}
    before: dict[int, int] = {}
    for key, job in jobs.items():
        end = job.finish if job.finish >= 0 else max(picture.until, job.release)
        begin = max(job.release, before.get(job.task, 0))
        before[job.task] = end
        yield first + job.task, PENDING, begin, end, f"{names[key]}: pending"
    for task, number, lock, holder, begin, end in picture.holds:
        words = f"{picture.hold_words(task, lock, holder)}, {as_text(begin)} to {as_text(end)}"
        text = f"{system.label(task)}, job {number}: {words}"
        if task == holder:
            yield first + len(system.tasks) + lock, HELD, begin, end, text
        else:
            yield first + task, WAITS, begin, end, text
    for task, number, processor, begin, end in sorted(picture.segments.tolist()):
        name = f"{system.label(task)}, job {number}"
        text = f"{name}: {as_text(begin)} to {as_text(end)} on processor {processor} (simulated)"
        known = jobs.get((task, number))
        due = min(max(known.deadline, begin), end) if known else end
        for row in (processor, first + task):
            if begin < due:
                yield row, system.label(task), begin, due, text
            if due < end:
                yield row, LATE, due, end, f"{text}, late"
    for key, job in jobs.items():
        row, at = first + job.task, as_text(job.deadline)
        yield (
            row,
            RELEASE,
            job.release,
            job.release,
            f"{names[key]}: released at {as_text(job.release)}",
        )
        if picture.missed(job):
            done = f"completed at {as_text(job.finish)}" if job.finish >= 0 else "not complete"
            yield (
                row,
                MISSED,
                job.deadline,
                job.deadline,
                f"{names[key]}: deadline {at}, missed, {done}",
            )
        else:
            yield row, DEADLINE, job.deadline, job.deadline, f"{names[key]}: deadline {at}"
