"""Gantt chart of a simulated schedule as SVG: a lane per processor, then one per task.

Everything that has a place in time carries it (``data-a``, ``data-b``), so that the page's script
can zoom the same drawing.
"""

from __future__ import annotations

import colorsys
import re
from collections.abc import Iterator
from html import escape

from attrs import frozen

from deadbeat.model.systems import TaskSystem
from deadbeat.sched.picture import Picture
from deadbeat.sched.simulator import Verdict

#: Twelve colours of similar weight on white, ordered so that neighbours differ (after Paul Tol's
#: and Okabe and Ito's sets); further tasks get colours of their own around the circle.
_COLOURS = (
    *("#4477aa", "#ee9944", "#228833", "#aa6fc5", "#66ccee", "#ccbb44"),
    *("#997755", "#ee99bb", "#77bb99", "#6666cc", "#bbbbbb", "#44aa99"),
)
_MISS = "#c1121f"
_INK, _SOFT, _LINE, _BAND = "#1d2126", "#59616b", "#d5d9de", "#f6f7f8"

_LEFT, _RIGHT, _TOP = 144, 28, 64
_PROCESSOR, _TASK, _GAP = 24, 30, 5
_BAR = 15
_WIDTH_LEAST, _WIDTH_MOST = 960, 12_000
#: Pixels that nine of ten segments have at least, while the drawing is not too wide for that.
_SEGMENT_PX = 5
_LABEL_CHARACTERS = 17
_CHARACTER_PX = 6.6


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


def shown_time(value: int) -> str:
    """An instant with narrow spaces that do not break: ``12 500``."""
    return f"{value:,}".replace(",", "\N{NARROW NO-BREAK SPACE}")


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


@frozen(kw_only=True)
class _Frame:
    """Where instants and lanes are."""

    start: int
    end: int
    width: int
    processors: int
    tasks: int

    def x(self, time: float) -> float:
        return _LEFT + (time - self.start) / (self.end - self.start) * self.width

    def at(self, low: int, high: int | None = None) -> str:
        """Attributes of what lies at ``low``, or from there to ``high``.

        Counted from the window's start, so that a script's numbers hold them exactly.
        """
        first = f'data-a="{low - self.start}"'
        return first if high is None else f'{first} data-b="{high - self.start}"'

    def processor_y(self, processor: int) -> float:
        return _TOP + processor * (_PROCESSOR + _GAP)

    @property
    def tasks_y(self) -> float:
        return self.processor_y(self.processors) + 14

    def task_y(self, task: int) -> float:
        return self.tasks_y + task * (_TASK + _GAP)

    @property
    def bottom(self) -> float:
        return self.task_y(self.tasks)

    @property
    def height(self) -> float:
        return self.bottom + 74


def gantt_svg(picture: Picture, *, title: str = "", interactive: bool = False) -> str:
    """The drawing as a whole SVG document; the same picture gives the same text.

    Args:
        interactive: With every element's place in time, for the page's script.
    """
    system, verdict = picture.system, picture.verdict
    frame = _Frame(
        start=picture.start,
        end=picture.end,
        width=_width(picture),
        processors=system.processors,
        tasks=len(system.tasks),
    )
    whole = _LEFT + frame.width + _RIGHT
    heading = title or system.name or f"{len(system.tasks)} tasks"
    if picture.releases:
        heading += f" \N{MIDDLE DOT} {picture.releases}"
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {whole} {frame.height:g}"'
        f' width="{whole}" height="{frame.height:g}" role="img" class="gantt"'
        f' data-start="{frame.start}" data-length="{frame.end - frame.start}" data-left="{_LEFT}"'
        f' font-family="system-ui, DejaVu Sans, sans-serif"'
        f' font-size="12" fill="{_INK}">',
        f"<title>{escape(heading)} ({escape(caption(verdict))})</title>",
        f"<desc>{escape(caption(verdict))}; {escape(verdict_words(verdict))}</desc>",
        '<rect width="100%" height="100%" fill="#ffffff"/>',
        *_heading(picture, heading),
        f'<clipPath id="inside"><rect x="{_LEFT - 7}" y="{_TOP - 16}"'
        f' width="{frame.width + 14}" height="{frame.bottom - _TOP + 20:g}" data-stretch="14"/>'
        "</clipPath>",
        *_lanes(picture, frame),
        '<g clip-path="url(#inside)" class="plot">',
        *_waiting(picture, frame),
        *_segments(picture, frame),
        *_arrows(picture, frame),
        *_first_miss(picture, frame),
        "</g>",
        *_axis(picture, frame),
        *_legend(picture, frame),
        "</svg>\n",
    ]
    text = "\n".join(parts)
    return text if interactive else _without_times(text)


def _without_times(text: str) -> str:
    """A file that nobody zooms needs no second copy of its coordinates."""
    return re.sub(r' data-(?:a|b|w|stretch)="[^"]*"', "", text)


def _width(picture: Picture) -> int:
    """Wide enough that most segments can be seen, within what a viewer scrolls."""
    lengths = sorted(int(row[4] - row[3]) for row in picture.segments)
    if not lengths:
        return _WIDTH_LEAST
    short = max(1, lengths[len(lengths) // 10])
    wanted = (picture.end - picture.start) / short * _SEGMENT_PX
    return round(min(max(_WIDTH_LEAST, wanted), _WIDTH_MOST))


def _heading(picture: Picture, heading: str) -> Iterator[str]:
    yield f'<text x="12" y="20" font-size="15" font-weight="600">{escape(heading)}</text>'
    words = [verdict_words(picture.verdict), caption(picture.verdict), picture.note]
    line = " \N{MIDDLE DOT} ".join(word for word in words if word)
    yield f'<text x="12" y="38" fill="{_SOFT}" class="caption">{escape(line)}</text>'


def _lanes(picture: Picture, frame: _Frame) -> Iterator[str]:
    def label(y: float, text: str, tip: str = "") -> str:
        hint = f"<title>{escape(tip)}</title>" if tip else ""
        return f'<text x="{_LEFT - 12}" y="{y + 4:g}" text-anchor="end">{hint}{escape(text)}</text>'

    def band(y: float, height: float) -> str:
        return (
            f'<rect x="{_LEFT}" y="{y:g}" width="{frame.width}" height="{height}" fill="{_BAND}"'
            ' data-stretch="0"/>'
        )

    for processor in range(frame.processors):
        y = frame.processor_y(processor)
        yield band(y, _PROCESSOR)
        yield label(y + _PROCESSOR / 2, f"processor {processor}")
    for index, task in enumerate(picture.system.tasks):
        y = frame.task_y(index)
        yield band(y, _TASK)
        name = picture.system.label(index)
        tip = f"{name}: C = {task.wcet}, T = {task.period}, D = {task.deadline}, O = {task.offset}"
        if task.name:
            name = f"{index} {name}"
        short = name if len(name) <= _LABEL_CHARACTERS else name[: _LABEL_CHARACTERS - 1] + "…"
        yield label(y + _TASK / 2 + 3, short, tip)
        yield (
            f'<rect x="{_LEFT - 9}" y="{y + 4:g}" width="5" height="{_TASK - 4}"'
            f' fill="{colour(index)}"/>'
        )
        yield (
            f'<line x1="{_LEFT}" x2="{_LEFT + frame.width}" y1="{y + _TASK:g}" y2="{y + _TASK:g}"'
            f' stroke="{_SOFT}" data-stretch="0"/>'
        )


def _waiting(picture: Picture, frame: _Frame) -> Iterator[str]:
    """A thin line from the release to the completion joins the pieces of a job."""
    for job in picture.drawn_jobs:
        end = job.finish if job.finish >= 0 else max(picture.until, job.release)
        low, high = max(job.release, frame.start), min(end, frame.end)
        if high <= low:
            continue
        y = frame.task_y(job.task) + _TASK - _BAR / 2
        yield (
            f'<line x1="{frame.x(low):.2f}" x2="{frame.x(high):.2f}" y1="{y:g}" y2="{y:g}"'
            f' stroke="{colour(job.task)}" stroke-width="2" stroke-dasharray="2 2"'
            f" {frame.at(low, high)}/>"
        )


def _segments(picture: Picture, frame: _Frame) -> Iterator[str]:
    deadlines = {(each.task, each.job): each.deadline for each in picture.drawn_jobs}
    for task, job, processor, start, end in (tuple(map(int, row)) for row in picture.segments):
        low, high = max(start, frame.start), min(end, frame.end)
        name = picture.system.label(task)
        span = f"{shown_time(start)} to {shown_time(end)} on processor {processor}"
        tip = f"{name}, job {job}: {span} (simulated)"
        fill = colour(task)
        top = frame.processor_y(processor)
        yield _bar(
            frame, low, high, y=top + 2, height=_PROCESSOR - 4, fill=fill, text=f"{task}", tip=tip
        )
        top = frame.task_y(task) + _TASK - _BAR
        yield _bar(frame, low, high, y=top, height=_BAR, fill=fill, text=f"P{processor}", tip=tip)
        late = max(low, deadlines.get((task, job), high))
        if late < high:
            for y, height in ((frame.processor_y(processor) + 2, _PROCESSOR - 4), (top, _BAR)):
                yield (
                    f'<rect x="{frame.x(late):.2f}" y="{y:g}" height="{height}"'
                    f' width="{frame.x(high) - frame.x(late):.2f}" fill="none" stroke="{_MISS}"'
                    f' stroke-width="2.5" {frame.at(late, high)}/>'
                )


def _bar(
    frame: _Frame, low: int, high: int, *, y: float, height: float, fill: str, text: str, tip: str
) -> str:
    x, width = frame.x(low), frame.x(high) - frame.x(low)
    bar = (
        f'<rect x="{x:.2f}" y="{y:g}" width="{width:.2f}" height="{height:g}" fill="{fill}"'
        f' stroke="#ffffff" stroke-width="0.6" {frame.at(low, high)}>'
        f"<title>{escape(tip)}</title></rect>"
    )
    needed = len(text) * _CHARACTER_PX + 3
    hidden = ' visibility="hidden"' if width < needed else ""
    label = (
        f'<text x="{x + width / 2:.2f}" y="{y + height / 2 + 3.6:g}" text-anchor="middle"'
        f' font-size="10" fill="{ink_on(fill)}" pointer-events="none"{hidden}'
        f' {frame.at(low, high)} data-w="{needed:g}">{text}</text>'
    )
    return bar + label


def _arrows(picture: Picture, frame: _Frame) -> Iterator[str]:
    for each in picture.drawn_jobs:
        release, deadline = each.release, each.deadline
        name = f"{picture.system.label(each.task)}, job {each.job}"
        top = frame.task_y(each.task)
        base = top + _TASK
        if frame.start <= release <= frame.end:
            tip = f"{name}: released at {shown_time(release)}"
            yield _arrow(frame, release, y_from=base, y_to=top + 3, stroke=_INK, tip=tip)
        if frame.start <= deadline <= frame.end:
            missed = picture.missed(each)
            tip = f"{name}: deadline {shown_time(deadline)}"
            if missed:
                complete = each.finish >= 0
                end = f"completed at {shown_time(each.finish)}" if complete else "not complete"
                tip += f", missed, {end}"
            stroke = _MISS if missed else _SOFT
            yield _arrow(frame, deadline, y_from=top + 1, y_to=base - 1, stroke=stroke, tip=tip)
            if missed:
                x, y = frame.x(deadline), top + 3
                yield (
                    f'<path transform="translate({x:.2f} {y:g})" d="M-5 -5L5 5M5 -5L-5 5"'
                    f' stroke="{_MISS}" stroke-width="2.5" {frame.at(deadline)} class="miss"/>'
                )


def _arrow(frame: _Frame, time: int, *, y_from: float, y_to: float, stroke: str, tip: str) -> str:
    """A release points up, a deadline down; drawn apart by a hair where both meet."""
    down = y_to > y_from
    length = y_to - y_from
    head = -4.5 if down else 4.5
    shift = -1.1 if down else 1.1
    return (
        f'<path transform="translate({frame.x(time):.2f} {y_from:g})"'
        f' d="M{shift} 0V{length:g}M{shift - 3} {length + head:g}L{shift} {length:g}'
        f'L{shift + 3} {length + head:g}" fill="none" stroke="{stroke}"'
        f' stroke-width="{1.8 if stroke == _MISS else 1.2}" {frame.at(time)}>'
        f"<title>{escape(tip)}</title></path>"
    )


def _first_miss(picture: Picture, frame: _Frame) -> Iterator[str]:
    verdict = picture.verdict
    miss = verdict.first_miss
    # A proof without a schedule names a miss that these releases need not lead to.
    late = {job.deadline for job in picture.drawn_jobs if picture.missed(job)}
    if miss is None or miss not in late or not frame.start <= miss <= frame.end:
        return
    yield (
        f'<line x1="{frame.x(miss):.2f}" x2="{frame.x(miss):.2f}" y1="{_TOP - 6}"'
        f' y2="{frame.bottom:g}" stroke="{_MISS}" stroke-width="1.4" stroke-dasharray="5 3"'
        f" {frame.at(miss, miss)}/>"
    )
    whose = "" if verdict.first_miss_task is None else picture.system.label(verdict.first_miss_task)
    anchor = "end" if frame.x(miss) > _LEFT + frame.width / 2 else "start"
    yield (
        f'<text x="{frame.x(miss):.2f}" y="{_TOP - 7}" text-anchor="{anchor}" fill="{_MISS}"'
        f' font-weight="600" {frame.at(miss)}>first miss: {escape(whose)} at'
        f" {shown_time(miss)}</text>"
    )


def ticks(start: int, end: int, width: float) -> list[int]:
    """Instants of the axis: multiples of 1, 2 or 5 times a power of ten, labels apart."""
    room = max(2, int(width / (len(shown_time(end)) * _CHARACTER_PX + 26)))
    least = max(1, -(-(end - start) // room))
    power = 10 ** (len(str(least)) - 1)
    step = next(f * power for f in (1, 2, 5, 10) if f * power >= least)
    first = -(-start // step) * step
    return list(range(first, end + 1, step))


def _axis(picture: Picture, frame: _Frame) -> Iterator[str]:
    y = frame.bottom + 6
    yield (
        f'<g class="axis" data-y="{y:g}"><line x1="{_LEFT}" x2="{_LEFT + frame.width}"'
        f' y1="{y:g}" y2="{y:g}" stroke="{_INK}"/>'
    )
    for time in ticks(frame.start, frame.end, frame.width):
        x = frame.x(time)
        yield (
            f'<line x1="{x:.2f}" x2="{x:.2f}" y1="{y:g}" y2="{y + 5:g}" stroke="{_INK}"/>'
            f'<text x="{x:.2f}" y="{y + 18:g}" text-anchor="middle" font-size="11">'
            f"{shown_time(time)}</text>"
        )
    yield "</g>"
    yield (
        f'<text x="{_LEFT - 34}" y="{y + 18:g}" text-anchor="end" fill="{_SOFT}">'
        f"time in {escape(unit_words(picture.system))}</text>"
    )


def _legend(picture: Picture, frame: _Frame) -> Iterator[str]:
    y = frame.bottom + 56
    x = float(_LEFT)
    yield f'<g class="legend" fill="{_SOFT}">'
    items = (
        ("M0 5V-7M-3 -3L0 -7L3 -3", _INK, "release"),
        ("M0 -7V5M-3 1L0 5L3 1", _SOFT, "deadline"),
        ("M-5 -5L5 5M5 -5L-5 5", _MISS, "missed deadline; red outline: late execution"),
        ("M-6 0H-3M-1 0H2M4 0H7", _INK, "pending, does not run"),
    )
    for path, stroke, words in items:
        yield (
            f'<path transform="translate({x + 6:.1f} {y - 4:g})" d="{path}" fill="none"'
            f' stroke="{stroke}" stroke-width="1.6"/>'
            f'<text x="{x + 18:.1f}" y="{y:g}" font-size="11">{words}</text>'
        )
        x += 36 + len(words) * 5.9
    note = "number in a bar: task (above), processor (below)"
    yield f'<text x="{x + 6:.1f}" y="{y:g}" font-size="11">{note}</text></g>'
