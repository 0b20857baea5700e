"""On which CPUs received packets are processed, where that is chosen in software."""

from __future__ import annotations

from deadbeat.host.values import UnreadError, cpu_mask, mask_cpus
from deadbeat.settings import sources
from deadbeat.settings.facts import Facts
from deadbeat.settings.knob import ONLINE, Knob, NotHereError, Setting, present
from deadbeat.settings.reading_values import housekeeping

_RECEIVE = "/sys/class/net/*/queues/rx-*/rps_cpus"
_SEND = "/sys/class/net/*/queues/tx-*/xps_cpus"


def _settings(facts: Facts, _value: str) -> list[Setting]:
    left = set(housekeeping(facts))
    made = []
    for path in [*present(facts, _RECEIVE), *sorted(facts.matches(_SEND))]:
        try:
            now = set(mask_cpus(facts.text(path)))
        except UnreadError:
            continue  # a device without queues of its own refuses to tell
        if now & set(facts.rt_cpus):
            made.append(Setting(path, cpu_mask(now & left or left), "mask"))
    if not made:
        raise NotHereError("no queue of a network device steers to the CPUs for real-time tasks")
    return made


KNOB = Knob(
    name="packet-steering",
    title="packets that are steered in software go to the other CPUs",
    why="processing packets, the kernel holds the CPU in softirq for milliseconds",
    source=f"{sources.TUNED_REALTIME}; {sources.NET_SCALING}",
    cures=("interrupts.receive-steering", "interrupts.send-steering"),
    reads=(_RECEIVE, _SEND, ONLINE),
    settings=_settings,
    note="where steering is off it stays off: packets are processed where their interrupt arrives",
)
