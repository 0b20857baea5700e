"""Power saving of PCI Express links."""

from __future__ import annotations

from deadbeat.settings import sources
from deadbeat.settings.knob import file_knob, one_of

KNOB = file_knob(
    "pcie-aspm",
    "/sys/module/pcie_aspm/parameters/policy",
    form="selected",
    title="power saving of PCI Express links",
    why="a link that sleeps adds its wake-up to a device's access",
    source=f"{sources.HARDWARE}; {sources.CONGATEC}",
    cures=("power.pcie-aspm",),
    values=one_of("default", "performance", "powersave", "powersupersave"),
    default="performance",
)
