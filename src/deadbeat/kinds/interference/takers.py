"""Who had the real-time thread's CPU while it was ready, from the kernel's events; pure.

Only ``sched_switch`` and the entries and exits of interrupts are read (Documentation/trace/
events.rst). Priorities are the kernel's: 0 is SCHED_FIFO 99, 100 and above are ordinary.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

from attrs import field, frozen

#: Name of the real-time thread, as runtime/src/rounds.c calls it.
THREAD = "db-rounds0"
_ORDINARY = 100

_LINE = re.compile(r"^\s*.+-\d+\s+\[(\d+)\]\s+\S+\s+(\d+)\.(\d{6}): (\w+): ?(.*)$", re.M)
_SWITCH = re.compile(
    r"prev_comm=(.*) prev_pid=\d+ prev_prio=-?\d+ prev_state=(\S+) ==>"
    r" next_comm=(.*) next_pid=\d+ next_prio=(-?\d+)"
)
#: Event that begins something which runs in a thread's place -> event that ends it, how to call it.
_SPANS = {
    "irq_handler_entry": ("irq_handler_exit", "name"),
    "softirq_entry": ("softirq_exit", "action"),
    "local_timer_entry": ("local_timer_exit", ""),
}
_ENDS = {end for end, _ in _SPANS.values()}


@frozen(kw_only=True)
class Takers:
    """What ran instead of the real-time thread.

    Attributes:
        waited_ns: Time it was switched out although ready, by who ran on its CPU meanwhile:
            ``ordinary threads``, or a name with its priority.
        interrupted_ns: Time of interrupts on its CPU while it ran, by name.
        switches: Times it was switched out although ready.
    """

    waited_ns: dict[str, int] = field(factory=dict)
    interrupted_ns: dict[str, int] = field(factory=dict)
    switches: int = 0

    def to_json(self) -> dict[str, Any]:
        return {
            "waited_ns": dict(self.waited_ns),
            "interrupted_ns": dict(self.interrupted_ns),
            "switches": self.switches,
        }


def takers_of(text: str) -> Takers:
    """From the text of a trace, in the order of time."""
    waited: Counter[str] = Counter()
    interrupted: Counter[str] = Counter()
    switches = 0
    running: int | None = None  # CPU on which the thread runs
    waiting: tuple[int, str, int] | None = None  # CPU it was taken from, by whom, since when
    spans: dict[str, tuple[int, str]] = {}
    for cpu, at, event, rest in _events(text):
        if event == "sched_switch":
            match = _SWITCH.match(rest)
            if match is None:
                continue
            before, state, after, priority = match.groups()
            if waiting is not None and cpu == waiting[0]:
                waited[waiting[1]] += at - waiting[2]
                waiting = (cpu, _called(after, int(priority)), at)
            if after == THREAD:
                if waiting is not None and cpu != waiting[0]:
                    waited[waiting[1]] += at - waiting[2]
                running, waiting = cpu, None
            elif before == THREAD:
                running, spans = None, {}
                if state.startswith("R"):
                    switches += 1
                    waiting = (cpu, _called(after, int(priority)), at)
        elif cpu == running and event in _SPANS:
            spans[_SPANS[event][0]] = (at, _named(event, rest))
        elif cpu == running and event in _ENDS and event in spans:
            began, name = spans.pop(event)
            interrupted[name] += at - began
    return Takers(
        waited_ns=dict(waited.most_common()),
        interrupted_ns=dict(interrupted.most_common()),
        switches=switches,
    )


def _events(text: str) -> Iterator[tuple[int, int, str, str]]:
    """CPU, time (ns), name and the rest of every line that is an event."""
    for match in _LINE.finditer(text):
        cpu, seconds, micros, event, rest = match.groups()
        yield int(cpu), (int(seconds) * 1_000_000 + int(micros)) * 1000, event, rest


def _called(name: str, priority: int) -> str:
    if name.startswith("db-normal"):
        return "ordinary threads of this test"
    if name.startswith("swapper/"):
        return "nobody (idle)"
    if priority >= _ORDINARY:
        return f"{name} (ordinary)"
    return f"{name} (priority {99 - priority})" if priority >= 0 else f"{name} (deadline)"


def _named(event: str, rest: str) -> str:
    key = _SPANS[event][1]
    if not key:
        return "local timer"
    found = re.search(rf"{key}=([^\]\s]+)", rest)
    kind = "interrupt" if event.startswith("irq") else "softirq"
    return f"{kind} {found[1]}" if found else kind
