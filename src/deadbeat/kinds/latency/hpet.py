"""An engine that waits for a device's interrupt: a comparator of the HPET (runtime's --hpet).

Not the RTC: the kernel makes its periodic interrupt by an hrtimer (drivers/rtc/interface.c).
"""

from __future__ import annotations

from typing import ClassVar

from attrs import frozen

from deadbeat.build.toolchain import Toolchain
from deadbeat.host.values import understood
from deadbeat.kinds.latency.engines import Measured, Request, unsplit
from deadbeat.kinds.latency.prober import ProberEngine, measured_of
from deadbeat.targets.base import Target


@frozen(kw_only=True)
class HpetEngine(ProberEngine):
    """From the moment that the hardware timer was set to until the thread reads its counter."""

    name: ClassVar[str] = "hpet"

    def unavailable(self, target: Target) -> str:
        if target.read_text("/proc/sys/dev/hpet/max-user-freq") is None:
            return "no /dev/hpet: the machine has no HPET, or its kernel no driver"
        return super().unavailable(target)

    def measure(self, target: Target, request: Request) -> Measured:
        plain = self._run(target, request, {"--hpet": "1"})
        with understood(target):
            return self.trace(target, request, measured_of(plain))

    def trace(self, target: Target, request: Request, measured: Measured) -> Measured:
        return unsplit(measured, "the path from the HPET is not split")


def make(toolchain: Toolchain | None = None) -> HpetEngine:
    """The engine, with a program built by ``toolchain``."""
    return HpetEngine(toolchain=toolchain)
