"""The kernel's text of events, as a ``trace`` file of tracefs holds it, parsed here alone."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from operator import attrgetter

from attrs import frozen

from deadbeat.base.model.traces import TraceEvent

#: Length of the text that is searched for who had a CPU before.
_LOOK_BACK = 500_000

#: Length of the text that is parsed at once.
_PIECE = 1_000_000

#: Where the time stands in a line.
_TIME = re.compile(r"\s(\d{1,12})\.(\d{1,9}): ", re.ASCII)
#: A line as the kernel prints it by default: ``comm-pid [cpu] flags``, time, event, fields; else
#: the whole line.
_USUAL = re.compile(
    r"^(.{16}-\d{1,10} +\[\d{1,5}\] \S{1,12}) +(\d{1,12})\.(\d{6}): (\w+): (.*)$|^(.+)$",
    re.ASCII | re.MULTILINE,
)
#: ``comm-pid (tgid) [cpu] flags seconds.fraction: event: fields``; tgid and flags may be missing.
_LINE = re.compile(
    r"\s*(?P<comm>.{1,64}?)-(?P<pid>\d{1,10})\s+(?:\(\s*[-\d]+\)\s+)?\[(?P<cpu>\d{1,5})\]\s+"
    r"(?:(?P<flags>\S{1,12})\s+)?(?P<s>\d{1,12})\.(?P<part>\d{1,9}):\s+(?P<name>\w+):\s?(?P<rest>.*)",
    re.ASCII,
)
#: A value ends before the next ``key=``; names of threads may have blanks in them.
_FIELD = re.compile(r"(\w+)=(.*?)(?=\s+(?:==>\s+)?\[?\w+=|\s*\]?\s*$)")
_NUMBER = re.compile(r"-?[0-9]{1,18}")
#: The third of the flags: in a hard, soft, hard within soft, or non-maskable interrupt.
_IN_HANDLER = frozenset("hsHzZ")


def parse_line(line: str, *, epoch_ns: int = 0) -> TraceEvent | None:
    """The event of one line of a ``trace`` file; None where there is none."""
    return next(iter(Trace(line, epoch_ns).events(0, len(line))), None)


def events_between(text: str, first_ns: int, last_ns: int) -> list[TraceEvent]:
    """The events of a ``trace`` file from one moment of its clock to another, in order of time;
    first of all the last switch before on each CPU that has any: who had it."""
    trace = Trace(text)
    inside = trace.within([(first_ns, last_ns)])
    return [*trace.standing(trace.offset(first_ns), {event.cpu for event in inside}), *inside]


def _nanoseconds(seconds: str, fraction: str) -> int:
    return int(seconds) * 1_000_000_000 + int(fraction.ljust(9, "0"))


@frozen
class _Head:
    """What stands before the time."""

    thread: str
    pid: int
    cpu: int
    interrupt: bool

    @classmethod
    def of(cls, text: str) -> _Head:
        """Head of the usual layout."""
        pid, cpu, flags = text[17:].split()
        return cls(text[:16].strip(), int(pid), int(cpu[1:-1]), flags[2:3] in _IN_HANDLER)


class Trace:
    """A trace, in order of time; parsed only where it is looked at, and what many lines have in
    common once.

    Args:
        epoch_ns: CLOCK_MONOTONIC (the instance's clock) at the origin of the times wanted.
    """

    def __init__(self, text: str, epoch_ns: int = 0) -> None:
        self._text = text
        self._epoch_ns = epoch_ns
        self._heads: dict[str, _Head] = {}
        self._fields: dict[str, dict[str, int | str]] = {}

    def offset(self, at_ns: int) -> int:
        """Where the first line at or after ``at_ns`` begins."""
        low, high = 0, len(self._text)
        while low < high:
            middle = self._text.rfind("\n", low, (low + high) // 2) + 1 or low
            match = _TIME.search(self._text, middle, high)
            if match is None or self._time(match) >= at_ns:
                high = middle
            else:
                low = self._next_line(match.end())
        return low

    def _next_line(self, offset: int) -> int:
        end = self._text.find("\n", offset)
        return len(self._text) if end < 0 else end + 1

    def _time(self, match: re.Match[str]) -> int:
        return _nanoseconds(match[1], match[2]) - self._epoch_ns

    def events(self, first: int = 0, last: int | None = None) -> list[TraceEvent]:
        """Events between two offsets; None: to the end."""
        found = []
        last = len(self._text) if last is None else last
        for head, seconds, micros, name, rest, other in _USUAL.findall(self._text, first, last):
            if other:
                event = self._unusual(other)
                if event is not None:
                    found.append(event)
                continue
            if head not in self._heads:
                self._heads[head] = _Head.of(head)
            at_ns = int(seconds) * 1_000_000_000 + int(micros) * 1000
            found.append(self._event(self._heads[head], at_ns, name, rest))
        return found

    def _unusual(self, line: str) -> TraceEvent | None:
        match = _LINE.fullmatch(line)
        if match is None:
            return None
        interrupt = (match["flags"] or "")[2:3] in _IN_HANDLER
        head = _Head(match["comm"].strip(), int(match["pid"]), int(match["cpu"]), interrupt)
        at_ns = _nanoseconds(match["s"], match["part"])
        return self._event(head, at_ns, match["name"], match["rest"])

    def _event(self, head: _Head, at_ns: int, name: str, rest: str) -> TraceEvent:
        fields = self._fields.get(rest)
        if fields is None:
            found = _FIELD.findall(rest)
            fields = {key: int(v) if _NUMBER.fullmatch(v) else v for key, v in found}
            self._fields[rest] = fields
        return TraceEvent(
            at_ns=at_ns - self._epoch_ns,
            cpu=head.cpu,
            name=name,
            thread=head.thread,
            pid=head.pid,
            fields=fields,
            interrupt=head.interrupt,
        )

    def stream(self) -> Iterator[TraceEvent]:
        """All of them, without having them in memory at once."""
        first = 0
        while first < len(self._text):
            last = self._next_line(first + _PIECE)
            yield from self.events(first, last)
            first = last

    def standing(self, offset: int, cpus: set[int]) -> list[TraceEvent]:
        """The last switch on each of ``cpus`` before ``offset``: who has it then."""
        first = self._next_line(offset - _LOOK_BACK) if offset > _LOOK_BACK else 0
        found: dict[int, TraceEvent] = {}
        while offset > first and len(found) < len(cpus):
            line = self._text.rfind("\n", first, offset - 1) + 1 or first
            if self._text.find(" sched_switch: ", line, offset) >= 0:
                for event in self.events(line, offset):
                    if event.cpu in cpus:
                        found.setdefault(event.cpu, event)
            offset = line
        return sorted(found.values(), key=lambda event: event.at_ns)

    def within(self, spans: Iterable[tuple[int, int]]) -> list[TraceEvent]:
        """Events from the first to the last time of each of ``spans``, each event once."""
        found: list[TraceEvent] = []
        done = 0
        for first_ns, last_ns in sorted(spans):
            first, last = max(done, self.offset(first_ns)), self.offset(last_ns + 1)
            found += self.events(first, last)
            done = max(done, last)
        return sorted(found, key=at)

    def begins_ns(self, cpus: Iterable[int]) -> int | None:
        """From when on there are events of all of ``cpus`` that have any; None: no events."""
        firsts = (self._text.find(f" [{cpu:03d}] ") for cpu in cpus)
        matches = (_TIME.search(self._text, first) for first in firsts if first >= 0)
        return max((self._time(match) for match in matches if match), default=None)


def number(event: TraceEvent, key: str) -> int | None:
    """A whole number that the event tells."""
    value = event.fields.get(key)
    return value if isinstance(value, int) else None


#: For sorting.
at = attrgetter("at_ns")
