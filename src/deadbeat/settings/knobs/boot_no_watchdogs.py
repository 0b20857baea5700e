"""No watchdogs from the boot on."""

from __future__ import annotations

from deadbeat.settings import sources
from deadbeat.settings.knob import Knob

KNOB = Knob(
    name="boot-no-watchdogs",
    title="no watchdogs of stuck CPUs from the boot on",
    why="each runs a thread of the highest priority on every CPU",
    source=f"{sources.TUNED_REALTIME}; {sources.INTEL_ECI}",
    cures=("cmdline.watchdogs",),
    boot=lambda facts, value: ["nowatchdog", "nosoftlockup"],
    note="watchdogs does it for now",
)
