"""Who had the real-time thread's CPU while it was ready, over a whole run of rounds; pure."""

from __future__ import annotations

from collections import Counter

from deadbeat.model.load import Takers
from deadbeat.trace.parse import Trace
from deadbeat.trace.timeline import IDLE, Handler, Thread, Timeline

#: Name of the real-time thread, as runtime/src/host/rounds.c calls it.
THREAD = "db-rounds0"


def takers_of(text: str) -> Takers:
    """From the text of a trace, in the order of time."""
    lines = Timeline(own=lambda _pid, name: name == THREAD)
    last_ns = 0
    for event in Trace(text).stream():
        lines.take(event)
        last_ns = event.at_ns
    lines.close(last_ns)
    waited: Counter[str] = Counter()
    switches = 0
    before = ""
    for state in lines.states:
        if state.name == "ready" and state.woken_ns is None:
            switches += before == "running"
            for turn, ns in lines.on(state.cpu, state.begin_ns, state.end_ns):
                waited[_called(turn.thread)] += ns
        before = state.name
    interrupted: Counter[str] = Counter()
    for handler, ns in lines.interrupted(0, last_ns):
        interrupted[_named(handler)] += ns
    return Takers(
        waited_ns=dict(waited.most_common()),
        interrupted_ns=dict(interrupted.most_common()),
        switches=switches,
    )


def _called(thread: Thread) -> str:
    name, priority = thread.name, thread.priority
    if name.startswith("db-normal"):
        return "ordinary threads of this test"
    if thread.pid == IDLE or name.startswith("swapper/"):
        return "nobody (idle)"
    if thread.is_fair:
        return f"{name} (ordinary)"
    if priority is None:
        return name
    return f"{name} (priority {99 - priority})" if priority >= 0 else f"{name} (deadline)"


def _named(handler: Handler) -> str:
    if handler.kind == "local_timer":
        return "local timer"
    return f"{'interrupt' if handler.kind == 'irq' else 'softirq'} {handler.name}"
