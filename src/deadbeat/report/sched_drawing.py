"""A simulated schedule as a Gantt chart in SVG, and as a trace.

The chart has a lane per processor, then one per task; what has a place in time carries it
(``data-a``, ``data-b``) where the page's script zooms it. The trace is in the Trace Event Format,
which ui.perfetto.dev and chrome://tracing open: processors with what ran on each, tasks with where
each ran, releases, deadlines and misses as instants, arrows that join the pieces of a job.
"""

from __future__ import annotations

import colorsys
import json
from collections.abc import Iterator
from fractions import Fraction

from attrs import frozen

from deadbeat.model.systems import TaskSystem
from deadbeat.model.words import escape
from deadbeat.report.document import as_text
from deadbeat.sched.picture import DrawnJob, Picture
from deadbeat.sched.simulator import Verdict
from deadbeat.store.files import tool_version

#: Twelve colours of similar weight on white, ordered so that neighbours differ (after Paul Tol's
#: and Okabe and Ito's sets); further tasks get colours of their own around the circle.
_COLOURS = (
    *("#4477aa", "#ee9944", "#228833", "#aa6fc5", "#66ccee", "#ccbb44"),
    *("#997755", "#ee99bb", "#77bb99", "#6666cc", "#bbbbbb", "#44aa99"),
)
_MISS = "#c1121f"
_INK, _SOFT, _BAND = "#1d2126", "#59616b", "#f6f7f8"

_LEFT, _RIGHT, _TOP = 144, 28, 64
_PROCESSOR, _TASK, _GAP = 24, 30, 5
_BAR = 15
_WIDTH_LEAST, _WIDTH_MOST = 960, 12_000
#: Pixels that nine of ten segments have at least, while the drawing is not too wide for that.
_SEGMENT_PX = 5
_LABEL_CHARACTERS = 17
_CHARACTER_PX = 6.6
#: Path, colour and words.
_LEGEND = (
    ("M0 5V-7M-3 -3L0 -7L3 -3", _INK, "release"),
    ("M0 -7V5M-3 1L0 5L3 1", _SOFT, "deadline"),
    ("M-5 -5L5 5M5 -5L-5 5", _MISS, "missed deadline; red outline: late execution"),
    ("M-6 0H-3M-1 0H2M4 0H7", _INK, "pending, does not run"),
)


def colour(task: int) -> str:
    """Fill of a task, the same in every drawing."""
    if task < len(_COLOURS):
        return _COLOURS[task]
    hue = (task * 0.61803398875) % 1.0
    red, green, blue = colorsys.hls_to_rgb(hue, 0.55 + 0.12 * (task % 3 - 1), 0.5)
    return f"#{round(red * 255):02x}{round(green * 255):02x}{round(blue * 255):02x}"


def ink_on(fill: str) -> str:
    """Black or white, whichever is read more easily on ``fill``."""
    red, green, blue = (int(fill[i : i + 2], 16) / 255 for i in (1, 3, 5))
    return "#000000" if 0.299 * red + 0.587 * green + 0.114 * blue > 0.5 else "#ffffff"


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


def tag(name: str, *inside: str, **attributes: object) -> str:
    """An element with elements inside; attributes by their names (``stroke_width``, ``class_``);
    a ``tip`` is shown when it is pointed at."""
    tip = str(attributes.pop("tip", ""))
    told = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{_value(value)}"'
        for key, value in attributes.items()
        if value is not None
    )
    within = (f"<title>{escape(tip)}</title>" if tip else "") + "".join(inside)
    return f"<{name}{told}>{within}</{name}>" if within else f"<{name}{told}/>"


def _value(value: object) -> str:
    return f"{round(value, 2):.12g}" if isinstance(value, float) else escape(str(value))


def gantt_svg(picture: Picture, *, title: str = "", interactive: bool = False) -> str:
    """The drawing as a whole SVG document; the same picture gives the same text.

    Args:
        interactive: With every element's place in time, for the page's script.
    """
    return _Drawing(picture=picture, width=_width(picture), interactive=interactive).text(title)


def _width(picture: Picture) -> int:
    """Wide enough that most segments can be seen, within what a viewer scrolls."""
    lengths = sorted(int(row[4] - row[3]) for row in picture.segments)
    if not lengths:
        return _WIDTH_LEAST
    short = max(1, lengths[len(lengths) // 10])
    wanted = (picture.end - picture.start) / short * _SEGMENT_PX
    return round(min(max(_WIDTH_LEAST, wanted), _WIDTH_MOST))


def ticks(start: int, end: int, width: float) -> list[int]:
    """Instants of the axis: multiples of 1, 2 or 5 times a power of ten, labels apart."""
    room = max(2, int(width / (len(as_text(end)) * _CHARACTER_PX + 26)))
    least = max(1, -(-(end - start) // room))
    power = 10 ** (len(str(least)) - 1)
    step = next(f * power for f in (1, 2, 5, 10) if f * power >= least)
    first = -(-start // step) * step
    return list(range(first, end + 1, step))


@frozen(kw_only=True)
class _Drawing:
    """Where instants and lanes are, and what is drawn there."""

    picture: Picture
    width: int
    interactive: bool

    def x(self, time: float) -> float:
        start, end = self.picture.start, self.picture.end
        return _LEFT + (time - start) / (end - start) * self.width

    def at(self, low: int, high: int | None = None, **more: object) -> dict[str, object]:
        """Attributes of what lies at ``low``, or from there to ``high``: counted from the window's
        start, so that a script's numbers hold them exactly."""
        if not self.interactive:
            return {}
        start = self.picture.start
        return {"data_a": low - start, "data_b": None if high is None else high - start, **more}

    def processor_y(self, processor: int) -> int:
        return _TOP + processor * (_PROCESSOR + _GAP)

    def task_y(self, task: int) -> int:
        return self.processor_y(self.picture.system.processors) + 14 + task * (_TASK + _GAP)

    @property
    def bottom(self) -> int:
        return self.task_y(len(self.picture.system.tasks))

    def stretched(self, by: int = 0) -> int | None:
        return by if self.interactive else None

    def text(self, title: str) -> str:
        picture = self.picture
        told = (verdict_words(picture.verdict), caption(picture.verdict))
        heading = title or picture.system.name or f"{len(picture.system.tasks)} tasks"
        heading = " \N{MIDDLE DOT} ".join(filter(None, (heading, picture.releases)))
        below = " \N{MIDDLE DOT} ".join(filter(None, (*told, picture.note)))
        whole, height = _LEFT + self.width + _RIGHT, self.bottom + 74
        clip = tag(
            "rect", x=_LEFT - 7, y=_TOP - 16, width=self.width + 14, height=self.bottom - _TOP + 20,
            data_stretch=self.stretched(14),
        )  # fmt: skip
        plot = [self.waiting(), self.segments(), self.arrows(), self.first_miss()]
        parts = [
            tag("desc", escape(f"{told[1]}; {told[0]}")),
            tag("rect", width="100%", height="100%", fill="#ffffff"),
            tag("text", escape(heading), x=12, y=20, font_size=15, font_weight=600),
            tag("text", escape(below), x=12, y=38, fill=_SOFT, class_="caption"),
            tag("clipPath", clip, id="inside"),
            *self.lanes(),
            tag("g", *(each for some in plot for each in some), clip_path="url(#inside)",
                class_="plot"),
            *self.axis(),
            *self.legend(),
        ]  # fmt: skip
        return tag(
            "svg", *(f"{part}\n" for part in parts), tip=f"{heading} ({told[1]})",
            xmlns="http://www.w3.org/2000/svg", viewBox=f"0 0 {whole} {height}", width=whole,
            height=height, role="img", class_="gantt", data_start=picture.start,
            data_length=picture.end - picture.start, data_left=_LEFT, font_size=12, fill=_INK,
            font_family="system-ui, DejaVu Sans, sans-serif",
        ) + "\n"  # fmt: skip

    def lanes(self) -> Iterator[str]:
        system = self.picture.system
        for processor in range(system.processors):
            yield from self.lane(self.processor_y(processor), _PROCESSOR, f"processor {processor}")
        for index, task in enumerate(system.tasks):
            y, name = self.task_y(index), system.label(index)
            times = f"C = {task.wcet}, T = {task.period}, D = {task.deadline}, O = {task.offset}"
            label = f"{index} {name}" if task.name else name
            yield from self.lane(y, _TASK, label, tip=f"{name}: {times}")
            yield tag("rect", x=_LEFT - 9, y=y + 4, width=5, height=_TASK - 4, fill=colour(index))
            yield tag(
                "line", x1=_LEFT, x2=_LEFT + self.width, y1=y + _TASK, y2=y + _TASK, stroke=_SOFT,
                data_stretch=self.stretched(),
            )  # fmt: skip

    def lane(self, y: int, height: int, label: str, *, tip: str = "") -> Iterator[str]:
        cut = len(label) > _LABEL_CHARACTERS
        short = label[: _LABEL_CHARACTERS - 1] + "…" if cut else label
        yield tag(
            "rect", x=_LEFT, y=y, width=self.width, height=height, fill=_BAND,
            data_stretch=self.stretched(),
        )  # fmt: skip
        middle = y + height / 2 + (7 if tip else 4)
        yield tag("text", escape(short), tip=tip, x=_LEFT - 12, y=middle, text_anchor="end")

    def waiting(self) -> Iterator[str]:
        """A thin line from the release to the completion joins the pieces of a job."""
        picture = self.picture
        for job in picture.drawn_jobs:
            end = job.finish if job.finish >= 0 else max(picture.until, job.release)
            low, high = max(job.release, picture.start), min(end, picture.end)
            y = self.task_y(job.task) + _TASK - _BAR / 2
            if low < high:
                yield tag(
                    "line", x1=self.x(low), x2=self.x(high), y1=y, y2=y, stroke=colour(job.task),
                    stroke_width=2, stroke_dasharray="2 2", **self.at(low, high),
                )  # fmt: skip

    def segments(self) -> Iterator[str]:
        picture = self.picture
        deadlines = {(each.task, each.job): each.deadline for each in picture.drawn_jobs}
        for task, job, processor, start, end in (tuple(map(int, row)) for row in picture.segments):
            low, high = max(start, picture.start), min(end, picture.end)
            span = f"{as_text(start)} to {as_text(end)} on processor {processor}"
            tip = f"{picture.system.label(task)}, job {job}: {span} (simulated)"
            late = max(low, deadlines.get((task, job), high))
            for y, height, words in (
                (self.processor_y(processor) + 2, _PROCESSOR - 4, f"{task}"),
                (self.task_y(task) + _TASK - _BAR, _BAR, f"P{processor}"),
            ):
                yield tag(
                    "rect", tip=tip, **self.span(low, high), y=y, height=height, fill=colour(task),
                    stroke="#ffffff", stroke_width=0.6,
                )  # fmt: skip
                needed = len(words) * _CHARACTER_PX + 3
                hidden = self.x(high) - self.x(low) < needed
                yield tag(
                    "text", words, x=self.x((low + high) / 2), y=y + height / 2 + 3.6,
                    text_anchor="middle", font_size=10, fill=ink_on(colour(task)),
                    pointer_events="none", visibility="hidden" if hidden else None,
                    **self.at(low, high, data_w=needed),
                )  # fmt: skip
                if late < high:
                    yield tag(
                        "rect", **self.span(late, high), y=y, height=height, fill="none",
                        stroke=_MISS, stroke_width=2.5,
                    )  # fmt: skip

    def span(self, low: int, high: int) -> dict[str, object]:
        """Attributes of a bar."""
        return {"x": self.x(low), "width": self.x(high) - self.x(low), **self.at(low, high)}

    def arrows(self) -> Iterator[str]:
        picture = self.picture
        for job in picture.drawn_jobs:
            name = f"{picture.system.label(job.task)}, job {job.job}"
            top = self.task_y(job.task)
            if picture.start <= job.release <= picture.end:
                tip = f"{name}: released at {as_text(job.release)}"
                yield self.arrow(job.release, top + _TASK, 3 - _TASK, _INK, tip)
            if picture.start <= job.deadline <= picture.end:
                missed = picture.missed(job)
                tip = f"{name}: deadline {as_text(job.deadline)}{_missed(job) * missed}"
                yield self.arrow(job.deadline, top + 1, _TASK - 2, _MISS if missed else _SOFT, tip)
                if missed:
                    yield self.path(
                        job.deadline, top + 3, "M-5 -5L5 5M5 -5L-5 5", stroke=_MISS,
                        stroke_width=2.5, class_="miss",
                    )  # fmt: skip

    def arrow(self, time: int, y: int, length: int, stroke: str, tip: str) -> str:
        """A release points up, a deadline down; drawn apart by a hair where both meet."""
        head, shift = (-4.5, -1.1) if length > 0 else (4.5, 1.1)
        left, right, end = f"{shift - 3:g}", f"{shift + 3:g}", length + head
        lines = f"M{shift} 0V{length}M{left} {end}L{shift} {length}L{right} {end}"
        wide = 1.8 if stroke == _MISS else 1.2
        return self.path(time, y, lines, tip=tip, fill="none", stroke=stroke, stroke_width=wide)

    def path(self, time: int, y: int, lines: str, **more: object) -> str:
        place = f"translate({self.x(time):.2f} {y})"
        return tag("path", transform=place, d=lines, **more, **self.at(time))

    def first_miss(self) -> Iterator[str]:
        picture, verdict = self.picture, self.picture.verdict
        miss = verdict.first_miss
        # A proof without a schedule names a miss that these releases need not lead to.
        late = {job.deadline for job in picture.drawn_jobs if picture.missed(job)}
        if miss is None or miss not in late or not picture.start <= miss <= picture.end:
            return
        x, task = self.x(miss), verdict.first_miss_task
        whose = "" if task is None else picture.system.label(task)
        yield tag(
            "line", x1=x, x2=x, y1=_TOP - 6, y2=self.bottom, stroke=_MISS, stroke_width=1.4,
            stroke_dasharray="5 3", **self.at(miss, miss),
        )  # fmt: skip
        yield tag(
            "text", f"first miss: {escape(whose)} at {as_text(miss)}", x=x, y=_TOP - 7,
            text_anchor="end" if x > _LEFT + self.width / 2 else "start", fill=_MISS,
            font_weight=600, **self.at(miss),
        )  # fmt: skip

    def axis(self) -> Iterator[str]:
        y, picture = self.bottom + 6, self.picture
        made = [tag("line", x1=_LEFT, x2=_LEFT + self.width, y1=y, y2=y, stroke=_INK)]
        for time in ticks(picture.start, picture.end, self.width):
            x, words = self.x(time), as_text(time)
            made.append(tag("line", x1=x, x2=x, y1=y, y2=y + 5, stroke=_INK))
            made.append(tag("text", words, x=x, y=y + 18, text_anchor="middle", font_size=11))
        yield tag("g", *made, class_="axis", data_y=y)
        words = f"time in {escape(unit_words(picture.system))}"
        yield tag("text", words, x=_LEFT - 34, y=y + 18, text_anchor="end", fill=_SOFT)

    def legend(self) -> Iterator[str]:
        x, y, made = float(_LEFT), self.bottom + 56, []
        for lines, stroke, words in _LEGEND:
            place = f"translate({x + 6:.1f} {y - 4})"
            made.append(
                tag("path", transform=place, d=lines, fill="none", stroke=stroke, stroke_width=1.6)
            )
            made.append(tag("text", words, x=x + 18, y=y, font_size=11))
            x += 36 + len(words) * 5.9
        note = "number in a bar: task (above), processor (below)"
        made.append(tag("text", note, x=x + 6, y=y, font_size=11))
        yield tag("g", *made, class_="legend", fill=_SOFT)


def _missed(job: DrawnJob) -> str:
    done = f"completed at {as_text(job.finish)}" if job.finish >= 0 else "not complete"
    return f", missed, {done}"


#: Microseconds of a unit, which is what the format counts in; other units count as one.
MICROSECONDS = {
    "ns": Fraction(1, 1000),
    "us": Fraction(1),
    "µs": Fraction(1),
    "ms": Fraction(1000),
    "s": Fraction(1_000_000),
}
_PROCESSORS, _TASKS = 1, 2
#: By the names of the format.
Event = dict[str, object]


def trace_text(picture: Picture) -> str:
    """The trace as JSON, an event per line; times in microseconds, see MICROSECONDS."""
    events = ",\n".join(
        json.dumps(event, ensure_ascii=False, allow_nan=False) for event in _events(picture)
    )
    facts = json.dumps(_facts(picture), ensure_ascii=False, allow_nan=False)
    return f'{{"displayTimeUnit": "ns",\n"otherData": {facts},\n"traceEvents": [\n{events}\n]}}\n'


def _facts(picture: Picture) -> dict[str, str]:
    unit = picture.system.unit
    known = unit in MICROSECONDS
    return {
        "simulated": "yes",
        "caption": caption(picture.verdict),
        "verdict": verdict_words(picture.verdict),
        "because": picture.verdict.because,
        "unit": unit if known else f"1 us stands for 1 {unit or 'unit'}",
        "window": f"[{picture.start}, {picture.end})",
        "note": picture.note,
        "releases": picture.releases,
        "tool": f"deadbeat {tool_version()}",
    }


def _events(picture: Picture) -> Iterator[Event]:
    scale = MICROSECONDS.get(picture.system.unit, Fraction(1))
    yield from _names(picture)
    yield from _pieces(picture, scale)
    yield from _instants(picture, scale)


def _event(kind: str, process: int, track: int, name: str, **more: object) -> Event:
    return {"ph": kind, "pid": process, "tid": track + 1, "name": name, **more}


def _time(value: int, scale: Fraction) -> int | float:
    exact = value * scale
    return int(exact) if exact.denominator == 1 else float(exact)


def _names(picture: Picture) -> Iterator[Event]:
    system = picture.system
    named = (
        (_PROCESSORS, f"processors ({caption(picture.verdict)})",
         [f"processor {index}" for index in range(system.processors)]),
        (_TASKS, "tasks (simulated)",
         [f"{index} {system.label(index)}" for index in range(len(system.tasks))]),
    )  # fmt: skip
    for process, name, _ in named:
        yield _event("M", process, -1, "process_name", args={"name": name})
    for process, _, tracks in named:
        for index, name in enumerate(tracks):
            yield _event("M", process, index, "thread_name", args={"name": name})
            yield _event("M", process, index, "thread_sort_index", args={"sort_index": index})


def _pieces(picture: Picture, scale: Fraction) -> Iterator[Event]:
    rows = [tuple(map(int, row)) for row in picture.segments]
    first: dict[tuple[int, int], int] = {}
    last: dict[tuple[int, int], int] = {}
    for index, (task, job, *_) in enumerate(rows):
        first.setdefault((task, job), index)
        last[task, job] = index
    for index, (task, job, processor, start, end) in enumerate(rows):
        label, key = picture.system.label(task), (task, job)
        span = {"ts": _time(start, scale), "dur": _time(end - start, scale), "cat": "run"}
        about = {"job": job, "processor": processor, "simulated": True}
        args = {**about, "task": label}
        yield _event("X", _PROCESSORS, processor, f"{label} #{job}", **span, args=args)
        yield _event("X", _TASKS, task, f"#{job} on {processor}", **span, args=about)
        if first[key] != last[key]:
            phase = {first[key]: "s", last[key]: "f"}.get(index, "t")
            # An arrow leaves and reaches a slice within its time; at its start it always is.
            yield _event(
                phase, _PROCESSORS, processor, "resumes",
                id=f"{task}.{job}", cat="job", bp="e", ts=_time(start, scale),
            )  # fmt: skip


def _instants(picture: Picture, scale: Fraction) -> Iterator[Event]:
    for each in picture.drawn_jobs:
        about: dict[str, object] = {"job": each.job, "simulated": True}
        missed = picture.missed(each)
        late = {**about, "completed": each.finish if each.finish >= 0 else "no"}
        word, told = ("deadline missed", late) if missed else ("deadline", about)
        for name, time, args in (("release", each.release, about), (word, each.deadline, told)):
            if picture.start <= time <= picture.end:
                at = _time(time, scale)
                yield _event("i", _TASKS, each.task, name, s="t", ts=at, cat=name, args=args)
