"""No calls into the firmware."""

from __future__ import annotations

from deadbeat.settings import sources
from deadbeat.settings.knob import Knob

KNOB = Knob(
    name="boot-efi",
    title="no calls into the EFI firmware while the system runs",
    why="they may hold a CPU for milliseconds, uninterruptibly",
    source=f"{sources.KERNEL_CONFIGURATION}; {sources.HARDWARE}",
    boot=lambda facts, value: ["efi=noruntime"],
    note="boot entries can then not be changed, and a reboot may need another way",
)
