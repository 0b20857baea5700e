"""Callbacks of ROS 2, by the events of ros2_tracing, as threads of their own."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping

import numpy as np
from attrs import define, evolve, field
from numpy.typing import NDArray

from deadbeat.base.model.words import time_text
from deadbeat.program.derive.records import IN_INTERRUPT, RECORD, Recording, RecordKind, Row
from deadbeat.program.derive.switches import Times

#: A callback (a: its number) begins (b: 1), or ends (b: 0).
CALLBACK = 1001
#: Threads from here on are callbacks.
_FIRST = 1 << 23
#: The call between two of a callback.
_WAIT = "its executor"
NOT_SEEN = (
    "when the message of a callback came: its release is the wake-up of its executor, or the end of"
    " the same callback before; charges of callbacks; what executors themselves take"
)
_WORD = re.compile(r"[\w:~]+(?=\()")


@define
class Callbacks:
    """What the events of all processes say of callbacks; handles are those of a process."""

    numbers: dict[tuple[int, int], int] = field(factory=dict)  # process, callback -> number
    _of: dict[tuple[str, int, int], int] = field(factory=dict)  # what, process, handle -> handle
    _words: dict[tuple[str, int, int], str] = field(factory=dict)

    def event(self, name: str, fields: Mapping[str, int | str]) -> tuple[int, int] | None:
        """Number and b of a record, where a callback begins or ends."""
        pid = _int(fields, "vpid")
        if name in ("callback_start", "callback_end"):
            key = pid, _int(fields, "callback")
            return self.numbers.setdefault(key, len(self.numbers)), int(name == "callback_start")
        for what in ("node", "timer", "subscription", "service"):
            handle = _int(fields, f"{what}_handle")
            if name == f"rcl_{what}_init":
                node = _int(fields, "node_handle") if what != "node" else 0
                self._of["node", pid, handle] = node
                words = [str(fields[k]) for k in fields if k in _NAMES]
                if what == "timer":
                    words = [f"timer {time_text(_int(fields, 'period'))}"]
                self._words[what, pid, handle] = "".join(words[:1])
            elif name == f"rclcpp_{what}_callback_added":
                handle = handle or _int(fields, what)
                self._of["callback", pid, _int(fields, "callback")] = handle
        if name == "rclcpp_subscription_init":
            inner = _int(fields, "subscription")
            self._of["subscription", pid, inner] = _int(fields, "subscription_handle")
        elif name == "rclcpp_timer_link_node":
            self._of["node", pid, _int(fields, "timer_handle")] = _int(fields, "node_handle")
        elif name == "rclcpp_callback_register":
            found = _WORD.findall(str(fields.get("symbol", "")))
            self._words["callback", pid, _int(fields, "callback")] = found[-1] if found else ""
        return None

    def labels(self) -> Iterator[str]:
        """Names in order of their numbers: node and timer, topic or service, else a function."""
        for pid, callback in self.numbers:
            handle = self._of.get(("callback", pid, callback), 0)
            handle = self._of.get(("subscription", pid, handle), handle)
            kinds = ("timer", "subscription", "service")
            word = next((w for k in kinds if (w := self._words.get((k, pid, handle)))), "")
            node = self._words.get(("node", pid, self._of.get(("node", pid, handle), 0)), "")
            function = self._words.get(("callback", pid, callback)) or f"callback {callback:#x}"
            yield " ".join(filter(None, [node, word])) if word else function


_NAMES = ("node_name", "topic_name", "service_name")


def _int(fields: Mapping[str, int | str], name: str) -> int:
    value = fields.get(name, 0)
    return value if isinstance(value, int) else 0


def as_threads(recording: Recording, labels: list[str]) -> Recording:
    """With each callback as a thread that its executor's wake-ups wake, in the place of that
    executor; its events hold CALLBACK records, which are taken out."""
    events = recording.events
    marks = np.flatnonzero(events["kind"] == CALLBACK)
    executors, made = {*events["tid"][marks].tolist()}, dict[tuple[int, int], int]()
    number = max(recording.calls, default=-1) + 1
    events, added = events.copy(), list[Row]()
    wakes = {tid: _wakes(recording.events, tid) for tid in executors}
    began, ended = dict[int, tuple[int, int]](), defaultdict[int, int](int)
    for place in marks.tolist():
        ns, tid, _, cpu, callback, begins, _ = events[place].tolist()
        if begins:
            began[tid] = place, callback
            continue
        first, same = began.pop(tid, (-1, -1))
        if same != callback:
            continue  # it began before the recording, or events were lost
        own = made.setdefault((tid, callback), _FIRST + len(made))
        inside = events[first:place]
        for column in ("tid", "a"):
            mine = inside[column] == tid
            if column == "a":
                mine &= np.isin(inside["kind"], (RecordKind.SWITCH, RecordKind.WAKING))
                mine &= (inside["kind"] == RecordKind.SWITCH) | (inside["tid"] != tid)
            inside[column][mine] = own
        inside["kind"][inside["kind"] == RecordKind.RUNTIME] = CALLBACK  # of more than it
        start, on = int(events["ns"][first]), int(events["cpu"][first])
        at, waker, flags = _last(wakes[tid], start)
        release = min(max(at, ended[own] + 1), start - 1)
        added += [
            (release, own, RecordKind.WAKING, on, waker, flags, 0),
            (start, tid, RecordKind.SWITCH, on, own, 0x100, 0),
            (start, own, RecordKind.EXIT, on, number, 1, 0),
            (ns, own, RecordKind.ENTER, cpu, number, 0, 0),
            (ns, own, RecordKind.SWITCH, cpu, tid, 1, 0),
        ]
        ended[own] = ns
    every = np.concatenate([events[events["kind"] != CALLBACK], np.array(added, RECORD)])
    threads = {each.tid: each for each in recording.threads}
    callbacks = [
        evolve(threads[tid], tid=own, name=labels[callback], begin_ns=0)
        for (tid, callback), own in made.items()
    ]
    others = [each for each in recording.threads if each.tid not in {tid for tid, _ in made}]
    return evolve(
        recording,
        events=every[np.argsort(every["ns"], kind="stable")],
        threads=(*others, *callbacks),
        calls={**recording.calls, number: _WAIT},
        not_seen=(*recording.not_seen, NOT_SEEN),
    )


def _wakes(events: NDArray[np.void], tid: int) -> tuple[Times, NDArray[np.void]]:
    mine = events[(events["kind"] == RecordKind.WAKING) & (events["tid"] == tid)]
    return mine["ns"].astype(np.int64), mine


def _last(wakes: tuple[Times, NDArray[np.void]], at: int) -> tuple[int, int, int]:
    """When and by whom a thread was woken last, and flags of it; at that instant where it is not
    known."""
    place = int(np.searchsorted(wakes[0], at)) - 1
    if place < 0:
        return at, 0, IN_INTERRUPT
    row = wakes[1][place]
    return int(row["ns"]), int(row["a"]), int(row["b"])
